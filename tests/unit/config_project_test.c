/* What a project's file gives without consent, as a property: for every key of the table, and for several at once, random values of
 * the user's and of the project's file. Where the start is not refused, nobody has more than without the project's file. "More" is
 * written here from docs/config.md and shares no code with src/config/widen.c. A key without a rule fails: say what a project's file
 * may do with it. CONFIG_PAIRS says how many pairs of files (2000), CONFIG_SEED where to start. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "check.h"
#include "config/entry.h"
#include "config_room.h"

enum { PAIRS = 2000, EACH = 40, LINES_MAX = 32, TEXT_BYTES = 16384, MACHINE_LEAST_MB = 2048 };

/* ASKS: any value takes consent. LESS: what is no more than without it is taken as it is, all else takes consent. ADDS: any value, where
 * the user's file has nothing under that name. */
enum rule { RULE_MISSING, RULE_NEVER, RULE_ASKS, RULE_LESS, RULE_ADDS };

#define PARAMS(ID, RULE)                                                                           \
    [KEY_##ID##EFFORT] = (RULE), [KEY_##ID##TEMPERATURE] = (RULE), [KEY_##ID##TOP_P] = (RULE),     \
    [KEY_##ID##STOP] = (RULE), [KEY_##ID##SEED] = (RULE)

static const enum rule rules[KEY_COUNT_OF_KEYS] = {
    [KEY_PROVIDER] = RULE_ASKS,
    [KEY_PROVIDER_API] = RULE_ASKS,
    [KEY_PROVIDER_URL] = RULE_ASKS,
    [KEY_PROVIDER_KEY] = RULE_ASKS,
    [KEY_PROVIDER_KEY_CMD] = RULE_NEVER,
    [KEY_PROVIDER_KEY_TTL] = RULE_NEVER,
    [KEY_PROVIDER_HEADERS] = RULE_NEVER,
    [KEY_PROVIDER_EXTRA] = RULE_NEVER,
    [KEY_PROVIDER_MAX_CONCURRENT] = RULE_ASKS,
    [KEY_PROVIDER_FIRST_BYTE] = RULE_ASKS,
    [KEY_PROVIDER_IDLE] = RULE_ASKS,
    [KEY_PROVIDER_TOTAL] = RULE_ASKS,
    [KEY_PROVIDER_FILE] = RULE_ASKS,
    [KEY_PROVIDER_STRICT] = RULE_ASKS,
    [KEY_PROVIDER_SPEED] = RULE_ASKS,
    [KEY_MODEL] = RULE_ASKS,
    [KEY_MODEL_PROVIDER] = RULE_ASKS,
    [KEY_MODEL_ID] = RULE_ASKS,
    [KEY_MODEL_OUTPUT] = RULE_ASKS,
    [KEY_MODEL_WINDOW] = RULE_ASKS,
    [KEY_MODEL_PRICE_IN] = RULE_ASKS,
    [KEY_MODEL_PRICE_OUT] = RULE_ASKS,
    [KEY_MODEL_PRICE_CACHED] = RULE_ASKS,
    [KEY_MODEL_PRICE_CACHE_WRITE] = RULE_ASKS,
    [KEY_MODEL_TEXT_CALLS] = RULE_ASKS,
    [KEY_MODEL_EXTRA] = RULE_NEVER,
    PARAMS(MODEL_, RULE_ASKS),
    [KEY_POOL_MODEL] = RULE_ASKS,
    [KEY_DEFAULT_POOL] = RULE_ASKS,
    [KEY_ALLOWED_MODELS] = RULE_ASKS,
    PARAMS(LLM_, RULE_ASKS),
    [KEY_PATIENCE] = RULE_NEVER,
    [KEY_SUB_AGENT_ENABLED] = RULE_LESS,
    [KEY_MAX_DEPTH] = RULE_LESS,
    [KEY_MAX_CONCURRENT] = RULE_LESS,
    [KEY_DELEGATE_CONCURRENCY] = RULE_LESS,
    [KEY_CHILD_TOOL_CALLS] = RULE_LESS,
    [KEY_CHILD_CONTEXT] = RULE_LESS,
    [KEY_CHILD_WALL] = RULE_LESS,
    [KEY_INHERIT_MODE] = RULE_LESS,
    [KEY_GATE] = RULE_LESS,
    [KEY_ATTEMPT_TIMEOUT] = RULE_LESS,
    [KEY_MAX_WALL] = RULE_LESS,
    [KEY_MAX_RETRIES] = RULE_LESS,
    [KEY_IDLE_TIMEOUT] = RULE_LESS,
    [KEY_REUSE] = RULE_LESS,
    [KEY_CLOSE_ON_COMPLETION] = RULE_LESS,
    [KEY_CHILD_ASK] = RULE_LESS,
    [KEY_APPROVALS_VIA] = RULE_NEVER,
    [KEY_APPROVALS_TIMEOUT] = RULE_LESS,
    [KEY_ISOLATE_CHILDREN] = RULE_ASKS,
    [KEY_ISOLATE_ROOT] = RULE_ASKS,
    [KEY_ISOLATE_SNAPSHOT] = RULE_ASKS,
    [KEY_PLAN_ENABLED] = RULE_LESS,
    [KEY_PLAN_REVIEW] = RULE_LESS,
    [KEY_PLAN_ROUNDS] = RULE_LESS,
    [KEY_PLAN_APPROVAL] = RULE_LESS,
    [KEY_SPAWN_ENABLED] = RULE_LESS,
    [KEY_PROFILE] = RULE_ADDS,
    [KEY_PROFILE_PROMPT] = RULE_ADDS,
    [KEY_PROFILE_FILE] = RULE_ADDS,
    [KEY_PROFILE_DIRECTORY] = RULE_ADDS,
    [KEY_PROFILE_BOOTSTRAP] = RULE_ADDS,
    [KEY_PROFILE_TOOLS] = RULE_ADDS,
    [KEY_PROFILE_POOL] = RULE_ASKS,
    [KEY_PROFILE_SCHEMA] = RULE_ADDS,
    [KEY_PROFILE_CHECKS] = RULE_ASKS,
    [KEY_PROFILE_NETWORK] = RULE_ADDS,
    PARAMS(PROFILE_, RULE_ADDS),
    [KEY_ROLE_CHECKS] = RULE_ASKS,
    [KEY_CHILD_CHECKS] = RULE_ASKS,
    [KEY_ROLE_SCHEMA] = RULE_ADDS,
    [KEY_TEST_COMMAND] = RULE_ADDS,
    [KEY_SEARCH_KIND] = RULE_NEVER,
    [KEY_SEARCH_URL] = RULE_NEVER,
    [KEY_SEARCH_KEY] = RULE_NEVER,
    [KEY_FETCH_PRIVATE] = RULE_NEVER,
    [KEY_ROLE_DIRECTORIES] = RULE_ASKS,
    PARAMS(ROLE_, RULE_ASKS),
    [KEY_ROLE_NETWORK] = RULE_LESS,
    [KEY_ACCESS_NETWORK] = RULE_LESS,
    [KEY_ACCESS_PRIVATE] = RULE_NEVER,
    [KEY_ACCESS_ADDRESS] = RULE_NEVER,
    [KEY_ACCESS_CREDENTIALS] = RULE_NEVER,
    [KEY_MODE] = RULE_LESS,
    [KEY_PERMISSION] = RULE_LESS,
    [KEY_WARN_AT] = RULE_LESS,
    [KEY_PAUSE_AT] = RULE_LESS,
    [KEY_HARD_STOP_AT] = RULE_LESS,
    [KEY_COST] = RULE_LESS,
    [KEY_TOKENS] = RULE_LESS,
    [KEY_WALL] = RULE_LESS,
    [KEY_SANDBOX_NAMESPACES] = RULE_NEVER,
    [KEY_SANDBOX_LANDLOCK] = RULE_NEVER,
    [KEY_SANDBOX_SECCOMP] = RULE_NEVER,
    [KEY_SANDBOX_ENVIRONMENT] = RULE_NEVER,
    [KEY_SANDBOX_SHOW] = RULE_NEVER,
    [KEY_SANDBOX_PROCESSES] = RULE_LESS,
    [KEY_SANDBOX_MEMORY] = RULE_LESS,
    [KEY_SANDBOX_FILE] = RULE_LESS,
    [KEY_SANDBOX_DISK] = RULE_LESS,
    [KEY_SANDBOX_OPEN_FILES] = RULE_LESS,
    [KEY_RELAY_SOCKET] = RULE_NEVER,
    [KEY_RELAY_PORT] = RULE_NEVER,
    [KEY_SECRETS_MASK] = RULE_NEVER,
    [KEY_STORE] = RULE_NEVER,
};

/* --- chance -------------------------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t pick(uint64_t *seed, int64_t below)
{
    return (int64_t)(next_random(seed) % (uint64_t)below);
}

#define PICK(seed, ...)                                                                            \
    ((const char *const[]){__VA_ARGS__})[pick(                                                     \
        seed, (int64_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))]

/* Ends of the range, the default and its neighbours more often than chance has it. */
static int64_t random_number(uint64_t *seed, const struct config_key *key)
{
    int64_t usual = strtoll(key->fallback, NULL, 10);
    int64_t span = key->maximum - key->minimum;
    int64_t number;
    switch (pick(seed, 6)) {
    case 0:
        number = key->minimum + pick(seed, 3);
        break;
    case 1:
        number = key->maximum;
        break;
    case 2:
        number = usual - 1 + pick(seed, 3);
        break;
    default:
        number = key->minimum + pick(seed, 1 + (span >> pick(seed, 40)));
        break;
    }
    return number < key->minimum ? key->minimum : number > key->maximum ? key->maximum : number;
}

/* A value that the key takes, as YAML. */
static const char *random_value(uint64_t *seed, const struct config_key *key)
{
    static char text[64];
    switch (key->type) {
    case TYPE_OBJECT:
        return "{}";
    case TYPE_TEXT:
    case TYPE_PROSE:
    case TYPE_FILE:
        return PICK(seed, "one", "two");
    case TYPE_POOL:
        return "default";
    case TYPE_API:
        return "openai";
    case TYPE_URL:
        return PICK(seed, "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1");
    case TYPE_VARIABLE:
        return PICK(seed, "MY_KEY", "OTHER_KEY");
    case TYPE_NAMES:
    case TYPE_FILES:
    case TYPE_COMMANDS:
    case TYPE_ARGV:
    case TYPE_STOPS:
        return PICK(seed, "[one]", "[one, two]");
    case TYPE_TOOLS:
        return PICK(seed, "[]", "[read]", "[read, shell]");
    case TYPE_SWITCH:
        return PICK(seed, "true", "false");
    case TYPE_MODE:
        return PICK(seed, "safe", "auto", "dangerous", "research", "plan", "review", "ci");
    case TYPE_PERMISSION:
        return PICK(seed, "allow", "ask", "deny");
    case TYPE_ALLOWANCE:
        return PICK(seed, "allow", "deny");
    case TYPE_VIA:
        return PICK(seed, "terminal", "inbox");
    case TYPE_GATE:
        return PICK(seed, "parent", "run");
    case TYPE_SPEED:
        return PICK(seed, "instant", "recorded");
    case TYPE_SCHEMA:
        return "{type: object}";
    case TYPE_SEARCH:
        return "brave";
    case TYPE_NETWORK:
        return PICK(seed, "none", "relay", "full", "{allow: [a.test]}", "{allow: []}",
                    "{allow: [a.test, '*.b.test']}", "{allow: [x.b.test]}", "{allow: ['*']}");
    case TYPE_HOSTS:
        return PICK(seed, "[a.test]", "['*.b.test', a.test]");
    case TYPE_ADDRESS:
        return PICK(seed, "10.0.0.7", "'[fd00::7]:8443'");
    case TYPE_HEADERS:
    case TYPE_BODY:
        return "{x-one: two}";
    case TYPE_EFFORT:
        return PICK(seed, "low", "max");
    case TYPE_DECIMAL:
        return PICK(seed, "0", "0.5", "1");
    case TYPE_IDLE:
        if (pick(seed, 3) == 0)
            return "0";
        break;
    case TYPE_LIMIT:
    case TYPE_MONEY:
        if (pick(seed, 4) == 0)
            return "null";
        break;
    case TYPE_COUNT:
    case TYPE_MILLISECONDS:
    case TYPE_PRICE:
        break;
    default:
        fail_msg("%s: a type that this test does not know; add it here", key->path);
    }
    snprintf(text, sizeof text, "%lld", (long long)random_number(seed, key));
    return text;
}

/* --- files --------------------------------------------------------------------------------------------------------------------- */

/* One value of a file: "sub_agent.max_depth", with its name where the key has a `*`. */
struct line {
    char path[160], value[64];
};

struct lines {
    struct line items[LINES_MAX];
    size_t count;
};

static void lines_add(struct lines *lines, const char *pattern, const char *name, const char *value)
{
    assert_true(lines->count < LINES_MAX);
    struct line line = {{0}, {0}};
    size_t n = 0;
    for (const char *p = pattern; *p != '\0'; p++)
        if (*p == '*')
            n += (size_t)snprintf(line.path + n, sizeof line.path - n, "%s", name);
        else
            line.path[n++] = *p;
    snprintf(line.value, sizeof line.value, "%s", value);
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->items[i].path, line.path) == 0)
            return;
    lines->items[lines->count++] = line;
}

