/* model/responses_decode on hand-written bodies: streams, items, documents, errors with HTTP 200. */
#include "decoding.h"

static void decoding_start(struct decoded *d, struct model_server server,
                           void (*delta)(void *user, struct str text))
{
    responses_decoder_init(&d->decoder.responses, server, delta, &d->deltas);
}

/* Events of a stream, as literals. */
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define RESPONSE(type, rest)                                                                       \
    EVENT("response." type, ",\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"model\":"  \
                            "\"real\"" rest "}")
#define START                                                                                      \
    RESPONSE("created", ",\"status\":\"in_progress\",\"error\":null,\"output\":[],\"usage\":null") \
    RESPONSE("in_progress", ",\"status\":\"in_progress\",\"error\":null,\"output\":[]")
#define USAGE                                                                                      \
    ",\"usage\":{\"input_tokens\":10,\"input_tokens_details\":{\"cached_tokens\":4},"              \
    "\"output_tokens\":7,\"output_tokens_details\":{\"reasoning_tokens\":3},\"total_tokens\":17}"
#define COMPLETED(output)                                                                          \
    RESPONSE("completed", ",\"status\":\"completed\",\"error\":null,\"incomplete_details\":null,"  \
                          "\"output\":[" output "]" USAGE)
#define END COMPLETED("")
#define INCOMPLETE(reason, output)                                                                 \
    RESPONSE("incomplete", ",\"status\":\"incomplete\",\"error\":null,\"incomplete_details\":{"    \
                           "\"reason\":\"" reason "\"},\"output\":[" output "]" USAGE)
#define ADDED(index, item)                                                                         \
    EVENT("response.output_item.added", ",\"output_index\":" index ",\"item\":" item)
#define DONE(index, item)                                                                          \
    EVENT("response.output_item.done", ",\"output_index\":" index ",\"item\":" item)
#define PART "{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}"
#define PART_ADDED(index)                                                                          \
    EVENT("response.content_part.added",                                                           \
          ",\"output_index\":" index ",\"content_index\":0,\"part\":" PART)
#define TEXT(index, text)                                                                          \
    EVENT("response.output_text.delta", ",\"item_id\":\"msg_1\",\"output_index\":" index           \
                                        ",\"content_index\":0,\"delta\":\"" text "\"")
#define TEXT_DONE(index, text)                                                                     \
    EVENT("response.output_text.done", ",\"item_id\":\"msg_1\",\"output_index\":" index            \
                                       ",\"content_index\":0,\"text\":\"" text "\"")
#define PART_DONE(index, text)                                                                     \
    EVENT("response.content_part.done",                                                            \
          ",\"output_index\":" index ",\"content_index\":0,\"part\":" SAID(text))
#define SAID(text) "{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[]}"
#define MESSAGE(content)                                                                           \
    "{\"type\":\"message\",\"id\":\"msg_1\",\"status\":\"completed\",\"role\":\"assistant\","      \
    "\"content\":[" content "]}"
#define CALL(id, call_id, name, arguments, status)                                                 \
    "{\"type\":\"function_call\",\"id\":\"" id "\",\"call_id\":\"" call_id "\",\"name\":\"" name   \
    "\",\"arguments\":\"" arguments "\",\"status\":\"" status "\"}"
#define BEGUN(id, call_id, name) CALL(id, call_id, name, "", "in_progress")
#define CALLED(id, call_id, name, arguments) CALL(id, call_id, name, arguments, "completed")
#define ARGUMENTS(index, id, text)                                                                 \
    EVENT("response.function_call_arguments.delta",                                                \
          ",\"item_id\":\"" id "\",\"output_index\":" index ",\"delta\":\"" text "\"")
#define ARGUMENTS_DONE(index, id, text)                                                            \
    EVENT("response.function_call_arguments.done",                                                 \
          ",\"item_id\":\"" id "\",\"output_index\":" index ",\"arguments\":\"" text "\"")
#define REASONING(id, sealed)                                                                      \
    "{\"type\":\"reasoning\",\"id\":\"" id "\",\"summary\":[{\"type\":\"summary_text\",\"text\":"  \
    "\"so\"}],\"encrypted_content\":\"" sealed "\"}"
