/* The records of a child's checkout: its HEAD and index, the config that we wrote, and the objects and refs that links of ours lead to.
 * Nothing of the user's config, and of other children their branches alone. Any thread; no git is run. */
#include "git/records.h"

#include <limits.h>
#include <stdlib.h>

static const char *const common[] = {"config", "info", "objects", "packed-refs", "refs", "shallow"};

void git_records(struct arena *arena, const struct git_site *site, struct sandbox_records *records)
{
    size_t most = sizeof common / sizeof common[0] + 1;
    struct sandbox_record *items = arena_alloc(arena, most * sizeof *items);
    struct str git_dir = site->git_dir, top = site->common_dir;
    bool inside = str_starts(git_dir, top) && git_dir.n > top.n + 1 && git_dir.p[top.n] == '/';
    *records = (struct sandbox_records){.items = items};
    if (site->owner != GIT_SITE_CHILD || site->prefix.n > 0 || !inside)
        return;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        char real[PATH_MAX];
        struct str path = arena_printf(arena, "%.*s/%s", STR_FMT(top), common[i]);
        if (realpath(path.p, real) != NULL)
            items[records->count++] =
                (struct sandbox_record){str_from(common[i]), arena_copy(arena, str_from(real))};
    }
    records->git_dir =
        arena_copy(arena, (struct str){git_dir.p + top.n + 1, git_dir.n - top.n - 1});
    items[records->count++] = (struct sandbox_record){records->git_dir, arena_copy(arena, git_dir)};
}
