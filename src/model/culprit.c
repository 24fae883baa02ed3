/* Finds the parameter that an error blames; see the header. Does not decide what is done about it.
 * Pure; any thread.
 *
 * Servers put more into errors than the complaint: the request as they got it, what else they
 * would take. A name counts in a structured field (param, loc), or in words that complain about a
 * parameter, and not as a member of an object that is quoted. */
#include "model/culprit.h"

#include "base/buf.h"
#include "model/dialect.h"
#include "model/failure.h"

enum { TEXT_LOOKED_AT = 4096, BEFORE_LOOKED_AT = 48 };
#define COUNT(table) (sizeof table / sizeof table[0])

/* How errors name parameters. BARE: the word alone is enough in running text; QUOTED: it must
 * stand in quotes, or where only a parameter can stand. */
static const struct culprit names[] = {
    {"max_tokens", SENDS_LIMIT, NAME_BARE},
    {"max_completion_tokens", SENDS_LIMIT, NAME_BARE},
    {"max_output_tokens", SENDS_LIMIT, NAME_BARE},
    {"temperature", SENDS_TEMPERATURE, NAME_BARE},
    {"top_p", SENDS_TOP_P, NAME_BARE},
    {"seed", SENDS_SEED, NAME_QUOTED},
    {"stop", SENDS_STOP, NAME_QUOTED},
    {"stop_sequences", SENDS_STOP, NAME_BARE},
    {"stream_options", SENDS_USAGE_WISH, NAME_BARE},
    {"reasoning_effort", SENDS_EFFORT, NAME_BARE},
    {"reasoning.effort", SENDS_EFFORT, NAME_BARE},
    {"reasoning.summary", SENDS_SUMMARY, NAME_BARE},
    {"reasoning.encrypted_content", SENDS_SEALED, NAME_BARE},
    {"include", SENDS_SEALED, NAME_QUOTED},
    {"reasoning", SENDS_EFFORT | SENDS_SUMMARY | SENDS_ECHOED_TEXT, NAME_QUOTED},
    {"reasoning_content", SENDS_ECHOED_CONTENT, NAME_BARE},
    {"reasoning_details", SENDS_ECHOED_DETAILS, NAME_BARE},
    {"thinking", SENDS_THINKING, NAME_QUOTED},
    {"effort", SENDS_EFFORT, NAME_QUOTED},
    /* Ollama, which takes reasoning_effort as its "think" (ollama/ollama#12561) */
    {"does not support thinking", SENDS_EFFORT, NAME_BARE},
    {"think value", SENDS_EFFORT, NAME_BARE},
    {"effort parameter", SENDS_EFFORT, NAME_BARE},
    {"output_config.effort", SENDS_EFFORT, NAME_BARE},
    {"output_config.format", SENDS_FORMAT, NAME_BARE},
    {"output_config", SENDS_EFFORT | SENDS_FORMAT, NAME_BARE},
    {"response_format", SENDS_FORMAT, NAME_BARE},
    {"json_schema", SENDS_FORMAT, NAME_BARE},
    {"text.format", SENDS_FORMAT, NAME_BARE},
    {"strict", SENDS_STRICT, NAME_QUOTED},
    {"prompt_cache_key", SENDS_CACHE_KEY, NAME_BARE},
    {"cache_control", SENDS_CACHE_MARKS, NAME_BARE},
};

/* Words of complaints about a parameter. "Invalid" alone is said of whole requests. */
static const char *const complaints[] = {
    "support",       "unknown",      "unrecogni",
    "unexpected",    "permitted",    "allow",
    "extra ",        "must ",        "should ",
    "only ",         "deprecat",     "unavailable",
    "available",     "cannot",       "can't",
    "can not",       "forbidden",    "range",
    "less than",     "greater than", "between",
    "compatible",    "not accept",   "invalid value",
    "invalid param", "invalid arg",  "invalid field",
    "invalid '",     "invalid \"",   "invalid `",
    "invalid temp",  "invalid top",  "invalid seed",
    "invalid stop",  "invalid reas", "invalid think",
    "invalid eff",   "invalid resp", "invalid max",
    "is invalid",    "not valid",    "not implement",
    "too large",     "at most",      "maximum",
    "exceed",        "not enabled",  "disabled",
    "requires",      "not exist",    NULL,
};

bool culprit_says(struct str text, const char *const *words)
{
    struct buf copy;
    bool found = false;
    buf_init(&copy, text.n + 1);
    buf_str(&copy, text);
    for (; *words && copy.p && !found; words++)
        found = strcasestr(copy.p, *words) != NULL;
    buf_release(&copy);
    return found;
}

/* --- quoted requests ------------------------------------------------------------------------ */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Back over spaces: what stands before `p`; '\0' at the start. */
static char before(struct str text, const char **p)
{
    while (*p > text.p && is_one_of((*p)[-1], " \t\r\n"))
        --*p;
    return *p > text.p ? (*p)[-1] : '\0';
}

/* The innermost bracket that is open at p; NULL: none is. */
static const char *open_bracket(struct str text, const char *p)
{
    size_t closed = 0;
    while (p-- > text.p) {
        if (is_one_of(*p, ")]}"))
            closed++;
        else if (is_one_of(*p, "([{") && closed-- == 0)
            return p;
    }
    return NULL;
}

