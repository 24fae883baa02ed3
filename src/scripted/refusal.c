/* Refusals in the real API's words, and the table-driven check of an object's fields that most of them
 * come from. Pure: any thread. */
#include "scripted/refusal.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 4, 0))) static void refusal_fill(struct refusal *refusal, int status,
                                                               const char *code, const char *format,
                                                               va_list args)
{
    refusal->status = status;
    refusal->type = "invalid_request_error";
    refusal->code = code;
    refusal->param[0] = '\0';
    vsnprintf(refusal->message, sizeof refusal->message, format, args);
}

int refusal_set(struct refusal *refusal, int status, const char *code, const char *param,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refusal_fill(refusal, status, code, format, args);
    va_end(args);
    if (param != NULL)
        snprintf(refusal->param, sizeof refusal->param, "%s", param);
    return -1;
}

void refusal_place(const struct place *place, const char *leaf, char *out, size_t size)
{
    struct buf text;
    buf_init(&text, 512);
    if (place->list != NULL)
        buf_printf(&text, "%s.[%zu]", place->list, place->index);
    if (place->inner != NULL)
        buf_printf(&text, ".%s.[%zu]", place->inner, place->inner_index);
    if (place->within != NULL)
        buf_printf(&text, "%s%s", text.n > 0 ? "." : "", place->within);
    if (leaf != NULL)
        buf_printf(&text, "%s%s", text.n > 0 ? "." : "", leaf);
    snprintf(out, size, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
}

int refusal_at(struct refusal *refusal, const char *code, const struct place *place,
               const char *leaf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refusal_fill(refusal, 400, code, format, args);
    va_end(args);
    refusal_place(place, leaf, refusal->param, sizeof refusal->param);
    return -1;
}

static void optional_text(struct jw *w, const char *key, const char *text)
{
    jw_key(w, key);
    if (text != NULL && text[0] != '\0')
        jw_text(w, text);
    else
        jw_null(w);
}

void refusal_write(const struct refusal *refusal, struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_ktext(&w, "message", refusal->message);
    jw_ktext(&w, "type", refusal->type);
    optional_text(&w, "param", refusal->param);
    optional_text(&w, "code", refusal->code);
    jw_end_object(&w);
    jw_end_object(&w);
}

static const char *const kind_texts[] = {
    [JS_ABSENT] = "nothing", [JS_NULL] = "null",        [JS_BOOL] = "a boolean",
    [JS_INT] = "an integer", [JS_REAL] = "a decimal",   [JS_STRING] = "a string",
    [JS_ARRAY] = "an array", [JS_OBJECT] = "an object",
};

const char *refusal_kind(enum js_kind kind)
{
    return kind_texts[kind];
}

/* "expected one of a string or array" names what is allowed; null is allowed silently, as the API does. */
static void print_expected(unsigned kinds, struct buf *out)
{
    unsigned named = kinds & ~KIND(NULL);
    if ((named & KIND(REAL)) != 0)
        named &= ~KIND(INT);
    buf_text(out, (named & (named - 1)) != 0 ? "expected one of " : "expected ");
    const char *separator = "";
    for (int kind = JS_BOOL; kind <= JS_OBJECT; kind++) {
        if ((named & (1u << kind)) == 0)
            continue;
        buf_printf(out, "%s%s", separator, kind_texts[kind]);
        separator = " or ";
    }
}

static int refuse_unknown(struct str key, const struct place *place, struct refusal *refusal)
{
    char name[96];
    snprintf(name, sizeof name, "%.*s", STR_FMT(key));
    if (place->list == NULL && place->within == NULL)
        return refusal_set(refusal, 400, NULL, NULL, "Unrecognized request argument supplied: %s",
                           name);
    char path[160];
    refusal_place(place, name, path, sizeof path);
    return refusal_at(refusal, "unknown_parameter", place, name, "Unknown parameter: '%s'.", path);
}

static int refuse_kind(const struct field *field, enum js_kind got, const struct place *place,
                       struct refusal *refusal)
{
    char path[160];
    refusal_place(place, field->name, path, sizeof path);
    struct buf expected;
    buf_init(&expected, 256);
    print_expected(field->kinds, &expected);
    refusal_at(refusal, "invalid_type", place, field->name,
               "Invalid type for '%s': %.*s, but got %s instead.", path,
               STR_FMT(buf_view(&expected)), kind_texts[got]);
    buf_release(&expected);
    return -1;
}

static const struct field *field_find(const struct field_table *table, struct str name)
{
    for (size_t i = 0; i < table->count; i++)
        if (str_is(name, table->fields[i].name))
            return &table->fields[i];
    return NULL;
}

struct field_fault field_fault(const struct js *object, const struct field_table *table)
{
    struct str key;
    const struct js *value;
    for (void *iter = js_next(object, NULL, &key, &value); iter != NULL;
         iter = js_next(object, iter, &key, &value)) {
        const struct field *field = field_find(table, key);
        if (field == NULL)
            return (struct field_fault){.kind = FAULT_UNKNOWN, .key = key};
        if ((field->kinds & (1u << js_kind(value))) == 0)
            return (struct field_fault){.kind = FAULT_KIND, .field = field, .got = js_kind(value)};
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->fields[i];
        if (field->presence == FIELD_REQUIRED && js_get(object, field->name) == NULL)
            return (struct field_fault){.kind = FAULT_MISSING, .field = field};
    }
    return (struct field_fault){.kind = FAULT_NONE};
}

int refusal_fields(const struct js *object, const struct field_table *table,
                   const struct place *place, struct refusal *refusal)
{
    struct field_fault fault = field_fault(object, table);
    char path[160];
    switch (fault.kind) {
    case FAULT_NONE:
        return 0;
    case FAULT_UNKNOWN:
        return refuse_unknown(fault.key, place, refusal);
    case FAULT_KIND:
        return refuse_kind(fault.field, fault.got, place, refusal);
    case FAULT_MISSING:
        break;
    }
    refusal_place(place, fault.field->name, path, sizeof path);
    return refusal_at(refusal, "missing_required_parameter", place, fault.field->name,
                      "Missing required parameter: '%s'.", path);
}

int refusal_object(const struct js *value, const struct place *place, const char *leaf,
                   struct refusal *refusal)
{
    if (js_kind(value) == JS_OBJECT)
        return 0;
    char path[160];
    refusal_place(place, leaf, path, sizeof path);
    return refusal_at(refusal, "invalid_type", place, leaf,
                      "Invalid type for '%s': expected an object, but got %s instead.", path,
                      kind_texts[js_kind(value)]);
}
