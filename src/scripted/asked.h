/* One chat request, checked as the real API checks it, and what the script's rules look at. Views live as long
 * as the asked (they point into its document and arena). Every list that a hostile client can make long is walked once. */
#ifndef CADRE_SCRIPTED_ASKED_H
#define CADRE_SCRIPTED_ASKED_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "scripted/refusal.h"

struct script;
struct script_model;

#define ASKED_NO_LIMIT (-1)

/* What the request is written in. */
enum asked_api { ASKED_CHAT, ASKED_MESSAGES, ASKED_RESPONSES };

struct asked {
    enum asked_api api;
    struct js *document;
    struct arena arena;
    const struct script_model *model;    /* belongs to the script */
    struct str first_user, last, system; /* texts; empty where there is none */
    int64_t turn;                        /* assistant messages so far */
    const struct js *last_assistant;     /* Chat Completions: the last of them; NULL: none */
    size_t message_count;
    struct map tools;     /* name → its JSON value */
    size_t tool_marks;    /* Messages: tools with cache_control */
    int64_t output_limit; /* ASKED_NO_LIMIT when the request names none */
    enum { ASKED_WHOLE, ASKED_STREAM, ASKED_STREAM_WITH_USAGE } delivery;
    enum { ASKED_BARE, ASKED_SEALED } reasoning; /* Responses: whether it is to come sealed */
    size_t message_bytes, tool_bytes;            /* what the token estimate is made from */
    int64_t prompt_tokens;
    struct hash conversation; /* of the messages, independent of JSON spelling */
};

void asked_init(struct asked *asked);
void asked_release(struct asked *asked);
/* Parses and checks a request body. On -1 the refusal says why; what was already read stays in asked. */
int asked_read(struct asked *asked, const struct script *script, struct str body,
               struct refusal *refusal) NODISCARD;

/* Counts the prompt's tokens from its bytes, as every API does before it looks at the window. */
void asked_count(struct asked *asked, const struct script *script);
/* The same for OpenAI's two APIs: the body as a JSON object, and how many tools there may be. */
int asked_parse(struct asked *asked, struct str body, struct refusal *refusal) NODISCARD;
int asked_tool_count(const struct js *tools, struct refusal *refusal) NODISCARD;
/* The parts of asked_read that fill messages and tools (messages.c, tools.c). */
int asked_messages(struct asked *asked, const struct js *messages,
                   struct refusal *refusal) NODISCARD;
int asked_tools(struct asked *asked, const struct js *root, struct refusal *refusal) NODISCARD;
/* The schema of a function's arguments; NULL: it has none. */
int asked_parameters(struct asked *asked, struct str function, const struct js *parameters,
                     const struct place *place, struct refusal *refusal) NODISCARD;
/* 1 to 64 of [a-zA-Z0-9_-]. */
int asked_function_name(struct str name, const struct place *place,
                        struct refusal *refusal) NODISCARD;

#endif
