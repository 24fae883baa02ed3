/* Fuzzes model/thinking: however a text is cut, the answer is the same end of it, the two parts
 * are told in order and never twice, and nothing of a text without tags is reasoning. The
 * input's first two bytes choose the cuts. */
#include <stdlib.h>

#include "base/buf.h"
#include "model/thinking.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct told {
    struct buf answer, reasoning;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void on_answer(void *user, struct str text)
{
    require(text.n > 0);
    buf_str(&((struct told *)user)->answer, text);
}

static void on_reasoning(void *user, struct str text)
{
    require(text.n > 0);
    buf_str(&((struct told *)user)->reasoning, text);
}

static struct str run(struct str text, uint32_t seed, size_t longest, struct told *told)
{
    struct thinking thinking = {0};
    const struct thinking_sink sink = {on_answer, on_reasoning, told};
    buf_init(&told->answer, text.n + 1);
    buf_init(&told->reasoning, text.n + 1);
    for (size_t at = 0; longest > 0 && at < text.n;) {
        seed = seed * 1664525u + 1013904223u;
        at += (seed >> 16) % longest + 1;
        if (at < text.n)
            thinking_read(&thinking, (struct str){text.p, at}, THINKING_MORE, &sink);
    }
    thinking_read(&thinking, text, THINKING_END, &sink);
    return thinking_answer(&thinking, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct told whole, cut;
    if (n < 3)
        return 0;
    char *copy = malloc(n - 2);
    require(copy != NULL);
    memcpy(copy, bytes + 2, n - 2);
    struct str text = {copy, n - 2};
    struct str one = run(text, 0, 0, &whole);
    struct str other = run(text, bytes[0], (size_t)bytes[1] % 16 + 1, &cut);
    require(str_eq(one, other) && (one.n == 0 || one.p + one.n == text.p + text.n));
    require(!whole.answer.failed && !whole.reasoning.failed && !cut.answer.failed);
    require(str_eq(buf_view(&whole.reasoning), buf_view(&cut.reasoning)));
    require(memmem(text.p, text.n, "<think", 6) || whole.reasoning.n == 0);
    require(memmem(text.p, text.n, "think", 5) || one.n == text.n);
    buf_release(&whole.answer);
    buf_release(&whole.reasoning);
    buf_release(&cut.answer);
    buf_release(&cut.reasoning);
    free(copy);
    return 0;
}
