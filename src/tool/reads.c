/* The cache of texts (see reads.h): a map by scope and path, and a list by last use, under one
 * lock. Nothing is read or freed under it that takes long. Any thread. */
#include "tool/reads.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/map.h"
#include "tool/memory.h"

/* Times of files move in steps of the kernel's tick, at most 10 ms; where both times are whole
 * seconds the file system counts no finer, and FAT in steps of two. */
#define SETTLED_NS INT64_C(50000000)
#define SETTLED_COARSE_NS INT64_C(3000000000)
#define SECOND_NS INT64_C(1000000000)

struct key {
    struct scope_identity root;
    char path[SCOPE_PATH_MAX];
};
#define KEY_HEAD offsetof(struct key, path)

struct entry {
    struct reads_text text; /* first: what callers hold */
    struct key *key;        /* NULL once it is out of the map; freed with the last user */
    size_t key_length;
    struct stat status;
    struct buf content;
    size_t users;
    struct entry *newer, *older;
};

struct reads {
    pthread_mutex_t lock;
    struct map entries;
    struct entry *newest, *oldest;
    size_t max;
    struct reads_tally tally;
};

struct reads *reads_new(size_t max)
{
    struct reads *reads = calloc(1, sizeof *reads);
    if (!reads || pthread_mutex_init(&reads->lock, NULL) != 0)
        abort();
    map_init(&reads->entries);
    reads->max = max;
    return reads;
}

struct reads *reads_of(const struct tool_context *context)
{
    return context->services && context->services->memory
               ? tool_memory_reads(context->services->memory)
               : NULL;
}

static void entry_free(struct entry *entry)
{
    buf_release(&entry->content);
    free(entry);
}

static void unlink_entry(struct reads *reads, struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &reads->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &reads->oldest) = entry->newer;
    entry->newer = entry->older = NULL;
}

static void link_newest(struct reads *reads, struct entry *entry)
{
    entry->older = reads->newest;
    *(entry->older ? &entry->older->newer : &reads->oldest) = entry;
    reads->newest = entry;
}

/* Takes an entry out of the map; who holds it keeps it. */
static void forget(struct reads *reads, struct entry *entry)
{
    map_remove(&reads->entries, (struct str){(const char *)entry->key, entry->key_length});
    unlink_entry(reads, entry);
    reads->tally.held--;
    reads->tally.held_bytes -= entry->content.capacity;
    free(entry->key);
    entry->key = NULL;
    if (entry->users == 0)
        entry_free(entry);
}

void reads_free(struct reads *reads)
{
    if (!reads)
        return;
    while (reads->oldest)
        forget(reads, reads->oldest);
    map_release(&reads->entries);
    pthread_mutex_destroy(&reads->lock);
    free(reads);
}

static struct str make_key(struct key *key, const struct scope *scope, struct str path)
{
    memset(key, 0, KEY_HEAD); /* padding is part of the key's bytes */
    key->root = scope->root;
    size_t n = path.n < sizeof key->path ? path.n : sizeof key->path;
    memcpy(key->path, path.p, n);
    return (struct str){(const char *)key, KEY_HEAD + n};
}

static int64_t in_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * SECOND_NS + time.tv_nsec;
}

static bool same_status(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           in_ns(a->st_mtim) == in_ns(b->st_mtim) && in_ns(a->st_ctim) == in_ns(b->st_ctim);
}

const struct reads_text *reads_take(struct reads *reads, const struct scope *scope,
                                    const struct scope_file *file)
{
    struct key key;
    if (!reads)
        return NULL;
    struct str name = make_key(&key, scope, str_from(file->path));
    pthread_mutex_lock(&reads->lock);
    struct entry *entry = map_get(&reads->entries, name);
    if (entry && !same_status(&entry->status, &file->status)) {
        forget(reads, entry);
        entry = NULL;
    }
    if (entry) {
        entry->users++;
        unlink_entry(reads, entry);
        link_newest(reads, entry);
        reads->tally.hits++;
    } else {
        reads->tally.misses++;
    }
    pthread_mutex_unlock(&reads->lock);
    return entry ? &entry->text : NULL;
}

