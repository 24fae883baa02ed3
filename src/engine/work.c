/* Tools off the loop: everything that a call needs is copied into the work, a thread runs the tool (perform.c), the loop turns the
 * result into an input. Brief tools share a few threads; long ones get one each, so that programs that wait never hold up files that
 * are read. For the same reason each of the two has descriptors of its own (admission.h). Loop thread. */
#include "engine/work.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/filename.h"
#include "base/mask.h"

static void hand_over_preview(const struct work *work, const struct live *live)
{
    const struct engine_watch *watch = &work->flight.engine->config.watch;
    char hex[HASH_HEX + 1];
    hash_hex(&work->preview.shown, hex);
    bool allowed = work->preview.reach == PREVIEW_INSIDE &&
                   run_allows(pump_run(live->pump), (struct str){hex, HASH_HEX});
    if (watch->preview != NULL)
        watch->preview(watch->user, id_str(&live->id), work->flight.agent_no, work->call_id,
                       &work->preview, allowed ? STANDING_ALLOWED : STANDING_NONE);
}

static bool is_long(const struct work *work)
{
    return work->kind == EFFECT_CHECK || work->tree != NULL ||
           ((work->kind == EFFECT_TOOL || work->kind == EFFECT_ASK) && work->tool != NULL &&
            work->tool->pace == TOOL_LONG);
}

static struct admission *room_of(const struct work *work)
{
    struct engine *engine = work->flight.engine;
    return is_long(work) ? &engine->work_room : &engine->brief_room;
}

/* A tree's git is smaller than a command, its checks are commands. */
static size_t need_of(const struct work *work)
{
    if (!is_long(work))
        return DESCRIPTORS_BRIEF;
    return DESCRIPTORS_COMMAND +
           (work->context.network == SANDBOX_NET_NAMES ? DESCRIPTORS_NAMES : 0);
}

/* It has its descriptors: on to the threads. Its time went on while it waited for them. */
static void hand_to_crew(struct work *work)
{
    struct engine *engine = work->flight.engine;
    int64_t waited = engine_now(engine) - work->asked_at, *left = &work->context.time_left_ms;
    if (*left != INT64_MAX)
        *left = *left > waited ? *left - waited : 0;
    crew_add(is_long(work) ? engine->crew : engine->readers, &work->job);
}

static void hand_on(struct admission *room)
{
    struct admission_ticket *ticket;
    while ((ticket = admission_next(room)) != NULL)
        hand_to_crew((struct work *)((char *)ticket - offsetof(struct work, ticket)));
}

static void finish(struct work *work)
{
    struct live *live = flight_live(&work->flight);
    work->input.now = engine_now(work->flight.engine);
    work->input.agent_no = work->flight.agent_no;
    work->input.call_id = work->flight.call_id;
    work->input.text = buf_view(&work->text);
    board_drop(work->flight.engine->board, &work->note);
    flight_unlink(&work->flight);
    if (work->tree != NULL && work->tree->made != NULL && live != NULL)
        place_set(live, work->flight.agent_no, work->tree->made);
    else if (work->tree != NULL && work->tree->made != NULL)
        work->port->close_scope(work->tree->made);
    admission_leave(room_of(work), &work->ticket);
    hand_on(room_of(work));
    if (live != NULL && work->kind == EFFECT_ASK && !live->ending) {
        work->input.call_id = work->call_id;
        live_input(live, &work->input);
    }
    if (live != NULL && work->kind == EFFECT_ASK && !live->ending)
        hand_over_preview(work, live);
    else if (live != NULL && work->lost.class != ERR_NONE)
        live_let_go(live, &work->lost);
    else if (live != NULL && work->kind != EFFECT_ASK)
        live_input(live, &work->input);
    flight_release(&work->flight);
    buf_release(&work->text);
    for (size_t i = 0; i < work->input.gathering.count; i++)
        buf_release(&work->texts[i]);
    arena_release(&work->arena);
    free(work);
}

static void on_crew(void *user)
{
    work_perform(user);
}

static void on_crew_done(void *user)
{
    finish(user);
}

/* On the call's thread. */
static void on_progress(void *user, struct str text)
{
    struct work *work = user;
    struct buf line;
    flight_alive(&work->flight);
    buf_init(&line, text.n + 1);
    buf_str(&line, text);
    masker_apply(work_masker(work), &line);
    board_post(work->flight.engine->board, &work->note, buf_view(&line));
    buf_release(&line);
}

void work_progress(struct board_note *note, struct str text)
{
    const struct work *work = note->user;
    const struct engine_watch *watch = &work->flight.engine->config.watch;
    if (flight_live(&work->flight) != NULL && watch->progress != NULL)
        watch->progress(watch->user, id_str(&work->flight.run), work->flight.agent_no,
                        work->flight.call_id, text);
}

static void on_abort(struct flight *flight)
{
    struct work *work = (struct work *)flight;
    atomic_store(&work->cancelled, true);
    /* One that has not begun need not wait for descriptors only to end. What may have been done before a crash is looked at all the
     * same, unless the next owner of the run does it. */
    bool may_have_begun = work->tree != NULL || work->kind == EFFECT_SETTLE;
    if (work->ticket.state != TICKET_WAITS || (may_have_begun && !atomic_load(&flight->abandoned)))
        return;
    admission_withdraw(room_of(work), &work->ticket);
    work->skipped = true;
    crew_add(flight->engine->readers, &work->job);
    hand_on(room_of(work));
}

