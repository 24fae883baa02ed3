/* A plan as YAML that a person can edit. Writes only what every reader takes for the same: texts plain where nothing in them has a
 * meaning, several lines as a block, everything else in double quotes. Reading is config/yaml.h's work. Pure; any thread. */
#include <strings.h>

#include "base/utf8.h"
#include "core/plan/plan.h"

/* --- one text ----------------------------------------------------------------------------------------------- */

/* Reads as itself in any place of a YAML file, as far as YAML's own rules go. */
static bool is_printable(uint32_t code)
{
    if (code < 0x80)
        return code >= 0x20 && code != 0x7F;
    return code >= 0xA0 && code != 0x2028 && code != 0x2029 && code != 0xFEFF &&
           (code & 0xFFFE) != 0xFFFE && code != UTF8_BAD;
}

/* Words that some reader takes for something else than a text. */
static bool is_word_of_yaml(struct str text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (text.n == strlen(words[i]) && strncasecmp(text.p, words[i], text.n) == 0)
            return true;
    return false;
}

static bool is_ascii_letter(uint32_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
}

static bool is_plain_character(uint32_t code)
{
    if (code >= 0x80)
        return is_printable(code);
    return is_ascii_letter(code) || (code >= '0' && code <= '9') ||
           (code != 0 && strchr(" _./()+-,;=", (int)code) != NULL);
}

static bool is_plain(struct str text)
{
    if (text.n == 0 || is_word_of_yaml(text) || text.p[text.n - 1] == ' ')
        return false;
    for (size_t at = 0; at < text.n;) {
        uint32_t code;
        at += utf8_next((struct str){text.p + at, text.n - at}, &code);
        if (!is_plain_character(code))
            return false;
    }
    return is_ascii_letter((unsigned char)text.p[0]) || (unsigned char)text.p[0] >= 0x80;
}

/* Several lines, of which each stands as it is: the first one has no blank in front, none ends with one, the last is not empty. */
static bool is_block(struct str text)
{
    if (text.n == 0 || text.p[0] == ' ' || text.p[0] == '\n' || text.p[text.n - 1] == '\n' ||
        text.p[text.n - 1] == ' ' || !memchr(text.p, '\n', text.n))
        return false;
    for (size_t at = 0; at < text.n;) {
        uint32_t code;
        size_t length = utf8_next((struct str){text.p + at, text.n - at}, &code);
        if (code != '\n' && !is_printable(code))
            return false;
        if (code == '\n' && at > 0 && text.p[at - 1] == ' ')
            return false;
        at += length;
    }
    return true;
}

static void quote(struct buf *out, struct str text)
{
    buf_char(out, '"');
    while (text.n > 0) {
        uint32_t code;
        size_t length = utf8_next(text, &code);
        if (code == '"' || code == '\\')
            buf_printf(out, "\\%c", (char)code);
        else if (code == '\n')
            buf_text(out, "\\n");
        else if (code == '\t')
            buf_text(out, "\\t");
        else if (is_printable(code))
            buf_add(out, text.p, length);
        else
            buf_printf(out, code > 0xFFFF ? "\\U%08X" : "\\u%04X",
                       code == UTF8_BAD ? 0xFFFD : (unsigned)code);
        text.p += length;
        text.n -= length;
    }
    buf_char(out, '"');
}

static void indent(struct buf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_text(out, "  ");
}

static void block(struct buf *out, int depth, struct str text)
{
    buf_text(out, "|-\n");
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t length = end ? (size_t)(end - text.p) : text.n;
        if (length > 0)
            indent(out, depth);
        buf_add(out, text.p, length);
        length += end != NULL;
        text.p += length;
        text.n -= length;
        if (end)
            buf_char(out, '\n');
    }
}

/* Ends the line. Lines of a block stand at depth. */
static void value(struct buf *out, int depth, struct str text)
{
    if (is_plain(text))
        buf_str(out, text);
    else if (is_block(text))
        block(out, depth, text);
    else
        quote(out, text);
    buf_char(out, '\n');
}

/* --- members ------------------------------------------------------------------------------------------------ */

static void member(struct buf *out, int depth, const char *key, struct str text)
{
    if (!text.p)
        return;
    indent(out, depth);
    buf_printf(out, "%s: ", key);
    value(out, depth + 1, text);
}

/* An empty list is told apart from none where there is a difference. */
enum empty { EMPTY_LEFT_OUT, EMPTY_TOLD };

static void members(struct buf *out, int depth, const char *key, const struct list *list,
                    enum empty empty)
{
    if (list->state == LIST_ABSENT || (list->n == 0 && empty == EMPTY_LEFT_OUT))
        return;
    indent(out, depth);
    buf_printf(out, list->n > 0 ? "%s:\n" : "%s: []\n", key);
    for (size_t i = 0; i < list->n; i++) {
        indent(out, depth + 1);
        buf_text(out, "- ");
        value(out, depth + 2, list->items[i]);
    }
}

static void number(struct buf *out, int depth, const char *key, int64_t count)
{
    if (count == UNLIMITED)
        return;
    indent(out, depth);
    buf_printf(out, "%s: %lld\n", key, (long long)count);
}

static void print_step(const struct plan_step *step, struct buf *out)
{
    buf_text(out, "  - id: ");
    value(out, 3, step->id);
    member(out, 2, "title", step->title);
    member(out, 2, "description", step->description);
    members(out, 2, "success_criteria", &step->success_criteria, EMPTY_LEFT_OUT);
    member(out, 2, "type", str_from(step_type_text(step->type)));
    member(out, 2, "role", str_from(step->role->name));
    members(out, 2, "depends_on", &step->depends_on, EMPTY_LEFT_OUT);
    members(out, 2, "ownership", &step->ownership, EMPTY_TOLD);
    if (step->working_directory.n > 0)
        member(out, 2, "working_directory", step->working_directory);
    members(out, 2, "allowed_tools", &step->allowed_tools, EMPTY_TOLD);
    number(out, 2, "estimated_calls", step->estimated_calls);
    if (step->approval == APPROVAL_NEEDED)
        buf_text(out, "    requires_approval: true\n");
    number(out, 2, "max_retries", step->max_retries);
    if (step->status != STEP_PENDING)
        member(out, 2, "status", str_from(step_status_text(step->status)));
}

void plan_print_yaml(const struct plan *plan, struct buf *out)
{
    buf_printf(out, "version: %d\n", PLAN_VERSION);
    member(out, 0, "id", plan->id);
    member(out, 0, "goal", plan->goal);
    member(out, 0, "summary", plan->summary);
    members(out, 0, "completion_criteria", &plan->completion_criteria, EMPTY_LEFT_OUT);
    buf_text(out, "steps:\n");
    for (size_t i = 0; i < plan->count; i++)
        print_step(&plan->steps[i], out);
}
