/* Private to the engine: one call of a tool, or another look at files, on a thread that may block. work.c starts it and takes what
 * came of it, on the loop; perform.c does it. */
#ifndef CADRE_ENGINE_WORK_H
#define CADRE_ENGINE_WORK_H

#include "engine/live.h"

struct work {
    struct flight flight;   /* first: they are cast into each other */
    uv_work_t request;      /* on libuv's pool, or */
    struct crew_job job;    /* on a thread of the crew */
    struct board_note note; /* what it says while it works */
    struct arena arena;
    enum effect_kind kind;
    const struct tool_port *port;
    const struct tool *tool;
    struct str arguments;
    struct str problem; /* why there is no workspace */
    struct tool_context context;
    struct tool_prepared prepared;
    atomic_bool cancelled;
    /* what came of it */
    struct input input;
    struct buf text;
    struct buf *texts; /* of gathered files, one each */
};

/* Any thread, once. */
void work_perform(struct work *work);

#endif
