/* The table of patterns (see definition.h). Touches no file. */
#include "tool/definition.h"

#include <stdlib.h>

#include "base/arena.h"
#include "tool/pattern.h"

/* @ stands for the name as a whole word. */
static const struct row {
    const char *keys; /* languages, space-separated */
    const char *kind;
    const char *pattern;
} rows[] = {
    {"c cpp objc", "macro", "^\\s*#\\s*define\\s+@"},
    {"c cpp objc", "type",
     "^\\s*(?:typedef\\s+)?(?:struct|union|enum(?:\\s+class)?|class)\\s+@\\s*(?:final\\s*)?(?:[:{]|"
     "$)"},
    {"c cpp objc", "type", "^\\s*typedef\\b[^;]*@\\s*(?:\\[[^]]*\\]\\s*)?;|^\\s*\\}\\s*@\\s*;"},
    {"c cpp objc", "function",
     "^(?!return\\b|else\\b)[A-Za-z_](?:[\\w\\s*&:<>,~]*[\\s*&:~])?@\\s*\\([^;]*$"},
    {"c cpp objc", "variable",
     "^(?!return\\b|typedef\\b|(?:struct|union|enum|class)\\s+\\w+\\s*;)[A-Za-z_][\\w\\s*&:<>,]*["
     "\\s*&]@\\s*(?:\\[[^]]*\\]\\s*)*(?:=|;)"},
    {"py", "function", "^\\s*(?:async\\s+)?def\\s+@"},
    {"py", "class", "^\\s*class\\s+@"},
    {"py", "variable", "^@\\s*(?::[^=]+)?=(?!=)"},
    {"js ts html", "function", "\\bfunction\\s*\\*?\\s*@"},
    {"js ts html", "function",
     "@\\s*[:=]\\s*(?:async\\s*)?(?:function\\b|\\([^)]*\\)\\s*(?::[^=]*)?=>|\\w+\\s*=>)"},
    {"js ts html", "class", "\\bclass\\s+@"},
    {"js ts html", "type",
     "^\\s*(?:export\\s+)?(?:declare\\s+)?(?:interface|type|enum|namespace)\\s+@"},
    {"js ts html", "variable", "^\\s*(?:export\\s+)?(?:const|let|var)\\s+@"},
    {"js ts html", "method",
     "^\\s+(?:(?:static|async|public|private|protected|readonly|override|get|set)\\s+)*\\*?@\\s*"
     "\\([^)]*\\)\\s*(?::[^{;]+)?\\{"},
    {"go", "function", "^func\\s+(?:\\([^)]*\\)\\s*)?@\\s*[(\\[]"},
    {"go", "type", "^\\s*type\\s+@"},
    {"go", "variable", "^\\s*(?:var|const)\\s+@"},
    {"rust", "function", "\\bfn\\s+@"},
    {"rust", "type", "^\\s*(?:pub(?:\\([^)]*\\))?\\s+)?(?:struct|enum|trait|union|type)\\s+@"},
    {"rust", "variable", "^\\s*(?:pub(?:\\([^)]*\\))?\\s+)?(?:const|static)\\s+(?:mut\\s+)?@"},
    {"rust", "module", "^\\s*(?:pub(?:\\([^)]*\\))?\\s+)?mod\\s+@"},
    {"rust", "macro", "^\\s*macro_rules!\\s*@"},
    {"java csharp kotlin scala dart", "class",
     "\\b(?:class|interface|enum|record|object|trait|struct|mixin)\\s+@"},
    {"java csharp dart", "method",
     "^\\s*(?!(?:return|new|else|throw|await|yield)\\b)(?:[\\w<>\\[\\],.?]+\\s+)+@\\s*\\([^;]*$"},
    {"kotlin", "function", "\\bfun\\s+(?:[\\w.<>?]+\\.)?@"},
    {"kotlin", "variable", "^\\s*(?:\\w+\\s+)*(?:val|var)\\s+@"},
    {"scala", "function", "\\bdef\\s+@"},
    {"scala", "variable", "^\\s*(?:\\w+\\s+)*(?:val|var|type)\\s+@"},
    {"ruby", "function", "^\\s*def\\s+(?:self\\.)?@"},
    {"ruby", "class", "^\\s*(?:class|module)\\s+(?:\\w+::)*@"},
    {"ruby", "variable", "^\\s*@\\s*=(?!=)"},
    {"php", "function", "\\bfunction\\s+&?@"},
    {"php", "class", "^\\s*(?:\\w+\\s+)*(?:class|interface|trait|enum)\\s+@"},
    {"php", "variable", "\\bconst\\s+(?:\\w+\\s+)?@"},
    {"sh", "function", "^\\s*(?:function\\s+@|@\\s*\\(\\s*\\))"},
    {"sh", "variable", "^\\s*(?:(?:export|readonly|local|declare)\\s+)?@="},
    {"lua", "function", "\\bfunction\\s+(?:\\w+[.:])*@|@\\s*=\\s*function\\b"},
    {"lua", "variable", "^\\s*local\\s+@\\s*="},
    {"swift", "function", "\\bfunc\\s+@"},
    {"swift", "type", "\\b(?:class|struct|enum|protocol|extension|typealias|actor)\\s+@"},
    {"swift", "variable", "^\\s*(?:\\w+\\s+)*(?:let|var)\\s+@"},
    {"elixir", "function", "^\\s*def(?:p|macrop?|guardp?|delegate)?\\s+@"},
    {"elixir", "module", "^\\s*def(?:module|protocol|impl)\\s+(?:\\w+\\.)*@"},
    {"erlang", "function", "^@\\s*\\("},
    {"perl", "function", "^\\s*sub\\s+@"},
    {"perl", "module", "^\\s*package\\s+(?:\\w+::)*@"},
    {"haskell", "function", "^@\\s*::"},
    {"haskell", "type", "^(?:data|newtype|type|class)\\s+(?:.*=>\\s*)?@"},
    {"ocaml", "function", "^\\s*(?:let|and|val|external)\\s+(?:rec\\s+)?@"},
    {"ocaml", "type", "^\\s*(?:type|and|module|exception)\\s+(?:'\\w+\\s+|\\([^)]*\\)\\s*)?@"},
    {"zig", "function", "\\bfn\\s+@"},
    {"zig", "variable", "^\\s*(?:pub\\s+)?(?:const|var)\\s+@"},
    {"r", "function", "^\\s*@\\s*(?:<-|=)\\s*function\\b"},
    {"proto", "type", "^\\s*(?:message|service|enum|rpc)\\s+@"},
    {"sql", "table or routine",
     "(?i)^\\s*create\\s+(?:or\\s+replace\\s+)?(?:\\w+\\s+){1,2}(?:if\\s+not\\s+exists\\s+)?(?:\\w+"
     "\\.)?@"},
    {"make", "target", "^@\\s*:(?!=)"},
    {"make", "variable", "^(?:export\\s+)?@\\s*[:?+!]?="},
    {"cmake", "function",
     "(?i)^\\s*(?:function|macro|set|option|add_executable|add_library)\\s*\\(\\s*@"},
    {"css", "variable", "^\\s*(?:--|\\$)@\\s*:"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct definitions {
    struct str name;
    struct pattern *patterns[ROWS]; /* compiled when first needed */
    char text[DEFINITION_NAME_MAX + 1];
};

struct definitions *definitions_new(struct str name)
{
    struct definitions *definitions = calloc(1, sizeof *definitions);
    if (!definitions)
        abort();
    size_t n = name.n < DEFINITION_NAME_MAX ? name.n : DEFINITION_NAME_MAX;
    memcpy(definitions->text, name.p, n);
    definitions->name = (struct str){definitions->text, n};
    return definitions;
}

void definitions_free(struct definitions *definitions)
{
    if (!definitions)
        return;
    for (size_t i = 0; i < ROWS; i++)
        pattern_free(definitions->patterns[i]);
    free(definitions);
}

static bool has_key(const char *keys, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = keys; (at = strstr(at, key)); at += length)
        if ((at == keys || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static struct pattern *compile(const struct row *row, struct str name)
{
    struct err err = ERR_INIT;
    struct pattern *pattern = NULL;
    struct buf text;
    buf_init(&text, PATTERN_MAX);
    for (const char *at = row->pattern; *at; at++) {
        if (*at == '@')
            buf_printf(&text, "(?<![\\w$])\\Q%.*s\\E(?![\\w$])", STR_FMT(name));
        else
            buf_char(&text, *at);
    }
    if (text.failed || pattern_compile(buf_view(&text), PATTERN_EXACT_CASE, &pattern, &err) != 0)
        pattern = NULL;
    buf_release(&text);
    return pattern;
}

const char *definitions_kind(struct definitions *definitions, const struct language *language,
                             struct str line)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct err err = ERR_INIT;
        if (!has_key(rows[i].keys, language->key))
            continue;
        if (!definitions->patterns[i])
            definitions->patterns[i] = compile(&rows[i], definitions->name);
        if (definitions->patterns[i] && pattern_match(definitions->patterns[i], line, &err) > 0)
            return rows[i].kind;
    }
    return NULL;
}
