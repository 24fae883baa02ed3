/* Recordings in memory: read once, checked line by line, searched by request. Which of its answers were given already is
 * the caller's to remember, because each run goes through a recording from its start. */
#ifndef CADRE_MODEL_REPLAY_FILE_H
#define CADRE_MODEL_REPLAY_FILE_H

#include "model/record_line.h"

#define REPLAY_FILE_MAX ((size_t)512 << 20)
#define REPLAY_LINES_MAX ((size_t)1 << 20)

struct replay_entry {
    struct hash key;
    uint32_t agent_no;
    int64_t turn;
    struct str text; /* the line */
};

struct replay_file {
    struct str path;
    struct buf bytes;
    struct arena arena;
    struct replay_entry *entries; /* in the order of the file */
    size_t entry_count;
    struct str workspace, model; /* of its first line */
};

/* Blocking; any thread. CONFIG: what is wrong with the file, with file:line. */
int replay_file_open(struct str path, struct replay_file **file, struct err *err) NODISCARD;
void replay_file_free(struct replay_file *file);

enum replay_match {
    REPLAY_SAME,    /* the request that was recorded */
    REPLAY_INSTEAD, /* another one of the same agent and turn */
    REPLAY_NONE
};
/* The entry for a request. used: a byte for each entry, not 0 where its answer was given; the search starts at `from`, before
 * which all are used. Among equals: the request's own
 * agent and turn first, then the order of the file. */
enum replay_match replay_file_find(const struct replay_file *file, const uint8_t *used, size_t from,
                                   const struct record_line *asked, size_t *index);
/* Appends why there is none: "agent 2 is not in it", "it ends with request 3 of agent 2". */
void replay_file_explain(const struct replay_file *file, const struct record_line *asked,
                         struct buf *out);

#endif
