/* Tables of the words with which model servers say that a request does not fit or was filtered.
 * A new server's words are a new row. Pure; any thread.
 *
 * In a row's text, {w} is a number and the window, {n} a number and what the request needs, {+}
 * a number that is added to it, and * any text of at most GAP bytes. Case does not matter. The
 * first row that matches counts, so rows with more numbers stand first. */
#include "model/trouble.h"

#include <strings.h>

#include "model/failure.h"

enum { TEXT_LOOKED_AT = 4096, GAP = 200, RAW_LEVELS = 2 };

static const char *const overflow_rows[] = {
    /* OpenAI, Azure, DeepSeek, vLLM (GitHub: vllm-project/vllm#20409, RooCodeInc/Roo-Code#1767,
     * bytedance/deer-flow#310) */
    "maximum context length is {w} tokens*your messages resulted in {n} tokens",
    "maximum context length is {w} tokens*requested {n} output tokens*at least {+} input",
    "maximum context length is {w} tokens*requested {n} output tokens*prompt contains {+} input",
    "maximum context length is {w} tokens*your request has {n} input tokens",
    /* OpenRouter says "you requested about" (GitHub: badlogic/pi-mono,
     * packages/ai/src/utils/overflow.ts) */
    "maximum context length is {w} tokens*you requested about {n} tokens",
    "maximum context length is {w} tokens*you requested {n} tokens",
    "maximum context length is {w} tokens*prompt contains {n} ",
    "maximum context length is {w}",
    /* Requested token count exceeds …, Input length (N) exceeds … (LiteLLM and OpenAI-compatible
     * proxies) */
    "({n}) exceeds model's maximum context length ({w})",
    "maximum context length of {w}",
    /* Anthropic (GitHub: docker/docker-agent#569, entropy-research/Devon#88) */
    "prompt is too long: {n} tokens > {w} maximum",
    "prompt is too long",
    "exceed context limit: {n} + {+} > {w}",
    "exceed context limit",
    /* llama.cpp (GitHub: ggml-org/llama.cpp#15780, arbs-io/github-copilot-llm-gateway#73); its
     * fields are read, too */
    "request ({n} tokens) exceeds the available context size ({w} tokens)",
    "exceeds the available context size",
    /* antirez/ds4#150 */
    "prompt tokens ({n}) exceeds context size ({w})",
    /* llama-cpp-python (GitHub: abetlen/llama-cpp-python#385) */
    "requested tokens ({n}) exceed context window of {w}",
    /* vLLM's ValueError texts (GitHub: xorbitsai/inference#3785, vllm-project/vllm#12165) */
    "prompt (length {n}) is longer than the maximum model length of {w}",
    "prompt (total length {n}) is too long to fit into the model (context length {w})",
    "longer than the maximum model length of {w}",
    /* LM Studio (GitHub: lmstudio-ai/lmstudio-bug-tracker#546, lmstudio-ai/model-catalog#38,
     * n4ze3m/page-assist#356) */
    "trying to keep the first {n} tokens when context*overflows*context length of only {w} tokens",
    "input length {n} exceeds context length {w}",
    "greater than the context length",
    /* Ollama: the number is how much too long it is */
    "prompt too long; exceeded*context length",
    /* Gemini */
    "input token count ({n}) exceeds the maximum number of tokens allowed ({w})",
    "input token count*exceeds the maximum",
    /* Mistral */
    "prompt contains {n} tokens*too large for model with {w} maximum context length",
    "too large for model with {w} maximum context length",
    /* Amazon Bedrock (GitHub: aws-samples/bedrock-chat#95) */
    "input is too long for requested model",
    /* Groq, OpenAI: one request over the tokens per minute will never pass (GitHub:
     * continuedev/continue#10218, vanna-ai/vanna-flask#11) */
    "request too large for*limit {w}, requested {n}",
    /* Groq: no number */
    "reduce the length of the messages",
    /* xAI */
    "maximum prompt length is {w} but the request contains {n} tokens",
    "maximum prompt length is {w}",
    /* OpenAI, both APIs */
    "exceeds the context window",
    "input tokens exceed the configured limit of {w} tokens*your messages resulted in {n} tokens",
    "input tokens exceed the configured limit",
    /* SGLang (GitHub: sgl-project/sglang#4048), Poolside */
    "input length ({n} tokens) exceeds the maximum allowed length ({w} tokens)",
    "input length {n} exceeds the maximum allowed input length of {w}",
    /* Together AI */
    "input ({n} tokens) is longer than the model's context length ({w} tokens)",
    /* Baseten and others (GitHub: run-llama/llama_index#7974) */
    "max input length is {w} tokens, but you supplied {n} tokens",
    /* Text Generation Inference (GitHub: huggingface/text-generation-inference,
     * router/src/validation.rs), with status 422 */
    "tokens + `max_new_tokens` must be <= {w}. given: {n} `inputs` tokens and {+} `max_new_tokens`",
    "`inputs` must have less than {w} tokens. given: {n}",
    /* GitHub Copilot */
    "token count of {n} exceeds the limit of {w}",
    /* Kimi */
    "exceeded model token limit: {w} (requested: {n})",
    "exceeded model token limit",
    /* MiniMax */
    "context window exceeds limit",
    /* Alibaba */
    "range of input length should be",
    /* Anthropic, bytes of the body */
    "request exceeds the maximum size",
};

