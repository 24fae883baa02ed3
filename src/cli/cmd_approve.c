/* `cadre approve`: a yes or a no to a step of a plan or a call that waits for an answer, whichever process its run lives in. */
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/question_view.h"
#include "cli/waiting.h"
#include "engine/inbox.h"
#include "engine/shown.h"
#include "os/clock.h"

#define LOOK_TRIES 60
#define LOOK_PAUSE_MS 50

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"deny", NULL, "say no: a step fails and what depends on it is skipped; a call is refused"},
    {"all", NULL, "answer for every step that waits; with --deny for every call as well"},
    {"show", NULL, "only show what waits: what each question shows, with its hash"},
    {"shown", "HASH", "of the text that you read: needed to approve a call"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_approve = {
    .name = "approve",
    .summary = "answer a step of a plan, or a call, that waits for a person",
    .usage = "RUN [STEP|CALL] [--shown HASH] [--deny] [--show]",
    .details =
        "Without a name, the one step that waits, and with --deny the one step or call; where "
        "several wait, they are\n"
        "listed. Calls wait here where nobody is at a terminal and approvals.via is inbox; they "
        "are shown as at a\n"
        "terminal, and approved by their id. A yes to a call names the hash of the text that was "
        "shown (--shown): when\n"
        "the call would do something else by then, it is not made. A run that no process works on "
        "keeps the answer for\n"
        "`cadre resume`. The first answer counts.",
    .example = "cadre approve last",
    .options = options,
    .operand_min = 1,
    .operand_max = 2,
    .run = run,
};

static const char *kind_text(const struct waiting *item)
{
    return item->kind == WAITING_STEP ? "step" : "call";
}

static void say(struct invocation *invocation, const struct history *history,
                const struct waiting *item, const char *status, const char *text)
{
    struct output *output = &invocation->output;
    struct buf line;
    struct jw w;
    buf_init(&line, 4096);
    if (output->format == OUTPUT_TEXT) {
        buf_printf(&line, "run %s", history->run_id.text);
        if (item != NULL)
            buf_printf(&line, ", %s %.*s", kind_text(item), STR_FMT(item->id));
        buf_printf(&line, " %s\n", text);
        output_clean(output, buf_view(&line), UTF8_LINES);
        buf_release(&line);
        return;
    }
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "approve");
    jw_ktext(&w, "run_id", history->run_id.text);
    if (item != NULL)
        jw_kstr(&w, kind_text(item), item->id);
    jw_ktext(&w, "status", status);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* --- showing what waits ---------------------------------------------------------------------------------------- */

static void show_json(struct output *output, const struct history *history,
                      const struct waiting *item, struct str preview, int64_t secrets)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "question");
    jw_ktext(&w, "run_id", history->run_id.text);
    jw_kstr(&w, kind_text(item), item->id);
    if (item->kind == WAITING_CALL) {
        jw_kstr(&w, "agent", item->agent);
        jw_kstr(&w, "tool", item->tool);
        jw_kstr(&w, "arguments", item->arguments);
    }
    if (preview.p != NULL) {
        jw_kstr(&w, "shown", item->shown);
        jw_kint(&w, "secrets", secrets);
        jw_kraw(&w, "preview", preview);
    }
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* As the terminal's question has it: marks, bars and numbers of lines. */
static void show_text(struct output *output, const struct waiting *item, struct arena *arena,
                      struct str json)
{
    struct err ignored = ERR_INIT;
    struct preview *preview = arena_alloc(arena, sizeof *preview);
    struct js *doc = json.p != NULL ? js_parse(json, &ignored) : NULL;
    bool readable = doc != NULL && shown_parse(arena, doc, preview) == 0;
    struct question_view view = {.kind = item->kind == WAITING_STEP ? QUESTION_STEP : QUESTION_CALL,
                                 .agent = item->agent,
                                 .tool = item->tool,
                                 .arguments = STR("{}"),
                                 .preview = readable ? preview : NULL};
    struct question_style style = {0, output->colour, output->glyphs};
    struct buf text;
    int lines;
    output_size(output, &style.columns, &lines);
    style.columns--;
    buf_init(&text, SIZE_MAX / 4);
    question_view_start(&view);
    question_view_whole(&view, &style, &text);
    output_print(output, "%.*s", STR_FMT(buf_view(&text)));
    question_view_release(&view);
    buf_release(&text);
    js_free(doc);
}

