/* See opening.h. */
#include "cli/opening.h"

#include "cli/text.h"

/* The model of a run that starts; its server may have told its window since the command line was read. */
static const struct model_settings *opening_model(const struct drive *drive)
{
    const struct settings *settings = &wire_config(drive->wire)->settings;
    return drive->kind == DRIVE_START ? settings_model(settings, settings->default_model) : NULL;
}

void opening_json(struct output *output, const struct drive *drive, const struct id *run_id)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "run");
    jw_kstr(&w, "run_id", id_str(run_id));
    jw_kstr(&w, "model", drive->model);
    jw_kstr(&w, "source", drive->source);
    jw_key(&w, "cap_usd");
    if (drive->cap_nano >= 0)
        jw_real(&w, (double)drive->cap_nano / 1e9);
    else
        jw_null(&w);
    jw_key(&w, "timeout_ms");
    if (drive->timeout_ms >= 0)
        jw_int(&w, drive->timeout_ms);
    else
        jw_null(&w);
    const struct model_settings *model = opening_model(drive);
    if (model != NULL) {
        jw_kint(&w, "window", model->max_context_tokens);
        jw_ktext(&w, "window_source", config_window_text(wire_config(drive->wire), model));
    }
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

void opening_line(struct output *output, const struct drive *drive, const struct id *run_id)
{
    struct buf cap;
    buf_init(&cap, 256);
    if (drive->cap_nano >= 0) {
        buf_text(&cap, ", at most ");
        text_money(&cap, drive->cap_nano);
    }
    if (drive->timeout_ms >= 0) {
        buf_text(&cap, drive->cap_nano >= 0 ? " and " : ", at most ");
        text_duration(&cap, drive->timeout_ms);
    }
    if (drive->cap_nano < 0 && drive->prices == DRIVE_UNPRICED)
        buf_text(&cap, "; no price is known, so no cost limit holds");
    const struct model_settings *model = opening_model(drive);
    if (model != NULL)
        buf_printf(&cap, "; window %lld, from %s", (long long)model->max_context_tokens,
                   config_window_text(wire_config(drive->wire), model));
    output_print(output, "model ");
    output_styled(output, STYLE_BOLD, drive->model);
    output_print(output, " from ");
    output_clean(output, drive->source, UTF8_ONE_LINE);
    output_print(output, "%.*s; run %s\n", STR_FMT(buf_view(&cap)), run_id->text);
    fflush(output->out);
    buf_release(&cap);
}
