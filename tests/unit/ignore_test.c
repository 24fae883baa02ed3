/* Ignore rules, as a table and against git itself: random rules and paths must get the answer that
 * `git check-ignore` gives. */
#include "tool_fixture.h"

#include "tool/ignore.h"

static bool matches(const char *rules, const char *path, enum ignore_entry entry)
{
    struct arena arena;
    struct ignore_level level = {.directory = STR(".")};
    arena_init(&arena);
    ignore_parse(&level, &arena, str_from(rules));
    bool answer = ignore_match(&level, str_from(path), entry);
    arena_release(&arena);
    return answer;
}

static void rules_mean_what_git_says(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *path;
        enum ignore_entry entry;
        bool ignored;
    } table[] = {
        {"*.o", "a.o", IGNORE_FILE, true},
        {"*.o", "x/y/a.o", IGNORE_FILE, true},
        {"/*.o", "x/a.o", IGNORE_FILE, false},
        {"*.o\n!keep.o", "keep.o", IGNORE_FILE, false},
        {"!keep.o\n*.o", "keep.o", IGNORE_FILE, true},
        {"build/", "build", IGNORE_DIRECTORY, true},
        {"build/", "build", IGNORE_FILE, false},
        {"build/", "x/build", IGNORE_DIRECTORY, true},
        {"/build", "x/build", IGNORE_DIRECTORY, false},
        {"a/b", "a/b", IGNORE_FILE, true},
        {"a/b", "x/a/b", IGNORE_FILE, false},
        {"**/a/b", "x/a/b", IGNORE_FILE, true},
        {"a/**", "a", IGNORE_DIRECTORY, false},
        {"a/**", "a/x/y", IGNORE_FILE, true},
        {"a/**/b", "a/b", IGNORE_FILE, true},
        {"a/**/b", "a/x/y/b", IGNORE_FILE, true},
        {"**/x/**", "x/y/x", IGNORE_FILE, true},
        {"a*b/c", "a/b/c", IGNORE_FILE, false},
        {"# text", "# text", IGNORE_FILE, false},
        {"\\# text", "# text", IGNORE_FILE, true},
        {"\\!a", "!a", IGNORE_FILE, true},
        {"a  ", "a", IGNORE_FILE, true},
        {"a\\ ", "a ", IGNORE_FILE, true},
        {"a\r\nb\r\n", "b", IGNORE_FILE, true},
        {"\xef\xbb\xbf"
         "a",
         "a", IGNORE_FILE, true},
        {"*.py[cod]", "x.pyc", IGNORE_FILE, true},
        {"[[:digit:]_]x", "7x", IGNORE_FILE, true},
        {"[![:digit:]]x", "7x", IGNORE_FILE, false},
        {"[ab", "[ab", IGNORE_FILE, false},
        {"a\\", "a\\", IGNORE_FILE, false},
        {"./a", "a", IGNORE_FILE, false},
        {"a//b", "a/b", IGNORE_FILE, false},
        {"\n\n/\n!\n", "a", IGNORE_FILE, false},
        {"*", "a/b", IGNORE_FILE, true},
        {"**", "a/b", IGNORE_FILE, true},
        {"A", "a", IGNORE_FILE, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (matches(table[i].rules, table[i].path, table[i].entry) != table[i].ignored)
            fail_msg("%s on %s", table[i].rules, table[i].path);
}

static void a_file_nearer_by_decides_before_those_above(void **state)
{
    (void)state;
    struct arena arena;
    struct ignore_level top = {.directory = STR(".")};
    struct ignore_level below = {.above = &top, .directory = STR("sub")};
    arena_init(&arena);
    ignore_parse(&top, &arena, STR("*.log\n/sub/x\n"));
    ignore_parse(&below, &arena, STR("!a.log\n/y\n"));
    assert_false(ignore_match(&below, STR("sub/a.log"), IGNORE_FILE));
    assert_true(ignore_match(&below, STR("sub/b.log"), IGNORE_FILE));
    assert_true(ignore_match(&below, STR("sub/x"), IGNORE_FILE));
    assert_true(ignore_match(&below, STR("sub/y"), IGNORE_FILE));
    assert_false(ignore_match(&below, STR("sub/z/y"), IGNORE_FILE));
    arena_release(&arena);
}

static void hostile_files_are_read_within_bounds(void **state)
{
    (void)state;
    static char many[400000];
    for (size_t i = 0; i + 2 < sizeof many; i += 2)
        memcpy(many + i, "a\n", 2);
    assert_true(matches(many, "a", IGNORE_FILE));
    static char stars[1001];
    for (size_t i = 0; i + 2 <= 1000; i += 2)
        memcpy(stars + i, "*a", 2);
    static char name[4000];
    memset(name, 'a', sizeof name - 2);
    name[sizeof name - 2] = 'b';
    assert_false(matches(stars, name, IGNORE_FILE));
    static char longer[5000];
    memset(longer, '*', sizeof longer - 1);
    assert_false(matches(longer, "a", IGNORE_FILE));
}

/* --- against git ------------------------------------------------------------------------------ */

#define ROUNDS 60
#define RULES 12
#define PATHS 150

static uint32_t chance(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void random_rule(uint32_t *seed, char *out)
{
    static const char *const parts[] = {
        "a",    "b", "ab", "*",    "**",    "?",           "[ab]",
        "[!a]", "/", "/",  "/**/", "**/",   "/**",         "b*",
        "\\a",  "a", "*b", " ",    "[a-b]", "[[:alpha:]]", "[![:digit:]a]"};
    size_t n = 1 + chance(seed, 4);
    out[0] = '\0';
    if (chance(seed, 4) == 0)
        strcat(out, "!");
    for (size_t i = 0; i < n; i++)
        strcat(out, parts[chance(seed, sizeof parts / sizeof parts[0])]);
    if (chance(seed, 5) == 0)
        strcat(out, "/");
    strcat(out, "\n");
}

/* git takes a rule's literal beginning off before it looks at stars, so that "ab**" followed by a
 * slash means more than its manual says. */
static bool has_stars_behind_letters(const char *rule)
{
    for (const char *at = rule; (at = strstr(at, "**")); at += 2)
        if (at > rule && !strchr("/!*", at[-1]))
            return true;
    return false;
}

static void random_path(uint32_t *seed, char *out)
{
    static const char *const names[] = {"a", "b", "ab", "ba", "abb", "c"};
    size_t n = 1 + chance(seed, 4);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        strcat(out, i ? "/" : "");
        strcat(out, names[chance(seed, sizeof names / sizeof names[0])]);
    }
}

/* As a walk sees it: ignored when the path or a directory above it is. */
static bool walk_ignores(const struct ignore_level *level, const char *path)
{
    for (size_t end = 1; path[end]; end++)
        if (path[end] == '/' && ignore_match(level, (struct str){path, end}, IGNORE_DIRECTORY))
            return true;
    return ignore_match(level, str_from(path), IGNORE_FILE);
}

/* Prints what git leaves out of the paths in the file `paths`, one line each, into `answers`. */
static void ask_git(struct fixture *f)
{
    char command[1500];
    snprintf(command, sizeof command,
             "cd '%s' && git -c core.excludesFile=/dev/null check-ignore --no-index --stdin "
             "< ../paths > ../answers",
             f->workspace);
    int status = system(command);
    assert_true(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 1)); /* none */
}

