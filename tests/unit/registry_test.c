/* The control plane's documents (seed 003): what is accepted, and everything that is wrong at once. What follows from them is
 * registry_policy_test's. */
#include "registry_fixture.h"

/* --- the registry's document -------------------------------------------------------------------------------- */

static void the_seeds_example_reads_and_prints_the_same(void **state)
{
    struct fixture *f = *state;
    const char *text = REGISTRY(AGENT(
        ",\"defaultForwardSkills\":[\"skill:writing_helpers\"],"
        "\"allowedForwardSkills\":[\"skill:writing_helpers\",\"skill:formatting\"],"
        "\"defaultMcpServers\":[\"mcp:docs\"],\"allowedMcpServers\":[\"mcp:docs\",\"mcp:web\"],"
        "\"tags\":[\"writing\",\"docs\"]"));
    assert_int_equal(parse_registry(f, text), 0);
    check_str(printed(f, print_registry), text);
}

static void omitted_lists_are_empty_but_allowed_forward_skills_is_absent(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse_registry(f, REGISTRY(AGENT(""))), 0);
    const struct registry_agent *agent = &f->registry.agents[0];
    const struct list *empty[] = {&agent->default_forward_skills, &agent->default_mcp_servers,
                                  &agent->allowed_mcp_servers, &agent->tags};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(empty[i]->state, LIST_SET);
        assert_int_equal(empty[i]->n, 0);
    }
    assert_int_equal(agent->allowed_forward_skills.state, LIST_ABSENT);
    assert_int_equal(parse_registry(f, REGISTRY(AGENT(",\"allowedForwardSkills\":[]"))), 0);
    assert_int_equal(f->registry.agents[0].allowed_forward_skills.state, LIST_SET);
    check_str(printed(f, print_registry),
              REGISTRY(AGENT(",\"defaultForwardSkills\":[],\"allowedForwardSkills\":[],"
                             "\"defaultMcpServers\":[],\"allowedMcpServers\":[],\"tags\":[]")));
}

static void every_rule_of_the_registry_is_enforced(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text, *path, *message;
    } bad[] = {
        {"[]", "", "expected an object"},
        {"{\"agents\":[]}", "version", "missing"},
        {"{\"version\":2}", "version", "must be 1"},
        {"{\"version\":\"1\"}", "version", "must be 1"},
        {"{\"version\":1,\"agent\":[]}", "agent", "unknown key"},
        {"{\"version\":1,\"agents\":{}}", "agents", "expected a list of objects"},
        {REGISTRY("7"), "agents[0]", "expected an object"},
        {REGISTRY(AGENT(",\"tag\":[]")), "agents[0].tag", "unknown key"},
        {REGISTRY(AGENT(",\"tags\":null")), "agents[0].tags", "expected a list of strings"},
        {REGISTRY(AGENT(",\"tags\":\"a\"")), "agents[0].tags", "expected a list of strings"},
        {REGISTRY(AGENT(",\"tags\":[1]")), "agents[0].tags[0]", "expected a string"},
        {REGISTRY(AGENT(",\"tags\":[\"a\",\"\"]")), "agents[0].tags[1]",
         "must be a name: not empty, one line, no space at its ends"},
        {REGISTRY(AGENT(",\"allowedMcpServers\":[\"a\\nb\"]")), "agents[0].allowedMcpServers[0]",
         "must be a name: not empty, one line, no space at its ends"},
        {REGISTRY(AGENT(",\"allowedForwardSkills\":null")), "agents[0].allowedForwardSkills",
         "expected a list of strings"},
        {REGISTRY("{\"agentId\":\"@writer\",\"profileId\":\"profile:writer:v1\"}"),
         "agents[0].description", "missing"},
        {REGISTRY("{\"agentId\":\"@writer\",\"profileId\":\"profile:writer:v1\","
                  "\"description\":\"  \"}"),
         "agents[0].description", "must not be blank"},
        {REGISTRY("{\"agentId\":\"@writer\",\"profileId\":\"profile:writer:v1\","
                  "\"description\":\"a\\nb\"}"),
         "agents[0].description", "must be one line without control characters"},
        {REGISTRY("{\"agentId\":\"@writer\",\"profileId\":\"profile:writer:v1\","
                  "\"description\":\"a\\u2028b\"}"),
         "agents[0].description", "must be one line without control characters"},
        {REGISTRY("{\"agentId\":\"@writer\",\"profileId\":\"profile:gone\",\"description\":\"a\"}"),
         "agents[0].profileId", "there is no profile profile:gone"},
        {REGISTRY("{\"agentId\":\"@writer\",\"profileId\":\"writer\",\"description\":\"a\"}"),
         "agents[0].profileId", "must match ^profile:[a-z0-9_.:\\-]{1,120}$"},
        {REGISTRY(AGENT("") "," AGENT("")), "agents[1].agentId", "@writer is agents[0] already"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(parse_registry(f, bad[i].text), -1);
        check_problem(f, bad[i].text, bad[i].path, bad[i].message);
    }
}

