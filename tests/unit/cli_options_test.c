/* The option parser, suggestions and exit codes. */
#include "check.h"
#include "cli/exit.h"
#include "cli/options.h"

static const struct option table[] = {
    {"model", "NAME", "a model"},
    {"max-cost", "DOLLARS", "a cap"},
    {"limit", "N", "a number"},
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

#define PARSE(...)                                                                                 \
    parse(&arguments, &err, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),          \
          (const char *[]){__VA_ARGS__})

static int parse(struct arguments *arguments, struct err *err, size_t count, const char **words)
{
    *err = ERR_INIT;
    return options_parse(table, (int)count, (char *const *)(void *)words, arguments, err);
}

static void values_stand_apart_or_behind_an_equals_sign(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("--model", "a b", "--max-cost=2.50"), 0);
    check_str(arguments_value(&arguments, "model"), "a b");
    check_str(arguments_value(&arguments, "max-cost"), "2.50");
    assert_null(arguments_value(&arguments, "limit").p);
}

static void options_may_follow_operands(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("the task", "--json"), 0);
    assert_int_equal(arguments.operand_count, 1);
    check_str(arguments.operands[0], "the task");
    assert_true(arguments_has(&arguments, "json"));
    assert_false(arguments_has(&arguments, "help"));
}

static void two_dashes_end_the_options(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("--", "--json", "-x"), 0);
    assert_int_equal(arguments.operand_count, 2);
    check_str(arguments.operands[0], "--json");
    assert_false(arguments_has(&arguments, "json"));
}

static void a_single_dash_is_an_operand(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("-"), 0);
    check_str(arguments.operands[0], "-");
}

static void h_is_help(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("-h"), 0);
    assert_true(arguments_has(&arguments, "help"));
}

static void o_is_output_where_a_command_has_it(void **state)
{
    static const struct option writes[] = {{"output", "FILE", "a file"}, OPTION_END};
    char *words[] = {(char[]){"-o"}, (char[]){"plan.yaml"}, (char[]){"goal"}};
    struct arguments arguments;
    struct err err = ERR_INIT;
    assert_int_equal(options_parse(writes, 3, words, &arguments, &err), 0);
    check_str(arguments_value(&arguments, "output"), "plan.yaml");
    check_str(arguments.operands[0], "goal");
    assert_int_equal(options_parse(writes, 1, words, &arguments, &err), -1);
    assert_string_equal(err.message, "option -o needs a value: FILE");
    assert_int_equal(options_parse(table, 2, words, &arguments, &err), -1);
}

static void operands_beyond_the_maximum_are_counted(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("1", "2", "3", "4", "5", "6"), 0);
    assert_int_equal(arguments.operand_count, 6);
    check_str(arguments.operands[OPERANDS_MAX - 1], "4");
}

static void an_unknown_option_is_answered_with_the_nearest(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("--modle", "x"), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_string_equal(err.message, "unknown option --modle; did you mean --model?");
    assert_int_equal(PARSE("--max=3"), -1);
    assert_string_equal(err.message, "unknown option --max; did you mean --max-cost?");
    assert_int_equal(PARSE("--zzzzzzzz"), -1);
    assert_string_equal(err.message, "unknown option --zzzzzzzz; --help lists the options");
}

static void a_missing_value_is_an_error(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("--model"), -1);
    assert_string_equal(err.message, "option --model needs a value: --model NAME");
    assert_int_equal(PARSE("--model="), -1);
    assert_int_equal(PARSE("--model", ""), -1);
}

static void a_switch_takes_no_value(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("--json=yes"), -1);
    assert_string_equal(err.message, "option --json takes no value");
}

static void an_option_is_given_once(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("--model", "a", "--model", "b"), -1);
    assert_string_equal(err.message, "option --model is given twice");
}

static void a_short_option_is_refused(void **state)
{
    struct arguments arguments;
    struct err err;
    assert_int_equal(PARSE("-m", "a"), -1);
    assert_int_equal(err.class, ERR_USAGE);
}

