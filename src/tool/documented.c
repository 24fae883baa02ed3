/* The table of public symbols (see documented.h). Touches no file. */
#include "tool/documented.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/path.h"
#include "tool/pattern.h"

#define LINES_MOST 200000 /* of one text */
#define LOOK_UP 60        /* lines above a symbol that are looked at */
#define LOOK_DOWN 60      /* lines of a signature */
#define NESTING 64
#define LINE_MOST 1000 /* bytes of a line that are looked at */

/* Where a language's documentation stands. */
enum place {
    PLACE_BLOCK,  /* in a comment above; one comment serves all lines up to the next empty one */
    PLACE_ABOVE,  /* in a comment right above; attributes may stand between */
    PLACE_INSIDE, /* in a string that is the first thing inside */
};

/* The first group of each pattern is the symbol's name. */
static const struct row {
    const char *keys; /* languages, space-separated */
    enum place place;
    const char *comments; /* what a line of documentation starts with, space-separated */
    const char *patterns[4];
} rows[] = {
    {"c cpp",
     PLACE_BLOCK,
     "/* // * */",
     {"^(?!typedef\\b|static\\b|return\\b|else\\b|using\\b|namespace\\b)(?:[A-Za-z_]\\w*[\\s*&]+)+"
      "([A-Za-z_]\\w*)\\s*\\((?!\\*)",
      "^(?:typedef\\s+)?(?:struct|union|enum(?:\\s+class)?|class)\\s+([A-Za-z_]\\w*)\\s*(?::[^;]*)?"
      "\\{",
      "^extern\\s+(?!\")[^(]*?\\b([A-Za-z_]\\w*)\\s*(?:\\[[^]]*\\]\\s*)*;"}},
    {"py", PLACE_INSIDE, "\"\"\" ''' r\"\"\" \"", {"^\\s*(?:async\\s+)?(?:def|class)\\s+(\\w+)"}},
    {"js ts",
     PLACE_ABOVE,
     "/* // * */",
     {"^export\\s+(?:default\\s+)?(?:declare\\s+)?(?:abstract\\s+)?(?:async\\s+)?(?:function\\s*\\*"
      "?|"
      "class|const|let|var|interface|type|enum|namespace)\\s+([\\w$]+)"}},
    {"go",
     PLACE_ABOVE,
     "// /* */",
     {"^func\\s+(?:\\([^)]*\\)\\s*)?([A-Z]\\w*)", "^(?:type|var|const)\\s+([A-Z]\\w*)"}},
    {"rust",
     PLACE_ABOVE,
     "/// //! /** * */ #[doc",
     {"^\\s*pub\\s+(?:(?:async|unsafe|const|extern(?:\\s+\"[^\"]*\")?)\\s+)*(?:fn|struct|enum|"
      "trait|"
      "union|type|const|static|mod)\\s+(\\w+)"}},
    {"java",
     PLACE_ABOVE,
     "/** * */ @Override",
     {"^\\s*public\\s+(?:(?:static|final|abstract|sealed|strictfp)\\s+)*(?:class|interface|enum|"
      "record|@interface)\\s+(\\w+)",
      "^\\s*(?:public|protected)\\s+(?:[\\w<>\\[\\],.?]+\\s+)*(\\w+)\\s*[(=;]"}},
    {"csharp",
     PLACE_ABOVE,
     "///",
     {"^\\s*public\\s+(?:[\\w<>\\[\\],.?]+\\s+)*(\\w+)\\s*(?:[({=;:]|$)"}},
    {"ruby", PLACE_ABOVE, "#", {"^\\s*(?:def\\s+(?:self\\.)?|class\\s+|module\\s+)(\\w+[?!]?)"}},
    {"php",
     PLACE_ABOVE,
     "/** * */",
     {"^\\s*(?:(?:abstract|final|readonly)\\s+)*(?:class|interface|trait|enum)\\s+(\\w+)",
      "^\\s*(?:(?:abstract|final|static)\\s+)*public\\s+(?:static\\s+)?function\\s+&?(\\w+)"}},
    {"swift",
     PLACE_ABOVE,
     "/// /** * */",
     {"^\\s*(?:public|open)\\s+(?:\\w+\\s+)*(?:func|class|struct|enum|protocol|var|let|typealias)"
      "\\s+"
      "(\\w+)"}},
};
enum { ROWS = sizeof rows / sizeof rows[0], PATTERNS = 4 };

