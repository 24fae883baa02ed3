/* The pump of one run: inputs go in, a batch goes to the journal, and each effect is started when it may start: pure ones at once,
 * costly and outward ones when the event that announced them is durable and the run is certainly still ours. It knows no loop, no thread and no adapter, so that the
 * simulator drives the very code that the engine runs. Owner: whoever drives it, one thread. */
#ifndef CADRE_ENGINE_PUMP_H
#define CADRE_ENGINE_PUMP_H

#include "engine/batch.h"

struct pump;

/* LAZY: nothing waits for this batch to be durable; it may ride with the next one. */
enum urgency { APPEND_SOON, APPEND_LAZY };

struct pump_ports {
    void (*append)(void *user, struct pump *pump, struct batch *batch,
                   enum urgency urgency); /* takes the batch over */
    void (*start)(void *user, struct pump *pump,
                  const struct effect *effect); /* views live until it returns */
    void (*abort)(void *user, struct pump *pump, uint32_t agent_no,
                  struct str call_id); /* of a started effect */
    void *user;
    /* Many effects may start: the rest starts with pump_continue, on a later turn of the loop, so that what was started can leave
     * meanwhile. NULL: all start at once. */
    void (*later)(void *user, struct pump *pump);
    /* Is it certain that this process still owns the run? Asked before each costly or outward effect. False: they
     * are held, and pump_continue follows when it is certain again. NULL: always. Must not feed the pump. */
    bool (*owns)(void *user, struct pump *pump);
};

/* Takes the run over. durable: the seq up to which its log is committed already. */
struct pump *pump_new(struct run *run, uint64_t epoch, uint64_t durable,
                      const struct pump_ports *ports);
void pump_free(struct pump *pump);
/* For a build that checks the fold: a second run, folded from the same log, that follows a resumed one. Taken over. */
void pump_shadow(struct pump *pump, struct run *shadow);

/* Decides, appends, starts or holds. -1 only for a broken rule (BUG): the run must be let go of. */
int pump_input(struct pump *pump, const struct input *input, struct err *err);
/* Everything up to seq is committed: held effects may start. */
void pump_durable(struct pump *pump, uint64_t seq);
/* Holds every effect until pump_go_on: something that has ended is not yet dead. Not counted: one pump_go_on is enough. */
void pump_pause(struct pump *pump);
void pump_go_on(struct pump *pump);
void pump_continue(struct pump *pump); /* after ports.later */
struct run *pump_run(struct pump *pump);
uint64_t pump_durable_seq(const struct pump *pump);
size_t
pump_held(const struct pump *pump); /* effects that wait for the journal, or for the pause to end */

#endif