static int show(struct output *output, struct history *history, const struct waiting *item,
                struct err *err)
{
    struct err none = ERR_INIT;
    struct arena arena;
    struct str preview;
    int64_t secrets = 0;
    arena_init(&arena);
    int result = waiting_preview(history, item, &arena, &preview, &secrets, &none);
    if (result != 0 && none.class != ERR_NOT_FOUND) {
        *err = none;
        arena_release(&arena);
        return -1;
    }
    if (output->format == OUTPUT_JSON) {
        show_json(output, history, item, preview, secrets);
        arena_release(&arena);
        return 0;
    }
    show_text(output, item, &arena, preview);
    if (secrets > 0)
        output_print(output, "  [%lld %s masked here]\n", (long long)secrets,
                     secrets == 1 ? "secret of a file is" : "secrets of files are");
    if (preview.p == NULL)
        output_print(output, "  What it would do is not known: the run that asks has not looked "
                             "yet. It can be denied.\n");
    output_print(output, "  cadre approve %s %.*s", history->run_id.text, STR_FMT(item->id));
    if (preview.p != NULL)
        output_print(output, " --shown %.*s", STR_FMT(item->shown));
    output_print(output, preview.p != NULL ? ", or with --deny\n" : " --deny\n");
    arena_release(&arena);
    return 0;
}

/* -1 with err, else how many. */
static int show_open(struct output *output, struct history *history,
                     const struct waiting_list *list, int steps, struct err *err)
{
    int shown = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct waiting *item = &list->items[i];
        if (item->answer != WAITING_OPEN || (item->kind == WAITING_STEP && !steps))
            continue;
        if (show(output, history, item, err) != 0)
            return -1;
        shown++;
    }
    return shown;
}

/* --- answering --------------------------------------------------------------------------------------------------- */

static int answered_already(const struct waiting *item, enum waiting_answer answer, struct err *err)
{
    return err_set(err, ERR_DENIED, "the %s \"%.*s\" %s already; the first answer counts",
                   kind_text(item), STR_FMT(item->id),
                   answer == WAITING_YES ? "was approved" : "was denied, or waits no longer");
}

/* Nobody says yes to a call without having seen what it would do. */
static int check_shown(struct invocation *invocation, struct history *history,
                       const struct waiting *item, struct err *err)
{
    struct str said = arguments_value(&invocation->arguments, "shown");
    if (said.p == NULL && item->kind == WAITING_STEP)
        return 0;
    if (said.p != NULL && item->shown.n > 0 && str_eq(said, item->shown))
        return 0;
    if (show(&invocation->output, history, item, err) != 0)
        return -1;
    if (item->shown.n == 0)
        return err_set(err, ERR_DENIED,
                       "the run has not said yet what this %s would do: try again, or --deny",
                       kind_text(item));
    if (said.p != NULL)
        return err_set(err, ERR_DENIED,
                       "this %s would do something else than what has the hash %.*s: read it "
                       "again, then --shown %.*s",
                       kind_text(item), STR_FMT(utf8_cut(said, 80)), STR_FMT(item->shown));
    return err_set(err, ERR_USAGE,
                   "to approve a call, name the hash of the text that you read: --shown %.*s",
                   STR_FMT(item->shown));
}

static int send_answer(struct history *history, const struct waiting *item,
                       enum waiting_answer wanted, enum inbox_delivery *delivery, struct err *err)
{
    struct buf body;
    struct jw w;
    buf_init(&body, 4096);
    jw_init(&w, &body);
    jw_object(&w);
    jw_kint(&w, "agent_no", item->agent_no);
    jw_kstr(&w, "call_id", item->question);
    jw_ktext(&w, "answer", wanted == WAITING_NO ? "no" : "yes");
    if (item->shown.n > 0)
        jw_kstr(&w, "shown", item->shown);
    jw_end_object(&w);
    int result =
        inbox_send(history->store, wire_config(history->wire)->store_path, id_str(&history->run_id),
                   STR("approve"), buf_view(&body), wire_workspace(history->wire)->user_id,
                   clock_now_ms(), clock_boottime_ms(), delivery, err);
    buf_release(&body);
    return result;
}

static enum waiting_answer wanted_answer(const struct invocation *invocation)
{
    return arguments_has(&invocation->arguments, "deny") ? WAITING_NO : WAITING_YES;
}

/* The first answer counts, whoever gave it and however short a time ago. */
static int answer(struct invocation *invocation, struct history *history,
                  const struct waiting *item, struct err *err)
{
    enum waiting_answer wanted = wanted_answer(invocation);
    enum waiting_answer came = item->answer;
    enum inbox_delivery delivery;
    if (came == WAITING_OPEN) {
        if (wanted == WAITING_YES && check_shown(invocation, history, item, err) != 0)
            return -1;
        if (send_answer(history, item, wanted, &delivery, err) != 0)
            return -1;
        if (delivery == INBOX_KEPT) {
            say(invocation, history, item, "kept",
                "has an answer, which takes effect at `cadre resume`");
            return 0;
        }
        if (waiting_outcome(history, item, &came, err) != 0)
            return -1;
        if (came == WAITING_CHANGED)
            return err_set(err, ERR_DENIED,
                           "the %s \"%.*s\" was not made: what it would do has changed since it "
                           "was shown",
                           kind_text(item), STR_FMT(item->id));
        if (came == WAITING_OPEN || came == wanted) {
            say(invocation, history, item, wanted == WAITING_NO ? "denied" : "approved",
                wanted == WAITING_NO ? "is denied" : "is approved");
            return 0;
        }
    }
    return answered_already(item, came, err);
}

