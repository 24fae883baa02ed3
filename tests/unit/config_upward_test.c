/* config: project files above the workspace, up to the repository's top, and where the search ends. */
#include "config/upward.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "check.h"
#include "config/trust.h"
#include "config_room.h"

/* A repository at "top", and the workspace two levels below it. */
static int setup(void **state)
{
    if (room_setup(state) != 0)
        return -1;
    struct room *room = *state;
    room_mkdir(room, "top");
    room_mkdir(room, "top/.git");
    room_mkdir(room, "top/mid");
    room_mkdir(room, "top/mid/ws");
    room_write(room, "top/.git/HEAD", "ref: refs/heads/main\n");
    snprintf(room->workspace, sizeof room->workspace, "%s/top/mid/ws", room->root);
    return 0;
}

static const char *in_room(const struct room *room, const char *path)
{
    static char full[PATH_BYTES * 2];
    snprintf(full, sizeof full, "%s/%s", room->root, path);
    return full;
}

static void ask(struct room *room, enum config_consent answer)
{
    room->consent = room_answer;
    room->answer = answer;
    room->asked = 0;
}

static void every_directory_up_to_the_top_counts_and_the_nearest_last(void **state)
{
    struct room *room = *state;
    room_write(room, "cadre.yaml", "sub_agent: {max_depth: 0}\n"); /* above the top */
    room_write(room, "top/cadre.yaml", "sub_agent: {max_concurrent: 2, max_retries: 0}\n");
    room_write(room, "top/mid/cadre.yaml", "sub_agent: {max_concurrent: 1}\n");
    room_write(room, "top/mid/ws/cadre.yaml", "mode: plan\n");
    load_ok(room);
    assert_int_equal(room->config.file_count, 3);
    check_str(room->config.files[0], in_room(room, "top/cadre.yaml"));
    check_str(room->config.files[2], in_room(room, "top/mid/ws/cadre.yaml"));
    assert_int_equal(room->config.settings.max_depth, 2);
    assert_int_equal(room->config.settings.max_concurrent, 1);
    assert_int_equal(room->config.settings.max_retries, 0);
    assert_int_equal(room->config.settings.mode, MODE_PLAN);
}

static void without_a_repository_only_the_workspace_counts(void **state)
{
    struct room *room = *state;
    static const char *const breakages[] = {"top/.git/HEAD", "top/.git"};
    room_write(room, "top/cadre.yaml", "sub_agent: {max_concurrent: 2}\n");
    for (size_t i = 0; i < 2; i++) { /* an empty .git is no repository either */
        assert_int_equal(remove(in_room(room, breakages[i])), 0);
        load_ok(room);
        assert_int_equal(room->config.file_count, 0);
        assert_int_equal(room->config.project_count, 1);
    }
    room_write(room, "top/.git", "gitdir: elsewhere\n");
    load_ok(room);
    assert_int_equal(room->config.file_count, 1);
}

/* A directory that others can write to or own could get a file from them. */
static void the_search_ends_where_others_have_a_say(void **state)
{
    struct room *room = *state;
    room_write(room, "top/cadre.yaml", "sub_agent: {max_concurrent: 2}\n");
    room_write(room, "top/mid/cadre.yaml", "sub_agent: {max_concurrent: 1}\n");
    assert_int_equal(chmod(in_room(room, "top/mid"), 01777), 0);
    load_ok(room);
    assert_int_equal(room->config.file_count, 0);
    assert_int_equal(chmod(in_room(room, "top/mid"), 0755), 0);
    if (geteuid() != 0)
        return; /* only root gives files away */
    assert_int_equal(chown(in_room(room, "top/mid"), 12345, 12345), 0);
    load_ok(room);
    assert_int_equal(room->config.file_count, 0);
}

