/* The contract's JSON, both ways, from one table in the order of CONTRACT.md. Reading is strict:
 * every section and key must be there with its type, and an unknown key is refused, since it may
 * carry a limit that this version would not enforce. A failed parse leaves a contract that
 * permits nothing. Pure; any thread. */
#include <stddef.h>
#include <stdio.h>

#include "core/contract/contract.h"
#include "core/contract/fields.h"

/* Kinds that only contracts have. Their rows have offset 0: `at` is the contract itself. */

static int version_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                         struct err *err)
{
    int64_t version = js_int(value, 0);
    if (js_kind(value) != JS_INT || version < 1 || version > CONTRACT_VERSION)
        return err_set(err, ERR_CORRUPT,
                       "%s: this version of cadre reads contracts of version 1 to %d", where,
                       CONTRACT_VERSION);
    ((struct contract *)at)->version = version;
    return 0;
}

static void version_print(struct jw *w, const void *at)
{
    jw_int(w, ((const struct contract *)at)->version);
}

static void mode_field_print(struct jw *w, const void *at)
{
    jw_text(w, mode_text(((const struct contract *)at)->permissions.mode));
}

static int mode_field_parse(struct arena *arena, const struct js *value, const char *where,
                            void *at, struct err *err)
{
    if (mode_parse(js_str(value), &((struct contract *)at)->permissions.mode, err) == 0)
        return 0;
    err->class = ERR_CORRUPT;
    return err_prefix(err, "%s", where);
}

static void tool_modes_print(struct jw *w, const void *at)
{
    const struct contract *contract = at;
    jw_object(w);
    for (size_t i = 0; i < contract->permissions.tool_mode_count; i++) {
        jw_key_str(w, contract->permissions.tool_modes[i].tool);
        jw_text(w, permission_text(contract->permissions.tool_modes[i].permission));
    }
    jw_end_object(w);
}

static int tool_modes_parse(struct arena *arena, const struct js *value, const char *where,
                            void *at, struct err *err)
{
    struct contract *contract = at;
    size_t n = js_count(value), done = 0;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected an object of at most %d tools", where,
                       LIST_ITEMS_MAX);
    contract->permissions.tool_modes =
        arena_alloc(arena, n * sizeof *contract->permissions.tool_modes);
    struct str key;
    const struct js *member;
    for (void *i = js_next(value, NULL, &key, &member); i; i = js_next(value, i, &key, &member)) {
        enum permission *permission = &contract->permissions.tool_modes[done].permission;
        if (permission_parse(js_str(member), permission, err) != 0) {
            err->class = ERR_CORRUPT;
            return err_prefix(err, "%s.%.*s", where, (int)(key.n < 64 ? key.n : 64), key.p);
        }
        contract->permissions.tool_modes[done++].tool = arena_copy(arena, key);
    }
    contract->permissions.tool_mode_count = done;
    return 0;
}

static void tool_modes_own(struct arena *arena, const void *like, void *at)
{
    const struct contract *other = like;
    struct contract *contract = at;
    size_t n = contract->permissions.tool_mode_count;
    bool same = n == other->permissions.tool_mode_count;
    for (size_t i = 0; same && i < n; i++)
        same =
            contract->permissions.tool_modes[i].permission ==
                other->permissions.tool_modes[i].permission &&
            str_eq(contract->permissions.tool_modes[i].tool, other->permissions.tool_modes[i].tool);
    if (same) {
        contract->permissions.tool_modes = other->permissions.tool_modes;
        return;
    }
    size_t size = n * sizeof *contract->permissions.tool_modes;
    void *copy = arena_alloc(arena, size);
    if (n > 0)
        memcpy(copy, contract->permissions.tool_modes, size);
    contract->permissions.tool_modes = copy;
    for (size_t i = 0; i < n; i++)
        contract->permissions.tool_modes[i].tool =
            text_own(arena, contract->permissions.tool_modes[i].tool);
}

static int bool_parse(const struct js *value, const char *where, bool *out, struct err *err)
{
    if (js_kind(value) != JS_BOOL)
        return err_set(err, ERR_CORRUPT, "%s: expected true or false", where);
    *out = js_bool(value, false);
    return 0;
}

static void spawn_print(struct jw *w, const void *at)
{
    jw_bool(w, ((const struct contract *)at)->permissions.can_spawn_children == SPAWN_MAY);
}

static int spawn_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                       struct err *err)
{
    bool may = false;
    if (bool_parse(value, where, &may, err) != 0)
        return -1;
    ((struct contract *)at)->permissions.can_spawn_children = may ? SPAWN_MAY : SPAWN_NEVER;
    return 0;
}

static void close_print(struct jw *w, const void *at)
{
    jw_bool(w, ((const struct contract *)at)->execution.close == CLOSE_ON_COMPLETION);
}

