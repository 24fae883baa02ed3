/* model/openai_extras: what a reply brings is kept, and comes back as it came with the messages that call tools. */
#include "model/openai_extras.h"

#include "decoding.h"
#include "model/anthropic_render.h"
#include "model/openai_render.h"

static void decoding_start(struct decoded *d, struct model_server server,
                           void (*delta)(void *user, struct str text))
{
    openai_decoder_init(&d->decoder.openai, server, delta, &d->deltas);
}

#define DELTA(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define CALL(extra)                                                                                \
    DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":"  \
          "\"{}\"}" extra "}]")

static void reasoning_is_joined_under_its_name(void **state)
{
    check_body(
        DELTA("\"reasoning_content\":\"I th\"") DELTA("\"reasoning_content\":\"ink\\n\"")
            DELTA("\"reasoning_content\":null,\"content\":\"yes\"") FINISH,
        "<yes> stop {\"api\":\"openai\",\"message\":{\"reasoning_content\":\"I think\\n\"}}");
    check_body(DELTA("\"reasoning\":\"a\"") DELTA("\"reasoning\":\"b\"") FINISH,
               "<> stop {\"api\":\"openai\",\"message\":{\"reasoning\":\"ab\"}}");
    check_body("{\"choices\":[{\"message\":{\"content\":\"yes\",\"reasoning_content\":\"hm\"}}]}",
               "<yes>  {\"api\":\"openai\",\"message\":{\"reasoning_content\":\"hm\"}}");
    check_body(DELTA("\"content\":\"a\",\"reasoning_content\":\"\"") FINISH, "<a> stop");
}

static void a_character_cut_in_half_is_whole_again_in_reasoning_too(void **state)
{
    check_body(
        DELTA("\"reasoning_content\":\"\\ud83d\"") DELTA("\"reasoning_content\":\"\\ude00\"")
            FINISH,
        "<> stop {\"api\":\"openai\",\"message\":{\"reasoning_content\":\"\xF0\x9F\x98\x80\"}}");
}

#define DETAIL(members) DELTA("\"reasoning_details\":[{" members "}]")
#define DETAILS(entries)                                                                           \
    "<> stop {\"api\":\"openai\",\"message\":{\"reasoning_details\":[" entries "]}}"

static void details_stay_as_they_came(void **state)
{
    check_body(
        DELTA("\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"zz\","
              "\"id\":\"e1\",\"index\":0,\"more\":{\"a\":[1,null]}},{\"type\":"
              "\"reasoning.encrypted\",\"data\":\"yy\",\"index\":0}]") FINISH,
        DETAILS("{\"type\":\"reasoning.encrypted\",\"data\":\"zz\",\"id\":\"e1\",\"index\":0,"
                "\"more\":{\"a\":[1,null]}},{\"type\":\"reasoning.encrypted\",\"data\":\"yy\","
                "\"index\":0}"));
}

static void pieces_of_a_detail_are_joined(void **state)
{
    check_body(
        DETAIL("\"type\":\"reasoning.text\",\"text\":\"Let\",\"signature\":null,\"index\":0")
            DETAIL("\"type\":\"reasoning.text\",\"text\":\" me\",\"index\":0") DETAIL(
                "\"type\":\"reasoning.text\",\"signature\":\"sig\",\"format\":\"f\",\"index\":0")
                DETAIL("\"type\":\"reasoning.text\",\"text\":\"next\",\"index\":1")
                    DETAIL("\"type\":\"reasoning.summary\",\"summary\":\"s\",\"index\":1") FINISH,
        DETAILS(
            "{\"type\":\"reasoning.text\",\"text\":\"Let me\",\"signature\":\"sig\",\"index\":0,"
            "\"format\":\"f\"},{\"type\":\"reasoning.text\",\"text\":\"next\",\"index\":1},"
            "{\"type\":\"reasoning.summary\",\"summary\":\"s\",\"index\":1}"));
}

static void entries_with_other_ids_or_many_members_stay_apart(void **state)
{
    check_body(DETAIL("\"type\":\"t\",\"text\":\"a\",\"id\":\"1\"")
                   DETAIL("\"type\":\"t\",\"text\":\"b\",\"id\":\"2\"") FINISH,
               DETAILS("{\"type\":\"t\",\"text\":\"a\",\"id\":\"1\"},"
                       "{\"type\":\"t\",\"text\":\"b\",\"id\":\"2\"}"));
#define MANY                                                                                       \
    "\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,"     \
    "\"l\":1,"                                                                                     \
    "\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1"
    check_body(DETAIL(MANY) DETAIL("\"type\":\"t\"") FINISH,
               DETAILS("{" MANY "},{\"type\":\"t\"}"));
}

static void what_comes_with_a_call_is_kept_with_it(void **state)
{
    check_body(CALL("")
                   DELTA("\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"y\"},"
                         "\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}}]") FINISH,
               "<> x(a){} y(b){} stop {\"api\":\"openai\",\"calls\":[null,{\"google\":"
               "{\"thought_signature\":\"s\"}}]}");
    check_body(CALL("") DELTA("\"tool_calls\":[{\"index\":0,\"extra_content\":{\"late\":1}}]")
                   FINISH,
               "<> x(a){} stop {\"api\":\"openai\",\"calls\":[{\"late\":1}]}");
    check_body(CALL(",\"extra_content\":null") FINISH, "<> x(a){} stop");
}

