/* cadre that asks ASKS times instead of once, before each effect, whether the run is still its own: for the row that says what these
 * checks cost. The linker takes the two functions below in place of the engine's: src/engine/ownership.c is compiled into this file
 * under other names. Only tests/bench/run builds and starts this program; cadre itself has no switch for it.
 *
 * Asking more often, and not never, is what makes the cost visible: CPU times of two runs of the very same program differ by five
 * percent and more on a machine that does something else besides. */
#define ownership_is_certain engine_ownership_is_certain
#define ownership_await engine_ownership_await
#include "engine/ownership.c" /* NOLINT(bugprone-suspicious-include) */
#undef ownership_is_certain
#undef ownership_await

#define ASKS 1001 /* rows.py divides by one less */

bool ownership_is_certain(struct live *live);
bool ownership_await(struct work *work, struct err *err);

bool ownership_is_certain(struct live *live)
{
    bool certain = true;
    for (int i = 0; i < ASKS && certain; i++)
        certain = engine_ownership_is_certain(live);
    return certain;
}

bool ownership_await(struct work *work, struct err *err)
{
    bool ours = true;
    for (int i = 0; i < ASKS && ours; i++)
        ours = engine_ownership_await(work, err);
    return ours;
}
