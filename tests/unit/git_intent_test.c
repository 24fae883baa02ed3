/* git/tree, git/intent, git/files, git/ending: trees that start from their parents' files, merges that are all or nothing also when a crash
 * or somebody's edit comes between, and what stays of a tree that ends. For a root in a checkout of its own and for one in the user's. */
#include <pthread.h>

#include "unit/git_fixture.h"

/* What a test runs with: each is in the list at the end once for either. */
struct git_kind {
    struct git_agent (*root)(struct git_room *room, const char *run);
};
static const struct git_kind own = {root_make}, users = {root_users};

static struct git_agent a_root(void **state, const struct git_kind *kind)
{
    return kind->root(*state, "r1");
}

static const char *copy(struct git_room *room, const char *text)
{
    return arena_copy(&room->arena, str_from(text)).p;
}

/* No merge is under way any more. */
static void assert_settled(struct git_room *room)
{
    assert_string_equal(shell(room, "git for-each-ref refs/cadre/r1/merge"), "");
}

/* --- where trees start ------------------------------------------------------------------------------------------------------------ */

static void starts_from_the_parents_files(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = a_root(state, kind);
    const char *before = copy(room, shell(room, "git rev-parse HEAD main; git ls-files -s"));
    shell(room, "cd %s; echo new > n.txt; rm b.txt; echo more >> a.txt", root.path);
    struct git_agent kid = child_make(room, &root, "kid");
    assert_string_equal(shell(room, "cd %s; ls; cat n.txt; tail -1 a.txt", kid.path),
                        "a.txt\nn.txt\nsrc\nnew\nmore");
    shell(room, "echo kid > %s/k.txt", kid.path);
    struct git_agent grand = child_make(room, &kid, "grand");
    assert_string_equal(shell(room, "cd %s; ls", grand.path), "a.txt\nk.txt\nn.txt\nsrc");
    assert_string_equal(shell(room, "git rev-parse HEAD main; git ls-files -s"), before);
}

static void comes_up_through_its_parent(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    shell(room, "echo kid > %s/k.txt", kid.path);
    struct git_agent grand = child_make(room, &kid, "grand");
    shell(room, "echo grand > %s/g.txt; echo later > %s/l.txt; echo root > %s/r.txt", grand.path,
          kid.path, root.path);
    struct vcs_merged merged = child_merge(room, &grand);
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_int_equal(merged.files.count, 1);
    agent_remove(room, &grand);
    merged = child_merge(room, &kid);
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_int_equal(merged.files.count, 3);
    agent_remove(room, &kid);
    assert_string_equal(shell(room, "cd %s; cat g.txt k.txt l.txt r.txt", root.path),
                        "grand\nkid\nlater\nroot");
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/heads/cadre"),
                        "refs/heads/cadre/r1/result");
    assert_settled(room);
}

/* A child made after a merge has it, whatever else the parent did. */
static void is_not_reverted_by_a_later_sync(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    shell(room, "cd %s; echo kid >> b.txt; rm a.txt", kid.path);
    child_merge(room, &kid);
    shell(room, "echo root >> %s/b.txt", root.path);
    struct git_agent late = child_make(room, &root, "late");
    assert_string_equal(shell(room, "cd %s; ls; cat b.txt", late.path),
                        "b.txt\nsrc\nbee\nkid\nroot");
    struct vcs_merged again;
    struct err err = ERR_INIT;
    must(child_begin(room, &kid, &again, &err), &err);
    assert_outcome(&again, VCS_MERGED_BEFORE);
}

/* --- between the halves ------------------------------------------------------------------------------------------------------------- */

static void waits_for_a_file_that_was_changed_meanwhile(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    shell(room, "cd %s; sed -i s/one/1/ a.txt; echo kid > new.txt; rm b.txt", kid.path);
    must(child_begin(room, &kid, &merged, &err), &err);
    shell(room, "sed -i s/three/3/ %s/a.txt", root.path);
    must_fail(child_end(room, &kid, &merged, &err), &err, ERR_RETRY, "a.txt");
    assert_string_equal(
        shell(room, "cd %s; ls; cat a.txt; git rev-parse cadre/r1/result", root.path),
        arena_printf(&room->arena, "a.txt\nb.txt\nsrc\none\ntwo\n3\n%.*s", STR_FMT(merged.from)).p);
    assert_settled(room);
    merged = child_merge(room, &kid); /* again from the start */
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(shell(room, "cd %s; ls; cat a.txt", root.path),
                        "a.txt\nnew.txt\nsrc\n1\ntwo\n3");
}