static void an_agent_id_matches_the_seeds_pattern(void **state)
{
    struct fixture *f = *state;
    static const char *const good[] = {"@ab", "@a-b_c9", "@abcdefghijklmnopqrstuvwxyz012345"};
    static const char *const bad[] = {
        "",         "@",           "@a",   "writer", "@Writer",
        "@wri ter", "@wr\xc3\xa9", "@@ab", "@ab\n",  "@abcdefghijklmnopqrstuvwxyz0123456"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!agent_id_valid(str_from(good[i])))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (agent_id_valid(str_from(bad[i])))
            fail_msg("%s", bad[i]);
    assert_int_equal(
        parse_registry(f, REGISTRY("{\"agentId\":\"@W\",\"profileId\":\"profile:reader\","
                                   "\"description\":\"a\"}")),
        -1);
    check_problem(f, "@W", "agents[0].agentId", "must match ^@[a-z0-9_\\-]{2,32}$");
}

static void a_description_has_300_characters_not_bytes(void **state)
{
    struct fixture *f = *state;
    for (size_t characters = 300; characters <= 301; characters++) {
        struct buf text;
        buf_init(&text, PAGE);
        buf_text(&text, "{\"version\":1,\"agents\":[{\"agentId\":\"@writer\",\"profileId\":"
                        "\"profile:reader\",\"description\":\"");
        for (size_t i = 0; i < characters; i++)
            buf_text(&text, "\xc3\xa9");
        buf_text(&text, "\"}]}");
        assert_int_equal(parse_registry(f, text.p), characters == 300 ? 0 : -1);
        buf_release(&text);
    }
    check_problem(f, "301", "agents[0].description", "must have at most 300 characters");
}

static void all_mistakes_are_told_at_once_and_the_registry_stays_as_it_was(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse_registry(f, REGISTRY(AGENT(""))), 0);
    assert_int_equal(
        parse_registry(f, "{\"versoin\":1,\"agents\":[{\"agentId\":\"@A\",\"description\":7},"
                          "{\"profileId\":\"profile:x\",\"description\":\"\",\"tags\":[[]]}]}"),
        -1);
    static const char *const paths[] = {"versoin",
                                        "version",
                                        "agents[0].agentId",
                                        "agents[0].profileId",
                                        "agents[0].description",
                                        "agents[1].agentId",
                                        "agents[1].description",
                                        "agents[1].tags[0]",
                                        "agents[1].profileId"};
    assert_int_equal(f->problems.found, sizeof paths / sizeof paths[0]);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        check_str(f->problems.items[i].path, paths[i]);
    assert_int_equal(f->registry.count, 1);
    check_str(f->registry.agents[0].agent_id, "@writer");
}

static void problems_are_bounded_in_number_and_size(void **state)
{
    struct fixture *f = *state;
    struct buf text, list;
    buf_init(&text, PAGE);
    buf_init(&list, PAGE);
    buf_text(&text, "{\"version\":1,\"agents\":[{");
    for (int i = 0; i < 100; i++) {
        buf_printf(&text, "%s\"k%d\\u001b[31m", i > 0 ? "," : "", i);
        for (int k = 0; k < 300; k++)
            buf_char(&text, 'x');
        buf_text(&text, "\":1");
    }
    buf_text(&text, "}]}");
    assert_int_equal(parse_registry(f, text.p), -1);
    assert_int_equal(f->problems.count, PROBLEMS_MAX);
    assert_int_equal(f->problems.found, 103);
    problems_print(&f->problems, &list);
    assert_true(list.n < (size_t)PROBLEMS_MAX * 200);
    assert_null(memchr(list.p, 0x1b, list.n));
    assert_non_null(strstr(list.p, "and 71 more\n"));
    assert_int_equal(problems_err(&f->problems, ERR_USAGE, "it", &f->err), -1);
    assert_int_equal(f->err.class, ERR_USAGE);
    assert_non_null(strstr(f->err.message, " more"));
    buf_release(&text);
    buf_release(&list);
}

