/* What people see: the tree, plain lines, JSON lines, and the formats of values. */
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "check.h"
#include "cli/lines.h"
#include "cli/text.h"
#include "cli/tree.h"

#define OUT_MAX ((size_t)1 << 20)

static struct tree_row row(uint32_t parent, enum tree_state state, const char *name)
{
    return (struct tree_row){.parent = parent,
                             .state = state,
                             .name = str_from(name),
                             .tool_limit = 15,
                             .cost_nano = -1};
}

static void render(const struct tree_row *rows, size_t count, struct tree_style style,
                   struct buf *out)
{
    buf_init(out, OUT_MAX);
    tree_render(rows, count, &style, out);
    assert_false(out->failed);
}

static const struct tree_style plain = {100, 0, COLOUR_OFF, GLYPHS_UTF8};

static void children_hang_under_their_parents(void **state)
{
    struct buf out;
    struct tree_row rows[] = {row(0, TREE_WORKING, "root"), row(0, TREE_DONE, "a"),
                              row(1, TREE_FAILED, "a1"), row(0, TREE_WAITING, "b"),
                              row(1, TREE_CANCELLED, "a2")};
    render(rows, 5, plain, &out);
    check_str(buf_view(&out), "● root  0/15 calls · 0 tokens\n"
                              "├─ ✓ a  0/15 calls · 0 tokens\n"
                              "│  ├─ ✗ a1  0/15 calls · 0 tokens\n"
                              "│  └─ ⊘ a2  0/15 calls · 0 tokens\n"
                              "└─ ○ b  0/15 calls · 0 tokens\n");
    buf_release(&out);
}

static void a_row_shows_role_activity_limits_money_and_tail(void **state)
{
    struct buf out;
    struct tree_row rows[] = {row(0, TREE_ASKING, "root")};
    rows[0].role = STR("tester");
    rows[0].activity = STR("waiting for approval");
    rows[0].tool_calls = 3;
    rows[0].tool_limit = -1;
    rows[0].tokens = 12345;
    rows[0].cost_nano = 12300000;
    rows[0].tail = STR("and so on");
    render(rows, 1, plain, &out);
    check_str(buf_view(&out), "? root (tester)  waiting for approval  3 calls · 12.3k tokens · "
                              "$0.0123 › and so on\n");
    buf_release(&out);
}

static void without_utf8_only_ascii_is_drawn(void **state)
{
    struct buf out;
    struct tree_row rows[] = {row(0, TREE_WORKING, "root"), row(0, TREE_DONE, "a"),
                              row(1, TREE_FAILED, "a1"), row(0, TREE_WAITING, "b")};
    struct tree_style style = {24, 0, COLOUR_OFF, GLYPHS_ASCII};
    rows[0].activity = STR("a long activity that has to be cut");
    render(rows, 4, style, &out);
    for (size_t i = 0; i < out.n; i++)
        assert_true((unsigned char)out.p[i] < 128);
    assert_non_null(strstr(out.p, "|- + a"));
    assert_non_null(strstr(out.p, "|  `- x a1"));
    assert_non_null(strstr(out.p, "..."));
    buf_release(&out);
}

/* Calls check for every line, escape sequences taken out. */
static void assert_widths(struct str text, int columns)
{
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        assert_non_null(end);
        struct buf clean;
        buf_init(&clean, OUT_MAX);
        utf8_clean(&clean, (struct str){text.p, (size_t)(end - text.p)}, UTF8_ONE_LINE);
        assert_true(utf8_width(buf_view(&clean)) <= columns);
        buf_release(&clean);
        text.n -= (size_t)(end + 1 - text.p);
        text.p = end + 1;
    }
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    struct tree_row rows[30];
    for (uint32_t i = 0; i < 30; i++) {
        /* A chain, so that the lead grows too. */
        rows[i] = row(i > 0 ? i - 1 : 0, (enum tree_state)(i % TREE_STATE_COUNT),
                      "日本語の名前 with spaces");
        rows[i].role = STR("researcher");
        rows[i].activity = STR("グレップ 検索 👩‍💻 …");
        rows[i].tail = STR("tail tail tail 漢字 tail tail");
    }
    for (int columns = 20; columns < 130; columns++) {
        for (int colour = COLOUR_OFF; colour <= COLOUR_ON; colour++) {
            struct tree_style style = {columns, 0, (enum output_colour)colour, GLYPHS_UTF8};
            struct buf out;
            render(rows, 30, style, &out);
            assert_widths(buf_view(&out), columns);
            buf_release(&out);
        }
    }
}

