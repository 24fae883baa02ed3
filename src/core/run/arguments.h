/* Arguments of delegation calls. They come from a model: each is checked for its type and answered with an error that it can use to
 * correct itself. An absent or null argument leaves *out as it is. Views live as long as the document. Pure. */
#ifndef CADRE_CORE_RUN_ARGUMENTS_H
#define CADRE_CORE_RUN_ARGUMENTS_H

#include "base/json.h"
#include "core/contract/contract.h"

int argument_text(const struct js *object, const char *key, struct str *out, struct err *err);
/* A number in a safe range after scaling, whole where the scale is 1; "5" is taken for 5. "abc", NaN and 1e300 never become
 * "unlimited". */
int argument_number(const struct js *object, const char *key, double scale, int64_t *out,
                    struct err *err);
/* "effort": one of effort_names. */
int argument_effort(const struct js *object, struct model_params *params, struct err *err);
/* An array of non-empty strings. */
int argument_list(struct arena *arena, const struct js *object, const char *key, size_t max,
                  struct list *out, struct err *err);
/* The same, also as one text with commas. */
int argument_words(struct arena *arena, const struct js *object, const char *key, size_t max,
                   struct list *out, struct err *err);
/* A number of tool calls, or an object of limits. */
int argument_budget(const struct js *object, struct limits *asked, struct err *err);
/* An argument that has no effect would mislead the model: it is told. `known`: the names with a blank between. */
int arguments_known(const struct js *object, const char *known, const char *what, struct err *err);

const char *js_kind_words(enum js_kind kind); /* "a string" */

#endif