struct documented {
    struct pattern *patterns[ROWS][PATTERNS]; /* compiled when first needed */
};

struct documented *documented_new(void)
{
    struct documented *documented = calloc(1, sizeof *documented);
    if (!documented)
        abort();
    return documented;
}

void documented_free(struct documented *documented)
{
    if (!documented)
        return;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < PATTERNS; j++)
            pattern_free(documented->patterns[i][j]);
    free(documented);
}

static bool next_word(const char **rest, struct str *word)
{
    size_t n = strcspn(*rest, " ");
    *word = (struct str){*rest, n};
    *rest += n + ((*rest)[n] == ' ');
    return n > 0;
}

static const struct row *row_of(const struct language *language)
{
    struct str word;
    for (size_t i = 0; i < ROWS; i++)
        for (const char *rest = rows[i].keys; next_word(&rest, &word);)
            if (str_is(word, language->key))
                return &rows[i];
    return NULL;
}

bool documented_knows(const struct language *language, struct str file_name)
{
    static const char *const tests[] = {"*_test.*",   "test_*",    "*.test.*", "*.spec.*",
                                        "*Test.java", "*_spec.rb", "*.min.js"};
    const struct row *row = language ? row_of(language) : NULL;
    if (!row)
        return false;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (path_glob(str_from(tests[i]), file_name))
            return false;
    return row->place != PLACE_BLOCK || path_glob(STR("*.h*"), file_name);
}

/* --- lines ------------------------------------------------------------------------------------ */

struct text {
    const struct row *row;
    struct str *lines;
    size_t count;
};

static void split(struct text *text, struct arena *arena, struct str rest)
{
    size_t room = 1;
    for (size_t i = 0; i < rest.n; i++)
        room += rest.p[i] == '\n';
    room = room < LINES_MOST ? room : LINES_MOST;
    text->lines = arena_alloc(arena, room * sizeof *text->lines);
    while (rest.n > 0 && text->count < room) {
        const char *newline = memchr(rest.p, '\n', rest.n);
        size_t n = newline ? (size_t)(newline - rest.p) : rest.n;
        text->lines[text->count++] = (struct str){rest.p, n < LINE_MOST ? n : LINE_MOST};
        size_t taken = newline ? n + 1 : n;
        rest.p += taken;
        rest.n -= taken;
    }
}

static struct str trim(struct str line)
{
    while (line.n > 0 && isspace((unsigned char)line.p[0])) {
        line.p++;
        line.n--;
    }
    while (line.n > 0 && isspace((unsigned char)line.p[line.n - 1]))
        line.n--;
    return line;
}

static size_t indent_of(struct str line)
{
    size_t n = 0;
    while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
        n++;
    return n;
}

static bool is_documentation(const struct row *row, struct str line)
{
    struct str word;
    line = trim(line);
    for (const char *rest = row->comments; next_word(&rest, &word);)
        if (str_starts(line, word))
            return true;
    return false;
}

static bool has_comment_at_end(struct str line)
{
    return memmem(line.p, line.n, "/*", 2) || memmem(line.p, line.n, "//", 2);
}

/* --- documentation ---------------------------------------------------------------------------- */

static bool in_documented_block(const struct text *text, size_t at)
{
    if (has_comment_at_end(text->lines[at]))
        return true;
    for (size_t i = at, looked = 0; i-- > 0 && looked < LOOK_UP; looked++) {
        struct str line = trim(text->lines[i]);
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == '}' || line.p[line.n - 1] == '{')
            return false;
        if (is_documentation(text->row, line) || has_comment_at_end(line))
            return true;
    }
    return false;
}