static void text_from_models_cannot_move_the_cursor(void **state)
{
    struct buf out;
    struct tree_row rows[] = {row(0, TREE_WORKING, "na\x1b[2Jme\nnext")};
    rows[0].activity = STR("evil\x1b]0;title\a\x1b[10A");
    rows[0].tail = STR("\x1b[31mred\r\nline\x9b 2J");
    render(rows, 1, plain, &out);
    assert_null(memchr(out.p, '\x1b', out.n));
    assert_null(memchr(out.p, '\r', out.n));
    assert_ptr_equal(memchr(out.p, '\n', out.n), out.p + out.n - 1);
    buf_release(&out);
}

static void colours_appear_only_when_on(void **state)
{
    struct buf out;
    struct tree_row rows[] = {row(0, TREE_FAILED, "root")};
    struct tree_style style = plain;
    style.colour = COLOUR_ON;
    render(rows, 1, style, &out);
    assert_non_null(strstr(out.p, "\x1b[31m✗\x1b[0m"));
    buf_release(&out);
    render(rows, 1, plain, &out);
    assert_null(memchr(out.p, '\x1b', out.n));
    buf_release(&out);
}

static size_t count_lines(const struct buf *out)
{
    size_t lines = 0;
    for (size_t i = 0; i < out->n; i++)
        lines += out->p[i] == '\n';
    return lines;
}

static void finished_agents_make_room_first_and_are_counted(void **state)
{
    struct tree_row rows[50];
    struct buf out;
    struct tree_style style = plain;
    rows[0] = row(0, TREE_WORKING, "root");
    for (uint32_t i = 1; i < 50; i++)
        rows[i] = row(0, i < 45 ? TREE_DONE : TREE_WORKING, i < 45 ? "old" : "busy");
    style.lines = 10;
    render(rows, 50, style, &out);
    assert_int_equal(count_lines(&out), 10);
    assert_non_null(strstr(out.p, "… 41 more: 41 done, 0 failed, 0 at work, 0 waiting\n"));
    size_t busy = 0;
    for (const char *p = out.p; (p = strstr(p, "busy")) != NULL; p++)
        busy++;
    assert_int_equal(busy, 5);
    buf_release(&out);
}

static void a_parent_stays_while_a_child_is_shown(void **state)
{
    struct buf out;
    struct tree_style style = plain;
    struct tree_row rows[] = {row(0, TREE_WORKING, "root"), row(0, TREE_DONE, "parent"),
                              row(1, TREE_WORKING, "child"), row(0, TREE_DONE, "gone"),
                              row(0, TREE_DONE, "gone")};
    style.lines = 4;
    render(rows, 5, style, &out);
    assert_int_equal(count_lines(&out), 4);
    assert_non_null(strstr(out.p, "parent"));
    assert_non_null(strstr(out.p, "child"));
    assert_null(strstr(out.p, "gone"));
    buf_release(&out);
}

static void a_row_with_a_wrong_parent_hangs_on_the_root(void **state)
{
    struct buf out;
    struct tree_row rows[] = {row(7, TREE_WORKING, "root"), row(1, TREE_DONE, "own"),
                              row(900, TREE_DONE, "far")};
    render(rows, 3, plain, &out);
    check_str(buf_view(&out), "● root  0/15 calls · 0 tokens\n"
                              "├─ ✓ own  0/15 calls · 0 tokens\n"
                              "└─ ✓ far  0/15 calls · 0 tokens\n");
    buf_release(&out);
}

static void nothing_renders_as_nothing(void **state)
{
    struct buf out;
    render(NULL, 0, plain, &out);
    assert_int_equal(out.n, 0);
    buf_release(&out);
}

/* --- formats ----------------------------------------------------------------------------------- */

