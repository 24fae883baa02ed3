/* The next command: what is proposed for what was found, and that programs are found as a shell finds them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/next.h"

#define LOCAL                                                                                      \
    {                                                                                              \
        .base_url = "http://127.0.0.1:11434/v1", .model = "qwen3:8b", .model_count = 1             \
    }
#define KEY .model = "gpt-4.1-mini", .source = "OPENAI_API_KEY"

static void a_model_by_key_or_config_comes_first(void **state)
{
    const struct next_found found = {.program = "cadre", KEY};
    struct next next[NEXT_MAX];
    assert_int_equal(next_propose(&found, next), 1);
    assert_string_equal(next[0].command, "cadre run \"Summarise README.md\"");
    assert_string_equal(next[0].why, "asks gpt-4.1-mini, from OPENAI_API_KEY");
}

static void a_server_that_a_run_finds_by_itself_needs_no_flags(void **state)
{
    const struct next_found found = {.program = "build/cadre", .server = LOCAL};
    struct next next[NEXT_MAX];
    assert_int_equal(next_propose(&found, next), 1);
    assert_string_equal(next[0].command, "build/cadre run \"Summarise README.md\"");
    assert_non_null(strstr(next[0].why, "qwen3:8b, from the server at http://127.0.0.1:11434/v1"));
}

static void a_server_beside_a_key_is_named_by_flags(void **state)
{
    const struct next_found found = {.program = "cadre", KEY, .server = LOCAL};
    struct next next[NEXT_MAX];
    assert_int_equal(next_propose(&found, next), 2);
    assert_string_equal(next[1].command, "cadre run --base-url http://127.0.0.1:11434/v1 --model "
                                         "qwen3:8b \"Summarise README.md\"");
}

static void a_name_that_a_shell_would_obey_is_in_no_command(void **state)
{
    static const char *const names[] = {"x;reboot", "$(reboot)", "`x`", "--store=x", "a|b", "a'b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct next_found found = {.program = "cadre", KEY, .server = LOCAL};
        struct next next[NEXT_MAX];
        snprintf(found.server.model, sizeof found.server.model, "%s", names[i]);
        assert_int_equal(next_propose(&found, next), 1);
    }
}

static void agents_of_others_share_a_line_behind_the_models(void **state)
{
    const struct next_found found = {
        .program = "cadre", KEY, .agents = {"claude", "codex"}, .agent_count = 2};
    struct next next[NEXT_MAX];
    assert_int_equal(next_propose(&found, next), 2);
    assert_string_equal(next[1].command, "cadre run --json \"Summarise README.md\"");
    assert_ptr_equal(strstr(next[1].why, "for claude, codex to call"), next[1].why);
}

static void without_a_model_the_doctor_is_next_and_agents_are_told_to_wait(void **state)
{
    const struct next_found found = {.program = "cadre", .agents = {"codex"}, .agent_count = 1};
    struct next next[NEXT_MAX];
    assert_int_equal(next_propose(&found, next), 2);
    assert_string_equal(next[0].command, "cadre doctor");
    assert_non_null(strstr(next[1].why, "once there is a model, for codex"));
}

static void a_config_that_is_wrong_is_the_only_thing_to_look_at(void **state)
{
    const struct next_found found = {.program = "cadre",
                                     .problem = "cadre.yaml:1:1: unknown key",
                                     .server = LOCAL,
                                     .agents = {"codex"},
                                     .agent_count = 1};
    struct next next[NEXT_MAX];
    assert_int_equal(next_propose(&found, next), 1);
    assert_string_equal(next[0].command, "cadre doctor");
    assert_non_null(strstr(next[0].why, "cadre.yaml:1:1: unknown key"));
}

/* --- what is found ---------------------------------------------------------------------------------------------------- */

static void put(const char *directory, const char *name, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    close(fd);
}

static void drop(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(remove(path), 0);
}

static void programs_are_found_in_absolute_directories_of_the_path(void **state)
{
    char directory[] = "/tmp/cadre-next-XXXXXX", path[512], self[256];
    struct next_found *found = calloc(1, sizeof *found);
    assert_non_null(found);
    assert_non_null(mkdtemp(directory));
    put(directory, "claude", 0755);
    put(directory, "codex", 0644); /* nobody may start it */
    put(directory, "cadre", 0755);
    snprintf(path, sizeof path, "%s/gemini", directory);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "bin::/nowhere:%s", directory);
    snprintf(self, sizeof self, "%s/cadre", directory);
    char *before = strdup(getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("HOME", directory, 1);
    next_look(self, found);
    assert_int_equal(found->agent_count, 1);
    assert_string_equal(found->agents[0], "claude");
    assert_string_equal(found->program, "cadre");

    setenv("PATH", "/nowhere", 1);
    next_look(self, found);
    assert_int_equal(found->agent_count, 0);
    assert_string_equal(found->program, self);
    setenv("PATH", before, 1);

    assert_int_equal(chdir(directory), 0);
    mkdir("build", 0700);
    put(directory, "build/cadre", 0755);
    snprintf(self, sizeof self, "%s/build/cadre", directory);
    next_look(self, found);
    assert_string_equal(found->program, "build/cadre");

    static const char *const made[] = {"claude", "codex",       "cadre",
                                       "gemini", "build/cadre", "build"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        drop(directory, made[i]);
    assert_int_equal(rmdir(directory), 0);
    free(before);
    free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_by_key_or_config_comes_first),
        cmocka_unit_test(a_server_that_a_run_finds_by_itself_needs_no_flags),
        cmocka_unit_test(a_server_beside_a_key_is_named_by_flags),
        cmocka_unit_test(a_name_that_a_shell_would_obey_is_in_no_command),
        cmocka_unit_test(agents_of_others_share_a_line_behind_the_models),
        cmocka_unit_test(without_a_model_the_doctor_is_next_and_agents_are_told_to_wait),
        cmocka_unit_test(a_config_that_is_wrong_is_the_only_thing_to_look_at),
        cmocka_unit_test(programs_are_found_in_absolute_directories_of_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
