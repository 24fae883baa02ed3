/* Writes reasoning into answers and compares what comes back, as compact JSON. Pure: any thread. */
#include "scripted/echo.h"

#define ECHO_MAX (64u << 20)

static const char *const members[] = {"reasoning_content", "reasoning", "reasoning_details"};
enum { MEMBERS = sizeof members / sizeof members[0] };

static const struct field sent_fields[] = {
    {"reasoning_content", KIND(STRING), FIELD_OPTIONAL},
    {"reasoning", KIND(STRING), FIELD_OPTIONAL},
    {"reasoning_details", KIND(ARRAY), FIELD_OPTIONAL},
};
static const struct field expected_fields[] = {
    {"reasoning_content", KIND(STRING), FIELD_OPTIONAL},
    {"reasoning", KIND(STRING), FIELD_OPTIONAL},
    {"reasoning_details", KIND(ARRAY), FIELD_OPTIONAL},
    {"extra_content", KIND(ARRAY), FIELD_OPTIONAL},
};
const struct field_table echo_sent_table = {sent_fields,
                                            sizeof sent_fields / sizeof sent_fields[0]};
const struct field_table echo_expected_table = {expected_fields,
                                                sizeof expected_fields / sizeof expected_fields[0]};

static void write_member(struct jw *w, const char *key, const struct js *value)
{
    struct buf text;
    buf_init(&text, ECHO_MAX);
    js_print(value, &text);
    if (text.failed)
        w->out->failed = true;
    jw_kraw(w, key, buf_view(&text));
    buf_release(&text);
}

void echo_write(struct jw *w, const struct js *reasoning)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (js_get(reasoning, members[i]) != NULL)
            write_member(w, members[i], js_get(reasoning, members[i]));
}

/* Absent and null are the same. */
static bool same(const struct js *a, const struct js *b)
{
    struct buf left, right;
    buf_init(&left, ECHO_MAX);
    buf_init(&right, ECHO_MAX);
    js_print(a, &left);
    js_print(b, &right);
    bool equal = !left.failed && !right.failed && str_eq(buf_view(&left), buf_view(&right));
    buf_release(&left);
    buf_release(&right);
    return equal;
}

static int refuse(const char *what, struct refusal *refusal)
{
    return refusal_set(refusal, 400, "invalid_value", "messages",
                       "The last assistant message must bring back %s as it was sent.", what);
}

int echo_check(const struct asked *asked, const struct js *expects, struct refusal *refusal)
{
    const struct js *extras = js_get(expects, "extra_content");
    const struct js *calls = js_get(asked->last_assistant, "tool_calls");
    if (expects == NULL)
        return 0;
    for (size_t i = 0; i < MEMBERS; i++)
        if (!same(js_get(expects, members[i]), js_get(asked->last_assistant, members[i])))
            return refuse(members[i], refusal);
    if (extras != NULL && js_count(extras) != js_count(calls))
        return refuse("its tool calls", refusal);
    for (size_t i = 0; i < js_count(calls); i++)
        if (!same(js_at(extras, i), js_get(js_at(calls, i), "extra_content")))
            return refuse("the extra_content of its tool calls", refusal);
    return 0;
}
