/* Files that were read for a call, as the input brings them, the log has them and the run keeps them. */
#ifndef CADRE_CORE_RUN_GATHERED_H
#define CADRE_CORE_RUN_GATHERED_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct gathered_file {
    struct str path;
    struct str text, error; /* one of them is there */
    bool missing;           /* the error: there is no such file */
    uint64_t same; /* of a logged fact, in place of the text: the event that has it; else 0 */
};

struct gathering {
    uint64_t seq; /* of the event; 0 before it is logged */
    struct gathered_file *files;
    size_t count;
};

/* From the JSON array of an event; everything lives in the arena. */
int gathering_parse(struct arena *arena, struct str json, struct gathering *out, struct err *err);

#endif