static bool lies_beneath(const struct line *line, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(line->path, prefix, n) == 0;
}

/* The members at `prefix`, in flow style. */
static void print_members(const struct lines *lines, const char *prefix, struct buf *out)
{
    size_t n = strlen(prefix);
    struct buf done;
    buf_init(&done, TEXT_BYTES);
    buf_char(out, '{');
    for (size_t i = 0; i < lines->count; i++) {
        char mark[96], deeper[160];
        const struct line *line = &lines->items[i];
        if (!lies_beneath(line, prefix))
            continue;
        struct str part = {line->path + n, strcspn(line->path + n, ".[")};
        snprintf(mark, sizeof mark, "|%.*s|", STR_FMT(part));
        if (done.p != NULL && done.n > 0 && memmem(done.p, done.n, mark, strlen(mark)) != NULL)
            continue;
        buf_printf(out, "%s%.*s: ", done.n > 0 ? ", " : "", STR_FMT(part));
        buf_text(&done, mark);
        bool item = part.p[part.n] == '[';
        bool last = part.p[part.n] == '\0';
        snprintf(deeper, sizeof deeper, "%s%.*s%s", prefix, STR_FMT(part), item ? "[]." : ".");
        bool beneath = false;
        for (size_t k = 0; k < lines->count; k++)
            beneath |= lies_beneath(&lines->items[k], deeper);
        if (last && !beneath) {
            buf_text(out, line->value);
            continue;
        }
        buf_text(out, item ? "[" : "");
        print_members(lines, deeper, out);
        buf_text(out, item ? "]" : "");
    }
    buf_char(out, '}');
    buf_release(&done);
}

