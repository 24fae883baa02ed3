/* Where the logs of runs end, remembered from one append to the next: a run that this handle appended to is not
 * looked up again while nobody else has changed the file. SQLite counts the changes that a handle has seen; a
 * number other than the one after our own last append means that somebody wrote (another process, another handle, or
 * this one through another operation), and everything is forgotten. Runs inside the append's transaction. */
#include <ctype.h>
#include <stdlib.h>

#include "store/handle.h"

#define HEADS_MAX 256 /* remembered between two appends */

static uint32_t file_version(struct sqlite_store *s)
{
    uint32_t version = 0;
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_DATA_VERSION, &version) != SQLITE_OK)
        heads_forget(s);
    return version;
}

void heads_forget(struct sqlite_store *s)
{
    size_t cursor = 0;
    struct str key;
    void *head;
    while (map_next(&s->heads, &cursor, &key, &head))
        free(head);
    map_release(&s->heads);
    map_init(&s->heads);
}

void heads_check(struct sqlite_store *s)
{
    if (s->heads.count > HEADS_MAX || file_version(s) != s->heads_version)
        heads_forget(s);
}

void heads_keep(struct sqlite_store *s)
{
    s->heads_version = file_version(s);
}

/* The columns are those of STATEMENT_HEAD. */
static int log_end(struct sqlite_store *s, struct run_head *head, struct err *err)
{
    struct call call;
    head->hash = chain_start(id_str(&head->run.id));
    call_start(&call, s, STATEMENT_HEAD);
    call_int(&call, head->run.run_no);
    int row = call_step(&call, "appending events", err);
    if (row == 1) {
        head->seq = (uint64_t)call_number(&call, 0);
        if (!call_hash_at(&call, 1, &head->hash))
            row = err_set(err, ERR_CORRUPT, "store %s: event %llu of run %s has no hash", s->path,
                          (unsigned long long)head->seq, head->run.id.text);
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}

int head_find(struct sqlite_store *s, struct str run_id, struct run_head **head, struct err *err)
{
    char capitals[ID_LENGTH];
    struct str key = {capitals, run_id.n < ID_LENGTH ? run_id.n : ID_LENGTH};
    /* Ids that differ in case only name one run. */
    for (size_t i = 0; i < key.n; i++)
        capitals[i] = (char)toupper((unsigned char)run_id.p[i]);
    if (run_id.n != ID_LENGTH)
        return err_set(err, ERR_NOT_FOUND, "that is not the id of a run (26 letters and digits)");
    *head = map_get(&s->heads, key);
    if (*head)
        return 0;
    struct run_head *found = calloc(1, sizeof *found);
    if (!found)
        return err_set(err, ERR_IO, "out of memory");
    if (run_leased(s, run_id, &found->run, &found->epoch, err) < 0 || log_end(s, found, err) < 0) {
        free(found);
        return -1;
    }
    map_set(&s->heads, key, found);
    *head = found;
    return 0;
}
