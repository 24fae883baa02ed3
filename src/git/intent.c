/* Announces merges, carries them out and completes them: see intent.h. On threads that may wait. */
#include "git/intent.h"

#include "base/filename.h"
#include "base/utf8.h"
#include "git/files.h"
#include "git/index.h"

#define CLASHES_SHOWN 5

const char *git_intent_ref(const struct git_tree *tree, const char *part)
{
    return arena_printf(tree->work.arena, "refs/cadre/%.*s/merge/%.*s%s%s", STR_FMT(tree->run),
                        STR_FMT(tree->name), part[0] != '\0' ? "/" : "", part)
        .p;
}

/* --- refs ----------------------------------------------------------------------------------------------------------------------- */

static int announce(struct git_tree *tree, struct str from, struct str to, struct err *err)
{
    struct str script =
        arena_printf(tree->work.arena, "verify %s %.*s\ncreate %s %.*s\ncreate %s %.*s\n",
                     tree->ref, STR_FMT(from), git_intent_ref(tree, "from"), STR_FMT(from),
                     git_intent_ref(tree, "to"), STR_FMT(to));
    if (git_change_refs(&tree->work, script, err) != 0)
        return -1;
    tree->refs.from = from;
    tree->refs.to = to;
    return 0;
}

/* What is left of an announcement goes; `before` changes the branch in the same transaction, and first. */
static int clear(struct git_tree *tree, struct str before, struct err *err)
{
    struct git_tree_refs *refs = &tree->refs;
    struct {
        const char *part;
        struct str *value;
    } parts[] = {{"from", &refs->from}, {"to", &refs->to}, {"undo", &refs->undo}};
    struct buf script;
    buf_init(&script, 8192);
    buf_str(&script, before);
    for (size_t i = 0; i < 3; i++)
        if (parts[i].value->n > 0)
            buf_printf(&script, "delete %s %.*s\n", git_intent_ref(tree, parts[i].part),
                       STR_FMT(*parts[i].value));
    int result = git_change_refs(&tree->work, buf_view(&script), err);
    buf_release(&script);
    if (result == 0)
        refs->from = refs->to = refs->undo = STR("");
    return result;
}

/* Files are done: the branch follows. */
static int finish(struct git_tree *tree, struct err *err)
{
    struct str before = arena_printf(tree->work.arena, "update %s %.*s %.*s\n", tree->ref,
                                     STR_FMT(tree->refs.to), STR_FMT(tree->refs.from));
    struct str to = tree->refs.to;
    if (clear(tree, before, err) != 0)
        return -1;
    tree->refs.end = to;
    return 0;
}

/* --- files ---------------------------------------------------------------------------------------------------------------------- */

static int move_files(struct git_tree *tree, struct str from, struct str to, enum git_move mode,
                      struct vcs_list *clashes, struct err *err)
{
    struct git_moved moved;
    if (git_files_move(&tree->work, from, to, mode, &moved, err) != 0)
        return -1;
    *clashes = moved.clashes;
    bool done = mode == GIT_MOVE_BACK || moved.clashes.count == 0;
    /* The user's index is the user's. */
    if (!done || tree->site.owner == GIT_SITE_USER)
        return 0;
    return git_index_put(&tree->work, NULL, &moved.changes, err);
}

/* Back to `from`: the direction is written down first. */
static int take_back(struct git_tree *tree, struct err *err)
{
    struct git_tree_refs *refs = &tree->refs;
    struct vcs_list clashes;
    if (refs->undo.n == 0) {
        struct str script = arena_printf(tree->work.arena, "create %s %.*s\ndelete %s %.*s\n",
                                         git_intent_ref(tree, "undo"), STR_FMT(refs->to),
                                         git_intent_ref(tree, "to"), STR_FMT(refs->to));
        if (git_change_refs(&tree->work, script, err) != 0)
            return -1;
        refs->undo = refs->to;
        refs->to = STR("");
    }
    if (move_files(tree, refs->undo, refs->from, GIT_MOVE_BACK, &clashes, err) != 0)
        return -1;
    return clear(tree, STR(""), err);
}

/* Takes back what cannot be completed. What the caller is told is why; when this fails as well, the next look does it. */
static int give_up(struct git_tree *tree)
{
    struct err other = ERR_INIT;
    take_back(tree, &other);
    return -1;
}