static void write_lines(struct room *room, const char *path, const struct lines *lines)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    print_members(lines, "", &text);
    buf_char(&text, '\n');
    room_write_bytes(room, path, buf_view(&text));
    buf_release(&text);
}

/* A user with a model, a profile and a relay, so that no value is refused for want of them. */
static void users_own(struct lines *lines)
{
    *lines = (struct lines){.count = 0};
    lines_add(lines, "llm.providers.mine.base_url", "", "http://127.0.0.1:9/v1");
    lines_add(lines, "llm.models.m.provider", "", "mine");
    lines_add(lines, "llm.models.m.price_in", "", "0");
    lines_add(lines, "llm.models.m.price_out", "", "0");
    lines_add(lines, "llm.pools.default[].model", "", "m");
    lines_add(lines, "tools.spawn.profiles.mine.system_prompt", "", "own");
    lines_add(lines, "sandbox.relay.socket", "", "/run/proxy.socket");
}

enum whose { OF_USER, OF_PROJECT };

static const char *random_name(uint64_t *seed, const struct config_key *key, enum whose whose)
{
    if (key->id == KEY_PERMISSION)
        return PICK(seed, "shell", "write", "edit", "read", "git_commit");
    if (strncmp(key->path, "roles.", 6) == 0)
        return key->id == KEY_ROLE_DIRECTORIES ? "tester" : PICK(seed, "executor", "tester");
    return whose == OF_USER || pick(seed, 3) == 0 ? "mine" : "theirs";
}

