/* Rules of single vendors and model families, beyond what every server of an API checks. Pure:
 * any thread. */
#ifndef CADRE_SCRIPTED_VENDOR_H
#define CADRE_SCRIPTED_VENDOR_H

#include "scripted/asked.h"

#define VENDOR_MISTRAL_ID                                                                          \
    9 /* characters of an id of a call, where the script has "ids": "mistral" */

/* Parameters that the script's model refuses by name ("refuses"), whatever the API. */
int vendor_refuses(const struct asked *asked, struct refusal *refusal) NODISCARD;
/* Chat Completions: parameters that the model's family does not take, ids of the script's shape,
 * and roles that alternate where the script has such a template. */
int vendor_chat(const struct asked *asked, const struct script *script,
                struct refusal *refusal) NODISCARD;
/* Messages: thinking that the model does not know, and loops of calls that must begin with
 * thoughts. */
int vendor_messages(const struct asked *asked, struct refusal *refusal) NODISCARD;

#endif
