/* A run's questions between the engine and the person: previews, answers, and what was allowed for always in this project. Loop
 * thread. */
#ifndef CADRE_CLI_ASKING_H
#define CADRE_CLI_ASKING_H

#include "base/map.h"
#include "cli/question.h"
#include "config/config.h"
#include "engine/engine.h"

struct asking {
    struct questions questions;
    struct output *output;
    uv_loop_t *loop;
    struct engine *engine; /* set when it is there */
    struct id run_id;
    struct str trust_directory;
    struct map always; /* names of what was allowed for always in projects */
    /* Hashes of what was allowed for the rest of this run here: the run itself learns of it a moment later. */
    struct map allowed;
    struct str workspace;
    struct arena arena;
    /* As in struct questions; set by the owner. */
    enum question_hangup (*hangup)(void *user);
    void *user;
};

/* Reads what was allowed for always. Blocks: before the loop runs. */
void asking_init(struct asking *asking, struct output *output, uv_loop_t *loop,
                 const struct config *config);
/* After questions_stop and the last turn of the loop. */
void asking_release(struct asking *asking);
/* The workspace of the run, which "always in this project" is for. Again: changes nothing. */
void asking_workspace(struct asking *asking, struct str path);
/* engine_watch's `preview`. */
void asking_preview(struct asking *asking, uint32_t agent_no, struct str call_id,
                    const struct preview *preview, enum preview_standing standing);

#endif
