/* What is printed when a run has ended: the answer, and a last line with status, cost, run id, head
 * hash and what to do next; or the result as a JSON line. Reads the stored run; blocking. */
#ifndef CADRE_CLI_ENDING_H
#define CADRE_CLI_ENDING_H

#include "cli/command.h"
#include "port/store.h"

enum ending_parts { ENDING_ALL, ENDING_ANSWER };

/* NOT_FOUND for an unknown run. *code is the run's exit code; a run that has not ended counts as
 * failed. */
int ending_print(struct output *output, struct store *store, struct str run_id,
                 enum ending_parts parts, int64_t now, enum exit_code *code,
                 struct err *err) NODISCARD;

#endif