/* Attributes, annotations and decorators stand between a symbol and its comment. */
static bool documented_above(const struct text *text, size_t at)
{
    for (size_t i = at, looked = 0; i-- > 0 && looked < LOOK_UP; looked++) {
        struct str line = trim(text->lines[i]);
        if (is_documentation(text->row, line))
            return true;
        if (line.n == 0 || (line.p[0] != '@' && line.p[0] != '[' && !str_starts(line, STR("#["))))
            return false;
    }
    return false;
}

/* Behind the colon that ends the signature. */
static bool documented_inside(const struct text *text, size_t at)
{
    size_t end = at;
    for (size_t looked = 0; end < text->count && looked < LOOK_DOWN; end++, looked++) {
        struct str line = trim(text->lines[end]);
        if (line.n > 0 && line.p[line.n - 1] == ':')
            break;
    }
    for (end++; end < text->count; end++)
        if (trim(text->lines[end]).n > 0)
            return is_documentation(text->row, text->lines[end]);
    return false;
}

static bool is_documented(const struct text *text, size_t at)
{
    switch (text->row->place) {
    case PLACE_BLOCK:
        return in_documented_block(text, at);
    case PLACE_ABOVE:
        return documented_above(text, at);
    case PLACE_INSIDE:
        return documented_inside(text, at);
    }
    return false;
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* What surrounds a line of Python: only classes that are public themselves have public members. */
struct nesting {
    struct {
        size_t indent;
        enum { INSIDE_CLASS, INSIDE_HIDDEN } inside;
    } levels[NESTING];
    size_t count;
};

/* Is a definition at this line public? Notes it for the lines below. */
static bool enter(struct nesting *nesting, struct str line, struct str name)
{
    size_t indent = indent_of(line);
    while (nesting->count > 0 && nesting->levels[nesting->count - 1].indent >= indent)
        nesting->count--;
    bool hidden = name.p[0] == '_' || (nesting->count > 0 &&
                                       nesting->levels[nesting->count - 1].inside == INSIDE_HIDDEN);
    bool is_class = str_starts(trim(line), STR("class"));
    if (nesting->count < NESTING) {
        nesting->levels[nesting->count].indent = indent;
        nesting->levels[nesting->count++].inside =
            is_class && !hidden ? INSIDE_CLASS : INSIDE_HIDDEN;
    }
    return !hidden;
}

static struct pattern *pattern_of(struct documented *documented, size_t row, size_t i)
{
    struct err err = ERR_INIT;
    struct pattern **pattern = &documented->patterns[row][i];
    if (!*pattern &&
        pattern_compile(str_from(rows[row].patterns[i]), PATTERN_EXACT_CASE, pattern, &err) != 0)
        *pattern = NULL;
    return *pattern;
}

static bool find_symbol(struct documented *documented, const struct row *row, struct str line,
                        struct str *name)
{
    struct err err = ERR_INIT;
    for (size_t i = 0; i < PATTERNS && row->patterns[i]; i++) {
        struct pattern *pattern = pattern_of(documented, (size_t)(row - rows), i);
        if (pattern && pattern_find(pattern, line, name, &err) > 0 && name->n > 0)
            return true;
    }
    return false;
}

void documented_read(struct documented *documented, const struct language *language,
                     struct str content, documented_symbol *symbol, void *user)
{
    struct text text = {.row = row_of(language)};
    struct nesting nesting = {0};
    struct arena arena;
    struct str name;
    if (!text.row)
        return;
    arena_init(&arena);
    split(&text, &arena, content);
    for (size_t i = 0; i < text.count; i++) {
        if (!find_symbol(documented, text.row, text.lines[i], &name))
            continue;
        if (text.row->place == PLACE_INSIDE && !enter(&nesting, text.lines[i], name))
            continue;
        symbol(user, name, (int64_t)i + 1,
               is_documented(&text, i) ? DOCUMENTED_YES : DOCUMENTED_NO);
    }
    arena_release(&arena);
}
