/* Whether a schema is one that cadre enforces: known keywords with sensible arguments, references that lead somewhere and never in a
 * circle. Matching values is schema_match.c's work. Pure; any thread. */
#include "core/contract/schema.h"

#include <stdio.h>

#include "base/utf8.h"
#include "core/contract/schema_inside.h"

enum {
    SAME_LEVELS = 32,  /* of references and alternatives that speak about one value */
    SAME_STEPS = 10000 /* to see that they end */
};

struct checking {
    const struct js *root;
    struct schema_place *place;
    struct err *err;
    int64_t steps;
};

/* Where the walk stands: a list from the inside out, on the stack. */
struct place {
    const struct place *outside;
    struct str name;
    size_t index; /* where name is none */
};

const char *const schema_type_names[SCHEMA_TYPES] = {"null",   "boolean", "integer", "number",
                                                     "string", "array",   "object"};

const struct js *schema_member(const struct js *object, struct str name)
{
    struct str key;
    const struct js *value;
    if (js_kind(object) != JS_OBJECT)
        return NULL;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value))
        if (str_eq(key, name))
            return value;
    return NULL;
}

/* A name as a pointer has it: ~1 is a slash, ~0 a tilde. */
static bool is_escaped_name(struct str escaped, struct str name)
{
    size_t at = 0;
    for (size_t i = 0; i < escaped.n; i++) {
        char c = escaped.p[i];
        if (c == '~' && i + 1 < escaped.n)
            c = escaped.p[++i] == '1' ? '/' : '~';
        if (at >= name.n || name.p[at++] != c)
            return false;
    }
    return at == name.n;
}

const struct js *schema_referred(const struct js *root, struct str reference)
{
    const struct str start = STR("#/$defs/");
    struct str key;
    const struct js *value, *definitions = js_get(root, "$defs");
    if (!str_starts(reference, start) || js_kind(definitions) != JS_OBJECT)
        return NULL;
    struct str name = {reference.p + start.n, reference.n - start.n};
    for (void *i = js_next(definitions, NULL, &key, &value); i;
         i = js_next(definitions, i, &key, &value))
        if (is_escaped_name(name, key))
            return value;
    return NULL;
}

/* --- errors -------------------------------------------------------------------------------------------------------------- */

static void pointer_print(const struct place *at, struct buf *out)
{
    if (at == NULL)
        return;
    pointer_print(at->outside, out);
    buf_char(out, '/');
    if (at->name.p == NULL)
        buf_printf(out, "%zu", at->index);
    for (size_t i = 0; at->name.p != NULL && i < at->name.n; i++) {
        char c = at->name.p[i];
        if (c == '/' || c == '~')
            buf_text(out, c == '/' ? "~1" : "~0");
        else
            buf_char(out, c);
    }
}

static int wrong(const struct checking *c, const struct place *at, const char *message)
{
    struct buf pointer;
    buf_init(&pointer, 1 << 20);
    pointer_print(at, &pointer);
    struct str shown = utf8_cut(buf_view(&pointer), sizeof c->place->pointer - 1);
    snprintf(c->place->pointer, sizeof c->place->pointer, "%.*s", STR_FMT(shown));
    buf_release(&pointer);
    return err_set(c->err, ERR_USAGE, "%s", message);
}

/* --- arguments of keywords, one function per shape ------------------------------------------------------------------------ */

typedef int shape_fn(struct checking *c, const struct js *argument, const struct place *at);

static int check_schema(struct checking *c, const struct js *schema, const struct place *at);

static int shape_ANYTHING(struct checking *c, const struct js *argument, const struct place *at)
{
    return 0;
}

static bool is_type_name(struct str name)
{
    for (size_t i = 0; i < SCHEMA_TYPES; i++)
        if (str_is(name, schema_type_names[i]))
            return true;
    return false;
}

static int shape_TYPE(struct checking *c, const struct js *argument, const struct place *at)
{
    bool good = js_kind(argument) == JS_STRING ? is_type_name(js_str(argument))
                                               : js_kind(argument) == JS_ARRAY;
    good = good && (js_kind(argument) == JS_STRING || js_count(argument) > 0);
    for (size_t i = 0; good && js_kind(argument) == JS_ARRAY && i < js_count(argument); i++)
        good = is_type_name(js_str(js_at(argument, i)));
    return good ? 0
                : wrong(c, at,
                        "expected a type or a list of types: null, boolean, integer, number, "
                        "string, array, object");
}

static int shape_VALUES(struct checking *c, const struct js *argument, const struct place *at)
{
    return js_kind(argument) == JS_ARRAY && js_count(argument) > 0
               ? 0
               : wrong(c, at, "expected a list of at least one value");
}

static int shape_NAMES(struct checking *c, const struct js *argument, const struct place *at)
{
    bool good = js_kind(argument) == JS_ARRAY;
    for (size_t i = 0; good && i < js_count(argument); i++)
        good = js_kind(js_at(argument, i)) == JS_STRING;
    return good ? 0 : wrong(c, at, "expected a list of names");
}

static int shape_COUNT(struct checking *c, const struct js *argument, const struct place *at)
{
    return js_int(argument, -1) >= 0 ? 0 : wrong(c, at, "expected a whole number, 0 or more");
}

static int shape_NUMBER(struct checking *c, const struct js *argument, const struct place *at)
{
    return js_kind(argument) == JS_INT || js_kind(argument) == JS_REAL
               ? 0
               : wrong(c, at, "expected a number");
}

static int shape_SCHEMA(struct checking *c, const struct js *argument, const struct place *at)
{
    return check_schema(c, argument, at);
}

