/* See gitname.h. Needs no library: the launcher has none. */
#include "base/gitname.h"

#include <strings.h>

const char *const gitname_parts[GITNAME_PARTS] = {"HEAD", "objects", "refs", "commondir"};

bool gitname_is_git(struct str name)
{
    return name.n == 4 && strncasecmp(name.p, ".git", 4) == 0;
}

enum gitname_part gitname_part(struct str name)
{
    for (unsigned i = 0; i < GITNAME_PARTS; i++)
        if (name.n == strlen(gitname_parts[i]) &&
            strncasecmp(name.p, gitname_parts[i], name.n) == 0)
            return (enum gitname_part)(1u << i);
    return GITNAME_OTHER;
}

bool gitname_is_layout(unsigned parts)
{
    unsigned both = GITNAME_OBJECTS | GITNAME_REFS;
    return (parts & GITNAME_HEAD) != 0 &&
           ((parts & both) == both || (parts & GITNAME_COMMONDIR) != 0);
}
