/* What the scripted model says, before it has the form of an API. Nothing in it depends on the clock or on chance: ids are
 * hashes of the conversation. */
#ifndef CADRE_SCRIPTED_DRAFT_H
#define CADRE_SCRIPTED_DRAFT_H

#include "base/arena.h"
#include "base/buf.h"
#include "scripted/asked.h"
#include "scripted/script.h"

#define DRAFT_MAX (64u << 20) /* bytes of text, and of a whole answer */
#define DRAFT_ID_HEX 24
#define DRAFT_ID_SIZE (16 + DRAFT_ID_HEX)

struct draft_call {
    char id[DRAFT_ID_SIZE];
    struct str name, arguments;
    const struct js *extra; /* its extra_content; NULL: none */
};

struct draft {
    struct arena arena;
    char id[DRAFT_ID_SIZE];
    struct buf thinking, text;
    const struct js *reasoning; /* NULL: none */
    struct draft_call *calls;
    size_t call_count;
    enum { DRAFT_WHOLE, DRAFT_CUT } state; /* cut: it met the output limit */
    struct str finish;                     /* in Chat Completions' words, or the script's */
    enum script_usage usage_kind;
    const struct js *usage;                   /* where the script gives it */
    int64_t prompt_tokens, completion_tokens; /* 0 where none are reported */
};

/* Ids begin as the API of the request has them. Check text.failed and thinking.failed. */
void draft_make(struct draft *draft, const struct script *script, const struct asked *asked,
                const struct script_match *match);
void draft_release(struct draft *draft);
/* Takes the next of `chunks` pieces of a text with `total` bytes from the front of *text; pieces end between characters
 * and have at least four bytes. */
struct str draft_piece(struct str *text, size_t total, size_t chunks);

#endif
