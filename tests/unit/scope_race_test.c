/* The race: one thread swaps a directory for a link to the outside as fast as it can, another turns
 * a link to and fro, while a third opens through those names: for reading, for writing, for deleting
 * and in walks. No open may ever end outside. CADRE_ADVERSARY_OPENS sets how many must succeed; in
 * `make check` a million. */
#include "tool_fixture.h"

#include <dirent.h>

#include "os/place.h"

static const struct str everything[] = {{".", 1}};
static const struct scope_allow all = {everything, 1};

#define OPENS_DEFAULT 50000
#define WHOLE_EVERY 500 /* rounds; a whole write or delete waits for the disk */
#define ROUNDS_MOST 10  /* for each open that is wanted */

struct tally {
    const char *name;
    long opened, refused, escaped;
};

/* What lies outside, by identity. */
struct outside {
    struct stat directory, secret;
};

enum attempt { READING, HOPPING, PLACING, WALKING, ENTERING, ATTEMPTS };

static void count(struct tally *tally, int fd, const struct outside *outside)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    const struct stat *there = S_ISDIR(status.st_mode) ? &outside->directory : &outside->secret;
    tally->opened++;
    tally->escaped += status.st_ino == there->st_ino && status.st_dev == there->st_dev;
}

static void try_reading(struct fixture *f, struct str path, const struct outside *outside,
                        struct tally *tally)
{
    struct err err = ERR_INIT;
    struct scope_file file;
    if (scope_open_read(&f->scope, path, all, SCOPE_FOLLOW_LINKS, &file, &err) != 0) {
        tally->refused++;
        return;
    }
    count(tally, file.fd, outside);
    close(file.fd);
}

static void try_placing(struct fixture *f, const struct outside *outside, struct tally *tally)
{
    struct err err = ERR_INIT;
    struct place place;
    if (place_open(&place, &f->scope, STR("dir/new"), all, PLACE_MAKES_PARENTS, &err) != 0) {
        tally->refused++;
        return;
    }
    count(tally, place.directory, outside);
    place_close(&place);
}

/* As a walk does it: a directory by its path, its entries by their names. */
static void try_walking(struct fixture *f, const struct outside *outside, struct tally *directories,
                        struct tally *entries)
{
    struct err err = ERR_INIT;
    struct scope_file top;
    struct stat status;
    assert_int_equal(scope_open_dir(&f->scope, STR("."), all, SCOPE_FOLLOW_LINKS, &top, &err), 0);
    int directory = scope_open_entry(&f->scope, top.fd, "dir", O_DIRECTORY, &status);
    close(top.fd);
    if (directory < 0) {
        directories->refused++;
        if (scope_open_dir(&f->scope, STR("dir"), all, SCOPE_FOLLOW_LINKS, &top, &err) != 0)
            return;
        directory = top.fd;
    }
    count(directories, directory, outside);
    int file = scope_open_entry(&f->scope, directory, "secret", 0, &status);
    close(directory);
    if (file < 0) {
        entries->refused++;
        return;
    }
    count(entries, file, outside);
    close(file);
}

static bool write_whole(struct fixture *f, const char *path)
{
    struct err err = ERR_INIT;
    struct place place;
    if (place_open(&place, &f->scope, str_from(path), all, PLACE_MAKES_PARENTS, &err) != 0)
        return false;
    int written = place_write(&place, STR("x"), PLACE_EXPECTS_NOTHING, STR("call"), &err);
    place_close(&place);
    return written == 0;
}

static bool delete_whole(struct fixture *f, const char *path)
{
    struct err err = ERR_INIT;
    struct place place;
    if (place_open(&place, &f->scope, str_from(path), all, PLACE_NEEDS_PARENTS, &err) != 0)
        return false;
    int deleted = place_delete(&place, &err);
    place_close(&place);
    return deleted == 0;
}

/* --- a link that turns ------------------------------------------------------------------------ */

struct turner {
    char link[400], next[400];
    pthread_t thread;
    atomic_bool stop;
};

