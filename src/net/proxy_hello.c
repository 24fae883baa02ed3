/* See proxy_hello.h. RFC 8446 (records, ClientHello) and RFC 6066 (server_name). Whatever differs from them is NOT_TLS: a server that
 * understands it nevertheless could see another name in it. */
#include "net/proxy_hello.h"

#include <stdint.h>

enum {
    RECORD_HANDSHAKE = 22,
    RECORD_MAX = 16384,
    RECORD_HEAD = 5,
    CLIENT_HELLO = 1,
    MESSAGE_HEAD = 4,
    EXTENSION_NAME = 0,
    EXTENSION_ECH = 0xFE0D,
    EXTENSION_OLD_ESNI = 0xFFCE,
};

/* What is left to read. */
struct reader {
    const uint8_t *at;
    size_t left;
};

static bool take_number(struct reader *reader, size_t bytes, size_t *number)
{
    *number = 0;
    if (reader->left < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        *number = *number << 8 | reader->at[i];
    reader->at += bytes;
    reader->left -= bytes;
    return true;
}

static bool take(struct reader *reader, size_t n, struct reader *part)
{
    if (reader->left < n)
        return false;
    *part = (struct reader){reader->at, n};
    reader->at += n;
    reader->left -= n;
    return true;
}

/* A vector: its length in so many bytes, then its content. */
static bool take_vector(struct reader *reader, size_t length_bytes, struct reader *part)
{
    size_t n;
    return take_number(reader, length_bytes, &n) && take(reader, n, part);
}

/* The extension's content: a list of exactly one host name. */
static bool name_read(struct reader extension, char name[HOST_NAME_MAX_BYTES + 1])
{
    struct reader list, host;
    size_t kind;
    return take_vector(&extension, 2, &list) && extension.left == 0 &&
           take_number(&list, 1, &kind) && kind == 0 && take_vector(&list, 2, &host) &&
           list.left == 0 && host_name_fold((struct str){(const char *)host.at, host.left}, name);
}

static enum proxy_hello extensions_read(struct reader extensions,
                                        char name[HOST_NAME_MAX_BYTES + 1])
{
    enum proxy_hello result = HELLO_UNNAMED;
    bool hidden = false;
    while (extensions.left > 0) {
        size_t kind;
        struct reader content;
        if (!take_number(&extensions, 2, &kind) || !take_vector(&extensions, 2, &content))
            return HELLO_NOT_TLS;
        hidden = hidden || kind == EXTENSION_ECH || kind == EXTENSION_OLD_ESNI;
        if (kind != EXTENSION_NAME)
            continue;
        if (result == HELLO_NAMED || !name_read(content, name))
            return HELLO_NOT_TLS;
        result = HELLO_NAMED;
    }
    return hidden ? HELLO_HIDDEN : result;
}

/* The message without its head. */
static enum proxy_hello message_read(struct reader message, char name[HOST_NAME_MAX_BYTES + 1])
{
    struct reader random, session, ciphers, compression, extensions;
    size_t version;
    if (!take_number(&message, 2, &version) || version >> 8 != 3 || !take(&message, 32, &random) ||
        !take_vector(&message, 1, &session) || session.left > 32 ||
        !take_vector(&message, 2, &ciphers) || ciphers.left < 2 || ciphers.left % 2 != 0 ||
        !take_vector(&message, 1, &compression) || compression.left == 0)
        return HELLO_NOT_TLS;
    if (message.left == 0)
        return HELLO_UNNAMED;
    if (!take_vector(&message, 2, &extensions) || message.left != 0)
        return HELLO_NOT_TLS;
    return extensions_read(extensions, name);
}

/* The handshake message may lie in several records: their contents, one after the other. False: something else is there. *open: the
 * last record is not complete. */
static bool records_join(struct reader bytes, uint8_t joined[PROXY_HELLO_MAX], size_t *n,
                         bool *open)
{
    *n = 0;
    *open = false;
    while (bytes.left > 0) {
        size_t kind, version, length;
        if (!take_number(&bytes, 1, &kind) || kind != RECORD_HANDSHAKE)
            return false;
        if (bytes.left > 0 && bytes.at[0] != 3)
            return false;
        if (!take_number(&bytes, 2, &version) || !take_number(&bytes, 2, &length))
            return true;
        if (length == 0 || length > RECORD_MAX)
            return false;
        size_t here = length < bytes.left ? length : bytes.left;
        if (here > PROXY_HELLO_MAX - *n)
            here = PROXY_HELLO_MAX - *n;
        memcpy(joined + *n, bytes.at, here);
        *n += here;
        bytes.at += here;
        bytes.left -= here;
        *open = here < length;
        if (*open)
            return true;
        /* What follows the message is not looked at. */
        if (*n >= MESSAGE_HEAD &&
            *n >= MESSAGE_HEAD + ((size_t)joined[1] << 16 | (size_t)joined[2] << 8 | joined[3]))
            return true;
    }
    return true;
}

enum proxy_hello proxy_hello_read(struct str bytes, char name[HOST_NAME_MAX_BYTES + 1])
{
    uint8_t joined[PROXY_HELLO_MAX];
    size_t n, kind, length;
    bool open;
    struct reader message;
    enum proxy_hello more = bytes.n < PROXY_HELLO_MAX ? HELLO_MORE : HELLO_NOT_TLS;
    if (!records_join((struct reader){(const uint8_t *)bytes.p, bytes.n}, joined, &n, &open))
        return HELLO_NOT_TLS;
    struct reader all = {joined, n};
    if (n > 0 && joined[0] != CLIENT_HELLO)
        return HELLO_NOT_TLS;
    if (!take_number(&all, 1, &kind) || !take_number(&all, 3, &length))
        return more;
    if (length > PROXY_HELLO_MAX)
        return HELLO_NOT_TLS;
    if (!take(&all, length, &message))
        return more;
    /* A record that holds more than this message would begin another one. */
    if (all.left > 0)
        return HELLO_NOT_TLS;
    return open ? more : message_read(message, name);
}
