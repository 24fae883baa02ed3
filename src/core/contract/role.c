/* The five roles of seed 004, one row each. Deriving a contract from a row is derive.c's work.
 * Pure; any thread. */
#include "core/contract/role.h"

const struct role role_table[] = {
    {
        .name = "researcher",
        .tools = "read,ls,search,code_search,grep,web_search,web_fetch,overview,docs_coverage",
        .tool_calls = 15,
        .context_chars = 50000,
        .spawn_roles = "",
        .writes = ROLE_READS,
        .prompt = "You are a researcher sub-agent: you gather information.\n"
                  "- Explore with read-only tools; change nothing.\n"
                  "- Stay on the question that you were asked.\n"
                  "- Report findings clearly, each with the file and line it comes from.\n",
    },
    {
        .name = "planner",
        .tools = "read,ls,search,plan_files,overview",
        .tool_calls = 10,
        .context_chars = 30000,
        .spawn_roles = "",
        .writes = ROLE_READS,
        .prompt = "You are a planner sub-agent: you turn a goal into a plan.\n"
                  "- Break the work into clear steps that can be acted on, in order.\n"
                  "- Name dependencies between steps and what could go wrong.\n"
                  "- Give the plan a structure; do not carry it out.\n",
    },
    {
        .name = "executor",
        .tools = "read,write,edit,ls,search,shell,test,git,git_commit",
        .tool_calls = 30,
        .context_chars = 80000,
        .spawn_roles = "reviewer",
        .writes = ROLE_WRITES,
        .prompt = "You are an executor sub-agent: you make changes.\n"
                  "- Follow the plan or task as given.\n"
                  "- Write clean code and see it tested.\n"
                  "- Keep each change whole: nothing half done is left behind.\n"
                  "- Report what you changed.\n",
    },
    {
        .name = "reviewer",
        .tools = "read,search,test,git_diff,shell",
        .tool_calls = 15,
        .context_chars = 50000,
        .spawn_roles = "",
        .writes = ROLE_READS,
        .prompt = "You are a reviewer sub-agent: you check quality.\n"
                  "- Look for bugs first, then for style.\n"
                  "- Run tests and linters where you can.\n"
                  "- Suggest improvements; make no changes yourself.\n",
    },
    {
        .name = "tester",
        .tools = "read,write,test,shell",
        .tool_calls = 20,
        .context_chars = 50000,
        .spawn_roles = "reviewer",
        .writes = ROLE_WRITES_TESTS,
        .prompt = "You are a tester sub-agent: you write and run tests.\n"
                  "- Cover the behaviour, its limits and its errors.\n"
                  "- Follow the testing habits of the project.\n"
                  "- Write to test directories only.\n",
    },
};
const size_t role_count = sizeof role_table / sizeof role_table[0];

const struct role *role_find(struct str name)
{
    for (size_t i = 0; i < role_count; i++)
        if (str_is(name, role_table[i].name))
            return &role_table[i];
    return NULL;
}
