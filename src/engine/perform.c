/* A tool's call on its thread: the pool's, or one of the crew. Everything that it needs was copied into the work; it opens nothing
 * but the workspace and leaves what came of it as an input for the loop. */
#include "engine/work.h"

#include "base/filename.h"
#include "base/mask.h"
#include "engine/shown.h"

static void fail(struct work *work, const char *message)
{
    work->input.kind = work->kind == EFFECT_CHECK ? INPUT_CHECKED : INPUT_RESULT;
    work->input.checked = CHECKED_NOT_RUN;
    work->input.outcome = TOOL_ERROR;
    buf_clear(&work->text);
    buf_printf(&work->text, "Error: %s", message);
}

struct str files_json(struct arena *arena, const struct str *files, size_t count)
{
    struct buf out;
    struct jw w;
    if (count == 0)
        return STR_NONE;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_str(&w, filename_shown(arena, files[i]));
    jw_end_array(&w);
    struct str json = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return json;
}

/* A list of values that are JSON already. */
static struct str raw_json(struct arena *arena, const struct str *values, size_t count)
{
    struct buf out;
    struct jw w;
    if (count == 0)
        return STR_NONE;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_raw(&w, values[i]);
    jw_end_array(&w);
    struct str json = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return json;
}

static void take_result(struct work *work, const struct tool_result *result)
{
    work->input.kind = INPUT_RESULT;
    work->input.outcome = result->kind == RESULT_OK ? TOOL_OK : TOOL_ERROR;
    buf_clear(&work->text);
    buf_str(&work->text, buf_view(&result->text));
    work->input.secrets = (int64_t)result->secrets;
    work->input.files_read = files_json(&work->arena, result->files_read, result->read_count);
    work->input.files_modified =
        files_json(&work->arena, result->files_modified, result->modified_count);
    work->input.refused =
        result->refused.p != NULL ? arena_copy(&work->arena, result->refused) : STR_NONE;
    work->input.network = raw_json(&work->arena, result->contacts, result->contact_count);
}

static struct str hash_text(struct arena *arena, int present, const struct hash *hash)
{
    char hex[HASH_HEX + 1];
    if (present != FILE_PRESENT)
        return STR("absent");
    hash_hex(hash, hex);
    return arena_copy(arena, (struct str){hex, HASH_HEX});
}

/* What a person approved is what was shown. False, with the error: it is something else by now. */
static bool is_as_shown(struct work *work)
{
    char hex[HASH_HEX + 1];
    if (work->shown.n == 0)
        return true;
    work->port->preview(&work->context, work->name, work->arguments, &work->preview);
    hash_hex(&work->preview.shown, hex);
    work->context.approved = &work->preview;
    if (str_is(work->shown, hex))
        return true;
    work->input.reason = STR("what it would do has changed since it was approved");
    fail(work, "this call was not made: what it would do has changed since the user approved it. "
               "Look at the files again; the user will be asked anew.");
    return false;
}

static bool is_same_file(int there, const struct hash *hash, const struct hash *shown)
{
    struct hash nothing = hash_of(STR(""));
    return hash_eq(there == FILE_PRESENT ? hash : &nothing, shown);
}

/* The file may have changed between the two looks at it, and may change back. */
static bool is_prepared_as_shown(struct work *work, const struct tool_prepared *prepared)
{
    const struct preview *preview = &work->preview;
    if (work->shown.n == 0 || preview->change != PREVIEW_CHANGES_FILE ||
        (is_same_file(prepared->before, &prepared->before_hash, &preview->before) &&
         is_same_file(prepared->after, &prepared->after_hash, &preview->after)))
        return true;
    fail(work, "this call was not made: the file changed while it was looked at. Try again.");
    return false;
}

static void prepare(struct work *work, const struct js *arguments, struct tool_result *result)
{
    struct tool_prepared prepared = {.path = STR_NONE};
    if (!is_as_shown(work))
        return;
    if (work->tool->prepare(&work->context, arguments, &prepared, result) != 0) {
        take_result(work, result);
        work->input.outcome = TOOL_ERROR;
        return;
    }
    if (!is_prepared_as_shown(work, &prepared))
        return;
    work->input.kind = INPUT_PREPARED;
    work->input.path = arena_copy(&work->arena, filename_shown(&work->arena, prepared.path));
    work->input.before = hash_text(&work->arena, prepared.before, &prepared.before_hash);
    work->input.after = hash_text(&work->arena, prepared.after, &prepared.after_hash);
}

