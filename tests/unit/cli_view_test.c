/* cli/view: what a row says while an agent's request waits for its provider. */
#include "check.h"
#include "cli/view.h"

static const struct tree_style plain = {100, 0, COLOUR_OFF, GLYPHS_UTF8};

static void check_row(const struct view *view, int64_t now, const char *text)
{
    struct buf out;
    buf_init(&out, 4096);
    view_render(view, now, &plain, &out);
    check_str(buf_view(&out), text);
    buf_release(&out);
}

static void a_waiting_request_says_for_what_and_how_long_until_it_leaves(void **state)
{
    struct view_agent agent = {.state = TREE_WORKING,
                               .id = "x",
                               .name = "root",
                               .activity = "asking the model",
                               .since = 1000,
                               .tool_limit = 15,
                               .cost_nano = -1};
    struct view view = {.agents = &agent, .count = 1, .capacity = 1};
    check_row(&view, 2000, "● root  asking the model 1.0s  0/15 calls · 0 tokens\n");
    view_waiting(&view, 0, STR("64 at once"), 2000);
    check_row(&view, 5000,
              "○ root  waiting for the provider (64 at once, 3.0s)  0/15 calls · 0 tokens\n");
    view_waiting(&view, 0, STR("429"), 5000);
    check_row(&view, 14000,
              "○ root  waiting for the provider (429, 12.0s)  0/15 calls · 0 tokens\n");
    view_waiting(&view, 0, STR(""), 14000);
    check_row(&view, 15000, "● root  asking the model 14.0s  0/15 calls · 0 tokens\n");
    view_waiting(&view, 7, STR("429"), 15000); /* an agent that is not known yet */
    assert_int_equal(view.count, 1);
}

static void reasoning_is_shown_until_text_comes(void **state)
{
    struct view_agent agent = {
        .state = TREE_WORKING, .id = "x", .name = "root", .tool_limit = 15, .cost_nano = -1};
    struct view view = {.agents = &agent, .count = 1, .capacity = 1};
    view_reasoning(&view, 0, STR("I look"));
    view_reasoning(&view, 0, STR(" at\nit\x1b[31m"));
    check_row(&view, 0, "● root  0/15 calls · 0 tokens › thinks: I look at it\n");
    view_delta(&view, 0, STR("Done"));
    check_row(&view, 0, "● root  0/15 calls · 0 tokens › Done\n");
    view_reasoning(&view, 7, STR("I look")); /* an agent that is not known yet */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiting_request_says_for_what_and_how_long_until_it_leaves),
        cmocka_unit_test(reasoning_is_shown_until_text_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
