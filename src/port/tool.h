/* A tool that a model can call: one const `struct tool` per file in src/tool. `run` and `prepare` are called on
 * a pool thread and may block on files; they must look at `cancelled` in loops and between files.
 *
 * Two classes: a pure tool only reads, so it may start before its intent is durable and may run again after a crash.
 * An outward tool that changes one file has `prepare`: it looks at the file, says what it is and what it will
 * become, and that is logged before `run` may act; run refuses when the file is no longer what prepare saw. Outward tools
 * without `prepare` (shell, web) are never repeated after a crash: their outcome is told to be unknown. */
#ifndef CADRE_PORT_TOOL_H
#define CADRE_PORT_TOOL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "port/preview.h"
#include "port/sandbox.h"
#include "port/vcs.h"

struct masker;        /* base/mask.h: what must not be shown */
struct checks_origin; /* core/contract/settings.h */
struct scope;         /* os/scope.h: an opened directory that paths resolve beneath */
struct tool_memory;   /* tool/memory.h: what the tools of one process remember between calls */

/* What machine and config give to all tools of a process. Outlives every call. */
struct tool_services {
    struct access_box
        *access; /* what the sandbox's proxy knows; belongs to who made the services */
    const struct sandbox_port *sandbox; /* NULL: no process can be confined, for this reason: */
    struct str sandbox_problem;
    const struct vcs_port *vcs; /* NULL: no version control, for this reason: */
    struct str vcs_problem;
    struct tool_memory *memory; /* shared reads, processes in the background */
    const struct str *hidden;   /* absolute directories that no process may see (the store's) */
    size_t hidden_count;
    struct { /* web_search and web_fetch */
        struct str search_kind,
            search_url;        /* "searxng" | "brave" | "tavily"; empty: not configured */
        struct str search_key; /* the secret itself, from the environment */
        enum { WEB_PUBLIC_ONLY, WEB_PRIVATE_TOO } reach;
    } web;
    struct str skills_directory; /* of the user; absolute, or empty */
    struct str test_command;     /* config's own test command, or empty */
    struct str test_origin;      /* who sets it: "the flag …", "FILE" */
    const struct checks_origin *checks_origins;
    size_t checks_origin_count;
    const struct masker *masker; /* of all results; NULL: secrets are shown */
    /* Where instruction files count besides the workspace, outermost first. own: the user's directory, which holds none but AGENTS.md
     * and ENVIRONMENT.md for agents; or empty. */
    struct str instructions_own;
    const struct str *instructions_above;
    size_t instructions_above_count;
};

/* What a call may touch, built from its contract. Paths are relative to the scope's root. */
struct tool_context {
    const struct scope *scope;    /* the agent's workspace */
    struct str working_directory; /* "." or a directory beneath; relative paths start there */
    const struct str *read_paths; /* normal form; a path must lie within one of them */
    size_t read_count;
    const struct str *write_paths;
    size_t write_count;
    const struct str
        *ownership; /* globs; a file that is written must match one. None: all are its own */
    size_t ownership_count;
    const struct str *skills; /* that may be loaded, by name */
    size_t skill_count;
    enum { SKILLS_ALL, SKILLS_LISTED } skills_state;
    enum sandbox_network network; /* of processes */
    struct str hosts;             /* the contract's text for it */
    const struct tool_services *services;
    struct str run_id;
    uint32_t agent_no;
    struct str call_id; /* unique among all calls of all runs */
    /* Tells what a long call is doing, at most a line; any thread, may be NULL. Shown, never logged. */
    void (*progress)(void *user, struct str text);
    void *progress_user;
    const atomic_bool *cancelled;
    /* Until when the run is certainly this process's, on the clock that counts from the machine's start; it moves. Commands
     * end before. NULL: nobody else can take it. */
    const atomic_int_least64_t *owned_until;
    int64_t time_left_ms; /* until the agent's own deadline; INT64_MAX: none */
    size_t max_result;    /* bytes of text that a result may have */
    /* What the call would do, as a person approved it and as it was found again just before; NULL: nobody was asked. */
    const struct preview *approved;
    struct arena *arena; /* for everything in the result that outlives the call */
};

/* What a file is before and what it will be after. */
struct tool_prepared {
    struct str path; /* from the scope's root, normal form */
    enum { FILE_ABSENT, FILE_PRESENT } before, after;
    struct hash before_hash, after_hash;
};

struct tool_result {
    struct buf text; /* what the model reads; an error starts with "Error:" */
    enum { RESULT_OK, RESULT_ERROR } kind;
    struct str *files_read; /* in the context's arena */
    size_t read_count;
    struct str *files_modified;
    size_t modified_count;
    struct str refused;   /* what a sandbox refused, as the event has it; STR_NONE: nothing */
    struct str *contacts; /* of its programs over the network: a JSON object each */
    size_t contact_count;
    size_t secrets; /* that the tool itself masked in the text */
};

