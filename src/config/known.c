/* The table of known models. Where versions of a family differ, the smaller number stands here. Sources: the vendors'
 * model pages (developers.openai.com, platform.claude.com, ai.google.dev, docs.mistral.ai, api-docs.deepseek.com,
 * docs.x.ai) and, for open models, their model cards. */
#include "config/known.h"

#include "config/presets.h"

#define K(thousands) ((thousands)*INT64_C(1000))
#define KI(units) ((units)*INT64_C(1024))

/* clang-format off */
static const struct known_model families[] = {
    {"gpt-6",            K(1050),  K(128),  REASONS_ALWAYS},
    {"gpt-5-6",          K(1050),  K(128),  REASONS_ALWAYS},
    {"gpt-5-5",          K(1050),  K(128),  REASONS_ALWAYS},
    {"gpt-5-4",          K(1050),  K(128),  REASONS_ALWAYS},
    {"gpt-5-4-mini",     K(400),   K(128),  REASONS_ALWAYS},
    {"gpt-5-4-nano",     K(400),   K(128),  REASONS_ALWAYS},
    {"gpt-5",            K(400),   K(128),  REASONS_ALWAYS},
    {"gpt-5-chat",       K(128),   KI(16),  REASONS_NEVER},
    {"gpt-5-1-chat",     K(128),   KI(16),  REASONS_NEVER},
    {"gpt-5-2-chat",     K(128),   KI(16),  REASONS_NEVER},
    {"gpt-4-1",          1047576,  KI(32),  REASONS_NEVER},
    {"gpt-4o",           K(128),   KI(16),  REASONS_NEVER},
    {"gpt-4-turbo",      K(128),   KI(4),   REASONS_NEVER},
    {"gpt-4",            KI(8),    KI(4),   REASONS_NEVER},
    {"gpt-3-5-turbo",    16385,    KI(4),   REASONS_NEVER},
    {"o1",               K(200),   K(100),  REASONS_ALWAYS},
    {"o3",               K(200),   K(100),  REASONS_ALWAYS},
    {"o4",               K(200),   K(100),  REASONS_ALWAYS},
    {"codex-mini",       K(200),   K(100),  REASONS_ALWAYS},
    {"gpt-oss",          KI(128),  KI(32),  REASONS_ALWAYS},

    {"claude-fable-5",   K(1000),  K(128),  REASONS_ALWAYS},
    {"claude-opus-5",    K(1000),  K(128),  REASONS_ALWAYS},
    {"claude-sonnet-5",  K(1000),  K(128),  REASONS_ALWAYS},
    {"claude-haiku-5",   K(1000),  K(128),  REASONS_ALWAYS},
    {"claude-opus-4-8",  K(1000),  K(128),  REASONS_IF_ASKED},
    {"claude-opus-4-7",  K(1000),  K(128),  REASONS_IF_ASKED},
    {"claude-opus-4-6",  K(1000),  K(128),  REASONS_IF_ASKED},
    {"claude-sonnet-4-6", K(1000), K(64),   REASONS_IF_ASKED},
    {"claude-opus-4-5",  K(200),   K(64),   REASONS_IF_ASKED},
    {"claude-opus-4",    K(200),   K(32),   REASONS_IF_ASKED},
    {"claude-sonnet-4",  K(200),   K(64),   REASONS_IF_ASKED},
    {"claude-haiku-4",   K(200),   K(64),   REASONS_IF_ASKED},
    {"claude-3-7-sonnet", K(200),  K(64),   REASONS_IF_ASKED},
    {"claude-3-5",       K(200),   KI(8),   REASONS_NEVER},
    {"claude-3",         K(200),   KI(4),   REASONS_NEVER},

    {"gemini-3",         1048576,  KI(64),  REASONS_ALWAYS},
    {"gemini-2-5",       1048576,  KI(64),  REASONS_ALWAYS},
    {"gemini-2-0",       1048576,  KI(8),   REASONS_NEVER},

    {"mistral-large",    KI(128),  KI(32),  REASONS_NEVER},
    {"mistral-medium",   KI(128),  KI(32),  REASONS_IF_ASKED},
    {"mistral-small",    KI(128),  KI(32),  REASONS_IF_ASKED},
    {"magistral",        KI(128),  KI(32),  REASONS_ALWAYS},
    {"devstral",         KI(128),  KI(32),  REASONS_NEVER},
    {"codestral",        KI(128),  KI(32),  REASONS_NEVER},
    {"ministral",        KI(128),  KI(32),  REASONS_NEVER},

    {"deepseek-v4",      K(1000),  KI(64),  REASONS_IF_ASKED},
    {"deepseek-reasoner", KI(128), KI(64),  REASONS_ALWAYS},
    {"deepseek-chat",    KI(128),  KI(8),   REASONS_NEVER},
    {"deepseek-v3",      KI(128),  KI(8),   REASONS_NEVER},
    {"deepseek-r1",      KI(128),  KI(32),  REASONS_ALWAYS},

    {"grok-4-3",         K(1000),  KI(32),  REASONS_ALWAYS},
    {"grok-4",           K(256),   KI(32),  REASONS_ALWAYS},
    {"grok-code-fast",   K(256),   KI(32),  REASONS_ALWAYS},
    {"grok-3",           KI(128),  KI(32),  REASONS_NEVER},

    {"qwen3-coder",      KI(256),  KI(64),  REASONS_NEVER},
    {"qwen3",            KI(128),  KI(32),  REASONS_IF_ASKED},
    {"qwen2-5",          KI(32),   KI(8),   REASONS_NEVER},
    {"kimi-k2",          KI(128),  KI(32),  REASONS_IF_ASKED},
    {"moonshot-v1-128k", KI(128),  KI(8),   REASONS_NEVER},
    {"moonshot-v1-32k",  KI(32),   KI(8),   REASONS_NEVER},
    {"moonshot-v1-8k",   KI(8),    KI(4),   REASONS_NEVER},
    {"llama-4",          KI(128),  KI(8),   REASONS_NEVER},
    {"llama-3-3",        KI(128),  KI(32),  REASONS_NEVER},
    {"llama-3-2",        KI(128),  KI(8),   REASONS_NEVER},
    {"llama-3-1",        KI(128),  KI(8),   REASONS_NEVER},
    {"llama-3",          KI(8),    KI(4),   REASONS_NEVER},
    {"meta-llama-3-1",   KI(128),  KI(8),   REASONS_NEVER},
    {"glm-5",            K(200),   KI(64),  REASONS_IF_ASKED},
    {"glm-4-6",          K(200),   KI(64),  REASONS_IF_ASKED},
    {"glm-4-5",          KI(128),  KI(64),  REASONS_IF_ASKED},
};
/* clang-format on */

