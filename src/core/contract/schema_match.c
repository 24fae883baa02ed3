/* Whether a value is what a schema says, and what is wrong with it if not. The schema was checked; the value may be anything. Work
 * is bounded by counting it: a value that would take too long does not match, whatever stands around it. Pure; any thread. */
#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "core/contract/schema_inside.h"

enum {
    STEPS_MAX = 4000000,  /* values looked at and names compared */
    DEPTH_MAX = 300,      /* of schemas within each other, references included */
    PROBLEM_BYTES = 400,  /* of one line */
    NAME_CHARACTERS = 40, /* of a name in a path */
    SHOWN_BYTES = 160     /* of what was expected */
};

struct matching {
    const struct js *root;
    struct buf *out; /* NULL: only whether there is a problem */
    size_t problems;
    int64_t steps;
    int depth;
    enum { WITHIN_BOUNDS, OUT_OF_BOUNDS } bounds;
};

/* Where the value stands: a list from the inside out, on the stack. */
struct spot {
    const struct spot *outside;
    struct str name;
    size_t index; /* where name is none */
};

static void match(struct matching *m, const struct js *schema, const struct js *value,
                  const struct spot *at);

/* --- problems ------------------------------------------------------------------------------------------------------------- */

static void spot_print(const struct spot *at, struct buf *out)
{
    if (at == NULL) {
        buf_char(out, '$');
        return;
    }
    spot_print(at->outside, out);
    if (at->name.p == NULL) {
        buf_printf(out, "[%zu]", at->index);
        return;
    }
    buf_char(out, '.');
    utf8_clean(out, utf8_cut_chars(at->name, NAME_CHARACTERS), UTF8_ONE_LINE);
}

