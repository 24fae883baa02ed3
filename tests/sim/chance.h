/* Seeded chance for the simulator (splitmix64). */
#ifndef CADRE_TESTS_SIM_CHANCE_H
#define CADRE_TESTS_SIM_CHANCE_H

#include <stdint.h>

struct chance {
    uint64_t state;
};

static inline uint64_t chance_next(struct chance *c)
{
    uint64_t z = (c->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t chance_below(struct chance *c, int64_t n)
{
    return n > 0 ? (int64_t)(chance_next(c) % (uint64_t)n) : 0;
}

static inline int chance_permille(struct chance *c, int64_t permille)
{
    return chance_below(c, 1000) < permille;
}

#endif
