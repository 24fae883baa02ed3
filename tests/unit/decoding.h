/* How the tests of the decoders read a body: in pieces, into one line of text. Every body is decoded whole and byte by
 * byte, and must give the same result. The including test defines decoding_start. */
#ifndef CADRE_TESTS_UNIT_DECODING_H
#define CADRE_TESTS_UNIT_DECODING_H

#include "check.h"
#include "model/anthropic_decode.h"
#include "model/openai_decode.h"

#define KEY "sk-very-secret"
#define BAD "\xEF\xBF\xBD"

/* A decoded body. */
struct decoded {
    union {
        struct decoder base;
        struct openai_decoder openai;
        struct anthropic_decoder anthropic;
    } decoder;
    struct model_reply reply;
    struct model_failure failure;
    struct buf deltas;
    bool whole;
};

/* Begins with the decoder under test. */
static void decoding_start(struct decoded *d, struct model_server server,
                           void (*delta)(void *user, struct str text));

static inline void decoding_delta(void *user, struct str text)
{
    buf_str(user, text);
}

static inline void decode_pieces(struct decoded *d, struct str body, size_t step,
                                 enum decoder_closing closing)
{
    const struct model_server server = {STR("http://server/v1"), STR(KEY)};
    buf_init(&d->deltas, DECODER_TEXT_MAX);
    decoding_start(d, server, decoding_delta);
    enum decoder_next next = DECODER_GO_ON;
    for (size_t at = 0; at < body.n && next == DECODER_GO_ON; at += step) {
        size_t n = body.n - at < step ? body.n - at : step;
        next = decoder_feed(&d->decoder.base, (struct str){body.p + at, n});
    }
    d->whole = decoder_finish(&d->decoder.base, closing, &d->reply, &d->failure);
}

static inline void decoded_release(struct decoded *d)
{
    decoder_release(&d->decoder.base);
    buf_release(&d->deltas);
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

static inline void check_closing(struct str body, enum decoder_closing closing,
                                 const char *expected)
{
    const size_t steps[] = {body.n + 1, 1, 7};
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

#define check_body(body, expected) check_closing(STR(body), DECODER_CLOSED, expected)

#endif