static char folded(char c)
{
    return c == '.' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The name without folders: "anthropic/claude-opus-4.5" of a gateway, "models/gemini-2.5-pro". */
static struct str bare_name(struct str model)
{
    const char *slash = model.n > 0 ? memrchr(model.p, '/', model.n) : NULL;
    if (!slash)
        return model;
    return (struct str){slash + 1, model.n - (size_t)(slash + 1 - model.p)};
}

/* Letters and digits that follow make it another model: gpt-4o is not a gpt-4. */
static bool belongs(struct str model, const char *family)
{
    size_t n = strlen(family);
    if (model.n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (folded(model.p[i]) != family[i])
            return false;
    char next = model.n > n ? folded(model.p[n]) : '-';
    return !((next >= 'a' && next <= 'z') || (next >= '0' && next <= '9'));
}

static const struct known_model *family_of(struct str model)
{
    const struct known_model *best = NULL;
    model = bare_name(model);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (belongs(model, families[i].family) &&
            (!best || strlen(families[i].family) > strlen(best->family)))
            best = &families[i];
    return best;
}

const struct known_model *known_model_find(struct str base_url, struct str model)
{
    return preset_of_host(base_url) ? family_of(model) : NULL;
}

bool known_better_over_responses(struct str base_url, struct str model)
{
    static const char *const starts[] = {"gpt-5", "gpt-6", "o1", "o3", "o4", "codex"};
    const struct preset *preset = preset_of_host(base_url);
    if (!preset || strcmp(preset->name, "openai") != 0)
        return false;
    const struct known_model *family = family_of(model);
    if (family && family->reasons == REASONS_NEVER)
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (belongs(model, starts[i]))
            return true;
    return false;
}
