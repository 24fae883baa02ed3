/* See contacts.h. */
#include "tool/contacts.h"

#include "base/json.h"
#include "tool/result.h"

#define SHOWN_MAX 8     /* hosts in the text; the record has all of them */
#define LINE_BYTES 2048 /* bytes of the line */

static struct str record_of(struct arena *arena, const struct sandbox_contact *contact)
{
    static const char *const verdicts[] = {
        [CONTACT_REACHED] = "reached", [CONTACT_REFUSED] = "refused", [CONTACT_FAILED] = "failed"};
    struct buf out;
    struct jw w;
    buf_init(&out, 4096);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kstr(&w, "host", str_from(contact->host));
    jw_kint(&w, "port", contact->port);
    jw_kstr(&w, "verdict", str_from(verdicts[contact->verdict]));
    if (contact->why[0] != '\0')
        jw_kstr(&w, "why", str_from(contact->why));
    jw_kint(&w, "connections", (int64_t)contact->count);
    jw_kint(&w, "sent", (int64_t)contact->sent);
    jw_kint(&w, "received", (int64_t)contact->received);
    jw_end_object(&w);
    struct str text = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return text;
}

static void add_words(struct buf *line, const struct sandbox_contact *contact)
{
    buf_text(line, line->n > 0 ? "; " : "[network: ");
    buf_text(line, contact->verdict == CONTACT_REFUSED ? "refused " : "failed ");
    if (contact->host[0] != '\0')
        buf_printf(line, "%s:%u (%s)", contact->host, contact->port, contact->why);
    else
        buf_printf(line, "a request (%s)", contact->why);
    if (contact->count > 1)
        buf_printf(line, " %llu times", (unsigned long long)contact->count);
}

void contacts_tell(const struct tool_context *context, const struct sandbox_contacts *contacts,
                   struct tool_result *result)
{
    struct buf line;
    size_t shown = 0, hidden = contacts->more;
    buf_init(&line, LINE_BYTES);
    for (size_t i = 0; i < contacts->count; i++) {
        const struct sandbox_contact *contact = &contacts->items[i];
        tool_add_contact(context, result, record_of(context->arena, contact));
        if (contact->verdict == CONTACT_REACHED)
            continue;
        if (shown++ < SHOWN_MAX)
            add_words(&line, contact);
        else
            hidden += contact->count;
    }
    if (contacts->more > 0)
        tool_add_contact(context, result,
                         arena_printf(context->arena,
                                      "{\"verdict\":\"not listed\",\"connections\":%llu}",
                                      (unsigned long long)contacts->more));
    if (line.n > 0 && hidden > 0)
        buf_printf(&line, "; and %zu more", hidden);
    if (line.n > 0)
        buf_text(&line, "]\n");
    if (!line.failed && line.n < tool_room(result))
        buf_str(&result->text, buf_view(&line));
    else if (line.n > 0)
        buf_text(&result->text, "[network: connections were refused]\n");
    buf_release(&line);
}
