/* One question as it stands on the screen: who asks, what will happen, which answers there are, what is typed. As much of a long text
 * is shown as there is room for, with how much is not. Loop thread. */
#ifndef CADRE_CLI_QUESTION_VIEW_H
#define CADRE_CLI_QUESTION_VIEW_H

#include "cli/question_text.h"

enum question_kind {
    QUESTION_CALL,  /* may this call be made? */
    QUESTION_STEP,  /* may this step of a plan start? */
    QUESTION_PAUSE, /* may the agent go on? */
    QUESTION_OPEN,  /* ask_user: anything may be the answer */
};

struct question_view {
    enum question_kind kind;
    struct str agent, tool, arguments;        /* views: they outlive it */
    const struct preview *preview;            /* of a call or a step */
    size_t behind;                            /* questions that wait behind this one */
    struct str notice;                        /* what was wrong with the last line; or empty */
    enum { VIEW_NOT_WHOLE, VIEW_WHOLE } seen; /* whether all of it has been shown once */
    /* TAKEN: the terminal has it. Nothing that is typed before that can be meant as an answer. */
    enum { VIEW_NOT_DRAWN, VIEW_DRAWN, VIEW_TAKEN } drawn;
    size_t hidden; /* lines that the last drawing left out */
    /* The text as it was rendered for this width. */
    struct buf text;
    size_t lines;
    int columns;
};

void question_view_start(struct question_view *view);
void question_view_release(struct question_view *view);
/* Whether an answer may hold for always. */
bool question_view_may_last(const struct question_view *view);
/* Appends at most about `lines` lines; the last one is the prompt with what is typed, and has no newline. */
void question_view_draw(struct question_view *view, const struct question_style *style, int lines,
                        struct str typed, struct buf *out);
/* Appends all of it but the prompt. */
void question_view_whole(struct question_view *view, const struct question_style *style,
                         struct buf *out);
/* "? root wants to use write", for the record. */
void question_view_head(const struct question_view *view, const struct question_style *style,
                        struct buf *out);

#endif
