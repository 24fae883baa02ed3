/* Counters behind one mutex, the first refusals kept in words, and the log: each line is one write to a file
 * opened for appending, so it is there when the process dies. Any thread. */
#include "scripted/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

#define KEPT_REFUSALS 100
#define FIRST_USER_CUT 200

struct kept_refusal {
    uint64_t n;
    struct refusal refusal;
};

struct tally {
    pthread_mutex_t lock;
    int log_fd; /* -1: none */
    uint64_t arrived;
    struct scripted_stats stats;
    size_t kept_count;
    struct kept_refusal kept[KEPT_REFUSALS];
};

int tally_open(const char *log_path, struct tally **tally, struct err *err)
{
    struct tally *made = calloc(1, sizeof *made);
    if (made == NULL)
        return err_set(err, ERR_IO, "out of memory");
    made->log_fd = -1;
    if (log_path != NULL) {
        made->log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (made->log_fd < 0) {
            free(made);
            return err_set(err, ERR_IO, "cannot write the log %s: %s", log_path, strerror(errno));
        }
    }
    pthread_mutex_init(&made->lock, NULL);
    *tally = made;
    return 0;
}

void tally_close(struct tally *tally)
{
    if (tally == NULL)
        return;
    if (tally->log_fd >= 0)
        close(tally->log_fd);
    pthread_mutex_destroy(&tally->lock);
    free(tally);
}

uint64_t tally_arrived(struct tally *tally)
{
    pthread_mutex_lock(&tally->lock);
    uint64_t n = ++tally->arrived;
    pthread_mutex_unlock(&tally->lock);
    return n;
}

void tally_chat(struct tally *tally)
{
    pthread_mutex_lock(&tally->lock);
    tally->stats.requests++;
    pthread_mutex_unlock(&tally->lock);
}

void tally_accepted(struct tally *tally, int64_t output_limit)
{
    pthread_mutex_lock(&tally->lock);
    struct scripted_stats *stats = &tally->stats;
    stats->accepted++;
    if (output_limit >= 0)
        stats->output_asked += (uint64_t)output_limit;
    else
        stats->without_limit++;
    if (++stats->in_flight > stats->max_concurrent)
        stats->max_concurrent = stats->in_flight;
    pthread_mutex_unlock(&tally->lock);
}

void tally_done(struct tally *tally)
{
    pthread_mutex_lock(&tally->lock);
    tally->stats.in_flight--;
    pthread_mutex_unlock(&tally->lock);
}

static void keep(struct tally *tally, uint64_t n, const struct refusal *refusal)
{
    if (tally->kept_count < KEPT_REFUSALS)
        tally->kept[tally->kept_count++] = (struct kept_refusal){n, *refusal};
}

void tally_refused(struct tally *tally, uint64_t n, const struct refusal *refusal)
{
    pthread_mutex_lock(&tally->lock);
    tally->stats.refused++;
    keep(tally, n, refusal);
    pthread_mutex_unlock(&tally->lock);
}

void tally_unmatched(struct tally *tally, uint64_t n, const struct refusal *refusal)
{
    pthread_mutex_lock(&tally->lock);
    tally->stats.unmatched++;
    keep(tally, n, refusal);
    pthread_mutex_unlock(&tally->lock);
}

void tally_failure(struct tally *tally)
{
    pthread_mutex_lock(&tally->lock);
    tally->stats.failures++;
    pthread_mutex_unlock(&tally->lock);
}

void tally_usage(struct tally *tally, int64_t prompt_tokens, int64_t completion_tokens)
{
    pthread_mutex_lock(&tally->lock);
    tally->stats.prompt_tokens += (uint64_t)prompt_tokens;
    tally->stats.completion_tokens += (uint64_t)completion_tokens;
    pthread_mutex_unlock(&tally->lock);
}

enum tally_log tally_log(const struct tally *tally)
{
    return tally->log_fd >= 0 ? TALLY_LOGGED : TALLY_SILENT;
}

