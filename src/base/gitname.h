/* Names that git takes for a repository, or that a file system would.
 *
 * git finds a repository in two ways: by the name `.git`, and by a layout: a directory of any name that holds HEAD and, beside it or
 * where the file `commondir` leads, objects and refs. It then obeys the config in it. Some file systems fold other names into `.git`,
 * and git refuses to carry those. Pure; the launcher of the sandbox is built with this file too. */
#ifndef CADRE_BASE_GITNAME_H
#define CADRE_BASE_GITNAME_H

#include "base/str.h"

/* ".git" in any case. */
bool gitname_is_git(struct str name);
/* ".git", or a name that some file system or git takes for it: trailing dots and blanks, `git~1`, a stream of NTFS (`.git:x`),
 * characters without a width in it, the same behind a backslash. */
bool gitname_is_alias(struct str name);

/* The entries by which git knows a directory as a repository; flags. */
enum gitname_part {
    GITNAME_OTHER = 0,
    GITNAME_HEAD = 1,
    GITNAME_OBJECTS = 2,
    GITNAME_REFS = 4,
    GITNAME_COMMONDIR = 8,
};

#define GITNAME_PARTS 4
/* Their names, by the number of the flag's bit. */
extern const char *const gitname_parts[GITNAME_PARTS];

/* Which part an entry of this name is, in any case. */
enum gitname_part gitname_part(struct str name);
/* Would git take a directory with these parts for a repository? */
bool gitname_is_layout(unsigned parts);

#endif
