/* git/base, git/worktree, git/commit, git/erase: where children start, what they may not bring, and that everything can be asked for again
 * after a crash. */
#include "unit/git_fixture.h"

/* --- bases ----------------------------------------------------------------------------------------------------------------------- */

static void uncommitted_changes_are_in_the_base_and_stay_where_they_are(void **state)
{
    struct git_room *room = *state;
    shell(room,
          "echo staged > s.txt; git add s.txt; echo edit >> a.txt; echo new > n.txt; rm b.txt; "
          "echo '*.o' > .git/info/exclude; echo o > x.o; mkdir .cadre; echo r > .cadre/r");
    const char *before =
        arena_copy(&room->arena,
                   str_from(shell(
                       room, "git status --porcelain; git rev-parse HEAD main; git write-tree")))
            .p;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    const char *roots[] = {root.path, one.path};
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(shell(room, "cd %s; ls -A; tail -1 a.txt", roots[i]),
                            ".git\na.txt\nn.txt\ns.txt\nsrc\nedit");
    assert_string_equal(
        shell(room, "git status --porcelain; git rev-parse HEAD main; git write-tree"), before);
    assert_true(str_eq(root_make(room, "r1").request.base, root.request.base)); /* asked again */
}

static void uncommitted_changes_can_be_refused(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_isolated made;
    struct git_agent root = agent_named(room, "r1", NULL, VCS_RESULT);
    struct vcs_isolate_request request = isolate_request(&root);
    request.dirty = VCS_REFUSE;
    shell(room, "echo new > n.txt");
    must_fail(room->vcs.port.isolate(room->vcs.port.self, &room->arena, &request, &made, &err),
              &err, ERR_DENIED, "uncommitted");
    shell(room, "rm n.txt; touch a.txt");
    must(room->vcs.port.isolate(room->vcs.port.self, &room->arena, &request, &made, &err), &err);
    check_str(made.base, shell(room, "git rev-parse main"));
}

static void a_base_does_not_move_with_the_user(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1");
    shell(room, "echo more >> a.txt; git commit -qam more");
    assert_true(str_eq(root_make(room, "r1").request.base, root.request.base));
}

static void a_root_without_a_repository_gets_no_checkout(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = agent_named(room, "r1", NULL, VCS_RESULT);
    shell(room, "rm -rf .git");
    must_fail(agent_isolate(room, &root, &err), &err, ERR_NOT_FOUND, "not in a git repository");
    assert_string_equal(shell(room, "find $TOP/state -mindepth 1 2>/dev/null || :"), "");
}

/* --- what a child may not bring --------------------------------------------------------------------------------------------------- */

