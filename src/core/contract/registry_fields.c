/* Walks a table of record fields to read a document that a person wrote, or to print one. Reports every mistake, each
 * with its path, and never stops at the first. Does not know any concrete record. Pure; any thread. */
#include "core/contract/registry_fields.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "core/contract/schema.h"

#define MESSAGE_BYTES_MAX 240
#define KEY_BYTES_SHOWN 64

/* --- problems ----------------------------------------------------------------------------------------------- */

void problems_init(struct problems *problems, struct arena *arena)
{
    *problems = (struct problems){.arena = arena};
}

/* Paths and messages quote what somebody sent: one line each, safe to show, short. */
static struct str shown(struct arena *arena, struct str text)
{
    struct buf clean;
    buf_init(&clean, 4096);
    utf8_clean(&clean, text, UTF8_ONE_LINE);
    struct str out = arena_copy(arena, utf8_cut(buf_view(&clean), MESSAGE_BYTES_MAX));
    buf_release(&clean);
    return out;
}

void problems_add(struct problems *problems, const char *path, const char *format, ...)
{
    problems->found++;
    if (problems->count == PROBLEMS_MAX)
        return;
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    problems->items[problems->count++] = (struct problem){
        shown(problems->arena, str_from(path)),
        shown(problems->arena, str_from(message)),
    };
}

static void print_one(const struct problem *problem, struct buf *out)
{
    buf_str(out, problem->path);
    buf_text(out, problem->path.n > 0 ? ": " : "");
    buf_str(out, problem->message);
}

void problems_print(const struct problems *problems, struct buf *out)
{
    for (size_t i = 0; i < problems->count; i++) {
        print_one(&problems->items[i], out);
        buf_char(out, '\n');
    }
    if (problems->found > problems->count)
        buf_printf(out, "and %zu more\n", problems->found - problems->count);
}

int problems_err(const struct problems *problems, enum err_class class, const char *what,
                 struct err *err)
{
    struct buf list;
    size_t told = 0;
    if (problems->found == 0)
        return 0;
    buf_init(&list, sizeof err->message);
    while (told < problems->count && list.n < sizeof err->message - 400) {
        buf_text(&list, told > 0 ? "\n  " : "  ");
        print_one(&problems->items[told++], &list);
    }
    if (problems->found > told)
        buf_printf(&list, "\n  and %zu more", problems->found - told);
    err_set(err, class, "%s is not valid:\n%.*s", what, STR_FMT(buf_view(&list)));
    buf_release(&list);
    return -1;
}

/* --- rules for texts ---------------------------------------------------------------------------------------- */

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

static bool has_control(struct str text, const char *but)
{
    while (text.n > 0) {
        uint32_t code;
        size_t length = utf8_next(text, &code);
        if (code == UTF8_BAD)
            return true;
        if (is_control(code) && (code == 0 || code > 0x7F || strchr(but, (int)code) == NULL))
            return true;
        text.p += length;
        text.n -= length;
    }
    return false;
}

bool text_is_line(struct str text)
{
    return !has_control(text, "");
}

