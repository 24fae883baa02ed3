/* Rooms for config tests: see the header. Linked to every unit test. */
#include "config_room.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "config/source.h"

static const char *room_get(void *user, const char *name)
{
    struct room *room = user;
    for (size_t i = room->variable_count; i > 0; i--)
        if (strcmp(room->variables[i - 1].name, name) == 0)
            return room->variables[i - 1].value;
    return NULL;
}

void room_set(struct room *room, const char *name, const char *value)
{
    assert_true(room->variable_count < VARIABLES);
    room->variables[room->variable_count].name = name;
    room->variables[room->variable_count++].value = value;
}

void room_mkdir(struct room *room, const char *path)
{
    char full[PATH_BYTES * 2];
    snprintf(full, sizeof full, "%s/%s", room->root, path);
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

int room_setup(void **state)
{
    struct room *room = calloc(1, sizeof *room);
    const char *base = getenv("TMPDIR");
    snprintf(room->root, sizeof room->root, "%s/cadre-config-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(room->root) || chmod(room->root, 0755) != 0)
        return -1;
    snprintf(room->workspace, sizeof room->workspace, "%s/ws", room->root);
    room_mkdir(room, "ws");
    room_mkdir(room, ".config");
    room_mkdir(room, ".config/cadre");
    room_set(room, "HOME", room->root);
    *state = room;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

int room_teardown(void **state)
{
    struct room *room = *state;
    config_release(&room->config);
    nftw(room->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(room);
    return 0;
}

void room_write_bytes(struct room *room, const char *path, struct str text)
{
    char full[PATH_BYTES * 2];
    snprintf(full, sizeof full, "%s/%s", room->root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    assert_int_equal(fclose(file), 0);
}

void room_write(struct room *room, const char *path, const char *text)
{
    room_write_bytes(room, path, str_from(text));
}

enum config_consent room_answer(void *user, const struct config *config)
{
    struct room *room = user;
    room->asked++;
    return room->answer;
}

int room_load(struct room *room)
{
    struct config_environment environment = {
        .get = room_get,
        .user = room,
        .workspace = str_from(room->workspace),
        .here = str_from(room->here[0] != '\0' ? room->here : room->workspace),
        .consent = room->consent,
        .consent_user = room,
        .mistakes = room->mistakes,
    };
    config_release(&room->config);
    room->err = ERR_INIT;
    if (room->mistakes != NULL)
        *room->mistakes = (struct config_mistakes){.found = 0};
    return config_load(&room->flags, &environment, &room->config, &room->err);
}

void load_ok(struct room *room)
{
    if (room_load(room) != 0)
        fail_msg("refused: %s", room->err.message);
}

void load_fails(struct room *room, enum err_class class, const char *file, const char *rest)
{
    char wanted[PATH_BYTES * 4];
    snprintf(wanted, sizeof wanted, "%s%s%s%s", file ? room->root : "", file ? "/" : "",
             file ? file : "", rest);
    if (room_load(room) == 0)
        fail_msg("accepted, but should give: %s", wanted);
    if (strncmp(room->err.message, wanted, strlen(wanted)) != 0)
        fail_msg("wanted: %s\ngot:    %s", wanted, room->err.message);
    assert_int_equal(room->err.class, class);
    assert_null(room->config.arena.head);
}

void fixture_path(char out[PATH_BYTES * 2], const char *name)
{
    const char *tests = getenv("CADRE_TESTS");
    snprintf(out, PATH_BYTES * 2, "%s/%s", tests ? tests : "tests", name);
}

char *fixture_read(const char *name)
{
    char path[PATH_BYTES * 2];
    fixture_path(path, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s (CADRE_TESTS names the tests folder)", path);
    char *text = calloc(1, 65536);
    size_t n = fread(text, 1, 65535, file);
    assert_true(n > 0);
    fclose(file);
    return text;
}

void room_copy(struct room *room, const char *path, const char *fixture)
{
    char *text = fixture_read(fixture);
    room_write(room, path, text);
    free(text);
}

void walk_fixtures(struct room *room, const char *folder, const char *target, size_t least)
{
    char path[PATH_BYTES * 2];
    fixture_path(path, folder);
    DIR *listing = opendir(path);
    assert_non_null(listing);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%.200s", folder, entry->d_name);
        char *text = fixture_read(path);
        room_write(room, target, text);
        static const char mark[] = "# expect ";
        assert_memory_equal(text, mark, sizeof mark - 1);
        text[strcspn(text, "\n")] = '\0';
        char rest[PATH_BYTES];
        snprintf(rest, sizeof rest, ":%s", text + sizeof mark - 1);
        print_message("%s\n", path);
        load_fails(room, ERR_CONFIG, target, rest);
        assert_non_null(strstr(room->err.message, "^")); /* an excerpt with a caret */
        free(text);
        count++;
    }
    closedir(listing);
    assert_true(count >= least);
}
