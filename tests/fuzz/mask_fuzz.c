/* Masks in place of secrets: any bytes end, and a value that must not be shown is not in what comes out, in one piece or in two. */
#include <assert.h>
#include <stdlib.h>

#include "base/mask.h"

#define KNOWN STR("abababac")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[MASK_KEY_BYTES] = {7};
    struct masker *masker = masker_new(key);
    struct buf text;
    struct str found;
    /* An exact copy, so that the sanitizer sees a read past it. */
    char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    masker_know(masker, "config", KNOWN);
    assert(masker_pending(masker, (struct str){copy, size}) <= size);
    buf_init(&text, size + 1);
    buf_add(&text, copy, size);
    size_t count = masker_apply(masker, &text);
    assert(!text.failed);
    assert(text.n == 0 || memmem(text.p, text.n, KNOWN.p, KNOWN.n) == NULL);
    assert(count == 0 || mask_find(buf_view(&text), &found));
    buf_release(&text);
    masker_free(masker);
    free(copy);
    return 0;
}
