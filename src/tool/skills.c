/* See skills.h. */
#include "tool/skills.h"

#include <unistd.h>

#include "base/utf8.h"
#include "tool/front_matter.h"
#include "tool/listing.h"

#define TRIES_MAX 1000  /* entries of one place that are looked at */
#define FRONT_MAX 16384 /* bytes of a SKILL.md in which its front matter must lie */

/* In the workspace skills may be links, but only from one of these places to another. */
static const struct str workspace_places[] = {{".agents/skills", 14}, {".claude/skills", 14}};
static const struct str user_places[] = {{".", 1}};

bool skill_name_valid(struct str name)
{
    if (name.n == 0 || name.n > SKILL_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}

const struct skill *skills_get(const struct skills *skills, struct str name)
{
    for (size_t i = 0; i < skills->count; i++)
        if (str_eq(skills->items[i].name, name))
            return &skills->items[i];
    return NULL;
}

/* The description of the skill in this directory; empty when it is none. */
static struct str describe(const struct scope *scope, struct scope_allow allow, struct str place,
                           struct arena *arena)
{
    struct err ignored = ERR_INIT;
    struct scope_file file;
    struct str path = arena_printf(arena, "%.*s/SKILL.md", STR_FMT(place)), block, body;
    char text[FRONT_MAX];
    if (scope_open_read(scope, path, allow, SCOPE_FOLLOW_LINKS, &file, &ignored) != 0)
        return STR("");
    ssize_t n = read(file.fd, text, sizeof text);
    close(file.fd);
    if (n <= 0 || !front_matter_split((struct str){text, (size_t)n}, &block, &body))
        return STR("");
    struct buf description;
    buf_init(&description, 3 * FRONT_MAX);
    front_matter_value(block, "description", &description);
    struct str copy = arena_copy(arena, utf8_cut(buf_view(&description), SKILL_DESCRIPTION_MAX));
    buf_release(&description);
    return copy;
}

static void add(struct skills *skills, const struct skill *skill)
{
    for (size_t i = 0; i < skills->count; i++)
        if (str_eq(skills->items[i].name, skill->name)) {
            skills->items[i].hides = true;
            return;
        }
    if (skills->count == SKILLS_MAX)
        skills->extent = SKILLS_CUT;
    else
        skills->items[skills->count++] = *skill;
}

static void find_in(const struct scope *scope, struct str root, struct scope_allow allow,
                    enum skill_origin origin, struct arena *arena, struct skills *skills)
{
    struct err ignored = ERR_INIT;
    struct scope_file directory, inside;
    struct listing listing;
    if (scope_open_dir(scope, root, allow, SCOPE_FOLLOW_LINKS, &directory, &ignored) != 0)
        return;
    if (listing_read(&listing, arena, directory.fd, &ignored) != 0)
        listing.count = 0;
    for (size_t i = 0; i < listing.count && i < TRIES_MAX; i++) {
        struct str name = str_from(listing.entries[i].name);
        if (!skill_name_valid(name) || listing.entries[i].kind == LISTING_FILE)
            continue;
        struct str place = str_is(root, ".")
                               ? arena_copy(arena, name)
                               : arena_printf(arena, "%.*s/%.*s", STR_FMT(root), STR_FMT(name));
        if (scope_open_dir(scope, place, allow, SCOPE_FOLLOW_LINKS, &inside, &ignored) != 0)
            continue;
        close(inside.fd);
        struct skill skill = {.name = arena_copy(arena, name),
                              .origin = origin,
                              .place = arena_copy(arena, str_from(inside.path))};
        skill.description = describe(scope, allow, skill.place, arena);
        if (skill.description.n > 0)
            add(skills, &skill);
    }
    if (listing.count > TRIES_MAX)
        skills->extent = SKILLS_CUT;
    close(directory.fd);
}

void skills_find(const struct scope *workspace, const struct scope *user, struct arena *arena,
                 struct skills *out)
{
    *out = (struct skills){.items = arena_alloc(arena, SKILLS_MAX * sizeof *out->items),
                           .extent = SKILLS_WHOLE};
    const struct scope_allow allow = {workspace_places,
                                      sizeof workspace_places / sizeof workspace_places[0]};
    for (size_t i = 0; i < allow.count; i++)
        find_in(workspace, workspace_places[i], allow, SKILL_OF_WORKSPACE, arena, out);
    if (user)
        find_in(user, user_places[0], (struct scope_allow){user_places, 1}, SKILL_OF_USER, arena,
                out);
}
