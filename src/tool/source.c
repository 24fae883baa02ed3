/* Where a file's text comes from (see source.h). Runs on a pool thread; looks at `cancelled`
 * between blocks. */
#include "tool/source.h"

#include <unistd.h>

#include "base/filename.h"
#include "tool/file.h"

#define BLOCK (64u << 10)

static int refuse_binary(const struct scope_file *file, struct str head, struct err *err)
{
    const char *kind = text_binary_kind(head);
    return err_set(err, ERR_USAGE,
                   "%s is a binary file (%lld bytes%s%s) and cannot be shown as text",
                   filename_of(str_from(file->path)).text, (long long)file->status.st_size,
                   kind ? ", " : "", kind ? kind : "");
}

static int decode_whole(struct source *source, struct str bytes, struct buf *text)
{
    text_decoder_init(&source->decoder, source->encoding);
    text_decode(&source->decoder, bytes, text);
    text_decode_end(&source->decoder, text);
    return text->failed ? -1 : 0;
}

static int load_whole(struct source *source, struct err *err)
{
    struct reads *reads = reads_of(source->context);
    struct buf raw;
    buf_init(&raw, READS_FILE_MAX + 4 * BLOCK);
    int result = file_load(source->context, source->file, READS_FILE_MAX, &raw, err);
    if (result == 0) {
        source->encoding = text_detect(buf_view(&raw));
        if (source->encoding == TEXT_BINARY)
            result = refuse_binary(source->file, buf_view(&raw), err);
    }
    if (result == 0) {
        uint64_t read = raw.n;
        buf_expect(&source->whole, source->encoding == TEXT_UTF8 ? raw.n : 0);
        if (decode_whole(source, buf_view(&raw), &source->whole) != 0)
            result = err_set(err, ERR_IO, "out of memory");
        else
            source->remembered = reads_keep(reads, source->context->scope, source->file, read,
                                            source->encoding, &source->whole);
    }
    buf_release(&raw);
    return result;
}

static int start_stream(struct source *source, struct err *err)
{
    char head[TEXT_LOOK];
    ssize_t n = pread(source->file->fd, head, sizeof head, 0);
    if (n < 0)
        return err_set(err, ERR_IO, "%s cannot be read",
                       filename_of(str_from(source->file->path)).text);
    source->encoding = text_detect((struct str){head, (size_t)n});
    if (source->encoding == TEXT_BINARY)
        return refuse_binary(source->file, (struct str){head, (size_t)n}, err);
    return source_rewind(source, err);
}

int source_open(struct source *source, const struct tool_context *context,
                const struct scope_file *file, struct err *err)
{
    *source = (struct source){.context = context, .file = file, .kind = SOURCE_HELD};
    buf_init(&source->whole, 3 * (READS_FILE_MAX + BLOCK));
    buf_init(&source->block, 4 * BLOCK);
    if (file->status.st_size > (off_t)READS_FILE_MAX) {
        source->kind = SOURCE_STREAMED;
        return start_stream(source, err);
    }
    source->remembered = reads_take(reads_of(context), context->scope, file);
    if (source->remembered) {
        source->encoding = source->remembered->encoding;
        return 0;
    }
    return load_whole(source, err);
}

void source_close(struct source *source)
{
    reads_give_back(reads_of(source->context), source->remembered);
    source->remembered = NULL;
    buf_release(&source->whole);
    buf_release(&source->block);
}

static int next_block(struct source *source, struct str *piece, struct err *err)
{
    char bytes[BLOCK];
    buf_clear(&source->block);
    while (source->block.n == 0 && source->state == SOURCE_MORE) {
        ssize_t n = file_read(source->context, source->file->fd, bytes, sizeof bytes, err);
        if (n < 0)
            return -1;
        if (n == 0) {
            source->state = SOURCE_ENDED;
            text_decode_end(&source->decoder, &source->block);
        } else {
            text_decode(&source->decoder, (struct str){bytes, (size_t)n}, &source->block);
        }
    }
    *piece = buf_view(&source->block);
    return piece->n > 0;
}

int source_next(struct source *source, struct str *piece, struct err *err)
{
    if (source->kind == SOURCE_STREAMED)
        return next_block(source, piece, err);
    if (source->state == SOURCE_ENDED)
        return 0;
    source->state = SOURCE_ENDED;
    *piece = source->remembered ? source->remembered->text : buf_view(&source->whole);
    return piece->n > 0;
}

int source_rewind(struct source *source, struct err *err)
{
    source->state = SOURCE_MORE;
    if (source->kind == SOURCE_HELD)
        return 0;
    text_decoder_init(&source->decoder, source->encoding);
    if (lseek(source->file->fd, 0, SEEK_SET) != 0)
        return err_set(err, ERR_IO, "%s cannot be read from its start",
                       filename_of(str_from(source->file->path)).text);
    return 0;
}

int64_t source_count_lines(struct source *source, struct err *err)
{
    struct str piece;
    int64_t lines = 0;
    int more;
    char last = '\n';
    while ((more = source_next(source, &piece, err)) > 0) {
        lines += (int64_t)file_count_lines(piece) - (last == '\n' ? 0 : 1);
        last = piece.p[piece.n - 1];
    }
    return more < 0 || source_rewind(source, err) != 0 ? -1 : lines;
}