static struct str *copy_list(struct arena *arena, const struct list *list)
{
    struct str *items = arena_alloc(arena, (list->n + 1) * sizeof *items);
    for (size_t i = 0; i < list->n; i++)
        items[i] = arena_copy(arena, list->items[i]);
    return items;
}

static void set_prepared(struct work *work, const struct effect *effect)
{
    struct tool_prepared *prepared = &work->prepared;
    if (effect->path.p == NULL)
        return;
    prepared->path = filename_read(&work->arena, arena_copy(&work->arena, effect->path));
    prepared->before =
        hash_parse(effect->before, &prepared->before_hash) ? FILE_PRESENT : FILE_ABSENT;
    prepared->after = hash_parse(effect->after, &prepared->after_hash) ? FILE_PRESENT : FILE_ABSENT;
}

/* Of a contract's word. What is not known is no network. */
static enum sandbox_network network_of(struct str network)
{
    static const enum sandbox_network of[NETWORK_COUNT] = {[NETWORK_NONE] = SANDBOX_NET_NONE,
                                                           [NETWORK_RELAY] = SANDBOX_NET_RELAY,
                                                           [NETWORK_NAMES] = SANDBOX_NET_NAMES,
                                                           [NETWORK_FULL] = SANDBOX_NET_FULL};
    enum network word = NETWORK_NONE;
    return network_parse(network, &word) ? of[word] : SANDBOX_NET_NONE;
}

/* Until the first of its deadlines; what is not limited has no end. */
static int64_t time_left(const struct agent *agent, int64_t now)
{
    int64_t left = INT64_MAX;
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        if (i != TIMER_BACKOFF && i != TIMER_CALLS && i != TIMER_PATIENCE && agent->timers[i] > 0 &&
            agent->timers[i] - now < left)
            left = agent->timers[i] - now;
    }
    return left > 0 ? left : 0;
}

static void start_thread(struct work *work)
{
    work->job = (struct crew_job){.run = on_crew, .done = on_crew_done, .user = work};
    work->asked_at = engine_now(work->flight.engine);
    if (admission_enter(room_of(work), &work->ticket, need_of(work)))
        hand_to_crew(work);
}

void work_start(struct live *live, const struct effect *effect)
{
    struct engine *engine = live->engine;
    const struct run *run = pump_run(live->pump);
    const struct agent *agent = run_agent(run, effect->agent_no);
    struct work *work = calloc(1, sizeof *work);
    if (work == NULL)
        abort();
    arena_init(&work->arena);
    buf_init(&work->text, (size_t)effect->max_result * 8 + (1 << 16));
    work->call_id = arena_copy(&work->arena, effect->call_id);
    /* Whoever aborts the call itself means its other effects, not a look at what it would do. */
    struct effect named = *effect;
    if (effect->kind == EFFECT_ASK)
        named.call_id = arena_printf(&work->arena, "preview %.*s", STR_FMT(effect->call_id));
    flight_init(&work->flight, live, &named, on_abort);
    flight_waits(&work->flight); /* until there are descriptors and a thread for it */
    work->kind = effect->kind;
    work->class = effect->class;
    work->port = engine->config.tools;
    work->tool = engine->config.tools->find(effect->tool);
    work->name = arena_copy(&work->arena, effect->tool);
    work->shown = arena_copy(&work->arena, effect->shown);
    work->arguments = arena_copy(&work->arena, effect->arguments);
    work->problem = arena_copy(&work->arena, str_from(live->scope_problem.message));
    set_prepared(work, effect);
    struct agent_place place = place_of(live, agent);
    work->resting = place.state == PLACE_RESTS ? place.scope : NULL;
    work->context = (struct tool_context){
        .scope = place.state == PLACE_OPEN ? place.scope : NULL,
        .working_directory = arena_copy(&work->arena, agent->contract.execution.working_directory),
        .read_paths = copy_list(&work->arena, &agent->contract.permissions.read_paths),
        .read_count = agent->contract.permissions.read_paths.n,
        .write_paths = copy_list(&work->arena, &agent->contract.permissions.write_paths),
        .write_count = agent->contract.permissions.write_paths.n,
        .ownership = copy_list(&work->arena, &agent->contract.isolation.ownership),
        .ownership_count = agent->contract.isolation.ownership.n,
        .skills = copy_list(&work->arena, &agent->contract.permissions.skills),
        .skill_count = agent->contract.permissions.skills.n,
        .skills_state =
            agent->contract.permissions.skills.state == LIST_ABSENT ? SKILLS_ALL : SKILLS_LISTED,
        .network = network_of(agent->contract.permissions.network),
        .hosts = arena_copy(&work->arena, agent->contract.permissions.network),
        .services = engine->config.services,
        .run_id = arena_copy(&work->arena, id_str(&live->id)),
        .agent_no = effect->agent_no,
        .call_id = arena_printf(&work->arena, "%s-%u-%.*s", live->id.text, effect->agent_no,
                                STR_FMT(effect->call_id)),
        .progress = on_progress,
        .progress_user = work,
        .cancelled = &work->cancelled,
        .owned_until = &live->owned_until,
        .time_left_ms = time_left(agent, live_now(live)),
        .max_result = (size_t)effect->max_result,
        .arena = &work->arena};
    work->note.user = work;
    if (effect->kind == EFFECT_ISOLATE || effect->kind == EFFECT_MERGE)
        tree_work_set(work, live, effect);
    start_thread(work);
}
