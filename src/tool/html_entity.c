/* Character references of HTML: numbers, and the names that pages use (those of HTML 4 and some of the newer ones). A name that is
 * not known stays as it is. Pure; any thread. */
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/html_token.h"

#define REFERENCE_MAX 12 /* bytes between & and ; */

struct entity {
    char name[10];
    uint16_t code;
};

/* Sorted by bytes. */
/* clang-format off */
static const struct entity entities[] = {
    {"AElig", 0xC6}, {"Aacute", 0xC1}, {"Acirc", 0xC2}, {"Agrave", 0xC0}, {"Alpha", 0x391},
    {"Aring", 0xC5}, {"Atilde", 0xC3}, {"Auml", 0xC4}, {"Beta", 0x392}, {"Ccedil", 0xC7},
    {"Chi", 0x3A7}, {"Dagger", 0x2021}, {"Delta", 0x394}, {"ETH", 0xD0}, {"Eacute", 0xC9},
    {"Ecirc", 0xCA}, {"Egrave", 0xC8}, {"Epsilon", 0x395}, {"Eta", 0x397}, {"Euml", 0xCB},
    {"Gamma", 0x393}, {"Iacute", 0xCD}, {"Icirc", 0xCE}, {"Igrave", 0xCC}, {"Iota", 0x399},
    {"Iuml", 0xCF}, {"Kappa", 0x39A}, {"Lambda", 0x39B}, {"Mu", 0x39C}, {"NewLine", 0xA},
    {"Ntilde", 0xD1}, {"Nu", 0x39D}, {"OElig", 0x152}, {"Oacute", 0xD3}, {"Ocirc", 0xD4},
    {"Ograve", 0xD2}, {"Omega", 0x3A9}, {"Omicron", 0x39F}, {"Oslash", 0xD8}, {"Otilde", 0xD5},
    {"Ouml", 0xD6}, {"Phi", 0x3A6}, {"Pi", 0x3A0}, {"Prime", 0x2033}, {"Psi", 0x3A8},
    {"Rho", 0x3A1}, {"Scaron", 0x160}, {"Sigma", 0x3A3}, {"THORN", 0xDE}, {"Tab", 0x9},
    {"Tau", 0x3A4}, {"Theta", 0x398}, {"Uacute", 0xDA}, {"Ucirc", 0xDB}, {"Ugrave", 0xD9},
    {"Upsilon", 0x3A5}, {"Uuml", 0xDC}, {"Xi", 0x39E}, {"Yacute", 0xDD}, {"Yuml", 0x178},
    {"Zeta", 0x396}, {"aacute", 0xE1}, {"acirc", 0xE2}, {"acute", 0xB4}, {"aelig", 0xE6},
    {"agrave", 0xE0}, {"alefsym", 0x2135}, {"alpha", 0x3B1}, {"amp", 0x26}, {"and", 0x2227},
    {"ang", 0x2220}, {"apos", 0x27}, {"aring", 0xE5}, {"ast", 0x2A}, {"asymp", 0x2248},
    {"atilde", 0xE3}, {"auml", 0xE4}, {"bdquo", 0x201E}, {"beta", 0x3B2}, {"brvbar", 0xA6},
    {"bsol", 0x5C}, {"bull", 0x2022}, {"cap", 0x2229}, {"caron", 0x2C7}, {"ccedil", 0xE7},
    {"cedil", 0xB8}, {"cent", 0xA2}, {"check", 0x2713}, {"checkmark", 0x2713}, {"chi", 0x3C7},
    {"circ", 0x2C6}, {"clubs", 0x2663}, {"colon", 0x3A}, {"comma", 0x2C}, {"commat", 0x40},
    {"cong", 0x2245}, {"copy", 0xA9}, {"crarr", 0x21B5}, {"cross", 0x2717}, {"cup", 0x222A},
    {"curren", 0xA4}, {"dArr", 0x21D3}, {"dagger", 0x2020}, {"darr", 0x2193}, {"dash", 0x2010},
    {"deg", 0xB0}, {"delta", 0x3B4}, {"diams", 0x2666}, {"divide", 0xF7}, {"dollar", 0x24},
    {"eacute", 0xE9}, {"ecirc", 0xEA}, {"egrave", 0xE8}, {"empty", 0x2205}, {"emsp", 0x2003},
    {"ensp", 0x2002}, {"epsilon", 0x3B5}, {"equals", 0x3D}, {"equiv", 0x2261}, {"eta", 0x3B7},
    {"eth", 0xF0}, {"euml", 0xEB}, {"euro", 0x20AC}, {"excl", 0x21}, {"exist", 0x2203},
    {"fnof", 0x192}, {"forall", 0x2200}, {"frac12", 0xBD}, {"frac14", 0xBC}, {"frac34", 0xBE},
    {"frasl", 0x2044}, {"gamma", 0x3B3}, {"ge", 0x2265}, {"grave", 0x60}, {"gt", 0x3E},
    {"hArr", 0x21D4}, {"harr", 0x2194}, {"hearts", 0x2665}, {"hellip", 0x2026},
    {"hyphen", 0x2010}, {"iacute", 0xED}, {"icirc", 0xEE}, {"iexcl", 0xA1}, {"igrave", 0xEC},
    {"image", 0x2111}, {"infin", 0x221E}, {"int", 0x222B}, {"iota", 0x3B9}, {"iquest", 0xBF},
    {"isin", 0x2208}, {"iuml", 0xEF}, {"kappa", 0x3BA}, {"lArr", 0x21D0}, {"lambda", 0x3BB},
    {"lang", 0x2329}, {"laquo", 0xAB}, {"larr", 0x2190}, {"lbrace", 0x7B}, {"lbrack", 0x5B},
    {"lceil", 0x2308}, {"ldquo", 0x201C}, {"ldquor", 0x201E}, {"le", 0x2264}, {"lfloor", 0x230A},
    {"lowast", 0x2217}, {"lowbar", 0x5F}, {"loz", 0x25CA}, {"lpar", 0x28}, {"lrm", 0x200E},
    {"lsaquo", 0x2039}, {"lsquo", 0x2018}, {"lsquor", 0x201A}, {"lt", 0x3C}, {"macr", 0xAF},
    {"mdash", 0x2014}, {"micro", 0xB5}, {"middot", 0xB7}, {"minus", 0x2212}, {"mu", 0x3BC},
    {"nabla", 0x2207}, {"nbsp", 0xA0}, {"ndash", 0x2013}, {"ne", 0x2260}, {"ni", 0x220B},
    {"not", 0xAC}, {"notin", 0x2209}, {"nsub", 0x2284}, {"ntilde", 0xF1}, {"nu", 0x3BD},
    {"num", 0x23}, {"oacute", 0xF3}, {"ocirc", 0xF4}, {"oelig", 0x153}, {"ograve", 0xF2},
    {"oline", 0x203E}, {"omega", 0x3C9}, {"omicron", 0x3BF}, {"oplus", 0x2295}, {"or", 0x2228},
    {"ordf", 0xAA}, {"ordm", 0xBA}, {"oslash", 0xF8}, {"otilde", 0xF5}, {"otimes", 0x2297},
    {"ouml", 0xF6}, {"para", 0xB6}, {"part", 0x2202}, {"percnt", 0x25}, {"period", 0x2E},
    {"permil", 0x2030}, {"perp", 0x22A5}, {"phi", 0x3C6}, {"phone", 0x260E}, {"pi", 0x3C0},
    {"piv", 0x3D6}, {"plus", 0x2B}, {"plusmn", 0xB1}, {"pound", 0xA3}, {"prime", 0x2032},
    {"prod", 0x220F}, {"prop", 0x221D}, {"psi", 0x3C8}, {"quest", 0x3F}, {"quot", 0x22},
    {"rArr", 0x21D2}, {"radic", 0x221A}, {"rang", 0x232A}, {"raquo", 0xBB}, {"rarr", 0x2192},
    {"rarrw", 0x219D}, {"rbrace", 0x7D}, {"rbrack", 0x5D}, {"rceil", 0x2309}, {"rdquo", 0x201D},
    {"real", 0x211C}, {"reg", 0xAE}, {"rfloor", 0x230B}, {"rho", 0x3C1}, {"rlm", 0x200F},
    {"rpar", 0x29}, {"rsaquo", 0x203A}, {"rsquo", 0x2019}, {"sbquo", 0x201A}, {"scaron", 0x161},
    {"sdot", 0x22C5}, {"sect", 0xA7}, {"semi", 0x3B}, {"shy", 0xAD}, {"sigma", 0x3C3},
    {"sigmaf", 0x3C2}, {"sim", 0x223C}, {"sol", 0x2F}, {"spades", 0x2660}, {"star", 0x2606},
    {"starf", 0x2605}, {"sub", 0x2282}, {"sube", 0x2286}, {"sum", 0x2211}, {"sup", 0x2283},
    {"sup1", 0xB9}, {"sup2", 0xB2}, {"sup3", 0xB3}, {"supe", 0x2287}, {"szlig", 0xDF},
    {"tau", 0x3C4}, {"there4", 0x2234}, {"theta", 0x3B8}, {"thetasym", 0x3D1},
    {"thinsp", 0x2009}, {"thorn", 0xFE}, {"tilde", 0x2DC}, {"times", 0xD7}, {"trade", 0x2122},
    {"uArr", 0x21D1}, {"uacute", 0xFA}, {"uarr", 0x2191}, {"ucirc", 0xFB}, {"ugrave", 0xF9},
    {"uml", 0xA8}, {"upsih", 0x3D2}, {"upsilon", 0x3C5}, {"uuml", 0xFC}, {"verbar", 0x7C},
    {"vert", 0x7C}, {"weierp", 0x2118}, {"xi", 0x3BE}, {"yacute", 0xFD}, {"yen", 0xA5},
    {"yuml", 0xFF}, {"zeta", 0x3B6}, {"zwj", 0x200D}, {"zwnj", 0x200C},
};
/* clang-format on */

