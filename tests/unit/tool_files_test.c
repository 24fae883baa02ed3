/* The tools write and delete as a model meets them: what they answer, what they refuse,
 * what they leave on disk, and what can be said after a crash. */
#include "tool_fixture.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* --- write ------------------------------------------------------------------------------------ */

static void write_creates_a_file_and_its_directories(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(call_ok(f, "write", "{\"path\":\"a/b/c.txt\",\"content\":\"x\\ny\\n\"}"),
                        "Created a/b/c.txt (2 lines, 4 bytes).\n");
    assert_string_equal(content_of(f, "a/b/c.txt"), "x\ny\n");
    assert_int_equal(f->result.modified_count, 1);
    assert_string_equal(f->result.files_modified[0].p, "a/b/c.txt");
    assert_int_equal(f->prepared.before, FILE_ABSENT);
}

static void write_replaces_a_file_and_hashes_both_states(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "old");
    assert_contains(call_ok(f, "write", "{\"path\":\"a\",\"content\":\"new\"}"), "Replaced a");
    struct hash before = hash_of(STR("old")), after = hash_of(STR("new"));
    assert_int_equal(f->prepared.before, FILE_PRESENT);
    assert_true(hash_eq(&f->prepared.before_hash, &before));
    assert_true(hash_eq(&f->prepared.after_hash, &after));
    assert_string_equal(content_of(f, "a"), "new");
}

static void write_replaces_the_file_and_not_its_content(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "old");
    assert_int_equal(link(in_workspace(f, "a"), in_workspace(f, "other")), 0);
    call_ok(f, "write", "{\"path\":\"a\",\"content\":\"new\"}");
    assert_string_equal(content_of(f, "other"), "old");
}

static void prepare_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse("{\"path\":\"d/a\",\"content\":\"x\"}");
    const struct tool *tool = tool_find(STR("write"));
    assert_int_equal(tool->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(access(in_workspace(f, "d"), F_OK), -1);
    js_free(arguments);
}

/* Prepares a call, lets `meanwhile` be the new content of the file (NULL: deletes it), runs it. */
static const char *call_interrupted(struct fixture *f, const char *name, const char *json,
                                    const char *path, const char *meanwhile)
{
    struct js *arguments = parse(json);
    const struct tool *tool = tool_find(str_from(name));
    assert_int_equal(tool->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    if (meanwhile)
        put(f, path, meanwhile);
    else
        assert_int_equal(unlink(in_workspace(f, path)), 0);
    tool->run(&f->context, arguments, &f->prepared, &f->result);
    js_free(arguments);
    assert_int_equal(f->result.kind, RESULT_ERROR);
    assert_int_equal(f->result.modified_count, 0);
    return f->result.text.p;
}

static void a_file_that_changed_since_prepare_is_not_written_edited_or_deleted(void **state)
{
    struct fixture *f = *state;
    static const char *const calls[][2] = {
        {"write", "{\"path\":\"a\",\"content\":\"mine\"}"},
        {"edit", "{\"path\":\"a\",\"old_text\":\"old\",\"new_text\":\"mine\"}"},
        {"delete", "{\"path\":\"a\"}"},
    };
    for (size_t i = 0; i < 3; i++) {
        put(f, "a", "old");
        assert_string_equal(call_interrupted(f, calls[i][0], calls[i][1], "a", "old and theirs"),
                            "Error: a changed while this call was waiting; read it again");
        assert_string_equal(content_of(f, "a"), "old and theirs");
        put(f, "a", "old");
        assert_contains(call_interrupted(f, calls[i][0], calls[i][1], "a", NULL), "a changed");
        assert_null(content_of(f, "a"));
    }
    assert_contains(call_interrupted(f, "write", "{\"path\":\"n/new\",\"content\":\"mine\"}",
                                     "n/new", "theirs"),
                    "n/new changed");
    assert_string_equal(content_of(f, "n/new"), "theirs");
}

static void writing_through_links_outside_or_in_git_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const calls[][2] = {
        {"write", ",\"content\":\"x\""},
        {"edit", ",\"old_text\":\"outside\",\"new_text\":\"x\""},
        {"delete", ""},
    };
    static const char *const paths[] = {"link",        "dir/secret", "../outside/secret",
                                        ".git/config", "fifo",       "d"};
    char json[200];
    put(f, ".git/config", "outside");
    put(f, "d/x", "x");
    assert_int_equal(symlink("../outside/secret", in_workspace(f, "link")), 0);
    assert_int_equal(symlink("../outside", in_workspace(f, "dir")), 0);
    assert_int_equal(mkfifo(in_workspace(f, "fifo"), 0600), 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
            snprintf(json, sizeof json, "{\"path\":\"%s\"%s}", paths[j], calls[i][1]);
            call_error(f, calls[i][0], json, "Error: ");
        }
    assert_string_equal(content_of(f, "../outside/secret"), SECRET);
    assert_string_equal(content_of(f, ".git/config"), "outside");
    assert_non_null(content_of(f, "d/x"));
}

