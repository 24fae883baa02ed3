/* The simulated tools: files that are a number each, and a list of who changed them. A change happens once, or it is a problem. */
#include <stdio.h>
#include <stdlib.h>

#include "inside.h"

int64_t file_of(struct str path)
{
    return path.n == 2 && path.p[0] == 'f' && path.p[1] >= '0' && path.p[1] < '0' + FILES
               ? path.p[1] - '0'
               : 0;
}

static struct str content_text(struct arena *arena, uint64_t content)
{
    return arena_printf(arena, "%064llx", (unsigned long long)content);
}

void apply_write(struct world *w, const struct pending *p)
{
    char call[32];
    snprintf(call, sizeof call, "%u/%.*s", p->effect.agent_no, STR_FMT(p->effect.call_id));
    size_t i = 0;
    while (i < w->write_count && strcmp(w->writes[i].call, call) != 0)
        i++;
    if (i == w->write_count) {
        if (w->write_count == sizeof w->writes / sizeof w->writes[0])
            abort();
        snprintf(w->writes[w->write_count++].call, sizeof w->writes[0].call, "%s", call);
    }
    if (++w->writes[i].applied > 1)
        wrong(w, "the change of call %s was made twice", call);
    files_of(w, p->effect.agent_no)[file_of(p->effect.path)] =
        strtoull(p->effect.after.p + 48, NULL, 16);
}

/* A prepared change, or after a crash the question whether it was made. */
static void change(struct world *w, const struct pending *p, struct input *input,
                   struct arena *arena)
{
    uint64_t file = files_of(w, p->effect.agent_no)[file_of(p->effect.path)];
    uint64_t before = strtoull(p->effect.before.p + 48, NULL, 16),
             after = strtoull(p->effect.after.p + 48, NULL, 16);
    if (p->effect.kind == EFFECT_SETTLE && file == after) {
        input->text = STR("was made");
    } else if (file == before) {
        apply_write(w, p);
        input->files_modified = arena_printf(arena, "[\"%.*s\"]", STR_FMT(p->effect.path));
    } else if (p->effect.kind == EFFECT_SETTLE) {
        input->kind = INPUT_LOST;
        input->text = STR("Error: outcome unknown");
    } else {
        input->outcome = TOOL_ERROR;
        input->text = STR("Error: it changed");
    }
}

static void look(struct world *w, struct input *input, struct arena *arena)
{
    if (chance_permille(&w->chance, 200)) {
        input->outcome = TOOL_ERROR;
        input->text = STR("Error: not there");
        return;
    }
    size_t length = (size_t)chance_below(&w->chance, 12000);
    char *text = arena_alloc(arena, length + 1);
    memset(text, 'x', length);
    input->files_read = STR("[\"f3\"]");
    input->text = (struct str){text, length};
}

/* A file that is long enough to be logged once only, and sometimes another one than last time. */
static void read_for_child(struct chance *c, struct arena *arena, struct gathering *gathering)
{
    struct gathered_file *file = arena_alloc(arena, sizeof *file);
    *gathering = (struct gathering){.files = file, .count = 1};
    file->path = STR("f1");
    if (chance_permille(c, 200)) {
        file->error = STR("no such file");
        return;
    }
    size_t length = chance_permille(c, 500) ? 3 : 400 + (size_t)chance_below(c, 2);
    char *text = arena_alloc(arena, length + 1);
    memset(text, 'o', length);
    file->text = (struct str){text, length};
}

void answer_tool(struct world *w, const struct pending *p)
{
    struct chance *c = &w->chance;
    struct arena arena;
    struct err err = ERR_INIT;
    struct input input = {.kind = INPUT_RESULT,
                          .now = w->now,
                          .agent_no = p->effect.agent_no,
                          .call_id = p->effect.call_id,
                          .text = STR("fine")};
    arena_init(&arena);
    if (p->effect.kind == EFFECT_GATHER && p->aborted && chance_permille(c, 300)) {
        input.kind = INPUT_LOST;
        input.text = STR("Error: ended half-way");
    } else if (p->effect.kind == EFFECT_GATHER) {
        input.kind = INPUT_FACTS;
        read_for_child(c, &arena, &input.gathering);
    } else if (p->effect.kind == EFFECT_PREPARE && chance_permille(c, 900)) {
        int64_t at = chance_below(c, FILES);
        input.kind = INPUT_PREPARED;
        input.path = arena_printf(&arena, "f%lld", (long long)at);
        input.before = content_text(&arena, files_of(w, p->effect.agent_no)[at]);
        input.after = content_text(&arena, chance_next(c) >> 1);
    } else if (p->effect.path.p != NULL) {
        change(w, p, &input, &arena);
    } else {
        look(w, &input, &arena);
    }
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "pump: %s", err.message);
    arena_release(&arena);
}
