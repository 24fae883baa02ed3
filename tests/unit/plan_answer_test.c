/* A planner's answer becomes a plan: the shapes that answers have, the words in them, and what is left of garbage. */
#include "core/plan/answer.h"

#include "plan_fixture.h"

/* Reads the answer; the plan must be a valid one, that prints to what reads back the same. */
static const struct plan *answer(struct fixture *f, const char *text)
{
    problems_init(&f->problems, &f->arena);
    answer_read(&f->arena, str_from(text), STR("The goal"), &f->plan, &f->problems);
    struct problems warnings = f->problems;
    struct plan read = f->plan;
    struct str first = printed(f, &read);
    struct str second = printed(f, plan_of(f, first.p));
    assert_true(str_eq(first, second));
    f->problems = warnings;
    f->plan = read;
    return &f->plan;
}

/* "a: Title <b,c" for each step. */
static struct str shape(struct fixture *f)
{
    struct str text = STR("");
    for (size_t i = 0; i < f->plan.count; i++) {
        const struct plan_step *step = &f->plan.steps[i];
        text = arena_printf(&f->arena, "%.*s%s%.*s", STR_FMT(text), i > 0 ? " " : "",
                            STR_FMT(step->id));
        for (size_t k = 0; k < step->depends_on.n; k++) {
            assert_true(str_eq(f->plan.steps[step->needs[k]].id, step->depends_on.items[k]));
            text = arena_printf(&f->arena, "%.*s%s%.*s", STR_FMT(text), k > 0 ? "," : "<",
                                STR_FMT(step->depends_on.items[k]));
        }
    }
    return text;
}

static void check_warning(const struct fixture *f, const char *path, const char *message)
{
    assert_int_equal(f->problems.found, 1);
    check_str(f->problems.items[0].path, path);
    check_str(f->problems.items[0].message, message);
}

#define TWO                                                                                        \
    "[{\"id\":\"a\",\"title\":\"One\"},{\"id\":\"b\",\"title\":\"Two\",\"depends_on\":[\"a\"]}]"

static void every_wrapping_gives_the_same_plan(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        TWO,
        "{\"steps\":" TWO "}",
        "\n  {\"plan\":" TWO "}\n",
        "{\"plan\":{\"goal\":\"x\",\"steps\":" TWO "}}",
        "{\"execution_plan\":{\"plan\":{\"tasks\":" TWO "}}}",
        "```json\n" TWO "\n```",
        "```\n{\"steps\":" TWO "}\n```\nThat is all.",
        "Here is my plan [1], with {braces} and an [\"empty\"] list:\n\n" TWO "\n\nShall I go on?",
        "The user's \"goal\" needs {two} steps: {\"Steps\": " TWO "} as I said.",
        "{\"steps\":{\"a\":{\"title\":\"One\"},\"b\":{\"title\":\"Two\",\"deps\":\"a\"}}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        answer(f, texts[i]);
        if (!str_is(shape(f), "a b<a") || f->problems.found != 0)
            fail_msg("%s: %.*s", texts[i], STR_FMT(shape(f)));
        check_str(f->plan.goal, "The goal");
        check_str(f->plan.steps[1].title, "Two");
    }
}

static void slips_of_models_are_mended(void **state)
{
    struct fixture *f = *state;
    answer(f,
           "{\"steps\": [{\"title\": \"One\", \"requires_approval\": True,},\n"
           "{\"title\": \"Two\", \"description\": \"first\nsecond\tthird\", \"role\": None},],\n}");
    check_str(shape(f), "step-1 step-2");
    assert_int_equal(f->plan.steps[0].approval, APPROVAL_NEEDED);
    check_str(f->plan.steps[1].description, "first\nsecond third");
}