/* Is it answered without being named? A yes only for a step: a call is approved by its name, by somebody who has read it. A no
 * needs no reading. */
static bool is_meant(const struct waiting *item, enum waiting_answer wanted)
{
    return item->answer == WAITING_OPEN && (item->kind == WAITING_STEP || wanted == WAITING_NO);
}

static int unclear(const struct waiting_list *list, enum waiting_answer wanted, struct err *err)
{
    struct buf names;
    size_t n = 0, calls = 0;
    buf_init(&names, 65536);
    for (size_t i = 0; i < list->count; i++)
        if (is_meant(&list->items[i], wanted)) {
            buf_printf(&names, "%s%.*s", n++ > 0 ? ", " : "", STR_FMT(list->items[i].id));
            calls += list->items[i].kind == WAITING_CALL;
        }
    err_set(err, ERR_USAGE, "several %s wait: %.*s; name one of them, or use --all",
            calls == 0   ? "steps"
            : calls == n ? "calls"
                         : "steps and calls",
            STR_FMT(buf_view(&names)));
    buf_release(&names);
    return -1;
}

static int answer_named(struct invocation *invocation, struct history *history,
                        const struct waiting_list *list, struct str name, struct err *err)
{
    const struct waiting *found = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].id, name) &&
            (found == NULL || list->items[i].answer == WAITING_OPEN))
            found = &list->items[i];
    if (found == NULL)
        return err_set(err, ERR_NOT_FOUND, "no step and no call \"%.*s\" waits for an answer",
                       STR_FMT(name));
    return answer(invocation, history, found, err);
}

/* The one step that waits, or call that is denied; with --all each of them. */
static int answer_unnamed(struct invocation *invocation, struct history *history,
                          const struct waiting_list *list, struct err *err)
{
    const struct arguments *arguments = &invocation->arguments;
    const struct waiting *settled = NULL;
    enum waiting_answer wanted = wanted_answer(invocation);
    size_t open = 0;
    for (size_t i = 0; i < list->count; i++) {
        open += is_meant(&list->items[i], wanted);
        if (list->items[i].kind == WAITING_STEP && list->items[i].answer != WAITING_OPEN)
            settled = &list->items[i];
    }
    if (open > 1 && !arguments_has(arguments, "all"))
        return unclear(list, wanted, err);
    for (size_t i = 0; i < list->count; i++)
        if (is_meant(&list->items[i], wanted) &&
            answer(invocation, history, &list->items[i], err) != 0)
            return -1;
    int calls = wanted == WAITING_NO ? 0 : show_open(&invocation->output, history, list, 0, err);
    if (calls < 0)
        return -1;
    if (open > 0 || calls > 0)
        return 0;
    if (settled != NULL && wanted == WAITING_NO)
        return answer(invocation, history, settled, err);
    say(invocation, history, NULL, "none", "has nothing that waits for an answer");
    return 0;
}

/* A run that lives looks at what it asks about within a moment. */
static int read_shown(struct history *history, struct waiting_list *list, bool is_live,
                      struct err *err)
{
    const struct timespec pause = {0, LOOK_PAUSE_MS * 1000000L};
    for (int i = 0;; i++) {
        bool whole = true;
        if (waiting_read(history, list, err) != 0)
            return -1;
        for (size_t k = 0; k < list->count; k++)
            whole &= list->items[k].answer != WAITING_OPEN || list->items[k].shown.n > 0;
        if (whole || !is_live || i == LOOK_TRIES)
            return 0;
        waiting_release(list);
        nanosleep(&pause, NULL);
    }
}

static int answer_run(struct invocation *invocation, struct history *history, bool is_live,
                      struct err *err)
{
    const struct arguments *arguments = &invocation->arguments;
    struct waiting_list *list = malloc(sizeof *list);
    if (list == NULL)
        abort();
    int result = read_shown(history, list, is_live, err);
    if (result == 0 && arguments_has(arguments, "show")) {
        result = show_open(&invocation->output, history, list, 1, err);
        if (result == 0)
            say(invocation, history, NULL, "none", "has nothing that waits for an answer");
        result = result < 0 ? -1 : 0;
    } else if (result == 0) {
        result = arguments->operand_count > 1
                     ? answer_named(invocation, history, list, arguments->operands[1], err)
                     : answer_unnamed(invocation, history, list, err);
    }
    waiting_release(list);
    free(list);
    return result;
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct history_run row;
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    if (history_open(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = history_run(&history, &row, &err);
    if (result == 0 && row.run.finished_at >= 0)
        result =
            err_set(&err, ERR_DENIED, "run %s has ended (%.*s): nothing in it waits for an answer",
                    history.run_id.text, STR_FMT(row.run.status));
    if (result == 0)
        result = answer_run(invocation, &history, row.run.owner.n > 0, &err);
    if (result != 0)
        code = command_fail(invocation, &err);
    history_run_release(&row);
    history_close(&history);
    return code;
}
