/* What a measurement means for the config, and how it is shown. Timeouts are for the worst case that is normal: a full
 * window, and every slot at work. Asks nobody anything. Pure but for the output. */
#include <stdio.h>

#include "base/json.h"
#include "cli/measure.h"

#define SECOND INT64_C(1000)
#define DAY (24 * 3600 * SECOND)

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Up to whole seconds, up to whole minutes above two. */
static int64_t rounded(int64_t ms)
{
    int64_t unit = ms > 120 * SECOND ? 60 * SECOND : SECOND;
    return (ms + unit - 1) / unit * unit;
}

enum { CHILDREN = 3, TURNS = 16, TURN_TOKENS = 500, SILENCE_MS = 60000, CHILD_WALL_MS = 900000 };

static void propose_child(const struct measurement *measurement, struct proposal *proposal);

void measure_propose(const struct measurement *measurement, struct proposal *proposal)
{
    const int64_t window = measurement->window.value, read = measurement->read_rate.value;
    const int64_t write = measurement->write_rate.value, cold = measurement->cold_us.value;
    const int64_t slots = measurement->slots.value > 0 ? measurement->slots.value : 1;
    *proposal = (struct proposal){-1, -1, -1, -1, -1, -1, -1, -1};
    if (measurement->slots.value > 0)
        proposal->max_concurrent = between(measurement->slots.value, 1, 10000);
    if (window >= 1024)
        proposal->max_context_tokens = window;
    /* Twice, since machines have other work too; a model may have to be loaded first. */
    if (window > 0 && read > 0 && cold >= 0)
        proposal->first_byte_ms = rounded(
            between(2 * (slots * window * 10 * SECOND / read + cold / 1000), 30 * SECOND, DAY / 4));
    /* An answer stands still while the server reads a prompt for another slot. */
    if (write > 0 && read > 0 && window > 0)
        proposal->idle_ms = rounded(between(
            2 * (slots * 10 * SECOND / write + (slots > 1 ? window * 10 * SECOND / read : 0)),
            30 * SECOND, DAY / 4));
    if (proposal->first_byte_ms > 0 && write > 0) {
        int64_t output = window / 2 < 8192 ? window / 2 : 8192;
        int64_t answer = 2 * slots * output * 10 * SECOND / write;
        proposal->total_ms = rounded(between(proposal->first_byte_ms + answer, 60 * SECOND, DAY));
    }
    propose_child(measurement, proposal);
}

/* A child with the usual number of turns, each of which reads its context anew and writes a little, beside as many as the
 * server answers at once. Where that takes longer than a child is given, more is proposed. The built-in limit of
 * silence becomes a limit of the whole time where an answer of this server may stand still for longer. */
static void propose_child(const struct measurement *measurement, struct proposal *proposal)
{
    const int64_t window = measurement->window.value, read = measurement->read_rate.value;
    const int64_t write = measurement->write_rate.value;
    const int64_t slots = measurement->slots.value > 0 ? measurement->slots.value : 1;
    if (measurement->slots.value > 0 && measurement->slots.value != CHILDREN)
        proposal->children = between(measurement->slots.value, 1, 100000);
    if (window <= 0 || read <= 0 || write <= 0)
        return;
    int64_t turn = slots * (window / 4 * 10 * SECOND / read + TURN_TOKENS * 10 * SECOND / write);
    int64_t needed = rounded(between(2 * TURNS * turn, SECOND, 30 * DAY));
    if (proposal->idle_ms > SILENCE_MS)
        proposal->child_ms = needed > CHILD_WALL_MS ? needed : CHILD_WALL_MS;
    else if (needed > CHILD_WALL_MS)
        proposal->child_wall_ms = needed;
}

static void yaml_time(struct buf *out, const char *key, int64_t ms)
{
    if (ms < 0)
        buf_printf(out, "      # %s: could not tell; the default holds\n", key);
    else if (ms % (60 * SECOND) == 0)
        buf_printf(out, "      %s: %lldm\n", key, (long long)(ms / 60 / SECOND));
    else
        buf_printf(out, "      %s: %llds\n", key, (long long)(ms / SECOND));
}

static void yaml_count(struct buf *out, const char *key, int64_t count)
{
    if (count < 0)
        buf_printf(out, "      # %s: could not tell; the default holds\n", key);
    else
        buf_printf(out, "      %s: %lld\n", key, (long long)count);
}

/* JSON's quotes are YAML's too. */
static void yaml_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "      %s: ", key);
    json_quote(out, str_from(text));
    buf_char(out, '\n');
}

void measure_yaml(const struct measurement *measurement, const struct proposal *proposal,
                  struct buf *out)
{
    buf_text(out, "llm:\n  providers:\n    measured:\n");
    yaml_text(out, "base_url", measurement->base_url);
    yaml_count(out, "max_concurrent", proposal->max_concurrent);
    yaml_time(out, "first_byte_ms", proposal->first_byte_ms);
    yaml_time(out, "idle_ms", proposal->idle_ms);
    yaml_time(out, "total_ms", proposal->total_ms);
    buf_text(out, "  models:\n    measured:\n      provider: measured\n");
    yaml_text(out, "model", measurement->model);
    yaml_count(out, "max_context_tokens", proposal->max_context_tokens);
    if (measure_is_loopback(str_from(measurement->base_url)))
        buf_text(out, "      price_in: 0\n      price_out: 0\n");
    buf_text(out, "  pools:\n    default: [{model: measured}]\n");
    if (proposal->children < 0 && proposal->child_ms < 0 && proposal->child_wall_ms < 0)
        return;
    buf_text(out, "sub_agent:\n");
    if (proposal->children >= 0)
        buf_printf(out, "  max_concurrent: %lld\n", (long long)proposal->children);
    if (proposal->child_wall_ms >= 0)
        buf_printf(out, "  max_wall_ms: %lldm\n",
                   (long long)(proposal->child_wall_ms / 60 / SECOND));
    if (proposal->child_ms >= 0)
        buf_printf(out, "  default_budget: {timeout_ms: %lldm}\n",
                   (long long)(proposal->child_ms / 60 / SECOND));
}

