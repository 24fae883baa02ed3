/* Diagnostics for the person at the terminal: one line per message, "cadre: warning: …". Not the event log. The
 * text is cleaned, so a message may quote anything. There is no clock and no global: the owner passes the
 * struct. A NULL log, or one without a file, writes nothing. */
#ifndef CADRE_BASE_LOG_H
#define CADRE_BASE_LOG_H

#include <stdio.h>

#include "base/str.h"

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_COUNT
};

struct log {
    FILE *file;             /* not owned */
    enum log_level minimum; /* what is below is not written */
};

/* A line is written with one call, so lines of several threads do not mix. Cut at 4 KB. */
void log_write(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "debug", "info", "warning", "error", and back; false if text is none of them. */
const char *log_level_text(enum log_level level);
bool log_level_parse(struct str text, enum log_level *level);

#endif
