/* A rig for the core: one run, inputs by hand, and what was decided as text. No pump, no clock, no files. After every decision the
 * printed events are folded into a second run, which must be equal, and nobody may wait for nobody; when the rig is taken down, the whole log is verified and
 * replayed. Every helper fails the running test by itself. */
#ifndef CADRE_TESTS_UNIT_RUN_FIXTURE_H
#define CADRE_TESTS_UNIT_RUN_FIXTURE_H

#include "check.h"
#include "core/run/run.h"
#include "sim/memory_store.h"

#define RIG_RUN "01RGRGRGRGRGRGRGRGRGRGRGRG"
#define RIG_START 1700000000000

/* A hash of what a question showed: a yes to a call names one. */
#define RIG_SHOWN "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct rig {
    struct run *run, *folded;
    struct memory_store store; /* the log */
    struct arena arena;
    struct event **events; /* all of them, as they read back from the log */
    size_t event_count, event_capacity, event_mark;
    struct effect *effects; /* strings live in the arena */
    size_t effect_count, effect_capacity, effect_mark;
    int64_t now, inbox_id;
    int64_t slept; /* how far `now` is behind wall time */
    uint64_t epoch;
    /* What the run starts with; change it before rig_start. */
    struct settings settings;
    enum broken_tries broken; /* what whoever resumes the run says of them */
    struct model_settings model;
    enum asker asker;  /* of the present owner; change it before rig_crash too */
    const char *walls; /* NULL: not told */
    const char *plan;  /* JSON: the root carries this out and asks no model; NULL: it asks */
};

/* Setup and teardown for cmocka; the state is the rig. */
int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

/* Before rig_start: all delegation tools, and the tools that roles name. */
void rig_open_doors(struct rig *rig);

/* Before rig_start: the default time of children is a wall, as if a line in config set it. */
void rig_walls(struct rig *rig);

/* --- inputs ---------------------------------------------------------------------------------------- */

void rig_input(struct rig *rig, struct input *input); /* `now` is filled in */
void rig_start(struct rig *rig, const char *task);
void rig_inbox(struct rig *rig, const char *kind, const char *body);

struct rig_call {
    const char *name, *arguments;
};
/* Answers to the request that the agent has out. */
void rig_say(struct rig *rig, uint32_t agent_no, const char *text);
void rig_calls(struct rig *rig, uint32_t agent_no, const struct rig_call *calls, size_t count);
void rig_reply(struct rig *rig, uint32_t agent_no, const struct model_reply *reply);
void rig_fail(struct rig *rig, uint32_t agent_no, enum err_class class, const char *message);
/* The request is lost for a reason that another attempt may mend. */
void rig_break(struct rig *rig, uint32_t agent_no, const char *message);
void rig_failure(struct rig *rig, uint32_t agent_no, const struct model_failure *failure);
#define CALLS(rig, agent_no, ...)                                                                  \
    rig_calls(rig, agent_no, (const struct rig_call[]){__VA_ARGS__},                               \
              sizeof((const struct rig_call[]){__VA_ARGS__}) / sizeof(struct rig_call))
/* One call of spawn_agent. */
#define SPAWN(task)                                                                                \
    {                                                                                              \
        "spawn_agent", "{\"task\":\"" task "\"}"                                                   \
    }

/* Answers to the agent's call with this index in its last reply. */
void rig_result(struct rig *rig, uint32_t agent_no, size_t call, const char *text);
void rig_prepared(struct rig *rig, uint32_t agent_no, size_t call, const char *path);
void rig_facts(struct rig *rig, uint32_t agent_no, size_t call, const char *files);

/* Answers about the agent's tree: it has one, or cannot have one; it was merged or kept, and how: anything but a strategy that works
 * and "kept" is an error. */
void rig_made(struct rig *rig, uint32_t agent_no);
void rig_unmade(struct rig *rig, uint32_t agent_no, const char *why);
void rig_left(struct rig *rig, uint32_t agent_no, const char *how);

/* Lets time pass and then fires every deadline that has passed. */
void rig_pass(struct rig *rig, int64_t ms);
/* The machine sleeps for so long: the run's time stands still, and the run is told. */
void rig_sleep(struct rig *rig, int64_t ms);
/* The process ends and another takes the log over, so much later. */
void rig_crash(struct rig *rig, int64_t downtime_ms);
/* The same, when it is known that the process lived on for alive_ms. */
void rig_crash_later(struct rig *rig, int64_t alive_ms, int64_t downtime_ms);

/* --- what was decided ------------------------------------------------------------------------------ */

/* The events since the last look are exactly these: "0 model.replied, 0 tool.requested"; numbers are agents. */
void rig_expect(struct rig *rig, const char *events);
/* The same for effects: "0 model, 1 tool read, 1 abort". */
void rig_expect_effects(struct rig *rig, const char *effects);
void rig_expect_nothing(struct rig *rig); /* neither events nor effects */
void rig_skip(struct rig *rig);           /* events and effects so far need no look */

const struct event *rig_last(const struct rig *rig, uint32_t agent_no, enum event_type type);
size_t rig_count(const struct rig *rig, enum event_type type);
size_t rig_count_of(const struct rig *rig, uint32_t agent_no, enum event_type type);
const struct agent *rig_agent(const struct rig *rig, uint32_t agent_no);
struct str rig_call_id(const struct rig *rig, uint32_t agent_no, size_t call);
/* The last effect of this kind. */
const struct effect *rig_effect(const struct rig *rig, uint32_t agent_no, enum effect_kind kind);
void rig_contains(struct str text, const char *part);

#endif
