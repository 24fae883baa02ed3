/* See call_id.h. An id of our shape is written in base 62, so that two of a conversation never
 * meet; any other is hashed. */
#include "model/call_id.h"

#include "base/hash.h"

#define SEQ_CHARS 6
#define INDEX_CHARS 3
#define SEQ_END UINT64_C(56800235584) /* 62 to the power of SEQ_CHARS */
#define INDEX_END UINT64_C(238328)    /* 62 to the power of INDEX_CHARS */

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static void write_base62(uint64_t number, char *out, size_t n)
{
    while (n-- > 0) {
        out[n] = digits[number % 62];
        number /= 62;
    }
}

/* Takes a decimal number below `end` from the front of text; false where there is none. */
static bool take_number(struct str *text, uint64_t end, uint64_t *number)
{
    size_t n = 0;
    *number = 0;
    while (n < text->n && n < 12 && text->p[n] >= '0' && text->p[n] <= '9')
        *number = *number * 10 + (uint64_t)(text->p[n++] - '0');
    *text = (struct str){text->p + n, text->n - n};
    return n > 0 && *number < end;
}

struct str call_id_derived(struct str id, char out[CALL_ID_DERIVED])
{
    struct str rest = {id.p + 1, id.n > 0 ? id.n - 1 : 0};
    uint64_t seq, index;
    if (id.n > 0 && id.p[0] == 'c' && take_number(&rest, SEQ_END, &seq) && rest.n > 0 &&
        rest.p[0] == '_') {
        rest = (struct str){rest.p + 1, rest.n - 1};
        if (take_number(&rest, INDEX_END, &index) && rest.n == 0) {
            write_base62(seq, out, SEQ_CHARS);
            write_base62(index, out + SEQ_CHARS, INDEX_CHARS);
            return (struct str){out, CALL_ID_DERIVED};
        }
    }
    struct hash hash = hash_of(id);
    for (size_t i = 0; i < CALL_ID_DERIVED; i++)
        out[i] = digits[hash.bytes[i] % 62];
    return (struct str){out, CALL_ID_DERIVED};
}

/* Whether the provider gave this id, in characters that every API takes. */
static bool is_its_own(const struct call_origin *origin, struct str provider)
{
    if (origin->id.n == 0 || origin->id.n > CALL_ID_MAX || !str_eq(origin->provider, provider))
        return false;
    for (size_t i = 0; i < origin->id.n; i++)
        if (origin->id.p[i] <= ' ' || origin->id.p[i] > '~')
            return false;
    return true;
}

struct str call_id_of(const struct message *message, size_t i, struct str provider,
                      char out[CALL_ID_DERIVED])
{
    if (message->origins && is_its_own(&message->origins[i], provider))
        return message->origins[i].id;
    return call_id_derived(message->calls[i].id, out);
}

struct str call_id_answered(const struct message *message, struct str provider,
                            char out[CALL_ID_DERIVED])
{
    if (is_its_own(&message->origin, provider))
        return message->origin.id;
    return call_id_derived(message->call_id, out);
}
