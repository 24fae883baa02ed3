/* See publish.h. Blocking where it writes. */
#include "cli/publish.h"

#include <unistd.h>

#include "os/place.h"

#define IGNORE_PATH ".cadre/.gitignore" /* .cadre ignores itself: none of it is ever committed */

static void add(struct publication *publication, struct publication_file ***end, struct str path,
                struct buf *text)
{
    struct publication_file *file = arena_alloc(&publication->arena, sizeof *file);
    file->path = path;
    file->text = arena_copy(&publication->arena, buf_view(text));
    buf_clear(text);
    **end = file;
    *end = &file->next;
}

void publication_prepare(struct publication *publication, const struct run *run)
{
    struct arena *arena = &publication->arena;
    struct publication_file **end = &publication->first;
    struct buf text;
    if (run_agent_count(run) <= 1)
        return;
    buf_init(&text, SIZE_MAX / 4);
    publication->workspace = arena_copy(arena, run_workspace(run));
    publication->run_id = arena_copy(arena, run_id(run));
    report_run_markdown(run, &text);
    add(publication, &end, report_run_path(run, arena), &text);
    for (uint32_t no = 1; no < run_agent_count(run); no++) {
        const struct agent *child = run_agent(run, no);
        if (!report_stands_alone(child))
            continue;
        report_child_markdown(run, no, &text);
        add(publication, &end, report_path(run, child, arena), &text);
    }
    buf_release(&text);
}

enum existing { EXISTING_REPLACED, EXISTING_KEPT };

static int write_file(const struct scope *scope, struct scope_allow allow, struct str path,
                      struct str text, enum existing existing, struct err *err)
{
    struct place place;
    struct scope_file file;
    struct err none = ERR_INIT;
    if (place_open(&place, scope, path, allow, PLACE_MAKES_PARENTS, err) != 0)
        return -1;
    bool there = place_read(&place, &file, &none) == 0;
    int result = 0;
    if (there)
        close(file.fd);
    if (!there && none.class != ERR_NOT_FOUND) {
        *err = none;
        result = -1;
    } else if (!there) {
        result = place_create(&place, text, path, err);
    } else if (existing == EXISTING_REPLACED) {
        result = place_write(&place, text, PLACE_EXPECTS_FILE, path, err);
    }
    place_close(&place);
    return result;
}

int publication_write(const struct publication *publication, struct err *err)
{
    static const struct str places[] = {{REPORT_DIRECTORY, sizeof REPORT_DIRECTORY - 1},
                                        {IGNORE_PATH, sizeof IGNORE_PATH - 1}};
    const struct scope_allow allow = {places, sizeof places / sizeof places[0]};
    struct scope scope;
    if (publication->first == NULL)
        return 0;
    if (scope_open(&scope, publication->workspace.p, err) != 0)
        return -1;
    /* First, and with nothing beside it: a kill at any point leaves nothing in .cadre that git would show. */
    int result = write_file(&scope, allow, STR(IGNORE_PATH), STR("*\n"), EXISTING_KEPT, err);
    for (const struct publication_file *file = publication->first; file != NULL && result == 0;
         file = file->next)
        result = write_file(&scope, allow, file->path, file->text, EXISTING_REPLACED, err);
    scope_close(&scope);
    return result;
}

void publication_release(struct publication *publication)
{
    arena_release(&publication->arena);
    *publication = (struct publication){0};
}
