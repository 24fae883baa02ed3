/* Is the run still ours? A process may be stopped at any point (Ctrl-Z, a paused container, a debugger) and go on when another
 * has taken its runs over. Appends of such a process are fenced by the store; what it does outside is not. So before a costly or
 * outward effect starts, the last renewal of the lease must be young, and else the store is asked first; on the thread of the
 * effect this is looked at once more, and commands get the moment at which the lease ends (port/sandbox.h). A lease counts from
 * the moment when its renewal was sent. Loop thread, but for ownership_await. */
#include <sys/stat.h>
#include <time.h>

#include "engine/task.h"
#include "engine/work.h"

#define GUARD_MS 2000  /* commands are dead before the lease ends */
#define MARGIN_MS 4000 /* that must be left where something starts */
#define LOOK_MS 20     /* between looks while a thread waits */

static int64_t clock_of(const struct live *live)
{
    return live->engine->config.boottime();
}

void ownership_begin(struct live *live, int64_t sent_at)
{
    atomic_store(&live->owned_until, sent_at + LEASE_MS - GUARD_MS);
}

void ownership_end(struct live *live)
{
    atomic_store(&live->owned_until, 0);
}

void ownership_renewed(struct live *live, int64_t sent_at)
{
    if (live->ending)
        return;
    if (sent_at + LEASE_MS - GUARD_MS > atomic_load(&live->owned_until))
        ownership_begin(live, sent_at);
    pump_continue(live->pump);
}

void ownership_renew(struct live *live)
{
    live->renew_wanted = false;
    if (live->renewing)
        return;
    /* First: after a crash, the time of the renewal is understood only with the sleeps before it. */
    live_tell_slept(live);
    if (live->ending)
        return;
    live->renewing = true;
    task_renew(live);
}

bool ownership_is_certain(struct live *live)
{
    if (clock_of(live) < atomic_load(&live->owned_until) - MARGIN_MS)
        return true;
    if (!live->renewing && !live->renew_wanted && !live->ending) {
        live->renew_wanted = true;
        live_go_on_soon(live);
    }
    return false;
}

/* --- the store's file ----------------------------------------------------------------------- */

static bool read_identity(const struct engine *engine, uint64_t *device, uint64_t *inode)
{
    struct stat status;
    if (stat(engine->store_path.p, &status) != 0)
        return false;
    *device = status.st_dev;
    *inode = status.st_ino;
    return true;
}

void ownership_note_store(struct engine *engine)
{
    if (!read_identity(engine, &engine->store_device, &engine->store_inode))
        engine->store_device = engine->store_inode = 0;
}

static bool store_stands(const struct engine *engine)
{
    uint64_t device = 0, inode = 0;
    return engine->store_inode == 0 ||
           (read_identity(engine, &device, &inode) && device == engine->store_device &&
            inode == engine->store_inode);
}

/* --- on the thread of an effect ---------------------------------------------------------------- */

bool ownership_await(struct work *work, struct err *err)
{
    const struct engine *engine = work->flight.engine;
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    for (;;) {
        int64_t until = atomic_load(work->context.owned_until);
        if (until == 0) {
            err_set(err, ERR_CANCELLED, "the run was let go of before this started");
            return false;
        }
        if (engine->config.boottime() < until - MARGIN_MS)
            break;
        /* The loop renews the lease, or lets go of the run. An effect on a tree is done in any case. */
        if (work->tree == NULL && atomic_load(&work->cancelled)) {
            err_set(err, ERR_CANCELLED, "stopped before it started.");
            return false;
        }
        nanosleep(&pause, NULL);
    }
    if (store_stands(engine))
        return true;
    err_set(err, ERR_NOT_FOUND,
            "store %.*s was removed, moved or replaced while the run used it; put it back, then go "
            "on with `cadre resume`",
            STR_FMT(engine->store_path));
    return false;
}
