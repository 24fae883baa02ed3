/* What the commands of an agent reach, as the contract's text:
 *
 *   none                  nothing but themselves
 *   relay                 one socket of the operator's
 *   allow NAME NAME …     hosts by name (base/hostrule.h), through cadre's own proxy; sorted, none held by another
 *   full                  what the machine reaches
 *
 * `none` lies within all, everything lies within `full`. `relay` and names are not comparable, since nobody knows what the
 * operator's socket leads to: neither lies within the other, and what both allow is nothing. Pure; any thread. */
#ifndef CADRE_CORE_CONTRACT_NETWORK_H
#define CADRE_CORE_CONTRACT_NETWORK_H

#include "base/arena.h"
#include "base/str.h"

enum network { NETWORK_NONE, NETWORK_RELAY, NETWORK_NAMES, NETWORK_FULL, NETWORK_COUNT };
enum { NETWORK_NAMES_MAX = 1024 }; /* rules of one text */

#define NETWORK_EXPECTED "none, relay, full or {allow: [HOST, \"*.DOMAIN\"]}"

/* False for anything but the texts above, which leaves *network alone. */
bool network_parse(struct str text, enum network *network);
/* The text for these rules, which must be valid: without those that others hold; "none" without any. */
struct str network_of_names(struct arena *arena, const struct str *rules, size_t count);
/* A text that network_parse refuses is within nothing, and nothing is within it. */
bool network_within(struct str narrow, struct str wide);
/* What both allow: never more than either. Of a text that network_parse refuses: "none". */
struct str network_meet(struct arena *arena, struct str a, struct str b);
/* The rules of a text one after the other: the first after STR_NONE; STR_NONE at the end. */
struct str network_next_rule(struct str text, struct str last);

#endif
