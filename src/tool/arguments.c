/* Walks the table of known arguments and the call's object against each other. Any thread;
 * touches no file. */
#include "tool/arguments.h"

#include <inttypes.h>

#include "tool/result.h"

#define LIST_MAX 512

static const char *const kind_words[] = {
    [ARGUMENT_TEXT] = "a string",
    [ARGUMENT_NUMBER] = "a whole number",
    [ARGUMENT_FLAG] = "true or false",
    [ARGUMENT_LIST] = "an array",
};

static const enum js_kind kind_wanted[] = {
    [ARGUMENT_TEXT] = JS_STRING,
    [ARGUMENT_NUMBER] = JS_INT,
    [ARGUMENT_FLAG] = JS_BOOL,
    [ARGUMENT_LIST] = JS_ARRAY,
};

static const char *const found_words[] = {
    [JS_ABSENT] = "nothing", [JS_NULL] = "null",        [JS_BOOL] = "a boolean",
    [JS_INT] = "a number",   [JS_REAL] = "a fraction",  [JS_STRING] = "a string",
    [JS_ARRAY] = "an array", [JS_OBJECT] = "an object",
};

static void list_known(const struct argument *known, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%s%s", i ? ", " : "", known[i].name,
                   known[i].need == ARGUMENT_REQUIRED ? "" : " (optional)");
}

static int fail_with_list(struct tool_result *result, const struct argument *known, size_t count,
                          const char *what, struct str name)
{
    struct buf list;
    buf_init(&list, LIST_MAX);
    list_known(known, count, &list);
    tool_fail(result, "%s \"%.*s\"; the arguments are: %.*s", what, STR_FMT(utf8_cut(name, 100)),
              STR_FMT(buf_view(&list)));
    buf_release(&list);
    return -1;
}

static int check_bounds(const struct argument *argument, const struct js *value,
                        struct tool_result *result)
{
    if (argument->kind == ARGUMENT_FLAG)
        return 0;
    bool number = argument->kind == ARGUMENT_NUMBER, list = argument->kind == ARGUMENT_LIST;
    int64_t whole = 0;
    if (number)
        (void)js_whole(value, &whole);
    int64_t size = number ? whole : list ? (int64_t)js_count(value) : (int64_t)js_str(value).n;
    const char *unit = number ? "" : list ? " items long" : " bytes long";
    if (size < argument->least && !number)
        return tool_fail(result, "the argument \"%s\" is empty", argument->name);
    if (size < argument->least)
        return tool_fail(result, "the argument \"%s\" must be at least %" PRId64 ", not %" PRId64,
                         argument->name, argument->least, size);
    if (size > argument->most)
        return tool_fail(result, "the argument \"%s\" must be at most %" PRId64 "%s, not %" PRId64,
                         argument->name, argument->most, unit, size);
    return 0;
}

static int check_one(const struct argument *argument, const struct js *value,
                     struct tool_result *result)
{
    enum js_kind kind = js_kind(value);
    if (kind == JS_NULL && argument->need == ARGUMENT_OPTIONAL)
        return 0;
    int64_t whole;
    bool fits = argument->kind == ARGUMENT_NUMBER ? js_whole(value, &whole)
                                                  : kind == kind_wanted[argument->kind];
    if (!fits)
        return tool_fail(result, "the argument \"%s\" must be %s, not %s", argument->name,
                         kind_words[argument->kind], found_words[kind]);
    return check_bounds(argument, value, result);
}

int arguments_check(const struct js *arguments, const struct argument *known, size_t count,
                    struct tool_result *result)
{
    if (js_kind(arguments) != JS_OBJECT)
        return tool_fail(result, "the arguments must be a JSON object, not %s",
                         found_words[js_kind(arguments)]);
    struct str key;
    const struct js *value;
    for (void *at = js_next(arguments, NULL, &key, &value); at;
         at = js_next(arguments, at, &key, &value)) {
        size_t i = 0;
        while (i < count && !str_is(key, known[i].name))
            i++;
        if (i == count)
            return fail_with_list(result, known, count, "unknown argument", key);
        if (check_one(&known[i], value, result) != 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (known[i].need == ARGUMENT_REQUIRED &&
            js_kind(js_get(arguments, known[i].name)) == JS_ABSENT)
            return fail_with_list(result, known, count, "missing argument",
                                  str_from(known[i].name));
    return 0;
}

int64_t arguments_whole(const struct js *arguments, const char *name, int64_t otherwise)
{
    int64_t whole;
    return js_whole(js_get(arguments, name), &whole) ? whole : otherwise;
}

int arguments_choice(const struct js *arguments, const char *name, const char *const *choices,
                     int otherwise, struct tool_result *result)
{
    struct str value = js_get_str(arguments, name);
    if (!value.p)
        return otherwise;
    struct buf list;
    buf_init(&list, LIST_MAX);
    for (int i = 0; choices[i]; i++) {
        if (str_is(value, choices[i])) {
            buf_release(&list);
            return i;
        }
        buf_printf(&list, "%s%s", i ? ", " : "", choices[i]);
    }
    tool_fail(result, "the argument \"%s\" must be one of %.*s, not \"%.*s\"", name,
              STR_FMT(buf_view(&list)), STR_FMT(utf8_cut(value, 100)));
    buf_release(&list);
    return -1;
}
