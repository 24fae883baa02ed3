/* Host rules: which hosts may be reached, as text that a contract shows. A rule is one of
 *
 *   registry.example   that host
 *   *.example.org      every host beneath that name, at any depth; not example.org itself
 *   *                  every host
 *
 * in small letters, without a dot at the end. A rule is about names alone: an address (127.0.0.1, 0x7f000001, [::1], 2130706433)
 * is not a name, so no rule holds for one. Pure; any thread. */
#ifndef CADRE_BASE_HOSTRULE_H
#define CADRE_BASE_HOSTRULE_H

#include "base/str.h"

enum { HOST_NAME_MAX_BYTES = 253, HOST_LABEL_MAX = 63 };

/* Is this a host's name in small letters? What a resolver would take for an address is not: a last label of digits, or of 0x and
 * hexadecimal digits. */
bool host_name_ok(struct str host);
/* The same in any case, written in small letters to `out`. False: it is not a name. */
bool host_name_fold(struct str host, char out[HOST_NAME_MAX_BYTES + 1]);
/* Does the text look like an address, in any of the ways in which resolvers read one? For messages. */
bool host_is_address(struct str host);

bool hostrule_ok(struct str rule);
/* May this host be reached? */
bool hostrule_holds(struct str rule, struct str host);
/* Is every host that `a` holds for held by `b` too? */
bool hostrule_within(struct str a, struct str b);

#endif
