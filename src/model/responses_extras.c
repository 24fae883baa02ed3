/* Hosts out of URLs; see the header. Does not resolve or check them. Pure; any thread. */
#include "model/responses_extras.h"

#include <strings.h>

#define HOST_MAX ((size_t)255)

static bool fits(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(".-_:[]%", c) != NULL);
}

struct str responses_host(struct str url)
{
    static const char mark[] = "://";
    const char *found = url.n > 0 ? memmem(url.p, url.n, mark, sizeof mark - 1) : NULL;
    if (!found)
        return STR("");
    const char *start = found + sizeof mark - 1, *end = start;
    while (end < url.p + url.n && *end != '/' && *end != '?' && *end != '#')
        end++;
    for (const char *p = start; p < end; p++)
        if (*p == '@')
            start = p + 1;
    struct str host = {start, (size_t)(end - start)};
    for (size_t i = 0; i < host.n; i++)
        if (!fits(host.p[i]))
            return STR("");
    return host.n <= HOST_MAX ? host : STR("");
}

bool responses_host_eq(struct str a, struct str b)
{
    return a.n == b.n && a.n > 0 && strncasecmp(a.p, b.p, a.n) == 0;
}
