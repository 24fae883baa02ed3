/* How long a server asked to wait. Pure: the caller brings the time. */
#ifndef CADRE_NET_RETRY_AFTER_H
#define CADRE_NET_RETRY_AFTER_H

#include <stdint.h>

#include "base/str.h"

#define RETRY_AFTER_MAX_MS 60000

/* `header` is Retry-After (seconds, also with a fraction, or an HTTP date), `header_ms` is
 * retry-after-ms, which wins. Either may be STR_NONE. now_ms: milliseconds since 1970. Answers 0 …
 * RETRY_AFTER_MAX_MS, or -1 when neither can be read. */
int64_t retry_after_ms(struct str header, struct str header_ms, int64_t now_ms);

#endif
