/* Tool calls that a model wrote into its text, because its server does not turn them into calls. Pure.
 *
 *     <tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>                     Hermes, Qwen
 *     <function=read><parameter=path>a</parameter></function>, also inside of <tool_call>     Qwen3-Coder
 *     <function=read>{"path": "a"}</function>                                                 Llama
 *
 * Only calls of tools that were offered count; anything else stays text. White space and code fences around and
 * inside do not matter; the last closing tag may be missing at the end of the text. JSON is repaired as in repair.h.
 * A parameter's value is text, without the line break after its tag and before the closing one; where the tool's schema
 * wants something else than a string, and the value is JSON, it is that. */
#ifndef CADRE_MODEL_TEXT_CALLS_H
#define CADRE_MODEL_TEXT_CALLS_H

#include "base/arena.h"
#include "model/calls.h"
#include "port/model.h"

#define TEXT_CALLS_MAX 128 /* in one answer */

struct text_tools {
    struct model_tool *items; /* without descriptions */
    size_t count;
};

/* All in the arena. */
void text_tools_copy(struct text_tools *tools, const struct model_tool *from, size_t count,
                     struct arena *arena);

/* Takes the calls out of *text, which becomes what is left, in the arena: pieces of text, without white space where a
 * call stood, in lines of their own. Returns how many there are, at most TEXT_CALLS_MAX; *drafts is the arena's. None: *text
 * stays as it is. */
size_t text_calls_take(const struct text_tools *tools, struct str *text, struct arena *arena,
                       struct call_draft **drafts);

#endif
