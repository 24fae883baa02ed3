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
