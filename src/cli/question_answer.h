/* What a typed line says to a question. Pure. */
#ifndef CADRE_CLI_QUESTION_ANSWER_H
#define CADRE_CLI_QUESTION_ANSWER_H

#include "base/arena.h"

enum question_choice {
    CHOICE_UNCLEAR, /* anything else: it is asked again */
    CHOICE_YES,
    CHOICE_NO,
    CHOICE_SESSION, /* yes, and to the same for the rest of the run */
    CHOICE_PROJECT, /* yes, and to the same in this project from now on */
    CHOICE_VIEW,    /* the whole text, and the question again */
};

struct question_answer {
    enum question_choice choice;
    struct str reason; /* of a no: a view into the line; or empty */
};

/* "y", "n", "n REASON", "s", "p", "v", or the words yes, no, session, project, view; blanks around it do not count. */
struct question_answer question_read(struct str line);
/* What a typed line says to a question of ask_user with these arguments: the choice whose number it is, else the
 * line itself without blanks around it. Lives in the arena. */
struct str question_reply(struct arena *arena, struct str arguments, struct str line);

#endif
