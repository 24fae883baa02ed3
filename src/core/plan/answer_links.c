/* Ids and prerequisites of a planner's answer. Ids become unique and short; what names a prerequisite by id, by title or by number is
 * resolved; a circle becomes a row. Pure; any thread. */
#include <stdio.h>
#include <strings.h>

#include "core/contract/registry_fields.h"
#include "core/plan/answer_inside.h"

#define NO_DRAFT SIZE_MAX

/* --- ids ---------------------------------------------------------------------------------------------------- */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* What of a text can be an id; empty where nothing can. */
static struct str id_from(struct arena *arena, struct str text)
{
    char out[PLAN_STEP_ID_MAX];
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < sizeof out; i++) {
        char c = text.p[i];
        if (is_letter_or_digit(c) || (n > 0 && (c == '_' || c == '.' || c == '-')))
            out[n++] = c;
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n > 0 && out[n - 1] == '-')
        n--;
    return arena_copy(arena, (struct str){out, n});
}

static bool is_taken(const struct reading_answer *r, size_t before, struct str id)
{
    for (size_t i = 0; i < before; i++)
        if (str_eq(r->drafts[i].step.id, id))
            return true;
    return false;
}

static void settle_id(struct reading_answer *r, size_t i)
{
    struct draft *draft = &r->drafts[i];
    struct str id = id_from(r->arena, draft->given_id);
    if (id.n == 0)
        id = arena_printf(r->arena, "step-%zu", draft->place + 1);
    struct str free_id = id;
    for (size_t n = 2; is_taken(r, i, free_id); n++) {
        size_t room = PLAN_STEP_ID_MAX - 4;
        free_id = arena_printf(r->arena, "%.*s-%zu", (int)(id.n < room ? id.n : room), id.p, n);
    }
    draft->step.id = free_id;
}

/* --- prerequisites ------------------------------------------------------------------------------------------ */

static size_t draft_by_name(const struct reading_answer *r, struct str name)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->drafts[i].given_id.n > 0 && answer_same(r->drafts[i].given_id, name))
            return i;
    for (size_t i = 0; i < r->count; i++)
        if (answer_same(r->drafts[i].step.id, name) || answer_same(r->drafts[i].step.title, name))
            return i;
    return NO_DRAFT;
}

/* The number of "3", "#3", "step 3", "Step-3"; -1 where the text is something else. */
static int64_t ordinal(struct str text)
{
    static const char *const words[] = {"step", "task", "s", "#"};
    int64_t number = -1;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if (text.n > n && strncasecmp(text.p, words[i], n) == 0) {
            text.p += n;
            text.n -= n;
            break;
        }
    }
    while (text.n > 0 && strchr(" -_#.", text.p[0]) && text.p[0] != '\0') {
        text.p++;
        text.n--;
    }
    if (text.n == 0 || text.n > 6)
        return -1;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return -1;
        number = (number < 0 ? 0 : number * 10) + (text.p[i] - '0');
    }
    return number;
}

/* 0 where some prerequisite is the step with number 0, and no step is called so; else 1. */
static int64_t first_ordinal(const struct reading_answer *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct list *depends = &r->drafts[i].depends;
        for (size_t k = 0; k < depends->n; k++)
            if (draft_by_name(r, depends->items[k]) == NO_DRAFT && ordinal(depends->items[k]) == 0)
                return 0;
    }
    return 1;
}

static size_t draft_by_number(const struct reading_answer *r, int64_t number, int64_t first)
{
    for (size_t i = 0; number >= first && i < r->count; i++)
        if ((int64_t)r->drafts[i].place == number - first)
            return i;
    return NO_DRAFT;
}

static void settle_needs(struct reading_answer *r, size_t i, int64_t first)
{
    struct draft *draft = &r->drafts[i];
    struct plan_step *step = &draft->step;
    char path[RECORD_PATH_BYTES];
    step->depends_on = (struct list){LIST_SET, NULL, 0};
    step->needs = arena_alloc(r->arena, (r->count + 1) * sizeof *step->needs);
    for (size_t k = 0; k < draft->depends.n; k++) {
        struct str name = draft->depends.items[k];
        size_t found = draft_by_name(r, name), before = step->depends_on.n;
        if (found == NO_DRAFT)
            found = draft_by_number(r, ordinal(name), first);
        if (found != NO_DRAFT && found != i) {
            list_add(r->arena, &step->depends_on, r->drafts[found].step.id);
            if (step->depends_on.n > before)
                step->needs[before] = found;
            continue;
        }
        if (answer_is_nothing(name))
            continue;
        snprintf(path, sizeof path, "steps[%zu]", draft->place);
        problems_add(r->warnings, path, "%s: %.*s",
                     found == i ? "depends on itself, which is left out"
                                : "depends on a step that is not there, which is left out",
                     STR_FMT(utf8_cut(name, 80)));
    }
}

/* As written, one after the other. */
static void make_a_row(struct arena *arena, struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_step *step = &plan->steps[i];
        step->depends_on = (struct list){LIST_SET, NULL, 0};
        if (i == 0)
            continue;
        list_add(arena, &step->depends_on, plan->steps[i - 1].id);
        step->needs[0] = i - 1;
    }
}

void answer_link(struct reading_answer *r, struct plan *out)
{
    for (size_t i = 0; i < r->count; i++)
        settle_id(r, i);
    int64_t first = first_ordinal(r);
    out->steps = arena_alloc(r->arena, r->count * sizeof *out->steps);
    out->count = r->count;
    for (size_t i = 0; i < r->count; i++) {
        settle_needs(r, i, first);
        out->steps[i] = r->drafts[i].step;
    }
    struct str circle = plan_circle(r->arena, out);
    if (!circle.p)
        return;
    make_a_row(r->arena, out);
    problems_add(
        r->warnings, "steps",
        "depend on each other in a circle (%.*s): they run one after the other, as written",
        STR_FMT(circle));
}