static bool is_line_of(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at += n)
        if ((at == text || at[-1] == '\n') && at[n] == '\n')
            return true;
    return false;
}

static void random_rules_get_the_answers_of_git(void **state)
{
    struct fixture *f = *state;
    char command[1500], rule[128], paths[PATHS][64];
    uint32_t seed = 20240611;
    long ignored = 0;
    snprintf(command, sizeof command, "git init -q '%s'", f->workspace);
    assert_int_equal(system(command), 0);
    for (int round = 0; round < ROUNDS; round++) {
        char rules[RULES * 128] = "", all[PATHS * 64] = "";
        for (int i = 0; i < RULES; i++) {
            random_rule(&seed, rule);
            strcat(rules, has_stars_behind_letters(rule) ? "" : rule);
        }
        for (int i = 0; i < PATHS; i++) {
            random_path(&seed, paths[i]);
            strcat(all, paths[i]);
            strcat(all, "\n");
        }
        put(f, ".gitignore", rules);
        fixture_write(f->top, "paths", all, strlen(all));
        ask_git(f);
        const char *answers = content_of(f, "../answers");
        struct ignore_level level = {.directory = STR(".")};
        ignore_parse(&level, &f->arena, str_from(rules));
        for (int i = 0; i < PATHS; i++) {
            bool git = is_line_of(answers, paths[i]);
            ignored += git;
            if (walk_ignores(&level, paths[i]) != git)
                fail_msg("git says %s: %s with the rules\n%s", git ? "ignored" : "kept", paths[i],
                         rules);
        }
    }
    assert_true(ignored > ROUNDS && ignored < ROUNDS * PATHS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rules_mean_what_git_says),
        TEST(a_file_nearer_by_decides_before_those_above),
        TEST(hostile_files_are_read_within_bounds),
        TEST(random_rules_get_the_answers_of_git),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
