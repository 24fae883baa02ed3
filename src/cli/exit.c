/* The two tables behind the exit codes. Pure. */
#include "cli/exit.h"

static const struct {
    enum err_class class;
    enum exit_code code;
} of_error[] = {
    {ERR_USAGE, EXIT_CODE_USAGE},     {ERR_CONFIG, EXIT_CODE_USAGE},
    {ERR_NOT_FOUND, EXIT_CODE_USAGE}, {ERR_BUDGET, EXIT_CODE_BUDGET},
    {ERR_TIMEOUT, EXIT_CODE_TIMEOUT}, {ERR_CANCELLED, EXIT_CODE_CANCELLED},
};

/* The first row that fits wins; NULL fits everything. A run that a gate failed has an outcome of
 * "completed". */
static const struct {
    const char *status, *outcome;
    enum exit_code code;
} of_run[] = {
    {"parked", NULL, EXIT_CODE_PARKED},          {"cancelled", NULL, EXIT_CODE_CANCELLED},
    {NULL, "budget_exceeded", EXIT_CODE_BUDGET}, {NULL, "timeout", EXIT_CODE_TIMEOUT},
    {NULL, "cancelled", EXIT_CODE_CANCELLED},    {"completed", "completed", EXIT_CODE_DONE},
    {"completed", "", EXIT_CODE_DONE},
};

enum exit_code exit_of_error(enum err_class class)
{
    for (size_t i = 0; i < sizeof of_error / sizeof of_error[0]; i++) {
        if (of_error[i].class == class)
            return of_error[i].code;
    }
    return EXIT_CODE_FAILED;
}

enum exit_code exit_of_run(struct str status, struct str outcome)
{
    for (size_t i = 0; i < sizeof of_run / sizeof of_run[0]; i++) {
        if ((of_run[i].status == NULL || str_is(status, of_run[i].status)) &&
            (of_run[i].outcome == NULL || str_is(outcome, of_run[i].outcome)))
            return of_run[i].code;
    }
    return EXIT_CODE_FAILED;
}
