/* Which addresses of the internet are public: one table of the ranges that are not. Pure; any thread. */
#ifndef CADRE_NET_ADDRESS_H
#define CADRE_NET_ADDRESS_H

#include <sys/socket.h>

#include "base/buf.h"

/* NULL for a public address; otherwise what it is, in words: "a loopback address". An IPv6 address that carries an IPv4 one
 * (mapped, translated, 6to4, Teredo) is what the carried one is. Families other than IPv4 and IPv6 are never public. */
const char *address_not_public(const struct sockaddr *address);
/* "10.0.0.7", "10.0.0.7:8443", "fd00::7", "[fd00::7]:8443"; port 0 where there is none. False: it is not an address. */
bool address_read(struct str text, struct sockaddr_storage *out);
/* The address as text, without a port. */
void address_print(const struct sockaddr *address, struct buf *out);

#endif