static void number_or_null(struct jw *w, const char *key, int64_t number)
{
    jw_key(w, key);
    if (number >= 0)
        jw_int(w, number);
    else
        jw_null(w);
}

static void print_line(const struct tally_line *line, struct buf *out)
{
    struct jw w;
    char hex[HASH_HEX + 1];
    jw_init(&w, out);
    jw_object(&w);
    jw_kint(&w, "n", (int64_t)line->n);
    jw_kint(&w, "time", line->at);
    jw_ktext(&w, "method", line->method);
    jw_kstr(&w, "path", utf8_cut(line->path, FIRST_USER_CUT));
    if (line->first_user.p != NULL) {
        hash_hex(&line->body, hex);
        jw_kstr(&w, "first_user", utf8_cut(line->first_user, FIRST_USER_CUT));
        jw_kint(&w, "turn", line->turn);
        jw_kint(&w, "messages", line->messages);
        number_or_null(&w, "max_tokens", line->output_limit);
        number_or_null(&w, "rule", line->rule);
        jw_kint(&w, "prompt_tokens", line->prompt_tokens);
        jw_kint(&w, "completion_tokens", line->completion_tokens);
        jw_ktext(&w, "body", hex);
    }
    jw_kint(&w, "status", line->status);
    jw_kbool(&w, "complete", line->end == LINE_COMPLETE);
    if (line->error.p != NULL)
        jw_kstr(&w, "error", line->error);
    jw_end_object(&w);
    buf_char(out, '\n');
}

void tally_ended(struct tally *tally, const struct tally_line *line)
{
    struct buf text;
    buf_init(&text, 16384);
    if (tally->log_fd >= 0)
        print_line(line, &text);
    pthread_mutex_lock(&tally->lock);
    if (line->end == LINE_COMPLETE)
        tally->stats.completed++;
    else
        tally->stats.cut++;
    /* A log that cannot be written shows as missing lines; the answers must not suffer. */
    if (text.n > 0 && !text.failed && write(tally->log_fd, text.p, text.n) != (ssize_t)text.n)
        fprintf(stderr, "scripted: cannot write the log: %s\n", strerror(errno));
    pthread_mutex_unlock(&tally->lock);
    buf_release(&text);
}

void tally_stats(struct tally *tally, struct scripted_stats *stats)
{
    pthread_mutex_lock(&tally->lock);
    *stats = tally->stats;
    pthread_mutex_unlock(&tally->lock);
}

static void print_refusals(const struct tally *tally, struct jw *w)
{
    jw_key(w, "refusals");
    jw_array(w);
    for (size_t i = 0; i < tally->kept_count; i++) {
        const struct kept_refusal *kept = &tally->kept[i];
        jw_object(w);
        jw_kint(w, "n", (int64_t)kept->n);
        jw_kint(w, "status", kept->refusal.status);
        jw_ktext(w, "param", kept->refusal.param);
        jw_ktext(w, "message", kept->refusal.message);
        jw_end_object(w);
    }
    jw_end_array(w);
}

void tally_print(struct tally *tally, struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    pthread_mutex_lock(&tally->lock);
    const struct scripted_stats *stats = &tally->stats;
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"requests", stats->requests},
        {"accepted", stats->accepted},
        {"refused", stats->refused},
        {"unmatched", stats->unmatched},
        {"failures", stats->failures},
        {"completed", stats->completed},
        {"cut", stats->cut},
        {"output_asked", stats->output_asked},
        {"without_limit", stats->without_limit},
        {"prompt_tokens", stats->prompt_tokens},
        {"completion_tokens", stats->completion_tokens},
        {"in_flight", stats->in_flight},
        {"max_concurrent", stats->max_concurrent},
    };
    jw_object(&w);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        jw_kint(&w, counts[i].name, (int64_t)counts[i].value);
    print_refusals(tally, &w);
    jw_end_object(&w);
    pthread_mutex_unlock(&tally->lock);
}
