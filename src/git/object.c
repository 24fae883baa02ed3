/* Revisions, trees, commits and refs through git's plumbing: see object.h. On threads that may wait. */
#include "git/object.h"

#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"
#include "os/clock.h"

#define LINE_MAX_BYTES 65536
#define REFUSAL_SHOWN 400 /* bytes of what git says about a ref */

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

int git_is_ancestor(const struct git_work *work, struct str a, struct str b, bool *yes,
                    struct err *err)
{
    struct git_answer answer;
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("merge-base", "--is-ancestor", a.p, b.p),
                            .expects = GIT_ZERO_OR_ONE,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    *yes = answer.status == 0;
    git_answer_release(&answer);
    return 0;
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

/* git's words about a ref that did not change, for a person. */
static int explain_ref(struct str said, struct err *err)
{
    static const char *const moved[] = {"but expected", "already exists",
                                        "unable to resolve reference"};
    struct buf clean;
    buf_init(&clean, 4096);
    utf8_clean(&clean, utf8_cut(said, REFUSAL_SHOWN), UTF8_ONE_LINE);
    struct str shown = buf_view(&clean);
    int result = -1;
    if (said.n > 0 && memmem(said.p, said.n, ".lock': File exists", 19) != NULL)
        err_set(err, ERR_RETRY, "another git works in this repository at the moment: %.*s",
                STR_FMT(shown));
    else
        err_set(err, ERR_IO, "git update-ref: %.*s", STR_FMT(shown));
    for (size_t i = 0; i < sizeof moved / sizeof moved[0] && said.n > 0; i++)
        if (memmem(said.p, said.n, moved[i], strlen(moved[i])) != NULL)
            err_set(err, ERR_RETRY, "somebody else moved a branch of this run: %.*s",
                    STR_FMT(shown));
    buf_release(&clean);
    return result;
}

static int change_ref(const struct git_work *work, const char *const *words, struct str input,
                      struct err *err)
{
    struct git_answer answer;
    struct git_signature self = git_self(clock_now_ms());
    struct git_call call = reading(work, words);
    call.effect = GIT_WRITES;
    call.committer = &self;
    call.input = input;
    call.expects = GIT_ANY_STATUS;
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = answer.status != 0 ? explain_ref(buf_view(&answer.errors), err) : 0;
    git_answer_release(&answer);
    return result;
}

int git_change_refs(const struct git_work *work, struct str script, struct err *err)
{
    return change_ref(work, GIT_WORDS("update-ref", "--stdin"), script, err);
}

int git_move_ref(const struct git_work *work, const char *ref, struct str to, struct str old,
                 struct err *err)
{
    /* An empty old value means to git that the ref must not exist. */
    return change_ref(work,
                      GIT_WORDS("update-ref", "-m", "cadre", ref, to.p, old.n > 0 ? old.p : ""),
                      STR_NONE, err);
}

int git_put_ref(const struct git_work *work, const char *ref, struct str to, struct err *err)
{
    return change_ref(work, GIT_WORDS("update-ref", "--no-deref", ref, to.p), STR_NONE, err);
}

int git_delete_ref(const struct git_work *work, const char *ref, struct err *err)
{
    return change_ref(work, GIT_WORDS("update-ref", "-d", ref), STR_NONE, err);
}

int git_drop_refs(const struct git_work *work, const char *under, struct err *err)
{
    struct git_answer answer;
    struct git_call call =
        reading(work, GIT_WORDS("for-each-ref", "--format=delete %(refname)", under));
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = answer.output.n > 0 ? git_change_refs(work, buf_view(&answer.output), err) : 0;
    git_answer_release(&answer);
    return result;
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
