/* What the bare clients send: phases, one after the other, that repeat the shape of a cadre run. All agents of a
 * phase work at once; each sends its requests one by one. One phase is one line of the plan:
 *
 *     KIND AGENTS FIRST SIZE…        leaf 128 0 2100 2400 2700 3000
 *
 * KIND is root, lead or leaf, AGENTS how many, FIRST how many assistant messages the first request holds (each
 * later one holds one more), and each SIZE the bytes of one request's body. */
#ifndef CADRE_TESTS_BENCH_PLAN_H
#define CADRE_TESTS_BENCH_PLAN_H

#include <stddef.h>
#include <stdio.h>

#define PLAN_TURNS_MAX 64
#define PLAN_PHASES_MAX 4096
#define PLAN_AGENTS_MAX 65536
#define PLAN_BODY_MAX ((size_t)64 << 20)

struct phase {
    char kind[8];
    size_t agents, first, turns;
    size_t sizes[PLAN_TURNS_MAX]; /* at least what the messages need: see phase_bodies_make */
    char *bodies[PLAN_TURNS_MAX]; /* made by phase_bodies_make, shared by the agents of the phase */
};

struct plan {
    struct phase *phases;
    size_t count;
    size_t agents_max; /* of the largest phase */
    size_t requests;   /* of all phases */
};

/* 0, or -1 with a message on stderr. */
int plan_read(struct plan *plan, const char *path);
void plan_free(struct plan *plan);

/* Bodies that the server reads as it reads cadre's, padded to their sizes (a size that is too small grows). Made
 * when the phase begins, since all of them together may not fit into memory. */
void phase_bodies_make(struct phase *phase);
void phase_bodies_free(struct phase *phase);

/* Common to both clients: port from the command line, or -1. */
int port_parse(const char *text);

#endif