static void problem(struct matching *m, const struct spot *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void problem(struct matching *m, const struct spot *at, const char *format, ...)
{
    struct buf line;
    va_list args;
    m->problems++;
    if (m->out == NULL || m->problems > SCHEMA_PROBLEMS_MAX)
        return;
    buf_init(&line, 1 << 20);
    spot_print(at, &line);
    buf_text(&line, ": ");
    va_start(args, format);
    buf_vprintf(&line, format, args);
    va_end(args);
    buf_text(m->out, m->out->n > 0 ? "\n- " : "- ");
    buf_str(m->out, utf8_cut(buf_view(&line), PROBLEM_BYTES));
    buf_release(&line);
}

/* Counts work; false when there was too much of it. */
static bool step(struct matching *m, size_t n)
{
    m->steps += (int64_t)n + 1;
    if (m->steps > STEPS_MAX)
        m->bounds = OUT_OF_BOUNDS;
    return m->bounds == WITHIN_BOUNDS;
}

static bool matches(struct matching *m, const struct js *schema, const struct js *value,
                    const struct spot *at)
{
    struct buf *out = m->out;
    size_t problems = m->problems;
    m->out = NULL;
    m->problems = 0;
    match(m, schema, value, at);
    bool good = m->problems == 0;
    m->out = out;
    m->problems = problems;
    return good;
}

static void shown(const struct js *value, char text[SHOWN_BYTES])
{
    struct buf json;
    buf_init(&json, SCHEMA_BYTES_MAX * 8);
    js_print(value, &json);
    struct str cut = utf8_cut(buf_view(&json), SHOWN_BYTES - 4);
    snprintf(text, SHOWN_BYTES, "%.*s%s", STR_FMT(cut), cut.n < json.n ? "…" : "");
    buf_release(&json);
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

static const char *type_of(const struct js *value)
{
    static const char *const names[] = {
        [JS_ABSENT] = "nothing", [JS_NULL] = "null",    [JS_BOOL] = "boolean",
        [JS_INT] = "integer",    [JS_REAL] = "number",  [JS_STRING] = "string",
        [JS_ARRAY] = "array",    [JS_OBJECT] = "object"};
    return names[js_kind(value)];
}

bool schema_is_type(const struct js *value, struct str type)
{
    if (str_is(type, type_of(value)))
        return true;
    if (str_is(type, "number"))
        return js_kind(value) == JS_INT;
    double real = js_real(value, NAN);
    return str_is(type, "integer") && js_kind(value) == JS_REAL && real == trunc(real);
}

/* Below 0, 0 or above: integers exactly, others as floating point. */
static int compare(const struct js *a, const struct js *b)
{
    if (js_kind(a) == JS_INT && js_kind(b) == JS_INT)
        return (js_int(a, 0) > js_int(b, 0)) - (js_int(a, 0) < js_int(b, 0));
    double x = js_real(a, 0), y = js_real(b, 0);
    return (x > y) - (x < y);
}

static bool is_number(const struct js *value)
{
    return js_kind(value) == JS_INT || js_kind(value) == JS_REAL;
}

/* A member by name; what it costs is counted. */
static const struct js *member(struct matching *m, const struct js *object, struct str name)
{
    return step(m, js_count(object)) ? schema_member(object, name) : NULL;
}

static bool equal(struct matching *m, const struct js *a, const struct js *b)
{
    struct str key;
    const struct js *value;
    if (!step(m, 1))
        return false;
    if (is_number(a) && is_number(b))
        return compare(a, b) == 0;
    if (js_kind(a) != js_kind(b))
        return false;
    switch (js_kind(a)) {
    case JS_BOOL:
        return js_bool(a, false) == js_bool(b, false);
    case JS_STRING:
        return str_eq(js_str(a), js_str(b));
    case JS_ARRAY:
        for (size_t i = 0; i < js_count(a); i++)
            if (js_count(a) != js_count(b) || !equal(m, js_at(a, i), js_at(b, i)))
                return false;
        return js_count(a) == js_count(b);
    case JS_OBJECT:
        if (js_count(a) != js_count(b))
            return false;
        for (void *i = js_next(a, NULL, &key, &value); i; i = js_next(a, i, &key, &value)) {
            const struct js *other = member(m, b, key);
            if (other == NULL || !equal(m, value, other))
                return false;
        }
        return true;
    default:
        return true;
    }
}

/* --- what keywords demand, one function each ------------------------------------------------------------------------------- */

/* What a demand looks at: the schema that it stands in, its argument, the value. */
struct demand {
    const struct js *schema, *argument, *value;
    const struct spot *at;
};

static void demand_nothing(struct matching *m, const struct demand *d)
{
}

static void demand_type(struct matching *m, const struct demand *d)
{
    struct buf names;
    bool one = js_kind(d->argument) == JS_STRING;
    size_t count = one ? 1 : js_count(d->argument);
    buf_init(&names, 1024);
    for (size_t i = 0; i < count; i++) {
        struct str name = js_str(one ? d->argument : js_at(d->argument, i));
        if (schema_is_type(d->value, name)) {
            buf_release(&names);
            return;
        }
        buf_printf(&names, "%s%.*s", i > 0 ? " or " : "", STR_FMT(name));
    }
    problem(m, d->at, "expected %s, found %s", names.p, type_of(d->value));
    buf_release(&names);
}

static void demand_enumerated(struct matching *m, const struct demand *d)
{
    char text[SHOWN_BYTES];
    for (size_t i = 0; i < js_count(d->argument); i++)
        if (equal(m, d->value, js_at(d->argument, i)))
            return;
    shown(d->argument, text);
    problem(m, d->at, "must be one of %s", text);
}

static void demand_constant(struct matching *m, const struct demand *d)
{
    char text[SHOWN_BYTES];
    if (equal(m, d->value, d->argument))
        return;
    shown(d->argument, text);
    problem(m, d->at, "must be %s", text);
}

static void demand_properties(struct matching *m, const struct demand *d)
{
    struct str key;
    const struct js *schema;
    for (void *i = js_next(d->argument, NULL, &key, &schema); i && js_kind(d->value) == JS_OBJECT;
         i = js_next(d->argument, i, &key, &schema)) {
        const struct js *value = member(m, d->value, key);
        struct spot inside = {d->at, key, 0};
        if (value != NULL)
            match(m, schema, value, &inside);
    }
}

static void demand_required(struct matching *m, const struct demand *d)
{
    for (size_t i = 0; js_kind(d->value) == JS_OBJECT && i < js_count(d->argument); i++) {
        struct spot inside = {d->at, js_str(js_at(d->argument, i)), 0};
        if (member(m, d->value, inside.name) == NULL)
            problem(m, &inside, "is missing");
    }
}

static void demand_additional(struct matching *m, const struct demand *d)
{
    const struct js *known = js_get(d->schema, "properties"), *value;
    struct str key;
    if (js_kind(d->value) != JS_OBJECT)
        return;
    for (void *i = js_next(d->value, NULL, &key, &value); i && step(m, 0);
         i = js_next(d->value, i, &key, &value)) {
        struct spot inside = {d->at, key, 0};
        if (member(m, known, key) != NULL)
            continue;
        if (js_kind(d->argument) == JS_BOOL && !js_bool(d->argument, true))
            problem(m, &inside, "is not allowed here");
        else
            match(m, d->argument, value, &inside);
    }
}

static void demand_items(struct matching *m, const struct demand *d)
{
    for (size_t i = 0; js_kind(d->value) == JS_ARRAY && i < js_count(d->value) && step(m, 0); i++) {
        struct spot inside = {d->at, STR_NONE, i};
        match(m, d->argument, js_at(d->value, i), &inside);
    }
}

static void demand_min_items(struct matching *m, const struct demand *d)
{
    if (js_kind(d->value) == JS_ARRAY && (int64_t)js_count(d->value) < js_int(d->argument, 0))
        problem(m, d->at, "has %zu items, and must have at least %lld", js_count(d->value),
                (long long)js_int(d->argument, 0));
}

static void demand_max_items(struct matching *m, const struct demand *d)
{
    if (js_kind(d->value) == JS_ARRAY && (int64_t)js_count(d->value) > js_int(d->argument, 0))
        problem(m, d->at, "has %zu items, and may have at most %lld", js_count(d->value),
                (long long)js_int(d->argument, 0));
}

static int64_t characters(struct str text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xC0) != 0x80;
    return n;
}

static void demand_min_length(struct matching *m, const struct demand *d)
{
    int64_t n = characters(js_str(d->value)), least = js_int(d->argument, 0);
    if (js_kind(d->value) == JS_STRING && n < least)
        problem(m, d->at, "has %lld characters, and must have at least %lld", (long long)n,
                (long long)least);
}

static void demand_max_length(struct matching *m, const struct demand *d)
{
    int64_t n = characters(js_str(d->value)), most = js_int(d->argument, 0);
    if (js_kind(d->value) == JS_STRING && n > most)
        problem(m, d->at, "has %lld characters, and may have at most %lld", (long long)n,
                (long long)most);
}

static void demand_bound(struct matching *m, const struct demand *d, bool good, const char *words)
{
    char text[SHOWN_BYTES];
    if (!is_number(d->value) || good)
        return;
    shown(d->argument, text);
    problem(m, d->at, "must be %s %s", words, text);
}

static void demand_minimum(struct matching *m, const struct demand *d)
{
    demand_bound(m, d, compare(d->value, d->argument) >= 0, "at least");
}

static void demand_maximum(struct matching *m, const struct demand *d)
{
    demand_bound(m, d, compare(d->value, d->argument) <= 0, "at most");
}

static void demand_exclusive_minimum(struct matching *m, const struct demand *d)
{
    demand_bound(m, d, compare(d->value, d->argument) > 0, "more than");
}

static void demand_exclusive_maximum(struct matching *m, const struct demand *d)
{
    demand_bound(m, d, compare(d->value, d->argument) < 0, "less than");
}

static size_t count_matches(struct matching *m, const struct demand *d)
{
    size_t n = 0;
    for (size_t i = 0; i < js_count(d->argument); i++)
        n += matches(m, js_at(d->argument, i), d->value, d->at);
    return n;
}

static void demand_any_of(struct matching *m, const struct demand *d)
{
    for (size_t i = 0; i < js_count(d->argument); i++)
        if (matches(m, js_at(d->argument, i), d->value, d->at))
            return;
    problem(m, d->at, "matches none of the %zu shapes of anyOf", js_count(d->argument));
}

static void demand_one_of(struct matching *m, const struct demand *d)
{
    size_t n = count_matches(m, d);
    if (n != 1)
        problem(m, d->at, "matches %zu of the %zu shapes of oneOf, and must match one", n,
                js_count(d->argument));
}

static void demand_all_of(struct matching *m, const struct demand *d)
{
    for (size_t i = 0; i < js_count(d->argument); i++)
        match(m, js_at(d->argument, i), d->value, d->at);
}

static void demand_negated(struct matching *m, const struct demand *d)
{
    char text[SHOWN_BYTES];
    if (!matches(m, d->argument, d->value, d->at))
        return;
    shown(d->argument, text);
    problem(m, d->at, "must not match %s", text);
}

static void demand_reference(struct matching *m, const struct demand *d)
{
    match(m, schema_referred(m->root, js_str(d->argument)), d->value, d->at);
}

static const struct {
    const char *name;
    void (*demand)(struct matching *m, const struct demand *d);
} keywords[] = {
#define X(name, shape, demand) {name, demand_##demand},
    SCHEMA_KEYWORDS(X)
#undef X
};

/* --- the whole --------------------------------------------------------------------------------------------------------------- */

static void match_keyword(struct matching *m, struct str name, const struct demand *d)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (str_is(name, keywords[i].name)) {
            keywords[i].demand(m, d);
            return;
        }
    }
    m->bounds = OUT_OF_BOUNDS; /* nobody checked this schema: nothing matches it */
}

