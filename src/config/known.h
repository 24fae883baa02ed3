/* What hosted models can take, as their vendors' documentation said at a date: window, longest answer, and whether they
 * reason. By family: later versions and dated names belong to the family that their name starts with. A model behind a
 * server of one's own is not known here: its server decides how much it gives it. Pure; any thread. */
#ifndef CADRE_CONFIG_KNOWN_H
#define CADRE_CONFIG_KNOWN_H

#include <stdint.h>

#include "base/str.h"

#define KNOWN_AS_OF "2026-11"

struct known_model {
    const char *family; /* small letters; '-' stands for '.' too */
    int64_t window, output;
    enum { REASONS_NEVER, REASONS_IF_ASKED, REASONS_ALWAYS } reasons;
};

/* The family with the longest name; NULL: not known, or not a vendor's own server. */
const struct known_model *known_model_find(struct str base_url, struct str model);
/* Whether OpenAI's own server does more for this model over Responses: it keeps reasoning between turns there. */
bool known_better_over_responses(struct str base_url, struct str model);

#endif
