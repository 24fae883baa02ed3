/* The launcher as a descriptor that can be executed: a sealed copy in memory of what is embedded in this program. */
#ifndef CADRE_SANDBOX_IMAGE_H
#define CADRE_SANDBOX_IMAGE_H

#include "base/err.h"

/* A descriptor of the caller's, or -1. */
NODISCARD int image_open(struct err *err);

#endif
