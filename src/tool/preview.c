/* See preview.h. A tool without a preview of its own, or one whose preview fails, is shown with all its arguments, each whole.
 * Blocks on files: any thread but the loop's. */
#include "tool/preview.h"

#include "os/scope.h"
#include "tool/diff.h"
#include "tool/result.h"

#define ERROR_MAX 4000 /* bytes of what the call would fail with */
#define DIFF_WHOLE ((struct diff_bounds){.lines = SIZE_MAX, .line_bytes = SIZE_MAX})

void preview_add_kind(const struct tool_context *context, struct preview *preview,
                      enum preview_kind kind, struct preview_part part)
{
    preview->bytes += part.label.n + part.text.n;
    if (preview->bytes > PREVIEW_BYTES_MAX || preview->count == PREVIEW_PARTS_MAX) {
        preview->size = PREVIEW_TOO_LARGE;
        return;
    }
    preview->parts[preview->count++] = (struct preview_part){
        .label = arena_copy(context->arena, part.label),
        .text = arena_copy(context->arena, part.text.p != NULL ? part.text : STR("")),
        .kind = kind};
}

void preview_add(const struct tool_context *context, struct preview *preview, const char *label,
                 struct str text)
{
    preview_add_kind(context, preview, PREVIEW_TEXT,
                     (struct preview_part){.label = str_from(label), .text = text});
}

void preview_walls(const struct tool_context *context, struct preview *preview)
{
    static const char *const networks[] = {
        [SANDBOX_NET_NONE] = "none",
        [SANDBOX_NET_RELAY] = "through the relay that your config names",
        [SANDBOX_NET_NAMES] = "hosts by name",
        [SANDBOX_NET_FULL] = "all of it: the command can reach the machine's network"};
    const struct scope *scope = context->scope;
    struct str missing = context->services != NULL && context->services->sandbox != NULL
                             ? context->services->sandbox->missing
                             : STR_NONE;
    struct str directory = str_is(context->working_directory, ".")
                               ? str_from(scope_shown(scope))
                               : arena_printf(context->arena, "%s/%.*s", scope_shown(scope),
                                              STR_FMT(context->working_directory));
    preview_add(context, preview, "directory",
                scope->shown == SCOPE_AS_GIVEN
                    ? arena_printf(context->arena, "%.*s (in the agent's own copy of it)",
                                   STR_FMT(directory))
                    : directory);
    if (context->network != SANDBOX_NET_NONE)
        preview_add(context, preview, "network",
                    context->network == SANDBOX_NET_NAMES ? context->hosts
                                                          : str_from(networks[context->network]));
    if (missing.n > 0)
        preview_add(context, preview, "walls that are off", missing);
    preview->reach =
        context->network == SANDBOX_NET_NONE && missing.n == 0 ? PREVIEW_INSIDE : PREVIEW_OUTSIDE;
}

void preview_change(const struct tool_context *context, struct preview *preview, struct str path,
                    struct str before, struct str after)
{
    struct buf diff;
    preview_add(context, preview,
                before.p == NULL  ? "new file"
                : after.p == NULL ? "deleted file"
                                  : "file",
                path);
    buf_init(&diff, 4 * PREVIEW_BYTES_MAX);
    diff_print(before.p != NULL ? before : STR(""), after.p != NULL ? after : STR(""), DIFF_WHOLE,
               &diff);
    if (diff.failed)
        preview->size = PREVIEW_TOO_LARGE;
    else if (diff.n > 0)
        preview_add_kind(context, preview, PREVIEW_DIFF,
                         (struct preview_part){.label = STR("change"), .text = buf_view(&diff)});
    else
        preview_add(context, preview, "change",
                    STR("none: the content is empty or stays as it is"));
    buf_release(&diff);
    preview->change = PREVIEW_CHANGES_FILE;
    preview->before = hash_of(before);
    preview->after = hash_of(after);
    preview->reach = PREVIEW_INSIDE;
}

/* --- any tool ------------------------------------------------------------------------------------------------------------- */