#define BARE "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}"
#define EXTRAS(content) " {\"api\":\"responses\",\"host\":\"server\",\"content\":[" content "]}"
#define ECHO(id, sealed)                                                                           \
    "{\"type\":\"reasoning\",\"id\":\"" id "\",\"summary\":[{\"type\":\"summary_text\",\"text\":"  \
    "\"so\"}],\"encrypted_content\":\"" sealed "\"}"
#define EARLY "retry: http://server/v1: the stream ended early / "

/* --- text --------------------------------------------------------------------------------------------- */

static void text_is_joined_from_its_deltas_and_counts_once(void **state)
{
    check_body(START ADDED("0", MESSAGE("")) PART_ADDED("0") TEXT("0", "Hel")
                   TEXT("0", "lo \\u00e4") TEXT_DONE("0", "Hello \\u00e4")
                       PART_DONE("0", "Hello \\u00e4") DONE("0", MESSAGE(SAID("Hello \\u00e4")))
                           COMPLETED(MESSAGE(SAID("Hello \\u00e4"))),
               "<Hello \xC3\xA4> completed");
}

static void without_deltas_each_later_form_brings_the_text(void **state)
{
    check_body(START TEXT_DONE("0", "Hi") PART_DONE("0", "Hi") DONE("0", MESSAGE(SAID("Hi"))) END,
               "<Hi> completed");
    check_body(START PART_DONE("0", "Hi") DONE("0", MESSAGE(SAID("Hi"))) END, "<Hi> completed");
    check_body(START ADDED("0", MESSAGE("")) DONE("0", MESSAGE(SAID("Hi") "," SAID("Hi"))) END,
               "<HiHi> completed");
    check_body(START COMPLETED(MESSAGE(SAID("a") "," SAID("ab"))), "<aab> completed");
    check_body(COMPLETED(MESSAGE(SAID("a")) "," MESSAGE(SAID("b"))), "<ab> completed");
}

static void a_text_is_completed_where_its_deltas_stop(void **state)
{
    check_body(START TEXT("0", "Hel") TEXT_DONE("0", "Hello") END, "<Hello> completed");
    check_body(START TEXT("0", "Hel") COMPLETED(MESSAGE(SAID("Hello"))), "<Hello> completed");
}

static void what_was_shown_stays_when_the_end_has_other_words(void **state)
{
    check_body(START TEXT("0", "Hel") TEXT_DONE("0", "Bye") COMPLETED(MESSAGE(SAID("Bye"))),
               "<Hel> completed");
}

static void a_text_counts_once_however_its_item_is_numbered(void **state)
{
    check_body(START TEXT("0", "Hi") TEXT_DONE("1", "Hi") PART_DONE("1", "Hi")
                   DONE("1", MESSAGE(SAID("Hi"))) COMPLETED(BARE "," BARE "," MESSAGE(SAID("Hi"))),
               "<Hi> completed");
}

static void messages_follow_each_other(void **state)
{
    check_body(START TEXT("0", "a") TEXT_DONE("0", "a") DONE("0", MESSAGE(SAID("a"))) TEXT("1", "b")
                   TEXT_DONE("1", "b") DONE("2", MESSAGE(SAID("a")))
                       COMPLETED(MESSAGE(SAID("a")) "," MESSAGE(SAID("b")) "," MESSAGE(SAID("a"))),
               "<aba> completed");
}

static void a_refusal_is_a_failure_with_its_words(void **state)
{
    check_body(START EVENT("response.refusal.delta", ",\"output_index\":0,\"content_index\":0,"
                                                     "\"delta\":\"I can\"")
                   EVENT("response.refusal.delta",
                         ",\"output_index\":0,\"content_index\":0,\"delta\":\"not\"")
                       EVENT("response.refusal.done", ",\"output_index\":0,\"content_index\":0,"
                                                      "\"refusal\":\"I cannot\"")
                           COMPLETED(MESSAGE("{\"type\":\"refusal\",\"refusal\":\"I cannot\"}")),
               "provider: http://server/v1: the model refused to answer: I cannot / I cannot");
    check_body(COMPLETED(MESSAGE("{\"type\":\"refusal\",\"refusal\":\"no\"}")),
               "provider: http://server/v1: the model refused to answer: no / no");
}

