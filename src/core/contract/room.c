/* The prompt of a child: its hash for the receipt, and the room that a child needs beside it and beside what is passed on.
 * Pure; any thread. */
#include "base/hash.h"
#include "core/contract/budget.h"
#include "core/contract/derive.h"
#include "core/contract/tools.h"

enum { PROMPT_BYTES_MAX = 4 * 1024 * 1024, ROOM_TIMES = 3 };

/* Nobody chose tools for a child without a role that has every reading tool there is: no profile or call did. */
bool contract_shows_special_tools(const struct contract *contract, const struct settings *settings)
{
    const struct list *available = &settings->available_tools;
    if (contract->agent.depth == 0 || contract->agent.role.n > 0)
        return true;
    for (size_t i = 0; i < available->n; i++) {
        const struct tool_info *info = tool_info_find(available->items[i]);
        if (info != NULL && info->group == GROUP_READ &&
            !list_has(&contract->permissions.allowed_tools, available->items[i]))
            return true;
    }
    return false;
}

/* Of a tool whose size is not known. */
#define TOOL_BYTES_GUESS 450

static int64_t tool_bytes(const struct settings *settings, struct str tool)
{
    for (size_t i = 0; i < settings->tool_size_count; i++)
        if (str_eq(settings->tool_sizes[i].tool, tool))
            return settings->tool_sizes[i].bytes;
    return TOOL_BYTES_GUESS;
}

int64_t contract_tool_tokens(const struct contract *contract, const struct settings *settings)
{
    const struct list *tools = &contract->permissions.allowed_tools;
    bool special = contract_shows_special_tools(contract, settings);
    int64_t bytes = 0;
    for (size_t i = 0; i < tools->n; i++)
        if (special || !tool_is_special(tools->items[i]))
            bytes += tool_bytes(settings, tools->items[i]);
    return (bytes + 2) / 3;
}

/* Whether context_tokens is a default (a quarter of the window, or the role's) and the fixed part is known: logs of older
 * versions do not tell it. */
static bool room_is_default(const struct derivation *d)
{
    const struct delegation *request = d->request;
    return d->settings->tool_size_count > 0 && request->asked.context_tokens == ASK_NOTHING &&
           request->context_window == ASK_NOTHING &&
           (d->role || d->settings->child.context_tokens == UNLIMITED);
}

/* A default leaves room for work: three times what the prompt and the tools take, within the window. What the parent passes on
 * is in every request, too. */
static void room_widen(struct derivation *d, int64_t fixed)
{
    int64_t *context = &d->out->execution.budget.context_tokens;
    int64_t window = model_window(d->model);
    if (*context == UNLIMITED || !room_is_default(d))
        return;
    fixed += d->facts->passed_tokens;
    if (*context < ROOM_TIMES * fixed)
        *context = ROOM_TIMES * fixed;
    if (window != UNLIMITED && *context > window)
        *context = window;
}

/* What is passed on must fit with an eighth to work in: a child that could only fail is not started. */
static int room_check(const struct derivation *d, int64_t fixed, struct err *err)
{
    int64_t context = d->out->execution.budget.context_tokens, passed = d->facts->passed_tokens;
    if (passed == 0 || context == UNLIMITED || d->settings->tool_size_count == 0 ||
        fixed + passed <= context - context / 8)
        return 0;
    return err_set(err, ERR_USAGE,
                   "context and context_files take about %lld tokens, prompt and tools %lld, and a "
                   "request of this sub-agent may have %lld: pass on less, or let it read the "
                   "files itself",
                   (long long)passed, (long long)fixed, (long long)context);
}

int fill_prompt(struct derivation *d, struct err *err)
{
    struct buf prompt;
    buf_init(&prompt, PROMPT_BYTES_MAX);
    contract_prompt(d->out, d->request, d->facts->workspace_path, &prompt);
    buf_str(&prompt, d->request->task);
    contract_brief(d->out, d->request->scope, &prompt);
    bool fits = !prompt.failed;
    struct hash hash = hash_of(buf_view(&prompt));
    int64_t fixed = budget_estimate(buf_view(&prompt)) + contract_tool_tokens(d->out, d->settings);
    buf_release(&prompt);
    if (!fits)
        return err_set(err, ERR_USAGE, "task and scope are longer than %d bytes together",
                       PROMPT_BYTES_MAX);
    room_widen(d, fixed);
    if (room_check(d, fixed, err) != 0)
        return -1;
    char hex[HASH_HEX + 1];
    hash_hex(&hash, hex);
    d->out->receipt.prompt_hash = arena_copy(d->arena, (struct str){hex, HASH_HEX});
    return 0;
}
