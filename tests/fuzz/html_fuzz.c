/* Pages to Markdown: any bytes end, within the buffers, and give text that is valid where the page was. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/html.h"

#define OUT_MAX (1u << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text, title;
    if (size > 1 << 15)
        return 0;
    /* An exact copy, so that the sanitizer sees a read past it. */
    char *page = malloc(size ? size : 1);
    memcpy(page, data, size);
    struct str html = {page, size};
    buf_init(&text, OUT_MAX);
    buf_init(&title, 4096);
    html_to_markdown(html, "https://example.org/a/b", &text, &title);
    assert(text.n <= OUT_MAX);
    assert(utf8_valid(buf_view(&title)) == title.n);
    if (!text.failed && utf8_valid(html) == html.n)
        assert(utf8_valid(buf_view(&text)) == text.n);
    assert(text.n == 0 || text.failed || text.p[text.n - 1] == '\n');
    buf_release(&text);
    buf_release(&title);
    free(page);
    return 0;
}
