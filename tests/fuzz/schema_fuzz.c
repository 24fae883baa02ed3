/* Any bytes as a schema, a line, and a value: a schema is refused with a message and a place, or taken; a schema that was taken gives
 * an answer about any value, the same each time, and one that is negated says the opposite unless the work was too much. */
#include <stdlib.h>

#include "core/contract/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_value(const struct js *schema, struct str compact, struct str text)
{
    struct err err = ERR_INIT;
    struct buf once, twice, negated;
    struct js *value = js_parse(text, &err);
    if (value == NULL)
        return;
    buf_init(&once, 1 << 20);
    buf_init(&twice, 1 << 20);
    buf_init(&negated, 1 << 20);
    size_t problems = schema_problems(schema, value, &once);
    require(problems == schema_problems(schema, value, &twice));
    require(str_eq(buf_view(&once), buf_view(&twice)) && !once.failed);
    require((problems == 0) == (once.n == 0));
    /* $defs stand at the top alone, so only schemas without them can be wrapped. */
    buf_printf(&negated, "{\"not\":%.*s}", STR_FMT(compact));
    struct js *opposite = js_parse(buf_view(&negated), &err);
    struct schema_place place;
    bool bounded = memmem(once.p ? once.p : "", once.n, "too large or too deep", 21) == NULL;
    if (opposite != NULL && schema_check(opposite, &place, &err) == 0 && bounded) {
        size_t other = schema_problems(opposite, value, &twice);
        bool other_bounded =
            memmem(twice.p ? twice.p : "", twice.n, "too large or too deep", 21) == NULL;
        require(!other_bounded || (other == 0) == (problems > 0));
    }
    js_free(opposite);
    js_free(value);
    buf_release(&once);
    buf_release(&twice);
    buf_release(&negated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - data) : size;
    struct str text = {(const char *)data, n};
    struct err err = ERR_INIT;
    struct schema_place place;
    struct buf compact;
    buf_init(&compact, 1 << 20);
    if (schema_read(text, &compact, &err) != 0) {
        require(err.class == ERR_USAGE && err.message[0] != '\0');
    } else {
        struct js *schema = js_parse(buf_view(&compact), &err);
        require(schema != NULL && schema_check(schema, &place, &err) == 0);
        if (end != NULL)
            try_value(schema, buf_view(&compact),
                      (struct str){(const char *)end + 1, size - n - 1});
        js_free(schema);
    }
    buf_release(&compact);
    return 0;
}
