/* The workspace's facts, and the instruction files that count in it. */
#include "cli/workspace.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/instructions.h"
#include "os/leftover.h"
#include "os/random.h"
#include "os/scope.h"

#define SESSION_MAX 64
#define WORKSPACE_ID_LENGTH 16

static struct str session_of(struct arena *arena)
{
    struct str given = str_from(getenv("CADRE_SESSION"));
    if (given.n > 0 && given.n <= SESSION_MAX && utf8_valid(given) == given.n)
        return arena_copy(arena, given);
    uint8_t entropy[10];
    random_bytes(entropy, sizeof entropy);
    struct id id = id_make(clock_now_ms(), entropy);
    return arena_copy(arena, id_str(&id));
}

static struct str user_of(struct arena *arena)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    uid_t uid = getuid();
    if (getpwuid_r(uid, &entry, text, sizeof text, &found) == 0 && found != NULL &&
        found->pw_name[0] != '\0')
        return arena_copy(arena, str_from(found->pw_name));
    return arena_printf(arena, "uid-%lu", (unsigned long)uid);
}

int workspace_open(struct workspace *workspace, struct str directory, struct err *err)
{
    char given[PATH_MAX], real[PATH_MAX], hex[HASH_HEX + 1];
    if (directory.n == 0)
        directory = STR(".");
    if (directory.n >= sizeof given)
        return err_set(err, ERR_USAGE, "the workspace's path is too long");
    memcpy(given, directory.p, directory.n);
    given[directory.n] = '\0';
    if (realpath(given, real) == NULL)
        return err_set(err, ERR_USAGE, "workspace %s: %s", given, strerror(errno));
    size_t length = strlen(real);
    if (utf8_valid((struct str){real, length}) != length)
        return err_set(err, ERR_USAGE, "workspace %s: the path is not valid UTF-8", given);
    struct scope scope;
    if (scope_open(&scope, real, err) != 0) {
        if (err->class == ERR_NOT_FOUND)
            err->class = ERR_USAGE;
        return err_prefix(err, "workspace %s", given);
    }
    leftover_clean(scope.fd);
    scope_close(&scope);
    arena_init(&workspace->arena);
    workspace->path = arena_copy(&workspace->arena, str_from(real));
    struct hash hash = hash_of(workspace->path);
    hash_hex(&hash, hex);
    workspace->workspace_id = arena_copy(&workspace->arena, (struct str){hex, WORKSPACE_ID_LENGTH});
    workspace->session_id = session_of(&workspace->arena);
    workspace->user_id = user_of(&workspace->arena);
    return 0;
}

void workspace_release(struct workspace *workspace)
{
    arena_release(&workspace->arena);
}

struct reading {
    const struct workspace *workspace;
    const struct workspace_warning *warning;
    struct buf out;
};

static void warn(const struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void warn(const struct reading *reading, const char *format, ...)
{
    struct buf text;
    va_list args;
    buf_init(&text, 8192);
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    reading->warning->say(reading->warning->user, buf_view(&text));
    buf_release(&text);
}

/* Adds one directory's file under its heading; nothing when it is not there or empty. */
static void add_file(struct reading *reading, const char *directory, const char *name)
{
    struct err problem = ERR_INIT;
    struct buf text, *out = &reading->out;
    struct instructions_found found;
    size_t before = out->n;
    buf_init(&text, 3 * INSTRUCTIONS_FILE_MAX); /* mending can make a byte three */
    int result = instructions_read(directory, str_from(name), &text, &found, &problem);
    if (result != 0 && problem.class != ERR_NOT_FOUND)
        warn(reading, "%s; the agents do without it", problem.message);
    if (result == 0 && found.extent == INSTRUCTIONS_CUT)
        warn(reading, "%s/%.*s is too long: only its first %zu KB count; shorten it", directory,
             STR_FMT(found.name), INSTRUCTIONS_FILE_MAX >> 10);
    if (result == 0 && text.n > 0) {
        buf_printf(out, "%s# %.*s", out->n > 0 ? "\n" : "", STR_FMT(found.name));
        if (!str_is(reading->workspace->path, directory))
            buf_printf(out, " of %s", directory);
        buf_text(out, "\n\n");
        buf_str(out, buf_view(&text));
        if (out->n > 0 && out->p[out->n - 1] != '\n')
            buf_char(out, '\n');
    }
    if (out->failed) {
        warn(reading, "%s/%.*s is left out: all instruction files together have more than %zu KB",
             directory, STR_FMT(found.name), INSTRUCTIONS_MAX >> 10);
        out->n = before;
        out->failed = false;
    }
    buf_release(&text);
}

struct str workspace_instructions(struct workspace *workspace, const struct upward *above,
                                  const struct workspace_warning *warning)
{
    static const char *const names[] = {"AGENTS.md", "ENVIRONMENT.md"};
    struct reading reading = {.workspace = workspace, .warning = warning};
    struct str text = STR_NONE;
    buf_init(&reading.out, INSTRUCTIONS_MAX);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t k = 0; k < above->count; k++)
            add_file(&reading, above->directories[k].p, names[i]);
        add_file(&reading, workspace->path.p, names[i]);
    }
    if (reading.out.n > 0)
        text = arena_copy(&workspace->arena, buf_view(&reading.out));
    buf_release(&reading.out);
    return text;
}
