/* Whether a project's value widens: by the key's column in the table (key.h) and by what holds without the project's file. Only
 * notes it; config.c asks for trust. Pure; any thread. */
#include "config/widen.h"

#include "core/contract/settings.h"

enum { SHOWN_BYTES = 16384 };

static struct str taken(struct config_entries *entries, struct buf *text)
{
    struct str out = arena_copy(entries->arena, buf_view(text));
    buf_release(text);
    return out.p != NULL ? out : STR("");
}

static struct str value_text(struct config_entries *entries, const struct config_entry *entry)
{
    struct buf text;
    if (entry->key->type == TYPE_OBJECT)
        return STR("set");
    buf_init(&text, SHOWN_BYTES);
    config_value_print(entry->key, &entry->value, &text);
    return taken(entries, &text);
}

/* Values that stand for a limit of their own: null or 0 there is not "no limit". `least`: what that limit comes to at least, whatever
 * the machine or the model. */
static const struct built_in {
    enum config_key_id key;
    int64_t value, least;
} built_ins[] = {
    {KEY_CHILD_CONTEXT, UNLIMITED, 0},
    {KEY_SANDBOX_MEMORY, UNLIMITED, 2048},
    {KEY_IDLE_TIMEOUT, 0, CHILD_TIMEOUT_MS},
};

static const struct built_in *built_in_find(const struct config_key *key, int64_t value)
{
    for (size_t i = 0; i < sizeof built_ins / sizeof built_ins[0]; i++)
        if (built_ins[i].key == key->id && built_ins[i].value == value)
            return &built_ins[i];
    return NULL;
}

/* What holds without the project's file: "3 (built-in)". */
static struct str limit_text(struct config_entries *entries, const struct config_key *key,
                             const struct config_value *limit, const struct config_entry *old)
{
    struct buf text;
    if (!old && key->type == TYPE_PERMISSION)
        return STR("what the mode says");
    if (!old && key->fallback[0] == '\0')
        return STR("not set");
    buf_init(&text, SHOWN_BYTES);
    if (key->type == TYPE_OBJECT)
        buf_text(&text, "set");
    else if (built_in_find(key, limit->number))
        buf_text(&text, "a limit of its own");
    else
        config_value_print(key, limit, &text);
    buf_text(&text, " (");
    config_place_print(old ? &old->place : &(struct config_place){0}, &text);
    buf_char(&text, ')');
    return taken(entries, &text);
}

static struct str key_text(struct config_entries *entries, const struct config_entry *entry)
{
    struct buf text;
    buf_init(&text, SHOWN_BYTES);
    config_key_print(entry->key->path, entry->name, entry->index, &text);
    return taken(entries, &text);
}

static void add(struct config_entries *entries, const struct config_widening *widening)
{
    if (entries->widening_count == entries->widening_capacity) {
        size_t capacity = entries->widening_capacity ? entries->widening_capacity * 2 : 16;
        struct config_widening *items = arena_alloc(entries->arena, capacity * sizeof *items);
        if (entries->widening_count > 0)
            memcpy(items, entries->widenings, entries->widening_count * sizeof *items);
        entries->widenings = items;
        entries->widening_capacity = capacity;
    }
    entries->widenings[entries->widening_count++] = *widening;
}

static bool within(const struct config_entry *entry, const struct config_value *limit)
{
    const struct config_key *key = entry->key;
    const struct built_in *built_in = built_in_find(key, limit->number);
    if (key->project == PROJECT_RAISES)
        return entry->value.number >= limit->number;
    if (built_in)
        return entry->value.number == limit->number || entry->value.number <= built_in->least;
    return config_value_within(key, &entry->value, limit);
}

/* The effective value without the project's file: the user's, else what is built in. */
static struct config_value limit_of(const struct config_entries *before,
                                    const struct config_key *key, const struct config_entry *old)
{
    struct config_value limit = old ? old->value : config_value_default(key);
    int64_t whole = config_entries_value(before, KEY_MAX_WALL).number;
    /* No limit of its own, since a mode may be chosen later: so `deny`, or less than the user's own word. */
    if (!old && key->type == TYPE_PERMISSION)
        limit.number = PERMIT_DENY;
    /* A child whose limit nobody set has max_wall_ms, which a limit that is set replaces. */
    if (!old && key->id == KEY_CHILD_WALL && whole < limit.number)
        limit.number = whole;
    return limit;
}

void config_widening_note(struct config_entries *entries, const struct config_entries *before,
                          const struct config_entry *entry)
{
    const struct config_key *key = entry->key;
    const struct config_entry *old =
        config_entries_find(before, key->id, entry->name, entry->index);
    struct config_value limit = limit_of(before, key, old);
    struct config_widening widening = {.reason = STR(""), .place = entry->key_place};
    switch (key->project) {
    case PROJECT_NARROWS:
    case PROJECT_RAISES:
        if (within(entry, &limit))
            return;
        widening.place = entry->place;
        widening.reason = key->type == TYPE_PERMISSION && !old
                              ? STR(" to anything but deny")
                              : arena_printf(entries->arena, " wider than %.*s",
                                             STR_FMT(limit_text(entries, key, &limit, old)));
        break;
    case PROJECT_ADDS: /* a name of its own; the user's names are the user's */
        if (!old && !config_entries_find(before, KEY_PROFILE, entry->name, 0))
            return;
        widening.reason = STR(", which your own file has");
        break;
    default:
        break;
    }
    widening.key = key_text(entries, entry);
    widening.from = limit_text(entries, key, &limit, old);
    widening.to = value_text(entries, entry);
    add(entries, &widening);
}
