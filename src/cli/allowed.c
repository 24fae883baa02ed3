/* See allowed.h. */
#include "cli/allowed.h"

#include "base/json.h"
#include "base/utf8.h"

void allowed_open(struct allowed *allowed, const struct config *config, struct str workspace)
{
    arena_init(&allowed->arena);
    allowed->count = always_list(config, workspace, &allowed->arena, &allowed->records);
}

void allowed_release(struct allowed *allowed)
{
    arena_release(&allowed->arena);
}

void allowed_text(const struct allowed *allowed, struct buf *out)
{
    if (allowed->count > 0)
        buf_text(out, "Always allowed here, as long as it is byte for byte the same "
                      "(cadre config trust --revoke forgets it):\n");
    for (size_t i = 0; i < allowed->count; i++) {
        buf_text(out, "  ");
        utf8_clean(out, allowed->records[i].tool, UTF8_ONE_LINE);
        buf_text(out, ": ");
        utf8_clean(out, allowed->records[i].gist, UTF8_ONE_LINE);
        buf_char(out, '\n');
    }
}

void allowed_json(const struct allowed *allowed, struct jw *w)
{
    jw_array(w);
    for (size_t i = 0; i < allowed->count; i++) {
        jw_object(w);
        jw_kstr(w, "tool", allowed->records[i].tool);
        jw_kstr(w, "text", allowed->records[i].gist);
        jw_kstr(w, "shown", allowed->records[i].shown);
        jw_end_object(w);
    }
    jw_end_array(w);
}
