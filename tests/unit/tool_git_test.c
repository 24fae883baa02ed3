/* The tools git, git_diff and git_commit on a real repository: what they show, what they refuse, what they commit. */
#include "tool/git_words.h"
#include "tool/table.h"
#include "unit/git_fixture.h"
#include "unit/tool_fixture.h"

struct desk {
    struct git_room room; /* lies in the fixture's directory */
    struct fixture *f;
    struct tool_services services;
};

static int desk_setup(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    struct err err = ERR_INIT;
    void *fixture;
    signal(SIGPIPE, SIG_IGN);
    fixture_setup(&fixture);
    desk->f = fixture;
    snprintf(desk->room.top, sizeof desk->room.top, "%s", desk->f->top);
    snprintf(desk->room.ws, sizeof desk->room.ws, "%s", desk->f->workspace);
    snprintf(desk->room.state, sizeof desk->room.state, "%s/state", desk->f->top);
    arena_init(&desk->room.arena);
    buf_init(&desk->room.said, 1 << 20);
    assert_int_equal(git_vcs_open(&desk->room.vcs, str_from(desk->room.state), STR(""), &err), 0);
    desk->services.vcs = &desk->room.vcs.port;
    desk->f->context.services = &desk->services;
    shell(&desk->room,
          "git init -q -b main .; git config user.name Owner; git config user.email o@example.org; "
          "mkdir src doc; printf 'one\\ntwo\\n' > a.txt; printf 'sea\\n' > src/c.txt; "
          "printf 'hidden words\\n' > doc/d.txt; git add .; git commit -qm 'first commit'");
    *state = desk;
    return 0;
}

static int desk_teardown(void **state)
{
    struct desk *desk = *state;
    void *fixture = desk->f;
    arena_release(&desk->room.arena);
    buf_release(&desk->room.said);
    fixture_teardown(&fixture);
    free(desk);
    return 0;
}

/* The agent may read (or write) beneath src only. */
static void narrow_reading(struct desk *desk)
{
    static const struct str src[] = {{"src", 3}};
    desk->f->context.read_paths = src;
    desk->f->context.read_count = 1;
}

static void narrow_writing(struct desk *desk)
{
    static const struct str src[] = {{"src", 3}};
    desk->f->context.write_paths = src;
    desk->f->context.write_count = 1;
}

/* --- git ----------------------------------------------------------------------------------------------------------------------- */

static void it_answers_questions_about_history_and_state(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    shell(&desk->room, "echo three >> a.txt; echo n > new.txt; git tag v1");
    assert_contains(call_ok(f, "git", "{\"command\":\"log\",\"args\":[\"--oneline\"]}"),
                    "first commit");
    assert_contains(call_ok(f, "git", "{\"command\":\"status\",\"args\":[\"-s\"]}"),
                    " M a.txt\n?? new.txt");
    assert_contains(call_ok(f, "git", "{\"command\":\"show\",\"args\":[\"HEAD:src/c.txt\"]}"),
                    "sea\n");
    assert_contains(call_ok(f, "git", "{\"command\":\"show\",\"args\":[\"--stat\",\"HEAD\"]}"),
                    "a.txt");
    assert_contains(
        call_ok(f, "git", "{\"command\":\"blame\",\"args\":[\"-L\",\"1,1\",\"a.txt\"]}"), "one");
    assert_contains(
        call_ok(f, "git", "{\"command\":\"blame\",\"args\":[\"-L1,1\",\"--\",\"a.txt\"]}"), "one");
    assert_contains(call_ok(f, "git", "{\"command\":\"branch\"}"), "* main");
    assert_contains(call_ok(f, "git", "{\"command\":\"tag\",\"args\":[\"v*\"]}"), "v1");
    assert_contains(call_ok(f, "git", "{\"command\":\"ls-files\",\"paths\":[\"src\"]}"),
                    "src/c.txt\n");
    assert_contains(
        call_ok(f, "git", "{\"command\":\"ls-tree\",\"args\":[\"-r\",\"--name-only\"]}"),
        "doc/d.txt\n");
    assert_contains(call_ok(f, "git", "{\"command\":\"shortlog\",\"args\":[\"-sn\"]}"), "User");
    assert_contains(call_ok(f, "git", "{\"command\":\"describe\",\"args\":[\"--tags\"]}"), "v1");
    assert_contains(
        call_ok(f, "git", "{\"command\":\"rev-parse\",\"args\":[\"--abbrev-ref\",\"HEAD\"]}"),
        "main\n");
    assert_contains(call_ok(f, "git", "{\"command\":\"remote\"}"), "[nothing to show]");
    assert_contains(call_ok(f, "git", "{\"command\":\"log\",\"args\":[\"-1\",\"--format=%s\"]}"),
                    "first commit");
}

