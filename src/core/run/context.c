/* The conversation of an agent, and how it is kept within its context budget. At 70 % of what a request may have, old tool results
 * are masked; if that is not enough, the model is asked for a summary and the conversation goes on from it: system prompt, task,
 * summary, last turns. A call is never split from its result. Both are events; apply.c calls the functions that change anything. Pure. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mark.h"
#include "base/utf8.h"
#include "core/run/state.h"

#define RESULTS_KEPT 4
#define MASK_CHARS 200
#define TURNS_KEPT 2
#define OLD_BYTES_PER_TOKEN 8 /* what masking took off before version 3 */
#define CUT_NOTE "\n[cut: the budget does not pay for more]"

/* --- changing (from apply.c) --------------------------------------------------------------------------------- */

static void mark_message(struct agent *agent, const struct message *message)
{
    uint64_t mark = mark_u64(agent->conversation, (uint64_t)message->role);
    mark = mark_str(mark, message->text);
    mark = mark_str(mark, message->call_id);
    mark = mark_u64(mark, (uint64_t)message->outcome);
    for (size_t i = 0; i < message->call_count; i++) {
        mark = mark_str(mark, message->calls[i].id);
        mark = mark_str(mark, message->calls[i].name);
        mark = mark_str(mark, message->calls[i].arguments);
    }
    agent->conversation = mark;
}

void message_push(struct agent *agent, const struct message *message)
{
    agent->messages = grow(agent->messages, agent->message_count, &agent->message_capacity,
                           sizeof *agent->messages);
    agent->messages[agent->message_count++] = *message;
    mark_message(agent, message);
}

static void mark_again(struct agent *agent)
{
    agent->conversation = 0;
    for (size_t i = 0; i < agent->message_count; i++)
        mark_message(agent, &agent->messages[i]);
    agent->generation++;
}

/* Index behind the last message that may be masked: the last results stay. */
static size_t mask_end(const struct agent *agent)
{
    size_t results = 0, i = agent->message_count;
    while (i > 0) {
        if (agent->messages[i - 1].role == MESSAGE_TOOL && ++results == RESULTS_KEPT)
            return i - 1;
        i--;
    }
    return 0;
}

static bool maskable(const struct message *message)
{
    return message->role == MESSAGE_TOOL && message->text.n > MASK_CHARS;
}

static struct str mask_text(struct arena *arena, const struct message *message)
{
    return arena_printf(
        arena, "[an old result of %zu bytes was left out; call the tool again if you need it]",
        message->text.n);
}

void context_mask(struct agent *agent, uint16_t version)
{
    int64_t saved = 0, most = version >= 3 ? agent->context_known * 3 / 4 : agent->context_known;
    size_t end = mask_end(agent);
    for (size_t i = 0; i < end; i++) {
        struct message *message = &agent->messages[i];
        if (!maskable(message))
            continue;
        struct str text = mask_text(&agent->history, message);
        int64_t tokens = budget_estimate(message->text) - budget_estimate(text);
        if (i < agent->booked && version < 3)
            saved += (int64_t)((message->text.n - text.n) / OLD_BYTES_PER_TOKEN);
        else if (i < agent->booked)
            saved += tokens;
        else
            agent->context_new -= tokens;
        message->text = text;
    }
    /* Estimates are higher than what servers report. Prompt and tools surely stay. */
    agent->context_known -= saved < most ? saved : most;
    agent->context_state = CONTEXT_REBUILT;
    mark_again(agent);
}

/* Index of the first message that no request has carried yet: what follows the last reply. */
static size_t unsent(const struct agent *agent)
{
    size_t i = agent->message_count;
    while (i > 0 && agent->messages[i - 1].role != MESSAGE_ASSISTANT)
        i--;
    return i;
}

void context_cut(struct agent *agent, size_t bytes)
{
    for (size_t i = unsent(agent); i < agent->message_count; i++) {
        struct message *message = &agent->messages[i];
        if (message->role != MESSAGE_TOOL || message->text.n <= bytes)
            continue;
        agent->context_new -= budget_estimate(message->text);
        message->text =
            arena_printf(&agent->history, "%.*s" CUT_NOTE, STR_FMT(utf8_cut(message->text, bytes)));
        agent->context_new += budget_estimate(message->text);
    }
    mark_again(agent);
}