static void add_random(struct lines *lines, uint64_t *seed, const struct config_key *key,
                       enum whose whose)
{
    lines_add(lines, key->path, random_name(seed, key, whose), random_value(seed, key));
}

/* --- no more than without it --------------------------------------------------------------------------------------------------- */

struct times {
    int64_t whole, silence;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How long a child may take, and how long it may be silent, with a role or without. */
static struct times times_of(const struct settings *s, int64_t role_ms)
{
    bool wall = role_ms == 0 && (s->child_timeout_set || s->child.wall_ms != CHILD_TIMEOUT_MS);
    bool attempt_wall = s->attempt_timeout_set || s->attempt_timeout_ms != ATTEMPT_TIMEOUT_MS;
    int64_t chosen = role_ms > 0 ? role_ms : s->child.wall_ms;
    struct times times = {.whole = wall ? chosen : s->max_wall_ms};
    times.silence = s->idle_timeout_ms > 0 ? s->idle_timeout_ms
                    : !wall                ? chosen
                    : !attempt_wall        ? s->attempt_timeout_ms
                                           : INT64_MAX;
    times.silence = least(times.silence, times.whole);
    if (attempt_wall)
        times.silence = least(times.silence, s->attempt_timeout_ms);
    return times;
}

static enum permission permission_of(const struct settings *s, const struct tool_info *tool)
{
    enum permission found = mode_table[s->mode][tool->group];
    for (size_t i = 0; i < s->override_count; i++)
        if (str_is(s->overrides[i].tool, tool->name))
            found = s->overrides[i].permission;
    return found == PERMIT_HIDDEN ? PERMIT_DENY : found;
}

#define NO_MORE(field)                                                                             \
    do {                                                                                           \
        if (with->field > without->field)                                                          \
            return #field;                                                                         \
        rest.field = without->field;                                                               \
    } while (0)
/* UNLIMITED is more than any number. */
#define NO_MORE_LIMIT(field)                                                                       \
    do {                                                                                           \
        if (without->field != UNLIMITED &&                                                         \
            (with->field == UNLIMITED || with->field > without->field))                            \
            return #field;                                                                         \
        rest.field = without->field;                                                               \
    } while (0)
#define ANY(field) rest.field = without->field

static bool same_json(const struct settings *a, const struct settings *b)
{
    struct buf one, two;
    struct jw w;
    buf_init(&one, (size_t)1 << 20);
    buf_init(&two, (size_t)1 << 20);
    jw_init(&w, &one);
    settings_print(a, &w);
    jw_init(&w, &two);
    settings_print(b, &w);
    bool same = !one.failed && !two.failed && str_eq(buf_view(&one), buf_view(&two));
    buf_release(&one);
    buf_release(&two);
    return same;
}

/* The name of what is more, or NULL. What is compared is then made equal: all else must be. */
static const char *more_settings(const struct settings *with, const struct settings *without)
{
    struct settings rest = *with;
    static const int64_t roles[] = {0, 300000};
    for (size_t i = 0; i < 2; i++) {
        struct times a = times_of(with, roles[i]), b = times_of(without, roles[i]);
        if (a.whole > b.whole)
            return "the whole time of a child";
        if (a.silence > b.silence)
            return "the silence of a child";
    }
    ANY(child.wall_ms);
    ANY(child_timeout_set);
    ANY(attempt_timeout_ms);
    ANY(attempt_timeout_set);
    ANY(idle_timeout_ms);
    NO_MORE(max_wall_ms);
    NO_MORE(sub_agent_enabled);
    NO_MORE(plan_enabled);
    NO_MORE(spawn_enabled);
    NO_MORE(max_depth);
    NO_MORE(max_concurrent);
    NO_MORE(delegate_concurrency);
    NO_MORE(child.tool_calls);
    NO_MORE(max_retries);
    NO_MORE(warn_at);
    NO_MORE(pause_at);
    NO_MORE(hard_stop_at);
    NO_MORE(review_rounds);
    NO_MORE(root.wall_ms);
    NO_MORE(question_timeout_ms);
    if (!network_within(with->network, without->network))
        return "network";
    ANY(network);
    NO_MORE_LIMIT(root.tokens);
    NO_MORE_LIMIT(root.cost_nano);
    if (without->approval_timeout_ms != 0 &&
        (with->approval_timeout_ms == 0 ||
         with->approval_timeout_ms > without->approval_timeout_ms))
        return "approval_timeout_ms";
    ANY(approval_timeout_ms);
    /* null: a quarter of the model's window, whatever that is */
    if (with->child.context_tokens != without->child.context_tokens &&
        (without->child.context_tokens == UNLIMITED || with->child.context_tokens == UNLIMITED ||
         with->child.context_tokens > without->child.context_tokens))
        return "child.context_tokens";
    ANY(child.context_tokens);
    if (with->gate < without->gate)
        return "gate";
    ANY(gate);
    if (with->children_refused < without->children_refused)
        return "children_refused";
    ANY(children_refused);
    if (with->plan_review < without->plan_review)
        return "plan_review";
    ANY(plan_review);
    for (size_t i = 0; i < tool_info_count; i++)
        if (permission_of(with, &tool_infos[i]) > permission_of(without, &tool_infos[i]))
            return tool_infos[i].name;
    ANY(mode);
    ANY(overrides);
    ANY(override_count);
    static const char *const role_names[] = {"researcher", "planner", "executor", "reviewer",
                                             "tester"};
    for (size_t i = 0; i < 5; i++) {
        struct str role = str_from(role_names[i]);
        struct str schema = settings_role_schema(without, role);
        if (!network_within(settings_role_network(with, role),
                            settings_role_network(without, role)))
            return "network of a role";
        if (schema.p != NULL && !str_eq(schema, settings_role_schema(with, role)))
            return "schema of a role";
    }
    ANY(role_networks);
    ANY(role_network_count);
    ANY(role_outputs);
    ANY(role_outputs_count);
    if (settings_profile(with, STR("mine")) == NULL ||
        !str_eq(settings_profile(with, STR("mine"))->system_prompt,
                settings_profile(without, STR("mine"))->system_prompt) ||
        settings_profile(with, STR("mine"))->tools.n !=
            settings_profile(without, STR("mine"))->tools.n)
        return "a profile of the user's";
    ANY(profiles);
    ANY(profile_count);
    /* neither value allows anything that the other does not */
    ANY(inherit_mode);
    ANY(hold_children);
    ANY(reuse_results);
    return same_json(&rest, without) ? NULL : "a setting that this test does not compare";
}

static const char *more_config(const struct config *with, const struct config *without)
{
    const struct config_sandbox *a = &with->sandbox, *b = &without->sandbox;
    if (a->processes > b->processes || a->file_mb > b->file_mb || a->disk_mb > b->disk_mb ||
        a->open_files > b->open_files)
        return "a limit of the sandbox";
    /* null: half of the machine */
    int64_t memory = b->memory_mb == UNLIMITED ? MACHINE_LEAST_MB : b->memory_mb;
    if (a->memory_mb != b->memory_mb && (a->memory_mb == UNLIMITED || a->memory_mb > memory))
        return "sandbox.memory_mb";
    for (size_t i = 0; i < 3; i++)
        if (a->walls[i].off != b->walls[i].off)
            return "a wall";
    if (a->environment_count != b->environment_count || a->shown_count != b->shown_count ||
        !str_eq(a->relay, b->relay) || a->relay_port != b->relay_port)
        return "what the sandbox shows";
    if (with->secrets != without->secrets)
        return "secrets.mask";
    if (with->unattended != without->unattended)
        return "approvals.via";
    if (!str_eq(with->store_path, without->store_path))
        return "store";
    if (without->test_command.n > 0 && !str_eq(with->test_command, without->test_command))
        return "tools.test.command";
    if (!str_eq(with->web.kind, without->web.kind) || !str_eq(with->web.url, without->web.url) ||
        with->web.fetch != without->web.fetch)
        return "web";
    return more_settings(&with->settings, &without->settings);
}

/* --- the property -------------------------------------------------------------------------------------------------------------- */

enum outcome { TAKEN, REFUSED };

static enum outcome hold(struct room *room, const struct lines *user, const struct lines *project)
{
    char file[PATH_BYTES * 2];
    struct config with;
    snprintf(file, sizeof file, "%s/%s", room->root, PROJECT_FILE);
    write_lines(room, USER_FILE, user);
    write_lines(room, PROJECT_FILE, project);
    if (room_load(room) != 0) {
        if (strstr(room->err.message, "a project's file may not set") == NULL)
            fail_msg("refused for another reason: %s", room->err.message);
        return REFUSED;
    }
    with = room->config;
    room->config = (struct config){.store_path = STR_NONE};
    assert_int_equal(remove(file), 0);
    load_ok(room);
    const char *more = more_config(&with, &room->config);
    if (more != NULL) {
        struct buf text;
        buf_init(&text, TEXT_BYTES * 2);
        print_members(user, "", &text);
        buf_text(&text, "\n");
        print_members(project, "", &text);
        buf_char(&text, '\0');
        fail_msg("more than without the project's file: %s\n%s", more, text.p);
    }
    config_release(&with);
    return TAKEN;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("CONFIG_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 1;
}

static void every_key_has_a_rule(void **state)
{
    static const enum rule of[] = {[PROJECT_NEVER] = RULE_NEVER,
                                   [PROJECT_WIDENS] = RULE_ASKS,
                                   [PROJECT_NARROWS] = RULE_LESS,
                                   [PROJECT_RAISES] = RULE_LESS,
                                   [PROJECT_ADDS] = RULE_ADDS};
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        if (rules[i] == RULE_MISSING)
            fail_msg("%s: say in the table of this test what a project's file may do with it",
                     config_keys[i].path);
        if (rules[i] != of[config_keys[i].project])
            fail_msg("%s: the table of keys says otherwise", config_keys[i].path);
    }
}

/* Each key alone, over a user's file that sets it or does not. */
static void each_key_gives_no_more_without_consent(void **state)
{
    struct room *room = *state;
    uint64_t seed = first_seed();
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        const struct config_key *key = &config_keys[i];
        size_t taken = 0, refused = 0;
        bool own = rules[i] == RULE_LESS || key->id == KEY_TEST_COMMAND;
        for (int k = 0; k < EACH; k++) {
            struct lines user, project = {.count = 0};
            users_own(&user);
            if (own && k % 2 == 1)
                add_random(&user, &seed, key, OF_USER);
            add_random(&project, &seed, key, OF_PROJECT);
            if (hold(room, &user, &project) == TAKEN)
                taken++;
            else
                refused++;
        }
        if ((rules[i] == RULE_NEVER || rules[i] == RULE_ASKS) && taken > 0)
            fail_msg("%s is taken without consent", key->path);
        if (rules[i] == RULE_LESS && (taken == 0 || refused == 0))
            fail_msg("%s: %zu taken, %zu refused", key->path, taken, refused);
        if (rules[i] == RULE_ADDS && taken == 0)
            fail_msg("%s is never taken", key->path);
    }
}

