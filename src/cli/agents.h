/* What the commands under `cadre agents` share: the store with its control plane, one way to write, and how its parts
 * are shown. Blocking. */
#ifndef CADRE_CLI_AGENTS_H
#define CADRE_CLI_AGENTS_H

#include "cli/command.h"
#include "cli/wire.h"
#include "engine/plane.h"

#define OPTION_IF_VERSION                                                                          \
    {                                                                                              \
        "if-version", "N", "write only if this version is the present one; 0: there must be none"  \
    }

struct agents {
    struct invocation *invocation;
    struct wire *wire;
    struct store *store;
    struct plane plane;
};

/* Opens the store and loads the control plane for this session, user and workspace. On failure nothing stays open. */
int agents_open(struct agents *agents, struct invocation *invocation, struct err *err) NODISCARD;
void agents_close(struct agents *agents);
/* Says what is broken in the store, on stderr: the commands themselves go on. */
void agents_warn(struct agents *agents);

/* --if-version, where it was given; else `otherwise`. */
int agents_expected(const struct agents *agents, uint64_t otherwise, uint64_t *expected,
                    struct err *err) NODISCARD;
/* The present version of a record, valid or not; 0: there is none. */
int agents_version(struct agents *agents, struct str type, struct str id, uint64_t *version,
                   struct err *err) NODISCARD;
/* Writes the value, or removes the record (STR_NONE), and reports it: done says what happened, "registered @writer". */
enum exit_code agents_write(struct agents *agents, struct str type, struct str id,
                            uint64_t expected, struct str value, struct str done);
/* All of a file, or of standard input for "-"; at most RECORD_VALUE_MAX bytes. */
int agents_read_file(struct str name, struct buf *out, struct err *err) NODISCARD;

/* "label   value" with the value cleaned; a list as "a, b", "none" where it is empty, `absent` where it is absent. */
void agents_line(struct output *output, const char *label, struct str value);
void agents_line_list(struct output *output, const char *label, const struct list *list,
                      const char *absent);
/* A document to be piped and edited; on a terminal it is cleaned as all text is. */
void agents_document(struct output *output, const struct buf *json);
/* One JSON line. */
void agents_json_agent(struct agents *agents, const struct registry_agent *agent);
void agents_json_profile(struct agents *agents, const struct plane_profile *profile);

#endif
