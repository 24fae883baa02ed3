/* `cadre config trust`: a project's config file may allow more than the user's own once the user trusts it, as it is now. */
#include "cli/allowed.h"
#include "cli/command.h"
#include "cli/trust.h"
#include "cli/wire.h"
#include "config/trust.h"
#include "config/widen.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"workspace", "DIR", "the directory whose cadre.yaml is meant (default: the current one)"},
    {"show", NULL, "only show what it widens, whether it is trusted, and what is always allowed"},
    {"revoke", NULL, "trust this project's file no more, and always allow nothing in it"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_config_trust = {
    .name = "config trust",
    .summary = "let this project's cadre.yaml allow more than your own config",
    .usage = "[--show | --revoke]",
    .details =
        "A project's file narrows freely. What it sets wider than what holds without it (a "
        "server, a mode,\n"
        "a larger limit) is refused until you trust it. Trust is kept in your state "
        "directory, for this\n"
        "path and this content: when the file changes, you are asked again. What you allowed "
        "\"always in this\n"
        "project\" at a question is kept there too, with the hash of what was shown.",
    .example = "cadre config trust --show",
    .options = options,
    .run = run,
};

/* Loads what the file says without keeping anything. */
static enum config_consent look(void *user, const struct config *config)
{
    return CONSENT_ONCE;
}

enum trust_state { TRUST_NEEDLESS, TRUST_GIVEN, TRUST_MISSING, TRUST_REVOKED };

static void print_json(struct output *output, const struct config *config,
                       const struct allowed *allowed, enum trust_state state)
{
    static const char *const states[] = {"not needed", "trusted", "not trusted", "revoked"};
    const struct config_entries *entries = config->entries;
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "trust");
    jw_kstr(&w, "file", config->projects[config->project_count - 1].file);
    jw_ktext(&w, "state", states[state]);
    jw_key(&w, "widens");
    jw_array(&w);
    for (size_t i = 0; i < entries->widening_count; i++) {
        jw_object(&w);
        jw_kstr(&w, "file", entries->widenings[i].place.source->name);
        jw_kstr(&w, "key", entries->widenings[i].key);
        jw_kstr(&w, "from", entries->widenings[i].from);
        jw_kstr(&w, "to", entries->widenings[i].to);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_key(&w, "always");
    allowed_json(allowed, &w);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static void print_text(struct output *output, const struct config *config, enum trust_state state)
{
    static const char *const words[] = {
        "It only narrows: there is nothing to trust.",
        "It is trusted as it is now; when it changes, you are asked again.",
        "It is not trusted. To trust it: cadre config trust",
        "It is trusted no more.",
    };
    size_t files = 0;
    for (size_t i = 0; i < config->project_count; i++) {
        const struct config_project_file *project = &config->projects[i];
        if (project->text.p == NULL)
            continue;
        files++;
        output_clean(output, project->file, UTF8_ONE_LINE);
        output_print(output, project->widens > 0 ? " widens:\n" : "\n");
        trust_list(output, config, project);
    }
    if (files == 0 && state == TRUST_NEEDLESS) {
        output_print(output, "This directory has no cadre.yaml of a project: nothing to trust.\n");
        return;
    }
    output_print(output, "%s\n", words[state]);
}

static void print_allowed(struct output *output, const struct allowed *allowed)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    allowed_text(allowed, &text);
    if (text.n > 0)
        output_clean(output, buf_view(&text), UTF8_LINES);
    buf_release(&text);
}

static int act(const struct arguments *arguments, const struct config *config, struct str workspace,
               enum trust_state *state, struct err *err)
{
    size_t count, forgotten;
    *state = config->entries->widening_count == 0 ? TRUST_NEEDLESS
             : config_trust_known(config)         ? TRUST_GIVEN
                                                  : TRUST_MISSING;
    if (arguments_has(arguments, "revoke")) {
        *state = TRUST_REVOKED;
        if (always_forget(config, workspace, &forgotten, err) != 0)
            return -1;
        return config_trust_revoke(config, &count, err);
    }
    if (arguments_has(arguments, "show") || *state != TRUST_MISSING)
        return 0;
    *state = TRUST_GIVEN;
    return config_trust_keep(config, err);
}

static enum exit_code run(struct invocation *invocation)
{
    const struct arguments *arguments = &invocation->arguments;
    struct wire_request request = {
        .need = WIRE_STORE, .workspace = arguments_value(arguments, "workspace"), .consent = look};
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    enum trust_state state;
    wire_flags(arguments, &request.flags);
    if (arguments_has(arguments, "show") && arguments_has(arguments, "revoke"))
        err_set(&err, ERR_USAGE, "--show and --revoke exclude each other");
    if (err.class != ERR_NONE || wire_open(&request, &wire, &err) != 0 ||
        act(arguments, wire_config(wire), wire_workspace(wire)->path, &state, &err) != 0) {
        wire_close(wire);
        return command_fail(invocation, &err);
    }
    struct allowed allowed;
    allowed_open(&allowed, wire_config(wire), wire_workspace(wire)->path);
    if (invocation->output.format == OUTPUT_JSON) {
        print_json(&invocation->output, wire_config(wire), &allowed, state);
    } else {
        print_text(&invocation->output, wire_config(wire), state);
        print_allowed(&invocation->output, &allowed);
    }
    allowed_release(&allowed);
    wire_close(wire);
    return EXIT_CODE_DONE;
}
