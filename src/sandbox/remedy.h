/* What a person can do on this machine where namespaces cannot be made: chosen by what the machine says of itself. */
#ifndef CADRE_SANDBOX_REMEDY_H
#define CADRE_SANDBOX_REMEDY_H

#include "base/buf.h"

/* Appends one sentence or more. root: "" for this machine; a directory for tests. */
void remedy_namespaces(const char *root, struct buf *out);

#endif
