/* A queue of questions; the first one stands on the screen. What was typed before a question was
 * shown is thrown away, also while the terminal does not take it: nobody can have meant it as an
 * answer. */
#include "cli/question.h"

#include <errno.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "core/run/input.h"

#define WHOLE_MAX ((size_t)1 << 28)
#define NOTICE_TYPED 60 /* bytes of a wrong answer that are repeated */

static void show_first(struct questions *questions);

/* --- on the screen -------------------------------------------------------------------------------- */

static struct question_style style_of(const struct questions *questions)
{
    int columns, lines;
    output_size(questions->output, &columns, &lines);
    return (struct question_style){columns - 1, questions->output->colour,
                                   questions->output->glyphs};
}

static struct str typed(const struct questions *questions)
{
    return (struct str){questions->line.text, questions->line.n};
}

/* Below the live tree. */
static void draw_footer(void *user, int lines, struct buf *out)
{
    struct questions *questions = user;
    struct question_style style = style_of(questions);
    question_view_draw(&questions->view, &style, lines, typed(questions), out);
}

/* Without a live tree: printed, and printed again where something has changed. */
static void print_question(struct questions *questions)
{
    struct question_style style = style_of(questions);
    struct buf out;
    int columns, lines;
    output_size(questions->output, &columns, &lines);
    buf_init(&out, WHOLE_MAX);
    question_view_draw(&questions->view, &style, lines - 1, STR(""), &out);
    fwrite(buf_view(&out).p, 1, out.n, questions->output->out);
    fflush(questions->output->out);
    buf_release(&out);
}

static void draw(struct questions *questions)
{
    if (questions->screen != NULL)
        screen_draw(questions->screen);
    else
        print_question(questions);
}

/* Text that stays above the question. */
static void print_above(struct questions *questions, struct str text)
{
    if (questions->screen != NULL)
        screen_pause(questions->screen);
    fwrite(text.p, 1, text.n, questions->output->out);
    fflush(questions->output->out);
    if (questions->screen != NULL)
        screen_resume(questions->screen);
}

/* Answers that are typed before the terminal has all of it do not count. */
static void show_whole(struct questions *questions)
{
    struct question_style style = style_of(questions);
    struct buf out;
    buf_init(&out, WHOLE_MAX);
    question_view_whole(&questions->view, &style, &out);
    questions->view.drawn = VIEW_NOT_DRAWN;
    print_above(questions, buf_view(&out));
    buf_release(&out);
}

/* What was asked and answered stays in the scrollback; of a long text, the question alone. */
static void record(struct questions *questions, struct str answer)
{
    struct question_style style = style_of(questions);
    struct buf out, line;
    if (questions->screen == NULL)
        return;
    buf_init(&out, WHOLE_MAX);
    if (questions->view.hidden == 0)
        question_view_whole(&questions->view, &style, &out);
    else
        question_view_head(&questions->view, &style, &out);
    buf_init(&line, sizeof questions->line.text + 64);
    buf_printf(&line, "Answer: %.*s", STR_FMT(answer));
    question_text_words(buf_view(&line), &style, STYLE_BOLD, &out);
    print_above(questions, buf_view(&out));
    buf_release(&line);
    buf_release(&out);
}

static void view_end(struct questions *questions)
{
    question_view_release(&questions->view);
    questions->view = (struct question_view){.kind = QUESTION_CALL};
    if (questions->screen != NULL)
        screen_footer(questions->screen, NULL, NULL);
    keys_release();
}

/* --- the queue -------------------------------------------------------------------------------------- */

/* The id is cadre's own; the tool may have any name that a model comes up with. */
static enum question_kind kind_of(struct str call_id, struct str tool)
{
    return tool.n == 0                    ? QUESTION_PAUSE
           : question_is_of_step(call_id) ? QUESTION_STEP
           : str_is(tool, "ask_user")     ? QUESTION_OPEN
                                          : QUESTION_CALL;
}

static bool has_preview(enum question_kind kind)
{
    return kind == QUESTION_CALL || kind == QUESTION_STEP;
}

