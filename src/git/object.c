/* Revisions, trees, commits and refs through git's plumbing: see object.h. On threads that may wait. */
#include "git/object.h"

#include <stdio.h>
#include <unistd.h>

#include "os/clock.h"

#define LINE_MAX_BYTES 65536

static struct git_call reading(const struct git_work *work, const char *const *words)
{
    return (struct git_call){.site = work->site, .words = words, .cancelled = work->cancelled};
}

int git_line(const struct git_work *work, const char *const *words, struct str *line,
             struct err *err)
{
    struct git_answer answer;
    struct git_call call = reading(work, words);
    call.output_max = LINE_MAX_BYTES;
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    struct str text = buf_view(&answer.output);
    const char *newline = memchr(text.p, '\n', text.n);
    if (newline != NULL)
        text.n = (size_t)(newline - text.p);
    *line = arena_copy(work->arena, text);
    git_answer_release(&answer);
    return 0;
}

int git_resolve(const struct git_work *work, const char *name, struct str *id, struct err *err)
{
    struct git_answer answer;
    const char *commit = arena_printf(work->arena, "%s^{commit}", name).p;
    struct git_call call =
        reading(work, GIT_WORDS("rev-parse", "--verify", "--quiet", "--end-of-options", commit));
    call.expects = GIT_ANY_STATUS;
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = 0;
    *id = STR("");
    if (answer.status != 0)
        result = err_set(err, ERR_NOT_FOUND, "%s names no commit", name);
    else if ((result = git_parse_id(buf_view(&answer.output), id, err)) == 0)
        *id = arena_copy(work->arena, *id);
    git_answer_release(&answer);
    return result;
}

int git_head(const struct git_work *work, struct str *id, struct err *err)
{
    if (git_resolve(work, "HEAD", id, err) == 0)
        return 0;
    if (err->class != ERR_NOT_FOUND)
        return -1;
    *err = ERR_INIT;
    *id = STR("");
    return 0;
}

int git_empty_tree(const struct git_work *work, struct str *id, struct err *err)
{
    return git_line(work, GIT_WORDS("hash-object", "-t", "tree", "-w", "/dev/null"), id, err);
}

int git_diff_trees(const struct git_work *work, struct str from, struct str to,
                   struct git_changes *changes, struct err *err)
{
    struct git_answer answer;
    struct git_call call = reading(work, GIT_WORDS("diff-tree", "-r", "--raw", "-z", "--no-renames",
                                                   "--no-ext-diff", from.p, to.p));
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    struct str output = arena_copy(work->arena, buf_view(&answer.output));
    git_answer_release(&answer);
    return git_parse_changes(work->arena, output, changes, err);
}

int git_commit_object(const struct git_work *work, const struct git_commit_parts *parts,
                      struct str *id, struct err *err)
{
    const char *words[8] = {"commit-tree", parts->tree.p};
    size_t count = 2;
    for (size_t i = 0; i < 2; i++) {
        if (parts->parents[i].n == 0)
            continue;
        words[count++] = "-p";
        words[count++] = parts->parents[i].p;
    }
    struct git_answer answer;
    struct git_call call = reading(work, words);
    call.effect = GIT_WRITES;
    call.input = parts->message.n > 0 ? parts->message : STR("(no message)\n");
    call.author = parts->author;
    call.committer = parts->committer;
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = git_parse_id(buf_view(&answer.output), id, err);
    *id = arena_copy(work->arena, *id);
    git_answer_release(&answer);
    return result;
}

/* --- refs --------------------------------------------------------------------------------------------------------------------- */

static int change_ref(const struct git_work *work, const char *const *words, struct err *err)
{
    struct git_answer answer;
    struct git_signature self = git_self(clock_now_ms());
    struct git_call call = reading(work, words);
    call.effect = GIT_WRITES;
    call.committer = &self;
    call.expects = GIT_ANY_STATUS;
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = 0;
    if (answer.status != 0) {
        struct str said = buf_view(&answer.errors);
        bool moved = memmem(said.p, said.n, "but expected", 12) != NULL ||
                     memmem(said.p, said.n, "already exists", 14) != NULL ||
                     memmem(said.p, said.n, "File exists", 11) != NULL ||
                     memmem(said.p, said.n, "unable to resolve reference", 27) != NULL;
        result = err_set(err, moved ? ERR_RETRY : ERR_IO, "%.*s", said.n > 400 ? 400 : (int)said.n,
                         said.p);
    }
    git_answer_release(&answer);
    return result;
}

int git_move_ref(const struct git_work *work, const char *ref, struct str to, struct str old,
                 struct err *err)
{
    /* An empty old value means to git that the ref must not exist. */
    return change_ref(
        work, GIT_WORDS("update-ref", "-m", "cadre", ref, to.p, old.n > 0 ? old.p : ""), err);
}

int git_delete_ref(const struct git_work *work, const char *ref, struct err *err)
{
    return change_ref(work, GIT_WORDS("update-ref", "-d", ref), err);
}

/* --- people ------------------------------------------------------------------------------------------------------------------- */

struct git_signature git_self(int64_t now_ms)
{
    return (struct git_signature){STR("cadre"), STR("cadre@localhost"), now_ms / 1000};
}

int git_user(const struct git_work *work, int64_t now_ms, struct git_signature *user,
             struct err *err)
{
    struct buf listed;
    struct str field, key, value;
    const char *config =
        arena_printf(work->arena, "%.*s/config", STR_FMT(work->site->common_dir)).p;
    *user = git_self(now_ms);
    if (git_list_config(work->git, config, &listed, err) != 0)
        return -1;
    struct str rest = buf_view(&listed), name = STR_NONE, email = STR_NONE;
    while (git_next_field(&rest, &field)) {
        git_parse_setting(field, &key, &value);
        if (str_is(key, "user.name"))
            name = value;
        else if (str_is(key, "user.email"))
            email = value;
    }
    if (name.n > 0 && email.n > 0) {
        user->name = arena_copy(work->arena, name);
        user->email = arena_copy(work->arena, email);
    }
    buf_release(&listed);
    return 0;
}
