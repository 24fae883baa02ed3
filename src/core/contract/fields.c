/* Walks a table of fields to print an object or to read one strictly. Does not know any concrete
 * object: the tables stand beside their structs. Pure; any thread. */
#include "core/contract/fields.h"

#include <stdio.h>

#include "base/utf8.h"
#include "core/contract/list.h"
#include "core/contract/money.h"
#include "core/contract/settings.h"

void field_path(char out[FIELD_PATH_BYTES], const char *where, const char *key)
{
    snprintf(out, FIELD_PATH_BYTES, "%s%s%s", where, where[0] ? "." : "", key);
}

const char *field_where(const char *where)
{
    return where[0] ? where : "the document";
}

void fields_print(const struct field *fields, struct jw *w, const void *base)
{
    jw_object(w);
    for (const struct field *field = fields; field->key; field++) {
        const char *at = (const char *)base + field->offset;
        if (field->kind && field->kind->absent && field->kind->absent(at))
            continue;
        jw_key(w, field->key);
        if (field->kind)
            field->kind->print(w, at);
        else
            fields_print(field->fields, w, at);
    }
    jw_end_object(w);
}

void fields_own(const struct field *fields, struct arena *arena, const void *like, void *base)
{
    for (const struct field *field = fields; field->key; field++) {
        const char *other = (const char *)like + field->offset;
        char *at = (char *)base + field->offset;
        if (!field->kind)
            fields_own(field->fields, arena, other, at);
        else if (field->kind->own)
            field->kind->own(arena, other, at);
    }
}

static int keys_known(const struct field *fields, const struct js *object, const char *where,
                      struct err *err)
{
    struct str key;
    const struct js *value;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value)) {
        const struct field *field = fields;
        while (field->key && !str_is(key, field->key))
            field++;
        if (!field->key)
            return err_set(err, ERR_CORRUPT, "%s: unknown key \"%.*s\"", field_where(where),
                           (int)(key.n < 64 ? key.n : 64), key.p);
    }
    return 0;
}

int fields_parse(const struct field *fields, enum fields_need need, struct arena *arena,
                 const struct js *object, const char *where, void *base, struct err *err)
{
    if (js_kind(object) != JS_OBJECT)
        return err_set(err, ERR_CORRUPT, "%s: expected an object", field_where(where));
    if (keys_known(fields, object, where, err) != 0)
        return -1;
    for (const struct field *field = fields; field->key; field++) {
        char path[FIELD_PATH_BYTES];
        field_path(path, where, field->key);
        const struct js *value = js_get(object, field->key);
        char *at = (char *)base + field->offset;
        if (!value && (need == FIELDS_SOME || (field->kind && field->kind->absent)))
            continue;
        if (!value)
            return err_set(err, ERR_CORRUPT, "%s: missing", path);
        int rc = field->kind ? field->kind->parse(arena, value, path, at, err)
                             : fields_parse(field->fields, need, arena, value, path, at, err);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static void text_print(struct jw *w, const void *at)
{
    const struct str *text = at;
    if (text->p)
        jw_str(w, *text);
    else
        jw_null(w);
}

static int text_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                      struct err *err)
{
    if (js_kind(value) != JS_STRING)
        return err_set(err, ERR_CORRUPT, "%s: expected a string", where);
    *(struct str *)at = arena_copy(arena, js_str(value));
    return 0;
}

static int text_or_null_parse(struct arena *arena, const struct js *value, const char *where,
                              void *at, struct err *err)
{
    if (js_kind(value) != JS_NULL)
        return text_parse(arena, value, where, at, err);
    *(struct str *)at = STR_NONE;
    return 0;
}

struct str text_own(struct arena *arena, struct str text)
{
    if (utf8_valid(text) == text.n)
        return arena_copy(arena, text);
    struct buf mended;
    buf_init(&mended, SIZE_MAX / 4);
    utf8_mend(&mended, text);
    text = arena_copy(arena, buf_view(&mended));
    buf_release(&mended);
    return text;
}

static bool same_text(struct str a, struct str b)
{
    if (a.p == NULL || b.p == NULL)
        return a.p == b.p;
    return str_eq(a, b);
}

static void text_field_own(struct arena *arena, const void *like, void *at)
{
    const struct str *other = like;
    struct str *text = at;
    *text = same_text(*text, *other) ? *other : text_own(arena, *text);
}

static void list_own(struct arena *arena, const void *like, void *at)
{
    const struct list *other = like;
    struct list *list = at;
    bool same = list->state == other->state && list->n == other->n;
    for (size_t i = 0; same && i < list->n; i++)
        same = str_eq(list->items[i], other->items[i]);
    if (same) {
        *list = *other;
        return;
    }
    struct str *items = arena_alloc(arena, (list->n + 1) * sizeof *items);
    for (size_t i = 0; i < list->n; i++)
        items[i] = text_own(arena, list->items[i]);
    list->items = items;
}

static void limit_print(struct jw *w, const void *at)
{
    int64_t number = *(const int64_t *)at;
    if (number == UNLIMITED)
        jw_null(w);
    else
        jw_int(w, number);
}

static int count_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                       struct err *err)
{
    int64_t number = js_int(value, -1);
    if (number < 0)
        return err_set(err, ERR_CORRUPT, "%s: expected a whole number, 0 or more", where);
    *(int64_t *)at = number;
    return 0;
}

