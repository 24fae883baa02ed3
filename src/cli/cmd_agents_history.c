/* `cadre agents history`: who changed what, newest first. */
#include "cli/agents.h"
#include "cli/text.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"limit", "N", "at most this many (default: 20)"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_agents_history = {
    .name = "agents history",
    .summary = "show who changed the registry, profiles and pins, newest first",
    .usage = "[ID] [--limit N]",
    .details =
        "ID is a profile's (profile:writer:v1), a pin's (profile-pin:global), or registry. In "
        "JSON each line has\nthe value as it was written.",
    .example = "cadre agents history registry --limit 5",
    .options = options,
    .operand_max = 1,
    .run = run,
};

struct listing {
    struct output *output;
    size_t count;
};

static void print_json(struct output *output, const struct stored_record *record)
{
    struct buf line;
    struct jw w;
    struct err ignored = ERR_INIT;
    struct js *value =
        record->value.p != NULL ? js_parse_within(record->value, 60, &ignored) : NULL;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "record");
    jw_kstr(&w, "resource_type", record->type);
    jw_kstr(&w, "resource_id", record->id);
    jw_kint(&w, "version", (int64_t)record->version);
    jw_kstr(&w, "who", record->who);
    jw_kint(&w, "at", record->at);
    jw_kbool(&w, "removed", record->value.p == NULL);
    jw_key(&w, "value");
    if (value != NULL)
        jw_raw(&w, record->value);
    else
        jw_null(&w);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
    js_free(value);
}

static int print_record(void *user, const struct stored_record *record)
{
    struct listing *listing = user;
    struct output *output = listing->output;
    enum text_ellipsis ellipsis = output->glyphs == GLYPHS_UTF8 ? ELLIPSIS_UTF8 : ELLIPSIS_ASCII;
    struct buf line;
    listing->count++;
    if (output->format == OUTPUT_JSON) {
        print_json(output, record);
        return 0;
    }
    buf_init(&line, 65536);
    if (listing->count == 1)
        output_print(output, "%-16s  %-16s  %7s  %-7s  %s\n", "WHEN", "WHO", "VERSION", "",
                     "RECORD");
    text_date(&line, record->at);
    buf_text(&line, "  ");
    text_column(&line, record->who, 16, ellipsis);
    buf_printf(&line, "  %7llu  %-7s  ", (unsigned long long)record->version,
               record->value.p != NULL ? "written" : "removed");
    text_cut(&line, record->id, 200, ellipsis);
    output_print(output, "%.*s\n", STR_FMT(buf_view(&line)));
    buf_release(&line);
    return 0;
}

static enum exit_code run(struct invocation *invocation)
{
    struct listing listing = {.output = &invocation->output};
    struct str type = STR_NONE, id = STR_NONE;
    struct agents agents;
    struct err err = ERR_INIT;
    int64_t limit;
    if (arguments_number(&invocation->arguments, "limit", 1, 1000000, 20, &limit, &err) != 0)
        return command_fail(invocation, &err);
    if (invocation->arguments.operand_count > 0) {
        id = invocation->arguments.operands[0];
        if (str_is(id, "registry"))
            id = REGISTRY_ID;
        type = str_starts(id, STR("profile:")) ? RECORD_PROFILE : RECORD_POLICY;
        if (record_writable(type, id, &err) != 0) {
            err_set(&err, ERR_USAGE,
                    "\"%.*s\" has no history: it is a profile's id, a pin's id or registry",
                    STR_FMT(id));
            return command_fail(invocation, &err);
        }
    }
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = agents.store->ops->record_history(agents.store, type, id, (size_t)limit,
                                                   print_record, &listing, &err);
    if (result == 0 && listing.count == 0 && listing.output->format == OUTPUT_TEXT)
        output_print(listing.output, "Nothing was changed yet.\n");
    agents_close(&agents);
    return result == 0 ? EXIT_CODE_DONE : command_fail(invocation, &err);
}
