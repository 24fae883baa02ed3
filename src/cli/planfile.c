/* Plan files. YAML becomes JSON first, so that there is one reader of plans: a scalar is a text, whatever it looks like, unless its
 * key says that it is a number or a switch. Then the path of each mistake is traced back to its line. Runs on the main thread. */
#include "cli/planfile.h"

#include <stdlib.h>

#include "cli/agents.h"

/* Keys whose values are not texts. */
static bool is_typed(const struct yaml_node *node)
{
    static const char *const keys[] = {"version", "estimated_calls", "max_retries",
                                       "requires_approval"};
    for (size_t i = 0; node->key && i < sizeof keys / sizeof keys[0]; i++)
        if (str_is(node->key->text, keys[i]))
            return true;
    return false;
}

static int read_yaml(struct arena *arena, struct planfile *file, struct js **value, struct err *err)
{
    struct buf json;
    if (yaml_parse(arena, &file->source, &file->root, err) != 0)
        return -1;
    if (!file->root)
        return err_set(err, file->source.class, "%.*s is empty: a plan has a goal and steps",
                       STR_FMT(file->source.name));
    buf_init(&json, (size_t)16 << 20);
    yaml_print_json(file->root, is_typed, &json);
    *value = json.failed ? NULL : js_parse(buf_view(&json), err);
    buf_release(&json);
    return *value ? 0 : err_prefix(err, "%.*s", STR_FMT(file->source.name));
}

int planfile_parse(struct arena *arena, struct str name, struct str text, struct planfile *file,
                   struct err *err)
{
    struct err unused = ERR_INIT;
    *file = (struct planfile){.source = {name, text, ERR_USAGE}};
    problems_init(&file->problems, arena);
    struct js *value = js_parse(text, &unused);
    /* JSON has escapes that YAML does not know: then mistakes are told without their lines. */
    if (value && yaml_parse(arena, &file->source, &file->root, &unused) != 0)
        file->root = NULL;
    if (!value && read_yaml(arena, file, &value, err) != 0)
        return -1;
    if (plan_parse(arena, value, &file->plan, &file->problems) != 0 && file->problems.found == 0)
        problems_add(&file->problems, "", "is not a plan");
    js_free(value);
    return 0;
}

int planfile_read(struct arena *arena, struct str name, struct planfile *file, struct err *err)
{
    struct buf text;
    buf_init(&text, PLAN_BYTES_MAX + 8192);
    int result = agents_read_file(name, &text, err);
    if (result == 0)
        result = planfile_parse(arena, str_is(name, "-") ? STR("standard input") : name,
                                arena_copy(arena, buf_view(&text)), file, err);
    buf_release(&text);
    return result;
}

/* --- places ------------------------------------------------------------------------------------------------- */

/* One step along "steps[2].id": the member or item that it names, or NULL; *path is what follows. */
static const struct yaml_node *follow(const struct yaml_node *node, struct str *path)
{
    const struct yaml_node *item = node->first;
    if (path->p[0] == '[' && node->kind == YAML_LIST) {
        char *end;
        unsigned long index = strtoul(path->p + 1, &end, 10);
        for (; item && index > 0; index--)
            item = item->next;
        size_t n = (size_t)(end + 1 - path->p);
        *path = (struct str){path->p + n, n < path->n ? path->n - n : 0};
        return item;
    }
    size_t start = path->p[0] == '.', n = start;
    while (n < path->n && path->p[n] != '.' && path->p[n] != '[')
        n++;
    struct str key = {path->p + start, n - start};
    while (item && !(item->key && str_eq(item->key->text, key)))
        item = item->next;
    *path = (struct str){path->p + n, path->n - n};
    return item;
}

struct config_place planfile_place(const struct planfile *file, const struct problem *problem)
{
    struct config_place nowhere = {&file->source, 0, 0};
    struct str path = problem->path;
    const struct yaml_node *node = file->root, *next;
    if (!node)
        return nowhere;
    while (path.n > 0 && (next = follow(node, &path)) != NULL)
        node = next;
    /* A mapping or a list starts somewhere below its key, and an unknown key is itself what is wrong. */
    bool at_key =
        node->key && (node->kind != YAML_SCALAR || str_is(problem->message, "unknown key"));
    return at_key ? node->key->place : node->place;
}
