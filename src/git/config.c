/* Which of a repository's settings git may see: data on a list. Everything that can name a program, a file or another config is not on
 * it, so nothing has to be known about keys of later versions. URLs lose their passwords here, so no command can show them.
 * On threads that may wait. */
#include <stdio.h>
#include <sys/stat.h>

#include "git/parse.h"
#include "git/site.h"

#define CONFIG_MAX (1u << 20)
#define VALUE_MAX 2048
#define STAMP_MAX 256

enum value_kind { VALUE_WORD, VALUE_TEXT, VALUE_URL };

struct known_key {
    const char *key; /* as git prints it: lower case; "section.*.name" for one with a subsection */
    enum value_kind kind;
};

static const struct known_key known_keys[] = {
    {"core.repositoryformatversion", VALUE_WORD},
    {"core.filemode", VALUE_WORD},
    {"core.symlinks", VALUE_WORD},
    {"core.ignorecase", VALUE_WORD},
    {"core.precomposeunicode", VALUE_WORD},
    {"core.protecthfs", VALUE_WORD},
    {"core.protectntfs", VALUE_WORD},
    {"core.autocrlf", VALUE_WORD},
    {"core.eol", VALUE_WORD},
    {"core.sharedrepository", VALUE_WORD},
    {"core.sparsecheckout", VALUE_WORD},
    {"core.sparsecheckoutcone", VALUE_WORD},
    {"core.trustctime", VALUE_WORD},
    {"core.checkstat", VALUE_WORD},
    {"extensions.objectformat", VALUE_WORD},
    {"extensions.preciousobjects", VALUE_WORD},
    {"user.name", VALUE_TEXT},
    {"user.email", VALUE_TEXT},
    {"remote.*.url", VALUE_URL},
    {"remote.*.fetch", VALUE_TEXT},
    {"branch.*.remote", VALUE_TEXT},
    {"branch.*.merge", VALUE_TEXT},
};

/* Extensions change what a repository's files mean. These may be dropped: the first is read here, the second makes missing objects
 * an error instead of a download, the third means nothing. */
static const char *const extensions_dropped[] = {"extensions.worktreeconfig",
                                                 "extensions.partialclone", "extensions.noop"};

static bool key_matches(struct str key, const char *known)
{
    const char *star = strchr(known, '*');
    if (star == NULL)
        return str_is(key, known);
    struct str front = {known, (size_t)(star - known)}, back = str_from(star + 1);
    return key.n > front.n + back.n && str_starts(key, front) &&
           memcmp(key.p + key.n - back.n, back.p, back.n) == 0;
}

static const struct known_key *find_key(struct str key)
{
    for (size_t i = 0; i < sizeof known_keys / sizeof known_keys[0]; i++)
        if (key_matches(key, known_keys[i].key))
            return &known_keys[i];
    return NULL;
}

/* --- values ------------------------------------------------------------------------------------------------------------------ */

static bool is_plain(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 127)
            return false;
    return value.n <= VALUE_MAX;
}

/* As git reads it back: in quotes, with quotes and backslashes escaped. */
static void add_quoted(struct buf *out, struct str value)
{
    buf_char(out, '"');
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\')
            buf_char(out, '\\');
        buf_char(out, value.p[i]);
    }
    buf_char(out, '"');
}

/* The name and the secret in front of a host become three stars. */
static void add_url(struct arena *arena, struct buf *out, struct str url)
{
    const char *mark = url.n > 3 ? memmem(url.p, url.n, "://", 3) : NULL;
    if (mark != NULL) {
        struct str rest = {mark + 3, url.n - (size_t)(mark + 3 - url.p)};
        const char *slash = memchr(rest.p, '/', rest.n);
        size_t host = slash != NULL ? (size_t)(slash - rest.p) : rest.n;
        const char *at = memrchr(rest.p, '@', host);
        if (at != NULL)
            url = arena_printf(arena, "%.*s***%.*s", (int)(rest.p - url.p), url.p,
                               (int)(rest.n - (size_t)(at - rest.p)), at);
    }
    add_quoted(out, url);
}