/* A crash came between the intent and the result. */
static void settle(struct work *work, const struct js *arguments, struct tool_result *result)
{
    switch (work->port->settle(&work->context, &work->prepared)) {
    case SETTLED_DONE:
        work->input.kind = INPUT_RESULT;
        work->input.outcome = TOOL_OK;
        buf_printf(&work->text, "%s was changed as asked (checked after a restart).",
                   filename_of(work->prepared.path).text);
        work->input.files_modified = files_json(&work->arena, &work->prepared.path, 1);
        return;
    case SETTLED_NOT_DONE:
        work->tool->run(&work->context, arguments, &work->prepared, result);
        take_result(work, result);
        return;
    case SETTLED_UNKNOWN:
        work->input.kind = INPUT_LOST;
        buf_printf(&work->text,
                   "Error: interrupted, outcome unknown: %s is neither what it was nor what it "
                   "was to become. Read it before you try again.",
                   filename_of(work->prepared.path).text);
        return;
    }
}

#define GATHERED_LINES_MAX 1000000 /* the whole file, as far as max_result goes */

/* One file with the read tool: numbered lines, as the parent would see them. */
static void gather_shown(struct work *work, struct gathered_file *file, struct buf *text)
{
    struct buf call;
    struct jw w;
    struct err err = ERR_INIT;
    struct tool_result result = {.kind = RESULT_OK};
    buf_init(&call, 1 << 16);
    buf_init(&result.text, work->context.max_result);
    jw_init(&w, &call);
    jw_object(&w);
    jw_kstr(&w, "path", file->path);
    jw_kint(&w, "limit", GATHERED_LINES_MAX);
    jw_end_object(&w);
    struct js *arguments = js_parse(buf_view(&call), &err);
    work->tool->run(&work->context, arguments, NULL, &result);
    *text = result.text;
    if (result.kind == RESULT_OK)
        file->text = buf_view(text);
    else
        file->error = buf_view(text);
    js_free(arguments);
    buf_release(&call);
}

/* One file as it is. */
static void gather_text(struct work *work, struct gathered_file *file, struct buf *text)
{
    struct err err = ERR_INIT;
    buf_init(text, work->context.max_result * 4); /* what is mended takes more room */
    if (work->port->load(&work->context, file->path, text, &err) == 0) {
        file->text = buf_view(text);
    } else {
        file->error = arena_copy(&work->arena, str_from(err.message));
        file->missing = err.class == ERR_NOT_FOUND;
    }
}

/* Reads whole files for a child's prompt, behind the read tool's own wall. */
static void gather(struct work *work, const struct js *paths)
{
    struct gathering *gathering = &work->input.gathering;
    size_t count = js_count(paths), bytes = 0;
    gathering->files = arena_alloc(&work->arena, (count + 1) * sizeof *gathering->files);
    work->texts = arena_alloc(&work->arena, (count + 1) * sizeof *work->texts);
    for (; gathering->count < count; gathering->count++) {
        struct gathered_file *file = &gathering->files[gathering->count];
        struct buf *text = &work->texts[gathering->count];
        file->path = arena_copy(&work->arena, js_str(js_at(paths, gathering->count)));
        if (work->tool != NULL)
            gather_shown(work, file, text);
        else
            gather_text(work, file, text);
        bytes += file->path.n + text->n;
    }
    if (bytes > work->text.max) {
        fail(work, "the context files are too large together");
        return;
    }
    work->input.kind = INPUT_FACTS;
}

/* The commands that the agent's contract wants to see succeed. */
static void check(struct work *work, const struct js *checks, struct tool_result *result)
{
    static const enum checked checked[] = {[TOOL_CHECKS_PASSED] = CHECKED_OK,
                                           [TOOL_CHECKS_FAILED] = CHECKED_FAILED,
                                           [TOOL_CHECKS_NOT_RUN] = CHECKED_NOT_RUN};
    struct buf evidence;
    buf_init(&evidence, 1 << 20);
    work->input.checked = checked[work->port->check(&work->context, checks, result, &evidence)];
    take_result(work, result);
    work->input.kind = INPUT_CHECKED;
    if (!evidence.failed)
        work->input.evidence = arena_copy(&work->arena, buf_view(&evidence));
    buf_release(&evidence);
}

/* What a question shows, and the same for the log. */
static void look(struct work *work)
{
    struct buf json;
    char hex[HASH_HEX + 1];
    if (question_is_of_step(work->call_id))
        work->port->preview_step(&work->context, work->arguments, &work->preview);
    else
        work->port->preview(&work->context, work->name, work->arguments, &work->preview);
    buf_init(&json, 16 * PREVIEW_BYTES_MAX);
    work->input.secrets = (int64_t)shown_print(&work->preview, work_masker(work), &json);
    hash_hex(&work->preview.shown, hex);
    work->input.kind = INPUT_SHOWN;
    work->input.shown = arena_copy(&work->arena, (struct str){hex, HASH_HEX});
    work->input.preview = json.failed ? STR_NONE : arena_copy(&work->arena, buf_view(&json));
    buf_release(&json);
}