static void a_registry_has_at_most_100_agents(void **state)
{
    struct fixture *f = *state;
    for (int count = 100; count <= 101; count++) {
        struct buf text;
        buf_init(&text, PAGE);
        buf_text(&text, "{\"version\":1,\"agents\":[");
        for (int i = 0; i < count; i++)
            buf_printf(&text,
                       "%s{\"agentId\":\"@a%d\",\"profileId\":\"profile:reader\",\"description\":"
                       "\"d\"}",
                       i > 0 ? "," : "", 100 + i);
        buf_text(&text, "]}");
        assert_int_equal(parse_registry(f, text.p), count == 100 ? 0 : -1);
        buf_release(&text);
    }
    check_problem(f, "101", "agents", "must have at most 100 items");
}

static void an_entry_is_replaced_in_its_place_or_added_behind(void **state)
{
    struct fixture *f = *state;
    struct registry_agent entry;
    assert_int_equal(
        parse_registry(f, REGISTRY("{\"agentId\":\"@one\",\"profileId\":\"profile:reader\","
                                   "\"description\":\"1\"},"
                                   "{\"agentId\":\"@two\",\"profileId\":\"profile:reader\","
                                   "\"description\":\"2\"}")),
        0);
    entry = *registry_find(&f->registry, STR("@one"));
    entry.description = STR("new");
    registry_set(&f->arena, &f->registry, &entry);
    assert_int_equal(f->registry.count, 2);
    check_str(f->registry.agents[0].description, "new");
    check_str(f->registry.agents[1].description, "2");
    entry.agent_id = STR("@three");
    registry_set(&f->arena, &f->registry, &entry);
    assert_int_equal(f->registry.count, 3);
    check_str(f->registry.agents[2].agent_id, "@three");
    assert_true(registry_remove(&f->registry, STR("@one")));
    assert_false(registry_remove(&f->registry, STR("@one")));
    assert_int_equal(f->registry.count, 2);
    check_str(f->registry.agents[0].agent_id, "@two");
    check_str(f->registry.agents[1].agent_id, "@three");
}

/* --- profiles ----------------------------------------------------------------------------------------------- */

static void a_full_profile_reads_and_prints_the_same(void **state)
{
    struct fixture *f = *state;
    const char *text =
        "{\"id\":\"profile:writer:v1\",\"description\":\"Writes\",\"provider\":\"local\","
        "\"model\":\"qwen3-coder\",\"allowed_models\":[\"small\"],\"allowed_skills\":[],"
        "\"allowed_tools\":[\"read\"],\"context_window\":32768,\"effort\":\"high\","
        "\"temperature\":0.25,\"top_p\":0.5,\"stop\":[\"END\"],\"seed\":7,"
        "\"system_prompt\":\"You write.\\nWell.\",\"output_schema\":{\"type\":\"object\"},"
        "\"working_directory\":\"docs/guide\"}";
    assert_int_equal(parse_profile(f, STR_NONE, text), 0);
    check_str(printed(f, print_profile), text);
}

static void a_profiles_absent_list_differs_from_an_empty_one(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(
        parse_profile(f, ID, "{\"provider\":\"p\",\"model\":\"m\",\"allowed_tools\":[]}"), 0);
    assert_int_equal(f->profile.allowed_tools.state, LIST_SET);
    assert_int_equal(f->profile.allowed_tools.n, 0);
    assert_int_equal(f->profile.allowed_skills.state, LIST_ABSENT);
    assert_int_equal(f->profile.context_window, UNLIMITED);
    assert_true(isnan(f->profile.temperature));
    assert_null(f->profile.system_prompt.p);
    check_str(printed(f, print_profile),
              "{\"id\":\"profile:writer:v1\",\"provider\":\"p\",\"model\":"
              "\"m\",\"allowed_tools\":[]}");
}

