/* The keyboard of the person at the terminal: opening it, taking keys one by one while a question stands in the live display, and the
 * line that they make. Loop thread, unless it says so. */
#ifndef CADRE_CLI_KEYS_H
#define CADRE_CLI_KEYS_H

#include "base/str.h"

/* The terminal for reading: that of stdin, else of stdout, else of stderr, else the controlling one. -1: nobody is there, also where the
 * terminal belongs to another user and cannot be opened. It does not block; the caller closes it. */
int keys_open(void);

/* Keys come at once and without an echo; what was typed before is thrown away. Ctrl-C stays a signal. */
void keys_take(int fd);
/* The terminal is as it was before keys_take, for good. */
void keys_release(void);
/* The same for a while, or on the way out. Safe in a signal handler, and when nothing was taken. */
void keys_restore(void);
/* After keys_restore, when the process was stopped and goes on. */
void keys_take_again(void);

struct keys_line {
    char text[4096]; /* a terminal hands over no longer ones */
    size_t n;
    enum { LINE_FITS, LINE_TOO_LONG } size;
    enum { KEY_PLAIN, KEY_ESCAPE, KEY_SEQUENCE } key; /* inside a key's escape sequence */
};

/* END: Ctrl-D on an empty line. */
enum keys_event { KEYS_MORE, KEYS_LINE, KEYS_END };
/* One byte, from a terminal in either mode; the line is complete when it returns LINE. */
enum keys_event keys_feed(struct keys_line *line, char byte);

#endif
