/* What is printed when a run begins: which model, from where, and the caps; a line for people, or one of JSON. */
#ifndef CADRE_CLI_OPENING_H
#define CADRE_CLI_OPENING_H

#include "cli/drive.h"

void opening_json(struct output *output, const struct drive *drive, const struct id *run_id);
void opening_line(struct output *output, const struct drive *drive, const struct id *run_id);

#endif
