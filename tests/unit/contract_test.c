/* Finished contracts: the JSON both ways, what a contract permits, whether one lies within
 * another; and the JSON of settings and money. How contracts are made is derive_test's. */
#include <math.h>

#include "contract_fixture.h"

/* The document */

static void print(const struct contract *contract, struct buf *out)
{
    buf_init(out, 1 << 20);
    contract_print(contract, out);
    assert_false(out->failed);
}

static void the_document_has_all_sections_and_keys_in_order(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    static const char *const order[] = {
        "{\"contract_version\":2,\"agent\":{\"id\":",
        "\"name\":",
        "\"role\":null",
        "\"profile_id\":null",
        "\"agent_id\":null",
        "\"depth\":1",
        "\"runner\":\"native\"",
        "\"parent\":{\"run_id\":",
        "\"agent_id\":",
        "\"session_id\":",
        "\"step_idx\":",
        "\"task_prompt\":",
        "\"goal_summary\":",
        "\"step\":{\"title\":",
        "\"description\":",
        "\"success_criteria\":[]",
        "\"model\":{\"pool\":null",
        "\"name\":\"small\"",
        "\"provider\":\"local\"",
        "\"model\":\"qwen\"",
        "\"allowed_models\":[",
        "\"params\":{\"temperature\":null",
        "\"effort\":null",
        "\"max_output_tokens\":4096}",
        "\"permissions\":{\"mode\":\"auto\"",
        "\"allowed_tools\":[",
        "\"tool_modes\":{\"read\":\"allow\"",
        "\"skills\":[]",
        "\"mcp_servers\":[]",
        "\"read_paths\":[\".\"]",
        "\"write_paths\":[\".\"]",
        "\"network\":\"none\"",
        "\"can_spawn_children\":true",
        "\"max_delegation_depth\":2",
        "\"spawn_roles\":null",
        "\"execution\":{\"attempt_timeout_ms\":null",
        "\"max_retries\":1",
        "\"close_on_completion\":true",
        "\"working_directory\":\".\"",
        "\"budget\":{\"tool_calls\":15,\"turns\":null,\"context_tokens\":8192,\"tokens\":null,",
        "\"cost_usd\":1,\"wall_ms\":null}",
        "\"isolation\":{\"strategy\":\"shared\"",
        "\"base_ref\":null",
        "\"ownership\":null",
        "\"integration_order\":3",
        "\"outputs\":{\"report_format\":\"markdown\"",
        "\"report_path_pattern\":\".cadre/reports/<run>/<agent>-step-<idx>-result.md\"",
        "\"gate\":\"parent\"",
        "\"schema\":null",
        "\"checks\":[]",
        "\"receipt\":{\"door\":\"spawn_agent\"",
        "\"prompt_hash\":",
        "\"clamps\":[]}}",
    };
    struct buf text;
    print(&f->child, &text);
    const char *at = text.p;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        at = strstr(at, order[i]);
        if (!at)
            fail_msg("%s is missing or out of order in %s", order[i], text.p);
    }
    buf_release(&text);
}

static void reading_what_was_printed_prints_the_same_bytes(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("tester");
    f->request.asked.tool_calls = 500;
    f->request.asked.cost_nano = 5000000000;
    f->facts.remaining_cost_nano = 1;
    derive_ok(f);
    f->child.model.params.temperature = 0.2;
    f->child.outputs.schema = STR("{\"type\":\"object\"}");
    struct buf once, twice;
    struct contract read;
    print(&f->child, &once);
    if (contract_parse(&f->arena, buf_view(&once), &read, &f->err) != 0)
        fail_msg("%s", f->err.message);
    print(&read, &twice);
    assert_string_equal(once.p, twice.p);
    buf_release(&once);
    buf_release(&twice);
}

