/* What an agent's requests sent, how much of that the provider had in its cache, and what that saved. Pure. */
#include "core/contract/money.h"
#include "core/report/report.h"

struct report_input report_input_of(const struct agent *agent)
{
    return (struct report_input){agent->input_tokens, agent->cache};
}

struct report_input report_input_of_run(const struct run *run)
{
    struct report_input sum = {0};
    for (uint32_t no = 0; no < run_agent_count(run); no++) {
        const struct agent *agent = run_agent(run, no);
        sum.tokens += agent->input_tokens;
        sum.cache.input += agent->cache.input;
        sum.cache.read += agent->cache.read;
        sum.cache.written += agent->cache.written;
        sum.cache.priced += agent->cache.priced;
        sum.cache.saved_nano += agent->cache.saved_nano;
    }
    return sum;
}

static double hit_rate(const struct cache_use *cache)
{
    return (double)cache->read / (double)cache->input;
}

static void add_money(struct buf *out, int64_t nano)
{
    struct jw w;
    jw_init(&w, out);
    buf_char(out, '$');
    money_print(&w, nano);
}

void report_input_text(const struct report_input *input, struct buf *out)
{
    const struct cache_use *cache = &input->cache;
    buf_printf(out, "%lld tokens", (long long)input->tokens);
    if (cache->input == 0)
        return;
    buf_printf(out, ", %lld", (long long)cache->read);
    /* The rate is of requests whose answers tell what was cached. */
    if (cache->input < input->tokens)
        buf_printf(out, " of %lld", (long long)cache->input);
    buf_printf(out, " (%.0f %%) from the cache", hit_rate(cache) * 100);
    if (cache->saved_nano > 0) {
        buf_text(out, ", saved ");
        add_money(out, cache->saved_nano);
    } else if (cache->saved_nano < 0) {
        buf_text(out, ", cost ");
        add_money(out, -cache->saved_nano);
        buf_text(out, " more than without it");
    }
}

void report_input_json(const struct report_input *input, struct jw *w)
{
    const struct cache_use *cache = &input->cache;
    jw_object(w);
    jw_kint(w, "input_tokens", input->tokens);
    jw_kint(w, "cached_tokens", cache->read);
    jw_kint(w, "cache_write_tokens", cache->written);
    jw_key(w, "hit_rate");
    if (cache->input > 0)
        jw_real(w, hit_rate(cache));
    else
        jw_null(w);
    jw_key(w, "saved_usd");
    if (cache->priced > 0)
        jw_real(w, (double)cache->saved_nano / (double)NANO_PER_DOLLAR);
    else
        jw_null(w);
    jw_end_object(w);
}