/* A key of the section, or of any where it is NULL. */
static const struct config_key *random_key(uint64_t *seed, const char *section)
{
    for (;;) {
        const struct config_key *key = &config_keys[pick(seed, KEY_COUNT_OF_KEYS)];
        if (key->type != TYPE_OBJECT &&
            (section == NULL || strncmp(key->path, section, strlen(section)) == 0))
            return key;
    }
}

/* Keys of one section depend on each other more often than others do. */
static void several_keys_give_no_more_without_consent(void **state)
{
    struct room *room = *state;
    const char *text = getenv("CONFIG_PAIRS");
    long pairs = text != NULL ? strtol(text, NULL, 10) : PAIRS;
    uint64_t seed = first_seed() * UINT64_C(0x51ed2701);
    size_t taken = 0;
    for (long i = 0; i < pairs; i++) {
        struct lines user, project = {.count = 0};
        const char *section = PICK(&seed, NULL, "sub_agent.", "sub_agent.", "sandbox.", "roles.");
        users_own(&user);
        for (int64_t n = 1 + pick(&seed, 5); n > 0; n--) {
            const struct config_key *key = random_key(&seed, section);
            if (rules[key->id] == RULE_LESS)
                add_random(&user, &seed, key, OF_USER);
        }
        for (int64_t n = 1 + pick(&seed, 3); n > 0;) {
            const struct config_key *key = random_key(&seed, section);
            if (rules[key->id] != RULE_LESS && pick(&seed, 8) != 0)
                continue;
            add_random(&project, &seed, key, OF_PROJECT);
            n--;
        }
        taken += hold(room, &user, &project) == TAKEN;
    }
    assert_true(pairs < PAIRS || taken > (size_t)pairs / 10);
}

