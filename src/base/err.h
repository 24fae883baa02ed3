/* Errors are values. A function that can fail returns 0 or -1 and fills the `struct err *` it was given
 * (its last parameter, never NULL). The class decides what the program does next and its exit code; the
 * message is written for the person who reads it: what, where, what to do. No ownership: text is inline. */
#ifndef CADRE_BASE_ERR_H
#define CADRE_BASE_ERR_H

#include "base/str.h"

#define ERR_CLASSES(X)                                                                             \
    X(NONE, "none")           /* no error */                                                       \
    X(USAGE, "usage")         /* the caller asked for something that makes no sense */             \
    X(CONFIG, "config")       /* a config file, the environment or the store's version is wrong */ \
    X(RETRY, "retry")         /* may work when tried again: network, 429, 5xx, busy */             \
    X(DENIED, "denied")       /* a contract, a mode or a wall says no */                           \
    X(BUDGET, "budget")       /* calls, tokens or dollars are used up */                           \
    X(TIMEOUT, "timeout")     /* a deadline passed */                                              \
    X(CANCELLED, "cancelled") /* somebody stopped it */                                            \
    X(NOT_FOUND, "not_found") /* an unknown run, agent, file, model */                             \
    X(IO, "io")               /* the machine refused: disk full, read-only, permission */          \
    X(PROVIDER, "provider")   /* a model server refused for good: 400, 401, 403, 404 */            \
    X(CORRUPT, "corrupt")     /* stored data does not verify or parse */                           \
    X(BUG, "bug")             /* cadre broke its own rule */

enum err_class {
#define X(name, text) ERR_##name,
    ERR_CLASSES(X)
#undef X
        ERR_CLASS_COUNT
};

struct err {
    enum err_class class;
    char message[1024];
};

#define ERR_INIT ((struct err){.class = ERR_NONE})
#define NODISCARD __attribute__((warn_unused_result))

/* Sets the class and the formatted message; always returns -1, so that `return err_set(…)` reads well. */
int err_set(struct err *err, enum err_class class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts context in front of the message: "while opening the store: …". Keeps the class; returns -1. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text of a class ("denied"), and back; an unknown text is ERR_BUG. */
const char *err_class_text(enum err_class class);
enum err_class err_class_parse(struct str text);

#endif
