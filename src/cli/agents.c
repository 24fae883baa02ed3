/* The control plane for commands: opening, writing, reading files, and lines that several of them print. */
#include "cli/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/trust.h"
#include "cli/typed.h"
#include "os/clock.h"

int agents_open(struct agents *agents, struct invocation *invocation, struct err *err)
{
    struct wire_request request = {
        .need = WIRE_STORE, .consent = trust_leave_out, .consent_user = &invocation->output};
    *agents = (struct agents){.invocation = invocation};
    wire_flags(&invocation->arguments, &request.flags);
    if (wire_open(&request, &agents->wire, err) != 0)
        return -1;
    const struct workspace *workspace = wire_workspace(agents->wire);
    struct plane_ids ids = {workspace->session_id, workspace->user_id, workspace->workspace_id};
    if (wire_store(agents->wire, &agents->store, err) == 0 &&
        plane_load(&agents->plane, agents->store, &ids, err) == 0)
        return 0;
    agents_close(agents);
    return -1;
}

void agents_close(struct agents *agents)
{
    plane_release(&agents->plane);
    if (agents->store != NULL)
        agents->store->ops->close(agents->store);
    wire_close(agents->wire);
    *agents = (struct agents){0};
}

void agents_warn(struct agents *agents)
{
    const struct problems *problems = &agents->plane.problems;
    for (size_t i = 0; i < problems->count; i++)
        output_error(&agents->invocation->output, "warning: in the store: %.*s: %.*s",
                     STR_FMT(problems->items[i].path), STR_FMT(problems->items[i].message));
}

int agents_expected(const struct agents *agents, uint64_t otherwise, uint64_t *expected,
                    struct err *err)
{
    int64_t number = 0;
    if (arguments_number(&agents->invocation->arguments, "if-version", 0, INT64_MAX / 10,
                         (int64_t)otherwise, &number, err) != 0)
        return -1;
    *expected = (uint64_t)number;
    return 0;
}

int agents_version(struct agents *agents, struct str type, struct str id, uint64_t *version,
                   struct err *err)
{
    struct buf value;
    buf_init(&value, (size_t)64 << 20);
    int result = agents->store->ops->record_get(agents->store, type, id, &value, version, err);
    buf_release(&value);
    if (result == 0)
        return 0;
    *version = 0;
    if (err->class != ERR_NOT_FOUND)
        return -1;
    *err = ERR_INIT;
    return 0;
}

static void report(struct agents *agents, struct str type, struct str id, uint64_t version,
                   struct str done)
{
    struct output *output = &agents->invocation->output;
    struct buf line;
    struct jw w;
    if (output->format == OUTPUT_TEXT) {
        output_clean(output, done, UTF8_ONE_LINE);
        output_print(output, " (version %llu)\n", (unsigned long long)version);
        return;
    }
    buf_init(&line, 65536);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "written");
    jw_kstr(&w, "resource_type", type);
    jw_kstr(&w, "resource_id", id);
    jw_kint(&w, "version", (int64_t)version);
    jw_kstr(&w, "message", done);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* Every mistake, which is more than an error's message holds. */
static enum exit_code refuse(struct agents *agents, const struct problems *problems,
                             const struct err *err)
{
    struct output *output = &agents->invocation->output;
    struct buf text;
    struct jw w;
    buf_init(&text, (size_t)1 << 16);
    problems_print(problems, &text);
    text.n -= text.n > 0; /* its last newline */
    output_error(output, "nothing was written, the value is not valid:\n%.*s",
                 STR_FMT(buf_view(&text)));
    if (output->format == OUTPUT_JSON) {
        buf_clear(&text);
        jw_init(&w, &text);
        jw_object(&w);
        jw_ktext(&w, "type", "error");
        jw_ktext(&w, "class", err_class_text(err->class));
        jw_ktext(&w, "message", err->message);
        jw_key(&w, "problems");
        jw_array(&w);
        for (size_t i = 0; i < problems->count; i++) {
            jw_object(&w);
            jw_kstr(&w, "path", problems->items[i].path);
            jw_kstr(&w, "message", problems->items[i].message);
            jw_end_object(&w);
        }
        jw_end_array(&w);
        jw_kint(&w, "problem_count", (int64_t)problems->found);
        jw_end_object(&w);
        output_json(output, &text);
    }
    buf_release(&text);
    return exit_of_error(err->class);
}

