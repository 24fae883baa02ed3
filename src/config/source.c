/* Config sources: reading a file within bounds, and errors with file:line:column, the line and a caret. Does not know
 * YAML or keys. Runs on the main thread before the loop starts. */
#include "config/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "config/upward.h"

enum { EXCERPT_COLUMNS = 100, EXCERPT_BEFORE = 60, MESSAGE_BYTES = 4096 };

struct location {
    size_t line, column;         /* from 1 */
    size_t line_start, line_end; /* byte offsets */
};

static struct location location_of(const struct config_place *place)
{
    struct str text = place->source->text;
    size_t at = place->at < text.n ? place->at : text.n;
    struct location location = {.line = 1, .column = 1};
    for (size_t i = 0; i < at; i++)
        if (text.p[i] == '\n') {
            location.line++;
            location.line_start = i + 1;
        }
    location.line_end = location.line_start;
    while (location.line_end < text.n && text.p[location.line_end] != '\n' &&
           text.p[location.line_end] != '\r')
        location.line_end++;
    for (size_t i = location.line_start; i < at;) {
        uint32_t code;
        i += utf8_next((struct str){text.p + i, text.n - i}, &code);
        location.column += code != 0xFEFF;
    }
    return location;
}

size_t config_source_offset(const struct config_source *source, size_t line, size_t column)
{
    struct str text = source->text;
    size_t at = 0;
    for (size_t seen = 1; seen < line && at < text.n; at++)
        seen += text.p[at] == '\n';
    for (size_t seen = 1; seen < column && at < text.n && text.p[at] != '\n'; seen++) {
        uint32_t code;
        at += utf8_next((struct str){text.p + at, text.n - at}, &code);
    }
    return at;
}

void config_place_print(const struct config_place *place, struct buf *out)
{
    if (!place->source) {
        buf_text(out, "built-in");
        return;
    }
    utf8_clean(out, place->source->name, UTF8_ONE_LINE);
    if (place->source->text.p) {
        struct location location = location_of(place);
        buf_printf(out, ":%zu:%zu", location.line, location.column);
    }
}

/* Drops whole characters from the front until at most `columns` are left. */
static struct str keep_end(struct str text, int columns)
{
    while (text.n > 0 && utf8_width(text) > columns) {
        uint32_t code;
        size_t n = utf8_next(text, &code);
        text = (struct str){text.p + n, text.n - n};
    }
    return text;
}

static void excerpt_print(const struct config_place *place, enum config_excerpt excerpt,
                          struct buf *out)
{
    struct location location = location_of(place);
    const char *text = place->source->text.p;
    size_t at = place->at < location.line_end ? place->at : location.line_end;
    size_t end = place->length < location.line_end - at ? at + place->length : location.line_end;

    struct str line_before = {text + location.line_start, at - location.line_start};
    if (line_before.n > 4 * EXCERPT_BEFORE)
        line_before = (struct str){text + at - 4 * EXCERPT_BEFORE, 4 * EXCERPT_BEFORE};
    struct buf before, marked, after;
    buf_init(&before, MESSAGE_BYTES);
    buf_init(&marked, MESSAGE_BYTES);
    buf_init(&after, MESSAGE_BYTES);
    utf8_clean(&before, line_before, UTF8_ONE_LINE);
    utf8_clean(&marked, utf8_cut((struct str){text + at, end - at}, 4 * EXCERPT_COLUMNS),
               UTF8_ONE_LINE);
    utf8_clean(&after,
               utf8_cut((struct str){text + end, location.line_end - end}, 4 * EXCERPT_COLUMNS),
               UTF8_ONE_LINE);
    struct str left = keep_end(buf_view(&before), EXCERPT_BEFORE);
    int columns = EXCERPT_COLUMNS - utf8_width(left);
    struct str middle = utf8_cut_width(buf_view(&marked), columns);
    struct str right = utf8_cut_width(buf_view(&after), columns - utf8_width(middle));
    if (excerpt == EXCERPT_HIDE_VALUE)
        middle = STR("…");
    if (excerpt != EXCERPT_LINE)
        right = excerpt == EXCERPT_HIDE_REST ? STR(" …") : STR("");

    char number[24];
    int digits = snprintf(number, sizeof number, "%zu", location.line);
    buf_printf(out, "\n  %s | %.*s%.*s%.*s\n  %*s | %*s^", number, STR_FMT(left), STR_FMT(middle),
               STR_FMT(right), digits, "", utf8_width(left), "");
    for (int i = 1; i < utf8_width(middle); i++)
        buf_char(out, '~');
    buf_release(&before);
    buf_release(&marked);
    buf_release(&after);
}

