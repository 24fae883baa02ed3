/* Private to the demo: its stage and what is shown on it. Blocking; main thread. */
#ifndef CADRE_CLI_DEMO_H
#define CADRE_CLI_DEMO_H

#include "cli/command.h"
#include "cli/process.h"
#include "scripted/scripted.h"

#define DEMO_STEP_MS 25000 /* the longest that one command may take */
#define DEMO_WORDS_MAX 24
#define DEMO_ENVIRONMENT_MAX 512
#define DEMO_PATH_MAX 600

struct demo {
    struct invocation *invocation;
    struct output *output;
    struct scripted *server;
    char directory[256], program[4096], store[300], home[300], config[300];
    const char *environment[DEMO_ENVIRONMENT_MAX];
    int failures;
};

struct demo_file {
    const char *path, *text;
};

enum held { HELD_NOT, HELD };

/* demo_stage.c */
int demo_stage(struct demo *demo, uint16_t port, struct err *err) NODISCARD;
void demo_strike(struct demo *demo); /* removes it all */
/* Holds back the signals that would end this process: whoever interrupts the demo ends the command that it shows, and finds the stage
 * removed. Before any thread is started. */
void demo_hold_signals(void);
/* Somebody did: nothing is shown or started any more. */
bool demo_interrupted(void);
/* A workspace of this name with these files; its path has room for DEMO_PATH_MAX bytes. */
int demo_workspace(struct demo *demo, const char *name, const struct demo_file *files, size_t count,
                   char *path, struct err *err) NODISCARD;
/* Makes a repository of it, with everything in one commit. */
int demo_repository(struct demo *demo, const char *path, struct err *err) NODISCARD;
void demo_say(struct demo *demo, const char *text);
void demo_check(struct demo *demo, const char *guarantee, enum held held);
/* Runs one of our own commands and shows it. Its exit code, or -1 when it could not run. */
int demo_step(struct demo *demo, const char *shown, const char *const *words);
/* The same without showing it, but for the last line of its standard output: parsed JSON, or NULL. */
struct js *demo_ask(struct demo *demo, const char *const *words);
/* argv of one of our own commands; words end with NULL. */
void demo_words(const struct demo *demo, const char *const *words, const char **argv);

/* demo_acts.c: -1 where the stage could not be set; what did not hold is counted. */
int demo_plan(struct demo *demo, struct err *err) NODISCARD;
int demo_crowd(struct demo *demo, struct err *err) NODISCARD;
int demo_money(struct demo *demo, struct err *err) NODISCARD;
int demo_escape(struct demo *demo, struct err *err) NODISCARD;
int demo_crash(struct demo *demo, struct err *err) NODISCARD;

#endif
