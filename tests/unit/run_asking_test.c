/* Whether a call is made, asked for or refused, as things are when it is made: for children, on a terminal, with the inbox and without
 * anybody; who waits for an answer holds no slot, and its deadlines stand still. */
#include <stdio.h>

#include "run_fixture.h"

#define MINUTE 60000
#define HOUR (60 * MINUTE)

static const struct rig_call write_call = {"write", "{\"path\":\"a\",\"content\":\"x\"}"};
static const struct rig_call shell_call = {"shell", "{\"command\":\"make\"}"};

/* In safe, a child of the root calls one tool. */
static void child_calls(struct rig *rig, const struct rig_call *made)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig_skip(rig);
    rig_calls(rig, 1, made, 1);
}

static void answer(struct rig *rig, uint32_t no, const char *word)
{
    char body[300];
    const struct effect *asked = rig_effect(rig, no, EFFECT_ASK);
    snprintf(body, sizeof body,
             "{\"agent_no\":%u,\"call_id\":\"%.*s\",\"answer\":\"%s\",\"shown\":\"" RIG_SHOWN "\"}",
             no, STR_FMT(asked->call_id), word);
    rig_inbox(rig, "approve", body);
}

static void a_childs_question_is_put_where_a_person_is_there(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_TERMINAL;
    child_calls(rig, &write_call);
    rig_expect(rig, "1 model.replied, 1 permission.asked");
    rig_expect_effects(rig, "1 ask write");
    check_str(rig_last(rig, 1, EVENT_PERMISSION_ASKED)->asker, "terminal");
    answer(rig, 1, "yes");
    rig_expect(rig, "0 inbox.taken, 1 permission.granted, 1 tool.requested");
}

/* What the owner's look at the question gave. */
static void shows(struct rig *rig, uint32_t no, struct str id, const char *shown)
{
    struct input input = {.kind = INPUT_SHOWN,
                          .agent_no = no,
                          .call_id = id,
                          .shown = str_from(shown),
                          .preview = STR("{\"tool\":\"write\",\"parts\":[]}")};
    rig_input(rig, &input);
}

#define OTHER "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void what_a_question_shows_is_logged_once(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_INBOX;
    child_calls(rig, &write_call);
    rig_skip(rig);
    struct str id = rig_effect(rig, 1, EFFECT_ASK)->call_id;
    shows(rig, 1, id, RIG_SHOWN);
    rig_expect(rig, "1 permission.shown");
    check_str(rig_last(rig, 1, EVENT_PERMISSION_SHOWN)->shown, RIG_SHOWN);
    shows(rig, 1, id, RIG_SHOWN);
    rig_expect(rig, "");
    shows(rig, 1, id, OTHER);
    rig_expect(rig, "1 permission.shown");
    shows(rig, 1, STR("c9_9"), OTHER);
    rig_expect(rig, "");
}

static void a_yes_to_something_else_is_not_a_yes(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_INBOX;
    child_calls(rig, &write_call);
    shows(rig, 1, rig_effect(rig, 1, EFFECT_ASK)->call_id, OTHER);
    rig_skip(rig);
    answer(rig, 1, "yes");
    rig_expect(rig, "0 inbox.taken, 1 permission.denied, 1 tool.finished, 1 model.requested");
    rig_contains(rig_last(rig, 1, EVENT_PERMISSION_DENIED)->reason, "has changed since");
    rig_contains(rig_last(rig, 1, EVENT_TOOL_FINISHED)->text, "has changed since the user");
    assert_int_equal(rig_agent(rig, 0)->refused.count, 1);
}

static void a_yes_that_names_no_hash_is_not_a_yes(void **state)
{
    struct rig *rig = *state;
    char body[200];
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_INBOX;
    child_calls(rig, &write_call);
    rig_skip(rig);
    snprintf(body, sizeof body, "{\"agent_no\":1,\"call_id\":\"%.*s\",\"answer\":\"yes\"}",
             STR_FMT(rig_effect(rig, 1, EFFECT_ASK)->call_id));
    rig_inbox(rig, "approve", body);
    rig_expect(rig, "0 inbox.taken, 1 permission.denied, 1 tool.finished, 1 model.requested");
    rig_contains(rig_last(rig, 1, EVENT_PERMISSION_DENIED)->reason, "did not say what was shown");
}

