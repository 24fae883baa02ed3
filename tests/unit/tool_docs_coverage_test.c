/* The tool docs_coverage: which symbols are public and which of them count as documented, by
 * language, and the order and bounds of its answer. */
#include "tool_fixture.h"

#include "tool/documented.h"

struct seen {
    struct buf text;
};

static void note(void *user, struct str name, int64_t line, enum documented_answer answer)
{
    struct seen *seen = user;
    buf_printf(&seen->text, "%s%s%.*s:%lld", seen->text.n ? " " : "",
               answer == DOCUMENTED_YES ? "" : "!", STR_FMT(name), (long long)line);
}

/* "a:1 !b:3": a is documented, b is not. */
static void check(const char *file, const char *text, const char *expected)
{
    struct documented *documented = documented_new();
    const struct language *language = language_of_file(str_from(file));
    struct seen seen;
    buf_init(&seen.text, 4096);
    assert_non_null(language);
    assert_true(documented_knows(language, str_from(file)));
    documented_read(documented, language, str_from(text), note, &seen);
    if (!str_is(buf_view(&seen.text), expected))
        fail_msg("%s: %.*s instead of %s", file, STR_FMT(buf_view(&seen.text)), expected);
    buf_release(&seen.text);
    documented_free(documented);
}

static void c_headers(void **state)
{
    (void)state;
    check("a.h",
          "#ifndef A\n"
          "/* Adds. */\n"
          "int add(int a,\n"
          "        int b);\n"
          "int add_more(int a); /* the comment above serves the block */\n"
          "\n"
          "void bare(struct thing *t);\n"
          "int told(void); // at the end\n"
          "static inline int hidden(void)\n"
          "{\n"
          "}\n"
          "\n"
          "struct point {\n"
          "    int x;\n"
          "};\n"
          "// A name.\n"
          "extern const char *const name;\n",
          "add:3 add_more:5 !bare:7 told:8 !point:13 name:17");
}

static void python(void **state)
{
    (void)state;
    check("a.py",
          "class Public:\n"
          "    \"\"\"Doc.\"\"\"\n"
          "    def told(self,\n"
          "             a):\n"
          "        '''Doc.'''\n"
          "        def inner():\n"
          "            pass\n"
          "    def bare(self):\n"
          "        return 1\n"
          "    def _hidden(self):\n"
          "        pass\n"
          "class _Hidden:\n"
          "    def method(self):\n"
          "        pass\n"
          "async def last():\n"
          "\n"
          "    r\"\"\"Doc.\"\"\"\n",
          "Public:1 told:3 !bare:8 last:15");
}

static void other_languages(void **state)
{
    (void)state;
    check("a.ts",
          "/** Doc. */\nexport function told() {}\nexport const bare = 1;\n"
          "// Doc.\n@decorated()\nexport default class C {}\nfunction inner() {}\n",
          "told:2 !bare:3 C:6");
    check("a.go",
          "// Told is.\nfunc Told() {}\nfunc (s *S) Bare() {}\nfunc hidden() {}\n"
          "// T is.\ntype T struct {}\n",
          "Told:2 !Bare:3 T:6");
    check("a.rs",
          "/// Doc.\n#[inline]\npub fn told() {}\n// no doc\npub struct Bare;\nfn hidden() {}\n"
          "pub(crate) fn inner() {}\n",
          "told:3 !Bare:5");
    check("A.java",
          "/** Doc. */\npublic class A {\n  public int bare() {\n  }\n  /**\n   * Doc.\n   */\n"
          "  @Deprecated\n  public static void told(int a) {\n  }\n  @Override\n"
          "  public String toString() {\n  }\n  private int hidden() {\n  }\n",
          "A:2 !bare:3 told:9 toString:12");
    check("a.cs", "/// <summary>Doc.</summary>\npublic class Told {\npublic int Bare { get; }\n",
          "Told:2 !Bare:3");
    check("a.rb", "# Doc.\nclass Told\n  def bare?\n  end\n", "Told:2 !bare?:3");
    check("a.php", "/** Doc. */\nclass Told {\n  public function bare() {}\n", "Told:2 !bare:3");
    check("a.swift", "/// Doc.\npublic func told() {}\nopen class Bare {}\nfunc hidden() {}\n",
          "told:2 !Bare:3");
}

