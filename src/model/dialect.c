/* The table of dialects and what a refusal teaches; see the header. culprit.h reads errors. Each row has the page that
 * says so. Does not send anything. Pure; loop thread. */
#include "model/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/json.h"
#include "model/culprit.h"
#include "model/responses_extras.h"

/* Bits of effort_names: none, minimal, low, medium, high, xhigh, max. */
enum {
    EFFORT_NONE = 1 << 0,
    EFFORT_MINIMAL = 1 << 1,
    EFFORT_LOW_TO_HIGH = 1 << 2 | 1 << 3 | 1 << 4,
    EFFORT_XHIGH = 1 << 5,
    EFFORT_MAX = 1 << 6,
};

#define SAMPLING (SENDS_TEMPERATURE | SENDS_TOP_P)
#define REASONING (SENDS_EFFORT | SENDS_SUMMARY | SENDS_SEALED)

/* By host: a name that starts with a dot stands for all hosts that end with it. Or by the
 * provider's name in the settings, for gateways in front of it. */
static const struct {
    const char *host, *provider;
    uint32_t left_out;
    const char *limit, *key_header;
    enum { HOST_OTHER, HOST_OPENAI } kind;
} hosts[] = {
    /* API reference of OpenAI, "Create chat completion" and "Create a model response" */
    {"api.openai.com", NULL, 0, NULL, NULL, HOST_OPENAI},
    /* Azure OpenAI REST API reference: the header api-key; max_tokens is deprecated */
    {".openai.azure.com", "azure", 0, "max_completion_tokens", "api-key: ", HOST_OPENAI},
    {".services.ai.azure.com", NULL, 0, "max_completion_tokens", "api-key: ", HOST_OPENAI},
    {".cognitiveservices.azure.com", NULL, 0, "max_completion_tokens", "api-key: ", HOST_OPENAI},
    /* OpenRouter API reference, "Parameters": max_tokens for every model */
    {"openrouter.ai", "openrouter", 0, "max_tokens", NULL, HOST_OTHER},
    /* Mistral API reference, "Chat completion": no stream_options, and the seed is random_seed;
     * mistral-common, protocol/instruct/validator.py: only an answer or another result follows a
     * result */
    {"api.mistral.ai", "mistral", SENDS_USAGE_WISH | SENDS_SEED | SENDS_USER_AFTER_TOOL,
     "max_tokens", NULL, HOST_OTHER},
};

/* By the start of the model's name, without a vendor before it; the first row that fits counts.
 * From OpenAI's guides "Reasoning models" (no temperature and top_p, max_completion_tokens) and
 * "Using GPT-5" (efforts). */
static const struct family {
    const char *model;
    uint32_t left_out;
    const char *limit;
    unsigned efforts;
} families[] = {
    {"gpt-5-chat", REASONING, "max_completion_tokens", EFFORT_LOW_TO_HIGH},
    {"gpt-5.1", SAMPLING | SENDS_STOP, "max_completion_tokens", EFFORT_NONE | EFFORT_LOW_TO_HIGH},
    {"gpt-5.", SAMPLING | SENDS_STOP, "max_completion_tokens",
     EFFORT_NONE | EFFORT_LOW_TO_HIGH | EFFORT_XHIGH},
    {"gpt-5", SAMPLING | SENDS_STOP, "max_completion_tokens", EFFORT_MINIMAL | EFFORT_LOW_TO_HIGH},
    {"gpt-6", SAMPLING | SENDS_STOP, "max_completion_tokens",
     EFFORT_NONE | EFFORT_LOW_TO_HIGH | EFFORT_XHIGH},
    {"o1", SAMPLING | SENDS_STOP, "max_completion_tokens", EFFORT_LOW_TO_HIGH},
    {"o3", SAMPLING | SENDS_STOP, "max_completion_tokens", EFFORT_LOW_TO_HIGH},
    {"o4", SAMPLING | SENDS_STOP, "max_completion_tokens", EFFORT_LOW_TO_HIGH},
    {"gpt-3.5", REASONING, NULL, EFFORT_LOW_TO_HIGH},
    {"gpt-4", REASONING, NULL, EFFORT_LOW_TO_HIGH},
    {"chatgpt-", REASONING, NULL, EFFORT_LOW_TO_HIGH},
};