static void the_seeds_names_and_their_spellings_are_known(void **state)
{
    struct fixture *f = *state;
    answer(f,
           "{\"Objective\":\"other\",\"overview\":\"How\",\"doneWhen\":[\"all pass\"],\"steps\":[{"
           "\"step_id\":1,\"name\":\"Code it\",\"details\":\"Do it\",\"Step-Type\":\"Implement\","
           "\"sub_agent_role\":\"Coder\",\"acceptanceCriteria\":\"it works\",\"files\":\"src/a.c, "
           "docs\",\"tools\":[\"read_file\",\"edit\"],\"estimated_tool_calls\":\"12 calls\","
           "\"requiresApproval\":\"yes\",\"retries\":99,\"status\":\"completed\"}]}");
    const struct plan_step *step = f->plan.steps;
    check_str(
        printed(f, &f->plan),
        "{\"version\":1,\"goal\":\"The goal\",\"summary\":\"How\","
        "\"completion_criteria\":[\"all pass\"],\"steps\":[{\"id\":\"1\",\"title\":\"Code it\","
        "\"description\":\"Do it\",\"success_criteria\":[\"it works\"],"
        "\"type\":\"implementation\",\"role\":\"executor\",\"depends_on\":[],"
        "\"ownership\":[\"src/a.c\",\"docs\"],\"allowed_tools\":[\"read_file\",\"edit\"],"
        "\"estimated_calls\":12,\"requires_approval\":true,\"max_retries\":10}]}");
    assert_int_equal(step->status, STEP_PENDING); /* a planner does not say what is done */
    assert_int_equal(f->problems.found, 0);
}

static void types_and_roles_fill_each_other_in(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[][4] = {
        {"\"type\":\"research\"", "research", "researcher"},
        {"\"role\":\"tester\"", "testing", "tester"},
        {"\"agent\":\"QA engineer\"", "testing", "tester"},
        {"\"type\":\"Deployment\"", "deployment", "executor"},
        {"\"type\":\"testing\",\"role\":\"executor\"", "testing", "executor"},
        {"\"type\":\"verification\"", "review", "reviewer"},
        {"\"note\":1", "implementation", "executor"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "[{\"title\":\"a b\",%s}]", rows[i][0]);
        answer(f, text);
        check_str(str_from(step_type_text(f->plan.steps[0].type)), rows[i][1]);
        check_str(str_from(f->plan.steps[0].role->name), rows[i][2]);
    }
    answer(f, "[{\"title\":\"a\",\"type\":\"juggling\"}]");
    check_warning(f, "steps[0]", "has a type that is not known: juggling");
}

static void a_deployment_needs_approval_whatever_the_planner_says(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"title\":\"Ship\",\"type\":\"deployment\",\"requires_approval\":false},"
              "{\"title\":\"Build\",\"requires_approval\":false}]");
    assert_int_equal(f->plan.steps[0].approval, APPROVAL_NEEDED);
    assert_int_equal(f->plan.steps[1].approval, APPROVAL_NOT_NEEDED);
}

static void a_number_that_is_too_large_spoils_its_field_alone(void **state)
{
    struct fixture *f = *state;
    answer(f, "{\"steps\":[{\"title\":\"one\",\"estimated_calls\":99999999999999999999999,"
              "\"max_retries\":1},{\"title\":\"two\",\"estimated_calls\":1e999},"
              "{\"title\":\"three\",\"estimated_calls\":7,\"working_directory\":\"src\"}]}");
    assert_int_equal(f->plan.count, 3);
    check_str(f->plan.steps[0].title, "one");
    assert_int_equal(f->plan.steps[0].estimated_calls, UNLIMITED);
    assert_int_equal(f->plan.steps[0].max_retries, 1);
    assert_int_equal(f->plan.steps[1].estimated_calls, UNLIMITED);
    assert_int_equal(f->plan.steps[2].estimated_calls, 7);
    check_str(f->plan.steps[2].working_directory, "src");
}

