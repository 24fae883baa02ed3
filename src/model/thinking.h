/* Tells reasoning that a model writes into its text from the answer: <think>…</think> or
 * <thinking>…</thinking> at the start of the text. Some chat templates write the opening tag
 * into the prompt, so that only the closing one comes: a first closing tag at the end of a line,
 * without an opening tag before it, ends the reasoning too. What is decided does not depend on
 * how the text is cut. Pure. */
#ifndef CADRE_MODEL_THINKING_H
#define CADRE_MODEL_THINKING_H

#include "base/str.h"

/* Who gets the two parts as they come. Text before a closing tag without an opening one was told
 * as answer already. */
struct thinking_sink {
    void (*answer)(void *user, struct str text);
    void (*reasoning)(void *user, struct str text);
    void *user;
};

enum thinking_more { THINKING_MORE, THINKING_END };

/* Everything here belongs to the functions below. All zero: nothing came yet. */
struct thinking {
    enum { THINKING_START, THINKING_INSIDE, THINKING_ANSWER } state;
    size_t tag;       /* INSIDE: which */
    bool settled;     /* a tag was seen, or the API tells reasoning apart: a closing tag is text */
    size_t answer_at; /* where the answer starts */
    size_t told; /* bytes that the sink got or will not get; START: white space that was passed */
    size_t scanned; /* ANSWER: bytes in which no tag begins */
};

/* The server tells reasoning apart by itself: from here on all text is answer. */
void thinking_off(struct thinking *thinking);
/* text: all that came so far. THINKING_END: nothing follows. */
void thinking_read(struct thinking *thinking, struct str text, enum thinking_more more,
                   const struct thinking_sink *sink);
/* The answer in the text so far. */
struct str thinking_answer(const struct thinking *thinking, struct str text);

#endif
