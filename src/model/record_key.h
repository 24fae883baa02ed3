/* What makes two model requests the same, whatever API and run they belong to: the model, the tools and the messages.
 * Left out is what differs from run to run and means nothing: ids of calls, the workspace's path, and durations in what
 * tools and system prompts say. Pure; any thread. */
#ifndef CADRE_MODEL_RECORD_KEY_H
#define CADRE_MODEL_RECORD_KEY_H

#include "base/hash.h"
#include "port/model.h"

#define RECORD_PRINTS_MAX 128 /* messages of one request whose prints are kept: the last ones */

/* Enough of a message to say which one differs. */
struct record_print {
    enum message_role role;
    uint32_t print;
};

struct record_key {
    struct hash hash;     /* over everything */
    struct str model;     /* a view */
    uint32_t tools;       /* print of the tools */
    size_t message_count; /* of the conversation */
    size_t print_count;   /* of `prints`: its last messages */
    struct record_print prints[RECORD_PRINTS_MAX];
};

/* other_workspace: a second path that counts as the workspace's own (that of the recording), or STR_NONE. A request
 * without a conversation is known by its fragments. */
void record_key(const struct model_request *request, struct str other_workspace,
                struct record_key *key);

/* Appends the first thing in which a request differs from the one that was recorded: "message 4 (a tool result)". */
void record_difference(const struct record_key *asked, const struct record_key *recorded,
                       struct buf *out);

#endif