static void a_call_that_changed_after_its_approval_counts_as_refused(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_INBOX;
    child_calls(rig, &write_call);
    answer(rig, 1, "yes");
    rig_skip(rig);
    struct input input = {.kind = INPUT_RESULT,
                          .agent_no = 1,
                          .call_id = rig_call_id(rig, 1, 0),
                          .text = STR("Error: this call was not made"),
                          .reason = STR("what it would do has changed since it was approved"),
                          .outcome = TOOL_ERROR};
    rig_input(rig, &input);
    rig_expect(rig, "1 tool.finished, 1 model.requested");
    assert_int_equal(rig_agent(rig, 1)->refused.count, 1);
    rig_contains(rig_agent(rig, 0)->refused.reasons.items[0],
                 "write: what it would do has changed");
}

static void a_childs_question_is_refused_where_nobody_is_and_counted_up_to_the_root(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    child_calls(rig, &write_call);
    rig_expect(rig, "1 model.replied, 1 tool.requested, 1 permission.denied, 1 tool.finished, "
                    "1 model.requested");
    rig_contains(rig_last(rig, 1, EVENT_PERMISSION_DENIED)->reason, "--mode auto");
    assert_int_equal(rig_agent(rig, 1)->refused.count, 1);
    assert_int_equal(rig_agent(rig, 0)->refused.count, 1);
    assert_int_equal(rig_agent(rig, 0)->refused.reasons.n, 1);
    rig_say(rig, 1, "done");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, "\"refused\":{\"count\":1");
}

static void reasons_stand_once_and_are_bounded(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig_start(rig, "do it");
    struct rig_call calls[40];
    char names[40][24];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "tool_%d", i / 2);
        calls[i] = (struct rig_call){names[i], "{}"};
    }
    rig->settings.hard_stop_at = 100;
    rig_calls(rig, 0, calls, 20);
    const struct agent *root = rig_agent(rig, 0);
    assert_int_equal(root->refused.count, 20);
    assert_int_equal(root->refused.reasons.n, REFUSED_REASONS_MAX);
}

static void nobody_is_asked_for_a_child_where_config_says_so(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->settings.children_refused = SWITCH_ON;
    rig->asker = ASKER_TERMINAL;
    child_calls(rig, &write_call);
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_ASKED), 0);
    rig_contains(rig_last(rig, 1, EVENT_PERMISSION_DENIED)->reason, "sub_agent: {ask: allow}");
}

static void who_waits_for_an_answer_holds_no_slot_and_its_deadlines_stand_still(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->settings.max_concurrent = 1;
    rig->settings.child.wall_ms = MINUTE;
    rig->settings.root.wall_ms = 5 * MINUTE;
    rig->asker = ASKER_TERMINAL;
    rig_walls(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"), SPAWN("y"));
    rig_calls(rig, 1, &write_call, 1);
    assert_int_equal(rig_agent(rig, 1)->slot, SLOT_NONE);
    assert_int_equal(rig_agent(rig, 2)->slot, SLOT_HELD);
    rig_calls(rig, 2, &write_call, 1);
    rig_skip(rig);
    rig_pass(rig, 10 * HOUR);
    rig_expect(rig, "");
    /* The first one gets the slot, and the other one waits for it with its answer. */
    answer(rig, 1, "yes");
    assert_int_equal(rig_agent(rig, 1)->slot, SLOT_HELD);
    answer(rig, 2, "yes");
    assert_int_equal(rig_agent(rig, 2)->slot, SLOT_QUEUED);
    assert_int_equal(rig_agent(rig, 2)->calls_in[CALL_WAITING], 1);
    rig_prepared(rig, 1, 0, "a");
    rig_result(rig, 1, 0, "written");
    rig_say(rig, 1, "done");
    assert_int_equal(rig_agent(rig, 2)->slot, SLOT_HELD);
    rig_skip(rig);
    rig_pass(rig, MINUTE);
    rig_expect(rig, "2 timer.fired, 2 agent.stopping");
}

static void a_question_in_the_inbox_is_given_up_in_time_and_put_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->settings.question_timeout_ms = MINUTE;
    rig->asker = ASKER_INBOX;
    child_calls(rig, &write_call);
    rig_skip(rig);
    rig_pass(rig, MINUTE - 1);
    rig_expect(rig, "");
    rig_pass(rig, 1);
    rig_expect(rig, "1 timer.fired, 0 run.parked");
    rig_contains(rig_last(rig, 0, EVENT_RUN_PARKED)->reason, "approvals.timeout_ms");
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 1 permission.asked");
    answer(rig, 1, "yes");
    rig_expect(rig, "0 inbox.taken, 1 permission.granted, 1 tool.requested");
    rig_pass(rig, 2 * MINUTE);
    assert_int_equal(rig_count(rig, EVENT_RUN_PARKED), 1);
}

