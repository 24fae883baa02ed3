/* Reads almost-JSON by a grammar that has one reading for every text, and writes JSON. What the grammar does not know
 * is refused, never guessed; the result is parsed once more by the strict parser. Pure; any thread. */
#include "model/repair.h"

#include "base/json.h"

enum { DEPTH_MAX = 32, NESTING_MAX = 2 /* strings and envelopes around an object */ };

/* A place in the text, and what was written of it. */
struct reader {
    struct str rest;
    struct buf *out;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str repair_trim(struct str text)
{
    while (text.n > 0 && is_space(text.p[0]))
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n > 0 && is_space(text.p[text.n - 1]))
        text.n--;
    return text;
}

static void skip(struct reader *reader, size_t n)
{
    reader->rest = (struct str){reader->rest.p + n, reader->rest.n - n};
}

static void skip_space(struct reader *reader)
{
    while (reader->rest.n > 0 && is_space(reader->rest.p[0]))
        skip(reader, 1);
}

/* The next character that is no white space; NUL at the end. */
static char peek(struct reader *reader)
{
    skip_space(reader);
    return reader->rest.n > 0 ? reader->rest.p[0] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* --- values ---------------------------------------------------------------------------------------- */

static int read_escape(struct reader *reader)
{
    static const char known[] = "\"\\/bfnrtu";
    char c = reader->rest.n > 1 ? reader->rest.p[1] : '\0';
    if (c == '\'')
        buf_char(reader->out, '\'');
    else if (c != '\0' && strchr(known, c))
        buf_add(reader->out, reader->rest.p, 2);
    else
        return -1;
    skip(reader, 2);
    return 0;
}

/* A string in either kind of quotes. Bytes are copied as they are: the strict parser judges them. */
static int read_string(struct reader *reader)
{
    char quote = reader->rest.p[0];
    buf_char(reader->out, '"');
    skip(reader, 1);
    while (reader->rest.n > 0 && reader->rest.p[0] != quote) {
        char c = reader->rest.p[0];
        if (c == '\\') {
            if (read_escape(reader) != 0)
                return -1;
            continue;
        }
        if (c == '"') /* in single quotes */
            buf_char(reader->out, '\\');
        buf_char(reader->out, c);
        skip(reader, 1);
    }
    if (reader->rest.n == 0)
        return -1;
    skip(reader, 1);
    buf_char(reader->out, '"');
    return 0;
}

static struct str take_word(struct reader *reader)
{
    size_t n = 0;
    while (n < reader->rest.n && (is_letter(reader->rest.p[n]) || is_digit(reader->rest.p[n])))
        n++;
    struct str word = {reader->rest.p, n};
    skip(reader, n);
    return word;
}

static const struct literal {
    const char *word, *json;
} literals[] = {
    {"true", "true"}, {"false", "false"}, {"null", "null"},
    {"True", "true"}, {"False", "false"}, {"None", "null"},
};

static const struct literal *find_literal(struct str word)
{
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++)
        if (str_is(word, literals[i].word))
            return &literals[i];
    return NULL;
}

static int read_literal(struct reader *reader)
{
    const struct literal *literal = find_literal(take_word(reader));
    if (!literal)
        return -1;
    buf_text(reader->out, literal->json);
    return 0;
}

/* The characters of a number; whether they are one is the strict parser's to say. */
static int read_number(struct reader *reader)
{
    size_t n = 0;
    while (n < reader->rest.n &&
           (is_digit(reader->rest.p[n]) || strchr("+-.eE", reader->rest.p[n])) &&
           reader->rest.p[n] != '\0')
        n++;
    buf_add(reader->out, reader->rest.p, n);
    skip(reader, n);
    return n > 0 ? 0 : -1;
}

/* An unquoted True or null as a key may mean the word or the value. */
static int read_key(struct reader *reader)
{
    char c = peek(reader);
    if (c == '"' || c == '\'')
        return read_string(reader);
    if (!is_letter(c))
        return -1;
    struct str word = take_word(reader);
    if (find_literal(word))
        return -1;
    json_quote(reader->out, word);
    return 0;
}

static int read_value(struct reader *reader, int depth);

/* One member of an object, or one item of an array. */
static int read_item(struct reader *reader, char close, int depth)
{
    if (close == '}') {
        if (read_key(reader) != 0 || peek(reader) != ':')
            return -1;
        skip(reader, 1);
        buf_char(reader->out, ':');
    }
    return read_value(reader, depth - 1);
}