static void a_number_that_is_no_count_spoils_its_field_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const counts[] = {"2.5", "-1", "0.5", "\"2.5 calls\"", "\"-3\""};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char text[256], said[128];
        snprintf(text, sizeof text,
                 "[{\"title\":\"one\",\"estimated_calls\":%s,\"max_retries\":1},"
                 "{\"title\":\"two\",\"estimated_calls\":7}]",
                 counts[i]);
        snprintf(said, sizeof said, "has no whole number of calls, which is left out: %s",
                 counts[i]);
        answer(f, text);
        assert_int_equal(f->plan.count, 2);
        assert_int_equal(f->plan.steps[0].estimated_calls, UNLIMITED);
        assert_int_equal(f->plan.steps[0].max_retries, 1);
        assert_int_equal(f->plan.steps[1].estimated_calls, 7);
        check_warning(f, "steps[0]", said);
    }
    answer(f, "[{\"title\":\"one\",\"estimated_calls\":2.5,\"max_retries\":2.5}]");
    assert_int_equal(f->plan.steps[0].max_retries, UNLIMITED);
    assert_int_equal(f->problems.found, 2);
    answer(f, "[{\"title\":\"one\",\"estimated_calls\":2.0,\"max_retries\":\"2.0\"}]");
    assert_int_equal(f->plan.steps[0].estimated_calls, 2);
    assert_int_equal(f->plan.steps[0].max_retries, 2);
    assert_int_equal(f->problems.found, 0);
}

static void words_of_blanks_alone_are_no_step(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"title\":\"\\u3000\",\"description\":\"\\u00a0\"},{\"title\":\"two\","
              "\"description\":\"\\u2003\"}]");
    assert_int_equal(f->plan.count, 1);
    check_str(f->plan.steps[0].description, "two");
    check_warning(f, "steps[0]", "says nothing, and is left out");
}

static void prerequisites_are_found_by_id_title_and_number(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[][2] = {
        {"\"a\"", "a b c<a"},      {"\"a\",\"b\"", "a b c<a,b"},
        {"\"one\"", "a b c<a"},    {"1,2", "a b c<a,b"},
        {"\"step 2\"", "a b c<b"}, {"\"#1\",\"Step-2\"", "a b c<a,b"},
        {"0", "a b c<a"},          {"0,1", "a b c<a,b"},
        {"\"none\"", "a b c"},     {"\"a\",\"A\",1", "a b c<a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "[{\"id\":\"a\",\"title\":\"One\"},{\"id\":\"b\",\"title\":\"Two\"},"
                 "{\"id\":\"c\",\"title\":\"Three\",\"dependencies\":[%s]}]",
                 rows[i][0]);
        answer(f, text);
        check_str(shape(f), rows[i][1]);
        assert_int_equal(f->problems.found, 0);
    }
    /* An id that looks like a number is an id first. */
    answer(f, "[{\"id\":2,\"title\":\"One\"},{\"id\":1,\"title\":\"Two\",\"depends_on\":2}]");
    check_str(shape(f), "2 1<2");
}

static void a_prerequisite_that_is_not_there_is_left_out_and_told(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"id\":\"a\",\"title\":\"One\",\"depends_on\":[\"b\",\"9\"]}]");
    check_str(shape(f), "a");
    assert_int_equal(f->problems.found, 2);
    check_str(f->problems.items[0].message,
              "depends on a step that is not there, which is left out: b");
    answer(f, "[{\"id\":\"a\",\"title\":\"One\",\"depends_on\":[\"a\"]}]");
    check_warning(f, "steps[0]", "depends on itself, which is left out: a");
}

static void a_step_that_says_nothing_is_left_out_and_numbers_still_count_it(void **state)
{
    struct fixture *f = *state;
    answer(f,
           "[{\"title\":\"One\"},{\"title\":\" \"},7,{\"title\":\"Four\",\"depends_on\":[1,2]}]");
    check_str(shape(f), "step-1 step-4<step-1");
    assert_int_equal(f->problems.found, 3);
    check_str(f->problems.items[0].message, "says nothing, and is left out");
    check_str(f->problems.items[1].message, "is no step, and left out");
}

static void a_circle_becomes_a_row(void **state)
{
    struct fixture *f = *state;
    answer(
        f,
        "[{\"id\":\"a\",\"title\":\"One\",\"depends_on\":[\"c\"]},{\"id\":\"b\",\"title\":\"Two\"},"
        "{\"id\":\"c\",\"title\":\"Three\",\"depends_on\":[\"a\"]}]");
    check_str(shape(f), "a b<a c<b");
    check_warning(f, "steps",
                  "depend on each other in a circle (a → c → a): they run one after the other, as "
                  "written");
}

static void ids_become_short_valid_and_unique(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"id\":\"Add login!\",\"title\":\"x\"},{\"id\":\"Add  login\",\"title\":\"y\","
              "\"depends_on\":[\"Add login!\"]},{\"id\":\"ключ\",\"title\":\"z\"},"
              "{\"id\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee\",\"title\":\"w\"}]");
    check_str(shape(f), "Add-login Add-login-2<Add-login step-3 "
                        "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd");
}

