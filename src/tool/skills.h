/* Agent Skills: directories with a SKILL.md that says in its front matter what it is for. They lie under `.agents/skills` and
 * `.claude/skills` of the workspace and in a directory of the user; of two with one name the first in this order holds. Blocking;
 * any thread. */
#ifndef CADRE_TOOL_SKILLS_H
#define CADRE_TOOL_SKILLS_H

#include "base/arena.h"
#include "os/scope.h"

#define SKILLS_MAX 100             /* more are not listed */
#define SKILL_NAME_MAX 64          /* bytes: small letters, digits and - */
#define SKILL_DESCRIPTION_MAX 1024 /* bytes; longer ones are cut */

enum skill_origin { SKILL_OF_WORKSPACE, SKILL_OF_USER };

struct skill {
    struct str name, description;
    enum skill_origin origin;
    struct str place; /* its directory, from the root of the scope it lies in */
    bool hides;       /* another of this name comes later in the order */
};

struct skills {
    struct skill *items; /* in the arena, in the order in which they were found */
    size_t count;
    enum { SKILLS_WHOLE, SKILLS_CUT } extent;
};

bool skill_name_valid(struct str name);
/* Looks at every place. What cannot be read or has no description is passed over. user: NULL without such a directory. */
void skills_find(const struct scope *workspace, const struct scope *user, struct arena *arena,
                 struct skills *out);
const struct skill *skills_get(const struct skills *skills, struct str name); /* NULL: none */

#endif
