/* See question_answer.h. */
#include "cli/question_answer.h"

#include <strings.h>

#include "base/json.h"

static const struct {
    const char *letter, *word;
    enum question_choice choice;
} answers[] = {
    {"y", "yes", CHOICE_YES},         {"n", "no", CHOICE_NO},     {"s", "session", CHOICE_SESSION},
    {"p", "project", CHOICE_PROJECT}, {"v", "view", CHOICE_VIEW},
};

static bool is_word(struct str text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

struct question_answer question_read(struct str line)
{
    line = str_trim(line);
    const char *blank = line.n > 0 ? memchr(line.p, ' ', line.n) : NULL;
    struct str first = {line.p, blank != NULL ? (size_t)(blank - line.p) : line.n};
    struct str rest = str_trim((struct str){line.p + first.n, line.n - first.n});
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (!is_word(first, answers[i].letter) && !is_word(first, answers[i].word))
            continue;
        /* "yes but …" is not a yes. */
        if (rest.n > 0 && answers[i].choice != CHOICE_NO)
            break;
        return (struct question_answer){answers[i].choice, rest};
    }
    return (struct question_answer){CHOICE_UNCLEAR, STR_NONE};
}

/* "3" → 3; anything else: 0. */
static size_t number_read(struct str text)
{
    size_t number = 0;
    if (text.n == 0 || text.n > 3)
        return 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        number = number * 10 + (size_t)(text.p[i] - '0');
    }
    return number;
}

struct str question_reply(struct arena *arena, struct str arguments, struct str line)
{
    struct err ignored = ERR_INIT;
    struct js *doc = js_parse(arguments, &ignored);
    const struct js *choices = js_get(doc, "choices");
    struct str text = str_trim(line);
    size_t number = number_read(text);
    if (number > 0 && number <= js_count(choices))
        text = js_str(js_at(choices, number - 1));
    text = arena_copy(arena, text.p != NULL ? text : STR(""));
    js_free(doc);
    return text;
}
