/* Publishing reports: .cadre ignores itself before anything else is in it, whenever somebody looks. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/publish.h"

struct room {
    char workspace[64], directory[128]; /* the latter is its .cadre */
    struct publication_file file;
    struct publication publication;
};

static int room_open(void **state)
{
    struct room *room = calloc(1, sizeof *room);
    assert_non_null(room);
    snprintf(room->workspace, sizeof room->workspace, "/tmp/cadre-publish-XXXXXX");
    assert_non_null(mkdtemp(room->workspace));
    snprintf(room->directory, sizeof room->directory, "%s/.cadre", room->workspace);
    room->file = (struct publication_file){STR(".cadre/reports/run/run.md"), STR("# A\n"), NULL};
    room->publication =
        (struct publication){.workspace = str_from(room->workspace), .first = &room->file};
    *state = room;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

static int room_close(void **state)
{
    struct room *room = *state;
    nftw(room->workspace, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(room);
    return 0;
}

static void publish(struct room *room)
{
    struct err err = ERR_INIT;
    if (publication_write(&room->publication, &err) != 0)
        fail_msg("%s", err.message);
}

static void check_file(const struct room *room, const char *name, const char *text)
{
    char path[256], found[64] = "";
    snprintf(path, sizeof path, "%s/%s", room->directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, found, sizeof found - 1) >= 0);
    close(fd);
    assert_string_equal(found, text);
}

static void put_file(const struct room *room, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", room->directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static bool has_unnamed_files(const struct room *room)
{
    int fd = open(room->workspace, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void nothing_is_seen_in_the_directory_before_the_file_that_ignores_it(void **state)
{
    struct room *room = *state;
    _Alignas(struct inotify_event) char events[4096];
    assert_int_equal(mkdir(room->directory, 0700), 0);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watch >= 0 &&
                inotify_add_watch(watch, room->directory, IN_CREATE | IN_MOVED_TO) >= 0);
    publish(room);
    ssize_t n = read(watch, events, sizeof events);
    assert_true(n > (ssize_t)sizeof(struct inotify_event));
    const struct inotify_event *first = (const struct inotify_event *)(const void *)events;
    if (has_unnamed_files(room))
        assert_string_equal(first->name, ".gitignore");
    close(watch);
    check_file(room, ".gitignore", "*\n");
    check_file(room, "reports/run/run.md", "# A\n");
}

static void a_report_is_written_over_and_what_ignores_the_directory_is_kept(void **state)
{
    struct room *room = *state;
    publish(room);
    put_file(room, ".gitignore", "mine\n");
    room->file.text = STR("# B\n");
    publish(room);
    check_file(room, ".gitignore", "mine\n");
    check_file(room, "reports/run/run.md", "# B\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            nothing_is_seen_in_the_directory_before_the_file_that_ignores_it, room_open,
            room_close),
        cmocka_unit_test_setup_teardown(
            a_report_is_written_over_and_what_ignores_the_directory_is_kept, room_open, room_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
