/* The engine: runs live here. It owns the loop-side state of every run of this process, hands events to the journal,
 * starts effects when they may start, and feeds the answers back as inputs. This is the one header that the command line,
 * the server and the MCP server include; adapters come in through ports.
 *
 * Threads: everything here is called on the loop thread and never blocks. The journal has a writer thread of its own, tools
 * run on a few threads and, where they take long, on one each. Callbacks run on the loop thread; views live until the callback returns. */
#ifndef CADRE_ENGINE_ENGINE_H
#define CADRE_ENGINE_ENGINE_H

#include <uv.h>

#include "core/run/run.h"
#include "engine/admission.h"
#include "port/model.h"
#include "port/store.h"
#include "port/tool.h"

struct engine;

/* ALLOWED: a person allowed the same, byte for byte, for the rest of this run. */
enum preview_standing { STANDING_NONE, STANDING_ALLOWED };

/* What the outside may watch. All may be NULL. */
struct engine_watch {
    /* An event is durable now. `run` is the live state, possibly a few events ahead. */
    void (*event)(void *user, const struct run *run, const struct event_row *row);
    /* Text as it streams in; never logged. */
    void (*delta)(void *user, struct str run_id, uint32_t agent_no, struct str text);
    /* The same for reasoning. */
    void (*reasoning)(void *user, struct str run_id, uint32_t agent_no, struct str text);
    /* What a call says about its work, at most a line and ten times a second; never logged. */
    void (*progress)(void *user, struct str run_id, uint32_t agent_no, struct str call_id,
                     struct str text);
    /* A model request waits for its provider, and for what ("429"); an empty reason: it waits no longer. Never logged. */
    void (*waiting)(void *user, struct str run_id, uint32_t agent_no, struct str reason);
    /* A person must answer: engine_answer follows, or engine_reply where the tool is ask_user. What the call would do is
     * asked for with engine_preview. */
    void (*question)(void *user, struct str run_id, uint32_t agent_no, struct str call_id,
                     struct str tool, struct str arguments);
    /* What engine_preview asked for. */
    void (*preview)(void *user, struct str run_id, uint32_t agent_no, struct str call_id,
                    const struct preview *preview, enum preview_standing standing);
    /* The run ended, everything is durable and the lease is released. failure != NULL: the engine had to let go of the run
     * (store trouble, taken over by another process); the log is intact and the run can be resumed. */
    void (*end)(void *user, struct str run_id, const struct run *run, const struct err *failure);
    void *user;
    enum asker
        asker; /* who answers questions; logged when a run is started and when it is resumed */
    enum broken_tries broken; /* what who resumes a run here says of them */
};

struct engine_config {
    uv_loop_t *loop;
    struct store_opener store;
    /* What else has to be prepared, done by engine_new while the store is opened; -1 with err: there is no engine. May be NULL. */
    int (*meanwhile)(void *user, struct err *err);
    struct str store_path; /* its directory also holds the wake sockets */
    /* The model API for an api name ("openai"): returns a port or ops == NULL. */
    struct model_port (*model)(void *user, struct str api);
    const struct tool_port *tools;
    const struct tool_services *services; /* what the tools have to work with; may be NULL */
    /* The secret for a variable's name, or an empty string. */
    struct str (*secret)(void *user, struct str variable);
    /* Adds what the config says today about the model's provider: deadlines (the built-in ones stand in the request), headers,
     * extra body. What it points to lives as long as the config. NULL: nothing is added. */
    int (*provider)(void *user, const struct model_settings *model, struct model_request *request,
                    struct err *err);
    void *user;
    struct engine_watch watch;
    /* Milliseconds since this machine was started, suspended times included. Leases are counted on this clock. */
    int64_t (*boottime)(void);
    /* What is added to it for the wall time that events show: the same for the whole process, so that
     * setting the machine's clock moves no deadline. */
    int64_t wall_at_boot;
    /* Milliseconds that this machine was suspended since it was started. A run's deadlines do not count them. NULL: none. */
    int64_t (*suspended)(void);
    void (*entropy)(void *bytes, size_t n);
    const struct str
        *denied_paths; /* absolute directories that no tool may read or write (the store's) */
    size_t denied_count;
    struct str walls; /* of commands: "all", or those that are off; logged with the asker */
    /* The descriptors that effects may have open. All 0: as many as they like. */
    struct descriptor_shares descriptors;
};

int engine_new(const struct engine_config *config, struct engine **engine, struct err *err);
/* Lets go of all runs (their logs stay resumable), waits for the journal, frees. The loop must run until its handles are closed. */
void engine_free(struct engine *engine);

/* Everything that `start` needs; becomes the start message in the inbox. */
struct engine_start {
    struct str task, session_id, user_id, workspace_id, workspace_path;
    const struct settings *settings;
    struct str instructions;  /* text of the project's instruction files, or STR_NONE */
    struct str output_schema; /* of the root's answer: JSON text (schema_read), or STR_NONE */
    struct str
        plan; /* JSON object: what the root calls `plan` with, and asks no model; or STR_NONE */
};

/* Makes the run known, takes its lease and starts it. *run_id is set before anything is durable. */
int engine_run(struct engine *engine, const struct engine_start *start, struct id *run_id,
               struct err *err);
/* Takes over a run that nobody owns (its owner crashed or stopped). Errors come through watch.end, with `failure`:
 * NOT_FOUND, RETRY (owned by a living process, named), CORRUPT. */
int engine_resume(struct engine *engine, struct str run_id, struct err *err);
/* A message for a run of this process, through the inbox like everybody else's. body: JSON object. */
int engine_send(struct engine *engine, struct str run_id, struct str kind, struct str body,
                struct err *err);
/* What a call or a step that waits for an answer would do now: watch.preview follows, unless it waits no longer, and the log has it
 * (permission.shown), so that other processes can show it. Where nobody is at a terminal here, the engine asks by itself when a
 * question is put. NOT_FOUND: it does not wait. */
int engine_preview(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                   struct err *err);
/* An answer to a question. */
struct engine_answer {
    enum { ENGINE_NO, ENGINE_YES, ENGINE_NOBODY } answer; /* NOBODY: whoever was there has gone */
    enum { ENGINE_ONCE, ENGINE_SESSION, ENGINE_PROJECT } always; /* of a yes */
    struct str reason; /* told to the model where it is a no; or empty */
    const struct hash *
        shown; /* of the preview that was answered; the call runs only while it is the same. NULL: none */
};
int engine_answer(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                  const struct engine_answer *answer, struct err *err);
/* What a person says to a question of ask_user; STR_NONE: there will be no answer. */
int engine_reply(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                 struct str text, struct err *err);
/* Runs that have not ended yet. */
size_t engine_active(const struct engine *engine);

#endif
