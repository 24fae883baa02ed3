/* What the Messages API wants echoed of a reply: thinking blocks, unchanged and in their place. As JSON, so that it can be
 * logged and other APIs can pass over it:
 *
 *     {"api":"anthropic","content":[{"type":"thinking",…},{"text":12},{"call":1},{"type":"redacted_thinking",…},…]}
 *
 * {"text":n} stands for the next n bytes of the message's text, {"call":1} for its next tool call. Pure. */
#ifndef CADRE_MODEL_ANTHROPIC_EXTRAS_H
#define CADRE_MODEL_ANTHROPIC_EXTRAS_H

#define ANTHROPIC_EXTRAS_API "anthropic"

#endif
