/* What git reads of a tree's repository, for programs behind walls. */
#ifndef CADRE_GIT_RECORDS_H
#define CADRE_GIT_RECORDS_H

#include "git/call.h"
#include "port/sandbox.h"

void git_records(struct arena *arena, const struct git_site *site, struct sandbox_records *records);

#endif