static void sources_of_c_and_tests_are_not_judged(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        bool known;
    } table[] = {
        {"a.c", false},       {"a.h", true},        {"a.cc", false},
        {"a.hpp", true},      {"a_test.go", false}, {"test_a.py", false},
        {"a.test.ts", false}, {"a.md", false},      {"a.min.js", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct str name = str_from(table[i].file);
        assert_int_equal(documented_knows(language_of_file(name), name), table[i].known);
    }
}

static void the_answer_has_totals_and_the_worst_files_first(void **state)
{
    struct fixture *f = *state;
    put(f, "a.py", "def one():\n    pass\n");
    put(f, "lib/b.py", "def one():\n    pass\ndef two():\n    pass\n");
    put(f, "c.h", "/* Doc. */\nint fine(void);\n");
    assert_string_equal(call_ok(f, "docs_coverage", "{}"),
                        "4 public symbols in 3 files, 3 undocumented (25 % documented)\n"
                        "  C: 1 in 1 files, 0 undocumented (100 %)\n"
                        "  Python: 3 in 2 files, 3 undocumented (0 %)\n"
                        "lib/b.py: 2 of 2 undocumented: one:1, two:3\n"
                        "a.py: 1 of 1 undocumented: one:1\n");
    assert_contains(call_ok(f, "docs_coverage", "{\"max_results\":1}"),
                    "[truncated: 1 more files have undocumented symbols");
    assert_contains(call_ok(f, "docs_coverage", "{\"type\":\"c\"}"), "1 public symbols in 1 files");
    assert_contains(call_ok(f, "docs_coverage", "{\"path\":\"lib\"}"), "2 public symbols");
    assert_contains(call_ok(f, "docs_coverage", "{\"glob\":\"*.h\"}"), "1 public symbols");
    assert_contains(call_ok(f, "docs_coverage", "{\"glob\":\"*.x\"}"), "no public symbols");
}

static void long_lists_of_names_are_cut(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(in_workspace(f, "a.py"), "w");
    for (int i = 0; i < 100; i++)
        fprintf(file, "def f%d():\n    pass\n", i);
    fclose(file);
    assert_contains(call_ok(f, "docs_coverage", "{}"), "f19:39, …\n");
    f->context.max_result = 600;
    call_ok(f, "docs_coverage", "{}");
    assert_true(f->result.text.n <= 600);
}

static void hostile_sources_end(void **state)
{
    struct fixture *f = *state;
    static char long_line[1 << 20];
    memset(long_line, 'a', sizeof long_line - 1);
    put(f, "long.h", long_line);
    for (size_t i = 0; i < sizeof long_line - 1; i++)
        long_line[i] = i % 2 ? ' ' : 'a';
    put(f, "words.h", long_line);
    memset(long_line, '\n', sizeof long_line - 1);
    put(f, "lines.py", long_line);
    FILE *file = fopen(in_workspace(f, "deep.py"), "w");
    for (int i = 0; i < 300; i++)
        fprintf(file, "%*sclass C:\n", i, "");
    fclose(file);
    call_ok(f, "docs_coverage", "{}");
    atomic_store(&f->cancelled, true);
    call_error(f, "docs_coverage", "{}", "cancelled");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(c_headers),
        TEST(python),
        TEST(other_languages),
        TEST(sources_of_c_and_tests_are_not_judged),
        TEST(the_answer_has_totals_and_the_worst_files_first),
        TEST(long_lists_of_names_are_cut),
        TEST(hostile_sources_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
