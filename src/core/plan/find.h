/* JSON values inside of other text: what a model wraps in prose or a code fence, with the slips that models make. Internal to
 * core/plan. */
#ifndef CADRE_CORE_PLAN_FIND_H
#define CADRE_CORE_PLAN_FIND_H

#include "base/json.h"

struct finder {
    struct str text;
    size_t at;     /* where the search goes on */
    size_t broken; /* up to here the text was part of something that is no JSON */
    size_t
        open; /* brackets so far that nothing closes: the text was cut within them, or is no JSON */
    size_t work; /* bytes that may still be looked at */
};

void finder_init(struct finder *finder, struct str text);
/* The next object or list, outermost first, or NULL; the search goes on behind it. *whole: it is not a part of something larger that
 * is no JSON, or that has no end. Free with js_free. */
struct js *finder_next(struct finder *finder, bool *whole);

#endif
