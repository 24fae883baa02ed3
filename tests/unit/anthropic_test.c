/* model/anthropic_decode on hand-written bodies: streams, blocks, documents, errors with HTTP 200. */
#include "decoding.h"

static void decoding_start(struct decoded *d, struct model_server server,
                           void (*delta)(void *user, struct str text))
{
    anthropic_decoder_init(&d->decoder.anthropic, server, delta, &d->deltas);
}

/* Events of a stream, as literals. */
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define MESSAGE(usage)                                                                             \
    EVENT("message_start", ",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":"         \
                           "\"assistant\",\"content\":[],\"model\":\"real\",\"stop_reason\":null," \
                           "\"stop_sequence\":null,\"usage\":{" usage "}}")
#define START MESSAGE("\"input_tokens\":10,\"output_tokens\":1")
#define PING EVENT("ping", "")
#define BLOCK(index, block)                                                                        \
    EVENT("content_block_start", ",\"index\":" index ",\"content_block\":{" block "}")
#define DELTA(index, delta)                                                                        \
    EVENT("content_block_delta", ",\"index\":" index ",\"delta\":{" delta "}")
#define STOP(index) EVENT("content_block_stop", ",\"index\":" index)
#define TEXT_BLOCK(index) BLOCK(index, "\"type\":\"text\",\"text\":\"\"")
#define TEXT(index, text) DELTA(index, "\"type\":\"text_delta\",\"text\":\"" text "\"")
#define SAYS(index, text) TEXT_BLOCK(index) TEXT(index, text) STOP(index)
#define CALL_BLOCK(index, id, name, input)                                                         \
    BLOCK(index, "\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input)
#define INPUT(index, json)                                                                         \
    DELTA(index, "\"type\":\"input_json_delta\",\"partial_json\":\"" json "\"")
#define THINKING_BLOCK(index)                                                                      \
    BLOCK(index, "\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"")
#define THINKING(index, text) DELTA(index, "\"type\":\"thinking_delta\",\"thinking\":\"" text "\"")
#define SIGNATURE(index, text)                                                                     \
    DELTA(index, "\"type\":\"signature_delta\",\"signature\":\"" text "\"")
#define FINISH(reason)                                                                             \
    EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" reason                                 \
                           "\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":7}")
#define END EVENT("message_stop", "")

/* --- streams ------------------------------------------------------------------------------------------ */

static void text_is_joined_from_its_deltas(void **state)
{
    check_body(START TEXT_BLOCK("0") PING TEXT("0", "Hel") TEXT("0", "lo \\u00e4") STOP("0")
                   FINISH("end_turn") END,
               "<Hello \xC3\xA4> end_turn");
}

static void pings_may_come_anywhere(void **state)
{
    check_body(PING START PING TEXT_BLOCK("0") PING TEXT("0", "a") PING STOP("0")
                   PING FINISH("end_turn") PING END,
               "<a> end_turn");
}

static void unknown_events_blocks_and_deltas_are_passed_over(void **state)
{
    check_body(START EVENT("news", ",\"x\":1") BLOCK("0", "\"type\":\"server_tool_use\",\"id\":"
                                                          "\"s\",\"name\":\"web\",\"input\":{}")
                   INPUT("0", "{}") TEXT("0", "not ours") STOP("0") TEXT_BLOCK("1")
                       DELTA("1", "\"type\":\"citations_delta\",\"citation\":{}") TEXT("1", "a")
                           STOP("1") FINISH("end_turn") END,
               "<a> end_turn");
}

static void nulls_are_allowed_everywhere(void **state)
{
    check_body(EVENT("message_start", ",\"message\":null") EVENT("content_block_start", "")
                   EVENT("content_block_delta", ",\"delta\":null")
                       EVENT("message_delta", ",\"delta\":null,\"usage\":null")
                           START BLOCK("null", "\"type\":\"text\",\"text\":null") TEXT("0", "a")
                               FINISH("end_turn") END,
               "<a> end_turn");
}

static void a_stop_reason_without_message_stop_is_an_end(void **state)
{
    check_body(START SAYS("0", "a") FINISH("end_turn"), "<a> end_turn");
    check_closing(STR(START SAYS("0", "a") FINISH("end_turn")), DECODER_BROKEN, "<a> end_turn");
}

static void a_stream_that_ends_before_both_ended_early(void **state)
{
    check_body(START TEXT_BLOCK("0") TEXT("0", "Hel"),
               "retry: http://server/v1: the stream ended early / Hel");
    check_body(START, "retry: http://server/v1: the stream ended early / ");
    check_body(PING, "retry: http://server/v1: the stream ended early / ");
    check_body(END, "retry: http://server/v1: the stream held no answer / ");
    check_body("", "retry: http://server/v1: the answer is empty / ");
}

static void nothing_after_message_stop_counts(void **state)
{
    check_body(START SAYS("0", "a") FINISH("end_turn") END TEXT("0", "b") "data: {{{\n\n",
               "<a> end_turn");
}

static void the_output_limit_cuts_a_reply(void **state)
{
    check_body(START SAYS("0", "a") CALL_BLOCK("1", "t1", "read", "{}")
                   INPUT("1", "{\\\"p\\\":\\\"ab") STOP("1") FINISH("max_tokens") END,
               "<a> max_tokens cut");
    check_body(START CALL_BLOCK("0", "t1", "read", "{}") INPUT("0", "{\\\"p\\\":1}") STOP("0")
                   FINISH("model_context_window_exceeded") END,
               "<> read(t1){\"p\":1} model_context_window_exceeded cut");
}

static void bad_bytes_are_mended(void **state)
{
    check_body(START TEXT_BLOCK("0") TEXT("0", "a\xFF\\ud800") FINISH("end_turn") END,
               "<a" BAD BAD "> end_turn");
}

/* --- calls -------------------------------------------------------------------------------------------- */

static void a_call_is_joined_from_pieces_that_start_empty(void **state)
{
    check_body(START CALL_BLOCK("0", "toolu_1", "read", "{}") INPUT("0", "")
                   INPUT("0", "{\\\"path\\\":") PING INPUT("0", " \\\"a.txt\\\"}") STOP("0")
                       FINISH("tool_use") END,
               "<> read(toolu_1){\"path\": \"a.txt\"} tool_use");
}

static void a_call_without_input_has_an_empty_object(void **state)
{
    check_body(START CALL_BLOCK("0", "t", "ls", "{}") INPUT("0", "") STOP("0") FINISH("tool_use")
                   END,
               "<> ls(t){} tool_use");
}

static void input_may_stand_in_the_blocks_start(void **state)
{
    check_body(START CALL_BLOCK("0", "t", "ls", "{\"path\":\"a\"}") STOP("0") FINISH("tool_use")
                   END,
               "<> ls(t){\"path\":\"a\"} tool_use");
    check_body(START CALL_BLOCK("0", "t", "ls", "{\"path\":\"a\"}") INPUT("0", "{\\\"path\\\":")
                   INPUT("0", "\\\"b\\\"}") STOP("0") FINISH("tool_use") END,
               "<> ls(t){\"path\":\"b\"} tool_use");
}

static void blocks_may_be_interleaved(void **state)
{
    check_body(START CALL_BLOCK("1", "b", "two", "{}") CALL_BLOCK("0", "a", "one", "{}")
                   INPUT("1", "{\\\"n\\\":") INPUT("0", "{\\\"n\\\":") TEXT_BLOCK("2")
                       TEXT("2", "x") INPUT("0", "1}") INPUT("1", "2}") TEXT("2", "y") STOP("0")
                           STOP("2") STOP("1") FINISH("tool_use") END,
               "<xy> two(b){\"n\":2} one(a){\"n\":1} tool_use");
}

static void arguments_are_repaired_or_handed_back_as_text(void **state)
{
    check_body(START CALL_BLOCK("0", "a", "read", "{}") INPUT("0", "{'path': 'a', }")
                   CALL_BLOCK("1", "b", "read", "{}") INPUT("1", "{\\\"p\\\":\\\"q")
                       FINISH("tool_use") END,
               "<> read(a){\"path\":\"a\"} read(b){\"$unparsed\":\"{\\\"p\\\":\\\"q\"} tool_use");
}

static void a_call_gets_an_id_and_a_stand_in_for_its_name(void **state)
{
    check_body(START CALL_BLOCK("0", "", "ls", "{}") CALL_BLOCK("1", "x", "ls", "{}")
                   CALL_BLOCK("2", "x", "ls", "{}") FINISH("tool_use") END,
               "<> ls(call_0){} ls(x){} ls(call_2){} tool_use");
    check_body(START CALL_BLOCK("0", "a", "", "{}") FINISH("tool_use") END,
               "<> (no name)(a){} tool_use");
}

static void decode_blocks(struct decoded *d, const char *block, size_t count)
{
    struct buf body;
    buf_init(&body, 1000000);
    buf_text(&body, START);
    for (size_t i = 0; i < count; i++)
        buf_text(&body, block);
    buf_text(&body, FINISH("tool_use"));
    decode_pieces(d, buf_view(&body), body.n, DECODER_CLOSED);
    buf_release(&body);
}

static void the_number_of_blocks_is_bounded(void **state)
{
    struct decoded d;
    decode_blocks(&d, CALL_BLOCK("0", "", "x", "{}"), CALLS_IN_BLOCKS_MAX);
    assert_true(d.whole);
    assert_int_equal(d.reply.call_count, CALLS_IN_BLOCKS_MAX);
    decoded_release(&d);
    decode_blocks(&d, CALL_BLOCK("0", "", "x", "{}"), CALLS_IN_BLOCKS_MAX + 1);
    assert_false(d.whole);
    check_str(d.failure.message, "http://server/v1: the answer holds more than 128 tool calls");
    decoded_release(&d);
    decode_blocks(&d, BLOCK("0", "\"type\":\"other\""), ANTHROPIC_BLOCKS_MAX + 1);
    assert_false(d.whole);
    check_str(d.failure.message, "http://server/v1: the answer holds more than 1024 blocks");
    decoded_release(&d);
}

/* --- ends that are not an answer ------------------------------------------------------------------------ */

static void a_refusal_is_a_failure_with_its_words(void **state)
{
    struct decoded d;
    struct str body = STR(START SAYS("0", "I will not.") FINISH("refusal") END);
    check_closing(body, DECODER_CLOSED,
                  "provider: http://server/v1: the model refused to answer: I will not / I will "
                  "not.");
    decode_pieces(&d, body, 9, DECODER_CLOSED);
    assert_int_equal(d.failure.trouble, TROUBLE_FILTERED);
    assert_int_equal(d.failure.usage.output, 7);
    decoded_release(&d);
    check_body(START FINISH("refusal") END,
               "provider: http://server/v1: the model refused to answer / ");
    check_body(START CALL_BLOCK("0", "t", "ls", "{}") STOP("0") FINISH("refusal") END,
               "provider: http://server/v1: the model refused to answer / ");
}

static void a_paused_turn_is_a_failure(void **state)
{
    check_body(START SAYS("0", "a") FINISH("pause_turn") END,
               "provider: http://server/v1: the server paused its turn (pause_turn), as it does "
               "for tools that it runs itself: cadre does not use them, so remove them from "
               "extra_body / a");
}

/* --- thinking ----------------------------------------------------------------------------------------- */

static void thinking_is_shown_as_it_comes(void **state)
{
    check_reasoning(STR(START THINKING_BLOCK("0") THINKING("0", "so ") THINKING("0", "it is")
                            SIGNATURE("0", "s") STOP("0") SAYS("1", "a") FINISH("end_turn") END),
                    "so it is");
}

static void thinking_is_kept_in_its_place_and_is_no_text(void **state)
{
    check_body(START THINKING_BLOCK("0") THINKING("0", "so ") THINKING("0", "\\\"this\\\"")
                   SIGNATURE("0", "sig==") STOP("0") SAYS("1", "Hi") SAYS("2", " you")
                       BLOCK("3", "\"type\":\"redacted_thinking\",\"data\":\"xyz\"") STOP("3")
                           CALL_BLOCK("4", "t", "ls", "{}") STOP("4") FINISH("tool_use") END,
               "<Hi you> ls(t){} tool_use {\"api\":\"anthropic\",\"content\":[{\"type\":"
               "\"thinking\",\"thinking\":\"so \\\"this\\\"\",\"signature\":\"sig==\"},{\"text\":2}"
               ",{\"text\":4},{\"type\":\"redacted_thinking\",\"data\":\"xyz\"},{\"call\":1}]}");
}

static void a_signature_may_come_first(void **state)
{
    check_body(START BLOCK("0", "\"type\":\"thinking\",\"thinking\":\"\"") SIGNATURE("0", "s")
                   THINKING("0", "so") STOP("0") SAYS("1", "a") FINISH("end_turn") END,
               "<a> end_turn {\"api\":\"anthropic\",\"content\":[{\"type\":\"thinking\","
               "\"thinking\":\"so\",\"signature\":\"s\"},{\"text\":1}]}");
}

static void a_signature_that_is_sent_again_counts_once(void **state)
{
    check_body(START BLOCK("0", "\"type\":\"thinking\",\"thinking\":\"so\",\"signature\":\"s\"")
                   SIGNATURE("0", "s") STOP("0") SAYS("1", "a") FINISH("end_turn") END,
               "<a> end_turn {\"api\":\"anthropic\",\"content\":[{\"type\":\"thinking\","
               "\"thinking\":\"so\",\"signature\":\"s\"},{\"text\":1}]}");
}

static void thinking_without_a_signature_is_not_kept(void **state)
{
    check_body(START THINKING_BLOCK("0") THINKING("0", "so") SAYS("1", "a") FINISH("max_tokens")
                   END,
               "<a> max_tokens cut");
}

/* --- usage -------------------------------------------------------------------------------------------- */

static void input_is_the_sum_of_its_three_kinds(void **state)
{
    const char *bodies[] = {
        MESSAGE("\"input_tokens\":10,\"cache_read_input_tokens\":200,"
                "\"cache_creation_input_tokens\":30,\"output_tokens\":1") FINISH("end_turn") END,
        START FINISH("end_turn") END,
        MESSAGE("\"input_tokens\":0,\"output_tokens\":0")
            EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
                                   "\"input_tokens\":12,\"cache_read_input_tokens\":null,"
                                   "\"output_tokens\":9}") END,
        MESSAGE("\"input_tokens\":-5,\"output_tokens\":9223372036854775807")
            EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"}") END,
    };
    const struct usage expected[] = {
        {240, 200, 30, 7, -1}, {10, -1, -1, 7, -1}, {12, -1, -1, 9, -1}, USAGE_NONE};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct decoded d;
        decode_pieces(&d, str_from(bodies[i]), 5, DECODER_CLOSED);
        assert_true(d.whole);
        assert_memory_equal(&d.reply.usage, &expected[i], sizeof expected[i]);
        check_str(d.reply.response_id, "msg_1");
        check_str(d.reply.model, "real");
        decoded_release(&d);
    }
}

