/* Modes and per-tool decisions: the tables of CONTRACT.md, "Modes" and "Asking", once. Order of permission:
 * deny < ask < ask_mode < allow. `ask` was set by name; `ask_mode` comes from the mode's table. */
#ifndef CADRE_CORE_CONTRACT_PERMISSION_H
#define CADRE_CORE_CONTRACT_PERMISSION_H

#include "base/buf.h"
#include "core/contract/network.h"
#include "core/contract/tools.h"

enum permission { PERMIT_HIDDEN, PERMIT_DENY, PERMIT_ASK, PERMIT_ASK_MODE, PERMIT_ALLOW };

#define MODES(X)                                                                                   \
    X(SAFE, "safe")                                                                                \
    X(AUTO, "auto")                                                                                \
    X(DANGEROUS, "dangerous")                                                                      \
    X(RESEARCH, "research") X(PLAN, "plan") X(REVIEW, "review") X(CI, "ci")
enum mode {
#define X(name, text) MODE_##name,
    MODES(X)
#undef X
        MODE_COUNT
};

extern const enum permission mode_table[MODE_COUNT][GROUP_COUNT];

const char *mode_text(enum mode mode);
/* "normal" is safe; USAGE lists the modes. */
int mode_parse(struct str text, enum mode *mode, struct err *err);
const char *permission_text(enum permission permission);
/* narrow allows no tool more than wide does, cell by cell of the table. */
bool mode_within(enum mode narrow, enum mode wide);
int permission_parse(struct str text, enum permission *permission, struct err *err);

/* Who answers the questions of a run. INBOX: nobody sits there, and a question waits for `cadre approve`. */
enum asker { ASKER_NOBODY, ASKER_INBOX, ASKER_TERMINAL };
const char *asker_text(enum asker asker);
enum asker asker_parse(struct str text); /* what is not known is nobody */

/* Whether an agent has the tool at all. ask_user is for a root on a terminal alone, and nobody is asked whether a question may be
 * asked; every other value stays as it is. */
enum agent_kind { AGENT_ROOT, AGENT_CHILD, AGENT_KIND_COUNT };
enum permission permission_offered(struct str tool, enum permission value, enum agent_kind kind,
                                   enum asker asker);

/* What decides about a call whose value is `ask` or `ask_mode`. */
struct call_facts {
    enum agent_kind kind;
    enum mode mode;
    enum tool_group group;
    /* TREE: files of cadre's own, the agent's or an agent's above it. */
    enum call_place { PLACE_USERS_FILES, PLACE_TREE, PLACE_COUNT } place;
    enum call_walls { WALLS_DOWN, WALLS_UP, WALLS_STATES } walls; /* UP: every wall is */
    enum network network;                                         /* of the agent's processes */
    enum asker asker;
};

/* The rows of CONTRACT.md, "Asking". */
enum ask_row {
    ROW_NAMED,   /* `ask`, set by name */
    ROW_COMMAND, /* `ask_mode`: a command in a tree of cadre's, behind all walls, without network */
    ROW_CHANGE,  /* `ask_mode`: a change inside such a tree */
    ROW_OUTSIDE, /* `ask_mode`: in the user's files, or leaving the walls */
    ROW_COUNT
};
enum ask_row permission_row(enum permission value, const struct call_facts *facts);
/* What the call meets: PERMIT_ALLOW, PERMIT_ASK (it is put to the asker) or PERMIT_DENY. */
enum permission permission_decide(enum permission value, const struct call_facts *facts);
/* Appends why the call is refused that a person would have to allow, and what would allow it. */
void permission_refusal(struct str tool, enum permission value, const struct call_facts *facts,
                        struct buf *out);

#endif
