/* The table of project files (see manifest.h). Touches no file. */
#include "tool/manifest.h"

#include <ctype.h>

#include "base/json.h"

#define LINES_SHOWN 12   /* of one file */
#define TARGETS_SHOWN 20 /* of a makefile */
#define VALUE_SHOWN 160  /* bytes */

struct manifest {
    const char *file;
    void (*describe)(const struct manifest *manifest, struct str text, struct buf *out);
    const char *wanted[8]; /* what describe looks for */
};

static bool next_line(struct str *rest, struct str *line)
{
    if (rest->n == 0)
        return false;
    const char *newline = memchr(rest->p, '\n', rest->n);
    size_t n = newline ? (size_t)(newline - rest->p) : rest->n;
    size_t taken = newline ? n + 1 : n;
    *line = (struct str){rest->p, n};
    rest->p += taken;
    rest->n -= taken;
    return true;
}

static struct str trim(struct str text)
{
    while (text.n > 0 && isspace((unsigned char)text.p[0])) {
        text.p++;
        text.n--;
    }
    while (text.n > 0 && isspace((unsigned char)text.p[text.n - 1]))
        text.n--;
    return text;
}

static void add_value(struct buf *out, struct str value)
{
    buf_str(out, (struct str){value.p, value.n < VALUE_SHOWN ? value.n : VALUE_SHOWN});
    buf_text(out, value.n > VALUE_SHOWN ? "…\n" : "\n");
}

/* Lines that start with one of the wanted texts. */
static void describe_lines(const struct manifest *manifest, struct str text, struct buf *out)
{
    struct str line;
    size_t shown = 0;
    while (shown < LINES_SHOWN && next_line(&text, &line)) {
        line = trim(line);
        for (size_t i = 0; manifest->wanted[i]; i++) {
            size_t n = strlen(manifest->wanted[i]);
            if (line.n < n || strncasecmp(line.p, manifest->wanted[i], n) != 0)
                continue;
            buf_text(out, "  ");
            add_value(out, line);
            shown++;
            break;
        }
    }
}

/* Keys in the wanted sections of a TOML file: "[project] name" is one key, "[project.scripts]" all
 * of them. */
static bool toml_wants(const struct manifest *manifest, struct str section, struct str key)
{
    for (size_t i = 0; manifest->wanted[i]; i++) {
        struct str wanted = str_from(manifest->wanted[i]);
        const char *end = memchr(wanted.p, ' ', wanted.n);
        struct str name = {wanted.p, end ? (size_t)(end - wanted.p) : wanted.n};
        if (str_eq(name, section) && (!end || str_is(key, end + 1)))
            return true;
    }
    return false;
}

static void describe_toml(const struct manifest *manifest, struct str text, struct buf *out)
{
    struct str line, section = STR("");
    size_t shown = 0;
    while (shown < LINES_SHOWN && next_line(&text, &line)) {
        line = trim(line);
        const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
        if (line.n > 0 && line.p[0] == '[') {
            section = line;
        } else if (equals && line.p[0] != '#') {
            struct str key = trim((struct str){line.p, (size_t)(equals - line.p)});
            if (!toml_wants(manifest, section, key))
                continue;
            buf_printf(out, "  %.*s ", STR_FMT(section));
            add_value(out, line);
            shown++;
        }
    }
}

static void describe_makefile(const struct manifest *manifest, struct str text, struct buf *out)
{
    (void)manifest;
    struct str line;
    size_t shown = 0;
    while (shown < TARGETS_SHOWN && next_line(&text, &line)) {
        size_t n = 0;
        while (n < line.n && (isalnum((unsigned char)line.p[n]) || strchr("_-/.", line.p[n])))
            n++;
        bool target = n > 0 && n < line.n && line.p[0] != '.' && line.p[n] == ':' &&
                      (n + 1 == line.n || (line.p[n + 1] != '=' && line.p[n + 1] != ':'));
        if (!target)
            continue;
        buf_text(out, shown == 0 ? "  targets: " : ", ");
        buf_add(out, line.p, n < VALUE_SHOWN ? n : VALUE_SHOWN);
        shown++;
    }
    buf_text(out, shown > 0 ? "\n" : "");
}

static void describe_members(const struct js *object, const char *title, struct buf *out)
{
    struct str key;
    const struct js *value;
    size_t shown = 0;
    for (void *at = js_next(object, NULL, &key, &value); at && shown < LINES_SHOWN;
         at = js_next(object, at, &key, &value)) {
        if (!js_str(value).p)
            continue;
        buf_printf(out, "  %s %.*s: ", title, (int)(key.n < 60 ? key.n : 60), key.p);
        add_value(out, js_str(value));
        shown++;
    }
}

static void describe_package(const struct manifest *manifest, struct str text, struct buf *out)
{
    struct err err = ERR_INIT;
    struct js *package = js_parse(text, &err);
    for (size_t i = 0; manifest->wanted[i]; i++) {
        const struct js *value = js_get(package, manifest->wanted[i]);
        if (js_kind(value) == JS_OBJECT) {
            describe_members(value, manifest->wanted[i], out);
        } else if (js_str(value).n > 0) {
            buf_printf(out, "  %s: ", manifest->wanted[i]);
            add_value(out, js_str(value));
        }
    }
    js_free(package);
}

static const struct manifest manifests[] = {
    {"package.json", describe_package, {"name", "main", "module", "bin", "scripts"}},
    {"Makefile", describe_makefile, {NULL}},
    {"GNUmakefile", describe_makefile, {NULL}},
    {"makefile", describe_makefile, {NULL}},
    {"pyproject.toml",
     describe_toml,
     {"[project] name", "[project] requires-python", "[project.scripts]", "[tool.poetry] name",
      "[tool.poetry.scripts]", "[build-system] build-backend"}},
    {"setup.py", describe_lines, {"name=", "entry_points"}},
    {"Cargo.toml",
     describe_toml,
     {"[package] name", "[package] edition", "[lib] name", "[[bin]] name", "[workspace] members"}},
    {"go.mod", describe_lines, {"module ", "go "}},
    {"meson.build", describe_lines, {"project(", "executable(", "subdir(", "test("}},
    {"CMakeLists.txt",
     describe_lines,
     {"project(", "add_executable(", "add_library(", "add_subdirectory(", "enable_testing("}},
    {"build.gradle", describe_lines, {"plugins", "id ", "mainClass"}},
    {"build.gradle.kts", describe_lines, {"plugins", "id(", "mainClass"}},
    {"pom.xml", describe_lines, {"<artifactId>", "<mainClass>", "<module>"}},
    {"composer.json", describe_package, {"name", "bin", "scripts"}},
    {"Gemfile", describe_lines, {"gem ", "ruby "}},
    {"mix.exs", describe_lines, {"app:", "mod:"}},
    {"Dockerfile", describe_lines, {"FROM ", "ENTRYPOINT ", "CMD "}},
};

const struct manifest *manifest_of_file(struct str name)
{
    for (size_t i = 0; i < sizeof manifests / sizeof manifests[0]; i++)
        if (str_is(name, manifests[i].file))
            return &manifests[i];
    return NULL;
}

void manifest_describe(const struct manifest *manifest, struct str text, struct buf *out)
{
    manifest->describe(manifest, text, out);
}
