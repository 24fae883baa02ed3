/* model/thinking: which part of a text is reasoning, however the text is cut. */
#include "model/thinking.h"

#include "base/buf.h"
#include "check.h"

struct heard {
    struct buf answer, reasoning;
};

static void on_answer(void *user, struct str text)
{
    buf_str(&((struct heard *)user)->answer, text);
}

static void on_reasoning(void *user, struct str text)
{
    buf_str(&((struct heard *)user)->reasoning, text);
}

enum late { TOLD_RIGHT, TOLD_LATE };

/* Feeds the text in two pieces, at every place, and byte by byte. LATE: a part was told as
 * answer before it was known. */
static void check_late(const char *text, const char *answer, const char *reasoning, enum late late)
{
    struct str all = str_from(text);
    for (size_t cut = 0; cut <= all.n + 1; cut++) {
        struct thinking thinking = {0};
        struct heard heard;
        const struct thinking_sink sink = {on_answer, on_reasoning, &heard};
        buf_init(&heard.answer, 10000);
        buf_init(&heard.reasoning, 10000);
        for (size_t n = cut <= all.n ? cut : 1; n < all.n; n = cut <= all.n ? all.n : n + 1)
            thinking_read(&thinking, (struct str){text, n}, THINKING_MORE, &sink);
        thinking_read(&thinking, all, THINKING_END, &sink);
        check_str(thinking_answer(&thinking, all), answer);
        if (late == TOLD_RIGHT) {
            check_str(buf_view(&heard.answer), answer);
            check_str(buf_view(&heard.reasoning), reasoning);
        }
        buf_release(&heard.answer);
        buf_release(&heard.reasoning);
    }
}

static void check_text(const char *text, const char *answer, const char *reasoning)
{
    check_late(text, answer, reasoning, TOLD_RIGHT);
}

static void a_block_at_the_start_is_reasoning(void **state)
{
    check_text("<think>a</think>b", "b", "a");
    check_text(" \n<think>\na < b\n</think>\n\nb", "b", "\na < b\n");
    check_text("<thinking>a</think></thinking>b", "b", "a</think>");
    check_text("<think></think>b", "b", "");
    check_text("<think>a</think><think>b</think> c", "c", "ab");
}

static void text_without_a_block_stays_as_it_is(void **state)
{
    check_text("", "", "");
    check_text("  \n", "  \n", "");
    check_text(" a < b", " a < b", "");
    check_text("<thin", "<thin", "");
    check_text("<thinker>", "<thinker>", "");
    check_text("Use <think> tags.\n</think>\n", "Use <think> tags.\n</think>\n", "");
}

static void a_block_that_never_ends_leaves_no_answer(void **state)
{
    check_text("<think>a", "", "a");
    check_text("<think>a</thin", "", "a</thin");
}

static void a_closing_tag_alone_ends_the_reasoning(void **state)
{
    check_late("so it is\n</think>\n\nb", "b", "", TOLD_LATE);
    check_late("so it is</think>\nb", "b", "", TOLD_LATE);
    check_late("so it is\n</think>", "", "", TOLD_LATE);
}

static void a_closing_tag_that_is_only_mentioned_is_text(void **state)
{
    check_text("End it with </think> always", "End it with </think> always", "");
    check_text("End it with `</think>\n`", "End it with `</think>\n`", "");
    check_text("<think>a</think>b\n</think>\nc", "b\n</think>\nc", "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_at_the_start_is_reasoning),
        cmocka_unit_test(text_without_a_block_stays_as_it_is),
        cmocka_unit_test(a_block_that_never_ends_leaves_no_answer),
        cmocka_unit_test(a_closing_tag_alone_ends_the_reasoning),
        cmocka_unit_test(a_closing_tag_that_is_only_mentioned_is_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
