/* model/openai_decode on hand-written bodies: streams, tool calls, documents, errors with HTTP 200.
 * Every body is decoded whole and byte by byte, and must give the same result. */
#include "decoding.h"

static void decoding_start(struct decoded *d, struct model_server server,
                           void (*delta)(void *user, struct str text))
{
    openai_decoder_init(&d->decoder.openai, server, delta, &d->deltas);
}

/* Chunks of a stream, as a literal. */
#define EVENT(json) "data: " json "\n\n"
#define DELTA(delta) EVENT("{\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}")
#define TEXT(text) DELTA("\"content\":\"" text "\"")
#define CALLS(pieces) DELTA("\"tool_calls\":[" pieces "]")
#define FINISH(reason) EVENT("{\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}")
#define DONE "data: [DONE]\n\n"
#define LONG_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* --- streams ----------------------------------------------------------------------------------- */

static void text_is_joined_from_its_deltas(void **state)
{
    check_body(DELTA("\"role\":\"assistant\",\"content\":\"\"") TEXT("Hel") TEXT("lo \\u00e4")
                   FINISH("stop") DONE,
               "<Hello \xC3\xA4> stop");
}

static void nulls_are_allowed_everywhere(void **state)
{
    check_body(EVENT("{\"id\":null,\"model\":null,\"choices\":null,\"usage\":null,\"error\":null}")
                   EVENT("{\"choices\":[null]}") EVENT("{\"choices\":[]}") EVENT("{}") EVENT(
                       "{\"choices\":[{\"index\":null,\"delta\":null,\"finish_reason\":null}]}")
                       DELTA("\"role\":null,\"content\":null,\"tool_calls\":null,\"refusal\":null")
                           CALLS("null,{\"index\":null,\"id\":null,\"function\":null}")
                               CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                                     "\"arguments\":null}}") FINISH("tool_calls") DONE,
               "<> read(a){} tool_calls");
}

static void usage_may_come_last_or_never(void **state)
{
    const char *streams[] = {
        TEXT("a") FINISH("stop") EVENT(
            "{\"id\":\"r1\",\"model\":\"real\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,"
            "\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":5},"
            "\"completion_tokens_details\":{\"reasoning_tokens\":3}}}") DONE,
        TEXT("a") FINISH("stop") DONE,
        TEXT("a") FINISH("stop") EVENT("{\"usage\":{\"prompt_tokens\":-4,\"completion_tokens\":"
                                       "9223372036854775807,\"prompt_tokens_details\":null}}") DONE,
    };
    const struct usage expected[] = {{11, 5, -1, 7, 3}, USAGE_NONE, USAGE_NONE};
    for (size_t i = 0; i < 3; i++) {
        struct decoded d;
        decode_pieces(&d, str_from(streams[i]), 5, DECODER_CLOSED);
        assert_true(d.whole);
        assert_memory_equal(&d.reply.usage, &expected[i], sizeof expected[i]);
        check_str(d.reply.response_id, i == 0 ? "r1" : "");
        check_str(d.reply.model, i == 0 ? "real" : "");
        decoded_release(&d);
    }
}

