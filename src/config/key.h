/* Every config key, one row each: the table drives parsing, suggestions, what a project file may say, `config check`
 * and docs/config.md. In a path `*` is a name of the user's choice and `[]` an item of a list. */
#ifndef CADRE_CONFIG_KEY_H
#define CADRE_CONFIG_KEY_H

#include <stdint.h>

#include "base/buf.h"
#include "config/source.h"

enum config_type {
    TYPE_OBJECT,       /* a mapping whose members have rows of their own */
    TYPE_TEXT,         /* any scalar but null */
    TYPE_PROSE,        /* a text that may be empty and may have lines */
    TYPE_FILE,         /* a path inside the workspace; normal form inside; may be empty */
    TYPE_POOL,         /* a pool of llm.pools; may be empty */
    TYPE_API,          /* how a server is spoken to */
    TYPE_URL,          /* http or https, without user, query and fragment */
    TYPE_VARIABLE,     /* NAME_OF_A_VARIABLE */
    TYPE_NAMES,        /* a list of texts */
    TYPE_FILES,        /* a list of paths inside the workspace; normal form inside */
    TYPE_TOOLS,        /* a list of tools; their own names inside, whatever alias was given */
    TYPE_SWITCH,       /* true or false */
    TYPE_COUNT,        /* a whole number */
    TYPE_LIMIT,        /* a whole number, or null for no limit */
    TYPE_MILLISECONDS, /* a whole number, or a text with a unit: 1500ms, 90s, 5m */
    TYPE_IDLE,         /* the same, or 0 for any time */
    TYPE_MONEY,        /* dollars, or null for no limit; nano-dollars inside */
    TYPE_PRICE,        /* dollars for a million tokens; nano-dollars for a token inside */
    TYPE_MODE,
    TYPE_PERMISSION,
    TYPE_GATE,
    TYPE_ALLOWANCE, /* allow or deny */
    TYPE_VIA,       /* where questions go that nobody is there to answer */
    TYPE_SPEED,
    TYPE_COMMANDS, /* a list of commands for sh */
    TYPE_SCHEMA,   /* a JSON Schema for answers; its compact JSON inside */
    TYPE_SEARCH,   /* a kind of search service */
    TYPE_NETWORK,  /* none, relay or full, or {allow: hosts by name}; the contract's text inside */
    TYPE_ADDRESS,  /* of a host, perhaps with a port */
    TYPE_HOSTS,    /* a list of host rules (base/hostrule.h) */
    TYPE_HEADERS,  /* a mapping of header names to values; "Name: value" inside */
    TYPE_BODY,     /* a mapping whose compact JSON becomes part of request bodies */
    TYPE_ARGV,     /* a program and its arguments */
    TYPE_EFFORT,   /* how hard a model reasons: one of effort_names */
    TYPE_DECIMAL,  /* a number with at most six digits behind the point; millionths inside */
    TYPE_STOPS,    /* a list of at most PARAM_STOPS_MAX texts */
    TYPE_COUNT_OF_TYPES
};

/* What a project's own file may do with the key. NARROWS: a value within what holds without it; RAISES: one that is no lower, for a check that may only
 * become stricter; ADDS: any, under a name that the
 * user's file does not have; all else widens, and so does any value of a key that WIDENS: that takes the user's trust. NEVER: not
 * even then. */
enum config_project {
    PROJECT_NEVER,
    PROJECT_WIDENS,
    PROJECT_NARROWS,
    PROJECT_RAISES,
    PROJECT_ADDS
};

/* Effort and sampling, the same five keys in each place that may set them. */
/* clang-format off */
#define CONFIG_PARAMS(X, ID, PATH, PROJECT, WHOSE) \
    X(ID##EFFORT, PATH "effort", EFFORT, PROJECT, "", 0, 0, \
      "How hard the model reasons" WHOSE) \
    X(ID##TEMPERATURE, PATH "temperature", DECIMAL, PROJECT, "", 0, 2, \
      "Sampling temperature" WHOSE) \
    X(ID##TOP_P, PATH "top_p", DECIMAL, PROJECT, "", 0, 1, \
      "Share of the probability that is sampled from" WHOSE) \
    X(ID##STOP, PATH "stop", STOPS, PROJECT, "", 0, 0, \
      "Texts that end an answer" WHOSE) \
    X(ID##SEED, PATH "seed", COUNT, PROJECT, "", 0, 9007199254740991, \
      "Seed for sampling, where the server takes one" WHOSE)
