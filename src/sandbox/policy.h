/* From walls and a command to the launcher's message. */
#ifndef CADRE_SANDBOX_POLICY_H
#define CADRE_SANDBOX_POLICY_H

#include "base/arena.h"
#include "port/sandbox.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

struct policy {
    const struct sandbox_options *options;
    const struct sandbox_walls *walls;
    const struct sandbox_command *command;
    enum launch_life life;
    struct str filter, silent_filter, own_filter; /* compiled; message.h */
    const char *tmp;                              /* the private /tmp as the command sees it */
    uint32_t disk_system;                         /* message.h */
    struct arena *arena;
};

/* Fills the message and makes the paths to write to that are missing; the caller releases both, also after -1. */
NODISCARD int policy_print(const struct policy *policy, struct guards *guards, struct buf *message,
                           struct err *err);

#endif
