/* What the fuzz targets of the decoders share: any body, whole and cut at places that the input's first bytes choose,
 * gives the same reply or failure; ids are unique, and arguments and extras are always the text of a JSON object. The
 * including target defines decoder_start. */
#ifndef CADRE_TESTS_FUZZ_DECODING_H
#define CADRE_TESTS_FUZZ_DECODING_H

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "model/anthropic_decode.h"
#include "model/openai_decode.h"
#include "model/responses_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

union decoder_under_test {
    struct decoder base;
    struct openai_decoder openai;
    struct anthropic_decoder anthropic;
    struct responses_decoder responses;
};

static void decoder_start(union decoder_under_test *decoder, struct model_server server,
                          void (*delta)(void *user, struct str text), void *user);

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

static inline void on_delta(void *user, struct str text)
{
    buf_str(user, text);
}

static inline void on_reasoning(void *user, struct str text)
{
    require(text.n > 0);
}

static inline enum decoder_next feed(struct decoder *decoder, const uint8_t *bytes, size_t n)
{
    char *copy = malloc(n ? n : 1);
    require(copy != NULL);
    memcpy(copy, bytes, n);
    enum decoder_next next = decoder_feed(decoder, (struct str){copy, n});
    free(copy);
    return next;
}

static inline void check_calls(const struct model_reply *reply)
{
    require(reply->call_count <= CALLS_MAX);
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct tool_call *call = &reply->calls[i];
        struct err err = ERR_INIT;
        struct js *arguments = js_parse(call->arguments, &err);
        require(js_kind(arguments) == JS_OBJECT);
        js_free(arguments);
        require(call->id.n > 0 && call->name.n > 0);
        require(utf8_valid(call->name) == call->name.n && utf8_valid(call->id) == call->id.n);
        for (size_t k = 0; k < i; k++)
            require(!str_eq(reply->calls[k].id, call->id));
    }
}

static inline void check_extras(struct str extras)
{
    struct err err = ERR_INIT;
    struct js *parsed = extras.n > 0 ? js_parse(extras, &err) : NULL;
    require(extras.n == 0 || js_kind(parsed) == JS_OBJECT);
    js_free(parsed);
}

static inline void write_part(struct buf *log, struct str part)
{
    buf_int(log, (int64_t)part.n);
    buf_char(log, ':');
    buf_str(log, part);
}

/* Text before a closing tag of reasoning without an opening one was shown before it was known. */
static inline bool ends_with(const struct buf *shown, struct str text)
{
    return shown->n >= text.n &&
           (text.n == 0 || memcmp(shown->p + shown->n - text.n, text.p, text.n) == 0);
}

static inline void run(const uint8_t *bytes, size_t n, uint32_t seed, size_t longest,
                       struct buf *log)
{
    union decoder_under_test decoder;
    struct model_reply reply;
    struct model_failure failure;
    struct buf deltas;
    enum decoder_next next = DECODER_GO_ON;
    buf_init(&deltas, DECODER_TEXT_MAX);
    const struct model_server server = {.url = STR("http://server"), .secret = STR("sk-secret")};
    decoder_start(&decoder, server, on_delta, &deltas);
    decoder.base.reasoning = on_reasoning;
    decoder.base.request_bytes = 1000;
    decoder_limit(&decoder.base, 100);
    for (size_t at = 0; at < n && next == DECODER_GO_ON;) {
        seed = seed * 1664525u + 1013904223u;
        size_t piece = longest == 0 ? n : (seed >> 16) % longest + 1;
        piece = piece < n - at ? piece : n - at;
        next = feed(&decoder.base, bytes + at, piece);
        at += piece;
    }
    if (decoder_finish(&decoder.base, DECODER_CLOSED, &reply, &failure)) {
        check_calls(&reply);
        require(utf8_valid(reply.text) == reply.text.n && ends_with(&deltas, reply.text));
        write_part(log, reply.text);
        write_part(log, reply.finish);
        write_part(log, reply.model);
        write_part(log, reply.extras);
        check_extras(reply.extras);
        for (size_t i = 0; i < reply.call_count; i++) {
            write_part(log, reply.calls[i].id);
            write_part(log, reply.calls[i].name);
            write_part(log, reply.calls[i].arguments);
        }
        require(reply.usage.input != 0 && reply.usage.cached <= reply.usage.input);
        buf_int(log, reply.usage.input);
    } else {
        require(failure.class == ERR_RETRY || failure.class == ERR_PROVIDER);
        require(utf8_valid(failure.message) == failure.message.n);
        require(!memmem(failure.message.p, failure.message.n, "sk-secret", 9));
        require(failure.window <= TROUBLE_TOKENS_MAX && failure.needed <= 2 * TROUBLE_TOKENS_MAX);
        write_part(log, failure.message);
        write_part(log, failure.partial);
    }
    decoder_release(&decoder.base);
    buf_release(&deltas);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    struct buf whole, cut;
    buf_init(&whole, (size_t)64 << 20);
    buf_init(&cut, (size_t)64 << 20);
    run(bytes + 2, n - 2, 0, 0, &whole);
    run(bytes + 2, n - 2, bytes[0], (size_t)bytes[1] % 32 + 1, &cut);
    require(!whole.failed && !cut.failed && str_eq(buf_view(&whole), buf_view(&cut)));
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}

#endif
