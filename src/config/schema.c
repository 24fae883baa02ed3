/* A JSON Schema written as YAML: becomes JSON, is checked (core/contract/schema.h), and an error is traced back to its line. Runs on
 * the main thread before the loop starts. */
#include "config/schema.h"

#include <stdio.h>

#include "core/contract/schema.h"

/* One name of a pointer: "~1" is a slash, "~0" a tilde. */
static bool is_named(const struct yaml_node *item, size_t index, const char *name, size_t n)
{
    char text[32];
    size_t at = 0;
    struct str key = item->key ? item->key->text : STR_NONE;
    if (!item->key) {
        snprintf(text, sizeof text, "%zu", index);
        key = str_from(text);
    }
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        if (c == '~' && i + 1 < n)
            c = name[++i] == '1' ? '/' : '~';
        if (at >= key.n || key.p[at++] != c)
            return false;
    }
    return at == key.n;
}

/* The node that the pointer names, or the deepest one on the way to it. */
static const struct yaml_node *find(const struct yaml_node *node, const char *pointer)
{
    while (*pointer == '/') {
        size_t n = strcspn(++pointer, "/"), index = 0;
        const struct yaml_node *item = node->first;
        while (item && !is_named(item, index++, pointer, n))
            item = item->next;
        if (!item)
            break;
        node = item;
        pointer += n;
    }
    return node;
}

int config_schema_read(struct arena *arena, const struct yaml_node *node, struct str *json,
                       struct err *err)
{
    struct buf text;
    struct schema_place place = {""};
    struct err problem = ERR_INIT;
    buf_init(&text, SCHEMA_BYTES_MAX);
    yaml_print_json(node, NULL, &text);
    if (text.failed)
        err_set(&problem, ERR_CONFIG, "a schema may have at most %d bytes", SCHEMA_BYTES_MAX);
    struct js *schema =
        text.failed ? NULL : js_parse_within(buf_view(&text), SCHEMA_LEVELS, &problem);
    bool good = schema && schema_check(schema, &place, &problem) == 0;
    if (good) {
        buf_clear(&text);
        js_print(schema, &text);
        *json = arena_copy(arena, buf_view(&text));
    } else {
        const struct yaml_node *wrong = find(node, place.pointer);
        config_error(wrong->key && wrong != node ? &wrong->key->place : &wrong->place, EXCERPT_LINE,
                     err, "%s", problem.message);
    }
    js_free(schema);
    buf_release(&text);
    return good ? 0 : -1;
}
