/* See offer.h. */
#include "engine/offer.h"

#include "core/run/doors.h"

#define TOOLS_FILTERED 256          /* longer lists are offered whole */
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

static bool tool_is_useful(const struct offer *offer, const struct tool *tool,
                           const struct tool_services *services)
{
    if (strcmp(tool->name, "skill") == 0 && offer->skills == OFFER_NO_SKILLS)
        return false;
    return tool->is_ready == NULL || tool->is_ready(services);
}

static void offer_fill(struct offer *offer, const struct engine_config *config,
                       const struct settings *settings, const struct contract *contract)
{
    const struct list *allowed = &offer->allowed;
    offer->tools = arena_alloc(&offer->arena, (allowed->n + 1) * sizeof *offer->tools);
    offer->tool_count = 0;
    for (size_t i = 0; i < allowed->n; i++) {
        struct str name = allowed->items[i];
        const struct tool *tool = config->tools->find(name);
        const struct door_tool *door = door_tool_find(name);
        if (tool != NULL && !tool_is_useful(offer, tool, config->services))
            continue;
        if (door != NULL && !door_is_useful(door, settings, contract))
            continue;
        if (tool != NULL)
            offer->tools[offer->tool_count++] =
                (struct model_tool){name, str_from(tool->description), str_from(tool->schema)};
        else if (door != NULL)
            offer->tools[offer->tool_count++] =
                (struct model_tool){name, str_from(door->description),
                                    door_schema(&offer->arena, door, settings, contract)};
    }
}

/* Around name, description and schema, in the API that takes the most. */
#define TOOL_FRAME                                                                                 \
    (sizeof "{\"type\":\"function\",\"function\":{\"name\":\"\",\"description\":\"\","             \
            "\"parameters\":}}," -                                                                 \
     1)

void offer_sizes(struct arena *arena, const struct tool_port *tools,
                 const struct tool_services *services, struct settings *settings)
{
    const struct list *names = &settings->available_tools;
    /* An agent that may start children with any role: the most that a door says. */
    const struct contract anybody = {.permissions.can_spawn_children = SPAWN_MAY};
    struct list skills = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < settings->skill_count; i++)
        list_add(arena, &skills, settings->skills[i].name);
    struct contract contract = anybody;
    contract.permissions.allowed_tools = *names;
    contract.permissions.skills = skills;
    struct offers offers = {.count = 0};
    const struct engine_config config = {.tools = tools, .services = services};
    const struct offer *offer = offer_of(&offers, &config, settings, &contract);
    settings->tool_sizes = arena_alloc(arena, (names->n + 1) * sizeof *settings->tool_sizes);
    settings->tool_size_count = names->n;
    for (size_t i = 0; i < names->n; i++)
        settings->tool_sizes[i] = (struct tool_size){names->items[i], 0};
    for (size_t k = 0; k < offer->tool_count; k++) {
        const struct model_tool *tool = &offer->tools[k];
        for (size_t i = 0; i < names->n; i++)
            if (str_eq(names->items[i], tool->name))
                settings->tool_sizes[i].bytes =
                    (int64_t)(TOOL_FRAME + tool->name.n + tool->description.n + tool->schema.n);
    }
    offers_release(&offers);
}

static void offer_release(struct offer *offer)
{
    if (offer->memo != NULL)
        buf_release(&offer->memo->text);
    offer->memo = NULL;
    arena_release(&offer->arena);
}

/* A tool that somebody would have to be asked for while nobody is there would only be refused, and its schema costs every request.
 * In auto and dangerous much of that is allowed, depending on where a call runs. */
static bool is_refused(const struct engine_config *config, const struct contract *contract,
                       struct str tool)
{
    struct err ignored = ERR_INIT;
    enum permission value = contract_permits(contract, tool, &ignored);
    bool bold =
        contract->permissions.mode == MODE_AUTO || contract->permissions.mode == MODE_DANGEROUS;
    return config->watch.asker == ASKER_NOBODY &&
           (value == PERMIT_ASK || (value == PERMIT_ASK_MODE && !bold));
}

static struct list offered_of(const struct engine_config *config, const struct settings *settings,
                              const struct contract *contract, struct str *items, size_t most)
{
    const struct list *allowed = &contract->permissions.allowed_tools;
    struct list offered = {allowed->state, items, 0};
    if (allowed->n > most)
        return *allowed;
    bool has_special = contract_shows_special_tools(contract, settings);
    for (size_t i = 0; i < allowed->n; i++) {
        struct str tool = allowed->items[i];
        if (!is_refused(config, contract, tool) && (has_special || !tool_is_special(tool)))
            items[offered.n++] = tool;
    }
    return offered;
}

const struct offer *offer_of(struct offers *offers, const struct engine_config *config,
                             const struct settings *settings, const struct contract *contract)
{
    struct str items[TOOLS_FILTERED];
    const struct list offered = offered_of(config, settings, contract, items, TOOLS_FILTERED);
    const struct list *allowed = &offered;
    const struct list *roles = &contract->permissions.spawn_roles;
    const struct list *skills = &contract->permissions.skills;
    enum offer_skills has_skills =
        skills->state == LIST_ABSENT || skills->n > 0 ? OFFER_SKILLS : OFFER_NO_SKILLS;
    for (size_t i = 0; i < offers->count; i++) {
        if (same_list(&offers->items[i].allowed, allowed) &&
            same_list(&offers->items[i].roles, roles) && offers->items[i].skills == has_skills)
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
    offer->skills = has_skills;
    offer_fill(offer, config, settings, contract);
    return offer;
}

void offers_release(struct offers *offers)
{
    for (size_t i = 0; i < offers->count; i++)
        offer_release(&offers->items[i]);
    offers->count = offers->next = 0;
}
