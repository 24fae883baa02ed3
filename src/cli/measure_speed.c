/* How fast a server is and how many requests it works on side by side, from answers that it streams. Main thread;
 * blocks. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/measuring.h"

enum {
    SPEED_WORDS = 400,
    SPEED_TOKENS = 64,
    SMALL_WORDS = 10,
    SMALL_TOKENS = 24,
    SIDE_BY_SIDE_MAX = 8
};

void chat_body(const struct measuring *m, struct buf *body, int64_t max_tokens, size_t words)
{
    struct buf prompt;
    struct jw w;
    buf_init(&prompt, words * 8 + 256);
    buf_printf(&prompt, "%08x. Here are numbers:", m->nonce);
    for (size_t i = 1; i <= words; i++)
        buf_printf(&prompt, " %zu", words <= 1000 ? i : i % 10);
    buf_text(&prompt, ". Go on counting from there, numbers only.");
    jw_init(&w, body);
    jw_object(&w);
    jw_ktext(&w, "model", m->out->model);
    jw_key(&w, "messages");
    jw_array(&w);
    jw_object(&w);
    jw_ktext(&w, "role", "user");
    jw_kstr(&w, "content", buf_view(&prompt));
    jw_end_object(&w);
    jw_end_array(&w);
    jw_kint(&w, "max_tokens", max_tokens);
    jw_kbool(&w, "stream", true);
    jw_key(&w, "stream_options");
    jw_object(&w);
    jw_kbool(&w, "include_usage", true);
    jw_end_object(&w);
    jw_end_object(&w);
    buf_release(&prompt);
}

static int64_t time_of(const struct fetch *fetch, size_t end)
{
    for (size_t i = 0; i < fetch->mark_count; i++)
        if (fetch->marks[i].end >= end)
            return fetch->marks[i].at_us;
    return -1;
}

static void read_numbers(const struct js *root, struct stream *stream)
{
    const struct js *usage = js_get(root, "usage"), *timings = js_get(root, "timings");
    int64_t prompt = js_get_int(usage, "prompt_tokens", -1);
    int64_t output = js_get_int(usage, "completion_tokens", -1);
    double read = js_real(js_get(timings, "prompt_per_second"), 0);
    double write = js_real(js_get(timings, "predicted_per_second"), 0);
    if (prompt > 0 && prompt < 100000000)
        stream->prompt_tokens = prompt;
    if (output > 0 && output < 100000000)
        stream->output_tokens = output;
    if (read > 0 && read < 1e7)
        stream->read_rate = read;
    if (write > 0 && write < 1e7)
        stream->write_rate = write;
}

/* One "data:" line; at: when its last byte came. */
static void read_line(struct str data, int64_t at, struct stream *stream)
{
    static const char *const texts[] = {"content", "reasoning_content", "reasoning"};
    struct err err = ERR_INIT;
    struct js *root = js_parse(data, &err);
    const struct js *delta = js_get(js_at(js_get(root, "choices"), 0), "delta");
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        bytes += js_get_str(delta, texts[i]).n;
    if (bytes > 0) {
        if (stream->first_us < 0)
            stream->first_us = at;
        stream->last_us = at;
        stream->pieces++;
    }
    read_numbers(root, stream);
    js_free(root);
}

/* A server's own words about what is wrong, on one line. */
static void read_complaint(const struct fetch *fetch, struct stream *stream)
{
    struct err err = ERR_INIT;
    struct js *root = js_parse(buf_view(&fetch->answer), &err);
    struct str said = js_get_str(js_get(root, "error"), "message");
    if (said.n == 0)
        said = js_get_str(root, "message");
    struct str shown = {said.p, said.n < 120 ? said.n : 120};
    if (fetch->class != ERR_NONE)
        snprintf(stream->why, sizeof stream->why, "%.199s", fetch->message);
    else if (fetch->status != 200)
        snprintf(stream->why, sizeof stream->why, "it answers with status %d%s%.*s", fetch->status,
                 shown.n > 0 ? ": " : "", STR_FMT(shown));
    else
        snprintf(stream->why, sizeof stream->why, "it streams no text");
    js_free(root);
}

void stream_read(const struct fetch *fetch, struct stream *stream)
{
    struct str answer = buf_view(&fetch->answer), start = STR("data:");
    *stream =
        (struct stream){.first_us = -1, .last_us = -1, .prompt_tokens = -1, .output_tokens = -1};
    for (size_t at = 0; at < answer.n;) {
        const char *end = memchr(answer.p + at, '\n', answer.n - at);
        size_t n = end != NULL ? (size_t)(end - answer.p) - at : answer.n - at;
        struct str line = {answer.p + at, n};
        at += n + 1;
        if (fetch->status != 200 || !str_starts(line, start))
            continue;
        line = (struct str){line.p + start.n, line.n - start.n};
        while (line.n > 0 && (line.p[0] == ' ' || line.p[line.n - 1] == '\r')) {
            line.p += line.p[0] == ' ';
            line.n--;
        }
        read_line(line, time_of(fetch, at < answer.n ? at : answer.n), stream);
    }
    if (stream->pieces == 0)
        read_complaint(fetch, stream);
}