/* What somebody cut off is not what a crash did. */
static void waits_for_a_file_that_was_shortened(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    shell(room, "cd %s; echo kid >> a.txt; echo kid > b.txt", kid.path);
    must(child_begin(room, &kid, &merged, &err), &err);
    shell(room, "cd %s; sed -i 2,3d a.txt; rm b.txt", root.path);
    must_fail(child_end(room, &kid, &merged, &err), &err, ERR_RETRY, "a.txt, b.txt");
    assert_string_equal(shell(room, "cd %s; ls; cat a.txt", root.path), "a.txt\nsrc\none");
    assert_settled(room);
}

static void does_not_mind_other_changes_and_touched_files(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    shell(room, "echo kid >> %s/a.txt", kid.path);
    must(child_begin(room, &kid, &merged, &err), &err);
    shell(room, "cd %s; touch -d '1 hour ago' a.txt; echo mine >> b.txt; echo n > n", root.path);
    must(child_end(room, &kid, &merged, &err), &err);
    assert_string_equal(shell(room, "cd %s; tail -1 a.txt; cat b.txt n", root.path),
                        "kid\nbee\nmine\nn");
    assert_settled(room);
}

static void nothing_in_the_way_is_removed(void **state)
{
    struct git_room *room = *state;
    static const char *const obstacles[][2] = {
        {"mkdir d; echo kid > d/f", "echo mine > d"},
        {"mkdir d; echo kid > d/f", "ln -s /tmp d"},
        {"echo kid > d", "mkdir d; echo mine > d/f"},
        {"echo kid > d", "mkdir d; echo /d > .git/info/exclude; echo mine > d/f"},
        {"mkdir d; echo kid > d/f", "echo /d > .git/info/exclude; echo mine > d"},
    };
    struct git_agent root = root_users(room, "r1");
    for (size_t i = 0; i < sizeof obstacles / sizeof obstacles[0]; i++) {
        struct err err = ERR_INIT;
        struct vcs_merged merged;
        struct git_agent kid = child_make(room, &root, "kid");
        shell(room, "cd %s; %s; echo kid >> a.txt", kid.path, obstacles[i][0]);
        must(child_begin(room, &kid, &merged, &err), &err);
        shell(room, "%s", obstacles[i][1]);
        const char *before = copy(room, shell(room, "ls -lR; git status --porcelain"));
        must_fail(child_end(room, &kid, &merged, &err), &err, ERR_RETRY, "meanwhile: d");
        assert_string_equal(shell(room, "ls -lR; git status --porcelain"), before);
        assert_settled(room);
        shell(room, "rm -rf d; : > .git/info/exclude");
    }
}

/* --- after a crash -------------------------------------------------------------------------------------------------------------------- */

/* A merge that died in the middle of the files: announced, a.txt and new.txt written, the rest not. The child changed the ignore rules too, so
 * that what it brought is hidden until they are written. */
static struct vcs_merged die_in_the_middle(struct git_room *room, const struct git_agent *root,
                                           const struct git_agent *kid)
{
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    shell(room,
          "cd %s; echo kid >> a.txt; echo kid > new.o; rm b.txt; : > .gitignore; "
          "rm -r src; echo file > src",
          kid->path);
    must(child_begin(room, kid, &merged, &err), &err);
    shell(
        room,
        "git update-ref refs/cadre/r1/merge/result/from %s; "
        "git update-ref refs/cadre/r1/merge/result/to %s; cd %s; echo kid >> a.txt; "
        "echo kid > new.o; touch $(echo $TOP/state/repositories/*/worktrees)/r1.result/index.lock "
        "2>/dev/null || :",
        merged.from.p, merged.to.p, root->path);
    return merged;
}

static struct git_agent root_with_rules(void **state, const struct git_kind *kind)
{
    shell(*state, "echo '*.o' > .gitignore; git add .; git commit -qm rules");
    return a_root(state, kind);
}

