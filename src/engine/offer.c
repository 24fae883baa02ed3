/* See offer.h. */
#include "engine/offer.h"

#include "core/run/doors.h"

#define TOOLS_BYTES_MAX (64u << 20) /* as a whole request may have */

static bool same_list(const struct list *a, const struct list *b)
{
    if (a->state != b->state || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!str_eq(a->items[i], b->items[i]))
            return false;
    }
    return true;
}

static struct str door_schema(struct arena *arena, const struct door_tool *door,
                              const struct settings *settings, const struct contract *contract)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    door_schema_print(door, settings, contract, &out);
    struct str schema = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return schema;
}

static void offer_fill(struct offer *offer, const struct tool_port *port,
                       const struct settings *settings, const struct contract *contract)
{
    const struct list *allowed = &offer->allowed;
    offer->tools = arena_alloc(&offer->arena, (allowed->n + 1) * sizeof *offer->tools);
    offer->tool_count = 0;
    for (size_t i = 0; i < allowed->n; i++) {
        struct str name = allowed->items[i];
        const struct tool *tool = port->find(name);
        const struct door_tool *door = door_tool_find(name);
        if (tool != NULL)
            offer->tools[offer->tool_count++] =
                (struct model_tool){name, str_from(tool->description), str_from(tool->schema)};
        else if (door != NULL)
            offer->tools[offer->tool_count++] =
                (struct model_tool){name, str_from(door->description),
                                    door_schema(&offer->arena, door, settings, contract)};
    }
}

static void offer_release(struct offer *offer)
{
    if (offer->memo != NULL)
        buf_release(&offer->memo->text);
    offer->memo = NULL;
    arena_release(&offer->arena);
}

const struct offer *offer_of(struct offers *offers, const struct tool_port *port,
                             const struct settings *settings, const struct contract *contract)
{
    const struct list *allowed = &contract->permissions.allowed_tools;
    const struct list *roles = &contract->permissions.spawn_roles;
    for (size_t i = 0; i < offers->count; i++) {
        if (same_list(&offers->items[i].allowed, allowed) &&
            same_list(&offers->items[i].roles, roles))
            return &offers->items[i];
    }
    struct offer *offer = &offers->items[offers->next];
    offers->next = (offers->next + 1) % OFFERS_MAX;
    if (offers->count < OFFERS_MAX)
        offers->count++;
    offer_release(offer);
    offer->memo = arena_alloc(&offer->arena, sizeof *offer->memo);
    buf_init(&offer->memo->text, TOOLS_BYTES_MAX);
    offer->allowed = list_copy(&offer->arena, allowed);
    offer->roles = list_copy(&offer->arena, roles);
    offer_fill(offer, port, settings, contract);
    return offer;
}

void offers_release(struct offers *offers)
{
    for (size_t i = 0; i < offers->count; i++)
        offer_release(&offers->items[i]);
    offers->count = offers->next = 0;
}
