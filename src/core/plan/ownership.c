/* See ownership.h. Two globs are compared component by component, with a table over both for what `**` can stand for: the work is
 * bounded by the limits on components, whatever a plan says. Pure; any thread. */
#include "core/plan/ownership.h"

#include "base/path.h"

struct parts {
    struct str items[OWNERSHIP_COMPONENTS_MAX];
    size_t n;
};

/* False where there are too many. */
static bool split(struct str glob, struct parts *parts)
{
    parts->n = 0;
    for (size_t at = 0; at < glob.n;) {
        const char *slash = memchr(glob.p + at, '/', glob.n - at);
        size_t length = slash ? (size_t)(slash - glob.p) - at : glob.n - at;
        if (parts->n == OWNERSHIP_COMPONENTS_MAX)
            return false;
        parts->items[parts->n++] = (struct str){glob.p + at, length};
        at += length + 1;
    }
    return true;
}

static bool is_stars(struct str part)
{
    return str_is(part, "**");
}

static bool is_pattern_character(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

static bool is_pattern(struct str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (is_pattern_character(part.p[i]))
            return true;
    return false;
}

/* --- the normal form ---------------------------------------------------------------------------------------- */

/* "[ab]", "[!]]": the class that starts at `at` ends within the component. */
static bool class_is_closed(struct str part, size_t at)
{
    size_t i = at + 1;
    if (i < part.n && (part.p[i] == '!' || part.p[i] == '^'))
        i++;
    return i + 1 < part.n && memchr(part.p + i + 1, ']', part.n - i - 1) != NULL;
}

/* What is wrong with a component, or NULL. */
static const char *part_mistake(struct str part)
{
    if (str_is(part, ".."))
        return "must not have .. in it";
    if (is_stars(part))
        return NULL;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] == '*' && i + 1 < part.n && part.p[i + 1] == '*')
            return "** must stand alone between slashes";
        if (part.p[i] == '[' && !class_is_closed(part, i))
            return "has a [ that is not closed";
        if (part.p[i] == '\\' && i + 1 == part.n)
            return "must not end with \\";
        if (part.p[i] == '\\')
            i++;
    }
    if (memchr(part.p, '{', part.n) && memchr(part.p, '}', part.n))
        return "braces have no meaning here: name each path";
    return NULL;
}

struct str ownership_normal(struct arena *arena, struct str glob, const char **why)
{
    struct parts parts;
    size_t stars = 0;
    *why = "must be a path within the workspace";
    if (glob.n == 0 || glob.p[0] == '/')
        return STR_NONE;
    if (glob.n > (size_t)PLAN_GLOB_MAX * 4 || !split(glob, &parts)) {
        *why = "is too long";
        return STR_NONE;
    }
    for (size_t i = 0; i < parts.n; i++) {
        const char *mistake = part_mistake(parts.items[i]);
        stars += is_stars(parts.items[i]);
        if (!mistake && stars > OWNERSHIP_STARS_MAX)
            mistake = "has too many **";
        if (mistake) {
            *why = mistake;
            return STR_NONE;
        }
    }
    struct str normal = path_normal(arena, glob);
    if (path_within(normal, STR(".git"))) {
        *why = ".git belongs to nobody";
        return STR_NONE;
    }
    if (normal.n > 0 && (normal.p[0] == ' ' || normal.p[normal.n - 1] == ' ')) {
        *why = "must not begin or end with a space"; /* no list of a plan can hold it */
        return STR_NONE;
    }
    return str_is(normal, ".") ? STR("**") : normal;
}

/* --- overlap ------------------------------------------------------------------------------------------------ */

/* How much of it, from its front or from its end, stands for itself. */
static size_t literal_front(struct str part)
{
    size_t n = 0;
    while (n < part.n && !is_pattern_character(part.p[n]))
        n++;
    return n;
}

