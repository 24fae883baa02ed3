/* The seccomp filter, compiled once. */
#ifndef CADRE_SANDBOX_FILTER_H
#define CADRE_SANDBOX_FILTER_H

#include "base/buf.h"
#include "base/err.h"

/* OFFLINE: without a network namespace, sockets of the internet are refused too. */
enum filter_kind { FILTER_USUAL, FILTER_OFFLINE, FILTER_KINDS };

/* Appends the program as the kernel takes it: an array of struct sock_filter. */
NODISCARD int filter_compile(enum filter_kind kind, struct buf *program, struct err *err);

#endif
