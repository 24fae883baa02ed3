/* Finds what servers refused among the events of a run and words warnings. Does not print. Main thread. */
#include "cli/refused.h"

#include "base/json.h"

#define NOTICE "\"notice\":"

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

static void warn_of_key(struct refused *refused, const struct js *payload, struct buf *out)
{
    int64_t status = js_get_int(payload, "http_status", 0);
    struct str error = js_get_str(payload, "error"), next = js_get_str(payload, "fallback");
    if ((status == STATUS_UNAUTHORIZED || status == STATUS_FORBIDDEN) && next.n > 0 &&
        !said_before(refused, error))
        buf_printf(out, "warning: %.*s; the pool goes on with %.*s", STR_FMT(error), STR_FMT(next));
}

/* The log has each line of a notice once. */
static void warn_of_parameters(const struct js *payload, struct buf *out)
{
    struct str notice = js_get_str(payload, "notice");
    if (notice.n == 0)
        return;
    buf_text(out, "warning: ");
    for (size_t i = 0; i < notice.n; i++) {
        buf_char(out, notice.p[i]);
        if (notice.p[i] == '\n')
            buf_text(out, "warning: ");
    }
}

void refused_warning(struct refused *refused, const struct event_row *row, struct buf *out)
{
    struct err ignored = ERR_INIT;
    bool replied = str_is(row->type, "model.replied"), failed = str_is(row->type, "model.failed");
    if (row->payload.p == NULL || !(replied || failed))
        return;
    /* Nearly all answers have none: they are not parsed. */
    if (replied && memmem(row->payload.p, row->payload.n, NOTICE, strlen(NOTICE)) == NULL)
        return;
    struct js *payload = js_parse(row->payload, &ignored);
    if (failed)
        warn_of_key(refused, payload, out);
    else
        warn_of_parameters(payload, out);
    js_free(payload);
}
