/* Effort and sampling: which layer sets them, what children inherit, and how much room their answers get. */
#include <math.h>

#include "contract_fixture.h"

static struct model_params with_effort(const char *effort)
{
    struct model_params params;
    params_init(&params);
    params.effort = str_from(effort);
    return params;
}

static void nothing_is_set_unless_somebody_sets_it(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    assert_null(f->child.model.params.effort.p);
    assert_true(isnan(f->child.model.params.temperature));
    assert_true(isnan(f->child.model.params.top_p));
    assert_int_equal(f->child.model.params.seed, PARAM_SEED_UNSET);
    assert_int_equal(f->child.model.params.max_output_tokens, 4096);
}

static void the_models_own_win_over_the_runs_and_children_inherit_them(void **state)
{
    struct fixture *f = *state;
    struct model_params low = with_effort("low");
    f->settings.params = with_effort("high");
    f->settings.params.temperature = 0.5;
    f->models[0].params = &low;
    derive_ok(f);
    check_str(f->root.model.params.effort, "low");
    assert_true(f->root.model.params.temperature == 0.5);
    check_str(f->child.model.params.effort, "low");
    assert_true(f->child.model.params.temperature == 0.5);
}

static void a_child_with_another_model_takes_that_models_own(void **state)
{
    struct fixture *f = *state;
    struct model_params low = with_effort("low");
    f->settings.params = with_effort("high");
    f->settings.params.seed = 7;
    f->models[1].params = &low;
    f->request.model = STR("large");
    derive_ok(f);
    check_str(f->root.model.params.effort, "high");
    check_str(f->child.model.params.effort, "low");
    assert_int_equal(f->child.model.params.seed, 7);
    f->request.model = STR("free");
    derive_ok(f);
    check_str(f->child.model.params.effort, "high");
}

static void a_role_wins_over_the_parent_and_the_call_over_the_role(void **state)
{
    struct fixture *f = *state;
    struct role_params roles[] = {{STR("reviewer"), with_effort("xhigh")}};
    f->settings.params = with_effort("low");
    f->settings.role_params = roles;
    f->settings.role_params_count = 1;
    f->request.role = STR("researcher");
    derive_ok(f);
    check_str(f->child.model.params.effort, "low");
    f->request.role = STR("reviewer");
    derive_ok(f);
    check_str(f->child.model.params.effort, "xhigh");
    f->request.params.effort = STR("medium");
    derive_ok(f);
    check_str(f->child.model.params.effort, "medium");
    f->request.params.effort = STR("enormous");
    derive_fails(f, ERR_USAGE, "effort must be one of none, minimal, low");
}

static void a_grandchild_inherits_what_its_parent_was_called_with(void **state)
{
    struct fixture *f = *state;
    struct model_params low = with_effort("low");
    struct contract grandchild;
    f->models[0].params = &low;
    f->request.params.effort = STR("high");
    derive_ok(f);
    f->request.params.effort = STR_NONE;
    assert_int_equal(derive_from(f, &f->child, &grandchild), 0);
    check_str(grandchild.model.params.effort, "high");
}

static void an_effort_gives_the_answer_room_for_reasoning(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *effort;
        int64_t limit;
    } rows[] = {{"none", 4096}, {"minimal", 4096}, {"low", 16384}, {"max", 16384}};
    f->models[0].effort_tokens = 16384;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        f->request.params.effort = str_from(rows[i].effort);
        derive_ok(f);
        assert_int_equal(f->root.model.params.max_output_tokens, 4096);
        assert_int_equal(f->child.model.params.max_output_tokens, rows[i].limit);
    }
}

static void a_contract_with_all_of_them_prints_and_reads_back(void **state)
{
    struct fixture *f = *state;
    struct contract again;
    f->request.params = with_effort("high");
    f->request.params.temperature = 0.25;
    f->request.params.top_p = 0.9;
    f->request.params.seed = 42;
    f->request.params.stop = LIST("END", "\n\n");
    derive_ok(f);
    assert_int_equal(contract_parse(&f->arena, f->child.json, &again, &f->err), 0);
    check_str(again.model.params.effort, "high");
    assert_true(again.model.params.temperature == 0.25);
    assert_true(again.model.params.top_p == 0.9);
    assert_int_equal(again.model.params.seed, 42);
    assert_int_equal(again.model.params.stop.n, 2);
    check_str(again.model.params.stop.items[1], "\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_set_unless_somebody_sets_it),
        TEST(the_models_own_win_over_the_runs_and_children_inherit_them),
        TEST(a_child_with_another_model_takes_that_models_own),
        TEST(a_role_wins_over_the_parent_and_the_call_over_the_role),
        TEST(a_grandchild_inherits_what_its_parent_was_called_with),
        TEST(an_effort_gives_the_answer_room_for_reasoning),
        TEST(a_contract_with_all_of_them_prints_and_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
