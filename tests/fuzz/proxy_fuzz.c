/* Fuzzes what the proxy reads from commands. The first byte says what the rest is: a request's head, a ClientHello or a body in chunks.
 * A request that is taken names a host and one of two ports, and what is printed of it is one head with one Host. A ClientHello says
 * the same whole as it does in pieces. A body has the same bytes however it is cut, and nothing behind its end is used. */
#include <stdlib.h>

#include "net/proxy_chunk.h"
#include "net/proxy_hello.h"
#include "net/proxy_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void fuzz_request(struct str bytes)
{
    static struct proxy_request request;
    struct err err = ERR_INIT;
    struct buf out;
    int status = 0;
    buf_init(&out, 1 << 20);
    if (proxy_request_read(bytes, &request, &err) == 0) {
        struct str host = {request.host, strlen(request.host)};
        require(host_name_ok(host) && !host_is_address(host));
        require(request.port == (request.kind == PROXY_TUNNEL ? 443 : 80));
        proxy_request_print(&request, NULL, 0, &out);
        require(out.failed || proxy_head_end(buf_view(&out)) == out.n);
    } else {
        require(err.class == ERR_USAGE || err.class == ERR_DENIED);
    }
    buf_clear(&out);
    if (proxy_answer_print(bytes, &status, &out, &err) == 0)
        require(status >= 100 && status <= 999 && proxy_head_end(buf_view(&out)) == out.n);
    buf_release(&out);
}

static void fuzz_hello(struct str bytes)
{
    char name[HOST_NAME_MAX_BYTES + 1], early[HOST_NAME_MAX_BYTES + 1];
    enum proxy_hello whole = proxy_hello_read(bytes, name);
    if (whole == HELLO_NAMED)
        require(host_name_ok((struct str){name, strlen(name)}));
    for (size_t n = 0; n < bytes.n && n < 512; n++) {
        enum proxy_hello part = proxy_hello_read((struct str){bytes.p, n}, early);
        if (part == HELLO_MORE)
            continue;
        /* What was decided early stays so, whatever follows. */
        require(part == whole && (part != HELLO_NAMED || strcmp(name, early) == 0));
        break;
    }
}

/* The decoded bytes of what was printed, which has sizes that are right. */
static void fuzz_chunks(struct str bytes)
{
    struct proxy_chunk whole = {0}, single = {0}, again = {0};
    struct buf out, other, third;
    buf_init(&out, 1 << 22);
    buf_init(&other, 1 << 22);
    buf_init(&third, 1 << 22);
    size_t used = proxy_chunk_read(&whole, bytes, &out), one = 0;
    while (one < bytes.n && single.state != CHUNK_DONE && single.state != CHUNK_BROKEN)
        one += proxy_chunk_read(&single, (struct str){bytes.p + one, 1}, &other);
    require(used == one && whole.state == single.state && whole.left == single.left);
    if (whole.state == CHUNK_DONE) {
        require(proxy_chunk_read(&again, buf_view(&out), &third) == out.n);
        require(again.state == CHUNK_DONE && third.n == out.n);
    }
    buf_release(&out);
    buf_release(&other);
    buf_release(&third);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    char *copy = malloc(n > 1 ? n - 1 : 1); /* of its own, so that a byte too far is noticed */
    require(copy != NULL);
    memcpy(copy, bytes + 1, n - 1);
    struct str rest = {copy, n - 1};
    if (bytes[0] % 3 == 0)
        fuzz_request(rest);
    else if (bytes[0] % 3 == 1)
        fuzz_hello(rest);
    else
        fuzz_chunks(rest);
    free(copy);
    return 0;
}
