/* See key_helper.h. */
#include "model/key_helper.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/process.h"

#define MARGIN_MS 30000 /* a key is not used so shortly before its end */
#define SHOWN_MAX 400   /* bytes of the program's error output in a message */

extern char **environ;

static struct str trimmed(struct str text)
{
    while (text.n > 0 && strchr(" \t\r\n", text.p[0]) != NULL && text.p[0] != '\0')
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n > 0 && strchr(" \t\r\n", text.p[text.n - 1]) != NULL &&
           text.p[text.n - 1] != '\0')
        text.n--;
    return text;
}

static bool is_key(struct str text)
{
    bool good = text.n > 0 && text.n <= KEY_MAX;
    for (size_t i = 0; good && i < text.n; i++)
        good = text.p[i] > ' ' && text.p[i] < 0x7F;
    return good;
}

/* Milliseconds since 1970: from seconds, or from a time in UTC. -1: neither. */
static int64_t time_of(const struct js *value)
{
    struct tm parts = {0};
    char text[40];
    struct str given = js_str(value);
    if (js_kind(value) == JS_INT || js_kind(value) == JS_REAL) {
        double seconds = js_real(value, -1);
        return seconds >= 0 && seconds < 1e11 ? (int64_t)(seconds * 1000) : -1;
    }
    if (given.n < 20 || given.n >= sizeof text)
        return -1;
    snprintf(text, sizeof text, "%.*s", STR_FMT(given));
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest != NULL && *rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (rest == NULL || (strcmp(rest, "Z") != 0 && strcmp(rest, "+00:00") != 0))
        return -1;
    return (int64_t)timegm(&parts) * 1000;
}

static int read_json(struct str text, int64_t now_ms, struct buf *key, int64_t *ttl_ms,
                     struct err *err)
{
    struct err unused = ERR_INIT;
    struct js *root = js_parse(text, &unused);
    struct str token = js_get_str(root, "token");
    const struct js *expires = js_get(root, "expires_at");
    int64_t end = time_of(expires);
    int result = 0;
    if (!is_key(token))
        result = err_set(err, ERR_CONFIG, "printed JSON without a usable \"token\"");
    else if (js_kind(expires) > JS_NULL && end < 0)
        result = err_set(err, ERR_CONFIG,
                         "printed an \"expires_at\" that is neither seconds since 1970 nor a time "
                         "such as 2026-11-17T02:00:00Z");
    else if (js_kind(expires) > JS_NULL && end <= now_ms)
        result = err_set(err, ERR_CONFIG, "printed a key that has expired already");
    else
        buf_str(key, token);
    if (result == 0 && end >= 0)
        *ttl_ms = end - now_ms > MARGIN_MS ? end - now_ms - MARGIN_MS : 0;
    js_free(root);
    return result;
}

int key_helper_read(struct str output, int64_t now_ms, struct buf *key, int64_t *ttl_ms,
                    struct err *err)
{
    struct str text = trimmed(output);
    if (text.n > 0 && text.p[0] == '{')
        return read_json(text, now_ms, key, ttl_ms, err);
    if (text.n == 0)
        return err_set(err, ERR_CONFIG, "printed nothing");
    if (!is_key(text))
        return err_set(err, ERR_CONFIG,
                       "printed %zu bytes that are not a key: expected one line of printable "
                       "characters without blanks, or JSON with \"token\"",
                       text.n);
    buf_str(key, text);
    return 0;
}

