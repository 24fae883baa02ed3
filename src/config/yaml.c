/* YAML by libfyaml's events: builds a small tree with the place of every node. Works on events, not on libfyaml's
 * documents, so that an alias is refused before anything is expanded and every bound is checked while reading.
 * Does not know config keys. Runs on the main thread before the loop starts. */
#include "config/yaml.h"

#include <libfyaml.h>

#include "base/json.h"
#include "base/utf8.h"

/* The largest plan has some 17000 values: a hundred steps, each of which needs all before it. */
enum { DEPTH_MAX = 16, NODES_MAX = 32768, MEMBERS_MAX = 1024 };

struct builder {
    struct arena *arena;
    const struct config_source *source;
    struct err *err;
    struct yaml_node *root;
    struct yaml_node *open[DEPTH_MAX];
    int depth;
    struct yaml_node *pending_key; /* of the innermost mapping: its value comes next */
    size_t nodes, documents;
};

/* libfyaml prints on stderr unless its output is taken; the collected errors are what is shown. */
static void drop_output(struct fy_diag *diag, void *user, const char *text, size_t n)
{
}

static int builder_error(struct builder *builder, const struct config_place *place,
                         const char *message)
{
    return config_error(place, EXCERPT_LINE, builder->err, "%s", message);
}

static struct config_place event_place(const struct builder *builder, struct fy_event *event)
{
    const struct fy_mark *start = fy_event_start_mark(event);
    const struct fy_mark *end = fy_event_end_mark(event);
    if (!start) { /* an empty value: point at its key */
        const struct yaml_node *near = builder->pending_key;
        return near ? near->place : (struct config_place){builder->source, 0, 0};
    }
    struct config_place place = {builder->source, start->input_pos, 0};
    if (event->type == FYET_SCALAR && end && end->input_pos > start->input_pos)
        place.length = end->input_pos - start->input_pos;
    enum fy_node_style style = fy_event_get_node_style(event);
    int quoted = style == FYNS_SINGLE_QUOTED || style == FYNS_DOUBLE_QUOTED;
    if (event->type == FYET_SCALAR && quoted && place.at > 0) { /* marks stand inside the quotes */
        place.at--;
        place.length += 2;
    }
    return place;
}

/* An error at the &, * or ! of a token; for & and * libfyaml's mark stands behind it. */
static int mark_error(struct builder *builder, struct fy_token *token, const char *message)
{
    struct str text = builder->source->text;
    const struct fy_mark *start = token ? fy_token_start_mark(token) : NULL;
    struct config_place place = {builder->source, start ? start->input_pos : 0, 1};
    if (place.at > 0 && place.at <= text.n && strchr("&*", text.p[place.at - 1]))
        place.at--;
    return builder_error(builder, &place, message);
}

static int add_member(struct builder *builder, struct yaml_node *parent, struct yaml_node *node)
{
    if (parent->kind == YAML_MAPPING && !builder->pending_key) {
        if (node->kind != YAML_SCALAR)
            return builder_error(builder, &node->place, "a key must be a plain text");
        for (const struct yaml_node *other = parent->first; other; other = other->next)
            if (str_eq(other->key->text, node->text))
                return config_error(&node->place, EXCERPT_HIDE_REST, builder->err,
                                    "key '%.*s' is given twice", STR_FMT(node->text));
        builder->pending_key = node;
        return 0;
    }
    if (++parent->count > MEMBERS_MAX)
        return builder_error(builder, &node->place, "more than 1024 members in one place");
    node->key = builder->pending_key;
    builder->pending_key = NULL;
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return 0;
}

static int add_node(struct builder *builder, struct fy_event *event, enum yaml_kind kind)
{
    struct config_place place = event_place(builder, event);
    struct fy_token *anchor = fy_event_get_anchor_token(event),
                    *tag = fy_event_get_tag_token(event);
    if (anchor)
        return mark_error(builder, anchor, "anchors (&name) are not supported");
    if (tag)
        return mark_error(builder, tag, "tags (!name) are not supported");
    if (++builder->nodes > NODES_MAX)
        return builder_error(builder, &place, "more than 32768 values in one file");

    struct yaml_node *node = arena_alloc(builder->arena, sizeof *node);
    node->kind = kind;
    node->place = place;
    if (kind == YAML_SCALAR) {
        size_t length = 0;
        const char *text =
            event->scalar.value ? fy_token_get_text(event->scalar.value, &length) : NULL;
        node->text = arena_copy(builder->arena, (struct str){text ? text : "", text ? length : 0});
        enum fy_node_style style = fy_event_get_node_style(event);
        node->style = style == FYNS_PLAIN || style == FYNS_ANY ? YAML_PLAIN : YAML_QUOTED;
    }
    if (builder->depth == 0)
        builder->root = node;
    else if (add_member(builder, builder->open[builder->depth - 1], node) != 0)
        return -1;
    if (kind == YAML_SCALAR)
        return 0;
    if (builder->depth == DEPTH_MAX)
        return builder_error(builder, &place, "nested more than 16 levels deep");
    builder->open[builder->depth++] = node;
    return 0;
}

