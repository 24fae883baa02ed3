/* What is printed when a run has ended: the answer, and a last line with status, cost, run id, head
 * hash and what to do next; or the result as a JSON line. Reads the stored run; blocking. */
#ifndef CADRE_CLI_ENDING_H
#define CADRE_CLI_ENDING_H

#include "cli/command.h"
#include "core/run/agent.h"
#include "port/store.h"

/* What a person may do with a run that is parked or stopped; takes its id twice (STR_FMT). */
#define ENDING_CHOICES "go on with: cadre resume %.*s; or give it up with: cadre cancel %.*s --now"

enum ending_parts { ENDING_ALL, ENDING_ANSWER };

/* What a run leaves behind, a line each, as it is shown. */
struct ending_changes {
    struct buf files;  /* that were changed */
    struct buf failed; /* children that failed, why, and where their work is */
    size_t file_count, failed_count;
};

struct ending_request {
    struct str run_id;
    enum ending_parts parts;
    int64_t asked_at;                                  /* on the clock of leases */
    const struct cache_use *cache;                     /* of all agents; NULL: not known */
    struct str report;                                 /* where it was published, or STR_NONE */
    const struct ending_changes *changes;              /* NULL: not known */
    enum { ENDING_SAYS_HOW, ENDING_TAKEN_OVER } taken; /* SAYS_HOW: to take the result over */
};

/* NOT_FOUND for an unknown run. *code is the run's exit code; a run that has not ended counts as
 * failed. */
int ending_print(struct output *output, struct store *store, const struct ending_request *request,
                 enum exit_code *code, struct err *err) NODISCARD;

#endif
