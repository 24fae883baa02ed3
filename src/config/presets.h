/* Servers that are known by name: `provider: groq` needs no entry in llm.providers, and an entry with a preset's name
 * takes from it what it does not set. One table. Pure; any thread. */
#ifndef CADRE_CONFIG_PRESETS_H
#define CADRE_CONFIG_PRESETS_H

#include "base/str.h"

struct preset {
    const char *name, *api;
    const char *base_url;     /* NULL: each user has another one */
    const char *key_variable; /* NULL: no key is needed */
    const char *model; /* used when only the key's variable is set; NULL: one must be named */
    enum { PRESET_HOSTED, PRESET_LOCAL } kind;
    const char *address; /* without base_url: the form of an address, for messages */
};

extern const struct preset presets[];
extern const size_t preset_count;

const struct preset *preset_find(struct str name); /* NULL: none */
/* The preset whose server has this address's host; NULL: none. */
const struct preset *preset_of_host(struct str base_url);
/* The host of an http or https address, without user and port; STR_NONE: not an address. */
struct str url_host(struct str url);

#endif