/* clang-format on */

/* X(ID, path, type, project, default, minimum, maximum, meaning). A default of "" means that there is none. */
/* clang-format off */
#define CONFIG_KEYS(X) \
    X(PROVIDER, "llm.providers.*", OBJECT, WIDENS, "", 0, 0, \
      "A model server, under a name of your choice.") \
    X(PROVIDER_API, "llm.providers.*.api", API, WIDENS, "openai", 0, 0, \
      "How the server is spoken to. Without it: `openai`, and `responses` for reasoning models of OpenAI's own server. `openai`: any server with OpenAI's chat completions; `anthropic`: with Anthropic's messages; `responses`: with OpenAI's responses; `replay`: no server, answers come from a recording (`docs/replay.md`).") \
    X(PROVIDER_URL, "llm.providers.*.base_url", URL, WIDENS, "https://api.openai.com/v1", 0, 0, \
      "Address of the API, up to and with its version; a query such as `?api-version=…` stays behind every path. A provider with the name of a preset (`docs/models.md`) has that preset's; with `api: anthropic` the default is `https://api.anthropic.com/v1`.") \
    X(PROVIDER_KEY, "llm.providers.*.api_key_env", VARIABLE, WIDENS, "", 0, 0, \
      "Name of the environment variable that holds the key. Without it no key is sent, except that a provider without `base_url` uses its preset's or its API's own: `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.") \
    X(PROVIDER_KEY_CMD, "llm.providers.*.api_key_cmd", ARGV, NEVER, "", 0, 0, \
      "A program that prints the key, in place of `api_key_env`: its name in `PATH`, or its path (a relative one starts at the directory of the config file, `~/` at your home), then its arguments; no shell. Its output is the key, or JSON with `token` and `expires_at`. It has 10 seconds; it is run again when the key expires or the server answers 401 (`docs/models.md`).") \
    X(PROVIDER_KEY_TTL, "llm.providers.*.api_key_ttl_ms", MILLISECONDS, NEVER, "300000", 1000, 2678400000, \
      "How long a key that `api_key_cmd` printed is used, where its output does not say.") \
    X(PROVIDER_HEADERS, "llm.providers.*.headers", HEADERS, NEVER, "", 0, 0, \
      "Headers for every request: a mapping of names to values. `$NAME` and `${NAME}` in a value are environment variables, `$$` is a dollar. With `Authorization`, `x-api-key` or `api-key` here no other key is sent.") \
    X(PROVIDER_EXTRA, "llm.providers.*.extra_body", BODY, NEVER, "", 0, 0, \
      "Members that are added to the body of every request, over cadre's own: a mapping.") \
    X(PROVIDER_MAX_CONCURRENT, "llm.providers.*.max_concurrent", COUNT, WIDENS, "10000", 1, 10000, \
      "Most requests under way at once to this server, from all runs of a process. Without it they start at 64 and grow with what the server takes. Fewer are sent after it refused some. For a local server: how many slots it has; `cadre doctor` finds out.") \
    X(PROVIDER_FIRST_BYTE, "llm.providers.*.first_byte_ms", MILLISECONDS, WIDENS, "300000", 1000, 86400000, \
      "How long the server may take until the first byte of its answer: it reads the whole prompt in this time.") \
    X(PROVIDER_IDLE, "llm.providers.*.idle_ms", MILLISECONDS, WIDENS, "120000", 1000, 86400000, \
      "How long an answer may stand still once it has begun.") \
    X(PROVIDER_TOTAL, "llm.providers.*.total_ms", MILLISECONDS, WIDENS, "900000", 1000, 86400000, \
      "How long one request may take in all.") \
    X(PROVIDER_FILE, "llm.providers.*.file", TEXT, WIDENS, "", 0, 0, \
      "With `api: replay`: the recording (`cadre run --record FILE`) that answers. A relative path starts at the config file's directory, `~/` at your home.") \
    X(PROVIDER_STRICT, "llm.providers.*.strict", SWITCH, WIDENS, "false", 0, 1, \
      "With `api: replay`: whether a request that differs from the recorded one fails, in place of a warning.") \
    X(PROVIDER_SPEED, "llm.providers.*.speed", SPEED, WIDENS, "instant", 0, 0, \
      "With `api: replay`: whether answers come at once or take the time that was recorded.") \
    X(MODEL, "llm.models.*", OBJECT, WIDENS, "", 0, 0, \
      "A model, under a name of your choice.") \
    X(MODEL_PROVIDER, "llm.models.*.provider", TEXT, WIDENS, "", 0, 0, \
      "Which of `llm.providers`, or which preset (`docs/models.md`), serves it. Required.") \
    X(MODEL_ID, "llm.models.*.model", TEXT, WIDENS, "", 0, 0, \
      "What the server calls it. Without it: the model's name here.") \
    X(MODEL_OUTPUT, "llm.models.*.max_tokens", COUNT, WIDENS, "8192", 256, 10000000, \
      "Most tokens of one answer. The default is never more than half of the window. Without it: 16384 for models that always reason, and 32768 where an effort is set, as far as the model is known to write that much.") \
    X(MODEL_WINDOW, "llm.models.*.max_context_tokens", COUNT, WIDENS, "100000", 1024, 100000000, \
      "The model's window, in tokens. Without it: what is known of the model on its vendor's server, within its cheaper price; else what its server says when a run starts; else the default.") \
    X(MODEL_PRICE_IN, "llm.models.*.price_in", PRICE, WIDENS, "", 0, 1000000, \
      "Dollars for a million input tokens; 0 for a free server. Given together with `price_out`. Without them: the built-in price where the provider's own server is used and the model is known there; `cadre config check` shows it with its date.") \
    X(MODEL_PRICE_OUT, "llm.models.*.price_out", PRICE, WIDENS, "", 0, 1000000, \
      "Dollars for a million output tokens.") \
    X(MODEL_PRICE_CACHED, "llm.models.*.price_cached", PRICE, WIDENS, "", 0, 1000000, \
      "Dollars for a million input tokens that the server had in its cache. Without it: the built-in price, else as other input.") \
    X(MODEL_PRICE_CACHE_WRITE, "llm.models.*.price_cache_write", PRICE, WIDENS, "", 0, 1000000, \
      "Dollars for a million input tokens that the server puts into its cache. Without it: the built-in price, else as other input.") \
    X(MODEL_TEXT_CALLS, "llm.models.*.text_tool_calls", SWITCH, WIDENS, "false", 0, 1, \
      "Whether tool calls that the model writes into its text are read as calls: `<tool_call>{…}</tool_call>` and `<function=NAME>…</function>`, for tools it was offered. For servers that do not do that themselves.") \
    X(MODEL_EXTRA, "llm.models.*.extra_body", BODY, NEVER, "", 0, 0, \
      "The same for this model, over its provider's.") \
    CONFIG_PARAMS(X, MODEL_, "llm.models.*.", WIDENS, ", of agents with this model. Without it: `llm`'s own, else the server's default.") \
    X(POOL_MODEL, "llm.pools.*[].model", TEXT, WIDENS, "", 0, 0, \
      "A model of the pool. A call that fails goes to the next one.") \
    X(DEFAULT_POOL, "llm.default_pool", TEXT, WIDENS, "default", 0, 0, \
      "The pool that runs use. Without such a pool: the only model of `llm.models`.") \
    X(ALLOWED_MODELS, "llm.allowed_models", NAMES, WIDENS, "", 0, 0, \
      "Names of models that runs may use. Without it: all of `llm.models`.") \
    CONFIG_PARAMS(X, LLM_, "llm.", WIDENS, ", where the model has no value of its own. Children have their parent's unless their role, profile or call says otherwise.") \
    X(PATIENCE, "llm.patience_ms", MILLISECONDS, NEVER, "600000", 1000, 86400000, \
      "For how long a request is tried again when its provider is in trouble: no connection, a broken answer, status 429 or 5xx. Then the run is parked, and `cadre resume` goes on. Waiting does not count against time limits of agents. A provider that never answered in the run gets 15 seconds.") \
    X(SUB_AGENT_ENABLED, "sub_agent.enabled", SWITCH, NARROWS, "true", 0, 1, \
      "Whether agents may start children.") \
    X(MAX_DEPTH, "sub_agent.max_depth", COUNT, NARROWS, "2", 0, 16, \
      "How deep children may nest.") \
    X(MAX_CONCURRENT, "sub_agent.max_concurrent", COUNT, NARROWS, "3", 1, 100000, \
      "How many agents of a run work at once.") \
    X(DELEGATE_CONCURRENCY, "sub_agent.delegate_concurrency", COUNT, NARROWS, "1", 1, 100000, \
      "How many subtasks of one `delegate_task` work at once.") \
    X(CHILD_TOOL_CALLS, "sub_agent.default_budget.max_tool_calls", COUNT, NARROWS, "15", 1, 100000, \
      "Tool calls of a child that asks for no other number.") \
    X(CHILD_CONTEXT, "sub_agent.default_budget.max_tokens", LIMIT, NARROWS, "null", 1024, 100000000, \
      "Tokens of one request of a child. null: a quarter of the model's window, and at least three times what its prompt and tools take.") \
    X(CHILD_WALL, "sub_agent.default_budget.timeout_ms", MILLISECONDS, NARROWS, "60000", 5000, 2678400000, \
      "Time of a child, all attempts together. The default measures silence instead: an attempt whose model stops in the middle of an answer for that long ends. A value set here is a wall.") \
    X(INHERIT_MODE, "sub_agent.inherit_mode", SWITCH, NARROWS, "true", 0, 1, \
      "Whether a child works in its parent's mode. Off: in `safe`, where that is not more than its parent may do. A mode that its call names counts before this.") \
    X(GATE, "sub_agent.gate", GATE, NARROWS, "parent", 0, 0, \
      "`parent`: the parent is told about a failed child and decides. `run`: a failed child fails the run.") \
    X(CHILD_ASK, "sub_agent.ask", ALLOWANCE, NARROWS, "allow", 0, 0, \
      "Whether a person is asked about calls of children, as about those of the root (`docs/modes.md`). `deny`: such calls are refused.") \
    X(ATTEMPT_TIMEOUT, "sub_agent.attempt_timeout_ms", MILLISECONDS, NARROWS, "90000", 5000, 2678400000, \
      "Time of one attempt of a child, where it is set here. The default is no wall: it measures silence where `default_budget.timeout_ms` is a wall.") \
    X(MAX_WALL, "sub_agent.max_wall_ms", MILLISECONDS, NARROWS, "900000", 5000, 2678400000, \
      "Time of a child whose limit nobody set, whatever signs of life it shows. Never more than what its parent has left.") \
    X(MAX_RETRIES, "sub_agent.max_retries", COUNT, NARROWS, "1", 0, 100, \
      "How often a child that failed is started again.") \
    X(IDLE_TIMEOUT, "sub_agent.idle_timeout_ms", IDLE, NARROWS, "0", 1000, 2678400000, \
      "How long an attempt of a child may show no sign of life: no byte of an answer, no progress of a tool. Then it ends like one that timed out. Waiting for the first byte and running tools count. 0: the built-in limits of `default_budget.timeout_ms` and `attempt_timeout_ms` measure silence, where they do not count.") \
    X(REUSE, "sub_agent.cache", SWITCH, NARROWS, "true", 0, 1, \
      "Whether a task that a child with reading tools alone has done already is answered with that child's result, as long as nothing was changed since.") \
    X(CLOSE_ON_COMPLETION, "sub_agent.close_on_completion", SWITCH, NARROWS, "true", 0, 1, \
      "Whether a child that did its work is merged and closed at once. `false` holds it until its parent calls `agent_merge` or `agent_cancel`.") \
    X(ISOLATE_CHILDREN, "isolation.children", SWITCH, WIDENS, "true", 0, 1, \
      "Whether a child that can write works in a tree of its own, which its parent merges (`docs/trees.md`). `false`: all work in the parent's files.") \
    X(ISOLATE_ROOT, "isolation.root", SWITCH, WIDENS, "true", 0, 1, \
      "Whether `cadre run` in a git repository works in a tree of its own and leaves its result on the branch `cadre/RUN/result`. `false`: it works in your checkout.") \
    X(ISOLATE_SNAPSHOT, "isolation.snapshot", SWITCH, WIDENS, "true", 0, 1, \
      "Whether changes that you have not committed are part of what a tree starts from. `false`: nothing starts while there are any.") \
    X(PLAN_ENABLED, "plan.enabled", SWITCH, NARROWS, "false", 0, 1, \
      "Whether a root has the tool `plan`, which makes a plan for a goal and carries it out (`docs/plans.md`). `cadre run --plan` needs no such tool.") \
    X(PLAN_REVIEW, "plan.review", SWITCH, RAISES, "true", 0, 1, \
      "Whether a child reviews what a plan's steps have merged.") \
    X(PLAN_ROUNDS, "plan.review_rounds", COUNT, NARROWS, "1", 0, 10, \
      "How often the findings of that review become steps; the result is reviewed again each time.") \
    X(PLAN_APPROVAL, "plan.approval_timeout_ms", IDLE, NARROWS, "600000", 1000, 2678400000, \
      "How long a step waits for the approval that it needs; then it is denied. 0: for as long as it takes.") \
    X(APPROVALS_VIA, "approvals.via", VIA, NEVER, "terminal", 0, 0, \
      "What becomes of a question about a call when nobody is at a terminal. `terminal`: the call is refused. `inbox`: the question waits for `cadre approve`.") \
    X(APPROVALS_TIMEOUT, "approvals.timeout_ms", MILLISECONDS, NARROWS, "600000", 1000, 2678400000, \
      "How long such a question waits; then the run is parked, and `cadre resume` puts the question again. Steps of plans have `plan.approval_timeout_ms`.") \
    X(SPAWN_ENABLED, "tools.spawn.enabled", SWITCH, NARROWS, "false", 0, 1, \
      "Whether agents have `spawn` and `spawn_await` (`docs/doors.md`).") \
    X(PROFILE, "tools.spawn.profiles.*", OBJECT, ADDS, "", 0, 0, \
      "A profile for `spawn`, under a name of your choice: at most 64 small letters, digits, `_` and `-`.") \
    X(PROFILE_PROMPT, "tools.spawn.profiles.*.system_prompt", PROSE, ADDS, "", 0, 0, \
      "The last part of the child's prompt. Its first sentence tells the parent what the profile is for.") \
    X(PROFILE_FILE, "tools.spawn.profiles.*.system_prompt_file", FILE, ADDS, "", 0, 0, \
      "A file of the workspace whose text comes before it. Read anew for each child; it must be there.") \
    X(PROFILE_BOOTSTRAP, "tools.spawn.profiles.*.bootstrap_files", FILES, ADDS, "", 0, 0, \
      "Files of the workspace whose texts come first, in this order; those that are not there are left out. Without any: `AGENTS.md` and `ENVIRONMENT.md`. A plain name that ends with `.md` is found above the workspace too (\"Instruction files\").") \
    X(PROFILE_DIRECTORY, "tools.spawn.profiles.*.working_directory", FILE, ADDS, "", 0, 0, \
      "A directory of the workspace where the child's relative paths and commands start. Without it: where its parent's do.") \
    X(PROFILE_TOOLS, "tools.spawn.profiles.*.tools", TOOLS, ADDS, "", 0, 0, \
      "The child's tools, of those that its parent has. Without any: all of them. Never those that start other agents.") \
    X(PROFILE_POOL, "tools.spawn.profiles.*.pool", POOL, WIDENS, "", 0, 0, \
      "The pool that the child uses. Without it: its parent's.") \
    X(PROFILE_SCHEMA, "tools.spawn.profiles.*.outputs.schema", SCHEMA, ADDS, "", 0, 0, \
      "A JSON Schema that the child's answer must match: it is corrected twice, then it fails (`docs/doors.md`).") \
    X(PROFILE_CHECKS, "tools.spawn.profiles.*.outputs.checks", COMMANDS, WIDENS, "", 0, 0, \
      "Commands for `sh` that must succeed before the child's work counts as done. They run in the sandbox, in its workspace; one that fails is told to it twice, then it fails. Without this key: those of its role.") \
    X(PROFILE_NETWORK, "tools.spawn.profiles.*.network", NETWORK, ADDS, "", 0, 0, \
      "What the child's commands reach, where that is less than its parent's. Without this key: as its parent's.") \
    CONFIG_PARAMS(X, PROFILE_, "tools.spawn.profiles.*.", ADDS, ", of children with this profile.") \
    X(ROLE_CHECKS, "roles.*.outputs.checks", COMMANDS, WIDENS, "", 0, 0, \
      "The same for children with this role. Without this key: those of `sub_agent.outputs.checks`.") \
    X(CHILD_CHECKS, "sub_agent.outputs.checks", COMMANDS, WIDENS, "", 0, 0, \
      "The same for every child that may change files.") \
    X(ROLE_SCHEMA, "roles.*.outputs.schema", SCHEMA, ADDS, "", 0, 0, \
      "The same for children with this role: researcher, planner, executor, reviewer or tester.") \
    X(TEST_COMMAND, "tools.test.command", TEXT, ADDS, "", 0, 0, \
      "The command with which the tool `test` runs the project's tests, for `sh`. Without it: what the project's build files tell (`docs/tools.md`).") \
    X(SEARCH_KIND, "tools.web_search.kind", SEARCH, NEVER, "", 0, 0, \
      "What `web_search` asks: a SearXNG server, or the API of Brave or Tavily, or something that speaks like one of them. Without it `web_search` answers with an error.") \
    X(SEARCH_URL, "tools.web_search.url", URL, NEVER, "", 0, 0, \
      "Address of the search service, such as `http://localhost:8888/search`. Brave and Tavily have their own; SearXNG needs one.") \
    X(SEARCH_KEY, "tools.web_search.api_key_env", VARIABLE, NEVER, "", 0, 0, \
      "Name of the environment variable that holds the service's key. Without it no key is sent.") \
    X(FETCH_PRIVATE, "tools.web_fetch.allow_private", SWITCH, NEVER, "false", 0, 1, \
      "Whether `web_fetch` may reach addresses that are not public: this machine, the local network, link-local and other reserved ranges.") \
    X(ROLE_DIRECTORIES, "roles.*.write_directories", NAMES, WIDENS, "", 0, 0, \
      "For `tester` alone: names of directories, at any depth, that it may write to besides `test`, `tests`, `spec` and `__tests__`.") \
    CONFIG_PARAMS(X, ROLE_, "roles.*.", WIDENS, ", of children with this role.") \
    X(ROLE_NETWORK, "roles.*.network", NETWORK, NARROWS, "full", 0, 0, \
      "What commands of children with this role reach, where that is less than their parent's.") \
    X(ACCESS_NETWORK, "access.network", NETWORK, NARROWS, "none", 0, 0, \
      "What commands of agents reach (`shell`, `test`, checks). `none`: nothing but themselves. `relay`: besides, one port of their loopback that leads to `sandbox.relay.socket`. `{allow: [registry.example, \"*.example.org\"]}`: hosts by name, through a proxy that is cadre's own: ports 80 and 443, public addresses. `full`: what this machine reaches, its own servers included. Children have their parent's or less.") \
    X(ACCESS_PRIVATE, "access.private_hosts", HOSTS, NEVER, "", 0, 0, \
      "Hosts of `access.network: {allow: …}` whose names may lead to addresses that are not public: your own network, this machine.") \
    X(ACCESS_ADDRESS, "access.addresses.*", ADDRESS, NEVER, "", 0, 0, \
      "Where a host of `access.network: {allow: …}` is, in place of what its name leads to: an address, public or not, and perhaps a port in place of 80 and 443.") \
    X(ACCESS_CREDENTIALS, "access.credentials.*", HEADERS, NEVER, "", 0, 0, \
      "Headers with keys for one host of `access.network: {allow: …}`, for example `registry.example: {Authorization: Bearer $TOKEN}`. `$NAME` is an environment variable of yours. A command asks `http://HOST/…`; the request leaves over TLS to port 443 with these headers, which the command never sees (`docs/security.md`).") \
    X(MODE, "mode", MODE, NARROWS, "safe", 0, 0, \
      "What tools may do without asking.") \
    X(PERMISSION, "permissions.*", PERMISSION, NARROWS, "", 0, 0, \
      "One tool's permission, in place of the mode's. A project may deny a tool, or lower what your own file says of it.") \
    X(WARN_AT, "safety.circuit_breaker.warn_at", COUNT, NARROWS, "20", 1, 100000, \
      "Tool calls of a run's root agent after which it is warned.") \
    X(PAUSE_AT, "safety.circuit_breaker.pause_at", COUNT, NARROWS, "30", 1, 100000, \
      "Tool calls after which the root stops; on a terminal its user is asked whether it goes on to hard_stop_at.") \
    X(HARD_STOP_AT, "safety.circuit_breaker.hard_stop_at", COUNT, NARROWS, "100", 1, 100000, \
      "Tool calls at which the root stops; also the most that a child may be given.") \
    X(COST, "budget.cost_usd", MONEY, NARROWS, "1.00", 1, 1000000, \
      "Dollars that a run may cost, children included. The default holds for the whole run, whichever of its models answers, and counts what those with a price cost; the first line of a run names models without one. A limit set here needs prices for every model that may be used.") \
    X(TOKENS, "budget.tokens", LIMIT, NARROWS, "null", 1024, 1000000000000, \
      "Tokens that a run may use, children included, each counted once.") \
    X(WALL, "budget.wall_ms", MILLISECONDS, NARROWS, "900000", 5000, 2678400000, \
      "Time of a run.") \
    X(SANDBOX_NAMESPACES, "sandbox.namespaces", SWITCH, NEVER, "true", 0, 1, \
      "Whether confined commands get processes, files, a network and a host name of their own. Off only where the machine cannot: `docs/security.md` says what is open then.") \
    X(SANDBOX_LANDLOCK, "sandbox.landlock", SWITCH, NEVER, "true", 0, 1, \
      "Whether Landlock guards the same files once more.") \
    X(SANDBOX_SECCOMP, "sandbox.seccomp", SWITCH, NEVER, "true", 0, 1, \
      "Whether system calls that no build or test needs are refused.") \
    X(SANDBOX_ENVIRONMENT, "sandbox.environment", NAMES, NEVER, "", 0, 0, \
      "Names of environment variables that confined commands may see, besides the built ones (`PATH`, `HOME`, `LANG`, `TERM`, `TMPDIR`, `USER`, `LOGNAME`, `SHELL`).") \
    X(SANDBOX_SHOW, "sandbox.show", NAMES, NEVER, "", 0, 0, \
      "Further absolute paths that confined commands may read, for example a toolchain outside of `/usr` and `/opt`.") \
    X(SANDBOX_PROCESSES, "sandbox.processes", COUNT, NARROWS, "512", 16, 100000, \
      "Processes and threads of one confined command. Kernels from 6.14 on count at least 301.") \
    X(SANDBOX_MEMORY, "sandbox.memory_mb", LIMIT, NARROWS, "null", 64, 100000000, \
      "Megabytes that one confined command may hold, its private `/tmp` and the buffers of its sockets included. null: half of the machine's memory, at least 2048.") \
    X(SANDBOX_FILE, "sandbox.file_mb", COUNT, NARROWS, "4096", 1, 100000000, \
      "Megabytes of one file that a confined command writes.") \
    X(SANDBOX_DISK, "sandbox.disk_mb", COUNT, NARROWS, "32768", 1, 100000000, \
      "Megabytes that the confined commands of one run write, in sum over the trees of all its agents, as long as cadre runs.") \
    X(SANDBOX_OPEN_FILES, "sandbox.open_files", COUNT, NARROWS, "8192", 32, 1000000, \
      "Files that one confined process may have open.") \
    X(RELAY_SOCKET, "sandbox.relay.socket", TEXT, NEVER, "", 0, 0, \
      "Absolute path of a unix socket to which commands with `access.network: relay` are led: a proxy of yours that decides what may be reached. Nothing else of the machine can be.") \
    X(RELAY_PORT, "sandbox.relay.port", COUNT, NEVER, "8118", 1024, 65535, \
      "Port of 127.0.0.1, inside, that leads to it. A program that takes a proxy from its environment is told by `sandbox.environment`.") \
    X(SECRETS_MASK, "secrets.mask", SWITCH, NEVER, "true", 0, 1, \
      "Whether secrets in results of tools are replaced by masks before a model, the log or the screen has them: the keys that this config uses, and what looks like a key of a known vendor, a private key or a signed token (`docs/security.md`).") \
    X(STORE, "store", TEXT, NEVER, "", 0, 0, \
      "File of the database. A relative path starts at the config file's directory, `~/` at your home. Without it: `$XDG_STATE_HOME/cadre/cadre.db`, else `~/.local/state/cadre/cadre.db`.")
