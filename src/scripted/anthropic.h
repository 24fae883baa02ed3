/* The Messages API of the scripted model: requests checked as the real API checks them, answers and refusals in its shapes.
 * A request fills the same struct asked, so that the same script answers it. Pure: any thread. */
#ifndef CADRE_SCRIPTED_ANTHROPIC_H
#define CADRE_SCRIPTED_ANTHROPIC_H

#include "scripted/answer.h"
#include "scripted/asked.h"
#include "scripted/draft.h"

/* Headers, NULL where they are absent. A key is always asked for; any will do when `key` is STR_NONE. */
int anthropic_headers(const char *given_key, const char *version, struct str key,
                      struct refusal *refusal) NODISCARD;
/* As asked_read. */
int anthropic_read(struct asked *asked, const struct script *script, struct str body,
                   struct refusal *refusal) NODISCARD;

/* The part of anthropic_read that fills everything but the tools (anthropic_messages.c), after these. `system` may be
 * NULL. */
int anthropic_messages(struct asked *asked, const struct js *system, const struct js *messages,
                       struct refusal *refusal) NODISCARD;
/* 1 to max of [a-zA-Z0-9_-]. */
bool anthropic_name_fits(struct str name, size_t max);
/* Fields by their table; `path` is where the object stands, "" for the request itself. */
int anthropic_fields(const struct js *object, const struct field_table *table, const char *path,
                     struct refusal *refusal) NODISCARD;
/* "path: words"; returns -1. */
int anthropic_refuse(struct refusal *refusal, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a thinking block must be signed with. */
#define ANTHROPIC_SIGNATURE_SIZE 36
void anthropic_signature(struct str thinking, char out[ANTHROPIC_SIGNATURE_SIZE]);

/* Appends {"type":"error",…}. */
void anthropic_refusal(const struct refusal *refusal, struct buf *out);
void anthropic_whole(struct answer *answer, const struct draft *draft, const struct asked *asked,
                     size_t chunks);
void anthropic_stream(struct answer *answer, const struct draft *draft, const struct asked *asked,
                      size_t chunks);

#endif
