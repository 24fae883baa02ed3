/* Finding and replacing exact text; finding what the writer of a wrong text probably meant.
 * Pure; any thread. */
#include "tool/replace.h"

#include <ctype.h>

#define CANDIDATES_MAX 2000 /* lines of the content whose followers are compared */
#define FOLLOWERS_MAX 200   /* lines of old that are compared at one candidate */
#define SIMILAR_MIN 4       /* bytes in common before a line is called close */

/* --- replacing -------------------------------------------------------------------------------- */

static const char *find(const char *from, const char *end, struct str text)
{
    return memmem(from, (size_t)(end - from), text.p, text.n);
}

static size_t count_newlines(const char *from, const char *end)
{
    size_t count = 0;
    while (from < end && (from = memchr(from, '\n', (size_t)(end - from)))) {
        count++;
        from++;
    }
    return count;
}

/* Counts occurrences without overlap and notes the lines of the first ones. */
static void survey(struct str content, struct str old, struct replace_report *report)
{
    const char *end = content.p + content.n;
    const char *counted = content.p;
    size_t line = 1;
    for (const char *at = content.p; (at = find(at, end, old)); at += old.n) {
        report->count++;
        if (report->line_count < sizeof report->lines / sizeof report->lines[0]) {
            line += count_newlines(counted, at);
            counted = at;
            report->lines[report->line_count++] = line;
        }
    }
}

enum replace_outcome replace_text(struct str content, struct str old, struct str new,
                                  enum replace_mode mode, struct buf *out,
                                  struct replace_report *report)
{
    *report = (struct replace_report){0};
    const char *end = content.p + content.n;
    survey(content, old, report);
    if (report->count == 0)
        return REPLACE_MISSING;
    if (mode == REPLACE_ONE) {
        const char *first = find(content.p, end, old);
        if (report->count > 1 || find(first + 1, end, old))
            return REPLACE_AMBIGUOUS;
    }
    const char *done = content.p;
    for (const char *at; (at = find(done, end, old)) && !out->failed; done = at + old.n) {
        buf_add(out, done, (size_t)(at - done));
        buf_str(out, new);
    }
    buf_add(out, done, (size_t)(end - done));
    return out->failed ? REPLACE_TOO_LARGE : REPLACE_DONE;
}

/* --- near misses ------------------------------------------------------------------------------ */

/* Takes the next line off; false at the end. The line has no newline; a text that ends in one
 * has no empty last line. */
static bool next_line(struct str *rest, struct str *line)
{
    if (rest->n == 0)
        return false;
    const char *newline = memchr(rest->p, '\n', rest->n);
    *line = (struct str){rest->p, newline ? (size_t)(newline - rest->p) : rest->n};
    size_t taken = newline ? line->n + 1 : line->n;
    rest->p += taken;
    rest->n -= taken;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct str trim_end(struct str line)
{
    while (line.n > 0 && is_space(line.p[line.n - 1]))
        line.n--;
    return line;
}

static struct str trim(struct str line)
{
    line = trim_end(line);
    while (line.n > 0 && is_space(line.p[0])) {
        line.p++;
        line.n--;
    }
    return line;
}

/* Equal when all white space is left out. */
static bool equal_without_space(struct str a, struct str b)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < a.n && is_space(a.p[i]))
            i++;
        while (j < b.n && is_space(b.p[j]))
            j++;
        if (i == a.n || j == b.n)
            return i == a.n && j == b.n;
        if (a.p[i++] != b.p[j++])
            return false;
    }
}

static bool equal_without_case(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)b.p[i]))
            return false;
    return true;
}

/* Bytes in common at both ends of two trimmed lines. */
static size_t likeness(struct str a, struct str b)
{
    size_t shorter = a.n < b.n ? a.n : b.n;
    size_t head = 0, tail = 0;
    while (head < shorter && a.p[head] == b.p[head])
        head++;
    while (tail < shorter - head && a.p[a.n - 1 - tail] == b.p[b.n - 1 - tail])
        tail++;
    return head + tail;
}

/* Why two lines differ; NULL when it is more than white space or case. */
static const char *difference(struct str found, struct str asked)
{
    static const char line_endings[] = "line endings: the file has CRLF";
    bool found_crlf = found.n > 0 && found.p[found.n - 1] == '\r';
    bool asked_crlf = asked.n > 0 && asked.p[asked.n - 1] == '\r';
    if (found_crlf && !asked_crlf && str_eq((struct str){found.p, found.n - 1}, asked))
        return line_endings;
    if (str_eq(trim_end(found), trim_end(asked)))
        return "white space at the end of the line";
    if (str_eq(trim(found), trim(asked)))
        return "indentation (tabs, spaces or their number)";
    if (equal_without_space(found, asked))
        return "white space inside the line";
    if (equal_without_case(trim(found), trim(asked)))
        return "upper and lower case";
    return NULL;
}

/* Compares old's lines with the content from one place on. Returns how many are the same but for
 * white space, and fills the first pair that is not exactly the same. */
static size_t compare_from(struct str content, struct str old, size_t line,
                           struct replace_near *near)
{
    struct str found, asked;
    size_t same = 0;
    near->line = 0;
    while (same < FOLLOWERS_MAX && next_line(&old, &asked)) {
        if (!next_line(&content, &found)) {
            if (near->line == 0)
                *near = (struct replace_near){line + same, line, STR_NONE, asked,
                                              "length: the file ends there"};
            break;
        }
        bool exact = str_eq(found, asked);
        if (!exact && near->line == 0)
            *near =
                (struct replace_near){line + same, line, found, asked, difference(found, asked)};
        if (!exact && !equal_without_space(found, asked))
            break;
        same++;
    }
    return same;
}

/* The first line of old that has more than white space in it; *skipped says how many stand
 * before it. */
static struct str first_full_line(struct str old, size_t *skipped)
{
    struct str line = STR_NONE;
    *skipped = 0;
    while (next_line(&old, &line)) {
        if (trim(line).n > 0)
            return (struct str){line.p, (size_t)(old.p - line.p) + old.n};
        (*skipped)++;
    }
    return STR_NONE;
}

struct replace_near replace_nearest(struct str content, struct str old)
{
    struct replace_near best = {0}, near = {0};
    size_t best_same = 0, best_likeness = 0, candidates = 0, number = 0, skipped;
    struct str old_rest = first_full_line(old, &skipped);
    struct str rest = content, line, first = old_rest;
    if (!old_rest.p || !next_line(&first, &line))
        return best;
    first = line;
    while (rest.n > 0) {
        struct str here = rest;
        if (!next_line(&rest, &line))
            break;
        number++;
        if (equal_without_space(line, first) && candidates < CANDIDATES_MAX) {
            candidates++;
            size_t same = compare_from(here, old_rest, number, &near);
            if (near.line > 0 && same > best_same) {
                best = near;
                best_same = same;
            }
        } else if (best_same == 0) {
            size_t like = equal_without_case(trim(line), trim(first))
                              ? first.n + 1
                              : likeness(trim(line), trim(first));
            if (like > best_likeness && like >= SIMILAR_MIN && 2 * like >= trim(first).n) {
                best = (struct replace_near){number, number, line, first, difference(line, first)};
                best_likeness = like;
            }
        }
    }
    best.first = best.first > skipped ? best.first - skipped : best.first;
    return best;
}