/* Where parameters stand in a body. A row counts when all of its parameters are refused. */
static const struct {
    uint32_t params;
    const char *path;
} places[] = {
    {SENDS_TEMPERATURE, "temperature"},
    {SENDS_TOP_P, "top_p"},
    {SENDS_SEED, "seed"},
    {SENDS_STOP, "stop"},
    {SENDS_STOP, "stop_sequences"},
    {SENDS_USAGE_WISH, "stream_options"},
    {SENDS_EFFORT, "reasoning_effort"},
    {SENDS_EFFORT, "reasoning.effort"},
    {SENDS_SUMMARY, "reasoning.summary"},
    {SENDS_EFFORT | SENDS_SUMMARY, "reasoning"},
    {SENDS_SEALED, "include"},
    {SENDS_EFFORT, "output_config.effort"},
    {SENDS_FORMAT, "output_config.format"},
    {SENDS_EFFORT | SENDS_FORMAT, "output_config"},
    {SENDS_FORMAT, "response_format"},
    {SENDS_FORMAT, "text"},
    {SENDS_STRICT, "tools.*.strict"},
    {SENDS_STRICT, "response_format.json_schema.strict"},
    {SENDS_STRICT, "text.format.strict"},
    {SENDS_THINKING, "thinking"},
    {SENDS_CACHE_KEY, "prompt_cache_key"},
    {SENDS_CACHE_MARKS, "tools.*.cache_control"},
    {SENDS_CACHE_MARKS, "system.*.cache_control"},
    {SENDS_CACHE_MARKS, "messages.*.content.*.cache_control"},
    {SENDS_ECHOED_CONTENT, "messages.*.reasoning_content"},
    {SENDS_ECHOED_TEXT, "messages.*.reasoning"},
    {SENDS_ECHOED_DETAILS, "messages.*.reasoning_details"},
};

#define LIMIT_LEAST 256 /* a lower output limit is not believed */
#define COUNT(table) (sizeof table / sizeof table[0])

/* --- what is known ---------------------------------------------------------------------------- */

void dialects_init(struct dialects *dialects)
{
    map_init(&dialects->known);
}

void dialects_release(struct dialects *dialects)
{
    size_t cursor = 0;
    struct str key;
    void *item;
    while (map_next(&dialects->known, &cursor, &key, &item)) {
        struct dialect_learnt *learnt = item;
        wishes_release(&learnt->wishes);
        free(learnt);
    }
    map_release(&dialects->known);
}

