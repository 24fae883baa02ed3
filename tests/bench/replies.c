/* Makes the answers; see the header. Each event is a chunk of its own, as servers that stream send them. Pure but
 * for memory; the server's only thread runs it. */
#include "replies.h"

#include <stdio.h>
#include <stdlib.h>

#define REPLY_MAX ((size_t)16 << 20)
#define WAVES_MAX 1024

struct replies {
    struct shape shape;
    struct buf leaf_turn[3], text;
    struct buf waves[WAVES_MAX], shares[REPLY_CALLS_MAX + 1]; /* made when first asked for */
    struct buf spawn_leads;
};

static void chunk(struct buf *out, const char *delta, const char *finish)
{
    struct buf event;
    buf_init(&event, REPLY_MAX);
    buf_printf(
        &event,
        "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1,"
        "\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}]}"
        "\n\n",
        delta, finish);
    buf_printf(out, "%zx\r\n%.*s\r\n", event.n, (int)event.n, event.p);
    buf_release(&event);
}

static void reply_begin(struct buf *out)
{
    buf_init(out, REPLY_MAX);
    buf_text(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n");
    chunk(out, "\"role\":\"assistant\",\"content\":\"\"", "null");
}

static void reply_end(struct buf *out, const char *finish)
{
    static const char last[] =
        "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1,"
        "\"model\":\"bench\",\"choices\":[],\"usage\":{\"prompt_tokens\":600,"
        "\"completion_tokens\":40,\"total_tokens\":640}}\n\n"
        "data: [DONE]\n\n";
    chunk(out, "", finish);
    buf_printf(out, "%zx\r\n%s\r\n0\r\n\r\n", sizeof last - 1, last);
    if (out->failed)
        abort();
}

static void call_chunk(struct buf *out, size_t index, const char *name, const char *arguments)
{
    struct buf delta;
    buf_init(&delta, REPLY_MAX);
    buf_printf(&delta,
               "\"tool_calls\":[{\"index\":%zu,\"id\":\"call_%zu\",\"type\":\"function\","
               "\"function\":{\"name\":\"%s\",\"arguments\":\"%s\"}}]",
               index, index, name, arguments);
    chunk(out, delta.p, "null");
    buf_release(&delta);
}

#define SHELL(command) "shell", "{\\\"command\\\":\\\"" command "\\\"}"
#define GIT "git -c user.name=a -c user.email=a@b "

static void leaf_turn_make(struct buf *out, size_t turn, enum shape_calls kind)
{
    static const char *const files[3][2] = {
        {"read", "{\\\"path\\\":\\\"one.txt\\\"}"},
        {"ls", "{\\\"path\\\":\\\".\\\"}"},
        {"read", "{\\\"path\\\":\\\"two.txt\\\"}"},
    };
    static const char *const programs[3][2] = {
        {SHELL("cat one.txt two.txt | sort | wc -l")},
        {SHELL("cd $(mktemp -d) && git init -q . && cp $OLDPWD/*.txt . && git add . && " GIT
               "commit -qm one && git log --stat | cat")},
        {SHELL("seq 1 20000 | sort -r | tail -2")},
    };
    const char *const(*calls)[2] = kind == CALLS_FILES ? files : programs;
    reply_begin(out);
    chunk(out, "\"content\":\"I look at the files first.\"", "null");
    call_chunk(out, 0, calls[turn][0], calls[turn][1]);
    reply_end(out, "\"tool_calls\"");
}

static void text_make(struct buf *out)
{
    reply_begin(out);
    for (int i = 0; i < 4; i++)
        chunk(out, "\"content\":\"The files hold what the task asked for. \"", "null");
    reply_end(out, "\"stop\"");
}

/* What a leaf may call. It changes nothing, but a child that could only read would be given an earlier one's result. */
static const char *const leaf_tools[] = {
    [CALLS_FILES] =
        "[\\\"read\\\",\\\"ls\\\",\\\"grep\\\",\\\"write\\\",\\\"edit\\\",\\\"delete\\\"]",
    [CALLS_PROGRAMS] = "[\\\"shell\\\",\\\"git\\\"]",
};

/* Tasks carry the number of the wave: cadre stops an agent that repeats itself. */
static const struct buf *spawn_leaves(struct replies *replies, struct buf *out, size_t count,
                                      size_t wave)
{
    const char *file = replies->shape.context_file;
    char arguments[512];
    if (out->n > 0 || count == 0)
        return out->n > 0 ? out : NULL;
    snprintf(arguments, sizeof arguments,
             "{\\\"task\\\":\\\"leaf %zu\\\",\\\"allowed_tools\\\":%s%s%s%s}", wave,
             leaf_tools[replies->shape.calls], file ? ",\\\"context_files\\\":[\\\"" : "",
             file ? file : "", file ? "\\\"]" : "");
    reply_begin(out);
    for (size_t i = 0; i < count; i++)
        call_chunk(out, i, "spawn_agent", arguments);
    reply_end(out, "\"tool_calls\"");
    return out;
}

/* The leaves are shared out evenly; a lead's task says how many are its own. */
static void spawn_leads_make(struct replies *replies)
{
    const struct shape *shape = &replies->shape;
    char arguments[64];
    reply_begin(&replies->spawn_leads);
    for (size_t i = 0; i < shape->leads; i++) {
        size_t share =
            shape->children / shape->leads + (i < shape->children % shape->leads ? 1 : 0);
        snprintf(arguments, sizeof arguments, "{\\\"task\\\":\\\"lead %zu\\\"}", share);
        call_chunk(&replies->spawn_leads, i, "spawn_agent", arguments);
    }
    reply_end(&replies->spawn_leads, "\"tool_calls\"");
}

struct replies *replies_new(const struct shape *shape)
{
    if (shape->wave == 0 || shape->wave > WAVE_MAX ||
        shape->children >= (size_t)WAVES_MAX * shape->wave || shape->leads > REPLY_CALLS_MAX ||
        shape->leads > shape->children ||
        (shape->leads > 0 && (shape->children + shape->leads - 1) / shape->leads > REPLY_CALLS_MAX))
        return NULL;
    struct replies *replies = calloc(1, sizeof *replies);
    if (!replies)
        abort();
    replies->shape = *shape;
    for (size_t i = 0; i < 3; i++)
        leaf_turn_make(&replies->leaf_turn[i], i, shape->calls);
    text_make(&replies->text);
    if (shape->leads > 0)
        spawn_leads_make(replies);
    return replies;
}

void replies_free(struct replies *replies)
{
    for (size_t i = 0; i < 3; i++)
        buf_release(&replies->leaf_turn[i]);
    for (size_t i = 0; i < WAVES_MAX; i++)
        buf_release(&replies->waves[i]);
    for (size_t i = 0; i <= REPLY_CALLS_MAX; i++)
        buf_release(&replies->shares[i]);
    buf_release(&replies->text);
    buf_release(&replies->spawn_leads);
    free(replies);
}

/* How many leaves the root starts after so many replies. */
static size_t wave_size(const struct shape *shape, size_t assistants)
{
    size_t before = assistants * shape->wave;
    size_t left = before < shape->children ? shape->children - before : 0;
    return left < shape->wave ? left : shape->wave;
}

bool replies_is_last(const struct replies *replies, struct str kind, size_t assistants)
{
    const struct shape *shape = &replies->shape;
    return str_eq(kind, STR("root")) &&
           (shape->leads > 0 ? assistants > 0 : wave_size(shape, assistants) == 0);
}

const struct buf *replies_find(struct replies *replies, struct str kind, size_t assistants,
                               size_t share)
{
    const struct shape *shape = &replies->shape;
    if (str_eq(kind, STR("leaf")))
        return assistants < shape->turns ? &replies->leaf_turn[assistants % 3] : &replies->text;
    if (replies_is_last(replies, kind, assistants))
        return &replies->text;
    if (str_eq(kind, STR("root")) && shape->leads > 0)
        return &replies->spawn_leads;
    if (str_eq(kind, STR("root")))
        return spawn_leaves(replies, &replies->waves[assistants], wave_size(shape, assistants),
                            assistants);
    if (!str_eq(kind, STR("lead")) || share > REPLY_CALLS_MAX)
        return NULL;
    return assistants > 0 ? &replies->text
                          : spawn_leaves(replies, &replies->shares[share], share, 0);
}
