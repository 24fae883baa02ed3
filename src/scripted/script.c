/* Loads a script and says what is wrong with it; finds the rule that answers a request. Loading is done by the
 * thread that starts the server; finding by any serving thread. */
#include "scripted/script.h"

#include <stdio.h>

#include "scripted/asked.h"
#include "scripted/echo.h"

#define RULES_MAX 1000000
#define MATCH_LIMIT 1000000

static const struct field script_fields[] = {
    {"models", KIND(ARRAY), FIELD_OPTIONAL},
    {"api_key", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"bytes_per_token", KIND(INT), FIELD_OPTIONAL},
    {"template", KIND(STRING), FIELD_OPTIONAL},
    {"ids", KIND(STRING), FIELD_OPTIONAL},
    {"rules", KIND(ARRAY), FIELD_REQUIRED},
};
static const struct field model_fields[] = {
    {"id", KIND(STRING), FIELD_REQUIRED},
    {"window", KIND(INT), FIELD_OPTIONAL},
    {"max_output", KIND(INT), FIELD_OPTIONAL},
    {"refuses", KIND(ARRAY), FIELD_OPTIONAL},
};
static const struct field rule_fields[] = {
    {"when", KIND(OBJECT), FIELD_OPTIONAL},
    {"reply", KIND(OBJECT), FIELD_REQUIRED},
    {"expects", KIND(OBJECT), FIELD_OPTIONAL},
};
static const struct field when_fields[] = {
    {"first_user", KIND(STRING), FIELD_OPTIONAL},
    {"first_user_regex", KIND(STRING), FIELD_OPTIONAL},
    {"last", KIND(STRING), FIELD_OPTIONAL},
    {"last_lacks", KIND(STRING), FIELD_OPTIONAL},
    {"system", KIND(STRING), FIELD_OPTIONAL},
    {"has_tool", KIND(STRING), FIELD_OPTIONAL},
    {"turn", KIND(INT), FIELD_OPTIONAL},
};
static const struct field reply_fields[] = {
    {"text", KIND(STRING), FIELD_OPTIONAL},          {"repeat", KIND(INT), FIELD_OPTIONAL},
    {"calls", KIND(ARRAY), FIELD_OPTIONAL},          {"delay_ms", KIND(INT), FIELD_OPTIONAL},
    {"chunk_delay_ms", KIND(INT), FIELD_OPTIONAL},   {"chunks", KIND(INT), FIELD_OPTIONAL},
    {"usage", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL}, {"finish", KIND(STRING), FIELD_OPTIONAL},
    {"status", KIND(INT), FIELD_OPTIONAL},           {"retry_after", KIND(STRING), FIELD_OPTIONAL},
    {"error", KIND(STRING), FIELD_OPTIONAL},         {"drop", KIND(STRING), FIELD_OPTIONAL},
    {"raw", KIND(STRING), FIELD_OPTIONAL},           {"fail_times", KIND(INT), FIELD_OPTIONAL},
    {"then", KIND(OBJECT), FIELD_OPTIONAL},          {"thinking", KIND(STRING), FIELD_OPTIONAL},
    {"reasoning", KIND(OBJECT), FIELD_OPTIONAL},
};
static const struct field call_fields[] = {
    {"name", KIND(STRING), FIELD_REQUIRED},
    {"arguments", KIND(OBJECT) | KIND(STRING), FIELD_OPTIONAL},
    {"repeat", KIND(INT), FIELD_OPTIONAL},
    {"extra_content", KIND(OBJECT), FIELD_OPTIONAL},
    {"id", KIND(STRING), FIELD_OPTIONAL},
};

static const struct field_table script_table = FIELD_TABLE(script_fields);
static const struct field_table model_table = FIELD_TABLE(model_fields);
static const struct field_table rule_table = FIELD_TABLE(rule_fields);
static const struct field_table when_table = FIELD_TABLE(when_fields);
static const struct field_table reply_table = FIELD_TABLE(reply_fields);
static const struct field_table call_table = FIELD_TABLE(call_fields);

/* Numbers of an object: their bounds and what they are when absent. */
struct number {
    const char *name;
    int64_t low, high, otherwise;
};

static int refused(const struct refusal *refusal, struct err *err)
{
    return err_set(err, ERR_USAGE, "script: %s", refusal->message);
}

static int check_object(const struct js *value, const struct field_table *table,
                        const struct place *place, struct err *err)
{
    struct refusal refusal;
    if (refusal_object(value, place, NULL, &refusal) != 0 ||
        refusal_fields(value, table, place, &refusal) != 0)
        return refused(&refusal, err);
    return 0;
}