static void question_free(struct question *question)
{
    arena_release(&question->arena);
    free(question);
}

static void take_out(struct questions *questions, size_t index)
{
    question_free(questions->waiting[index]);
    questions->count--;
    memmove(questions->waiting + index, questions->waiting + index + 1,
            (questions->count - index) * sizeof questions->waiting[0]);
    questions->view.behind = questions->count > 0 ? questions->count - 1 : 0;
}

/* The first question is done with: the next one, or back to the display. */
static void remove_first(struct questions *questions)
{
    if (questions->waiting[0]->state == QUESTION_SHOWN)
        view_end(questions);
    uv_poll_stop(&questions->input);
    if (questions->state == INPUT_READING)
        questions->state = INPUT_IDLE;
    take_out(questions, 0);
    if (questions->count > 0 && questions->state == INPUT_IDLE)
        show_first(questions);
}

/* A step waits on: it can be approved from elsewhere. */
static void leave_unanswered(struct questions *questions, const struct question *question)
{
    if (question->kind == QUESTION_OPEN)
        questions->reply(questions->user, question, STR_NONE);
    else if (question->kind != QUESTION_STEP)
        questions->leave(questions->user, question);
}

/* The person has gone: nobody will ever answer. */
static void end_input(struct questions *questions)
{
    uv_poll_stop(&questions->input);
    questions->state = INPUT_ENDED;
    while (questions->count > 0) {
        leave_unanswered(questions, questions->waiting[0]);
        remove_first(questions);
    }
}

/* The terminal is gone. A run that parks for it keeps its questions: whoever resumes it is asked. */
static void lose_terminal(struct questions *questions)
{
    if (questions->hangup(questions->user) == HANGUP_IGNORED) {
        end_input(questions);
        return;
    }
    uv_poll_stop(&questions->input);
    questions->state = INPUT_HUNG_UP;
    while (questions->count > 0)
        remove_first(questions);
}

/* --- answers ----------------------------------------------------------------------------------------- */

/* notice: NULL where the line was none of the answers. */
static void ask_again(struct questions *questions, const char *notice)
{
    if (notice != NULL)
        snprintf(questions->notice, sizeof questions->notice, "%s", notice);
    else
        snprintf(questions->notice, sizeof questions->notice, "\"%.*s\" is not one of the answers.",
                 STR_FMT(utf8_cut(typed(questions), NOTICE_TYPED)));
    questions->view.notice = str_from(questions->notice);
    questions->line = (struct keys_line){.n = 0};
    draw(questions);
}

static bool may_be(const struct question_view *view, const struct question_answer *answer)
{
    switch (answer->choice) {
    case CHOICE_YES:
        return true;
    case CHOICE_NO:
        return view->kind == QUESTION_CALL || answer->reason.n == 0;
    case CHOICE_SESSION:
    case CHOICE_PROJECT:
        return question_view_may_last(view);
    case CHOICE_VIEW:
        return has_preview(view->kind);
    case CHOICE_UNCLEAR:
        break;
    }
    return false;
}

static void take_line(struct questions *questions)
{
    static const char *const words[] = {[CHOICE_YES] = "yes",
                                        [CHOICE_NO] = "no",
                                        [CHOICE_SESSION] = "yes, always in this run",
                                        [CHOICE_PROJECT] = "yes, always in this project"};
    struct question *question = questions->waiting[0];
    struct question_view *view = &questions->view;
    /* A line that is too long says nothing. */
    struct question_answer answer = questions->line.size == LINE_FITS
                                        ? question_read(typed(questions))
                                        : (struct question_answer){CHOICE_UNCLEAR, STR_NONE};
    if (question->kind == QUESTION_OPEN) {
        record(questions, typed(questions));
        questions->reply(questions->user, question,
                         question_reply(&question->arena, question->arguments, typed(questions)));
        remove_first(questions);
    } else if (!may_be(view, &answer)) {
        ask_again(questions, NULL);
    } else if (answer.choice == CHOICE_VIEW) {
        show_whole(questions);
        ask_again(questions, "The whole text stands above.");
    } else if (answer.choice != CHOICE_NO && view->seen != VIEW_WHOLE) {
        /* Nobody says yes to lines that were never shown. */
        show_whole(questions);
        ask_again(questions, "A part of it was not shown before: the whole text stands above.");
    } else {
        record(questions, answer.reason.n > 0 ? typed(questions) : str_from(words[answer.choice]));
        questions->answer(questions->user, question, &answer);
        remove_first(questions);
    }
}