static int limit_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                       struct err *err)
{
    if (js_kind(value) != JS_NULL)
        return count_parse(arena, value, where, at, err);
    *(int64_t *)at = UNLIMITED;
    return 0;
}

static void usd_print(struct jw *w, const void *at)
{
    money_print(w, *(const int64_t *)at);
}

static int usd_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                     struct err *err)
{
    return money_parse(value, where, at, err);
}

static void per_token_print(struct jw *w, const void *at)
{
    price_print(w, *(const int64_t *)at);
}

static int per_token_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                           struct err *err)
{
    return price_parse(value, where, at, err);
}

static bool price_is_unknown(const void *at)
{
    return *(const int64_t *)at == UNLIMITED;
}

static void names_print(struct jw *w, const void *at)
{
    list_print(w, NULL, at);
}

static int names_or_null_parse(struct arena *arena, const struct js *value, const char *where,
                               void *at, struct err *err)
{
    return list_parse(arena, value, where, at, err);
}

static int names_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                       struct err *err)
{
    if (js_kind(value) != JS_ARRAY)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of strings", where);
    return list_parse(arena, value, where, at, err);
}

static bool names_are_absent(const void *at)
{
    return ((const struct list *)at)->state == LIST_ABSENT;
}

static bool switch_is_off(const void *at)
{
    return *(const int *)at == 0;
}

static void switch_print(struct jw *w, const void *at)
{
    jw_bool(w, !switch_is_off(at));
}

static int switch_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                        struct err *err)
{
    if (js_kind(value) != JS_BOOL)
        return err_set(err, ERR_CORRUPT, "%s: expected true or false", where);
    *(int *)at = js_bool(value, false);
    return 0;
}

/* Any JSON value, kept as its compact text. */
static void json_print(struct jw *w, const void *at)
{
    jw_raw(w, *(const struct str *)at);
}

enum { JSON_VALUE_MAX = 1024 * 1024 };

static int json_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                      struct err *err)
{
    *(struct str *)at = STR_NONE;
    if (js_kind(value) == JS_NULL)
        return 0;
    struct buf text;
    buf_init(&text, JSON_VALUE_MAX);
    js_print(value, &text);
    bool fits = !text.failed;
    if (fits)
        *(struct str *)at = arena_copy(arena, buf_view(&text));
    buf_release(&text);
    if (!fits)
        return err_set(err, ERR_CORRUPT, "%s: longer than %d bytes", where, JSON_VALUE_MAX);
    return 0;
}

static void json_own(struct arena *arena, const void *like, void *at)
{
    *(struct str *)at = arena_copy(arena, *(const struct str *)at);
}

static bool json_is_none(const void *at)
{
    return ((const struct str *)at)->p == NULL;
}

static bool text_is_empty(const void *at)
{
    return ((const struct str *)at)->n == 0;
}

static bool list_is_empty(const void *at)
{
    return ((const struct list *)at)->n == 0;
}

static bool count_is_zero(const void *at)
{
    return *(const int64_t *)at == 0;
}

const struct field_kind field_text = {text_print, text_parse, NULL, text_field_own};
const struct field_kind field_text_if_any = {text_print, text_parse, text_is_empty, text_field_own};
const struct field_kind field_text_or_null = {text_print, text_or_null_parse, NULL, text_field_own};
const struct field_kind field_count = {limit_print, count_parse, NULL, NULL};
const struct field_kind field_limit = {limit_print, limit_parse, NULL, NULL};
const struct field_kind field_money = {usd_print, usd_parse, NULL, NULL};
const struct field_kind field_price = {per_token_print, per_token_parse, NULL, NULL};
const struct field_kind field_price_if_known = {per_token_print, per_token_parse, price_is_unknown,
                                                NULL};
const struct field_kind field_list = {names_print, names_parse, NULL, list_own};
const struct field_kind field_list_or_null = {names_print, names_or_null_parse, NULL, list_own};
const struct field_kind field_list_if_any = {names_print, names_parse, list_is_empty, list_own};
const struct field_kind field_list_if_set = {names_print, names_parse, names_are_absent, list_own};
const struct field_kind field_switch_if_on = {switch_print, switch_parse, switch_is_off, NULL};
const struct field_kind field_count_if_any = {limit_print, count_parse, count_is_zero, NULL};
const struct field_kind field_json = {json_print, json_parse, NULL, json_own};
const struct field_kind field_json_if_any = {json_print, json_parse, json_is_none, json_own};
