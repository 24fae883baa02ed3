/* One table of members for each object of a chunk; a member in no table is passed over. Decides nothing about what
 * the members mean, except that a chunk in which they could mean something else is not for here. Pure; any thread. */
#include "model/openai_chunk.h"

enum { LEVELS_MAX = 8 /* of nesting in what is passed over */ };

typedef bool member_fn(struct scan *scan, struct openai_chunk *chunk);

struct member {
    struct str key;
    member_fn *read;
};

/* The object at scan; its members are told apart by the table, which ends with a NULL key. */
static bool read_object(struct scan *scan, struct openai_chunk *chunk, const struct member *table)
{
    struct scan_members members;
    struct str key;
    enum scan_step step;
    members.count = 0;
    members.seen = 0;
    if (!scan_char(scan, '{'))
        return false;
    while ((step = scan_member(scan, &members, &key)) == SCAN_MEMBER) {
        const struct member *member = table;
        while (member->read && !str_eq(member->key, key))
            member++;
        if (!(member->read ? member->read(scan, chunk) : scan_skip(scan, LEVELS_MAX)))
            return false;
    }
    return step == SCAN_END;
}

/* A string or null. */
static bool read_text(struct scan *scan, struct scan_text *text)
{
    return scan_peek(scan) == '"' ? scan_string(scan, text) : scan_null(scan);
}

static bool read_plain(struct scan *scan, struct scan_text *text)
{
    return read_text(scan, text) && text->form == SCAN_PLAIN;
}

/* Any value, but only a string is of interest. */
static bool read_label(struct scan *scan, struct scan_text *text)
{
    return scan_peek(scan) == '"' ? scan_string(scan, text) : scan_skip(scan, LEVELS_MAX);
}

/* What may only be there as null. */
static bool read_nothing(struct scan *scan, struct openai_chunk *chunk)
{
    return scan_null(scan);
}

/* What may not be there. */
static bool read_never(struct scan *scan, struct openai_chunk *chunk)
{
    return false;
}

/* --- calls ---------------------------------------------------------------------------------------- */

/* The piece that is being read. */
static struct openai_chunk_piece *piece_of(struct openai_chunk *chunk)
{
    return &chunk->pieces[chunk->piece_count - 1];
}

static bool read_name(struct scan *scan, struct openai_chunk *chunk)
{
    return read_plain(scan, &piece_of(chunk)->name);
}

static bool read_arguments(struct scan *scan, struct openai_chunk *chunk)
{
    return read_text(scan, &piece_of(chunk)->arguments);
}

static const struct member function_members[] = {
    {STR("name"), read_name},
    {STR("arguments"), read_arguments},
    {STR_NONE, NULL},
};

static bool read_function(struct scan *scan, struct openai_chunk *chunk)
{
    return read_object(scan, chunk, function_members);
}

static bool read_piece_index(struct scan *scan, struct openai_chunk *chunk)
{
    piece_of(chunk)->numbered = PIECE_WITH_INDEX;
    return scan_int(scan, &piece_of(chunk)->index);
}

static bool read_piece_id(struct scan *scan, struct openai_chunk *chunk)
{
    return read_plain(scan, &piece_of(chunk)->id);
}

/* Name and arguments may stand beside the index where there is no function: those are read as a document. */
static const struct member piece_members[] = {
    {STR("index"), read_piece_index},
    {STR("id"), read_piece_id},
    {STR("function"), read_function},
    {STR("name"), read_never},
    {STR("arguments"), read_never},
    {STR("extra_content"), read_nothing},
    {STR_NONE, NULL},
};

static bool read_calls(struct scan *scan, struct openai_chunk *chunk)
{
    size_t count = 0;
    enum scan_step step;
    if (scan_null(scan))
        return true;
    if (!scan_char(scan, '['))
        return false;
    chunk->calls = CHUNK_WITH_CALLS;
    while ((step = scan_item(scan, &count)) == SCAN_MEMBER) {
        if (chunk->piece_count == OPENAI_CHUNK_PIECES)
            return false;
        chunk->pieces[chunk->piece_count++] = (struct openai_chunk_piece){0};
        if (!read_object(scan, chunk, piece_members))
            return false;
    }
    return step == SCAN_END;
}

/* --- the choice ----------------------------------------------------------------------------------- */

