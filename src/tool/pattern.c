/* PCRE2 behind a few functions. Touches no file; any thread, one at a time. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tool/pattern.h"

#include <pcre2.h>
#include <stdlib.h>

/* Steps of one match on one line. The JIT counts them more coarsely than the interpreter; both
 * end well below a second on the worst patterns. */
#define MATCH_LIMIT 2000000
#define DEPTH_LIMIT 100000
#define HEAP_LIMIT_KB 20000
#define JIT_STACK_FIRST (32u << 10)
#define JIT_STACK_MOST (1u << 20)

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    char literal[PATTERN_MAX]; /* the pattern, when it is plain text */
    size_t literal_length;     /* 0: it is not */
};

static bool is_plain(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (strchr("\\^$.[]|()?*+{}#\n\r", text.p[i]))
            return false;
    return true;
}

int pattern_compile(struct str text, enum pattern_case cases, struct pattern **out, struct err *err)
{
    int number = 0;
    PCRE2_SIZE at = 0;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    if (cases == PATTERN_ANY_CASE)
        options |= PCRE2_CASELESS;
    *out = NULL;
    if (text.n > PATTERN_MAX)
        return err_set(err, ERR_USAGE, "the pattern is longer than %d bytes", PATTERN_MAX);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &number, &at, NULL);
    if (!code) {
        char words[256];
        pcre2_get_error_message(number, (PCRE2_UCHAR *)words, sizeof words);
        return err_set(
            err, ERR_USAGE,
            "the pattern is not a valid regular expression: %s at character %zu; put \\ before "
            "special characters that are meant literally",
            words, (size_t)at + 1);
    }
    struct pattern *pattern = calloc(1, sizeof *pattern);
    if (!pattern)
        abort();
    pattern->code = code;
    pattern->data = pcre2_match_data_create(2, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->data || !pattern->context)
        abort();
    pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
    pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KB);
    /* Without a JIT (some processors, hardened kernels) pcre2_match interprets: slower, the same
     * answers. */
    if (pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0) {
        pattern->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MOST, NULL);
        pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
    }
    if (cases == PATTERN_EXACT_CASE && is_plain(text)) {
        memcpy(pattern->literal, text.p, text.n);
        pattern->literal_length = text.n;
    }
    *out = pattern;
    return 0;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_jit_stack_free(pattern->stack);
    pcre2_match_context_free(pattern->context);
    pcre2_match_data_free(pattern->data);
    pcre2_code_free(pattern->code);
    free(pattern);
}

int pattern_match(struct pattern *pattern, struct str line, struct err *err)
{
    int answer = pcre2_match(pattern->code, (PCRE2_SPTR)(line.p ? line.p : ""), line.n, 0, 0,
                             pattern->data, pattern->context);
    if (answer >= 0)
        return 1;
    if (answer == PCRE2_ERROR_NOMATCH)
        return 0;
    char words[256];
    pcre2_get_error_message(answer, (PCRE2_UCHAR *)words, sizeof words);
    return err_set(
        err, ERR_USAGE,
        "the pattern takes too many steps (%s); make it simpler, for example without nested "
        "repetition",
        words);
}

int pattern_find(struct pattern *pattern, struct str line, struct str *group, struct err *err)
{
    *group = STR("");
    int answer = pattern_match(pattern, line, err);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(pattern->data);
    if (answer > 0 && ends[2] != PCRE2_UNSET && ends[3] >= ends[2])
        *group = (struct str){line.p + ends[2], ends[3] - ends[2]};
    return answer;
}

size_t pattern_skip(const struct pattern *pattern, struct str text, size_t from)
{
    if (pattern->literal_length == 0)
        return from;
    const char *found =
        memmem(text.p + from, text.n - from, pattern->literal, pattern->literal_length);
    if (!found)
        return text.n;
    const char *start = memrchr(text.p + from, '\n', (size_t)(found - (text.p + from)));
    return start ? (size_t)(start + 1 - text.p) : from;
}