/* clang-format on */

enum config_key_id {
#define X(id, path, type, project, fallback, minimum, maximum, meaning) KEY_##id,
    CONFIG_KEYS(X)
#undef X
        KEY_COUNT_OF_KEYS
};

struct config_key {
    enum config_key_id id;
    const char *path;
    enum config_type type;
    enum config_project project;
    const char *fallback;
    int64_t minimum, maximum; /* of numbers; of dollars for money and prices */
    const char *meaning;
};

extern const struct config_key config_keys[KEY_COUNT_OF_KEYS];

enum { CONFIG_PATTERN_MAX = 96 };

/* What a pattern such as "llm.models.*" is: a row, and whether rows lie beneath it. */
struct config_pattern {
    const struct config_key *row; /* NULL: only a section */
    enum { BENEATH_NOTHING, BENEATH_MEMBERS, BENEATH_ITEMS } beneath;
};
/* Looks up `member` of the mapping at `parent` ("" at the top) and writes its pattern. False: no such key. */
bool config_pattern_member(const char *parent, struct str member, char pattern[CONFIG_PATTERN_MAX],
                           struct config_pattern *out);
/* Nearest known key for an unknown one, as it would be written; false when nothing is near. */
bool config_key_suggest(const char *parent, struct str member, struct buf *out);
/* "llm.models.local.provider", "llm.pools.fast[0].model" */
void config_key_print(const char *pattern, struct str name, size_t index, struct buf *out);
/* What a reader should write: "a whole number from 1 to 16". */
void config_key_expected(const struct config_key *key, struct buf *out);
/* The same without a range: "a list of tools". */
const char *config_type_expected(enum config_type type);
/* docs/config.md, all of it. */
void config_docs(struct buf *out);

/* Finds the candidate that is nearest to a word; for typing errors, other case, and - in place of _. */
struct config_nearest {
    struct str word, best;
    size_t distance;
};
void config_nearest_init(struct config_nearest *nearest, struct str word);
void config_nearest_offer(struct config_nearest *nearest, struct str candidate);

#endif