static const char *merged_files = ".gitignore\na.txt\nnew.o\nsrc\nfile\nkid\nkid";

static void is_completed_by_the_next_child(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = root_with_rules(state, kind), kid = child_make(room, &root, "kid");
    struct vcs_merged merged = die_in_the_middle(room, &root, &kid);
    struct git_agent late = child_make(room, &root, "late");
    const char *paths[] = {root.path, late.path};
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(
            shell(room, "cd %s; ls -A -I .git; cat src new.o; tail -1 a.txt", paths[i]),
            merged_files);
    assert_true(
        str_eq(late.request.base, merged.to)); /* nothing counts as the parent's own change */
    assert_settled(room);
}

static void is_completed_by_the_same_merge(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_with_rules(state, kind), kid = child_make(room, &root, "kid");
    struct vcs_merged merged = die_in_the_middle(room, &root, &kid), again;
    must(child_end(room, &kid, &merged, &err), &err);
    must(child_begin(room, &kid, &again, &err), &err);
    assert_outcome(&again, VCS_MERGED_BEFORE);
    assert_string_equal(
        shell(room, "cd %s; ls -A -I .git; cat src new.o; tail -1 a.txt", root.path), merged_files);
    assert_settled(room);
}

/* git removes a file before it writes it, and may die between two blocks of it. */
static void is_written_anew_where_git_died(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    shell(room, "cd %s; echo kid >> a.txt; seq 1 1000 > long", kid.path);
    must(child_begin(room, &kid, &merged, &err), &err);
    shell(room,
          "git update-ref refs/cadre/r1/merge/result/from %s; "
          "git update-ref refs/cadre/r1/merge/result/to %s; cd %s; rm a.txt; seq 1 100 > long",
          merged.from.p, merged.to.p, root.path);
    struct git_agent late = child_make(room, &root, "late");
    assert_true(str_eq(late.request.base, merged.to));
    assert_string_equal(shell(room, "cd %s; tail -1 a.txt; tail -1 long", root.path), "kid\n1000");
    assert_settled(room);
}

static void that_was_written_over_is_taken_back(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_with_rules(state, kind), kid = child_make(room, &root, "kid");
    struct vcs_merged merged = die_in_the_middle(room, &root, &kid);
    shell(room, "echo mine > %s/b.txt", root.path);
    must_fail(child_end(room, &kid, &merged, &err), &err, ERR_RETRY, "");
    assert_string_equal(shell(room,
                              "cd %s; ls -A -I .git; cat b.txt .gitignore; tail -1 a.txt; "
                              "git rev-parse cadre/r1/result",
                              root.path),
                        arena_printf(&room->arena,
                                     ".gitignore\na.txt\nb.txt\nsrc\nmine\n*.o\nthree\n%.*s",
                                     STR_FMT(merged.from))
                            .p);
    assert_settled(room);
}

static void that_was_being_taken_back_is(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = root_with_rules(state, kind), kid = child_make(room, &root, "kid");
    struct vcs_merged merged = die_in_the_middle(room, &root, &kid);
    shell(room,
          "git update-ref -d refs/cadre/r1/merge/result/to; "
          "git update-ref refs/cadre/r1/merge/result/undo %s",
          merged.to.p);
    struct git_agent late = child_make(room, &root, "late");
    assert_true(str_eq(late.request.base, merged.from));
    assert_string_equal(shell(room, "cd %s; ls -A -I .git; tail -1 a.txt", root.path),
                        ".gitignore\na.txt\nb.txt\nsrc\nthree");
    assert_settled(room);
}

/* The branch had moved, only the announcement was left; the agent went on. */
static void that_was_done_stays_as_it_is(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct git_agent root = a_root(state, kind), kid = child_make(room, &root, "kid");
    shell(room, "echo kid >> %s/a.txt", kid.path);
    struct vcs_merged merged = child_merge(room, &kid);
    shell(room,
          "git update-ref refs/cadre/r1/merge/result/from %s; "
          "git update-ref refs/cadre/r1/merge/result/to %s; cd %s; sed -i '$d' a.txt",
          merged.from.p, merged.to.p, root.path);
    struct git_agent late = child_make(room, &root, "late");
    assert_string_equal(shell(room, "tail -1 %s/a.txt; tail -1 %s/a.txt", root.path, late.path),
                        "three\nthree");
    assert_settled(room);
}

