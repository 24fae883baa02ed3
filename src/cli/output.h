/* Where a command writes: what stdout is (a terminal or not, how wide, colours, UTF-8), text and
 * JSON lines, errors. Everything that came from a model, a file or a log is cleaned on its way out.
 * One thread at a time.
 *
 * As it is opened, printing waits for the reader. A command that has more to do than to print, such
 * as driving a run, detaches it: from then on nothing waits, see output_detach. */
#ifndef CADRE_CLI_OUTPUT_H
#define CADRE_CLI_OUTPUT_H

#include <stdio.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/outpipe.h"

#define OUTPUT_STANDSTILL_MS 600000

struct output {
    FILE *out, *err;                     /* err is NULL once nobody can be told anything any more */
    struct outpipe *out_pipe, *err_pipe; /* once detached; the same where both are one file */
    int64_t standstill_ms; /* how long the reader may stand still before output_close gives up */
    enum output_format { OUTPUT_TEXT, OUTPUT_JSON } format;
    enum output_target { OUTPUT_PLAIN, OUTPUT_TERMINAL } target; /* TERMINAL: may redraw */
    enum { JSON_AS_IT_IS, JSON_ESCAPED } json;                   /* ESCAPED: a terminal reads it */
    enum output_colour { COLOUR_OFF, COLOUR_ON } colour;
    enum output_glyphs { GLYPHS_ASCII, GLYPHS_UTF8 } glyphs;
};

enum output_style { STYLE_BOLD, STYLE_DIM, STYLE_GREEN, STYLE_RED, STYLE_YELLOW, STYLE_COUNT };

/* Looks at stdout, TERM, NO_COLOR and the locale. */
void output_open(struct output *output, enum output_format format);
/* Flushes; where it is detached, waits until the reader has taken everything or stands still. -1 when something could not be written: the caller has no right to say that all
 * went well. */
int output_close(struct output *output, struct err *err) NODISCARD;

/* From now on what is printed is queued and written by threads: no call here waits for a reader, but
 * output_close and output_drain. Again: changes nothing. */
int output_detach(struct output *output, struct err *err) NODISCARD;
/* How the reader keeps up: what can be read again later, or is out of date soon, is not printed while
 * the output is FULL or BUSY. Always IDLE or BROKEN where it is not detached. */
enum outpipe_state output_state(struct output *output);
/* See outpipe_listen: of stdout, once detached. */
void output_listen(struct output *output, void (*changed)(void *user), void *user);
/* Waits for the reader, before something that does not come back, for no more than a moment. */
void output_drain(struct output *output, int64_t standstill_ms);
/* Columns and lines of the terminal; 80 and 24 where there is none. */
void output_size(const struct output *output, int *columns, int *lines);

void output_print(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Text from outside: cleaned. With UTF8_LINES, ends with a newline whatever it ended with. */
void output_clean(struct output *output, struct str text, enum utf8_lines lines);
/* Text in a style, where colours are on. */
void output_styled(struct output *output, enum output_style style, struct str text);
/* Escape sequences of a style and of its end; "" where colours are off. */
const char *output_style_on(enum output_colour colour, enum output_style style);
const char *output_style_off(enum output_colour colour);
/* One JSON object as a line of its own, flushed: who reads along sees it at once. On a terminal, characters that a terminal
 * might obey are written as escapes. */
void output_json(struct output *output, const struct buf *object);
/* "cadre: …" on stderr, cleaned. */
void output_error(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