/* The same by hand, with what is told. */
static void a_limit_that_is_built_in_is_not_lifted(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *user, *project, *refusal; /* NULL: it is taken */
    } cases[] = {
        {"", "sandbox: {memory_mb: 4096}\n",
         ":1:22: a project's file may not set sandbox.memory_mb wider than a limit of its own "
         "(built-in) unless you trust it"},
        {"", "sandbox: {memory_mb: 2048}\n", NULL},
        {"sandbox: {memory_mb: 4096}\n", "sandbox: {memory_mb: 4096}\n", NULL},
        {"sandbox: {memory_mb: 1024}\n", "sandbox: {memory_mb: null}\n", ":1:22: a project's"},
        {"", "sub_agent: {default_budget: {max_tokens: 4096}}\n",
         ":1:42: a project's file may not set sub_agent.default_budget.max_tokens wider than"},
        {"", "sub_agent: {default_budget: {max_tokens: null}}\n", NULL},
        {"sub_agent: {default_budget: {max_tokens: 8192}}\n",
         "sub_agent: {default_budget: {max_tokens: 4096}}\n", NULL},
        {"", "sub_agent: {idle_timeout_ms: 2h}\n", ":1:30: a project's file may not set"},
        {"", "sub_agent: {idle_timeout_ms: 60s}\n", NULL},
        {"sub_agent: {max_wall_ms: 30s}\n", "sub_agent: {default_budget: {timeout_ms: 60s}}\n",
         ":1:42: a project's file may not set sub_agent.default_budget.timeout_ms wider than "
         "30000"},
        {"", "plan: {review: false}\n", ":1:16: a project's file may not set plan.review"},
        {"plan: {review: false}\n", "plan: {review: true}\n", NULL},
        {"", "budget: {tokens: 4096}\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        room_write(room, USER_FILE, cases[i].user);
        room_write(room, PROJECT_FILE, cases[i].project);
        if (cases[i].refusal != NULL)
            load_fails(room, ERR_CONFIG, PROJECT_FILE, cases[i].refusal);
        else
            load_ok(room);
    }
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_a_rule),
        ROOM(a_limit_that_is_built_in_is_not_lifted),
        ROOM(each_key_gives_no_more_without_consent),
        ROOM(several_keys_give_no_more_without_consent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
