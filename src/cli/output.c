/* Terminal facts, cleaned text, JSON lines, errors. Writes block while the reader is slow, unless the
 * output is detached: then `out` and `err` are streams into queues. */
#include "cli/output.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLEAN_MAX ((size_t)256 << 20)
#define ERROR_MAX 8192
#define ERRORS_STANDSTILL_MS 5000 /* stderr, at the end: the run itself has been told of by then */

static const char *const styles[STYLE_COUNT] = {
    [STYLE_BOLD] = "\x1b[1m", [STYLE_DIM] = "\x1b[2m",     [STYLE_GREEN] = "\x1b[32m",
    [STYLE_RED] = "\x1b[31m", [STYLE_YELLOW] = "\x1b[33m",
};

void output_open(struct output *output, enum output_format format)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    *output = (struct output){
        .out = stdout, .err = stderr, .standstill_ms = OUTPUT_STANDSTILL_MS, .format = format};
    if (setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        output->glyphs = GLYPHS_UTF8;
    if (format == OUTPUT_JSON && isatty(STDOUT_FILENO))
        output->json = JSON_ESCAPED;
    if (format == OUTPUT_TEXT && isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' &&
        strcmp(term, "dumb") != 0)
        output->target = OUTPUT_TERMINAL;
    if (output->target == OUTPUT_TERMINAL && (no_color == NULL || no_color[0] == '\0'))
        output->colour = COLOUR_ON;
}

static bool is_one_file(int a, int b)
{
    struct stat of_a, of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

int output_detach(struct output *output, struct err *err)
{
    struct outpipe *out = NULL, *errors = NULL;
    struct err ignored = ERR_INIT;
    if (output->out_pipe != NULL)
        return 0;
    fflush(output->out);
    fflush(output->err);
    if (outpipe_open(STDOUT_FILENO, &out, err) != 0)
        return -1;
    /* On one terminal, text and errors must keep their order. */
    if (is_one_file(STDOUT_FILENO, STDERR_FILENO)) {
        errors = out;
    } else if (outpipe_open(STDERR_FILENO, &errors, err) != 0) {
        if (outpipe_close(out, 0, &ignored) != 0)
            abort(); /* nothing was queued */
        return -1;
    }
    output->out_pipe = out;
    output->err_pipe = errors;
    output->out = outpipe_stream(out);
    output->err = outpipe_stream(errors);
    return 0;
}

/* stderr itself, if a message to it would not wait. */
static FILE *errors_unqueued(void)
{
    struct pollfd wanted = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLOUT) != 0 ? stderr : NULL;
}

static int close_pipes(struct output *output, struct err *err)
{
    struct err ignored = ERR_INIT;
    fclose(output->out);
    fclose(output->err);
    int result = outpipe_close(output->out_pipe, output->standstill_ms, err);
    int errors = output->err_pipe == output->out_pipe
                     ? result
                     : outpipe_close(output->err_pipe, ERRORS_STANDSTILL_MS, &ignored);
    output->out_pipe = output->err_pipe = NULL;
    output->out = stdout;
    output->err = errors == 0 ? errors_unqueued() : NULL;
    return result;
}

int output_close(struct output *output, struct err *err)
{
    if (output->out_pipe != NULL)
        return close_pipes(output, err);
    if (fflush(output->out) != 0 || ferror(output->out))
        return err_set(err, ERR_IO, "the output could not be written: %s", strerror(errno));
    return 0;
}

enum outpipe_state output_state(struct output *output)
{
    if (ferror(output->out))
        return OUTPIPE_BROKEN;
    return output->out_pipe != NULL ? outpipe_state(output->out_pipe) : OUTPIPE_IDLE;
}

void output_listen(struct output *output, void (*changed)(void *user), void *user)
{
    if (output->out_pipe != NULL)
        outpipe_listen(output->out_pipe, changed, user);
}

void output_drain(struct output *output, int64_t standstill_ms)
{
    struct err ignored = ERR_INIT;
    fflush(output->out);
    if (output->out_pipe != NULL && outpipe_drain(output->out_pipe, standstill_ms, &ignored) != 0)
        return;
    if (output->err_pipe != NULL && output->err_pipe != output->out_pipe &&
        outpipe_drain(output->err_pipe, standstill_ms, &ignored) != 0)
        return;
}

void output_size(const struct output *output, int *columns, int *lines)
{
    struct winsize size = {0};
    /* Nobody is there to be wrapped where there is no terminal. */
    *columns = output->target == OUTPUT_TERMINAL ? 80 : 400;
    *lines = 24;
    int fd = output->out_pipe != NULL ? STDOUT_FILENO : fileno(output->out);
    if (ioctl(fd, TIOCGWINSZ, &size) == 0) {
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
    struct buf escaped;
    struct str line = buf_view(object);
    buf_init(&escaped, CLEAN_MAX);
    if (output->json == JSON_ESCAPED) {
        utf8_escape_json(&escaped, line);
        line = buf_view(&escaped);
    }
    fwrite(line.p, 1, line.n, output->out);
    fputc('\n', output->out);
    fflush(output->out);
    buf_release(&escaped);
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
    if (output->err != NULL) {
        fprintf(output->err, "cadre: %.*s\n", STR_FMT(buf_view(&clean)));
        fflush(output->err);
    }
    buf_release(&text);
    buf_release(&clean);
}
