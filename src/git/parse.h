/* Answers of git that end fields with NUL (-z), cut into parts. Views point into the text that was given. Nothing here runs git or
 * touches a file; hostile names (newlines, quotes, bytes that are no UTF-8) come through as they are. */
#ifndef CADRE_GIT_PARSE_H
#define CADRE_GIT_PARSE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define GIT_MODE_FILE 0100644
#define GIT_MODE_PROGRAM 0100755
#define GIT_MODE_LINK 0120000
#define GIT_MODE_MODULE 0160000 /* a gitlink: a commit of another repository */

/* One line of `diff --raw -z --no-renames`. */
struct git_change {
    uint32_t old_mode, new_mode; /* 0: it does not exist on that side */
    struct str old_id, new_id;
    char status; /* A D M T U */
    struct str path;
};

struct git_changes {
    struct git_change *items;
    size_t count;
};

/* What `merge-tree --write-tree -z --name-only` says. */
struct git_merge_answer {
    struct str tree;
    struct str *files; /* in conflict, each once, in git's order */
    size_t file_count;
    struct str message; /* of the first conflict; empty: none */
    struct git_merge_note *notes;
    size_t note_count;
    bool clean; /* nothing is in conflict */
};

/* What git says about a conflict. */
struct git_merge_note {
    struct str path; /* the first that it names */
    struct str text;
};

/* The next field without its NUL; false at the end. A last field without a NUL counts. */
bool git_next_field(struct str *rest, struct str *field);
/* One line of output: an object's name. CORRUPT when it is none. */
NODISCARD int git_parse_id(struct str output, struct str *id, struct err *err);
bool git_is_id(struct str text);
NODISCARD int git_parse_changes(struct arena *arena, struct str output, struct git_changes *changes,
                                struct err *err);
NODISCARD int git_parse_merge(struct arena *arena, struct str output,
                              struct git_merge_answer *answer, struct err *err);
/* `key\nvalue`; a key without a value is true. */
void git_parse_setting(struct str field, struct str *key, struct str *value);

#endif