static void summaries_of_reasoning_are_shown(void **state)
{
    check_reasoning(
        STR(START EVENT("response.reasoning_summary_text.delta", ",\"delta\":\"I look\"")
                EVENT("response.reasoning_summary_text.delta", ",\"delta\":\" first.\"")
                    EVENT("response.reasoning_summary_text.done", ",\"text\":\"I look first.\"")
                        EVENT("response.reasoning_text.delta", ",\"delta\":\"raw\"") TEXT("1", "a")
                            COMPLETED("")),
        "I look first.\nraw");
}

static void unknown_events_items_and_parts_are_passed_over(void **state)
{
    check_body(START EVENT("response.news", ",\"x\":1") EVENT("keepalive", "")
                   ADDED("0", "{\"type\":\"web_search_call\",\"id\":\"ws_1\"}")
                       EVENT("response.web_search_call.searching", ",\"output_index\":0")
                           EVENT("response.reasoning_text.delta", ",\"delta\":\"hidden\"")
                               EVENT("response.reasoning_summary_text.delta",
                                     ",\"output_index\":0,\"summary_index\":0,\"delta\":\"so\"")
                                   EVENT("response.content_part.done",
                                         ",\"part\":{\"type\":\"reasoning_text\",\"text\":\"x\"}")
                                       DONE("1", MESSAGE("{\"type\":\"audio\",\"text\":\"x\"}"))
                                           TEXT("1", "a") END,
               "<a> completed");
}

static void nulls_are_allowed_everywhere(void **state)
{
    check_body(EVENT("response.created", ",\"response\":null") ADDED("null", "null")
                   DONE("0", "{\"type\":\"message\",\"content\":null}") DONE("0", "[1]")
                       EVENT("response.output_text.delta", ",\"delta\":null")
                           EVENT("response.content_part.done", ",\"part\":null")
                               EVENT("response.output_text.done", "") TEXT("0", "a")
                                   EVENT("response.completed", ",\"response\":null"),
               "<a> completed");
}

static void bad_bytes_are_mended(void **state)
{
    check_body(START TEXT("0", "a\xFF\\ud83d") TEXT("0", "\\ude00") TEXT_DONE("0", "a\xFF") END,
               "<a" BAD "\xF0\x9F\x98\x80> completed");
}

/* --- calls -------------------------------------------------------------------------------------------- */

static void a_call_is_joined_from_its_deltas_and_runs_once(void **state)
{
    check_body(START ADDED("0", BEGUN("fc_1", "call_1", "read"))
                   ARGUMENTS("0", "fc_1", "{\\\"path\\\":") ARGUMENTS("0", "fc_1", "\\\"a\\\"}")
                       ARGUMENTS_DONE("0", "fc_1", "{\\\"path\\\":\\\"a\\\"}") DONE(
                           "0", CALLED("fc_1", "call_1", "read", "{\\\"path\\\":\\\"a\\\"}"))
                           COMPLETED(CALLED("fc_1", "call_1", "read", "{\\\"path\\\":\\\"a\\\"}")),
               "<> read(call_1){\"path\":\"a\"} completed");
}

static void without_deltas_each_later_form_brings_the_call(void **state)
{
    check_body(START ADDED("0", BEGUN("f", "c", "ls")) ARGUMENTS_DONE("0", "f", "{\\\"n\\\":1}")
                   END,
               "<> ls(c){\"n\":1} completed");
    check_body(START DONE("0", CALLED("f", "c", "ls", "{\\\"n\\\":1}")) END,
               "<> ls(c){\"n\":1} completed");
    check_body(START COMPLETED(CALLED("f", "c", "ls", "{\\\"n\\\":1}")),
               "<> ls(c){\"n\":1} completed");
    check_body(START ADDED("0", CALLED("f", "c", "ls", "{\\\"n\\\":1}")) END,
               "<> ls(c){\"n\":1} completed");
}

static void an_end_without_arguments_leaves_those_that_came(void **state)
{
    check_body(START ADDED("0", CALL("f", "c", "ls", "{}", "in_progress"))
                   ARGUMENTS("0", "f", "{\\\"n\\\":1}") ARGUMENTS_DONE("0", "f", "")
                       DONE("0", CALLED("f", "c", "ls", "")) END,
               "<> ls(c){\"n\":1} completed");
}

