/* `cadre version`: what was built, how, and with which libraries it runs. Opens nothing. */
#include "cli/command.h"
#include "cli/wire.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

const struct command cmd_version = {
    .name = "version",
    .summary = "print the version, the build and the libraries",
    .usage = "",
    .example = "cadre version",
    .options = options,
    .run = run,
};

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef __OPTIMIZE__
#define OPTIMISED "optimised"
#else
#define OPTIMISED "not optimised"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CHECKED ", address checks"
#elif defined(__SANITIZE_THREAD__)
#define CHECKED ", thread checks"
#else
#define CHECKED ""
#endif

#ifdef CADRE_CHECK_FOLD
#define FOLDED ", fold checks"
#else
#define FOLDED ""
#endif

static const char build[] = COMPILER ", " OPTIMISED CHECKED FOLDED;

/* Calls add for each "name version" line. */
static void walk(struct str lines, void (*add)(void *user, struct str name, struct str version),
                 void *user)
{
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end != NULL ? (size_t)(end - lines.p) : lines.n;
        const char *space = memchr(lines.p, ' ', n);
        if (space != NULL)
            add(user, (struct str){lines.p, (size_t)(space - lines.p)},
                (struct str){space + 1, n - (size_t)(space + 1 - lines.p)});
        n += end != NULL;
        lines = (struct str){lines.p + n, lines.n - n};
    }
}

static void add_json(void *user, struct str name, struct str version)
{
    jw_key_str(user, name);
    jw_str(user, version);
}

static void add_text(void *user, struct str name, struct str version)
{
    output_print(user, "  %-14.*s %.*s\n", STR_FMT(name), STR_FMT(version));
}

static enum exit_code run(struct invocation *invocation)
{
    struct output *output = &invocation->output;
    struct buf versions, line;
    buf_init(&versions, 4096);
    buf_init(&line, 8192);
    wire_versions(&versions);
    if (output->format == OUTPUT_JSON) {
        struct jw w;
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "version");
        jw_ktext(&w, "version", CADRE_VERSION);
        jw_ktext(&w, "build", build);
        jw_key(&w, "libraries");
        jw_object(&w);
        walk(buf_view(&versions), add_json, &w);
        jw_end_object(&w);
        jw_end_object(&w);
        output_json(output, &line);
    } else {
        output_print(output, "cadre %s\nbuilt with %s\n", CADRE_VERSION, build);
        walk(buf_view(&versions), add_text, output);
    }
    buf_release(&line);
    buf_release(&versions);
    return EXIT_CODE_DONE;
}
