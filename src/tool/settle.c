/* After a crash: was the prepared change made? Reads the file as it is now. Runs on a pool
 * thread. */
#include <unistd.h>

#include "tool/file.h"

enum tool_settled tool_settle(const struct tool_context *context,
                              const struct tool_prepared *prepared)
{
    struct err err = ERR_INIT;
    struct place place = {.directory = -1};
    struct scope_file file = {.fd = -1};
    struct hash hash = {0};
    enum tool_settled settled = SETTLED_UNKNOWN;
    bool present = true;

    int failed = place_open(&place, context->scope, prepared->path, file_write_allow(context),
                            PLACE_NEEDS_PARENTS, &err);
    if (!failed) {
        place_sweep(&place, context->call_id);
        failed = place_read(&place, &file, &err);
    }
    if (failed && err.class != ERR_NOT_FOUND)
        goto out;
    present = !failed;
    if (present && file_hash(context, file.fd, &hash, &err) != 0)
        goto out;
    if ((prepared->after == FILE_PRESENT) == present &&
        (!present || hash_eq(&hash, &prepared->after_hash)))
        settled = SETTLED_DONE;
    else if ((prepared->before == FILE_PRESENT) == present &&
             (!present || hash_eq(&hash, &prepared->before_hash)))
        settled = SETTLED_NOT_DONE;
out:
    if (file.fd >= 0)
        close(file.fd);
    place_close(&place);
    return settled;
}