static void a_failure_reports_its_input_and_no_output_that_is_only_a_beginning(void **state)
{
    struct decoded d;
    decode_pieces(&d, STR(START TEXT_BLOCK("0")), 1000, DECODER_BROKEN);
    assert_false(d.whole);
    assert_int_equal(d.failure.usage.input, 10);
    assert_int_equal(d.failure.usage.output, -1);
    decoded_release(&d);
}

/* --- documents and errors -------------------------------------------------------------------------------- */

static void a_plain_document_is_an_answer_too(void **state)
{
    check_body("{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":["
               "{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},"
               "{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":"
               "\"ls\",\"input\":{\"path\":\".\"}}],\"model\":\"real\",\"stop_reason\":"
               "\"tool_use\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}",
               "<Hi> ls(t1){\"path\":\".\"} tool_use {\"api\":\"anthropic\",\"content\":[{\"type\":"
               "\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},{\"text\":2},{\"call\":1}]}");
    check_body("{\"type\":\"other\"}", "retry: http://server/v1: the answer holds no content / ");
    check_body("{\"type\":\"message\",",
               "retry: http://server/v1: the answer is not complete JSON / ");
}

#define ERROR(type, words)                                                                         \
    EVENT("error", ",\"error\":{\"type\":\"" type "\",\"message\":\"" words "\"}")

static void an_error_in_the_stream_has_its_class(void **state)
{
    check_body(START TEXT_BLOCK("0") TEXT("0", "Hel") ERROR("overloaded_error", "Overloaded"),
               "retry: http://server/v1 answered with an error: Overloaded / Hel");
    check_body(START ERROR("api_error", "Internal server error"),
               "retry: http://server/v1 answered with an error: Internal server error / ");
    check_body(START ERROR("rate_limit_error", "slow"),
               "retry: http://server/v1 answered with an error: slow / ");
    check_body(START ERROR("invalid_request_error", "no"),
               "provider: http://server/v1 answered with an error: no / ");
    check_body(START ERROR("authentication_error", "bad " KEY),
               "provider: http://server/v1 answered with an error: bad *** / ");
    check_body(
        "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"big\"}}",
        "provider: http://server/v1 answered with an error: big / ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_joined_from_its_deltas),
        cmocka_unit_test(pings_may_come_anywhere),
        cmocka_unit_test(unknown_events_blocks_and_deltas_are_passed_over),
        cmocka_unit_test(nulls_are_allowed_everywhere),
        cmocka_unit_test(a_stop_reason_without_message_stop_is_an_end),
        cmocka_unit_test(a_stream_that_ends_before_both_ended_early),
        cmocka_unit_test(nothing_after_message_stop_counts),
        cmocka_unit_test(the_output_limit_cuts_a_reply),
        cmocka_unit_test(bad_bytes_are_mended),
        cmocka_unit_test(a_call_is_joined_from_pieces_that_start_empty),
        cmocka_unit_test(a_call_without_input_has_an_empty_object),
        cmocka_unit_test(input_may_stand_in_the_blocks_start),
        cmocka_unit_test(blocks_may_be_interleaved),
        cmocka_unit_test(arguments_are_repaired_or_handed_back_as_text),
        cmocka_unit_test(a_call_gets_an_id_and_a_stand_in_for_its_name),
        cmocka_unit_test(the_number_of_blocks_is_bounded),
        cmocka_unit_test(a_refusal_is_a_failure_with_its_words),
        cmocka_unit_test(a_paused_turn_is_a_failure),
        cmocka_unit_test(thinking_is_shown_as_it_comes),
        cmocka_unit_test(thinking_is_kept_in_its_place_and_is_no_text),
        cmocka_unit_test(a_signature_may_come_first),
        cmocka_unit_test(a_signature_that_is_sent_again_counts_once),
        cmocka_unit_test(thinking_without_a_signature_is_not_kept),
        cmocka_unit_test(input_is_the_sum_of_its_three_kinds),
        cmocka_unit_test(a_failure_reports_its_input_and_no_output_that_is_only_a_beginning),
        cmocka_unit_test(a_plain_document_is_an_answer_too),
        cmocka_unit_test(an_error_in_the_stream_has_its_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