/* Every tool that changes a file, with what it needs beside the path. */
static const struct {
    const char *tool, *rest;
} changers[] = {
    {"write", ",\"content\":\"x\""},
    {"edit", ",\"old_text\":\"x\",\"new_text\":\"y\""},
    {"multi_edit", ",\"edits\":[{\"old_text\":\"x\",\"new_text\":\"y\"}]"},
    {"delete", ""},
};

static void refused_by_all(struct fixture *f, const char *path_json, const char *why)
{
    char json[6000];
    for (size_t i = 0; i < sizeof changers / sizeof changers[0]; i++) {
        snprintf(json, sizeof json, "{\"path\":\"%s\"%s}", path_json, changers[i].rest);
        call_error(f, changers[i].tool, json, why);
    }
}

static void what_is_no_regular_file_is_refused_in_words(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int home = open(".", O_PATH | O_CLOEXEC);
    snprintf(address.sun_path, sizeof address.sun_path, "socket");
    assert_int_equal(chdir(f->workspace), 0); /* the path of a socket may be too long otherwise */
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(fchdir(home), 0);
    close(home);
    close(listener);
    assert_int_equal(mkfifo(in_workspace(f, "fifo"), 0600), 0);
    assert_int_equal(mkdir(in_workspace(f, "d"), 0700), 0);
    refused_by_all(f, "socket", "not a regular file");
    refused_by_all(f, "fifo", "not a regular file");
    refused_by_all(f, "d", "is a directory");
    if (mknod(in_workspace(f, "null"), S_IFCHR | 0600, makedev(1, 3)) == 0)
        refused_by_all(f, "null", "not a regular file");
}

static void git_is_refused_in_any_case(void **state)
{
    struct fixture *f = *state;
    refused_by_all(f, ".git/config", ".git");
    refused_by_all(f, ".GIT/config", ".GIT");
    refused_by_all(f, "sub/.Git/hooks/x", ".Git");
    refused_by_all(f, ".git", ".git");
    assert_int_equal(access(in_workspace(f, ".GIT"), F_OK), -1);
}

/* git cannot carry some of them, and a file system may fold each into `.git`. */
static void names_that_stand_for_git_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {".git.",
                                        "sub/.git ",
                                        ".git. ./config",
                                        "GIT~1/config",
                                        "git~2",
                                        ".git:stream",
                                        ".git::$INDEX_ALLOCATION/config",
                                        ".g\u200cit/config",
                                        "sub/.git\ufeff",
                                        ".\u200bGIT",
                                        "a\\\\.git\\\\config"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        refused_by_all(f, paths[i], "takes a part of this path for .git");
    assert_int_equal(access(in_workspace(f, "sub"), F_OK), -1);
    static const char *const fine[] = {".gitignore", ".github/x", "git",   ".git-old",
                                       "x.git/y",    "git~",      ".git.x"};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        char json[100];
        snprintf(json, sizeof json, "{\"path\":\"%s\",\"content\":\"x\"}", fine[i]);
        call_ok(f, "write", json);
    }
}

/* By what is in it git knows a repository of any name. */
static void a_repository_made_of_files_is_refused(void **state)
{
    struct fixture *f = *state;
    call_ok(f, "write", "{\"path\":\"x/HEAD\",\"content\":\"ref: refs/heads/x\"}");
    call_ok(f, "write", "{\"path\":\"x/config\",\"content\":\"x\"}");
    call_ok(f, "write", "{\"path\":\"x/objects/a\",\"content\":\"x\"}");
    call_error(f, "write", "{\"path\":\"x/refs/a\",\"content\":\"x\"}", "nothing is written in x");
    call_error(f, "write", "{\"path\":\"x/commondir\",\"content\":\"x\"}", "for a repository");
    assert_int_equal(access(in_workspace(f, "x/refs"), F_OK), -1);
    put(f, "y/HEAD", "x");
    put(f, "y/objects/a", "x");
    put(f, "y/refs/a", "x");
    put(f, "y/config", "x");
    refused_by_all(f, "y/config", "for a repository");
    refused_by_all(f, "y/hooks/post-checkout", "for a repository");
    call_ok(f, "write", "{\"path\":\"objects/a\",\"content\":\"x\"}");
    call_ok(f, "write", "{\"path\":\"refs/a\",\"content\":\"x\"}");
    call_error(f, "write", "{\"path\":\"HEAD\",\"content\":\"x\"}", "nothing is written in .");
    call_ok(f, "read", "{\"path\":\"y/config\"}");
}

