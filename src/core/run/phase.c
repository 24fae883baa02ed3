/* The phases of an agent's loop: the only table of what leads from one to the next. Pure. */
#include "core/run/phase.h"

/* One more than the phase, so that what is not listed cannot happen. */
enum { _, N, R, A, B, T, J, C, L, D };

/* clang-format off */
static const unsigned char table[MOVE_COUNT][PHASES] = {
    /*                   new  ready  asking  backoff  tools  joining  checking  leaving  done */
    [MOVE_STARTED]    = { R,   R,     R,      R,       R,     R,       R,        _,       _ },
    [MOVE_ISOLATING]  = { N,   N,     N,      N,       N,     N,       N,        _,       _ },
    [MOVE_DIRECTED]   = { _,   T,     _,      _,       _,     _,       _,        _,       _ },
    [MOVE_REQUESTED]  = { _,   A,     _,      _,       _,     _,       _,        _,       _ },
    [MOVE_ANSWERED]   = { _,   _,     R,      _,       _,     _,       _,        _,       _ },
    [MOVE_CALLED]     = { _,   _,     T,      _,       _,     _,       _,        _,       _ },
    [MOVE_DELAYED]    = { _,   _,     B,      _,       _,     _,       _,        _,       _ },
    [MOVE_RETRIED]    = { _,   _,     _,      R,       _,     _,       _,        _,       _ },
    [MOVE_SUMMARISED] = { _,   R,     _,      _,       R,     _,       _,        _,       _ },
    [MOVE_RESULTS]    = { _,   _,     _,      _,       R,     _,       _,        _,       _ },
    [MOVE_JOINING]    = { _,   J,     J,      J,       J,     _,       J,        _,       _ },
    /* Checks that were lost in a crash run again. */
    [MOVE_CHECKING]   = { _,   C,     C,      C,       C,     C,       C,        _,       _ },
    [MOVE_CHECKED]    = { _,   _,     _,      _,       _,     _,       R,        _,       _ },
    /* A child that is held has ended; when it is given up, its tree is put away. */
    [MOVE_LEAVING]    = { L,   L,     L,      L,       L,     L,       L,        L,       L },
    [MOVE_AWAITED]    = { _,   _,     _,      _,       _,     _,       _,        L,       L },
    [MOVE_PUT_AWAY]   = { _,   L,     L,      L,       L,     L,       L,        L,       _ },
    [MOVE_LEFT]       = { _,   _,     _,      _,       _,     _,       _,        R,       _ },
    [MOVE_ENDED]      = { D,   D,     D,      D,       D,     D,       D,        D,       _ },
};
/* clang-format on */

enum phase phase_next(enum phase from, enum phase_move move)
{
    unsigned char to = table[move][from];
    return to == _ ? (enum phase)PHASES : (enum phase)(to - 1);
}

bool phase_may_move(const struct agent *agent, enum phase_move move)
{
    return phase_next(agent->phase, move) != (enum phase)PHASES;
}

bool phase_moves(struct agent *agent, enum phase_move move)
{
    if (!phase_may_move(agent, move))
        return false;
    agent->phase = phase_next(agent->phase, move);
    return true;
}

const char *phase_text(enum phase phase)
{
    static const char *const texts[PHASES] = {"new",     "ready",    "asking",  "backoff", "tools",
                                              "joining", "checking", "leaving", "done"};
    return phase < (enum phase)PHASES ? texts[phase] : "?";
}

const char *phase_move_text(enum phase_move move)
{
    static const char *const texts[] = {
#define X(name) #name,
        PHASE_MOVES(X)
#undef X
    };
    return move < MOVE_COUNT ? texts[move] : "?";
}
