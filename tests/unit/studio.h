/* For the tests of recording and replaying: a request with its conversation, answers, an inner port that answers what the test
 * says, and a studio: a folder, a loop and what the outer calls got. */
#ifndef CADRE_TESTS_UNIT_STUDIO_H
#define CADRE_TESTS_UNIT_STUDIO_H

#include <uv.h>

#include "model/replay.h"

#define KEY "canary-key-0123456789"

/* A conversation of one turn: prompt, task, the model's call, and what came back. */
struct talk {
    struct tool_call call;
    struct message messages[4];
    struct model_conversation conversation;
    struct model_tool tool;
    struct model_request request;
};

void talk_init(struct talk *talk, const char *task);

/* A reply with one call and everything else that a reply can have, and a check that it is that one. */
struct model_reply studio_reply(const char *text);
void studio_check_reply(const struct model_reply *reply, const char *text);
struct model_failure studio_failure(enum err_class class);

/* One outer call, and what became of it. */
struct asked {
    struct model_call *call;
    bool busy; /* inside start or abort */
    int done;
    bool replied;
    char text[256]; /* of the reply, or the failure's message */
    char streamed[256];
    char partial[64];
    enum err_class class;
    enum request_sent sent;
    int64_t retry_after_ms;
};

struct studio {
    char folder[64], path[128], url[160];
    uv_loop_t loop;
    struct model_client *inner; /* the port that is recorded */
    struct record *record;
    struct replay_shelf shelf;
    struct model_port port; /* the one that is asked */
    int warnings;
    char warning[512]; /* the last one */
    struct asked asked[16];
    size_t count;
};

int studio_setup(void **state);
int studio_teardown(void **state);
/* The port that is asked from now on records what the inner one answers, or replays. */
void studio_record(struct studio *studio);
void studio_replay(struct studio *studio);
void studio_close(struct studio *studio); /* frees it, and ends the recording */
struct asked *studio_ask(struct studio *studio, const struct model_request *request);
/* The oldest call of the inner port ends. */
void studio_answer(struct studio *studio, const struct model_reply *reply,
                   const struct model_failure *failure);
bool studio_aborted(const struct studio *studio); /* the oldest call */
size_t studio_freed(const struct studio *studio);
void studio_settle(struct studio *studio); /* runs the loop until nothing is left to do */
/* One exchange more in the file that studio_record opened. */
void studio_record_one(struct studio *studio, const char *task, uint32_t agent_no, int64_t turn,
                       const char *answer);
struct asked *studio_replay_one(struct studio *studio, const char *task, uint32_t agent_no,
                                int64_t turn);
/* Whole files of less than 64 KB. */
char *studio_read(const char *path); /* to be freed */
void studio_write(const char *path, const char *text);

#endif
