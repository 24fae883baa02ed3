/* See secret.h. One table has the shapes; three need more than a row: private keys in PEM blocks, signed tokens (JWT), and AWS's
 * secret keys, which only their name tells from other text. Pure; any thread. */
#include "base/secret.h"

#include <strings.h>

/* --- characters ------------------------------------------------------------------------------ */

enum chars {
    CHARS_ALNUM,  /* letters and digits */
    CHARS_TOKEN,  /* besides _ and - */
    CHARS_DOTTED, /* besides . */
    CHARS_PATH,   /* letters, digits and / */
    CHARS_BASE32, /* capitals and 2 to 7 */
    CHARS_HEX,    /* digits and a to f */
    CHARS_BASE64, /* letters, digits, + and / */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_upper(c) || is_lower(c);
}

static bool is_in(enum chars chars, char c)
{
    switch (chars) {
    case CHARS_ALNUM:
        return is_alnum(c);
    case CHARS_TOKEN:
        return is_alnum(c) || c == '_' || c == '-';
    case CHARS_DOTTED:
        return is_alnum(c) || c == '_' || c == '-' || c == '.';
    case CHARS_PATH:
        return is_alnum(c) || c == '/';
    case CHARS_BASE32:
        return is_upper(c) || (c >= '2' && c <= '7');
    case CHARS_HEX:
        return is_digit(c) || (c >= 'a' && c <= 'f');
    case CHARS_BASE64:
        return is_alnum(c) || c == '+' || c == '/';
    }
    return false;
}

static size_t run_of(struct str text, size_t at, enum chars chars, size_t most)
{
    size_t n = 0;
    while (at + n < text.n && n < most && is_in(chars, text.p[at + n]))
        n++;
    return n;
}

static bool has_at(struct str text, size_t at, struct str part)
{
    return text.n - at >= part.n && memcmp(text.p + at, part.p, part.n) == 0;
}

/* --- what random text looks like ------------------------------------------------------------------ */

#define DISTINCT_LEAST 8 /* different characters; placeholders (xxxx, 1234) have fewer */
#define RUN_LEAST 20     /* letters and digits in a row, of shapes whose beginning is short */

struct look {
    size_t distinct, longest; /* longest: a run of letters and digits that has a digit */
    bool digits, uppers, lowers;
};

static struct look look_at(struct str body)
{
    struct look look = {0};
    uint64_t seen[4] = {0};
    size_t run = 0, digits = 0;
    for (size_t i = 0; i < body.n; i++) {
        uint8_t c = (uint8_t)body.p[i];
        look.distinct += !(seen[c / 64] >> (c % 64) & 1);
        seen[c / 64] |= (uint64_t)1 << (c % 64);
        look.digits |= is_digit(body.p[i]);
        look.uppers |= is_upper(body.p[i]);
        look.lowers |= is_lower(body.p[i]);
        run = is_alnum(body.p[i]) ? run + 1 : 0;
        digits = run == 0 ? 0 : digits + is_digit(body.p[i]);
        if (digits > 0 && run > look.longest)
            look.longest = run;
    }
    return look;
}

/* Vendors' documentation marks the keys in its examples. */
static bool is_example(struct str body)
{
    static const struct str marks[] = {{"EXAMPLE", 7}, {"EXAMPLEKEY", 10}};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (body.n >= marks[i].n &&
            memcmp(body.p + body.n - marks[i].n, marks[i].p, marks[i].n) == 0)
            return true;
    return false;
}

static bool is_random(struct str body, enum chars chars)
{
    struct look look = look_at(body);
    bool mixed = chars == CHARS_BASE32 || look.digits + look.uppers + look.lowers >= 2;
    return look.distinct >= DISTINCT_LEAST && mixed && !is_example(body);
}

/* --- the table --------------------------------------------------------------------------------- */

/* EXACT: nothing of its own kind follows the body. STRICT: the beginning is short and occurs in words, so the body must have a long
 * run with a digit. In front of both nothing may stand that joins words or occurs in base64. */
enum rule { RULE_OPEN, RULE_EXACT, RULE_STRICT };

