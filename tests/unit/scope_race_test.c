/* The race: one thread swaps a directory for a link to the outside as fast as it can, while
 * another opens through that name for reading and for writing. No open may ever end outside.
 * CADRE_ADVERSARY_OPENS sets how many are tried. */
#include "tool_fixture.h"

#include <dirent.h>

#include "os/place.h"

static const struct str everything[] = {{".", 1}};
static const struct scope_allow all = {everything, 1};

#define OPENS_DEFAULT 200000
#define WHOLE_WRITES_EVERY 500 /* opens; a whole write waits for the disk */

struct tally {
    long opened, refused, escaped;
};

static void count(struct tally *tally, int fd, const struct stat *outside)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    tally->opened++;
    tally->escaped += status.st_ino == outside->st_ino && status.st_dev == outside->st_dev;
}

static void try_reading(struct fixture *f, const struct stat *outside, struct tally *tally)
{
    struct err err = ERR_INIT;
    struct scope_file file;
    if (scope_open_read(&f->scope, STR("dir/secret"), all, SCOPE_FOLLOW_LINKS, &file, &err) != 0) {
        tally->refused++;
        return;
    }
    count(tally, file.fd, outside);
    close(file.fd);
}

static void try_placing(struct fixture *f, const struct stat *outside, struct tally *tally)
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

/* A whole write under a new name. True when it was written. */
static bool try_writing(struct fixture *f, long i)
{
    struct err err = ERR_INIT;
    struct place place;
    char path[64];
    snprintf(path, sizeof path, "dir/deep/w%ld", i);
    if (place_open(&place, &f->scope, str_from(path), all, PLACE_MAKES_PARENTS, &err) != 0)
        return false;
    int written = place_write(&place, STR("x"), PLACE_EXPECTS_NOTHING, STR("call"), &err);
    place_close(&place);
    return written == 0;
}

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

static void no_open_escapes_while_directories_are_swapped_for_links(void **state)
{
    struct fixture *f = *state;
    struct swapper swapper;
    struct tally reads = {0}, places = {0};
    struct stat secret, outside;
    long written = 0;
    const char *asked = getenv("CADRE_ADVERSARY_OPENS");
    long opens = asked ? strtol(asked, NULL, 10) : OPENS_DEFAULT;

    assert_int_equal(stat(in_workspace(f, "../outside/secret"), &secret), 0);
    assert_int_equal(stat(in_workspace(f, "../outside"), &outside), 0);
    swapper_start(&swapper, f);
    for (long i = 0; i < opens / 2; i++) {
        try_reading(f, &secret, &reads);
        try_placing(f, &outside, &places);
        if (i % WHOLE_WRITES_EVERY == 0)
            written += try_writing(f, i);
    }
    swapper_end(&swapper);
    print_message("# %ld swaps; reads: %ld opened, %ld refused; places: %ld opened, %ld refused; "
                  "%ld written\n",
                  atomic_load(&swapper.swaps), reads.opened, reads.refused, places.opened,
                  places.refused, written);
    assert_int_equal(reads.escaped, 0);
    assert_int_equal(places.escaped, 0);
    assert_int_equal(count_entries(in_workspace(f, "../outside")), 1); /* the secret alone */
    /* The race was real: both states were met. */
    assert_true(reads.opened > 0 && reads.refused > 0);
    assert_true(places.opened > 0 && places.refused > 0 && written > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_open_escapes_while_directories_are_swapped_for_links,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
