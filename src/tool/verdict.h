/* What the output of a test runner says: how many passed and failed where its format is known, and the lines that tell of
 * failures. Pure; any thread. */
#ifndef CADRE_TOOL_VERDICT_H
#define CADRE_TOOL_VERDICT_H

#include <stdint.h>

#include "base/buf.h"

#define VERDICT_LINES 20     /* of failures, the last ones */
#define VERDICT_LINE_MAX 300 /* bytes of one */

struct verdict {
    const char *format; /* whose words they are; NULL: no known format was seen */
    int64_t passed, failed;
    struct str lines[VERDICT_LINES]; /* into the text */
    size_t line_count;
};

/* text: cleaned. */
void verdict_read(struct str text, struct verdict *verdict);

#endif
