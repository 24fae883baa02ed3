/* See waiting.h. Steps are read from the events, calls from the folded run, answers that nobody took yet from the inbox. */
#include "cli/waiting.h"

#include <time.h>

#include "base/json.h"

#define OUTCOME_TRIES 100
#define OUTCOME_PAUSE_MS 50
#define CHANGED_TRIES 20 /* a call that takes longer is under way */

static struct waiting *find(struct waiting_list *list, struct str question)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].question, question))
            return &list->items[i];
    return NULL;
}

static struct waiting *add(struct waiting_list *list, const struct waiting *item)
{
    struct waiting *there = find(list, item->question);
    if (there == NULL && list->count < WAITING_MAX)
        there = &list->items[list->count++];
    if (there != NULL)
        *there = *item;
    return there;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static void take_step(struct waiting_list *list, const struct event_row *row,
                      const struct js *payload)
{
    struct str kind = js_get_str(payload, "kind");
    struct waiting item = {.kind = WAITING_STEP,
                           .id = arena_copy(&list->arena, js_get_str(payload, "name")),
                           .agent = STR("root"), /* nobody else carries out plans */
                           .agent_no = row->agent_no};
    item.question = arena_printf(&list->arena, "%.*s.%lld", STR_FMT(row->call_id),
                                 (long long)js_get_int(payload, "item", 0));
    struct waiting *there = find(list, item.question);
    if (str_is(kind, "blocked"))
        add(list, &item);
    else if (there != NULL && there->answer == WAITING_OPEN)
        there->answer = str_is(kind, "approved") ? WAITING_YES : WAITING_NO;
}

/* A plan that has ended waits for nothing. */
static void drop_steps(struct waiting_list *list, struct str call_id)
{
    for (size_t i = 0; i < list->count; i++) {
        struct waiting *item = &list->items[i];
        if (item->kind == WAITING_STEP && item->answer == WAITING_OPEN &&
            item->question.n > call_id.n && str_starts(item->question, call_id) &&
            item->question.p[call_id.n] == '.')
            item->answer = WAITING_NO;
    }
}

static void take_shown(struct waiting_list *list, const struct event_row *row,
                       const struct js *payload)
{
    int64_t step = js_get_int(payload, "item", -1);
    struct waiting *item =
        find(list, step >= 0 ? question_of_step(&list->arena, row->call_id, step) : row->call_id);
    if (item == NULL)
        return;
    item->shown = arena_copy(&list->arena, js_get_str(payload, "shown"));
    item->shown_seq = row->seq;
}

static int take_event(void *user, const struct stored_event *event)
{
    struct waiting_list *list = user;
    struct err ignored = ERR_INIT;
    if (str_is(event->row.type, "tool.finished") && event->row.call_id.n > 0)
        drop_steps(list, event->row.call_id);
    bool of_step = str_is(event->row.type, "plan.step");
    if ((!of_step && !str_is(event->row.type, "permission.shown")) || event->row.payload.p == NULL)
        return 0;
    struct js *payload = js_parse(event->row.payload, &ignored);
    if (of_step)
        take_step(list, &event->row, payload);
    else
        take_shown(list, &event->row, payload);
    js_free(payload);
    return 0;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

static void take_calls(struct waiting_list *list, const struct agent *agent)
{
    for (size_t i = 0; i < agent->call_count; i++) {
        const struct call *call = &agent->calls[i];
        if (call->state != CALL_ASKED || str_is(call->call.name, "ask_user"))
            continue;
        struct str id = arena_copy(&list->arena, call->call.id);
        struct waiting item = {.kind = WAITING_CALL,
                               .id = id,
                               .question = id,
                               .agent_no = agent->no,
                               .agent = arena_copy(&list->arena, agent->contract.agent.name),
                               .tool = arena_copy(&list->arena, call->call.name),
                               .arguments = arena_copy(&list->arena, call->call.arguments)};
        add(list, &item);
    }
}

/* The first answer counts. */
static int take_message(void *user, const struct inbox_message *message)
{
    struct waiting_list *list = user;
    struct err ignored = ERR_INIT;
    if (!str_is(message->kind, "approve"))
        return 0;
    struct js *body = js_parse(message->body, &ignored);
    struct waiting *item = find(list, js_get_str(body, "call_id"));
    if (item != NULL && item->answer == WAITING_OPEN)
        item->answer = str_is(js_get_str(body, "answer"), "yes") ? WAITING_YES : WAITING_NO;
    js_free(body);
    return 0;
}

int waiting_read(struct history *history, struct waiting_list *list, struct err *err)
{
    struct run *run = NULL;
    struct store *store = history->store;
    struct str run_id = id_str(&history->run_id);
    *list = (struct waiting_list){.count = 0};
    arena_init(&list->arena);
    if (history_fold(history, &run, err) != 0)
        return -1;
    for (uint32_t no = 0; no < run_agent_count(run); no++)
        take_calls(list, run_agent(run, no));
    run_free(run);
    if (store->ops->read(store, run_id, 0, STORE_ALL_AGENTS, 0, take_event, list, err) != 0)
        return -1;
    return store->ops->inbox_look(store, run_id, take_message, list, err);
}

void waiting_release(struct waiting_list *list)
{
    arena_release(&list->arena);
}

struct previewing {
    const struct waiting *item;
    struct arena *arena;
    struct str json;
    int64_t secrets;
};

static int take_preview(void *user, const struct stored_event *event)
{
    struct previewing *previewing = user;
    struct err ignored = ERR_INIT;
    struct js *payload = event->row.seq == previewing->item->shown_seq && event->row.payload.p
                             ? js_parse(event->row.payload, &ignored)
                             : NULL;
    const struct js *preview = js_get(payload, "preview");
    if (preview != NULL) {
        struct buf text;
        buf_init(&text, SIZE_MAX / 4);
        js_print(preview, &text);
        previewing->json = arena_copy(previewing->arena, buf_view(&text));
        previewing->secrets = js_get_int(payload, "secrets", 0);
        buf_release(&text);
    }
    js_free(payload);
    return 0;
}

int waiting_preview(struct history *history, const struct waiting *item, struct arena *arena,
                    struct str *json, int64_t *secrets, struct err *err)
{
    struct previewing previewing = {.item = item, .arena = arena};
    if (item->shown_seq > 0 &&
        history->store->ops->read(history->store, id_str(&history->run_id), item->shown_seq - 1,
                                  STORE_ALL_AGENTS, 1, take_preview, &previewing, err) != 0)
        return -1;
    *json = previewing.json;
    *secrets = previewing.secrets;
    if (previewing.json.p == NULL)
        return err_set(err, ERR_NOT_FOUND, "the log does not say what it would do");
    return 0;
}

/* --- what came of an answer ---------------------------------------------------------------------------------------- */

struct looking {
    const struct waiting *item;
    enum waiting_answer answer;
    struct str call_id;
    int64_t place;  /* of a step */
    uint64_t after; /* the last event that was seen */
    bool settled;   /* of a call: nothing about its approval can follow */
};

/* A yes is followed by the look at what the call would do by then. */
static void look_at_call(struct looking *looking, const struct event_row *row)
{
    struct err ignored = ERR_INIT;
    bool finished = str_is(row->type, "tool.finished");
    if (str_is(row->type, "permission.granted"))
        looking->answer = WAITING_YES;
    looking->settled |= finished || str_is(row->type, "tool.prepared");
    if ((!finished && !str_is(row->type, "permission.denied")) || row->payload.p == NULL)
        return;
    struct js *payload = js_parse(row->payload, &ignored);
    struct str reason = js_get_str(payload, "reason");
    if (str_starts(reason, STR("what it would do has changed")))
        looking->answer = WAITING_CHANGED;
    else if (!finished)
        looking->answer = WAITING_NO;
    looking->settled |= looking->answer > WAITING_YES;
    js_free(payload);
}

static int look_at(void *user, const struct stored_event *event)
{
    struct looking *looking = user;
    const struct event_row *row = &event->row;
    struct err ignored = ERR_INIT;
    looking->after = row->seq;
    if (row->call_id.n == 0 || !str_eq(row->call_id, looking->call_id))
        return 0;
    if (looking->item->kind == WAITING_CALL) {
        look_at_call(looking, row);
        return 0;
    }
    if (looking->item->kind != WAITING_STEP || !str_is(row->type, "plan.step") ||
        row->payload.p == NULL)
        return 0;
    struct js *payload = js_parse(row->payload, &ignored);
    struct str kind = js_get_str(payload, "kind");
    if (js_get_int(payload, "item", -1) == looking->place && !str_is(kind, "blocked") &&
        looking->answer == WAITING_OPEN)
        looking->answer = str_is(kind, "approved") ? WAITING_YES : WAITING_NO;
    js_free(payload);
    return 0;
}

int waiting_outcome(struct history *history, const struct waiting *item,
                    enum waiting_answer *answer, struct err *err)
{
    const struct timespec pause = {0, OUTCOME_PAUSE_MS * 1000000L};
    struct looking looking = {.item = item, .call_id = item->question};
    if (item->kind == WAITING_STEP) {
        size_t dot = item->question.n;
        while (dot > 0 && item->question.p[dot - 1] != '.')
            dot--;
        looking.call_id = (struct str){item->question.p, dot > 0 ? dot - 1 : 0};
        for (size_t i = dot; i < item->question.n; i++)
            looking.place = looking.place * 10 + (item->question.p[i] - '0');
    }
    for (int i = 0, answered = 0; i < OUTCOME_TRIES && answered < CHANGED_TRIES; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (history->store->ops->read(history->store, id_str(&history->run_id), looking.after,
                                      STORE_ALL_AGENTS, 0, look_at, &looking, err) != 0)
            return -1;
        answered += looking.answer != WAITING_OPEN;
        if (answered > 0 && (item->kind == WAITING_STEP || looking.settled))
            break;
    }
    *answer = looking.answer;
    return 0;
}