/* "[section "sub"]" and the name in it. */
static void add_setting(struct arena *arena, struct buf *out, struct str key, struct str value,
                        enum value_kind kind)
{
    const char *first = memchr(key.p, '.', key.n), *last = memrchr(key.p, '.', key.n);
    struct str section = {key.p, (size_t)(first - key.p)};
    struct str name = {last + 1, key.n - (size_t)(last + 1 - key.p)};
    buf_printf(out, "[%.*s", STR_FMT(section));
    if (last > first) {
        buf_char(out, ' ');
        add_quoted(out, (struct str){first + 1, (size_t)(last - first - 1)});
    }
    buf_printf(out, "]\n\t%.*s = ", STR_FMT(name));
    if (kind == VALUE_URL)
        add_url(arena, out, value);
    else
        add_quoted(out, value);
    buf_char(out, '\n');
}

static int check_extension(struct str key, struct err *err)
{
    for (size_t i = 0; i < sizeof extensions_dropped / sizeof extensions_dropped[0]; i++)
        if (str_is(key, extensions_dropped[i]))
            return 0;
    return err_set(err, ERR_CONFIG, "this repository uses %.*s, which cadre does not know",
                   STR_FMT(key));
}

static int take_settings(struct arena *arena, struct str listed, struct buf *out, struct err *err)
{
    struct str field, key, value;
    while (git_next_field(&listed, &field)) {
        git_parse_setting(field, &key, &value);
        const struct known_key *known = find_key(key);
        if (known == NULL && str_starts(key, STR("extensions.")) && check_extension(key, err) != 0)
            return -1;
        if (known != NULL && is_plain(key) && is_plain(value))
            add_setting(arena, out, key, value, known->kind);
    }
    return 0;
}

/* --- the file -------------------------------------------------------------------------------------------------------------------- */

static void add_stamp(char stamp[STAMP_MAX], const char *path)
{
    struct stat status;
    size_t used = strlen(stamp);
    if (stat(path, &status) != 0)
        snprintf(stamp + used, STAMP_MAX - used, " -");
    else
        snprintf(stamp + used, STAMP_MAX - used, " %llu.%llu.%lld.%lld.%ld",
                 (unsigned long long)status.st_dev, (unsigned long long)status.st_ino,
                 (long long)status.st_size, (long long)status.st_ctim.tv_sec,
                 status.st_ctim.tv_nsec);
}

static bool is_current(const char *path, const char *stamp)
{
    struct buf text;
    struct err err = ERR_INIT;
    buf_init(&text, CONFIG_MAX);
    bool current =
        git_read_file(path, &text, &err) == 0 && str_starts(buf_view(&text), str_from(stamp));
    buf_release(&text);
    return current;
}

static int take_file(const struct git *git, struct arena *arena, const char *path, struct buf *out,
                     struct err *err)
{
    struct buf listed;
    struct stat status;
    if (stat(path, &status) != 0)
        return 0;
    if (git_list_config(git, path, &listed, err) != 0)
        return -1;
    int result = take_settings(arena, buf_view(&listed), out, err);
    buf_release(&listed);
    return result;
}

int git_config_refresh(const struct git *git, const char *common_dir, const char *user_common,
                       const char *user_git_dir, struct err *err)
{
    struct arena arena;
    struct buf text;
    char stamp[STAMP_MAX] = "#";
    int result = -1;
    arena_init(&arena);
    buf_init(&text, CONFIG_MAX);
    const char *own = arena_printf(&arena, "%s/config", common_dir).p;
    const char *shared = arena_printf(&arena, "%s/config", user_common).p;
    const char *single = arena_printf(&arena, "%s/config.worktree", user_git_dir).p;
    add_stamp(stamp, shared);
    add_stamp(stamp, single);
    size_t used = strlen(stamp);
    snprintf(stamp + used, sizeof stamp - used, "\n");
    if (is_current(own, stamp)) {
        result = 0;
        goto out;
    }
    buf_text(&text, stamp);
    if (take_file(git, &arena, shared, &text, err) != 0 ||
        take_file(git, &arena, single, &text, err) != 0)
        goto out;
    buf_text(&text, "[core]\n\tbare = false\n");
    if (text.failed)
        err_set(err, ERR_CONFIG, "%s is too large", shared);
    else
        result = git_write_file(own, buf_view(&text), err);
out:
    buf_release(&text);
    arena_release(&arena);
    return result;
}
