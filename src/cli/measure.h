/* Measures a model server that speaks OpenAI's API: how long its requests may be, how many it answers side by side,
 * how fast it is. Bounded in requests, tokens and seconds; says "could not tell" rather than guess. What the server
 * answers is hostile until it was checked. Blocking: for a command. */
#ifndef CADRE_CLI_MEASURE_H
#define CADRE_CLI_MEASURE_H

#include "cli/output.h"
#include "port/fetch.h"

enum { MEASURE_REQUESTS_MAX = 20, MEASURE_SECONDS_MAX = 180 };

/* One thing that was to be found out. */
struct fact {
    int64_t value; /* -1: could not tell, and `how` says why */
    enum { FACT_EXACT, FACT_AT_LEAST } bound;
    char how[200];
};

struct measurement {
    char base_url[256], model[256];
    const char *server; /* "llama.cpp", "Ollama", "vLLM", "LM Studio" or "an unknown server" */
    int requests;       /* that were sent */
    int64_t trained;    /* tokens that the model was trained for, where Ollama says so; -1 */
    struct fact window; /* tokens of one request, prompt and answer together */
    struct fact slots;  /* requests that are answered side by side */
    struct fact cold_us, first_token_us;
    struct fact read_rate,
        write_rate; /* tokens a second, times ten: of the prompt, of the answer */
};

struct measure_request {
    struct str base_url, model; /* model STR_NONE: the first that the server names */
    struct str api_key;         /* empty: none */
    const struct str *headers;  /* "Name: value", besides */
    size_t header_count;
    enum measure_prompts {
        MEASURE_ANY_PROMPT,
        MEASURE_SMALL_PROMPTS
    } prompts; /* SMALL: each token is billed */
    fetch_fn *fetch;
};

/* -1: there is no server that answers, or none that names a model (class RETRY or PROVIDER). */
int measure_server(const struct measure_request *request, struct measurement *out,
                   struct err *err) NODISCARD;

/* The window that the server tells of itself, without a request to the model, within so many milliseconds; -1: it does
 * not tell. A vendor's own server is asked for its list of models alone. */
enum measure_paths { MEASURE_EVERY_PATH, MEASURE_MODELS_ALONE };
int64_t measure_told_window(const struct measure_request *request, enum measure_paths paths,
                            int64_t ms);

/* What the measurement says for llm.providers and sub_agent; -1 where nothing can be said, or the default is enough. */
struct proposal {
    int64_t max_concurrent, max_context_tokens, first_byte_ms, idle_ms, total_ms;
    int64_t children;                /* sub_agent.max_concurrent */
    int64_t child_ms, child_wall_ms; /* default_budget.timeout_ms, max_wall_ms */
};
void measure_propose(const struct measurement *measurement, struct proposal *proposal);
/* For cadre.yaml. */
void measure_yaml(const struct measurement *measurement, const struct proposal *proposal,
                  struct buf *out);
/* All of it, as text or as a JSON line. */
void measure_report(struct output *output, const struct measurement *measurement);

bool measure_is_loopback(struct str base_url);

#endif
