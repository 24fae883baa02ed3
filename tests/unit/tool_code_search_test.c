/* The tool code_search: what counts as a definition in each language, with ctags and without, and
 * that neither names nor what ctags says can lead it astray. */
#include "tool_fixture.h"

#include "os/process.h"
#include "tool/ctags.h"
#include "tool/definition.h"

static void definitions_stand_before_references_with_their_kind(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a.c", "#include \"a.h\"\n\nint area(int x)\n{\n    return x;\n}\n");
    put(f, "src/b.c", "int main(void)\n{\n    return area(2) + area(3) + areas;\n}\n");
    put(f, "notes.md", "area is a word\n");
    assert_string_equal(call_ok(f, "code_search", "{\"name\":\"area\"}"),
                        "definitions: 1\n"
                        "src/a.c:3: function: int area(int x)\n"
                        "references: 1\n"
                        "src/b.c:3: return area(2) + area(3) + areas;\n"
                        "[definitions are told by patterns]\n");
    assert_int_equal(f->result.read_count, 2);
}

static void one_side_or_one_language_can_be_asked_for(void **state)
{
    struct fixture *f = *state;
    put(f, "a.py", "def run():\n    pass\nrun()\n");
    put(f, "a.js", "function run() {}\n");
    assert_string_equal(
        call_ok(f, "code_search", "{\"name\":\"run\",\"find\":\"definitions\",\"type\":\"py\"}"),
        "definitions: 1\na.py:1: function: def run():\n[definitions are told by patterns]\n");
    assert_string_equal(call_ok(f, "code_search", "{\"name\":\"run\",\"find\":\"references\"}"),
                        "references: 1\na.py:3: run()\n[definitions are told by patterns]\n");
    call_error(f, "code_search", "{\"name\":\"run\",\"find\":\"uses\"}", "must be one of all");
    call_error(f, "code_search", "{\"name\":\"run\",\"type\":\"x\"}", "the types are");
}

/* One row for each pattern that matters, and look-alikes that define nothing. */
static void each_language_has_its_definitions(void **state)
{
    (void)state;
    static const struct {
        const char *file, *line, *kind; /* kind NULL: a mention */
    } table[] = {
        {"a.c", "int thing(void)", "function"},
        {"a.c", "static struct x *thing(int a,", "function"},
        {"a.c", "    thing(1);", NULL},
        {"a.c", "int thing(void);", NULL},
        {"a.c", "#define thing(x) x", "macro"},
        {"a.h", "struct thing {", "type"},
        {"a.h", "struct thing;", NULL},
        {"a.c", "struct thing x = {0};", NULL},
        {"a.h", "typedef int thing;", "type"},
        {"a.h", "} thing;", "type"},
        {"a.c", "static const int thing[] = {1};", "variable"},
        {"a.c", "    int y = thing;", NULL},
        {"a.cc", "void Foo::thing(int a) const {", "function"},
        {"a.cc", "class thing : public Base {", "type"},
        {"a.py", "    async def thing(self):", "function"},
        {"a.py", "class thing(Base):", "class"},
        {"a.py", "thing = 1", "variable"},
        {"a.py", "thing == 1", NULL},
        {"a.py", "x = thing()", NULL},
        {"a.js", "export async function thing() {", "function"},
        {"a.js", "const thing = (a) => a;", "function"},
        {"a.js", "  thing(a, b) {", "method"},
        {"a.js", "  thing(a, b);", NULL},
        {"a.ts", "export interface thing {", "type"},
        {"a.ts", "export const thing: number = 1;", "variable"},
        {"a.go", "func (s *Server) thing(a int) error {", "function"},
        {"a.go", "type thing struct {", "type"},
        {"a.go", "\tthing(a)", NULL},
        {"a.rs", "pub(crate) async fn thing() {", "function"},
        {"a.rs", "pub enum thing {", "type"},
        {"a.rs", "macro_rules! thing {", "macro"},
        {"a.rs", "    thing(1);", NULL},
        {"A.java", "    public static List<String> thing(int a) {", "method"},
        {"A.java", "    return thing(a)", NULL},
        {"A.java", "public final class thing extends Base {", "class"},
        {"a.kt", "fun thing(a: Int) = a", "function"},
        {"a.rb", "  def self.thing", "function"},
        {"a.rb", "  thing = 1", "variable"},
        {"a.php", "    public function thing($a)", "function"},
        {"a.sh", "thing() {", "function"},
        {"a.sh", "export thing=1", "variable"},
        {"a.lua", "function M.thing(a)", "function"},
        {"a.swift", "public func thing() {", "function"},
        {"a.ex", "  defp thing(a) do", "function"},
        {"a.sql", "create table if not exists thing (", "table or routine"},
        {"Makefile", "thing: other", "target"},
        {"Makefile", "other: thing", NULL},
    };
    struct definitions *definitions = definitions_new(STR("thing"));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct language *language = language_of_file(str_from(table[i].file));
        assert_non_null(language);
        const char *kind = definitions_kind(definitions, language, str_from(table[i].line));
        if (!str_eq(str_from(kind), str_from(table[i].kind)) || !kind != !table[i].kind)
            fail_msg("%s: %s: %s", table[i].file, table[i].line, kind ? kind : "a mention");
    }
    definitions_free(definitions);
}