static void a_file_of_somebody_else_stops_the_start(void **state)
{
    struct room *room = *state;
    static const char *const files[] = {"top/cadre.yaml", "top/mid/ws/cadre.yaml"};
    if (geteuid() != 0)
        return; /* only root gives files away */
    for (size_t i = 0; i < 2; i++) {
        room_write(room, files[i], "mode: plan\n");
        assert_int_equal(chown(in_room(room, files[i]), 12345, 12345), 0);
        load_fails(room, ERR_CONFIG, files[i],
                   " belongs to user 12345, neither to you nor to root");
        assert_int_equal(remove(in_room(room, files[i])), 0);
    }
}

static void the_search_ends_at_a_mount_point(void **state)
{
    struct room *room = *state;
    room_write(room, "top/cadre.yaml", "sub_agent: {max_concurrent: 2}\n");
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(in_room(room, "top/mid"), in_room(room, "top/mid"), NULL, MS_BIND, NULL) != 0)
        return; /* it takes a capability */
    int loaded = room_load(room);
    size_t files = loaded == 0 ? room->config.file_count : SIZE_MAX;
    assert_int_equal(umount2(in_room(room, "top/mid"), MNT_DETACH), 0);
    assert_int_equal(files, 0);
}

/* An inner file is held to what the outer one says. */
static void an_inner_file_that_lifts_an_outer_limit_takes_consent(void **state)
{
    struct room *room = *state;
    room_write(room, "top/cadre.yaml", "sub_agent: {max_concurrent: 1}\n");
    room_write(room, "top/mid/ws/cadre.yaml", "sub_agent: {max_concurrent: 2}\n");
    load_fails(room, ERR_CONFIG, "top/mid/ws/cadre.yaml",
               ":1:29: a project's file may not set sub_agent.max_concurrent wider than 1 (");
}

static void consent_is_kept_for_each_file_as_it_is(void **state)
{
    struct room *room = *state;
    size_t count;
    room_write(room, "top/cadre.yaml", "mode: auto\n");
    room_write(room, "top/mid/cadre.yaml", "sub_agent: {max_depth: 1}\n");
    room_write(room, "top/mid/ws/cadre.yaml", "sub_agent: {max_concurrent: 9}\n");
    ask(room, CONSENT_KEPT);
    load_ok(room);
    assert_int_equal(room->asked, 1);
    assert_int_equal(room->config.projects[0].widens, 1);
    assert_int_equal(room->config.projects[1].widens, 0);
    ask(room, CONSENT_DENIED);
    load_ok(room);
    room_write(room, "top/mid/cadre.yaml", "sub_agent: {max_depth: 0}\n"); /* narrows as before */
    load_ok(room);
    assert_int_equal(room->asked, 0);
    room_write(room, "top/cadre.yaml", "mode: auto # changed\n");
    load_fails(room, ERR_CONFIG, "top/cadre.yaml", ":1:7: a project's file may not set mode");
    room_write(room, "top/cadre.yaml", "mode: auto\n");
    load_ok(room);
    assert_int_equal(config_trust_revoke(&room->config, &count, &room->err), 0);
    assert_int_equal(count, 2);
    load_fails(room, ERR_CONFIG, "top/cadre.yaml", ":1:7: a project's file may not set mode");
}

static void what_is_left_out_is_left_out_whole(void **state)
{
    struct room *room = *state;
    room_write(room, "top/cadre.yaml", "mode: auto\n");
    room_write(room, "top/mid/ws/cadre.yaml", "sub_agent: {max_depth: 1}\n");
    ask(room, CONSENT_WITHOUT_IT);
    load_ok(room);
    assert_int_equal(room->config.file_count, 0);
    assert_int_equal(room->config.settings.mode, MODE_SAFE);
    assert_int_equal(room->config.settings.max_depth, 2);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(every_directory_up_to_the_top_counts_and_the_nearest_last),
        ROOM(without_a_repository_only_the_workspace_counts),
        ROOM(the_search_ends_where_others_have_a_say),
        ROOM(a_file_of_somebody_else_stops_the_start),
        ROOM(the_search_ends_at_a_mount_point),
        ROOM(an_inner_file_that_lifts_an_outer_limit_takes_consent),
        ROOM(consent_is_kept_for_each_file_as_it_is),
        ROOM(what_is_left_out_is_left_out_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