int config_error(const struct config_place *place, enum config_excerpt excerpt, struct err *err,
                 const char *format, ...)
{
    struct buf message, cleaned;
    buf_init(&message, MESSAGE_BYTES);
    buf_init(&cleaned, 4 * MESSAGE_BYTES);
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    if (place->source) {
        config_place_print(place, &cleaned);
        buf_text(&cleaned, ": ");
    }
    utf8_clean(&cleaned, buf_view(&message), UTF8_LINES);
    if (place->source && place->source->text.p)
        excerpt_print(place, excerpt, &cleaned);
    enum err_class class = place->source ? place->source->class : ERR_CONFIG;
    err_set(err, class, "%.*s", STR_FMT(buf_view(&cleaned)));
    buf_release(&message);
    buf_release(&cleaned);
    return -1;
}

size_t config_mistakes_kept(const struct config_mistakes *mistakes)
{
    return mistakes->found < CONFIG_MISTAKES_MAX ? mistakes->found : CONFIG_MISTAKES_MAX;
}

int config_mistake_keep(struct config_mistakes *mistakes, struct err *err)
{
    if (mistakes == NULL)
        return -1;
    if (err->class == ERR_NONE)
        return 0;
    if (mistakes->found < CONFIG_MISTAKES_MAX)
        mistakes->items[mistakes->found] = *err;
    mistakes->found++;
    *err = ERR_INIT;
    return 0;
}

static int read_all(int fd, struct arena *arena, struct config_source *source, struct err *err)
{
    struct buf bytes;
    buf_init(&bytes, CONFIG_FILE_MAX + 1);
    int result = -1;
    for (;;) {
        char chunk[16384];
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_set(err, ERR_CONFIG, "cannot read %.*s: %s", STR_FMT(source->name),
                    strerror(errno));
            goto out;
        }
        if (n == 0)
            break;
        buf_add(&bytes, chunk, (size_t)n);
        if (bytes.failed || bytes.n > CONFIG_FILE_MAX) {
            err_set(err, ERR_CONFIG, "%.*s is larger than 1 MB, too large for a config file",
                    STR_FMT(source->name));
            goto out;
        }
    }
    source->text = arena_copy(arena, buf_view(&bytes));
    result = 0;
out:
    buf_release(&bytes);
    return result;
}

int config_source_read(struct arena *arena, struct str path, enum config_links links,
                       struct config_source *source, struct config_file_id *id,
                       enum config_found *found, struct err *err)
{
    *source = (struct config_source){.name = arena_copy(arena, path), .class = ERR_CONFIG};
    *found = SOURCE_ABSENT;
    int result = -1;
    /* NONBLOCK: opening a FIFO must not wait for its writer. */
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(source->name.p, links == LINKS_REFUSED ? flags | O_NOFOLLOW : flags);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 && errno == ELOOP && links == LINKS_REFUSED)
        return err_set(err, ERR_CONFIG,
                       "%.*s is a symbolic link; a project's config must be a file", STR_FMT(path));
    if (fd < 0)
        return err_set(err, ERR_CONFIG, "cannot open %.*s: %s", STR_FMT(path), strerror(errno));
    struct stat status;
    if (fstat(fd, &status) != 0) {
        err_set(err, ERR_CONFIG, "cannot read %.*s: %s", STR_FMT(path), strerror(errno));
        goto out;
    }
    /* What an older version left in the place of a project's file, and could not be removed (os/leftover.h). */
    if (links == LINKS_REFUSED && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 01755) {
        result = 0;
        goto out;
    }
    if (!S_ISREG(status.st_mode)) {
        err_set(err, ERR_CONFIG, "%.*s is %s, not a config file", STR_FMT(path),
                S_ISDIR(status.st_mode) ? "a directory" : "a special file");
        goto out;
    }
    if (links == LINKS_REFUSED && !upward_trusted(&status)) {
        err_set(err, ERR_CONFIG,
                "%.*s belongs to user %lu, neither to you nor to root, and is not read: make it "
                "yours (chown), remove it, or name it with --config",
                STR_FMT(path), (unsigned long)status.st_uid);
        goto out;
    }
    if (read_all(fd, arena, source, err) != 0)
        goto out;
    *id = (struct config_file_id){status.st_dev, status.st_ino};
    *found = SOURCE_READ;
    result = 0;
out:
    close(fd);
    return result;
}