static void usage_that_cannot_be_is_not_believed(void **state)
{
    static const struct {
        const char *usage;
        struct usage expected;
    } rows[] = {
        {"\"prompt_tokens\":0,\"completion_tokens\":0", USAGE_NONE},
        {"\"prompt_tokens\":10,\"completion_tokens\":0", {10, -1, -1, -1, -1}},
        {"\"prompt_tokens\":10,\"completion_tokens\":3,\"prompt_tokens_details\":"
         "{\"cached_tokens\":11},\"completion_tokens_details\":{\"reasoning_tokens\":4}",
         {10, -1, -1, 3, -1}},
        /* More tokens than the request has bytes, and a thousand times the limit. */
        {"\"prompt_tokens\":500000,\"completion_tokens\":50000000", USAGE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct decoded d;
        struct buf body;
        buf_init(&body, 10000);
        buf_printf(&body, TEXT("a") FINISH("stop") "data: {\"choices\":[],\"usage\":{%s}}\n\n" DONE,
                   rows[i].usage);
        const struct model_server server = {.url = STR("http://server/v1")};
        buf_init(&d.deltas, 1000);
        buf_init(&d.reasoning, 1000);
        decoding_start(&d, server, decoding_delta);
        d.decoder.base.request_bytes = 1000;
        decoder_limit(&d.decoder.base, 1000);
        assert_int_equal(decoder_feed(&d.decoder.base, buf_view(&body)), DECODER_COMPLETE);
        assert_true(decoder_finish(&d.decoder.base, DECODER_CLOSED, &d.reply, &d.failure));
        assert_memory_equal(&d.reply.usage, &rows[i].expected, sizeof d.reply.usage);
        decoded_release(&d);
        buf_release(&body);
    }
}

static void a_finish_without_done_is_an_end(void **state)
{
    check_body(TEXT("a") FINISH("stop"), "<a> stop");
    check_body(TEXT("a") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
               "<a> stop");
}

static void done_without_a_finish_is_an_end(void **state)
{
    check_body(TEXT("a") DONE, "<a> ");
    check_body(TEXT("a") "data: [DONE]", "<a> ");
}

static void a_stream_with_neither_ended_early(void **state)
{
    check_body(TEXT("par") TEXT("tial"),
               "retry: http://server/v1: the stream ended early / partial");
    check_body(": keep-alive\n\n", "retry: http://server/v1: the stream ended early / ");
}

static void done_without_any_answer_is_a_failure(void **state)
{
    check_body(DONE, "retry: http://server/v1: the stream held no answer / ");
}

static void an_empty_body_is_a_failure(void **state)
{
    check_body("", "retry: http://server/v1: the answer is empty / ");
    check_body(" \r\n", "retry: http://server/v1: the answer is empty / ");
}

static void a_broken_connection_loses_only_what_had_not_finished(void **state)
{
    check_closing(STR(TEXT("a") FINISH("stop")), DECODER_BROKEN, "<a> stop");
    check_closing(STR(TEXT("a") "data: [DONE]"), DECODER_BROKEN,
                  "retry: http://server/v1: the stream ended early / a");
}

static void nothing_after_done_counts(void **state)
{
    check_body(TEXT("a") FINISH("stop") DONE TEXT("b") "data: {broken", "<a> stop");
}

static void other_choices_are_ignored(void **state)
{
    check_body(EVENT("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,"
                     "\"delta\":{\"content\":\"yes\"}}]}") FINISH("stop"),
               "<yes> stop");
    check_body(EVENT("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}") TEXT("yes")
                   FINISH("stop"),
               "<yes> stop");
}

static void content_may_be_a_list_of_parts(void **state)
{
    check_body(
        DELTA("\"content\":[{\"type\":\"text\",\"text\":\"a\"},\"b\",{\"type\":\"image\"},7]")
            FINISH("stop"),
        "<ab> stop");
}

static void a_refusal_is_a_failure_with_its_words(void **state)
{
    struct decoded d;
    struct str body = STR(DELTA("\"content\":null,\"refusal\":\"I cannot \"")
                              DELTA("\"refusal\":\"help with that.\"") FINISH("stop"));
    check_closing(body, DECODER_CLOSED,
                  "provider: http://server/v1: the model refused to answer: I cannot help with "
                  "that / I cannot help with that.");
    decode_pieces(&d, body, 5, DECODER_CLOSED);
    assert_int_equal(d.failure.trouble, TROUBLE_FILTERED);
    decoded_release(&d);
}

static void reasoning_is_shown_under_the_first_name_that_it_comes_under(void **state)
{
    struct str body = STR(DELTA("\"reasoning_content\":\"a\",\"reasoning\":\"a\"") DELTA(
        "\"reasoning_content\":\"b\",\"reasoning\":\"b\"") TEXT("<think>") FINISH("stop"));
    check_reasoning(body, "ab");
    /* The server tells reasoning apart, so a tag is text. */
    check_closing(body, DECODER_CLOSED,
                  "<<think>> stop {\"api\":\"openai\",\"message\":{\"reasoning_content\":\"ab\","
                  "\"reasoning\":\"ab\"}}");
}

static void reasoning_in_the_text_is_not_the_answer(void **state)
{
    struct str body = STR(TEXT("\\n<thi") TEXT("nk>Let me s") TEXT("ee.</th") TEXT("ink>\\n\\nFour")
                              TEXT(".") FINISH("stop") DONE);
    check_closing(body, DECODER_CLOSED, "<Four.> stop");
    check_reasoning(body, "Let me see.");
    /* The answer is cut before it begins. */
    check_body(TEXT("<think>Let me") FINISH("length"), "<> length cut");
    check_body(TEXT("<think>Let me"), "retry: http://server/v1: the stream ended early / ");
}

static void a_chunk_that_lacks_a_part_of_the_answer_is_a_failure(void **state)
{
    check_body(TEXT("a") "data: {\"choices\":\n\n" DONE,
               "retry: http://server/v1: the stream holds a chunk that is not whole JSON / a");
}

static void data_that_is_not_json_is_skipped(void **state)
{
    check_body("data: : OPENROUTER PROCESSING\n\n: comment\n\n" TEXT(
                   "a") "data: 7\n\n"
                        "data: hello\n\ndata: {oops\n\ndata: null\n\ndata: []\n\n" TEXT("b")
                            FINISH("stop") "data: bye\n\n" DONE,
               "<ab> stop");
    /* Where nothing else came, the error says what did. */
    check_body("data: hello " KEY "\n\ndata: again\n\n" DONE,
               "provider: http://server/v1: the stream held no answer, but this: hello *** / ");
}

static void data_that_is_not_json_is_not_skipped_without_end(void **state)
{
    struct buf body;
    buf_init(&body, 100000);
    buf_text(&body, TEXT("a"));
    for (int i = 0; i < 1001; i++)
        buf_text(&body, "data: x\n\n");
    check_closing(buf_view(&body), DECODER_CLOSED,
                  "retry: http://server/v1: the stream holds more than 1000 pieces of data that "
                  "are not JSON / a");
    buf_release(&body);
}

static void decode_limited(struct decoded *d, struct str body, size_t step,
                           enum decoder_reading reading)
{
    const struct model_server server = {.url = STR("http://server/v1"), .secret = STR(KEY)};
    enum decoder_next next = DECODER_GO_ON;
    buf_init(&d->deltas, DECODER_TEXT_MAX);
    buf_init(&d->reasoning, DECODER_TEXT_MAX);
    decoding_start(d, server, decoding_delta);
    d->decoder.base.reading = reading;
    decoder_limit(&d->decoder.base, 1);
    for (size_t at = 0; at < body.n && next == DECODER_GO_ON; at += step)
        next = decoder_feed(&d->decoder.base,
                            (struct str){body.p + at, body.n - at < step ? body.n - at : step});
    assert_int_equal(next, DECODER_COMPLETE);
    d->whole = decoder_finish(&d->decoder.base, DECODER_CLOSED, &d->reply, &d->failure);
    assert_true(d->whole);
    assert_int_equal(d->reply.completeness, REPLY_CUT);
    check_str(d->reply.finish, "length");
}

static void output_far_beyond_its_limit_is_cut(void **state)
{
    const size_t steps[] = {977, 65536, 1 << 24};
    struct buf text, call;
    buf_init(&text, 1 << 24);
    buf_init(&call, 1 << 24);
    for (int i = 0; i < 20000; i++) {
        buf_text(&text, TEXT(LONG_64));
        buf_text(&call, CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\","
                              "\"arguments\":\"[" LONG_64 LONG_64 LONG_64 LONG_64 "\"}}"));
    }
    buf_text(&text, FINISH("stop") DONE);
    buf_text(&call, FINISH("tool_calls") DONE);
    for (size_t i = 0; i < 3; i++) {
        struct decoded d;
        decode_limited(&d, buf_view(&text), steps[i], DECODER_QUICK);
        assert_int_equal(d.reply.text.n, 1024); /* what is kept at the least */
        assert_in_range(d.deltas.n, 1024, 32768);
        decoded_release(&d);
        decode_limited(&d, buf_view(&call), steps[i], i == 1 ? DECODER_THOROUGH : DECODER_QUICK);
        assert_int_equal(d.reply.call_count, 0);
        decoded_release(&d);
    }
    buf_release(&text);
    buf_release(&call);
}

