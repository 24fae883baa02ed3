/* `cadre diff`: what a run has changed, as `cadre apply` would bring it. In a pipe it is a patch, byte for byte; on a terminal it has colours,
 * and characters that a terminal would obey or hide are marked. */
#include "base/filename.h"
#include "cli/apply.h"
#include "cli/command.h"
#include "cli/executed.h"
#include "cli/history.h"

#define DIFF_MAX (64u << 20)

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"stat", NULL, "files and how many lines, without the lines"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_diff = {
    .name = "diff",
    .summary = "show what a run has changed, as `cadre apply` would bring it",
    .usage = "RUN [--stat]",
    .details =
        "Compares the files that the run started from, your uncommitted changes at that time "
        "included, with its result.\n"
        "In a pipe it is a patch that `git apply` takes.",
    .example = "cadre diff last --stat",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

/* --- for programs ------------------------------------------------------------------------------------------------------------ */

static void print_json(struct output *output, const char *run_id, const struct vcs_outlook *outlook,
                       bool with_diff)
{
    static const char *const changes[] = {
        [VCS_FILE_NEW] = "added", [VCS_FILE_CHANGED] = "modified", [VCS_FILE_DELETED] = "deleted"};
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "diff");
    jw_ktext(&w, "run_id", run_id);
    jw_key(&w, "files");
    jw_array(&w);
    for (size_t i = 0; i < outlook->count; i++) {
        const struct vcs_outlook_file *file = &outlook->files[i];
        jw_object(&w);
        jw_ktext(&w, "path", filename_of(file->path).text);
        jw_ktext(&w, "change", changes[file->what]);
        jw_kint(&w, "added", file->added);
        jw_kint(&w, "removed", file->removed);
        if (executed_by(file) != NULL)
            jw_ktext(&w, "executed_by", executed_by(file));
        jw_end_object(&w);
    }
    jw_end_array(&w);
    if (with_diff)
        jw_kstr(&w, "diff", outlook->diff);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* --- for people -------------------------------------------------------------------------------------------------------------- */

static void print_stat(struct output *output, const struct vcs_outlook *outlook)
{
    static const char *const marks[] = {
        [VCS_FILE_NEW] = "new", [VCS_FILE_CHANGED] = "", [VCS_FILE_DELETED] = "deleted"};
    int64_t added = 0, removed = 0;
    for (size_t i = 0; i < outlook->count; i++) {
        const struct vcs_outlook_file *file = &outlook->files[i];
        const char *program = executed_by(file);
        char count[32];
        output_print(output, "%s", output_style_on(output->colour, STYLE_GREEN));
        snprintf(count, sizeof count, "+%lld", (long long)file->added);
        output_print(output, "%7s%s ", count, output_style_off(output->colour));
        output_print(output, "%s", output_style_on(output->colour, STYLE_RED));
        snprintf(count, sizeof count, "-%lld", (long long)file->removed);
        output_print(output, "%7s%s  %s", count, output_style_off(output->colour),
                     filename_of(file->path).text);
        if (marks[file->what][0] != '\0' || program != NULL)
            output_print(output, "  (%s%s%s%s)", marks[file->what],
                         marks[file->what][0] != '\0' && program != NULL ? ", " : "",
                         program != NULL ? "run by " : "", program != NULL ? program : "");
        output_print(output, "\n");
        added += file->added;
        removed += file->removed;
    }
    output_print(output, "%zu %s, %lld lines added, %lld removed\n", outlook->count,
                 outlook->count == 1 ? "file" : "files", (long long)added, (long long)removed);
}

/* The colour of a line of a diff; STYLE_COUNT: none. */
static enum output_style style_of(struct str line, bool in_hunk)
{
    if (!in_hunk)
        return STYLE_BOLD;
    switch (line.n > 0 ? line.p[0] : ' ') {
    case '+':
        return STYLE_GREEN;
    case '-':
        return STYLE_RED;
    case '@':
        return STYLE_DIM;
    default:
        return STYLE_COUNT;
    }
}

/* Tabs stay; everything else that a terminal would not show as itself is marked. */
static void reveal_line(struct buf *out, struct str line)
{
    while (line.n > 0) {
        char mark[UTF8_MARK];
        int width;
        size_t length = utf8_reveal(line, mark, &width);
        if (mark[0] == '\0' || line.p[0] == '\t')
            buf_add(out, line.p, length);
        else
            buf_text(out, mark);
        line = (struct str){line.p + length, line.n - length};
    }
}

static void print_line(struct output *output, struct str line, bool in_hunk)
{
    enum output_style style = style_of(line, in_hunk);
    struct buf shown;
    buf_init(&shown, SIZE_MAX / 4);
    if (style != STYLE_COUNT)
        buf_text(&shown, output_style_on(output->colour, style));
    reveal_line(&shown, line);
    if (style != STYLE_COUNT)
        buf_text(&shown, output_style_off(output->colour));
    buf_char(&shown, '\n');
    fwrite(shown.p, 1, shown.n, output->out);
    buf_release(&shown);
}

static void print_for_terminal(struct output *output, struct str diff)
{
    enum { HEADER, HUNK, BINARY } part = HEADER;
    struct str line;
    while (str_next_line(&diff, &line)) {
        if (str_starts(line, STR("diff --git ")))
            part = HEADER;
        else if (part == HEADER && str_starts(line, STR("@@ ")))
            part = HUNK;
        else if (part == HEADER && str_is(line, "GIT binary patch")) {
            part = BINARY;
            print_line(output, STR("a file that is not text"), false);
        }
        if (part != BINARY)
            print_line(output, line, part == HUNK);
    }
}

static void print_diff(struct output *output, const struct vcs_outlook *outlook)
{
    if (output->target == OUTPUT_TERMINAL || output->colour == COLOUR_ON)
        print_for_terminal(output, outlook->diff);
    else
        fwrite(outlook->diff.p, 1, outlook->diff.n, output->out);
}

/* --- both -------------------------------------------------------------------------------------------------------------------- */

/* Why there is no diff: with the counts, or beside a patch that is empty. */
static void tell(struct invocation *invocation, const char *why, const struct apply *apply)
{
    struct output *output = &invocation->output;
    if (output->format == OUTPUT_TEXT && arguments_has(&invocation->arguments, "stat"))
        output_print(output, "run %s: %s\n", apply->run_id.text, why);
    else
        output_error(output, "run %s: %s", apply->run_id.text, why);
}

static int ask(const struct apply *apply, struct arena *arena, struct invocation *invocation,
               struct vcs_outlook *outlook, struct err *err)
{
    struct apply_source source = {.kind = APPLY_IN_PLACE};
    struct vcs_port *vcs = NULL;
    *outlook = (struct vcs_outlook){.diff = STR("")};
    if (apply_find(apply, arena, &source, err) != 0)
        return -1;
    if (source.kind == APPLY_IN_PLACE) {
        tell(invocation, "what it changed is in the files where it worked", apply);
        return 0;
    }
    if (wire_vcs(apply->wire, &vcs, err) != 0)
        return -1;
    struct err gone = ERR_INIT;
    int result = vcs->result(vcs->self, arena, &source.request, DIFF_MAX, outlook, &gone);
    wire_vcs_close(vcs);
    if (result != 0 && gone.class == ERR_NOT_FOUND) { /* a run that changed nothing has no branch */
        tell(invocation, "it has changed nothing", apply);
        return 0;
    }
    if (result == 0)
        return 0;
    return err_set(err, gone.class, "%.*s: %s", STR_FMT(source.request.workspace), gone.message);
}

static enum exit_code print(struct invocation *invocation, const struct apply *apply,
                            const struct vcs_outlook *outlook)
{
    struct output *output = &invocation->output;
    bool stat = arguments_has(&invocation->arguments, "stat");
    struct err err = ERR_INIT;
    if (!stat && outlook->diff.p == NULL) {
        err_set(&err, ERR_DENIED,
                "the diff is larger than 64 MB; use --stat, or git diff on the branch "
                "cadre/%s/result",
                apply->run_id.text);
        return command_fail(invocation, &err);
    }
    if (output->format == OUTPUT_JSON)
        print_json(output, apply->run_id.text, outlook, !stat);
    else if (outlook->count > 0 && stat)
        print_stat(output, outlook);
    else if (outlook->count > 0)
        print_diff(output, outlook);
    return EXIT_CODE_DONE;
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct arena arena;
    struct vcs_outlook outlook;
    struct err err = ERR_INIT;
    if (history_open_reading(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    arena_init(&arena);
    struct apply apply = {.wire = history.wire, .store = history.store, .run_id = history.run_id};
    enum exit_code code = ask(&apply, &arena, invocation, &outlook, &err) == 0
                              ? print(invocation, &apply, &outlook)
                              : command_fail(invocation, &err);
    arena_release(&arena);
    history_close(&history);
    return code;
}
