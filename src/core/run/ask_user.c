/* ask_user: a question to the person at the terminal, whose answer is the call's result. The answer comes as a message in the inbox,
 * so it is taken once and survives a crash. Who may ask is decided by the contract, not here. Pure. */
#include "base/utf8.h"
#include "core/run/door.h"

#define QUESTION_BYTES_MAX 4000
#define CHOICES_MAX 16
#define CHOICE_BYTES_MAX 400

static int check(struct deciding *d, const struct js *arguments, struct err *err)
{
    struct str question = STR_NONE;
    struct list choices = LIST_NONE;
    if (arguments_known(arguments, "question choices", "ask_user", err) != 0 ||
        argument_text(arguments, "question", &question, err) != 0 ||
        argument_list(&d->out->arena, arguments, "choices", CHOICES_MAX, &choices, err) != 0)
        return -1;
    if (question.n == 0)
        return err_set(err, ERR_USAGE, "question must not be empty");
    if (question.n > QUESTION_BYTES_MAX)
        return err_set(err, ERR_USAGE, "question may have at most %d bytes", QUESTION_BYTES_MAX);
    for (size_t i = 0; i < choices.n; i++) {
        if (choices.items[i].n > CHOICE_BYTES_MAX)
            return err_set(err, ERR_USAGE, "choices[%zu] may have at most %d bytes", i,
                           CHOICE_BYTES_MAX);
    }
    return 0;
}

static void start(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct js *arguments)
{
    struct err why = ERR_INIT;
    if (check(d, arguments, &why) != 0)
        door_refuse(d, agent, call, &why);
    else
        call_ask(d, agent, call);
}

const struct door_ops door_ask_user = {start, NULL, NULL, NULL};

bool call_is_question(const struct call *call)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    return info != NULL && info->kind == TOOL_QUESTION;
}

void inbox_answer(struct deciding *d, const struct js *body)
{
    int64_t no = js_get_int(body, "agent_no", -1);
    const struct agent *agent =
        no >= 0 && no < d->run->agent_count ? run_agent_at(d->run, (uint32_t)no) : NULL;
    const struct call *call = agent != NULL && agent->phase == PHASE_TOOLS
                                  ? call_find(agent, js_get_str(body, "call_id"))
                                  : NULL;
    if (call == NULL || call->state != CALL_ASKED || !call_is_question(call) ||
        agent->stopping != OUTCOME_NONE)
        return;
    struct str text = utf8_cut(js_get_str(body, "text"), (size_t)call_result_bytes(d->run, agent));
    if (js_kind(js_get(body, "text")) != JS_STRING)
        call_finish(d, agent, call, TOOL_ERROR,
                    STR("Error: nobody can answer now. Decide it yourself, or stop and say what is "
                        "missing."));
    else if (text.n == 0)
        call_finish(d, agent, call, TOOL_OK, STR("(the person gave an empty answer)"));
    else
        call_finish(d, agent, call, TOOL_OK, keep(d, text));
    agent_continue(d, agent);
}
