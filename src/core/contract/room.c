/* The prompt of a child: its hash for the receipt, and the room that a child needs beside it. Pure; any thread. */
#include "base/hash.h"
#include "core/contract/budget.h"
#include "core/contract/derive.h"

enum { PROMPT_BYTES_MAX = 4 * 1024 * 1024, ROOM_TIMES = 3 };

/* Whether context_tokens is a default (a quarter of the window, or the role's) and the fixed part is known: logs of older
 * versions do not tell it. */
static bool room_is_default(const struct derivation *d)
{
    const struct delegation *request = d->request;
    return d->settings->tool_size_count > 0 && request->asked.context_tokens == ASK_NOTHING &&
           request->context_window == ASK_NOTHING &&
           (d->role || d->settings->child.context_tokens == UNLIMITED);
}

/* A default leaves room for work: three times what the prompt and the tools take, within the window. */
static void room_widen(struct derivation *d, struct str prompt)
{
    int64_t *context = &d->out->execution.budget.context_tokens;
    int64_t window = model_window(d->model);
    int64_t fixed = budget_estimate(prompt) +
                    settings_tool_tokens(d->settings, &d->out->permissions.allowed_tools);
    if (*context == UNLIMITED || !room_is_default(d))
        return;
    if (*context < ROOM_TIMES * fixed)
        *context = ROOM_TIMES * fixed;
    if (window != UNLIMITED && *context > window)
        *context = window;
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
    room_widen(d, buf_view(&prompt));
    buf_release(&prompt);
    if (!fits)
        return err_set(err, ERR_USAGE, "task and scope are longer than %d bytes together",
                       PROMPT_BYTES_MAX);
    char hex[HASH_HEX + 1];
    hash_hex(&hash, hex);
    d->out->receipt.prompt_hash = arena_copy(d->arena, (struct str){hex, HASH_HEX});
    return 0;
}
