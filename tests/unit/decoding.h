/* How the tests of the decoders read a body: in pieces, into one line of text. Every body is decoded whole and byte by
 * byte, with chunks read in place and as documents, and must give the same result. The including test defines
 * decoding_start. */
#ifndef CADRE_TESTS_UNIT_DECODING_H
#define CADRE_TESTS_UNIT_DECODING_H

#include "check.h"
#include "model/anthropic_decode.h"
#include "model/openai_decode.h"
#include "model/responses_decode.h"

#define KEY "sk-very-secret"
#define BAD "\xEF\xBF\xBD"

/* A decoded body. */
struct decoded {
    union {
        struct decoder base;
        struct openai_decoder openai;
        struct anthropic_decoder anthropic;
        struct responses_decoder responses;
    } decoder;
    struct model_reply reply;
    struct model_failure failure;
    struct buf deltas, reasoning;
    bool whole;
};

/* Begins with the decoder under test. */
static void decoding_start(struct decoded *d, struct model_server server,
                           void (*delta)(void *user, struct str text));

static inline void decoding_delta(void *user, struct str text)
{
    buf_str(user, text);
}

static inline void decoding_reasoning(void *user, struct str text)
{
    struct decoded *d = (struct decoded *)((char *)user - offsetof(struct decoded, deltas));
    buf_str(&d->reasoning, text);
}

static inline void decode_reading(struct decoded *d, struct str body, size_t step,
                                  enum decoder_closing closing, enum decoder_reading reading)
{
    const struct model_server server = {.url = STR("http://server/v1"), .secret = STR(KEY)};
    buf_init(&d->deltas, DECODER_TEXT_MAX);
    decoding_start(d, server, decoding_delta);
    buf_init(&d->reasoning, DECODER_TEXT_MAX);
    d->decoder.base.reasoning = decoding_reasoning;
    d->decoder.base.reading = reading;
    enum decoder_next next = DECODER_GO_ON;
    for (size_t at = 0; at < body.n && next == DECODER_GO_ON; at += step) {
        size_t n = body.n - at < step ? body.n - at : step;
        next = decoder_feed(&d->decoder.base, (struct str){body.p + at, n});
    }
    d->whole = decoder_finish(&d->decoder.base, closing, &d->reply, &d->failure);
}

static inline void decode_pieces(struct decoded *d, struct str body, size_t step,
                                 enum decoder_closing closing)
{
    decode_reading(d, body, step, closing, DECODER_QUICK);
}

static inline void decoded_release(struct decoded *d)
{
    decoder_release(&d->decoder.base);
    buf_release(&d->deltas);
    buf_release(&d->reasoning);
}

/* "<text> name(id)arguments … finish cut {extras}", or "class: message / partial". */
static inline void describe(const struct decoded *d, struct buf *out)
{
    if (!d->whole) {
        buf_printf(out, "%s: %.*s / %.*s", err_class_text(d->failure.class),
                   STR_FMT(d->failure.message), STR_FMT(d->failure.partial));
        return;
    }
    const struct model_reply *r = &d->reply;
    buf_printf(out, "<%.*s>", STR_FMT(r->text));
    for (size_t i = 0; i < r->call_count; i++)
        buf_printf(out, " %.*s(%.*s)%.*s", STR_FMT(r->calls[i].name), STR_FMT(r->calls[i].id),
                   STR_FMT(r->calls[i].arguments));
    buf_printf(out, " %.*s%s%s%.*s", STR_FMT(r->finish), r->completeness == REPLY_CUT ? " cut" : "",
               r->extras.n > 0 ? " " : "", STR_FMT(r->extras));
}

/* What describe leaves out. */
static inline void describe_rest(const struct decoded *d, struct buf *out)
{
    const struct usage *usage = d->whole ? &d->reply.usage : &d->failure.usage;
    buf_printf(out, " %lld %lld %lld %lld %lld", (long long)usage->input, (long long)usage->cached,
               (long long)usage->cache_write, (long long)usage->output,
               (long long)usage->reasoning);
    if (d->whole)
        buf_printf(out, " %.*s %.*s", STR_FMT(d->reply.response_id), STR_FMT(d->reply.model));
    else
        buf_printf(out, " %d", d->failure.load_status);
}

/* Both ways of reading chunks must give the same in every respect. */
static inline void check_readings(struct str body, enum decoder_closing closing)
{
    struct decoded quick, thorough;
    struct buf one, other;
    buf_init(&one, 200000);
    buf_init(&other, 200000);
    decode_reading(&quick, body, body.n + 1, closing, DECODER_QUICK);
    decode_reading(&thorough, body, body.n + 1, closing, DECODER_THOROUGH);
    describe(&quick, &one);
    describe_rest(&quick, &one);
    describe(&thorough, &other);
    describe_rest(&thorough, &other);
    assert_false(one.failed);
    check_str(buf_view(&one), other.p);
    assert_true(str_eq(buf_view(&quick.deltas), buf_view(&thorough.deltas)));
    assert_true(str_eq(buf_view(&quick.reasoning), buf_view(&thorough.reasoning)));
    decoded_release(&quick);
    decoded_release(&thorough);
    buf_release(&one);
    buf_release(&other);
}

static inline void check_closing(struct str body, enum decoder_closing closing,
                                 const char *expected)
{
    const size_t steps[] = {body.n + 1, 1, 7};
    check_readings(body, closing);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct decoded d;
        struct buf text;
        buf_init(&text, 100000);
        decode_pieces(&d, body, steps[i], closing);
        describe(&d, &text);
        check_str(buf_view(&text), expected);
        assert_true(str_eq(buf_view(&d.deltas), d.whole ? d.reply.text : d.failure.partial));
        buf_release(&text);
        decoded_release(&d);
    }
}

/* What came as reasoning. */
static inline void check_reasoning(struct str body, const char *expected)
{
    for (size_t step = 1; step <= body.n; step += 6) {
        struct decoded d;
        decode_pieces(&d, body, step, DECODER_CLOSED);
        check_str(buf_view(&d.reasoning), expected);
        decoded_release(&d);
    }
}

#define check_body(body, expected) check_closing(STR(body), DECODER_CLOSED, expected)

#endif
