/* Building a tool's result. Text in it is always valid UTF-8 and never longer than the context's
 * max_result.
 *
 * The caller hands in a result that is all zero (or one that it used before) and frees its text
 * with buf_release; prepare and run start it. */
#ifndef CADRE_TOOL_RESULT_H
#define CADRE_TOOL_RESULT_H

#include "base/err.h"
#include "base/utf8.h"
#include "port/tool.h"

#define RESULT_LEAST 512 /* bytes; a smaller max_result counts as this */
#define RESULT_NOTES 320 /* bytes kept free for the notes that close a long result */

void tool_result_start(const struct tool_context *context, struct tool_result *result);
/* Makes the result an error: "Error: " and the text. Always returns -1. */
int tool_fail(struct tool_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts where it is in front of an error that the result holds. Always returns -1. */
int tool_fail_within(struct tool_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int tool_fail_err(struct tool_result *result, const struct err *err);
int tool_fail_cancelled(struct tool_result *result);
bool tool_cancelled(const struct tool_context *context);
/* Bytes that may still be appended with room left for the notes. */
size_t tool_room(const struct tool_result *result);
/* -1 with an error where an argument holds a mask (base/mask.h): it stands for a secret that the model has not seen, so what it asks
 * for cannot be meant. what: names the argument. */
NODISCARD int tool_refuse_mask(const struct tool_context *context, const char *what,
                               struct str text, struct tool_result *result);
/* Appends text from a file or a directory on one line: mended, without control characters. */
void tool_add_clean(struct tool_result *result, struct str text);
void tool_add_read(const struct tool_context *context, struct tool_result *result, struct str path);
/* A contact over the network, as JSON. */
void tool_add_contact(const struct tool_context *context, struct tool_result *result,
                      struct str json);
void tool_add_modified(const struct tool_context *context, struct tool_result *result,
                       struct str path);

#endif