static bool read_content(struct scan *scan, struct openai_chunk *chunk)
{
    return read_text(scan, &chunk->content);
}

static bool read_refusal(struct scan *scan, struct openai_chunk *chunk)
{
    return read_text(scan, &chunk->refusal);
}

static bool read_reasoning_content(struct scan *scan, struct openai_chunk *chunk)
{
    return read_text(scan, &chunk->reasoning_content);
}

static bool read_reasoning(struct scan *scan, struct openai_chunk *chunk)
{
    return read_text(scan, &chunk->reasoning);
}

static const struct member delta_members[] = {
    {STR("content"), read_content},
    {STR("tool_calls"), read_calls},
    {STR("reasoning_content"), read_reasoning_content},
    {STR("reasoning"), read_reasoning},
    {STR("refusal"), read_refusal},
    {STR("reasoning_details"), read_nothing},
    {STR_NONE, NULL},
};

static bool read_delta(struct scan *scan, struct openai_chunk *chunk)
{
    if (scan_null(scan))
        return true;
    chunk->delta = CHUNK_WITH_DELTA;
    return read_object(scan, chunk, delta_members);
}

static bool read_index(struct scan *scan, struct openai_chunk *chunk)
{
    return scan_null(scan) || scan_int(scan, &chunk->index);
}

static bool read_finish(struct scan *scan, struct openai_chunk *chunk)
{
    return read_plain(scan, &chunk->finish) && !str_is(chunk->finish.raw, "error");
}

static const struct member choice_members[] = {
    {STR("index"), read_index},     {STR("delta"), read_delta}, {STR("finish_reason"), read_finish},
    {STR("message"), read_nothing}, {STR_NONE, NULL},
};

static bool read_choices(struct scan *scan, struct openai_chunk *chunk)
{
    enum scan_step step;
    if (scan_null(scan))
        return true;
    if (!scan_char(scan, '['))
        return false;
    while ((step = scan_item(scan, &chunk->choices)) == SCAN_MEMBER)
        if (chunk->choices > 1 || !read_object(scan, chunk, choice_members))
            return false;
    return step == SCAN_END;
}

/* --- usage ----------------------------------------------------------------------------------------- */

static bool read_count(struct scan *scan, struct openai_chunk *chunk, enum openai_chunk_count count)
{
    return scan_null(scan) || scan_int(scan, &chunk->counts[count]);
}

#define COUNT_READER(name, count)                                                                  \
    static bool name(struct scan *scan, struct openai_chunk *chunk)                                \
    {                                                                                              \
        return read_count(scan, chunk, count);                                                     \
    }
COUNT_READER(read_prompt_tokens, CHUNK_PROMPT_TOKENS)
COUNT_READER(read_completion_tokens, CHUNK_COMPLETION_TOKENS)
COUNT_READER(read_cache_hits, CHUNK_CACHE_HITS)
COUNT_READER(read_cached_tokens, CHUNK_CACHED_TOKENS)
COUNT_READER(read_cache_writes, CHUNK_CACHE_WRITES)
COUNT_READER(read_reasoning_tokens, CHUNK_REASONING_TOKENS)
#undef COUNT_READER

static const struct member input_members[] = {
    {STR("cached_tokens"), read_cached_tokens},
    {STR("cache_write_tokens"), read_cache_writes},
    {STR_NONE, NULL},
};
static const struct member output_members[] = {
    {STR("reasoning_tokens"), read_reasoning_tokens},
    {STR_NONE, NULL},
};

static bool read_input_details(struct scan *scan, struct openai_chunk *chunk)
{
    return scan_null(scan) || read_object(scan, chunk, input_members);
}

static bool read_output_details(struct scan *scan, struct openai_chunk *chunk)
{
    return scan_null(scan) || read_object(scan, chunk, output_members);
}

static const struct member usage_members[] = {
    {STR("prompt_tokens"), read_prompt_tokens},
    {STR("completion_tokens"), read_completion_tokens},
    {STR("prompt_cache_hit_tokens"), read_cache_hits},
    {STR("prompt_tokens_details"), read_input_details},
    {STR("completion_tokens_details"), read_output_details},
    {STR_NONE, NULL},
};

static bool read_usage(struct scan *scan, struct openai_chunk *chunk)
{
    return scan_null(scan) || read_object(scan, chunk, usage_members);
}

