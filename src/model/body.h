/* Changes to a request's body as text: a server that refuses a parameter is asked again without
 * it, and members from the config go over ours. The text must be valid JSON, an object without
 * duplicate keys. Pure; any thread. */
#ifndef CADRE_MODEL_BODY_H
#define CADRE_MODEL_BODY_H

#include "base/buf.h"
#include "base/err.h"

#define BODY_EDITS_MAX 32

struct body_edit {
    const char *path;   /* "tools.*.strict": names of members, * for every element of an array */
    const char *rename; /* the member's new name; NULL: it keeps its own */
    const char *value;  /* the member's new JSON text; NULL: it keeps its own */
};

/* Appends the text with each member that an edit names renamed or replaced; with neither given,
 * it is left out, and an object member that lost all of its members with it. What the paths do not
 * reach is copied byte for byte. At most BODY_EDITS_MAX edits. */
void body_edit(struct str text, const struct body_edit *edits, size_t count, struct buf *out);

/* Appends the messages of Chat Completions, the text between the brackets of their array, with
 * an answer of the model between a result of a tool and a message of the user. Returns how many
 * were added. */
size_t body_part_roles(struct str messages, struct buf *out);

/* Appends the text with the members of `extra`, a JSON object, over its own: a member takes the
 * place of ours, null takes ours away. `limit` is the name of our output limit, with its value
 * in `tokens`; 0 tokens: there is none. While there is one, a limit in extra counts only where
 * it is lower, under the name that it has there. */
int body_merge(struct str text, struct str extra, const char *limit, int64_t tokens,
               struct buf *out, struct err *err) NODISCARD;

#endif
