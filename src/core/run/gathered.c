/* Files that were read for children. Their texts stand in the log once: a later facts.gathered names the event that has the same
 * text of the same path, and the child's own events refer to the facts. The run keeps each text once, whoever was given it. Pure. */
#include "base/json.h"
#include "core/run/apply.h"

/* The newest text of a path, and those that it had before. */
struct known_text {
    const struct known_text *earlier;
    uint64_t seq; /* of the event that has it */
    struct str text;
};

static const struct known_text *known_since(const struct run *run, struct str path, uint64_t seq)
{
    const struct known_text *known = map_get(&run->known_texts, path);
    while (known != NULL && known->seq != seq)
        known = known->earlier;
    return known;
}

/* The event that has this text already, or 0. */
static uint64_t known_seq(const struct run *run, const struct js *file)
{
    struct str text = js_get_str(file, "text");
    const struct known_text *known = map_get(&run->known_texts, js_get_str(file, "path"));
    return text.n > REPEATED_MAX && known != NULL && str_eq(known->text, text) ? known->seq : 0;
}

struct str gathered_log(struct deciding *d, const struct js *files, struct str json)
{
    struct buf out;
    struct jw w;
    bool repeats = false;
    for (size_t i = 0; i < js_count(files); i++)
        repeats = repeats || known_seq(d->run, js_at(files, i)) > 0;
    if (!repeats)
        return json;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < js_count(files); i++) {
        const struct js *file = js_at(files, i);
        uint64_t seq = known_seq(d->run, file);
        if (seq == 0) {
            jw_raw(&w, js_source(json, file));
            continue;
        }
        jw_object(&w);
        jw_kstr(&w, "path", js_get_str(file, "path"));
        jw_kint(&w, "same", (int64_t)seq);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    struct str log = keep(d, buf_view(&out));
    buf_release(&out);
    return log;
}

/* What one entry says: a text, where the same text stands, or why there is none. */
static int take_file(struct run *run, const struct event *e, const struct js *entry,
                     struct gathered_file *file, struct err *err)
{
    struct str path = js_get_str(entry, "path"), text = js_get_str(entry, "text");
    int64_t same = js_get_int(entry, "same", 0);
    *file = (struct gathered_file){.path = arena_copy(&run->arena, path),
                                   .error = arena_copy(&run->arena, js_get_str(entry, "error")),
                                   .missing = js_bool(js_get(entry, "missing"), false)};
    if (same > 0) {
        const struct known_text *known = known_since(run, path, (uint64_t)same);
        if (known == NULL)
            return apply_out_of_place(e, err);
        file->text = known->text;
        return 0;
    }
    file->text = arena_copy(&run->arena, text);
    if (text.n > REPEATED_MAX && known_since(run, path, e->seq) == NULL) {
        struct known_text *known = arena_alloc(&run->arena, sizeof *known);
        *known = (struct known_text){map_get(&run->known_texts, path), e->seq, file->text};
        map_set(&run->known_texts, path, known);
    }
    return 0;
}

int apply_gathered(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, e->call_id) : NULL;
    struct js *files = js_parse(e->files, err);
    int result = 0;
    if (call == NULL || call->state != CALL_GATHERING || js_kind(files) != JS_ARRAY) {
        js_free(files);
        return apply_out_of_place(e, err);
    }
    struct gathering *gathering = arena_alloc(&run->arena, sizeof *gathering);
    size_t count = js_count(files);
    gathering->seq = e->seq;
    gathering->files = arena_alloc(&run->arena, (count + 1) * sizeof *gathering->files);
    gathering->count = count;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = take_file(run, e, js_at(files, i), &gathering->files[i], err);
    call->gathering = gathering;
    js_free(files);
    return result;
}

/* --- in the task of a child -------------------------------------------------------------------------------------------------- */

/* Without `at` it only counts. */
static size_t put(char *at, size_t n, struct str text)
{
    if (at != NULL && text.n > 0)
        memcpy(at + n, text.p, text.n);
    return n + text.n;
}

static size_t put_context(char *at, size_t n, struct str context, const struct gathering *gathering)
{
    size_t start = n;
    n = put(at, n, context);
    for (size_t i = 0; gathering != NULL && i < gathering->count; i++) {
        const struct gathered_file *file = &gathering->files[i];
        n = put(at, n, n > start ? STR("\n\n--- ") : STR("--- "));
        n = put(at, n, file->path);
        n = put(at, n, STR(" ---\n"));
        n = put(at, n, file->text);
    }
    return n;
}

size_t gathered_bytes(struct str context, const struct gathering *gathering)
{
    return put_context(NULL, 0, context, gathering);
}

static size_t put_task(char *at, const struct agent *agent)
{
    size_t n = put(at, 0, agent->objective);
    if (agent->context.n > 0 || agent->gathering != NULL)
        n = put(at, n, STR("\n\nContext:\n"));
    return put_context(at, n, agent->context, agent->gathering);
}

size_t task_bytes(const struct agent *agent)
{
    return put_task(NULL, agent);
}

struct str task_text(struct arena *arena, const struct agent *agent)
{
    size_t n = put_task(NULL, agent);
    char *text = arena_alloc(arena, n + 1);
    put_task(text, agent);
    return (struct str){text, n};
}
