/* Gathers what SQLite writes to its log. A commit is two writes per page there (24 bytes, then the page); here it
 * becomes one write for many pages. Works between SQLite and its file: the methods of the open log are exchanged for
 * ours, which call the former ones. Runs wherever the handle is used.
 *
 * What is safe about it: bytes are held back only while SQLite writes one commit. The frame that commits carries a
 * mark (bytes 4 to 7, the size of the database); with it everything goes out, before SQLite syncs and before any
 * other handle can know of the frames. Frames that do not belong to a commit are written only where a page cache
 * overflows, which the setting cache_spill = OFF rules out (sqlite.c). Nothing held back may outlive the write lock:
 * another process would have written its own frames there. */
#include <stdlib.h>

#include "store/handle.h"

#define GATHER_MAX (128 * 1024)
#define FRAME_HEADER 24

struct gather {
    sqlite3_io_methods methods; /* first: this is what the file's pMethods points to */
    const sqlite3_io_methods *below;
    char *bytes; /* made at the first write: most handles only read */
    size_t count;
    sqlite3_int64 offset; /* of the first byte */
    bool commits;         /* the page that comes next ends a commit */
};

static struct gather *gather_of(sqlite3_file *file)
{
    return (struct gather *)file->pMethods;
}

/* What cannot be written is dropped: SQLite learns of the error and gives up the commit. */
static int gather_flush(struct gather *g, sqlite3_file *file)
{
    size_t count = g->count;
    g->count = 0;
    return count == 0 ? SQLITE_OK : g->below->xWrite(file, g->bytes, (int)count, g->offset);
}

static int gather_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    struct gather *g = gather_of(file);
    int code = SQLITE_OK;
    if (!g->bytes)
        g->bytes = malloc(GATHER_MAX);
    if (g->count > 0 &&
        (offset != g->offset + (sqlite3_int64)g->count || g->count + (size_t)size > GATHER_MAX))
        code = gather_flush(g, file);
    if (code != SQLITE_OK)
        return code;
    if (!g->bytes || size > GATHER_MAX)
        return g->below->xWrite(file, bytes, size, offset);
    if (g->count == 0)
        g->offset = offset;
    memcpy(g->bytes + g->count, bytes, (size_t)size);
    g->count += (size_t)size;
    bool is_last = g->commits && size != FRAME_HEADER;
    const unsigned char *mark = (const unsigned char *)bytes + 4;
    g->commits = size == FRAME_HEADER && (mark[0] | mark[1] | mark[2] | mark[3]) != 0;
    return is_last ? gather_flush(g, file) : SQLITE_OK;
}

static int gather_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    struct gather *g = gather_of(file);
    int code = gather_flush(g, file);
    return code != SQLITE_OK ? code : g->below->xRead(file, bytes, size, offset);
}

static int gather_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct gather *g = gather_of(file);
    int code = gather_flush(g, file);
    return code != SQLITE_OK ? code : g->below->xTruncate(file, size);
}

static int gather_sync(sqlite3_file *file, int flags)
{
    struct gather *g = gather_of(file);
    int code = gather_flush(g, file);
    return code != SQLITE_OK ? code : g->below->xSync(file, flags);
}

static int gather_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct gather *g = gather_of(file);
    int code = gather_flush(g, file);
    return code != SQLITE_OK ? code : g->below->xFileSize(file, size);
}

static int gather_close(sqlite3_file *file)
{
    struct gather *g = gather_of(file);
    file->pMethods = g->below;
    return g->below->xClose(file);
}

/* NULL where the log is not open. */
static sqlite3_file *log_file(struct sqlite_store *s)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK)
        return NULL;
    return file && file->pMethods ? file : NULL;
}

int gather_start(struct sqlite_store *s, struct err *err)
{
    sqlite3_file *file = log_file(s);
    if (!file) {
        /* A file that was turned to a log just now opens it with the first read. */
        int code = sqlite3_exec(s->db, "SELECT version FROM meta", NULL, NULL, NULL);
        if (code != SQLITE_OK)
            return handle_error(s, code, "opening it", err);
        file = log_file(s);
    }
    if (!file)
        return err_set(err, ERR_BUG, "store %s: SQLite does not show its log", s->path);
    s->gather = calloc(1, sizeof *s->gather);
    if (!s->gather)
        return err_set(err, ERR_IO, "store %s: out of memory", s->path);
    s->gather->below = file->pMethods;
    s->gather->methods = *file->pMethods;
    s->gather->methods.xClose = gather_close;
    s->gather->methods.xRead = gather_read;
    s->gather->methods.xWrite = gather_write;
    s->gather->methods.xTruncate = gather_truncate;
    s->gather->methods.xSync = gather_sync;
    s->gather->methods.xFileSize = gather_size;
    file->pMethods = &s->gather->methods;
    return 0;
}

void gather_free(struct gather *gather)
{
    if (gather)
        free(gather->bytes);
    free(gather);
}
