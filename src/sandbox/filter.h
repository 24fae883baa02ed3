/* The seccomp filters, each compiled once. */
#ifndef CADRE_SANDBOX_FILTER_H
#define CADRE_SANDBOX_FILTER_H

#include "base/buf.h"
#include "base/err.h"

/* A refusal is told to the launcher, which records it and answers; see launcher_refusals.c. */
enum filter_kind {
    FILTER_USUAL,
    FILTER_BARE,    /* without namespaces: what changes a file's metadata is told too */
    FILTER_OFFLINE, /* the same, and sockets of the internet are refused */
    FILTER_SILENT,  /* as USUAL, but the kernel refuses: where the launcher cannot be told */
    FILTER_OWN,     /* of the launcher itself, which changes metadata for commands */
    FILTER_KINDS
};

/* Appends the program as the kernel takes it: an array of struct sock_filter. */
NODISCARD int filter_compile(enum filter_kind kind, struct buf *program, struct err *err);

#endif