static void a_child_that_plants_something_is_refused(void **state)
{
    struct git_room *room = *state;
    static const char *const cases[][2] = {
        {"rm .git; mkdir .git; echo evil > .git/config", ".git was changed"},
        {"echo 'gitdir: /tmp' > .git", ".git was changed"},
        {"git init -q sub; git -C sub commit -q --allow-empty -m x", "a repository within"},
        {"mkdir -p deep/.git; echo 'ref: refs/heads/x' > deep/.git/HEAD; mkdir deep/.git/objects "
         "deep/.git/refs; echo x > deep/f",
         ""},
        {"mkdir -p src/x/objects src/x/refs; touch src/x/objects/o src/x/refs/r src/x/config; echo "
         "'ref: refs/heads/x' > src/x/HEAD",
         "src/x/: git takes a directory"},
        {"mkdir -p src/y; echo 'ref: refs/heads/x' > src/y/HEAD; echo ../x > src/y/commondir",
         "src/y/: git takes a directory"},
        {"mkdir src/.git.; echo x > src/.git./config", "src/.git./config: git or a file system"},
        {"mkdir src/GIT~1; echo x > src/GIT~1/config", "src/GIT~1/config: git or a file system"},
        {"mkdir src/.GIT; echo x > src/.GIT/config", "src/.GIT/config: git or a file system"},
        {"mkdir 'src/.git '; echo x > 'src/.git /config'", "git or a file system"},
        {"mkdir 'src/.git::$INDEX_ALLOCATION'; echo x > 'src/.git::$INDEX_ALLOCATION/config'",
         "git or a file system"},
        {"echo x > 'src/a\\.git\\config'", "git or a file system"},
        {"mkdir \"$(printf 'src/.g\\342\\200\\214it')\"; echo x > \"$(printf "
         "'src/.g\\342\\200\\214it')/config\"",
         "git or a file system"},
        {"printf '[submodule \"x\"]\\n' > .gitmodules", "submodules"},
        {"echo x > \"$(printf '.gitm\\342\\200\\214odules')\"", "submodules"},
        {"echo x > .GitModules.", "submodules"},
        {"ln -s /etc/passwd p", "leads out"},
        {"ln -s ../../../x src/p", "leads out"},
        {"ln -s .git/config p", "leads into .git"},
        {"echo '* filter=x' > .gitattributes", "name a filter"},
        {"echo x > outside.txt", "outside.txt: it belongs to somebody else"},
        {"echo x >> a.txt; rm b.txt", "b.txt: it belongs to somebody else"},
    };
    static const struct str ownership[] = {{"src/**", 6}, {"a.txt", 5}, {".git*", 5},
                                           {"p", 1},      {"sub", 3},   {"sub/**", 6}};
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct git_agent kid = child_make(room, &root, "kid");
        kid.request.owns = VCS_OWNS_LISTED;
        kid.request.ownership = (struct vcs_list){ownership, 6};
        shell(room, "cd %s; %s", kid.path, cases[i][0]);
        must_fail(child_begin(room, &kid, &merged, &err), &err, ERR_DENIED, cases[i][1]);
        assert_string_equal(shell(room, "git log --oneline cadre/r1/kid | wc -l"), "1");
    }
}

/* Each brings what git does not take for a repository, and together they would be one. */
static void halves_of_a_repository_are_refused_when_they_come_together(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two");
    shell(room, "mkdir %s/x; echo 'ref: refs/heads/x' > %s/x/HEAD; echo x > %s/x/config", one.path,
          one.path, one.path);
    shell(room, "cd %s; mkdir -p x/objects x/refs; touch x/objects/o x/refs/r", two.path);
    merged = child_merge(room, &one);
    assert_int_equal(merged.outcome, VCS_FAST_FORWARD);
    must_fail(child_begin(room, &two, &merged, &err), &err, ERR_DENIED,
              "x/: git takes a directory with HEAD, objects and refs");
    assert_string_equal(shell(room, "git ls-tree -r --name-only cadre/r1/result x"),
                        "x/HEAD\nx/config");
}

/* A user's own, in a project of tests for git. */
static void a_bare_repository_of_the_users_is_carried_and_not_changed(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    shell(room, "mkdir -p t/x/objects t/x/refs; touch t/x/objects/o t/x/refs/r t/x/config; echo "
                "'ref: refs/heads/x' > t/x/HEAD; git add .; git commit -qm fixture");
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two");
    shell(room, "cd %s; test -f t/x/HEAD; echo a > t/other", one.path);
    merged = child_merge(room, &one);
    assert_int_equal(merged.outcome, VCS_FAST_FORWARD);
    shell(room, "echo '[core]' > %s/t/x/config", two.path);
    must_fail(child_begin(room, &two, &merged, &err), &err, ERR_DENIED, "t/x/: git takes");
}