static void invalid_utf8_and_lone_surrogates_are_mended(void **state)
{
    check_body(TEXT("a\xFF"
                    "b\\ud83dc\\ude00d\\ud83d\\ude00") FINISH("stop"),
               "<a" BAD "b" BAD "c" BAD "d\xF0\x9F\x98\x80> stop");
    check_body(TEXT("tab\there") FINISH("stop"), "<tab\there> stop");
}

static void a_character_cut_in_half_between_two_chunks_is_whole_again(void **state)
{
    check_body(TEXT("a\\ud83d") TEXT("\\ude00b") FINISH("stop"), "<a\xF0\x9F\x98\x80"
                                                                 "b> stop");
    check_body(TEXT("a\\ud83d") TEXT("b") TEXT("\\ude00") FINISH("stop"),
               "<a" BAD "b" BAD "> stop");
    check_body(CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"write\",\"arguments\":\"{"
                     "\\\"c\\\":\\\"\\ud83d\"}}")
                   CALLS("{\"index\":0,\"function\":{\"arguments\":\"\\ude00\\\"}\"}}")
                       FINISH("tool_calls") DONE,
               "<> write(a){\"c\":\"\xF0\x9F\x98\x80\"} tool_calls");
}

static void a_byte_order_mark_and_crlf_do_not_matter(void **state)
{
    check_body("\xEF\xBB\xBF"
               "data:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata:[DONE]\r\n\r\n",
               "<a> ");
}

