/* Fuzzes model/text_calls: whatever stands in a text, only tools that were offered are called, arguments are the text of a JSON object
 * once finished, and nothing is added to the text that is left. */
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "model/text_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static const struct model_tool offered[] = {
    {STR("read"), STR("Reads."),
     STR("{\"properties\":{\"path\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}")},
    {STR("ls"), STR("Lists."), STR("{\"properties\":{\"all\":{\"type\":[\"boolean\",\"null\"]}}}")},
    {STR("w"), STR("Has no schema."), STR("not JSON")},
};

static void check_calls(const struct tool_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct err err = ERR_INIT;
        struct js *arguments = js_parse(calls[i].arguments, &err);
        require(js_kind(arguments) == JS_OBJECT);
        js_free(arguments);
        require(str_is(calls[i].name, "read") || str_is(calls[i].name, "ls") ||
                str_is(calls[i].name, "w"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct text_tools tools;
    struct arena arena;
    struct call_draft *drafts = NULL;
    struct tool_call *calls = NULL;
    struct str whole = {(const char *)bytes, n}, text = whole;
    if (utf8_valid(whole) < n) /* a decoder's text is always valid */
        return 0;
    arena_init(&arena);
    text_tools_copy(&tools, offered, sizeof offered / sizeof offered[0], &arena);
    size_t count = text_calls_take(&tools, &text, &arena, &drafts);
    require(count <= CALLS_MAX && text.n <= n && utf8_valid(text) == text.n);
    require(count > 0 || (text.p == whole.p && text.n == n));
    calls_finish(drafts, &count, CALLS_WHOLE, &arena, &calls);
    check_calls(calls, count);
    arena_release(&arena);
    return 0;
}