static int close_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                       struct err *err)
{
    bool on_completion = false;
    if (bool_parse(value, where, &on_completion, err) != 0)
        return -1;
    ((struct contract *)at)->execution.close = on_completion ? CLOSE_ON_COMPLETION : CLOSE_HELD;
    return 0;
}

static void gate_field_print(struct jw *w, const void *at)
{
    jw_text(w, gate_text(((const struct contract *)at)->outputs.gate));
}

static int gate_field_parse(struct arena *arena, const struct js *value, const char *where,
                            void *at, struct err *err)
{
    return gate_parse(value, where, &((struct contract *)at)->outputs.gate, err);
}

static void door_print(struct jw *w, const void *at)
{
    jw_text(w, door_text(((const struct contract *)at)->receipt.door));
}

static int door_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                      struct err *err)
{
    struct str text = js_str(value);
    for (int door = DOOR_ROOT; text.p && door <= DOOR_PLAN; door++)
        if (str_is(text, door_text((enum door)door))) {
            ((struct contract *)at)->receipt.door = (enum door)door;
            return 0;
        }
    return err_set(err, ERR_CORRUPT, "%s: expected the name of a door", where);
}

#define CLAMP(member) offsetof(struct clamp, member)
static const struct field clamp_fields[] = {
    {"field", &field_text, CLAMP(field), NULL},
    {"asked", &field_json, CLAMP(asked), NULL},
    {"got", &field_json, CLAMP(got), NULL},
    {"by", &field_text, CLAMP(by), NULL},
    {0},
};
#undef CLAMP

void contract_clamps_print(const struct contract *contract, struct jw *w)
{
    jw_array(w);
    for (size_t i = 0; i < contract->receipt.clamp_count; i++)
        fields_print(clamp_fields, w, &contract->receipt.clamps[i]);
    jw_end_array(w);
}

static void clamps_print(struct jw *w, const void *at)
{
    contract_clamps_print(at, w);
}

static int clamps_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                        struct err *err)
{
    struct contract *contract = at;
    size_t n = js_count(value);
    if (js_kind(value) != JS_ARRAY || n > CLAMPS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of at most %d clamps", where,
                       CLAMPS_MAX);
    struct clamp *clamps = arena_alloc(arena, n * sizeof *clamps);
    for (size_t i = 0; i < n; i++) {
        char path[FIELD_PATH_BYTES], index[32];
        snprintf(index, sizeof index, "%zu", i);
        field_path(path, where, index);
        if (fields_parse(clamp_fields, FIELDS_ALL, arena, js_at(value, i), path, &clamps[i], err))
            return -1;
    }
    contract->receipt.clamps = clamps;
    contract->receipt.clamp_count = n;
    return 0;
}

static void clamps_own(struct arena *arena, const void *like, void *at)
{
    static const struct clamp nothing = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
    struct contract *contract = at;
    size_t n = contract->receipt.clamp_count;
    struct clamp *clamps = arena_alloc(arena, n * sizeof *clamps);
    for (size_t i = 0; i < n; i++) {
        clamps[i] = contract->receipt.clamps[i];
        fields_own(clamp_fields, arena, &nothing, &clamps[i]);
    }
    contract->receipt.clamps = clamps;
}

static const struct field_kind version_kind = {version_print, version_parse, NULL, NULL};
static const struct field_kind mode_kind = {mode_field_print, mode_field_parse, NULL, NULL};
static const struct field_kind tool_modes_kind = {tool_modes_print, tool_modes_parse, NULL,
                                                  tool_modes_own};
static const struct field_kind spawn_kind = {spawn_print, spawn_parse, NULL, NULL};
static const struct field_kind close_kind = {close_print, close_parse, NULL, NULL};
static const struct field_kind gate_kind = {gate_field_print, gate_field_parse, NULL, NULL};
static const struct field_kind door_kind = {door_print, door_parse, NULL, NULL};
static const struct field_kind clamps_kind = {clamps_print, clamps_parse, NULL, clamps_own};

#define AT(member) offsetof(struct contract, member)

static const struct field agent_fields[] = {
    {"id", &field_text, AT(agent.id), NULL},
    {"name", &field_text, AT(agent.name), NULL},
    {"role", &field_text_or_null, AT(agent.role), NULL},
    {"profile_id", &field_text_or_null, AT(agent.profile_id), NULL},
    {"agent_id", &field_text_or_null, AT(agent.agent_id), NULL},
    {"depth", &field_count, AT(agent.depth), NULL},
    {"runner", &field_text, AT(agent.runner), NULL},
    {0},
};

static const struct field parent_fields[] = {
    {"run_id", &field_text, AT(parent.run_id), NULL},
    {"agent_id", &field_text_or_null, AT(parent.agent_id), NULL},
    {"session_id", &field_text_or_null, AT(parent.session_id), NULL},
    {"step_idx", &field_count, AT(parent.step_idx), NULL},
    {"task_prompt", &field_text_or_null, AT(parent.task_prompt), NULL},
    {"goal_summary", &field_text_or_null, AT(parent.goal_summary), NULL},
    {0},
};