/* A config that came with a merge would be read by the next run. */
static void a_child_brings_no_config_of_cadre(void **state)
{
    struct git_room *room = *state;
    static const char *const changes[] = {
        "echo 'mode: plan' > cadre.yaml",
        "rm cadre.yaml",
        "git show HEAD~1:cadre.yaml > cadre.yaml",
        "git mv cadre.yaml other.yaml",
        "chmod +x cadre.yaml",
        "rm cadre.yaml; ln -s a.txt cadre.yaml",
        "echo x > src/cadre.yaml",
        "mkdir -p src/.cadre/commands; echo x > src/.cadre/commands/x.md",
        "echo x > src/CADRE.Yaml; git add .; git commit -qm own",
    };
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    shell(room, "echo 'mode: plan' > cadre.yaml; git add .; git commit -qm old; "
                "echo 'mode: safe' > cadre.yaml; git commit -qam new; echo '# mine' >> cadre.yaml");
    struct git_agent root = root_make(room, "r1");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct git_agent kid = child_make(room, &root, "kid");
        shell(room, "cd %s; echo x >> a.txt; %s", kid.path, changes[i]);
        must_fail(child_begin(room, &kid, &merged, &err), &err, ERR_DENIED,
                  "it belongs to cadre's user");
        agent_remove(room, &kid);
        shell(room, "git update-ref -d refs/heads/cadre/r1/kid");
    }
    assert_string_equal(shell(room, "git show cadre/r1/result:cadre.yaml; cat cadre.yaml"),
                        "mode: safe\n# mine\nmode: safe\n# mine");
    struct git_agent kid = child_make(room, &root, "fine");
    shell(room, "cd %s; echo x >> a.txt; mkdir -p src/cadre; echo x > src/cadre/yaml", kid.path);
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
}

static void a_parent_that_planted_something_gets_no_child(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_make(room, "r1"), kid = agent_named(room, "r1", &root, "kid");
    shell(room, "ln -s /etc/passwd %s/p", root.path);
    must_fail(agent_isolate(room, &kid, &err), &err, ERR_DENIED,
              "cadre/r1/result stands for cannot be committed: p: a link that leads out");
    check_str(root.request.base, shell(room, "git rev-parse cadre/r1/result"));
    shell(room, "rm %s/p", root.path);
    must(agent_isolate(room, &kid, &err), &err);
}

static void a_child_that_commits_by_itself_is_checked_as_well(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    const char *path = kid.path;
    shell(room, "cd %s; echo x >> a.txt; git commit -qam own; echo y >> a.txt", path);
    must(child_begin(room, &kid, &merged, &err), &err);
    assert_string_equal(shell(room, "git show cadre/r1/kid:a.txt | tail -2"), "x\ny");
    shell(room, "cd %s; ln -s /etc/passwd p; git add p; git commit -qm evil", path);
    must_fail(child_begin(room, &kid, &merged, &err), &err, ERR_DENIED, "leads out");
    shell(room,
          "cd %s; git checkout -q --orphan x; git commit -qm other; git branch -f cadre/r1/kid "
          "2>/dev/null || git update-ref refs/heads/cadre/r1/kid HEAD; git symbolic-ref HEAD "
          "refs/heads/cadre/r1/kid",
          path);
    must_fail(child_begin(room, &kid, &merged, &err), &err, ERR_DENIED,
              "does not start at its base");
}

static void a_child_commits_in_its_own_checkout(void **state)
{
    struct git_room *room = *state;
    static const struct str file[] = {{"a.txt", 5}};
    struct err err = ERR_INIT;
    struct vcs_commit commit;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    shell(room, "echo x >> %s/a.txt; echo y >> %s/b.txt", kid.path, kid.path);
    struct vcs_commit_request request = {.workspace = str_from(kid.path),
                                         .paths = {file, 1},
                                         .write_paths = {everywhere, 1},
                                         .message = STR("own\n"),
                                         .now_ms = NOW_MS};
    must(room->vcs.port.commit(room->vcs.port.self, &room->arena, &request, &commit, &err), &err);
    check_str(commit.branch, "cadre/r1/kid");
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    assert_string_equal(shell(room, "git log --format=%%s cadre/r1/result"),
                        "work of kid\nown\nfirst");
    check_str(root.request.base, shell(room, "git rev-parse main"));
}

