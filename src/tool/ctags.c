/* Runs ctags and reads its JSON lines (see ctags.h). */
#include "tool/ctags.h"

#include "os/scope.h"
#include "tool/confined.h"

#define WALL_MS 20000
#define OUTPUT_MAX (32u << 20)
#define INPUT_MAX (CTAGS_FILES_MAX * (SCOPE_PATH_MAX + 3u))

/* --options=NONE stands first: no option file, in the workspace or elsewhere, is read. */
static const char *const arguments[] = {
    "ctags",
    "--options=NONE",
    "--output-format=json",
    "--fields=NFnK",
    "--sort=no",
    "-L",
    "-",
    "-f",
    "-",
    NULL,
};

/* One path per line, each with a prefix, so that none is taken for an option. Names with newlines or
 * with white space at their end cannot be told in this way. */
static void list_files(const struct str *paths, size_t count, struct buf *input)
{
    for (size_t i = 0; i < count && i < CTAGS_FILES_MAX; i++) {
        struct str path = paths[i];
        if (path.n == 0 || memchr(path.p, '\n', path.n) || strchr(" \t\r\v\f", path.p[path.n - 1]))
            continue;
        buf_printf(input, "./%.*s\n", STR_FMT(path));
    }
}

static void read_line(struct str line, struct str name, ctags_found *found, void *user)
{
    struct err err = ERR_INIT;
    if (line.n == 0 || line.p[0] != '{')
        return;
    struct js *tag = js_parse(line, &err);
    if (!tag)
        return;
    struct str path = js_get_str(tag, "path");
    if (str_is(js_get_str(tag, "_type"), "tag") && str_eq(js_get_str(tag, "name"), name) &&
        str_starts(path, STR("./")))
        found(user, (struct str){path.p + 2, path.n - 2}, js_get_int(tag, "line", 0),
              js_get_str(tag, "kind"));
    js_free(tag);
}

static void read_output(struct str output, struct str name, ctags_found *found, void *user)
{
    while (output.n > 0) {
        const char *newline = memchr(output.p, '\n', output.n);
        size_t n = newline ? (size_t)(newline - output.p) : output.n;
        /* Most lines are about other names: they are not parsed. */
        if (memmem(output.p, n, name.p, name.n))
            read_line((struct str){output.p, n}, name, found, user);
        size_t taken = newline ? n + 1 : n;
        output.p += taken;
        output.n -= taken;
    }
}

int ctags_find(const struct tool_context *context, const struct str *paths, size_t count,
               struct str name, ctags_found *found, void *user, struct err *err)
{
    const struct tool_services *services = context->services;
    struct sandbox_walls walls;
    if (!services || !services->sandbox)
        return err_set(err, ERR_DENIED, "no process can be confined here");
    confined_walls(context, context->arena, &walls);
    walls.write_count = 0;
    walls.network = SANDBOX_NET_NONE;
    struct buf input;
    buf_init(&input, INPUT_MAX);
    list_files(paths, count, &input);
    struct sandbox_command command = {
        .argv = arguments,
        .directory = STR("."),
        .input = buf_view(&input),
        .streams = SANDBOX_APART,
        .wall_ms = confined_wall(context, WALL_MS),
        .output_max = OUTPUT_MAX,
        .cancelled = context->cancelled,
    };
    struct sandbox_outcome outcome = {0};
    int result = -1;
    if (input.n == 0)
        err_set(err, ERR_NOT_FOUND, "there is no file for ctags to look at");
    else
        result = services->sandbox->run(services->sandbox->self, &walls, &command, &outcome, err);
    if (result == 0) {
        read_output(buf_view(&outcome.output), name, found, user);
        if (outcome.end != SANDBOX_EXITED || outcome.code != 0)
            result = err_set(err, ERR_NOT_FOUND, "ctags did not end well");
        buf_release(&outcome.output);
        buf_release(&outcome.errors);
    }
    buf_release(&input);
    return result;
}
