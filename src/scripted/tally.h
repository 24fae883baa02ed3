/* What the server saw, for tests to judge a client by: counts, the refusals in words, and a log with one JSON line
 * per request. Shared by all serving threads; every function locks. */
#ifndef CADRE_SCRIPTED_TALLY_H
#define CADRE_SCRIPTED_TALLY_H

#include "base/buf.h"
#include "base/hash.h"
#include "scripted/refusal.h"
#include "scripted/scripted.h"

struct tally;

/* One request when it has ended. */
struct tally_line {
    uint64_t n; /* from 1, in order of arrival */
    int64_t at; /* milliseconds since 1970, arrival */
    const char *method;
    struct str path;
    struct str first_user; /* STR_NONE: not a chat request */
    int64_t turn, messages;
    int64_t output_limit; /* < 0: none asked */
    int status;           /* 0: the connection was dropped without an answer */
    int64_t rule;         /* < 0: none */
    /* Of what the script answers, whether the client took it or not: what a provider might bill. 0: a failure. */
    int64_t prompt_tokens, completion_tokens;
    struct hash body;
    struct str error; /* the refusal's message, or STR_NONE */
    enum { LINE_COMPLETE, LINE_CUT } end;
};

/* log_path NULL: no log. */
int tally_open(const char *log_path, struct tally **tally, struct err *err) NODISCARD;
void tally_close(struct tally *tally); /* NULL is fine */

uint64_t tally_arrived(struct tally *tally); /* the request's number */
void tally_chat(struct tally *tally);        /* a chat request's body is complete */
/* A chat request passed every check: it is in flight until tally_done. */
void tally_accepted(struct tally *tally, int64_t output_limit);
void tally_done(struct tally *tally);
void tally_refused(struct tally *tally, uint64_t n, const struct refusal *refusal);
void tally_unmatched(struct tally *tally, uint64_t n, const struct refusal *refusal);
void tally_failure(struct tally *tally);
void tally_usage(struct tally *tally, int64_t prompt_tokens, int64_t completion_tokens);
void tally_ended(struct tally *tally, const struct tally_line *line);
enum tally_log { TALLY_SILENT, TALLY_LOGGED };
enum tally_log tally_log(const struct tally *tally);

void tally_stats(struct tally *tally, struct scripted_stats *stats);
void tally_print(struct tally *tally, struct buf *out); /* the stats as a JSON object */

#endif