enum exit_code agents_write(struct agents *agents, struct str type, struct str id,
                            uint64_t expected, struct str value, struct str done)
{
    struct plane_change change = {
        .type = type,
        .id = id,
        .expected = expected,
        .value = value,
        .who = wire_workspace(agents->wire)->user_id,
        .now = clock_now_ms(),
    };
    struct problems problems;
    struct err err = ERR_INIT;
    uint64_t version;
    problems_init(&problems, &agents->plane.arena);
    if (plane_write(&agents->plane, agents->store, &change, &problems, &version, &err) == 0) {
        report(agents, type, id, version, done);
        return EXIT_CODE_DONE;
    }
    if (problems.found > 0)
        return refuse(agents, &problems, &err);
    if (err.class == ERR_RETRY)
        err_prefix(&err, "nothing was written; look at it again, then try again");
    return command_fail(agents->invocation, &err);
}

int agents_read_file(struct str name, struct buf *out, struct err *err)
{
    int fd = STDIN_FILENO, result = -1;
    struct arena arena;
    struct str path;
    arena_init(&arena);
    if (!str_is(name, "-") && typed_path(&arena, name, &path, err) != 0)
        goto out;
    if (!str_is(name, "-") && (fd = open(path.p, O_RDONLY | O_CLOEXEC)) < 0) {
        err_set(err, ERR_USAGE, "%.*s: %s", STR_FMT(name), strerror(errno));
        goto out;
    }
    for (;;) {
        char piece[4096];
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_set(err, ERR_IO, "%.*s: %s", STR_FMT(name), strerror(errno));
            break;
        }
        buf_add(out, piece, (size_t)n);
        if (out->n > RECORD_VALUE_MAX || out->failed) {
            err_set(err, ERR_USAGE, "%.*s has more than %d bytes", STR_FMT(name), RECORD_VALUE_MAX);
            break;
        }
        if (n == 0) {
            result = 0;
            break;
        }
    }
out:
    if (fd > STDIN_FILENO)
        close(fd);
    arena_release(&arena);
    return result;
}

void agents_line(struct output *output, const char *label, struct str value)
{
    output_print(output, "%-22s ", label);
    output_clean(output, value, UTF8_ONE_LINE);
    output_print(output, "\n");
}

void agents_line_list(struct output *output, const char *label, const struct list *list,
                      const char *absent)
{
    struct buf text;
    buf_init(&text, 65536);
    for (size_t i = 0; i < list->n; i++) {
        buf_text(&text, i > 0 ? ", " : "");
        buf_str(&text, list->items[i]);
    }
    if (list->n == 0)
        buf_text(&text, list->state == LIST_SET ? "none" : absent);
    agents_line(output, label, buf_view(&text));
    buf_release(&text);
}

void agents_document(struct output *output, const struct buf *json)
{
    if (output->format == OUTPUT_TEXT && output->target == OUTPUT_TERMINAL)
        output_clean(output, buf_view(json), UTF8_LINES);
    else
        output_json(output, json);
}

void agents_json_agent(struct agents *agents, const struct registry_agent *agent)
{
    const struct plane_profile *profile = plane_profile(&agents->plane, agent->profile_id);
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "agent");
    jw_key(&w, "agent");
    registry_agent_print(agent, &w);
    jw_key(&w, "profile");
    if (profile != NULL)
        agent_profile_print(&profile->profile, &w);
    else
        jw_null(&w);
    jw_kint(&w, "registry_version", (int64_t)agents->plane.registry_version.version);
    jw_end_object(&w);
    output_json(&agents->invocation->output, &line);
    buf_release(&line);
}

void agents_json_profile(struct agents *agents, const struct plane_profile *profile)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "profile");
    jw_key(&w, "profile");
    agent_profile_print(&profile->profile, &w);
    jw_kint(&w, "version", (int64_t)profile->version.version);
    jw_kstr(&w, "who", profile->version.who);
    jw_kint(&w, "at", profile->version.at);
    jw_end_object(&w);
    output_json(&agents->invocation->output, &line);
    buf_release(&line);
}