static void arguments_may_be_an_object_or_need_repair(void **state)
{
    check_body(START DONE("0", "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"ls\","
                               "\"arguments\":{\"n\":1}}")
                   DONE("1", CALLED("f", "b", "ls", "{'n': 2, }"))
                       DONE("2", CALLED("g", "c", "ls", "{\\\"n\\\":"))
                           DONE("3", CALLED("h", "d", "ls", "")) END,
               "<> ls(a){\"n\":1} ls(b){\"n\":2} ls(c){\"$unparsed\":\"{\\\"n\\\":\"} ls(d){} "
               "completed");
}

static void calls_may_be_interleaved(void **state)
{
    check_body(START ADDED("0", BEGUN("f0", "c0", "one")) ADDED("1", BEGUN("f1", "c1", "two"))
                   ARGUMENTS("1", "f1", "{\\\"n\\\":") ARGUMENTS("0", "f0", "{\\\"n\\\":")
                       ARGUMENTS("1", "f1", "2}") ARGUMENTS("0", "f0", "1}") END,
               "<> one(c0){\"n\":1} two(c1){\"n\":2} completed");
}

static void ids_of_items_may_change_with_each_event(void **state)
{
    check_body(START ADDED("0", BEGUN("x1", "c0", "one")) ARGUMENTS("0", "x2", "{\\\"n\\\":1}")
                   DONE("0", CALLED("x3", "c0", "one", "{\\\"n\\\":1}"))
                       ADDED("1", BEGUN("x4", "c1", "one")) ARGUMENTS("1", "x5", "{\\\"n\\\":2}")
                           DONE("1", CALLED("x6", "c1", "one", "{\\\"n\\\":2}"))
                               COMPLETED(CALLED("x7", "z0", "one", "{\\\"n\\\":1}") "," CALLED(
                                   "x8", "z1", "one", "{\\\"n\\\":2}")),
               "<> one(c0){\"n\":1} one(c1){\"n\":2} completed");
}

#define FIRST CALLED("f0", "c0", "one", "{\\\"n\\\":1}")
#define SECOND CALLED("f1", "c1", "two", "{\\\"n\\\":2}")
#define ALIKE                                                                                      \
    START ADDED("0", BEGUN("f0", "c0", "one")) ARGUMENTS("0", "f0", "{\\\"n\\\":1}")               \
        DONE("0", FIRST) ADDED("0", BEGUN("f1", "c1", "two"))                                      \
            ARGUMENTS("0", "f1", "{\\\"n\\\":2}") DONE("0", SECOND)

static void a_server_may_number_every_item_alike(void **state)
{
    check_body(ALIKE END, "<> one(c0){\"n\":1} two(c1){\"n\":2} completed");
    check_body(ALIKE COMPLETED(FIRST "," SECOND), "<> one(c0){\"n\":1} two(c1){\"n\":2} completed");
}

static void a_call_whose_end_is_numbered_differently_runs_once(void **state)
{
    check_body(START ADDED("0", BEGUN("f", "c", "one")) ARGUMENTS("0", "f", "{}")
                   DONE("3", CALLED("f", "c", "one", "{}"))
                       COMPLETED(BARE "," CALLED("f", "c", "one", "{}")),
               "<> one(c){} completed");
}

static void two_calls_may_have_one_id(void **state)
{
    check_body(START ADDED("0", BEGUN("f", "c", "one")) DONE("0", CALLED("f", "c", "one", "{}"))
                   ADDED("1", BEGUN("f", "c", "two")) DONE("1", CALLED("f", "c", "two", "{}")) END,
               "<> one(c){} two(call_1){} completed");
}

static void a_call_that_only_the_end_knows_is_added(void **state)
{
    check_body(START ADDED("1", BEGUN("f1", "c1", "two")) ARGUMENTS_DONE("1", "f1", "{}")
                   COMPLETED(CALLED("f0", "c0", "one", "{}") "," CALLED("f1", "c1", "two", "{}")),
               "<> two(c1){} one(c0){} completed");
}

static void arguments_may_come_before_their_item(void **state)
{
    check_body(START ARGUMENTS("0", "f", "{\\\"n\\\":1}")
                   DONE("0", CALLED("f", "c", "ls", "{\\\"n\\\":1}")) END,
               "<> ls(c){\"n\":1} completed");
    check_body(START ARGUMENTS("0", "f", "{}") END, "<> (no name)(call_0){} completed");
}

