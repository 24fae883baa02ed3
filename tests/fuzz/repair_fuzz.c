/* Fuzzes model/repair: the result is the text of a valid JSON object or a refusal, a valid object comes back as it was
 * (but for the call's own envelope), and what was repaired needs no second repair. The input's first byte chooses the
 * call's name. */
#include <stdlib.h>

#include "base/json.h"
#include "model/repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static bool is_envelope(const struct js *object, struct str name)
{
    return js_count(object) == 2 && js_get(object, "arguments") != NULL &&
           str_eq(js_get_str(object, "name"), name);
}

static struct js *parse(struct str text)
{
    struct err ignored = ERR_INIT;
    return js_parse(text, &ignored);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 1)
        return 0;
    struct str name = bytes[0] % 2 == 0 ? STR("read") : STR("a");
    char *copy = malloc(n);
    require(copy != NULL);
    memcpy(copy, bytes + 1, n - 1);
    struct str text = {copy, n - 1};
    struct buf out, again;
    buf_init(&out, (size_t)16 << 20);
    buf_init(&again, (size_t)16 << 20);
    struct js *given = parse(text);
    bool object = js_kind(given) == JS_OBJECT;
    if (repair_arguments(name, text, &out) == 0) {
        struct js *result = parse(buf_view(&out));
        require(!out.failed && js_kind(result) == JS_OBJECT);
        if (object && !is_envelope(given, name))
            require(str_eq(repair_trim(text), buf_view(&out)));
        if (!is_envelope(result, name)) {
            require(repair_arguments(name, buf_view(&out), &again) == 0);
            require(str_eq(buf_view(&out), buf_view(&again)));
        }
        js_free(result);
    } else {
        require(!object || is_envelope(given, name));
    }
    js_free(given);
    buf_release(&out);
    buf_release(&again);
    free(copy);
    return 0;
}
