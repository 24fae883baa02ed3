/* The encoding reader: what comes out does not depend on how the bytes were cut, is valid UTF-8
 * where it must be, and is what iconv makes of it where iconv takes the text at all. */
#include <assert.h>
#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(enum text_encoding encoding, struct str bytes, size_t piece, struct buf *out)
{
    struct text_decoder decoder;
    text_decoder_init(&decoder, encoding);
    for (size_t at = 0; at < bytes.n; at += piece) {
        size_t n = bytes.n - at < piece ? bytes.n - at : piece;
        char *copy = malloc(n); /* so that the sanitizer sees a read past it */
        memcpy(copy, bytes.p + at, n);
        text_decode(&decoder, (struct str){copy, n}, out);
        free(copy);
    }
    text_decode_end(&decoder, out);
}

static void compare_with_iconv(enum text_encoding encoding, struct str bytes, struct str ours)
{
    const char *name = encoding == TEXT_UTF16LE ? "UTF-16LE" : "UTF-16BE";
    iconv_t converter = iconv_open("UTF-8", name);
    char *from = (char *)bytes.p + 2; /* behind the mark */
    size_t from_left = bytes.n - 2, to_left = 3 * bytes.n + 8;
    char *made = malloc(to_left), *to = made;
    assert(converter != (iconv_t)-1);
    if (iconv(converter, &from, &from_left, &to, &to_left) != (size_t)-1)
        assert(str_eq(ours, (struct str){made, (size_t)(to - made)}));
    iconv_close(converter);
    free(made);
}

static void check_lines(struct str text)
{
    struct buf out;
    buf_init(&out, 3 * text.n + 8);
    enum text_line kind = text_line(&out, text);
    assert(!out.failed);
    assert(utf8_valid(buf_view(&out)) == out.n);
    assert((kind == TEXT_LINE_VALID) == str_eq(text, buf_view(&out)));
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 20000)
        return 0;
    size_t piece = 1 + data[0] % 64;
    struct str bytes = {(const char *)data + 1, size - 1};
    enum text_encoding encoding = text_detect(bytes);
    (void)text_binary_kind(bytes);
    check_lines(bytes);
    if (encoding == TEXT_BINARY)
        return 0;
    struct buf whole, pieces;
    buf_init(&whole, 3 * bytes.n + 6);
    buf_init(&pieces, 3 * bytes.n + 6);
    decode(encoding, bytes, bytes.n, &whole);
    decode(encoding, bytes, piece, &pieces);
    assert(!whole.failed);
    assert(str_eq(buf_view(&whole), buf_view(&pieces)));
    if (encoding == TEXT_UTF16LE || encoding == TEXT_UTF16BE) {
        assert(utf8_valid(buf_view(&whole)) == whole.n);
        compare_with_iconv(encoding, bytes, buf_view(&whole));
    }
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
