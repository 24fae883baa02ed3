/* Terminal facts, cleaned text, JSON lines, errors. Writes block while the reader is slow. */
#include "cli/output.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAN_MAX ((size_t)256 << 20)
#define ERROR_MAX 8192

static const char *const styles[STYLE_COUNT] = {
    [STYLE_BOLD] = "\x1b[1m", [STYLE_DIM] = "\x1b[2m",     [STYLE_GREEN] = "\x1b[32m",
    [STYLE_RED] = "\x1b[31m", [STYLE_YELLOW] = "\x1b[33m",
};

void output_open(struct output *output, enum output_format format)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    *output = (struct output){.out = stdout, .err = stderr, .format = format};
    if (setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        output->glyphs = GLYPHS_UTF8;
    if (format == OUTPUT_TEXT && isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' &&
        strcmp(term, "dumb") != 0)
        output->target = OUTPUT_TERMINAL;
    if (output->target == OUTPUT_TERMINAL && (no_color == NULL || no_color[0] == '\0'))
        output->colour = COLOUR_ON;
}

int output_close(struct output *output, struct err *err)
{
    if (fflush(output->out) != 0 || ferror(output->out))
        return err_set(err, ERR_IO, "the output could not be written: %s", strerror(errno));
    return 0;
}

void output_size(const struct output *output, int *columns, int *lines)
{
    struct winsize size = {0};
    *columns = 80;
    *lines = 24;
    if (ioctl(fileno(output->out), TIOCGWINSZ, &size) == 0) {
        if (size.ws_col > 0)
            *columns = size.ws_col;
        if (size.ws_row > 0)
            *lines = size.ws_row;
    }
}

void output_print(struct output *output, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(output->out, format, args);
    va_end(args);
}

void output_clean(struct output *output, struct str text, enum utf8_lines lines)
{
    struct buf clean;
    buf_init(&clean, CLEAN_MAX);
    utf8_clean(&clean, text, lines);
    fwrite(clean.p != NULL ? clean.p : "", 1, clean.n, output->out);
    if (lines == UTF8_LINES && (clean.n == 0 || clean.p[clean.n - 1] != '\n'))
        fputc('\n', output->out);
    buf_release(&clean);
}

const char *output_style_on(enum output_colour colour, enum output_style style)
{
    return colour == COLOUR_ON ? styles[style] : "";
}

const char *output_style_off(enum output_colour colour)
{
    return colour == COLOUR_ON ? "\x1b[0m" : "";
}

void output_styled(struct output *output, enum output_style style, struct str text)
{
    fputs(output_style_on(output->colour, style), output->out);
    output_clean(output, text, UTF8_ONE_LINE);
    fputs(output_style_off(output->colour), output->out);
}

void output_json(struct output *output, const struct buf *object)
{
    fwrite(object->p != NULL ? object->p : "", 1, object->n, output->out);
    fputc('\n', output->out);
    fflush(output->out);
}

void output_error(struct output *output, const char *format, ...)
{
    struct buf text, clean;
    va_list args;
    buf_init(&text, ERROR_MAX);
    buf_init(&clean, ERROR_MAX);
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    utf8_clean(&clean, buf_view(&text), UTF8_LINES);
    fflush(output->out);
    fprintf(output->err, "cadre: %.*s\n", STR_FMT(buf_view(&clean)));
    fflush(output->err);
    buf_release(&text);
    buf_release(&clean);
}
