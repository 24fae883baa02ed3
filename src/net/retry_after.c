/* Reads Retry-After and retry-after-ms. Of HTTP's dates only the preferred form (IMF-fixdate) is
 * read: the two obsolete ones are not sent by any server of today. Runs on any thread. */
#include "net/retry_after.h"

#include <stdbool.h>

static struct str trimmed(struct str text)
{
    while (text.n > 0 && (text.p[0] == ' ' || text.p[0] == '\t'))
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n > 0 && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
        text.n--;
    return text;
}

static int64_t capped(int64_t ms)
{
    if (ms < 0)
        return 0;
    return ms < RETRY_AFTER_MAX_MS ? ms : RETRY_AFTER_MAX_MS;
}

/* A decimal number times scale, capped; digits below one millisecond are dropped. -1 if text is no
 * number. */
static int64_t number(struct str text, int64_t scale)
{
    int64_t whole = 0, rest = 0, unit = scale;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        if (whole <= RETRY_AFTER_MAX_MS)
            whole = whole * 10 + (text.p[i] - '0');
    if (i == 0)
        return -1;
    if (i < text.n && text.p[i] == '.') {
        for (i++; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++) {
            unit /= 10;
            rest += (text.p[i] - '0') * unit;
        }
    }
    return i == text.n ? capped(whole * scale + rest) : -1;
}

/* n digits at p, or -1. */
static int digits(const char *p, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        value = value * 10 + (p[i] - '0');
    }
    return value;
}

static int month_number(const char *p)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (memcmp(p, names + i * 3, 3) == 0)
            return i + 1;
    return -1;
}

/* Days from 1970-01-01; the year is taken to begin in March, so that the leap day comes last. */
static int64_t days_since_epoch(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;
    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool date(struct str text, int64_t *ms)
{
    if (text.n != 29 || memcmp(text.p + 3, ", ", 2) != 0 || memcmp(text.p + 25, " GMT", 4) != 0)
        return false;
    int day = digits(text.p + 5, 2), month = month_number(text.p + 8);
    int year = digits(text.p + 12, 4), hour = digits(text.p + 17, 2);
    int minute = digits(text.p + 20, 2), second = digits(text.p + 23, 2);
    if (day < 1 || day > 31 || month < 0 || year < 1970 || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 60)
        return false;
    int64_t seconds = (int64_t)hour * 3600 + minute * 60 + second;
    *ms = (days_since_epoch(year, month, day) * 86400 + seconds) * 1000;
    return true;
}

int64_t retry_after_ms(struct str header, struct str header_ms, int64_t now_ms)
{
    int64_t at, ms = number(trimmed(header_ms), 1);
    if (ms >= 0)
        return ms;
    header = trimmed(header);
    ms = number(header, 1000);
    if (ms >= 0)
        return ms;
    return date(header, &at) ? capped(at - now_ms) : -1;
}
