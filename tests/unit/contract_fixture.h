/* What contract_test and derive_test share: settings with three models, a root, and one request
 * to vary. */
#ifndef CADRE_TESTS_UNIT_CONTRACT_FIXTURE_H
#define CADRE_TESTS_UNIT_CONTRACT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "core/contract/contract.h"
#include "core/contract/money.h"

struct fixture {
    struct arena arena;
    struct settings settings;
    struct model_settings models[3];
    struct delegation request;
    struct facts facts;
    struct contract root, child;
    struct err err;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    arena_init(&f->arena);
    settings_init(&f->settings);
    f->settings.spawn_enabled = SWITCH_ON;
    f->models[0] = (struct model_settings){STR("small"),
                                           STR("local"),
                                           STR("qwen"),
                                           STR("openai"),
                                           STR("http://127.0.0.1:1"),
                                           STR_NONE,
                                           4096,
                                           32768,
                                           3000,
                                           15000,
                                           UNLIMITED,
                                           UNLIMITED,
                                           TEXT_CALLS_ARE_TEXT,
                                           0,
                                           NULL};
    f->models[1] = f->models[0];
    f->models[1].name = STR("large");
    f->models[2] = f->models[0];
    f->models[2].name = STR("free");
    f->models[2].price_in_nano = f->models[2].price_out_nano = UNLIMITED;
    f->settings.models = f->models;
    f->settings.model_count = 3;
    f->settings.default_model = STR("small");
    f->settings.mode = MODE_AUTO;
    delegation_init(&f->request, DOOR_ROOT);
    f->request.task = STR("do it");
    f->facts = (struct facts){.run_id = STR("RUN"),
                              .session_id = STR("SESSION"),
                              .agent_id = STR("AGENT"),
                              .workspace_path = STR("/project"),
                              .remaining_tokens = UNLIMITED,
                              .remaining_cost_nano = UNLIMITED,
                              .remaining_wall_ms = UNLIMITED,
                              .asker = ASKER_TERMINAL};
    f->err = ERR_INIT;
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    arena_release(&f->arena);
    free(f);
    return 0;
}

static inline int make_root(struct fixture *f)
{
    struct delegation request;
    delegation_init(&request, DOOR_ROOT);
    request.task = STR("the goal\nin two lines");
    return contract_root(&f->arena, &f->settings, &request, &f->facts, &f->root, &f->err);
}

/* Makes the root, then the child that f->request asks for through spawn_agent (or the door it
 * names). */
static inline int derive(struct fixture *f)
{
    f->err = ERR_INIT;
    assert_int_equal(make_root(f), 0);
    if (f->request.door == DOOR_ROOT)
        f->request.door = DOOR_SPAWN_AGENT;
    f->facts.parent_agent_id = STR("ROOT");
    f->facts.parent_task = STR("the goal\nin two lines");
    f->facts.ordinal = 3;
    return contract_derive(&f->arena, &f->root, &f->request, &f->facts, &f->settings, &f->child,
                           &f->err);
}

/* A child of any parent, from the same request and facts. */
static inline int derive_from(struct fixture *f, const struct contract *parent,
                              struct contract *child)
{
    return contract_derive(&f->arena, parent, &f->request, &f->facts, &f->settings, child, &f->err);
}

static inline void derive_ok(struct fixture *f)
{
    if (derive(f) != 0)
        fail_msg("refused: %s", f->err.message);
    struct str dimension;
    if (!contract_within(&f->child, &f->root, &dimension))
        fail_msg("the child is wider in %.*s", STR_FMT(dimension));
}

static inline void derive_fails(struct fixture *f, enum err_class class, const char *text)
{
    assert_int_equal(derive(f), -1);
    assert_int_equal(f->err.class, class);
    if (!strstr(f->err.message, text))
        fail_msg("\"%s\" does not say \"%s\"", f->err.message, text);
    assert_int_equal(f->child.permissions.allowed_tools.state, LIST_ABSENT);
}

static inline const struct clamp *clamp_find(const struct contract *contract, const char *field,
                                             const char *by)
{
    for (size_t i = 0; i < contract->receipt.clamp_count; i++)
        if (str_is(contract->receipt.clamps[i].field, field) &&
            str_is(contract->receipt.clamps[i].by, by))
            return &contract->receipt.clamps[i];
    return NULL;
}

static inline bool has_tool(const struct contract *contract, const char *tool)
{
    return contract->permissions.allowed_tools.state == LIST_SET &&
           list_has(&contract->permissions.allowed_tools, str_from(tool));
}

static inline struct list list_of(struct arena *arena, const char *const *names)
{
    struct list list = {LIST_SET, NULL, 0};
    for (; *names; names++)
        list_add(arena, &list, str_from(*names));
    return list;
}
/* The list's items, with commas between. */
static inline void check_list(const struct list *list, const char *wanted)
{
    char words[2048] = "";
    for (size_t i = 0; i < list->n; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%.*s", i > 0 ? ", " : "",
                 STR_FMT(list->items[i]));
    assert_string_equal(words, wanted);
}

#define LIST(...) list_of(&f->arena, (const char *const[]){__VA_ARGS__, NULL})

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
