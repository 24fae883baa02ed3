/* What the user allowed for always in a project, for commands that list it. Blocking. */
#ifndef CADRE_CLI_ALLOWED_H
#define CADRE_CLI_ALLOWED_H

#include "config/always.h"

struct allowed {
    struct arena arena;
    struct always_record *records;
    size_t count;
};

void allowed_open(struct allowed *allowed, const struct config *config, struct str workspace);
void allowed_release(struct allowed *allowed);
/* Appends a line for each, below a title; nothing where there are none. */
void allowed_text(const struct allowed *allowed, struct buf *out);
/* Adds an array. */
void allowed_json(const struct allowed *allowed, struct jw *w);

#endif
