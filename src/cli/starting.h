/* What the commands that start a run share: the task as it was typed, and the model that answers. Blocking. */
#ifndef CADRE_CLI_STARTING_H
#define CADRE_CLI_STARTING_H

#include "cli/drive.h"

#define TASK_MAX ((size_t)1 << 20) /* bytes on stdin */

/* Rows of options that they share. */
#define OPTIONS_MODEL                                                                              \
    {"model", "NAME", "the model to use"},                                                         \
        {"provider", "NAME", "its server by name: a provider of the config or a preset"},          \
        {"base-url", "URL", "its server, for example http://127.0.0.1:8080/v1"},                   \
        {"api", "API", "what the server speaks: openai, anthropic or responses"},                  \
        {"effort", "EFFORT", "how hard the model reasons: none, minimal, low, medium, high, max"}, \
        {"max-cost", "DOLLARS", "stop when this much is spent"},                                   \
        {"timeout", "TIME", "stop after this long: 90s, 5m"},                                      \
        {"workspace", "DIR", "the directory to work in (default: the current one)"},               \
        {"record", "FILE", "write every exchange with a model to a new file"},                     \
    {                                                                                              \
        "replay", "FILE", "answer from such a file; no model is asked"                             \
    }

/* Reads the task, from stdin where "-" was typed (into `input`), and refuses what is no text. */
int starting_task(struct str typed, struct buf *input, struct str *task, struct err *err) NODISCARD;
/* Opens what the flags name, and finds the model that they, the config or this machine have. On failure nothing stays open. */
int starting_open(struct invocation *invocation, struct wire **wire, struct err *err) NODISCARD;
/* With isolation.snapshot off nothing starts while the checkout has changes that are not committed: USAGE. */
int starting_checkout(struct wire *wire, struct err *err) NODISCARD;
/* A drive that starts a run with this task. */
struct drive starting_drive(struct wire *wire, struct str task);

#endif