static struct message copy_message(struct arena *arena, const struct message *message)
{
    struct message copy = *message;
    copy.text = arena_copy(arena, message->text);
    copy.call_id = arena_copy(arena, message->call_id);
    copy.extras = arena_copy(arena, message->extras);
    copy.origin.id = arena_copy(arena, message->origin.id);
    copy.calls = arena_alloc(arena, (message->call_count + 1) * sizeof *copy.calls);
    if (message->origins != NULL)
        copy.origins = arena_alloc(arena, (message->call_count + 1) * sizeof *copy.origins);
    for (size_t i = 0; i < message->call_count; i++) {
        copy.calls[i].id = arena_copy(arena, message->calls[i].id);
        copy.calls[i].name = arena_copy(arena, message->calls[i].name);
        copy.calls[i].arguments = arena_copy(arena, message->calls[i].arguments);
        if (message->origins != NULL)
            copy.origins[i] = (struct call_origin){.id = arena_copy(arena, message->origins[i].id),
                                                   .provider = message->origins[i].provider};
    }
    return copy;
}

static int64_t message_tokens(const struct message *message)
{
    int64_t tokens = budget_estimate(message->text);
    for (size_t i = 0; i < message->call_count; i++)
        tokens +=
            budget_estimate(message->calls[i].arguments) + budget_estimate(message->calls[i].name);
    return tokens;
}

static struct str summary_text(struct arena *arena, struct str summary)
{
    return arena_printf(arena, "Summary of your work so far:\n%.*s", STR_FMT(summary));
}

struct str context_summary(struct agent *agent)
{
    for (size_t i = agent->message_count; i-- > agent->compact_at + 1;) {
        if (agent->messages[i].role == MESSAGE_ASSISTANT)
            return summary_text(&agent->history, agent->messages[i].text);
    }
    return STR_NONE;
}

bool context_summary_corrected(const struct agent *agent)
{
    size_t replies = 0;
    for (size_t i = agent->compact_at + 1; i < agent->message_count; i++)
        replies += agent->messages[i].role == MESSAGE_ASSISTANT;
    return replies > 1;
}

void context_compact(struct agent *agent, struct str summary, size_t kept)
{
    struct arena old = agent->history;
    struct message *messages = agent->messages;
    size_t head = 0, end = agent->compact_at;
    arena_init(&agent->history);
    while (head < end && messages[head].role == MESSAGE_SYSTEM)
        head++;
    head += head < end; /* the task */
    if (kept > end - head)
        kept = end - head;
    size_t booked = agent->booked;
    agent->messages = NULL;
    agent->message_count = agent->message_capacity = agent->booked = 0;
    agent->context_known = agent->context_new = 0;
    agent->context_state = CONTEXT_REBUILT;
    for (size_t i = 0; i < end; i++) {
        if (i == head) {
            struct message said = {.role = MESSAGE_USER,
                                   .text = arena_copy(&agent->history, summary)};
            message_push(agent, &said);
            agent->booked += booked > head; /* the summary was booked as output */
            i = end - kept;
            if (i == end)
                break;
        }
        struct message copy = copy_message(&agent->history, &messages[i]);
        message_push(agent, &copy);
        agent->booked += i < booked;
    }
    for (size_t i = 0; i < agent->message_count; i++)
        agent->context_new += message_tokens(&agent->messages[i]);
    agent->response = agent->request_id = agent->model_now = agent->model_asked = STR_NONE;
    calls_forget(agent);
    agent->compact_at = 0;
    agent->generation++;
    arena_release(&old);
    free(messages);
}

int64_t context_unbooked(const struct agent *agent)
{
    int64_t tokens = 0;
    for (size_t i = agent->booked; i < agent->message_count; i++)
        tokens += message_tokens(&agent->messages[i]);
    return tokens;
}

void files_add(struct agent *agent, struct set *files, struct str json)
{
    struct err ignored = ERR_INIT;
    struct js *doc = json.p != NULL ? js_parse(json, &ignored) : NULL;
    for (size_t i = 0; i < js_count(doc); i++) {
        struct str path = js_str(js_at(doc, i));
        if (path.n > 0)
            set_add(files, &agent->arena, path);
    }
    js_free(doc);
}

struct list files_list(const struct set *files)
{
    return (struct list){LIST_SET, files->items, files->n};
}

/* --- deciding (from turn.c) ---------------------------------------------------------------------------------- */