static int name_clashes(struct git_tree *tree, struct vcs_list clashes, struct err *err)
{
    struct buf text;
    buf_init(&text, 4096);
    for (size_t i = 0; i < clashes.count && i < CLASHES_SHOWN; i++) {
        buf_text(&text, i > 0 ? ", " : "");
        struct filename name = filename_of(clashes.items[i]);
        buf_str(&text, utf8_cut(str_from(name.text), 200));
    }
    if (clashes.count > CLASHES_SHOWN)
        buf_printf(&text, " and %zu more", clashes.count - CLASHES_SHOWN);
    tree->clashes = clashes;
    err_set(err, ERR_RETRY, "files that the merge into %.*s changes were changed meanwhile: %.*s",
            STR_FMT(tree->name), STR_FMT(buf_view(&text)));
    buf_release(&text);
    return -1;
}

static int go_forward(struct git_tree *tree, enum git_move mode, struct err *err)
{
    struct git_tree_refs *refs = &tree->refs;
    struct vcs_list clashes;
    if (move_files(tree, refs->from, refs->to, mode, &clashes, err) != 0)
        return give_up(tree);
    if (clashes.count > 0 && mode == GIT_MOVE_FIRST) { /* nothing was touched yet */
        struct err other = ERR_INIT;
        clear(tree, STR(""), &other);
        return name_clashes(tree, clashes, err);
    }
    if (clashes.count > 0) {
        name_clashes(tree, clashes, err);
        return give_up(tree);
    }
    return finish(tree, err);
}

/* In a checkout of its own git itself updates index and files, and looks before it touches anything. It is strict (a file that was only
 * touched stops it), so what it refuses is looked at again, as in the user's. */
static int go_fast(struct git_tree *tree, struct err *err)
{
    static const char *const refusals[] = {"Cannot merge", "would be overwritten",
                                           "would be removed", "would lose"};
    struct git_answer answer;
    struct git_call call = {
        .site = &tree->site,
        .words = GIT_WORDS("read-tree", "-m", "-u", tree->refs.from.p, tree->refs.to.p),
        .effect = GIT_WRITES,
        .wall_ms = GIT_WALL_FILES_MS};
    if (git_call(tree->work.git, &call, &answer, err) == 0) {
        git_answer_release(&answer);
        return finish(tree, err);
    }
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (strstr(err->message, refusals[i]) != NULL) {
            *err = ERR_INIT;
            return go_forward(tree, GIT_MOVE_FIRST, err);
        }
    return give_up(tree);
}

/* --- both ----------------------------------------------------------------------------------------------------------------------- */

int git_settle(struct git_tree *tree, struct err *err)
{
    const atomic_bool *cancelled = tree->work.cancelled;
    int result = git_tree_look(tree, err);
    const struct git_tree_refs *refs = &tree->refs;
    if (result != 0 || (refs->from.n == 0 && refs->to.n == 0 && refs->undo.n == 0))
        return result;
    struct err clash = ERR_INIT;
    tree->work.cancelled = NULL;
    if (refs->from.n > 0 && refs->undo.n > 0)
        result = take_back(tree, err);
    else if (refs->from.n == 0 || refs->to.n == 0 || str_eq(refs->end, refs->to))
        result = clear(tree, STR(""), err);
    else if (!str_eq(refs->end, refs->from))
        result = take_back(tree, err);
    else if (go_forward(tree, GIT_MOVE_RESUMED, &clash) != 0 && refs->from.n > 0)
        result = err_set(err, clash.class, "%s", clash.message);
    tree->work.cancelled = cancelled;
    return result == 0 ? git_tree_look(tree, err) : -1;
}

/* Somebody was there before, or the branch is not where it was. 1: it is done already. */
static int look_again(struct git_tree *tree, struct str from, struct str to, struct err *err)
{
    bool done = false;
    if (git_settle(tree, err) != 0)
        return -1;
    if (str_eq(tree->refs.end, from))
        return 0;
    if (tree->refs.end.n > 0 && git_is_ancestor(&tree->work, to, tree->refs.end, &done, err) != 0)
        return -1;
    return done ? 1
                : err_set(err, ERR_RETRY, "cadre/%.*s/%.*s was moved meanwhile; merge again",
                          STR_FMT(tree->run), STR_FMT(tree->name));
}

int git_carry_out(struct git_tree *tree, struct str from, struct str to, struct err *err)
{
    struct err first = ERR_INIT;
    tree->work.cancelled = NULL;
    if (announce(tree, from, to, &first) != 0) {
        int done = look_again(tree, from, to, err);
        if (done != 0)
            return done > 0 ? 0 : -1;
        if (announce(tree, from, to, err) != 0)
            return -1;
    }
    if ((tree->site.owner == GIT_SITE_CHILD ? go_fast(tree, err)
                                            : go_forward(tree, GIT_MOVE_FIRST, err)) == 0)
        return 0;
    /* A ref that was locked for a moment leaves all of it to the next look: this one. */
    struct err second = ERR_INIT;
    if (look_again(tree, from, to, &second) != 1)
        return -1;
    *err = ERR_INIT;
    return 0;
}