/* --- tool calls -------------------------------------------------------------------------------- */

static void calls_are_joined_by_index(void **state)
{
    check_body(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}")
            CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"p\\\":\"}}")
                CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"ls\"}}")
                    CALLS("{\"index\":0,\"function\":{\"arguments\":\"1}\"}}")
                        CALLS("{\"index\":1,\"function\":{\"arguments\":\"{}\"}}")
                            FINISH("tool_calls") DONE,
        "<> read(a){\"p\":1} ls(b){} tool_calls");
}

static void calls_with_ids_and_all_zero_indexes_stay_apart(void **state)
{
    check_body(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"{\"}}")
            CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"read\","
                  "\"arguments\":\"{\\\"p\\\":2\"}}")
                CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"\\\"p\\\":1}\"}}")
                    CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"arguments\":\"}\"}}")
                        FINISH("tool_calls"),
        "<> read(a){\"p\":1} read(b){\"p\":2} tool_calls");
}

static void calls_without_ids_and_indexes_follow_one_another(void **state)
{
    check_body(CALLS("{\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"p\\\":\"}}")
                   CALLS("{\"function\":{\"arguments\":\"1}\"}}")
                       CALLS("{\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"p\\\":2}\"}}")
                           FINISH("tool_calls"),
               "<> read(call_0){\"p\":1} read(call_1){\"p\":2} tool_calls");
}

static void all_zero_indexes_without_ids_are_told_apart_by_complete_arguments(void **state)
{
    check_body(
        CALLS("{\"index\":0,\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"p\\\":\"}}")
            CALLS("{\"index\":0,\"function\":{\"name\":\"read\",\"arguments\":\"\\\"}\\\"}\"}}")
                CALLS("{\"index\":0,\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}")
                    FINISH("tool_calls"),
        "<> read(call_0){\"p\":\"}\"} read(call_1){} tool_calls");
}

#define NAME_ALONE(name)                                                                           \
    CALLS("{\"index\":0,\"id\":null,\"function\":{\"name\":\"" name "\",\"arguments\":\"\"}}")
#define ARGUMENTS_ALONE(text) CALLS("{\"index\":0,\"function\":{\"arguments\":\"" text "\"}}")

static void a_name_alone_behind_a_complete_call_begins_the_next(void **state)
{
    check_body(NAME_ALONE("read") ARGUMENTS_ALONE("{\\\"p\\\":1}") NAME_ALONE("read")
                   ARGUMENTS_ALONE(" {\\\"p\\\":") ARGUMENTS_ALONE("2}") NAME_ALONE("read")
                       FINISH("tool_calls"),
               "<> read(call_0){\"p\":1} read(call_1){\"p\":2} tool_calls");
    check_body(NAME_ALONE("read") ARGUMENTS_ALONE("{\\\"p\\\":1}") NAME_ALONE("read")
                   ARGUMENTS_ALONE("{\\\"p\\\":1}") NAME_ALONE("read") ARGUMENTS_ALONE("\\n")
                       FINISH("tool_calls"),
               "<> read(call_0){\"p\":1} tool_calls");
}

