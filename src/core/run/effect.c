/* Effects as bytes, for the rolling hash that replay compares. Pure. */
#include "core/run/effect.h"

const char *effect_kind_text(enum effect_kind kind)
{
    static const char *const texts[] = {"model",  "tool", "prepare", "settle",
                                        "gather", "ask",  "abort"};
    return kind <= EFFECT_ABORT ? texts[kind] : "?";
}

void effect_hash(struct hasher *h, const struct effect *e)
{
    hasher_u64(h, (uint64_t)e->kind);
    hasher_u64(h, (uint64_t)e->class);
    hasher_u64(h, e->seq);
    hasher_u64(h, e->agent_no);
    hasher_str(h, e->call_id);
    hasher_str(h, e->tool);
    hasher_str(h, e->arguments);
    hasher_str(h, e->path);
    hasher_str(h, e->before);
    hasher_str(h, e->after);
    hasher_u64(h, (uint64_t)e->output_limit);
    hasher_u64(h, (uint64_t)e->max_result);
    hasher_add(h, e->conversation.bytes, sizeof e->conversation.bytes);
    hasher_u64(h, (uint64_t)e->tools);
}