/* How many messages at the end stay: whole turns, as long as they take at most 40 % of the bound. */
static size_t tail_kept(const struct agent *agent, size_t end, int64_t bound)
{
    size_t kept = 0, turns = 0;
    int64_t tokens = 0;
    for (size_t i = end; i > 0 && turns < TURNS_KEPT; i--) {
        const struct message *message = &agent->messages[i - 1];
        tokens += message_tokens(message);
        if (tokens > bound * 4 / 10 || message->role == MESSAGE_SYSTEM)
            break;
        if (message->role == MESSAGE_ASSISTANT) {
            kept = end - (i - 1);
            turns++;
        }
    }
    return kept;
}

void context_compacted(struct deciding *d, const struct agent *agent, struct str summary,
                       int64_t bound)
{
    struct event *e = draft(d, agent->no, EVENT_AGENT_COMPACTED);
    if (summary.n > REPEATED_MAX)
        e->opening = keep(d, utf8_cut(summary, OPENING_BYTES));
    else if (summary.n > 0)
        e->text = summary_text(&d->out->arena, summary);
    else
        e->text = STR("Your earlier work on this task no longer fits and was left out.");
    e->outcome = summary.n > 0 ? STR("ok") : STR("failed");
    e->kept = (int64_t)tail_kept(agent, agent->compact_at, bound);
    emit(d, e);
}

static bool mask_old_results(struct deciding *d, const struct agent *agent)
{
    int64_t tokens = 0, count = 0;
    size_t end = mask_end(agent);
    for (size_t i = 0; i < end; i++) {
        if (!maskable(&agent->messages[i]))
            continue;
        count++;
        tokens += budget_estimate(agent->messages[i].text);
    }
    if (count == 0)
        return false;
    struct event *e = draft(d, agent->no, EVENT_AGENT_MASKED);
    e->count = count;
    e->tokens = tokens;
    emit(d, e);
    return true;
}

#define CUT_NOTE_TOKENS 32 /* the note behind a cut result, and rounding */

bool context_fit(struct deciding *d, const struct agent *agent, int64_t tokens)
{
    int64_t results = 0, longest = 0;
    for (size_t i = unsent(agent); i < agent->message_count; i++) {
        const struct message *message = &agent->messages[i];
        if (message->role != MESSAGE_TOOL) {
            tokens -= budget_estimate(message->text);
            continue;
        }
        results++;
        longest = (int64_t)message->text.n > longest ? (int64_t)message->text.n : longest;
    }
    /* Two bytes a token is what an estimate takes at most. */
    int64_t bytes = results > 0 ? (tokens / results - CUT_NOTE_TOKENS) * 2 : 0;
    /* A result that was cut already has the note behind it: cutting it again would save nothing. */
    if (bytes <= 0 || longest < bytes + (int64_t)sizeof CUT_NOTE || d->failed)
        return false;
    struct event *e = draft(d, agent->no, EVENT_AGENT_MASKED);
    e->count = results;
    e->tokens = agent->context_new - tokens;
    e->kept = bytes;
    emit(d, e);
    return !d->failed;
}

bool context_reduce(struct deciding *d, const struct agent *agent, int64_t bound)
{
    size_t turns = 0, summarised = 0, end = agent->message_count;
    if (agent->compact_at != 0 || d->failed)
        return false;
    if (mask_old_results(d, agent))
        return !d->failed;
    for (size_t i = 0, kept = tail_kept(agent, end, bound); i < end; i++) {
        turns += agent->messages[i].role == MESSAGE_ASSISTANT;
        summarised += i < end - kept && agent->messages[i].role == MESSAGE_ASSISTANT;
    }
    /* A summary of one turn would hardly be shorter than the turn; one of nothing but the last summary would be the same again. */
    if (turns < TURNS_KEPT || summarised == 0 || agent->turns == TURNS_LAST)
        return false;
    /* Asking again and again for what cannot be had would only burn money: the bound ends it. */
    if (agent->summaries == SUMMARIES_FAIL)
        return false;
    message_add(d, agent, "user", "compact",
                STR("This conversation is getting too long. Write a summary that lets you go on "
                    "without it: what the task is, "
                    "what you did and found (names, paths, numbers), what is left to do. Do not "
                    "call tools: answer with the summary only."));
    return !d->failed;
}