static void several_calls_in_one_chunk_are_several_calls(void **state)
{
    check_body(
        CALLS("{\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}},"
              "{\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}},"
              "{\"index\":0,\"function\":{\"name\":\"b\"}},{\"index\":0,\"function\":{\"name\":"
              "\"b\"}}") FINISH("tool_calls"),
        "<> a(call_0){} a(call_1){} b(call_2){} b(call_3){} tool_calls");
}

static void indexes_may_be_strings(void **state)
{
    check_body(
        CALLS("{\"index\":\"0\",\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\"}}")
            CALLS(
                "{\"index\":\"1\",\"id\":\"b\",\"function\":{\"name\":\"y\",\"arguments\":\"{\"}}")
                CALLS("{\"index\":\"0\",\"function\":{\"arguments\":\"}\"}},"
                      "{\"index\":\"1\",\"function\":{\"arguments\":\"}\"}}") FINISH("tool_calls"),
        "<> x(a){} y(b){} tool_calls");
}

static void a_name_may_be_repeated_grow_or_come_in_parts(void **state)
{
    check_body(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"{\"}}")
            CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"}\"}}")
                CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                      "\"arguments\":\"\"}}")
                    CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"spawn_\"}}")
                        CALLS("{\"index\":1,\"function\":{\"name\":\"agent\"}}")
                            CALLS("{\"index\":2,\"id\":\"c\",\"function\":{\"name\":\"fan\"}}")
                                CALLS("{\"index\":2,\"function\":{\"name\":\"fan_out\"}}")
                                    FINISH("tool_calls"),
        "<> read(a){} spawn_agent(b){} fan_out(c){} tool_calls");
}

static void a_new_id_on_every_piece_does_not_split_a_call(void **state)
{
    check_body(
        CALLS("{\"index\":0,\"id\":\"r1\",\"function\":{\"name\":\"x\",\"arguments\":\"{\"}}")
            CALLS("{\"index\":0,\"id\":\"r2\",\"function\":{\"arguments\":\"}\"}}")
                FINISH("tool_calls"),
        "<> x(r1){} tool_calls");
}

static void a_call_that_is_sent_once_more_in_full_runs_once(void **state)
{
    check_body(CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{"
                     "\\\"k\\\":1}\"}}")
                   CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":"
                         "\"{\\\"k\\\":1}\"}}") FINISH("tool_calls"),
               "<> x(a){\"k\":1} tool_calls");
    check_body(
        CALLS("{\"index\":0,\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"k\\\":1}\"}}")
            CALLS("{\"index\":0,\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"k\\\":1}\"}}")
                FINISH("tool_calls"),
        "<> x(call_0){\"k\":1} tool_calls");
    check_body(TEXT("t") CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\"}}") EVENT(
                   "{\"choices\":[{\"message\":{\"content\":\"t\",\"tool_calls\":[{\"id\":\"a\","
                   "\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}]},\"finish_reason\":"
                   "\"tool_calls\"}]}"),
               "<t> x(a){} tool_calls");
}

static void arguments_may_be_an_object(void **state)
{
    check_body(
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":{\"b\":[1,2],\"a\":null}}}")
            FINISH("tool_calls"),
        "<> x(a){\"b\":[1,2],\"a\":null} tool_calls");
}

static void repeated_ids_are_replaced(void **state)
{
    check_body(CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\"}},"
                     "{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"y\"}},"
                     "{\"index\":2,\"id\":\"call_1\",\"function\":{\"name\":\"z\"}},"
                     "{\"index\":3,\"id\":\"\",\"function\":{\"name\":\"w\"}}")
                   FINISH("tool_calls"),
               "<> x(a){} y(call_2){} z(call_1){} w(call_3){} tool_calls");
    check_body(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}")
            CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"y\"}}")
                CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{}\"}}")
                    FINISH("tool_calls"),
        "<> x(a){} y(call_1){} tool_calls");
}

static void arguments_that_are_no_object_are_handed_back_as_text(void **state)
{
    check_body(
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"p\\\":\\\"q\"}},"
              "{\"id\":\"b\",\"function\":{\"name\":\"x\",\"arguments\":\"[1]\"}},"
              "{\"id\":\"c\",\"function\":{\"name\":\"x\",\"arguments\":7}},"
              "{\"id\":\"d\",\"function\":{\"name\":\"x\",\"arguments\":\" \\n\"}},"
              "{\"id\":\"e\",\"function\":{\"name\":\"x\",\"arguments\":\"{} {}\"}}")
            FINISH("tool_calls"),
        "<> x(a){\"$unparsed\":\"{\\\"p\\\":\\\"q\"} x(b){\"$unparsed\":\"[1]\"} "
        "x(c){\"$unparsed\":\"7\"} x(d){} x(e){\"$unparsed\":\"{} {}\"} tool_calls");
}

