/* Words and keeps notices about parameters that are not sent; see the header. Does not decide which
 * those are. */
#include "model/wishes.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "model/dialect.h"
#include "model/responses_extras.h"

#define NAME_BYTES 200 /* of a provider's or a model's name */

/* By their names in the settings. What cadre adds on its own is not told: nobody asked for it, and
 * an answer's schema is checked whether or not the server knows it. */
static const struct {
    uint32_t params;
    const char *name;
} table[] = {
    {SENDS_TEMPERATURE, "temperature"},
    {SENDS_TOP_P, "top_p"},
    {SENDS_SEED, "seed"},
    {SENDS_STOP, "stop"},
    {SENDS_EFFORT | SENDS_THINKING, "effort"},
};
enum { COUNT = sizeof table / sizeof table[0] };
_Static_assert(COUNT <= WISHES_MAX, "a notice for each row");

static char *must(char *text)
{
    if (!text)
        abort();
    return text;
}

void wishes_init(struct wishes *wishes, const struct model_request *request)
{
    struct buf of, clean;
    /* A URL may hold a password; its host does not. */
    struct str provider =
        request->provider.n > 0 ? request->provider : responses_host(request->base_url);
    *wishes = (struct wishes){.of = NULL};
    buf_init(&of, WISH_NOTICE_BYTES);
    buf_init(&clean, WISH_NOTICE_BYTES);
    buf_printf(&of, "provider %.*s, model %.*s", STR_FMT(utf8_cut(provider, NAME_BYTES)),
               STR_FMT(utf8_cut(request->model, NAME_BYTES)));
    utf8_clean(&clean, buf_view(&of), UTF8_ONE_LINE);
    wishes->of = must(strdup(clean.p));
    buf_release(&of);
    buf_release(&clean);
}

/* words: the server's; empty where it was not asked. */
static void keep(struct wishes *wishes, size_t row, struct str words)
{
    struct buf notice;
    buf_init(&notice, WISH_NOTICE_BYTES);
    buf_printf(&notice, "%s: requests go without %s, because ", wishes->of, table[row].name);
    if (words.n > 0)
        buf_printf(&notice, "the server refused it (%.*s); ", STR_FMT(words));
    else
        buf_text(&notice, "this model does not take it, as far as cadre knows; ");
    buf_text(&notice, "change or remove this setting");
    if (!notice.failed)
        wishes->notices[row] = must(strdup(notice.p));
    buf_release(&notice);
}

void wishes_refuse(struct wishes *wishes, uint32_t params, const struct model_server *server,
                   struct refusal refusal)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT; i++)
        if ((table[i].params & params) && !wishes->notices[i])
            keep(wishes, i, failure_words(server, refusal.root, refusal.body, &arena));
    arena_release(&arena);
}

void wishes_leave_out(struct wishes *wishes, uint32_t params)
{
    for (size_t i = 0; i < COUNT; i++)
        if ((table[i].params & params) && !wishes->notices[i])
            keep(wishes, i, STR_NONE);
}

struct str wishes_notice(const struct wishes *wishes, uint32_t params, struct arena *arena)
{
    struct buf lines;
    buf_init(&lines, (size_t)WISHES_MAX * (WISH_NOTICE_BYTES + 1));
    for (size_t i = 0; i < COUNT; i++) {
        if (!(table[i].params & params) || !wishes->notices[i])
            continue;
        if (lines.n > 0)
            buf_char(&lines, '\n');
        buf_text(&lines, wishes->notices[i]);
    }
    struct str notice = lines.n > 0 ? arena_copy(arena, buf_view(&lines)) : STR_NONE;
    buf_release(&lines);
    return notice;
}

void wishes_release(struct wishes *wishes)
{
    for (size_t i = 0; i < COUNT; i++)
        free(wishes->notices[i]);
    free(wishes->of);
    *wishes = (struct wishes){.of = NULL};
}
