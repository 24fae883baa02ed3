/* Facts back into inputs, for replay: the inverse of what decide.c and its neighbours log first. Pure. */
#include "core/run/input.h"

#include "base/json.h"

static struct usage usage_of(const struct event *e)
{
    struct usage u = USAGE_NONE;
    if (e->input_tokens != EVENT_ABSENT)
        u.input = e->input_tokens;
    if (e->cached_tokens != EVENT_ABSENT)
        u.cached = e->cached_tokens;
    if (e->cache_write_tokens != EVENT_ABSENT)
        u.cache_write = e->cache_write_tokens;
    if (e->output_tokens != EVENT_ABSENT)
        u.output = e->output_tokens;
    if (e->reasoning_tokens != EVENT_ABSENT)
        u.reasoning = e->reasoning_tokens;
    return u;
}

static int calls_from(struct str json, struct arena *arena, struct model_reply *reply,
                      struct err *err)
{
    if (json.p == NULL)
        return 0;
    struct js *doc = js_parse(json, err);
    if (doc == NULL)
        return -1;
    reply->call_count = js_count(doc);
    reply->calls = arena_alloc(arena, (reply->call_count + 1) * sizeof *reply->calls);
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct js *item = js_at(doc, i);
        struct buf text;
        buf_init(&text, SIZE_MAX / 4);
        js_print(js_get(item, "arguments"), &text);
        reply->calls[i].id = arena_copy(arena, js_get_str(item, "id"));
        reply->calls[i].name = arena_copy(arena, js_get_str(item, "name"));
        reply->calls[i].arguments = arena_copy(arena, buf_view(&text));
        buf_release(&text);
    }
    js_free(doc);
    return 0;
}

static const char *const trouble_texts[] = {[TROUBLE_NONE] = "",
                                            [TROUBLE_OVERFLOW] = "overflow",
                                            [TROUBLE_FINAL] = "final",
                                            [TROUBLE_FILTERED] = "filtered"};

const char *model_trouble_text(enum model_trouble trouble)
{
    return trouble_texts[trouble];
}

enum model_trouble model_trouble_parse(struct str text)
{
    for (int i = TROUBLE_OVERFLOW; i <= TROUBLE_FILTERED; i++)
        if (str_is(text, trouble_texts[i]))
            return (enum model_trouble)i;
    return TROUBLE_NONE;
}

static int reply_from(const struct event *e, struct arena *arena, struct model_reply *reply,
                      struct err *err)
{
    memset(reply, 0, sizeof *reply);
    reply->text = e->text;
    reply->finish = e->finish;
    reply->completeness = str_is(e->completeness, "cut") ? REPLY_CUT : REPLY_WHOLE;
    reply->usage = usage_of(e);
    reply->response_id = e->response_id;
    reply->model = e->model_effective;
    reply->first_token_ms = e->first_token_ms == EVENT_ABSENT ? -1 : e->first_token_ms;
    reply->server_request = e->server_request;
    reply->notice = e->notice;
    reply->extras = e->extras;
    return calls_from(e->calls, arena, reply, err);
}

static void failure_from(const struct event *e, struct model_failure *failure)
{
    memset(failure, 0, sizeof *failure);
    failure->class = err_class_parse(e->class);
    failure->http_status = e->http_status == EVENT_ABSENT ? 0 : (int)e->http_status;
    failure->retry_after_ms = e->retry_after_ms == EVENT_ABSENT ? -1 : e->retry_after_ms;
    failure->trouble = model_trouble_parse(e->trouble);
    failure->window = e->window == EVENT_ABSENT ? -1 : e->window;
    failure->needed = e->needed == EVENT_ABSENT ? -1 : e->needed;
    failure->server_request = e->server_request;
    failure->message = e->error;
    failure->partial = e->partial;
    failure->usage = usage_of(e);
    failure->sent = str_is(e->sent, "no") ? REQUEST_UNSENT : REQUEST_SENT;
}

static void times_from(const struct event *e, struct input *input)
{
    input->admitted_ms = e->admitted_ms == EVENT_ABSENT ? 0 : e->admitted_ms;
    input->first_token_ms = e->first_token_ms == EVENT_ABSENT ? 0 : e->first_token_ms;
    input->total_ms = e->total_ms == EVENT_ABSENT ? 0 : e->total_ms;
}

static const char *const checked_texts[] = {
    [CHECKED_OK] = "ok", [CHECKED_FAILED] = "failed", [CHECKED_NOT_RUN] = "not_run"};

const char *checked_text(enum checked checked)
{
    return checked_texts[checked];
}

enum checked checked_parse(struct str text)
{
    return str_is(text, "ok")       ? CHECKED_OK
           : str_is(text, "failed") ? CHECKED_FAILED
                                    : CHECKED_NOT_RUN;
}

struct str question_of_step(struct arena *arena, struct str call_id, int64_t step)
{
    return arena_printf(arena, "%.*s.%lld", STR_FMT(call_id), (long long)step);
}

bool question_is_of_step(struct str id)
{
    return id.n > 0 && memchr(id.p, '.', id.n) != NULL;
}