static void the_output_limit_drops_a_last_call_that_is_not_complete(void **state)
{
    check_body(TEXT("t") CALLS(
                   "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}")
                   CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"write\",\"arguments\":"
                         "\"{\\\"p\\\":\\\"ab\"}}") FINISH("length") DONE,
               "<t> x(a){} length cut");
    check_body(CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"\"}}")
                   FINISH("length"),
               "<> length cut");
    check_body(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}")
            FINISH("length"),
        "<> x(a){} length cut");
}

static void a_call_without_a_usable_name_does_not_spoil_the_others(void **state)
{
    check_body(TEXT("t") CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{}\"}}")
                   CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"ls\","
                         "\"arguments\":\"{}\"}}") FINISH("tool_calls"),
               "<t> (no name)(a){} ls(b){} tool_calls");
    check_body(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"" LONG_64 LONG_64 LONG_64 LONG_64
              "x\",\"arguments\":\"{}\"}}") FINISH("tool_calls"),
        "<> (name too long)(a){} tool_calls");
    check_body(CALLS("{\"index\":0,\"id\":\"" LONG_64 LONG_64 LONG_64 LONG_64
                     "x\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}")
                   FINISH("tool_calls"),
               "<> ls(call_0){} tool_calls");
}

static void decode_calls(struct decoded *d, size_t count)
{
    struct buf body;
    buf_init(&body, 8000000);
    for (size_t i = 0; i < count; i++)
        buf_printf(&body, CALLS("{\"index\":%zu,\"id\":\"i%zu\",\"function\":{\"name\":\"x\"}}"), i,
                   i);
    buf_text(&body, FINISH("tool_calls"));
    decode_pieces(d, buf_view(&body), body.n, DECODER_CLOSED);
    buf_release(&body);
}

static void the_number_of_calls_is_bounded(void **state)
{
    struct decoded d;
    decode_calls(&d, CALLS_MAX);
    assert_true(d.whole);
    assert_int_equal(d.reply.call_count, CALLS_MAX);
    decoded_release(&d);
    decode_calls(&d, CALLS_MAX + 1);
    assert_false(d.whole);
    check_str(d.failure.message, "http://server/v1: the answer holds more than 16384 tool calls");
    decoded_release(&d);
}

static void the_length_of_the_text_is_bounded(void **state)
{
    struct decoded d;
    struct buf body;
    char piece[10001];
    memset(piece, 'x', 10000);
    piece[10000] = '\0';
    buf_init(&body, (size_t)64 << 20);
    for (size_t i = 0; i < DECODER_TEXT_MAX / 10000 + 1; i++)
        buf_printf(&body, TEXT("%s"), piece);
    buf_text(&body, FINISH("stop"));
    decode_pieces(&d, buf_view(&body), 100000, DECODER_CLOSED);
    assert_false(d.whole);
    assert_int_equal(d.failure.class, ERR_RETRY);
    check_str(d.failure.message, "http://server/v1: the answer holds more than 16 MB of text");
    assert_true(d.failure.partial.n <= DECODER_TEXT_MAX);
    decoded_release(&d);
    buf_release(&body);
}

/* --- documents and errors with HTTP 200 -------------------------------------------------------- */

static void a_plain_document_is_an_answer_too(void **state)
{
    check_body(
        "\n{\"id\":\"r\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
        "\"content\":\"hi\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":"
        "{\"name\":\"x\",\"arguments\":\"{\\\"k\\\":1}\"}},{\"id\":\"a\",\"function\":{\"name\":"
        "\"x\",\"arguments\":\"{\\\"k\\\":2}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n",
        "<hi> x(a){\"k\":1} x(call_1){\"k\":2} tool_calls");
    check_body("{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}", "<hi> ");
}

static void a_document_that_is_cut_or_empty_is_a_failure(void **state)
{
    check_body("{\"choices\":[{\"message\":{\"content\":\"hi\"}}",
               "retry: http://server/v1: the answer is not complete JSON / ");
    check_body("{\"choices\":[]}", "retry: http://server/v1: the answer holds no choices / ");
    check_closing(STR("{\"choices\":["), DECODER_BROKEN,
                  "retry: http://server/v1: the stream ended early / ");
}

