/* The table of commands: what every entry must have, and that docs/cli.md says the same. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "cli/commands.h"

#define PAGE_MAX ((size_t)1 << 20)

static bool has_option(const struct command *command, const char *name)
{
    for (size_t i = 0; command->options[i].name != NULL; i++) {
        if (strcmp(command->options[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Every command and, below it, every part of it. */
static void each(const struct command *const *list, void (*check)(const struct command *command))
{
    for (size_t i = 0; list[i] != NULL; i++) {
        check(list[i]);
        if (list[i]->parts != NULL)
            each(list[i]->parts, check);
    }
}

static void check_common_options(const struct command *command)
{
    assert_true(has_option(command, "json"));
    assert_true(has_option(command, "help"));
}

static void every_command_has_json_and_help(void **state)
{
    each(commands, check_common_options);
}

static void check_entry(const struct command *command)
{
    char words[64];
    snprintf(words, sizeof words, "cadre %s", command->name);
    assert_true(strlen(command->summary) > 0);
    assert_non_null(command->usage);
    assert_non_null(command->run);
    assert_true(command->operand_min <= command->operand_max);
    assert_true(command->operand_max <= OPERANDS_MAX);
    assert_non_null(strstr(command->example, words));
    for (size_t i = 0; command->parts != NULL && command->parts[i] != NULL; i++)
        assert_true(str_starts(str_from(command->parts[i]->name), str_from(command->name)));
}

static void every_entry_is_complete(void **state)
{
    each(commands, check_entry);
    for (size_t i = 0; commands[i] != NULL; i++)
        assert_ptr_equal(command_find(str_from(commands[i]->name)), commands[i]);
}

static void check_options(const struct command *command)
{
    const struct option *options = command->options;
    size_t count = 0;
    for (; options[count].name != NULL; count++) {
        assert_true(strlen(options[count].help) > 0);
        for (size_t k = 0; k < count; k++)
            assert_string_not_equal(options[k].name, options[count].name);
    }
    assert_true(count <= OPTIONS_MAX);
}

static void options_fit_the_parser_and_stand_once(void **state)
{
    each(commands, check_options);
}

static void help_shows_usage_options_and_an_example(void **state)
{
    struct buf text;
    buf_init(&text, PAGE_MAX);
    command_help(command_find(STR("run")), &text);
    assert_non_null(strstr(text.p, "Usage: cadre run \"TASK\""));
    assert_non_null(strstr(text.p, "--max-cost DOLLARS"));
    assert_non_null(strstr(text.p, "Example:\n  cadre run"));
    buf_release(&text);
}

static void an_unknown_command_is_answered_with_the_nearest(void **state)
{
    struct err err = ERR_INIT;
    assert_null(command_find(STR("rezume")));
    assert_int_equal(command_unknown(STR("rezume"), &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_string_equal(err.message, "unknown command \"rezume\"; did you mean \"resume\"?");
}

static void the_docs_say_what_the_table_says(void **state)
{
    const char *tests = getenv("CADRE_TESTS");
    char path[4096];
    struct buf page, file;
    if (tests == NULL)
        fail_msg("CADRE_TESTS must name the tests' folder");
    snprintf(path, sizeof path, "%s/../docs/cli.md", tests);
    buf_init(&page, PAGE_MAX);
    buf_init(&file, PAGE_MAX);
    commands_markdown(&page);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        fail_msg("%s cannot be opened", path);
    char *room = buf_reserve(&file, PAGE_MAX / 2);
    file.n = fread(room, 1, PAGE_MAX / 2, in);
    fclose(in);
    if (!str_eq(buf_view(&page), buf_view(&file)))
        fail_msg("docs/cli.md has drifted: cadre help --markdown > docs/cli.md");
    buf_release(&page);
    buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_json_and_help),
        cmocka_unit_test(every_entry_is_complete),
        cmocka_unit_test(options_fit_the_parser_and_stand_once),
        cmocka_unit_test(help_shows_usage_options_and_an_example),
        cmocka_unit_test(an_unknown_command_is_answered_with_the_nearest),
        cmocka_unit_test(the_docs_say_what_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
