/* The presets, in the order in which keys in the environment are looked for. Addresses and variables are those of the
 * vendors' own API references, as of 2026-11. */
#include "config/presets.h"

#include <strings.h>

#define LOCAL(name, port)                                                                          \
    {                                                                                              \
        name, "openai", "http://127.0.0.1:" port "/v1", NULL, NULL, PRESET_LOCAL, NULL             \
    }

/* clang-format off */
const struct preset presets[] = {
    {"openai", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4.1-mini", PRESET_HOSTED, NULL},
    {"anthropic", "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "claude-sonnet-4-5", PRESET_HOSTED, NULL},
    {"openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto", PRESET_HOSTED, NULL},
    {"gemini", "openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "gemini-2.5-flash", PRESET_HOSTED, NULL},
    {"mistral", "openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-medium-latest", PRESET_HOSTED, NULL},
    {"deepseek", "openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat", PRESET_HOSTED, NULL},
    {"groq", "openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b", PRESET_HOSTED, NULL},
    {"xai", "openai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.5", PRESET_HOSTED, NULL},
    {"together", "openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "openai/gpt-oss-120b", PRESET_HOSTED, NULL},
    {"fireworks", "openai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "accounts/fireworks/models/gpt-oss-120b", PRESET_HOSTED, NULL},
    {"cerebras", "openai", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "gpt-oss-120b", PRESET_HOSTED, NULL},
    {"moonshot", "openai", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", NULL, PRESET_HOSTED, NULL},
    /* The v1 API takes the key as a bearer token, as OpenAI's own does: learn.microsoft.com, "api-version-lifecycle". */
    {"azure", "openai", NULL, "AZURE_OPENAI_API_KEY", NULL, PRESET_HOSTED, "https://RESOURCE.openai.azure.com/openai/v1"},
    LOCAL("ollama", "11434"),
    LOCAL("lmstudio", "1234"),
    LOCAL("vllm", "8000"),
    LOCAL("llamacpp", "8080"),
};
/* clang-format on */
const size_t preset_count = sizeof presets / sizeof presets[0];

const struct preset *preset_find(struct str name)
{
    for (size_t i = 0; i < preset_count; i++)
        if (str_is(name, presets[i].name))
            return &presets[i];
    return NULL;
}

struct str url_host(struct str url)
{
    size_t start = str_starts(url, STR("https://"))  ? 8
                   : str_starts(url, STR("http://")) ? 7
                                                     : url.n;
    struct str rest = {url.p + start, url.n - start};
    size_t n = 0, end = 0;
    while (end < rest.n && !strchr("/?#", rest.p[end]))
        end++;
    if (end == 0)
        return STR_NONE;
    const char *bracket = rest.p[0] == '[' ? memchr(rest.p, ']', end) : NULL;
    if (bracket)
        return (struct str){rest.p, (size_t)(bracket - rest.p) + 1};
    while (n < end && rest.p[n] != ':')
        n++;
    return (struct str){rest.p, n};
}

const struct preset *preset_of_host(struct str base_url)
{
    static const struct str azure[] = {STR(".openai.azure.com"), STR(".services.ai.azure.com"),
                                       STR(".cognitiveservices.azure.com")};
    struct str host = url_host(base_url);
    if (host.n == 0)
        return NULL;
    for (size_t i = 0; i < preset_count; i++) {
        struct str own = presets[i].base_url && presets[i].kind == PRESET_HOSTED
                             ? url_host(str_from(presets[i].base_url))
                             : STR_NONE;
        if (own.n == host.n && strncasecmp(own.p, host.p, own.n) == 0)
            return &presets[i];
    }
    for (size_t i = 0; i < sizeof azure / sizeof azure[0]; i++)
        if (host.n > azure[i].n &&
            strncasecmp(host.p + host.n - azure[i].n, azure[i].p, azure[i].n) == 0)
            return preset_find(STR("azure"));
    return NULL;
}