static void a_web_page_is_no_answer(void **state)
{
    check_body(
        "<!DOCTYPE html><html>" KEY "</html>",
        "provider: http://server/v1: the answer is a web page and not a model's: check the base "
        "URL / ");
}

static void an_error_with_http_200_is_a_failure(void **state)
{
    check_body("{\"error\":{\"message\":\"The model is overloaded.\",\"type\":\"server_error\"}}",
               "retry: http://server/v1 answered with an error: The model is overloaded / ");
    check_body("{\"error\":\"no such model\",\"code\":404}",
               "provider: http://server/v1 answered with an error: no such model / ");
    check_body("[{\"error\":{\"code\":400,\"message\":\"bad\",\"status\":\"INVALID_ARGUMENT\"}}]",
               "provider: http://server/v1 answered with an error: bad / ");
    check_body(
        "{\"object\":\"error\",\"message\":\"too long\",\"type\":\"BadRequestError\",\"code\":400}",
        "provider: http://server/v1 answered with an error: too long / ");
    check_body("{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\"}]}",
               "retry: http://server/v1 answered with an error: field required / ");
}

static void an_error_in_the_middle_of_a_stream_keeps_what_came(void **state)
{
    check_body(TEXT("par") EVENT("{\"error\":{\"message\":\"upstream died\",\"code\":502}}")
                   TEXT("x"),
               "retry: http://server/v1 answered with an error: upstream died / par");
    check_body(
        TEXT("par") "event: error\ndata: {\"message\":\"rate limit\",\"type\":\"rate_limit\"}\n\n",
        "retry: http://server/v1 answered with an error: rate limit / par");
    check_body(TEXT("par") "event: error\ndata: plain words\n\n" DONE,
               "retry: http://server/v1 answered with an error: plain words / par");
    check_body(TEXT("par")
                   EVENT("{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}"),
               "provider: http://server/v1 answered with an error: no / par");
    check_body(TEXT("par") FINISH("error"),
               "retry: http://server/v1: the server ended its answer with an error / par");
}

static void check_load(const char *stream, int expected)
{
    struct decoded d;
    decode_pieces(&d, str_from(stream), 5, DECODER_CLOSED);
    assert_false(d.whole);
    assert_int_equal(d.failure.load_status, expected);
    decoded_release(&d);
}

static void an_error_inside_a_stream_says_whether_the_server_has_too_much_to_do(void **state)
{
    check_load(TEXT("a") EVENT("{\"error\":{\"message\":\"no\",\"code\":429}}"), 429);
    check_load(TEXT("a") EVENT("{\"error\":{\"type\":\"overloaded_error\"}}"), 529);
    check_load(TEXT("a") "event: error\ndata: {\"type\":\"rate_limit\"}\n\n", 429);
    check_load(TEXT("a") EVENT("{\"error\":{\"message\":\"overloaded\",\"code\":502}}"), 0);
    check_load(TEXT("a") EVENT("{\"error\":{\"type\":\"invalid_request_error\"}}"), 0);
    check_load(TEXT("a"), 0);
}

static void an_answer_that_a_filter_stopped_is_a_failure(void **state)
{
    const char *expected = "provider: http://server/v1: the provider's content filter stopped the "
                           "answer: put the task "
                           "in other words, or use another model / Well";
    check_body(TEXT("Well") FINISH("content_filter") DONE, expected);
    check_body(TEXT("Well") CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\","
                                  "\"arguments\":\"{\\\"p\\\":\"}}") FINISH("content_filter") DONE,
               expected);
}

/* The filter judged the answer as a whole: a call in it may be what it objects to. */
static void no_call_runs_of_an_answer_that_a_filter_stopped(void **state)
{
    check_body(
        TEXT("Well") CALLS(
            "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}")
            CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"y\",\"arguments\":\"{\"}}")
                FINISH("content_filter"),
        "provider: http://server/v1: the provider's content filter stopped the answer: put the "
        "task in other words, or use another model / Well");
}