static void *turn(void *user)
{
    struct turner *turner = user;
    for (long i = 0; !atomic_load(&turner->stop); i++)
        if (symlink(i % 2 ? "../outside" : "steady", turner->next) == 0)
            (void)!rename(turner->next, turner->link);
    return NULL;
}

static void turner_start(struct turner *turner, struct fixture *f)
{
    *turner = (struct turner){0};
    snprintf(turner->link, sizeof turner->link, "%s/hop", f->workspace);
    snprintf(turner->next, sizeof turner->next, "%s/hop-next", f->workspace);
    put(f, "steady/secret", "inside-line\n");
    assert_int_equal(pthread_create(&turner->thread, NULL, turn, turner), 0);
}

static void turner_end(struct turner *turner)
{
    atomic_store(&turner->stop, true);
    assert_int_equal(pthread_join(turner->thread, NULL), 0);
}

/* --- the test --------------------------------------------------------------------------------- */

static size_t count_entries(const char *path)
{
    size_t entries = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        entries += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(directory);
    return entries;
}

static void one_round(struct fixture *f, const struct outside *outside,
                      struct tally tallies[ATTEMPTS])
{
    try_reading(f, STR("dir/secret"), outside, &tallies[READING]);
    try_reading(f, STR("hop/secret"), outside, &tallies[HOPPING]);
    try_placing(f, outside, &tallies[PLACING]);
    try_walking(f, outside, &tallies[WALKING], &tallies[ENTERING]);
}

static long opened_in_all(const struct tally tallies[ATTEMPTS])
{
    long opened = 0;
    for (size_t i = 0; i < ATTEMPTS; i++)
        opened += tallies[i].opened;
    return opened;
}

static void no_open_escapes_while_directories_and_links_are_swapped(void **state)
{
    struct fixture *f = *state;
    struct swapper swapper;
    struct turner turner;
    struct outside outside;
    struct tally tallies[ATTEMPTS] = {[READING] = {.name = "reads"},
                                      [HOPPING] = {.name = "reads through a link"},
                                      [PLACING] = {.name = "places"},
                                      [WALKING] = {.name = "directories"},
                                      [ENTERING] = {.name = "entries"}};
    long written = 0, deleted = 0;
    char path[64];
    const char *asked = getenv("CADRE_ADVERSARY_OPENS");
    long wanted = asked ? strtol(asked, NULL, 10) : OPENS_DEFAULT;

    fixture_write(f->top, "outside/victim", "kept\n", 5);
    assert_int_equal(stat(in_workspace(f, "../outside/secret"), &outside.secret), 0);
    assert_int_equal(stat(in_workspace(f, "../outside"), &outside.directory), 0);
    swapper_start(&swapper, f);
    turner_start(&turner, f);
    for (long i = 0; opened_in_all(tallies) < wanted && i < ROUNDS_MOST * wanted; i++) {
        one_round(f, &outside, tallies);
        if (i % WHOLE_EVERY == 0) {
            snprintf(path, sizeof path, "dir/deep/w%ld", i);
            written += write_whole(f, path);
            written += write_whole(f, "dir/victim");
        }
        if (i % WHOLE_EVERY < 20)
            deleted += delete_whole(f, "dir/victim");
    }
    swapper_end(&swapper);
    turner_end(&turner);
    print_message("# %ld swaps, %ld written, %ld deleted\n", atomic_load(&swapper.swaps), written,
                  deleted);
    for (size_t i = 0; i < ATTEMPTS; i++) {
        print_message("# %s: %ld opened, %ld refused\n", tallies[i].name, tallies[i].opened,
                      tallies[i].refused);
        assert_int_equal(tallies[i].escaped, 0);
        /* The race was real: both states were met. An entry of an opened directory is always there. */
        assert_true(tallies[i].opened > 0 && (tallies[i].refused > 0 || i == ENTERING));
    }
    assert_true(opened_in_all(tallies) >= wanted && written > 0 && deleted > 0);
    assert_int_equal(count_entries(in_workspace(f, "../outside")), 2); /* the secret, the victim */
    assert_string_equal(content_of(f, "../outside/victim"), "kept\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_open_escapes_while_directories_and_links_are_swapped,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