static void on_input(uv_poll_t *handle, int status, int events)
{
    struct questions *questions = handle->data;
    char piece[256];
    ssize_t n = status == 0 ? read(questions->fd, piece, sizeof piece) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        lose_terminal(questions);
        return;
    }
    if (questions->view.drawn == VIEW_DRAWN && output_state(questions->output) == OUTPIPE_IDLE)
        questions->view.drawn = VIEW_TAKEN;
    if (questions->view.drawn != VIEW_TAKEN)
        return;
    for (ssize_t i = 0; i < n; i++) {
        enum keys_event event = keys_feed(&questions->line, piece[i]);
        if (event == KEYS_END) {
            end_input(questions);
            return;
        }
        if (event == KEYS_LINE) {
            take_line(questions);
            return;
        }
    }
    if (questions->screen != NULL)
        screen_draw(questions->screen);
}

/* --- showing ------------------------------------------------------------------------------------------ */

static void show(struct questions *questions, struct question *question)
{
    question->state = QUESTION_SHOWN;
    questions->view = (struct question_view){.kind = question->kind,
                                             .agent = question->agent,
                                             .tool = question->tool,
                                             .arguments = question->arguments,
                                             .preview = question->preview,
                                             .behind = questions->count - 1};
    question_view_start(&questions->view);
    questions->line = (struct keys_line){.n = 0};
    /* First of all: an echo would stand in the middle of the display. */
    if (questions->screen != NULL) {
        keys_take(questions->fd);
        screen_footer(questions->screen, draw_footer, questions);
    }
    draw(questions);
    tcflush(questions->fd, TCIFLUSH);
    if (uv_poll_start(&questions->input, UV_READABLE, on_input) == 0)
        questions->state = INPUT_READING;
}

static void show_first(struct questions *questions)
{
    struct question *question = questions->waiting[0];
    if (!has_preview(question->kind)) {
        show(questions, question);
    } else if (question->state == QUESTION_QUEUED) {
        question->state = QUESTION_LOOKING;
        questions->look(questions->user, question);
    }
}

static void copy_preview(struct question *question, const struct preview *preview)
{
    question->preview = arena_alloc(&question->arena, sizeof *question->preview);
    *question->preview = *preview;
    question->preview->tool = arena_copy(&question->arena, preview->tool);
    for (size_t i = 0; i < preview->count; i++) {
        struct preview_part *part = &question->preview->parts[i];
        part->label = arena_copy(&question->arena, part->label);
        part->text = arena_copy(&question->arena, part->text);
    }
}

static size_t find(const struct questions *questions, uint32_t agent_no, struct str call_id)
{
    size_t i = 0;
    while (i < questions->count && (questions->waiting[i]->agent_no != agent_no ||
                                    !str_eq(questions->waiting[i]->call_id, call_id)))
        i++;
    return i;
}

void questions_previewed(struct questions *questions, uint32_t agent_no, struct str call_id,
                         const struct preview *preview, enum question_standing standing)
{
    size_t index = find(questions, agent_no, call_id);
    struct question *question = index < questions->count ? questions->waiting[index] : NULL;
    if (question == NULL || question->state == QUESTION_SHOWN || question->state == QUESTION_QUEUED)
        return;
    if (standing == QUESTION_ALLOWED && question->kind == QUESTION_CALL &&
        preview->reach == PREVIEW_INSIDE) {
        struct preview allowed = *preview;
        const struct question_answer yes = {CHOICE_SESSION, STR("allowed for always before")};
        question->preview = &allowed;
        questions->answer(questions->user, question, &yes);
        if (index == 0)
            remove_first(questions);
        else
            take_out(questions, index);
    } else if (index == 0) {
        copy_preview(question, preview);
        show(questions, question);
    } else {
        question->state = QUESTION_QUEUED;
    }
}

