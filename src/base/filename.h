/* File names as text. A name may hold any byte but '/' and NUL: line breaks, escape sequences, letters that turn others round, bytes that
 * are not UTF-8. Such a path is shown in double quotes with C's escapes ("a\nb", "\033[2J", "\377"), on one line; an ordinary one is
 * shown as it is. What is shown can be read back: whoever sees a path can ask for the file by what it sees. Pure. */
#ifndef CADRE_BASE_FILENAME_H
#define CADRE_BASE_FILENAME_H

#include "base/arena.h"
#include "base/buf.h"

/* Bytes that a path takes at most when it is shown. */
#define FILENAME_SHOWN(bytes) (4 * (bytes) + 2)

/* Appends the path as it is shown. A path that begins with a double quote is quoted too, so that reading it back has one meaning. */
void filename_show(struct buf *out, struct str path);
/* The same as a text of the arena; an ordinary path is not copied. */
struct str filename_shown(struct arena *arena, struct str path);
/* The path that was shown so, or typed so. Text that is not a quoted path means itself. */
struct str filename_read(struct arena *arena, struct str shown);

/* For messages: as it is shown, and cut where it is very long. Lives as long as the expression that makes it. */
struct filename {
    char text[1024];
};
struct filename filename_of(struct str path);

#endif
