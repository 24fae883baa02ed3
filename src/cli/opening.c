/* See opening.h. */
#include "cli/opening.h"

#include "cli/text.h"
#include "core/contract/money.h"

#define UNPRICED_SHOWN 3

struct opening {
    const struct model_settings *model; /* of the root; NULL: the run could not begin */
    struct str name;                    /* what its provider calls it */
    struct str profile;                 /* that is pinned, or empty */
    int64_t cap_nano, spent_nano;       /* cap: UNLIMITED */
    struct list unpriced;               /* models that may answer and have no price */
    struct arena arena;
};

static void opening_open(struct opening *opening, const struct run *run)
{
    const struct settings *settings = run_settings(run);
    const struct agent *root = run_agent(run, 0);
    const struct contract *contract = &root->contract;
    *opening = (struct opening){.unpriced = LIST_NONE};
    arena_init(&opening->arena);
    opening->model = settings_model(settings, contract->model.name);
    opening->name = opening->model != NULL ? opening->model->model : settings->default_model;
    opening->profile = contract->agent.profile_id;
    opening->cap_nano = opening->model != NULL ? root->account.limits.cost_nano : UNLIMITED;
    opening->spent_nano = root->account.spent.cost_nano;
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct model_settings *model = &settings->models[i];
        if (!model_is_priced(model) && list_has(&contract->model.allowed_models, model->name))
            list_add(&opening->arena, &opening->unpriced, model->model);
    }
}

/* Today's config knows where a window is from; NULL where it does not have the model. */
static const char *window_source(const struct drive *drive, const struct opening *opening)
{
    const struct config *config = wire_config(drive->wire);
    const struct model_settings *model =
        opening->model != NULL && drive->kind == DRIVE_START
            ? settings_model(&config->settings, opening->model->name)
            : NULL;
    return model != NULL ? config_window_text(config, model) : NULL;
}

static void add_source(struct buf *out, const struct drive *drive, const struct opening *opening)
{
    if (opening->profile.n > 0 && drive->kind == DRIVE_START)
        buf_printf(out, "the pinned %.*s", STR_FMT(opening->profile));
    else
        buf_str(out, drive->source);
}

void opening_json(struct output *output, const struct drive *drive, const struct run *run)
{
    struct buf line, source;
    struct jw w;
    struct opening opening;
    opening_open(&opening, run);
    buf_init(&line, SIZE_MAX / 4);
    buf_init(&source, 4096);
    add_source(&source, drive, &opening);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "run");
    jw_kstr(&w, "run_id", run_id(run));
    jw_kstr(&w, "model", opening.name);
    jw_kstr(&w, "source", buf_view(&source));
    jw_key(&w, "cap_usd");
    money_print(&w, opening.cap_nano);
    if (opening.unpriced.n > 0) {
        jw_key(&w, "unpriced");
        jw_array(&w);
        for (size_t i = 0; i < opening.unpriced.n; i++)
            jw_str(&w, opening.unpriced.items[i]);
        jw_end_array(&w);
    }
    jw_key(&w, "timeout_ms");
    if (drive->timeout_ms >= 0)
        jw_int(&w, drive->timeout_ms);
    else
        jw_null(&w);
    const char *from = window_source(drive, &opening);
    if (from != NULL) {
        jw_kint(&w, "window", opening.model->max_context_tokens);
        jw_ktext(&w, "window_source", from);
    }
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&source);
    buf_release(&line);
    arena_release(&opening.arena);
}

/* Which models can cost anything, whatever the cap says. */
static void add_unpriced(struct buf *out, const struct opening *opening)
{
    size_t n = opening->unpriced.n;
    if (n == 0)
        return;
    buf_text(out, "; no price is known for ");
    for (size_t i = 0; i < n && i < UNPRICED_SHOWN; i++) {
        buf_text(out, i > 0 ? ", " : "");
        utf8_clean(out, opening->unpriced.items[i], UTF8_ONE_LINE);
    }
    if (n > UNPRICED_SHOWN)
        buf_printf(out, " and %zu more", n - UNPRICED_SHOWN);
    buf_printf(out, ", so no cost limit can hold%s",
               opening->cap_nano >= 0 ? " for its answers" : "");
}

void opening_line(struct output *output, const struct drive *drive, const struct run *run)
{
    struct buf line;
    struct opening opening;
    opening_open(&opening, run);
    buf_init(&line, 65536);
    add_source(&line, drive, &opening);
    if (opening.cap_nano >= 0) {
        buf_text(&line, ", at most ");
        text_money(&line, opening.cap_nano);
    }
    if (opening.cap_nano >= 0 && drive->kind == DRIVE_RESUME && opening.spent_nano > 0) {
        buf_text(&line, " (");
        text_money(&line, opening.spent_nano);
        buf_text(&line, " of it are used)");
    }
    if (drive->timeout_ms >= 0) {
        buf_text(&line, opening.cap_nano >= 0 ? " and " : ", at most ");
        text_duration(&line, drive->timeout_ms);
    }
    add_unpriced(&line, &opening);
    const char *from = window_source(drive, &opening);
    if (from != NULL)
        buf_printf(&line, "; window %lld, from %s", (long long)opening.model->max_context_tokens,
                   from);
    output_print(output, "model ");
    output_styled(output, STYLE_BOLD, opening.name);
    output_print(output, " from ");
    output_clean(output, buf_view(&line), UTF8_ONE_LINE);
    output_print(output, "; run %.*s\n", STR_FMT(run_id(run)));
    fflush(output->out);
    buf_release(&line);
    arena_release(&opening.arena);
}
