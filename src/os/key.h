/* Keys that come from environment variables. Any thread, while nobody changes the environment. */
#ifndef CADRE_OS_KEY_H
#define CADRE_OS_KEY_H

#include "base/str.h"

/* The key in this variable, without white space and line breaks around it, as `KEY=$(cat file)`
 * and files written by editors leave them. Empty where there is none. A view of the environment. */
struct str key_from_environment(struct str variable);

#endif
