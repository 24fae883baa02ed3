/* Parameters that a person sets and that are not sent: a server refused them, or the table of
 * dialects leaves them out (dialect.h). What is kept here tells the person so. Pure; loop thread. */
#ifndef CADRE_MODEL_WISHES_H
#define CADRE_MODEL_WISHES_H

#include <stdint.h>

#include "model/failure.h"

#define WISHES_MAX 8           /* parameters that a person can set */
#define WISH_NOTICE_BYTES 2048 /* of one notice */

/* Of one provider and model. The first refusal of a parameter is the one that is told, so that all
 * requests tell the same. */
struct wishes {
    char *of;                  /* who goes without them: "provider p, model m" */
    char *notices[WISHES_MAX]; /* by row of the table in wishes.c; NULL: none is known */
};

struct model_request;
void wishes_init(struct wishes *wishes, const struct model_request *request);
/* Keeps a notice for each of these parameters (enum dialect_param) that a person can set. root:
 * the server's error as JSON, or NULL; body: as it came. */
struct refusal {
    const struct js *root;
    struct str body;
};
void wishes_refuse(struct wishes *wishes, uint32_t params, const struct model_server *server,
                   struct refusal refusal);
/* The same for parameters that the table of dialects leaves out. */
void wishes_leave_out(struct wishes *wishes, uint32_t params);
/* The notices that are kept of these parameters, a line each without a line feed behind the last;
 * STR_NONE: there are none. */
struct str wishes_notice(const struct wishes *wishes, uint32_t params, struct arena *arena);
void wishes_release(struct wishes *wishes);

#endif