static void refs_that_the_user_packed_are_found_and_removed(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid"),
                     idle = child_make(room, &root, "idle");
    shell(room, "echo x >> %s/a.txt", kid.path);
    shell(room, "git pack-refs --all; git gc -q");
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    agent_remove(room, &idle);
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/heads; "
                                    "test -f .git/packed-refs; cd $TOP/state/repositories/*; "
                                    "find . -maxdepth 1 -type l | wc -l"),
                        "refs/heads/cadre/r1/kid\nrefs/heads/cadre/r1/result\nrefs/heads/main\n6");
}

/* --- again, after a crash ------------------------------------------------------------------------------------------------------------ */

static void nothing_is_merged_twice(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged, again;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two");
    shell(room, "echo 1 >> %s/b.txt; echo 2 >> %s/a.txt", one.path, two.path);
    child_merge(room, &one);
    must(child_begin(room, &two, &merged, &err), &err);
    must(child_begin(room, &two, &again, &err), &err);
    assert_true(str_eq(merged.commit, again.commit));
    must(child_end(room, &two, &merged, &err), &err);
    must(child_end(room, &two, &merged, &err), &err); /* the crash came before its event */
    must(child_begin(room, &two, &again, &err), &err);
    assert_outcome(&again, VCS_MERGED_BEFORE);
    must(child_end(room, &two, &again, &err), &err);
    assert_string_equal(shell(room, "git log --oneline cadre/r1/result | wc -l"), "4");
}

static void what_was_merged_is_known_after_its_checkout_was_removed(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged again;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two"), three = child_make(room, &root, "three");
    shell(room, "echo 1 >> %s/b.txt; echo 2 >> %s/a.txt", one.path, two.path);
    child_merge(room, &one);
    child_merge(room, &two);
    agent_remove(room, &one);
    must(child_begin(room, &one, &again, &err), &err);
    assert_outcome(&again, VCS_MERGED_BEFORE);
    /* A removal that a crash ended half-way is none of the child's changes. */
    shell(room, "mv %s %s.gone && rm %s.gone/b.txt", two.path, two.path, two.path);
    must(child_begin(room, &two, &again, &err), &err);
    assert_outcome(&again, VCS_MERGED_BEFORE);
    must(child_end(room, &two, &again, &err), &err);
    agent_remove(room, &two);
    /* Somebody else's removal is told. */
    shell(room, "rm -r %s", three.path);
    must_fail(child_begin(room, &three, &again, &err), &err, ERR_NOT_FOUND, "is gone");
    agent_remove(room, &three);
    assert_string_equal(shell(room, "git show cadre/r1/result:a.txt | tail -n 1"), "2");
}

static void half_made_records_are_made_anew(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    shell(room, "d=$(sed 's/gitdir: //' %s/.git); rm $d/HEAD $d/commondir", one.path);
    must(agent_isolate(room, &one, &err), &err);
    assert_string_equal(shell(room, "git -C %s rev-parse --abbrev-ref HEAD", one.path),
                        "cadre/r1/one");
}

static void a_lock_that_a_killed_git_left_is_removed(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    shell(room, "echo 1 >> %s/b.txt; touch -d '1 minute ago' .git/refs/heads/cadre/r1/result.lock",
          one.path);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
}

static void a_result_that_moved_is_not_overwritten(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    shell(room, "echo 1 >> %s/b.txt", one.path);
    must(child_begin(room, &one, &merged, &err), &err);
    const char *other =
        arena_copy(&room->arena, str_from(shell(room, "git commit-tree -m x main^{tree} -p main")))
            .p;
    shell(room, "git update-ref refs/heads/cadre/r1/result %s", other);
    must_fail(child_end(room, &one, &merged, &err), &err, ERR_RETRY, "moved meanwhile");
    assert_string_equal(shell(room,
                              "git rev-parse cadre/r1/result; cat %s/b.txt; "
                              "git for-each-ref refs/cadre/r1/merge",
                              root.path),
                        arena_printf(&room->arena, "%s\nbee", other).p);
}

