/* Makes names acceptable; see the header. Pure; any thread. */
#include "model/tool_name.h"

static bool fits(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

bool tool_name_fits(struct str text)
{
    size_t n = 0;
    while (n < text.n && fits(text.p[n]))
        n++;
    return n == text.n && n > 0;
}

struct str tool_name(struct str name, char out[TOOL_NAME_MAX])
{
    size_t n = 0;
    for (; n < name.n && n < TOOL_NAME_MAX; n++)
        out[n] = fits(name.p[n]) ? name.p[n] : '_';
    if (n == 0)
        out[n++] = '_';
    return (struct str){out, n};
}
