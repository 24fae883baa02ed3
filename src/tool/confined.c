/* See confined.h. The sandbox builds the walls; here a contract's words become walls and an outcome becomes words. */
#include "tool/confined.h"

#include "base/filename.h"
#include "base/json.h"
#include "base/mask.h"
#include "os/scope.h"
#include "tool/git_ask.h"
#include "tool/memory.h"
#include "tool/opened.h"
#include "tool/presence.h"
#include "tool/reads.h"
#include "tool/result.h"
#include "tool/writable.h"

#define KEPT_LEAST 16384 /* bytes of output that are kept at least: cleaning makes less of them */
#define KEPT_FACTOR 4
#define MARGIN_MS                                                                                  \
    5000 /* of the agent's own time, so that it can tell of a program that took too long */
#define NAMES_SHOWN 12  /* changed files in the text; the result has all of them */
#define FILES_MOST 1000 /* changed files in the result */
#define LINE_SHOWN 200  /* bytes of a line of progress */
#define REFUSED_BYTES 4096
#define LINE_KEPT 4096 /* bytes of it that are looked at */

/* Whoever may read all files may see what git says of them. Without records, git finds no repository, and says so. */
static struct sandbox_records records_of(const struct tool_context *context, struct arena *arena)
{
    const struct vcs_port *vcs = context->services->vcs;
    const struct vcs_view whole = {.prefix = STR_NONE};
    struct sandbox_records records = {0};
    struct err ignored = ERR_INIT;
    if (vcs == NULL || git_ask_is_narrow(context, &whole) ||
        vcs->records(vcs->self, arena, str_from(context->scope->real), &records, &ignored) != 0)
        return (struct sandbox_records){0};
    return records;
}

void confined_walls(const struct tool_context *context, struct arena *arena,
                    struct sandbox_walls *walls)
{
    struct writable writable;
    writable_places(context, arena, &writable);
    *walls = (struct sandbox_walls){
        .workspace = context->scope->fd,
        .workspace_path = str_from(scope_shown(context->scope)),
        .read_paths = context->read_paths,
        .read_count = context->read_count,
        .write_paths = writable.paths,
        .write_count = writable.count,
        .hidden = context->services->hidden,
        .hidden_count = context->services->hidden_count,
        .records = records_of(context, arena),
        .network = context->network,
        .hosts = context->hosts,
        .run = context->run_id,
    };
}

int confined_ready(const struct tool_context *context, struct tool_result *result)
{
    const struct tool_services *services = context->services;
    if (services == NULL || services->memory == NULL)
        return tool_fail(result, "no program can be run here");
    if (services->sandbox == NULL)
        return tool_fail(result, "no program can be run, because it cannot be confined: %.*s",
                         STR_FMT(services->sandbox_problem));
    return 0;
}

int64_t confined_wall(const struct tool_context *context, int64_t wanted)
{
    int64_t left = context->time_left_ms;
    int64_t margin = left / 10 < MARGIN_MS ? left / 10 : MARGIN_MS;
    int64_t wall = wanted < left - margin ? wanted : left - margin;
    return wall > 0 ? wall : 1;
}

/* --- running ------------------------------------------------------------------------------------------------------------- */

/* The line that a program is printing, for the call's progress. */
struct hearing {
    const struct tool_context *context;
    struct buf line; /* from its first byte; what goes beyond LINE_KEPT is not shown anyway */
    bool ended;
};

static const struct masker *masker_of(const struct tool_context *context)
{
    return context->services != NULL ? context->services->masker : NULL;
}

/* Keeps the last line that is not blank. */
static void hear_line(struct hearing *hearing, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.p[i];
        if (c == '\n' || c == '\r') {
            hearing->ended = true;
            continue;
        }
        if (hearing->ended && c != ' ' && c != '\t') {
            buf_clear(&hearing->line);
            hearing->ended = false;
        }
        if (!hearing->ended && hearing->line.n < LINE_KEPT)
            buf_char(&hearing->line, c);
    }
}

/* A secret that has not come whole is not shown yet. */
static void on_heard(void *user, struct str bytes)
{
    struct hearing *hearing = user;
    const struct tool_context *context = hearing->context;
    struct buf masked, clean;
    if (context->progress == NULL)
        return;
    hear_line(hearing, bytes);
    struct str line = buf_view(&hearing->line);
    if (!hearing->ended)
        line.n -= masker_pending(masker_of(context), line);
    buf_init(&masked, LINE_KEPT + 1);
    buf_init(&clean, 4 * LINE_SHOWN);
    buf_str(&masked, line);
    masker_apply(masker_of(context), &masked);
    utf8_clean(&clean, utf8_cut(buf_view(&masked), LINE_SHOWN), UTF8_ONE_LINE);
    struct str shown = str_trim(buf_view(&clean));
    if (shown.n > 0)
        context->progress(context->progress_user, shown);
    buf_release(&masked);
    buf_release(&clean);
}

