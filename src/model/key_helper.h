/* Key helpers: programs of the user that print the key of a provider. No shell: argv as the config has it. Blocking, at
 * most ten seconds: for threads that may wait. What the program prints is never shown; its error output is, when it
 * fails. */
#ifndef CADRE_MODEL_KEY_HELPER_H
#define CADRE_MODEL_KEY_HELPER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { KEY_HELPER_MS = 10000, KEY_HELPER_OUTPUT_MAX = 16384, KEY_MAX = 8192 };

struct key_helper {
    struct str provider, base_url; /* whose key it prints */
    const struct str *argv; /* a program by its path or its name in PATH, and its arguments */
    size_t argc;
    int64_t ttl_ms; /* how long a key holds where the output does not say */
};

/* Appends the key; *ttl_ms: how long it holds from now on. CONFIG: the program fails or prints no key; CANCELLED. */
int key_helper_run(const struct key_helper *helper, const atomic_bool *cancelled, struct buf *key,
                   int64_t *ttl_ms, struct err *err) NODISCARD;

/* What a helper printed: a line that is the key, or {"token": "…", "expires_at": seconds or "2026-11-17T02:00:00Z"}.
 * now_ms: milliseconds since 1970. *ttl_ms is left where the output does not say. */
int key_helper_read(struct str output, int64_t now_ms, struct buf *key, int64_t *ttl_ms,
                    struct err *err) NODISCARD;

#endif