struct dialect_learnt *dialects_of(struct dialects *dialects, const struct model_request *request)
{
    struct buf key;
    buf_init(&key, 16 << 10);
    buf_str(&key, request->provider.n > 0 ? request->provider : request->base_url);
    buf_char(&key, '\n');
    buf_str(&key, request->model);
    struct dialect_learnt *learnt = map_get(&dialects->known, buf_view(&key));
    if (!learnt && !key.failed && dialects->known.count < DIALECTS_MAX) {
        learnt = calloc(1, sizeof *learnt);
        if (!learnt)
            abort();
        wishes_init(&learnt->wishes, request);
        map_set(&dialects->known, buf_view(&key), learnt);
    }
    buf_release(&key);
    return learnt;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Gateways put a vendor before the name, fine-tuning a mark. */
static struct str bare_model(struct str model)
{
    for (size_t i = model.n; i-- > 0;)
        if (model.p[i] == '/') {
            model = (struct str){model.p + i + 1, model.n - i - 1};
            break;
        }
    if (str_starts(model, STR("ft:")))
        model = (struct str){model.p + 3, model.n - 3};
    return model;
}

static const struct family *family_of(struct str model)
{
    model = bare_model(model);
    for (size_t i = 0; i < COUNT(families); i++) {
        struct str start = str_from(families[i].model);
        char next = model.n > start.n ? model.p[start.n] : '-';
        /* "o1" and "o1-mini", not "o100" */
        if (str_starts(model, start) && (start.n > 2 || next == '-'))
            return &families[i];
    }
    return NULL;
}

static bool host_fits(struct str host, const char *pattern)
{
    const char *port = host.n > 0 ? memchr(host.p, ':', host.n) : NULL;
    size_t n = port ? (size_t)(port - host.p) : host.n, wanted = strlen(pattern);
    if (pattern[0] != '.')
        return n == wanted && strncasecmp(host.p, pattern, n) == 0;
    return n > wanted && strncasecmp(host.p + n - wanted, pattern, wanted) == 0;
}

/* A token of Entra ID (a JWT), which Azure takes as Authorization and not as api-key. */
static bool is_token(struct str key)
{
    return str_starts(key, STR("eyJ")) && memchr(key.p, '.', key.n);
}

int dialect_claude(struct str model)
{
    const char *found = model.n > 0 ? memmem(model.p, model.n, "claude-", 7) : NULL;
    int version[2] = {0, 0}, parts = 0;
    if (!found)
        return 0;
    const char *p = found + 7, *end = model.p + model.n;
    while (p < end && (*p < '0' || *p > '9'))
        p++;
    while (parts < 2 && p < end && *p >= '0' && *p <= '9') {
        int number = 0, n = 0;
        for (; p < end && *p >= '0' && *p <= '9' && n < 9; p++, n++)
            number = number * 10 + (*p - '0');
        if (n > 2) /* a date */
            break;
        version[parts++] = number;
        p += p < end && (*p == '-' || *p == '.');
    }
    return version[0] * 100 + version[1];
}

/* Anthropic's guides "Adaptive thinking" (from 4.6 on; alone from 4.7 on, without temperature
 * and top_p), "Extended thinking" (from 3.7 on), "Effort" (xhigh from 4.7 on) and "Structured
 * outputs" (from 4.5 on, tools may be offered beside them). A model of another vendor takes
 * budgets, as far as is known. */
static void resolve_claude(struct str model, struct dialect *dialect)
{
    int version = dialect_claude(model);
    dialect->schema = SCHEMA_WITH_TOOLS;
    dialect->efforts = EFFORT_NONE | EFFORT_LOW_TO_HIGH | EFFORT_MAX;
    if (version < 405)
        dialect->left_out |= SENDS_FORMAT;
    if (version > 0 && version < 307)
        dialect->left_out |= SENDS_THINKING;
    if (version >= 406)
        dialect->thinking = THINKING_ADAPTIVE;
    if (version >= 407) {
        dialect->left_out |= SAMPLING;
        dialect->efforts |= EFFORT_XHIGH;
    }
}

void dialect_resolve(enum dialect_api api, const struct model_request *request,
                     const struct dialect_learnt *learnt, struct dialect *dialect)
{
    static const char *const limits[] = {[DIALECT_CHAT] = "max_tokens",
                                         [DIALECT_RESPONSES] = "max_output_tokens",
                                         [DIALECT_MESSAGES] = "max_tokens"};
    const struct family *family = family_of(request->model);
    struct str host = responses_host(request->base_url);
    *dialect = (struct dialect){.api = api,
                                .limit = limits[api],
                                .left_out = SENDS_CACHE_KEY,
                                .efforts = EFFORT_NONE | EFFORT_LOW_TO_HIGH};
    if (api == DIALECT_MESSAGES) {
        resolve_claude(request->model, dialect);
    } else if (family) {
        dialect->left_out |= family->left_out;
        dialect->efforts = family->efforts;
        if (family->limit && api == DIALECT_CHAT)
            dialect->limit = family->limit;
    }
    for (size_t i = 0; i < COUNT(hosts) && api != DIALECT_MESSAGES; i++) {
        if (!host_fits(host, hosts[i].host) &&
            !(hosts[i].provider && str_is(request->provider, hosts[i].provider)))
            continue;
        dialect->left_out |= hosts[i].left_out;
        dialect->key_header = is_token(request->api_key) ? NULL : hosts[i].key_header;
        if (hosts[i].limit && api == DIALECT_CHAT)
            dialect->limit = hosts[i].limit;
        if (hosts[i].kind == HOST_OPENAI) {
            dialect->left_out &= ~(uint32_t)SENDS_CACHE_KEY;
            dialect->schema = SCHEMA_WITH_TOOLS;
        }
        break;
    }
    dialect->tabled = dialect->left_out;
    if (!learnt)
        return;
    dialect->left_out |= learnt->refused;
    if (learnt->limit && api == DIALECT_CHAT)
        dialect->limit = learnt->limit;
    if (learnt->thinking == THINKS_ADAPTIVE)
        dialect->thinking = THINKING_ADAPTIVE;
}

bool dialect_sends(struct dialect *dialect, enum dialect_param param)
{
    bool sends = !(dialect->left_out & param);
    *(sends ? &dialect->sent : &dialect->withheld) |= param;
    return sends;
}

const char *dialect_effort(const struct dialect *dialect, struct str effort)
{
    int wanted = -1, best = -1;
    for (int i = 0; effort_names[i]; i++)
        if (str_is(effort, effort_names[i]))
            wanted = i;
    if (wanted < 0)
        return NULL;
    for (int i = 0; effort_names[i]; i++)
        if ((dialect->efforts & 1u << i) && (best < 0 || abs(i - wanted) <= abs(best - wanted)))
            best = i;
    return best < 0 ? NULL : effort_names[best];
}

/* --- learning --------------------------------------------------------------------------------- */

/* An error about the value of the limit, or about the length of the conversation, is none about
 * its name. */
static bool refuses_limit(struct str body)
{
    static const char *const unknown[] = {"unsupported",  "not supported", "unknown",
                                          "unrecognized", "unexpected",    "not permitted",
                                          "extra inputs", "instead",       NULL};
    static const char *const too_much[] = {"too large", "at most", "maximum", "exceed", NULL};
    return culprit_says(body, unknown) && !culprit_says(body, too_much);
}

/* The highest output limit that the server takes, where its error names one: "This model supports
 * at most 4096 completion tokens" (OpenAI), "must be less than or equal to `4096`" (Groq),
 * "8192 > 4096, which is the maximum allowed number of output tokens" (Anthropic). 0: not told. */
static int64_t limit_told(struct str body, int64_t sent)
{
    static const char *const too_high[] = {"at most", "less than or equal",
                                           "maximum allowed number", NULL};
    int64_t most = 0;
    if (!culprit_says(body, too_high))
        return 0;
    for (size_t i = 0; i < body.n;) {
        int64_t number = 0;
        for (; i < body.n && body.p[i] >= '0' && body.p[i] <= '9'; i++)
            number = number < sent ? number * 10 + (body.p[i] - '0') : number;
        if (number >= LIMIT_LEAST && number < sent && number > most)
            most = number;
        i++;
    }
    return most;
}

static const char *other_limit(const struct dialect *dialect)
{
    if (dialect->api != DIALECT_CHAT)
        return NULL;
    return strcmp(dialect->limit, "max_tokens") == 0 ? "max_completion_tokens" : "max_tokens";
}

bool dialect_refuses_roles(struct str body)
{
    static const char *const words[] = {"roles must alternate", "after role 'tool'",
                                        "after role tool", NULL};
    return culprit_says(body, words);
}

/* Servers that want reasoning back complain about messages without it, in words that name it as
 * a refusal does: "must be passed back" (DeepSeek), "is missing" (Kimi). */
static bool misses_echo(struct str body)
{
    static const char *const words[] = {"passed back", "must include", "missing", NULL};
    return culprit_says(body, words);
}

uint32_t dialect_learn(struct dialect_learnt *learnt, const struct dialect *dialect, uint32_t tried,
                       struct str body)
{
    static const char *const overflow[] = {"context length", "context_length", "context window",
                                           "too long",       "context size",   NULL};
    static const char *const adaptive[] = {"thinking.type.adaptive", NULL};
    const struct culprit *name = culprit_of(body);
    uint32_t refused = name ? name->params & dialect->sent & ~tried : 0;
    if (dialect_refuses_roles(body))
        refused = SENDS_USER_AFTER_TOOL & dialect->sent & ~tried;
    /* The echo goes first, where the name may mean it: it is not a wish of the person. */
    if (refused & SENDS_ECHOES)
        refused = misses_echo(body) ? 0 : refused & SENDS_ECHOES;
    if (refused == 0 || culprit_says(body, overflow))
        return 0;
    learnt->accepted &= ~refused;
    if (name && (refused & SENDS_LIMIT)) {
        int64_t most = limit_told(body, dialect->output_limit);
        if (most > 0) {
            learnt->most = most;
            return SENDS_LIMIT;
        }
        if (!refuses_limit(body) || !other_limit(dialect) ||
            strcmp(name->name, dialect->limit) != 0)
            return 0;
        learnt->limit = other_limit(dialect);
        return SENDS_LIMIT;
    }
    if ((refused & SENDS_THINKING) && dialect->thinking == THINKING_BUDGET &&
        culprit_says(body, adaptive)) {
        learnt->thinking = THINKS_ADAPTIVE;
        return SENDS_THINKING;
    }
    learnt->refused |= refused;
    return refused;
}

/* The body's messages as an array with parted roles. */
static void part_roles(struct str body, struct buf *out)
{
    struct err ignored = ERR_INIT;
    struct js *root = js_parse(body, &ignored);
    struct str messages = js_source(body, js_get(root, "messages"));
    buf_char(out, '[');
    if (messages.n > 2)
        body_part_roles((struct str){messages.p + 1, messages.n - 2}, out);
    buf_char(out, ']');
    js_free(root);
}

void dialect_rewrite(const struct dialect_learnt *learnt, const struct dialect *dialect,
                     uint32_t refused, struct str body, struct buf *out)
{
    struct body_edit edits[BODY_EDITS_MAX];
    struct buf messages;
    size_t count = 0;
    buf_init(&messages, out->max);
    uint32_t gone = learnt->refused;
    for (size_t i = 0; i < COUNT(places); i++)
        if ((places[i].params & refused) && (places[i].params & ~gone) == 0)
            edits[count++] = (struct body_edit){.path = places[i].path};
    char most[24];
    snprintf(most, sizeof most, "%lld", (long long)learnt->most);
    bool lower = learnt->most > 0 && learnt->most < dialect->output_limit;
    if (refused & SENDS_LIMIT)
        edits[count++] = (struct body_edit){
            .path = dialect->limit, .rename = learnt->limit, .value = lower ? most : NULL};
    if ((refused & SENDS_THINKING) && !(gone & SENDS_THINKING))
        edits[count++] = (struct body_edit){.path = "thinking", .value = "{\"type\":\"adaptive\"}"};
    if (refused & SENDS_USER_AFTER_TOOL) {
        part_roles(body, &messages);
        edits[count++] = (struct body_edit){.path = "messages", .value = messages.p};
    }
    body_edit(body, edits, count, out);
    if (messages.failed)
        out->failed = true;
    buf_release(&messages);
}
