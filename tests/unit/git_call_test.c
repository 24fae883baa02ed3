/* git/call, git/site, git/config: that nothing a repository names is run or read, whatever it is, and how repositories are found. */
#include "unit/git_fixture.h"

/* Every setting that can name a program, as git 2.39 knows them; CANARY stands for a program that leaves a file named after the key. */
static const char *const programs[] = {
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.alternateRefsCommand",
    "core.gitProxy",
    "diff.external",
    "diff.x.command",
    "diff.x.textconv",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "merge.x.driver",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "gpg.ssh.defaultKeyCommand",
    "credential.helper",
    "sequence.editor",
    "interactive.diffFilter",
    "trailer.x.command",
    "trailer.x.cmd",
    "uploadpack.packObjectsHook",
    "pager.log",
    "pager.status",
    "browser.x.cmd",
    "difftool.x.cmd",
    "mergetool.x.cmd",
    "man.x.cmd",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "imap.tunnel",
    "sendemail.smtpserver",
    "web.browser",
    "gc.recentObjectsHook",
};

static const char *const hooks[] = {
    "applypatch-msg",     "pre-applypatch",
    "post-applypatch",    "pre-commit",
    "pre-merge-commit",   "prepare-commit-msg",
    "commit-msg",         "post-commit",
    "pre-rebase",         "post-checkout",
    "post-merge",         "pre-push",
    "pre-receive",        "update",
    "proc-receive",       "post-receive",
    "post-update",        "reference-transaction",
    "push-to-checkout",   "pre-auto-gc",
    "post-rewrite",       "sendemail-validate",
    "fsmonitor-watchman", "post-index-change",
};

/* A repository that tries everything. */
static void plant(struct git_room *room)
{
    shell(room,
          "mkdir $TOP/canaries $TOP/evil; "
          "printf '#!/bin/sh\\ntouch \"$0.ran\"\\ncat 2>/dev/null || :\\n' > $TOP/evil/program; "
          "chmod +x $TOP/evil/program; git init -q $TOP/module; "
          "git -C $TOP/module commit -q --allow-empty -m m; "
          "git submodule --quiet add $TOP/module module; git commit -qm module");
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        shell(room, "cp $TOP/evil/program $TOP/canaries/%s; git config %s $TOP/canaries/%s",
              programs[i], programs[i], programs[i]);
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
        shell(room,
              "cp $TOP/evil/program .git/hooks/%s; "
              "printf '#!/bin/sh\\ntouch %s/canaries/hook-%s.ran\\n' > .git/hooks/%s",
              hooks[i], room->top, hooks[i], hooks[i]);
    shell(
        room,
        "for way in include worktree module; do cp $TOP/evil/program $TOP/canaries/by-$way; done; "
        "printf '[core]\\n\\tfsmonitor = %%s\\n' $TOP/canaries/by-include > $TOP/evil/more; "
        "git config include.path $TOP/evil/more; "
        "git config --add includeIf.gitdir:$TOP/.path $TOP/evil/more; "
        "git config alias.status \"!touch $TOP/canaries/alias.ran\"; "
        "git config diff.submodule log; git config submodule.recurse true; "
        "git config status.submoduleSummary true; git config log.showSignature true; "
        "git config commit.gpgSign true; git config core.hooksPath .git/hooks; "
        "git config extensions.worktreeConfig true; "
        "printf '[core]\\n\\tfsmonitor = %%s\\n' $TOP/canaries/by-worktree > .git/config.worktree; "
        "git -C module config core.fsmonitor $TOP/canaries/by-module; "
        "git config -f .gitmodules submodule.module.ignore none; "
        "printf '* diff=x merge=x\\n*.flt filter=x\\n' > .gitattributes; echo x > x.flt; echo more "
        ">> a.txt; "
        "echo dirty > module/new; rm -f $TOP/canaries/*.ran");
}

static const char *ran(struct git_room *room)
{
    return shell(room, "cd $TOP/canaries; ls | grep 'ran$' || :");
}

static void question_about(struct git_room *room, const char *path, const char *const *words)
{
    struct str paths[] = {str_from(path)};
    struct err err = ERR_INIT;
    struct vcs_answer answer;
    struct vcs_question asked = {.workspace = room_ws(room),
                                 .words = words,
                                 .paths = {paths, 1},
                                 .output_max = 65536,
                                 .wall_ms = 60000};
    must(room->vcs.port.ask(room->vcs.port.self, &asked, &answer, &err), &err);
    if (answer.status != 0)
        fail_msg("git %s: %s", words[0], answer.errors.p);
    buf_release(&answer.output);
    buf_release(&answer.errors);
}

static void question(struct git_room *room, const char *const *words)
{
    question_about(room, ".", words);
}

