/* Fuzzes model/openai_chunk against the parser: each line of the input is a chunk of a stream. Read in place and as documents, the
 * stream must give the same in every respect, and what is read in place must be JSON and no error. */
#include <stdlib.h>

#include "base/json.h"
#include "model/openai_chunk.h"
#include "model/openai_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void on_delta(void *user, struct str text)
{
    buf_int(user, (int64_t)text.n);
    buf_char(user, ':');
    buf_str(user, text);
}

static void check_line(struct openai_chunks *chunks, struct str line)
{
    struct err err = ERR_INIT;
    if (!openai_chunks_read(chunks, line))
        return;
    struct js *root = js_parse(line, &err);
    require(js_kind(root) == JS_OBJECT && !failure_is_error(root));
    js_free(root);
}

static void write_usage(struct buf *log, const struct usage *usage)
{
    const int64_t counts[] = {usage->input, usage->cached, usage->cache_write, usage->output,
                              usage->reasoning};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        buf_char(log, ' ');
        buf_int(log, counts[i]);
    }
}

static void write_reply(struct buf *log, const struct model_reply *reply)
{
    const struct str parts[] = {reply->text, reply->finish, reply->response_id, reply->model,
                                reply->extras};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        on_delta(log, parts[i]);
    for (size_t i = 0; i < reply->call_count; i++) {
        on_delta(log, reply->calls[i].id);
        on_delta(log, reply->calls[i].name);
        on_delta(log, reply->calls[i].arguments);
    }
    buf_int(log, reply->completeness);
    write_usage(log, &reply->usage);
}

static void run(struct str stream, enum decoder_reading reading, struct buf *log)
{
    struct openai_decoder decoder;
    struct model_reply reply;
    struct model_failure failure;
    const struct model_server server = {.url = STR("http://server"), .secret = STR("sk-secret")};
    openai_decoder_init(&decoder, server, on_delta, log);
    decoder.base.reading = reading;
    (void)decoder_feed(&decoder.base, stream);
    if (decoder_finish(&decoder.base, DECODER_CLOSED, &reply, &failure)) {
        write_reply(log, &reply);
    } else {
        on_delta(log, failure.message);
        on_delta(log, failure.partial);
        buf_int(log, failure.class * 1000 + failure.load_status);
        write_usage(log, &failure.usage);
    }
    decoder_release(&decoder.base);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct openai_chunks chunks = {0};
    struct buf stream, quick, thorough;
    struct str rest = {(const char *)bytes, n};
    buf_init(&stream, (size_t)16 << 20);
    buf_init(&quick, (size_t)64 << 20);
    buf_init(&thorough, (size_t)64 << 20);
    openai_chunks_init(&chunks);
    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str line = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
        check_line(&chunks, line);
        buf_text(&stream, "data: ");
        buf_str(&stream, line);
        buf_text(&stream, "\n\n");
        size_t used = line.n + (end ? 1 : 0);
        rest = (struct str){rest.p + used, rest.n - used};
    }
    run(buf_view(&stream), DECODER_QUICK, &quick);
    run(buf_view(&stream), DECODER_THOROUGH, &thorough);
    require(!quick.failed && str_eq(buf_view(&quick), buf_view(&thorough)));
    openai_chunks_release(&chunks);
    buf_release(&stream);
    buf_release(&quick);
    buf_release(&thorough);
    return 0;
}
