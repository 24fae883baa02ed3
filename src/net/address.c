/* See address.h. The tables follow IANA's registries of special purpose addresses. */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct range4 {
    uint32_t start;
    uint8_t bits;
    const char *words;
};

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

static const struct range4 ranges4[] = {
    {IPV4(0, 0, 0, 0), 8, "an address of this machine's own network"},
    {IPV4(10, 0, 0, 0), 8, "a private address"},
    {IPV4(100, 64, 0, 0), 10, "a private address of a provider (CGNAT)"},
    {IPV4(127, 0, 0, 0), 8, "a loopback address"},
    {IPV4(169, 254, 0, 0), 16, "a link-local address"},
    {IPV4(172, 16, 0, 0), 12, "a private address"},
    {IPV4(192, 0, 0, 0), 24, "a reserved address"},
    {IPV4(192, 0, 2, 0), 24, "an address for documentation"},
    {IPV4(192, 31, 196, 0), 24, "a reserved address"},
    {IPV4(192, 52, 193, 0), 24, "a reserved address"},
    {IPV4(192, 88, 99, 0), 24, "a reserved address"},
    {IPV4(192, 168, 0, 0), 16, "a private address"},
    {IPV4(192, 175, 48, 0), 24, "a reserved address"},
    {IPV4(198, 18, 0, 0), 15, "an address for benchmarks"},
    {IPV4(198, 51, 100, 0), 24, "an address for documentation"},
    {IPV4(203, 0, 113, 0), 24, "an address for documentation"},
    {IPV4(224, 0, 0, 0), 4, "a multicast address"},
    {IPV4(240, 0, 0, 0), 4, "a reserved address"},
};

/* Where in an IPv6 address an IPv4 one stands, and whether its bits are turned over. */
enum carried { CARRIES_NOTHING, CARRIES_LAST, CARRIES_6TO4, CARRIES_TEREDO };

struct range6 {
    uint8_t start[16];
    uint8_t bits;
    enum carried carried;
    const char *words;
};

/* The first range that holds the address counts. */
static const struct range6 ranges6[] = {
    {{0}, 128, CARRIES_NOTHING, "an address of this machine's own network"},
    {{[15] = 1}, 128, CARRIES_NOTHING, "a loopback address"},
    {{[10] = 0xFF, 0xFF}, 96, CARRIES_LAST, NULL},      /* IPv4-mapped */
    {{[8] = 0xFF, 0xFF}, 96, CARRIES_LAST, NULL},       /* IPv4-translated */
    {{0}, 96, CARRIES_LAST, "a reserved address"},      /* IPv4-compatible */
    {{0x00, 0x64, 0xFF, 0x9B}, 96, CARRIES_LAST, NULL}, /* NAT64 */
    {{0x00, 0x64, 0xFF, 0x9B, 0, 1}, 48, CARRIES_NOTHING, "a private address (NAT64)"},
    {{0x01}, 64, CARRIES_NOTHING, "a reserved address"}, /* discard only */
    {{0x20, 0x01, 0, 0}, 32, CARRIES_TEREDO, NULL},
    {{0x20, 0x01}, 23, CARRIES_NOTHING, "a reserved address"},
    {{0x20, 0x01, 0x0D, 0xB8}, 32, CARRIES_NOTHING, "an address for documentation"},
    {{0x20, 0x02}, 16, CARRIES_6TO4, NULL},
    {{0x3F, 0xFF}, 20, CARRIES_NOTHING, "an address for documentation"},
    {{0x5F, 0x00}, 16, CARRIES_NOTHING, "a reserved address"}, /* segment routing */
    {{0xFC}, 7, CARRIES_NOTHING, "a private address"},
    {{0xFE, 0x80}, 10, CARRIES_NOTHING, "a link-local address"},
    {{0xFE, 0xC0}, 10, CARRIES_NOTHING, "a private address"},
    {{0xFF}, 8, CARRIES_NOTHING, "a multicast address"},
};

static const char *ipv4_not_public(uint32_t address)
{
    for (size_t i = 0; i < sizeof ranges4 / sizeof ranges4[0]; i++) {
        uint32_t mask = UINT32_MAX << (32 - ranges4[i].bits);
        if ((address & mask) == ranges4[i].start)
            return ranges4[i].words;
    }
    return NULL;
}

static bool starts_with_bits(const uint8_t *address, const uint8_t *start, uint8_t bits)
{
    size_t whole = bits / 8;
    uint8_t mask = (uint8_t)(0xFF00 >> bits % 8);
    return memcmp(address, start, whole) == 0 &&
           (bits % 8 == 0 || (address[whole] & mask) == (start[whole] & mask));
}

static uint32_t ipv4_at(const uint8_t *bytes)
{
    return IPV4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

static const char *ipv6_not_public(const uint8_t address[16])
{
    for (size_t i = 0; i < sizeof ranges6 / sizeof ranges6[0]; i++) {
        const struct range6 *range = &ranges6[i];
        if (!starts_with_bits(address, range->start, range->bits))
            continue;
        const char *inner = NULL;
        if (range->carried == CARRIES_LAST)
            inner = ipv4_not_public(ipv4_at(address + 12));
        else if (range->carried == CARRIES_6TO4)
            inner = ipv4_not_public(ipv4_at(address + 2));
        else if (range->carried == CARRIES_TEREDO)
            inner = ipv4_not_public(~ipv4_at(address + 12));
        return inner ? inner : range->words;
    }
    /* Only 2000::/3 has been given out. */
    return (address[0] & 0xE0) == 0x20 ? NULL : "a reserved address";
}

const char *address_not_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ipv4_not_public(
            ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    if (address->sa_family == AF_INET6)
        return ipv6_not_public(
            ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return "an address that is neither IPv4 nor IPv6";
}

void address_print(const struct sockaddr *address, struct buf *out)
{
    char text[INET6_ADDRSTRLEN] = "";
    const void *bytes = NULL;
    if (address->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (bytes && inet_ntop(address->sa_family, bytes, text, sizeof text))
        buf_text(out, text);
}

/* Digits behind the last colon. */
static bool port_read(const char *text, uint16_t *port)
{
    size_t n = strspn(text, "0123456789");
    unsigned long number = n > 0 && n <= 5 && text[n] == '\0' ? strtoul(text, NULL, 10) : 0;
    *port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX;
}

bool address_read(struct str text, struct sockaddr_storage *out)
{
    char host[80];
    uint16_t port = 0;
    struct sockaddr_in *four = (void *)out;
    struct sockaddr_in6 *six = (void *)out;
    *out = (struct sockaddr_storage){0};
    if (text.n == 0 || text.n >= sizeof host || memchr(text.p, '\0', text.n) != NULL)
        return false;
    snprintf(host, sizeof host, "%.*s", STR_FMT(text));
    char *first = strchr(host, ':'), *last = strrchr(host, ':'), *start = host;
    if (host[0] == '[') {
        char *end = strchr(host, ']');
        if (end == NULL || (end[1] != '\0' && (end[1] != ':' || !port_read(end + 2, &port))))
            return false;
        *end = '\0';
        start = host + 1;
    } else if (first != NULL && first == last) {
        if (!port_read(last + 1, &port))
            return false;
        *last = '\0';
    }
    if (inet_pton(AF_INET, start, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return start == host;
    }
    if (inet_pton(AF_INET6, start, &six->sin6_addr) != 1)
        return false;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    return true;
}