static void half_a_merge_is_not_committed_by_a_tool(void **state)
{
    struct git_room *room = *state;
    static const struct str file[] = {{"b.txt", 5}};
    struct err err = ERR_INIT;
    struct vcs_commit commit;
    struct git_agent root = root_with_rules(state, &own), kid = child_make(room, &root, "kid");
    struct vcs_merged merged = die_in_the_middle(room, &root, &kid);
    struct vcs_commit_request request = {.workspace = str_from(root.path),
                                         .paths = {file, 1},
                                         .write_paths = {everywhere, 1},
                                         .message = STR("own\n"),
                                         .now_ms = NOW_MS};
    must(room->vcs.port.commit(room->vcs.port.self, &room->arena, &request, &commit, &err), &err);
    assert_int_equal(commit.id.n, 0); /* that b.txt is gone is the merge's doing */
    assert_string_equal(shell(room, "git rev-parse cadre/r1/result"), merged.to.p);
}

static void half_a_merge_does_not_stay_with_the_user(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct git_agent root = root_with_rules(state, &users), kid = child_make(room, &root, "kid");
    die_in_the_middle(room, &root, &kid);
    shell(room, "cp -a $TOP/ws $TOP/saved");
    agent_remove(room, &root);
    assert_string_equal(shell(room, "ls -A -I .git; cat src; git for-each-ref refs/cadre"),
                        ".gitignore\na.txt\nnew.o\nsrc\nfile");
    shell(room, "rm -rf $TOP/ws; cp -a $TOP/saved $TOP/ws");
    must(room->vcs.port.forget(room->vcs.port.self, room_ws(room), STR("r1"), &err), &err);
    assert_string_equal(shell(room, "ls -A -I .git; cat src; git for-each-ref refs/cadre"),
                        ".gitignore\na.txt\nnew.o\nsrc\nfile");
}

/* --- ends ---------------------------------------------------------------------------------------------------------------------------- */

static void work_is_kept_on_its_branch(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid"),
                     idle = child_make(room, &root, "idle"), bad = child_make(room, &root, "bad");
    shell(room, "echo x > %s/x; cd %s; ln -s /etc/passwd p", kid.path, bad.path);
    struct vcs_kept kept = agent_keep(room, &kid);
    check_str(kept.branch, "cadre/r1/kid");
    check_str(kept.commit, shell(room, "git rev-parse cadre/r1/kid"));
    assert_int_equal(kept.files.count, 1);
    assert_int_equal(kept.refused.n, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(agent_keep(room, &idle).commit.n, 0);
        kept = agent_keep(room, &bad);
        assert_int_equal(kept.commit.n, 0);
        assert_non_null(strstr(kept.refused.p, "p: a link that leads out"));
    }
    const struct git_agent *all[] = {&kid, &idle, &bad, &root};
    for (size_t i = 0; i < 4; i++)
        agent_remove(room, all[i]);
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/heads; "
                                    "git show cadre/r1/kid:x"),
                        "refs/heads/cadre/r1/kid\nrefs/heads/main\nx");
}

static void a_roots_own_work_is_its_result(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1");
    shell(room, "echo root > %s/r.txt", root.path);
    struct vcs_kept kept = agent_keep(room, &root);
    check_str(kept.branch, "cadre/r1/result");
    agent_remove(room, &root);
    assert_string_equal(shell(room, "git show cadre/r1/result:r.txt; ls"),
                        "root\na.txt\nb.txt\nsrc");
}

static void a_shadow_goes_with_its_last_run(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    shell(room, "rm -rf .git");
    struct git_agent root = root_users(room, "r1"), other = root_users(room, "r2"),
                     kid = child_make(room, &root, "kid"), cousin = child_make(room, &other, "kid");
    shell(room, "echo kid > %s/k", kid.path);
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    agent_remove(room, &kid);
    agent_remove(room, &root);
    assert_string_equal(shell(room, "cat k; ls $TOP/state/repositories/*/trees/r2"), "kid\nkid");
    agent_remove(room, &cousin);
    agent_remove(room, &other);
    assert_string_equal(shell(room, "ls -A $TOP/state/repositories"), "");
    agent_remove(room, &other);
    must(room->vcs.port.forget(room->vcs.port.self, room_ws(room), STR("r1"), &err), &err);
    assert_string_equal(shell(room, "ls -A $TOP/state/repositories"), "");
}

