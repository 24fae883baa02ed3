/* Ids of calls: ours inside, a server's own for that server, nine derived characters for all
 * others. */
#include <stdio.h>

#include "base/map.h"
#include "model/anthropic_render.h"
#include "model/call_id.h"
#include "model/openai_render.h"
#include "model/responses_render.h"
#include "run_fixture.h"

/* The agent's model answers with calls that have these ids. */
static void reply_with(struct rig *rig, const char *const *ids, size_t count)
{
    struct tool_call calls[64];
    for (size_t i = 0; i < count; i++)
        calls[i] = (struct tool_call){str_from(ids[i]), STR("read"), STR("{\"path\":\"a\"}")};
    struct model_reply reply = {.calls = calls,
                                .call_count = count,
                                .finish = STR("tool_calls"),
                                .usage = USAGE_NONE,
                                .first_token_ms = -1};
    rig_reply(rig, 0, &reply);
    for (size_t i = 0; i < count; i++)
        rig_result(rig, 0, i, "text");
}

/* The id that a provider sees of the message's call at i, or of the call that it answers. */
static struct str seen(const struct message *message, size_t i, const char *provider,
                       char out[CALL_ID_DERIVED])
{
    return message->role == MESSAGE_TOOL ? call_id_answered(message, str_from(provider), out)
                                         : call_id_of(message, i, str_from(provider), out);
}

static const struct message *last_message(const struct rig *rig, size_t back)
{
    const struct agent *agent = rig_agent(rig, 0);
    return &agent->messages[agent->message_count - 1 - back];
}

static void a_provider_gets_its_own_ids_back_and_nobody_else_does(void **state)
{
    struct rig *rig = *state;
    char first[CALL_ID_DERIVED], second[CALL_ID_DERIVED];
    rig->model.provider = STR("here");
    rig_start(rig, "do it");
    reply_with(rig, (const char *const[]){"functions.read:0"}, 1);
    check_str(seen(last_message(rig, 1), 0, "here", first), "functions.read:0");
    check_str(seen(last_message(rig, 0), 0, "here", first), "functions.read:0");
    struct str call = seen(last_message(rig, 1), 0, "there", first);
    struct str result = seen(last_message(rig, 0), 0, "there", second);
    assert_int_equal(call.n, 9);
    assert_true(str_eq(call, result));
    for (size_t i = 0; i < call.n; i++)
        assert_true((call.p[i] >= '0' && call.p[i] <= '9') ||
                    (call.p[i] >= 'A' && call.p[i] <= 'Z') ||
                    (call.p[i] >= 'a' && call.p[i] <= 'z'));
}

static void an_id_that_a_server_repeats_is_not_sent_twice(void **state)
{
    struct rig *rig = *state;
    char out[CALL_ID_DERIVED];
    rig->model.provider = STR("here");
    rig_start(rig, "do it");
    reply_with(rig, (const char *const[]){"call_0", "call_1", "call_0"}, 3);
    check_str(seen(last_message(rig, 3), 0, "here", out), "call_0");
    check_str(seen(last_message(rig, 3), 1, "here", out), "call_1");
    assert_int_equal(seen(last_message(rig, 3), 2, "here", out).n, 9);
    assert_int_equal(seen(last_message(rig, 0), 0, "here", out).n, 9);
    reply_with(rig, (const char *const[]){"call_0"}, 1);
    assert_int_equal(seen(last_message(rig, 1), 0, "here", out).n, 9);
    assert_int_equal(seen(last_message(rig, 0), 0, "here", out).n, 9);
    reply_with(rig, (const char *const[]){"call_7"}, 1);
    check_str(seen(last_message(rig, 0), 0, "here", out), "call_7");
}

static void ids_survive_a_crash(void **state)
{
    struct rig *rig = *state;
    char out[CALL_ID_DERIVED];
    rig->model.provider = STR("here");
    rig_start(rig, "do it");
    reply_with(rig, (const char *const[]){"theirs"}, 1);
    rig_crash(rig, 1000);
    check_str(seen(last_message(rig, 1), 0, "here", out), "theirs");
    check_str(seen(last_message(rig, 0), 0, "here", out), "theirs");
}