void reads_give_back(struct reads *reads, const struct reads_text *text)
{
    if (!reads || !text)
        return;
    struct entry *entry = (struct entry *)text;
    pthread_mutex_lock(&reads->lock);
    bool last = --entry->users == 0 && !entry->key;
    pthread_mutex_unlock(&reads->lock);
    if (last)
        entry_free(entry);
}

/* A file whose last change is so recent that another one could leave the same times behind. */
static bool is_settled(const struct stat *status)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
        return false;
    int64_t changed = in_ns(status->st_ctim);
    if (in_ns(status->st_mtim) > changed)
        changed = in_ns(status->st_mtim);
    bool coarse = status->st_mtim.tv_nsec == 0 && status->st_ctim.tv_nsec == 0;
    return in_ns(now) - changed > (coarse ? SETTLED_COARSE_NS : SETTLED_NS);
}

static struct entry *make_entry(const struct stat *status, struct str name,
                                enum text_encoding encoding, struct buf *content)
{
    struct entry *entry = calloc(1, sizeof *entry);
    struct key *key = malloc(name.n);
    if (!entry || !key)
        abort();
    memcpy(key, name.p, name.n);
    *entry = (struct entry){
        .key = key, .key_length = name.n, .status = *status, .content = *content, .users = 1};
    entry->text = (struct reads_text){buf_view(&entry->content), encoding};
    buf_init(content, content->max);
    return entry;
}

const struct reads_text *reads_keep(struct reads *reads, const struct scope *scope,
                                    const struct scope_file *file, uint64_t read,
                                    enum text_encoding encoding, struct buf *content)
{
    struct stat now;
    struct key key;
    if (!reads)
        return NULL;
    bool fits = !content->failed && content->capacity <= reads->max / 4;
    bool keep = fits && fstat(file->fd, &now) == 0 && same_status(&now, &file->status) &&
                read == (uint64_t)now.st_size && is_settled(&now);
    struct str name = make_key(&key, scope, str_from(file->path));
    struct entry *entry = keep ? make_entry(&now, name, encoding, content) : NULL;

    pthread_mutex_lock(&reads->lock);
    reads->tally.bytes += read;
    if (entry) {
        struct entry *earlier = map_get(&reads->entries, name);
        if (earlier)
            forget(reads, earlier);
        while (reads->oldest && reads->tally.held_bytes + entry->content.capacity > reads->max)
            forget(reads, reads->oldest);
        map_set(&reads->entries, name, entry);
        link_newest(reads, entry);
        reads->tally.held++;
        reads->tally.held_bytes += entry->content.capacity;
    }
    pthread_mutex_unlock(&reads->lock);
    return entry ? &entry->text : NULL;
}

void reads_drop(struct reads *reads, const struct scope *scope, struct str path)
{
    struct key key;
    if (!reads)
        return;
    struct str name = make_key(&key, scope, path);
    pthread_mutex_lock(&reads->lock);
    struct entry *entry = map_get(&reads->entries, name);
    if (entry)
        forget(reads, entry);
    pthread_mutex_unlock(&reads->lock);
}

void reads_drop_scope(struct reads *reads, const struct scope *scope)
{
    if (!reads)
        return;
    pthread_mutex_lock(&reads->lock);
    for (struct entry *entry = reads->oldest; entry;) {
        struct entry *next = entry->newer;
        if (entry->key->root.device == scope->root.device &&
            entry->key->root.inode == scope->root.inode)
            forget(reads, entry);
        entry = next;
    }
    pthread_mutex_unlock(&reads->lock);
}

struct reads_tally reads_tally(struct reads *reads)
{
    if (!reads)
        return (struct reads_tally){0};
    pthread_mutex_lock(&reads->lock);
    struct reads_tally tally = reads->tally;
    pthread_mutex_unlock(&reads->lock);
    return tally;
}