int confined_run(const struct tool_context *context, struct confined_run *run,
                 struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct sandbox_walls walls;
    struct presence presence;
    struct presences *presences;
    struct hearing hearing = {.context = context};
    size_t kept = context->max_result * KEPT_FACTOR;
    run->outcome = (struct sandbox_outcome){.end = SANDBOX_EXITED};
    if (confined_ready(context, result) != 0)
        return -1;
    presences = tool_memory_presences(context->services->memory);
    confined_walls(context, context->arena, &walls);
    const struct sandbox_command command = {
        .argv = run->argv,
        .directory = context->working_directory,
        .streams = SANDBOX_JOINED,
        .wall_ms = run->wall_ms,
        .output_max = kept > KEPT_LEAST ? kept : KEPT_LEAST,
        .cancelled = context->cancelled,
        .owned_until = context->owned_until,
        .heard = on_heard,
        .user = &hearing,
    };
    presence_enter(presences, context, &presence);
    run->before = changes_take(context);
    struct opened *opened = opened_watch(context);
    const struct sandbox_port *sandbox = context->services->sandbox;
    buf_init(&hearing.line, LINE_KEPT);
    int failed = sandbox->run(sandbox->self, &walls, &command, &run->outcome, &err);
    buf_release(&hearing.line);
    opened_tell(opened, context, result);
    opened_free(opened);
    reads_drop_scope(reads_of(context), context->scope);
    run->after = changes_take(context);
    presence_leave(presences, &presence);
    run->tree = presence_state(presences, &presence) == PRESENCE_SHARED ? TREE_SHARED : TREE_ALONE;
    if (failed == 0) {
        confined_refused(context, &run->outcome, result);
        return 0;
    }
    run->outcome = (struct sandbox_outcome){.end = SANDBOX_EXITED};
    return tool_fail_err(result, &err);
}

void confined_refused(const struct tool_context *context, const struct sandbox_outcome *outcome,
                      struct tool_result *result)
{
    struct buf out;
    struct jw w;
    if (outcome->refused_count == 0)
        return;
    buf_init(&out, REFUSED_BYTES);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < outcome->refused_count; i++) {
        jw_object(&w);
        jw_kstr(&w, "call", str_from(outcome->refused[i].call));
        jw_kstr(&w, "program", str_from(outcome->refused[i].program));
        jw_kint(&w, "times", outcome->refused[i].times);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    result->refused = arena_copy(context->arena, buf_view(&out));
    buf_release(&out);
}

void confined_release(struct confined_run *run)
{
    buf_release(&run->outcome.output);
    buf_release(&run->outcome.errors);
    changes_free(run->before);
    changes_free(run->after);
    run->before = run->after = NULL;
}

/* --- in words ------------------------------------------------------------------------------------------------------------ */

