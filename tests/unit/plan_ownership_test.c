/* Who owns what: globs that are sound, and which of them may meet. */
#include "core/plan/ownership.h"

#include "base/path.h"
#include "base/pathrule.h"
#include "plan_fixture.h"

static void globs_that_cannot_be_understood_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[][2] = {
        {"", "must be a path within the workspace"},
        {"/etc", "must be a path within the workspace"},
        {"../x", "must not have .. in it"},
        {"src/*/../x", "must not have .. in it"},
        {"src/**.c", "** must stand alone between slashes"},
        {"src/[ab", "has a [ that is not closed"},
        {"src/[a/b]", "has a [ that is not closed"},
        {"src/[]", "has a [ that is not closed"},
        {"src/a\\", "must not end with \\"},
        {"src/{a,b}.c", "braces have no meaning here: name each path"},
        {"**/a/**/b/**/c/**/d/**", "has too many **"},
        {".git/config", ".git belongs to nobody"},
        {"./.git", ".git belongs to nobody"},
        {"a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", "is too long"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *why = NULL;
        if (ownership_normal(&f->arena, str_from(bad[i][0]), &why).p)
            fail_msg("%s is accepted", bad[i][0]);
        check_str(str_from(why), bad[i][1]);
    }
}

static void sound_globs_have_a_normal_form(void **state)
{
    struct fixture *f = *state;
    static const char *const good[][2] = {
        {"src", "src"},
        {"./src/", "src"},
        {".", "**"},
        {"src/*.c", "src/*.c"},
        {"**", "**"},
        {"src/**/t", "src/**/t"},
        {"a/[]]b", "a/[]]b"},
        {"a/\\[b", "a/\\[b"},
        {".github/x", ".github/x"},
        {".gitignore", ".gitignore"},
        {"a{b", "a{b"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const char *why = NULL;
        check_str(ownership_normal(&f->arena, str_from(good[i][0]), &why), good[i][1]);
    }
}

static void what_may_overlap_does(void **state)
{
    static const struct {
        const char *a, *b;
        bool overlap;
    } rows[] = {
        {"src", "src", true},
        {"src", "src/a.c", true},
        {"src/**", "src/a/b.c", true},
        {"src/**", "docs/**", false},
        {"src/auth", "src/auth2", false},
        {"src/auth", "src/author/x", false},
        {"**", "anything", true},
        {"src/*.c", "src/*.h", false},
        {"src/*.c", "src/main.c", true},
        {"src/*.c", "src/main.h", false},
        {"src/test_*", "src/*_util.c", true},
        {"src/test_*", "src/main_*", false},
        {"src/?.c", "src/a.c", true},
        {"src/[ab].c", "src/c.c", false},
        {"src/[ab].c", "src/?.c", true},
        {"**/tests/**", "src/**", true},
        {"**/tests/**", "src/tests/a.c", true},
        {"src/**/a.c", "docs/**/a.c", false},
        {"src/**/a.c", "src/x/y/a.c", true},
        {"*.md", "docs/**", false},
        {"*", "docs/**", true},
        {"a/\\*b", "a/*b", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str a = str_from(rows[i].a), b = str_from(rows[i].b);
        if (ownership_globs_overlap(a, b) != rows[i].overlap ||
            ownership_globs_overlap(b, a) != rows[i].overlap)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void random_text(uint64_t *seed, const char *const *parts, size_t count, char *out,
                        size_t size)
{
    size_t n = 1 + next_random(seed) % 4, at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i > 0 ? "/" : "",
                               parts[next_random(seed) % count]);
}

/* Over random globs and paths: two that hold one path overlap, a contract's globs hold what the plan's do, and its path rules
 * hold every file of them. */
static void no_two_globs_hold_one_path_without_overlapping(void **state)
{
    struct fixture *f = *state;
    static const char *const globs[] = {"a", "b",    "ab",   "*",  "**",  "a*", "*b",
                                        "?", "[ab]", "[!a]", "a?", "\\*", "*a*"};
    static const char *const names[] = {"a", "b", "ab", "ba", "*", "aab"};
    uint64_t seed = 7;
    size_t both = 0, covered = 0;
    for (int round = 0; round < 200000; round++) {
        char texts[2][64], path[64];
        const char *why;
        struct plan_step step = {.role = role_find(STR("executor")), .ownership = {LIST_SET, 0, 0}};
        random_text(&seed, globs, sizeof globs / sizeof globs[0], texts[0], sizeof texts[0]);
        random_text(&seed, globs, sizeof globs / sizeof globs[0], texts[1], sizeof texts[1]);
        random_text(&seed, names, sizeof names / sizeof names[0], path, sizeof path);
        struct str a = ownership_normal(&f->arena, str_from(texts[0]), &why);
        struct str b = ownership_normal(&f->arena, str_from(texts[1]), &why);
        if (path_glob(a, str_from(path)) && path_glob(b, str_from(path))) {
            both++;
            if (!ownership_globs_overlap(a, b))
                fail_msg("%s and %s hold %s", texts[0], texts[1], path);
        }
        if (path_glob(a, str_from(path))) {
            covered++;
            list_add(&f->arena, &step.ownership, a);
            struct list said = ownership_globs(&f->arena, &step);
            struct list rules = ownership_write_paths(&f->arena, &step);
            struct pathrule rule;
            assert_true(path_glob(said.items[0], str_from(path)));
            assert_true(pathrule_read(rules.items[0], &rule));
            if (rule.reach != REACH_NAMED && !pathrule_holds(rules.items[0], str_from(path)))
                fail_msg("%s as %.*s lacks %s", texts[0], STR_FMT(rules.items[0]), path);
        }
        arena_reset(&f->arena);
    }
    assert_true(both > 1000 && covered > 10000);
}

static void a_step_without_ownership_owns_everything_unless_it_cannot_write(void **state)
{
    struct fixture *f = *state;
    const struct plan_step *steps =
        plan_of(f, sketch(f, "a own=src; b; c own=docs; d type=review own=src"))->steps;
    assert_true(ownership_overlaps(&steps[0], &steps[1]));
    assert_false(ownership_overlaps(&steps[0], &steps[2]));
    assert_false(ownership_overlaps(&steps[0], &steps[3]));
    assert_false(ownership_overlaps(&steps[1], &steps[3]));
    assert_int_equal(ownership_globs(&f->arena, &steps[1]).state, LIST_ABSENT);
    assert_int_equal(ownership_write_paths(&f->arena, &steps[1]).state, LIST_ABSENT);
    struct list none = ownership_globs(&f->arena, &steps[3]);
    assert_int_equal(none.state, LIST_SET);
    assert_int_equal(none.n, 0);
    assert_int_equal(ownership_write_paths(&f->arena, &steps[3]).n, 0);
}

static void a_contract_gets_globs_and_rules(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *sketch, *glob, *rule;
    } rows[] = {
        {"a own=src/auth", "src/auth/**", "src/auth"},
        {"a own=src/a.c", "src/a.c/**", "src/a.c"},
        {"a own=src/*.c", "src/*.c", "src"},
        {"a own=src/**", "src/**", "src"},
        {"a own=**", "**", "."},
        {"a own=*.md", "*.md", "."},
        {"a own=**/tests/**", "**/tests/**", "**/tests"},
        {"a own=src/**/tests/**", "src/**/tests/**", "src/**/tests"},
        {"a own=**/Makefile", "**/Makefile/**", "."},
        {"a own=src/**/a/b", "src/**/a/b/**", "src"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct plan_step *step = plan_of(f, sketch(f, rows[i].sketch))->steps;
        check_str(ownership_globs(&f->arena, step).items[0], rows[i].glob);
        check_str(ownership_write_paths(&f->arena, step).items[0], rows[i].rule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(globs_that_cannot_be_understood_are_refused),
        TEST(sound_globs_have_a_normal_form),
        TEST(what_may_overlap_does),
        TEST(no_two_globs_hold_one_path_without_overlapping),
        TEST(a_step_without_ownership_owns_everything_unless_it_cannot_write),
        TEST(a_contract_gets_globs_and_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