static void every_rule_of_a_profile_is_enforced(void **state)
{
    struct fixture *f = *state;
#define PROFILE(members) "{\"provider\":\"p\",\"model\":\"m\"," members "}"
    static const struct {
        const char *text, *path, *message;
    } bad[] = {
        {"7", "", "expected an object"},
        {"{\"model\":\"m\"}", "provider", "missing"},
        {"{\"provider\":\"p\"}", "model", "missing"},
        {"{\"provider\":\"\",\"model\":\"m\"}", "provider", "must not be blank"},
        {PROFILE("\"api_key\":\"s\""), "api_key", "unknown key"},
        {PROFILE("\"id\":\"profile:other\""), "id", "must be profile:writer:v1, the record's own"},
        {PROFILE("\"allowed_tools\":\"all\""), "allowed_tools", "expected a list of strings"},
        {PROFILE("\"allowed_skills\":null"), "allowed_skills", "expected a list of strings"},
        {PROFILE("\"context_window\":\"abc\""), "context_window",
         "must be a whole number from 1024 to 1000000000"},
        {PROFILE("\"context_window\":-1"), "context_window",
         "must be a whole number from 1024 to 1000000000"},
        {PROFILE("\"temperature\":3"), "temperature", "must be a number from 0 to 2"},
        {PROFILE("\"temperature\":\"hot\""), "temperature", "must be a number from 0 to 2"},
        {PROFILE("\"top_p\":1.5"), "top_p", "must be a number from 0 to 1"},
        {PROFILE("\"effort\":\"enormous\""), "effort",
         "must match none, minimal, low, medium, high, xhigh or max"},
        {PROFILE("\"system_prompt\":\"a\\u001b[0m\""), "system_prompt",
         "must not have control characters"},
        {PROFILE("\"working_directory\":\"../out\""), "working_directory",
         "must match the path of a directory inside the workspace, relative to it"},
        {PROFILE("\"working_directory\":\"/etc\""), "working_directory",
         "must match the path of a directory inside the workspace, relative to it"},
        {PROFILE("\"output_schema\":[]"), "output_schema",
         "expected a schema: an object of keywords"},
        {PROFILE("\"output_schema\":{\"items\":{\"minItems\":\"a\"}}"), "output_schema",
         "/items/minItems: expected a whole number, 0 or more"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(parse_profile(f, ID, bad[i].text), -1);
        check_problem(f, bad[i].text, bad[i].path, bad[i].message);
    }
    assert_int_equal(parse_profile(f, STR_NONE, PROFILE("\"temperature\":1")), -1);
    check_problem(f, "no id", "id", "missing");
}

static void only_the_control_planes_own_records_can_be_written(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *type, *id;
    } good[] = {{"profile", "profile:writer:v1"},    {"policy", "agent-registry:default"},
                {"policy", "profile-pin:global"},    {"policy", "profile-pin:session:s 1"},
                {"policy", "profile-pin:user:root"}, {"policy", "profile-pin:workspace:0a"}},
      bad[] = {{"profile", "writer"},
               {"profile", "profile:"},
               {"profile", "profile:Writer"},
               {"profile", "agent-registry:default"},
               {"policy", "profile:writer:v1"},
               {"policy", "agent-registry:other"},
               {"policy", "profile-pin:"},
               {"policy", "profile-pin:team:x"},
               {"policy", "profile-pin:session"},
               {"policy", "profile-pin:session:"},
               {"policy", "profile-pin:session:a\nb"},
               {"policy", "profile-pin:global:x"},
               {"policy", "llm:keys"},
               {"model", "agent-registry:default"},
               {"", ""}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (record_writable(str_from(good[i].type), str_from(good[i].id), &f->err) != 0)
            fail_msg("%s %s", good[i].type, good[i].id);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (record_writable(str_from(bad[i].type), str_from(bad[i].id), &f->err) == 0)
            fail_msg("%s %s", bad[i].type, bad[i].id);
    assert_int_equal(f->err.class, ERR_USAGE);
}

/* --- random documents --------------------------------------------------------------------------------------- */

static uint32_t chance(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

/* Mostly the right shape with wrong parts, so that every rule is met. */
static void random_value(uint64_t *seed, int depth, struct buf *out)
{
    static const char *const keys[] = {
        "version", "agents",   "agentId", "profileId", "description", "allowedForwardSkills",
        "tags",    "provider", "model",   "id",        "temperature", "profiles"};
    static const char *const scalars[] = {"1",
                                          "null",
                                          "true",
                                          "-5",
                                          "1e300",
                                          "\"@writer\"",
                                          "\"profile:writer:v1\"",
                                          "\"\"",
                                          "\"a\\u0000b\"",
                                          "\"\\u202e\"",
                                          "\"<x>\"",
                                          "9223372036854775807",
                                          "0.5",
                                          "\"profile-pin:global\""};
    uint32_t kind = depth == 0 ? 0 : chance(seed, depth > 4 ? 1 : 3);
    uint32_t count = 1 + chance(seed, 6);
    if (depth > 0 && kind == 0) {
        buf_text(out, scalars[chance(seed, sizeof scalars / sizeof scalars[0])]);
        return;
    }
    bool object = depth == 0 || kind == 1;
    uint32_t first = chance(seed, sizeof keys / sizeof keys[0]);
    buf_char(out, object ? '{' : '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_text(out, i > 0 ? "," : "");
        if (object)
            buf_printf(out, "\"%s\":", keys[(first + i) % (sizeof keys / sizeof keys[0])]);
        random_value(seed, depth + 1, out);
    }
    buf_char(out, object ? '}' : ']');
}

/* Reads the text as each kind of document. */
static void read_as_everything(struct fixture *f, const struct js *value)
{
    struct arena arena;
    struct str id;
    arena_init(&arena);
    problems_init(&f->problems, &arena);
    int result = agent_profile_parse(&arena, STR_NONE, value, &f->profile, &f->problems);
    assert_true((result == 0) == (f->problems.found == 0));
    size_t before = f->problems.found;
    result = pin_parse(&arena, value, NULL, &id, &f->problems);
    assert_true((result == 0) == (f->problems.found == before));
    before = f->problems.found;
    result = registry_parse(&arena, value, &f->profiles, &f->registry, &f->problems);
    assert_true((result == 0) == (f->problems.found == before));
    assert_true(f->problems.count <= PROBLEMS_MAX);
    result = control_parse(&arena, value, &f->control, &f->err);
    assert_true(result == 0 || f->err.class == ERR_CORRUPT);
    arena_release(&arena);
}

static void random_documents_are_refused_with_reasons(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        struct buf text;
        buf_init(&text, PAGE);
        random_value(&seed, 0, &text);
        struct js *value = json(text.p);
        read_as_everything(f, value);
        js_free(value);
        buf_release(&text);
    }
}

/* What is accepted is printed so that it is accepted again, as the same. */
static void a_document_with_flipped_bytes_is_refused_or_printed_back_the_same(void **state)
{
    struct fixture *f = *state;
    static const char valid[] = REGISTRY(
        AGENT(",\"defaultForwardSkills\":[\"a\"],\"allowedForwardSkills\":[\"a\",\"b\"],"
              "\"defaultMcpServers\":[],\"allowedMcpServers\":[\"mcp:docs\"],\"tags\":[\"x\"]"));
    uint64_t seed = 11;
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        struct err err = ERR_INIT;
        char text[sizeof valid];
        memcpy(text, valid, sizeof valid);
        for (uint32_t i = 0; i <= chance(&seed, 3); i++)
            text[chance(&seed, sizeof valid - 1)] = (char)(32 + chance(&seed, 96));
        struct js *value = js_parse(str_from(text), &err);
        if (!value)
            continue;
        read_as_everything(f, value);
        js_free(value);
        if (parse_registry(f, text) != 0)
            continue;
        struct str once = printed(f, print_registry);
        if (parse_registry(f, once.p) != 0)
            fail_msg("%s became %s", text, once.p);
        check_str(printed(f, print_registry), once.p);
        accepted++;
    }
    assert_true(accepted > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_seeds_example_reads_and_prints_the_same),
        TEST(omitted_lists_are_empty_but_allowed_forward_skills_is_absent),
        TEST(every_rule_of_the_registry_is_enforced),
        TEST(an_agent_id_matches_the_seeds_pattern),
        TEST(a_description_has_300_characters_not_bytes),
        TEST(all_mistakes_are_told_at_once_and_the_registry_stays_as_it_was),
        TEST(problems_are_bounded_in_number_and_size),
        TEST(a_registry_has_at_most_100_agents),
        TEST(an_entry_is_replaced_in_its_place_or_added_behind),
        TEST(a_full_profile_reads_and_prints_the_same),
        TEST(a_profiles_absent_list_differs_from_an_empty_one),
        TEST(every_rule_of_a_profile_is_enforced),
        TEST(only_the_control_planes_own_records_can_be_written),
        TEST(random_documents_are_refused_with_reasons),
        TEST(a_document_with_flipped_bytes_is_refused_or_printed_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