static void decode_items(struct decoded *d, const char *item, size_t count)
{
    struct buf body;
    buf_init(&body, 10000000);
    buf_text(&body, START);
    for (size_t i = 0; i < count; i++)
        buf_printf(&body,
                   "data: {\"type\":\"response.output_item.done\",\"output_index\":%zu,"
                   "\"item\":%s}\n\n",
                   i, item);
    buf_text(&body, END);
    decode_pieces(d, buf_view(&body), body.n, DECODER_CLOSED);
    buf_release(&body);
}

static void the_number_of_items_is_bounded(void **state)
{
    struct decoded d;
    decode_items(&d, CALLED("", "", "x", "{}"), CALLS_IN_BLOCKS_MAX);
    assert_true(d.whole);
    assert_int_equal(d.reply.call_count, CALLS_IN_BLOCKS_MAX);
    decoded_release(&d);
    decode_items(&d, CALLED("", "", "x", "{}"), CALLS_IN_BLOCKS_MAX + 1);
    assert_false(d.whole);
    check_str(d.failure.message, "http://server/v1: the answer holds more than 128 tool calls");
    decoded_release(&d);
    decode_items(&d, BARE, RESPONSES_ITEMS_MAX + 1);
    assert_false(d.whole);
    check_str(d.failure.message, "http://server/v1: the answer holds more than 1024 items");
    decoded_release(&d);
}

/* --- the end ------------------------------------------------------------------------------------------ */

static void a_stream_without_an_end_ended_early(void **state)
{
    check_body(START TEXT("0", "Hel"), EARLY "Hel");
    check_body(START TEXT("0", "Hi") TEXT_DONE("0", "Hi") DONE("0", MESSAGE(SAID("Hi"))),
               EARLY "Hi");
    check_body(START, EARLY);
    check_body(EVENT("keepalive", ""), EARLY);
    check_body(START "data: [DONE]\n\n", "retry: http://server/v1: the stream held no answer / ");
    check_body("", "retry: http://server/v1: the answer is empty / ");
    check_closing(STR(START TEXT("0", "Hel")), DECODER_BROKEN, EARLY "Hel");
}

static void done_ends_a_text_but_not_a_call(void **state)
{
    check_body(START TEXT("0", "Hi") "data: [DONE]\n\n", "<Hi> ");
    check_body(START DONE("0", CALLED("f", "c", "ls", "{}")) "data: [DONE]\n\n", "<> ls(c){} ");
    check_body(START ADDED("0", BEGUN("f", "c", "ls")) "data: [DONE]\n\n",
               "retry: http://server/v1: the stream ended inside a tool call / ");
}

static void nothing_after_the_end_counts(void **state)
{
    check_body(START TEXT("0", "a") END TEXT("0", "b") "data: {{{\n\n", "<a> completed");
    check_closing(STR(START TEXT("0", "a") END), DECODER_BROKEN, "<a> completed");
}

static void the_output_limit_cuts_a_reply(void **state)
{
    check_body(START TEXT("0", "a") INCOMPLETE("max_output_tokens", MESSAGE(SAID("a"))),
               "<a> max_output_tokens cut");
    check_body(START TEXT("0", "a") RESPONSE("incomplete", ",\"status\":\"incomplete\""),
               "<a> max_output_tokens cut");
}