void confined_seconds(struct buf *out, int64_t ms)
{
    buf_printf(out, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

/* What a shell's own exit codes mean. */
static const char *code_meaning(int code)
{
    return code == 126   ? " (found, but it cannot be executed)"
           : code == 127 ? " (no such command)"
           : code == 137 ? " (killed: perhaps it used more memory than it may)"
           : code == 159 ? " (a system call that is not allowed here)"
                         : "";
}

void confined_end(const struct sandbox_outcome *outcome, int64_t wall_ms, struct buf *out)
{
    const char *signal = strsignal(outcome->code);
    switch (outcome->end) {
    case SANDBOX_EXITED:
        buf_printf(out, "exit code %d%s after ", outcome->code, code_meaning(outcome->code));
        confined_seconds(out, outcome->wall_ms);
        break;
    case SANDBOX_KILLED:
        buf_printf(out, "killed by signal %d (%s) after ", outcome->code, signal);
        confined_seconds(out, outcome->wall_ms);
        if (outcome->note[0] != '\0')
            buf_printf(out, ": %s", outcome->note);
        break;
    case SANDBOX_TIMEOUT:
        buf_text(out, "stopped when its time of ");
        confined_seconds(out, wall_ms);
        buf_text(out, " was over; all of its processes were killed");
        break;
    case SANDBOX_CANCELLED:
        buf_text(out, "cancelled; all of its processes were killed");
        break;
    }
    if (outcome->aside[0] != '\0') {
        buf_text(out, "; ");
        utf8_clean(out, str_from(outcome->aside), UTF8_ONE_LINE);
    }
    for (size_t i = 0; i < outcome->refused_count; i++) {
        const struct sandbox_refusal *refusal = &outcome->refused[i];
        buf_printf(out, "%s %s (by %s", i == 0 ? "; system calls that the sandbox refused:" : ",",
                   refusal->call, refusal->program);
        buf_printf(out, refusal->times > 1 ? ", %lld times)" : ")", (long long)refusal->times);
    }
    if (outcome->missing.n > 0)
        buf_printf(out, "; without these walls, which the operator turned off: %.*s",
                   STR_FMT(outcome->missing));
}

/* A carriage return takes a terminal back to the line's start: what stood there is overwritten. */
static void drop_overwritten(struct buf *out, struct str raw)
{
    const char *at = raw.p, *end = raw.p + raw.n;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        const char *last = stop;
        while (last > at && last[-1] == '\r')
            last--;
        const char *from = last;
        while (from > at && from[-1] != '\r')
            from--;
        buf_add(out, from, (size_t)(last - from));
        if (newline != NULL)
            buf_char(out, '\n');
        at = newline != NULL ? newline + 1 : end;
    }
}

void confined_clean(struct buf *out, struct str raw)
{
    struct buf lines;
    buf_init(&lines, raw.n + 1);
    drop_overwritten(&lines, raw);
    utf8_clean(out, buf_view(&lines), UTF8_LINES);
    buf_release(&lines);
}

size_t confined_text(const struct tool_context *context, struct buf *out, struct str raw)
{
    confined_clean(out, raw);
    return masker_apply(masker_of(context), out);
}

/* The longest suffix of at most max bytes that does not begin inside a character. */
static struct str end_of(struct str text, size_t max)
{
    size_t from = text.n > max ? text.n - max : 0;
    while (from < text.n && ((unsigned char)text.p[from] & 0xC0) == 0x80)
        from++;
    return (struct str){text.p + from, text.n - from};
}

void confined_output(const struct tool_context *context, struct tool_result *result, struct str raw,
                     uint64_t total, size_t most)
{
    struct buf clean;
    size_t room = tool_room(result) < most ? tool_room(result) : most;
    buf_init(&clean, 3 * raw.n + 64); /* mending makes three bytes of a bad one */
    /* Masked before it is cut: half a secret would not be known. */
    result->secrets += confined_text(context, &clean, raw);
    struct str text = buf_view(&clean);
    if (text.n <= room) {
        buf_str(&result->text, text);
    } else {
        struct str head = utf8_cut(text, room / 2), tail = end_of(text, room - room / 2);
        buf_str(&result->text, head);
        buf_printf(
            &result->text,
            "\n[truncated: %zu bytes of the middle left out, %llu were printed; ask for less with "
            "head, tail or grep, or send it to a file and read that]\n",
            text.n - head.n - tail.n, (unsigned long long)total);
        buf_str(&result->text, tail);
    }
    if (result->text.n > 0 && result->text.p[result->text.n - 1] != '\n')
        buf_char(&result->text, '\n');
    buf_release(&clean);
}

/* --- changes ---------------------------------------------------------------------------------------------------------------- */

struct telling {
    const struct tool_context *context;
    struct tool_result *result;
    size_t told[3], count;
    struct buf names;
};

static void tell(void *user, enum change change, struct str path)
{
    static const char *const words[] = {
        [CHANGE_CREATED] = "created", [CHANGE_MODIFIED] = "modified", [CHANGE_DELETED] = "deleted"};
    struct telling *telling = user;
    telling->told[change]++;
    if (telling->count++ < FILES_MOST)
        tool_add_modified(telling->context, telling->result, path);
    if (telling->count > NAMES_SHOWN)
        return;
    buf_printf(&telling->names, "%s%s ", telling->count > 1 ? ", " : "", words[change]);
    struct filename name = filename_of(path);
    buf_str(&telling->names, utf8_cut(str_from(name.text), 3 * LINE_SHOWN));
}

void confined_changes(const struct tool_context *context, const struct changes *before,
                      const struct changes *after, int tree, struct tool_result *result)
{
    struct telling telling = {.context = context, .result = result};
    buf_init(&telling.names, (NAMES_SHOWN + 1) * (3 * LINE_SHOWN + 16));
    int known = changes_compare(before, after, tell, &telling);
    struct buf line;
    buf_init(&line, telling.names.max + 512);
    if (known != 0)
        buf_printf(&line,
                   "[which files it changed is not known: there are more than %d to look at]\n",
                   CHANGES_FILES_MAX);
    else if (telling.count > 0)
        buf_printf(&line, "[files: %.*s", STR_FMT(buf_view(&telling.names)));
    if (telling.count > NAMES_SHOWN)
        buf_printf(&line, " and %zu more", telling.count - NAMES_SHOWN);
    if (telling.count > 0)
        buf_text(&line, tree == TREE_SHARED
                            ? "; another agent ran programs here meanwhile, some may be its]\n"
                            : "]\n");
    /* The rest of the result left room for its notes, not for many long names. */
    if (line.n > 0 && line.n <= result->text.max - result->text.n)
        buf_str(&result->text, buf_view(&line));
    else if (line.n > 0 && result->text.max - result->text.n > 64)
        buf_printf(&result->text, "[%zu files changed]\n", telling.count);
    buf_release(&line);
    buf_release(&telling.names);
}