static void half_made_checkouts_are_made_anew(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    const char *path = kid.path;
    static const char *const wrecks[] = {
        "rm -rf $KID",
        "rm -f $KID/.git",
        "rm -rf $KID/src; echo x > $KID/left; touch $RECORD/index.lock",
        "mkdir -p $KID/locked/deep; chmod 0 $KID/locked/deep $KID/locked",
        "rm -rf $RECORD",
    };
    for (size_t i = 0; i < sizeof wrecks / sizeof wrecks[0]; i++) {
        shell(room, "KID=%s; RECORD=$(echo $TOP/state/repositories/*/worktrees/r1.kid); %s", path,
              wrecks[i]);
        must(agent_isolate(room, &kid, &err), &err);
        assert_string_equal(shell(room, "cd %s; ls; git status --porcelain", path),
                            "a.txt\nb.txt\nsrc");
    }
    struct vcs_left *left;
    size_t count;
    must(room->vcs.port.list(room->vcs.port.self, &room->arena, &left, &count, &err), &err);
    assert_int_equal(count, 2);
    size_t at = str_is(left[0].agent, "kid") ? 0 : 1;
    check_str(left[at].run, "r1");
    check_str(left[at].agent, "kid");
    check_str(left[at].path, path);
}

static void nothing_is_left_after_removal(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two"), idle = child_make(room, &root, "idle");
    shell(room, "echo 1 > %s/b.txt; echo 2 > %s/b.txt", one.path, two.path);
    child_merge(room, &one);
    struct vcs_merged conflict = child_merge(room, &two);
    assert_outcome(&conflict, VCS_CONFLICT);
    const struct git_agent *all[] = {&one, &two, &idle, &root, &idle, &root};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        agent_remove(room, all[i]);
    /* What was not merged is kept, with the result. */
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/heads"),
                        "refs/heads/cadre/r1/result\nrefs/heads/cadre/r1/two\nrefs/heads/main");
    assert_string_equal(shell(room, "cd $TOP/state/repositories/*; find trees worktrees; find . "
                                    "-name '*.lock' -o -name '*.index' -o -name '*.new'"),
                        "trees\nworktrees");
}

static void staging_again_cleans_what_checks_left(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_isolated staged;
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    shell(room, "echo '*.o' > %s/.gitignore", one.path);
    struct vcs_merged merged = child_merge(room, &one);
    const struct vcs_tree *tree = &one.request.tree;
    void *self = room->vcs.port.self;
    must(room->vcs.port.stage(self, &room->arena, tree, merged.to, NULL, &staged, &err), &err);
    shell(room,
          "cd %s; echo x > a.txt; rm b.txt; echo l > left; echo o > kept.o; git init -q nested",
          staged.path.p);
    must(room->vcs.port.stage(self, &room->arena, tree, merged.to, NULL, &staged, &err), &err);
    assert_string_equal(shell(room, "cd %s; git rev-parse HEAD", staged.path.p), merged.to.p);
    assert_string_equal(shell(room, "cd %s; ls -A; git status --porcelain", staged.path.p),
                        ".git\n.gitignore\na.txt\nb.txt\nkept.o\nsrc");
}

