/* See stopping.h. The handler calls only functions that a signal handler may call. */
#include "cli/stopping.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/keys.h"

const struct stopping_signal stopping_signals[STOPPING_SIGNALS] = {
    {SIGINT, "stopped by Ctrl-C (SIGINT)"},
    {SIGTERM, "stopped by SIGTERM"},
    {SIGHUP, "stopped by SIGHUP, which a terminal sends when it is closed"},
};

static const char no_run[] = "\ncadre: stopped before the run began; nothing was stored\n";
static const char unchanged[] =
    "\ncadre: stopped before the run went on; it is as it was: go on with cadre resume, or give it "
    "up with cadre cancel --now\n";

static void say(const char *text, size_t n)
{
    if (write(STDERR_FILENO, text, n) < 0)
        return; /* nobody is left to be told */
}

static void on_signal_no_run(int number)
{
    keys_restore();
    say(no_run, sizeof no_run - 1);
    _exit(EXIT_CODE_CANCELLED);
}

static void on_signal_resume(int number)
{
    keys_restore();
    say(unchanged, sizeof unchanged - 1);
    _exit(EXIT_CODE_PARKED);
}

bool stopping_is_ignored(int number)
{
    struct sigaction old;
    return number == SIGHUP && sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

void stopping_early(enum stopping_before before)
{
    struct sigaction action = {.sa_handler =
                                   before == STOPPING_RESUME ? on_signal_resume : on_signal_no_run};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < STOPPING_SIGNALS; i++) {
        if (!stopping_is_ignored(stopping_signals[i].number))
            sigaction(stopping_signals[i].number, &action, NULL);
    }
}