static void numbers_are_whole_and_within_bounds(void **state)
{
    struct arguments arguments;
    struct err err;
    int64_t number;
    assert_int_equal(PARSE("--limit", "12"), 0);
    assert_int_equal(arguments_number(&arguments, "limit", 1, 100, 20, &number, &err), 0);
    assert_int_equal(number, 12);
    assert_int_equal(PARSE("x"), 0);
    assert_int_equal(arguments_number(&arguments, "limit", 1, 100, 20, &number, &err), 0);
    assert_int_equal(number, 20);
    static const char *const wrong[] = {"0", "101", "abc", "1.5", "+1", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(PARSE("--limit", wrong[i]), 0);
        assert_int_equal(arguments_number(&arguments, "limit", 1, 100, 20, &number, &err), -1);
        assert_int_equal(err.class, ERR_USAGE);
    }
}

static const char *next_word(const void *words, size_t i)
{
    return ((const char *const *)words)[i];
}

static void suggestions_are_near_or_none(void **state)
{
    static const char *const words[] = {"run", "runs", "resume", "events", "verify", NULL};
    const struct {
        const char *typed, *meant;
    } cases[] = {{"rnu", "run"},       {"rnus", "runs"},    {"reusme", "resume"},
                 {"event", "events"},  {"verfy", "verify"}, {"xyz", NULL},
                 {"", NULL},           {"q", NULL},         {"ver", "verify"},
                 {"resumes", "resume"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = suggest(str_from(cases[i].typed), next_word, words);
        if (cases[i].meant == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i].meant);
    }
}

static void errors_have_their_exit_codes(void **state)
{
    assert_int_equal(exit_of_error(ERR_USAGE), 2);
    assert_int_equal(exit_of_error(ERR_CONFIG), 2);
    assert_int_equal(exit_of_error(ERR_NOT_FOUND), 2);
    assert_int_equal(exit_of_error(ERR_IO), 1);
    assert_int_equal(exit_of_error(ERR_CORRUPT), 1);
    assert_int_equal(exit_of_error(ERR_RETRY), 1);
    assert_int_equal(exit_of_error(ERR_BUG), 1);
    assert_int_equal(exit_of_error(ERR_CANCELLED), 130);
}

static void runs_have_their_exit_codes(void **state)
{
    const struct {
        const char *status, *outcome;
        int code;
    } cases[] = {
        {"completed", "completed", 0},
        {"completed", "", 0},
        {"failed", "error", 1},
        {"failed", "completed", 1},
        {"failed", "budget_exceeded", 3},
        {"failed", "timeout", 4},
        {"completed", "budget_exceeded", 3},
        {"cancelled", "cancelled", 130},
        {"cancelled", "", 130},
        {"parked", "", 75},
        {"running", "", 1},
        {"", "", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(exit_of_run(str_from(cases[i].status), str_from(cases[i].outcome)),
                         cases[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stand_apart_or_behind_an_equals_sign),
        cmocka_unit_test(options_may_follow_operands),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(a_single_dash_is_an_operand),
        cmocka_unit_test(h_is_help),
        cmocka_unit_test(o_is_output_where_a_command_has_it),
        cmocka_unit_test(operands_beyond_the_maximum_are_counted),
        cmocka_unit_test(an_unknown_option_is_answered_with_the_nearest),
        cmocka_unit_test(a_missing_value_is_an_error),
        cmocka_unit_test(a_switch_takes_no_value),
        cmocka_unit_test(an_option_is_given_once),
        cmocka_unit_test(a_short_option_is_refused),
        cmocka_unit_test(numbers_are_whole_and_within_bounds),
        cmocka_unit_test(suggestions_are_near_or_none),
        cmocka_unit_test(errors_have_their_exit_codes),
        cmocka_unit_test(runs_have_their_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
