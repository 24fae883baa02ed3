/* The rules for what a commit may hold: see guard.h. Reads link targets and attributes from git's objects, not from the disk. On
 * threads that may wait. */
#include "git/guard.h"

#include <stdlib.h>
#include <strings.h>

#include "base/filename.h"
#include "base/gitname.h"
#include "base/path.h"
#include "base/pathrule.h"
#include "base/utf8.h"
#include "os/scope.h"

#define TARGET_MAX 4096

/* --- paths -------------------------------------------------------------------------------------------------------------------- */

bool git_in_workspace(const struct git_site *site, struct str path, struct str *from_workspace)
{
    size_t n = site->prefix.n;
    *from_workspace = path;
    if (n == 0)
        return true;
    if (path.n <= n + 1 || !str_starts(path, site->prefix) || path.p[n] != '/')
        return false;
    *from_workspace = (struct str){path.p + n + 1, path.n - n - 1};
    return true;
}

bool git_is_private(const struct git_site *site, struct str path)
{
    struct str inside;
    return git_in_workspace(site, path, &inside) && inside.n >= 6 &&
           strncasecmp(inside.p, ".cadre", 6) == 0 && (inside.n == 6 || inside.p[6] == '/');
}

static struct str base_name(struct str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    return slash != NULL ? (struct str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

/* As any file system may spell it: without dots and blanks at the end, characters that are not seen, and case. */
static bool is_named(struct str path, const char *name)
{
    struct str base = base_name(path);
    while (base.n > 1 && (base.p[base.n - 1] == '.' || base.p[base.n - 1] == ' '))
        base.n--;
    return utf8_is_like(base, name);
}

static bool within_any(struct vcs_list list, struct str path)
{
    for (size_t i = 0; i < list.count; i++)
        if (pathrule_holds(list.items[i], path))
            return true;
    return false;
}

static bool owned(const struct git_rules *rules, struct str path)
{
    if (rules->owns == GIT_OWNS_ALL)
        return true;
    for (size_t i = 0; i < rules->ownership.count; i++)
        if (path_glob(rules->ownership.items[i], path))
            return true;
    return false;
}

static int refuse(struct err *err, struct str path, const char *why)
{
    return err_set(err, ERR_DENIED, "%s: %s", filename_of(path).text, why);
}

static int check_mode(const struct git_change *change, struct err *err)
{
    switch (change->new_mode) {
    case 0:
    case GIT_MODE_FILE:
    case GIT_MODE_PROGRAM:
    case GIT_MODE_LINK:
        break;
    case GIT_MODE_MODULE:
        return refuse(err, change->path, "a repository within the repository is not committed");
    default:
        return refuse(err, change->path, "a file of an unknown kind is not committed");
    }
    if (change->old_mode == GIT_MODE_MODULE)
        return refuse(err, change->path, "a submodule is not changed or removed");
    return 0;
}

static int check_change(const struct git_site *site, const struct git_change *change,
                        const struct git_rules *rules, struct err *err)
{
    struct str inside;
    if (change->status == 'U')
        return refuse(err, change->path, "it is in conflict; the conflict must be settled first");
    if (!git_in_workspace(site, change->path, &inside))
        return refuse(err, change->path, "it lies outside the workspace");
    if (git_is_private(site, change->path))
        return refuse(err, change->path, "cadre's own files are not committed");
    if (scope_holds_config(inside))
        return refuse(err, change->path, "it belongs to cadre's user; agents do not change it");
    if (is_named(change->path, ".gitmodules"))
        return refuse(err, change->path, "submodules are not changed");
    if (check_mode(change, err) != 0)
        return -1;
    if (!within_any(rules->write_paths, inside))
        return refuse(err, inside, "it lies outside the paths that may be written");
    if (!owned(rules, inside))
        return refuse(err, inside, "it belongs to somebody else (outside the declared ownership)");
    return 0;
}

/* --- contents ------------------------------------------------------------------------------------------------------------------- */

static bool has_git_part(struct str path)
{
    while (path.n > 0) {
        const char *slash = memchr(path.p, '/', path.n);
        struct str part = {path.p, slash != NULL ? (size_t)(slash - path.p) : path.n};
        size_t taken = slash != NULL ? part.n + 1 : part.n;
        if (gitname_is_git(part))
            return true;
        path = (struct str){path.p + taken, path.n - taken};
    }
    return false;
}

static int check_link(const struct git_site *site, const struct git_change *change,
                      struct str target, struct err *err)
{
    struct arena arena;
    struct str inside = STR_NONE, base;
    int result = 0;
    arena_init(&arena);
    if (target.p == NULL || target.n == 0 || target.n > TARGET_MAX || target.p[0] == '/' ||
        !git_in_workspace(site, change->path, &inside)) {
        result = refuse(err, change->path, "a link that leads out of the workspace");
        goto out;
    }
    base = base_name(inside);
    struct str leads =
        path_normal(&arena, arena_printf(&arena, "./%.*s%.*s", (int)(inside.n - base.n), inside.p,
                                         STR_FMT(target)));
    if (leads.p == NULL)
        result = refuse(err, change->path, "a link that leads out of the workspace");
    else if (has_git_part(leads))
        result = refuse(err, change->path, "a link that leads into .git");
out:
    arena_release(&arena);
    return result;
}

static bool names_filter(struct str attributes)
{
    return attributes.n > 0 && memmem(attributes.p, attributes.n, "filter=", 7) != NULL;
}

/* Takes the next object out of the answer of `cat-file --batch`. */
static int take_object(struct str *rest, struct str *content, struct err *err)
{
    const char *newline = memchr(rest->p, '\n', rest->n);
    size_t head = newline != NULL ? (size_t)(newline - rest->p) : 0;
    const char *space = head > 0 ? memrchr(rest->p, ' ', head) : NULL;
    size_t size = 0, left = rest->n - head - 1;
    bool good = space != NULL && space + 1 < newline;
    for (const char *p = space; good && ++p < newline;) {
        good = *p >= '0' && *p <= '9' && size <= left;
        size = size * 10 + (size_t)(*p - '0');
    }
    if (!good || left < 1 || size > left - 1)
        return err_set(err, ERR_CORRUPT, "git does not have an object that it just named");
    *content = (struct str){newline + 1, size};
    *rest = (struct str){newline + 2 + size, left - size - 1};
    return 0;
}

enum look { LOOK_NONE, LOOK_LINK, LOOK_ATTRIBUTES };

static enum look wants_look(const struct git_change *change)
{
    if (change->new_mode == GIT_MODE_LINK)
        return LOOK_LINK;
    if (change->new_mode != 0 && is_named(change->path, ".gitattributes"))
        return LOOK_ATTRIBUTES;
    return LOOK_NONE;
}

static void ask_for(struct buf *input, const struct git_change *change, enum look look)
{
    buf_printf(input, "%.*s\n", STR_FMT(change->new_id));
    if (look == LOOK_ATTRIBUTES && change->old_mode != 0)
        buf_printf(input, "%.*s\n", STR_FMT(change->old_id));
}

static int check_content(const struct git_site *site, const struct git_change *change,
                         enum look look, struct str *rest, struct err *err)
{
    struct str now = STR_NONE, before = STR_NONE;
    if (take_object(rest, &now, err) != 0)
        return -1;
    if (look == LOOK_LINK)
        return check_link(site, change, now, err);
    if (change->old_mode != 0 && take_object(rest, &before, err) != 0)
        return -1;
    if (names_filter(now) && !names_filter(before))
        return refuse(err, change->path, "attributes that name a filter are not committed");
    return 0;
}

/* Where links lead and what attributes name: all in one call. */
static int check_contents(const struct git *git, const struct git_site *site,
                          const struct git_changes *changes, const struct git_rules *rules,
                          struct err *err)
{
    struct buf input;
    struct git_answer answer;
    int result = 0;
    buf_init(&input, GIT_OUTPUT_MAX);
    for (size_t i = 0; i < changes->count; i++) {
        enum look look = wants_look(&changes->items[i]);
        if (look != LOOK_NONE)
            ask_for(&input, &changes->items[i], look);
    }
    if (input.n == 0)
        return 0;
    struct git_call call = {.site = site,
                            .words = GIT_WORDS("cat-file", "--batch"),
                            .input = buf_view(&input),
                            .cancelled = rules->cancelled};
    if (git_call(git, &call, &answer, err) != 0) {
        result = -1;
    } else {
        struct str rest = buf_view(&answer.output);
        for (size_t i = 0; i < changes->count && result == 0; i++) {
            enum look look = wants_look(&changes->items[i]);
            if (look != LOOK_NONE)
                result = check_content(site, &changes->items[i], look, &rest, err);
        }
        git_answer_release(&answer);
    }
    buf_release(&input);
    return result;
}

/* --- filters -------------------------------------------------------------------------------------------------------------------- */

/* `path\0filter\0value\0` for each path. */
static int judge_filters(struct str rest, struct err *err)
{
    struct str path, attribute, value;
    while (git_next_field(&rest, &path) && git_next_field(&rest, &attribute) &&
           git_next_field(&rest, &value))
        if (!str_is(value, "unspecified") && !str_is(value, "unset"))
            return err_set(err, ERR_DENIED,
                           "%s: its content goes through the filter \"%.*s\", which cadre does not "
                           "run; commit it yourself",
                           filename_of(path).text, STR_FMT(value));
    return 0;
}

/* A file that a filter (Git LFS) should have changed on its way in would be committed raw. */
static int check_filters(const struct git *git, const struct git_site *site,
                         const struct git_changes *changes, const struct git_rules *rules,
                         struct err *err)
{
    struct buf input;
    struct git_answer answer;
    int result = 0;
    buf_init(&input, GIT_OUTPUT_MAX);
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].new_mode == GIT_MODE_FILE ||
            changes->items[i].new_mode == GIT_MODE_PROGRAM) {
            buf_str(&input, changes->items[i].path);
            buf_char(&input, '\0');
        }
    struct git_call call = {.site = site,
                            .words = GIT_WORDS("check-attr", "-z", "--stdin", "filter"),
                            .input = buf_view(&input),
                            .cancelled = rules->cancelled};
    if (input.n > 0 && (result = git_call(git, &call, &answer, err)) == 0) {
        result = judge_filters(buf_view(&answer.output), err);
        git_answer_release(&answer);
    }
    buf_release(&input);
    return result;
}

int git_guard(const struct git *git, const struct git_site *site, const struct git_changes *changes,
              const struct git_rules *rules, struct err *err)
{
    for (size_t i = 0; i < changes->count; i++)
        if (check_change(site, &changes->items[i], rules, err) != 0)
            return -1;
    if (check_contents(git, site, changes, rules, err) != 0)
        return -1;
    return site->kind == GIT_KIND_SHADOW ? 0 : check_filters(git, site, changes, rules, err);
}
