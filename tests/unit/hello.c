/* See hello.h. */
#include "hello.h"

static void add_number(struct buf *out, size_t number, int bytes)
{
    while (bytes-- > 0)
        buf_char(out, (char)(number >> (8 * bytes)));
}

static void add_name(struct buf *out, const char *name)
{
    size_t n = strlen(name);
    add_number(out, 0, 2);
    add_number(out, n + 5, 2);
    add_number(out, n + 3, 2);
    add_number(out, 0, 1);
    add_number(out, n, 2);
    buf_text(out, name);
}

void hello_make(struct buf *out, struct hello hello)
{
    struct buf extensions, message;
    buf_init(&extensions, 4096);
    buf_init(&message, 8192);
    add_number(&extensions, 0x000a000400020017, 8); /* groups */
    for (int i = 0; hello.name != NULL && i < (hello.twice ? 2 : 1); i++)
        add_name(&extensions, hello.name);
    if (hello.hidden)
        add_number(&extensions, 0xfe0d0000, 4);
    size_t n = 2 + 32 + 1 + 4 + 2 + 2 + extensions.n;
    add_number(&message, 1, 1);
    add_number(&message, n, 3);
    add_number(&message, 0x0303, 2);
    for (int i = 0; i < 32; i++)
        buf_char(&message, (char)i);
    add_number(&message, 0, 1);
    add_number(&message, 0x00021301, 4); /* cipher suites */
    add_number(&message, 0x0100, 2);     /* compression */
    add_number(&message, extensions.n, 2);
    buf_str(&message, buf_view(&extensions));
    size_t piece = hello.piece > 0 ? hello.piece : message.n;
    for (size_t at = 0; at < message.n; at += piece) {
        size_t here = message.n - at < piece ? message.n - at : piece;
        add_number(out, 22, 1);
        add_number(out, 0x0301, 2);
        add_number(out, here, 2);
        buf_add(out, message.p + at, here);
    }
    buf_release(&extensions);
    buf_release(&message);
}