static void extras_are_bounded_and_never_kept_in_part(void **state)
{
    struct decoded d;
    struct buf body;
    char piece[10001];
    memset(piece, 'x', 10000);
    piece[10000] = '\0';
    buf_init(&body, (size_t)64 << 20);
    for (size_t i = 0; i < OPENAI_EXTRAS_MAX / 10000 + 1; i++)
        buf_printf(&body, DELTA("\"reasoning_content\":\"%s\""), piece);
    buf_text(&body, CALL("") FINISH);
    decode_pieces(&d, buf_view(&body), 100000, DECODER_CLOSED);
    assert_true(d.whole);
    assert_int_equal(d.reply.call_count, 1);
    assert_null(d.reply.extras.p);
    decoded_release(&d);
    buf_release(&body);
}

/* --- back again --------------------------------------------------------------------------------------- */

#define EXTRAS                                                                                     \
    "{\"api\":\"openai\",\"message\":{\"reasoning_content\":\"h\\n\",\"reasoning\":\"r\","         \
    "\"reasoning_details\":[{\"a\":1}]},\"calls\":[null,{\"google\":{\"s\":\"x\"}}]}"

static void check_render(const struct message *message, const char *expected)
{
    struct buf out;
    buf_init(&out, 100000);
    openai_render_group(&(struct message_group){message, 1, STR("p")}, &out);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

static struct tool_call calls[] = {{STR("c1_0"), STR("x"), STR("{}")},
                                   {STR("c2_0"), STR("y"), STR("{}")}};

#define RENDERED_CALL(id, name, extra)                                                             \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"{}\"}" extra "}"

#define SIGNED(value) ",\"extra_content\":{\"google\":{" value "}}"
#define CALLING(calls) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]"
#define FIRST RENDERED_CALL("000001000", "x", "")
#define SECOND RENDERED_CALL("000002000", "y", SIGNED("\"s\":\"x\""))

static void a_message_with_calls_brings_everything_back(void **state)
{
    const struct message message = {
        .role = MESSAGE_ASSISTANT, .calls = calls, .call_count = 2, .extras = STR(EXTRAS)};
    check_render(&message, CALLING(FIRST "," SECOND) ",\"reasoning_content\":\"h\\n\","
                                                     "\"reasoning\":\"r\","
                                                     "\"reasoning_details\":[{\"a\":1}]}");
}

static void a_message_without_calls_brings_nothing_back(void **state)
{
    check_render(
        &(struct message){.role = MESSAGE_ASSISTANT, .text = STR("done"), .extras = STR(EXTRAS)},
        "{\"role\":\"assistant\",\"content\":\"done\"}");
}

static void extras_of_another_api_or_shape_are_passed_over(void **state)
{
    static const char *const others[] = {
        "{\"api\":\"anthropic\",\"message\":{\"reasoning_content\":\"h\"},\"calls\":[{\"a\":1}]}",
        "{\"api\":\"openai\",\"message\":{\"reasoning\":7,\"role\":\"user\"},\"calls\":[7]}",
        "{\"api\":\"openai\",\"message\":[],\"calls\":{}}",
        "[]",
        "not JSON",
    };
    struct message message = {.role = MESSAGE_ASSISTANT, .calls = calls, .call_count = 1};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        message.extras = str_from(others[i]);
        check_render(&message, CALLING(FIRST) "}");
    }
}

static void another_api_passes_over_them(void **state)
{
    const struct message message = {
        .role = MESSAGE_ASSISTANT, .calls = calls, .call_count = 1, .extras = STR(EXTRAS)};
    struct buf out;
    buf_init(&out, 100000);
    anthropic_render_group(&(struct message_group){&message, 1, STR("p")}, &out);
    check_str(buf_view(&out),
              "A{\"type\":\"tool_use\",\"id\":\"000001000\",\"name\":\"x\",\"input\":{}}\n");
    buf_release(&out);
}

static void what_came_goes_back_unchanged(void **state)
{
#define ROUND                                                                                      \
    "\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"\\u00e4/+=\",\"n\":-3,"   \
    "\"x\":{\"y\":[true,null,0.5]}}]"
#define BACK                                                                                       \
    ",\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"\xC3\xA4/+=\","          \
    "\"n\":-3,\"x\":{\"y\":[true,null,0.5]}}]"
    struct decoded d;
    struct buf out;
    buf_init(&out, 100000);
    decode_pieces(&d,
                  STR(DELTA(ROUND) CALL(",\"extra_content\":{\"google\":{\"thought_signature\":"
                                        "\"Cg==\"}}") FINISH),
                  9, DECODER_CLOSED);
    assert_true(d.whole);
    const struct message message = {.role = MESSAGE_ASSISTANT,
                                    .calls = d.reply.calls,
                                    .call_count = d.reply.call_count,
                                    .extras = d.reply.extras};
    openai_render_group(&(struct message_group){&message, 1, STR("p")}, &out);
    check_str(buf_view(&out),
              CALLING(RENDERED_CALL("Dekiy8U2a", "x", SIGNED("\"thought_signature\":\"Cg==\"")))
                  BACK "}");
    buf_release(&out);
    decoded_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasoning_is_joined_under_its_name),
        cmocka_unit_test(a_character_cut_in_half_is_whole_again_in_reasoning_too),
        cmocka_unit_test(details_stay_as_they_came),
        cmocka_unit_test(pieces_of_a_detail_are_joined),
        cmocka_unit_test(entries_with_other_ids_or_many_members_stay_apart),
        cmocka_unit_test(what_comes_with_a_call_is_kept_with_it),
        cmocka_unit_test(extras_are_bounded_and_never_kept_in_part),
        cmocka_unit_test(a_message_with_calls_brings_everything_back),
        cmocka_unit_test(a_message_without_calls_brings_nothing_back),
        cmocka_unit_test(extras_of_another_api_or_shape_are_passed_over),
        cmocka_unit_test(another_api_passes_over_them),
        cmocka_unit_test(what_came_goes_back_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