static void what_a_crash_left_is_listed_and_can_be_discarded(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_left *left;
    size_t count;
    void *self = room->vcs.port.self;
    must(room->vcs.port.list(self, &room->arena, &left, &count, &err), &err);
    assert_int_equal(count, 0);
    root_make(room, "r1");
    shell(room, "cd $TOP/state/repositories/*; touch -d '2 days ago' old.index; touch young.index");
    must(room->vcs.port.list(self, &room->arena, &left, &count, &err), &err);
    assert_int_equal(count, 1);
    check_str(left[0].workspace, room->ws);
    shell(room, "rm -rf $TOP/ws; mkdir $TOP/ws"); /* the repository itself is gone */
    must(room->vcs.port.discard(self, &left[0], &err), &err);
    must(room->vcs.port.discard(self, &left[0], &err), &err);
    assert_string_equal(shell(room, "cd $TOP/state/repositories/*; find trees worktrees"),
                        "trees\nworktrees");
    struct vcs_left other = {.path = room_ws(room)};
    must_fail(room->vcs.port.discard(self, &other, &err), &err, ERR_USAGE, "no checkout");
    assert_string_equal(shell(room, "test -d $TOP/ws; echo there"), "there");
}

static void a_forgotten_run_leaves_no_private_refs(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    shell(room, "echo dirty >> a.txt");
    root_make(room, "r1");
    root_make(room, "r2");
    must(room->vcs.port.forget(room->vcs.port.self, room_ws(room), STR("r1"), &err), &err);
    must(room->vcs.port.forget(room->vcs.port.self, room_ws(room), STR("r1"), &err), &err);
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/cadre"),
                        "refs/cadre/r2/base\nrefs/cadre/r2/head");
}

static void a_checkout_that_somebody_removed_is_told(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    shell(room, "rm -rf %s", kid.path);
    must_fail(child_begin(room, &kid, &merged, &err), &err, ERR_NOT_FOUND,
              "is on the branch cadre/r1/kid");
}

static void a_locked_ref_says_to_try_again(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_make(room, "r1"), kid = agent_named(room, "r1", &root, "kid");
    shell(room, "mkdir -p .git/refs/heads/cadre/r1; touch .git/refs/heads/cadre/r1/kid.lock");
    must_fail(agent_isolate(room, &kid, &err), &err, ERR_RETRY, "another git");
    shell(room, "rm .git/refs/heads/cadre/r1/kid.lock");
    must(agent_isolate(room, &kid, &err), &err);
}

static void names_that_are_no_names_are_refused(void **state)
{
    struct git_room *room = *state;
    static const char *const names[] = {"", "..", "a/b", "a.b", "-x", "a b", "result", "checks"};
    struct git_agent root = root_make(room, "r1");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct err err = ERR_INIT;
        struct git_agent kid = agent_named(room, "r1", &root, names[i]);
        must_fail(agent_isolate(room, &kid, &err), &err, ERR_USAGE, "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(uncommitted_changes_are_in_the_base_and_stay_where_they_are),
        TEST(uncommitted_changes_can_be_refused),
        TEST(a_base_does_not_move_with_the_user),
        TEST(a_root_without_a_repository_gets_no_checkout),
        TEST(a_child_that_plants_something_is_refused),
        TEST(halves_of_a_repository_are_refused_when_they_come_together),
        TEST(a_bare_repository_of_the_users_is_carried_and_not_changed),
        TEST(a_child_brings_no_config_of_cadre),
        TEST(a_parent_that_planted_something_gets_no_child),
        TEST(a_child_that_commits_by_itself_is_checked_as_well),
        TEST(a_child_commits_in_its_own_checkout),
        TEST(refs_that_the_user_packed_are_found_and_removed),
        TEST(nothing_is_merged_twice),
        TEST(what_was_merged_is_known_after_its_checkout_was_removed),
        TEST(half_made_records_are_made_anew),
        TEST(a_lock_that_a_killed_git_left_is_removed),
        TEST(a_result_that_moved_is_not_overwritten),
        TEST(half_made_checkouts_are_made_anew),
        TEST(nothing_is_left_after_removal),
        TEST(staging_again_cleans_what_checks_left),
        TEST(what_a_crash_left_is_listed_and_can_be_discarded),
        TEST(a_forgotten_run_leaves_no_private_refs),
        TEST(a_checkout_that_somebody_removed_is_told),
        TEST(a_locked_ref_says_to_try_again),
        TEST(names_that_are_no_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