static void a_name_that_is_no_identifier_is_refused(void **state)
{
    call_error(*state, "code_search", "{\"name\":\"a b\"}", "use grep");
    call_error(*state, "code_search", "{\"name\":\"a\\\\E.*\"}", "use grep");
    call_error(*state, "code_search", "{\"name\":\"\"}", "empty");
    put(*state, "a.rb", "def ok?\n");
    assert_contains(call_ok(*state, "code_search", "{\"name\":\"ok?\"}"), "function: def ok?");
}

static void long_answers_are_cut_and_say_so(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(in_workspace(f, "a.c"), "w");
    for (int i = 0; i < 6000; i++)
        fprintf(file, "    use(x, %d);\n", i);
    fclose(file);
    const char *text = call_ok(f, "code_search", "{\"name\":\"use\",\"max_results\":3}");
    assert_contains(text, "a.c:3: use(x, 2);\n[");
    assert_contains(text, "[truncated: 4997 lines and more are not shown");
    f->context.max_result = 1000;
    call_ok(f, "code_search", "{\"name\":\"use\",\"max_results\":500}");
    assert_true(f->result.text.n <= 1000);
}

static void text_of_files_cannot_break_the_answer(void **state)
{
    struct fixture *f = *state;
    put(f, "a\nb.c", "\x1b[2J thing\x07 \xff\n");
    const char *text = call_ok(f, "code_search", "{\"name\":\"thing\"}");
    assert_contains(text, "\"a\\nb.c\":1: ");
    assert_lacks(text, "\x1b");
    assert_lacks(text, "\x07");
}

static void a_cancelled_search_ends_with_an_error(void **state)
{
    struct fixture *f = *state;
    put(f, "a.c", "x\n");
    atomic_store(&f->cancelled, true);
    call_error(f, "code_search", "{\"name\":\"x\"}", "cancelled");
}

/* --- ctags ------------------------------------------------------------------------------------ */

/* A sandbox without walls, for tests: runs the command, or answers for it. */
struct open_air {
    const char *answer; /* NULL: ctags itself */
    int code;
    char input[4096];
    char first[64]; /* the command's first argument */
    size_t writable;
    enum sandbox_network network;
};

static int open_air_run(void *self, const struct sandbox_walls *walls,
                        const struct sandbox_command *command, struct sandbox_outcome *outcome,
                        struct err *err)
{
    struct open_air *air = self;
    struct process_outcome ended;
    snprintf(air->input, sizeof air->input, "%.*s", STR_FMT(command->input));
    snprintf(air->first, sizeof air->first, "%s", command->argv[1]);
    air->writable = walls->write_count;
    air->network = walls->network;
    *outcome = (struct sandbox_outcome){.end = SANDBOX_EXITED, .code = air->code};
    if (air->answer) {
        buf_init(&outcome->output, 1 << 20);
        buf_text(&outcome->output, air->answer);
        return 0;
    }
    int directory = openat(walls->workspace, ".", O_RDONLY | O_DIRECTORY);
    struct process_command run = {.program = "/usr/bin/ctags",
                                  .argv = command->argv,
                                  .environment = (const char *const[]){NULL},
                                  .directory = directory,
                                  .input = command->input,
                                  .streams = PROCESS_APART,
                                  .wall_ms = command->wall_ms,
                                  .output_max = command->output_max};
    int result = process_run(&run, &ended, err);
    close(directory);
    if (result != 0)
        return -1;
    outcome->end = ended.end == PROCESS_EXITED ? SANDBOX_EXITED : SANDBOX_KILLED;
    outcome->code = ended.code;
    outcome->output = ended.output;
    outcome->errors = ended.errors;
    return 0;
}