static int shape_SCHEMAS(struct checking *c, const struct js *argument, const struct place *at)
{
    if (js_kind(argument) != JS_ARRAY || js_count(argument) == 0)
        return wrong(c, at, "expected a list of at least one schema");
    for (size_t i = 0; i < js_count(argument); i++) {
        struct place inside = {at, STR_NONE, i};
        if (check_schema(c, js_at(argument, i), &inside) != 0)
            return -1;
    }
    return 0;
}

static int shape_SCHEMAS_BY_NAME(struct checking *c, const struct js *argument,
                                 const struct place *at)
{
    struct str key;
    const struct js *value;
    if (js_kind(argument) != JS_OBJECT)
        return wrong(c, at, "expected names with their schemas");
    for (void *i = js_next(argument, NULL, &key, &value); i;
         i = js_next(argument, i, &key, &value)) {
        struct place inside = {at, key, 0};
        if (check_schema(c, value, &inside) != 0)
            return -1;
    }
    return 0;
}

static int shape_DEFINITIONS(struct checking *c, const struct js *argument, const struct place *at)
{
    if (at->outside != NULL)
        return wrong(c, at, "$defs stand at the top of a schema");
    return shape_SCHEMAS_BY_NAME(c, argument, at);
}

static int shape_REFERENCE(struct checking *c, const struct js *argument, const struct place *at)
{
    return schema_referred(c->root, js_str(argument)) != NULL
               ? 0
               : wrong(c, at,
                       "expected \"#/$defs/NAME\" with a name that stands in the schema's $defs");
}

static const struct {
    const char *name;
    shape_fn *shape;
} keywords[] = {
#define X(name, shape, demand) {name, shape_##shape},
    SCHEMA_KEYWORDS(X)
#undef X
};

/* --- the whole --------------------------------------------------------------------------------------------------------------- */

/* Whether references and alternatives that speak about the same value come to an end. */
static bool ends(struct checking *c, const struct js *schema, int levels)
{
    static const char *const lists[] = {"anyOf", "oneOf", "allOf"};
    if (levels == 0 || ++c->steps > SAME_STEPS)
        return false;
    const struct js *reference = js_get(schema, "$ref"), *negated = js_get(schema, "not");
    if (reference != NULL && !ends(c, schema_referred(c->root, js_str(reference)), levels - 1))
        return false;
    if (negated != NULL && !ends(c, negated, levels - 1))
        return false;
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        const struct js *list = js_get(schema, lists[k]);
        for (size_t i = 0; i < js_count(list); i++)
            if (!ends(c, js_at(list, i), levels - 1))
                return false;
    }
    return true;
}

static int check_keyword(struct checking *c, struct str name, const struct js *argument,
                         const struct place *at)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (str_is(name, keywords[i].name))
            return keywords[i].shape(c, argument, at);
    struct buf message;
    buf_init(&message, sizeof c->err->message);
    buf_text(&message, "the keyword \"");
    utf8_clean(&message, utf8_cut_chars(name, 64), UTF8_ONE_LINE);
    buf_text(&message, "\" is not enforced by cadre; it knows");
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        buf_printf(&message, "%s %s", i > 0 ? "," : "", keywords[i].name);
    wrong(c, at, message.p);
    buf_release(&message);
    return -1;
}

static int check_schema(struct checking *c, const struct js *schema, const struct place *at)
{
    struct str key;
    const struct js *value;
    if (js_kind(schema) == JS_BOOL && at != NULL)
        return 0;
    if (js_kind(schema) != JS_OBJECT)
        return wrong(c, at, "expected a schema: an object of keywords");
    for (void *i = js_next(schema, NULL, &key, &value); i; i = js_next(schema, i, &key, &value)) {
        struct place inside = {at, key, 0};
        if (check_keyword(c, key, value, &inside) != 0)
            return -1;
    }
    c->steps = 0;
    return 0;
}

/* Every reference is sound by now. */
static int check_ends(struct checking *c, const struct js *schema, const struct place *at)
{
    struct str key;
    const struct js *value, *definitions = js_get(schema, "$defs");
    if (!ends(c, schema, SAME_LEVELS))
        return wrong(c, at, "its references go in a circle, or too deep");
    if (js_kind(definitions) != JS_OBJECT)
        return 0;
    const struct place list = {NULL, STR("$defs"), 0};
    for (void *i = js_next(definitions, NULL, &key, &value); i;
         i = js_next(definitions, i, &key, &value)) {
        struct place inside = {&list, key, 0};
        c->steps = 0;
        if (!ends(c, value, SAME_LEVELS))
            return wrong(c, &inside, "its references go in a circle, or too deep");
    }
    return 0;
}

int schema_check(const struct js *schema, struct schema_place *place, struct err *err)
{
    struct checking c = {.root = schema, .place = place, .err = err};
    *place = (struct schema_place){""};
    return check_schema(&c, schema, NULL) != 0 || check_ends(&c, schema, NULL) != 0 ? -1 : 0;
}

int schema_read(struct str text, struct buf *compact, struct err *err)
{
    struct schema_place place;
    struct js *schema = js_parse_within(text, SCHEMA_LEVELS, err);
    if (schema == NULL) {
        err->class = ERR_USAGE;
        return -1;
    }
    int result = schema_check(schema, &place, err);
    if (result != 0 && place.pointer[0] != '\0')
        err_prefix(err, "%s", place.pointer);
    size_t before = compact->n;
    if (result == 0)
        js_print(schema, compact);
    if (result == 0 && (compact->failed || compact->n - before > SCHEMA_BYTES_MAX))
        result = err_set(err, ERR_USAGE, "a schema may have at most %d bytes", SCHEMA_BYTES_MAX);
    js_free(schema);
    return result;
}