static bool is_longer(struct str text, size_t characters)
{
    return utf8_cut_chars(text, characters).n < text.n;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

struct reading {
    struct arena *arena;
    struct problems *problems;
    const struct record_field *field;
    const char *path;
    void *at;
};

static void read_line(struct reading *r, const struct js *value)
{
    struct str text = js_str(value);
    const struct record_field *field = r->field;
    if (js_kind(value) != JS_STRING)
        problems_add(r->problems, r->path, "expected a string");
    else if (field->valid && !field->valid(text))
        problems_add(r->problems, r->path, "must match %s", field->pattern);
    else if (utf8_is_blank(text))
        problems_add(r->problems, r->path, "must not be blank");
    else if (is_longer(text, (size_t)field->maximum))
        problems_add(r->problems, r->path, "must have at most %lld characters",
                     (long long)field->maximum);
    else if (!text_is_line(text))
        problems_add(r->problems, r->path, "must be one line without control characters");
    else
        *(struct str *)r->at = arena_copy(r->arena, text);
}

static void read_text(struct reading *r, const struct js *value)
{
    struct str text = js_str(value);
    if (js_kind(value) != JS_STRING)
        problems_add(r->problems, r->path, "expected a string");
    else if (text.n > (size_t)r->field->maximum)
        problems_add(r->problems, r->path, "must have at most %lld bytes",
                     (long long)r->field->maximum);
    else if (has_control(text, "\n\r\t"))
        problems_add(r->problems, r->path, "must not have control characters");
    else
        *(struct str *)r->at = arena_copy(r->arena, text);
}

static void read_name(struct reading *r, const struct js *value, size_t i, struct list *list)
{
    char path[RECORD_PATH_BYTES];
    struct str name = js_str(value);
    snprintf(path, sizeof path, "%s[%zu]", r->path, i);
    if (js_kind(value) != JS_STRING)
        problems_add(r->problems, path, "expected a string");
    else if (name.n == 0 || name.p[0] == ' ' || name.p[name.n - 1] == ' ' || !text_is_line(name))
        problems_add(r->problems, path,
                     "must be a name: not empty, one line, no space at its ends");
    else if (is_longer(name, r->field->item_maximum))
        problems_add(r->problems, path, "must have at most %zu characters", r->field->item_maximum);
    else
        list_add(r->arena, list, name);
}

static void read_names(struct reading *r, const struct js *value)
{
    if (js_kind(value) != JS_ARRAY) {
        problems_add(r->problems, r->path, "expected a list of strings");
        return;
    }
    if (js_count(value) > (size_t)r->field->maximum) {
        problems_add(r->problems, r->path, "must have at most %lld items",
                     (long long)r->field->maximum);
        return;
    }
    struct list list = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < js_count(value); i++)
        read_name(r, js_at(value, i), i, &list);
    *(struct list *)r->at = list;
}

static void read_count(struct reading *r, const struct js *value)
{
    int64_t number = js_int(value, INT64_MIN);
    if (number < r->field->minimum || number > r->field->maximum)
        problems_add(r->problems, r->path, "must be a whole number from %lld to %lld",
                     (long long)r->field->minimum, (long long)r->field->maximum);
    else
        *(int64_t *)r->at = number;
}

static void read_number(struct reading *r, const struct js *value)
{
    double number = js_real(value, NAN);
    if (!(number >= (double)r->field->minimum && number <= (double)r->field->maximum))
        problems_add(r->problems, r->path, "must be a number from %lld to %lld",
                     (long long)r->field->minimum, (long long)r->field->maximum);
    else
        *(double *)r->at = number;
}

static void read_items(struct reading *r, const struct js *value)
{
    int64_t count = (int64_t)js_count(value);
    if (js_kind(value) != JS_ARRAY)
        problems_add(r->problems, r->path, "expected a list of objects");
    else if (count < r->field->minimum || count > r->field->maximum)
        problems_add(r->problems, r->path, "must have %lld to %lld items",
                     (long long)r->field->minimum, (long long)r->field->maximum);
}

static void read_switch(struct reading *r, const struct js *value)
{
    if (js_kind(value) != JS_BOOL)
        problems_add(r->problems, r->path, "must be true or false");
    else
        *(int *)r->at = js_bool(value, false);
}

static void read_schema(struct reading *r, const struct js *value)
{
    struct err why = ERR_INIT;
    struct buf text, compact;
    buf_init(&text, RECORD_VALUE_MAX);
    buf_init(&compact, RECORD_VALUE_MAX);
    js_print(value, &text);
    if (schema_read(buf_view(&text), &compact, &why) != 0)
        problems_add(r->problems, r->path, "%s", why.message);
    else
        *(struct str *)r->at = arena_copy(r->arena, buf_view(&compact));
    buf_release(&text);
    buf_release(&compact);
}

