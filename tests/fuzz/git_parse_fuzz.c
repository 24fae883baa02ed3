/* git's NUL-terminated answers: whatever bytes come, every part lies within them and nothing is read past their end. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "git/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool inside(struct str part, struct str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void check_changes(struct arena *arena, struct str text)
{
    struct git_changes changes;
    struct err err = ERR_INIT;
    if (git_parse_changes(arena, text, &changes, &err) != 0)
        return;
    for (size_t i = 0; i < changes.count; i++) {
        const struct git_change *change = &changes.items[i];
        assert(change->path.n > 0 && inside(change->path, text));
        assert(git_is_id(change->old_id) && inside(change->old_id, text));
        assert(git_is_id(change->new_id) && inside(change->new_id, text));
    }
}

static void check_merge(struct arena *arena, struct str text)
{
    struct git_merge_answer answer;
    struct err err = ERR_INIT;
    if (git_parse_merge(arena, text, &answer, &err) != 0)
        return;
    assert(git_is_id(answer.tree) && inside(answer.message, text));
    for (size_t i = 0; i < answer.file_count; i++)
        assert(answer.files[i].n > 0 && inside(answer.files[i], text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct str field, key, value, id;
    struct err err = ERR_INIT;
    char *copy = malloc(size); /* exact: the sanitizer sees a read past it */
    if (size == 0 || copy == NULL) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    struct str text = {copy, size}, rest = text;
    arena_init(&arena);
    check_changes(&arena, text);
    check_merge(&arena, text);
    size_t total = 0;
    while (git_next_field(&rest, &field)) {
        total += field.n;
        git_parse_setting(field, &key, &value);
        assert(inside(key, text));
    }
    assert(total <= size);
    if (git_parse_id(text, &id, &err) == 0)
        assert(inside(id, text));
    arena_release(&arena);
    free(copy);
    return 0;
}
