/* Reads and searches recordings; see the header. A search walks the entries from the first that is left: runs ask in about
 * the order in which they asked before, so it ends soon. */
#include "model/replay_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_SIZE ((size_t)1 << 20)

static int read_all(const char *path, struct buf *bytes, struct err *err)
{
    struct stat status;
    int result = -1;
    /* Not blocking: a pipe in the file's place must not hold anybody up before it is refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(err, ERR_CONFIG, "the recording %s cannot be opened: %s", path,
                       strerror(errno));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        err_set(err, ERR_CONFIG, "the recording %s is not a regular file", path);
        goto out;
    }
    for (;;) {
        char *room = buf_reserve(bytes, READ_SIZE);
        if (room == NULL) {
            err_set(err, ERR_CONFIG, "the recording %s has more than 512 MB", path);
            goto out;
        }
        ssize_t n = read(fd, room, READ_SIZE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_set(err, ERR_CONFIG, "the recording %s cannot be read: %s", path, strerror(errno));
            goto out;
        }
        if (n == 0)
            break;
        bytes->n += (size_t)n;
    }
    result = 0;
out:
    close(fd);
    return result;
}

/* "FILE:3: what is wrong" */
static int line_error(const struct replay_file *file, size_t number, struct err *err)
{
    err->class = ERR_CONFIG;
    return err_prefix(err, "%.*s:%zu", STR_FMT(file->path), number);
}

static int add_line(struct replay_file *file, struct str text, struct err *err)
{
    struct record_line line;
    struct arena scratch;
    if (text.n > RECORD_LINE_MAX)
        return err_set(err, ERR_CONFIG, "a line of more than 32 MB");
    arena_init(&scratch);
    int result = record_line_parse(text, &scratch, &line, err);
    if (result == 0) {
        file->entries[file->entry_count] =
            (struct replay_entry){line.key.hash, line.agent_no, line.turn, text};
        if (file->entry_count++ == 0) {
            file->workspace = arena_copy(&file->arena, line.workspace);
            file->model = arena_copy(&file->arena, line.key.model);
        }
    }
    arena_release(&scratch);
    return result;
}

static int add_lines(struct replay_file *file, struct err *err)
{
    struct str rest = buf_view(&file->bytes);
    size_t count = 0;
    for (size_t i = 0; i < rest.n; i++)
        count += rest.p[i] == '\n';
    if (count > REPLAY_LINES_MAX)
        return err_set(err, ERR_CONFIG, "the recording %.*s has more than %zu lines",
                       STR_FMT(file->path), REPLAY_LINES_MAX);
    if (rest.n == 0)
        return err_set(err, ERR_CONFIG, "the recording %.*s is empty", STR_FMT(file->path));
    file->entries = calloc(count + 1, sizeof *file->entries);
    if (file->entries == NULL)
        abort();
    for (size_t number = 1; rest.n > 0; number++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        if (end == NULL) {
            err_set(err, ERR_CONFIG,
                    "the last line is cut off: the program that recorded it was killed; delete "
                    "this line to use the rest");
            return line_error(file, number, err);
        }
        struct str text = {rest.p, (size_t)(end - rest.p)};
        if (add_line(file, text, err) != 0)
            return line_error(file, number, err);
        rest = (struct str){end + 1, rest.n - text.n - 1};
    }
    return 0;
}

int replay_file_open(struct str path, struct replay_file **out, struct err *err)
{
    struct replay_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        abort();
    arena_init(&file->arena);
    buf_init(&file->bytes, REPLAY_FILE_MAX + READ_SIZE);
    file->path = arena_copy(&file->arena, path);
    if (read_all(file->path.p, &file->bytes, err) != 0 || add_lines(file, err) != 0) {
        replay_file_free(file);
        return -1;
    }
    *out = file;
    return 0;
}

void replay_file_free(struct replay_file *file)
{
    free(file->entries);
    buf_release(&file->bytes);
    arena_release(&file->arena);
    free(file);
}

enum replay_match replay_file_find(const struct replay_file *file, const uint8_t *used, size_t from,
                                   const struct record_line *asked, size_t *index)
{
    size_t same = file->entry_count, instead = file->entry_count;
    for (size_t i = from; i < file->entry_count; i++) {
        const struct replay_entry *entry = &file->entries[i];
        bool here = entry->agent_no == asked->agent_no && entry->turn == asked->turn;
        bool equal = hash_eq(&entry->key, &asked->key.hash);
        if (used[i] != 0)
            continue;
        if (equal && here) {
            *index = i;
            return REPLAY_SAME;
        }
        if (equal && same == file->entry_count)
            same = i;
        if (here && instead == file->entry_count)
            instead = i;
    }
    *index = same < file->entry_count ? same : instead;
    if (same < file->entry_count)
        return REPLAY_SAME;
    return instead < file->entry_count ? REPLAY_INSTEAD : REPLAY_NONE;
}

void replay_file_explain(const struct replay_file *file, const struct record_line *asked,
                         struct buf *out)
{
    int64_t last = 0;
    for (size_t i = 0; i < file->entry_count; i++)
        if (file->entries[i].agent_no == asked->agent_no && file->entries[i].turn > last)
            last = file->entries[i].turn;
    if (last == 0)
        buf_text(out, "this agent is not in it");
    else if (last < asked->turn)
        buf_printf(out, "it ends with request %lld of this agent", (long long)last);
    else
        buf_text(out, "its answers to this request were given already");
}
