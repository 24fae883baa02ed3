/* Names that some file system or git takes for `.git`: see gitname.h. */
#include "base/gitname.h"
#include "base/utf8.h"

/* What NTFS takes for nothing: the name of a stream, then dots and blanks at the end. */
static struct str without_end(struct str name)
{
    const char *colon = name.n > 0 ? memchr(name.p, ':', name.n) : NULL;
    if (colon != NULL)
        name.n = (size_t)(colon - name.p);
    while (name.n > 0 && (name.p[name.n - 1] == '.' || name.p[name.n - 1] == ' '))
        name.n--;
    return name;
}

/* "git~1": the short name that a file system of Windows gives to `.git`. */
static bool is_short_name(struct str name)
{
    size_t n = name.n;
    while (n > 0 && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    return n < name.n && utf8_is_like((struct str){name.p, n}, "git~");
}

bool gitname_is_alias(struct str name)
{
    for (;;) {
        const char *backslash = name.n > 0 ? memchr(name.p, '\\', name.n) : NULL;
        size_t n = backslash != NULL ? (size_t)(backslash - name.p) : name.n;
        struct str part = without_end((struct str){name.p, n});
        if (utf8_is_like(part, ".git") || is_short_name(part))
            return true;
        if (backslash == NULL)
            return false;
        name = (struct str){backslash + 1, name.n - n - 1};
    }
}
