/* See asking.h. Records are written on a thread of the pool. */
#include "cli/asking.h"

#include <stdlib.h>

#include "config/always.h"

#define GIST_MAX 200 /* bytes */

/* --- allowed for always in this project ------------------------------------------------------------------------------ */

struct keeping {
    uv_work_t work;
    struct arena arena;
    struct str directory;
    struct always_record record;
    struct asking *asking;
    struct err err;
};

static void keep_work(uv_work_t *work)
{
    struct keeping *keeping = work->data;
    if (always_keep(keeping->directory, &keeping->record, &keeping->err) != 0)
        return;
}

static void keep_done(uv_work_t *work, int status)
{
    struct keeping *keeping = work->data;
    struct screen *screen = keeping->asking->questions.screen;
    if (keeping->err.class != ERR_NONE) {
        if (screen != NULL)
            screen_pause(screen);
        output_error(keeping->asking->output, "%s", keeping->err.message);
        if (screen != NULL)
            screen_resume(screen);
    }
    arena_release(&keeping->arena);
    free(keeping);
}

static void keep(struct asking *asking, const struct preview *preview, struct str shown)
{
    char name[ALWAYS_NAME];
    struct keeping *keeping = calloc(1, sizeof *keeping);
    if (keeping == NULL)
        abort();
    struct arena *arena = &keeping->arena;
    struct str gist = preview->count > 0 ? preview->parts[0].text : STR("");
    arena_init(arena);
    keeping->asking = asking;
    keeping->work.data = keeping;
    keeping->directory = arena_copy(arena, asking->trust_directory);
    keeping->record = (struct always_record){.workspace = arena_copy(arena, asking->workspace),
                                             .tool = arena_copy(arena, preview->tool),
                                             .gist = arena_copy(arena, utf8_cut(gist, GIST_MAX)),
                                             .shown = arena_copy(arena, shown)};
    always_name(asking->workspace, shown, name);
    map_set(&asking->always, str_from(name), asking);
    if (uv_queue_work(asking->loop, &keeping->work, keep_work, keep_done) != 0)
        abort();
}

static bool is_allowed_here(const struct asking *asking, struct str shown)
{
    char name[ALWAYS_NAME];
    always_name(asking->workspace, shown, name);
    return asking->workspace.n > 0 && map_get(&asking->always, str_from(name)) != NULL;
}

/* --- between engine and person ----------------------------------------------------------------------------------------- */

static void send_answer(struct asking *asking, const struct question *question,
                        const struct engine_answer *answer)
{
    struct err err = ERR_INIT;
    if (engine_answer(asking->engine, id_str(&asking->run_id), question->agent_no,
                      question->call_id, answer, &err) != 0)
        output_error(asking->output, "%s", err.message);
}

static void on_answer(void *user, const struct question *question,
                      const struct question_answer *said)
{
    struct asking *asking = user;
    const struct preview *preview = question->preview;
    struct engine_answer answer = {.answer = said->choice == CHOICE_NO ? ENGINE_NO : ENGINE_YES,
                                   .always = said->choice == CHOICE_SESSION   ? ENGINE_SESSION
                                             : said->choice == CHOICE_PROJECT ? ENGINE_PROJECT
                                                                              : ENGINE_ONCE,
                                   .reason = said->reason,
                                   .shown = preview != NULL ? &preview->shown : NULL};
    if (answer.always != ENGINE_ONCE && preview != NULL) {
        char hex[HASH_HEX + 1];
        hash_hex(&preview->shown, hex);
        map_set(&asking->allowed, str_from(hex), asking);
        if (answer.always == ENGINE_PROJECT)
            keep(asking, preview, (struct str){hex, HASH_HEX});
    }
    send_answer(asking, question, &answer);
}

static void on_leave(void *user, const struct question *question)
{
    const struct engine_answer answer = {.answer = ENGINE_NOBODY};
    send_answer(user, question, &answer);
}

static void on_reply(void *user, const struct question *question, struct str text)
{
    struct asking *asking = user;
    struct err err = ERR_INIT;
    if (engine_reply(asking->engine, id_str(&asking->run_id), question->agent_no, question->call_id,
                     text, &err) != 0)
        output_error(asking->output, "%s", err.message);
}

/* A call that waits no longer has events that take its question away. */
static void on_look(void *user, const struct question *question)
{
    struct asking *asking = user;
    struct err ignored = ERR_INIT;
    if (engine_preview(asking->engine, id_str(&asking->run_id), question->agent_no,
                       question->call_id, &ignored) != 0)
        return;
}

void asking_preview(struct asking *asking, uint32_t agent_no, struct str call_id,
                    const struct preview *preview, enum preview_standing standing)
{
    char hex[HASH_HEX + 1];
    hash_hex(&preview->shown, hex);
    bool allowed = standing == STANDING_ALLOWED ||
                   map_get(&asking->allowed, str_from(hex)) != NULL ||
                   is_allowed_here(asking, (struct str){hex, HASH_HEX});
    questions_previewed(&asking->questions, agent_no, call_id, preview,
                        allowed ? QUESTION_ALLOWED : QUESTION_UNDECIDED);
}

void asking_workspace(struct asking *asking, struct str path)
{
    if (asking->workspace.n == 0)
        asking->workspace = arena_copy(&asking->arena, path);
}

static enum question_hangup on_hangup(void *user)
{
    const struct asking *asking = user;
    return asking->hangup(asking->user);
}

void asking_init(struct asking *asking, struct output *output, uv_loop_t *loop,
                 const struct config *config)
{
    *asking = (struct asking){.output = output, .loop = loop};
    asking->questions = (struct questions){.output = output,
                                           .look = on_look,
                                           .answer = on_answer,
                                           .leave = on_leave,
                                           .reply = on_reply,
                                           .hangup = on_hangup,
                                           .user = asking};
    arena_init(&asking->arena);
    map_init(&asking->always);
    map_init(&asking->allowed);
    asking->trust_directory = arena_copy(&asking->arena, config->trust_directory);
    always_load(config, &asking->always);
}

void asking_release(struct asking *asking)
{
    map_release(&asking->always);
    map_release(&asking->allowed);
    arena_release(&asking->arena);
}