static struct fetch *fetches_new(size_t count)
{
    struct fetch *fetches = calloc(count, sizeof *fetches);
    if (fetches == NULL)
        abort();
    return fetches;
}

/* Asks `count` times at once and reads what came. */
static int ask(struct measuring *m, size_t count, int64_t max_tokens, size_t words,
               struct stream *streams)
{
    char url[512];
    struct buf bodies[SIDE_BY_SIDE_MAX];
    struct fetch *fetches = fetches_new(count);
    snprintf(url, sizeof url, "%s/chat/completions", m->out->base_url);
    for (size_t i = 0; i < count; i++) {
        m->nonce++;
        buf_init(&bodies[i], 65536);
        chat_body(m, &bodies[i], max_tokens, words);
        fetches[i].url = str_from(url);
        fetches[i].body = buf_view(&bodies[i]);
        fetches[i].total_ms = ASK_MS;
    }
    int result = measuring_send(m, fetches, count);
    for (size_t i = 0; i < count; i++) {
        if (result == 0)
            stream_read(&fetches[i], &streams[i]);
        buf_release(&fetches[i].answer);
        buf_release(&bodies[i]);
    }
    free(fetches);
    return result;
}

static void rates(struct measuring *m, const struct stream *stream)
{
    struct measurement *out = m->out;
    int64_t span = stream->last_us - stream->first_us;
    int64_t tokens = stream->output_tokens > 0 ? stream->output_tokens : stream->pieces;
    if (stream->read_rate > 0)
        fact_set(&out->read_rate, (int64_t)(stream->read_rate * 10), "as the server says");
    else if (stream->prompt_tokens > 0 && stream->first_us > 0)
        fact_set(&out->read_rate, stream->prompt_tokens * 10000000 / stream->first_us,
                 "%lld tokens until the first of the answer", (long long)stream->prompt_tokens);
    else
        fact_unknown(&out->read_rate, "the server does not say how many tokens the prompt has");
    if (stream->write_rate > 0)
        fact_set(&out->write_rate, (int64_t)(stream->write_rate * 10), "as the server says");
    else if (stream->pieces > 1 && tokens > 1 && span > 0)
        fact_set(&out->write_rate, (tokens - 1) * 10000000 / span, "%lld %s", (long long)tokens,
                 stream->output_tokens > 0 ? "tokens" : "pieces of text");
    else
        fact_unknown(&out->write_rate, "the answer came in one piece");
}

void measure_speed(struct measuring *m)
{
    struct measurement *out = m->out;
    struct stream cold = {0}, warm = {0};
    /* The first request may have to load the model. */
    int asked = ask(m, 1, SMALL_TOKENS, SMALL_WORDS, &cold);
    if (asked != 0 || cold.pieces == 0) {
        struct fact *facts[] = {&out->cold_us, &out->first_token_us, &out->read_rate,
                                &out->write_rate};
        for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
            fact_unknown(facts[i], "%s", asked != 0 ? m->why : cold.why);
        if (out->slots.value < 0)
            fact_unknown(&out->slots, "%s", asked != 0 ? m->why : cold.why);
        return;
    }
    fact_set(&out->cold_us, cold.first_us, "the first request");
    asked = ask(m, 1, SPEED_TOKENS, SPEED_WORDS, &warm);
    if (asked != 0 || warm.pieces == 0) {
        fact_unknown(&out->first_token_us, "the second request failed: %.120s",
                     asked != 0 ? m->why : warm.why);
        rates(m, &cold);
        return;
    }
    fact_set(&out->first_token_us, warm.first_us, "a prompt of %lld tokens",
             (long long)(warm.prompt_tokens > 0 ? warm.prompt_tokens : SPEED_WORDS));
    rates(m, &warm);
}

/* The most answers that were being written at one moment. Whoever waits for a slot gets its first token after another
 * has had its last: the order tells, however fast the machine is. */
static size_t side_by_side(const struct stream *streams, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t now = 0;
        for (size_t k = 0; k < count; k++)
            now += streams[k].pieces > 1 && streams[k].first_us <= streams[i].first_us &&
                   streams[i].first_us < streams[k].last_us;
        most = now > most ? now : most;
    }
    return most;
}

void measure_slots(struct measuring *m)
{
    struct fact *slots = &m->out->slots;
    if (slots->value >= 0)
        return;
    for (size_t count = 2; count <= SIDE_BY_SIDE_MAX; count *= 2) {
        struct stream streams[SIDE_BY_SIDE_MAX];
        if (ask(m, count, SMALL_TOKENS, SMALL_WORDS, streams) != 0) {
            if (slots->value < 0)
                fact_unknown(slots, "%s", m->why);
            return;
        }
        size_t answered = 0, in_pieces = 0, most = side_by_side(streams, count);
        for (size_t i = 0; i < count; i++) {
            answered += streams[i].pieces > 0;
            in_pieces += streams[i].last_us > streams[i].first_us;
        }
        if (in_pieces < answered || answered == 0) {
            if (slots->value < 0)
                fact_unknown(slots, answered == 0 ? "requests side by side fail"
                                                  : "answers come in one piece");
            return;
        }
        fact_set(slots, (int64_t)(most > 0 ? most : 1), "%zu requests at once", count);
        if (most < count)
            return;
        slots->bound = FACT_AT_LEAST;
    }
}
