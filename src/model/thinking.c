/* A state machine over the text: start, inside of a tag, answer. Each byte is looked at a
 * bounded number of times. Pure; runs on the thread that feeds it. */
#include "model/thinking.h"

static const struct {
    struct str open, close;
} tags[] = {
    {STR("<think>"), STR("</think>")},
    {STR("<thinking>"), STR("</thinking>")},
};
enum {
    TAGS = sizeof tags / sizeof tags[0],
    LONGEST = 12 /* bytes of the longest tag, and the one behind it */
};

static struct str after(struct str text, size_t n)
{
    return (struct str){text.p + n, text.n - n};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void thinking_off(struct thinking *thinking)
{
    if (thinking->state != THINKING_START || thinking->answer_at > 0)
        return;
    thinking->settled = true;
    thinking->state = THINKING_ANSWER;
    thinking->told = 0;
}

/* Whether the state changed. */
static bool read_start(struct thinking *thinking, struct str text, enum thinking_more more)
{
    size_t at = thinking->told;
    while (at < text.n && is_space(text.p[at]))
        at++;
    thinking->told = at;
    struct str rest = after(text, at);
    for (size_t i = 0; i < TAGS; i++) {
        if (str_starts(rest, tags[i].open)) {
            thinking->state = THINKING_INSIDE;
            thinking->tag = i;
            thinking->told = at + tags[i].open.n;
            return true;
        }
        if (more == THINKING_MORE && str_starts(tags[i].open, rest))
            return false;
    }
    thinking->state = THINKING_ANSWER;
    if (thinking->settled)
        thinking->answer_at = at;
    thinking->told = thinking->scanned = thinking->answer_at;
    return true;
}

/* Bytes at the end of text that may be the beginning of the tag. */
static size_t open_end(struct str text, struct str tag)
{
    for (size_t n = tag.n - 1; n > 0; n--)
        if (n <= text.n && str_starts(tag, after(text, text.n - n)))
            return n;
    return 0;
}

static bool read_inside(struct thinking *thinking, struct str text, enum thinking_more more,
                        const struct thinking_sink *sink)
{
    struct str rest = after(text, thinking->told), close = tags[thinking->tag].close;
    const char *end = rest.n > 0 ? memmem(rest.p, rest.n, close.p, close.n) : NULL;
    size_t n = end                     ? (size_t)(end - rest.p)
               : more == THINKING_MORE ? rest.n - open_end(rest, close)
                                       : rest.n;
    if (n > 0)
        sink->reasoning(sink->user, (struct str){rest.p, n});
    thinking->told += n;
    if (!end)
        return false;
    thinking->told += close.n;
    thinking->answer_at = thinking->told;
    thinking->settled = true;
    thinking->state = THINKING_START;
    return true;
}

enum tag_found { TAG_NONE, TAG_OPENS, TAG_CLOSES, TAG_UNDECIDED };

/* What begins at `at`, which is a '<'. *n: its length. */
static enum tag_found tag_at(struct str text, size_t at, enum thinking_more more, size_t *n)
{
    struct str rest = after(text, at);
    if (more == THINKING_MORE && rest.n < LONGEST)
        return TAG_UNDECIDED;
    for (size_t i = 0; i < TAGS; i++) {
        if (str_starts(rest, tags[i].open))
            return TAG_OPENS;
        *n = tags[i].close.n;
        if (!str_starts(rest, tags[i].close))
            continue;
        bool ends_line = rest.n == *n || rest.p[*n] == '\n' || rest.p[*n] == '\r';
        bool quoted = at > 0 && strchr("`'\"", text.p[at - 1]) && text.p[at - 1] != '\0';
        return ends_line && !quoted ? TAG_CLOSES : TAG_NONE;
    }
    return TAG_NONE;
}

/* Looks for a closing tag whose opening one stands in the prompt. */
static bool find_closing(struct thinking *thinking, struct str text, enum thinking_more more)
{
    while (!thinking->settled && thinking->scanned < text.n) {
        size_t n = 0;
        const char *sign = memchr(text.p + thinking->scanned, '<', text.n - thinking->scanned);
        thinking->scanned = sign ? (size_t)(sign - text.p) : text.n;
        enum tag_found found = sign ? tag_at(text, thinking->scanned, more, &n) : TAG_UNDECIDED;
        if (found == TAG_UNDECIDED)
            return false;
        thinking->settled = found != TAG_NONE;
        if (found == TAG_CLOSES) {
            thinking->told = thinking->answer_at = thinking->scanned + n;
            thinking->state = THINKING_START;
            return true;
        }
        thinking->scanned++;
    }
    return false;
}

static bool read_answer(struct thinking *thinking, struct str text, enum thinking_more more,
                        const struct thinking_sink *sink)
{
    bool closed = find_closing(thinking, text, more);
    size_t to = closed || thinking->settled ? text.n : thinking->scanned;
    if (closed)
        return true;
    if (to > thinking->told)
        sink->answer(sink->user, (struct str){text.p + thinking->told, to - thinking->told});
    thinking->told = to > thinking->told ? to : thinking->told;
    return false;
}

void thinking_read(struct thinking *thinking, struct str text, enum thinking_more more,
                   const struct thinking_sink *sink)
{
    bool changed = true;
    while (changed) {
        switch (thinking->state) {
        case THINKING_START:
            changed = read_start(thinking, text, more);
            break;
        case THINKING_INSIDE:
            changed = read_inside(thinking, text, more, sink);
            break;
        case THINKING_ANSWER:
            changed = read_answer(thinking, text, more, sink);
            break;
        }
    }
}

struct str thinking_answer(const struct thinking *thinking, struct str text)
{
    size_t at = thinking->state == THINKING_INSIDE ? text.n : thinking->answer_at;
    return at <= text.n ? after(text, at) : STR_NONE;
}
