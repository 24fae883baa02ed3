/* port/fetch.h on the HTTP client: a loop of its own that runs until all exchanges have ended. */
#ifndef CADRE_NET_FETCH_H
#define CADRE_NET_FETCH_H

#include "port/fetch.h"

fetch_fn fetch_all;

#endif
