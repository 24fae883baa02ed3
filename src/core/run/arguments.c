/* See arguments.h. */
#include "core/run/arguments.h"

#include "base/map.h"

const char *js_kind_words(enum js_kind kind)
{
    static const char *const texts[] = {"nothing",  "null",     "a boolean", "a number",
                                        "a number", "a string", "an array",  "an object"};
    return texts[kind];
}

int argument_text(const struct js *object, const char *key, struct str *out, struct err *err)
{
    const struct js *value = js_get(object, key);
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_STRING)
        return err_set(err, ERR_USAGE, "%s must be a string, not %s", key, js_kind_words(kind));
    *out = js_str(value);
    return 0;
}

int argument_number(const struct js *object, const char *key, double scale, int64_t *out,
                    struct err *err)
{
    const struct js *value = js_get(object, key);
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    double number;
    if (!js_number(value, &number))
        return err_set(err, ERR_USAGE, "%s must be a number, not %s", key, js_kind_words(kind));
    number *= scale;
    if (!(number > -1e15 && number < 1e15))
        return err_set(err, ERR_USAGE, "%s is out of range", key);
    if (scale == 1 && (double)(int64_t)number != number)
        return err_set(err, ERR_USAGE, "%s must be a whole number, not %g", key, number);
    *out = (int64_t)number;
    if (*out == 0 && number > 0)
        *out = 1; /* a limit below the smallest unit is a limit still */
    return 0;
}

int argument_effort(const struct js *object, struct model_params *params, struct err *err)
{
    struct str effort = STR_NONE;
    if (argument_text(object, "effort", &effort, err) != 0)
        return -1;
    if (effort.n == 0)
        return 0;
    if (!effort_known(effort))
        return err_set(err, ERR_USAGE,
                       "effort must be one of none, minimal, low, medium, high, xhigh, max; not "
                       "\"%.*s\"",
                       (int)(effort.n < 32 ? effort.n : 32), effort.p);
    params->effort = effort;
    return 0;
}

/* Words of one argument, each once: a model may name thousands. */
struct words {
    struct list *out;
    struct map seen;
};

static void words_begin(struct words *words, struct arena *arena, struct list *out, size_t most)
{
    *out = (struct list){LIST_SET, arena_alloc(arena, (most + 1) * sizeof *out->items), 0};
    words->out = out;
    map_init(&words->seen);
}

static void words_add(struct words *words, struct str word)
{
    if (map_set(&words->seen, word, words->out) == NULL)
        words->out->items[words->out->n++] = word;
}

int argument_list(struct arena *arena, const struct js *object, const char *key, size_t max,
                  struct list *out, struct err *err)
{
    const struct js *value = js_get(object, key);
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_ARRAY)
        return err_set(err, ERR_USAGE, "%s must be an array of strings, not %s", key,
                       js_kind_words(kind));
    if (js_count(value) > max)
        return err_set(err, ERR_USAGE, "%s may have at most %zu entries", key, max);
    struct words words;
    int result = 0;
    words_begin(&words, arena, out, js_count(value));
    for (size_t i = 0; result == 0 && i < js_count(value); i++) {
        struct str item = arena_copy(arena, js_str(js_at(value, i)));
        if (item.n == 0)
            result = err_set(err, ERR_USAGE, "%s[%zu] must be a non-empty string", key, i);
        else
            words_add(&words, item);
    }
    map_release(&words.seen);
    return result;
}

int argument_budget(const struct js *arguments, struct limits *asked, struct err *err)
{
    const struct js *budget = js_get(arguments, "budget");
    enum js_kind kind = js_kind(budget);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    struct err not_a_number = ERR_INIT;
    if (kind == JS_STRING &&
        argument_number(arguments, "budget", 1, &asked->tool_calls, &not_a_number) == 0)
        return 0;
    if (kind == JS_INT || kind == JS_REAL)
        return argument_number(arguments, "budget", 1, &asked->tool_calls, err);
    if (kind != JS_OBJECT)
        return err_set(err, ERR_USAGE, "budget must be an object, not %s", js_kind_words(kind));
    return argument_number(budget, "tool_calls", 1, &asked->tool_calls, err) != 0 ||
                   argument_number(budget, "tokens", 1, &asked->tokens, err) != 0 ||
                   argument_number(budget, "cost_usd", 1e9, &asked->cost_nano, err) != 0 ||
                   argument_number(budget, "timeout_ms", 1, &asked->wall_ms, err) != 0
               ? -1
               : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

int argument_words(struct arena *arena, const struct js *object, const char *key, size_t max,
                   struct list *out, struct err *err)
{
    struct str text = js_get_str(object, key);
    enum js_kind kind = js_kind(js_get(object, key));
    if (kind == JS_ARRAY)
        return argument_list(arena, object, key, max, out, err);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_STRING)
        return err_set(err, ERR_USAGE, "%s must be a string, not %s", key, js_kind_words(kind));
    struct words words;
    words_begin(&words, arena, out, max + 1);
    while (text.n > 0 && out->n <= max) {
        const char *comma = memchr(text.p, ',', text.n);
        struct str word = {text.p, comma ? (size_t)(comma - text.p) : text.n};
        size_t taken = comma ? word.n + 1 : word.n;
        while (word.n > 0 && is_blank(word.p[0])) {
            word.p++;
            word.n--;
        }
        while (word.n > 0 && is_blank(word.p[word.n - 1]))
            word.n--;
        if (word.n > 0)
            words_add(&words, arena_copy(arena, word));
        text.p += taken;
        text.n -= taken;
    }
    map_release(&words.seen);
    return out->n <= max ? 0 : err_set(err, ERR_USAGE, "%s may have at most %zu entries", key, max);
}

static bool is_word_of(struct str word, const char *words)
{
    while (*words != '\0') {
        size_t n = strcspn(words, " ");
        if (word.n == n && memcmp(word.p, words, n) == 0)
            return true;
        words += words[n] != '\0' ? n + 1 : n;
    }
    return false;
}

int arguments_known(const struct js *object, const char *known, const char *what, struct err *err)
{
    struct str key;
    const struct js *value;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value)) {
        if (!is_word_of(key, known))
            return err_set(err, ERR_USAGE, "unknown argument \"%.*s\"; %s takes: %s",
                           (int)(key.n < 64 ? key.n : 64), key.p, what, known);
    }
    return 0;
}