static void match(struct matching *m, const struct js *schema, const struct js *value,
                  const struct spot *at)
{
    struct str key;
    struct demand d = {.schema = schema, .value = value, .at = at};
    if (js_kind(schema) == JS_BOOL && !js_bool(schema, true))
        problem(m, at, "is not allowed here");
    if (js_kind(schema) == JS_BOOL)
        return;
    if (js_kind(schema) != JS_OBJECT || m->depth >= DEPTH_MAX)
        m->bounds = OUT_OF_BOUNDS;
    m->depth++;
    for (void *i = js_next(schema, NULL, &key, &d.argument); i && step(m, 0);
         i = js_next(schema, i, &key, &d.argument)) {
        match_keyword(m, key, &d);
        if (m->out == NULL && m->problems > 0)
            break; /* one is enough to know */
    }
    m->depth--;
}

size_t schema_problems(const struct js *schema, const struct js *value, struct buf *out)
{
    struct matching m = {.root = schema, .out = out};
    buf_clear(out);
    match(&m, schema, value, NULL);
    if (m.bounds == OUT_OF_BOUNDS) {
        buf_clear(out);
        buf_text(out, "- $: is too large or too deep to be checked against the schema");
        return 1;
    }
    if (m.problems > SCHEMA_PROBLEMS_MAX)
        buf_printf(out, "\n- and %zu more", m.problems - SCHEMA_PROBLEMS_MAX);
    return m.problems;
}
