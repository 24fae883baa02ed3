/* A planner's answer while it is read. Internal to core/plan; answer.h has the function for everybody else. */
#ifndef CADRE_CORE_PLAN_ANSWER_INSIDE_H
#define CADRE_CORE_PLAN_ANSWER_INSIDE_H

#include "base/utf8.h"
#include "core/plan/plan.h"

/* A step whose id and prerequisites are not settled. */
struct draft {
    struct plan_step step;
    size_t place; /* in the answer, where some may have been left out */
    struct str given_id;
    struct list depends; /* as the answer names them */
};

struct reading_answer {
    struct arena *arena;
    struct problems *warnings;
    const struct js *steps, *around; /* around: the plan that they stand in; NULL: none */
    const struct js *single;         /* the only step; steps is NULL then */
    struct draft *drafts;
    size_t count, seen;
    size_t globs; /* of all steps so far */
};

/* Values as far as they can be used. Texts are cleaned (base/utf8.h), without blanks around, cut to `most` bytes or characters;
 * empty where there is nothing. */
struct str answer_clean(struct arena *arena, struct str text, enum utf8_lines lines, size_t bytes);
/* A string, a number, or strings of a list, each on a line of its own. */
struct str answer_text(struct arena *arena, const struct js *value, size_t bytes);
struct str answer_line(struct arena *arena, const struct js *value, size_t characters);
struct str answer_first_line(struct arena *arena, struct str text, size_t characters);
/* Always set. Lines: a list, or one text. Words: a list, or one text with commas between. Longer ones are cut, further ones left
 * out. */
struct list answer_lines(struct arena *arena, const struct js *value, size_t items,
                         size_t characters);
struct list answer_words(struct arena *arena, const struct js *value, size_t items,
                         size_t characters);
/* Brought within the bounds; UNLIMITED where there is no number, or one that cannot be a count (2.5). */
int64_t answer_number(const struct js *value, int64_t least, int64_t most);
/* A number, or a text that starts with one, that is not a count: negative, or with a fraction. */
bool answer_is_no_count(const struct js *value);
bool answer_yes(const struct js *value);
bool answer_same(struct str a, struct str b); /* whatever their case */
/* The words for "nothing" that stand where a list should. */
bool answer_is_nothing(struct str text);

/* Settles ids and prerequisites, and makes the steps. */
void answer_link(struct reading_answer *r, struct plan *out);

#endif