enum unit { UNIT_COUNT, UNIT_SECONDS, UNIT_RATE };

static const struct row {
    const char *name, *key;
    size_t offset;
    enum unit unit;
} rows[] = {
    {"window", "window_tokens", offsetof(struct measurement, window), UNIT_COUNT},
    {"slots", "slots", offsetof(struct measurement, slots), UNIT_COUNT},
    {"cold start", "cold_ms", offsetof(struct measurement, cold_us), UNIT_SECONDS},
    {"first token", "first_token_ms", offsetof(struct measurement, first_token_us), UNIT_SECONDS},
    {"reading", "read_tokens_per_second", offsetof(struct measurement, read_rate), UNIT_RATE},
    {"writing", "write_tokens_per_second", offsetof(struct measurement, write_rate), UNIT_RATE},
};

static const struct fact *fact_of(const struct measurement *measurement, const struct row *row)
{
    return (const struct fact *)(const void *)((const char *)measurement + row->offset);
}

static void value_text(const struct fact *fact, enum unit unit, char *out, size_t size)
{
    const char *bound = fact->bound == FACT_AT_LEAST ? "at least " : "";
    if (fact->value < 0)
        snprintf(out, size, "could not tell");
    else if (unit == UNIT_SECONDS)
        snprintf(out, size, "%s%.3f s", bound, (double)fact->value / 1e6);
    else if (unit == UNIT_RATE)
        snprintf(out, size, "%s%.1f tokens/s", bound, (double)fact->value / 10);
    else
        snprintf(out, size, "%s%lld", bound, (long long)fact->value);
}

static void report_text(struct output *output, const struct measurement *measurement,
                        struct str yaml)
{
    output_print(output, "\nmeasured  ");
    output_clean(output, str_from(measurement->model), UTF8_ONE_LINE);
    output_print(output, " at ");
    output_clean(output, str_from(measurement->base_url), UTF8_ONE_LINE);
    output_print(output, " (%s) with %d requests\n", measurement->server, measurement->requests);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct fact *fact = fact_of(measurement, &rows[i]);
        char value[64], line[512];
        value_text(fact, rows[i].unit, value, sizeof value);
        snprintf(line, sizeof line, "  %-12s %s (%s)", rows[i].name, value, fact->how);
        output_clean(output, str_from(line), UTF8_LINES);
    }
    output_print(output, "\nFor ~/.config/cadre/cadre.yaml:\n\n");
    output_clean(output, yaml, UTF8_LINES);
}

static void json_value(struct jw *w, const struct fact *fact, enum unit unit)
{
    if (fact->value < 0)
        jw_null(w);
    else if (unit == UNIT_COUNT)
        jw_int(w, fact->value);
    else
        jw_real(w, (double)fact->value / (unit == UNIT_SECONDS ? 1000 : 10));
}

static void report_json(struct output *output, const struct measurement *measurement,
                        const struct proposal *proposal, struct str yaml)
{
    const struct {
        const char *key;
        int64_t value;
    } proposals[] = {{"max_concurrent", proposal->max_concurrent},
                     {"max_context_tokens", proposal->max_context_tokens},
                     {"first_byte_ms", proposal->first_byte_ms},
                     {"idle_ms", proposal->idle_ms},
                     {"total_ms", proposal->total_ms},
                     {"sub_agent.max_concurrent", proposal->children},
                     {"sub_agent.max_wall_ms", proposal->child_wall_ms},
                     {"sub_agent.default_budget.timeout_ms", proposal->child_ms}};
    struct buf line;
    struct jw w;
    buf_init(&line, 65536);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "measurement");
    jw_ktext(&w, "base_url", measurement->base_url);
    jw_ktext(&w, "model", measurement->model);
    jw_ktext(&w, "server", measurement->server);
    jw_kint(&w, "requests", measurement->requests);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct fact *fact = fact_of(measurement, &rows[i]);
        jw_key(&w, rows[i].key);
        jw_object(&w);
        jw_key(&w, "value");
        json_value(&w, fact, rows[i].unit);
        jw_kbool(&w, "at_least", fact->bound == FACT_AT_LEAST);
        jw_ktext(&w, "how", fact->how);
        jw_end_object(&w);
    }
    jw_key(&w, "proposal");
    jw_object(&w);
    for (size_t i = 0; i < sizeof proposals / sizeof proposals[0]; i++) {
        jw_key(&w, proposals[i].key);
        if (proposals[i].value < 0)
            jw_null(&w);
        else
            jw_int(&w, proposals[i].value);
    }
    jw_end_object(&w);
    jw_kstr(&w, "yaml", yaml);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

void measure_report(struct output *output, const struct measurement *measurement)
{
    struct proposal proposal;
    struct buf yaml;
    measure_propose(measurement, &proposal);
    buf_init(&yaml, 8192);
    measure_yaml(measurement, &proposal, &yaml);
    if (output->format == OUTPUT_JSON)
        report_json(output, measurement, &proposal, buf_view(&yaml));
    else
        report_text(output, measurement, buf_view(&yaml));
    buf_release(&yaml);
}
