/* Ranks the names of one directory by edit distance. Runs on a pool thread. */
#include "tool/near.h"

#include <ctype.h>
#include <stdint.h>
#include <unistd.h>

#include "base/filename.h"
#include "tool/file.h"
#include "tool/listing.h"
#include "tool/result.h"

#define SHOWN 3

size_t near_distance(struct str a, struct str b)
{
    size_t row[NEAR_NAME + 1];
    if (a.n > NEAR_NAME || b.n > NEAR_NAME)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool equal = tolower((unsigned char)a.p[i - 1]) == tolower((unsigned char)b.p[j - 1]);
            size_t best = diagonal + !equal;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b.n];
}

/* The part before the last dot: `config.yaml` is near `config.yml`. */
static struct str stem(struct str name)
{
    size_t n = name.n;
    while (n > 1 && name.p[n - 1] != '.')
        n--;
    return (struct str){name.p, n > 1 ? n - 1 : name.n};
}

static size_t rank(struct str asked, struct str name)
{
    size_t distance = near_distance(asked, name);
    if (str_eq(stem(asked), stem(name)))
        return distance < 2 ? distance : 2;
    return distance <= 2 + asked.n / 4 && distance < asked.n ? distance : SIZE_MAX;
}

struct candidate {
    const struct listing_entry *entry;
    size_t rank;
};

static size_t choose(const struct listing *listing, struct str asked, struct candidate best[SHOWN])
{
    size_t count = 0;
    for (size_t i = 0; i < listing->count; i++) {
        struct candidate now = {&listing->entries[i],
                                rank(asked, str_from(listing->entries[i].name))};
        if (now.rank == SIZE_MAX)
            continue;
        size_t at = count < SHOWN ? count++ : SHOWN;
        while (at > 0 && best[at - 1].rank > now.rank) {
            if (at < SHOWN)
                best[at] = best[at - 1];
            at--;
        }
        if (at < SHOWN)
            best[at] = now;
    }
    return count;
}

int near_fail(const struct tool_context *context, struct str path, const struct err *err,
              struct tool_result *result)
{
    struct err ignored = ERR_INIT;
    struct scope_file directory;
    struct listing listing;
    struct candidate best[SHOWN];
    size_t start = path.n;
    while (start > 0 && path.p[start - 1] != '/')
        start--;
    struct str parent = start > 1 ? (struct str){path.p, start - 1} : STR(".");
    struct str asked = {path.p + start, path.n - start};

    if (scope_open_dir(context->scope, parent, file_read_allow(context), SCOPE_REFUSE_LINKS,
                       &directory, &ignored) != 0)
        return ignored.class == ERR_NOT_FOUND ? tool_fail(result, "%s; there is no directory %s",
                                                          err->message, filename_of(parent).text)
                                              : tool_fail_err(result, err);
    struct arena arena;
    arena_init(&arena);
    size_t count = 0;
    if (listing_read(&listing, &arena, directory.fd, &ignored) == 0)
        count = choose(&listing, asked, best);
    struct buf names;
    buf_init(&names, 4 * SCOPE_PATH_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_text(&names, i ? ", " : "");
        filename_show(&names,
                      arena_printf(&arena, "%.*s%s%s", (int)start, path.p, best[i].entry->name,
                                   best[i].entry->kind == LISTING_DIRECTORY ? "/" : ""));
    }
    if (count > 0 && names.n < 2048)
        tool_fail(result, "%s; did you mean: %.*s", err->message, STR_FMT(buf_view(&names)));
    else
        tool_fail(result, "%s; use ls to see what is there", err->message);
    buf_release(&names);
    arena_release(&arena);
    close(directory.fd);
    return -1;
}
