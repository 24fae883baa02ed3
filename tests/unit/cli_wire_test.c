/* How flags, environment and adapters come together for a command. */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/wire.h"

/* Every test works in a directory of its own, which is also its HOME; the workspace is "ws". */
static int set_up(void **state)
{
    const char *base = getenv("TMPDIR");
    char *directory = malloc(PATH_MAX);
    snprintf(directory, PATH_MAX, "%s/cadre-wire-XXXXXX", base != NULL ? base : "/tmp");
    *state = mkdtemp(directory);
    if (*state == NULL || chdir(directory) != 0 || mkdir("ws", 0700) != 0)
        return -1;
    setenv("HOME", directory, 1);
    static const char *const unset[] = {"XDG_STATE_HOME",    "XDG_CONFIG_HOME", "CADRE_CONFIG",
                                        "ANTHROPIC_API_KEY", "OPENAI_API_KEY",  "CADRE_STORE"};
    for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++)
        unsetenv(unset[i]);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

static int tear_down(void **state)
{
    int result = chdir("/");
    nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return result;
}

static struct wire *open_wire(struct wire_request request)
{
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    if (wire_open(&request, &wire, &err) != 0)
        fail_msg("%s", err.message);
    return wire;
}

static void typed_paths_start_at_the_current_directory(void **state)
{
    char expected[PATH_MAX];
    FILE *file = fopen("my.yaml", "we");
    fputs("mode: auto\n", file);
    fclose(file);
    struct wire *wire = open_wire((struct wire_request){
        .flags = {.config_file = STR("my.yaml"), .store = STR("my.db")}, .workspace = STR("ws")});
    assert_int_equal(wire_config(wire)->settings.mode, MODE_AUTO);
    char *here = realpath(".", NULL);
    snprintf(expected, sizeof expected, "%s/my.db", here);
    check_str(wire_config(wire)->store_path, expected);
    snprintf(expected, sizeof expected, "%s/ws", here);
    check_str(wire_workspace(wire)->path, expected);
    free(here);
    wire_close(wire);
}

static void a_key_is_looked_at_only_where_a_model_is_needed(void **state)
{
    setenv("ANTHROPIC_API_KEY", "secret", 1);
    struct wire *wire = open_wire((struct wire_request){.need = WIRE_MODEL});
    check_str(wire_config(wire)->settings.default_model, "claude-sonnet-4-5");
    wire_close(wire);
    wire = open_wire((struct wire_request){.need = WIRE_STORE});
    assert_int_equal(wire_config(wire)->settings.model_count, 0);
    wire_close(wire);
}

static void the_tools_of_this_build_are_available(void **state)
{
    struct wire *wire = open_wire((struct wire_request){0});
    const struct list *tools = &wire_config(wire)->settings.available_tools;
    assert_int_equal(tools->state, LIST_SET);
    assert_true(list_has(tools, STR("read")));
    assert_true(list_has(tools, STR("write")));
    assert_true(list_has(tools, STR("spawn_agent")));
    assert_true(list_has(tools, STR("shell")));
    assert_false(list_has(tools, STR("teleport")));
    wire_close(wire);
}

static void last_in_an_empty_store_is_not_found(void **state)
{
    struct wire *wire = open_wire((struct wire_request){.flags = {.store = STR("new/cadre.db")}});
    struct store *store = NULL;
    struct err err = ERR_INIT;
    struct id id;
    assert_int_equal(wire_store(wire, &store, &err), 0);
    assert_int_equal(wire_find_run(wire, store, STR("last"), &id, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
    store->ops->close(store);
    wire_close(wire);
}

static void the_newest_run_is_last_and_a_prefix_finds_it(void **state)
{
    static const char *const ids[] = {"01HZZZZZZZ0000000000000001", "01JAAAAAAA0000000000000002"};
    struct wire *wire = open_wire((struct wire_request){.flags = {.store = STR("cadre.db")}});
    struct store *store = NULL;
    struct err err = ERR_INIT;
    struct id id;
    int64_t message;
    assert_int_equal(wire_store(wire, &store, &err), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(store->ops->inbox_put(store, str_from(ids[i]), STR("start"), STR("{}"),
                                               STR("test"), 1000 + (int64_t)i, &message, &err),
                         0);
    assert_int_equal(wire_find_run(wire, store, STR("01hz"), &id, &err), 0);
    assert_string_equal(id.text, ids[0]);
    assert_int_equal(wire_find_run(wire, store, STR("01"), &id, &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_int_equal(wire_find_run(wire, store, STR("7"), &id, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
    assert_int_equal(wire_find_run(wire, store, STR("last"), &id, &err), 0);
    assert_string_equal(id.text, ids[1]);
    store->ops->close(store);
    wire_close(wire);
}

static void versions_are_listed(void **state)
{
    struct buf text;
    buf_init(&text, 4096);
    wire_versions(&text);
    assert_non_null(strstr(text.p, "sqlite 3."));
    assert_non_null(strstr(text.p, "libcurl 7."));
    buf_release(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(typed_paths_start_at_the_current_directory),
        TEST(a_key_is_looked_at_only_where_a_model_is_needed),
        TEST(the_tools_of_this_build_are_available),
        TEST(last_in_an_empty_store_is_not_found),
        TEST(the_newest_run_is_last_and_a_prefix_finds_it),
        TEST(versions_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
