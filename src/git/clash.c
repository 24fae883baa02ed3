/* Reads clashes off a merge: see clash.h. On threads that may wait. */
#include "git/clash.h"

#include "git/guard.h"

#define MARKED_MAX (8u << 20) /* bytes of a file in which marks are looked for */

size_t git_clashes_in(struct arena *arena, struct str path, struct str marked,
                      struct vcs_clash *clashes, size_t room)
{
    enum { OUTSIDE, OURS, BASE, THEIRS } side = OUTSIDE;
    struct str line, start = STR_NONE;
    int64_t number = 0, first = 0;
    size_t count = 0;
    while (count < room && str_next_line(&marked, &line)) {
        if (side == OUTSIDE && str_starts(line, STR("<<<<<<< "))) {
            side = OURS;
            start = line;
            first = number + 1;
        } else if (side == OURS && str_starts(line, STR("||||||| "))) {
            side = BASE;
        } else if ((side == OURS || side == BASE) && str_is(line, "=======")) {
            side = THEIRS;
        } else if (side == THEIRS && str_starts(line, STR(">>>>>>> "))) {
            size_t n = (size_t)(line.p + line.n - start.p);
            side = OUTSIDE;
            clashes[count++] = (struct vcs_clash){
                .path = path,
                .first = first,
                .last = number < first ? first : number,
                .hunk =
                    arena_copy(arena, (struct str){start.p, n < GIT_HUNK_MAX ? n : GIT_HUNK_MAX})};
        } else {
            number += side == OUTSIDE || side == OURS; /* lines of the user's file */
        }
    }
    return count;
}

/* The file with git's marks; empty where it cannot be had: it is gone on one side, too large, or not text. */
static struct str marked_text(const struct git_work *work, struct str tree, struct str path)
{
    struct git_answer answer;
    struct err none = ERR_INIT;
    const char *name = arena_printf(work->arena, "%.*s:%.*s", STR_FMT(tree), STR_FMT(path)).p;
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("cat-file", "blob", name),
                            .output_max = MARKED_MAX,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, &none) != 0)
        return STR("");
    struct str text = arena_copy(work->arena, buf_view(&answer.output));
    git_answer_release(&answer);
    return text;
}

static struct str note_of(const struct git_merge_answer *told, struct str path)
{
    for (size_t i = 0; i < told->note_count; i++)
        if (str_eq(told->notes[i].path, path))
            return told->notes[i].text;
    return told->message;
}

int git_clashes(const struct git_work *work, const struct git_merge_answer *told,
                struct vcs_applied *applied, struct err *err)
{
    struct vcs_clash *clashes = arena_alloc(work->arena, GIT_CLASHES_MAX * sizeof *clashes);
    size_t count = 0;
    for (size_t i = 0; i < told->file_count && count < GIT_CLASHES_MAX; i++) {
        struct str inside;
        git_in_workspace(work->site, told->files[i], &inside);
        inside = arena_copy(work->arena, inside);
        size_t found =
            git_clashes_in(work->arena, inside, marked_text(work, told->tree, told->files[i]),
                           clashes + count, GIT_CLASHES_MAX - count);
        if (found == 0)
            clashes[count] = (struct vcs_clash){
                .path = inside, .hunk = arena_copy(work->arena, note_of(told, told->files[i]))};
        count += found > 0 ? found : 1;
    }
    applied->clashes = clashes;
    applied->clash_count = count;
    return 0;
}