/* --- the chunk ------------------------------------------------------------------------------------- */

static bool read_id(struct scan *scan, struct openai_chunk *chunk)
{
    return read_label(scan, &chunk->id);
}

static bool read_model(struct scan *scan, struct openai_chunk *chunk)
{
    return read_label(scan, &chunk->model);
}

static bool read_kind(struct scan *scan, struct openai_chunk *chunk)
{
    struct scan_text text = {STR_NONE, SCAN_PLAIN};
    return read_plain(scan, &text) && !str_is(text.raw, "error");
}

/* The last four may make the chunk an error (failure.h). */
static const struct member root_members[] = {
    {STR("id"), read_id},         {STR("model"), read_model},  {STR("choices"), read_choices},
    {STR("usage"), read_usage},   {STR("object"), read_kind},  {STR("error"), read_nothing},
    {STR("message"), read_never}, {STR("detail"), read_never}, {STR_NONE, NULL},
};

static bool read_chunk(struct openai_chunk *chunk, struct str text)
{
    struct scan scan = {text.p, text.p + text.n};
    /* Not the pieces: each is cleared when it begins. */
    memset(chunk, 0, offsetof(struct openai_chunk, pieces));
    chunk->piece_count = 0;
    for (size_t i = 0; i < CHUNK_COUNTS; i++)
        chunk->counts[i] = -1;
    return read_object(&scan, chunk, root_members) && scan_peek(&scan) == '\0' &&
           scan.at == scan.end;
}

/* --- one chunk after the other ---------------------------------------------------------------------- */

void openai_chunks_init(struct openai_chunks *chunks)
{
    chunks->from = chunks->to = 0;
    buf_init(&chunks->kept, OPENAI_CHUNK_KEPT);
}

void openai_chunks_release(struct openai_chunks *chunks)
{
    buf_release(&chunks->kept);
}

/* The piece of text that will be another one in the next chunk; NULL if there is none. */
static struct scan_text *varying(struct openai_chunk *chunk)
{
    struct scan_text *const texts[] = {
        &chunk->content,
        &chunk->reasoning_content,
        &chunk->reasoning,
        chunk->piece_count > 0 ? &chunk->pieces[0].arguments : NULL,
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i] && texts[i]->raw.p)
            return texts[i];
    return NULL;
}

/* Whether text is the kept chunk with another piece of text, which is then in the chunk. All bytes around it are known to be
 * right, so nothing else has to be checked. */
static bool read_again(struct openai_chunks *chunks, struct str text)
{
    const struct buf *kept = &chunks->kept;
    size_t tail = kept->n - chunks->to;
    if (kept->n == 0 || text.n < chunks->from + tail ||
        memcmp(text.p, kept->p, chunks->from) != 0 ||
        memcmp(text.p + text.n - tail, kept->p + chunks->to, tail) != 0)
        return false;
    /* From the opening quote, which is the head's last byte; the closing one is the tail's first. */
    struct scan scan = {text.p + chunks->from - 1, text.p + text.n - tail + 1};
    return scan_string(&scan, varying(&chunks->chunk)) && scan.at == scan.end;
}

/* The chunk, read from a copy of its text; NULL if it cannot be. */
static const struct openai_chunk *read_and_keep(struct openai_chunks *chunks, struct str text)
{
    struct openai_chunk *chunk = &chunks->chunk;
    buf_str(&chunks->kept, text);
    bool good = read_chunk(chunk, buf_view(&chunks->kept));
    const struct scan_text *piece = good ? varying(chunk) : NULL;
    if (piece) {
        chunks->from = (size_t)(piece->raw.p - chunks->kept.p);
        chunks->to = chunks->from + piece->raw.n;
    } else {
        chunks->kept.n = 0; /* its bytes stay: the chunk's views are of them */
    }
    return good ? chunk : NULL;
}

const struct openai_chunk *openai_chunks_read(struct openai_chunks *chunks, struct str text)
{
    if (read_again(chunks, text))
        return &chunks->chunk;
    chunks->kept.n = 0;
    if (text.n <= OPENAI_CHUNK_KEPT)
        return read_and_keep(chunks, text);
    return read_chunk(&chunks->chunk, text) ? &chunks->chunk : NULL;
}
