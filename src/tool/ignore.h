/* Rules of .gitignore files: which files and directories a search passes over. Pure; any thread.
 *
 * As git has them: the last rule that matches decides, a rule with ! takes back, a slash in the
 * middle or in front ties a rule to its file's directory, one at the end means directories only,
 * ** stands for any number of directories. A file in a directory that is ignored cannot be taken
 * back: walks do not go in. Names are compared by characters, so that ? is one letter of any
 * alphabet; git compares bytes. */
#ifndef CADRE_TOOL_IGNORE_H
#define CADRE_TOOL_IGNORE_H

#include "base/arena.h"
#include "base/str.h"

#define IGNORE_NAME ".gitignore"
#define IGNORE_FILE_MAX (256u << 10) /* bytes of a file that are looked at */
#define IGNORE_RULES_MAX 4096        /* of one file */

struct ignore_rule {
    struct str pattern; /* a view of the file's text, or in the arena */
    enum { IGNORE_LEAVES_OUT, IGNORE_TAKES_BACK } effect;
    enum { IGNORE_ANY_KIND, IGNORE_DIRECTORIES } kinds;
    enum { IGNORE_BY_NAME, IGNORE_BY_PATH } compares;
};

/* The rules of one directory's file, and of those above it. */
struct ignore_level {
    const struct ignore_level *above; /* NULL at the top */
    struct str directory;             /* from the scope's root; "." */
    struct ignore_rule *rules;        /* in the arena */
    size_t count;
};

enum ignore_entry { IGNORE_FILE, IGNORE_DIRECTORY };

/* Reads the text of a file; it must live as long as the level. */
void ignore_parse(struct ignore_level *level, struct arena *arena, struct str text);
/* Is an entry left out? path: from the scope's root, beneath the directory of each level. */
bool ignore_match(const struct ignore_level *level, struct str path, enum ignore_entry entry);

#endif
