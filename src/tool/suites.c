/* See suites.h. Markers are looked up through the scope, within what the agent may read. Blocks on files. */
#include "tool/suites.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "os/scope.h"
#include "tool/file.h"
#include "tool/listing.h"
#include "tool/preview.h"

#define MARKER_MAX (1u << 20) /* bytes of a file that is looked into */

/* --- what files say ----------------------------------------------------------------------------------------------------- */

static bool has_line(struct str text, struct str start)
{
    const char *at = text.p, *end = text.p + text.n;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
        if (str_starts((struct str){at, n}, start))
            return true;
        at += n + 1;
    }
    return false;
}

static bool has_target(struct str text, struct str name)
{
    const char *at = text.p, *end = text.p + text.n;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
        const char *colon = n > 0 ? memchr(at, ':', n) : NULL;
        /* Several targets may stand before the colon; ":=" sets a variable. */
        if (colon != NULL && at[0] != '\t' && at[0] != '#' && at[0] != '.' &&
            !(colon + 1 < at + n && colon[1] == '=')) {
            for (const char *word = at; word < colon;) {
                size_t length = strcspn(word, " \t:");
                if (str_eq((struct str){word, length}, name))
                    return true;
                word += length + strspn(word + length, " \t");
            }
        }
        at += n + 1;
    }
    return false;
}

static bool makes_test(struct str text)
{
    return has_target(text, STR("test"));
}

static bool makes_check(struct str text)
{
    return has_target(text, STR("check"));
}

/* npm writes a script that says that there are none. */
static bool has_test_script(struct str text)
{
    struct err ignored = ERR_INIT;
    struct js *package = js_parse(text, &ignored);
    struct str script = js_get_str(js_get(package, "scripts"), "test");
    bool found = script.n > 0 && memmem(script.p, script.n, "no test specified", 17) == NULL;
    js_free(package);
    return found;
}

static bool configures_pytest(struct str text)
{
    return has_line(text, STR("[tool.pytest")) || has_line(text, STR("[tool:pytest]")) ||
           has_line(text, STR("[pytest]"));
}

/* --- the table ------------------------------------------------------------------------------------------------------------- */

#define MESON_TEST "meson test -C build --print-errorlogs ${1:+\"$1\"}"
#define CTEST "cmake --build build && ctest --test-dir build --output-on-failure ${1:+-R \"$1\"}"
#define PYTEST "python3 -m pytest -q ${1:+-k \"$1\"} ${2:+\"$2\"}"
#define UNITTEST(where) "python3 -m unittest discover -s " where " ${1:+-k \"$1\"}"

