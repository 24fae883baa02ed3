/* See hostrule.h. */
#include "base/hostrule.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Letters, digits, - and _; neither end is a hyphen. */
static bool label_ok(struct str label)
{
    if (label.n == 0 || label.n > HOST_LABEL_MAX || label.p[0] == '-' ||
        label.p[label.n - 1] == '-')
        return false;
    for (size_t i = 0; i < label.n; i++) {
        char c = label.p[i];
        if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '-' && c != '_')
            return false;
    }
    return true;
}

/* 10, 010, 0x7f, 0x: what a resolver reads as a part of an IPv4 address. */
static bool label_is_number(struct str label)
{
    bool hex = label.n >= 2 && label.p[0] == '0' && (label.p[1] == 'x' || label.p[1] == 'X');
    for (size_t i = hex ? 2 : 0; i < label.n; i++)
        if (hex ? !is_hex(label.p[i]) : !is_digit(label.p[i]))
            return false;
    return label.n > 0;
}

static struct str last_label(struct str host)
{
    const char *dot = host.n > 0 ? memrchr(host.p, '.', host.n) : NULL;
    size_t skip = dot != NULL ? (size_t)(dot - host.p) + 1 : 0;
    return (struct str){host.p + skip, host.n - skip};
}

bool host_name_ok(struct str host)
{
    struct str rest = host;
    if (host.n == 0 || host.n > HOST_NAME_MAX_BYTES || label_is_number(last_label(host)))
        return false;
    for (;;) {
        const char *dot = rest.n > 0 ? memchr(rest.p, '.', rest.n) : NULL;
        size_t n = dot != NULL ? (size_t)(dot - rest.p) : rest.n;
        if (!label_ok((struct str){rest.p, n}))
            return false;
        if (dot == NULL)
            return true;
        rest = (struct str){rest.p + n + 1, rest.n - n - 1};
    }
}

bool host_name_fold(struct str host, char out[HOST_NAME_MAX_BYTES + 1])
{
    if (host.n > HOST_NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    out[host.n] = '\0';
    return host_name_ok((struct str){out, host.n});
}

/* ::1, [fe80::1], ::ffff:10.0.0.1 */
static bool looks_like_ipv6(struct str host)
{
    for (size_t i = 0; i < host.n; i++)
        if (!is_hex(host.p[i]) && (host.p[i] == '\0' || strchr(":.[]", host.p[i]) == NULL))
            return false;
    return memchr(host.p, ':', host.n) != NULL;
}

bool host_is_address(struct str host)
{
    if (host.n > 0 && host.p[host.n - 1] == '.')
        host.n--;
    return host.n > 0 && (looks_like_ipv6(host) || label_is_number(last_label(host)));
}

bool hostrule_ok(struct str rule)
{
    if (str_is(rule, "*"))
        return true;
    if (str_starts(rule, STR("*.")))
        rule = (struct str){rule.p + 2, rule.n - 2};
    return host_name_ok(rule);
}

/* Everything beneath ".example.org". */
static bool is_beneath(struct str host, struct str suffix)
{
    return host.n > suffix.n && memcmp(host.p + host.n - suffix.n, suffix.p, suffix.n) == 0;
}

bool hostrule_within(struct str a, struct str b)
{
    if (str_is(b, "*") || str_eq(a, b))
        return true;
    if (!str_starts(b, STR("*.")) || str_is(a, "*"))
        return false;
    /* "*.a.example.org" lies beneath "*.example.org" as "x.a.example.org" does. */
    return is_beneath(a, (struct str){b.p + 1, b.n - 1});
}

bool hostrule_holds(struct str rule, struct str host)
{
    return host_name_ok(host) && hostrule_within(host, rule);
}
