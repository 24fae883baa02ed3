/* Fuzzes the lines of recordings: any bytes are refused or read; what was read can be printed, and is then read as it was. */
#include <stdlib.h>

#include "model/record_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void print(struct str text, struct arena *arena, const struct record_line *line,
                  struct buf *out)
{
    struct model_reply reply;
    struct model_failure failure;
    struct err err = ERR_INIT;
    if (record_answer_parse(text, arena, &reply, &failure, &err) != 0)
        abort();
    bool replied = line->kind == RECORD_REPLY;
    record_line_print(line, replied ? &reply : NULL, replied ? NULL : &failure, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct record_line line, again;
    struct err err = ERR_INIT;
    struct arena arena;
    struct buf first, second;
    char *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, bytes, n);
    arena_init(&arena);
    buf_init(&first, RECORD_LINE_MAX);
    buf_init(&second, RECORD_LINE_MAX);
    if (record_line_parse((struct str){copy, n}, &arena, &line, &err) == 0) {
        print((struct str){copy, n}, &arena, &line, &first);
        if (record_line_parse(buf_view(&first), &arena, &again, &err) != 0)
            abort();
        print(buf_view(&first), &arena, &again, &second);
        if (!str_eq(buf_view(&first), buf_view(&second)))
            abort();
    }
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
    free(copy);
    return 0;
}