const struct suite suites[] = {
    {"make", "Makefile", makes_test, NULL, "make test", SUITE_ALL},
    {"make", "GNUmakefile", makes_test, NULL, "make test", SUITE_ALL},
    {"make", "makefile", makes_test, NULL, "make test", SUITE_ALL},
    {"make", "Makefile", makes_check, NULL, "make check", SUITE_ALL},
    {"meson", "meson.build", NULL, "build/build.ninja", MESON_TEST, SUITE_FILTER},
    {"meson", "meson.build", NULL, NULL, "meson setup build && " MESON_TEST, SUITE_FILTER},
    {"ctest", "CMakeLists.txt", NULL, "build/CMakeCache.txt", CTEST, SUITE_FILTER},
    {"ctest", "CMakeLists.txt", NULL, NULL, "cmake -S . -B build && " CTEST, SUITE_FILTER},
    {"pnpm", "package.json", has_test_script, "pnpm-lock.yaml", "pnpm test ${2:+\"$2\"}",
     SUITE_PATH},
    {"yarn", "package.json", has_test_script, "yarn.lock", "yarn test ${2:+\"$2\"}", SUITE_PATH},
    {"bun", "package.json", has_test_script, "bun.lock*", "bun run test ${2:+\"$2\"}", SUITE_PATH},
    {"npm", "package.json", has_test_script, NULL, "npm test ${2:+-- \"$2\"}", SUITE_PATH},
    {"deno", "deno.json*", NULL, NULL, "deno test ${1:+--filter \"$1\"} ${2:+\"$2\"}",
     SUITE_FILTER | SUITE_PATH},
    {"pytest", "pytest.ini", NULL, NULL, PYTEST, SUITE_FILTER | SUITE_PATH},
    {"pytest", "conftest.py", NULL, NULL, PYTEST, SUITE_FILTER | SUITE_PATH},
    {"pytest", "tests/conftest.py", NULL, NULL, PYTEST, SUITE_FILTER | SUITE_PATH},
    {"pytest", "pyproject.toml", configures_pytest, NULL, PYTEST, SUITE_FILTER | SUITE_PATH},
    {"pytest", "setup.cfg", configures_pytest, NULL, PYTEST, SUITE_FILTER | SUITE_PATH},
    {"pytest", "tox.ini", configures_pytest, NULL, PYTEST, SUITE_FILTER | SUITE_PATH},
    {"unittest", "tests/test*.py", NULL, "tests/__init__.py", UNITTEST("tests -t ."), SUITE_FILTER},
    {"unittest", "tests/test*.py", NULL, NULL, UNITTEST("tests"), SUITE_FILTER},
    {"unittest", "test/test*.py", NULL, NULL, UNITTEST("test"), SUITE_FILTER},
    {"unittest", "test*.py", NULL, NULL, UNITTEST("."), SUITE_FILTER},
    {"cargo", "Cargo.toml", NULL, NULL, "cargo test ${1:+\"$1\"}", SUITE_FILTER},
    {"go", "go.mod", NULL, NULL, "go test ${1:+-run \"$1\"} \"./${2:-.}/...\"",
     SUITE_FILTER | SUITE_PATH},
    {"maven", "pom.xml", NULL, NULL, "mvn -q -B test ${1:+-Dtest=\"$1\"}", SUITE_FILTER},
    {"gradle", "gradlew", NULL, NULL, "sh ./gradlew test ${1:+--tests \"$1\"}", SUITE_FILTER},
    {"gradle", "build.gradle*", NULL, NULL, "gradle test ${1:+--tests \"$1\"}", SUITE_FILTER},
    {"phpunit", "phpunit.xml*", NULL, NULL, "vendor/bin/phpunit ${1:+--filter \"$1\"} ${2:+\"$2\"}",
     SUITE_FILTER | SUITE_PATH},
    {"rspec", ".rspec", NULL, NULL, "bundle exec rspec ${1:+-e \"$1\"} ${2:+\"$2\"}",
     SUITE_FILTER | SUITE_PATH},
    {"rake", "Rakefile", NULL, NULL, "rake test", SUITE_ALL},
    {"mix", "mix.exs", NULL, NULL, "mix test ${2:+\"$2\"}", SUITE_PATH},
    {"dotnet", "*.sln", NULL, NULL, "dotnet test ${1:+--filter \"$1\"}", SUITE_FILTER},
    {"dotnet", "*.csproj", NULL, NULL, "dotnet test ${1:+--filter \"$1\"}", SUITE_FILTER},
    {"swift", "Package.swift", NULL, NULL, "swift test ${1:+--filter \"$1\"}", SUITE_FILTER},
    {"zig", "build.zig", NULL, NULL, "zig build test", SUITE_ALL},
    {"dune", "dune-project", NULL, NULL, "dune test", SUITE_ALL},
};
const size_t suite_count = sizeof suites / sizeof suites[0];

/* --- finding --------------------------------------------------------------------------------------------------------------- */

/* Where a marker lies, from the scope's root. */
static struct str place_of(const struct tool_context *context, const char *marker)
{
    if (str_is(context->working_directory, "."))
        return str_from(marker);
    return arena_printf(context->arena, "%.*s/%s", STR_FMT(context->working_directory), marker);
}

