/* Cuts git's NUL-terminated answers into fields: see parse.h. Any thread. */
#include "git/parse.h"

#include <stdlib.h>

#define CHANGES_MAX 1000000
#define MODE_DIGITS 6

bool git_next_field(struct str *rest, struct str *field)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, '\0', rest->n);
    size_t n = end != NULL ? (size_t)(end - rest->p) : rest->n;
    size_t taken = end != NULL ? n + 1 : n;
    *field = (struct str){rest->p, n};
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return true;
}

bool git_is_id(struct str text)
{
    if (text.n != 40 && text.n != 64)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (strchr("0123456789abcdef", text.p[i]) == NULL || text.p[i] == '\0')
            return false;
    return true;
}

int git_parse_id(struct str output, struct str *id, struct err *err)
{
    while (output.n > 0 && (output.p[output.n - 1] == '\n' || output.p[output.n - 1] == '\0'))
        output.n--;
    *id = output;
    return git_is_id(output) ? 0 : err_set(err, ERR_CORRUPT, "git named no object");
}

/* --- changes ------------------------------------------------------------------------------------------------------------ */

/* Takes a word up to a space, or what is left. */
static struct str take_word(struct str *text)
{
    const char *space = memchr(text->p, ' ', text->n);
    size_t n = space != NULL ? (size_t)(space - text->p) : text->n;
    struct str word = {text->p, n};
    size_t taken = space != NULL ? n + 1 : n;
    *text = (struct str){text->p + taken, text->n - taken};
    return word;
}

static bool read_mode(struct str word, uint32_t *mode)
{
    *mode = 0;
    if (word.n != MODE_DIGITS)
        return false;
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] < '0' || word.p[i] > '7')
            return false;
        *mode = *mode * 8 + (uint32_t)(word.p[i] - '0');
    }
    return true;
}

static bool read_change(struct str head, struct git_change *change)
{
    if (head.n == 0 || head.p[0] != ':')
        return false;
    head.p++;
    head.n--;
    bool good = read_mode(take_word(&head), &change->old_mode);
    good = good && read_mode(take_word(&head), &change->new_mode);
    change->old_id = take_word(&head);
    change->new_id = take_word(&head);
    struct str status = take_word(&head);
    change->status = status.n == 1 ? status.p[0] : '\0';
    return good && git_is_id(change->old_id) && git_is_id(change->new_id) && status.n == 1 &&
           change->status != '\0' && strchr("ADMTU", change->status) != NULL;
}

int git_parse_changes(struct arena *arena, struct str output, struct git_changes *changes,
                      struct err *err)
{
    struct str head, path, rest = output;
    size_t count = 0;
    *changes = (struct git_changes){NULL, 0};
    while (git_next_field(&rest, &head))
        count++;
    if (count % 2 != 0 || count / 2 > CHANGES_MAX)
        return err_set(err, ERR_CORRUPT, "git's list of changes does not parse");
    if (count > 0)
        changes->items = arena_alloc(arena, count / 2 * sizeof *changes->items);
    rest = output;
    while (git_next_field(&rest, &head) && git_next_field(&rest, &path)) {
        struct git_change *change = &changes->items[changes->count++];
        change->path = path;
        if (!read_change(head, change) || path.n == 0)
            return err_set(err, ERR_CORRUPT, "git's list of changes does not parse");
    }
    return 0;
}

/* --- merges ------------------------------------------------------------------------------------------------------------- */

static bool is_listed(const struct git_merge_answer *answer, struct str path)
{
    /* git names a file once for each of its stages, one behind the other. */
    return answer->file_count > 0 && str_eq(answer->files[answer->file_count - 1], path);
}

/* A count in decimal. */
static int read_count(struct str field, size_t *count, struct err *err)
{
    *count = 0;
    for (size_t i = 0; i < field.n; i++) {
        if (field.p[i] < '0' || field.p[i] > '9' || *count > CHANGES_MAX)
            return err_set(err, ERR_CORRUPT, "git's account of a merge does not parse");
        *count = *count * 10 + (size_t)(field.p[i] - '0');
    }
    return 0;
}

/* One message: a count of paths, the paths, a type, a text. */
static int read_message(struct str *rest, struct str field, struct str *type,
                        struct git_merge_note *note, struct err *err)
{
    size_t paths;
    if (read_count(field, &paths, err) != 0)
        return -1;
    *note = (struct git_merge_note){.path = STR_NONE};
    for (size_t i = 0; i < paths; i++) {
        if (!git_next_field(rest, &field))
            return err_set(err, ERR_CORRUPT, "git's account of a merge does not parse");
        if (i == 0)
            note->path = field;
    }
    if (!git_next_field(rest, type) || !git_next_field(rest, &note->text))
        return err_set(err, ERR_CORRUPT, "git's account of a merge does not parse");
    while (note->text.n > 0 && note->text.p[note->text.n - 1] == '\n')
        note->text.n--;
    return 0;
}

/* Those that tell of a conflict are kept. */
static int read_messages(struct arena *arena, struct str rest, struct git_merge_answer *answer,
                         struct err *err)
{
    struct str field, type = STR(""), counted = rest;
    struct git_merge_note note = {.path = STR("")};
    size_t count = 0;
    while (git_next_field(&counted, &field)) {
        if (read_message(&counted, field, &type, &note, err) != 0)
            return -1;
        count += str_starts(type, STR("CONFLICT"));
    }
    if (count > 0)
        answer->notes = arena_alloc(arena, count * sizeof *answer->notes);
    while (git_next_field(&rest, &field) && read_message(&rest, field, &type, &note, err) == 0)
        if (str_starts(type, STR("CONFLICT")))
            answer->notes[answer->note_count++] = note;
    if (count > 0)
        answer->message = answer->notes[0].text;
    return 0;
}

int git_parse_merge(struct arena *arena, struct str output, struct git_merge_answer *answer,
                    struct err *err)
{
    struct str rest = output, field;
    size_t count = 0;
    *answer = (struct git_merge_answer){.message = STR_NONE};
    if (!git_next_field(&rest, &answer->tree) || !git_is_id(answer->tree))
        return err_set(err, ERR_CORRUPT, "git's account of a merge does not parse");
    struct str files = rest;
    while (git_next_field(&rest, &field) && field.n > 0)
        count++;
    if (count > CHANGES_MAX)
        return err_set(err, ERR_CORRUPT, "too many files are in conflict");
    if (count > 0)
        answer->files = arena_alloc(arena, count * sizeof *answer->files);
    for (size_t i = 0; i < count; i++)
        if (git_next_field(&files, &field) && !is_listed(answer, field))
            answer->files[answer->file_count++] = field;
    answer->clean = answer->file_count == 0;
    return read_messages(arena, rest, answer, err);
}

void git_parse_setting(struct str field, struct str *key, struct str *value)
{
    const char *newline = memchr(field.p, '\n', field.n);
    *key = (struct str){field.p, newline != NULL ? (size_t)(newline - field.p) : field.n};
    *value = newline != NULL ? (struct str){newline + 1, field.n - key->n - 1} : STR("true");
}