static const struct field step_fields[] = {
    {"title", &field_text, AT(step.title), NULL},
    {"description", &field_text, AT(step.description), NULL},
    {"success_criteria", &field_list, AT(step.success_criteria), NULL},
    {0},
};

static const struct field model_fields[] = {
    {"pool", &field_text_or_null, AT(model.pool), NULL},
    {"name", &field_text, AT(model.name), NULL},
    {"provider", &field_text_or_null, AT(model.provider), NULL},
    {"model", &field_text, AT(model.model), NULL},
    {"allowed_models", &field_list, AT(model.allowed_models), NULL},
    {"params", NULL, AT(model.params), params_fields},
    {0},
};

static const struct field permissions_fields[] = {
    {"mode", &mode_kind, 0, NULL},
    {"allowed_tools", &field_list, AT(permissions.allowed_tools), NULL},
    {"tool_modes", &tool_modes_kind, 0, NULL},
    {"skills", &field_list, AT(permissions.skills), NULL},
    {"mcp_servers", &field_list, AT(permissions.mcp_servers), NULL},
    {"read_paths", &field_list, AT(permissions.read_paths), NULL},
    {"write_paths", &field_list, AT(permissions.write_paths), NULL},
    {"network", &field_text, AT(permissions.network), NULL},
    {"can_spawn_children", &spawn_kind, 0, NULL},
    {"max_delegation_depth", &field_count, AT(permissions.max_delegation_depth), NULL},
    {"spawn_roles", &field_list_or_null, AT(permissions.spawn_roles), NULL},
    {0},
};

static const struct field execution_fields[] = {
    {"attempt_timeout_ms", &field_limit, AT(execution.attempt_timeout_ms), NULL},
    {"max_retries", &field_count, AT(execution.max_retries), NULL},
    {"idle_timeout_ms", &field_count_if_any, AT(execution.idle_timeout_ms), NULL},
    {"close_on_completion", &close_kind, 0, NULL},
    {"working_directory", &field_text, AT(execution.working_directory), NULL},
    {"max_wall_ms", &field_count_if_any, AT(execution.max_wall_ms), NULL},
    {"budget", NULL, AT(execution.budget), limits_fields},
    {0},
};

static const struct field isolation_fields[] = {
    {"strategy", &field_text, AT(isolation.strategy), NULL},
    {"base_ref", &field_text_or_null, AT(isolation.base_ref), NULL},
    {"ownership", &field_list_or_null, AT(isolation.ownership), NULL},
    {"integration_order", &field_count, AT(isolation.integration_order), NULL},
    {0},
};

static const struct field outputs_fields[] = {
    {"report_format", &field_text, AT(outputs.report_format), NULL},
    {"report_path_pattern", &field_text, AT(outputs.report_path_pattern), NULL},
    {"gate", &gate_kind, 0, NULL},
    {"schema", &field_json, AT(outputs.schema), NULL},
    {"checks", &field_list, AT(outputs.checks), NULL},
    {0},
};

static const struct field receipt_fields[] = {
    {"door", &door_kind, 0, NULL},
    {"prompt_hash", &field_text_or_null, AT(receipt.prompt_hash), NULL},
    {"clamps", &clamps_kind, 0, NULL},
    {0},
};
#undef AT

static const struct field contract_fields[] = {
    {"contract_version", &version_kind, 0, NULL},
    {"agent", NULL, 0, agent_fields},
    {"parent", NULL, 0, parent_fields},
    {"step", NULL, 0, step_fields},
    {"model", NULL, 0, model_fields},
    {"permissions", NULL, 0, permissions_fields},
    {"execution", NULL, 0, execution_fields},
    {"isolation", NULL, 0, isolation_fields},
    {"outputs", NULL, 0, outputs_fields},
    {"receipt", NULL, 0, receipt_fields},
    {0},
};

void contract_print(const struct contract *contract, struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    fields_print(contract_fields, &w, contract);
}

int contract_parse(struct arena *arena, struct str json, struct contract *out, struct err *err)
{
    *out = (struct contract){0};
    struct contract read = {0};
    params_init(&read.model.params);
    struct js *document = js_parse(json, err);
    if (!document)
        return err_prefix(err, "contract");
    int rc = fields_parse(contract_fields, FIELDS_ALL, arena, document, "", &read, err);
    js_free(document);
    if (rc != 0)
        return err_prefix(err, "contract");
    *out = read;
    return 0;
}

void contract_own(struct arena *arena, const struct contract *like, struct contract *contract)
{
    contract->json = STR_NONE;
    fields_own(contract_fields, arena, like, contract);
}