static void what_is_not_on_the_list_is_refused(void **state)
{
    struct fixture *f = ((struct desk *)*state)->f;
    static const char *const calls[][2] = {
        {"{\"command\":\"push\"}", "git push is not allowed"},
        {"{\"command\":\"diff\"}", "use the tool git_diff"},
        {"{\"command\":\"-c\"}", "not allowed"},
        {"{\"command\":\"logs\"}", "not allowed"},
        {"{\"command\":\"lo\"}", "not allowed"},
        {"{\"command\":\"status\",\"args\":[\"--shor\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--output=/tmp/x\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--ext-diff\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--textconv\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--show-signature\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--format=%G?\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"-c\",\"core.pager=x\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--exec-path=/tmp\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--git-dir=/tmp\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--submodule=diff\"]}", "not allowed"},
        {"{\"command\":\"log\",\"args\":[\"--no-index\"]}", "not allowed"},
        {"{\"command\":\"blame\",\"args\":[\"--contents=/etc/passwd\",\"a.txt\"]}", "not allowed"},
        {"{\"command\":\"ls-files\",\"args\":[\"--exclude-from=/etc/passwd\"]}", "not allowed"},
        {"{\"command\":\"branch\",\"args\":[\"-D\",\"main\"]}", "not allowed"},
        {"{\"command\":\"branch\",\"args\":[\"-m\",\"x\"]}", "not allowed"},
        {"{\"command\":\"tag\",\"args\":[\"-d\",\"v1\"]}", "not allowed"},
        {"{\"command\":\"remote\",\"args\":[\"add\",\"x\"]}", "nothing but options"},
        {"{\"command\":\"log\",\"args\":[\"a b\"]}", "not a revision"},
        {"{\"command\":\"log\",\"args\":[\":/x\"]}", "not a revision"},
        {"{\"command\":\"log\",\"args\":[7]}", "array of words"},
        {"{\"command\":\"log\",\"args\":[\"-n\"]}", "needs a value"},
        {"{\"command\":\"show\",\"args\":[\"HEAD:../outside/secret\"]}", "outside"},
        {"{\"command\":\"log\",\"paths\":[\"../outside\"]}", "outside"},
        {"{\"command\":\"log\",\"paths\":[\"/etc/passwd\"]}", "outside"},
        {"{\"command\":\"log\",\"paths\":[\".git/config\"]}", ".git"},
        {"{\"command\":\"log\",\"args\":[\"nowhere\"]}", "nowhere"},
        {"{\"command\":\"log\",\"words\":[]}", "unknown argument"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        call_error(f, "git", calls[i][0], calls[i][1]);
}

/* No word of the list is another command's or option's beginning by accident: only whole words count. */
static void options_are_compared_whole(void **state)
{
    for (size_t c = 0; c < git_command_count; c++) {
        const struct git_command *command = &git_commands[c];
        assert_ptr_equal(git_command_find(str_from(command->name)), command);
        for (const struct git_option *option = command->options; option->name; option++) {
            struct str name = str_from(option->name);
            char longer[64];
            snprintf(longer, sizeof longer, "%sx", option->name);
            assert_non_null(git_option_find(command, name));
            if (option->kind == GIT_OPTION_FLAG && name.n > 2)
                assert_null(git_option_find(command, str_from(longer)));
        }
    }
}

static void magic_in_paths_is_only_a_name(void **state)
{
    struct fixture *f = ((struct desk *)*state)->f;
    assert_contains(call_ok(f, "git", "{\"command\":\"ls-files\",\"paths\":[\":(glob)**\"]}"),
                    "[nothing to show]");
    assert_contains(call_ok(f, "git", "{\"command\":\"ls-files\",\"paths\":[\"*.txt\"]}"),
                    "[nothing to show]");
}

static void only_readable_paths_are_shown(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    shell(&desk->room, "echo changed words >> doc/d.txt; echo more >> src/c.txt");
    const char *blob =
        arena_copy(&f->arena, str_from(shell(&desk->room, "git rev-parse HEAD:doc/d.txt"))).p;
    const char *tree =
        arena_copy(&f->arena, str_from(shell(&desk->room, "git rev-parse HEAD^{tree}"))).p;
    narrow_reading(desk);
    const char *const calls[] = {
        "{\"command\":\"log\",\"args\":[\"-p\"]}",
        "{\"command\":\"status\"}",
        "{\"command\":\"show\",\"args\":[\"HEAD\"]}",
        "{\"command\":\"ls-files\"}",
        "{\"command\":\"ls-tree\",\"args\":[\"-r\",\"HEAD\"]}",
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const char *text = call_ok(f, "git", calls[i]);
        assert_contains(text, "c.txt");
        assert_lacks(text, "d.txt");
        assert_lacks(text, "words");
    }
    call_error(f, "git", "{\"command\":\"show\",\"args\":[\"HEAD:doc/d.txt\"]}", "outside");
    call_error(f, "git", "{\"command\":\"blame\",\"args\":[\"doc/d.txt\"]}", "outside");
    call_error(f, "git",
               arena_printf(&f->arena, "{\"command\":\"show\",\"args\":[\"%s\"]}", blob).p,
               "git show");
    call_error(f, "git",
               arena_printf(&f->arena, "{\"command\":\"show\",\"args\":[\"%s\"]}", tree).p,
               "git show");
    const char *text = call_ok(f, "git_diff", "{}");
    assert_contains(text, "+more");
    assert_lacks(text, "words");
    call_error(f, "git_diff", "{\"paths\":[\"doc\"]}", "outside");
}

/* The workspace is a directory of a larger repository. */
static void the_rest_of_a_repository_stays_hidden(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    struct err err = ERR_INIT;
    shell(&desk->room, "echo changed words >> doc/d.txt; echo more >> src/c.txt");
    scope_close(&f->scope);
    assert_int_equal(scope_open(&f->scope, in_workspace(f, "src"), &err), 0);
    assert_contains(call_ok(f, "git", "{\"command\":\"show\",\"args\":[\"HEAD:c.txt\"]}"), "sea");
    assert_contains(call_ok(f, "git", "{\"command\":\"blame\",\"args\":[\"c.txt\"]}"), "sea");
    const char *text = call_ok(f, "git", "{\"command\":\"log\",\"args\":[\"-p\"]}");
    assert_contains(text, "sea");
    assert_lacks(text, "words");
    text = call_ok(f, "git_diff", "{}");
    assert_contains(text, "+more");
    assert_lacks(text, "words");
}

static void a_long_answer_is_cut_with_a_way_out(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "seq 1 20000 > a.txt");
    const char *text = call_ok(desk->f, "git_diff", "{}");
    assert_contains(text, "left out here]");
    assert_contains(text, "[truncated; for a shorter answer: paths");
}

static void names_with_newlines_and_escapes_are_made_safe(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "printf x > \"$(printf 'e\\033[31mvil')\"; git add -A; git commit -qm "
                       "\"$(printf 'red \\033[31m')\"");
    assert_lacks(call_ok(desk->f, "git", "{\"command\":\"log\",\"args\":[\"--name-only\"]}"),
                 "\033");
}