static int add_event(struct builder *builder, struct fy_event *event)
{
    struct config_place place;
    struct fy_token *alias;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        place = event_place(builder, event);
        if (++builder->documents > 1)
            return builder_error(builder, &place, "a file holds one document");
        return 0;
    case FYET_ALIAS:
        alias = event->alias.anchor;
        return mark_error(builder, alias, "aliases (*name) are not supported");
    case FYET_SCALAR:
        return add_node(builder, event, YAML_SCALAR);
    case FYET_SEQUENCE_START:
        return add_node(builder, event, YAML_LIST);
    case FYET_MAPPING_START:
        return add_node(builder, event, YAML_MAPPING);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        builder->depth--;
        return 0;
    default:
        return 0;
    }
}

/* The parser's own first error, or the fact that there was one. */
static int syntax_error(struct builder *builder, struct fy_diag *diag)
{
    void *iterator = NULL;
    struct fy_diag_error *found;
    while ((found = fy_diag_errors_iterate(diag, &iterator)) != NULL) {
        if (found->type != FYET_ERROR)
            continue;
        size_t line = found->line > 0 ? (size_t)found->line : 1;
        size_t column = found->column > 0 ? (size_t)found->column : 1;
        struct config_place place = {builder->source, 0, 1};
        place.at = config_source_offset(builder->source, line, column);
        return builder_error(builder, &place, found->msg ? found->msg : "this is not YAML");
    }
    struct config_place place = {builder->source, 0, 0};
    return builder_error(builder, &place, "this is not YAML");
}

static int check_bytes(struct builder *builder)
{
    struct str text = builder->source->text;
    struct config_place place = {builder->source, utf8_valid(text), 1};
    if (place.at < text.n)
        return builder_error(builder, &place, "a byte here is not valid UTF-8");
    for (place.at = 0; place.at < text.n; place.at++) {
        unsigned char c = (unsigned char)text.p[place.at];
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F)
            return builder_error(builder, &place, "a control character has no place here");
        /* libfyaml's time for directives grows with their square. */
        bool starts = place.at == 0 || strchr("\n\r", text.p[place.at - 1]) ||
                      (place.at == 3 && str_starts(text, STR("\xEF\xBB\xBF")));
        if (c == '%' && starts)
            return builder_error(builder, &place, "a line does not start with %");
    }
    return 0;
}

static int read_events(struct builder *builder, struct fy_parser *parser, struct fy_diag *diag)
{
    struct fy_event *event;
    while ((event = fy_parser_parse(parser)) != NULL) {
        int result = add_event(builder, event);
        fy_parser_event_free(parser, event);
        if (result != 0)
            return -1;
    }
    if (fy_parser_get_stream_error(parser) || builder->depth != 0)
        return syntax_error(builder, diag);
    return 0;
}

int yaml_parse(struct arena *arena, const struct config_source *source, struct yaml_node **root,
               struct err *err)
{
    struct builder builder = {.arena = arena, .source = source, .err = err};
    *root = NULL;
    if (check_bytes(&builder) != 0)
        return -1;
    if (source->text.n == 0)
        return 0;

    int result = -1;
    struct fy_parser *parser = NULL;
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    diag_config.output_fn = drop_output;
    struct fy_diag *diag = fy_diag_create(&diag_config);
    if (!diag) {
        err_set(err, ERR_IO, "out of memory while reading %.*s", STR_FMT(source->name));
        goto out;
    }
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg parse_config = {
        .flags = FYPCF_QUIET | FYPCF_JSON_NONE | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_DISABLE_MMAP_OPT,
        .diag = diag,
    };
    parser = fy_parser_create(&parse_config);
    if (!parser || fy_parser_set_string(parser, source->text.p, source->text.n) != 0) {
        err_set(err, ERR_IO, "out of memory while reading %.*s", STR_FMT(source->name));
        goto out;
    }
    result = read_events(&builder, parser, diag);
    if (result == 0 && builder.root && !yaml_is_null(builder.root))
        *root = builder.root;
out:
    if (parser)
        fy_parser_destroy(parser);
    if (diag)
        fy_diag_destroy(diag);
    return result;
}

bool yaml_is_null(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && node->style == YAML_PLAIN &&
           (node->text.n == 0 || str_is(node->text, "~") || str_is(node->text, "null"));
}

const char *yaml_found(const struct yaml_node *node)
{
    if (node->kind == YAML_MAPPING)
        return "a mapping";
    if (node->kind == YAML_LIST)
        return "a list";
    return yaml_is_null(node) ? "nothing" : NULL;
}

static bool is_json_scalar(struct str text)
{
    struct err unused = ERR_INIT;
    struct js *value = js_parse(text, &unused);
    enum js_kind kind = js_kind(value);
    js_free(value);
    return kind == JS_BOOL || kind == JS_INT || kind == JS_REAL;
}

/* Nesting is bounded by the reader. */
void yaml_print_json(const struct yaml_node *node, yaml_typed_fn *typed, struct buf *out)
{
    bool mapping = node->kind == YAML_MAPPING;
    if (node->kind == YAML_SCALAR) {
        if (yaml_is_null(node))
            buf_text(out, "null");
        else if (node->style == YAML_PLAIN && (!typed || typed(node)) && is_json_scalar(node->text))
            buf_str(out, node->text);
        else
            json_quote(out, node->text);
        return;
    }
    buf_char(out, mapping ? '{' : '[');
    for (const struct yaml_node *item = node->first; item; item = item->next) {
        buf_text(out, item != node->first ? "," : "");
        if (mapping) {
            json_quote(out, item->key->text);
            buf_char(out, ':');
        }
        yaml_print_json(item, typed, out);
    }
    buf_char(out, mapping ? '}' : ']');
}
