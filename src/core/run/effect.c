/* Effects as a mark, which replay compares. Pure. */
#include "core/run/effect.h"

#include "base/mark.h"

const char *effect_kind_text(enum effect_kind kind)
{
    static const char *const texts[] = {"model", "tool",  "prepare", "settle",  "gather",
                                        "ask",   "abort", "check",   "isolate", "merge"};
    return kind <= EFFECT_MERGE ? texts[kind] : "?";
}

uint64_t effect_mark(uint64_t mark, const struct effect *e)
{
    mark = mark_u64(mark, (uint64_t)e->kind);
    mark = mark_u64(mark, (uint64_t)e->class);
    mark = mark_u64(mark, e->seq);
    mark = mark_u64(mark, e->agent_no);
    mark = mark_str(mark, e->call_id);
    mark = mark_str(mark, e->tool);
    mark = mark_str(mark, e->arguments);
    mark = mark_str(mark, e->path);
    mark = mark_str(mark, e->before);
    mark = mark_str(mark, e->after);
    /* Runs that were recorded before questions had a hash have the same mark as before. */
    if (e->shown.n > 0)
        mark = mark_str(mark, e->shown);
    mark = mark_u64(mark, (uint64_t)e->output_limit);
    mark = mark_u64(mark, (uint64_t)e->max_result);
    return mark_u64(mark, e->conversation);
}