static void without_a_repository_or_git_it_says_so(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "rm -rf .git");
    call_error(desk->f, "git", "{\"command\":\"status\"}", "not in a git repository");
    desk->services = (struct tool_services){.vcs_problem = STR("git is not installed")};
    call_error(desk->f, "git", "{\"command\":\"status\"}", "git is not installed");
    call_error(desk->f, "git_commit", "{\"message\":\"m\",\"paths\":[\".\"]}",
               "git is not installed");
}

/* --- git_diff --------------------------------------------------------------------------------------------------------------------- */

static void differences_of_files_index_and_commits(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    shell(&desk->room, "echo three >> a.txt; git add a.txt; echo four >> a.txt; git commit -qm "
                       "second; echo five >> src/c.txt; git add src/c.txt");
    assert_lacks(call_ok(f, "git_diff", "{}"), "+five");
    assert_contains(call_ok(f, "git_diff", "{}"), "+four");
    assert_contains(call_ok(f, "git_diff", "{\"staged\":true}"), "+five");
    assert_contains(call_ok(f, "git_diff", "{\"from\":\"HEAD~1\",\"to\":\"HEAD\"}"), "+three");
    assert_lacks(call_ok(f, "git_diff", "{\"from\":\"HEAD~1\",\"to\":\"HEAD\"}"), "+four");
    assert_contains(call_ok(f, "git_diff", "{\"from\":\"HEAD\",\"stat\":true}"), "2 files changed");
    assert_lacks(call_ok(f, "git_diff", "{\"from\":\"HEAD\",\"paths\":[\"src\"]}"), "+four");
    call_error(f, "git_diff", "{\"from\":\"HEAD~1..HEAD\"}", "a range");
    call_error(f, "git_diff", "{\"to\":\"HEAD\"}", "needs \"from\"");
    call_error(f, "git_diff", "{\"from\":\"--output=x\"}", "not a revision");
    call_error(f, "git_diff", "{\"from\":\"HEAD:a.txt\"}", "not a revision");
}