static void nothing_that_a_repository_names_is_run(void **state)
{
    struct git_room *room = *state;
    static const struct str file[] = {{"a.txt", 5}};
    struct err err = ERR_INIT;
    struct vcs_commit commit;
    struct vcs_applied applied;
    plant(room);
    question(room, GIT_WORDS("status", "--ignore-submodules=dirty"));
    question(room, GIT_WORDS("diff", "--ignore-submodules=dirty"));
    question(room, GIT_WORDS("log", "-p"));
    question(room, GIT_WORDS("show", "HEAD"));
    question(room, GIT_WORDS("ls-files", "-m", "-o"));
    question_about(room, "a.txt", GIT_WORDS("blame"));
    assert_string_equal(ran(room), "");

    struct vcs_commit_request request = {.workspace = room_ws(room),
                                         .paths = {file, 1},
                                         .write_paths = {everywhere, 1},
                                         .message = STR("one\n"),
                                         .now_ms = NOW_MS};
    must(room->vcs.port.commit(room->vcs.port.self, &room->arena, &request, &commit, &err), &err);
    assert_string_equal(ran(room), "");

    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two");
    shell(room, "echo x >> %s/a.txt; echo y >> %s/b.txt", one.path, two.path);
    assert_int_equal(child_merge(room, &one).outcome, VCS_FAST_FORWARD);
    assert_int_equal(child_merge(room, &two).outcome, VCS_THREE_WAY);
    struct vcs_apply_request apply = {room_ws(room), STR("r1"), root.request.base, NULL};
    must(room->vcs.port.apply(room->vcs.port.self, &room->arena, &apply, &applied, &err), &err);
    agent_remove(room, &one);
    assert_string_equal(ran(room), "");
}

/* The same repository under a plain git runs them: the canaries can sing. */
static void a_plain_git_would_run_them(void **state)
{
    struct git_room *room = *state;
    int status;
    plant(room);
    shell_may_fail(
        room, &status,
        "git status; git add -N x.flt; git diff; git log -p; git -c commit.gpgSign=false "
        "-c core.editor=true commit -m x a.txt; :");
    const char *sung = ran(room);
    assert_non_null(strstr(sung, "by-worktree.ran"));
    assert_non_null(strstr(sung, "diff.x"));
    assert_non_null(strstr(sung, "filter.x"));
    assert_non_null(strstr(sung, "hook-pre-commit.ran"));
    assert_non_null(strstr(sung, "by-module.ran"));
}

static void passwords_in_urls_do_not_reach_git(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_answer answer;
    shell(room, "git remote add origin https://me:secret@example.org/x.git; "
                "git remote add plain git@example.org:x.git");
    struct vcs_question asked = {.workspace = room_ws(room),
                                 .words = GIT_WORDS("remote", "-v"),
                                 .output_max = 65536,
                                 .wall_ms = 60000};
    must(room->vcs.port.ask(room->vcs.port.self, &asked, &answer, &err), &err);
    assert_null(strstr(answer.output.p, "secret"));
    assert_non_null(strstr(answer.output.p, "https://***@example.org/x.git"));
    assert_non_null(strstr(answer.output.p, "git@example.org:x.git"));
    buf_release(&answer.output);
    buf_release(&answer.errors);
}

/* --- finding ---------------------------------------------------------------------------------------------------------------- */

static struct git_site find(struct git_room *room, const char *path)
{
    struct err err = ERR_INIT;
    struct git_site site;
    must(git_site_find(&room->vcs.git, &room->arena, str_from(path), &site, &err), &err);
    return site;
}

static const char *below(struct git_room *room, const char *path)
{
    return arena_printf(&room->arena, "%s/%s", room->top, path).p;
}

static void a_workspace_below_the_top_knows_its_place(void **state)
{
    struct git_room *room = *state;
    struct git_site site = find(room, below(room, "ws/src"));
    check_str(site.prefix, "src");
    check_str(site.work_tree, room->ws);
    check_str(find(room, room->ws).prefix, "");
}

static void a_linked_worktree_of_the_user_is_found(void **state)
{
    struct git_room *room = *state;
    shell(room, "git worktree add -q $TOP/linked -b other");
    struct git_site site = find(room, below(room, "linked"));
    check_str(site.git_dir, below(room, "ws/.git/worktrees/linked"));
    check_str(site.work_tree, below(room, "linked"));
    assert_false(str_eq(site.common_dir, find(room, room->ws).common_dir));
}

