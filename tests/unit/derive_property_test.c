/* The invariant as a property: whatever is asked for, a child lies within its parent, and a
 * grandchild within the child. Random settings, requests and facts; each accepted contract is
 * checked by contract_within and by a second check that is written here from CONTRACT.md and
 * shares no code with it, and deriving again gives the same bytes; of every fifth, so does reading
 * what was printed. DERIVE_PAIRS says how many parent/child pairs (100000), DERIVE_SEED where to
 * start. */
#include "core/contract/contract.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "check.h"

enum { PAIRS = 100000, ROUND_TRIP_EVERY = 5 };

struct world {
    uint64_t seed;
    struct arena arena;
    struct settings settings;
    struct model_settings models[4];
    struct role_network of_reviewers;
    size_t accepted, refused, narrowed, shared;
};

static uint64_t next_random(struct world *w)
{
    uint64_t z = (w->seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t pick(struct world *w, int64_t below)
{
    return (int64_t)(next_random(w) % (uint64_t)below);
}

#define PICK_TEXT(w, ...)                                                                          \
    str_from(((const char *const[]){__VA_ARGS__})[pick(                                            \
        w, (int64_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))])

static struct str random_tool(struct world *w)
{
    if (pick(w, 20) == 0)
        return PICK_TEXT(w, "docs__query", "read_file", "run_command", "list_dir");
    return str_from(tool_infos[pick(w, (int64_t)tool_info_count)].name);
}

static struct str random_path(struct world *w)
{
    return PICK_TEXT(w, ".", "src", "src/auth", "src/auth/login", "src-evil", "tests", "src/tests",
                     "docs", "./src//auth/", "src/../docs", "a/b/c", "**/tests", "src/**/spec",
                     "src/**", "src/tests/**", "docs/**/a/b");
}

static struct list random_list(struct world *w, struct str (*item)(struct world *), int64_t most)
{
    struct list list = {LIST_SET, NULL, 0};
    for (int64_t n = pick(w, most + 1); n > 0; n--)
        list_add(&w->arena, &list, item(w));
    return list;
}

static struct str random_network(struct world *w)
{
    struct str rules[4];
    size_t count = (size_t)pick(w, 5);
    if (pick(w, 2))
        return PICK_TEXT(w, "none", "relay", "full");
    for (size_t i = 0; i < count; i++)
        rules[i] = PICK_TEXT(w, "*", "a.test", "b.a.test", "*.a.test", "*.b.a.test", "*.test",
                             "other.test", "xa.test");
    return network_of_names(&w->arena, rules, count);
}

static int64_t random_limit(struct world *w, int64_t most)
{
    return pick(w, 3) == 0 ? UNLIMITED : 1 + pick(w, most);
}

static void random_settings(struct world *w)
{
    static const char *const names[] = {"one", "two", "three", "four"};
    struct settings *s = &w->settings;
    settings_init(s);
    for (int i = 0; i < 4; i++)
        w->models[i] = (struct model_settings){
            .name = str_from(names[i]),
            .provider = STR("local"),
            .model = str_from(names[i]),
            .max_tokens = 256 + pick(w, 8192),
            .max_context_tokens = 1000 + pick(w, 100000),
            .price_in_nano = pick(w, 2) ? 3000 : UNLIMITED,
            .price_out_nano = 15000,
            .price_cached_nano = UNLIMITED,
            .price_cache_write_nano = UNLIMITED,
        };
    s->models = w->models;
    s->model_count = 4;
    s->default_model = STR("one");
    if (pick(w, 2)) {
        list_add(&w->arena, &s->allowed_models, STR("one"));
        list_add(&w->arena, &s->allowed_models, str_from(names[pick(w, 4)]));
    }
    s->mode = pick(w, 3) ? (enum mode)pick(w, 3) : (enum mode)pick(w, MODE_COUNT);
    s->max_depth = 1 + pick(w, 4);
    s->inherit_mode = pick(w, 3) ? SWITCH_ON : SWITCH_OFF;
    s->hard_stop_at = 1 + pick(w, 120);
    s->root.tokens = random_limit(w, 100000);
    s->root.cost_nano = random_limit(w, 2000000000);
    s->root.wall_ms = random_limit(w, 900000);
    s->child_timeout_set = (int)pick(w, 2);
    s->attempt_timeout_set = (int)pick(w, 2);
    s->max_wall_ms = 5000 + (int64_t)pick(w, 2000000);
    s->child.tokens = random_limit(w, 50000);
    if (pick(w, 2)) {
        s->available_tools = random_list(w, random_tool, 40);
        list_add(&w->arena, &s->available_tools, STR("spawn_agent"));
    }
    s->network = random_network(w);
    w->of_reviewers = (struct role_network){STR("reviewer"), random_network(w)};
    s->role_networks = &w->of_reviewers;
    s->role_network_count = (size_t)pick(w, 2);
    s->override_count = (size_t)pick(w, 4);
    s->overrides = arena_alloc(&w->arena, 4 * sizeof *s->overrides);
    for (size_t i = 0; i < s->override_count; i++) {
        s->overrides[i].tool = random_tool(w);
        s->overrides[i].permission = (enum permission)pick(w, PERMIT_ALLOW + 1);
    }
}

static int64_t random_wish(struct world *w, int64_t least, int64_t most)
{
    int64_t kind = pick(w, 12);
    if (kind < 7)
        return ASK_NOTHING;
    if (kind == 7 && pick(w, 8) == 0)
        return pick(w, 3) - 2;
    return kind == 8 ? INT64_MAX / 2 : least + pick(w, most);
}

static struct delegation random_request(struct world *w, const struct contract *parent)
{
    struct delegation r;
    delegation_init(&r, DOOR_SPAWN_AGENT);
    if (pick(w, 4) == 0)
        r.door = (enum door)(DOOR_SPAWN + pick(w, DOOR_PLAN));
    r.task = PICK_TEXT(w, "fix it", "line one\nline two", "\xff broken \xc3 bytes", "ünï\tcode");
    if (pick(w, 4) == 0)
        r.role = PICK_TEXT(w, "researcher", "planner", "executor", "reviewer", "tester");
    /* A parent that may start only some roles would refuse nearly everything else. */
    const struct list *roles = &parent->permissions.spawn_roles;
    if (roles->n > 0 && pick(w, 4))
        r.role = roles->items[pick(w, (int64_t)roles->n)];
    if (pick(w, 3) == 0)
        r.mode = PICK_TEXT(w, "safe", "auto", "dangerous", "research", "plan", "review", "ci");
    if (pick(w, 3) == 0)
        r.allowed_tools = random_list(w, random_tool, 30);
    if (r.allowed_tools.state == LIST_SET && pick(w, 2))
        list_add(&w->arena, &r.allowed_tools, STR("spawn_agent"));
    if (pick(w, 4) == 0)
        r.prompt = PICK_TEXT(w, "You write.", "Be brief.\n\nThen stop.");
    if (pick(w, 3) == 0)
        r.write_paths = random_list(w, random_path, 5);
    if (pick(w, 4) == 0)
        r.working_directory = random_path(w);
    if (pick(w, 4) == 0)
        r.network = random_network(w);
    if (pick(w, 4) == 0)
        r.model = PICK_TEXT(w, "one", "two", "three", "four", "five");
    r.asked.tool_calls = random_wish(w, 1, 300);
    r.asked.context_tokens = random_wish(w, 1, 200000);
    r.asked.tokens = random_wish(w, 1, 200000);
    r.asked.cost_nano = pick(w, 6) ? ASK_NOTHING : 1 + pick(w, 3000000000);
    r.asked.wall_ms = random_wish(w, 4900, 2000000);
    return r;
}

static struct facts random_facts(struct world *w, const struct contract *parent)
{
    struct facts facts = {
        .run_id = STR("run"),
        .session_id = STR("session"),
        .agent_id = STR("agent"),
        .workspace_path = STR("/project"),
        .remaining_tokens = UNLIMITED,
        .remaining_cost_nano = UNLIMITED,
        .remaining_wall_ms = UNLIMITED,
        .ordinal = pick(w, 9),
        .asker = (enum asker)pick(w, 3),
    };
    if (!parent)
        return facts;
    /* What is left is at most what the parent's own limit says, and what the machine reports may
     * be anything. */
    facts.remaining_tokens = random_limit(w, 50000);
    facts.remaining_cost_nano = random_limit(w, 1000000000);
    facts.remaining_wall_ms = random_limit(w, 600000);
    return facts;
}

/* The second check: plain loops over the printed meaning of CONTRACT.md's invariant. */

static bool text_in(const struct list *list, struct str text)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].n == text.n && memcmp(list->items[i].p, text.p, text.n) == 0)
            return true;
    return false;
}