/* --- git_commit ------------------------------------------------------------------------------------------------------------------- */

static void named_files_are_committed_and_nothing_else(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    shell(&desk->room, "echo three >> a.txt; echo four >> src/c.txt; git add src/c.txt; rm "
                       "doc/d.txt; echo n > new.txt");
    const char *text = call_ok(
        f, "git_commit", "{\"message\":\"second\",\"paths\":[\"a.txt\",\"doc\",\"new.txt\"]}");
    assert_contains(text, "Committed 3 files as ");
    assert_contains(text, " on main:\na.txt\ndoc/d.txt\nnew.txt\n");
    assert_int_equal(f->result.modified_count, 3);
    assert_string_equal(shell(&desk->room, "git show --format=%%s/%%an/%%cn --name-status"),
                        "second/Owner/cadre\n\nM\ta.txt\nD\tdoc/d.txt\nA\tnew.txt");
    assert_string_equal(shell(&desk->room, "git status --porcelain"), "M  src/c.txt");
    call_error(f, "git_commit", "{\"message\":\"again\",\"paths\":[\"a.txt\"]}",
               "nothing to commit");
}

static void the_first_commit_of_a_repository(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "rm -rf .git; git init -q -b main .");
    assert_contains(call_ok(desk->f, "git_commit", "{\"message\":\"m\",\"paths\":[\"a.txt\"]}"),
                    "on main");
    assert_string_equal(shell(&desk->room, "git log --format=%%s/%%an --name-only"),
                        "m/cadre\n\na.txt");
}

static void a_detached_head_moves_alone(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "git checkout -q --detach; echo x > x.txt");
    assert_contains(call_ok(desk->f, "git_commit", "{\"message\":\"m\",\"paths\":[\"x.txt\"]}"),
                    "HEAD is detached");
    assert_string_equal(
        shell(&desk->room, "git log --oneline | wc -l; git log --oneline main | wc -l"), "2\n1");
}

