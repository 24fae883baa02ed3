/* Finds refused keys among the events of a run and words a warning for each. Does not print. Main thread. */
#include "cli/refused.h"

#include "base/json.h"

enum { STATUS_UNAUTHORIZED = 401, STATUS_FORBIDDEN = 403 };

static bool said_before(struct refused *refused, struct str text)
{
    struct hash hash = hash_of(text);
    for (size_t i = 0; i < refused->count; i++) {
        if (hash_eq(&refused->said[i], &hash))
            return true;
    }
    if (refused->count == REFUSED_MAX)
        return true;
    refused->said[refused->count++] = hash;
    return false;
}

void refused_warning(struct refused *refused, const struct event_row *row, struct buf *out)
{
    struct err ignored = ERR_INIT;
    if (!str_is(row->type, "model.failed") || row->payload.p == NULL)
        return;
    struct js *payload = js_parse(row->payload, &ignored);
    int64_t status = js_get_int(payload, "http_status", 0);
    struct str error = js_get_str(payload, "error"), next = js_get_str(payload, "fallback");
    if ((status == STATUS_UNAUTHORIZED || status == STATUS_FORBIDDEN) && next.n > 0 &&
        !said_before(refused, error))
        buf_printf(out, "warning: %.*s; the pool goes on with %.*s", STR_FMT(error), STR_FMT(next));
    js_free(payload);
}
