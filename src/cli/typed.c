/* See typed.h. The process never leaves the directory in which it was started for longer than it takes to start a program there. Main
 * thread. */
#include "cli/typed.h"

#include <limits.h>
#include <unistd.h>

#include "base/path.h"

struct str typed_here(struct arena *arena)
{
    char directory[PATH_MAX];
    return getcwd(directory, sizeof directory) != NULL ? arena_copy(arena, str_from(directory))
                                                       : STR_NONE;
}

int typed_path(struct arena *arena, struct str typed, struct str *path, struct err *err)
{
    struct str here = typed_here(arena);
    if (typed.n == 0 || memchr(typed.p, '\0', typed.n) != NULL)
        return err_set(err, ERR_USAGE, "expected the path of a file");
    if (here.n == 0 && typed.p[0] != '/')
        return err_set(err, ERR_USAGE, "%.*s: the current directory is gone",
                       (int)(typed.n < 256 ? typed.n : 256), typed.p);
    *path = path_from(arena, here, typed);
    return path->n < PATH_MAX ? 0 : err_set(err, ERR_USAGE, "the file's name is too long");
}