static void perform(struct work *work)
{
    struct err err = ERR_INIT;
    if (work->skipped) {
        fail(work, "stopped before it started.");
        return;
    }
    if (work->class != EFFECT_PURE && !ownership_await(work, &err)) {
        fail(work, err.message);
        if (err.class == ERR_NOT_FOUND)
            work->lost = err;
        return;
    }
    if (work->tree != NULL) {
        tree_work_perform(work);
        return;
    }
    if (work->kind == EFFECT_ASK) {
        look(work);
        return;
    }
    bool needs_tool = work->kind != EFFECT_GATHER && work->kind != EFFECT_CHECK;
    if ((needs_tool && work->tool == NULL) || work->context.scope == NULL) {
        fail(work, work->context.scope != NULL ? "this build has no such tool"
                   : work->problem.n > 0       ? work->problem.p
                                               : "the tree of this agent is gone");
        return;
    }
    struct tool_result result = {.kind = RESULT_OK};
    struct js *arguments = js_parse(work->arguments, &err);
    if (arguments == NULL) {
        fail(work, err.message);
        return;
    }
    if (work->kind == EFFECT_PREPARE) {
        prepare(work, arguments, &result);
    } else if (work->kind == EFFECT_SETTLE) {
        settle(work, arguments, &result);
    } else if (work->kind == EFFECT_GATHER) {
        gather(work, arguments);
    } else if (work->kind == EFFECT_CHECK) {
        check(work, arguments, &result);
    } else if (work->prepared.path.p != NULL || is_as_shown(work)) {
        /* A prepared call was compared with what was shown when it was prepared. */
        work->tool->run(&work->context, arguments,
                        work->prepared.path.p != NULL ? &work->prepared : NULL, &result);
        take_result(work, &result);
    }
    js_free(arguments);
    buf_release(&result.text);
}

/* --- secrets --------------------------------------------------------------------------------- */

const struct masker *work_masker(const struct work *work)
{
    return work->context.services != NULL ? work->context.services->masker : NULL;
}

/* Masks have no character that JSON escapes, so JSON stays JSON. */
static size_t mask_json(struct work *work, struct str *json)
{
    struct buf text;
    if (json->n == 0)
        return 0;
    buf_init(&text, json->n + 1);
    buf_str(&text, *json);
    size_t count = masker_apply(work_masker(work), &text);
    if (count > 0)
        *json = arena_copy(&work->arena, buf_view(&text));
    buf_release(&text);
    return count;
}

static void tell_masked(struct buf *text, size_t count)
{
    if (count == 0)
        return;
    text->max += 64;
    buf_printf(text, "%s[%zu %s masked]\n", text->n > 0 && text->p[text->n - 1] != '\n' ? "\n" : "",
               count, count == 1 ? "secret" : "secrets");
}

static size_t mask_gathered(struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->input.gathering.count; i++) {
        struct gathered_file *file = &work->input.gathering.files[i];
        struct buf *text = &work->texts[i];
        size_t found = masker_apply(work_masker(work), text);
        tell_masked(text, found);
        if (found > 0)
            *(file->text.p != NULL ? &file->text : &file->error) = buf_view(text);
        count += found;
    }
    return count;
}

/* Everything that a call brought passes here, on its way to the log, to models and to the screen. */
static void mask_secrets(struct work *work)
{
    struct input *input = &work->input;
    if (work_masker(work) == NULL)
        return;
    size_t count = masker_apply(work_masker(work), &work->text) + (size_t)input->secrets;
    if (input->kind == INPUT_RESULT || input->kind == INPUT_CHECKED)
        tell_masked(&work->text, count);
    count += mask_json(work, &input->files_read) + mask_json(work, &input->files_modified) +
             mask_json(work, &input->conflicted_files) + mask_json(work, &input->evidence) +
             mask_json(work, &input->refused) + mask_json(work, &input->network) +
             mask_gathered(work);
    input->secrets = (int64_t)count;
}

/* Opens a tree that rests, for this call alone. What is in the way is the call's error. */
static struct scope *open_place(struct work *work)
{
    struct scope *own = NULL;
    struct err err = ERR_INIT;
    if (work->resting == NULL || work->skipped || work->tree != NULL)
        return NULL;
    if (work->port->open_again(work->resting, &own, &err) != 0) {
        work->problem = arena_copy(&work->arena, str_from(err.message));
        return NULL;
    }
    work->context.scope = own;
    return own;
}

void work_perform(struct work *work)
{
    flight_alive(&work->flight);
    struct scope *own = open_place(work);
    perform(work);
    mask_secrets(work);
    work->context.scope = NULL;
    if (own != NULL)
        work->port->close_scope(own);
}