/* "does not support parameters: {'seed': 7}" (LiteLLM): such an object holds what is refused. */
static bool lists_refused(struct str text, const char *bracket)
{
    static const char *const refused[] = {"support",    "unknown", "unrecogni",
                                          "unexpected", "extra",   NULL};
    static const char *const noun[] = {"param", "arg", "field", "key", "input", NULL};
    size_t n = (size_t)(bracket - text.p);
    n = n < BEFORE_LOOKED_AT ? n : BEFORE_LOOKED_AT;
    struct str said = {bracket - n, n};
    return culprit_says(said, refused) && culprit_says(said, noun);
}

/* Whether the text before p ends with a member's name and a colon: "type": */
static bool follows_member(struct str text, const char *p, const char *name)
{
    size_t n = strlen(name);
    if (before(text, &p) != ':')
        return false;
    p--;
    before(text, &p);
    p -= p > text.p && is_one_of(p[-1], "'\"");
    return (size_t)(p - text.p) >= n && memcmp(p - n, name, n) == 0;
}

/* Whether the name at p is a part of a quoted request: a member of it ("temperature": 0.2,
 * temperature=0.2), or a value that requests have ("type": "json_schema"). */
static bool is_quotation(struct str text, const char *p, size_t n)
{
    const char *bracket = open_bracket(text, p), *end = text.p + text.n, *next = p + n;
    if (!bracket)
        return false;
    const char *start = p;
    start -= start > text.p && is_one_of(start[-1], "'\"");
    if (follows_member(text, start, "type") ||
        (*bracket == '[' && follows_member(text, bracket, "include")))
        return true;
    next += next < end && is_one_of(*next, "'\"`");
    while (next < end && *next == ' ')
        next++;
    return next < end && is_one_of(*next, ":=") && !lists_refused(text, bracket);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Whether a word at p can only be a parameter's name: in quotes, or a path at the start of the
 * text ("seed: …"). */
static bool is_quoted(struct str text, const char *p, size_t n)
{
    const char *start = p;
    while (start > text.p && (is_word(start[-1]) || is_one_of(start[-1], ".[]")))
        start--;
    if (start > text.p)
        return is_one_of(start[-1], "'\"`");
    return p + n < text.p + text.n && is_one_of(p[n], ":.");
}

/* A structured field holds nothing but the path of a parameter. */
enum where { IN_WORDS, IN_FIELD };

static bool is_blamed(struct str text, const char *p, const struct culprit *name)
{
    size_t n = strlen(name->name);
    return (name->form == NAME_BARE || is_quoted(text, p, n)) && !is_quotation(text, p, n);
}

/* Where the name stands as a whole word that may be blamed; NULL: nowhere. */
static const char *find_name(struct str text, const struct culprit *name, enum where where)
{
    size_t n = strlen(name->name);
    const char *end = text.p + text.n;
    for (const char *p = text.p; text.n > 0 && (p = memmem(p, (size_t)(end - p), name->name, n));
         p++) {
        bool whole = (p == text.p || !is_word(p[-1])) && (p + n == end || !is_word(p[n]));
        if (whole && (where == IN_FIELD || is_blamed(text, p, name)))
            return p;
    }
    return NULL;
}

/* The parameter that is blamed first; of two names at the same place the longer one. */
static const struct culprit *first_named(struct str text, enum where where)
{
    const struct culprit *best = NULL;
    const char *at = NULL;
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *p = find_name(text, &names[i], where);
        if (p && (!best || p < at || (p == at && strlen(names[i].name) > strlen(best->name)))) {
            best = &names[i];
            at = p;
        }
    }
    return best;
}

static const struct culprit *named_in_words(struct str text)
{
    if (text.n > TEXT_LOOKED_AT)
        text.n = TEXT_LOOKED_AT;
    return culprit_says(text, complaints) ? first_named(text, IN_WORDS) : NULL;
}

/* FastAPI's shape: {"detail":[{"loc":["body","seed"],"msg":…}]}. Within messages the last part
 * counts: ["body","messages",2,"assistant","reasoning_content"]. */
static struct str location_of(const struct js *root)
{
    const struct js *detail = js_get(root, "detail"), *inner = js_get(root, "message");
    if (!detail) /* Mistral: {"message":{"detail":[…]}} */
        detail = js_kind(inner) == JS_OBJECT ? js_get(inner, "detail") : inner;
    const struct js *loc = js_get(js_at(js_kind(detail) == JS_ARRAY ? detail : NULL, 0), "loc");
    struct str found = STR_NONE;
    for (size_t i = 0; i < js_count(loc); i++) {
        struct str part = js_str(js_at(loc, i));
        if (part.n == 0 || str_is(part, "body"))
            continue;
        if (found.n == 0 && !str_is(part, "messages"))
            return part;
        found = part;
    }
    return found;
}

const struct culprit *culprit_of(struct str body)
{
    struct err ignored = ERR_INIT;
    struct js *root = js_parse(body, &ignored);
    struct str param = js_get_str(failure_object(root), "param");
    struct str message = failure_raw_words(root);
    if (param.n == 0)
        param = location_of(root);
    const struct culprit *culprit = param.n > 0 ? first_named(param, IN_FIELD) : NULL;
    if (!culprit) {
        const struct culprit *said = named_in_words(message.n > 0 ? message : body);
        /* A field that names no parameter may stand for the messages, and words for what is in
         * them: "param": "messages", "validation_error" (Cerebras). */
        if (param.n == 0 || (said && (said->params & SENDS_ECHOES)))
            culprit = said;
    }
    js_free(root);
    return culprit;
}

uint32_t dialect_params_named(struct str member)
{
    uint32_t params = 0;
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(member, names[i].name))
            params |= names[i].params;
    params &= ~(uint32_t)SENDS_ECHOES; /* these are members of messages */
    return str_is(member, "text") ? SENDS_FORMAT : params;
}
