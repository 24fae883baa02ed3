/* Where a value was written, and errors that point there. A source is a config file's bytes, or a flag: then it has no
 * text and errors name the flag alone. Views belong to the arena that the source was read into. */
#ifndef CADRE_CONFIG_SOURCE_H
#define CADRE_CONFIG_SOURCE_H

#include "base/arena.h"
#include "base/err.h"

#define CONFIG_FILE_MAX (1024 * 1024)

struct config_source {
    struct str name;      /* absolute path, or "--mode" */
    struct str text;      /* STR_NONE: a flag */
    enum err_class class; /* of errors in it: CONFIG for files, USAGE for flags */
};

/* Bytes [at, at + length) of a source; source NULL: built in. */
struct config_place {
    const struct config_source *source;
    size_t at, length;
};

/* What of the line may be shown: a value that could be a secret is not repeated. */
enum config_excerpt { EXCERPT_LINE, EXCERPT_HIDE_REST, EXCERPT_HIDE_VALUE };

/* "FILE:3:5: message", then the line with a caret under the place. Lines and columns (characters) count from 1.
 * Always returns -1. */
int config_error(const struct config_place *place, enum config_excerpt excerpt, struct err *err,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Mistakes of one load, for a command that shows all of them at once. The caller owns it and starts it zeroed. */
enum { CONFIG_MISTAKES_MAX = 50 };
struct config_mistakes {
    struct err items[CONFIG_MISTAKES_MAX]; /* the first of them, in the order of the files */
    size_t found;                          /* all of them; more than MAX: the rest was not kept */
    unsigned sections;                     /* where they lie: CONFIG_IN_… */
    bool incomplete; /* some references between keys were not checked, because of `sections` */
};
/* Sections whose keys refer to each other. A reference to a key that has a mistake would be told as a second mistake. */
enum {
    CONFIG_IN_LLM = 1,
    CONFIG_IN_TOOLS = 2,
    CONFIG_IN_SANDBOX = 4, /* access too */
    CONFIG_IN_ALL = 7,     /* a whole file could not be read */
};
/* How many of `found` are in `items`. */
size_t config_mistakes_kept(const struct config_mistakes *mistakes);
/* Moves the mistake in err into the list, so that the load can look for the next one: returns 0 and err is empty again. Without a
 * list (NULL) the first mistake ends the load: returns -1. An empty err was moved before and is not counted twice. */
int config_mistake_keep(struct config_mistakes *mistakes, struct err *err) NODISCARD;
/* Appends "FILE:3:5", the flag's name, or "built-in". */
struct buf;
void config_place_print(const struct config_place *place, struct buf *out);
/* Byte offset of a line and column as counted above; past the end gives the end. */
size_t config_source_offset(const struct config_source *source, size_t line, size_t column);

/* A project file is somebody else's: a symbolic link in its place could show any file of the user in an excerpt. */
enum config_links { LINKS_FOLLOWED, LINKS_REFUSED };
enum config_found { SOURCE_ABSENT, SOURCE_READ };
struct config_file_id {
    uint64_t device, inode;
};
/* Reads a regular file of at most CONFIG_FILE_MAX bytes. A missing file is no error here: *found says so. */
int config_source_read(struct arena *arena, struct str path, enum config_links links,
                       struct config_source *source, struct config_file_id *id,
                       enum config_found *found, struct err *err) NODISCARD;

#endif
