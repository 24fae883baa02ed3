/* Who would be asked by a run that is started here and now, and what its calls would meet: the same facts that a run logs, for
 * commands that say beforehand what a run will do. Any thread. */
#ifndef CADRE_CLI_ASKED_H
#define CADRE_CLI_ASKED_H

#include "cli/output.h"
#include "cli/wire.h"
#include "core/contract/contract.h"

/* Who answers the questions of a run that is started here. */
enum asker asked_by(const struct output *output, const struct config *config);

/* A run that would be started here. The root's contract and all texts live in the arena. */
struct asked {
    const struct settings *settings;
    enum asker asker;
    enum call_walls walls;
    enum call_place place; /* of the root */
    struct contract root;
};

/* settings: of the wire's config, or a copy of them. Looks whether the workspace lies in a repository; blocks for that long. */
int asked_open(struct asked *asked, const struct settings *settings, struct arena *arena,
               const struct output *output, struct wire *wire, struct err *err) NODISCARD;
/* A child that may do all that the root may, in a tree of its own where children have one. */
struct contract asked_child(const struct asked *asked);
/* What decides about a call of an agent with this contract, the root's or a child's. */
struct call_facts asked_facts(const struct asked *asked, const struct contract *contract,
                              struct str tool);
/* "allowed", "asked" or "refused": what the call meets. */
const char *asked_word(const struct asked *asked, const struct contract *contract, struct str tool);

/* Appends what the root's calls, and those of such a child, meet: lines for people, or an object. */
void asked_text(const struct asked *asked, struct buf *out);
void asked_json(const struct asked *asked, struct jw *w);

#endif