static void what_must_not_be_committed_is_refused(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    static const char *const cases[][2] = {
        {"git init -q sub; git -C sub commit -q --allow-empty -m x", "a repository within"},
        {"echo x > .gitmodules", "submodules are not changed"},
        {"ln -s /etc/passwd out", "leads out of the workspace"},
        {"ln -s ../../x src/out", "leads out of the workspace"},
        {"ln -s ../.git/config src/in", "leads into .git"},
        {"echo '* filter=evil' > .gitattributes", "name a filter"},
        {"echo 'mode: plan' > cadre.yaml", "cadre.yaml: it belongs to cadre's user"},
        {"mkdir -p src/deep; echo x > src/deep/Cadre.yaml", "it belongs to cadre's user"},
        {"mkdir -p src/.cadre/commands; echo x > src/.cadre/commands/x.md",
         "it belongs to cadre's user"},
        {"git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),link; mkdir link",
         "a repository within"},
    };
    const char *head = arena_copy(&f->arena, str_from(shell(&desk->room, "git rev-parse HEAD"))).p;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        shell(&desk->room, "git reset -q --hard; git clean -qffdx; %s", cases[i][0]);
        call_error(f, "git_commit", "{\"message\":\"m\",\"paths\":[\".\"]}", cases[i][1]);
        assert_string_equal(shell(&desk->room, "git rev-parse HEAD"), head);
    }
    shell(&desk->room, "git reset -q --hard; git clean -qffdx; ln -s c.txt src/fine; mkdir .cadre; "
                       "echo r > .cadre/report");
    call_ok(f, "git_commit", "{\"message\":\"m\",\"paths\":[\".\"]}");
    assert_string_equal(shell(&desk->room, "git show --format= --name-only"), "src/fine");
    call_error(f, "git_commit", "{\"message\":\"m\",\"paths\":[\".cadre\"]}", "nothing to commit");
}

static void a_commit_stays_within_the_writable_paths(void **state)
{
    struct desk *desk = *state;
    struct fixture *f = desk->f;
    narrow_writing(desk);
    shell(&desk->room, "echo x >> a.txt; echo y >> src/c.txt");
    call_error(f, "git_commit", "{\"message\":\"m\",\"paths\":[\"a.txt\"]}", "a.txt");
    call_error(f, "git_commit", "{\"message\":\"m\",\"paths\":[\".\"]}", "outside");
    call_ok(f, "git_commit", "{\"message\":\"m\",\"paths\":[\"src\"]}");
    assert_string_equal(shell(&desk->room, "git show --format= --name-only"), "src/c.txt");
}

static void a_merge_under_way_is_left_alone(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "git rev-parse HEAD > .git/MERGE_HEAD; echo x >> a.txt");
    call_error(desk->f, "git_commit", "{\"message\":\"m\",\"paths\":[\"a.txt\"]}", "MERGE_HEAD");
}

static void a_locked_index_is_told_and_nothing_is_committed(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "touch .git/index.lock; echo x >> a.txt");
    call_error(desk->f, "git_commit", "{\"message\":\"m\",\"paths\":[\"a.txt\"]}", "another git");
    assert_string_equal(
        shell(
            &desk->room,
            "git log --oneline | wc -l; ls $TOP/state/repositories/*/*.index 2>/dev/null | wc -l"),
        "1\n0");
}

static void a_message_has_no_escape_sequences(void **state)
{
    struct desk *desk = *state;
    shell(&desk->room, "echo x >> a.txt");
    call_ok(desk->f, "git_commit",
            "{\"message\":\"red\\u001b[31m\\n\\n# kept\",\"paths\":[\"a.txt\"]}");
    assert_string_equal(shell(&desk->room, "git log -1 --format=%%B"), "red\n\n# kept");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_setup, desk_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_answers_questions_about_history_and_state),
        TEST(what_is_not_on_the_list_is_refused),
        cmocka_unit_test(options_are_compared_whole),
        TEST(magic_in_paths_is_only_a_name),
        TEST(only_readable_paths_are_shown),
        TEST(the_rest_of_a_repository_stays_hidden),
        TEST(a_long_answer_is_cut_with_a_way_out),
        TEST(names_with_newlines_and_escapes_are_made_safe),
        TEST(without_a_repository_or_git_it_says_so),
        TEST(differences_of_files_index_and_commits),
        TEST(named_files_are_committed_and_nothing_else),
        TEST(the_first_commit_of_a_repository),
        TEST(a_detached_head_moves_alone),
        TEST(what_must_not_be_committed_is_refused),
        TEST(a_commit_stays_within_the_writable_paths),
        TEST(a_merge_under_way_is_left_alone),
        TEST(a_locked_index_is_told_and_nothing_is_committed),
        TEST(a_message_has_no_escape_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