static bool all_in(const struct list *few, const struct list *many)
{
    if (many->state == LIST_ABSENT)
        return true;
    if (few->state == LIST_ABSENT)
        return false;
    for (size_t i = 0; i < few->n; i++)
        if (!text_in(many, few->items[i]))
            return false;
    return true;
}

static bool beneath(struct str path, struct str directory)
{
    if (directory.n == 1 && directory.p[0] == '.')
        return true;
    return path.n >= directory.n && memcmp(path.p, directory.p, directory.n) == 0 &&
           (path.n == directory.n || path.p[directory.n] == '/');
}

static bool all_beneath(const struct list *paths, const struct list *directories)
{
    for (size_t i = 0; i < paths->n; i++) {
        size_t k = 0;
        while (k < directories->n && !beneath(paths->items[i], directories->items[k]))
            k++;
        if (k == directories->n)
            return false;
    }
    return true;
}

/* Rules as globs over places: a way to read them that shares no code with pathrule.c. */
static bool rule_allows(struct str rule, struct str place)
{
    char glob[256];
    bool stars = rule.n >= 2 && memcmp(rule.p + rule.n - 2, "**", 2) == 0;
    bool named = !stars && memmem(rule.p, rule.n, "**/", 3) != NULL;
    if (str_is(rule, ".") || (!stars && !named && path_glob(rule, place)))
        return true;
    snprintf(glob, sizeof glob, "%.*s%s", STR_FMT(rule), stars ? "/*" : "/**/*");
    return path_glob(str_from(glob), place);
}

