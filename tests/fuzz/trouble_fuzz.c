/* Fuzzes model/trouble and culprit: whatever an error's body is, its numbers are within their bounds, and
 * only an overflow has any. The input's first byte chooses the status. */
#include <stdlib.h>

#include "model/culprit.h"
#include "model/trouble.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const int statuses[] = {0, 400, 401, 403, 404, 413, 422, 429, 500};
    struct err ignored = ERR_INIT;
    if (n < 1)
        return 0;
    char *copy = malloc(n);
    require(copy != NULL);
    memcpy(copy, bytes + 1, n - 1);
    struct str body = {copy, n - 1};
    struct js *root = js_parse(body, &ignored);
    struct trouble found =
        trouble_read(statuses[bytes[0] % (sizeof statuses / sizeof statuses[0])], root, body);
    require(found.window == -1 || (found.window > 0 && found.window <= TROUBLE_TOKENS_MAX));
    require(found.needed == -1 || (found.needed > 0 && found.needed <= 2 * TROUBLE_TOKENS_MAX));
    require(found.kind == TROUBLE_OVERFLOW || (found.window == -1 && found.needed == -1));
    const struct culprit *culprit = culprit_of(body);
    require(culprit == NULL || culprit->params != 0);
    js_free(root);
    free(copy);
    return 0;
}
