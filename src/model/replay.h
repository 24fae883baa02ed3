/* The model port of `api: replay`: answers come from a recording (record.h), tools are real. No network, no key.
 *
 * A request's base_url says which file and how: "file:/path", with options "file+strict:", "file+recorded:" and
 * "file+strict+recorded:". A request that was recorded gets its answer, each answer once in a run. One that was not gets the
 * answer that the same agent got at the same turn, and a warning says what differs first; with `strict` it fails (PROVIDER),
 * as does one for which there is no answer left. `recorded` takes the time that the model took; otherwise answers and
 * retries come at once. Runs on the loop's thread. */
#ifndef CADRE_MODEL_REPLAY_H
#define CADRE_MODEL_REPLAY_H

#include "base/map.h"
#include "model/record.h"
#include "model/replay_file.h"

struct uv_loop_s; /* uv_loop_t */

enum replay_matching { REPLAY_LENIENT, REPLAY_STRICT };
enum replay_speed { REPLAY_INSTANT, REPLAY_RECORDED };
struct replay_address {
    struct str path; /* a view of the base_url */
    enum replay_matching matching;
    enum replay_speed speed;
};
int replay_address_parse(struct str base_url, struct replay_address *address,
                         struct err *err) NODISCARD;

/* Recordings that were read, by path. Outlives the ports that use it. */
struct replay_shelf {
    struct map files;
};
void replay_shelf_init(struct replay_shelf *shelf);
void replay_shelf_release(struct replay_shelf *shelf);
/* The recording of this path, read now if it was not yet. Blocking: for the time before the loop. A port reads what is missing
 * on a pool thread. */
int replay_shelf_get(struct replay_shelf *shelf, struct str path, const struct replay_file **file,
                     struct err *err) NODISCARD;

/* After ops->free the loop must run until its handles are closed; calls that are under way then end as CANCELLED. */
struct model_port replay_open(struct uv_loop_s *loop, struct replay_shelf *shelf,
                              const struct record_warning *warning);

#endif
