/* A queue of questions; the first one stands on the screen. What was typed before a question was
 * shown is thrown away, also while the terminal does not take it: nobody can have meant it as an
 * answer. */
#include "cli/question.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/json.h"

#define MEMBER_SHORT 200 /* bytes: shown whole, and first */
#define MEMBER_SHOWN 600 /* bytes of a longer one */
#define MEMBERS_MAX 32
#define CHOICES_SHOWN 64

static struct str trimmed(struct str line)
{
    while (line.n > 0 && strchr(" \t\r\n", line.p[line.n - 1]) != NULL)
        line.n--;
    while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t')) {
        line.p++;
        line.n--;
    }
    return line;
}

enum question_answer question_read(struct str line)
{
    line = trimmed(line);
    if ((line.n == 1 && strncasecmp(line.p, "y", 1) == 0) ||
        (line.n == 3 && strncasecmp(line.p, "yes", 3) == 0))
        return QUESTION_YES;
    return QUESTION_NO;
}

/* "3" → 3; anything else: 0. */
static size_t number_read(struct str text)
{
    size_t number = 0;
    if (text.n == 0 || text.n > 3)
        return 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        number = number * 10 + (size_t)(text.p[i] - '0');
    }
    return number;
}

struct str question_reply(struct arena *arena, struct str arguments, struct str line)
{
    struct err ignored = ERR_INIT;
    struct js *doc = js_parse(arguments, &ignored);
    const struct js *choices = js_get(doc, "choices");
    struct str text = trimmed(line);
    size_t number = number_read(text);
    if (number > 0 && number <= js_count(choices))
        text = js_str(js_at(choices, number - 1));
    text = arena_copy(arena, text.p != NULL ? text : STR(""));
    js_free(doc);
    return text;
}

static bool is_ask_user(const struct question *question)
{
    return str_is(question->tool, "ask_user");
}

static bool is_step(const struct question *question)
{
    return str_is(question->tool, "plan");
}

static void question_free(struct question *question)
{
    arena_release(&question->arena);
    free(question);
}

static void on_input(uv_poll_t *handle, int status, int events);

static void show_member(struct output *output, struct str key, struct str value)
{
    output_print(output, "  ");
    output_clean(output, utf8_cut(key, MEMBER_SHORT), UTF8_ONE_LINE);
    output_print(output, ": ");
    output_clean(output, utf8_cut(value, MEMBER_SHOWN), UTF8_ONE_LINE);
    if (value.n > MEMBER_SHOWN)
        output_print(output, " (%zu bytes more)", value.n - MEMBER_SHOWN);
    output_print(output, "\n");
}

enum member_length { MEMBERS_SHORT, MEMBERS_LONG };

static size_t show_members(struct output *output, const struct js *arguments,
                           enum member_length which)
{
    struct str key;
    const struct js *value;
    size_t shown = 0;
    for (void *i = js_next(arguments, NULL, &key, &value); i && shown < MEMBERS_MAX;
         i = js_next(arguments, i, &key, &value)) {
        struct buf text;
        buf_init(&text, SIZE_MAX / 4);
        if (js_kind(value) == JS_STRING)
            buf_str(&text, js_str(value));
        else
            js_print(value, &text);
        if ((text.n > MEMBER_SHORT) == (which == MEMBERS_LONG)) {
            show_member(output, key, buf_view(&text));
            shown++;
        }
        buf_release(&text);
    }
    return shown;
}

/* The model chooses the order of the arguments: what is short, such as a path, must not hide behind what is long. */
static void show_arguments(struct output *output, struct str json)
{
    struct err ignored = ERR_INIT;
    struct js *arguments = js_parse(json, &ignored);
    size_t shown = show_members(output, arguments, MEMBERS_SHORT);
    shown += show_members(output, arguments, MEMBERS_LONG);
    if (js_count(arguments) > shown)
        output_print(output, "  (%zu arguments more)\n", js_count(arguments) - shown);
    js_free(arguments);
}

static void show_call(struct output *output, const struct question *question)
{
    output_print(output, " wants to use ");
    output_styled(output, STYLE_BOLD, question->tool);
    output_print(output, ":\n");
    show_arguments(output, question->arguments);
    output_print(output, "Allow it? [y/N] ");
}

/* Each line is set in: none of a model's words can look like a question of cadre's own. */
static void show_set_in(struct output *output, struct str text)
{
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = {text.p, end != NULL ? (size_t)(end - text.p) : text.n};
        size_t taken = end != NULL ? line.n + 1 : line.n;
        output_print(output, "  ");
        output_clean(output, line, UTF8_ONE_LINE);
        output_print(output, "\n");
        text.p += taken;
        text.n -= taken;
    }
}

static void show_step(struct output *output, const struct question *question)
{
    struct err ignored = ERR_INIT;
    struct js *arguments = js_parse(question->arguments, &ignored);
    output_print(output, " wants to start a step that needs your approval: ");
    output_styled(output, STYLE_BOLD, js_get_str(arguments, "title"));
    output_print(output, "\n");
    show_set_in(output, js_get_str(arguments, "description"));
    output_print(output, "Start it? [y/N] ");
    js_free(arguments);
}

