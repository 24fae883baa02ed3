/* What a child is told before its first turn (seed 002: light on purpose), in two parts.
 * The system prompt holds only what siblings share: the profile's prompt, the role, the rules and
 * the workspace. Providers cache it together with the tools, so it must be the same bytes for all
 * children with the same role and profile, whatever their task.
 * The brief stands in the first user message behind the task: criteria, focus, directory, write
 * paths, budget, checks and schema. What the parent passes on (context, context_files) follows it.
 * Neither holds project instruction files or the parent's conversation. Pure; any thread. */
#include "base/utf8.h"
#include "core/contract/contract.h"

#define MINUTE_MS 60000

static void block(struct buf *out, const char *title, struct str text)
{
    if (text.n == 0)
        return;
    buf_printf(out, "\n# %s\n\n", title);
    utf8_mend(out, text);
    buf_char(out, '\n');
}

static void block_list(struct buf *out, const char *title, const struct list *list)
{
    if (list->n == 0)
        return;
    buf_printf(out, "\n# %s\n\n", title);
    for (size_t i = 0; i < list->n; i++) {
        buf_text(out, "- ");
        utf8_mend(out, list->items[i]);
        buf_char(out, '\n');
    }
}

static void workplace(const struct contract *contract, struct buf *out)
{
    buf_text(out, "\n# Where you work\n\nWorking directory: ");
    utf8_mend(out, contract->execution.working_directory);
    buf_text(out, "\nYou may write to: ");
    const struct list *paths = &contract->permissions.write_paths;
    for (size_t i = 0; i < paths->n; i++) {
        buf_text(out, i > 0 ? ", " : "");
        utf8_mend(out, paths->items[i]);
    }
    buf_text(out, paths->n > 0 ? "\n" : "nothing\n");
}

/* Rounded up: what is left of the parent's time differs by a little each time, and equal children get equal prompts. */
static void whole_minutes(int64_t ms, struct buf *out)
{
    int64_t minutes = (ms + MINUTE_MS - 1) / MINUTE_MS;
    buf_printf(out, "You have at most %lld minute%s.\n", (long long)minutes,
               minutes == 1 ? "" : "s");
}

static void budget(const struct contract *contract, struct buf *out)
{
    const struct limits *limits = &contract->execution.budget;
    if (limits->tool_calls == UNLIMITED && contract_deadline_ms(contract) == UNLIMITED)
        return;
    buf_text(out, "\n# Budget\n\n");
    if (limits->tool_calls != UNLIMITED)
        buf_printf(out, "You have %lld tool calls.\n", (long long)limits->tool_calls);
    if (limits->wall_ms != UNLIMITED)
        buf_printf(out, "You have %lld seconds.\n", (long long)(limits->wall_ms / 1000));
    else if (contract->execution.max_wall_ms > 0)
        whole_minutes(contract->execution.max_wall_ms, out);
}

void contract_prompt_schema(const struct contract *contract, struct buf *out)
{
    buf_text(out,
             "Your last message must be one JSON value that matches this JSON Schema, with no text "
             "before or behind it:\n\n");
    buf_str(out, contract->outputs.schema);
    buf_char(out, '\n');
}

void contract_prompt_checks(const struct contract *contract, struct buf *out)
{
    buf_text(out, "When you have answered, these commands are run, in this order. Your work counts "
                  "as done only when all of them succeed:\n\n");
    for (size_t i = 0; i < contract->outputs.checks.n; i++)
        buf_printf(out, "- %.*s\n", STR_FMT(contract->outputs.checks.items[i]));
    buf_char(out, '\n');
}

void contract_prompt(const struct contract *contract, const struct delegation *request,
                     struct str workspace_path, struct buf *out)
{
    const struct role *role = role_find(contract->agent.role);
    if (request->prompt.n > 0) {
        utf8_mend(out, request->prompt);
        buf_text(out, "\n\n");
    }
    buf_text(out, role ? role->prompt : "You are a sub-agent with one focused task.\n");
    buf_text(out,
             "You work alone: nobody answers questions while you run, and only your last message "
             "reaches the agent that started you.\n"
             "When your budget runs out you get one last turn in which no tool call is executed.\n"
             "\n# Workspace\n\n");
    utf8_mend(out, workspace_path);
    buf_text(out, "\n\n# Answer\n\n"
                  "Be concise. Unless your task asks for another form, end with a summary of what "
                  "you found or changed: it is all that is read.\n");
}

void contract_brief(const struct contract *contract, struct str scope, struct buf *out)
{
    block_list(out, "Success criteria", &contract->step.success_criteria);
    block(out, "Focus", scope);
    workplace(contract, out);
    budget(contract, out);
    if (contract->outputs.checks.n == 0 && contract->outputs.schema.p == NULL)
        return;
    buf_text(out, "\n# Your answer\n\n");
    if (contract->outputs.checks.n > 0)
        contract_prompt_checks(contract, out);
    if (contract->outputs.schema.p)
        contract_prompt_schema(contract, out);
}
