/* The replaying port; see the header. A call waits for its recording, then for its time, and ends once, from the loop.
 * Which answers were given is kept for each run (owner) and file. Loop thread; files are read on pool threads. */
#include "model/replay.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "os/clock.h"
#include "os/later.h"

#define PIECES 16 /* that a text is streamed in, at recorded speed */
#define PIECE_MIN 8
#define WARNINGS_MAX 20 /* of one process: more help nobody */
#define MESSAGE_MAX 8192

struct progress { /* of one run through one recording */
    uint8_t *used;
    size_t from;       /* the first entry that is not used */
    struct map warned; /* agents of whom it was said that they differ; the values mean nothing */
};

struct model_client {
    struct uv_loop_s *loop;
    struct replay_shelf *shelf;
    struct record_warning warning;
    struct map progress;      /* by owner and path */
    struct model_call *calls; /* doubly linked */
    size_t loading;           /* files that are being read */
    size_t warnings;
    enum { CLIENT_OPEN, CLIENT_CLOSING } state;
};

struct model_call {
    struct model_client *client;
    struct model_call *next, **at;
    struct model_callbacks callbacks;
    struct later *later;
    struct arena arena;
    struct replay_address address;
    struct str owner;
    struct model_request request; /* only what record_key looks at; until the recording is there */
    struct model_conversation conversation;
    enum { CALL_LOADING, CALL_ANSWERING, CALL_ABORTED } state;
    enum { ANSWER_REPLY, ANSWER_FAILURE } kind;
    struct model_reply reply;
    struct model_failure failure;
    int64_t began_ms, first_ms, end_ms; /* monotonic; when to stream and when to end */
    size_t streamed;                    /* bytes of the text that were handed on */
};

