/* See question_view.h. */
#include "cli/question_view.h"

#include "base/json.h"

#define TEXT_MAX                                                                                   \
    ((size_t)1 << 28) /* bytes of a rendered text: a preview of nothing but marks, with colours */
#define BODY_LEAST 3  /* lines of the text that are shown on the smallest screen */
#define TYPED_LEAST 8 /* columns */

static const char *const prompts[] = {
    [QUESTION_CALL] = "Allow it?",
    [QUESTION_STEP] = "Start it?",
    [QUESTION_PAUSE] = "Let it go on?",
    [QUESTION_OPEN] = "Your answer:",
};

void question_view_start(struct question_view *view)
{
    buf_init(&view->text, TEXT_MAX);
    view->columns = 0;
}

void question_view_release(struct question_view *view)
{
    buf_release(&view->text);
}

bool question_view_may_last(const struct question_view *view)
{
    return view->kind == QUESTION_CALL && view->preview != NULL &&
           view->preview->reach == PREVIEW_INSIDE;
}

/* --- its text ---------------------------------------------------------------------------------- */

static void render_open(const struct js *arguments, const struct question_style *style,
                        struct buf *out)
{
    const struct js *choices = js_get(arguments, "choices");
    question_text_plain(js_get_str(arguments, "question"), style, out);
    for (size_t i = 0; i < js_count(choices); i++) {
        struct buf line;
        buf_init(&line, SIZE_MAX / 4);
        buf_printf(&line, "%zu) %.*s", i + 1, STR_FMT(js_str(js_at(choices, i))));
        question_text_plain(buf_view(&line), style, out);
        buf_release(&line);
    }
}

static void render(struct question_view *view, const struct question_style *style)
{
    struct err ignored = ERR_INIT;
    if (view->columns == style->columns)
        return;
    buf_clear(&view->text);
    view->columns = style->columns;
    struct js *arguments = js_parse(view->arguments, &ignored);
    if (view->preview != NULL)
        question_text_preview(view->preview, style, &view->text);
    else if (view->kind == QUESTION_OPEN)
        render_open(arguments, style, &view->text);
    view->lines = question_text_lines(buf_view(&view->text));
    js_free(arguments);
}

/* --- around it ----------------------------------------------------------------------------------- */

void question_view_head(const struct question_view *view, const struct question_style *style,
                        struct buf *out)
{
    struct buf line;
    struct err ignored = ERR_INIT;
    struct js *arguments = js_parse(view->arguments, &ignored);
    buf_init(&line, SIZE_MAX / 4);
    buf_printf(&line, "? %.*s ", STR_FMT(view->agent));
    if (view->kind == QUESTION_CALL)
        buf_printf(&line, "wants to use %.*s:", STR_FMT(utf8_cut(view->tool, 200)));
    else if (view->kind == QUESTION_STEP)
        buf_text(&line, "wants to start a step that needs your approval:");
    else if (view->kind == QUESTION_OPEN)
        buf_text(&line, "asks:");
    else
        buf_printf(&line, "has made %lld tool calls; it stops at %lld at the latest.",
                   (long long)js_get_int(arguments, "tool_calls", 0),
                   (long long)js_get_int(arguments, "hard_stop_at", 0));
    question_text_words(buf_view(&line), style, STYLE_BOLD, out);
    buf_release(&line);
    js_free(arguments);
}

static void add_help(const struct question_view *view, const struct question_style *style,
                     struct buf *out)
{
    struct buf line;
    struct err ignored = ERR_INIT;
    buf_init(&line, 512);
    if (view->kind == QUESTION_CALL)
        buf_printf(&line, "y yes, n no, n REASON no and why%s, v the whole text",
                   question_view_may_last(view) ? ", s always in this run, p always in this project"
                                                : "");
    if (view->kind == QUESTION_STEP)
        buf_text(&line, "y yes, n no, v the whole text");
    if (view->kind == QUESTION_OPEN) {
        struct js *arguments = js_parse(view->arguments, &ignored);
        if (js_count(js_get(arguments, "choices")) > 0)
            buf_text(&line, "A number, or your own answer.");
        js_free(arguments);
    }
    if (view->behind > 0)
        buf_printf(&line, "%s%zu more %s", line.n > 0 ? "; " : "", view->behind,
                   view->behind == 1 ? "question waits" : "questions wait");
    if (line.n > 0)
        question_text_words(buf_view(&line), style, STYLE_DIM, out);
    buf_release(&line);
}

static void add_prompt(const struct question_view *view, const struct question_style *style,
                       struct str typed, struct buf *out)
{
    static const char *const keys[] = {[QUESTION_CALL] = " [y/n/v]",
                                       [QUESTION_STEP] = " [y/n/v]",
                                       [QUESTION_PAUSE] = " [y/n]",
                                       [QUESTION_OPEN] = ""};
    size_t start = out->n;
    buf_text(out, prompts[view->kind]);
    buf_text(out, question_view_may_last(view) ? " [y/n/s/p/v]" : keys[view->kind]);
    buf_char(out, ' ');
    int left = style->columns - (int)(out->n - start) - 1;
    question_text_typed(typed, left > TYPED_LEAST ? left : TYPED_LEAST, out);
}

/* Appends the first `most` lines; what is left out is counted. */
static void add_body(struct question_view *view, const struct question_style *style, size_t most,
                     struct buf *out)
{
    struct str text = buf_view(&view->text);
    size_t at = 0;
    struct buf note;
    view->hidden = 0;
    if (view->lines <= most) {
        buf_str(out, text);
        view->seen = VIEW_WHOLE;
        return;
    }
    most = most > 1 ? most - 1 : 1; /* a line tells of the rest */
    for (size_t i = 0; i < most; i++)
        at = (size_t)((const char *)memchr(text.p + at, '\n', text.n - at) - text.p) + 1;
    buf_str(out, (struct str){text.p, at});
    view->hidden = view->lines - most;
    buf_init(&note, 256);
    buf_printf(&note, "[%zu lines more: v shows all", view->hidden);
    if (view->preview != NULL)
        buf_printf(&note, " %zu bytes", view->preview->bytes);
    buf_char(&note, ']');
    question_text_words(buf_view(&note), style, STYLE_YELLOW, out);
    buf_release(&note);
}

void question_view_draw(struct question_view *view, const struct question_style *style, int lines,
                        struct str typed, struct buf *out)
{
    struct buf above, below;
    buf_init(&above, 1 << 16);
    buf_init(&below, 1 << 16);
    render(view, style);
    if (view->drawn == VIEW_NOT_DRAWN)
        view->drawn = VIEW_DRAWN;
    question_view_head(view, style, &above);
    if (view->notice.n > 0)
        question_text_words(view->notice, style, STYLE_YELLOW, &below);
    add_help(view, style, &below);
    add_prompt(view, style, typed, &below);
    int left = lines - (int)question_text_lines(buf_view(&above)) -
               (int)question_text_lines(buf_view(&below));
    buf_str(out, buf_view(&above));
    add_body(view, style, (size_t)(left > BODY_LEAST ? left : BODY_LEAST), out);
    buf_str(out, buf_view(&below));
    buf_release(&above);
    buf_release(&below);
}

void question_view_whole(struct question_view *view, const struct question_style *style,
                         struct buf *out)
{
    render(view, style);
    question_view_head(view, style, out);
    buf_str(out, buf_view(&view->text));
    view->seen = VIEW_WHOLE;
}
