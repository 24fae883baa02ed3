/* Fills templates from the request. One pass: what is filled in is not looked at again, so a request cannot
 * bring templates of its own. Pure: any thread. */
#include "scripted/template.h"

static void fill(const struct template_values *values, struct str name, struct str whole,
                 struct buf *out)
{
    static const struct str match = {"match:", 6};
    if (str_is(name, "first_user")) {
        buf_str(out, values->asked->first_user);
    } else if (str_is(name, "last")) {
        buf_str(out, values->asked->last);
    } else if (str_is(name, "turn")) {
        buf_int(out, values->asked->turn);
    } else if (str_is(name, "index")) {
        buf_int(out, values->index);
    } else if (name.n == match.n + 1 && str_starts(name, match) && name.p[match.n] >= '0' &&
               name.p[match.n] <= '9') {
        size_t group = (size_t)(name.p[match.n] - '0');
        if (group < values->match->group_count)
            buf_str(out, values->match->groups[group]);
    } else {
        buf_str(out, whole);
    }
}

void template_text(const struct template_values *values, struct str text, struct buf *out)
{
    while (text.n > 0) {
        const char *open = memmem(text.p, text.n, "{{", 2);
        const char *close = NULL;
        if (open != NULL)
            close = memmem(open, text.n - (size_t)(open - text.p), "}}", 2);
        if (close == NULL) {
            buf_str(out, text);
            return;
        }
        /* The innermost braces count: "{{ {{turn}}" holds one template. */
        for (const char *at = open + 1; at + 2 <= close; at++)
            if (at[0] == '{' && at[1] == '{')
                open = at;
        buf_add(out, text.p, (size_t)(open - text.p));
        struct str name = {open + 2, (size_t)(close - open) - 2};
        fill(values, name, (struct str){open, (size_t)(close - open) + 2}, out);
        size_t used = (size_t)(close - text.p) + 2;
        text = (struct str){text.p + used, text.n - used};
    }
}

static void fill_string(const struct template_values *values, struct str text, struct jw *out)
{
    struct buf filled;
    buf_init(&filled, out->out->max);
    template_text(values, text, &filled);
    if (filled.failed)
        out->out->failed = true;
    jw_str(out, buf_view(&filled));
    buf_release(&filled);
}

void template_json(const struct template_values *values, const struct js *value, struct jw *out)
{
    struct str key;
    const struct js *member;
    switch (js_kind(value)) {
    case JS_STRING:
        fill_string(values, js_str(value), out);
        break;
    case JS_ARRAY:
        jw_array(out);
        for (size_t i = 0; i < js_count(value); i++)
            template_json(values, js_at(value, i), out);
        jw_end_array(out);
        break;
    case JS_OBJECT:
        jw_object(out);
        for (void *iter = js_next(value, NULL, &key, &member); iter != NULL;
             iter = js_next(value, iter, &key, &member)) {
            jw_key_str(out, key);
            template_json(values, member, out);
        }
        jw_end_object(out);
        break;
    case JS_INT:
        jw_int(out, js_int(value, 0));
        break;
    case JS_REAL:
        jw_real(out, js_real(value, 0));
        break;
    case JS_BOOL:
        jw_bool(out, js_bool(value, false));
        break;
    case JS_NULL:
    case JS_ABSENT:
        jw_null(out);
        break;
    }
}
