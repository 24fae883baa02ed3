/* Finds calls in text; see the header for their shapes. What could be read in two ways stays text. The work is bounded:
 * text that is full of beginnings which lead nowhere is text from some point on. Pure; any thread. */
#include "model/text_calls.h"

#include <strings.h>

#include "base/json.h"
#include "model/repair.h"

#define CALL_OPEN STR("<tool_call>")
#define CALL_CLOSE STR("</tool_call>")
#define FUNCTION_OPEN STR("<function=")
#define FUNCTION_CLOSE STR("</function>")
#define PARAMETER_OPEN STR("<parameter=")
#define PARAMETER_CLOSE STR("</parameter>")
#define FENCE STR("```")

#define WORK_MAX ((size_t)64 << 20) /* bytes that are looked at, counted once for every look */
enum { CLOSINGS_MAX = 8 /* closing tags that may stand inside of a call's own strings */ };

struct finder {
    const struct text_tools *tools;
    struct arena *arena;
    struct call_draft *drafts;
    size_t count;
    size_t work; /* left */
};

void text_tools_copy(struct text_tools *tools, const struct model_tool *from, size_t count,
                     struct arena *arena)
{
    tools->items = count > 0 ? arena_alloc(arena, count * sizeof *tools->items) : NULL;
    tools->count = count;
    for (size_t i = 0; i < count; i++)
        tools->items[i] = (struct model_tool){.name = arena_copy(arena, from[i].name),
                                              .schema = arena_copy(arena, from[i].schema)};
}

static const struct model_tool *find_tool(const struct finder *finder, struct str name)
{
    for (size_t i = 0; i < finder->tools->count; i++)
        if (str_eq(finder->tools->items[i].name, name))
            return &finder->tools->items[i];
    return NULL;
}

static void add_call(struct finder *finder, struct str name, struct str arguments)
{
    finder->drafts[finder->count++] =
        (struct call_draft){.id = STR(""),
                            .name = arena_copy(finder->arena, name),
                            .arguments = arena_copy(finder->arena, arguments)};
}

/* --- text ---------------------------------------------------------------------------------------- */

static struct str after(struct str text, size_t n)
{
    return (struct str){text.p + n, text.n - n};
}

static struct str skip_space(struct str text)
{
    while (text.n > 0 && strchr(" \t\r\n", text.p[0]) && text.p[0] != '\0')
        text = after(text, 1);
    return text;
}

static struct str trim_end(struct str text)
{
    while (text.n > 0 && strchr(" \t\r\n", text.p[text.n - 1]) && text.p[text.n - 1] != '\0')
        text.n--;
    return text;
}

/* Where the needle first stands in text; text.n: nowhere, or the work is done. */
static size_t find(struct finder *finder, struct str text, struct str needle)
{
    const char *hit =
        text.n > 0 && finder->work > 0 ? memmem(text.p, text.n, needle.p, needle.n) : NULL;
    size_t at = hit ? (size_t)(hit - text.p) : text.n;
    finder->work -= at < finder->work ? at : finder->work;
    return at;
}

/* Takes the tag from the start of *text, white space before it too. */
static bool take(struct str *text, struct str tag)
{
    struct str rest = skip_space(*text);
    if (!str_starts(rest, tag))
        return false;
    *text = after(rest, tag.n);
    return true;
}

/* --- bodies that are JSON ------------------------------------------------------------------------ */

/* Where the closing tag is missing, nothing but the call may follow. */
static bool ends_like_json(struct str body)
{
    body = trim_end(body);
    return body.n > 0 && (body.p[body.n - 1] == '}' || body.p[body.n - 1] == '`');
}

/* Reads the body of an element up to its closing tag, or to the end of the text. *text is what follows the element then.
 * A closing tag may also stand in a string inside of the body: the first with which the body can be read counts. */
static bool take_json(struct finder *finder, struct str *text, struct str name, struct str closing,
                      struct buf *out)
{
    size_t end = 0;
    for (int i = 0; i < CLOSINGS_MAX && end < text->n; i++) {
        size_t at = end + find(finder, after(*text, end), closing);
        struct str body = {text->p, at};
        if (finder->work < body.n)
            return false;
        finder->work -= body.n;
        buf_clear(out);
        if (repair_trim(body).n > 0 && (at < text->n || ends_like_json(body)) &&
            repair_arguments(name, body, out) == 0) {
            *text = after(*text, at < text->n ? at + closing.n : at);
            return true;
        }
        end = at < text->n ? at + closing.n : at;
    }
    return false;
}

