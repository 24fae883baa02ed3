/* The tools' fixture with a memory and a sandbox without walls: for tests of tools that run programs. */
#ifndef CADRE_TESTS_PROGRAM_FIXTURE_H
#define CADRE_TESTS_PROGRAM_FIXTURE_H

#include <signal.h>

#include "tool/memory.h"
#include "unit/open_sandbox.h"
#include "unit/tool_fixture.h"

static struct tool_services program_services;

static inline int program_setup(void **state)
{
    fixture_setup(state);
    struct fixture *f = *state;
    signal(SIGPIPE, SIG_IGN);
    program_services =
        (struct tool_services){.sandbox = &open_sandbox, .memory = tool_memory_new()};
    f->context.services = &program_services;
    f->context.run_id = STR("RUN");
    f->context.agent_no = 1;
    f->context.time_left_ms = INT64_MAX;
    return 0;
}

static inline int program_teardown(void **state)
{
    tool_memory_free(program_services.memory);
    return fixture_teardown(state);
}

/* Whether the process whose id stands in a file of the workspace is alive; waits for the file. */
static inline bool is_alive(struct fixture *f, const char *file)
{
    const char *text = NULL;
    for (int i = 0; i < 5000 && (text == NULL || strchr(text, '\n') == NULL); i++) {
        text = content_of(f, file);
        usleep(2000);
    }
    assert_non_null(text);
    return kill((pid_t)strtol(text, NULL, 10), 0) == 0;
}

/* A killed process stays in the table until init has seen it. */
static inline void assert_dies(struct fixture *f, const char *file)
{
    for (int i = 0; i < 2000 && is_alive(f, file); i++)
        usleep(5000);
    assert_false(is_alive(f, file));
}

static inline bool was_modified(const struct fixture *f, const char *path)
{
    for (size_t i = 0; i < f->result.modified_count; i++)
        if (str_is(f->result.files_modified[i], path))
            return true;
    return false;
}

#define PROGRAM_TEST(name) cmocka_unit_test_setup_teardown(name, program_setup, program_teardown)

#endif