static size_t literal_end(struct str part)
{
    size_t n = 0;
    while (n < part.n && !is_pattern_character(part.p[part.n - 1 - n]) &&
           part.p[part.n - 1 - n] != ']')
        n++;
    /* The character behind a backslash is no pattern, but where it starts is not seen from here. */
    return memchr(part.p, '\\', part.n) ? 0 : n;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* May one name match both? Of two patterns only what stands at their ends is compared. */
static bool parts_meet(struct str a, struct str b)
{
    if (!is_pattern(a) && !is_pattern(b))
        return str_eq(a, b);
    if (!is_pattern(a))
        return path_glob(b, a);
    if (!is_pattern(b))
        return path_glob(a, b);
    size_t front = least(literal_front(a), literal_front(b));
    size_t end = least(literal_end(a), literal_end(b));
    return memcmp(a.p, b.p, front) == 0 && memcmp(a.p + a.n - end, b.p + b.n - end, end) == 0;
}

bool ownership_globs_overlap(struct str a, struct str b)
{
    struct parts left, right;
    /* reach[i][j]: the first i parts of a and the first j of b may stand for the same path. */
    unsigned char reach[OWNERSHIP_COMPONENTS_MAX + 1][OWNERSHIP_COMPONENTS_MAX + 1] = {{1}};
    if (!split(a, &left) || !split(b, &right))
        return true;
    for (size_t i = 0; i <= left.n; i++)
        for (size_t j = 0; j <= right.n; j++) {
            if (!reach[i][j])
                continue;
            if (i == left.n || j == right.n) /* one may be a directory around the other */
                return true;
            if (is_stars(left.items[i]) || is_stars(right.items[j]))
                reach[i + 1][j] = reach[i][j + 1] = 1;
            else if (parts_meet(left.items[i], right.items[j]))
                reach[i + 1][j + 1] = 1;
        }
    return false;
}

enum reach { OWNS_NOTHING, OWNS_LISTED, OWNS_EVERYTHING };

static enum reach reach_of(const struct plan_step *step)
{
    if (step->role->writes == ROLE_READS)
        return OWNS_NOTHING;
    return step->ownership.state == LIST_SET ? OWNS_LISTED : OWNS_EVERYTHING;
}

bool ownership_overlaps(const struct plan_step *a, const struct plan_step *b)
{
    enum reach left = reach_of(a), right = reach_of(b);
    if (left == OWNS_NOTHING || right == OWNS_NOTHING)
        return false;
    if (left == OWNS_EVERYTHING || right == OWNS_EVERYTHING)
        return true;
    for (size_t i = 0; i < a->ownership.n; i++)
        for (size_t j = 0; j < b->ownership.n; j++)
            if (ownership_globs_overlap(a->ownership.items[i], b->ownership.items[j]))
                return true;
    return false;
}

/* --- what a contract says ----------------------------------------------------------------------------------- */

struct list ownership_globs(struct arena *arena, const struct plan_step *step)
{
    struct list globs = {LIST_SET, NULL, 0};
    enum reach reach = reach_of(step);
    struct parts parts;
    if (reach == OWNS_EVERYTHING)
        return LIST_NONE;
    for (size_t i = 0; reach == OWNS_LISTED && i < step->ownership.n; i++) {
        struct str glob = step->ownership.items[i];
        if (split(glob, &parts) && parts.n > 0 && !is_pattern(parts.items[parts.n - 1]))
            glob = arena_printf(arena, "%.*s/**", STR_FMT(glob));
        list_add(arena, &globs, glob);
    }
    return globs;
}

/* Up to its first pattern. "**" / NAME / "**" behind that is the one pattern that a rule can say too: every directory of that name. */
static struct str glob_rule(struct arena *arena, struct str glob)
{
    struct parts parts;
    size_t plain = 0, length = 0;
    if (!split(glob, &parts))
        return STR(".");
    for (; plain < parts.n && !is_pattern(parts.items[plain]); plain++)
        length += parts.items[plain].n + 1;
    struct str directory = plain > 0 ? (struct str){glob.p, length - 1} : STR(".");
    const struct str *behind = &parts.items[plain];
    if (parts.n - plain != 3 || !is_stars(behind[0]) || is_pattern(behind[1]) ||
        !is_stars(behind[2]))
        return directory;
    return arena_printf(arena, "%.*s**/%.*s", (int)length, glob.p, STR_FMT(behind[1]));
}

struct list ownership_write_paths(struct arena *arena, const struct plan_step *step)
{
    struct list rules = {LIST_SET, NULL, 0};
    enum reach reach = reach_of(step);
    if (reach == OWNS_EVERYTHING)
        return LIST_NONE;
    for (size_t i = 0; reach == OWNS_LISTED && i < step->ownership.n; i++)
        list_add(arena, &rules, glob_rule(arena, step->ownership.items[i]));
    return rules;
}
