/* Finishes tool calls; see the header for the rules. Does not judge whether a tool exists. Pure; any thread. */
#include "model/calls.h"

#include "base/json.h"
#include "base/map.h"
#include "base/utf8.h"
#include "model/repair.h"

static bool is_object(struct str text)
{
    struct err ignored = ERR_INIT;
    struct js *parsed = js_parse(text, &ignored);
    bool object = js_kind(parsed) == JS_OBJECT;
    js_free(parsed);
    return object;
}

static struct str finish_arguments(const struct call_draft *draft, struct arena *arena)
{
    struct buf out;
    buf_init(&out, CALL_ARGUMENTS_MAX);
    if (repair_arguments(draft->name, draft->arguments, &out) != 0) {
        buf_clear(&out);
        buf_text(&out, "{\"$unparsed\":");
        json_quote(&out, utf8_cut(repair_trim(draft->arguments), CALL_UNPARSED_MAX));
        buf_char(&out, '}');
    }
    struct str copy = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return copy;
}

/* Ids that are in use, and ids that came: few are compared one by one, many are looked up. */
struct ids {
    struct map taken, came;
};

static bool id_taken(const struct ids *ids, const struct tool_call *list, size_t count,
                     struct str id)
{
    if (count > CALLS_FEW)
        return map_get(&ids->taken, id) != NULL;
    for (size_t i = 0; i < count; i++)
        if (str_eq(list[i].id, id))
            return true;
    return false;
}

static bool id_came(const struct ids *ids, const struct call_draft *drafts, size_t count,
                    struct str id)
{
    if (count > CALLS_FEW)
        return map_get(&ids->came, id) != NULL;
    for (size_t i = 0; i < count; i++)
        if (str_eq(drafts[i].id, id))
            return true;
    return false;
}

static void id_take(struct ids *ids, struct tool_call *list, size_t i)
{
    for (size_t k = i == CALLS_FEW ? 0 : i; i >= CALLS_FEW && k <= i; k++)
        map_set(&ids->taken, list[k].id, list);
}

static struct str finish_id(const struct ids *ids, const struct call_draft *drafts, size_t count,
                            size_t i, struct arena *arena, const struct tool_call *list)
{
    struct str id = drafts[i].id;
    if (id.n > 0 && !id_taken(ids, list, i, id))
        return arena_copy(arena, id);
    for (size_t n = i;; n++) {
        struct str made = arena_printf(arena, "call_%zu", n);
        if (!id_taken(ids, list, i, made) && !id_came(ids, drafts, count, made))
            return made;
    }
}

struct str calls_name(const struct buf *name)
{
    return name->failed ? STR(CALL_OVERLONG) : buf_view(name);
}

void calls_finish(const struct call_draft *drafts, size_t *count, enum calls_ending ending,
                  struct arena *arena, struct tool_call **list)
{
    size_t n = *count, came = *count;
    /* Nothing is repaired here: what the limit cut off may have been anything. */
    if (n > 0 && ending == CALLS_CUT && !is_object(drafts[n - 1].arguments))
        n--;
    *count = n;
    *list = n > 0 ? arena_alloc(arena, n * sizeof **list) : NULL;
    struct ids ids;
    map_init(&ids.taken);
    map_init(&ids.came);
    for (size_t i = 0; came > CALLS_FEW && i < came; i++)
        map_set(&ids.came, drafts[i].id, *list);
    for (size_t i = 0; i < n; i++) {
        (*list)[i] = (struct tool_call){
            .id = finish_id(&ids, drafts, came, i, arena, *list),
            .name = arena_copy(arena, drafts[i].name.n > 0 ? drafts[i].name : STR(CALL_UNNAMED)),
            .arguments = finish_arguments(&drafts[i], arena),
        };
        id_take(&ids, *list, i);
    }
    map_release(&ids.taken);
    map_release(&ids.came);
}
