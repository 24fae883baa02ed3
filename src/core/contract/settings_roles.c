/* What settings say of roles: schemas of their answers, checks of their work, the network of their commands; and the network of all. As
 * JSON, and looked up. Pure; any thread. */
#include "core/contract/settings_roles.h"

#include "core/contract/settings.h"

struct list settings_role_checks(const struct settings *settings, struct str role)
{
    for (size_t i = 0; i < settings->role_checks_count; i++)
        if (str_eq(settings->role_checks[i].role, role))
            return settings->role_checks[i].checks;
    return LIST_NONE;
}

struct str settings_role_schema(const struct settings *settings, struct str role)
{
    for (size_t i = 0; role.n > 0 && i < settings->role_outputs_count; i++)
        if (str_eq(settings->role_outputs[i].role, role))
            return settings->role_outputs[i].schema;
    return STR_NONE;
}

struct str settings_role_network(const struct settings *settings, struct str role)
{
    for (size_t i = 0; i < settings->role_network_count; i++)
        if (str_eq(settings->role_networks[i].role, role))
            return settings->role_networks[i].network;
    return STR("full");
}

const struct model_params *settings_role_params(const struct settings *settings, struct str role)
{
    for (size_t i = 0; i < settings->role_params_count; i++)
        if (str_eq(settings->role_params[i].role, role))
            return &settings->role_params[i].params;
    return NULL;
}

static void role_outputs_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_object(w);
    for (size_t i = 0; i < settings->role_outputs_count; i++) {
        jw_key_str(w, settings->role_outputs[i].role);
        jw_raw(w, settings->role_outputs[i].schema);
    }
    jw_end_object(w);
}

static int role_outputs_parse(struct arena *arena, const struct js *value, const char *where,
                              void *at, struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value), done = 0;
    struct str key;
    const struct js *schema;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected roles and schemas", where);
    settings->role_outputs = arena_alloc(arena, (n + 1) * sizeof *settings->role_outputs);
    for (void *i = js_next(value, NULL, &key, &schema); i; i = js_next(value, i, &key, &schema)) {
        settings->role_outputs[done].role = arena_copy(arena, key);
        if (field_json.parse(arena, schema, where, &settings->role_outputs[done++].schema, err))
            return -1;
    }
    settings->role_outputs_count = done;
    return 0;
}

static bool role_outputs_are_none(const void *at)
{
    return ((const struct settings *)at)->role_outputs_count == 0;
}

static void role_checks_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_object(w);
    for (size_t i = 0; i < settings->role_checks_count; i++) {
        jw_key_str(w, settings->role_checks[i].role);
        field_list.print(w, &settings->role_checks[i].checks);
    }
    jw_end_object(w);
}

static int role_checks_parse(struct arena *arena, const struct js *value, const char *where,
                             void *at, struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value), done = 0;
    struct str key;
    const struct js *checks;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected roles and checks", where);
    settings->role_checks = arena_alloc(arena, (n + 1) * sizeof *settings->role_checks);
    for (void *i = js_next(value, NULL, &key, &checks); i; i = js_next(value, i, &key, &checks)) {
        settings->role_checks[done].role = arena_copy(arena, key);
        if (field_list.parse(arena, checks, where, &settings->role_checks[done++].checks, err))
            return -1;
    }
    settings->role_checks_count = done;
    return 0;
}

static bool role_checks_are_none(const void *at)
{
    return ((const struct settings *)at)->role_checks_count == 0;
}

static int network_read(struct arena *arena, const struct js *value, const char *where,
                        struct str *network, struct err *err)
{
    enum network unused;
    if (!network_parse(js_str(value), &unused))
        return err_set(err, ERR_CORRUPT, "%s: expected none, relay, full or allow and names",
                       where);
    *network = arena_copy(arena, js_str(value));
    return 0;
}

static void network_print(struct jw *w, const void *at)
{
    jw_str(w, ((const struct settings *)at)->network);
}

static int network_field_parse(struct arena *arena, const struct js *value, const char *where,
                               void *at, struct err *err)
{
    return network_read(arena, value, where, &((struct settings *)at)->network, err);
}

static bool network_is_none(const void *at)
{
    return str_is(((const struct settings *)at)->network, "none");
}

static void role_networks_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_object(w);
    for (size_t i = 0; i < settings->role_network_count; i++) {
        jw_key_str(w, settings->role_networks[i].role);
        jw_str(w, settings->role_networks[i].network);
    }
    jw_end_object(w);
}

static int role_networks_parse(struct arena *arena, const struct js *value, const char *where,
                               void *at, struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value), done = 0;
    struct str key;
    const struct js *network;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected roles and networks", where);
    settings->role_networks = arena_alloc(arena, (n + 1) * sizeof *settings->role_networks);
    for (void *i = js_next(value, NULL, &key, &network); i; i = js_next(value, i, &key, &network)) {
        settings->role_networks[done].role = arena_copy(arena, key);
        if (network_read(arena, network, where, &settings->role_networks[done++].network, err) != 0)
            return -1;
    }
    settings->role_network_count = done;
    return 0;
}

static bool role_networks_are_none(const void *at)
{
    return ((const struct settings *)at)->role_network_count == 0;
}

static void role_params_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_object(w);
    for (size_t i = 0; i < settings->role_params_count; i++) {
        jw_key_str(w, settings->role_params[i].role);
        field_params_if_any.print(w, &settings->role_params[i].params);
    }
    jw_end_object(w);
}

static int role_params_parse(struct arena *arena, const struct js *value, const char *where,
                             void *at, struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value), done = 0;
    struct str key;
    const struct js *params;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected roles and parameters", where);
    settings->role_params = arena_alloc(arena, (n + 1) * sizeof *settings->role_params);
    for (void *i = js_next(value, NULL, &key, &params); i; i = js_next(value, i, &key, &params)) {
        struct role_params *role = &settings->role_params[done++];
        role->role = arena_copy(arena, key);
        if (field_params_if_any.parse(arena, params, where, &role->params, err) != 0)
            return -1;
    }
    settings->role_params_count = done;
    return 0;
}

static bool role_params_are_none(const void *at)
{
    return ((const struct settings *)at)->role_params_count == 0;
}

const struct field_kind role_params_kind = {role_params_print, role_params_parse,
                                            role_params_are_none, NULL};
const struct field_kind role_outputs_kind = {role_outputs_print, role_outputs_parse,
                                             role_outputs_are_none, NULL};
const struct field_kind role_checks_kind = {role_checks_print, role_checks_parse,
                                            role_checks_are_none, NULL};
const struct field_kind network_kind = {network_print, network_field_parse, network_is_none, NULL};
const struct field_kind role_networks_kind = {role_networks_print, role_networks_parse,
                                              role_networks_are_none, NULL};