struct tool {
    const char *name;
    const char *description;
    const char *schema; /* JSON Schema of the arguments */
    /* Properties of arguments that are taken and stand in the docs, but not in the schema: every
     * request carries that. NULL: none. */
    const char *unlisted;
    /* LONG: it runs other programs or waits for the network, and gets a thread of its own instead of one of the pool's. */
    enum { TOOL_BRIEF, TOOL_LONG } pace;
    /* NULL: always. False where the tool can only fail with these services (may be NULL): models do not
     * learn of it. */
    bool (*is_ready)(const struct tool_services *services);
    /* NULL for pure tools. Returns 0 and fills prepared, or -1 with the error as the result's text. */
    int (*prepare)(const struct tool_context *context, const struct js *arguments,
                   struct tool_prepared *prepared, struct tool_result *result);
    /* prepared is NULL for pure tools. */
    void (*run)(const struct tool_context *context, const struct js *arguments,
                const struct tool_prepared *prepared, struct tool_result *result);
    /* Adds what a call would do to the preview; -1 with an error in the result: it would fail. Changes nothing. NULL: the
     * arguments say it all. */
    int (*preview)(const struct tool_context *context, const struct js *arguments,
                   struct preview *preview, struct tool_result *result);
};

/* After a crash: compares the file with what was prepared. */
enum tool_settled { SETTLED_DONE, SETTLED_NOT_DONE, SETTLED_UNKNOWN };
enum tool_settled tool_settle(const struct tool_context *context,
                              const struct tool_prepared *prepared);

/* All tools of this build. */
extern const struct tool *const tool_table[];
extern const size_t tool_count;
const struct tool *tool_find(struct str name);

#define TOOL_EVERY_AGENT UINT32_MAX /* for end_agent and await_agent: all agents of the run */
enum tool_remains { REMAINS_NOTHING, REMAINS_DYING };

enum tool_checks { TOOL_CHECKS_PASSED, TOOL_CHECKS_FAILED, TOOL_CHECKS_NOT_RUN };

/* The tools as the engine sees them. Pool threads call everything but `find`. */
struct tool_port {
    const struct tool *(*find)(struct str name); /* NULL: no such tool */
    enum tool_settled (*settle)(const struct tool_context *context,
                                const struct tool_prepared *prepared);
    /* A handle on a workspace in which `denied` (absolute directories) cannot be reached. */
    int (*open_scope)(struct str workspace, const struct str *denied, size_t denied_count,
                      struct scope **scope, struct err *err);
    /* The same on a tree, which agents see at the path of the workspace that it was made from. */
    int (*open_tree)(struct str tree, struct str workspace, struct scope **scope, struct err *err);
    void (*close_scope)(struct scope *scope);
    /* Closes its descriptor and keeps the rest: open_again makes another handle on the same directory, or fails where a different
     * one is in its place by now (DENIED) or none (NOT_FOUND). Nothing else may be done with a scope that rests but close_scope. */
    void (*rest_scope)(struct scope *scope);
    int (*open_again)(const struct scope *resting, struct scope **scope, struct err *err);
    /* Appends the text of a file as it is, at most the context's max_result bytes; the path starts at the workspace. Those of the same
     * name that count besides (instructions_above) come before it, and CLAUDE.md stands in for AGENTS.md. NOT_FOUND where there is no
     * such file anywhere. */
    int (*load)(const struct tool_context *context, struct str path, struct buf *text,
                struct err *err);
    /* Runs a contract's checks (a list of commands) in order, to the first that fails. The result's text is for the model,
     * the evidence (a JSON array) for the record. Takes long. */
    enum tool_checks (*check)(const struct tool_context *context, const struct js *checks,
                              struct tool_result *result, struct buf *evidence);
    /* The agent has ended: what it left running in the background is killed. On the loop: never waits. DYING: await_agent tells
     * when nothing of it is alive any more. */
    enum tool_remains (*end_agent)(const struct tool_services *services, struct str run_id,
                                   uint32_t agent_no);
    /* Blocks until the processes that end_agent killed are dead; on a thread that may wait. */
    void (*await_agent)(const struct tool_services *services, struct str run_id, uint32_t agent_no);
    /* What a call of this name (a tool or not) with these arguments (JSON) would do now. What it says lives in the context's
     * arena; the context's scope may be NULL. */
    void (*preview)(const struct tool_context *context, struct str name, struct str arguments,
                    struct preview *preview);
    /* The same for a step of a plan: what its agent would be bound by, as the core says it (JSON). */
    void (*preview_step)(const struct tool_context *context, struct str terms,
                         struct preview *preview);
};
extern const struct tool_port tool_port;

#endif