static void a_list_of_sentences_is_a_list_of_steps(void **state)
{
    struct fixture *f = *state;
    answer(f, "[\"Look at the code\",\"Write the test\\nand run it\"]");
    check_str(shape(f), "step-1 step-2");
    check_str(f->plan.steps[1].title, "Write the test");
    check_str(f->plan.steps[1].description, "Write the test\nand run it");
}

static void paths_that_cannot_be_used_leave_the_step_with_everything(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"title\":\"a\",\"ownership\":[\"src/a.c\",\"/etc/passwd\"]}]");
    assert_int_equal(f->plan.steps[0].ownership.state, LIST_ABSENT);
    check_warning(f, "steps[0]", "owns everything, since a path of it cannot be used: /etc/passwd");
    answer(f, "[{\"title\":\"a\",\"ownership\":[]}]");
    assert_int_equal(f->plan.steps[0].ownership.state, LIST_ABSENT);
    assert_int_equal(f->problems.found, 0);
}

static void a_path_with_a_space_at_its_end_cannot_be_used(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {"src /", "./ src", "src /.", "src/a //"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        answer(f, arena_printf(&f->arena, "[{\"title\":\"a\",\"files\":[\"%s\"]}]", paths[i]).p);
        assert_int_equal(f->plan.steps[0].ownership.state, LIST_ABSENT);
        assert_int_equal(f->problems.found, 1);
    }
}

static void paths_of_who_changes_nothing_are_left_out(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"title\":\"a\",\"type\":\"research\",\"files\":[\"src\"]}]");
    assert_int_equal(f->plan.steps[0].ownership.state, LIST_ABSENT);
}

static void too_many_paths_in_all_leave_a_step_with_everything(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 9; i++) {
        buf_printf(&text, "%s{\"title\":\"step %d\",\"files\":[\"x\"", i > 0 ? "," : "[", i);
        for (int k = 1; k < PLAN_OWNERSHIP_MAX; k++)
            buf_printf(&text, ",\"d%d/f%d\"", i, k);
        buf_text(&text, "]}");
    }
    buf_text(&text, "]");
    answer(f, text.p);
    assert_int_equal(f->plan.steps[7].ownership.n, PLAN_OWNERSHIP_MAX);
    assert_int_equal(f->plan.steps[8].ownership.state, LIST_ABSENT);
    check_warning(f, "steps[8]", "owns everything, since it names too many paths");
    buf_release(&text);
}

static void a_tool_that_is_not_there_is_left_out_and_told(void **state)
{
    struct fixture *f = *state;
    answer(f, "[{\"title\":\"a\",\"tools\":[\"python\",\"read_file\"]}]");
    check_warning(f, "steps[0]", "names a tool that is not there, which is left out: python");
    assert_int_equal(f->plan.steps[0].allowed_tools.n, 1);
    check_str(f->plan.steps[0].allowed_tools.items[0], "read_file");
    answer(f, "[{\"title\":\"a\",\"tools\":[\"python\"]}]");
    assert_int_equal(f->plan.steps[0].allowed_tools.state, LIST_ABSENT);
}