/* What the numbers 128 to 159 mean on pages: Windows-1252. 0 where that has nothing either. */
static const uint16_t windows_1252[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178,
};

uint32_t html_windows_1252(uint8_t byte)
{
    return byte >= 0x80 && byte < 0xA0 ? windows_1252[byte - 0x80] : 0;
}

static int compare_names(const void *key, const void *entry)
{
    return strcmp(key, ((const struct entity *)entry)->name);
}

static uint32_t named(struct str name)
{
    char text[REFERENCE_MAX + 1];
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    const struct entity *found = bsearch(text, entities, sizeof entities / sizeof entities[0],
                                         sizeof entities[0], compare_names);
    return found ? found->code : 0;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static uint32_t numbered(struct str text)
{
    uint32_t base = text.n > 0 && (text.p[0] | 0x20) == 'x' ? 16 : 10, code = 0;
    size_t i = base == 16;
    if (i == text.n)
        return 0;
    for (; i < text.n; i++) {
        uint32_t value = (uint32_t)digit(text.p[i]);
        if (value >= base)
            return 0;
        code = code > 0x10FFFF ? code : code * base + value;
    }
    if (code >= 0x80 && code < 0xA0)
        return html_windows_1252((uint8_t)code);
    bool valid = code > 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return valid ? code : 0xFFFD;
}

/* The reference behind an &: its code, 0 when it is none; *length is what it takes, its ; included. */
static uint32_t reference(struct str rest, size_t *length)
{
    size_t n = 0;
    while (n < rest.n && n < REFERENCE_MAX && rest.p[n] != ';' &&
           (rest.p[n] == '#' || digit(rest.p[n]) < 99 ||
            ((rest.p[n] | 0x20) >= 'a' && (rest.p[n] | 0x20) <= 'z')))
        n++;
    bool closed = n < rest.n && rest.p[n] == ';';
    *length = n + closed;
    if (n > 1 && rest.p[0] == '#')
        return numbered((struct str){rest.p + 1, n - 1});
    return closed && n > 0 ? named((struct str){rest.p, n}) : 0;
}

void html_put(struct buf *out, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xC0 | code >> 6);
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    }
    buf_add(out, bytes, n);
}

void html_decode(struct str text, struct buf *out)
{
    while (text.n > 0) {
        const char *mark = memchr(text.p, '&', text.n);
        size_t plain = mark ? (size_t)(mark - text.p) : text.n, length = 0;
        buf_add(out, text.p, plain);
        text = (struct str){text.p + plain, text.n - plain};
        if (text.n == 0)
            return;
        uint32_t code = reference((struct str){text.p + 1, text.n - 1}, &length);
        html_put(out, code ? code : '&');
        if (code == 0)
            length = 0;
        text = (struct str){text.p + 1 + length, text.n - 1 - length};
    }
}
