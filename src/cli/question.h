/* Questions to the person at the terminal: "may this tool run?"; where no tool is named, "may this agent
 * go on?"; where the tool is plan, "may this step start?"; and where it is ask_user, whatever the agent
 * asks. They are put one after the other; the answer is a line on stdin. Loop thread. */
#ifndef CADRE_CLI_QUESTION_H
#define CADRE_CLI_QUESTION_H

#include <uv.h>

#include "base/arena.h"
#include "cli/output.h"
#include "core/contract/permission.h"

#define QUESTIONS_MAX 256

struct question {
    uint32_t agent_no;
    struct str call_id, tool, arguments, agent;
    struct arena arena;
};

enum question_answer { QUESTION_NO, QUESTION_YES };

struct questions {
    struct output *output;
    /* The terminal, opened anew: polling must not make the shell's own descriptor non-blocking. */
    int fd;
    uv_poll_t input;
    enum { INPUT_CLOSED, INPUT_IDLE, INPUT_READING, INPUT_ENDED } state;
    struct question *waiting[QUESTIONS_MAX];
    size_t count;
    char line[4096]; /* a terminal hands over no longer ones */
    size_t line_length;
    /* Before a question is shown and after the last one is answered: the display makes room. */
    void (*begin)(void *user);
    void (*end)(void *user);
    void (*answer)(void *user, const struct question *question, enum question_answer answer);
    /* To a question of ask_user; STR_NONE: nobody will answer it. */
    void (*reply)(void *user, const struct question *question, struct str text);
    void *user;
};

/* The callbacks, user and output are set by the caller before. stdin must be a terminal. */
int questions_start(struct questions *questions, uv_loop_t *loop, struct err *err) NODISCARD;
/* Copies everything. More than QUESTIONS_MAX at once are answered with no, or not at all. */
void questions_put(struct questions *questions, uint32_t agent_no, struct str agent,
                   struct str call_id, struct str tool, struct str arguments);
/* The call no longer waits (cancelled, timed out): its question goes away. */
void questions_drop(struct questions *questions, struct str call_id);
/* Drops all and closes the handle; the loop must run once more. */
void questions_stop(struct questions *questions);
/* Whether a typed line says yes: "y" or "yes" in any case, blanks around it. All else is a no. */
enum question_answer question_read(struct str line);
/* What a typed line says to a question of ask_user with these arguments: the choice whose number it is, else the
 * line itself without blanks around it. Lives in the arena. */
struct str question_reply(struct arena *arena, struct str arguments, struct str line);
/* Whom a root that is started here can ask. */
enum asker questions_asker(const struct output *output);

#endif