void questions_put(struct questions *questions, uint32_t agent_no, struct str agent,
                   struct str call_id, struct str tool, struct str arguments)
{
    struct question *question = calloc(1, sizeof *question);
    if (question == NULL)
        abort();
    arena_init(&question->arena);
    question->agent_no = agent_no;
    question->agent = arena_copy(&question->arena, agent);
    question->call_id = arena_copy(&question->arena, call_id);
    question->tool = arena_copy(&question->arena, tool);
    question->kind = kind_of(call_id, tool);
    /* What a call or a step would do is in its preview. */
    question->arguments =
        arena_copy(&question->arena, has_preview(question->kind) ? STR("{}") : arguments);
    if ((questions->state != INPUT_IDLE && questions->state != INPUT_READING) ||
        questions->count == QUESTIONS_MAX) {
        if (questions->state != INPUT_HUNG_UP)
            leave_unanswered(questions, question);
        question_free(question);
        return;
    }
    if (questions->count == questions->capacity) {
        questions->capacity = questions->capacity > 0 ? 2 * questions->capacity : 16;
        questions->waiting =
            realloc(questions->waiting, questions->capacity * sizeof questions->waiting[0]);
        if (questions->waiting == NULL)
            abort();
    }
    questions->waiting[questions->count++] = question;
    questions->view.behind = questions->count - 1;
    if (has_preview(question->kind))
        questions->look(questions->user, question);
    else if (questions->count == 1)
        show_first(questions);
}

void questions_drop(struct questions *questions, struct str call_id)
{
    for (size_t i = 0; i < questions->count; i++) {
        if (!str_eq(questions->waiting[i]->call_id, call_id))
            continue;
        if (i == 0 && questions->waiting[0]->state == QUESTION_SHOWN) {
            record(questions, STR("(no answer is needed any more)"));
            if (questions->screen == NULL)
                output_print(questions->output, "\n(no answer is needed any more)\n");
        }
        if (i == 0)
            remove_first(questions);
        else
            take_out(questions, i);
        return;
    }
}

/* --- the terminal --------------------------------------------------------------------------------------- */

int questions_start(struct questions *questions, uv_loop_t *loop, struct err *err)
{
    questions->fd = keys_open();
    if (questions->fd < 0)
        return err_set(err, ERR_IO, "the terminal cannot be read: %s", strerror(errno));
    int result = uv_poll_init(loop, &questions->input, questions->fd);
    if (result != 0) {
        close(questions->fd);
        return err_set(err, ERR_IO, "the terminal cannot be read: %s", uv_strerror(result));
    }
    questions->input.data = questions;
    questions->state = INPUT_IDLE;
    questions->count = 0;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct questions *questions = handle->data;
    close(questions->fd);
}

void questions_stop(struct questions *questions)
{
    if (questions->state == INPUT_CLOSED)
        return;
    if (questions->count > 0 && questions->waiting[0]->state == QUESTION_SHOWN)
        view_end(questions);
    for (size_t i = 0; i < questions->count; i++)
        question_free(questions->waiting[i]);
    free(questions->waiting);
    questions->waiting = NULL;
    questions->count = questions->capacity = 0;
    questions->state = INPUT_CLOSED;
    uv_poll_stop(&questions->input);
    uv_close((uv_handle_t *)&questions->input, on_closed);
}

enum asker questions_asker(const struct output *output)
{
    if (output->format != OUTPUT_TEXT || !isatty(STDOUT_FILENO))
        return ASKER_NOBODY;
    int fd = keys_open();
    if (fd < 0)
        return ASKER_NOBODY;
    close(fd);
    return ASKER_TERMINAL;
}
