/* What is printed when a run begins or goes on: which model answers its root, from where, and the caps; a line for people, or
 * one of JSON. All of it is the run's own contract and settings: a pin or a resume may differ from today's config. */
#ifndef CADRE_CLI_OPENING_H
#define CADRE_CLI_OPENING_H

#include "cli/drive.h"

void opening_json(struct output *output, const struct drive *drive, const struct run *run);
void opening_line(struct output *output, const struct drive *drive, const struct run *run);

#endif