static void add_value(const struct tool_context *context, struct preview *preview, struct str key,
                      const struct js *value)
{
    struct buf text;
    buf_init(&text, PREVIEW_BYTES_MAX);
    if (js_kind(value) == JS_STRING)
        buf_str(&text, js_str(value));
    else
        js_print(value, &text);
    preview_add_kind(context, preview, PREVIEW_TEXT,
                     (struct preview_part){.label = key, .text = buf_view(&text)});
    buf_release(&text);
}

/* All arguments, each whole; as one JSON text where they are many. */
static void add_arguments(const struct tool_context *context, struct preview *preview,
                          const struct js *arguments, struct str json)
{
    struct str key;
    const struct js *value;
    preview->reach = PREVIEW_OUTSIDE;
    if (js_count(arguments) > PREVIEW_PARTS_MAX - preview->count) {
        preview_add(context, preview, "arguments", json);
        return;
    }
    for (void *i = js_next(arguments, NULL, &key, &value); i != NULL;
         i = js_next(arguments, i, &key, &value))
        add_value(context, preview, key, value);
}

/* Starts anew with the reason; what stands behind it may be cut, and then says so. */
static void explain(const struct tool_context *context, struct preview *preview, struct str reason)
{
    *preview = (struct preview){.tool = preview->tool, .reach = PREVIEW_OUTSIDE};
    preview_add_kind(context, preview, PREVIEW_PROBLEM,
                     (struct preview_part){.label = STR("problem"), .text = reason});
}

static struct hash hash_shown(const struct preview *preview)
{
    struct hasher h;
    hasher_init(&h);
    hasher_str(&h, STR("cadre preview 1"));
    hasher_str(&h, preview->tool);
    hasher_u64(&h, preview->reach);
    hasher_u64(&h, preview->change);
    hasher_add(&h, preview->before.bytes, sizeof preview->before.bytes);
    hasher_add(&h, preview->after.bytes, sizeof preview->after.bytes);
    for (size_t i = 0; i < preview->count; i++) {
        hasher_u64(&h, preview->parts[i].kind);
        hasher_str(&h, preview->parts[i].label);
        hasher_str(&h, preview->parts[i].text);
    }
    return hasher_end(&h);
}

void tool_preview(const struct tool_context *of_call, struct str name, struct str json,
                  struct preview *preview)
{
    /* An error is the same text whenever the preview is made, whatever room the call's result has. */
    struct tool_context own = *of_call;
    const struct tool_context *context = &own;
    own.max_result = ERROR_MAX;
    struct err err = ERR_INIT;
    struct tool_result result = {.kind = RESULT_OK};
    const struct tool *tool = tool_find(name);
    struct js *arguments = js_parse(json, &err);
    *preview = (struct preview){.tool = arena_copy(context->arena, name), .reach = PREVIEW_OUTSIDE};
    tool_result_start(context, &result);
    if (context->scope == NULL) {
        explain(context, preview, STR("the files of this agent are gone"));
        add_arguments(context, preview, arguments, json);
    } else if (tool == NULL || tool->preview == NULL || arguments == NULL) {
        add_arguments(context, preview, arguments, json);
    } else if (tool->preview(context, arguments, preview, &result) != 0) {
        explain(context, preview, buf_view(&result.text));
        add_arguments(context, preview, arguments, json);
    }
    preview_seal(context, preview, json);
    js_free(arguments);
    buf_release(&result.text);
}

void preview_seal(const struct tool_context *context, struct preview *preview, struct str json)
{
    if (preview->size == PREVIEW_TOO_LARGE) {
        struct hash whole = hash_of(json);
        char hex[HASH_HEX + 1];
        hash_hex(&whole, hex);
        explain(context, preview,
                arena_printf(context->arena,
                             "the call is too large to be shown: more than %zu bytes. Its "
                             "arguments have %zu bytes and the hash %s",
                             PREVIEW_BYTES_MAX, json.n, hex));
    }
    preview->shown = hash_shown(preview);
}
