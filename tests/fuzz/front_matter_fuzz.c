/* Front matter of skills: any bytes end; the parts lie in the text; values are one clean line that is no longer than its block. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/front_matter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(struct str block, const char *key)
{
    struct buf value;
    buf_init(&value, 3 * block.n + 16);
    front_matter_value(block, key, &value);
    assert(!value.failed);
    assert(utf8_valid(buf_view(&value)) == value.n);
    assert(value.n == 0 || !memchr(value.p, '\n', value.n));
    buf_release(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str block, body;
    /* An exact copy, so that the sanitizer sees a read past it. */
    char *text = malloc(size ? size : 1);
    memcpy(text, data, size);
    struct str whole = {text, size};
    if (front_matter_split(whole, &block, &body)) {
        assert(block.p >= text && block.p + block.n <= text + size);
        assert(body.p >= block.p + block.n && body.p + body.n == text + size);
    } else {
        assert(str_eq(body, whole));
    }
    check_value(block, "description");
    check_value(whole, "description");
    free(text);
    return 0;
}