static void no_repository_is_told(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_site site;
    must_fail(git_site_find(&room->vcs.git, &room->arena, str_from(room->top), &site, &err), &err,
              ERR_NOT_FOUND, "not in a git repository");
    shell(room,
          "mkdir -p $TOP/empty/.git $TOP/file $TOP/broken/.git/objects; touch $TOP/file/.git");
    must_fail(
        git_site_find(&room->vcs.git, &room->arena, str_from(below(room, "empty")), &site, &err),
        &err, ERR_NOT_FOUND, "not in a git repository");
    must_fail(
        git_site_find(&room->vcs.git, &room->arena, str_from(below(room, "file")), &site, &err),
        &err, ERR_NOT_FOUND, "not in a git repository");
    must_fail(
        git_site_find(&room->vcs.git, &room->arena, str_from(below(room, "broken")), &site, &err),
        &err, ERR_CORRUPT, "is not a git repository");
}

static void a_changed_config_is_read_again(void **state)
{
    struct git_room *room = *state;
    struct git_site site = find(room, room->ws);
    const char *config = arena_printf(&room->arena, "%.*s/config", STR_FMT(site.common_dir)).p;
    assert_string_equal(shell(room, "git config -f %s user.name", config), "Owner");
    shell(room, "git config user.name 'Odd \"\\ name'");
    find(room, room->ws);
    assert_string_equal(shell(room, "git config -f %s user.name", config), "Odd \"\\ name");
}

static void an_unknown_extension_is_refused(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_site site;
    shell(room, "git config core.repositoryformatversion 1; git config extensions.novel true");
    must_fail(git_site_find(&room->vcs.git, &room->arena, room_ws(room), &site, &err), &err,
              ERR_CONFIG, "extensions.novel");
}

static void a_child_cannot_say_where_its_repository_is(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    const char *path = kid.path;
    shell(room, "rm %s/.git; git init -q %s", path, path);
    struct git_site site = find(room, path);
    check_str(site.git_dir, arena_printf(&room->arena, "%.*s/worktrees/r1.kid",
                                         STR_FMT(find(room, room->ws).common_dir))
                                .p);
}

static void our_own_directories_are_no_workspaces(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_site site = find(room, room->ws), other;
    must_fail(git_site_find(&room->vcs.git, &room->arena, site.common_dir, &other, &err), &err,
              ERR_DENIED, "cadre's own");
}

/* --- calls ------------------------------------------------------------------------------------------------------------------- */

static void a_lock_of_another_git_says_to_try_again(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_site site = find(room, room->ws);
    struct git_answer answer;
    shell(room, "touch .git/index.lock");
    struct git_call call = {
        .site = &site, .words = GIT_WORDS("read-tree", "HEAD"), .effect = GIT_WRITES};
    must_fail(git_call(&room->vcs.git, &call, &answer, &err), &err, ERR_RETRY, "another git");
}

static void an_answer_that_is_parsed_is_whole_or_an_error(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_site site = find(room, room->ws);
    struct git_answer answer;
    shell(room, "head -c 100000 /dev/zero | tr '\\0' x > large; git add large; git commit -qm l");
    struct git_call call = {
        .site = &site, .words = GIT_WORDS("cat-file", "blob", "HEAD:large"), .output_max = 4096};
    must_fail(git_call(&room->vcs.git, &call, &answer, &err), &err, ERR_IO, "more than 4096");
}

static void a_cancelled_call_ends(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_site site = find(room, room->ws);
    struct git_answer answer;
    atomic_bool cancelled = true;
    struct git_call call = {.site = &site,
                            .words = GIT_WORDS("cat-file", "--batch"),
                            .input = STR("x\n"),
                            .cancelled = &cancelled};
    must_fail(git_call(&room->vcs.git, &call, &answer, &err), &err, ERR_CANCELLED, "cancelled");
}

static void paths_are_literal(void **state)
{
    struct git_room *room = *state;
    static const struct str magic[] = {{":(top)", 6}};
    struct err err = ERR_INIT;
    struct vcs_answer answer;
    struct vcs_question asked = {.workspace = room_ws(room),
                                 .words = GIT_WORDS("ls-files"),
                                 .paths = {magic, 1},
                                 .output_max = 4096,
                                 .wall_ms = 60000};
    must(room->vcs.port.ask(room->vcs.port.self, &asked, &answer, &err), &err);
    assert_int_equal(answer.output.n, 0);
    buf_release(&answer.output);
    buf_release(&answer.errors);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_that_a_repository_names_is_run),
        TEST(a_plain_git_would_run_them),
        TEST(passwords_in_urls_do_not_reach_git),
        TEST(a_workspace_below_the_top_knows_its_place),
        TEST(a_linked_worktree_of_the_user_is_found),
        TEST(no_repository_is_told),
        TEST(a_changed_config_is_read_again),
        TEST(an_unknown_extension_is_refused),
        TEST(a_child_cannot_say_where_its_repository_is),
        TEST(our_own_directories_are_no_workspaces),
        TEST(a_lock_of_another_git_says_to_try_again),
        TEST(an_answer_that_is_parsed_is_whole_or_an_error),
        TEST(a_cancelled_call_ends),
        TEST(paths_are_literal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