static bool is_file(const struct tool_context *context, struct str place)
{
    struct err err = ERR_INIT;
    struct scope_file file;
    if (scope_open_read(context->scope, place, file_read_allow(context), SCOPE_FOLLOW_LINKS, &file,
                        &err) != 0)
        return false;
    close(file.fd);
    return true;
}

/* Whether a file of this pattern lies in its directory. */
static bool has_match(const struct tool_context *context, struct str place)
{
    struct err err = ERR_INIT;
    struct arena names;
    struct listing listing;
    struct scope_file directory;
    size_t slash = place.n;
    bool found = false;
    while (slash > 0 && place.p[slash - 1] != '/')
        slash--;
    struct str parent = slash > 0 ? (struct str){place.p, slash - 1} : STR(".");
    struct str pattern = {place.p + slash, place.n - slash};
    if (scope_open_dir(context->scope, parent, file_read_allow(context), SCOPE_FOLLOW_LINKS,
                       &directory, &err) != 0)
        return false;
    arena_init(&names);
    if (listing_read(&listing, &names, directory.fd, &err) == 0) {
        for (size_t i = 0; i < listing.count && !found; i++)
            found = path_glob(pattern, str_from(listing.entries[i].name));
    }
    arena_release(&names);
    close(directory.fd);
    return found;
}

static bool is_there(const struct tool_context *context, const char *marker)
{
    struct str place = place_of(context, marker);
    return strchr(marker, '*') != NULL ? has_match(context, place) : is_file(context, place);
}

/* The text of a marker; -1 where it is not there, is too long, or a pattern. */
static int load_marker(const struct tool_context *context, const struct suite *suite,
                       struct buf *text)
{
    struct err ignored = ERR_INIT;
    struct tool_context wide = *context;
    wide.max_result = MARKER_MAX;
    return file_text(&wide, place_of(context, suite->marker), text, &ignored);
}

static bool says_so(const struct tool_context *context, const struct suite *suite)
{
    struct buf text;
    buf_init(&text, 4 * (size_t)MARKER_MAX);
    bool found = load_marker(context, suite, &text) == 0 && suite->means(buf_view(&text));
    buf_release(&text);
    return found;
}

const struct suite *suite_find(const struct tool_context *context)
{
    for (size_t i = 0; i < suite_count; i++) {
        const struct suite *suite = &suites[i];
        if (suite->means != NULL ? !says_so(context, suite) : !is_there(context, suite->marker))
            continue;
        if (suite->also == NULL || is_there(context, suite->also))
            return suite;
    }
    return NULL;
}

/* What npm and its kin run for "test", in this order. */
static void add_scripts(const struct tool_context *context, struct str text,
                        struct preview *preview)
{
    static const char *const names[] = {"pretest", "test", "posttest"};
    struct err ignored = ERR_INIT;
    struct js *package = js_parse(text, &ignored);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct str script = js_get_str(js_get(package, "scripts"), names[i]);
        if (script.n > 0)
            preview_add(context, preview, arena_printf(context->arena, "script \"%s\"", names[i]).p,
                        script);
    }
    js_free(package);
}

void suite_preview(const struct tool_context *context, const struct suite *suite,
                   struct preview *preview)
{
    struct str place = place_of(context, suite->marker);
    struct buf text;
    buf_init(&text, 4 * (size_t)MARKER_MAX);
    if (load_marker(context, suite, &text) == 0) {
        struct hash hash = hash_of(buf_view(&text));
        char hex[HASH_HEX + 1];
        hash_hex(&hash, hex);
        if (suite->means == has_test_script)
            add_scripts(context, buf_view(&text), preview);
        place = arena_printf(context->arena, "%.*s of the project (content %.16s)", STR_FMT(place),
                             hex);
    }
    preview_add(context, preview, "set by", place);
    buf_release(&text);
}
