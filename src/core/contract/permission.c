/* The mode table, and what `ask` and `ask_mode` mean for whom. A contract holds the value of each tool; permission_decide makes a
 * decision of it when the tool is called, from where the call runs and who is there. Does not know contracts or config
 * overrides: its callers pass the value. Pure; any thread. */
#include "core/contract/permission.h"

#define HIDDEN PERMIT_HIDDEN
#define DENY PERMIT_DENY
#define ASK PERMIT_ASK_MODE
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
    [PERMIT_HIDDEN] = "hidden",     [PERMIT_DENY] = "deny",   [PERMIT_ASK] = "ask",
    [PERMIT_ASK_MODE] = "ask_mode", [PERMIT_ALLOW] = "allow",
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

static const char *const asker_texts[] = {
    [ASKER_NOBODY] = "nobody",
    [ASKER_INBOX] = "inbox",
    [ASKER_TERMINAL] = "terminal",
};

const char *asker_text(enum asker asker)
{
    return (unsigned)asker <= ASKER_TERMINAL ? asker_texts[asker] : "nobody";
}

enum asker asker_parse(struct str text)
{
    for (int i = ASKER_NOBODY; i <= ASKER_TERMINAL; i++)
        if (str_is(text, asker_texts[i]))
            return (enum asker)i;
    return ASKER_NOBODY;
}

enum permission permission_offered(struct str tool, enum permission value, enum agent_kind kind,
                                   enum asker asker)
{
    const struct tool_info *info = tool_info_find(tool);
    if (info == NULL || info->group != GROUP_ASK || value <= PERMIT_DENY)
        return value;
    return kind == AGENT_ROOT && asker == ASKER_TERMINAL ? PERMIT_ALLOW : PERMIT_DENY;
}

/* --- asking -------------------------------------------------------------------------------------------------------- */

/* BOLD: auto and dangerous. CAREFUL: safe, and research where that mode asks. */
enum boldness { CAREFUL, BOLD, BOLDNESS_COUNT };

static enum boldness boldness_of(enum mode mode)
{
    return mode == MODE_AUTO || mode == MODE_DANGEROUS ? BOLD : CAREFUL;
}

/* PERMIT_ASK: asked where somebody answers, else refused. */
/* clang-format off */
static const enum permission ask_table[ROW_COUNT][AGENT_KIND_COUNT][BOLDNESS_COUNT] = {
                   /*  root: CAREFUL     BOLD              child: CAREFUL    BOLD */
    [ROW_NAMED]   = {{PERMIT_ASK, PERMIT_ASK},   {PERMIT_ASK, PERMIT_ASK}},
    [ROW_COMMAND] = {{PERMIT_ASK, PERMIT_ALLOW}, {PERMIT_ASK, PERMIT_ALLOW}},
    [ROW_CHANGE]  = {{PERMIT_ASK, PERMIT_ASK},   {PERMIT_ASK, PERMIT_ALLOW}},
    [ROW_OUTSIDE] = {{PERMIT_ASK, PERMIT_ASK},   {PERMIT_ASK, PERMIT_ASK}},
};
/* clang-format on */

enum ask_row permission_row(enum permission value, const struct call_facts *facts)
{
    if (value == PERMIT_ASK)
        return ROW_NAMED;
    if (facts->place != PLACE_TREE || facts->walls != WALLS_UP || facts->network != NETWORK_NONE)
        return ROW_OUTSIDE;
    if (facts->group == GROUP_SHELL)
        return ROW_COMMAND;
    return facts->group == GROUP_WRITE || facts->group == GROUP_COMMIT ? ROW_CHANGE : ROW_OUTSIDE;
}

enum permission permission_decide(enum permission value, const struct call_facts *facts)
{
    if (value == PERMIT_ALLOW)
        return PERMIT_ALLOW;
    if (value != PERMIT_ASK && value != PERMIT_ASK_MODE)
        return PERMIT_DENY;
    enum permission decided =
        ask_table[permission_row(value, facts)][facts->kind][boldness_of(facts->mode)];
    return decided == PERMIT_ASK && facts->asker == ASKER_NOBODY ? PERMIT_DENY : decided;
}

/* Whether mode auto would let the call be made as things are. */
static bool auto_allows(enum permission value, const struct call_facts *facts)
{
    struct call_facts bold = *facts;
    bold.mode = MODE_AUTO;
    enum permission cell = mode_table[MODE_AUTO][facts->group];
    if (value != PERMIT_ASK_MODE || !mode_within(facts->mode, MODE_AUTO))
        return false;
    return permission_decide(cell, &bold) == PERMIT_ALLOW;
}

void permission_refusal(struct str tool, enum permission value, const struct call_facts *facts,
                        struct buf *out)
{
    buf_printf(out,
               "tool \"%.*s\" would have to be asked for first, and nobody can be asked; mode %s. "
               "Whoever starts the run can allow it: %s\"permissions: {%.*s: allow}\" in the "
               "config, a terminal, or \"approvals: {via: inbox}\"",
               STR_FMT(tool), mode_text(facts->mode),
               auto_allows(value, facts) ? "--mode auto, " : "", STR_FMT(tool));
}