static void call_with(struct fixture *f, struct open_air *air, const char *json)
{
    struct sandbox_port port = {.run = open_air_run, .self = air};
    struct tool_services services = {.sandbox = &port};
    f->context.services = &services;
    f->context.time_left_ms = INT64_MAX;
    call_ok(f, "code_search", json);
    f->context.services = NULL;
}

static void ctags_decides_where_it_can_be_run(void **state)
{
    struct fixture *f = *state;
    struct open_air air = {.answer = "{\"_type\": \"tag\", \"name\": \"area\", \"path\": "
                                     "\"./src/b.c\", \"line\": 2, \"kind\": \"enumerator\"}\n"
                                     "{\"_type\": \"tag\", \"name\": \"other\", \"path\": "
                                     "\"./src/b.c\", \"line\": 1, \"kind\": \"area\"}\n"
                                     "not json: area\n"};
    put(f, "src/a.c", "int area(int x)\n");
    put(f, "src/b.c", "x(area);\n  area,\n");
    call_with(f, &air, "{\"name\":\"area\"}");
    assert_string_equal(f->result.text.p, "definitions: 1\n"
                                          "src/b.c:2: enumerator: area,\n"
                                          "references: 2\n"
                                          "src/a.c:1: int area(int x)\n"
                                          "src/b.c:1: x(area);\n"
                                          "[definitions are told by ctags]\n");
    assert_string_equal(air.input, "./src/a.c\n./src/b.c\n");
    assert_string_equal(air.first, "--options=NONE");
    assert_int_equal(air.writable, 0);
    assert_int_equal(air.network, SANDBOX_NET_NONE);
}

static void patterns_decide_where_ctags_fails(void **state)
{
    struct fixture *f = *state;
    struct open_air air = {.answer = "ctags: not found\n", .code = 127};
    put(f, "a.c", "int area(int x)\n");
    call_with(f, &air, "{\"name\":\"area\"}");
    assert_contains(f->result.text.p, "a.c:1: function: int area(int x)\n");
    assert_contains(f->result.text.p, "told by patterns");
}

static void names_of_files_are_no_options_of_ctags(void **state)
{
    struct fixture *f = *state;
    struct open_air air = {.answer = ""};
    put(f, "--output-file.c", "area\n");
    put(f, "new\nline.c", "area\n");
    put(f, "-x /y.c", "area\n");
    call_with(f, &air, "{\"name\":\"area\"}");
    assert_string_equal(air.input, "./--output-file.c\n./-x /y.c\n");
}

static void the_real_ctags_is_understood(void **state)
{
    struct fixture *f = *state;
    struct open_air air = {0};
    assert_int_equal(access("/usr/bin/ctags", X_OK), 0); /* tools/packages.txt has it */
    put(f, ".ctags.d/evil.ctags", "--langdef=evil\n--kinddef-c=z,zz,zzz\n--exclude=*.c\n");
    put(f, "a.c", "enum e { first,\n  area\n};\n");
    put(f, "b.py", "class K:\n    def area(self):\n        pass\n");
    call_with(f, &air, "{\"name\":\"area\"}");
    assert_string_equal(f->result.text.p, "definitions: 2\n"
                                          "a.c:2: enumerator: area\n"
                                          "b.py:2: member: def area(self):\n"
                                          "references: 0\n"
                                          "[definitions are told by ctags]\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(definitions_stand_before_references_with_their_kind),
        TEST(one_side_or_one_language_can_be_asked_for),
        TEST(each_language_has_its_definitions),
        TEST(a_name_that_is_no_identifier_is_refused),
        TEST(long_answers_are_cut_and_say_so),
        TEST(text_of_files_cannot_break_the_answer),
        TEST(a_cancelled_search_ends_with_an_error),
        TEST(ctags_decides_where_it_can_be_run),
        TEST(patterns_decide_where_ctags_fails),
        TEST(names_of_files_are_no_options_of_ctags),
        TEST(the_real_ctags_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
