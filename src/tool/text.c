/* Detecting and decoding (see text.h). Touches no file; any thread. */
#include "tool/text.h"

#include "base/utf8.h"

static const struct {
    struct str start;
    size_t at;
    const char *kind;
} kinds[] = {
    {STR("\x89PNG"), 0, "PNG image"},
    {STR("\xff\xd8\xff"), 0, "JPEG image"},
    {STR("GIF8"), 0, "GIF image"},
    {STR("BM"), 0, "BMP image"},
    {STR("WEBP"), 8, "WebP image"},
    {STR("WAVE"), 8, "WAV audio"},
    {STR("\0\0\1\0"), 0, "icon"},
    {STR("%PDF"), 0, "PDF document"},
    {STR("PK\3\4"), 0, "ZIP archive, or a format built on it (docx, jar …)"},
    {STR("\x1f\x8b"), 0, "gzip archive"},
    {STR("BZh"), 0, "bzip2 archive"},
    {STR("\xfd"
         "7zXZ"),
     0, "xz archive"},
    {STR("\x28\xb5\x2f\xfd"), 0, "Zstandard archive"},
    {STR("7z\xbc\xaf"), 0, "7z archive"},
    {STR("ustar"), 257, "tar archive"},
    {STR("!<arch>"), 0, "static library"},
    {STR("\x7f"
         "ELF"),
     0, "ELF program or library"},
    {STR("MZ"), 0, "Windows program"},
    {STR("\xcf\xfa\xed\xfe"), 0, "Mach-O program"},
    {STR("\xca\xfe\xba\xbe"), 0, "Java class"},
    {STR("\0asm"), 0, "WebAssembly module"},
    {STR("SQLite format 3"), 0, "SQLite database"},
    {STR("wOF2"), 0, "font"},
    {STR("wOFF"), 0, "font"},
    {STR("OggS"), 0, "Ogg audio or video"},
    {STR("ID3"), 0, "MP3 audio"},
    {STR("ftyp"), 4, "MP4 video"},
    {STR("\xff\xfe\0\0"), 0, "UTF-32 text"},
    {STR("\0\0\xfe\xff"), 0, "UTF-32 text"},
};

const char *text_binary_kind(struct str head)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t end = kinds[i].at + kinds[i].start.n;
        if (head.n >= end && memcmp(head.p + kinds[i].at, kinds[i].start.p, kinds[i].start.n) == 0)
            return kinds[i].kind;
    }
    return NULL;
}

/* Binary data that happens to start like UTF-16 has the unit 0 somewhere. */
static bool has_zero_unit(struct str head)
{
    for (size_t i = 2; i + 1 < head.n; i += 2)
        if (head.p[i] == '\0' && head.p[i + 1] == '\0')
            return true;
    return false;
}

enum text_encoding text_detect(struct str head)
{
    if (head.n > TEXT_LOOK)
        head.n = TEXT_LOOK;
    if (str_starts(head, STR("\xff\xfe")))
        return has_zero_unit(head) ? TEXT_BINARY : TEXT_UTF16LE;
    if (str_starts(head, STR("\xfe\xff")))
        return has_zero_unit(head) ? TEXT_BINARY : TEXT_UTF16BE;
    if (head.n > 0 && memchr(head.p, '\0', head.n))
        return TEXT_BINARY;
    return str_starts(head, STR("\xef\xbb\xbf")) ? TEXT_UTF8_MARKED : TEXT_UTF8;
}

/* --- UTF-16 ----------------------------------------------------------------------------------- */

static void add_code(struct buf *out, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    buf_add(out, bytes, n);
}

static void add_unit(struct text_decoder *decoder, uint32_t unit, struct buf *out)
{
    enum { REPLACEMENT = 0xFFFD };
    bool low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (decoder->high && low) {
        add_code(out, 0x10000 + ((decoder->high - 0xD800) << 10) + (unit - 0xDC00));
        decoder->high = 0;
        return;
    }
    if (decoder->high)
        add_code(out, REPLACEMENT);
    decoder->high = unit >= 0xD800 && unit <= 0xDBFF ? unit : 0;
    if (!decoder->high)
        add_code(out, low ? REPLACEMENT : unit);
}

void text_decoder_init(struct text_decoder *decoder, enum text_encoding encoding)
{
    static const size_t marks[] = {[TEXT_UTF8] = 0,
                                   [TEXT_UTF8_MARKED] = 3,
                                   [TEXT_UTF16LE] = 2,
                                   [TEXT_UTF16BE] = 2,
                                   [TEXT_BINARY] = 0};
    *decoder = (struct text_decoder){.encoding = encoding, .mark = marks[encoding]};
}

void text_decode(struct text_decoder *decoder, struct str bytes, struct buf *out)
{
    size_t skipped = bytes.n < decoder->mark ? bytes.n : decoder->mark;
    decoder->mark -= skipped;
    bytes.p += skipped;
    bytes.n -= skipped;
    bool little = decoder->encoding == TEXT_UTF16LE;
    if (!little && decoder->encoding != TEXT_UTF16BE) {
        buf_str(out, bytes);
        return;
    }
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char byte = (unsigned char)bytes.p[i];
        if (decoder->held == HALF_NONE) {
            decoder->half = byte;
            decoder->held = HALF_HELD;
            continue;
        }
        decoder->held = HALF_NONE;
        add_unit(decoder,
                 little ? (uint32_t)byte << 8 | decoder->half : (uint32_t)decoder->half << 8 | byte,
                 out);
    }
}

void text_decode_end(struct text_decoder *decoder, struct buf *out)
{
    if (decoder->high || decoder->held == HALF_HELD)
        add_code(out, 0xFFFD);
    decoder->high = 0;
    decoder->held = HALF_NONE;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Text in Latin-1 has no sequence that is UTF-8 by accident, and none of its control characters. */
static bool looks_like_latin1(struct str line)
{
    while (line.n > 0) {
        uint32_t code;
        size_t length = utf8_next(line, &code);
        unsigned char first = (unsigned char)line.p[0];
        if (code != UTF8_BAD && length > 1)
            return false;
        if (code == UTF8_BAD)
            length = 1;
        if (first >= 0x80 && first < 0xA0)
            return false;
        line.p += length;
        line.n -= length;
    }
    return true;
}

enum text_line text_line(struct buf *out, struct str line)
{
    if (utf8_valid(line) == line.n) {
        buf_str(out, line);
        return TEXT_LINE_VALID;
    }
    if (!looks_like_latin1(line)) {
        utf8_mend(out, line);
        return TEXT_LINE_MENDED;
    }
    for (size_t i = 0; i < line.n; i++)
        add_code(out, (unsigned char)line.p[i]);
    return TEXT_LINE_LATIN1;
}
