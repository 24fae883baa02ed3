/* `cadre agents registry get` and `put`: the whole registry as a document, to edit it. */
#include "cli/agents.h"

static enum exit_code get(struct invocation *invocation);
static enum exit_code put(struct invocation *invocation);

static const struct option get_options[] = {
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct option put_options[] = {
    OPTION_IF_VERSION,
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct command cmd_get = {
    .name = "agents registry get",
    .summary = "print the registry as JSON; its version goes to stderr",
    .usage = "",
    .details = "With --json, one line with the version and the registry.",
    .example = "cadre agents registry get",
    .options = get_options,
    .run = get,
};

static const struct command cmd_put = {
    .name = "agents registry put",
    .summary = "replace the registry by a file",
    .usage = "FILE|- --if-version N",
    .details =
        "Everything that is wrong with it is told at once, and then nothing is written. N is "
        "the version that\n"
        "was edited: 0 where there was none. If somebody else has changed it since, nothing is "
        "written either.",
    .example = "cadre agents registry get | cadre agents registry put - --if-version 0",
    .options = put_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = put,
};

static const struct command *const parts[] = {&cmd_get, &cmd_put, NULL};

const struct command cmd_agents_registry = {
    .name = "agents registry",
    .summary = "print the whole registry, or replace it",
    .usage = "get|put",
    .example = "cadre agents registry get",
    .options = get_options,
    .parts = parts,
    .run = get,
};

static enum exit_code get(struct invocation *invocation)
{
    struct output *output = &invocation->output;
    struct agents agents;
    struct err err = ERR_INIT;
    struct buf text;
    struct jw w;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    agents_warn(&agents);
    long long version = (long long)agents.plane.registry_version.version;
    buf_init(&text, SIZE_MAX / 4);
    jw_init(&w, &text);
    if (output->format == OUTPUT_JSON) {
        jw_object(&w);
        jw_ktext(&w, "type", "registry");
        jw_kint(&w, "version", version);
        jw_key(&w, "registry");
    }
    registry_print(&agents.plane.registry, &w);
    if (output->format == OUTPUT_JSON)
        jw_end_object(&w);
    else
        output_error(output, "version %lld", version);
    agents_document(output, &text);
    buf_release(&text);
    agents_close(&agents);
    return EXIT_CODE_DONE;
}

static enum exit_code put(struct invocation *invocation)
{
    struct agents agents;
    struct err err = ERR_INIT;
    struct buf value;
    uint64_t expected = 0;
    enum exit_code code;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    const struct plane_version *now = &agents.plane.registry_version;
    buf_init(&value, RECORD_VALUE_MAX + 8192);
    if (!arguments_has(&invocation->arguments, "if-version")) {
        err_set(&err, ERR_USAGE,
                "say which version you edited: --if-version N; the present one is %llu",
                (unsigned long long)now->version);
        code = command_fail(invocation, &err);
    } else if (agents_expected(&agents, 0, &expected, &err) != 0 ||
               agents_read_file(invocation->arguments.operands[0], &value, &err) != 0) {
        code = command_fail(invocation, &err);
    } else {
        code = agents_write(&agents, RECORD_POLICY, REGISTRY_ID, expected, buf_view(&value),
                            STR("the registry is replaced"));
    }
    buf_release(&value);
    agents_close(&agents);
    return code;
}
