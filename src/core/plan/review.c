/* See review.h. Pure; any thread. */
#include "core/plan/review.h"

#include "core/plan/answer.h"
#include "core/plan/answer_inside.h"
#include "core/plan/find.h"
#include "core/plan/wording.h"

enum { FINDING_BYTES = 4000, SUMMARY_BYTES = 4000, TITLE_CHARS = PLAN_TITLE_MAX - 8 };

struct reading_review {
    struct arena *arena;
    struct review *verdict;
};

static bool is_finding(const struct js *value)
{
    return js_kind(value) == JS_OBJECT && (wording_member(value, PART_FINDING_TITLE) != NULL ||
                                           wording_member(value, PART_FINDING_TEXT) != NULL);
}

static bool is_verdict(const struct js *value)
{
    return js_kind(value) == JS_OBJECT && (wording_member(value, PART_FINDINGS) != NULL ||
                                           wording_member(value, PART_APPROVED) != NULL);
}

static void add_finding(struct reading_review *r, const struct js *value)
{
    struct review *verdict = r->verdict;
    const struct js *title = wording_member(value, PART_FINDING_TITLE);
    const struct js *text = js_kind(value) == JS_OBJECT   ? wording_member(value, PART_FINDING_TEXT)
                            : js_kind(value) == JS_STRING ? value
                                                          : NULL;
    struct finding finding = {
        .title = answer_line(r->arena, title, TITLE_CHARS),
        .description = answer_text(r->arena, text != NULL ? text : title, FINDING_BYTES)};
    struct str place = answer_line(r->arena, wording_member(value, PART_FINDING_PLACE), 200);
    if (verdict->count == REVIEW_FINDINGS_MAX || answer_is_nothing(finding.description))
        return;
    if (finding.title.n == 0)
        finding.title = answer_first_line(r->arena, finding.description, TITLE_CHARS);
    if (place.n > 0)
        finding.description = arena_printf(r->arena, "%.*s\n\nWhere: %.*s",
                                           STR_FMT(finding.description), STR_FMT(place));
    verdict->findings[verdict->count++] = finding;
}

/* A list, an object that has them by some names, or one alone. */
static void add_findings(struct reading_review *r, const struct js *value)
{
    struct str key;
    const struct js *item;
    for (size_t i = 0; js_kind(value) == JS_ARRAY && i < js_count(value); i++)
        add_finding(r, js_at(value, i));
    if (js_kind(value) == JS_STRING || is_finding(value)) {
        add_finding(r, value);
        return;
    }
    for (void *i = js_next(value, NULL, &key, &item); i; i = js_next(value, i, &key, &item))
        add_finding(r, item);
}

static bool is_yes(const struct js *value)
{
    static const char *const words[] = {"approved", "approve", "pass", "passed",
                                        "accepted", "ok",      "true", "yes"};
    struct str text = js_str(value);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (answer_same(text, str_from(words[i])))
            return true;
    return js_bool(value, false); /* no number is a yes */
}

static void take_verdict(struct reading_review *r, struct str review, const struct js *value)
{
    struct review *verdict = r->verdict;
    const struct js *findings = wording_member(value, PART_FINDINGS);
    const struct js *approved = wording_member(value, PART_APPROVED);
    bool denied = approved != NULL && !is_yes(approved);
    verdict->summary = answer_text(r->arena, wording_member(value, PART_SUMMARY), SUMMARY_BYTES);
    add_findings(r, findings);
    /* What was found and has no words is nothing beside a yes, and no yes where nobody says so. */
    bool found = verdict->count > 0 ||
                 (approved == NULL && js_kind(findings) == JS_ARRAY && js_count(findings) > 0);
    /* A verdict that was left out is no yes either. */
    bool unsaid = approved == NULL && wording_left_out(value, PART_APPROVED);
    verdict->is = denied || found ? REVIEW_OPEN : unsaid ? REVIEW_NONE : REVIEW_APPROVED;
    if (!denied || verdict->count > 0)
        return;
    struct str why = verdict->summary.n > 0
                         ? verdict->summary
                         : answer_clean(r->arena, review, UTF8_LINES, FINDING_BYTES);
    verdict->findings[verdict->count++] =
        (struct finding){answer_first_line(r->arena, why, TITLE_CHARS), why};
}

/* The object that is a verdict: the value, or one right inside of it; NULL: none. */
static const struct js *verdict_in(const struct js *value)
{
    struct str key;
    const struct js *item;
    if (is_verdict(value))
        return value;
    for (void *i = js_next(value, NULL, &key, &item); i; i = js_next(value, i, &key, &item))
        if (is_verdict(item))
            return item;
    return NULL;
}

static bool has_finding(const struct js *list)
{
    for (size_t i = 0; js_kind(list) == JS_ARRAY && i < js_count(list); i++)
        if (is_finding(js_at(list, i)))
            return true;
    return false;
}

void review_read(struct arena *arena, struct str review, struct review *out)
{
    const struct review nothing = {.summary = STR("")};
    struct finder finder;
    struct js *value;
    bool whole;
    *out = nothing;
    struct reading_review r = {arena, out};
    finder_init(&finder, utf8_cut(review, ANSWER_BYTES_MAX));
    while (out->is != REVIEW_OPEN && (value = finder_next(&finder, &whole)) != NULL) {
        const struct js *verdict = verdict_in(value);
        struct review said = nothing;
        if (verdict != NULL)
            take_verdict(&(struct reading_review){arena, &said}, review, verdict);
        if (said.is == REVIEW_OPEN || (verdict != NULL && out->is == REVIEW_NONE))
            *out = said;
        /* A list without anything around it, or what is left of one that was cut. */
        if (out->is == REVIEW_NONE && has_finding(value))
            add_findings(&r, value);
        else if (out->is == REVIEW_NONE && !whole && is_finding(value))
            add_finding(&r, value);
        js_free(value);
    }
    if (out->is == REVIEW_NONE && out->count > 0)
        out->is = REVIEW_OPEN;
}
