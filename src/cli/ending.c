/* The end of a run, from its row and its result object. */
#include "cli/ending.h"

#include "cli/text.h"
#include "core/contract/settings.h"

#define PARKED "parked"
#define LINES_SHOWN 12 /* of a list, on a terminal */

struct ending {
    struct output *output;
    const struct ending_request *request;
    char head[HASH_HEX + 1];
    enum exit_code code;
};

/* {"type":"result", …the result object's fields…, "run_id", "run_status", "head"} */
static void print_json(const struct ending *ending, const struct stored_run *run,
                       const struct js *result)
{
    struct buf line;
    struct jw w;
    struct str key;
    const struct js *value;
    void *iter = NULL;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "result");
    jw_kstr(&w, "run_id", run->run_id);
    jw_kstr(&w, "run_status", run->status);
    if (str_is(run->status, PARKED))
        jw_kstr(&w, "reason", run->error);
    while (js_kind(result) == JS_OBJECT && (iter = js_next(result, iter, &key, &value)) != NULL) {
        struct buf text;
        buf_init(&text, SIZE_MAX / 4);
        js_print(value, &text);
        jw_key_str(&w, key);
        jw_raw(&w, buf_view(&text));
        buf_release(&text);
    }
    jw_ktext(&w, "head", ending->head);
    jw_end_object(&w);
    output_json(ending->output, &line);
    buf_release(&line);
}

/* Lines of a list: all of them for a program that reads along, the first ones for a person at a terminal. */
static void print_lines(struct output *output, const char *heading, const struct buf *lines,
                        size_t count)
{
    struct str rest = buf_view(lines), line;
    size_t most = output->target == OUTPUT_TERMINAL ? LINES_SHOWN : count;
    if (count == 0)
        return;
    output_print(output, "%s\n", heading);
    for (size_t i = 0; i < most && str_next_line(&rest, &line); i++)
        output_print(output, "  %.*s\n", STR_FMT(line));
    if (count > most)
        output_print(output, "  and %zu more\n", count - most);
}

static void print_changes(const struct ending *ending)
{
    const struct ending_changes *changes = ending->request->changes;
    char heading[64];
    if (changes == NULL)
        return;
    snprintf(heading, sizeof heading, "%zu %s changed:", changes->file_count,
             changes->file_count == 1 ? "file" : "files");
    print_lines(ending->output, heading, &changes->files, changes->file_count);
    snprintf(heading, sizeof heading, "%zu %s failed:", changes->failed_count,
             changes->failed_count == 1 ? "child" : "children");
    print_lines(ending->output, heading, &changes->failed, changes->failed_count);
}

/* Where what it brought is. */
static void print_places(const struct ending *ending, const struct stored_run *run,
                         const struct js *result)
{
    struct output *output = ending->output;
    struct str branch = js_get_str(result, "branch");
    if (branch.n > 0) {
        output_print(output, "result on branch ");
        output_clean(output, branch, UTF8_ONE_LINE);
        if (ending->request->taken == ENDING_SAYS_HOW)
            output_print(output, "; look at it: cadre diff %.*s; take it over: cadre apply %.*s",
                         STR_FMT(run->run_id), STR_FMT(run->run_id));
        output_print(output, "\n");
    }
    if (ending->request->report.n > 0) {
        output_print(output, "report ");
        output_clean(output, ending->request->report, UTF8_ONE_LINE);
        output_print(output, "\n");
    }
}

static void print_last_line(const struct ending *ending, const struct stored_run *run,
                            const struct js *result)
{
    struct output *output = ending->output;
    struct buf line;
    buf_init(&line, 4096);
    buf_text(&line, "  ");
    if (text_spent(&line, result))
        buf_text(&line, "  ");
    text_tokens(&line, js_get_int(result, "tokens", 0));
    buf_text(&line, " tokens  ");
    const struct cache_use *cache = ending->request->cache;
    if (cache != NULL && cache->input > 0)
        buf_printf(&line, "%lld %% of input cached  ",
                   (long long)(cache->read * 100 / cache->input));
    buf_printf(&line, "%lld %s  ", (long long)run->children,
               run->children == 1 ? "child" : "children");
    text_duration(&line, run->finished_at - run->started_at);
    buf_printf(&line, "\nrun %.*s  head %s\n", STR_FMT(run->run_id), ending->head);
    output_print(output, "\n");
    output_styled(output, ending->code == EXIT_CODE_DONE ? STYLE_GREEN : STYLE_RED, run->status);
    struct str outcome = js_get_str(result, "status");
    if (outcome.n > 0 && !str_eq(outcome, run->status)) {
        output_print(output, " (");
        output_clean(output, outcome, UTF8_ONE_LINE);
        output_print(output, ")");
    }
    output_print(output, "%.*s", STR_FMT(buf_view(&line)));
    print_changes(ending);
    print_places(ending, run, result);
    output_print(output, "next: cadre show %.*s\n", STR_FMT(run->run_id));
    buf_release(&line);
}

/* Never silent: how many calls were refused, why, and what would allow them. */
static void tell_refused(const struct ending *ending, const struct js *result)
{
    const struct js *refused = js_get(result, "refused"), *reasons = js_get(refused, "reasons");
    int64_t count = js_get_int(refused, "count", 0);
    struct buf text;
    if (count == 0)
        return;
    buf_init(&text, 65536);
    buf_printf(&text, "%lld call%s refused:", (long long)count, count == 1 ? " was" : "s were");
    for (size_t i = 0; i < js_count(reasons); i++)
        buf_printf(&text, "\n  %.*s", STR_FMT(js_str(js_at(reasons, i))));
    output_error(ending->output, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
}

static int print_run(void *user, const struct stored_run *run)
{
    struct ending *ending = user;
    struct err ignored = ERR_INIT;
    struct js *result = run->result_json.n > 0 ? js_parse(run->result_json, &ignored) : NULL;
    struct str response = js_get_str(result, "response");
    struct str error = js_get_str(result, "error");
    ending->code = exit_of_run(run->status, js_get_str(result, "status"));
    if (ending->output->format == OUTPUT_JSON) {
        print_json(ending, run, result);
    } else if (str_is(run->status, PARKED)) {
        output_error(ending->output, "the run is parked, nothing is lost: %.*s",
                     STR_FMT(run->error));
        output_error(ending->output, ENDING_CHOICES, STR_FMT(run->run_id), STR_FMT(run->run_id));
    } else {
        if (response.n > 0 && ending->request->parts == ENDING_ALL)
            output_print(ending->output, "\n");
        if (response.n > 0)
            output_clean(ending->output, response, UTF8_LINES);
        if (ending->code != EXIT_CODE_DONE)
            output_error(ending->output, "the run did not complete: %.*s",
                         STR_FMT(error.n > 0        ? error
                                 : run->error.n > 0 ? run->error
                                                    : run->status));
        tell_refused(ending, result);
        if (ending->request->parts == ENDING_ALL)
            print_last_line(ending, run, result);
    }
    js_free(result);
    return 1;
}

int ending_print(struct output *output, struct store *store, const struct ending_request *request,
                 enum exit_code *code, struct err *err)
{
    struct ending ending = {output, request, {0}, EXIT_CODE_FAILED};
    struct hash head;
    uint64_t seq;
    if (store->ops->head(store, request->run_id, &seq, &head, err) != 0)
        return -1;
    hash_hex(&head, ending.head);
    if (store->ops->run(store, request->run_id, request->asked_at, print_run, &ending, err) != 0)
        return -1;
    *code = ending.code;
    return 0;
}