static void a_call_that_was_cut_never_runs(void **state)
{
    const char *bodies[] = {
        START ADDED("0", BEGUN("f", "c", "rm")) ARGUMENTS("0", "f", "{\\\"p\\\":\\\"/")
            INCOMPLETE("max_output_tokens", ""),
        /* whole JSON by chance */
        START ADDED("0", BEGUN("f", "c", "rm")) ARGUMENTS("0", "f", "{}")
            INCOMPLETE("max_output_tokens", ""),
        START ADDED("0", BEGUN("f", "c", "rm")) INCOMPLETE("max_output_tokens", ""),
        START ADDED("0", BEGUN("f", "c", "rm")) ARGUMENTS_DONE("0", "f", "{}")
            DONE("0", CALL("f", "c", "rm", "{}", "incomplete")) INCOMPLETE("max_output_tokens", ""),
        START INCOMPLETE("max_output_tokens", CALL("f", "c", "rm", "{}", "incomplete")),
        /* what the response is called does not matter */
        START DONE("0", CALL("f", "c", "rm", "{}", "incomplete")) END,
        START ADDED("0", BEGUN("f", "c", "rm")) ARGUMENTS("0", "f", "{}")
            RESPONSE("completed", ",\"status\":\"completed\",\"incomplete_details\":{\"reason\":"
                                  "\"max_output_tokens\"}"),
        "{\"object\":\"response\",\"status\":\"incomplete\",\"output\":[" CALL("f", "c", "rm", "{}",
                                                                               "in_progress") "]}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        check_closing(str_from(bodies[i]), DECODER_CLOSED, "<> max_output_tokens cut");
}

static void calls_before_the_cut_one_are_kept(void **state)
{
    check_body(START DONE("0", CALLED("f", "a", "ls", "{}")) ADDED("1", BEGUN("g", "b", "rm"))
                   ARGUMENTS("1", "g", "{}") INCOMPLETE("max_output_tokens", ""),
               "<> ls(a){} max_output_tokens cut");
}

static void a_content_filter_is_a_failure_and_no_call_runs(void **state)
{
    check_body(START TEXT("0", "a") INCOMPLETE("content_filter", ""),
               "provider: http://server/v1: the provider's content filter stopped the answer: put "
               "the task "
               "in other words, or use another model / a");
    check_body(START DONE("0", CALLED("f", "a", "ls", "{}")) INCOMPLETE("content_filter", ""),
               "provider: http://server/v1: the provider's content filter stopped the answer: put "
               "the task in other words, or use another model / ");
}

/* --- reasoning ---------------------------------------------------------------------------------------- */

static void sealed_reasoning_is_kept_in_its_place_and_is_no_text(void **state)
{
    check_body(START ADDED("0", REASONING("rs_0", "begins")) DONE("0", REASONING("rs_1", "whole"))
                   TEXT("1", "Hi") TEXT_DONE("1", "Hi") TEXT("2", " you")
                       DONE("3", REASONING("rs_2", "more")) DONE("4", CALLED("f", "c", "ls", "{}"))
                           END,
               "<Hi you> ls(c){} completed" EXTRAS(
                   ECHO("rs_1", "whole") ",{\"text\":2},{\"text\":4}"
                                         "," ECHO("rs_2", "more") ",{\"call\":1}"));
}

static void reasoning_that_is_not_sealed_is_not_kept(void **state)
{
    check_body(START DONE("0", BARE)
                   DONE("1", "{\"type\":\"reasoning\",\"encrypted_content\":null,\"summary\":[]}")
                       TEXT("2", "a") END,
               "<a> completed");
}

static void the_end_may_seal_what_the_stream_left_open(void **state)
{
    check_body(START ADDED("0", BARE) DONE("1", CALLED("f", "c", "ls", "{}"))
                   COMPLETED(REASONING("rs_1", "s") "," CALLED("f", "c", "ls", "{}")),
               "<> ls(c){} completed" EXTRAS(ECHO("rs_1", "s") ",{\"call\":1}"));
}

static void an_end_that_is_not_sealed_leaves_what_was(void **state)
{
    check_body(START DONE("0", REASONING("rs_1", "s")) TEXT("1", "a")
                   COMPLETED(BARE "," MESSAGE(SAID("a"))),
               "<a> completed" EXTRAS(ECHO("rs_1", "s") ",{\"text\":1}"));
}

static void calls_that_were_cut_have_no_mark(void **state)
{
    check_body(START DONE("0", REASONING("rs_1", "s")) TEXT("1", "a")
                   ADDED("2", BEGUN("f", "c", "rm")) INCOMPLETE("max_output_tokens", ""),
               "<a> max_output_tokens cut" EXTRAS(ECHO("rs_1", "s") ",{\"text\":1}"));
}

/* --- usage -------------------------------------------------------------------------------------------- */

static void usage_is_reported_with_its_details(void **state)
{
    const char *bodies[] = {
        START TEXT("0", "a") END,
        START RESPONSE("completed", ",\"usage\":{\"input_tokens\":-5,\"output_tokens\":"
                                    "9223372036854775807,\"input_tokens_details\":null}"),
        START RESPONSE("completed", ",\"usage\":null"),
        "{\"id\":\"resp_1\",\"model\":\"real\",\"object\":\"response\",\"output\":[]" USAGE "}",
    };
    const struct usage expected[] = {{10, 4, -1, 7, 3}, USAGE_NONE, USAGE_NONE, {10, 4, -1, 7, 3}};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct decoded d;
        decode_pieces(&d, str_from(bodies[i]), 5, DECODER_CLOSED);
        assert_true(d.whole);
        assert_memory_equal(&d.reply.usage, &expected[i], sizeof expected[i]);
        check_str(d.reply.response_id, "resp_1");
        check_str(d.reply.model, "real");
        decoded_release(&d);
    }
}

