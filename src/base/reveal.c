/* utf8_reveal: what must not be hidden from a person who decides. Pure; any thread. */
#include <stdio.h>
#include <utf8proc.h>

#include "base/utf8.h"

/* Letters and symbols that are drawn as nothing, though Unicode gives them a width. */
static bool is_blank(uint32_t code)
{
    return code == 0x115F || code == 0x1160 || code == 0x2800 || code == 0x3164 || code == 0xFFA0;
}

static bool is_seen(uint32_t code)
{
    if (code < 0x7F)
        return code >= ' ';
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return !is_blank(code) && utf8proc_charwidth((utf8proc_int32_t)code) > 0;
    }
}

size_t utf8_reveal(struct str text, char mark[UTF8_MARK], int *width)
{
    uint32_t code;
    size_t length = utf8_next(text, &code);
    mark[0] = '\0';
    if (code == UTF8_BAD) {
        /* One byte at a time: each is named. */
        *width = snprintf(mark, UTF8_MARK, "<0x%02X>", (unsigned)(uint8_t)text.p[0]);
        return 1;
    }
    if (is_seen(code))
        *width = code < 0x7F ? 1 : utf8proc_charwidth((utf8proc_int32_t)code);
    else
        *width = snprintf(mark, UTF8_MARK, "<U+%04X>", (unsigned)code);
    return length;
}
