/* The table of languages (see language.h). */
#include "tool/language.h"

#include <strings.h>

#include "tool/result.h"

#define LANGUAGES(X)                                                                               \
    X("C", "c", ".c .h", "code")                                                                   \
    X("C++", "cpp", ".cc .cpp .cxx .hh .hpp .hxx .ipp .inl", "code")                               \
    X("C#", "csharp", ".cs", "code")                                                               \
    X("CSS", "css", ".css .scss .sass .less", "code")                                              \
    X("Dart", "dart", ".dart", "code")                                                             \
    X("Elixir", "elixir", ".ex .exs", "code")                                                      \
    X("Erlang", "erlang", ".erl .hrl", "code")                                                     \
    X("Go", "go", ".go", "code")                                                                   \
    X("Haskell", "haskell", ".hs", "code")                                                         \
    X("HTML", "html", ".html .htm .vue .svelte", "code")                                           \
    X("Java", "java", ".java", "code")                                                             \
    X("JavaScript", "js", ".js .jsx .mjs .cjs", "code")                                            \
    X("JSON", "json", ".json .jsonl .json5", "data")                                               \
    X("Kotlin", "kotlin", ".kt .kts", "code")                                                      \
    X("Lua", "lua", ".lua", "code")                                                                \
    X("Make", "make", ".mk Makefile makefile GNUmakefile", "code")                                 \
    X("CMake", "cmake", ".cmake CMakeLists.txt", "code")                                           \
    X("Markdown", "md", ".md .markdown", "text")                                                   \
    X("Meson", "meson", "meson.build meson_options.txt", "code")                                   \
    X("Objective-C", "objc", ".m .mm", "code")                                                     \
    X("OCaml", "ocaml", ".ml .mli", "code")                                                        \
    X("Perl", "perl", ".pl .pm", "code")                                                           \
    X("PHP", "php", ".php", "code")                                                                \
    X("Protocol Buffers", "proto", ".proto", "code")                                               \
    X("Python", "py", ".py .pyi", "code")                                                          \
    X("R", "r", ".r .R", "code")                                                                   \
    X("reStructuredText", "rst", ".rst", "text")                                                   \
    X("Ruby", "ruby", ".rb .rake Rakefile Gemfile", "code")                                        \
    X("Rust", "rust", ".rs", "code")                                                               \
    X("Scala", "scala", ".scala", "code")                                                          \
    X("Shell", "sh", ".sh .bash .zsh", "code")                                                     \
    X("SQL", "sql", ".sql", "code")                                                                \
    X("Swift", "swift", ".swift", "code")                                                          \
    X("Text", "txt", ".txt", "text")                                                               \
    X("TOML", "toml", ".toml", "data")                                                             \
    X("TypeScript", "ts", ".ts .tsx .mts .cts", "code")                                            \
    X("XML", "xml", ".xml .svg", "data")                                                           \
    X("YAML", "yaml", ".yaml .yml", "data")                                                        \
    X("Zig", "zig", ".zig", "code")

const struct language languages[] = {
#define X(name, key, names, kind) {name, key, names, kind},
    LANGUAGES(X)
#undef X
};
const size_t language_count = sizeof languages / sizeof languages[0];

static bool one_matches(struct str pattern, struct str name)
{
    if (pattern.p[0] != '.')
        return str_eq(pattern, name);
    return name.n > pattern.n &&
           strncasecmp(name.p + name.n - pattern.n, pattern.p, pattern.n) == 0;
}

static bool is_named(const char *names, struct str name)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        if (one_matches((struct str){names, n}, name))
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

const struct language *language_of_file(struct str name)
{
    for (size_t i = 0; i < language_count; i++)
        if (is_named(languages[i].names, name))
            return &languages[i];
    return NULL;
}

const struct language *language_by_key(struct str key)
{
    for (size_t i = 0; i < language_count; i++)
        if (str_is(key, languages[i].key) || (key.n == strlen(languages[i].name) &&
                                              strncasecmp(key.p, languages[i].name, key.n) == 0))
            return &languages[i];
    return NULL;
}

int language_argument(const struct js *arguments, const struct language **language,
                      struct tool_result *result)
{
    static const char keys[] =
#define X(name, key, names, kind) ", " key
        LANGUAGES(X)
#undef X
        ;
    struct str type = js_get_str(arguments, "type");
    *language = type.p ? language_by_key(type) : NULL;
    if (type.p && !*language)
        return tool_fail(result, "unknown type \"%.*s\"; the types are: %s",
                         STR_FMT(utf8_cut(type, 64)), keys + 2);
    return 0;
}
