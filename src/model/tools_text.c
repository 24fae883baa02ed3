/* See tools_text.h. A memo holds the text of one API; another API of the same agent makes it anew. Loop thread. */
#include "model/tools_text.h"

static void write_all(struct jw *w, const struct model_request *request, tool_write_fn *write)
{
    jw_array(w);
    for (size_t i = 0; i < request->tool_count; i++)
        write(w, &request->tools[i]);
    jw_end_array(w);
}

void tools_write(struct jw *w, const struct model_request *request, tool_write_fn *write)
{
    struct tools_memo *memo = request->tools_memo;
    if (request->tool_count == 0)
        return;
    jw_key(w, "tools");
    if (!memo) {
        write_all(w, request, write);
        return;
    }
    if (memo->writer != write) {
        struct jw own;
        buf_clear(&memo->text);
        jw_init(&own, &memo->text);
        write_all(&own, request, write);
        memo->writer = write;
    }
    if (memo->text.failed)
        w->out->failed = true;
    jw_raw(w, buf_view(&memo->text));
}