/* {"name":…, "arguments":…}; Llama says "parameters". Nothing else may hold arguments. */
static bool read_envelope(struct finder *finder, struct str json)
{
    struct err ignored = ERR_INIT;
    struct js *object = js_parse(json, &ignored);
    const struct js *arguments = js_get(object, "arguments");
    struct str name = js_get_str(object, "name");
    bool known = find_tool(finder, name) != NULL;
    if (!arguments)
        arguments = js_get(object, "parameters");
    if (known && js_kind(arguments) == JS_STRING) {
        add_call(finder, name, js_str(arguments));
    } else if (known && arguments) {
        struct buf text;
        buf_init(&text, CALL_ARGUMENTS_MAX);
        js_print(arguments, &text);
        known = !text.failed;
        if (known)
            add_call(finder, name, buf_view(&text));
        buf_release(&text);
    } else if (known) {
        known = js_count(object) == 1;
        if (known)
            add_call(finder, name, STR("{}"));
    }
    js_free(object);
    return known;
}

/* --- parameters ----------------------------------------------------------------------------------- */

static bool allows(const struct js *type, const char *name)
{
    for (size_t i = 0; js_kind(type) == JS_ARRAY && i < js_count(type); i++)
        if (str_is(js_str(js_at(type, i)), name))
            return true;
    return str_is(js_str(type), name);
}

/* The words of other languages for JSON's. */
static struct str as_literal(const struct js *type, struct str value)
{
    static const struct {
        const char *type, *word, *json;
    } literals[] = {
        {"boolean", "true", "true"},
        {"boolean", "false", "false"},
        {"null", "none", "null"},
        {"null", "null", "null"},
    };
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++)
        if (allows(type, literals[i].type) && value.n == strlen(literals[i].word) &&
            strncasecmp(value.p, literals[i].word, value.n) == 0)
            return str_from(literals[i].json);
    return value;
}

static void write_value(struct jw *w, const struct js *type, struct str value)
{
    struct err ignored = ERR_INIT;
    struct str json = as_literal(type, repair_trim(value));
    struct js *parsed = NULL;
    if (type && (!allows(type, "string") || str_is(json, "null")))
        parsed = js_parse_within(json, 32, &ignored);
    if (js_kind(parsed) != JS_ABSENT && (js_kind(parsed) != JS_NULL || allows(type, "null")))
        jw_raw(w, json);
    else
        jw_str(w, value);
    js_free(parsed);
}

/* The value up to the closing tag behind which the call goes on or ends. */
static bool take_value(struct finder *finder, struct str *text, struct str *value)
{
    size_t end = 0;
    while (end < text->n) {
        size_t at = end + find(finder, after(*text, end), PARAMETER_CLOSE);
        if (at == text->n)
            return false;
        end = at + PARAMETER_CLOSE.n;
        struct str rest = skip_space(after(*text, end));
        if (rest.n > 0 && !str_starts(rest, PARAMETER_OPEN) && !str_starts(rest, FUNCTION_CLOSE))
            continue;
        *value = (struct str){text->p, at};
        *text = after(*text, end);
        if (value->n > 0 && value->p[0] == '\n')
            *value = after(*value, 1);
        if (value->n > 0 && value->p[value->n - 1] == '\n')
            value->n--;
        return true;
    }
    return false;
}

/* The name of a tag that ends in ">", whose beginning was taken. */
static bool take_name(struct str *text, struct str *name)
{
    size_t n = 0;
    while (n < text->n && n <= CALL_LABEL_MAX && !strchr("<>\n", text->p[n]))
        n++;
    if (n == 0 || n > CALL_LABEL_MAX || n == text->n || text->p[n] != '>')
        return false;
    *name = repair_trim((struct str){text->p, n});
    *text = after(*text, n + 1);
    return name->n > 0;
}

static bool take_parameters(struct finder *finder, struct str *text, const struct model_tool *tool,
                            struct buf *out)
{
    struct err ignored = ERR_INIT;
    struct js *schema = js_parse(tool->schema, &ignored);
    const struct js *properties = js_get(schema, "properties");
    struct str key, value;
    struct jw w;
    bool good = true;
    jw_init(&w, out);
    jw_object(&w);
    while (good && take(text, PARAMETER_OPEN)) {
        good = take_name(text, &key) && take_value(finder, text, &value);
        if (!good)
            break;
        key = arena_copy(finder->arena, key); /* terminated */
        jw_key_str(&w, key);
        write_value(&w, js_get(js_get(properties, key.p), "type"), value);
    }
    jw_end_object(&w);
    js_free(schema);
    return good && (take(text, FUNCTION_CLOSE) || skip_space(*text).n == 0);
}

/* --- elements ------------------------------------------------------------------------------------- */

/* What became of a beginning. */
enum finding {
    FOUND_CALL,
    FOUND_TEXT, /* an element that is no call */
};

/* Passes over an element that cannot be read, so that nothing inside of it counts. */
static void pass_over(struct finder *finder, struct str *text, struct str closing)
{
    size_t at = find(finder, *text, closing);
    if (at < text->n)
        *text = after(*text, at + closing.n);
}