struct load {
    struct model_client *client;
    struct arena arena;
    struct str path;
    struct replay_file *file;
    struct err err;
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* --- address and shelf ------------------------------------------------------------------------------------ */

int replay_address_parse(struct str base_url, struct replay_address *address, struct err *err)
{
    static const struct {
        struct str start;
        enum replay_matching matching;
        enum replay_speed speed;
    } forms[] = {
        {STR("file:"), REPLAY_LENIENT, REPLAY_INSTANT},
        {STR("file+strict:"), REPLAY_STRICT, REPLAY_INSTANT},
        {STR("file+recorded:"), REPLAY_LENIENT, REPLAY_RECORDED},
        {STR("file+strict+recorded:"), REPLAY_STRICT, REPLAY_RECORDED},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct str start = forms[i].start;
        if (!str_starts(base_url, start) || base_url.n == start.n || base_url.p[start.n] != '/' ||
            memchr(base_url.p, '\0', base_url.n) != NULL)
            continue;
        address->path = (struct str){base_url.p + start.n, base_url.n - start.n};
        address->matching = forms[i].matching;
        address->speed = forms[i].speed;
        return 0;
    }
    return err_set(err, ERR_CONFIG, "a replaying provider needs the absolute path of a recording");
}

void replay_shelf_init(struct replay_shelf *shelf)
{
    map_init(&shelf->files);
}

void replay_shelf_release(struct replay_shelf *shelf)
{
    size_t cursor = 0;
    struct str path;
    void *file;
    while (map_next(&shelf->files, &cursor, &path, &file))
        replay_file_free(file);
    map_release(&shelf->files);
}

int replay_shelf_get(struct replay_shelf *shelf, struct str path, const struct replay_file **file,
                     struct err *err)
{
    struct replay_file *read = map_get(&shelf->files, path);
    if (read == NULL) {
        if (replay_file_open(path, &read, err) != 0)
            return -1;
        map_set(&shelf->files, path, read);
    }
    *file = read;
    return 0;
}

/* --- the end of calls and of the client ------------------------------------------------------------------- */

static void client_settle(struct model_client *client)
{
    size_t cursor = 0;
    struct str key;
    void *item;
    if (client->state != CLIENT_CLOSING || client->calls != NULL || client->loading > 0)
        return;
    while (map_next(&client->progress, &cursor, &key, &item)) {
        struct progress *progress = item;
        map_release(&progress->warned);
        free(progress->used);
        free(progress);
    }
    map_release(&client->progress);
    free(client);
}

static void call_free(struct model_call *call)
{
    *call->at = call->next;
    if (call->next != NULL)
        call->next->at = call->at;
    later_free(call->later);
    arena_release(&call->arena);
    free(call);
}

static void call_end(struct model_call *call)
{
    struct model_client *client = call->client;
    if (call->state == CALL_ABORTED) {
        call->failure = (struct model_failure){.class = ERR_CANCELLED,
                                               .retry_after_ms = -1,
                                               .message = STR("the request was cancelled"),
                                               .partial = {call->reply.text.p, call->streamed},
                                               .usage = USAGE_NONE,
                                               .sent = REQUEST_SENT};
        call->kind = ANSWER_FAILURE;
    }
    if (call->kind == ANSWER_REPLY)
        call->callbacks.done(call->callbacks.user, &call->reply, NULL);
    else
        call->callbacks.done(call->callbacks.user, NULL, &call->failure);
    call_free(call);
    client_settle(client);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static void fail(struct model_call *call, const struct buf *message)
{
    call->kind = ANSWER_FAILURE;
    call->failure = (struct model_failure){.class = ERR_PROVIDER,
                                           .retry_after_ms = -1,
                                           .message = arena_copy(&call->arena, buf_view(message)),
                                           .partial = STR(""),
                                           .usage = USAGE_NONE,
                                           .sent = REQUEST_UNSENT};
}

static void print_who(const struct record_line *asked, struct buf *out)
{
    if (asked->agent_no == 0)
        buf_printf(out, "request %lld of the root agent", (long long)asked->turn);
    else
        buf_printf(out, "request %lld of agent %lu", (long long)asked->turn,
                   (unsigned long)asked->agent_no);
}

static struct progress *progress_of(struct model_call *call, const struct replay_file *file)
{
    struct model_client *client = call->client;
    struct str key =
        arena_printf(&call->arena, "%.*s %.*s", STR_FMT(call->owner), STR_FMT(call->address.path));
    struct progress *progress = map_get(&client->progress, key);
    if (progress != NULL)
        return progress;
    progress = must(calloc(1, sizeof *progress));
    progress->used = must(calloc(file->entry_count, 1));
    map_init(&progress->warned);
    map_set(&client->progress, key, progress);
    return progress;
}

/* Once for each agent: what follows from the first difference differs as well. */
static void warn(struct model_call *call, struct progress *progress,
                 const struct record_line *asked, struct buf *text)
{
    struct model_client *client = call->client;
    struct str agent = arena_printf(&call->arena, "%lu", (unsigned long)asked->agent_no);
    if (map_set(&progress->warned, agent, client) != NULL || client->warnings > WARNINGS_MAX)
        return;
    if (client->warnings++ == WARNINGS_MAX) {
        buf_clear(text);
        buf_text(text, "more agents differ from the recording; no more is said of that");
    } else {
        buf_text(text, "; the recorded answer is used");
    }
    client->warning.say(client->warning.user, buf_view(text));
}

/* Takes the entry's answer over. At instant speed nothing waits, the next try of a failed request included. */
static void take_answer(struct model_call *call, const struct replay_entry *entry,
                        const struct record_line *recorded)
{
    struct err err = ERR_INIT;
    struct buf text;
    call->kind = recorded->kind == RECORD_REPLY ? ANSWER_REPLY : ANSWER_FAILURE;
    if (record_answer_parse(entry->text, &call->arena, &call->reply, &call->failure, &err) != 0)
        abort(); /* it was read before, and nobody has changed it */
    if (call->kind == ANSWER_FAILURE && call->failure.class == ERR_CANCELLED) {
        enum request_sent sent = call->failure.sent;
        buf_init(&text, MESSAGE_MAX);
        buf_text(&text, "in the recording this request was stopped before it was answered");
        fail(call, &text);
        call->failure.sent = sent;
        buf_release(&text);
    }
    bool instant = call->address.speed == REPLAY_INSTANT;
    if (call->kind == ANSWER_FAILURE && call->failure.class == ERR_RETRY && instant)
        call->failure.retry_after_ms = 0;
    if (instant)
        return;
    int64_t first = call->kind == ANSWER_REPLY ? call->reply.first_token_ms : recorded->ms;
    if (first < 0 || first > recorded->ms)
        first = recorded->ms;
    call->first_ms = call->began_ms + first;
    call->end_ms = call->began_ms + recorded->ms;
}

static void answer_from(struct model_call *call, const struct replay_file *file)
{
    struct record_line asked = {.agent_no = call->request.agent_no,
                                .turn = call->conversation.turn};
    struct record_line recorded;
    struct progress *progress = progress_of(call, file);
    struct err err = ERR_INIT;
    struct buf text;
    size_t index = 0;
    record_key(&call->request, file->workspace, &asked.key);
    enum replay_match match =
        replay_file_find(file, progress->used, progress->from, &asked, &index);
    buf_init(&text, MESSAGE_MAX);
    print_who(&asked, &text);
    if (match == REPLAY_NONE) {
        buf_printf(&text, " has no answer in the recording %.*s: ", STR_FMT(file->path));
        replay_file_explain(file, &asked, &text);
        fail(call, &text);
    } else {
        if (record_line_parse(file->entries[index].text, &call->arena, &recorded, &err) != 0)
            abort(); /* it was read before, and nobody has changed it */
        buf_text(&text, " differs from the recording: ");
        record_difference(&asked.key, &recorded.key, &text);
        if (match == REPLAY_INSTEAD && call->address.matching == REPLAY_STRICT) {
            fail(call, &text);
        } else {
            progress->used[index] = 1;
            while (progress->from < file->entry_count && progress->used[progress->from] != 0)
                progress->from++;
            take_answer(call, &file->entries[index], &recorded);
            if (match == REPLAY_INSTEAD)
                warn(call, progress, &asked, &text);
        }
    }
    buf_release(&text);
}

/* --- time -------------------------------------------------------------------------------------------------- */

static void on_time(void *user);

/* Sleeps until the next piece is due, or the end. */
static void call_sleep(struct model_call *call, int64_t now)
{
    int64_t next = call->end_ms;
    if (now < call->first_ms)
        next = call->first_ms;
    else if (now + (call->end_ms - call->first_ms) / PIECES < next)
        next = now + (call->end_ms - call->first_ms) / PIECES + 1;
    later_set(call->later, next > now ? next - now : 0);
}

/* Hands on as much of the text as its time has come for. */
static void call_stream(struct model_call *call, int64_t now)
{
    struct str text = call->reply.text;
    size_t due = text.n;
    if (now < call->end_ms && call->end_ms > call->first_ms) {
        int64_t part = (now - call->first_ms) * PIECES / (call->end_ms - call->first_ms) + 1;
        due = utf8_cut(text, text.n / PIECES * (size_t)(part < PIECES ? part : PIECES)).n;
    }
    if (due <= call->streamed || (due < text.n && due - call->streamed < PIECE_MIN))
        return;
    struct str piece = {text.p + call->streamed, due - call->streamed};
    call->streamed = due;
    if (call->callbacks.progress != NULL)
        call->callbacks.progress(call->callbacks.user);
    if (call->callbacks.delta != NULL)
        call->callbacks.delta(call->callbacks.user, piece);
}

static void on_time(void *user)
{
    struct model_call *call = user;
    int64_t now = clock_monotonic_ms();
    if (call->state == CALL_ANSWERING && call->kind == ANSWER_REPLY && now >= call->first_ms)
        call_stream(call, now);
    /* Whoever got the piece may have had enough. */
    if (call->state == CALL_ANSWERING && now < call->end_ms)
        call_sleep(call, now);
    else
        call_end(call);
}

static void call_answer(struct model_call *call, const struct replay_file *file,
                        const struct err *problem)
{
    struct buf text;
    call->began_ms = call->first_ms = call->end_ms = clock_monotonic_ms();
    call->state = CALL_ANSWERING;
    if (file != NULL) {
        answer_from(call, file);
    } else {
        buf_init(&text, MESSAGE_MAX);
        buf_text(&text, problem->message);
        fail(call, &text);
        buf_release(&text);
    }
    call_sleep(call, call->began_ms);
}

/* --- reading a recording while the loop runs ----------------------------------------------------------------- */

static void load_work(void *user)
{
    struct load *load = user;
    if (replay_file_open(load->path, &load->file, &load->err) != 0)
        load->file = NULL;
}

static void load_after(void *user)
{
    struct load *load = user;
    struct model_client *client = load->client;
    const struct replay_file *file = map_get(&client->shelf->files, load->path);
    if (file != NULL && load->file != NULL) {
        replay_file_free(load->file); /* read twice: calls have views into the first one */
    } else if (load->file != NULL) {
        map_set(&client->shelf->files, load->path, load->file);
        file = load->file;
    }
    for (struct model_call *call = client->calls; call != NULL; call = call->next)
        if (call->state == CALL_LOADING && str_eq(call->address.path, load->path))
            call_answer(call, file, &load->err);
    client->loading--;
    arena_release(&load->arena);
    free(load);
    client_settle(client);
}

static bool is_loading(const struct model_client *client, struct str path)
{
    for (const struct model_call *call = client->calls; call != NULL; call = call->next)
        if (call->state == CALL_LOADING && str_eq(call->address.path, path))
            return true;
    return false;
}

static void load_start(struct model_client *client, struct str path)
{
    struct load *load = must(calloc(1, sizeof *load));
    load->client = client;
    arena_init(&load->arena);
    load->path = arena_copy(&load->arena, path);
    client->loading++;
    later_work(client->loop, load_work, load_after, load);
}

/* --- the port ------------------------------------------------------------------------------------------------ */

/* Nothing is sent: a request is known by its messages, so there is nothing to render. */
static void port_render(const struct message_group *group, struct buf *out)
{
}

static void keep_messages(struct model_call *call, const struct model_conversation *conversation)
{
    size_t n = conversation->message_count;
    struct message *messages = arena_alloc(&call->arena, (n + 1) * sizeof *messages);
    for (size_t i = 0; i < n; i++) {
        const struct message *from = &conversation->messages[i];
        messages[i] = (struct message){.role = from->role,
                                       .text = arena_copy(&call->arena, from->text),
                                       .call_count = from->call_count,
                                       .outcome = from->outcome};
        messages[i].calls =
            arena_alloc(&call->arena, (from->call_count + 1) * sizeof *messages[i].calls);
        for (size_t k = 0; k < from->call_count; k++)
            messages[i].calls[k] =
                (struct tool_call){.name = arena_copy(&call->arena, from->calls[k].name),
                                   .arguments = arena_copy(&call->arena, from->calls[k].arguments)};
    }
    call->conversation.messages = messages;
    call->conversation.workspace = arena_copy(&call->arena, conversation->workspace);
}

static void keep_tools(struct model_call *call, const struct model_request *request)
{
    struct model_tool *tools = arena_alloc(&call->arena, (request->tool_count + 1) * sizeof *tools);
    for (size_t i = 0; i < request->tool_count; i++)
        tools[i] = (struct model_tool){arena_copy(&call->arena, request->tools[i].name),
                                       arena_copy(&call->arena, request->tools[i].description),
                                       arena_copy(&call->arena, request->tools[i].schema)};
    call->request.tools = tools;
}

static void call_link(struct model_call *call)
{
    struct model_client *client = call->client;
    call->next = client->calls;
    call->at = &client->calls;
    if (call->next != NULL)
        call->next->at = &call->next;
    client->calls = call;
}

static int port_start(struct model_client *client, const struct model_request *request,
                      const struct model_callbacks *callbacks, struct model_call **started,
                      struct err *err)
{
    struct replay_address address;
    if (replay_address_parse(request->base_url, &address, err) != 0)
        return -1;
    if (request->conversation == NULL)
        return err_set(err, ERR_BUG, "a replayed request came without its messages");
    struct model_call *call = must(calloc(1, sizeof *call));
    call->client = client;
    call->callbacks = *callbacks;
    arena_init(&call->arena);
    call->address = address;
    call->address.path = arena_copy(&call->arena, address.path);
    call->owner = arena_copy(&call->arena, request->owner);
    call->later = later_new(client->loop, on_time, call);
    call->conversation = *request->conversation;
    call->request = (struct model_request){.model = arena_copy(&call->arena, request->model),
                                           .tools = request->tools,
                                           .tool_count = request->tool_count,
                                           .agent_no = request->agent_no,
                                           .conversation = &call->conversation};
    const struct replay_file *file = map_get(&client->shelf->files, address.path);
    if (file != NULL) {
        call_answer(call, file, NULL);
    } else {
        keep_messages(call, request->conversation);
        keep_tools(call, request);
        if (!is_loading(client, address.path))
            load_start(client, address.path);
    }
    call_link(call);
    *started = call;
    return 0;
}

static void port_abort(struct model_call *call)
{
    call->state = CALL_ABORTED;
    later_set(call->later, 0);
}

static void port_free(struct model_client *client)
{
    client->state = CLIENT_CLOSING;
    for (struct model_call *call = client->calls; call != NULL; call = call->next)
        port_abort(call);
    client_settle(client);
}

static const struct model_ops replay_ops = {
    .render = port_render,
    .start = port_start,
    .abort = port_abort,
    .free = port_free,
};

struct model_port replay_open(struct uv_loop_s *loop, struct replay_shelf *shelf,
                              const struct record_warning *warning)
{
    struct model_client *client = must(calloc(1, sizeof *client));
    client->loop = loop;
    client->shelf = shelf;
    client->warning = *warning;
    map_init(&client->progress);
    return (struct model_port){&replay_ops, client};
}
