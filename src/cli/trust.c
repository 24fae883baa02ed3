/* See trust.h. */
#include "cli/trust.h"

#include <termios.h>
#include <unistd.h>

#include "cli/question.h"
#include "config/widen.h"

#define VALUE_SHOWN 300 /* bytes */

static void print_value(struct output *output, struct str value)
{
    output_clean(output, utf8_cut(value, VALUE_SHOWN), UTF8_ONE_LINE);
    if (value.n > VALUE_SHOWN)
        output_print(output, " (%zu bytes more)", value.n - VALUE_SHOWN);
}

void trust_list(struct output *output, const struct config *config)
{
    const struct config_entries *entries = config->entries;
    for (size_t i = 0; i < entries->widening_count; i++) {
        const struct config_widening *widening = &entries->widenings[i];
        output_print(output, "  ");
        output_clean(output, widening->key, UTF8_ONE_LINE);
        output_print(output, ": ");
        print_value(output, widening->from);
        output_print(output, " -> ");
        print_value(output, widening->to);
        output_print(output, "\n");
    }
}

enum config_consent trust_ask(void *user, const struct config *config)
{
    struct output *output = user;
    char line[64];
    if (output->format != OUTPUT_TEXT || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return CONSENT_DENIED;
    output_styled(output, STYLE_YELLOW, STR("? "));
    output_clean(output, config->project_file, UTF8_ONE_LINE);
    output_print(output, " belongs to this project and would allow more than your own config:\n");
    trust_list(output, config);
    output_print(output, "Trust it as it is now? [y/N] ");
    fflush(output->out);
    /* What was typed before the question cannot have been meant as its answer. */
    tcflush(STDIN_FILENO, TCIFLUSH);
    ssize_t n = read(STDIN_FILENO, line, sizeof line);
    struct str answer = {line, n > 0 ? (size_t)n : 0};
    return question_read(answer) == QUESTION_YES ? CONSENT_KEPT : CONSENT_DENIED;
}

enum config_consent trust_leave_out(void *user, const struct config *config)
{
    output_error(user,
                 "%.*s is not trusted and was left out; `cadre config trust --show` lists what it "
                 "would allow",
                 STR_FMT(config->project_file));
    return CONSENT_WITHOUT_IT;
}