static enum finding take_function(struct finder *finder, struct str *text)
{
    struct str name, start;
    struct buf arguments;
    bool good = false;
    if (!take_name(text, &name))
        return FOUND_TEXT;
    const struct model_tool *tool = find_tool(finder, name);
    start = *text;
    buf_init(&arguments, CALL_ARGUMENTS_MAX);
    if (tool && take(text, FUNCTION_CLOSE)) {
        buf_text(&arguments, "{}");
        good = true;
    } else if (tool && str_starts(skip_space(*text), PARAMETER_OPEN)) {
        good = take_parameters(finder, text, tool, &arguments);
    } else if (tool) {
        good = take_json(finder, text, name, FUNCTION_CLOSE, &arguments);
    }
    good = good && !arguments.failed;
    if (good) {
        add_call(finder, name, buf_view(&arguments));
    } else {
        *text = start;
        pass_over(finder, text, FUNCTION_CLOSE);
    }
    buf_release(&arguments);
    return good ? FOUND_CALL : FOUND_TEXT;
}

static enum finding take_call(struct finder *finder, struct str *text)
{
    struct str start = *text;
    struct buf json;
    bool good = false;
    if (take(text, FUNCTION_OPEN)) {
        enum finding found = take_function(finder, text);
        if (found == FOUND_CALL)
            (void)take(text, CALL_CLOSE);
        return found;
    }
    buf_init(&json, CALL_ARGUMENTS_MAX);
    if (take_json(finder, text, STR_NONE, CALL_CLOSE, &json)) {
        good = read_envelope(finder, buf_view(&json));
    } else {
        *text = start;
        pass_over(finder, text, CALL_CLOSE);
    }
    buf_release(&json);
    return good ? FOUND_CALL : FOUND_TEXT;
}

/* Goes to the next beginning of an element. */
static bool find_beginning(struct finder *finder, struct str *text)
{
    while (text->n > 0) {
        *text = after(*text, find(finder, *text, STR("<")));
        if (str_starts(*text, CALL_OPEN) || str_starts(*text, FUNCTION_OPEN))
            return true;
        *text = after(*text, text->n > 0 ? 1 : 0);
    }
    return false;
}

static enum finding take_element(struct finder *finder, struct str *text)
{
    if (take(text, CALL_OPEN))
        return take_call(finder, text);
    (void)take(text, FUNCTION_OPEN);
    enum finding found = take_function(finder, text);
    if (found == FOUND_CALL)
        (void)take(text, CALL_CLOSE); /* whose beginning some models leave out */
    return found;
}

/* --- what is left ----------------------------------------------------------------------------------- */

/* Length of the last line of text, which is the beginning of a code block that nothing follows; 0 if it is not. */
static size_t open_fence(struct str text)
{
    size_t fences = 0, line = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.p[i] != '\n')
            continue;
        if (i == text.n)
            break;
        fences += str_starts(after(text, line), FENCE);
        line = i + 1;
    }
    struct str last = after(text, line);
    return fences % 2 == 0 && str_starts(last, FENCE) && !memchr(last.p, ' ', last.n) ? last.n : 0;
}

/* Appends a piece of text that stands behind a call, or the first one. */
static void add_piece(struct buf *left, struct str piece)
{
    bool closes = str_starts(piece, FENCE) && (piece.n == FENCE.n || piece.p[FENCE.n] == '\n');
    size_t fence = closes && left->n > 0 ? open_fence(buf_view(left)) : 0;
    if (fence > 0) { /* a code block that held nothing but calls */
        left->n = trim_end((struct str){left->p, left->n - fence}).n;
        piece = skip_space(after(piece, FENCE.n));
    }
    if (piece.n > 0 && left->n > 0)
        buf_char(left, '\n');
    buf_str(left, piece);
}

size_t text_calls_take(const struct text_tools *tools, struct str *text, struct arena *arena,
                       struct call_draft **drafts)
{
    struct finder finder = {.tools = tools, .arena = arena, .work = WORK_MAX};
    struct str rest = *text, piece = *text;
    struct buf left;
    if (tools->count == 0)
        return 0;
    buf_init(&left, text->n + TEXT_CALLS_MAX);
    finder.drafts = arena_alloc(arena, TEXT_CALLS_MAX * sizeof *finder.drafts);
    while (finder.count < TEXT_CALLS_MAX && find_beginning(&finder, &rest)) {
        const char *start = rest.p;
        if (take_element(&finder, &rest) == FOUND_TEXT)
            continue;
        add_piece(&left, trim_end((struct str){piece.p, (size_t)(start - piece.p)}));
        piece = rest = skip_space(rest);
    }
    if (finder.count > 0) {
        add_piece(&left, trim_end(piece));
        *text = arena_copy(arena, buf_view(&left));
        *drafts = finder.drafts;
    }
    buf_release(&left);
    return finder.count;
}
