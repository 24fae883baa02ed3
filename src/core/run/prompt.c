/* What cadre itself says to a model: the root's system prompt, the warning at 80 %, the last turn. Byte-stable: the same state
 * gives the same text, so that providers' caches and replay hold. Pure. */
#include "core/run/state.h"

struct str prompt_root(struct deciding *d)
{
    const struct run *run = d->run;
    const struct contract *contract = &run_agent_at(run, 0)->contract;
    const struct list *tools = &contract->permissions.allowed_tools;
    struct buf out;
    buf_init(&out, SIZE_MAX / 4);
    buf_printf(
        &out,
        "You are an agent that works on the files of one workspace with the tools that you "
        "are given.\n"
        "Workspace: %.*s\n"
        "Paths are relative to the workspace. Look before you change anything; change only "
        "what the task asks for.\n"
        "%s"
        "A tool error tells what was wrong: correct the call or find another way.\n"
        "When the task is done, answer with what you did and what you found, without a tool "
        "call.",
        STR_FMT(run->workspace_path),
        list_has(tools, STR("spawn_agent"))
            ? "Hand self-contained parts of the task to sub-agents with spawn_agent; several "
              "calls in one reply run in parallel.\n"
            : "");
    if (list_has(tools, STR("spawn")) && run->settings.profile_count > 0) {
        buf_text(&out, "\n\n");
        profiles_prompt(&run->settings, &out);
    }
    if (run->control.registry.count > 0) {
        buf_text(&out, "\n\n");
        registry_prompt(&run->control.registry, &out);
    }
    if (contract->outputs.schema.p != NULL) {
        buf_text(&out, "\n\n");
        contract_prompt_schema(contract, &out);
    }
    const struct list *skills = &run_agent_at(run, 0)->contract.permissions.skills;
    if (list_has(tools, STR("skill")) && run->settings.skill_count > 0 && skills->n > 0) {
        buf_text(&out, "\n\n");
        skills_prompt(&run->settings, skills, &out);
    }
    struct str text = keep(d, buf_view(&out));
    buf_release(&out);
    return text;
}

/* "6000 tokens", without the key that sets it, which is for people; tool calls with how many were made. */
static struct str budget_words(struct deciding *d, const struct agent *agent, enum limit_kind kind,
                               struct str limit)
{
    int64_t calls = turn_call_limit(d->run, agent), made = agent->account.tool_calls;
    const char *key = limit.n > 0 ? memmem(limit.p, limit.n, " (", 2) : NULL;
    if (kind == LIMIT_TOOL_CALLS && calls > 0)
        return arena_printf(&d->out->arena, "%lld of %lld tool calls made", (long long)made,
                            (long long)calls);
    if (kind == LIMIT_TOOL_CALLS || limit.n == 0)
        return arena_printf(&d->out->arena, "%lld tool calls made", (long long)made);
    return key != NULL ? (struct str){limit.p, (size_t)(key - limit.p)} : limit;
}

struct str prompt_last_turn(struct deciding *d, const struct agent *agent, enum limit_kind kind,
                            struct str limit)
{
    return arena_printf(&d->out->arena,
                        "Your budget is used up (%.*s). This is your last turn. Do "
                        "not call tools: no call is executed any more. Answer now with "
                        "%s",
                        STR_FMT(budget_words(d, agent, kind, limit)),
                        agent->contract.outputs.schema.p != NULL
                            ? "one JSON value that matches the schema, and nothing else."
                            : "what you have found and done, and say what is missing.");
}

struct str prompt_warning(struct deciding *d, const struct agent *agent, int percent,
                          enum limit_kind kind, struct str limit)
{
    return arena_printf(&d->out->arena,
                        "%d %% of your budget is used (%.*s). Wrap up: finish "
                        "what matters most, then answer.",
                        percent, STR_FMT(budget_words(d, agent, kind, limit)));
}
