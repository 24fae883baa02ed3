/* See marks.h. */
#include "model/marks.h"

#include "base/utf8.h"

bool marks_fit(const struct js *content, struct str text)
{
    size_t at = 0;
    for (size_t i = 0; i < js_count(content); i++) {
        int64_t bytes = js_get_int(js_at(content, i), "text", 0);
        if (bytes < 0 || (uint64_t)bytes > text.n - at)
            return false;
        at += (size_t)bytes;
        if (utf8_cut(text, at).n != at)
            return false;
    }
    return at == text.n;
}

size_t marks_count(const struct js *content, size_t call_count, marks_echo *is_echo)
{
    size_t calls = 0, count = 0;
    for (size_t i = 0; i < js_count(content); i++) {
        const struct js *entry = js_at(content, i);
        bool text = js_get_int(entry, "text", 0) > 0;
        if (!is_echo(entry) && (text || calls++ < call_count))
            count = i + 1;
    }
    return count;
}
