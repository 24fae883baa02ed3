/* How long an answer may be. A request reserves what its answer may cost at most, so the model's own limit would make
 * agents wait for each other while hardly anything is spent. The limit that is sent follows the answers of this run
 * instead, by model and role: several times the longest one, and twice the limit after an answer that a learnt limit cut
 * off. Such an answer is not part of the conversation, and the same request is made again. Pure. */
#include "core/contract/budget.h"
#include "core/run/state.h"

#define OUTPUT_LEAST 4096 /* no learnt limit is lower */
#define OUTPUT_FIRST 8192 /* of children, while nothing is known of the model */
#define OUTPUT_TIMES 4    /* the longest answer so far */

/* Tokens that reasoning must have beside the answer, by effort. Servers that take a number of tokens for it get the
 * same one with every limit from here on (model/anthropic_render.c): a request that changed it would miss the cache. */
static const struct {
    const char *effort;
    int64_t least; /* 0: no lower limit than the model's own */
} efforts[] = {{"none", OUTPUT_LEAST},
               {"minimal", OUTPUT_LEAST},
               {"low", 8192},
               {"medium", 16384},
               {"high", 0},
               {"xhigh", 0},
               {"max", 0}};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct str role_of(const struct agent *agent)
{
    return agent->no == 0 ? STR("root") : agent->contract.agent.role;
}

static struct learnt_output *find(const struct run *run, const struct agent *agent,
                                  struct str model)
{
    for (size_t i = 0; i < run->output_count; i++) {
        struct learnt_output *output = &run->outputs[i];
        if (str_eq(output->model, model) && str_eq(output->role, role_of(agent)))
            return output;
    }
    return NULL;
}

static int64_t longest_of(const struct learnt_output *output)
{
    return larger(output->longest * OUTPUT_TIMES, output->doubled);
}

/* What agents of other roles wrote says something about the first answer of a role. */
static int64_t other_roles(const struct run *run, struct str model)
{
    int64_t limit = 0;
    for (size_t i = 0; i < run->output_count; i++)
        if (str_eq(run->outputs[i].model, model))
            limit = larger(limit, longest_of(&run->outputs[i]));
    return limit > 0 ? limit : OUTPUT_FIRST;
}

int64_t output_learnt(const struct run *run, const struct agent *agent, struct str model,
                      int64_t most)
{
    const struct learnt_output *known = find(run, agent, model);
    struct str effort = agent->contract.model.params.effort;
    int64_t least = OUTPUT_LEAST;
    for (size_t i = 0; effort.p != NULL && i < sizeof efforts / sizeof efforts[0]; i++)
        if (str_is(effort, efforts[i].effort))
            least = efforts[i].least;
    if (least == 0)
        return most;
    int64_t limit = larger(least, known != NULL    ? longest_of(known)
                                  : agent->no == 0 ? most / 2 /* nobody waits for it yet */
                                                   : other_roles(run, model));
    return limit < most ? limit : most;
}

/* Reported output well below the limit says that something else ended the answer: the window, or a limit of the server. */
bool output_cut_early(const struct agent *agent, const struct event *e)
{
    return e->version >= 4 && agent->request_most > agent->request_output &&
           str_is(e->completeness, "cut") &&
           (e->output_tokens == EVENT_ABSENT || e->output_tokens >= agent->request_output / 4 * 3);
}

void output_learn(struct run *run, const struct agent *agent, const struct event *e, int64_t tokens)
{
    struct learnt_output *output = find(run, agent, agent->model_asked);
    if (e->version < 4)
        return;
    if (output == NULL) {
        run->outputs =
            grow(run->outputs, run->output_count, &run->output_capacity, sizeof *run->outputs);
        output = &run->outputs[run->output_count++];
        *output = (struct learnt_output){.model = arena_copy(&run->arena, agent->model_asked),
                                         .role = arena_copy(&run->arena, role_of(agent))};
    }
    /* No answer is longer than its limit: a server that reports more does not tell the truth. */
    if (agent->request_output > 0 && tokens > agent->request_output)
        tokens = agent->request_output;
    if (output_cut_early(agent, e))
        output->doubled = larger(output->doubled, agent->request_output * 2);
    else
        output->longest = larger(output->longest, tokens);
}

void outputs_print(const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < run->output_count; i++)
        buf_printf(out, "output %.*s %.*s longest=%lld doubled=%lld\n",
                   STR_FMT(run->outputs[i].model), STR_FMT(run->outputs[i].role),
                   (long long)run->outputs[i].longest, (long long)run->outputs[i].doubled);
}
