/* See keys.h. What the terminal was like is kept for the whole process: it must be put back on every way out. */
#include "cli/keys.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <termios.h>
#include <unistd.h>

enum { CTRL_D = 4, BACKSPACE = 8, CTRL_U = 21, CTRL_W = 23, ESCAPE = 27, DELETE = 127 };

static struct {
    int fd;
    struct termios before, taken;
    atomic_bool is_taken;
} terminal = {.fd = -1};

int keys_open(void)
{
    /* By its name: /dev/tty can be opened by everybody, whoever owns the terminal. */
    static const int standard[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    const int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        if (ttyname_r(standard[i], name, sizeof name) == 0)
            return open(name, flags);
    return open("/dev/tty", flags);
}

void keys_take(int fd)
{
    if (atomic_load(&terminal.is_taken) || tcgetattr(fd, &terminal.before) != 0)
        return;
    terminal.fd = fd;
    terminal.taken = terminal.before;
    terminal.taken.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    terminal.taken.c_cc[VMIN] = 1;
    terminal.taken.c_cc[VTIME] = 0;
    atomic_store(&terminal.is_taken, true);
    keys_take_again();
}

void keys_take_again(void)
{
    if (atomic_load(&terminal.is_taken))
        tcsetattr(terminal.fd, TCSAFLUSH, &terminal.taken);
}

void keys_restore(void)
{
    if (atomic_load(&terminal.is_taken))
        tcsetattr(terminal.fd, TCSANOW, &terminal.before);
}

void keys_release(void)
{
    keys_restore();
    atomic_store(&terminal.is_taken, false);
}

/* --- the line --------------------------------------------------------------------------------- */

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

static void erase_character(struct keys_line *line)
{
    while (line->n > 0 && is_inside_character(line->text[line->n - 1]))
        line->n--;
    if (line->n > 0)
        line->n--;
    line->size = LINE_FITS;
}

static void erase_word(struct keys_line *line)
{
    while (line->n > 0 && line->text[line->n - 1] == ' ')
        line->n--;
    while (line->n > 0 && line->text[line->n - 1] != ' ')
        line->n--;
    line->size = LINE_FITS;
}

/* True: the byte is a part of a key that means nothing here (an arrow). */
static bool is_of_sequence(struct keys_line *line, char byte)
{
    if (line->key == KEY_ESCAPE)
        line->key = byte == '[' || byte == 'O' ? KEY_SEQUENCE : KEY_PLAIN;
    else if (line->key == KEY_SEQUENCE && byte >= 0x40 && byte <= 0x7E)
        line->key = KEY_PLAIN;
    else if (line->key == KEY_PLAIN && byte != ESCAPE)
        return false;
    else if (byte == ESCAPE)
        line->key = KEY_ESCAPE;
    return true;
}

enum keys_event keys_feed(struct keys_line *line, char byte)
{
    if (byte == '\n' || byte == '\r')
        return KEYS_LINE;
    if (is_of_sequence(line, byte))
        return KEYS_MORE;
    if (byte == CTRL_D)
        return line->n == 0 ? KEYS_END : KEYS_MORE;
    if (byte == BACKSPACE || byte == DELETE)
        erase_character(line);
    else if (byte == CTRL_W)
        erase_word(line);
    else if (byte == CTRL_U)
        *line = (struct keys_line){.n = 0};
    else if (line->n == sizeof line->text)
        line->size = LINE_TOO_LONG;
    else if ((unsigned char)byte >= ' ' || byte == '\t')
        line->text[line->n++] = byte;
    return KEYS_MORE;
}