/* The printed contract with one text replaced by another. */
static struct str document_with(struct fixture *f, const char *from, const char *to)
{
    struct buf text;
    print(&f->child, &text);
    char *at = strstr(text.p, from);
    if (!at)
        fail_msg("%s is not in the document", from);
    struct str out =
        arena_printf(&f->arena, "%.*s%s%s", (int)(at - text.p), text.p, to, at + strlen(from));
    buf_release(&text);
    return out;
}

static void a_damaged_document_is_refused_and_permits_nothing(void **state)
{
    struct fixture *f = *state;
    f->request.allowed_tools = LIST("read");
    f->request.asked.tool_calls = 200;
    derive_ok(f);
    static const char *const rows[][3] = {
        {"\"contract_version\":2", "\"contract_version\":3", "contract_version"},
        {"\"contract_version\":2", "\"contract_version\":\"2\"", "contract_version"},
        {"\"contract_version\":2,", "", "contract_version: missing"},
        {"\"permissions\":{", "\"permission\":{", "permission"},
        {"\"outputs\":{", "\"outputs\":null,\"more\":{", "more"},
        {"\"allowed_tools\":[\"read\"]", "\"allowed_tools\":null", "permissions.allowed_tools"},
        {"\"allowed_tools\":[\"read\"]", "\"allowed_tools\":[1]", "permissions.allowed_tools[0]"},
        {"\"allowed_tools\":[\"read\"],", "", "permissions.allowed_tools: missing"},
        {"\"read\":\"allow\"", "\"read\":\"maybe\"", "permissions.tool_modes.read"},
        {"\"mode\":\"auto\"", "\"mode\":\"yolo\"", "permissions.mode"},
        {"\"mode\":\"auto\"", "\"mode\":1", "permissions.mode"},
        {"\"can_spawn_children\":false", "\"can_spawn_children\":0",
         "permissions.can_spawn_children"},
        {"\"tool_calls\":100", "\"tool_calls\":-1", "execution.budget.tool_calls"},
        {"\"tool_calls\":100", "\"tool_calls\":\"abc\"", "execution.budget.tool_calls"},
        {"\"tool_calls\":100", "\"tool_calls\":1.5", "execution.budget.tool_calls"},
        {"\"cost_usd\":1", "\"cost_usd\":-1", "execution.budget.cost_usd"},
        {"\"cost_usd\":1", "\"cost_usd\":1e300", "execution.budget.cost_usd"},
        {"\"wall_ms\":null", "\"wall_ms\":null,\"wall\":1", "execution.budget: unknown key"},
        {"\"depth\":1", "\"depth\":1,\"depth\":0", "twice"},
        {"\"door\":\"spawn_agent\"", "\"door\":\"window\"", "receipt.door"},
        {"\"by\":\"config\"", "\"by\":7", "receipt.clamps.0.by"},
        {"\"step\":{", "\"step\":[],\"x\":{", "x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct contract read;
        memset(&read, 0x5a, sizeof read);
        struct str text = document_with(f, rows[i][0], rows[i][1]);
        if (contract_parse(&f->arena, text, &read, &f->err) == 0)
            fail_msg("row %zu was accepted", i);
        assert_int_equal(f->err.class, ERR_CORRUPT);
        if (!strstr(f->err.message, rows[i][2]))
            fail_msg("\"%s\" does not name %s", f->err.message, rows[i][2]);
        for (size_t t = 0; t < tool_info_count; t++)
            assert_int_equal(contract_permits(&read, str_from(tool_infos[t].name), &f->err),
                             PERMIT_DENY);
        assert_int_equal(read.permissions.can_spawn_children, SPAWN_NEVER);
    }
}

static void a_contract_permits_only_what_it_names(void **state)
{
    struct fixture *f = *state;
    f->request.allowed_tools = LIST("read_file", "edit");
    derive_ok(f);
    assert_int_equal(contract_permits(&f->child, STR("read"), &f->err), PERMIT_ALLOW);
    assert_int_equal(contract_permits(&f->child, STR("read_file"), &f->err), PERMIT_ALLOW);
    assert_int_equal(contract_permits(&f->child, STR("write"), &f->err), PERMIT_DENY);
    assert_int_equal(f->err.class, ERR_DENIED);
    assert_non_null(strstr(f->err.message, "read, edit"));
    assert_int_equal(contract_permits(&f->child, STR("mcp__tool"), &f->err), PERMIT_DENY);
    assert_int_equal(contract_permits(&f->child, STR_NONE, &f->err), PERMIT_DENY);
    f->child.permissions.tool_mode_count = 0;
    assert_int_equal(contract_permits(&f->child, STR("read"), &f->err), PERMIT_DENY);
}

static void contract_within_names_the_dimension_that_is_wider(void **state)
{
    struct fixture *f = *state;
    f->root.execution.budget.tokens = UNLIMITED;
    derive_ok(f);
    struct contract wide;
    struct str dimension;
#define WIDER(change, name)                                                                        \
    do {                                                                                           \
        wide = f->child;                                                                           \
        change;                                                                                    \
        assert_int_equal(contract_within(&wide, &f->root, &dimension), 0);                         \
        check_str(dimension, name);                                                                \
    } while (0)
    WIDER(wide.permissions.allowed_tools = LIST_NONE, "tools");
    WIDER(wide.permissions.allowed_tools = LIST("teleport"), "tools");
    WIDER(wide.permissions.mode = MODE_DANGEROUS, "mode");
    WIDER(wide.permissions.read_paths = LIST_NONE, "read_paths");
    WIDER(wide.permissions.write_paths = LIST(""), "write_paths");
    WIDER(wide.permissions.network = STR("full"), "network");
    WIDER(wide.permissions.network = STR("odd"), "network");
    WIDER(wide.permissions.skills = LIST("x"), "skills");
    WIDER(wide.permissions.mcp_servers = LIST("x"), "mcp_servers");
    WIDER(wide.model.allowed_models = LIST_NONE, "models");
    WIDER(wide.model.name = STR("other"), "models");
    WIDER(wide.agent.depth = 0, "depth");
    WIDER(wide.permissions.max_delegation_depth = 3, "depth");
    WIDER(wide.execution.budget.cost_nano = UNLIMITED, "cost");
    WIDER(wide.execution.budget.wall_ms = 900001, "wall");
    WIDER(wide.execution.max_wall_ms = 0, "wall");
    WIDER(wide.execution.max_wall_ms = 900001, "wall");
    f->root.execution.budget.tokens = 10;
    WIDER(wide.execution.budget.tokens = 11, "tokens");
    f->root.permissions.spawn_roles = LIST("reviewer");
    f->child.execution.budget.tokens = 1;
    WIDER((void)0, "spawn_roles");
#undef WIDER
}

/* Settings and money */

static void settings_read_back_as_they_were_printed(void **state)
{
    struct fixture *f = *state;
    f->settings.allowed_models = LIST("small");
    f->settings.available_tools = LIST("read", "write");
    f->settings.child.cost_nano = 123456789;
    f->settings.overrides = arena_alloc(&f->arena, sizeof *f->settings.overrides);
    f->settings.overrides[0].tool = STR("shell");
    f->settings.overrides[0].permission = PERMIT_DENY;
    f->settings.override_count = 1;
    f->settings.gate = GATE_RUN;
    f->settings.inherit_mode = SWITCH_OFF;
    f->models[1].price_cached_nano = 300;
    f->models[1].price_cache_write_nano = 3750;
    struct buf texts[2];
    struct settings read = f->settings;
    for (int i = 0; i < 2; i++) {
        struct jw w;
        buf_init(&texts[i], 65536);
        jw_init(&w, &texts[i]);
        settings_print(i == 0 ? &f->settings : &read, &w);
        if (i == 1)
            break;
        struct js *document = js_parse(buf_view(&texts[0]), &f->err);
        assert_non_null(document);
        if (settings_parse(&f->arena, document, &read, &f->err) != 0)
            fail_msg("%s", f->err.message);
        js_free(document);
    }
    assert_string_equal(texts[0].p, texts[1].p);
    assert_non_null(
        strstr(texts[0].p, "\"price_in\":3,\"price_out\":15}")); /* absent while unset */
    assert_non_null(strstr(texts[0].p, "\"price_cached\":0.3,\"price_cache_write\":3.75}"));
    assert_int_equal(read.models[0].price_cached_nano, UNLIMITED);
    assert_int_equal(read.models[1].price_cached_nano, 300);
    assert_non_null(strstr(texts[0].p, "\"cost_usd\":0.123456789"));
    assert_int_equal(read.gate, GATE_RUN);
    assert_int_equal(read.inherit_mode, SWITCH_OFF);
    assert_int_equal(read.overrides[0].permission, PERMIT_DENY);
    buf_release(&texts[0]);
    buf_release(&texts[1]);
}

static void wrong_settings_are_refused_with_their_path(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[][2] = {
        {"[]", "expected an object"},
        {"{\"modes\":1}", "modes"},
        {"{\"mode\":\"yolo\"}", "mode"},
        {"{\"sub_agent\":{\"max_depth\":\"2\"}}", "sub_agent.max_depth"},
        {"{\"sub_agent\":{\"default_budget\":{\"tool_calls\":-1}}}",
         "sub_agent.default_budget.tool_calls"},
        {"{\"models\":[{}]}", "models.0.name"},
        {"{\"permissions\":{\"shell\":1}}", "permissions.shell"},
        {"{\"sub_agent\":{\"gate\":\"wide\"}}", "sub_agent.gate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct settings read;
        struct js *document = js_parse(str_from(rows[i][0]), &f->err);
        assert_int_equal(settings_parse(&f->arena, document, &read, &f->err), -1);
        js_free(document);
        assert_int_equal(f->err.class, ERR_CORRUPT);
        if (!strstr(f->err.message, rows[i][1]))
            fail_msg("\"%s\" does not name %s", f->err.message, rows[i][1]);
    }
}

static void money_is_exact_to_the_nano_both_ways(void **state)
{
    struct fixture *f = *state;
    static const struct {
        int64_t nano;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "0.000000001"},
        {100000000, "0.1"},
        {300000000, "0.3"},
        {500000000, "0.5"},
        {1000000000, "1"},
        {10000000000, "10"},
        {123456789012, "123.456789012"},
        {999999999999999, "999999.999999999"},
        {UNLIMITED, "null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf text;
        struct jw w;
        buf_init(&text, 64);
        jw_init(&w, &text);
        money_print(&w, rows[i].nano);
        assert_string_equal(text.p, rows[i].text);
        struct js *value = js_parse(buf_view(&text), &f->err);
        int64_t nano = 77;
        assert_int_equal(money_parse(value, "cost", &nano, &f->err), 0);
        assert_int_equal(nano, rows[i].nano);
        js_free(value);
        buf_release(&text);
    }
}

static void absurd_money_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"-1", "-0.1", "1000001", "1e300", "\"1\"", "true", "[]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t nano = 77;
        struct js *value = js_parse(str_from(texts[i]), &f->err);
        assert_int_equal(money_parse(value, "cost", &nano, &f->err), -1);
        assert_int_equal(nano, 77);
        js_free(value);
    }
    assert_int_equal(money_from_dollars(NAN), -1);
    assert_int_equal(money_from_dollars(INFINITY), -1);
    assert_int_equal(price_from_dollars(2.5), 2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_document_has_all_sections_and_keys_in_order),
        TEST(reading_what_was_printed_prints_the_same_bytes),
        TEST(a_damaged_document_is_refused_and_permits_nothing),
        TEST(a_contract_permits_only_what_it_names),
        TEST(contract_within_names_the_dimension_that_is_wider),
        TEST(settings_read_back_as_they_were_printed),
        TEST(wrong_settings_are_refused_with_their_path),
        TEST(money_is_exact_to_the_nano_both_ways),
        TEST(absurd_money_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
