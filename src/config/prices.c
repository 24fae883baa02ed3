/* The built-in prices. Where a provider has several prices for one thing (peak hours, an introductory price, sources
 * that differ) the dearer one stands here, so that a limit in dollars is never passed because of this table. Does not
 * know config files. Pure; any thread. */
#include "config/prices.h"

#include <strings.h>

#define OPENAI "api.openai.com"
#define ANTHROPIC "api.anthropic.com"
#define GOOGLE "generativelanguage.googleapis.com"
#define DEEPSEEK "api.deepseek.com"
#define XAI "api.x.ai"
#define MISTRAL "api.mistral.ai"
#define GROQ "api.groq.com"

#define ALL INT64_MAX
#define K(thousands) ((thousands)*INT64_C(1000))
/* Dollars for a million tokens, rounded up to what a price can express. */
#define USD(dollars) ((int64_t)((dollars)*1000 + 0.999))
#define NONE (-1)

/* A tier stands before the one that reaches further. */
/* clang-format off */
const struct price prices[] = {
    /* host    model               up to   input        cached       cache write  output       as of */
    {OPENAI,   "gpt-6.1-sol",      K(272), USD(2),      USD(0.10),   USD(2.50),   USD(10),     "2026-10"},
    {OPENAI,   "gpt-6.1-sol",      ALL,    USD(4),      USD(0.20),   USD(5),      USD(15),     "2026-10"},
    {OPENAI,   "gpt-6.1-terra",    K(272), USD(1),      USD(0.05),   USD(1.25),   USD(5),      "2026-10"},
    {OPENAI,   "gpt-6.1-terra",    ALL,    USD(2),      USD(0.10),   USD(2.50),   USD(7.50),   "2026-10"},
    {OPENAI,   "gpt-6-astra",      K(272), USD(10),     USD(1),      USD(12.50),  USD(50),     "2026-10"},
    {OPENAI,   "gpt-6-astra",      ALL,    USD(20),     USD(2),      USD(25),     USD(75),     "2026-10"},
    {OPENAI,   "gpt-6-sol",        K(272), USD(2),      USD(0.20),   USD(2.50),   USD(10),     "2026-10"},
    {OPENAI,   "gpt-6-sol",        ALL,    USD(4),      USD(0.40),   USD(5),      USD(15),     "2026-10"},
    {OPENAI,   "gpt-6-luna",       K(272), USD(0.10),   USD(0.01),   USD(0.125),  USD(0.50),   "2026-10"},
    {OPENAI,   "gpt-6-luna",       ALL,    USD(0.20),   USD(0.02),   USD(0.25),   USD(0.75),   "2026-10"},
    {OPENAI,   "gpt-5.6",          K(272), USD(5),      USD(0.50),   USD(6.25),   USD(30),     "2026-09"},
    {OPENAI,   "gpt-5.6",          ALL,    USD(10),     USD(1),      USD(12.50),  USD(45),     "2026-09"},
    {OPENAI,   "gpt-5.6-sol",      K(272), USD(5),      USD(0.50),   USD(6.25),   USD(30),     "2026-09"},
    {OPENAI,   "gpt-5.6-sol",      ALL,    USD(10),     USD(1),      USD(12.50),  USD(45),     "2026-09"},
    {OPENAI,   "gpt-5.6-terra",    K(272), USD(2),      USD(0.20),   USD(2.50),   USD(12),     "2026-09"},
    {OPENAI,   "gpt-5.6-terra",    ALL,    USD(4),      USD(0.40),   USD(5),      USD(18),     "2026-09"},
    {OPENAI,   "gpt-5.6-luna",     K(200), USD(0.20),   USD(0.02),   USD(0.25),   USD(1.20),   "2026-09"},
    {OPENAI,   "gpt-5.6-luna",     ALL,    USD(0.40),   USD(0.04),   USD(0.50),   USD(1.80),   "2026-09"},
    {OPENAI,   "gpt-5.5",          K(272), USD(5),      USD(0.50),   NONE,        USD(30),     "2026-09"},
    {OPENAI,   "gpt-5.5",          ALL,    USD(10),     USD(1),      NONE,        USD(45),     "2026-09"},
    {OPENAI,   "gpt-5.5-pro",      K(272), USD(30),     NONE,        NONE,        USD(180),    "2026-06"},
    {OPENAI,   "gpt-5.5-pro",      ALL,    USD(60),     NONE,        NONE,        USD(270),    "2026-06"},
    {OPENAI,   "gpt-5.4",          K(272), USD(2.50),   USD(0.25),   NONE,        USD(15),     "2026-09"},
    {OPENAI,   "gpt-5.4",          ALL,    USD(5),      USD(0.50),   NONE,        USD(22.50),  "2026-09"},
    {OPENAI,   "gpt-5.4-pro",      K(272), USD(30),     NONE,        NONE,        USD(180),    "2026-06"},
    {OPENAI,   "gpt-5.4-pro",      ALL,    USD(60),     NONE,        NONE,        USD(270),    "2026-06"},
    {OPENAI,   "gpt-5.4-mini",     ALL,    USD(0.75),   USD(0.075),  NONE,        USD(4.50),   "2026-09"},
    {OPENAI,   "gpt-5.4-nano",     ALL,    USD(0.20),   USD(0.02),   NONE,        USD(1.25),   "2026-09"},
    {OPENAI,   "gpt-5.3-codex",    ALL,    USD(1.75),   USD(0.175),  NONE,        USD(14),     "2026-09"},
    {OPENAI,   "gpt-5.2",          ALL,    USD(1.75),   USD(0.175),  NONE,        USD(14),     "2026-09"},
    {OPENAI,   "gpt-5.2-codex",    ALL,    USD(1.75),   USD(0.175),  NONE,        USD(14),     "2026-09"},
    {OPENAI,   "gpt-5.1",          ALL,    USD(1.25),   USD(0.125),  NONE,        USD(10),     "2025-11"},
    {OPENAI,   "gpt-5.1-codex",    ALL,    USD(1.25),   USD(0.125),  NONE,        USD(10),     "2025-11"},
    {OPENAI,   "gpt-5",            ALL,    USD(1.25),   USD(0.125),  NONE,        USD(10),     "2025-11"},
    {OPENAI,   "gpt-5-codex",      ALL,    USD(1.25),   USD(0.125),  NONE,        USD(10),     "2025-11"},
    {OPENAI,   "gpt-5-mini",       ALL,    USD(0.25),   USD(0.025),  NONE,        USD(2),      "2026-09"},
    {OPENAI,   "gpt-5-nano",       ALL,    USD(0.05),   USD(0.005),  NONE,        USD(0.40),   "2026-09"},
    {OPENAI,   "gpt-4.1",          ALL,    USD(2),      USD(0.50),   NONE,        USD(8),      "2025-11"},
    {OPENAI,   "gpt-4.1-mini",     ALL,    USD(0.40),   USD(0.10),   NONE,        USD(1.60),   "2025-11"},
    {OPENAI,   "gpt-4.1-nano",     ALL,    USD(0.10),   USD(0.025),  NONE,        USD(0.40),   "2025-11"},
    {OPENAI,   "gpt-4o",           ALL,    USD(2.50),   USD(1.25),   NONE,        USD(10),     "2025-11"},
    {OPENAI,   "gpt-4o-2024-05-13", ALL,   USD(5),      NONE,        NONE,        USD(15),     "2025-11"},
    {OPENAI,   "gpt-4o-mini",      ALL,    USD(0.15),   USD(0.075),  NONE,        USD(0.60),   "2025-11"},
    {OPENAI,   "o4-mini",          ALL,    USD(1.10),   USD(0.275),  NONE,        USD(4.40),   "2025-11"},
    {OPENAI,   "o3",               ALL,    USD(2),      USD(0.50),   NONE,        USD(8),      "2025-11"},
    {OPENAI,   "o3-mini",          ALL,    USD(1.10),   USD(0.55),   NONE,        USD(4.40),   "2025-11"},
    {OPENAI,   "o1",               ALL,    USD(15),     USD(7.50),   NONE,        USD(60),     "2025-11"},

    /* Cache writes are those that live five minutes, which is what is asked for. */
    {ANTHROPIC, "claude-fable-5-1", ALL,   USD(10),     USD(1),      USD(12.50),  USD(50),     "2026-10"},
    {ANTHROPIC, "claude-fable-5",  ALL,    USD(10),     USD(1),      USD(12.50),  USD(50),     "2026-10"},
    {ANTHROPIC, "claude-opus-5-5", ALL,    USD(4),      USD(0.20),   USD(5),      USD(20),     "2026-10"},
    {ANTHROPIC, "claude-opus-5",   ALL,    USD(5),      USD(0.50),   USD(6.25),   USD(25),     "2026-10"},
    {ANTHROPIC, "claude-opus-4-8", ALL,    USD(5),      USD(0.50),   USD(6.25),   USD(25),     "2026-10"},
    {ANTHROPIC, "claude-opus-4-7", ALL,    USD(5),      USD(0.50),   USD(6.25),   USD(25),     "2026-10"},
    {ANTHROPIC, "claude-opus-4-6", ALL,    USD(5),      USD(0.50),   USD(6.25),   USD(25),     "2026-10"},
    {ANTHROPIC, "claude-opus-4-5", ALL,    USD(5),      USD(0.50),   USD(6.25),   USD(25),     "2026-10"},
    {ANTHROPIC, "claude-opus-4-1", ALL,    USD(15),     USD(1.50),   USD(18.75),  USD(75),     "2026-10"},
    {ANTHROPIC, "claude-opus-4-0", ALL,    USD(15),     USD(1.50),   USD(18.75),  USD(75),     "2026-10"},
    {ANTHROPIC, "claude-opus-4",   ALL,    USD(15),     USD(1.50),   USD(18.75),  USD(75),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-5-5", ALL,  USD(2),      USD(0.20),   USD(2.50),   USD(10),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-5", ALL,    USD(2),      USD(0.20),   USD(2.50),   USD(10),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-4-6", ALL,  USD(3),      USD(0.30),   USD(3.75),   USD(15),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-4-5", K(200), USD(3),    USD(0.30),   USD(3.75),   USD(15),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-4-5", ALL,  USD(6),      USD(0.60),   USD(7.50),   USD(22.50),  "2025-11"},
    {ANTHROPIC, "claude-sonnet-4-0", K(200), USD(3),    USD(0.30),   USD(3.75),   USD(15),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-4-0", ALL,  USD(6),      USD(0.60),   USD(7.50),   USD(22.50),  "2025-11"},
    {ANTHROPIC, "claude-sonnet-4", K(200), USD(3),      USD(0.30),   USD(3.75),   USD(15),     "2026-10"},
    {ANTHROPIC, "claude-sonnet-4", ALL,    USD(6),      USD(0.60),   USD(7.50),   USD(22.50),  "2025-11"},
    {ANTHROPIC, "claude-3-7-sonnet", ALL,  USD(3),      USD(0.30),   USD(3.75),   USD(15),     "2025-11"},
    {ANTHROPIC, "claude-haiku-5-5", K(100), USD(0.10),  USD(0.01),   USD(0.125),  USD(0.50),   "2026-10"},
    {ANTHROPIC, "claude-haiku-5-5", ALL,   USD(0.50),   USD(0.05),   USD(0.625),  USD(2.50),   "2026-10"},
    {ANTHROPIC, "claude-haiku-4-5", ALL,   USD(1),      USD(0.10),   USD(1.25),   USD(5),      "2026-10"},
    {ANTHROPIC, "claude-3-5-haiku", ALL,   USD(0.80),   USD(0.08),   USD(1),      USD(4),      "2025-11"},

    {GOOGLE,   "gemini-3.8-flash", ALL,    USD(1.50),   USD(0.15),   NONE,        USD(7.50),   "2026-10"},
    {GOOGLE,   "gemini-3.7-flash", ALL,    USD(1.50),   USD(0.15),   NONE,        USD(7.50),   "2026-10"},
    {GOOGLE,   "gemini-3.6-flash", ALL,    USD(1.50),   USD(0.15),   NONE,        USD(7.50),   "2026-10"},
    {GOOGLE,   "gemini-3.5-flash", ALL,    USD(1.50),   USD(0.15),   NONE,        USD(9),      "2026-10"},
    {GOOGLE,   "gemini-3.5-flash-lite", ALL, USD(0.30), NONE,        NONE,        USD(2.50),   "2026-10"},
    {GOOGLE,   "gemini-3.1-pro",   K(200), USD(2),      USD(0.20),   NONE,        USD(12),     "2026-10"},
    {GOOGLE,   "gemini-3.1-pro",   ALL,    USD(4),      USD(0.40),   NONE,        USD(18),     "2026-10"},
    {GOOGLE,   "gemini-2.5-pro",   K(200), USD(1.25),   USD(0.31),   NONE,        USD(10),     "2025-11"},
    {GOOGLE,   "gemini-2.5-pro",   ALL,    USD(2.50),   USD(0.625),  NONE,        USD(15),     "2025-11"},
    {GOOGLE,   "gemini-2.5-flash", ALL,    USD(0.30),   USD(0.075),  NONE,        USD(2.50),   "2025-11"},
    {GOOGLE,   "gemini-2.5-flash-lite", ALL, USD(0.10), USD(0.025),  NONE,        USD(0.40),   "2025-11"},

    /* At peak hours. */
    {DEEPSEEK, "deepseek-flash",   ALL,    USD(0.30),   USD(0.006),  NONE,        USD(1.20),   "2026-10"},
    {DEEPSEEK, "deepseek-v4-pro",  ALL,    USD(1.32),   USD(0.044),  NONE,        USD(3.96),   "2026-10"},
    {DEEPSEEK, "deepseek-chat",    ALL,    USD(0.30),   USD(0.07),   NONE,        USD(1.20),   "2026-10"},
    {DEEPSEEK, "deepseek-reasoner", ALL,   USD(0.55),   USD(0.14),   NONE,        USD(2.19),   "2025-11"},

    {XAI,      "grok-4.6",         K(200), USD(2),      USD(0.50),   NONE,        USD(6),      "2026-09"},
    {XAI,      "grok-4.6",         ALL,    USD(4),      USD(1),      NONE,        USD(12),     "2026-09"},
    {XAI,      "grok-4.5",         K(200), USD(2),      USD(0.50),   NONE,        USD(6),      "2026-09"},
    {XAI,      "grok-4.5",         ALL,    USD(4),      USD(1),      NONE,        USD(12),     "2026-09"},
    {XAI,      "grok-4",           K(128), USD(3),      USD(0.75),   NONE,        USD(15),     "2025-11"},
    {XAI,      "grok-4",           ALL,    USD(6),      USD(1.50),   NONE,        USD(30),     "2025-11"},
    {XAI,      "grok-code-fast-1", ALL,    USD(0.20),   USD(0.02),   NONE,        USD(1.50),   "2025-11"},

    {MISTRAL,  "mistral-large",    ALL,    USD(2),      NONE,        NONE,        USD(6),      "2025-11"},
    {MISTRAL,  "mistral-medium",   ALL,    USD(1.50),   NONE,        NONE,        USD(7.50),   "2026-06"},
    {MISTRAL,  "mistral-medium-3-5", ALL,  USD(1.50),   NONE,        NONE,        USD(7.50),   "2026-06"},
    {MISTRAL,  "mistral-medium-3.5", ALL,  USD(1.50),   NONE,        NONE,        USD(7.50),   "2026-06"},
    {MISTRAL,  "codestral",        ALL,    USD(0.30),   NONE,        NONE,        USD(0.90),   "2026-08"},

    {GROQ,     "openai/gpt-oss-120b", ALL, USD(0.15),   NONE,        NONE,        USD(0.60),   "2026-05"},
    {GROQ,     "openai/gpt-oss-20b", ALL,  USD(0.10),   NONE,        NONE,        USD(0.50),   "2025-11"},
    {GROQ,     "llama-3.3-70b-versatile", ALL, USD(0.59), NONE,      NONE,        USD(0.79),   "2025-11"},
    {GROQ,     "llama-3.1-8b-instant", ALL, USD(0.05),  NONE,        NONE,        USD(0.08),   "2025-11"},
};
/* clang-format on */
const size_t price_count = sizeof prices / sizeof prices[0];

/* The host of an https address without a port of its own; none for everything else. */
static struct str host_of(struct str url)
{
    struct str scheme = STR("https://");
    if (!str_starts(url, scheme))
        return STR_NONE;
    struct str host = {url.p + scheme.n, 0};
    while (scheme.n + host.n < url.n && url.p[scheme.n + host.n] != '/')
        host.n++;
    return host;
}

static bool host_is(struct str host, const char *name)
{
    return host.n == strlen(name) && strncasecmp(host.p, name, host.n) == 0;
}

/* What may follow a model's name without making it another model: a date ("-2025-04-14", "-20250929", "-0709", four digits
 * at least, since "-5" is a version), "-latest", "-preview", or a preview with its date. */
static bool suffix_ok(struct str suffix)
{
    struct str preview = STR("-preview");
    if (suffix.n == 0 || str_is(suffix, "-latest") || str_eq(suffix, preview))
        return true;
    if (str_starts(suffix, preview))
        suffix = (struct str){suffix.p + preview.n, suffix.n - preview.n};
    size_t digits = 0;
    for (size_t i = 0; i < suffix.n; i++) {
        bool digit = suffix.p[i] >= '0' && suffix.p[i] <= '9';
        if (!digit && (suffix.p[i] != '-' || (i > 0 && suffix.p[i - 1] == '-')))
            return false;
        digits += digit;
    }
    return suffix.p[0] == '-' && digits >= 4;
}

static bool model_is(struct str model, const char *name)
{
    size_t n = strlen(name);
    return str_starts(model, (struct str){name, n}) &&
           suffix_ok((struct str){model.p + n, model.n - n});
}

const struct price *price_find(struct str base_url, struct str model, int64_t window)
{
    struct str host = host_of(base_url);
    struct str folder = STR("models/"); /* Google's names have it */
    const struct price *best = NULL;
    if (host.n == 0)
        return NULL;
    if (str_starts(model, folder))
        model = (struct str){model.p + folder.n, model.n - folder.n};
    for (size_t i = 0; i < price_count; i++) {
        if (window > prices[i].window || !host_is(host, prices[i].host) ||
            !model_is(model, prices[i].model))
            continue;
        if (best == NULL || strlen(prices[i].model) > strlen(best->model))
            best = &prices[i];
    }
    return best;
}
