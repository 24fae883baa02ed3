/* docs/config.md from the key table: the page cannot say anything that the parser does not do. Used by the unit test,
 * which prints the page and checks the stored one against it. Pure. */
#include "config/key.h"

static const char introduction[] =
    "# Configuration\n"
    "\n"
    "<!-- Generated from src/config/key.h by `unit-config --print-docs`; the test suite compares. "
    "-->\n"
    "\n"
    "cadre needs no configuration: with `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or another vendor's "
    "key in the environment, "
    "or with\n"
    "`--base-url URL --model NAME`, `cadre run \"task\"` works. Everything else has a default.\n"
    "\n"
    "## Where values come from\n"
    "\n"
    "Later wins:\n"
    "\n"
    "1. the defaults below;\n"
    "2. your own file: `--config FILE`, else the file that `CADRE_CONFIG` names, else\n"
    "   `$XDG_CONFIG_HOME/cadre/cadre.yaml` (`~/.config/cadre/cadre.yaml`);\n"
    "3. the project's files: `cadre.yaml` in every directory from the top of the git repository "
    "down to the workspace, the\n"
    "   nearest last; without a repository, the one in the workspace. A file narrows freely: it "
    "lowers a limit, chooses a stricter mode,\n"
    "   denies a tool, or adds a spawn profile that your own file does not have. Whatever would "
    "widen (servers, models, a\n"
    "   larger limit) takes your trust, see below;\n"
    "4. flags: `--provider --api --base-url --model --effort --mode --store --max-cost --timeout "
    "--max-concurrent`.\n"
    "\n"
    "A relative path in a flag, an operand or `CADRE_CONFIG` starts at the directory in which you "
    "start cadre, wherever the\n"
    "workspace is; one in a config file starts at that file's directory.\n"
    "\n"
    "Keys of model servers come from environment variables, or from a program that your own file "
    "names; files name the variable. A wrong "
    "key, type, value or\n"
    "reference stops the start (exit code 2) with file, line and column. Files are YAML of at most "
    "1 MB, without\n"
    "anchors, aliases and tags.\n"
    "\n"
    "An agent that comes to a limit ends with an error that names the limit and the key, flag or "
    "argument that sets it:\n"
    "`the budget is used up: 15 tool calls (sub_agent.default_budget.max_tool_calls, or "
    "max_tool_calls of the call)`.\n"
    "\n"
    "## Trust in a project's file\n"
    "\n"
    "A project's file comes with the project. What it sets wider than what holds without it is "
    "shown when a run starts on a\n"
    "terminal, with the value before and after, and asked about; without a terminal the start "
    "stops with exit code 2.\n"
    "Wider is judged against the value that holds without the file, a built-in one included. Where "
    "`null` (or 0 for\n"
    "`sub_agent.idle_timeout_ms`) stands for a limit that is built in, a number may be more than "
    "that limit, and is asked about.\n"
    "`cadre config trust --show` lists what the file widens, `cadre config trust` trusts it, "
    "`--revoke` takes that back. Trust\n"
    "is for one path and one content: a changed file is asked about again. It is kept in "
    "`$XDG_STATE_HOME/cadre/trust`\n"
    "(`~/.local/state/cadre/trust`), never in the project, and no tool of an agent reaches it. A "
    "provider, model, pool or\n"
    "profile that a trusted file sets is all its own: nothing of yours under that name stays, so "
    "that your key goes to no\n"
    "server that you did not name. Where the store is, a project's file never says.\n"
    "\n"
    "The repository's top is not looked for past a mount point, nor in a directory that belongs to "
    "neither you nor root or that\n"
    "everybody may write to. A project's file that belongs to neither of you is not read: the "
    "start stops and names it. Each file\n"
    "is held to what the files above it say, and trusted by itself. Agents change none of them: no "
    "tool writes `cadre.yaml` or\n"
    "`.cadre`, and no work that holds a change to one is merged.\n"
    "\n"
    "## Instruction files\n"
    "\n"
    "`AGENTS.md` (where a directory has none, its `CLAUDE.md`) and `ENVIRONMENT.md` tell agents "
    "how to work. They count in your\n"
    "own directory (`$XDG_CONFIG_HOME/cadre`, else `~/.config/cadre`), then in every directory "
    "from the repository's top down to\n"
    "the workspace, found as `cadre.yaml` is; the nearest comes last. The root's prompt has all of "
    "them, and so have jobs of\n"
    "`spawn` (`docs/doors.md`). Of each file 32 KB are read, of all together 256 KB. A file that "
    "belongs neither to you nor to root\n"
    "nor to whom its directory belongs stops the start.\n"
    "\n"
    "## Which model\n"
    "\n"
    "`--base-url URL --model NAME` names a server and a model for this run; `--api anthropic` says "
    "that it speaks\n"
    "Anthropic's API, `--api responses` OpenAI's Responses API. Its key is `OPENAI_API_KEY` or "
    "`ANTHROPIC_API_KEY`, if that is set.\n"
    "`--provider NAME` names a server of `llm.providers` or a preset; `docs/models.md` lists them "
    "and shows each vendor.\n"
    "`--model NAME` alone chooses one of `llm.models`. Without flags the first model of the pool "
    "`llm.default_pool` is\n"
    "used, or the only model. Without any model in a file, `OPENAI_API_KEY` selects `gpt-4.1-mini` "
    "at\n"
    "`https://api.openai.com/v1`, else `ANTHROPIC_API_KEY` selects `claude-sonnet-4-5` at\n"
    "`https://api.anthropic.com/v1` (`--model` another one there; with both keys `--api anthropic` "
    "chooses), else another vendor's key\nselects its server, in the order of `docs/models.md`.\n"
    "\n"
    "`--replay FILE` puts a recording in the place of every server: see `docs/replay.md`.\n"
    "\n"
    "A server of your own may have a certificate of your own authority: `SSL_CERT_FILE` in the "
    "environment names the\n"
    "file with the authorities to trust, in place of the system's.\n"
    "\n"
    "`--timeout` takes `90s`, `5m`, `1500ms` or a number of seconds, and nothing below 5 seconds.\n"
    "\n"
    "## Example\n"
    "\n"
    "```yaml\n"
    "llm:\n"
    "  providers:\n"
    "    local: {base_url: http://localhost:8080/v1}\n"
    "    openai: {api_key_env: OPENAI_API_KEY}\n"
    "    claude: {api: anthropic}\n"
    "  models:\n"
    "    coder: {provider: local, model: qwen3-coder, max_context_tokens: 32768, price_in: 0, "
    "price_out: 0}\n"
    "    mini: {provider: openai, model: gpt-4.1-mini, price_in: 0.40, price_out: 1.60}\n"
    "    sonnet: {provider: claude, model: claude-sonnet-4-5, max_context_tokens: 200000, "
    "price_in: 3, "
    "price_out: 15}\n"
    "  pools:\n"
    "    default: [{model: coder}]\n"
    "mode: auto\n"
    "permissions:\n"
    "  shell: deny\n"
    "sub_agent:\n"
    "  max_concurrent: 4\n"
    "tools:\n"
    "  spawn:\n"
    "    enabled: true\n"
    "    profiles:\n"
    "      researcher:\n"
    "        bootstrap_files: [SOUL.md, AGENTS.md]\n"
    "        system_prompt_file: RESEARCHER.md\n"
    "        system_prompt: Research specialist. Focus on primary sources.\n"
    "        tools: [web_search, read_file, grep]\n"
    "        pool: default\n"
    "budget:\n"
    "  cost_usd: 2.50\n"
    "  wall_ms: 20m\n"
    "```\n"
    "\n"
    "## Keys\n"
    "\n"
    "`*` is a name of your choice (for `permissions`: a tool), `[]` an item of a list. The last "
    "column says what a\n"
    "project's file may do without your trust.\n"
    "\n"
    "| key | value | default | meaning | project |\n"
    "|---|---|---|---|---|\n";

static const char *project_text(const struct config_key *key)
{
    if (key->project == PROJECT_NEVER)
        return "never";
    if (key->project == PROJECT_WIDENS)
        return "no";
    if (key->project == PROJECT_ADDS)
        return "add";
    if (key->project == PROJECT_RAISES)
        return "turn on";
    switch (key->type) {
    case TYPE_SWITCH:
        return "turn off";
    case TYPE_MODE:
        return "stricter";
    case TYPE_PERMISSION:
        return "deny, lower";
    case TYPE_GATE:
        return "`run`";
    case TYPE_ALLOWANCE:
        return "`deny`";
    default:
        return "lower";
    }
}

void config_docs(struct buf *out)
{
    buf_text(out, introduction);
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        const struct config_key *key = &config_keys[i];
        buf_printf(out, "| `%s` | ", key->path);
        config_key_expected(key, out);
        if (key->fallback[0])
            buf_printf(out, " | `%s`", key->fallback);
        else
            buf_text(out, " | ");
        buf_printf(out, " | %s | %s |\n", key->meaning, project_text(key));
    }
}
