/* Modes and per-tool decisions: the table of CONTRACT.md, once. Order of permission: deny < ask
 * < allow. */
#ifndef CADRE_CORE_CONTRACT_PERMISSION_H
#define CADRE_CORE_CONTRACT_PERMISSION_H

#include "core/contract/tools.h"

enum permission { PERMIT_HIDDEN, PERMIT_DENY, PERMIT_ASK, PERMIT_ALLOW };

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
/* auto and dangerous: a child's `ask` is allow, and a parent's `ask` counts as allow towards its
 * children. */
bool mode_ask_is_allow(enum mode mode);
int permission_parse(struct str text, enum permission *permission, struct err *err);

/* What processes reach, in the order of how much: none; one socket of the operator's; what the machine does. */
enum network { NETWORK_NONE, NETWORK_RELAY, NETWORK_FULL, NETWORK_COUNT };
const char *network_text(enum network network);
/* False for any other word, which leaves *network alone. */
bool network_parse(struct str text, enum network *network);

/* Who asks: a root with a terminal may be asked; for everybody else `ask` is decided here: allow
 * in auto and dangerous for children, deny otherwise; a root without a terminal: deny. ask_user
 * is for a root with a terminal alone. */
enum asker { ASKER_ROOT_TERMINAL, ASKER_ROOT, ASKER_CHILD };
enum permission permission_effective(enum mode mode, const struct tool_info *info, struct str name,
                                     enum permission cell, enum asker asker);

#endif
