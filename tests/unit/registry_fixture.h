/* What the tests of the registry share: an arena, settings with four models, two known profiles, and the readers and
 * printers with one call each. */
#ifndef CADRE_TESTS_UNIT_REGISTRY_FIXTURE_H
#define CADRE_TESTS_UNIT_REGISTRY_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "core/contract/registry.h"

#define PAGE ((size_t)1 << 20)

struct fixture {
    struct arena arena;
    struct problems problems;
    struct registry registry;
    struct agent_profile profile;
    struct control control;
    struct list profiles;
    struct model_settings models[4];
    struct settings settings;
    struct err err;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    arena_init(&f->arena);
    problems_init(&f->problems, &f->arena);
    list_add(&f->arena, &f->profiles, STR("profile:writer:v1"));
    list_add(&f->arena, &f->profiles, STR("profile:reader"));
    settings_init(&f->settings);
    f->models[0] = (struct model_settings){
        .name = STR("large"), .provider = STR("local"), .model = STR("qwen3-coder")};
    f->models[1] = (struct model_settings){
        .name = STR("small"), .provider = STR("local"), .model = STR("qwen3-mini")};
    f->models[2] = (struct model_settings){
        .name = STR("cloud"), .provider = STR("far"), .model = STR("qwen3-coder")};
    f->models[3] = (struct model_settings){
        .name = STR("qwen3-coder"), .provider = STR("local"), .model = STR("qwen3-coder")};
    f->settings.models = f->models;
    f->settings.model_count = 4;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline struct js *json(const char *text)
{
    struct err err = ERR_INIT;
    struct js *value = js_parse(str_from(text), &err);
    if (!value)
        fail_msg("%s: %s", text, err.message);
    return value;
}

static inline int parse_registry(struct fixture *f, const char *text)
{
    struct js *value = json(text);
    problems_init(&f->problems, &f->arena);
    int result = registry_parse(&f->arena, value, &f->profiles, &f->registry, &f->problems);
    js_free(value);
    return result;
}

static inline int parse_profile(struct fixture *f, struct str id, const char *text)
{
    struct js *value = json(text);
    problems_init(&f->problems, &f->arena);
    int result = agent_profile_parse(&f->arena, id, value, &f->profile, &f->problems);
    js_free(value);
    return result;
}

static inline struct str printed(struct fixture *f,
                                 void (*print)(const struct fixture *f, struct jw *w))
{
    struct buf out;
    struct jw w;
    buf_init(&out, PAGE);
    jw_init(&w, &out);
    print(f, &w);
    struct str text = arena_copy(&f->arena, buf_view(&out));
    buf_release(&out);
    return text;
}

static inline void print_registry(const struct fixture *f, struct jw *w)
{
    registry_print(&f->registry, w);
}

static inline void print_profile(const struct fixture *f, struct jw *w)
{
    agent_profile_print(&f->profile, w);
}

static inline void print_control(const struct fixture *f, struct jw *w)
{
    control_print(&f->control, w);
}

/* Exactly one problem, and it is this. */
static inline void check_problem(const struct fixture *f, const char *text, const char *path,
                                 const char *message)
{
    if (f->problems.found != 1)
        fail_msg("%s: %zu problems", text, f->problems.found);
    if (!str_is(f->problems.items[0].path, path) || !str_is(f->problems.items[0].message, message))
        fail_msg("%s: \"%.*s: %.*s\"", text, STR_FMT(f->problems.items[0].path),
                 STR_FMT(f->problems.items[0].message));
}

#define AGENT(members)                                                                             \
    "{\"agentId\":\"@writer\",\"profileId\":\"profile:writer:v1\",\"description\":"                \
    "\"Writes\"" members "}"
#define REGISTRY(agents) "{\"version\":1,\"agents\":[" agents "]}"
#define ID STR("profile:writer:v1")

#endif
