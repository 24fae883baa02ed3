/* Which addresses of the internet are public: one table of the ranges that are not. Pure; any thread. */
#ifndef CADRE_NET_ADDRESS_H
#define CADRE_NET_ADDRESS_H

#include <sys/socket.h>

#include "base/buf.h"

/* NULL for a public address; otherwise what it is, in words: "a loopback address". An IPv6 address that carries an IPv4 one
 * (mapped, translated, 6to4, Teredo) is what the carried one is. Families other than IPv4 and IPv6 are never public. */
const char *address_not_public(const struct sockaddr *address);
/* The address as text, without a port. */
void address_print(const struct sockaddr *address, struct buf *out);

#endif
