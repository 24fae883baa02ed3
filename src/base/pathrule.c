/* See pathrule.h. Texts alone, compared by whole components. Pure; any thread. */
#include "base/pathrule.h"

#include "base/path.h"

/* The component that starts at `at`. */
static struct str component_at(struct str path, size_t at)
{
    const char *slash = memchr(path.p + at, '/', path.n - at);
    return (struct str){path.p + at, slash ? (size_t)(slash - path.p) - at : path.n - at};
}

bool pathrule_read(struct str rule, struct pathrule *out)
{
    *out = (struct pathrule){REACH_SELF, rule, STR("")};
    for (size_t at = 0; at < rule.n;) {
        struct str component = component_at(rule, at);
        size_t next = at + component.n + 1;
        if (str_is(component, "**")) {
            out->directory = at == 0 ? STR(".") : (struct str){rule.p, at - 1};
            out->reach = REACH_BENEATH;
            if (next > rule.n)
                return true;
            out->reach = REACH_NAMED;
            out->name = component_at(rule, next);
            return out->name.n > 0 && next + out->name.n == rule.n && !str_is(out->name, "**");
        }
        at = next;
    }
    return rule.n > 0;
}

/* Where in the path, behind `from`, a component with this name ends; 0: it has none. */
static size_t named_end(struct str path, size_t from, struct str name)
{
    for (size_t at = from; at < path.n;) {
        struct str component = component_at(path, at);
        if (str_eq(component, name))
            return at + component.n;
        at += component.n + 1;
    }
    return 0;
}

/* Where the rest of a path behind a directory that it lies in starts. */
static size_t behind(struct str directory)
{
    return str_is(directory, ".") ? 0 : directory.n + 1;
}

/* Whether a path (and with it all beneath it), or only all beneath it, lies where the rule reaches. */
enum part { PART_PATH, PART_BENEATH };

static bool part_in(struct str path, enum part part, const struct pathrule *rule)
{
    if (!path_within(path, rule->directory))
        return false;
    if (rule->reach == REACH_SELF)
        return true;
    if (rule->reach == REACH_BENEATH)
        return part == PART_BENEATH || !str_eq(path, rule->directory);
    size_t end = named_end(path, behind(rule->directory), rule->name);
    return end > 0 && (part == PART_BENEATH || end < path.n);
}

bool pathrule_holds(struct str rule, struct str path)
{
    struct pathrule parts;
    return pathrule_read(rule, &parts) && part_in(path, PART_PATH, &parts);
}

static bool parts_within(const struct pathrule *a, const struct pathrule *b)
{
    if (part_in(a->directory, a->reach == REACH_SELF ? PART_PATH : PART_BENEATH, b))
        return true;
    return a->reach == REACH_NAMED && b->reach == REACH_NAMED && str_eq(a->name, b->name) &&
           path_within(a->directory, b->directory);
}

bool pathrule_within(struct str a, struct str b)
{
    struct pathrule left, right;
    return pathrule_read(a, &left) && pathrule_read(b, &right) && parts_within(&left, &right);
}

/* "DIR" and a slash, or nothing before `**` where it is the root. */
static struct str before_stars(struct arena *arena, struct str directory)
{
    return str_is(directory, ".") ? STR("") : arena_printf(arena, "%.*s/", STR_FMT(directory));
}

/* Of a path and a rule with a name whose directory the path lies beneath. */
static struct str meet_named(struct arena *arena, struct str path, const struct pathrule *named)
{
    struct str start = before_stars(arena, path);
    if (part_in(path, PART_BENEATH, named)) /* it is such a directory itself */
        return arena_printf(arena, "%.*s**", STR_FMT(start));
    return arena_printf(arena, "%.*s**/%.*s", STR_FMT(start), STR_FMT(named->name));
}

struct str pathrule_meet(struct arena *arena, struct str a, struct str b)
{
    struct pathrule left, right;
    if (!pathrule_read(a, &left) || !pathrule_read(b, &right))
        return STR_NONE;
    if (parts_within(&left, &right))
        return arena_copy(arena, a);
    if (parts_within(&right, &left))
        return arena_copy(arena, b);
    if (right.reach == REACH_NAMED && left.reach != REACH_NAMED &&
        path_within(left.directory, right.directory))
        return meet_named(arena, left.directory, &right);
    if (left.reach == REACH_NAMED && right.reach != REACH_NAMED &&
        path_within(right.directory, left.directory))
        return meet_named(arena, right.directory, &left);
    return STR_NONE;
}

struct str pathrule_named(struct arena *arena, struct str rule, struct str name)
{
    return pathrule_meet(arena, rule, arena_printf(arena, "**/%.*s", STR_FMT(name)));
}