/* What cadre reads before agents start is the user's: a file that an agent could write would widen or redirect the next run. */
static void config_of_cadre_is_refused_in_any_spelling(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {"cadre.yaml",
                                        "./cadre.yaml",
                                        "src/../cadre.yaml",
                                        "Cadre.YAML",
                                        "sub/cadre.yaml",
                                        "new/sub/CADRE.yaml",
                                        ".cadre",
                                        ".cadre/commands/x.md",
                                        ".CADRE/reports/x",
                                        "sub/.cadre/plans/a",
                                        "cadre.yaml.",
                                        "cadre.yaml ",
                                        "cadre\u200d.yaml",
                                        ".cadre\ufeff/plan.md"};
    put(f, "cadre.yaml", "x");
    put(f, "sub/cadre.yaml", "x");
    put(f, ".cadre/commands/x.md", "x");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        refused_by_all(f, paths[i], "belongs to cadre's user");
    assert_string_equal(content_of(f, "cadre.yaml"), "x");
    assert_string_equal(content_of(f, ".cadre/commands/x.md"), "x");
    assert_int_equal(access(in_workspace(f, "new"), F_OK), -1);
    call_ok(f, "read", "{\"path\":\"cadre.yaml\"}");
    call_ok(f, "write", "{\"path\":\"my-cadre.yaml\",\"content\":\"x\"}");
    call_ok(f, "write", "{\"path\":\"cadre/yaml\",\"content\":\"x\"}");
}

static void names_that_no_file_can_have_are_refused(void **state)
{
    struct fixture *f = *state;
    char name[5000];
    memset(name, 'n', sizeof name);
    name[300] = '\0';
    refused_by_all(f, name, "longer than 255 bytes");
    name[300] = 'n';
    name[sizeof name - 1] = '\0';
    refused_by_all(f, name, "Error: ");
    refused_by_all(f, "a\\u0000b", "Error: ");
    assert_null(content_of(f, "a"));
}

static void writing_outside_the_contract_names_the_allowed_paths(void **state)
{
    struct fixture *f = *state;
    f->paths[1] = STR("src/auth");
    f->context.write_paths = f->paths + 1;
    call_error(f, "write", "{\"path\":\"src/auth-evil/a\",\"content\":\"x\"}", "allowed: src/auth");
    call_error(f, "write", "{\"path\":\"src/auth/../a\",\"content\":\"x\"}", "allowed: src/auth");
    call_ok(f, "write", "{\"path\":\"src/auth/a\",\"content\":\"x\"}");
    f->context.write_count = 0;
    call_error(f, "write", "{\"path\":\"src/auth/a\",\"content\":\"y\"}", "allowed: none");
}

static void a_path_through_a_file_is_refused(void **state)
{
    put(*state, "a", "x");
    call_error(*state, "write", "{\"path\":\"a/b\",\"content\":\"x\"}", "not a directory");
}

/* --- delete ----------------------------------------------------------------------------------- */

static void delete_removes_one_file(void **state)
{
    struct fixture *f = *state;
    put(f, "a/b", "x");
    assert_string_equal(call_ok(f, "delete", "{\"path\":\"a/b\"}"), "Deleted a/b.\n");
    assert_null(content_of(f, "a/b"));
    assert_string_equal(f->result.files_modified[0].p, "a/b");
    call_error(f, "delete", "{\"path\":\"a/b\"}", "does not exist");
    call_error(f, "delete", "{\"path\":\"a\"}", "is a directory");
    call_error(f, "delete", "{\"path\":\".\"}", "the workspace itself");
}

/* --- after a crash ---------------------------------------------------------------------------- */

static void settle_compares_the_file_with_both_states(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse("{\"path\":\"a\",\"content\":\"new\"}");
    put(f, "a", "old");
    assert_int_equal(
        tool_find(STR("write"))->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    put(f, "a", "new");
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    put(f, "a", "else");
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_UNKNOWN);
    assert_int_equal(unlink(in_workspace(f, "a")), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_UNKNOWN);
    js_free(arguments);
}

static void settle_knows_created_and_deleted_files(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse("{\"path\":\"d/a\",\"content\":\"\"}");
    assert_int_equal(
        tool_find(STR("write"))->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    put(f, "d/a", "");
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    assert_int_equal(
        tool_find(STR("delete"))->prepare(&f->context, arguments, &f->prepared, &f->result), -1);
    js_free(arguments);
    arguments = parse("{\"path\":\"d/a\"}");
    assert_int_equal(
        tool_find(STR("delete"))->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    assert_int_equal(unlink(in_workspace(f, "d/a")), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    js_free(arguments);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(write_creates_a_file_and_its_directories),
        TEST(write_replaces_a_file_and_hashes_both_states),
        TEST(write_replaces_the_file_and_not_its_content),
        TEST(prepare_changes_nothing),
        TEST(a_file_that_changed_since_prepare_is_not_written_edited_or_deleted),
        TEST(writing_through_links_outside_or_in_git_is_refused),
        TEST(what_is_no_regular_file_is_refused_in_words),
        TEST(git_is_refused_in_any_case),
        TEST(config_of_cadre_is_refused_in_any_spelling),
        TEST(names_that_stand_for_git_are_refused),
        TEST(a_repository_made_of_files_is_refused),
        TEST(names_that_no_file_can_have_are_refused),
        TEST(writing_outside_the_contract_names_the_allowed_paths),
        TEST(a_path_through_a_file_is_refused),
        TEST(delete_removes_one_file),
        TEST(settle_compares_the_file_with_both_states),
        TEST(settle_knows_created_and_deleted_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
