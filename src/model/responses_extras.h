/* What the Responses API wants echoed of a reply: reasoning items, sealed and in their place. As JSON, so that it can be
 * logged and other APIs can pass over it:
 *
 *     {"api":"responses","host":"api.openai.com","content":[
 *         {"type":"reasoning","id":"rs_1","summary":[…],"encrypted_content":"…"},{"text":12},{"call":1},…]}
 *
 * {"text":n} stands for the next n bytes of the message's text, {"call":1} for its next tool call. Only the host that sealed
 * an item can open it, and every other refuses the whole request. Pure. */
#ifndef CADRE_MODEL_RESPONSES_EXTRAS_H
#define CADRE_MODEL_RESPONSES_EXTRAS_H

#include "base/str.h"

#define RESPONSES_EXTRAS_API "responses"

/* The host and port of a URL, as they stand there; empty where there are none, or with characters that no host has. */
struct str responses_host(struct str url);
bool responses_host_eq(struct str a, struct str b);

#endif
