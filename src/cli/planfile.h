/* A plan in a file: YAML or JSON, read with the place of every mistake. Blocking. */
#ifndef CADRE_CLI_PLANFILE_H
#define CADRE_CLI_PLANFILE_H

#include "config/yaml.h"
#include "core/plan/plan.h"

struct planfile {
    struct config_source source;
    struct yaml_node *root; /* for places; NULL: they are not known */
    struct plan plan;       /* where there are no problems */
    struct problems problems;
};

/* Reads a file, or standard input for "-". 0 where it is YAML or JSON: what is wrong with the plan stands in problems. -1 with
 * file:line:column where it is neither. Everything belongs to the arena. */
int planfile_read(struct arena *arena, struct str name, struct planfile *file,
                  struct err *err) NODISCARD;
/* The same for a text that was read already; name is for messages. */
int planfile_parse(struct arena *arena, struct str name, struct str text, struct planfile *file,
                   struct err *err) NODISCARD;
/* Where the file says what a problem is about, or should have said it. */
struct config_place planfile_place(const struct planfile *file, const struct problem *problem);

#endif
