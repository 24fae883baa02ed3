/* See projected.h. The tables below say which column follows from which field of a projected row; the rules by which
 * a row is written are those of the store: an insert sets every column, a change of a run's status sets its four
 * columns, a change of a sub-agent's status sets what it carries. No I/O, no thread of its own. */
#include "engine/projected.h"

#include <stdio.h>
#include <stdlib.h>

enum column_kind { COLUMN_TEXT, COLUMN_NUMBER };

struct column {
    const char *name;
    size_t row, stored; /* where it is in struct row, and in struct stored_run or stored_agent */
    enum column_kind kind;
    bool later; /* rows that change the status set it, too */
};

#define TEXT(struct_stored, column, is_later)                                                      \
    {                                                                                              \
#column, offsetof(struct row, column), offsetof(struct struct_stored, column),             \
            COLUMN_TEXT, is_later                                                                  \
    }
#define NUMBER(struct_stored, column, is_later)                                                    \
    {                                                                                              \
#column, offsetof(struct row, column), offsetof(struct struct_stored, column),             \
            COLUMN_NUMBER, is_later                                                                \
    }

static const struct column run_columns[] = {
    TEXT(stored_run, status, true),        TEXT(stored_run, error, true),
    NUMBER(stored_run, finished_at, true), TEXT(stored_run, result_json, true),
    TEXT(stored_run, session_id, false),   TEXT(stored_run, user_id, false),
    TEXT(stored_run, workspace_id, false), TEXT(stored_run, workspace_path, false),
    TEXT(stored_run, task, false),         TEXT(stored_run, model, false),
    TEXT(stored_run, parent_run, false),   NUMBER(stored_run, parent_seq, false),
    NUMBER(stored_run, started_at, false),
};

static const struct column agent_columns[] = {
    TEXT(stored_agent, status, true),        TEXT(stored_agent, error, true),
    TEXT(stored_agent, worktree_path, true), TEXT(stored_agent, branch_name, true),
    TEXT(stored_agent, merge_status, true),  NUMBER(stored_agent, started_at, true),
    NUMBER(stored_agent, finished_at, true), TEXT(stored_agent, id, false),
    TEXT(stored_agent, parent_id, false),    TEXT(stored_agent, name, false),
    TEXT(stored_agent, context_json, false), NUMBER(stored_agent, step_idx, false),
};

#define RUN_COLUMNS (sizeof run_columns / sizeof run_columns[0])
#define AGENT_COLUMNS (sizeof agent_columns / sizeof agent_columns[0])

/* All zero: NULL, or an empty text, which reads the same. */
struct value {
    uint8_t bytes[16];
};

struct projected_agent {
    struct value values[AGENT_COLUMNS];
    struct str status; /* static text */
    bool is_seen;      /* among the stored rows */
};

struct projected {
    struct id run_id;
    struct value values[RUN_COLUMNS];
    struct str status;              /* static text */
    struct projected_agent *agents; /* by agent_no; the root has none */
    uint32_t count;                 /* highest agent_no + 1 */
    uint32_t capacity;
};

struct projected *projected_new(struct str run_id)
{
    struct projected *projected = calloc(1, sizeof *projected);
    if (projected == NULL)
        abort();
    memcpy(projected->run_id.text, run_id.p, run_id.n < ID_LENGTH ? run_id.n : ID_LENGTH);
    projected->status = STR("queued"); /* of a run that no event has started yet */
    return projected;
}

void projected_free(struct projected *projected)
{
    if (projected == NULL)
        return;
    free(projected->agents);
    free(projected);
}

/* --- values --------------------------------------------------------------------------------------------------- */

static struct str text_at(const void *record, size_t offset)
{
    return *(const struct str *)((const char *)record + offset);
}

static int64_t number_at(const void *record, size_t offset)
{
    return *(const int64_t *)((const char *)record + offset);
}

static struct value value_at(const void *record, size_t offset, enum column_kind kind)
{
    struct value value = {{0}};
    if (kind == COLUMN_NUMBER) {
        uint64_t shifted = (uint64_t)number_at(record, offset) + 1; /* -1 is NULL */
        memcpy(value.bytes, &shifted, sizeof shifted);
    } else if (text_at(record, offset).n > 0) {
        struct hash hash = hash_of(text_at(record, offset));
        memcpy(value.bytes, hash.bytes, sizeof value.bytes);
    }
    return value;
}

static bool is_null(const struct value *value)
{
    static const struct value null;
    return memcmp(value, &null, sizeof null) == 0;
}

