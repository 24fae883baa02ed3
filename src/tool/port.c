/* The tools as one port for the engine: the table, settling, and scopes on the heap. Pool threads run it. */
#include <stdlib.h>

#include "os/scope.h"
#include "tool/checks.h"
#include "tool/file.h"
#include "tool/memory.h"
#include "tool/preview.h"

static int open_scope(struct str workspace, const struct str *denied, size_t denied_count,
                      struct scope **out, struct err *err)
{
    struct arena arena;
    struct scope *scope = calloc(1, sizeof *scope);
    if (scope == NULL)
        return err_set(err, ERR_IO, "out of memory");
    arena_init(&arena);
    int result = scope_open(scope, arena_copy(&arena, workspace).p, err);
    if (result != 0) {
        free(scope);
        scope = NULL;
    }
    for (size_t i = 0; result == 0 && i < denied_count; i++)
        result = scope_deny(scope, arena_copy(&arena, denied[i]).p, err);
    arena_release(&arena);
    if (result != 0 && scope != NULL) {
        scope_close(scope);
        free(scope);
        scope = NULL;
    }
    *out = scope;
    return result;
}

static int open_tree(struct str tree, struct str workspace, struct scope **out, struct err *err)
{
    struct arena arena;
    struct scope *scope = NULL;
    if (open_scope(tree, NULL, 0, &scope, err) != 0 || scope == NULL)
        return -1;
    arena_init(&arena);
    int result = scope_show_as(scope, arena_copy(&arena, workspace).p, err);
    arena_release(&arena);
    if (result != 0) {
        scope_close(scope);
        free(scope);
        scope = NULL;
    }
    *out = scope;
    return result;
}

static void close_scope(struct scope *scope)
{
    scope_close(scope);
    free(scope);
}

static int open_again(const struct scope *resting, struct scope **out, struct err *err)
{
    struct scope *scope = calloc(1, sizeof *scope);
    if (scope == NULL)
        return err_set(err, ERR_IO, "out of memory");
    if (scope_open_again(scope, resting, err) != 0) {
        free(scope);
        scope = NULL;
    }
    *out = scope;
    return scope != NULL ? 0 : -1;
}

const struct tool_port tool_port = {tool_find,
                                    tool_settle,
                                    open_scope,
                                    open_tree,
                                    close_scope,
                                    scope_rest,
                                    open_again,
                                    tool_load,
                                    checks_run,
                                    tool_memory_end_agent,
                                    tool_memory_await_agent,
                                    tool_preview,
                                    step_preview};
