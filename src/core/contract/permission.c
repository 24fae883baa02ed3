/* The mode table and what `ask` means for whom. The table gives a cell; permission_effective
 * turns the cell into a decision for one agent. Does not know contracts or config overrides: its
 * callers pass the cell. Pure; any thread. */
#include "core/contract/permission.h"

#define HIDDEN PERMIT_HIDDEN
#define DENY PERMIT_DENY
#define ASK PERMIT_ASK
#define ALLOW PERMIT_ALLOW

/* clang-format off */
const enum permission mode_table[MODE_COUNT][GROUP_COUNT] = {
                     /* READ  WRITE  SHELL  COMMIT DELEGATE ASK   OTHER */
    [MODE_SAFE]      = {ALLOW, ASK,   ASK,   ASK,   ALLOW,  ALLOW, ASK},
    [MODE_AUTO]      = {ALLOW, ALLOW, ASK,   ASK,   ALLOW,  ALLOW, ASK},
    [MODE_DANGEROUS] = {ALLOW, ALLOW, ALLOW, ASK,   ALLOW,  ALLOW, ASK},
    [MODE_RESEARCH]  = {ALLOW, DENY,  ASK,   DENY,  HIDDEN, ALLOW, ASK},
    [MODE_PLAN]      = {ALLOW, DENY,  DENY,  DENY,  HIDDEN, ALLOW, DENY},
    [MODE_REVIEW]    = {ALLOW, DENY,  DENY,  DENY,  HIDDEN, ALLOW, DENY},
    [MODE_CI]        = {ALLOW, DENY,  DENY,  DENY,  HIDDEN, DENY,  DENY},
};
/* clang-format on */

static const char *const mode_texts[MODE_COUNT] = {
#define X(name, text) [MODE_##name] = text,
    MODES(X)
#undef X
};

static const char *const permission_texts[] = {
    [PERMIT_HIDDEN] = "hidden",
    [PERMIT_DENY] = "deny",
    [PERMIT_ASK] = "ask",
    [PERMIT_ALLOW] = "allow",
};

const char *mode_text(enum mode mode)
{
    return (unsigned)mode < MODE_COUNT ? mode_texts[mode] : "unknown";
}

int mode_parse(struct str text, enum mode *mode, struct err *err)
{
    if (str_is(text, "normal")) {
        *mode = MODE_SAFE;
        return 0;
    }
    for (int i = 0; i < MODE_COUNT; i++)
        if (str_is(text, mode_texts[i])) {
            *mode = (enum mode)i;
            return 0;
        }
#define X(name, text) " " text
    return err_set(err, ERR_USAGE, "unknown mode \"%.*s\"; the modes are" MODES(X),
                   (int)(text.n < 64 ? text.n : 64), text.p ? text.p : "");
#undef X
}

bool mode_within(enum mode narrow, enum mode wide)
{
    for (int group = 0; group < GROUP_COUNT; group++)
        if (mode_table[narrow][group] > mode_table[wide][group])
            return false;
    return true;
}

const char *permission_text(enum permission permission)
{
    return (unsigned)permission <= PERMIT_ALLOW ? permission_texts[permission] : "deny";
}

int permission_parse(struct str text, enum permission *permission, struct err *err)
{
    for (int i = PERMIT_HIDDEN; i <= PERMIT_ALLOW; i++)
        if (str_is(text, permission_texts[i])) {
            *permission = (enum permission)i;
            return 0;
        }
    return err_set(err, ERR_USAGE,
                   "unknown permission \"%.*s\"; expected allow, ask, deny or hidden",
                   (int)(text.n < 64 ? text.n : 64), text.p ? text.p : "");
}

static const char *const network_texts[NETWORK_COUNT] = {"none", "relay", "full"};

const char *network_text(enum network network)
{
    return (unsigned)network < NETWORK_COUNT ? network_texts[network] : "none";
}

bool network_parse(struct str text, enum network *network)
{
    for (int i = NETWORK_NONE; i < NETWORK_COUNT; i++)
        if (str_is(text, network_texts[i])) {
            *network = (enum network)i;
            return true;
        }
    return false;
}

bool mode_ask_is_allow(enum mode mode)
{
    return mode == MODE_AUTO || mode == MODE_DANGEROUS;
}

enum permission permission_effective(enum mode mode, const struct tool_info *info, struct str name,
                                     enum permission cell, enum asker asker)
{
    if (!info)
        info = tool_info_find(name);
    if (info && info->group == GROUP_ASK) {
        if (asker != ASKER_ROOT_TERMINAL)
            return PERMIT_DENY;
        /* Nobody is asked whether a question may be asked. */
        return cell == PERMIT_ASK ? PERMIT_ALLOW : cell;
    }
    if (cell != PERMIT_ASK || asker == ASKER_ROOT_TERMINAL)
        return cell;
    if (asker == ASKER_CHILD && mode_ask_is_allow(mode))
        return PERMIT_ALLOW;
    return PERMIT_DENY;
}