static const struct shape {
    struct str prefix;
    const char *kind;
    enum chars chars;
    uint16_t least, most; /* bytes of the body */
    enum rule rule;
} shapes[] = {
#define SHAPE(prefix, kind, chars, least, most, rule)                                              \
    {                                                                                              \
        {prefix, sizeof(prefix) - 1}, kind, CHARS_##chars, least, most, RULE_##rule                \
    }
    /* sorted by the first byte; longer beginnings before shorter ones */
    SHAPE("AGE-SECRET-KEY-1", "age-key", ALNUM, 50, 64, OPEN),
    SHAPE("ATATT3", "atlassian-token", TOKEN, 60, 400, OPEN),
    SHAPE("AIza", "google-key", TOKEN, 35, 35, EXACT),
    SHAPE("AKIA", "aws-key-id", BASE32, 16, 16, EXACT),
    SHAPE("ASIA", "aws-key-id", BASE32, 16, 16, EXACT),
    SHAPE("GOCSPX-", "google-secret", TOKEN, 24, 64, OPEN),
    SHAPE("NRAK-", "newrelic-key", ALNUM, 24, 64, OPEN),
    SHAPE("PMAK-", "postman-key", TOKEN, 50, 80, OPEN),
    SHAPE("SG.", "sendgrid-key", DOTTED, 60, 80, STRICT),
    SHAPE("dckr_pat_", "docker-token", TOKEN, 24, 64, OPEN),
    SHAPE("dop_v1_", "digitalocean-token", HEX, 64, 64, OPEN),
    SHAPE("doo_v1_", "digitalocean-token", HEX, 64, 64, OPEN),
    SHAPE("dapi", "databricks-token", HEX, 32, 40, EXACT),
    SHAPE("figd_", "figma-token", TOKEN, 30, 80, OPEN),
    SHAPE("github_pat_", "github-token", TOKEN, 22, 255, OPEN),
    SHAPE("ghp_", "github-token", ALNUM, 36, 255, OPEN),
    SHAPE("gho_", "github-token", ALNUM, 36, 255, OPEN),
    SHAPE("ghu_", "github-token", ALNUM, 36, 255, OPEN),
    SHAPE("ghs_", "github-token", ALNUM, 36, 255, OPEN),
    SHAPE("ghr_", "github-token", ALNUM, 36, 255, OPEN),
    SHAPE("glpat-", "gitlab-token", DOTTED, 20, 300, OPEN),
    SHAPE("glptt-", "gitlab-token", TOKEN, 20, 300, OPEN),
    SHAPE("gldt-", "gitlab-token", TOKEN, 20, 300, OPEN),
    SHAPE("glrt-", "gitlab-token", DOTTED, 20, 300, OPEN),
    SHAPE("glcbt-", "gitlab-token", TOKEN, 20, 300, OPEN),
    SHAPE("glsa_", "grafana-token", TOKEN, 36, 80, OPEN),
    SHAPE("gsk_", "groq-key", ALNUM, 40, 80, OPEN),
    SHAPE("hooks.slack.com/services/", "slack-webhook", PATH, 36, 100, OPEN),
    SHAPE("hvs.", "vault-token", TOKEN, 24, 300, STRICT),
    SHAPE("hf_", "huggingface-token", ALNUM, 34, 60, OPEN),
    SHAPE("lin_api_", "linear-key", ALNUM, 32, 64, OPEN),
    SHAPE("npm_", "npm-token", ALNUM, 36, 36, EXACT),
    SHAPE("nvapi-", "nvidia-key", TOKEN, 40, 100, OPEN),
    SHAPE("ntn_", "notion-token", ALNUM, 40, 64, OPEN),
    SHAPE("pypi-AgE", "pypi-token", TOKEN, 50, 400, OPEN),
    SHAPE("pplx-", "perplexity-key", ALNUM, 32, 80, OPEN),
    SHAPE("rk_live_", "stripe-key", ALNUM, 20, 200, OPEN),
    SHAPE("rubygems_", "rubygems-key", HEX, 48, 48, OPEN),
    SHAPE("r8_", "replicate-token", ALNUM, 37, 40, STRICT),
    SHAPE("sk-ant-", "anthropic-key", TOKEN, 24, 300, OPEN),
    SHAPE("sk-proj-", "openai-key", TOKEN, 20, 300, OPEN),
    SHAPE("sk-svcacct-", "openai-key", TOKEN, 20, 300, OPEN),
    SHAPE("sk-admin-", "openai-key", TOKEN, 20, 300, OPEN),
    SHAPE("sk-or-v1-", "openrouter-key", HEX, 40, 80, OPEN),
    SHAPE("sk_live_", "stripe-key", ALNUM, 20, 200, OPEN),
    SHAPE("sk-", "openai-key", TOKEN, 28, 300, STRICT),
    SHAPE("sbp_", "supabase-token", HEX, 40, 64, OPEN),
    SHAPE("shpat_", "shopify-token", HEX, 32, 32, OPEN),
    SHAPE("tvly-", "tavily-key", TOKEN, 24, 80, OPEN),
    SHAPE("whsec_", "webhook-secret", BASE64, 24, 100, OPEN),
    SHAPE("xai-", "xai-key", ALNUM, 60, 120, OPEN),
    SHAPE("xapp-", "slack-token", TOKEN, 30, 200, OPEN),
    SHAPE("xoxa-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxb-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxc-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxd-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxe-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxp-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxr-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("xoxs-", "slack-token", TOKEN, 20, 300, OPEN),
    SHAPE("ya29.", "google-token", TOKEN, 24, 2000, OPEN),
#undef SHAPE
};

#define SHAPE_COUNT (sizeof shapes / sizeof shapes[0])

void secret_starts(void (*name)(void *user, const char two[2]), void *user)
{
    static const char others[][3] = {"--", "ey", "se", "sE", "Se", "SE"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        name(user, others[i]);
    for (size_t i = 0; i < SHAPE_COUNT; i++)
        name(user, shapes[i].prefix.p);
}

/* Does a word begin here? An escaped line break (\n) or byte (%3D) in front is not part of it. */
static bool begins_word(struct str text, size_t at, enum rule rule)
{
    if (at == 0)
        return true;
    char before = text.p[at - 1];
    bool in_diff = at == 1 || text.p[at - 2] == '\n'; /* + and - open its lines */
    if (rule != RULE_OPEN && (before == '/' || (!in_diff && (before == '-' || before == '+'))))
        return false;
    if (!is_alnum(before) && before != '_')
        return true;
    if (at >= 2 && text.p[at - 2] == '\\' && (before == 'n' || before == 't' || before == 'r'))
        return true;
    return at >= 3 && text.p[at - 3] == '%';
}

/* The first row whose beginning starts with this byte. */
static size_t first_row(char first)
{
    size_t low = 0, high = SHAPE_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (shapes[middle].prefix.p[0] < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool shape_at(struct str text, size_t at, struct secret_span *span)
{
    if (!begins_word(text, at, RULE_OPEN))
        return false;
    for (size_t i = first_row(text.p[at]); i < SHAPE_COUNT && shapes[i].prefix.p[0] == text.p[at];
         i++) {
        const struct shape *shape = &shapes[i];
        if (!has_at(text, at, shape->prefix) || !begins_word(text, at, shape->rule))
            continue;
        size_t start = at + shape->prefix.n;
        size_t n = run_of(text, start, shape->chars, shape->most);
        if (n < shape->least)
            continue;
        struct str body = {text.p + start, n};
        if (shape->rule == RULE_EXACT && start + n < text.n &&
            (is_alnum(text.p[start + n]) || text.p[start + n] == '_'))
            continue;
        if (shape->rule == RULE_STRICT && look_at(body).longest < RUN_LEAST)
            continue;
        if (!is_random(body, shape->chars))
            continue;
        *span = (struct secret_span){at, start + n, shape->kind};
        return true;
    }
    return false;
}

/* --- signed tokens ------------------------------------------------------------------------------- */

#define JWT_PART_MAX 6000

/* Header, payload and signature; the first two are objects, whose base64 begins with eyJ. */
static bool jwt_at(struct str text, size_t at, struct secret_span *span)
{
    size_t end = at;
    if (!has_at(text, at, STR("eyJ")) || !begins_word(text, at, RULE_STRICT) ||
        (at > 0 && text.p[at - 1] == '.'))
        return false;
    for (int part = 0; part < 3; part++) {
        size_t n = run_of(text, end, CHARS_TOKEN, JWT_PART_MAX);
        if (n < 12 || (part == 1 && !has_at(text, end, STR("eyJ"))))
            return false;
        end += n;
        if (part < 2 && (end >= text.n || text.p[end++] != '.'))
            return false;
    }
    *span = (struct secret_span){at, end, "jwt"};
    return true;
}

/* --- AWS's secret keys ------------------------------------------------------------------------------ */

#define AWS_SECRET 40
#define AWS_NEAR 120 /* bytes behind a key's id in which its secret may stand */

static bool aws_secret_here(struct str text, size_t at, struct secret_span *span)
{
    size_t n = run_of(text, at, CHARS_BASE64, AWS_SECRET + 1);
    struct look look = look_at((struct str){text.p + at, n});
    if (n != AWS_SECRET || (at + n < text.n && text.p[at + n] == '=') || !look.digits ||
        !look.uppers || !look.lowers || look.distinct < 16 ||
        is_example((struct str){text.p + at, n}))
        return false;
    *span = (struct secret_span){at, at + n, "aws-secret"};
    return true;
}

/* "secret_access_key", whatever joins its words; its length, or 0. */
static size_t aws_name(struct str text, size_t at)
{
    static const struct str words[] = {{"secret", 6}, {"access", 6}, {"key", 3}};
    size_t end = at;
    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && end < text.n && (text.p[end] == '_' || text.p[end] == '-'))
            end++;
        if (text.n - end < words[i].n || strncasecmp(text.p + end, words[i].p, words[i].n) != 0)
            return 0;
        end += words[i].n;
    }
    return end - at;
}

static bool aws_secret_at(struct str text, size_t at, struct secret_span *span)
{
    size_t n = aws_name(text, at), end = at + n;
    while (n > 0 && end < text.n && end < at + n + 12 && memchr(" \t\"'`:=>\\|,", text.p[end], 11))
        end++;
    return n > 0 && end > at + n && aws_secret_here(text, end, span);
}

/* The secret that stands beside a key's id, as in a table of keys. */
static bool aws_pair_at(struct str text, size_t at, struct secret_span *span)
{
    for (size_t end = at + 20; end < text.n && end < at + 20 + AWS_NEAR; end++) {
        if (is_in(CHARS_BASE64, text.p[end - 1]) || !is_in(CHARS_BASE64, text.p[end]))
            continue;
        if (aws_secret_here(text, end, span))
            return true;
    }
    return false;
}

/* --- private keys ---------------------------------------------------------------------------------- */

#define PEM_LABEL_MAX 40
#define PEM_LINES_MAX 300
#define PEM_LINE_MAX 400
#define PEM_HEADERS_MAX 6
#define PEM_BODY_LEAST 40 /* base64 in a row; short last lines count only before the end mark */

/* "-----BEGIN … PRIVATE KEY-----" or the END of it; the length, or 0. */
static size_t pem_mark(struct str text, size_t at, struct str word)
{
    if (!has_at(text, at, STR("-----")) || !has_at(text, at + 5, word))
        return 0;
    size_t start = at + 5 + word.n, end = start;
    while (end < text.n && end - start < PEM_LABEL_MAX &&
           (is_upper(text.p[end]) || is_digit(text.p[end]) || text.p[end] == ' '))
        end++;
    struct str label = {text.p + start, end - start};
    if (memmem(label.p, label.n, "PRIVATE KEY", 11) == NULL || !has_at(text, end, STR("-----")))
        return 0;
    return end + 5 - at;
}

/* The end of the line at `at`, and where the next begins; a written \n ends a line as well. */
static size_t pem_line(struct str text, size_t at, size_t *next)
{
    for (size_t i = at; i < text.n; i++) {
        if (text.p[i] == '\n') {
            *next = i + 1;
            return i;
        }
        if (text.p[i] == '\\' && i + 1 < text.n && (text.p[i + 1] == 'n' || text.p[i + 1] == 'r')) {
            *next = i + 2;
            return i;
        }
        if (i - at >= PEM_LINE_MAX)
            break;
    }
    size_t end = text.n - at > PEM_LINE_MAX ? at + PEM_LINE_MAX : text.n;
    *next = end;
    return end;
}

static size_t longest_base64(struct str line)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < line.n; i++) {
        run = is_in(CHARS_BASE64, line.p[i]) || line.p[i] == '=' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static bool pem_end_in(struct str text, size_t at, size_t end, size_t *behind)
{
    const char *mark = memmem(text.p + at, end - at, "-----END ", 9);
    size_t n = mark != NULL ? pem_mark(text, (size_t)(mark - text.p), STR("END ")) : 0;
    *behind = n > 0 ? (size_t)(mark - text.p) + n : 0;
    return n > 0;
}

/* Lines may have numbers or marks of a diff in front. Without an end mark the key ends with its last full line. */
static bool pem_at(struct str text, size_t at, struct secret_span *span)
{
    size_t n = pem_mark(text, at, STR("BEGIN ")), next = at + n, last = 0, others = 0;
    for (size_t lines = 0; n > 0 && lines < PEM_LINES_MAX && next < text.n; lines++) {
        size_t start = next, behind, end = pem_line(text, start, &next);
        size_t run = longest_base64((struct str){text.p + start, end - start});
        if (pem_end_in(text, start, end, &behind)) {
            last = last > 0 || run >= PEM_BODY_LEAST ? behind : 0;
            break;
        }
        if (run >= PEM_BODY_LEAST)
            last = end;
        else if (++others > PEM_HEADERS_MAX)
            break;
    }
    if (last == 0)
        return false;
    *span = (struct secret_span){at, last, "private-key"};
    return true;
}

/* The end of a key whose beginning was cut off: the full lines in front of it. */
static bool pem_tail_at(struct str text, size_t at, size_t floor, struct secret_span *span)
{
    size_t n = pem_mark(text, at, STR("END ")), line = at, from = at;
    bool any = false;
    for (size_t lines = 0; n > 0 && lines < PEM_LINES_MAX && line > floor; lines++) {
        size_t end = line;
        while (line > floor && text.p[line - 1] != '\n' && end - line < PEM_LINE_MAX)
            line--;
        size_t run = longest_base64((struct str){text.p + line, end - line});
        if (run < PEM_BODY_LEAST && lines > 1)
            break;
        any |= run >= PEM_BODY_LEAST;
        from = any ? line : from;
        line -= line > floor;
    }
    if (!any)
        return false;
    *span = (struct secret_span){from, at + n, "private-key"};
    return true;
}

/* --- all of them ------------------------------------------------------------------------------------ */

bool secret_at(struct str text, size_t at, size_t floor, struct secret_span *span)
{
    char first = text.p[at];
    if (first == '-')
        return pem_at(text, at, span) || pem_tail_at(text, at, floor, span);
    if (first == 'e')
        return jwt_at(text, at, span);
    if ((first == 's' || first == 'S') && text.n - at > 2 && (text.p[at + 2] | 0x20) == 'c' &&
        aws_secret_at(text, at, span))
        return true;
    return shape_at(text, at, span);
}

bool secret_follows(struct str text, const struct secret_span *span, struct secret_span *next)
{
    return strcmp(span->kind, "aws-key-id") == 0 && aws_pair_at(text, span->start, next);
}

/* A shape's beginning, whole or in part, whose body reaches the end of the text. */
static bool shape_begins(struct str text, size_t at)
{
    size_t left = text.n - at;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        const struct shape *shape = &shapes[i];
        size_t n = left < shape->prefix.n ? left : shape->prefix.n;
        if (memcmp(text.p + at, shape->prefix.p, n) == 0 &&
            at + n + run_of(text, at + n, shape->chars, SIZE_MAX) == text.n)
            return true;
    }
    return left < 3 ? memcmp(text.p + at, "eyJ", left) == 0
                    : has_at(text, at, STR("eyJ")) &&
                          at + run_of(text, at, CHARS_DOTTED, SIZE_MAX) == text.n;
}

static size_t pending_block(struct str text)
{
    size_t from = text.n > SECRET_SPAN_MAX ? text.n - SECRET_SPAN_MAX : 0, found = text.n;
    for (const char *at = text.p + from;
         (at = memmem(at, text.n - (size_t)(at - text.p), "-----BEGIN ", 11)) != NULL; at++)
        found = (size_t)(at - text.p);
    if (found < text.n && memmem(text.p + found, text.n - found, "-----END ", 9) != NULL)
        found = text.n;
    for (size_t n = 10; found == text.n && n > 0; n--)
        if (text.n >= n && memcmp(text.p + text.n - n, "-----BEGIN", n) == 0)
            return n;
    return text.n - found;
}

#define PENDING_MAX 2400 /* bytes of the longest body in the table, and what stands before it */

size_t secret_pending(struct str text)
{
    size_t block = pending_block(text), found = 0;
    size_t start = text.n, least = text.n > PENDING_MAX ? text.n - PENDING_MAX : 0;
    while (start > least && (is_in(CHARS_DOTTED, text.p[start - 1]) || text.p[start - 1] == '/'))
        start--;
    for (size_t at = start; found == 0 && at < text.n; at++)
        if (begins_word(text, at, RULE_OPEN) && shape_begins(text, at))
            found = text.n - at;
    for (size_t at = text.n > 100 ? text.n - 100 : 0; at < text.n; at++) {
        struct secret_span span;
        if (aws_name(text, at) > 0 && !aws_secret_at(text, at, &span) && text.n - at > found &&
            memchr(text.p + at, '\n', text.n - at) == NULL)
            found = text.n - at;
    }
    return block > found ? block : found;
}
