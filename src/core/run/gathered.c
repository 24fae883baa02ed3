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
static uint64_t known_seq(const struct run *run, const struct gathered_file *file)
{
    const struct known_text *known = map_get(&run->known_texts, file->path);
    if (file->same > 0)
        return file->same;
    return file->text.n > REPEATED_MAX && known != NULL && str_eq(known->text, file->text)
               ? known->seq
               : 0;
}

struct str gathered_log(struct deciding *d, const struct gathering *gathering)
{
    struct buf out;
    struct jw w;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < gathering->count; i++) {
        const struct gathered_file *file = &gathering->files[i];
        uint64_t seq = known_seq(d->run, file);
        jw_object(&w);
        jw_kstr(&w, "path", file->path);
        if (seq > 0)
            jw_kint(&w, "same", (int64_t)seq);
        else
            jw_kstr(&w, file->error.p != NULL ? "error" : "text",
                    file->error.p != NULL ? file->error : file->text);
        if (file->missing)
            jw_kbool(&w, "missing", true);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    struct str json = keep(d, buf_view(&out));
    buf_release(&out);
    return json;
}

int gathering_parse(struct arena *arena, struct str json, struct gathering *out, struct err *err)
{
    struct js *files = js_parse(json, err);
    if (js_kind(files) != JS_ARRAY) {
        js_free(files);
        return err_set(err, ERR_CORRUPT, "files that were read are no JSON array");
    }
    *out = (struct gathering){.count = js_count(files)};
    out->files = arena_alloc(arena, (out->count + 1) * sizeof *out->files);
    for (size_t i = 0; i < out->count; i++) {
        const struct js *file = js_at(files, i);
        int64_t same = js_get_int(file, "same", 0);
        out->files[i] =
            (struct gathered_file){.path = arena_copy(arena, js_get_str(file, "path")),
                                   .text = arena_copy(arena, js_get_str(file, "text")),
                                   .error = arena_copy(arena, js_get_str(file, "error")),
                                   .missing = js_get_bool(file, "missing", false),
                                   .same = same > 0 ? (uint64_t)same : 0};
    }
    js_free(files);
    return 0;
}

/* Finds a text that is named, and remembers one that is new. */
static int know_text(struct run *run, const struct event *e, struct gathered_file *file,
                     struct err *err)
{
    if (file->same > 0) {
        const struct known_text *known = known_since(run, file->path, file->same);
        if (known == NULL)
            return apply_out_of_place(e, err);
        file->text = known->text;
    } else if (file->text.n > REPEATED_MAX && known_since(run, file->path, e->seq) == NULL) {
        struct known_text *known = arena_alloc(&run->arena, sizeof *known);
        *known = (struct known_text){map_get(&run->known_texts, file->path), e->seq, file->text};
        map_set(&run->known_texts, file->path, known);
    }
    return 0;
}

int apply_gathered(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    if (call == NULL || call->state != CALL_GATHERING)
        return apply_out_of_place(e, err);
    struct gathering *gathering = arena_alloc(&run->arena, sizeof *gathering);
    if (gathering_parse(&run->arena, e->files, gathering, err) != 0)
        return -1;
    gathering->seq = e->seq;
    for (size_t i = 0; i < gathering->count; i++) {
        if (know_text(run, e, &gathering->files[i], err) != 0)
            return -1;
    }
    call->gathering = gathering;
    return 0;
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

/* Bytes of the line numbers that the read tool put in front of each line: spaces, digits and a tab. */
static size_t number_bytes(struct str text)
{
    size_t bytes = 0;
    for (size_t line = 0; line < text.n;) {
        const char *end = memchr(text.p + line, '\n', text.n - line);
        size_t n = 0;
        while (line + n < text.n && text.p[line + n] == ' ')
            n++;
        while (line + n < text.n && text.p[line + n] >= '0' && text.p[line + n] <= '9')
            n++;
        if (n > 0 && line + n < text.n && text.p[line + n] == '\t')
            bytes += n + 1;
        line = end != NULL ? (size_t)(end - text.p) + 1 : text.n;
    }
    return bytes;
}

size_t gathered_bytes(struct str context, const struct gathering *gathering)
{
    size_t bytes = context.n;
    for (size_t i = 0; i < gathering->count; i++)
        bytes += gathering->files[i].text.n - number_bytes(gathering->files[i].text);
    return bytes;
}

static size_t put_task(char *at, const struct agent *agent, struct str brief)
{
    size_t n = put(at, 0, agent->objective);
    if (brief.n > 0) {
        n = put(at, n, STR("\n"));
        n = put(at, n, brief);
    }
    if (agent->context.n > 0 || agent->gathering != NULL)
        n = put(at, n, brief.n > 0 ? STR("\nContext:\n") : STR("\n\nContext:\n"));
    return put_context(at, n, agent->context, agent->gathering);
}

size_t task_bytes(const struct agent *agent, struct str brief)
{
    return put_task(NULL, agent, brief);
}

struct str task_text(struct arena *arena, const struct agent *agent, struct str brief)
{
    size_t n = put_task(NULL, agent, brief);
    char *text = arena_alloc(arena, n + 1);
    put_task(text, agent, brief);
    return (struct str){text, n};
}
