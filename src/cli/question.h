/* Questions to the person at the terminal: "may this call be made?"; where no tool is named, "may this agent
 * go on?"; where the id is that of a plan's step, "may this step start?"; and where the tool is ask_user,
 * whatever the agent asks. They are put one after the other, below the live tree where there is one; the answer is a typed line.
 *
 * What a call or a step would do (its preview) is asked for when the question is put and again when its turn has come, so that what is shown is
 * true then, and so that no more than one preview is held. A call that was allowed for always does not wait for its turn. Loop thread. */
#ifndef CADRE_CLI_QUESTION_H
#define CADRE_CLI_QUESTION_H

#include <uv.h>

#include "base/arena.h"
#include "cli/keys.h"
#include "cli/output.h"
#include "cli/question_answer.h"
#include "cli/question_view.h"
#include "cli/screen.h"
#include "core/contract/permission.h"

#define QUESTIONS_MAX 4096

struct question {
    uint32_t agent_no;
    struct str call_id, tool, arguments, agent;
    enum question_kind kind;
    enum {
        QUESTION_NEW,     /* its preview is on the way, for the first time */
        QUESTION_QUEUED,  /* it waits for its turn */
        QUESTION_LOOKING, /* it is its turn, and its preview is on the way */
        QUESTION_SHOWN,
    } state;
    struct arena arena;
    struct preview *preview; /* of the one that is shown, in its arena */
};

enum question_hangup { HANGUP_IGNORED, HANGUP_PARKS };

struct questions {
    struct output *output;
    struct screen *screen; /* the live tree; NULL: there is none, and questions are printed */
    /* The terminal, opened anew: polling must not make the shell's own descriptor non-blocking. */
    int fd;
    uv_poll_t input;
    enum {
        INPUT_CLOSED,
        INPUT_IDLE,
        INPUT_READING,
        INPUT_ENDED,  /* nobody answers any more */
        INPUT_HUNG_UP /* the terminal is gone, and the run parks: its questions wait */
    } state;
    struct question **waiting;
    size_t count, capacity;
    struct keys_line line;
    char notice[160];
    struct question_view view; /* of the first one, while it is shown */
    /* Asks for the preview of a call: questions_previewed follows, unless nobody waits for it any more. */
    void (*look)(void *user, const struct question *question);
    /* choice: YES, NO, SESSION or PROJECT. */
    void (*answer)(void *user, const struct question *question,
                   const struct question_answer *answer);
    /* Nobody will answer it. */
    void (*leave)(void *user, const struct question *question);
    /* The terminal is gone. */
    enum question_hangup (*hangup)(void *user);
    /* To a question of ask_user; STR_NONE: nobody will answer it. */
    void (*reply)(void *user, const struct question *question, struct str text);
    void *user;
};

/* The callbacks, user and output are set by the caller before. There must be a terminal (questions_asker). */
int questions_start(struct questions *questions, uv_loop_t *loop, struct err *err) NODISCARD;
/* Copies everything. Where nobody is there, it is left unanswered at once; so are more than QUESTIONS_MAX. */
void questions_put(struct questions *questions, uint32_t agent_no, struct str agent,
                   struct str call_id, struct str tool, struct str arguments);
/* What `look` asked for. ALLOWED: the same was allowed for always, and the question is answered without the person. */
enum question_standing { QUESTION_UNDECIDED, QUESTION_ALLOWED };
void questions_previewed(struct questions *questions, uint32_t agent_no, struct str call_id,
                         const struct preview *preview, enum question_standing standing);
/* The call no longer waits (cancelled, timed out): its question goes away. */
void questions_drop(struct questions *questions, struct str call_id);
void questions_stop(struct questions *questions);
/* Whom a root that is started here can ask. */
enum asker questions_asker(const struct output *output);

#endif
