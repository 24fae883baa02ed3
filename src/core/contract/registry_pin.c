/* Pins: which profile is the default where. A pin's scope and owner stand in its record's id, the profile in its value.
 * Also says which records may be written at all. Pure; any thread. */
#include <stddef.h>

#include "base/utf8.h"
#include "core/contract/registry_fields.h"

#define PIN_OWNER_MAX 128 /* bytes of a session's, user's or workspace's id */
#define PIN_PREFIX "profile-pin:"

static const char *const scope_texts[PIN_SCOPE_COUNT] = {
    [PIN_SESSION] = "session",
    [PIN_USER] = "user",
    [PIN_WORKSPACE] = "workspace",
    [PIN_GLOBAL] = "global",
};

const char *pin_scope_text(enum pin_scope scope)
{
    return scope < PIN_SCOPE_COUNT ? scope_texts[scope] : "none";
}

int pin_scope_parse(struct str text, enum pin_scope *scope, struct err *err)
{
    for (size_t i = 0; i < PIN_SCOPE_COUNT; i++) {
        if (str_is(text, scope_texts[i])) {
            *scope = (enum pin_scope)i;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE,
                   "unknown scope \"%.*s\"; it is session, user, workspace or global",
                   STR_FMT(utf8_cut(text, 64)));
}

static bool owner_valid(struct str id)
{
    return id.n > 0 && id.n <= PIN_OWNER_MAX && text_is_line(id);
}

int pin_record_id(struct arena *arena, enum pin_scope scope, struct str id, struct str *record_id,
                  struct err *err)
{
    if (scope == PIN_GLOBAL) {
        *record_id = STR(PIN_PREFIX "global");
        return 0;
    }
    if (!owner_valid(id))
        return err_set(err, ERR_USAGE,
                       "no pin for this %s: its id must be one line of 1 to %d bytes",
                       pin_scope_text(scope), PIN_OWNER_MAX);
    *record_id = arena_printf(arena, PIN_PREFIX "%s:%.*s", scope_texts[scope], STR_FMT(id));
    return 0;
}

enum pin_scope pin_scope_of(struct str id)
{
    if (!str_starts(id, STR(PIN_PREFIX)))
        return PIN_SCOPE_COUNT;
    struct str rest = {id.p + strlen(PIN_PREFIX), id.n - strlen(PIN_PREFIX)};
    for (size_t i = 0; i < PIN_GLOBAL; i++) {
        size_t n = strlen(scope_texts[i]);
        if (str_starts(rest, str_from(scope_texts[i])) && rest.n > n && rest.p[n] == ':' &&
            owner_valid((struct str){rest.p + n + 1, rest.n - n - 1}))
            return (enum pin_scope)i;
    }
    return str_is(rest, scope_texts[PIN_GLOBAL]) ? PIN_GLOBAL : PIN_SCOPE_COUNT;
}

int record_writable(struct str type, struct str id, struct err *err)
{
    if (str_eq(type, RECORD_PROFILE) && profile_id_valid(id))
        return 0;
    if (str_eq(type, RECORD_POLICY) &&
        (str_eq(id, REGISTRY_ID) || pin_scope_of(id) != PIN_SCOPE_COUNT))
        return 0;
    return err_set(err, ERR_USAGE,
                   "record %.*s %.*s cannot be written here: only profiles, %.*s and " PIN_PREFIX
                   "* can",
                   STR_FMT(utf8_cut(type, 64)), STR_FMT(utf8_cut(id, 200)), STR_FMT(REGISTRY_ID));
}

/* --- a pin's document --------------------------------------------------------------------------------------- */

static const struct record_field pin_fields[] = {
    {"profileId", RECORD_LINE, RECORD_REQUIRED, offsetof(struct pin, profile_id), 0, PROFILE_ID_MAX,
     0, profile_id_valid, PROFILE_PATTERN},
    {0},
};

int pin_parse(struct arena *arena, const struct js *value, const struct list *profiles,
              struct str *profile_id, struct problems *problems)
{
    size_t before = problems->found;
    struct pin pin;
    record_fields_read(pin_fields, arena, value, "", &pin, problems);
    if (problems->found == before && profiles && !list_has(profiles, pin.profile_id))
        problems_add(problems, "profileId", "there is no profile %.*s", STR_FMT(pin.profile_id));
    if (problems->found > before)
        return -1;
    *profile_id = pin.profile_id;
    return 0;
}

void pin_print(struct str profile_id, struct jw *w)
{
    struct pin pin = {.profile_id = profile_id};
    record_fields_print(pin_fields, w, &pin);
}

enum pin_scope pins_effective(const struct pin pins[PIN_SCOPE_COUNT])
{
    size_t scope = 0;
    while (scope < PIN_SCOPE_COUNT && !pins[scope].profile_id.p)
        scope++;
    return (enum pin_scope)scope;
}

int pins_resolve(const struct pin pins[PIN_SCOPE_COUNT], const struct agent_profile *profiles,
                 size_t count, const struct agent_profile **profile, struct err *err)
{
    enum pin_scope scope = pins_effective(pins);
    *profile = NULL;
    if (scope == PIN_SCOPE_COUNT)
        return 0;
    *profile = agent_profile_find(profiles, count, pins[scope].profile_id);
    if (*profile)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "%.*s pins %.*s, which is not there any more: pin another profile, or unpin",
                   STR_FMT(pins[scope].record_id), STR_FMT(pins[scope].profile_id));
}
