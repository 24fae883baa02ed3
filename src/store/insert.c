/* Events into the table, several at a time: a statement of sixteen rows costs two thirds of sixteen statements. Each
 * event gets its number of a type, its hash and its place in the chain here. Runs inside the append's transaction. */
#include "store/handle.h"

/* Widest first. */
static const struct width {
    size_t rows;
    enum statement statement;
} widths[] = {
    {INSERT_ROWS, STATEMENT_EVENT_INSERT_16},
    {4, STATEMENT_EVENT_INSERT_4},
    {1, STATEMENT_EVENT_INSERT_1},
};

static int type_insert(struct sqlite_store *s, const struct event_row *row, int64_t *type_no,
                       struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_TYPE_GET);
    call_str(&call, row->category);
    call_str(&call, row->type);
    int found = call_step(&call, "appending events", err);
    if (found == 1)
        *type_no = call_number(&call, 0);
    call_end(&call);
    if (found != 0)
        return found < 0 ? -1 : 0;
    call_start(&call, s, STATEMENT_TYPE_INSERT);
    call_str(&call, row->category);
    call_str(&call, row->type);
    if (call_run(&call, "appending events", err) < 0)
        return -1;
    *type_no = sqlite3_last_insert_rowid(s->db);
    return 0;
}

static int type_number(struct sqlite_store *s, const struct event_row *row, int64_t *type_no,
                       struct err *err)
{
    char text[128];
    struct str key = {text, row->category.n + 1 + row->type.n};
    if (row->category.n == 0 || row->type.n == 0 || row->category.n > sizeof text / 2 ||
        key.n > sizeof text)
        return err_set(err, ERR_USAGE, "event %llu has no type, or too long a one",
                       (unsigned long long)row->seq);
    memcpy(text, row->category.p, row->category.n);
    text[row->category.n] = ' ';
    memcpy(text + row->category.n + 1, row->type.p, row->type.n);
    void *known = map_get(&s->types, key);
    if (known) {
        *type_no = (int64_t)(intptr_t)known;
        return 0;
    }
    if (type_insert(s, row, type_no, err) < 0)
        return -1;
    map_set(&s->types, key, (void *)(intptr_t)*type_no);
    return 0;
}

static int blob_insert(struct sqlite_store *s, const struct hash *hash, struct str bytes,
                       struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_BLOB_INSERT);
    call_hash(&call, hash);
    call_bytes(&call, bytes);
    call_int(&call, (int64_t)bytes.n);
    return call_run(&call, "appending a payload", err);
}

static void event_bind(struct call *call, const struct waiting_event *event)
{
    const struct event_row *row = event->row;
    bool is_blob = row->payload.n > STORE_INLINE_MAX;
    call_int(call, event->run_no);
    call_int(call, (int64_t)row->seq);
    call_int(call, row->agent_no);
    call_int(call, (int64_t)row->agent_prev);
    call_int(call, (int64_t)event->epoch);
    call_int(call, row->version);
    call_int(call, row->ts);
    call_int(call, event->type_no);
    call_str(call, row->call_id);
    call_int(call, (int64_t)row->cause_seq);
    call_str(call, row->summary.p ? row->summary : STR(""));
    call_str(call, is_blob ? STR_NONE : row->payload);
    call_hash(call, is_blob ? &event->payload_hash : NULL);
    call_hash(call, &event->hash);
}

int insert_flush(struct inserts *inserts, struct err *err)
{
    size_t done = 0;
    for (const struct width *width = widths; done < inserts->count; width++) {
        for (; inserts->count - done >= width->rows; done += width->rows) {
            struct call call;
            call_start(&call, inserts->s, width->statement);
            for (size_t i = 0; i < width->rows; i++)
                event_bind(&call, &inserts->events[done + i]);
            if (call_run(&call, "appending events", err) < 0)
                return -1;
        }
    }
    inserts->count = 0;
    return 0;
}

int insert_add(struct inserts *inserts, struct run_head *head, const struct event_row *row,
               struct err *err)
{
    if (inserts->count == INSERT_ROWS && insert_flush(inserts, err) < 0)
        return -1;
    struct waiting_event *event = &inserts->events[inserts->count];
    event->row = row;
    event->run_no = head->run.run_no;
    event->epoch = head->epoch;
    if (type_number(inserts->s, row, &event->type_no, err) < 0)
        return -1;
    event->payload_hash = hash_of(row->payload);
    event->hash = chain_next(&head->hash, row, event->epoch, &event->payload_hash);
    if (row->payload.n > STORE_INLINE_MAX &&
        blob_insert(inserts->s, &event->payload_hash, row->payload, err) < 0)
        return -1;
    inserts->count++;
    head->seq = row->seq;
    head->hash = event->hash;
    return 0;
}