static int read_number(const struct js *object, const struct number *number,
                       const struct place *place, int64_t *out, struct err *err)
{
    *out = js_get_int(object, number->name, number->otherwise);
    if (*out >= number->low && *out <= number->high)
        return 0;
    char path[160];
    refusal_place(place, number->name, path, sizeof path);
    return err_set(err, ERR_USAGE, "script: '%s' is %lld; expected %lld to %lld", path,
                   (long long)*out, (long long)number->low, (long long)number->high);
}

static int read_models(struct script *script, const struct js *models, struct err *err)
{
    static const struct script_model only = {{"scripted", 8}, 32768, 8192, NULL};
    static const struct number window = {"window", 1, INT32_MAX, 32768};
    static const struct number output = {"max_output", 1, INT32_MAX, 8192};
    size_t count = js_count(models);
    script->model_count = count > 0 ? count : 1;
    script->models = arena_alloc(&script->arena, script->model_count * sizeof *script->models);
    script->models[0] = only;
    for (size_t i = 0; i < count; i++) {
        const struct js *model = js_at(models, i);
        struct place place = {.list = "models", .index = i};
        struct script_model *out = &script->models[i];
        if (check_object(model, &model_table, &place, err) != 0 ||
            read_number(model, &window, &place, &out->window, err) != 0 ||
            read_number(model, &output, &place, &out->max_output, err) != 0)
            return -1;
        out->id = js_get_str(model, "id");
        out->refuses = js_get(model, "refuses");
    }
    return 0;
}

static int read_regex(struct script_rule *rule, struct str pattern, const struct place *place,
                      struct err *err)
{
    if (pattern.p == NULL)
        return 0;
    int code;
    PCRE2_SIZE offset;
    rule->regex = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, PCRE2_UTF | PCRE2_DOTALL, &code,
                                &offset, NULL);
    if (rule->regex == NULL) {
        PCRE2_UCHAR why[200];
        pcre2_get_error_message(code, why, sizeof why);
        return err_set(err, ERR_USAGE,
                       "script: rules.[%zu].when.first_user_regex, character %zu: %s", place->index,
                       (size_t)offset, (const char *)why);
    }
    /* Without JIT the pattern is only slower. */
    (void)pcre2_jit_compile(rule->regex, PCRE2_JIT_COMPLETE);
    return 0;
}

static int check_calls(const struct js *calls, const struct place *place, struct err *err)
{
    static const struct number repeat = {"repeat", 1, 10000, 1};
    int64_t unused;
    for (size_t i = 0; i < js_count(calls); i++) {
        struct place at = {place->list, place->index, "calls", i, NULL};
        if (check_object(js_at(calls, i), &call_table, &at, err) != 0 ||
            read_number(js_at(calls, i), &repeat, &at, &unused, err) != 0)
            return -1;
    }
    return 0;
}

static int read_drop(struct script_reply *reply, struct str drop, const struct place *place,
                     struct err *err)
{
    if (drop.p == NULL)
        reply->drop = DROP_NEVER;
    else if (str_is(drop, "before-headers"))
        reply->drop = DROP_BEFORE_HEADERS;
    else if (str_is(drop, "mid-stream"))
        reply->drop = DROP_MID_STREAM;
    else
        return err_set(err, ERR_USAGE,
                       "script: rules.[%zu]: drop is '%.*s'; expected before-headers or mid-stream",
                       place->index, STR_FMT(drop));
    return 0;
}