static void garbage_becomes_the_goal_as_one_step(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "",
        "I cannot do that.",
        "{",
        "[[[[",
        "{\"steps\":[]}",
        "{\"steps\":7}",
        "[1,2,3]",
        "{\"a\":{\"b\":[]}}",
        "[\"one\",\"two\"]",
        "{\"steps\":[{\"x\":1}]}",
        "{\"title\":\" \"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        answer(f, texts[i]);
        if (!str_is(shape(f), "step-1") || f->problems.found == 0)
            fail_msg("%s: %.*s", texts[i], STR_FMT(shape(f)));
        check_str(f->plan.steps[0].title, "The goal");
        check_str(f->plan.steps[0].description, "The goal");
        check_str(f->problems.items[f->problems.count - 1].message,
                  "the planner's answer has no steps that can be used: the goal is one step");
    }
}

static void a_single_step_alone_is_a_plan(void **state)
{
    struct fixture *f = *state;
    answer(f, "Only this: {\"title\":\"Fix it\",\"type\":\"testing\"}");
    check_str(shape(f), "step-1");
    check_str(f->plan.steps[0].title, "Fix it");
    assert_int_equal(f->problems.found, 0);
    /* But not a step out of the middle of something broken. */
    answer(f, "{\"steps\": [{\"title\":\"Fix it\"}, {\"title\": oops}]}");
    check_str(f->plan.steps[0].title, "The goal");
}

/* A model that reached its output limit in the middle of the steps. */
static void what_is_left_of_an_answer_that_was_cut_is_no_plan(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "{\"steps\":[{\"title\":\"One\"},{\"title\":\"Two\"},{\"title\":\"Th",
        "[{\"title\":\"One\",\"description\":\"x\"},{\"title\":\"Two\",\"descr",
        "{\"completion_criteria\":[\"the tests pass\",\"it is there\"],\"steps\":[{\"title\":\"O",
        "{\"steps\":[{\"title\":\"One\",\"success_criteria\":[\"it is there\"],\"role\":\"ex",
        "{\"steps\":[{\"title\":\"One\",\"subtasks\":[{\"title\":\"Part\"}],\"role\":\"ex",
        "{\"steps\":[{\"title\":\"One\",\"subtasks\":[{\"title\":\"Part\"}]},{\"title\":\"Tw",
        "{\"steps\":[{\"title\":oops,\"success_criteria\":[\"it is there\"]}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        answer(f, texts[i]);
        if (!str_is(f->plan.steps[0].title, "The goal") || f->problems.found == 0)
            fail_msg("%s: %.*s", texts[i], STR_FMT(f->plan.steps[0].title));
    }
}

static void steps_that_are_whole_in_an_answer_that_was_cut_are_the_plan(void **state)
{
    struct fixture *f = *state;
    answer(f,
           "{\"summary\":\"x\",\"steps\":" TWO ",\"completion_criteria\":[\"the tests pass\",\"it");
    check_str(shape(f), "a b<a");
    answer(f, "I look at a[ first.\n{\"steps\":" TWO "}");
    check_str(shape(f), "a b<a");
}

static void sentences_are_steps_only_where_there_are_no_others(void **state)
{
    struct fixture *f = *state;
    answer(f, "Of [\"the first file\", \"the second file\"] only one matters:\n" TWO);
    check_str(shape(f), "a b<a");
    answer(f, "[\"Look at it\", \"Change it\"]");
    check_str(shape(f), "step-1 step-2");
    check_str(f->plan.steps[1].title, "Change it");
}

static void too_many_steps_are_no_plan(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i <= PLAN_STEPS_MAX; i++)
        buf_printf(&text, "%s{\"title\":\"step %d\"}", i > 0 ? "," : "[", i);
    buf_text(&text, "]");
    answer(f, text.p);
    assert_int_equal(f->plan.count, 1);
    check_str(f->problems.items[0].message, "are 101, at most 100 are allowed");
    buf_release(&text);
}