static void values_read_well(void **state)
{
    struct buf out;
    buf_init(&out, OUT_MAX);
    text_money(&out, 12300000);
    buf_char(&out, ' ');
    text_money(&out, 123456);
    buf_char(&out, ' ');
    text_money(&out, 0);
    buf_char(&out, ' ');
    text_tokens(&out, 950);
    buf_char(&out, ' ');
    text_tokens(&out, 999949);
    buf_char(&out, ' ');
    text_tokens(&out, 999950);
    buf_char(&out, ' ');
    text_duration(&out, 3200);
    buf_char(&out, ' ');
    text_duration(&out, 59999);
    buf_char(&out, ' ');
    text_duration(&out, 125000);
    buf_char(&out, ' ');
    text_duration(&out, 3720000);
    buf_char(&out, ' ');
    text_duration(&out, -1);
    check_str(buf_view(&out),
              "$0.0123 $0.000123 $0.0000 950 999.9k 1.0M 3.2s 59.9s 2m05s 1h02m 0.0s");
    buf_release(&out);
}

static void columns_are_padded_and_cut_by_width(void **state)
{
    struct buf out;
    buf_init(&out, OUT_MAX);
    text_column(&out, STR("ab"), 4, ELLIPSIS_UTF8);
    text_column(&out, STR("日本語"), 5, ELLIPSIS_UTF8);
    text_column(&out, STR("abcdefgh"), 6, ELLIPSIS_ASCII);
    check_str(buf_view(&out), "ab  日本…abc...");
    buf_release(&out);
}

static void the_gist_of_a_call_is_its_telling_argument(void **state)
{
    const struct {
        const char *arguments, *gist;
    } cases[] = {
        {"{\"limit\":3,\"path\":\"src/x.c\"}", "src/x.c"},
        {"{\"path\":\"src\",\"pattern\":\"TODO\"}", "TODO"},
        {"{\"other\":\"text\\nmore\"}", "text more"},
        {"{\"path\":\"b\\u202ec.txt\"}", "\"b\\342\\200\\256c.txt\""},
        {"{\"path\":\"a\\u001b[2J\\nb\"}", "\"a\\033[2J\\nb\""},
        {"{\"path\":\"\\\"d\\\\rr/x\\\"\"}", "\"d\\rr/x\""},
        {"{\"path\":7}", ""},
        {"{}", ""},
        {"not json", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, OUT_MAX);
        text_gist(&out, str_from(cases[i].arguments));
        check_str(buf_view(&out), cases[i].gist);
        buf_release(&out);
    }
}

/* --- lines ------------------------------------------------------------------------------------- */

static struct event_row event(const char *type, const char *payload)
{
    return (struct event_row){.seq = 7,
                              .ts = 43262000,
                              .version = 1,
                              .type = str_from(type),
                              .summary = STR("the summary"),
                              .payload = str_from(payload)};
}

static void assert_line(const char *type, const char *payload, const char *line)
{
    struct buf out;
    struct event_row row_of = event(type, payload);
    buf_init(&out, OUT_MAX);
    lines_event(&row_of, STR("agent-1"), &out);
    check_str(buf_view(&out), line);
    buf_release(&out);
}

static void important_events_get_a_line(void **state)
{
    assert_line("tool.requested", "{\"tool\":\"read\",\"arguments\":{\"path\":\"src/x.c\"}}",
                "12:01:02 agent-1           tool     read src/x.c\n");
    assert_line("model.replied", "{\"text\":\"Hello\\nthere\"}",
                "12:01:02 agent-1           says     Hello there\n");
    assert_line("tool.finished", "{\"outcome\":\"error\",\"text\":\"Error: no\"}",
                "12:01:02 agent-1           error    Error: no\n");
    assert_line("agent.subagent_closed", "{}", "12:01:02 agent-1           closed   the summary\n");
    assert_line("contract.clamped",
                "{\"clamps\":[{\"field\":\"a.b\",\"by\":\"parent\"},{\"field\":\"c\",\"by\":"
                "\"config\"}]}",
                "12:01:02 agent-1           clamped  a.b by parent, c by config\n");
    assert_line("agent.subagent_attempt", "{\"attempt\":1}",
                "12:01:02 agent-1           retry    attempt 2\n");
}

