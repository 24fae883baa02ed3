/* The last message of an agent whose contract has a schema: finding the JSON in it, telling the model what does not match, and never
 * taking an answer that does not. Matching itself is contract/schema.h's work. Pure. */
#include "base/json.h"
#include "core/contract/schema.h"
#include "core/run/state.h"

#define PROBLEMS_BYTES 8192

static struct str trimmed(struct str text)
{
    while (text.n > 0 && strchr(" \t\r\n", text.p[0]) != NULL && text.p[0] != '\0') {
        text.p++;
        text.n--;
    }
    while (text.n > 0 && strchr(" \t\r\n", text.p[text.n - 1]) != NULL &&
           text.p[text.n - 1] != '\0')
        text.n--;
    return text;
}

/* What stands in the text, without blanks and without one fence around it. */
static struct str unfenced(struct str text)
{
    const struct str fences[] = {STR("```json"), STR("```JSON"), STR("```")};
    text = trimmed(text);
    for (size_t i = 0; i < sizeof fences / sizeof fences[0]; i++) {
        size_t open = fences[i].n;
        if (text.n < open + 3 || !str_starts(text, fences[i]) ||
            memcmp(text.p + text.n - 3, "```", 3) != 0)
            continue;
        return trimmed((struct str){text.p + open, text.n - open - 3});
    }
    return text;
}

/* 0: the answer matches. Else how many problems it has, and what they are. */
static size_t problems_of(const struct agent *agent, struct str answer, struct buf *out)
{
    struct err why = ERR_INIT;
    size_t count = 1;
    struct js *schema = js_parse(agent->contract.outputs.schema, &why);
    struct js *value = schema != NULL ? js_parse(answer, &why) : NULL;
    if (value != NULL)
        count = schema_problems(schema, value, out);
    else if (answer.n == 0)
        buf_text(out, "- $: there is no answer");
    else
        buf_printf(out, "- $: the message is not one JSON value: %s", why.message);
    js_free(value);
    js_free(schema);
    return count;
}

bool answer_corrected(struct deciding *d, const struct agent *agent)
{
    struct buf problems;
    if (agent->contract.outputs.schema.p == NULL || agent->corrections >= CORRECTIONS_MAX)
        return false;
    buf_init(&problems, PROBLEMS_BYTES);
    bool wrong = problems_of(agent, unfenced(agent->response), &problems) > 0;
    if (wrong)
        message_add(d, agent, "user", "schema",
                    arena_printf(&d->out->arena,
                                 "Your answer does not match the JSON Schema that it must match:\n"
                                 "%.*s\nAnswer again with one JSON value that matches it, and with "
                                 "no text before or behind it.",
                                 STR_FMT(buf_view(&problems))));
    buf_release(&problems);
    return wrong;
}

void answer_settle(struct deciding *d, const struct agent *agent, struct ending *ending)
{
    struct buf problems;
    struct str answer = unfenced(ending->response);
    if (agent->contract.outputs.schema.p == NULL || !ending_worked(ending->outcome))
        return;
    buf_init(&problems, PROBLEMS_BYTES);
    if (problems_of(agent, answer, &problems) == 0) {
        ending->response = answer;
    } else {
        ending->error = arena_printf(
            &d->out->arena, "%.*s%sthe answer does not match outputs.schema:\n%.*s",
            STR_FMT(ending->error), ending->error.n > 0 ? "; " : "", STR_FMT(buf_view(&problems)));
        ending->outcome = OUTCOME_ERROR;
    }
    buf_release(&problems);
}
