/* See trust.h. */
#include "cli/trust.h"

#include <errno.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "cli/question.h"
#include "config/widen.h"

void trust_list(struct output *output, const struct config *config,
                const struct config_project_file *project)
{
    const struct config_entries *entries = config->entries;
    struct question_style style = {0, output->colour, output->glyphs};
    int lines;
    output_size(output, &style.columns, &lines);
    style.columns--;
    for (size_t i = 0; i < entries->widening_count; i++) {
        const struct config_widening *widening = &entries->widenings[i];
        struct buf change, text;
        if (!str_eq(widening->place.source->name, project->file))
            continue;
        buf_init(&change, SIZE_MAX / 4);
        buf_init(&text, SIZE_MAX / 4);
        buf_printf(&change, "%.*s -> %.*s", STR_FMT(widening->from), STR_FMT(widening->to));
        const struct preview shown = {
            .parts = {{.label = widening->key, .text = buf_view(&change)}}, .count = 1};
        question_text_preview(&shown, &style, &text);
        output_print(output, "%.*s", STR_FMT(buf_view(&text)));
        buf_release(&change);
        buf_release(&text);
    }
}

/* One line of the terminal; what was typed before is thrown away. n is 0 where there is none any more. */
static struct str read_line(int fd, char *line, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    tcflush(fd, TCIFLUSH);
    ssize_t n;
    do {
        n = poll(&wait, 1, -1) >= 0 ? read(fd, line, size) : -1;
    } while (n < 0 && (errno == EAGAIN || errno == EINTR));
    return (struct str){line, n > 0 ? (size_t)n : 0};
}

static enum config_consent ask(struct output *output, const struct config *config, int fd)
{
    char line[4096]; /* a terminal hands over no longer ones */
    size_t files = 0;
    for (size_t i = 0; i < config->project_count; i++) {
        if (config->projects[i].widens == 0)
            continue;
        files++;
        output_styled(output, STYLE_YELLOW, STR("? "));
        output_clean(output, config->projects[i].file, UTF8_ONE_LINE);
        output_print(output,
                     " belongs to this project and would allow more than your own config:\n");
        trust_list(output, config, &config->projects[i]);
    }
    for (;;) {
        output_print(output, "Trust %s now? [y/n] ",
                     files > 1 ? "them as they are" : "it as it is");
        fflush(output->out);
        struct str said = read_line(fd, line, sizeof line);
        struct question_answer answer = question_read(said);
        if (answer.choice == CHOICE_YES)
            return CONSENT_KEPT;
        if (said.n == 0 || (answer.choice == CHOICE_NO && answer.reason.n == 0))
            return CONSENT_DENIED;
    }
}

enum config_consent trust_ask(void *user, const struct config *config)
{
    struct output *output = user;
    if (questions_asker(output) != ASKER_TERMINAL)
        return CONSENT_DENIED;
    int fd = keys_open();
    if (fd < 0)
        return CONSENT_DENIED;
    enum config_consent consent = ask(output, config, fd);
    close(fd);
    return consent;
}

enum config_consent trust_leave_out(void *user, const struct config *config)
{
    for (size_t i = 0; i < config->project_count; i++)
        if (config->projects[i].widens > 0)
            output_error(user,
                         "%.*s is not trusted and was left out; `cadre config trust --show` lists "
                         "what it would allow",
                         STR_FMT(config->projects[i].file));
    return CONSENT_WITHOUT_IT;
}