static int read_reply(const struct js *object, const struct place *place,
                      struct script_reply *reply, struct err *err)
{
    if (check_object(object, &reply_table, place, err) != 0)
        return -1;
    const struct {
        struct number number;
        int64_t *out;
    } numbers[] = {
        {{"repeat", 1, 10000000, 1}, &reply->text_repeat},
        {{"delay_ms", 0, 600000, 0}, &reply->delay_ms},
        {{"chunk_delay_ms", 0, 600000, 0}, &reply->chunk_delay_ms},
        {{"chunks", 1, 100000, 4}, &reply->chunks},
        {{"status", 200, 599, 200}, &reply->status},
        {{"fail_times", 0, INT32_MAX, 0}, &reply->fail_times},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (read_number(object, &numbers[i].number, place, numbers[i].out, err) != 0)
            return -1;
    reply->thinking = js_get_str(object, "thinking");
    reply->text = js_get_str(object, "text");
    reply->finish = js_get_str(object, "finish");
    reply->error = js_get_str(object, "error");
    reply->retry_after = js_get_str(object, "retry_after");
    reply->raw = js_get_str(object, "raw");
    reply->calls = js_get(object, "calls");
    reply->reasoning = js_get(object, "reasoning");
    reply->usage = js_get(object, "usage");
    reply->usage_kind = reply->usage == NULL                 ? USAGE_ESTIMATED
                        : js_kind(reply->usage) == JS_OBJECT ? USAGE_GIVEN
                                                             : USAGE_ABSENT;
    if (check_calls(reply->calls, place, err) != 0)
        return -1;
    if (reply->reasoning != NULL &&
        check_object(reply->reasoning, &echo_sent_table, place, err) != 0)
        return -1;
    return read_drop(reply, js_get_str(object, "drop"), place, err);
}

static int read_then(struct script *script, const struct js *reply, size_t at,
                     struct script_rule *rule, struct err *err)
{
    const struct js *then = js_get(reply, "then");
    if (then == NULL)
        return 0;
    struct place place = {.list = "rules", .index = at, .within = "reply.then"};
    if (rule->reply.fail_times == 0 || js_get(then, "then") != NULL ||
        js_get(then, "fail_times") != NULL)
        return err_set(err, ERR_USAGE,
                       "script: rules.[%zu]: 'then' belongs to a reply with fail_times, once", at);
    struct script_reply *out = arena_alloc(&script->arena, sizeof *out);
    if (read_reply(then, &place, out, err) != 0)
        return -1;
    rule->reply.then = out;
    return 0;
}

static int read_rule(struct script *script, const struct js *object, size_t at, struct err *err)
{
    static const struct number turn = {"turn", 0, INT32_MAX, SCRIPT_ANY_TURN};
    struct script_rule *rule = &script->rules[at];
    struct place place = {.list = "rules", .index = at};
    if (check_object(object, &rule_table, &place, err) != 0)
        return -1;
    rule->turn = SCRIPT_ANY_TURN;
    const struct js *when = js_get(object, "when");
    place.within = "when";
    if (when != NULL && check_object(when, &when_table, &place, err) != 0)
        return -1;
    if (js_get(when, "turn") != NULL && read_number(when, &turn, &place, &rule->turn, err) != 0)
        return -1;
    rule->first_user = js_get_str(when, "first_user");
    rule->last = js_get_str(when, "last");
    rule->last_lacks = js_get_str(when, "last_lacks");
    rule->system = js_get_str(when, "system");
    rule->has_tool = js_get_str(when, "has_tool");
    if (read_regex(rule, js_get_str(when, "first_user_regex"), &place, err) != 0)
        return -1;
    rule->expects = js_get(object, "expects");
    place.within = "expects";
    if (rule->expects != NULL &&
        check_object(rule->expects, &echo_expected_table, &place, err) != 0)
        return -1;
    place.within = "reply";
    const struct js *reply = js_get(object, "reply");
    if (read_reply(reply, &place, &rule->reply, err) != 0)
        return -1;
    return read_then(script, reply, at, rule, err);
}

static void index_rule(struct script *script, size_t at)
{
    struct script_rule *rule = &script->rules[at];
    if (rule->first_user.n == 0) {
        script->always[script->always_count++] = at;
        return;
    }
    struct needle *needle = needles_add(&script->needles, &script->arena, rule->first_user);
    if (needle->first == 0)
        needle->first = at + 1;
    else
        script->rules[needle->last - 1].next = at + 1;
    needle->last = at + 1;
}

static int read_strictness(struct script *script, struct err *err)
{
    struct str template = js_get_str(script->document, "template");
    struct str ids = js_get_str(script->document, "ids");
    if (template.p != NULL && !str_is(template, "alternating"))
        return err_set(err, ERR_USAGE, "script: template is '%.*s'; expected alternating",
                       STR_FMT(template));
    if (ids.p != NULL && !str_is(ids, "mistral"))
        return err_set(err, ERR_USAGE, "script: ids is '%.*s'; expected mistral", STR_FMT(ids));
    script->roles = template.p != NULL ? SCRIPT_ROLES_ALTERNATE : SCRIPT_ROLES_FREE;
    script->ids = ids.p != NULL ? SCRIPT_IDS_MISTRAL : SCRIPT_IDS_FREE;
    return 0;
}

int script_load(struct script *script, struct str text, struct err *err)
{
    static const struct number divisor = {"bytes_per_token", 1, 1000, 4};
    static const struct place top = {0};
    *script = (struct script){0};
    arena_init(&script->arena);
    needles_init(&script->needles);
    script->document = js_parse(text, err);
    if (script->document == NULL) {
        err_prefix(err, "script");
        err->class = ERR_USAGE;
        goto failed;
    }
    const struct js *rules = js_get(script->document, "rules");
    if (check_object(script->document, &script_table, &top, err) != 0 ||
        read_number(script->document, &divisor, &top, &script->bytes_per_token, err) != 0 ||
        read_models(script, js_get(script->document, "models"), err) != 0 ||
        read_strictness(script, err) != 0)
        goto failed;
    script->api_key = js_get_str(script->document, "api_key");
    if (js_count(rules) > RULES_MAX) {
        err_set(err, ERR_USAGE, "script: more than %d rules", RULES_MAX);
        goto failed;
    }
    script->rules = arena_alloc(&script->arena, (js_count(rules) + 1) * sizeof *script->rules);
    script->always = arena_alloc(&script->arena, (js_count(rules) + 1) * sizeof *script->always);
    for (size_t i = 0; i < js_count(rules); i++) {
        script->rule_count = i + 1;
        if (read_rule(script, js_at(rules, i), i, err) != 0)
            goto failed;
        index_rule(script, i);
    }
    return 0;
failed:
    script_release(script);
    return -1;
}

void script_release(struct script *script)
{
    for (size_t i = 0; i < script->rule_count; i++)
        pcre2_code_free(script->rules[i].regex);
    needles_release(&script->needles);
    arena_release(&script->arena);
    js_free(script->document);
    *script = (struct script){0};
}

const struct script_model *script_model(const struct script *script, struct str id)
{
    for (size_t i = 0; i < script->model_count; i++)
        if (str_eq(script->models[i].id, id))
            return &script->models[i];
    return NULL;
}

static bool contains(struct str text, struct str part)
{
    return part.n == 0 || (text.n >= part.n && memmem(text.p, text.n, part.p, part.n) != NULL);
}

static bool regex_matches(const struct script_rule *rule, struct str text,
                          struct script_match *match)
{
    match->group_count = 0;
    if (rule->regex == NULL)
        return true;
    pcre2_match_data *data = pcre2_match_data_create(SCRIPT_GROUPS, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    bool matches = false;
    if (data != NULL && context != NULL) {
        pcre2_set_match_limit(context, MATCH_LIMIT);
        int found = pcre2_match(rule->regex, (PCRE2_SPTR)text.p, text.n, 0, PCRE2_NO_UTF_CHECK,
                                data, context);
        matches = found >= 0;
        if (found == 0)
            found = SCRIPT_GROUPS; /* more groups than there is room for: the first ones are set */
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        for (int i = 0; i < found; i++)
            match->groups[i] =
                ends[2 * i] == PCRE2_UNSET
                    ? STR("")
                    : (struct str){text.p + ends[2 * i], ends[2 * i + 1] - ends[2 * i]};
        match->group_count = found > 0 ? (size_t)found : 0;
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return matches;
}

/* Everything but first_user, cheapest first. */
static bool rule_matches(const struct script_rule *rule, const struct asked *asked,
                         struct script_match *match)
{
    if (rule->turn != SCRIPT_ANY_TURN && rule->turn != asked->turn)
        return false;
    if (rule->last_lacks.n > 0 && contains(asked->last, rule->last_lacks))
        return false;
    if (rule->has_tool.p != NULL && map_get(&asked->tools, rule->has_tool) == NULL)
        return false;
    return contains(asked->system, rule->system) && contains(asked->last, rule->last) &&
           regex_matches(rule, asked->first_user, match);
}

struct search {
    const struct script *script;
    const struct asked *asked;
    size_t from;                /* rules before this one are out */
    size_t best;                /* SIZE_MAX: none yet */
    struct script_match *match; /* of the best */
};

static void consider(struct search *search, size_t at)
{
    struct script_match match = {.rule = at};
    if (!rule_matches(&search->script->rules[at], search->asked, &match))
        return;
    search->best = at;
    *search->match = match;
}

static void needle_found(void *user, const struct needle *needle)
{
    struct search *search = user;
    for (size_t next = needle->first; next != 0; next = search->script->rules[next - 1].next) {
        size_t at = next - 1;
        if (at >= search->best)
            return;
        if (at >= search->from)
            consider(search, at);
    }
}

static size_t find_from(const struct script *script, const struct asked *asked, size_t from,
                        struct script_match *match)
{
    struct search search = {script, asked, from, SIZE_MAX, match};
    needles_find(&script->needles, asked->first_user, needle_found, &search);
    for (size_t i = 0; i < script->always_count && script->always[i] < search.best; i++)
        if (script->always[i] >= from)
            consider(&search, script->always[i]);
    return search.best;
}

int script_find(struct script *script, const struct asked *asked, struct script_match *match)
{
    for (size_t from = 0;; from++) {
        from = find_from(script, asked, from, match);
        if (from == SIZE_MAX)
            return -1;
        struct script_rule *rule = &script->rules[from];
        match->reply = &rule->reply;
        if (rule->reply.fail_times > 0 &&
            atomic_fetch_add(&rule->served, 1) >= (uint_fast64_t)rule->reply.fail_times)
            match->reply = rule->reply.then;
        if (match->reply != NULL)
            return 0;
    }
}