static void derived_ids_differ_where_ours_do(void **state)
{
    static const char *const ids[] = {
        "c1_0",  "c10_0", "c1_1", "c1_10", "c11_0", "c61_0", "c62_0",    "c3844_0",
        "c1_62", "c1",    "",     "c1_",   "x1_0",  "c1_0x", "call_abc", "c99999999999999_0"};
    struct map taken;
    char out[CALL_ID_DERIVED];
    map_init(&taken);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        assert_null(map_set(&taken, call_id_derived(str_from(ids[i]), out), (void *)ids[i]));
    map_release(&taken);
    check_str(call_id_derived(STR("c7_0"), out), "000007000");
}

static void an_id_that_no_server_could_have_sent_back_is_derived(void **state)
{
    char long_id[80], out[CALL_ID_DERIVED];
    memset(long_id, 'x', sizeof long_id);
    struct tool_call call = {STR("c1_0"), STR("read"), STR("{}")};
    struct call_origin origin = {{long_id, sizeof long_id}, STR("p")};
    const struct message message = {
        .role = MESSAGE_ASSISTANT, .calls = &call, .call_count = 1, .origins = &origin};
    check_str(call_id_of(&message, 0, STR("p"), out), "000001000");
    origin.id = STR("a b");
    check_str(call_id_of(&message, 0, STR("p"), out), "000001000");
    origin.id = STR("ok:1");
    check_str(call_id_of(&message, 0, STR("p"), out), "ok:1");
}

typedef void group_fn(const struct message_group *group, struct buf *out);

static void every_api_sends_a_provider_its_own_id(void **state)
{
    static group_fn *const renders[] = {openai_render_group, responses_render_group,
                                        anthropic_render_group};
    struct tool_call call = {STR("c1_0"), STR("read"), STR("{}")};
    struct call_origin origin = {STR("theirs_1"), STR("p")};
    const struct message messages[] = {
        {.role = MESSAGE_ASSISTANT, .calls = &call, .call_count = 1, .origins = &origin},
        {.role = MESSAGE_TOOL, .call_id = STR("c1_0"), .text = STR("x"), .origin = origin}};
    for (size_t i = 0; i < 3; i++)
        for (size_t m = 0; m < 2; m++) {
            struct buf out;
            buf_init(&out, 1000);
            renders[i](&(struct message_group){&messages[m], 1, STR("p")}, &out);
            assert_non_null(strstr(out.p, "\"theirs_1\""));
            buf_clear(&out);
            renders[i](&(struct message_group){&messages[m], 1, STR("q")}, &out);
            assert_null(strstr(out.p, "theirs_1"));
            assert_non_null(strstr(out.p, "\"000001000\""));
            buf_release(&out);
        }
}

static void neighbours_become_one_message_of_chat_completions(void **state)
{
    const struct message messages[] = {{.role = MESSAGE_USER, .text = STR("one")},
                                       {.role = MESSAGE_ASSISTANT, .text = STR(" \n")},
                                       {.role = MESSAGE_USER, .text = STR("")},
                                       {.role = MESSAGE_USER, .text = STR("two")}};
    struct buf out;
    buf_init(&out, 1000);
    openai_render_group(&(struct message_group){messages, 4, STR("p")}, &out);
    check_str(buf_view(&out), "{\"role\":\"user\",\"content\":\"one\\n\\ntwo\"}");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_provider_gets_its_own_ids_back_and_nobody_else_does),
        RIG_TEST(an_id_that_a_server_repeats_is_not_sent_twice),
        RIG_TEST(ids_survive_a_crash),
        cmocka_unit_test(derived_ids_differ_where_ours_do),
        cmocka_unit_test(an_id_that_no_server_could_have_sent_back_is_derived),
        cmocka_unit_test(every_api_sends_a_provider_its_own_id),
        cmocka_unit_test(neighbours_become_one_message_of_chat_completions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