/* As long as an answer can be, with prerequisites by number that become the longest ids. */
static void the_longest_answer_is_a_plan_of_bounded_size(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 4 << 20);
    for (int i = 0; i < PLAN_STEPS_MAX; i++) {
        buf_printf(&text, "%s{\"id\":\"a-rather-long-id-for-a-step-of-a-plan-%d\",\"deps\":[0",
                   i > 0 ? "," : "[", i + 100);
        for (int k = 1; k < i; k++)
            buf_printf(&text, ",%d", k);
        buf_text(&text, "],\"what\":\"");
        while (text.n < ANSWER_BYTES_MAX / PLAN_STEPS_MAX * ((size_t)i + 1) - 4)
            buf_text(&text, "\\\"");
        buf_text(&text, "\"}");
    }
    buf_text(&text, "]");
    assert_true(text.n <= ANSWER_BYTES_MAX);
    answer(f, text.p);
    assert_int_equal(f->plan.count, PLAN_STEPS_MAX);
    assert_int_equal(f->plan.steps[99].depends_on.n, 99);
    assert_true(printed(f, &f->plan).n <= PLAN_BYTES_MAX);
    buf_release(&text);
}

static void texts_are_cleaned_and_cut(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_text(&text, "[{\"title\":\"\\u001b[31mred\\u0007\\u202e title\",\"description\":\"");
    for (int i = 0; i < PLAN_DESCRIPTION_MAX; i++)
        buf_text(&text, "é");
    buf_text(&text, "\"}]");
    answer(f, text.p);
    check_str(f->plan.steps[0].title, "red title");
    assert_int_equal(f->plan.steps[0].description.n, PLAN_DESCRIPTION_MAX);
    buf_release(&text);
}

static void without_a_goal_the_answers_own_counts(void **state)
{
    struct fixture *f = *state;
    answer_read(&f->arena, STR("{\"goal\":\"Its own\",\"steps\":[{\"title\":\"a\"}]}"), STR(" "),
                &f->plan, &f->problems);
    check_str(f->plan.goal, "Its own");
    answer_read(&f->arena, STR("nothing"), STR(""), &f->plan, &f->problems);
    check_str(f->plan.goal, "Do what was asked.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_wrapping_gives_the_same_plan),
        TEST(slips_of_models_are_mended),
        TEST(the_seeds_names_and_their_spellings_are_known),
        TEST(types_and_roles_fill_each_other_in),
        TEST(a_deployment_needs_approval_whatever_the_planner_says),
        TEST(a_number_that_is_too_large_spoils_its_field_alone),
        TEST(a_number_that_is_no_count_spoils_its_field_alone),
        TEST(words_of_blanks_alone_are_no_step),
        TEST(prerequisites_are_found_by_id_title_and_number),
        TEST(a_prerequisite_that_is_not_there_is_left_out_and_told),
        TEST(a_step_that_says_nothing_is_left_out_and_numbers_still_count_it),
        TEST(a_circle_becomes_a_row),
        TEST(ids_become_short_valid_and_unique),
        TEST(a_list_of_sentences_is_a_list_of_steps),
        TEST(paths_that_cannot_be_used_leave_the_step_with_everything),
        TEST(a_path_with_a_space_at_its_end_cannot_be_used),
        TEST(paths_of_who_changes_nothing_are_left_out),
        TEST(too_many_paths_in_all_leave_a_step_with_everything),
        TEST(a_tool_that_is_not_there_is_left_out_and_told),
        TEST(garbage_becomes_the_goal_as_one_step),
        TEST(a_single_step_alone_is_a_plan),
        TEST(what_is_left_of_an_answer_that_was_cut_is_no_plan),
        TEST(steps_that_are_whole_in_an_answer_that_was_cut_are_the_plan),
        TEST(sentences_are_steps_only_where_there_are_no_others),
        TEST(too_many_steps_are_no_plan),
        TEST(the_longest_answer_is_a_plan_of_bounded_size),
        TEST(texts_are_cleaned_and_cut),
        TEST(without_a_goal_the_answers_own_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