int input_from_event(const struct event *e, struct arena *arena, struct input_storage *storage,
                     struct input *input, struct err *err)
{
    *input = (struct input){.now = e->ts,
                            .agent_no = e->agent_no,
                            .call_id = e->call_id,
                            .secrets = e->secrets == EVENT_ABSENT ? 0 : e->secrets};
    switch (e->type) {
    case EVENT_INBOX_TAKEN:
        input->kind = INPUT_INBOX;
        input->inbox_id = e->inbox_id;
        input->message_kind = e->kind;
        input->body = e->body;
        input->sender = e->sender;
        return 0;
    case EVENT_RUN_RESUMED:
        input->kind = INPUT_RESUME;
        input->owner = e->owner;
        input->epoch = (uint64_t)e->epoch;
        input->alive_at = e->alive_at == EVENT_ABSENT ? 0 : e->alive_at;
        input->asker = e->asker;
        input->walls = e->walls;
        input->broken = str_is(e->kind, "forgive") ? BROKEN_FORGIVEN : BROKEN_COUNTS;
        return 0;
    case EVENT_TIMER_FIRED:
        input->kind = INPUT_TICK;
        return 0;
    case EVENT_RUN_SLEPT:
        input->kind = INPUT_SLEPT;
        input->slept_ms = e->slept_ms == EVENT_ABSENT ? 0 : e->slept_ms;
        return 0;
    case EVENT_MODEL_HELD:
        input->kind = INPUT_HELD;
        input->text = e->reason;
        input->waited_ms = e->waited_ms == EVENT_ABSENT ? 0 : e->waited_ms;
        return 0;
    case EVENT_MODEL_ADMITTED:
        input->kind = INPUT_ADMITTED;
        return 0;
    case EVENT_PERMISSION_SHOWN:
        input->kind = INPUT_SHOWN;
        if (e->item != EVENT_ABSENT)
            input->call_id = question_of_step(arena, e->call_id, e->item);
        input->shown = e->shown;
        input->preview = e->preview;
        return 0;
    case EVENT_AGENT_IDLE:
        input->kind = INPUT_SILENT;
        input->idle_ms = e->idle_ms == EVENT_ABSENT ? 0 : e->idle_ms;
        return 0;
    case EVENT_MODEL_REPLIED:
        input->kind = INPUT_REPLY;
        input->reply = &storage->reply;
        times_from(e, input);
        return reply_from(e, arena, &storage->reply, err);
    case EVENT_MODEL_FAILED:
        input->kind = INPUT_FAILURE;
        input->failure = &storage->failure;
        input->sent = str_is(e->sent, "no") ? REQUEST_UNSENT : REQUEST_SENT;
        times_from(e, input);
        failure_from(e, &storage->failure);
        return 0;
    case EVENT_TOOL_PREPARED:
        input->kind = INPUT_PREPARED;
        input->path = e->path;
        input->before = e->before;
        input->after = e->after;
        return 0;
    case EVENT_TOOL_FINISHED:
    case EVENT_TOOL_INTERRUPTED:
        input->kind = e->type == EVENT_TOOL_FINISHED ? INPUT_RESULT : INPUT_LOST;
        input->text = e->text;
        input->reason = e->reason;
        input->outcome = str_is(e->outcome, "ok") ? TOOL_OK : TOOL_ERROR;
        input->files_read = e->files_read;
        input->files_modified = e->files_modified;
        input->refused = e->refused;
        input->network = e->network;
        return 0;
    case EVENT_AGENT_CHECKED:
        input->kind = INPUT_CHECKED;
        input->checked = checked_parse(e->outcome);
        input->text = e->text;
        input->evidence = e->evidence;
        input->files_modified = e->files_modified;
        input->network = e->network;
        return 0;
    case EVENT_WORKTREE_CREATED:
        input->kind = INPUT_ISOLATED;
        input->outcome = str_is(e->outcome, "ok") ? TOOL_OK : TOOL_ERROR;
        input->strategy = e->strategy;
        input->worktree_path = e->worktree_path;
        input->workspace = e->workspace;
        input->branch = e->branch;
        input->base_ref = e->base_ref;
        input->text = e->error;
        return 0;
    case EVENT_WORKTREE_MERGED:
        input->kind = INPUT_MERGED;
        input->outcome = str_is(e->merge_success, "true") ? TOOL_OK : TOOL_ERROR;
        input->merge_strategy = e->merge_strategy;
        input->text = e->merge_message;
        input->conflicted_files = e->conflicted_files;
        input->branch = e->branch;
        input->commit = e->commit;
        input->files_modified = e->files_modified;
        input->evidence = e->evidence;
        return 0;
    case EVENT_FACTS_GATHERED:
        input->kind = INPUT_FACTS;
        return gathering_parse(arena, e->files, &input->gathering, err);
    default:
        return err_set(err, ERR_CORRUPT, "event %llu (%s) claims to be a fact and is none",
                       (unsigned long long)e->seq, event_type_text(e->type));
    }
}
