/* See key.h. */
#include "os/key.h"

#include <stdlib.h>

struct str key_from_environment(struct str variable)
{
    char name[256];
    if (variable.n == 0 || variable.n >= sizeof name)
        return STR("");
    memcpy(name, variable.p, variable.n);
    name[variable.n] = '\0';
    const char *value = getenv(name);
    return str_trim(str_from(value != NULL ? value : ""));
}