/* --- the log's side --------------------------------------------------------------------------------------------- */

static void note_run(struct projected *projected, const struct row *row)
{
    projected->status = row->status;
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        const struct column *column = &run_columns[i];
        if (row->kind == ROW_RUN_INSERT || column->later)
            projected->values[i] = value_at(row, column->row, column->kind);
    }
}

static struct projected_agent *agent_at(struct projected *projected, uint32_t agent_no)
{
    if (agent_no >= projected->capacity) {
        uint32_t capacity = agent_no * 2 + 8;
        projected->agents = realloc(projected->agents, capacity * sizeof *projected->agents);
        if (projected->agents == NULL)
            abort();
        memset(projected->agents + projected->capacity, 0,
               (capacity - projected->capacity) * sizeof *projected->agents);
        projected->capacity = capacity;
    }
    if (agent_no >= projected->count)
        projected->count = agent_no + 1;
    return &projected->agents[agent_no];
}

static void note_agent(struct projected *projected, uint32_t agent_no, const struct row *row)
{
    struct projected_agent *agent = agent_at(projected, agent_no);
    agent->status = row->status;
    for (size_t i = 0; i < AGENT_COLUMNS; i++) {
        const struct column *column = &agent_columns[i];
        struct value value = value_at(row, column->row, column->kind);
        if (row->kind == ROW_AGENT_INSERT || (column->later && !is_null(&value)))
            agent->values[i] = value;
    }
}

void projected_note(struct projected *projected, uint32_t agent_no, const struct row *row)
{
    if (row->kind == ROW_RUN_INSERT || row->kind == ROW_RUN_STATUS)
        note_run(projected, row);
    else
        note_agent(projected, agent_no, row);
}

/* --- the comparison ---------------------------------------------------------------------------------------------- */

static void tell_column(const char *table, const struct column *column, const void *stored,
                        struct str status, projected_fn *fn, void *user)
{
    char place[96], text[200];
    snprintf(place, sizeof place, "table %s, column %s", table, column->name);
    if (column->row == offsetof(struct row, status))
        snprintf(text, sizeof text, "it is %.*s, the log says %.*s",
                 STR_FMT(text_at(stored, column->stored)), STR_FMT(status));
    else
        snprintf(text, sizeof text, "it is not what the log says");
    fn(user, place, text);
}

static void tell_row(uint32_t agent_no, const char *text, projected_fn *fn, void *user)
{
    char place[96];
    snprintf(place, sizeof place, "table sub_agents, agent %u", (unsigned)agent_no);
    fn(user, place, text);
}

void projected_compare_run(const struct projected *projected, const struct stored_run *stored,
                           projected_fn *fn, void *user)
{
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        const struct column *column = &run_columns[i];
        struct value value = value_at(stored, column->stored, column->kind);
        bool same = memcmp(&value, &projected->values[i], sizeof value) == 0;
        if (column->row == offsetof(struct row, status))
            same = str_eq(stored->status, projected->status);
        if (!same)
            tell_column("runs", column, stored, projected->status, fn, user);
    }
}

void projected_compare_agent(struct projected *projected, const struct stored_agent *stored,
                             projected_fn *fn, void *user)
{
    struct projected_agent *agent =
        stored->agent_no < projected->count ? &projected->agents[stored->agent_no] : NULL;
    char table[64];
    if (agent == NULL || agent->status.n == 0) {
        tell_row(stored->agent_no, "the log has no such sub-agent", fn, user);
        return;
    }
    agent->is_seen = true;
    if (!str_is(stored->run_id, projected->run_id.text))
        tell_row(stored->agent_no, "its run_id is not the id of this run", fn, user);
    snprintf(table, sizeof table, "sub_agents, agent %u", (unsigned)stored->agent_no);
    for (size_t i = 0; i < AGENT_COLUMNS; i++) {
        const struct column *column = &agent_columns[i];
        struct value value = value_at(stored, column->stored, column->kind);
        if (memcmp(&value, &agent->values[i], sizeof value) != 0)
            tell_column(table, column, stored, agent->status, fn, user);
    }
}

void projected_compare_end(const struct projected *projected, projected_fn *fn, void *user)
{
    for (uint32_t i = 1; i < projected->count; i++) {
        const struct projected_agent *agent = &projected->agents[i];
        if (agent->status.n > 0 && !agent->is_seen)
            tell_row(i, "its row is missing", fn, user);
    }
}