static void a_failure_has_the_usage_that_was_reported(void **state)
{
    struct decoded d;
    decode_pieces(&d, STR(START RESPONSE("failed", ",\"error\":{\"code\":\"server_error\"}" USAGE)),
                  7, DECODER_CLOSED);
    assert_false(d.whole);
    assert_int_equal(d.failure.usage.input, 10);
    assert_int_equal(d.failure.usage.output, 7);
    decoded_release(&d);
}

/* --- documents and errors -------------------------------------------------------------------------------- */

static void a_plain_document_is_an_answer_too(void **state)
{
    check_body("{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"error\":null,"
               "\"incomplete_details\":null,\"output\":[" REASONING("rs_1", "s") "," MESSAGE(
                   SAID("Hi")) "," CALLED("f", "c", "ls", "{\\\"path\\\":\\\".\\\"}") "]" USAGE "}",
               "<Hi> ls(c){\"path\":\".\"} completed" EXTRAS(
                   ECHO("rs_1", "s") ",{\"text\":2},{\"call\":1}"));
    check_body("{\"object\":\"response\",\"output\":[" MESSAGE(SAID("a")) "]}", "<a> completed");
    check_body("{\"object\":\"response\",\"status\":\"queued\",\"output\":[]}",
               "retry: http://server/v1: the answer holds no output / ");
    check_body("{\"object\":\"other\"}", "retry: http://server/v1: the answer holds no output / ");
    check_body("{\"object\":\"response\",",
               "retry: http://server/v1: the answer is not complete JSON / ");
}

static void an_error_body_with_a_good_status_is_a_failure(void **state)
{
    check_body("{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}",
               "provider: http://server/v1 answered with an error: no / ");
    check_body(
        "{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\","
        "\"message\":\"sorry\"},\"output\":[],\"usage\":null}",
        "retry: http://server/v1 answered with an error: sorry / ");
}

static void a_failed_response_has_its_class(void **state)
{
    check_body(START TEXT("0", "Hel")
                   RESPONSE("failed", ",\"status\":\"failed\",\"error\":{\"code\":\"server_error\","
                                      "\"message\":\"Try again " KEY ".\"}"),
               "retry: http://server/v1: the answer failed: Try again *** / Hel");
    check_body(START RESPONSE("failed", ",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":"
                                        "\"slow\"}"),
               "retry: http://server/v1: the answer failed: slow / ");
    check_body(START RESPONSE("failed", ",\"error\":{\"code\":\"invalid_prompt\",\"message\":"
                                        "\"no\"}"),
               "provider: http://server/v1: the answer failed: no / ");
    check_body(START RESPONSE("failed", ",\"error\":null"),
               "retry: http://server/v1: the answer failed: the server does not say why / ");
    check_body(START RESPONSE("completed", ",\"status\":\"failed\",\"error\":{\"message\":\"x\"}"),
               "retry: http://server/v1: the answer failed: x / ");
    check_body(
        START RESPONSE("completed", ",\"status\":\"completed\",\"error\":{\"message\":\"x\"}"),
        "retry: http://server/v1: the answer failed: x / ");
    check_body(START RESPONSE("completed", ",\"status\":\"cancelled\",\"error\":null"),
               "retry: http://server/v1: the answer failed: the server does not say why / ");
}

static void a_failure_for_too_much_load_says_so(void **state)
{
    struct decoded d;
    decode_pieces(&d,
                  STR(START RESPONSE("failed", ",\"error\":{\"code\":\"rate_limit_exceeded\"}")), 7,
                  DECODER_CLOSED);
    assert_false(d.whole);
    assert_int_equal(d.failure.load_status, 429);
    decoded_release(&d);
}

