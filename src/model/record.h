/* A model port in front of another that writes every exchange to a file when it has ended: `cadre run --record FILE`. What
 * is recorded is what the engine sees, for every API; record_line.h has the format. The file is written by a thread of its
 * own. When that fails, recording stops with a warning and the run goes on. No key of a model server gets into the file.
 * Runs on the loop's thread. */
#ifndef CADRE_MODEL_RECORD_H
#define CADRE_MODEL_RECORD_H

#include "port/model.h"

struct record;

/* Says something to the person who runs the program. text: one line, may quote anything. */
struct record_warning {
    void (*say)(void *user, struct str text);
    void *user;
};

/* Creates the file; one that exists is refused (USAGE). */
int record_new(const char *path, const struct record_warning *warning, struct record **record,
               struct err *err) NODISCARD;
/* Takes the inner port over: ops->free frees both. Several ports may share a file. Like the governor's: calls that are under
 * way when it is freed end as CANCELLED while the loop runs on. */
struct model_port record_open(struct record *record, struct model_port inner);
/* Waits until everything is in the file; removes one in which there is nothing. All its ports must be gone. */
void record_free(struct record *record);

#endif