static int read_container(struct reader *reader, char close, int depth)
{
    bool first = true;
    buf_char(reader->out, reader->rest.p[0]);
    skip(reader, 1);
    while (peek(reader) != close) {
        if (!first)
            buf_char(reader->out, ',');
        first = false;
        if (read_item(reader, close, depth) != 0)
            return -1;
        char next = peek(reader);
        if (next == ',')
            skip(reader, 1);
        else if (next != close)
            return -1;
    }
    skip(reader, 1);
    buf_char(reader->out, close);
    return 0;
}

static int read_value(struct reader *reader, int depth)
{
    char c = peek(reader);
    if (depth == 0)
        return -1;
    if (c == '{')
        return read_container(reader, '}', depth);
    if (c == '[')
        return read_container(reader, ']', depth);
    if (c == '"' || c == '\'')
        return read_string(reader);
    return is_letter(c) ? read_literal(reader) : read_number(reader);
}

/* --- what stands around the object -------------------------------------------------------------- */

/* Words may follow a complete object; anything that could belong to it, or be another one, may not. */
static bool is_chatter(struct str text)
{
    text = repair_trim(text);
    if (text.n > 0 && (text.p[0] == ',' || text.p[0] == ':'))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\0' || strchr("{}[]\"`", text.p[i]))
            return false;
    return true;
}

/* Skips ```, a word and the rest of that line, which must be empty. */
static int skip_fence(struct reader *reader)
{
    skip(reader, 3);
    (void)take_word(reader);
    while (reader->rest.n > 0 && reader->rest.p[0] != '\n') {
        if (!is_space(reader->rest.p[0]))
            return reader->rest.p[0] == '{' ? 0 : -1;
        skip(reader, 1);
    }
    return 0;
}

static int read_document(struct str text, struct buf *out)
{
    static const struct str fence = {"```", 3};
    struct reader reader = {text, out};
    bool fenced = str_starts(text, fence);
    if (fenced && skip_fence(&reader) != 0)
        return -1;
    if (peek(&reader) != '{' || read_value(&reader, DEPTH_MAX) != 0)
        return -1;
    skip_space(&reader);
    if (fenced && !str_starts(reader.rest, fence))
        return -1;
    if (fenced)
        skip(&reader, fence.n);
    return is_chatter(reader.rest) ? 0 : -1;
}

static int repair(struct str name, struct str text, int nesting, struct buf *out);

/* The call itself, in place of its arguments: exactly a name, which is the call's, and arguments. */
static const struct js *enveloped(struct str name, const struct js *object)
{
    const struct js *arguments = js_get(object, "arguments");
    bool envelope = name.n > 0 && js_count(object) == 2 && arguments &&
                    js_kind(js_get(object, "name")) == JS_STRING &&
                    str_eq(js_get_str(object, "name"), name);
    return envelope ? arguments : NULL;
}

/* parsed is what text says. */
static int repair_parsed(struct str name, struct str text, const struct js *parsed, int nesting,
                         struct buf *out)
{
    if (js_kind(parsed) == JS_STRING)
        return repair(name, js_str(parsed), nesting - 1, out);
    if (js_kind(parsed) != JS_OBJECT)
        return -1;
    const struct js *arguments = enveloped(name, parsed);
    if (js_kind(arguments) == JS_STRING)
        return repair(name, js_str(arguments), nesting - 1, out);
    if (js_kind(arguments) == JS_OBJECT)
        js_print(arguments, out);
    else
        buf_str(out, text);
    return out->failed ? -1 : 0;
}

static int repair(struct str name, struct str text, int nesting, struct buf *out)
{
    struct err ignored = ERR_INIT;
    struct buf read;
    int result = -1;
    text = repair_trim(text);
    if (text.n == 0)
        buf_text(out, "{}");
    if (text.n == 0 || nesting == 0)
        return text.n == 0 ? 0 : -1;
    buf_init(&read, REPAIR_MAX * 2 + 16);
    struct js *parsed = js_parse(text, &ignored);
    if (!parsed && text.n <= REPAIR_MAX && read_document(text, &read) == 0 && !read.failed) {
        text = buf_view(&read);
        parsed = js_parse(text, &ignored);
    }
    if (parsed)
        result = repair_parsed(name, text, parsed, nesting, out);
    js_free(parsed);
    buf_release(&read);
    return result;
}

int repair_arguments(struct str name, struct str text, struct buf *out)
{
    return repair(name, text, NESTING_MAX + 1, out);
}