static void an_error_in_the_stream_has_its_class(void **state)
{
    check_body(START TEXT("0", "Hel") EVENT("error", ",\"code\":\"server_error\",\"message\":"
                                                     "\"Overloaded\",\"param\":null"),
               "retry: http://server/v1 answered with an error: Overloaded / Hel");
    check_body("data: {\"type\":\"error\",\"code\":\"insufficient_quota\"}\n\n",
               "provider: http://server/v1: the answer failed: the server does not say why / ");
}

static void hostile_shapes_do_no_harm(void **state)
{
    check_body(START DONE("-9", CALLED("f", "c", "ls", "{}"))
                   DONE("9223372036854775807", CALLED("g", "d", "ls", "{}"))
                       DONE("1.5", "{\"type\":\"function_call\",\"call_id\":7,\"name\":\"x\"}")
                           TEXT("\"0\"", "a") EVENT("response.completed", ",\"response\":[]"),
               "<a> ls(c){} ls(d){} x(call_2){} completed");
    check_body("data: {\"type\":[\"response.completed\"],\"response\":{}}\n\n", EARLY);
    check_body("data: [1]\n\n",
               "provider: http://server/v1: the stream held no answer, but this: [1] / ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_joined_from_its_deltas_and_counts_once),
        cmocka_unit_test(without_deltas_each_later_form_brings_the_text),
        cmocka_unit_test(a_text_is_completed_where_its_deltas_stop),
        cmocka_unit_test(what_was_shown_stays_when_the_end_has_other_words),
        cmocka_unit_test(a_text_counts_once_however_its_item_is_numbered),
        cmocka_unit_test(messages_follow_each_other),
        cmocka_unit_test(a_refusal_is_a_failure_with_its_words),
        cmocka_unit_test(summaries_of_reasoning_are_shown),
        cmocka_unit_test(unknown_events_items_and_parts_are_passed_over),
        cmocka_unit_test(nulls_are_allowed_everywhere),
        cmocka_unit_test(bad_bytes_are_mended),
        cmocka_unit_test(a_call_is_joined_from_its_deltas_and_runs_once),
        cmocka_unit_test(without_deltas_each_later_form_brings_the_call),
        cmocka_unit_test(an_end_without_arguments_leaves_those_that_came),
        cmocka_unit_test(arguments_may_be_an_object_or_need_repair),
        cmocka_unit_test(calls_may_be_interleaved),
        cmocka_unit_test(ids_of_items_may_change_with_each_event),
        cmocka_unit_test(a_server_may_number_every_item_alike),
        cmocka_unit_test(a_call_whose_end_is_numbered_differently_runs_once),
        cmocka_unit_test(two_calls_may_have_one_id),
        cmocka_unit_test(a_call_that_only_the_end_knows_is_added),
        cmocka_unit_test(arguments_may_come_before_their_item),
        cmocka_unit_test(the_number_of_items_is_bounded),
        cmocka_unit_test(a_stream_without_an_end_ended_early),
        cmocka_unit_test(done_ends_a_text_but_not_a_call),
        cmocka_unit_test(nothing_after_the_end_counts),
        cmocka_unit_test(the_output_limit_cuts_a_reply),
        cmocka_unit_test(a_call_that_was_cut_never_runs),
        cmocka_unit_test(calls_before_the_cut_one_are_kept),
        cmocka_unit_test(a_content_filter_is_a_failure_and_no_call_runs),
        cmocka_unit_test(sealed_reasoning_is_kept_in_its_place_and_is_no_text),
        cmocka_unit_test(reasoning_that_is_not_sealed_is_not_kept),
        cmocka_unit_test(the_end_may_seal_what_the_stream_left_open),
        cmocka_unit_test(an_end_that_is_not_sealed_leaves_what_was),
        cmocka_unit_test(calls_that_were_cut_have_no_mark),
        cmocka_unit_test(usage_is_reported_with_its_details),
        cmocka_unit_test(a_failure_has_the_usage_that_was_reported),
        cmocka_unit_test(a_plain_document_is_an_answer_too),
        cmocka_unit_test(an_error_body_with_a_good_status_is_a_failure),
        cmocka_unit_test(a_failed_response_has_its_class),
        cmocka_unit_test(a_failure_for_too_much_load_says_so),
        cmocka_unit_test(an_error_in_the_stream_has_its_class),
        cmocka_unit_test(hostile_shapes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