/* Types and codes of such errors, anywhere in the text. */
static const char *const overflow_kinds[] = {
    "context_length_exceeded", "exceed_context_size", "context_exceeded",
    "context_window_exceeded", "contextwindowexceed", "request_too_large",
    "string_above_max_length",
};

/* Azure (GitHub: openai/openai-python#331), OpenAI, Anthropic, DeepSeek, Alibaba, Kimi,
 * OpenRouter's moderation (a 403, API reference "Errors": metadata.flagged_input) */
static const char *const filter_rows[] = {
    "content management policy",
    "potentially violating our usage policy",
    "output blocked by content filtering policy",
    "content exists risk",
    "inappropriate content",
    "considered high risk",
    "is flagged for",
    "prohibited_content",
};

static const char *const filter_kinds[] = {
    "content_filter", "contentfilter",          "responsibleaipolicyviolation", "invalid_prompt",
    "content_policy", "data_inspection_failed", "prohibited_content",
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* --- a row against a text -------------------------------------------------------------------- */

/* A number with thousands separators; one that is too large is -1. Returns how many bytes it
 * has, 0: none. */
static size_t read_number(struct str text, int64_t *number)
{
    size_t n = 0;
    int64_t value = 0;
    while (n < text.n && ((text.p[n] >= '0' && text.p[n] <= '9') ||
                          (n > 0 && text.p[n] == ',' && n + 1 < text.n && text.p[n + 1] >= '0' &&
                           text.p[n + 1] <= '9'))) {
        if (text.p[n] != ',' && value <= TROUBLE_TOKENS_MAX)
            value = value * 10 + (text.p[n] - '0');
        n++;
    }
    *number = value > 0 && value <= TROUBLE_TOKENS_MAX ? value : -1;
    return n;
}

static void take_number(struct trouble *found, char place, int64_t number)
{
    if (place == 'w')
        found->window = number;
    else if (place == 'n')
        found->needed = number;
    else if (found->needed >= 0 && number >= 0)
        found->needed += number;
}

/* Whether text starts with the row. */
static bool row_starts(const char *row, struct str text, struct trouble *found)
{
    while (*row != '\0') {
        if (*row == '*') {
            struct trouble before = *found;
            for (size_t gap = 0; gap <= GAP && gap <= text.n; gap++) {
                *found = before;
                if (row_starts(row + 1, (struct str){text.p + gap, text.n - gap}, found))
                    return true;
            }
            return false;
        }
        if (*row == '{') {
            int64_t number;
            size_t n = read_number(text, &number);
            if (n == 0)
                return false;
            take_number(found, row[1], number);
            text = (struct str){text.p + n, text.n - n};
            row += 3;
            continue;
        }
        if (text.n == 0 || strncasecmp(row, text.p, 1) != 0)
            return false;
        text = (struct str){text.p + 1, text.n - 1};
        row++;
    }
    return true;
}

static bool row_matches(const char *row, struct str text, struct trouble *found)
{
    for (size_t at = 0; at < text.n; at++) {
        *found = TROUBLE_UNKNOWN;
        if (row_starts(row, (struct str){text.p + at, text.n - at}, found))
            return true;
    }
    *found = TROUBLE_UNKNOWN;
    return false;
}

static bool any_row(const char *const *rows, size_t count, struct str text, struct trouble *found)
{
    if (text.n > TEXT_LOOKED_AT)
        text.n = TEXT_LOOKED_AT;
    for (size_t i = 0; i < count; i++)
        if (row_matches(rows[i], text, found))
            return true;
    return false;
}

/* --- the error's own fields ------------------------------------------------------------------ */

static int64_t token_field(const struct js *error, const char *name)
{
    int64_t number = js_get_int(error, name, -1);
    return number > 0 && number <= TROUBLE_TOKENS_MAX ? number : -1;
}

static bool any_kind(const char *const *kinds, size_t count, const struct js *error)
{
    for (size_t i = 0; i < count; i++)
        if (failure_has_kind(error, kinds[i]))
            return true;
    return false;
}

static bool is_overflow(const struct js *error, struct str words, struct trouble *found)
{
    bool told = any_row(overflow_rows, COUNT(overflow_rows), words, found);
    if (!told && !any_kind(overflow_kinds, COUNT(overflow_kinds), error))
        return false;
    int64_t window = token_field(error, "n_ctx"), needed = token_field(error, "n_prompt_tokens");
    found->kind = TROUBLE_OVERFLOW;
    if (window >= 0)
        found->window = window;
    if (needed >= 0)
        found->needed = needed;
    return true;
}

static bool is_filtered(const struct js *error, struct str words, struct trouble *found)
{
    if (!any_row(filter_rows, COUNT(filter_rows), words, found) &&
        !any_kind(filter_kinds, COUNT(filter_kinds), error) &&
        !any_kind(filter_kinds, COUNT(filter_kinds), js_get(error, "innererror")) &&
        !js_get(js_get(error, "metadata"), "flagged_input"))
        return false;
    found->kind = TROUBLE_FILTERED;
    return true;
}

/* OpenRouter hands on what its provider said as text in metadata.raw. */
static bool read_levels(const struct js *root, struct str body, int levels, struct trouble *found)
{
    const struct js *error = failure_object(root);
    struct str words = root ? failure_raw_words(root) : body;
    if (is_overflow(error, words, found) || is_filtered(error, words, found))
        return true;
    struct str raw = js_get_str(js_get(error, "metadata"), "raw");
    if (raw.n == 0 || levels == 0)
        return false;
    struct err ignored = ERR_INIT;
    struct js *inner = js_parse(raw, &ignored);
    bool told = read_levels(inner, raw, levels - 1, found);
    js_free(inner);
    return told;
}

struct trouble trouble_read(int status, const struct js *root, struct str body)
{
    struct trouble found = TROUBLE_UNKNOWN;
    bool told = read_levels(root, body, RAW_LEVELS, &found);
    bool final = status == 401 || status == 403 || status == 404;
    if (final && found.kind != TROUBLE_FILTERED)
        return (struct trouble){TROUBLE_FINAL, -1, -1};
    if (!told && status == 413)
        found.kind = TROUBLE_OVERFLOW;
    return found;
}
