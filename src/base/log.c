/* The diagnostics writer. Formats, cleans and writes one line; a line that cannot be written is dropped, as
 * there is nowhere left to say so. Any thread. */
#include "base/log.h"

#include <stdarg.h>

#include "base/utf8.h"

enum { LINE_MAX_BYTES = 4096 };

static const char *const level_texts[LOG_LEVEL_COUNT] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARN] = "warning",
    [LOG_LEVEL_ERROR] = "error",
};

void log_write(const struct log *log, enum log_level level, const char *format, ...)
{
    if (!log || !log->file || level < log->minimum)
        return;
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return;
    /* Mending may turn each byte into three. */
    struct buf line;
    buf_init(&line, 4 * LINE_MAX_BYTES);
    buf_printf(&line, "cadre: %s: ", log_level_text(level));
    utf8_clean(&line, str_from(text), UTF8_ONE_LINE);
    buf_char(&line, '\n');
    if (!line.failed) {
        fwrite(line.p, 1, line.n, log->file);
        fflush(log->file);
    }
    buf_release(&line);
}

const char *log_level_text(enum log_level level)
{
    return (unsigned)level < LOG_LEVEL_COUNT ? level_texts[level] : level_texts[LOG_LEVEL_ERROR];
}

bool log_level_parse(struct str text, enum log_level *level)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++) {
        if (str_is(text, level_texts[i])) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}