static bool may_write(const struct contract *c, struct str place)
{
    for (size_t i = 0; i < c->permissions.write_paths.n; i++)
        if (rule_allows(c->permissions.write_paths.items[i], place))
            return true;
    return false;
}

/* Whether a contract's text lets a command reach this host; a matcher of its own, by suffixes. */
static bool reaches(struct str network, const char *host)
{
    char text[512];
    if (!str_starts(network, STR("allow ")))
        return str_is(network, "full");
    snprintf(text, sizeof text, "%.*s", STR_FMT(network));
    char *rest = text + strlen("allow ");
    for (char *rule = strsep(&rest, " "); rule != NULL; rule = strsep(&rest, " ")) {
        size_t n = strlen(host), tail = strlen(rule) - 1;
        if (strcmp(rule, host) == 0 || strcmp(rule, "*") == 0 ||
            (rule[0] == '*' && n > tail && strcmp(host + n - tail, rule + 1) == 0))
            return true;
    }
    return false;
}

static bool reaches_no_more(struct str child, struct str parent)
{
    static const char *const hosts[] = {"a.test",     "b.a.test",   "c.b.a.test", "c.a.test",
                                        "other.test", "x.xa.test",  "xa.test",    "z.test",
                                        "a.test.com", "registry.io"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (reaches(child, hosts[i]) && !reaches(parent, hosts[i]))
            return false;
    return !str_is(child, "relay") || str_is(parent, "relay") || str_is(parent, "full");
}

static bool writes_no_more(const struct contract *child, const struct contract *parent)
{
    static const char *const places[] = {
        "f",
        "src",
        "src/f",
        "src/auth",
        "src/auth/f",
        "tests",
        "tests/f",
        "src/tests",
        "src/tests/f",
        "src/auth/tests/f",
        "src-evil/f",
        "docs",
        "docs/f",
        "docs/tests/f",
        "src/spec/f",
        "a/b/c",
        "a/b/c/f",
        "a/b/c/__tests__/f",
        "src/spec",
        "src/auth/login/f",
        "src/tests/spec/f",
        "test/f",
        "src/auth/spec/f",
        "src/auth/login/test/f",
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (may_write(child, str_from(places[i])) && !may_write(parent, str_from(places[i])))
            return false;
    return true;
}

/* deny 0, ask 1, ask_mode 2, allow 3. */
static int weight(const struct contract *c, struct str tool)
{
    if (!text_in(&c->permissions.allowed_tools, tool))
        return 0;
    for (size_t i = 0; i < c->permissions.tool_mode_count; i++) {
        if (!str_eq(c->permissions.tool_modes[i].tool, tool))
            continue;
        enum permission p = c->permissions.tool_modes[i].permission;
        return p == PERMIT_ALLOW ? 3 : p == PERMIT_ASK_MODE ? 2 : p == PERMIT_ASK ? 1 : 0;
    }
    return 0;
}

static bool no_more(int64_t child, int64_t bound)
{
    return bound < 0 || (child >= 0 && child <= bound);
}

/* How long an agent may take in all. */
static int64_t whole_time(const struct contract *contract)
{
    int64_t wall = contract->execution.budget.wall_ms, most = contract->execution.max_wall_ms;
    return wall != UNLIMITED ? wall : most > 0 ? most : UNLIMITED;
}

static const char *second_check(const struct contract *child, const struct contract *parent,
                                const struct facts *facts, const struct settings *settings)
{
    for (size_t i = 0; i < child->permissions.allowed_tools.n; i++) {
        struct str tool = child->permissions.allowed_tools.items[i];
        if (weight(child, tool) > weight(parent, tool))
            return "a tool is wider";
        if (weight(child, tool) == 0)
            return "a child has a tool that it cannot use";
        if (str_is(tool, "ask_user"))
            return "a child can ask the user";
        const struct tool_info *info = tool_info_find(tool);
        bool door = info && info->group == GROUP_DELEGATE;
        if (door &&
            (child->receipt.door == DOOR_SPAWN || child->agent.depth >= settings->max_depth))
            return "a child that may not delegate has a delegation tool";
        bool writes = info && info->group == GROUP_WRITE;
        bool read_only = child->permissions.mode >= MODE_RESEARCH;
        if (writes && read_only && child->permissions.mode != settings->mode)
            return "a read-only mode has a writing tool";
    }
    if (!all_in(&child->permissions.allowed_tools, &parent->permissions.allowed_tools))
        return "tools";
    if (!writes_no_more(child, parent) ||
        !all_beneath(&child->permissions.read_paths, &parent->permissions.read_paths))
        return "paths";
    if (!reaches_no_more(child->permissions.network, parent->permissions.network))
        return "network";
    if (!all_in(&child->permissions.skills, &parent->permissions.skills) ||
        !all_in(&child->permissions.mcp_servers, &parent->permissions.mcp_servers))
        return "skills or servers";
    if (!all_in(&child->model.allowed_models, &parent->model.allowed_models) ||
        !text_in(&parent->model.allowed_models, child->model.name))
        return "models";
    if (child->agent.depth != parent->agent.depth + 1 || child->agent.depth > settings->max_depth ||
        child->permissions.max_delegation_depth > parent->permissions.max_delegation_depth)
        return "depth";
    if (parent->permissions.spawn_roles.state == LIST_SET &&
        !text_in(&parent->permissions.spawn_roles, child->agent.role))
        return "a role that the parent may not start";
    const struct limits *c = &child->execution.budget, *p = &parent->execution.budget;
    if (!no_more(c->tokens, p->tokens) || !no_more(c->tokens, facts->remaining_tokens))
        return "tokens";
    if (!no_more(c->cost_nano, p->cost_nano) || !no_more(c->cost_nano, facts->remaining_cost_nano))
        return "cost";
    int64_t whole = whole_time(child);
    if (!no_more(whole, whole_time(parent)) || !no_more(whole, facts->remaining_wall_ms))
        return "wall time";
    if (whole == UNLIMITED && settings->max_wall_ms > 0)
        return "a child without an end";
    if (c->wall_ms == UNLIMITED && child->execution.idle_timeout_ms == 0)
        return "neither a wall nor a limit of silence";
    if (c->tool_calls < 1 || c->tool_calls > settings->hard_stop_at)
        return "tool calls";
    return NULL;
}

static void print(const struct contract *contract, struct buf *out)
{
    buf_init(out, 1 << 20);
    contract_print(contract, out);
    assert_false(out->failed);
}

static void check_round_trip(struct world *w, const struct contract *contract)
{
    struct buf once, twice;
    struct contract read;
    struct err err = ERR_INIT;
    print(contract, &once);
    assert_true(str_eq(buf_view(&once), contract->json));
    if (contract_parse(&w->arena, buf_view(&once), &read, &err) != 0)
        fail_msg("%s in %s", err.message, once.p);
    print(&read, &twice);
    assert_string_equal(once.p, twice.p);
    buf_release(&twice);
    /* Kept without a detour through its text, it is the same, whomever it shares with; even its own texts may go. */
    for (int i = 0; i < 2; i++) {
        static const struct contract nobody;
        struct contract kept = *contract;
        struct arena arena;
        arena_init(&arena);
        contract_own(&arena, i == 0 ? &nobody : &read, &kept);
        print(&kept, &twice);
        assert_string_equal(once.p, twice.p);
        buf_release(&twice);
        arena_release(&arena);
    }
    buf_release(&once);
}

/* Two children with the same role and profile prompt have the same system prompt, byte for byte,
 * whatever else was asked for: providers then cache it for both. */
static void check_shared_prompt(struct world *w, const struct contract *parent,
                                const struct delegation *request, const struct contract *child)
{
    struct delegation other = random_request(w, parent);
    struct facts facts = random_facts(w, parent);
    struct contract sibling;
    struct err err = ERR_INIT;
    struct buf one, two;
    other.role = request->role;
    other.prompt = request->prompt;
    other.scope = STR("docs");
    other.schema = PICK_TEXT(w, "", "{\"type\":\"object\"}");
    if (other.schema.n == 0)
        other.schema = STR_NONE;
    if (contract_derive(&w->arena, parent, &other, &facts, &w->settings, &sibling, &err) != 0)
        return;
    buf_init(&one, 1 << 20);
    buf_init(&two, 1 << 20);
    contract_prompt(child, request, facts.workspace_path, &one);
    contract_prompt(&sibling, &other, facts.workspace_path, &two);
    assert_string_equal(one.p, two.p);
    buf_release(&one);
    buf_release(&two);
    w->shared++;
}

/* One child of `parent`; false when the request is refused. */
static bool derive_one(struct world *w, const struct contract *parent, struct contract *child)
{
    struct delegation request = random_request(w, parent);
    struct facts facts = random_facts(w, parent);
    struct err err = ERR_INIT;
    uint64_t seed = w->seed;
    if (contract_derive(&w->arena, parent, &request, &facts, &w->settings, child, &err) != 0) {
        assert_int_not_equal(err.class, ERR_NONE);
        assert_int_not_equal(err.class, ERR_BUG);
        assert_true(err.message[0] != '\0');
        w->refused++;
        return false;
    }
    struct str dimension;
    if (!contract_within(child, parent, &dimension))
        fail_msg("seed %llu: wider in %.*s", (unsigned long long)seed, STR_FMT(dimension));
    const char *wider = second_check(child, parent, &facts, &w->settings);
    if (wider)
        fail_msg("seed %llu: %s", (unsigned long long)seed, wider);
    struct contract again;
    assert_int_equal(
        contract_derive(&w->arena, parent, &request, &facts, &w->settings, &again, &err), 0);
    assert_true(child->json.n > 0 && str_eq(child->json, again.json));
    if (w->accepted++ % ROUND_TRIP_EVERY == 0) {
        check_round_trip(w, child);
        check_shared_prompt(w, parent, &request, child);
    }
    w->narrowed += child->receipt.clamp_count > 0;
    return true;
}

static bool may_spawn(const struct contract *contract)
{
    return contract->permissions.can_spawn_children == SPAWN_MAY;
}

static int64_t number_from(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void a_child_never_exceeds_its_parent(void **state)
{
    struct world w = {.seed = (uint64_t)number_from("DERIVE_SEED", 1)};
    int64_t wanted = number_from("DERIVE_PAIRS", PAIRS), pairs = 0, deep = 0, chains = 0;
    arena_init(&w.arena);
    for (; pairs < wanted; chains++) {
        arena_reset(&w.arena);
        random_settings(&w);
        struct delegation goal;
        delegation_init(&goal, DOOR_ROOT);
        goal.task = STR("the goal");
        struct facts facts = random_facts(&w, NULL);
        struct contract chain[6];
        struct err err = ERR_INIT;
        if (contract_root(&w.arena, &w.settings, &goal, &facts, &chain[0], &err) != 0)
            fail_msg("root: %s", err.message);
        if (chains % ROUND_TRIP_EVERY == 0)
            check_round_trip(&w, &chain[0]);
        int depth = 0;
        /* One try shows that an agent without doors is refused; more would say the same. */
        for (int tries = 0; tries < 24 && depth < 5 && (tries == 0 || may_spawn(&chain[depth]));
             tries++)
            if (derive_one(&w, &chain[depth], &chain[depth + 1])) {
                pairs++;
                deep += depth > 0;
                /* Stay at this parent for a while, then go down to the child. */
                depth += pick(&w, 2) != 0;
            }
        if (chains > wanted * 20)
            fail_msg("only %lld pairs of %lld chains", (long long)pairs, (long long)chains);
    }
    arena_release(&w.arena);
    print_message("%lld pairs (%lld beneath a child), %zu narrowed, %zu refused\n",
                  (long long)pairs, (long long)deep, w.narrowed, w.refused);
    /* The generator must reach every interesting region, or the property says little. */
    assert_true(deep > pairs / 10);
    assert_true((int64_t)w.narrowed > pairs / 10);
    assert_true((int64_t)w.refused > pairs / 20);
    assert_true((int64_t)w.shared > pairs / ROUND_TRIP_EVERY / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_never_exceeds_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