static void events_that_say_little_get_none(void **state)
{
    assert_line("model.requested", "{}", "");
    assert_line("budget.settled", "{}", "");
    assert_line("tool.finished", "{\"outcome\":\"ok\",\"text\":\"fine\"}", "");
    assert_line("model.replied", "{\"text\":\"\",\"calls\":[]}", "");
    assert_line("agent.subagent_attempt", "{\"attempt\":0}", "");
}

static void a_line_is_one_line_whatever_the_event_holds(void **state)
{
    struct buf out;
    struct event_row row_of =
        event("model.replied", "{\"text\":\"a\\u001b[2J\\nb\\u0007\\u009b31m\\u202e\"}");
    buf_init(&out, OUT_MAX);
    lines_event(&row_of, STR("na\x1b[1mme\n"), &out);
    assert_null(memchr(out.p, '\x1b', out.n));
    assert_ptr_equal(memchr(out.p, '\n', out.n), out.p + out.n - 1);
    buf_release(&out);
}

static void broken_payloads_are_survived(void **state)
{
    assert_line("tool.requested", "not json", "12:01:02 agent-1           tool      \n");
    assert_line("model.replied", "[1]", "");
    assert_line("agent.subagent_closed", "not json",
                "12:01:02 agent-1           closed   the summary\n");
}

static void a_json_line_holds_the_whole_event(void **state)
{
    struct buf out;
    struct err err = ERR_INIT;
    /* Arguments as a model may lay them out. */
    struct event_row row_of = event("tool.requested", "{\"arguments\":{\n\"path\":\r\n\"x\\n\"}}");
    buf_init(&out, OUT_MAX);
    lines_json(&row_of, STR("RUN"), STR("AGENT"), &out);
    assert_null(memchr(out.p, '\n', out.n));
    struct js *doc = js_parse(buf_view(&out), &err);
    assert_non_null(doc);
    check_str(js_get_str(doc, "type"), "event");
    check_str(js_get_str(doc, "run_id"), "RUN");
    check_str(js_get_str(doc, "agent_id"), "AGENT");
    check_str(js_get_str(doc, "event"), "tool.requested");
    check_str(js_get_str(doc, "summary"), "the summary");
    assert_int_equal(js_get_int(doc, "seq", 0), 7);
    assert_int_equal(js_get_int(doc, "ts", 0), 43262000);
    check_str(js_get_str(js_get(js_get(doc, "payload"), "arguments"), "path"), "x\n");
    js_free(doc);
    buf_release(&out);
}

static void a_purged_payload_is_null(void **state)
{
    struct buf out;
    struct event_row row_of = event("tool.requested", NULL);
    buf_init(&out, OUT_MAX);
    lines_json(&row_of, STR("R"), STR("A"), &out);
    assert_non_null(strstr(out.p, "\"payload\":null}"));
    buf_release(&out);
}

int main(void)
{
    /* Lines show local time. */
    setenv("TZ", "UTC", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_hang_under_their_parents),
        cmocka_unit_test(a_row_shows_role_activity_limits_money_and_tail),
        cmocka_unit_test(without_utf8_only_ascii_is_drawn),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(text_from_models_cannot_move_the_cursor),
        cmocka_unit_test(colours_appear_only_when_on),
        cmocka_unit_test(finished_agents_make_room_first_and_are_counted),
        cmocka_unit_test(a_parent_stays_while_a_child_is_shown),
        cmocka_unit_test(a_row_with_a_wrong_parent_hangs_on_the_root),
        cmocka_unit_test(nothing_renders_as_nothing),
        cmocka_unit_test(values_read_well),
        cmocka_unit_test(columns_are_padded_and_cut_by_width),
        cmocka_unit_test(the_gist_of_a_call_is_its_telling_argument),
        cmocka_unit_test(important_events_get_a_line),
        cmocka_unit_test(events_that_say_little_get_none),
        cmocka_unit_test(a_line_is_one_line_whatever_the_event_holds),
        cmocka_unit_test(broken_payloads_are_survived),
        cmocka_unit_test(a_json_line_holds_the_whole_event),
        cmocka_unit_test(a_purged_payload_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
