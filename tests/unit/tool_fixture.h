/* A workspace in a temporary directory with a file beside it that no tool may reach, and calls
 * of tools in it. Used by the tests of scope and of the file tools. */
#ifndef CADRE_TESTS_TOOL_FIXTURE_H
#define CADRE_TESTS_TOOL_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/scope.h"
#include "port/tool.h"

#define SECRET "outside-secret\n"

struct fixture {
    char top[256]; /* temporary directory: workspace, outside */
    char workspace[300];
    struct scope scope;
    struct arena arena;
    atomic_bool cancelled;
    struct tool_context context;
    struct tool_result result;
    struct tool_prepared prepared;
    struct str paths[4];
};

static inline void fixture_write(const char *directory, const char *path, const void *bytes,
                                 size_t n)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", directory, path);
    for (char *slash = strchr(full + strlen(directory) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void put(struct fixture *f, const char *path, const char *text)
{
    fixture_write(f->workspace, path, text, strlen(text));
}

static inline char *in_workspace(struct fixture *f, const char *path)
{
    return (char *)arena_printf(&f->arena, "%s/%s", f->workspace, path).p;
}

/* Content of a file in the workspace, in the fixture's arena; NULL when it is not there. */
static inline const char *content_of(struct fixture *f, const char *path)
{
    char bytes[65536];
    FILE *file = fopen(in_workspace(f, path), "r");
    if (!file)
        return NULL;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return arena_copy(&f->arena, (struct str){bytes, n}).p;
}

static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err err = ERR_INIT;
    const char *temporary = getenv("TMPDIR");
    snprintf(f->top, sizeof f->top, "%s/cadre-tool-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(f->top));
    snprintf(f->workspace, sizeof f->workspace, "%s/ws", f->top);
    assert_int_equal(mkdir(f->workspace, 0777), 0);
    fixture_write(f->top, "outside/secret", SECRET, strlen(SECRET));
    assert_int_equal(scope_open(&f->scope, f->workspace, &err), 0);
    arena_init(&f->arena);
    f->paths[0] = STR(".");
    f->context = (struct tool_context){
        .scope = &f->scope,
        .working_directory = STR("."),
        .read_paths = f->paths,
        .read_count = 1,
        .write_paths = f->paths,
        .write_count = 1,
        .cancelled = &f->cancelled,
        .max_result = 30000,
        .arena = &f->arena,
    };
    *state = f;
    return 0;
}

static inline int fixture_remove(const char *path, const struct stat *status, int kind,
                                 struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    buf_release(&f->result.text);
    arena_release(&f->arena);
    scope_close(&f->scope);
    nftw(f->top, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

static inline struct js *parse(const char *json)
{
    struct err err = ERR_INIT;
    struct js *arguments = js_parse(str_from(json), &err);
    if (!arguments)
        fail_msg("%s", err.message);
    return arguments;
}

/* Calls a tool: prepare where it has one, then run. The text of the result. */
static inline const char *call(struct fixture *f, const char *name, const char *json)
{
    const struct tool *tool = tool_find(str_from(name));
    struct js *arguments = parse(json);
    assert_non_null(tool);
    if (!tool->prepare)
        tool->run(&f->context, arguments, NULL, &f->result);
    else if (tool->prepare(&f->context, arguments, &f->prepared, &f->result) == 0)
        tool->run(&f->context, arguments, &f->prepared, &f->result);
    else
        assert_int_equal(f->result.kind, RESULT_ERROR);
    js_free(arguments);
    assert_false(f->result.text.failed);
    assert_true(f->result.text.n <= f->result.text.max);
    const char *text = f->result.text.p ? f->result.text.p : "";
    assert_int_equal(strncmp(text, "Error: ", 7) == 0, f->result.kind == RESULT_ERROR);
    return text;
}

static inline void assert_contains(const char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part)) {
        print_error("not in the text: %s\nthe text: %s\n", part, text);
        fail();
    }
}

static inline void assert_lacks(const char *text, const char *part)
{
    assert_non_null(text);
    if (strstr(text, part)) {
        print_error("must not be in the text: %s\nthe text: %s\n", part, text);
        fail();
    }
}

static inline const char *call_ok(struct fixture *f, const char *name, const char *json)
{
    const char *text = call(f, name, json);
    if (f->result.kind != RESULT_OK)
        fail_msg("%s", text);
    return text;
}

static inline const char *call_error(struct fixture *f, const char *name, const char *json,
                                     const char *part)
{
    const char *text = call(f, name, json);
    if (f->result.kind != RESULT_ERROR)
        fail_msg("no error: %s", text);
    assert_contains(text, part);
    assert_lacks(text, "outside-secret");
    return text;
}

/* Exchanges `dir` (a directory inside) and `link` (a link to the outside) as fast as it can. */
struct swapper {
    char dir[400], link[400];
    pthread_t thread;
    atomic_bool stop;
    atomic_long swaps;
};

static inline void *swapper_run(void *user)
{
    struct swapper *swapper = user;
    while (!atomic_load(&swapper->stop))
        if (renameat2(AT_FDCWD, swapper->dir, AT_FDCWD, swapper->link, RENAME_EXCHANGE) == 0)
            atomic_fetch_add(&swapper->swaps, 1);
    return NULL;
}

/* `dir/secret` stands in the workspace and, behind the link, outside. Returns when swapping has
 * begun. */
static inline void swapper_start(struct swapper *swapper, struct fixture *f)
{
    *swapper = (struct swapper){0};
    snprintf(swapper->dir, sizeof swapper->dir, "%s/dir", f->workspace);
    snprintf(swapper->link, sizeof swapper->link, "%s/link", f->workspace);
    put(f, "dir/secret", "inside-line\n");
    assert_int_equal(symlink("../outside", swapper->link), 0);
    assert_int_equal(pthread_create(&swapper->thread, NULL, swapper_run, swapper), 0);
    while (atomic_load(&swapper->swaps) < 10)
        usleep(100);
}

static inline void swapper_end(struct swapper *swapper)
{
    atomic_store(&swapper->stop, true);
    assert_int_equal(pthread_join(swapper->thread, NULL), 0);
}

#endif