static void a_resume_says_anew_who_is_there(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_TERMINAL;
    child_calls(rig, &write_call);
    rig->asker = ASKER_NOBODY;
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 1 permission.asked");
    rig_expect_effects(rig, "");
    rig_pass(rig, 0);
    rig_expect(rig, "1 timer.fired, 1 permission.denied, 1 tool.finished, 1 model.requested");
    rig->asker = ASKER_TERMINAL;
    rig_crash(rig, HOUR);
    rig_calls(rig, 1, &write_call, 1);
    check_str(rig_last(rig, 1, EVENT_PERMISSION_ASKED)->asker, "terminal");
}

static void an_answer_that_lies_in_the_inbox_is_heard_though_nobody_is_there(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    rig->asker = ASKER_TERMINAL;
    child_calls(rig, &write_call);
    rig->asker = ASKER_NOBODY;
    rig_skip(rig);
    rig_crash(rig, HOUR);
    answer(rig, 1, "yes");
    rig_expect(rig, "0 run.resumed, 1 permission.asked, 0 inbox.taken, 1 permission.granted, "
                    "1 tool.requested");
    rig_skip(rig);
    rig_pass(rig, 1);
    rig_expect(rig, "");
}

/* A child that changes files has a tree of its own; what it may do there hangs on the walls too. */
static void isolate(struct rig *rig, const char *walls)
{
    rig->settings.isolate_children = rig->settings.isolate_root = SWITCH_ON;
    rig->walls = walls;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig_made(rig, 0);
    rig_made(rig, 1);
    rig_calls(rig, 1, &shell_call, 1);
}

static void a_command_in_a_tree_behind_all_walls_needs_nobody_in_auto(void **state)
{
    struct rig *rig = *state;
    isolate(rig, "all");
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_DENIED), 0);
    assert_int_equal(rig_agent(rig, 1)->calls_in[CALL_RUNNING], 1);
}

static void with_a_wall_that_is_off_the_same_command_is_refused(void **state)
{
    struct rig *rig = *state;
    isolate(rig, "without seccomp");
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_DENIED), 1);
}

static void a_child_without_a_tree_works_in_that_of_its_parent(void **state)
{
    struct rig *rig = *state;
    rig->settings.isolate_root = SWITCH_ON;
    rig->walls = "all";
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig_made(rig, 0);
    rig_calls(rig, 1, &shell_call, 1);
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_DENIED), 0);
}

static void in_the_users_files_a_command_is_refused(void **state)
{
    struct rig *rig = *state;
    rig->walls = "all";
    rig_start(rig, "do it");
    rig_calls(rig, 0, &shell_call, 1);
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_DENIED), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_childs_question_is_put_where_a_person_is_there),
        RIG_TEST(a_childs_question_is_refused_where_nobody_is_and_counted_up_to_the_root),
        RIG_TEST(what_a_question_shows_is_logged_once),
        RIG_TEST(a_yes_to_something_else_is_not_a_yes),
        RIG_TEST(a_yes_that_names_no_hash_is_not_a_yes),
        RIG_TEST(a_call_that_changed_after_its_approval_counts_as_refused),
        RIG_TEST(reasons_stand_once_and_are_bounded),
        RIG_TEST(nobody_is_asked_for_a_child_where_config_says_so),
        RIG_TEST(who_waits_for_an_answer_holds_no_slot_and_its_deadlines_stand_still),
        RIG_TEST(a_question_in_the_inbox_is_given_up_in_time_and_put_again),
        RIG_TEST(a_resume_says_anew_who_is_there),
        RIG_TEST(an_answer_that_lies_in_the_inbox_is_heard_though_nobody_is_there),
        RIG_TEST(a_command_in_a_tree_behind_all_walls_needs_nobody_in_auto),
        RIG_TEST(with_a_wall_that_is_off_the_same_command_is_refused),
        RIG_TEST(a_child_without_a_tree_works_in_that_of_its_parent),
        RIG_TEST(in_the_users_files_a_command_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