static void an_empty_error_member_is_no_error(void **state)
{
    check_body(EVENT("{\"error\":{},\"choices\":[{\"delta\":{\"content\":\"a\"}}]}")
                   EVENT("{\"error\":\"\",\"choices\":[]}") EVENT("{\"error\":false}")
                       FINISH("stop"),
               "<a> stop");
}

static void the_key_is_in_no_failure(void **state)
{
    check_body(EVENT("{\"error\":\"wrong key " KEY "\"}"),
               "retry: http://server/v1 answered with an error: wrong key *** / ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_joined_from_its_deltas),
        cmocka_unit_test(nulls_are_allowed_everywhere),
        cmocka_unit_test(usage_may_come_last_or_never),
        cmocka_unit_test(usage_that_cannot_be_is_not_believed),
        cmocka_unit_test(a_finish_without_done_is_an_end),
        cmocka_unit_test(done_without_a_finish_is_an_end),
        cmocka_unit_test(a_stream_with_neither_ended_early),
        cmocka_unit_test(done_without_any_answer_is_a_failure),
        cmocka_unit_test(an_empty_body_is_a_failure),
        cmocka_unit_test(a_broken_connection_loses_only_what_had_not_finished),
        cmocka_unit_test(nothing_after_done_counts),
        cmocka_unit_test(other_choices_are_ignored),
        cmocka_unit_test(content_may_be_a_list_of_parts),
        cmocka_unit_test(a_refusal_is_a_failure_with_its_words),
        cmocka_unit_test(reasoning_is_shown_under_the_first_name_that_it_comes_under),
        cmocka_unit_test(reasoning_in_the_text_is_not_the_answer),
        cmocka_unit_test(a_chunk_that_lacks_a_part_of_the_answer_is_a_failure),
        cmocka_unit_test(data_that_is_not_json_is_skipped),
        cmocka_unit_test(data_that_is_not_json_is_not_skipped_without_end),
        cmocka_unit_test(output_far_beyond_its_limit_is_cut),
        cmocka_unit_test(invalid_utf8_and_lone_surrogates_are_mended),
        cmocka_unit_test(a_character_cut_in_half_between_two_chunks_is_whole_again),
        cmocka_unit_test(a_byte_order_mark_and_crlf_do_not_matter),
        cmocka_unit_test(calls_are_joined_by_index),
        cmocka_unit_test(calls_with_ids_and_all_zero_indexes_stay_apart),
        cmocka_unit_test(calls_without_ids_and_indexes_follow_one_another),
        cmocka_unit_test(all_zero_indexes_without_ids_are_told_apart_by_complete_arguments),
        cmocka_unit_test(a_name_alone_behind_a_complete_call_begins_the_next),
        cmocka_unit_test(several_calls_in_one_chunk_are_several_calls),
        cmocka_unit_test(indexes_may_be_strings),
        cmocka_unit_test(a_name_may_be_repeated_grow_or_come_in_parts),
        cmocka_unit_test(a_new_id_on_every_piece_does_not_split_a_call),
        cmocka_unit_test(a_call_that_is_sent_once_more_in_full_runs_once),
        cmocka_unit_test(arguments_may_be_an_object),
        cmocka_unit_test(repeated_ids_are_replaced),
        cmocka_unit_test(arguments_that_are_no_object_are_handed_back_as_text),
        cmocka_unit_test(the_output_limit_drops_a_last_call_that_is_not_complete),
        cmocka_unit_test(a_call_without_a_usable_name_does_not_spoil_the_others),
        cmocka_unit_test(the_number_of_calls_is_bounded),
        cmocka_unit_test(the_length_of_the_text_is_bounded),
        cmocka_unit_test(a_plain_document_is_an_answer_too),
        cmocka_unit_test(a_document_that_is_cut_or_empty_is_a_failure),
        cmocka_unit_test(a_web_page_is_no_answer),
        cmocka_unit_test(an_error_with_http_200_is_a_failure),
        cmocka_unit_test(an_error_in_the_middle_of_a_stream_keeps_what_came),
        cmocka_unit_test(an_error_inside_a_stream_says_whether_the_server_has_too_much_to_do),
        cmocka_unit_test(an_answer_that_a_filter_stopped_is_a_failure),
        cmocka_unit_test(no_call_runs_of_an_answer_that_a_filter_stopped),
        cmocka_unit_test(an_empty_error_member_is_no_error),
        cmocka_unit_test(the_key_is_in_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