static void show_pause(struct output *output, const struct question *question)
{
    struct err ignored = ERR_INIT;
    struct js *arguments = js_parse(question->arguments, &ignored);
    output_print(output, " has made %lld tool calls; it stops at %lld at the latest.\n",
                 (long long)js_get_int(arguments, "tool_calls", 0),
                 (long long)js_get_int(arguments, "hard_stop_at", 0));
    output_print(output, "Let it go on? [y/N] ");
    js_free(arguments);
}

static void show_asked(struct output *output, const struct question *question)
{
    struct err ignored = ERR_INIT;
    struct js *arguments = js_parse(question->arguments, &ignored);
    const struct js *choices = js_get(arguments, "choices");
    output_print(output, " asks:\n");
    show_set_in(output, js_get_str(arguments, "question"));
    for (size_t i = 0; i < js_count(choices) && i < CHOICES_SHOWN; i++) {
        output_print(output, "  %zu) ", i + 1);
        output_clean(output, js_str(js_at(choices, i)), UTF8_ONE_LINE);
        output_print(output, "\n");
    }
    output_print(output,
                 js_count(choices) > 0 ? "A number, or your own answer: " : "Your answer: ");
    js_free(arguments);
}

static void show_first(struct questions *questions)
{
    const struct question *question = questions->waiting[0];
    struct output *output = questions->output;
    questions->begin(questions->user);
    output_styled(output, STYLE_YELLOW, STR("? "));
    output_styled(output, STYLE_BOLD, question->agent);
    if (is_ask_user(question))
        show_asked(output, question);
    else if (is_step(question))
        show_step(output, question);
    else if (question->tool.n > 0)
        show_call(output, question);
    else
        show_pause(output, question);
    fflush(output->out);
    questions->line_length = 0;
    tcflush(questions->fd, TCIFLUSH);
    if (uv_poll_start(&questions->input, UV_READABLE, on_input) == 0)
        questions->state = INPUT_READING;
}

/* The first question is done with: the next one, or back to the display. */
static void remove_first(struct questions *questions)
{
    question_free(questions->waiting[0]);
    questions->count--;
    memmove(questions->waiting, questions->waiting + 1,
            questions->count * sizeof questions->waiting[0]);
    uv_poll_stop(&questions->input);
    if (questions->state == INPUT_READING)
        questions->state = INPUT_IDLE;
    if (questions->count > 0 && questions->state == INPUT_IDLE)
        show_first(questions);
    else
        questions->end(questions->user);
}

static void answer_first(struct questions *questions, struct str line)
{
    struct question *question = questions->waiting[0];
    if (is_ask_user(question))
        questions->reply(questions->user, question,
                         question_reply(&question->arena, question->arguments, line));
    else
        questions->answer(questions->user, question, question_read(line));
    remove_first(questions);
}

/* A step waits on: it can be approved from elsewhere. */
static void leave_unanswered(struct questions *questions, const struct question *question)
{
    if (is_step(question))
        return;
    if (is_ask_user(question))
        questions->reply(questions->user, question, STR_NONE);
    else
        questions->answer(questions->user, question, QUESTION_NO);
}

/* stdin is gone: nobody will ever answer. */
static void end_input(struct questions *questions)
{
    uv_poll_stop(&questions->input);
    questions->state = INPUT_ENDED;
    while (questions->count > 0) {
        leave_unanswered(questions, questions->waiting[0]);
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
        output_print(questions->output, "\n");
        end_input(questions);
        return;
    }
    if (output_state(questions->output) != OUTPIPE_IDLE)
        return;
    for (ssize_t i = 0; i < n; i++) {
        if (piece[i] == '\n') {
            struct str line = {questions->line, questions->line_length};
            answer_first(questions, line);
            return;
        }
        /* A line that is too long is no yes. */
        if (questions->line_length < sizeof questions->line)
            questions->line[questions->line_length++] = piece[i];
    }
}

int questions_start(struct questions *questions, uv_loop_t *loop, struct err *err)
{
    char name[PATH_MAX];
    if (ttyname_r(STDIN_FILENO, name, sizeof name) != 0)
        strcpy(name, "/dev/tty");
    questions->fd = open(name, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
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
    question->arguments = arena_copy(&question->arena, arguments);
    if ((questions->state != INPUT_IDLE && questions->state != INPUT_READING) ||
        questions->count == QUESTIONS_MAX) {
        leave_unanswered(questions, question);
        question_free(question);
        return;
    }
    questions->waiting[questions->count++] = question;
    if (questions->count == 1)
        show_first(questions);
}

void questions_drop(struct questions *questions, struct str call_id)
{
    for (size_t i = 0; i < questions->count; i++) {
        if (!str_eq(questions->waiting[i]->call_id, call_id))
            continue;
        if (i == 0) {
            output_print(questions->output, "\n(no answer is needed any more)\n");
            remove_first(questions);
        } else {
            question_free(questions->waiting[i]);
            questions->count--;
            memmove(questions->waiting + i, questions->waiting + i + 1,
                    (questions->count - i) * sizeof questions->waiting[0]);
        }
        return;
    }
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
    for (size_t i = 0; i < questions->count; i++)
        question_free(questions->waiting[i]);
    questions->count = 0;
    questions->state = INPUT_CLOSED;
    uv_poll_stop(&questions->input);
    uv_close((uv_handle_t *)&questions->input, on_closed);
}

enum asker questions_asker(const struct output *output)
{
    return output->format == OUTPUT_TEXT && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)
               ? ASKER_ROOT_TERMINAL
               : ASKER_ROOT;
}
