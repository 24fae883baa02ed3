/* The output items of a Responses answer in the making: text, calls and reasoning, in the order in which they began. Pure.
 *
 * An answer says everything up to four times: in deltas, in a part that is done, in an item that is done and in the final
 * response. Servers leave out some of these, number items as they like and give them new ids. An item is found by its index,
 * else by the call's id, else by its turn; what came twice counts once. Doubt is resolved so that text or a call is kept
 * once rather than repeated. */
#ifndef CADRE_MODEL_RESPONSES_ITEMS_H
#define CADRE_MODEL_RESPONSES_ITEMS_H

#include "base/json.h"
#include "model/decoder.h"

#define RESPONSES_ITEMS_MAX 1024 /* in one answer */
#define RESPONSES_NO_INDEX (-1)

struct responses_item; /* one in the making */

/* Everything here belongs to the items; failures go to the decoder. */
struct responses_items {
    struct decoder *decoder;
    struct responses_item *list;
    size_t count, capacity;
    size_t call_count;
    bool text_streamed;      /* before the final response */
    bool all_calls_streamed; /* the final response has no more of them */
};

/* What an item's object is a part of. */
enum item_moment {
    ITEM_ADDED, /* it begins, and may hold nothing yet */
    ITEM_DONE,  /* all of it */
    ITEM_FINAL, /* all of it, in the final response */
};

/* How the answer ended. */
enum items_ending {
    ITEMS_UNENDED,    /* nothing said so */
    ITEMS_WHOLE,      /* completed */
    ITEMS_INCOMPLETE, /* cut: only calls count that are known to be whole */
};

void responses_items_init(struct responses_items *items, struct decoder *decoder);
void responses_items_release(struct responses_items *items);
/* A piece of a message's text. */
void responses_items_text(struct responses_items *items, int64_t index, int64_t part,
                          struct str piece);
/* The whole text of one part of a message. */
void responses_items_whole_text(struct responses_items *items, int64_t index, int64_t part,
                                struct str text);
/* A piece of a call's arguments, and all of them (a text, or the object itself). */
void responses_items_arguments(struct responses_items *items, int64_t index, struct str item_id,
                               struct str piece);
void responses_items_whole_arguments(struct responses_items *items, int64_t index,
                                     struct str item_id, const struct js *arguments);
/* An item's object. Kinds that are not known are passed over. */
void responses_items_read(struct responses_items *items, int64_t index, const struct js *item,
                          enum item_moment moment);
/* The list of the final response: fills in what the stream left out. */
void responses_items_final(struct responses_items *items, const struct js *output);

/* Whether some call is known to be cut. */
bool responses_items_any_cut(const struct responses_items *items);
/* The calls that count, in order; the list is the decoder's arena's. A stream that just stops inside a call fails. */
size_t responses_items_drafts(struct responses_items *items, enum items_ending ending,
                              struct call_draft **drafts);
/* The extras for the same calls (responses_extras.h), in the decoder's arena; STR_NONE: nothing to echo. */
struct str responses_items_extras(const struct responses_items *items, enum items_ending ending);

#endif