/* A child that is made again, for another attempt, has nothing to do with merges into the one before. */
static void another_attempt_forgets_half_a_merge(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    shell(room, "echo kid > %s/a.txt", kid.path);
    struct git_agent grand = child_make(room, &kid, "grand");
    shell(room, "cp a.txt %s/a.txt", grand.path);
    must(child_begin(room, &grand, &merged, &err), &err);
    shell(room,
          "git update-ref refs/cadre/r1/merge/kid/from %s; "
          "git update-ref refs/cadre/r1/merge/kid/to %s",
          merged.from.p, merged.to.p);
    must(agent_isolate(room, &kid, &err), &err);
    must(child_begin(room, &kid, &merged, &err), &err);
    assert_outcome(&merged, VCS_NO_CHANGES);
    assert_settled(room);
}

struct sibling {
    struct git_room *room;
    struct git_agent agent;
    struct arena arena;
    int result;
    struct err err;
};

static void *isolate_one(void *user)
{
    struct sibling *sibling = user;
    struct vcs_isolated made;
    struct vcs_isolate_request request = isolate_request(&sibling->agent);
    struct vcs_port *port = &sibling->room->vcs.port;
    sibling->result = port->isolate(port->self, &sibling->arena, &request, &made, &sibling->err);
    sibling->agent.request.base = made.base;
    return NULL;
}

static void siblings_are_made_side_by_side(void **state, const struct git_kind *kind)
{
    struct git_room *room = *state;
    struct sibling siblings[6];
    pthread_t threads[6];
    struct git_agent root = a_root(state, kind);
    shell(room, "echo mine > %s/mine", root.path);
    for (int i = 0; i < 6; i++) {
        const char *name = arena_printf(&room->arena, "k%d", i).p;
        siblings[i] =
            (struct sibling){room, agent_named(room, "r1", &root, name), {0}, -1, ERR_INIT};
        arena_init(&siblings[i].arena);
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, isolate_one, &siblings[i]), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 6; i++) {
        must(siblings[i].result, &siblings[i].err);
        assert_true(str_eq(siblings[i].agent.request.base, siblings[0].agent.request.base));
    }
    for (int i = 0; i < 6; i++)
        arena_release(&siblings[i].arena);
}

#define BOTH(X)                                                                                    \
    X(starts_from_the_parents_files)                                                               \
    X(comes_up_through_its_parent)                                                                 \
    X(is_not_reverted_by_a_later_sync)                                                             \
    X(waits_for_a_file_that_was_changed_meanwhile)                                                 \
    X(waits_for_a_file_that_was_shortened)                                                         \
    X(does_not_mind_other_changes_and_touched_files)                                               \
    X(is_completed_by_the_next_child)                                                              \
    X(is_completed_by_the_same_merge)                                                              \
    X(is_written_anew_where_git_died)                                                              \
    X(that_was_written_over_is_taken_back)                                                         \
    X(that_was_being_taken_back_is)                                                                \
    X(that_was_done_stays_as_it_is)                                                                \
    X(siblings_are_made_side_by_side)

#define X(name)                                                                                    \
    static void own_##name(void **state)                                                           \
    {                                                                                              \
        name(state, &own);                                                                         \
    }                                                                                              \
    static void users_##name(void **state)                                                         \
    {                                                                                              \
        name(state, &users);                                                                       \
    }
BOTH(X)
#undef X

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name) TEST(own_##name), TEST(users_##name),
        BOTH(X)
#undef X
            TEST(nothing_in_the_way_is_removed),
        TEST(half_a_merge_is_not_committed_by_a_tool),
        TEST(half_a_merge_does_not_stay_with_the_user),
        TEST(work_is_kept_on_its_branch),
        TEST(a_roots_own_work_is_its_result),
        TEST(another_attempt_forgets_half_a_merge),
        TEST(a_shadow_goes_with_its_last_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
