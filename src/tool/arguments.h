/* The arguments of a call as its model wrote them: checked against a table before a tool looks
 * at them. Errors are written for the model: which argument, what was expected, which arguments
 * there are. */
#ifndef CADRE_TOOL_ARGUMENTS_H
#define CADRE_TOOL_ARGUMENTS_H

#include "port/tool.h"

enum argument_kind { ARGUMENT_TEXT, ARGUMENT_NUMBER, ARGUMENT_FLAG, ARGUMENT_LIST };
enum argument_need { ARGUMENT_OPTIONAL, ARGUMENT_REQUIRED };

struct argument {
    const char *name;
    enum argument_kind kind;
    enum argument_need need;
    int64_t least, most; /* of a number; of a text's bytes; of a list's items */
};

/* 0 when every argument is known, of its kind and within its bounds; null stands for an absent
 * optional one. -1 with the error in the result. After 0 the js_get_ shorthands give
 * the values, arguments_whole those of numbers: models write "5" for 5. */
NODISCARD int arguments_check(const struct js *arguments, const struct argument *known,
                              size_t count, struct tool_result *result);
int64_t arguments_whole(const struct js *arguments, const char *name, int64_t otherwise);
/* Which of the choices (ended by NULL) a text argument names: its number, `otherwise` when it is
 * absent. -1 with the error in the result. */
NODISCARD int arguments_choice(const struct js *arguments, const char *name,
                               const char *const *choices, int otherwise,
                               struct tool_result *result);

#endif
