/* See always.h. The name is what counts; the text, a line of JSON, is for people. */
#include "config/always.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "config/trust.h"

#define PREFIX "always-"
#define RECORDS_MAX 10000   /* that a run knows of */
#define RECORDS_LISTED 1000 /* of one workspace */
#define RECORD_BYTES 16384

enum { PATH_DIGITS = 32 };

static void name_start(struct str workspace, char start[ALWAYS_NAME])
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(workspace);
    hash_hex(&hash, hex);
    snprintf(start, ALWAYS_NAME, PREFIX "%.*s-", (int)PATH_DIGITS, hex);
}

void always_name(struct str workspace, struct str shown, char name[ALWAYS_NAME])
{
    name_start(workspace, name);
    size_t n = strlen(name);
    snprintf(name + n, ALWAYS_NAME - n, "%.*s", (int)(shown.n < HASH_HEX ? shown.n : HASH_HEX),
             shown.p);
}

static bool is_ours(int directory, const char *name)
{
    struct stat status;
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == geteuid();
}

/* Calls `each` for every record whose name begins so. */
static void walk(const struct config *config, const char *start,
                 void (*each)(void *user, int directory, const char *name), void *user)
{
    struct dirent **entries = NULL;
    if (config->trust_directory.n == 0)
        return;
    int directory = open(config->trust_directory.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = directory >= 0 ? scandirat(directory, ".", &entries, NULL, alphasort) : 0;
    for (int i = 0, seen = 0; i < count; i++) {
        if (strncmp(entries[i]->d_name, start, strlen(start)) == 0 && seen++ < RECORDS_MAX &&
            is_ours(directory, entries[i]->d_name))
            each(user, directory, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (directory >= 0)
        close(directory);
}

static void add_name(void *user, int directory, const char *name)
{
    map_set(user, str_from(name), user);
}

void always_load(const struct config *config, struct map *names)
{
    walk(config, PREFIX, add_name, names);
}

static void print_record(const struct always_record *record, struct buf *text)
{
    struct jw w;
    jw_init(&w, text);
    jw_object(&w);
    jw_kstr(&w, "workspace", record->workspace);
    jw_kstr(&w, "tool", record->tool);
    jw_kstr(&w, "text", record->gist);
    jw_end_object(&w);
    buf_char(text, '\n');
}

int always_keep(struct str directory, const struct always_record *record, struct err *err)
{
    char name[ALWAYS_NAME];
    struct buf text;
    const struct config place = {.trust_directory = directory};
    int result = 0, folder = -1, file = -1;
    always_name(record->workspace, record->shown, name);
    buf_init(&text, RECORD_BYTES);
    print_record(record, &text);
    if (directory.n > 0 && config_trust_prepare(&place))
        folder = open(directory.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        file = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 || text.failed || write(file, text.p, text.n) != (ssize_t)text.n)
        result = err_set(err, ERR_IO,
                         "that this is always allowed could not be kept in %.*s (%s): it holds for "
                         "this run only",
                         STR_FMT(directory), strerror(errno));
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    buf_release(&text);
    return result;
}

struct listing {
    struct arena *arena;
    struct always_record *items;
    size_t count;
};

static void add_record(void *user, int directory, const char *name)
{
    struct listing *listing = user;
    struct err ignored = ERR_INIT;
    char bytes[RECORD_BYTES];
    if (listing->count == RECORDS_LISTED)
        return;
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = file >= 0 ? read(file, bytes, sizeof bytes) : -1;
    struct js *doc = n > 0 ? js_parse((struct str){bytes, (size_t)n}, &ignored) : NULL;
    listing->items[listing->count++] = (struct always_record){
        .workspace = arena_copy(listing->arena, js_get_str(doc, "workspace")),
        .tool = arena_copy(listing->arena, js_get_str(doc, "tool")),
        .gist = arena_copy(listing->arena, js_get_str(doc, "text")),
        .shown = arena_copy(listing->arena, str_from(strrchr(name, '-') + 1))};
    js_free(doc);
    if (file >= 0)
        close(file);
}

size_t always_list(const struct config *config, struct str workspace, struct arena *arena,
                   struct always_record **records)
{
    char start[ALWAYS_NAME];
    struct listing listing = {.arena = arena};
    listing.items = arena_alloc(arena, RECORDS_LISTED * sizeof *listing.items);
    name_start(workspace, start);
    walk(config, start, add_record, &listing);
    *records = listing.items;
    return listing.count;
}

struct forgetting {
    size_t count;
    int failed; /* errno */
};

static void forget(void *user, int directory, const char *name)
{
    struct forgetting *forgetting = user;
    if (unlinkat(directory, name, 0) == 0)
        forgetting->count++;
    else if (errno != ENOENT)
        forgetting->failed = errno;
}

int always_forget(const struct config *config, struct str workspace, size_t *count, struct err *err)
{
    char start[ALWAYS_NAME];
    struct forgetting forgetting = {0};
    name_start(workspace, start);
    walk(config, start, forget, &forgetting);
    *count = forgetting.count;
    if (forgetting.failed != 0)
        return err_set(err, ERR_IO, "a record in %.*s cannot be removed: %s",
                       STR_FMT(config->trust_directory), strerror(forgetting.failed));
    return 0;
}