/* What a field is before it is read, and stays where it is omitted. */
static void set_default(const struct record_field *field, void *at)
{
    switch (field->kind) {
    case RECORD_LINE:
    case RECORD_TEXT:
    case RECORD_SCHEMA:
        *(struct str *)at = STR_NONE;
        break;
    case RECORD_NAMES:
        *(struct list *)at = (struct list){LIST_SET, NULL, 0};
        break;
    case RECORD_NAMES_IF_PRESENT:
        *(struct list *)at = LIST_NONE;
        break;
    case RECORD_COUNT:
        *(int64_t *)at = UNLIMITED;
        break;
    case RECORD_NUMBER:
        *(double *)at = NAN;
        break;
    case RECORD_SWITCH:
        *(int *)at = 0;
        break;
    case RECORD_ITEMS:
        break;
    }
}

static void (*const readers[])(struct reading *r, const struct js *value) = {
    [RECORD_LINE] = read_line,     [RECORD_TEXT] = read_text,
    [RECORD_NAMES] = read_names,   [RECORD_NAMES_IF_PRESENT] = read_names,
    [RECORD_COUNT] = read_count,   [RECORD_NUMBER] = read_number,
    [RECORD_SCHEMA] = read_schema, [RECORD_ITEMS] = read_items,
    [RECORD_SWITCH] = read_switch,
};

static void path_to(char out[RECORD_PATH_BYTES], const char *where, struct str key)
{
    struct str cut = utf8_cut(key, KEY_BYTES_SHOWN);
    snprintf(out, RECORD_PATH_BYTES, "%s%s%.*s", where, where[0] ? "." : "", STR_FMT(cut));
}

static void check_keys(const struct record_field *fields, const struct js *object,
                       const char *where, struct problems *problems)
{
    struct str key;
    const struct js *value;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value)) {
        const struct record_field *field = fields;
        while (field->key && !str_is(key, field->key))
            field++;
        if (field->key)
            continue;
        char path[RECORD_PATH_BYTES];
        path_to(path, where, key);
        problems_add(problems, path, "unknown key");
    }
}

void record_fields_read(const struct record_field *fields, struct arena *arena,
                        const struct js *object, const char *where, void *base,
                        struct problems *problems)
{
    for (const struct record_field *field = fields; field->key; field++)
        set_default(field, (char *)base + field->offset);
    if (js_kind(object) != JS_OBJECT) {
        problems_add(problems, where, "expected an object");
        return;
    }
    check_keys(fields, object, where, problems);
    for (const struct record_field *field = fields; field->key; field++) {
        char path[RECORD_PATH_BYTES];
        const struct js *value = js_get(object, field->key);
        struct reading reading = {arena, problems, field, path, (char *)base + field->offset};
        path_to(path, where, str_from(field->key));
        if (value)
            readers[field->kind](&reading, value);
        else if (field->need == RECORD_REQUIRED)
            problems_add(problems, path, "missing");
    }
}

/* --- printing ----------------------------------------------------------------------------------------------- */

static void print_field(const struct record_field *field, struct jw *w, const void *at)
{
    switch (field->kind) {
    case RECORD_LINE:
    case RECORD_TEXT:
        if (((const struct str *)at)->p)
            jw_kstr(w, field->key, *(const struct str *)at);
        break;
    case RECORD_SCHEMA:
        if (((const struct str *)at)->p)
            jw_kraw(w, field->key, *(const struct str *)at);
        break;
    case RECORD_NAMES:
    case RECORD_NAMES_IF_PRESENT:
        if (((const struct list *)at)->state == LIST_SET)
            list_print(w, field->key, at);
        break;
    case RECORD_COUNT:
        if (*(const int64_t *)at != UNLIMITED)
            jw_kint(w, field->key, *(const int64_t *)at);
        break;
    case RECORD_NUMBER:
        if (!isnan(*(const double *)at)) {
            jw_key(w, field->key);
            jw_real(w, *(const double *)at);
        }
        break;
    case RECORD_SWITCH:
        if (*(const int *)at)
            jw_kbool(w, field->key, true);
        break;
    case RECORD_ITEMS:
        break;
    }
}

void record_fields_print(const struct record_field *fields, struct jw *w, const void *base)
{
    jw_object(w);
    for (const struct record_field *field = fields; field->key; field++)
        print_field(field, w, (const char *)base + field->offset);
    jw_end_object(w);
}
