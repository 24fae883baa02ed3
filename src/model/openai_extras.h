/* What servers of Chat Completions want echoed of a reply: reasoning, under the name that it came under, and what came
 * as extra_content with a call (thought signatures). As JSON, so that it can be logged and other APIs can pass over it:
 *
 *     {"api":"openai","message":{"reasoning_content":"…","reasoning":"…","reasoning_details":[…]},"calls":[null,{…},…]}
 *
 * "calls" has the extra_content of each call, in order. Members that hold nothing are left out.
 *
 * Pieces of reasoning_details that follow one another with the same type and index are one entry: text and summary are
 * joined, of every other member the first that is not null counts. Everything else stays as it came. More than
 * OPENAI_EXTRAS_MAX is left out: all of it, never a part.
 *
 * Which messages bring it back: those that call tools. Servers demand it within a loop of tool calls, and some refuse or
 * ignore it in what stands before the last user message; a message without calls always stands there. So the rule needs
 * nothing but the message itself, and what a provider has cached of a conversation stays valid when a user message comes. */
#ifndef CADRE_MODEL_OPENAI_EXTRAS_H
#define CADRE_MODEL_OPENAI_EXTRAS_H

#include "base/arena.h"
#include "base/json.h"
#include "core/run/message.h"
#include "model/mend.h"
#include "model/openai_calls.h"

#define OPENAI_EXTRAS_API "openai"
#define OPENAI_EXTRAS_MAX ((size_t)1 << 20) /* bytes of all extras of a reply, as JSON */

enum openai_reasoning { REASONING_CONTENT, REASONING_PLAIN, REASONING_TEXTS };

#define OPENAI_DETAIL_MEMBERS 16 /* of an entry that pieces can be joined to */

/* Collected while a reply comes. Everything here belongs to the functions below. */
struct openai_extras {
    struct buf texts[REASONING_TEXTS];
    struct buf details; /* complete entries of reasoning_details, with commas */
    struct openai_detail {
        struct buf key, value;
        enum { DETAIL_NULL, DETAIL_TEXT, DETAIL_JSON } form; /* of the value */
    } * open; /* members of the entry that more may belong to; NULL before the first */
    size_t open_count;
    struct buf scratch;
};

void openai_extras_init(struct openai_extras *extras);
void openai_extras_release(struct openai_extras *extras);
/* The next piece of a reasoning text. */
void openai_extras_text(struct openai_extras *extras, enum openai_reasoning which, struct str text);
/* What stands in a delta or a message: reasoning_content, reasoning, reasoning_details. */
void openai_extras_read(struct openai_extras *extras, const struct js *message);
/* The JSON above, in the arena; STR_NONE when there is nothing to echo. */
struct str openai_extras_write(struct openai_extras *extras, const struct openai_calls *calls,
                               enum mend_halves halves, struct arena *arena);

/* The other way: what a message brings back. */
struct openai_echo {
    struct js *document; /* NULL: nothing */
};
struct openai_echo openai_echo_of(const struct message *message, struct str provider);
void openai_echo_release(struct openai_echo *echo);
/* Writes the members of the message, or of its call at i, into the object that is open. */
void openai_echo_message(const struct openai_echo *echo, struct jw *w);
void openai_echo_call(const struct openai_echo *echo, size_t i, struct jw *w);

#endif
