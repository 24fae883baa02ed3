/* See mask.h. What is known is a list that only grows, at its head, so that readers need no lock. One pass: a table says which two
 * bytes may begin a secret, and all others cost one look. */
#include "base/mask.h"

#include <sodium/crypto_generichash.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/secret.h"

#define KNOWN_MAX                                                                                  \
    1024 /* values; a helper that prints a new key every minute must not fill memory */
#define VALUE_MAX 16384 /* bytes of one value */

struct known {
    struct known *next;
    const char *kind;
    size_t n;
    char value[];
};

struct masker {
    uint8_t key[MASK_KEY_BYTES];
    _Atomic(struct known *) known;
    atomic_size_t count;
    _Atomic uint64_t starts[1024]; /* one bit for each two bytes that may begin a secret */
};

static unsigned pair_of(const char *text)
{
    return (unsigned)(uint8_t)text[0] << 8 | (uint8_t)text[1];
}

static void mark_start(void *user, const char two[2])
{
    struct masker *masker = user;
    unsigned pair = pair_of(two);
    atomic_fetch_or(&masker->starts[pair / 64], (uint64_t)1 << (pair % 64));
}

struct masker *masker_new(const uint8_t key[MASK_KEY_BYTES])
{
    struct masker *masker = calloc(1, sizeof *masker);
    if (masker == NULL)
        abort();
    memcpy(masker->key, key, MASK_KEY_BYTES);
    secret_starts(mark_start, masker);
    return masker;
}

void masker_free(struct masker *masker)
{
    if (masker == NULL)
        return;
    struct known *next;
    for (struct known *known = atomic_load(&masker->known); known != NULL; known = next) {
        next = known->next;
        explicit_bzero(known->value, known->n);
        free(known);
    }
    explicit_bzero(masker->key, sizeof masker->key);
    free(masker);
}

static bool is_known(const struct masker *masker, struct str value)
{
    for (const struct known *known = atomic_load(&masker->known); known != NULL;
         known = known->next)
        if (known->n == value.n && memcmp(known->value, value.p, value.n) == 0)
            return true;
    return false;
}

void masker_know(struct masker *masker, const char *kind, struct str value)
{
    if (masker == NULL || value.n < MASK_KNOWN_LEAST || value.n > VALUE_MAX ||
        is_known(masker, value) || atomic_fetch_add(&masker->count, 1) >= KNOWN_MAX)
        return;
    struct known *known = malloc(sizeof *known + value.n);
    if (known == NULL)
        abort();
    known->kind = kind;
    known->n = value.n;
    memcpy(known->value, value.p, value.n);
    known->next = atomic_load(&masker->known);
    while (!atomic_compare_exchange_weak(&masker->known, &known->next, known))
        ;
    mark_start(masker, value.p);
}

/* --- masking ------------------------------------------------------------------------------------ */

/* The longest known value that begins here. */
static bool known_at(const struct masker *masker, struct str text, size_t at,
                     struct secret_span *span)
{
    bool found = false;
    for (const struct known *known = atomic_load(&masker->known); known != NULL;
         known = known->next) {
        if (text.n - at < known->n || text.p[at] != known->value[0] ||
            memcmp(text.p + at, known->value, known->n) != 0 ||
            (found && span->end - at >= known->n))
            continue;
        *span = (struct secret_span){at, at + known->n, known->kind};
        found = true;
    }
    return found;
}

static void put_mask(const struct masker *masker, struct str secret, const char *kind,
                     struct buf *out)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof hash, (const uint8_t *)secret.p, secret.n, masker->key,
                       sizeof masker->key);
    buf_printf(out, "[masked:%s:%02x%02x]", kind, hash[0], hash[1]);
}

struct masking {
    const struct masker *masker;
    struct str text;
    struct buf out;
    size_t done; /* bytes of the text that are in `out`, or masked */
    size_t count;
};

static void mask_span(struct masking *m, const struct secret_span *span)
{
    buf_add(&m->out, m->text.p + m->done, span->start - m->done);
    put_mask(m->masker, (struct str){m->text.p + span->start, span->end - span->start}, span->kind,
             &m->out);
    m->done = span->end;
    m->count++;
}

static bool may_start(const struct masker *masker, const char *two)
{
    unsigned pair = pair_of(two);
    uint64_t starts = atomic_load_explicit(&masker->starts[pair / 64], memory_order_relaxed);
    return starts >> (pair % 64) & 1;
}

static void mask_all(struct masking *m)
{
    struct str text = m->text;
    struct secret_span span, next = {.start = SIZE_MAX}; /* next: that an earlier one told of */
    for (size_t at = 0; at + 1 < text.n; at++) {
        if (at == next.start)
            span = next;
        else if (!may_start(m->masker, text.p + at) ||
                 (!known_at(m->masker, text, at, &span) && !secret_at(text, at, m->done, &span)))
            continue;
        mask_span(m, &span);
        if (!secret_follows(text, &span, &next))
            next.start = next.start < m->done ? SIZE_MAX : next.start;
        at = m->done - 1;
    }
}

size_t masker_apply(const struct masker *masker, struct buf *text)
{
    if (masker == NULL || text->n == 0)
        return 0;
    struct masking m = {.masker = masker, .text = buf_view(text)};
    buf_init(&m.out, text->n + (text->n / MASK_KNOWN_LEAST + 1) * MASK_MAX);
    mask_all(&m);
    if (m.count > 0) {
        buf_add(&m.out, m.text.p + m.done, m.text.n - m.done);
        m.out.max = text->max > m.out.n ? text->max : m.out.n;
        buf_release(text);
        *text = m.out;
    } else {
        buf_release(&m.out);
    }
    return m.count;
}

/* --- pieces of text ------------------------------------------------------------------------------ */

size_t masker_pending(const struct masker *masker, struct str text)
{
    if (masker == NULL)
        return 0;
    size_t longest = secret_pending(text);
    for (const struct known *known = atomic_load(&masker->known); known != NULL;
         known = known->next)
        for (size_t n = known->n - 1 < text.n ? known->n - 1 : text.n; n > longest; n--)
            if (memcmp(text.p + text.n - n, known->value, n) == 0)
                longest = n;
    return longest;
}

/* --- masks ------------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

size_t mask_length(struct str text)
{
    if (!str_starts(text, STR("[masked:")))
        return 0;
    size_t at = sizeof "[masked:" - 1, start = at;
    while (at < text.n && at - start <= SECRET_KIND_MAX &&
           ((text.p[at] >= 'a' && text.p[at] <= 'z') || (text.p[at] >= '0' && text.p[at] <= '9') ||
            text.p[at] == '-'))
        at++;
    if (at == start || text.n - at < 6 || text.p[at] != ':' || text.p[at + 5] != ']')
        return 0;
    for (size_t i = at + 1; i < at + 5; i++)
        if (!is_hex(text.p[i]))
            return 0;
    return at + 6;
}

bool mask_find(struct str text, struct str *mask)
{
    const char *at = text.p, *end = text.p + text.n;
    while (text.n > 0 && (at = memmem(at, (size_t)(end - at), "[masked:", 8)) != NULL) {
        size_t n = mask_length((struct str){at, (size_t)(end - at)});
        *mask = (struct str){at, n};
        if (n > 0)
            return true;
        at++;
    }
    return false;
}
