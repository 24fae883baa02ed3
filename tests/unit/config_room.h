/* A home, a workspace and an environment of a config test's own, and loads that must succeed or fail. */
#ifndef CADRE_TESTS_UNIT_CONFIG_ROOM_H
#define CADRE_TESTS_UNIT_CONFIG_ROOM_H

#include "config/config.h"

enum { PATH_BYTES = 512, VARIABLES = 8 };

#define USER_FILE ".config/cadre/cadre.yaml"
#define PROJECT_FILE "ws/cadre.yaml"

struct room {
    char root[PATH_BYTES]; /* also HOME */
    char workspace[PATH_BYTES + 16];
    char here[PATH_BYTES + 16]; /* where the user stands; empty: in the workspace */
    struct {
        const char *name, *value;
    } variables[VARIABLES];
    size_t variable_count;
    struct config_flags flags;
    config_consent_fn *consent;       /* its user is the room */
    enum config_consent answer;       /* of room_answer, */
    size_t asked;                     /* and how often it was asked */
    struct config_mistakes *mistakes; /* NULL: a load stops at the first one */
    struct config config;
    struct err err;
};

int room_setup(void **state);
int room_teardown(void **state);
void room_set(struct room *room, const char *name, const char *value); /* the last one holds */
void room_mkdir(struct room *room, const char *path);
/* Paths are relative to the room. */
void room_write(struct room *room, const char *path, const char *text);
void room_write_bytes(struct room *room, const char *path, struct str text);
/* Copies a file of the tests folder into the room. */
void room_copy(struct room *room, const char *path, const char *fixture);

/* A consent that gives room->answer. */
config_consent_fn room_answer;
int room_load(struct room *room);
void load_ok(struct room *room);
/* The load fails with this class, and its message starts "ROOT/<file><rest>". file NULL: no file is named. */
void load_fails(struct room *room, enum err_class class, const char *file, const char *rest);

void fixture_path(char out[PATH_BYTES * 2], const char *name);
char *fixture_read(const char *name); /* to be freed */
/* Loads each file of a fixture folder in place of `target` and compares with its "# expect " line. */
void walk_fixtures(struct room *room, const char *folder, const char *target, size_t least);

#endif