/* An absolute path for the program. */
static int find_program(struct str name, char out[PATH_MAX], struct err *err)
{
    char typed[PATH_MAX];
    const char *at = getenv("PATH"), *home = getenv("HOME");
    if (name.n >= sizeof typed)
        return err_set(err, ERR_CONFIG, "has a name that is too long");
    snprintf(typed, sizeof typed, "%.*s", STR_FMT(name));
    if (strncmp(typed, "~/", 2) == 0 && home != NULL &&
        snprintf(out, PATH_MAX, "%s%s", home, typed + 1) < PATH_MAX)
        return 0;
    if (strchr(typed, '/') != NULL)
        return realpath(typed, out) != NULL ? 0 : err_set(err, ERR_CONFIG, "does not exist");
    while (at != NULL && *at != '\0') {
        int n = (int)strcspn(at, ":");
        if (n > 0 && snprintf(out, PATH_MAX, "%.*s/%s", n, at, typed) < PATH_MAX && out[0] == '/' &&
            access(out, X_OK) == 0)
            return 0;
        at += at[n] == ':' ? n + 1 : n;
    }
    return err_set(err, ERR_CONFIG, "is not in PATH");
}

static int read_outcome(const struct process_outcome *outcome, struct buf *key, int64_t *ttl_ms,
                        struct err *err)
{
    struct buf shown;
    int result = -1;
    buf_init(&shown, 4 * SHOWN_MAX);
    utf8_clean(&shown, utf8_cut(trimmed(buf_view(&outcome->errors)), SHOWN_MAX), UTF8_ONE_LINE);
    const char *colon = shown.n > 0 ? ": " : "";
    if (outcome->end == PROCESS_CANCELLED)
        err_set(err, ERR_CANCELLED, "was stopped");
    else if (outcome->end == PROCESS_TIMEOUT)
        err_set(err, ERR_CONFIG, "did not end within %d s%s%.*s", KEY_HELPER_MS / 1000, colon,
                STR_FMT(buf_view(&shown)));
    else if (outcome->end == PROCESS_KILLED)
        err_set(err, ERR_CONFIG, "was killed by signal %d%s%.*s", outcome->code, colon,
                STR_FMT(buf_view(&shown)));
    else if (outcome->code != 0)
        err_set(err, ERR_CONFIG, "failed with exit status %d%s%.*s", outcome->code, colon,
                STR_FMT(buf_view(&shown)));
    else if (outcome->output_bytes > KEY_HELPER_OUTPUT_MAX)
        err_set(err, ERR_CONFIG, "printed more than %d bytes: that is not a key",
                KEY_HELPER_OUTPUT_MAX);
    else
        result = key_helper_read(buf_view(&outcome->output), clock_now_ms(), key, ttl_ms, err);
    buf_release(&shown);
    return result;
}

int key_helper_run(const struct key_helper *helper, const atomic_bool *cancelled, struct buf *key,
                   int64_t *ttl_ms, struct err *err)
{
    char program[PATH_MAX];
    char **argv = calloc(helper->argc + 1, sizeof *argv);
    struct process_outcome outcome;
    int result = -1;
    if (argv == NULL)
        return err_set(err, ERR_IO, "out of memory");
    for (size_t i = 0; i < helper->argc; i++)
        if (asprintf(&argv[i], "%.*s", STR_FMT(helper->argv[i])) < 0)
            abort();
    const struct process_command command = {.program = program,
                                            .argv = (const char *const *)argv,
                                            .environment = (const char *const *)environ,
                                            .directory = -1,
                                            .streams = PROCESS_APART,
                                            .wall_ms = KEY_HELPER_MS,
                                            .output_max = KEY_HELPER_OUTPUT_MAX,
                                            .cancelled = cancelled};
    *ttl_ms = helper->ttl_ms;
    if (find_program(helper->argv[0], program, err) == 0 &&
        process_run(&command, &outcome, err) == 0) {
        result = read_outcome(&outcome, key, ttl_ms, err);
        if (outcome.output.p != NULL)
            explicit_bzero(outcome.output.p, outcome.output.capacity);
        process_outcome_release(&outcome);
    }
    if (result != 0) {
        err->class = err->class == ERR_CANCELLED ? ERR_CANCELLED : ERR_CONFIG;
        err_prefix(err, "llm.providers.%.*s.api_key_cmd: the program %s", STR_FMT(helper->provider),
                   argv[0]);
    }
    for (size_t i = 0; i < helper->argc; i++)
        free(argv[i]);
    free(argv);
    return result;
}
