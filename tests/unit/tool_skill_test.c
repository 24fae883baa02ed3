/* The tool `skill`: which skills there are, what a contract lets through, and the wall around each. */
#include "tool_fixture.h"

#include "tool/front_matter.h"
#include "tool/skills.h"

static void skill(struct fixture *f, const char *place, const char *description)
{
    char path[200], text[600];
    snprintf(path, sizeof path, "%s/SKILL.md", place);
    snprintf(text, sizeof text, "---\nname: x\ndescription: %s\n---\n# Body of %s\n", description,
             place);
    put(f, path, text);
}

/* Gives the fixture a directory of the user's skills, beside the workspace. */
static void with_user(struct fixture *f, struct tool_services *services)
{
    *services = (struct tool_services){0};
    services->skills_directory = arena_printf(&f->arena, "%s/user", f->top);
    static const char text[] = "---\ndescription: the user's own\n---\nuser body\n";
    fixture_write(f->top, "user/mine/SKILL.md", text, sizeof text - 1);
    f->context.services = services;
}

static void skills_are_listed_from_all_places(void **state)
{
    struct fixture *f = *state;
    struct tool_services services;
    with_user(f, &services);
    skill(f, ".agents/skills/pdf", "Reads PDF files");
    skill(f, ".claude/skills/tables", "Makes tables");
    assert_string_equal(call_ok(f, "skill", "{}"), "- pdf: Reads PDF files (the workspace's)\n"
                                                   "- tables: Makes tables (the workspace's)\n"
                                                   "- mine: the user's own (the user's)\n");
}

static void without_skills_the_list_says_so(void **state)
{
    assert_string_equal(call_ok(*state, "skill", "{}"), "There are no skills that you may use.\n");
}

static void a_skill_is_loaded_without_its_front_matter_and_names_its_files(void **state)
{
    struct fixture *f = *state;
    skill(f, ".agents/skills/pdf", "Reads PDF files");
    put(f, ".agents/skills/pdf/scripts/a.py", "print(1)\n");
    put(f, ".agents/skills/pdf/more.md", "more words\n");
    assert_string_equal(
        call_ok(f, "skill", "{\"name\":\"pdf\"}"),
        "# Body of .agents/skills/pdf\n"
        "[files of this skill, to read with the argument file: more.md, scripts/]\n");
    assert_int_equal(f->result.read_count, 1);
    assert_string_equal(f->result.files_read[0].p, ".agents/skills/pdf/SKILL.md");
    assert_string_equal(call_ok(f, "skill", "{\"name\":\"pdf\",\"file\":\"scripts/a.py\"}"),
                        "print(1)\n");
    assert_string_equal(call_ok(f, "skill", "{\"name\":\"skill:pdf\",\"file\":\"./more.md\"}"),
                        "more words\n");
}

static void a_skill_outside_the_contract_is_neither_listed_nor_loaded(void **state)
{
    struct fixture *f = *state;
    const struct str allowed[] = {STR("skill:pdf")};
    skill(f, ".agents/skills/pdf", "Reads PDF files");
    skill(f, ".agents/skills/other", "Does other things");
    f->context.skills_state = SKILLS_LISTED;
    f->context.skills = allowed;
    f->context.skill_count = 1;
    assert_lacks(call_ok(f, "skill", "{}"), "other");
    call_error(f, "skill", "{\"name\":\"other\"}", "not among those that this contract allows");
    call_error(f, "skill", "{\"name\":\"other\",\"file\":\"SKILL.md\"}", "contract allows");
    assert_contains(call_ok(f, "skill", "{\"name\":\"pdf\"}"), "Body of");
    f->context.skill_count = 0;
    call_error(f, "skill", "{\"name\":\"pdf\"}", "contract allows");
    assert_contains(call_ok(f, "skill", "{}"), "no skills that you may use");
}

static void the_files_of_a_skill_lie_in_its_own_directory(void **state)
{
    struct fixture *f = *state;
    struct tool_services services;
    with_user(f, &services);
    skill(f, ".agents/skills/pdf", "Reads PDF files");
    skill(f, ".agents/skills/other", "Does other things");
    put(f, "secret.txt", "outside-secret\n");
    assert_int_equal(symlink("../../../secret.txt", in_workspace(f, ".agents/skills/pdf/link")), 0);
    assert_int_equal(
        symlink("../../../../outside/secret", in_workspace(f, ".agents/skills/pdf/far")), 0);
    static const char *const files[] = {
        "../other/SKILL.md", "../../../secret.txt",        "link", "far",
        "/etc/passwd",       "../../../../outside/secret", ".",    "..",
        "no/such/file"};
    char json[200];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(json, sizeof json, "{\"name\":\"pdf\",\"file\":\"%s\"}", files[i]);
        call_error(f, "skill", json, "Error: skill pdf: ");
        snprintf(json, sizeof json, "{\"name\":\"mine\",\"file\":\"%s\"}", files[i]);
        call_error(f, "skill", json, "Error: skill mine: ");
    }
    assert_string_equal(call_ok(f, "skill", "{\"name\":\"mine\"}"), "user body\n");
    assert_int_equal(f->result.read_count, 0);
}

static void the_first_skill_of_a_name_holds_and_tells(void **state)
{
    struct fixture *f = *state;
    struct tool_services services;
    with_user(f, &services);
    skill(f, ".claude/skills/mine", "the second");
    skill(f, ".agents/skills/mine", "the first");
    assert_string_equal(call_ok(f, "skill", "{}"),
                        "- mine: the first (the workspace's) (hides another one of this name)\n");
    assert_contains(call_ok(f, "skill", "{\"name\":\"mine\"}"), "Body of .agents/skills/mine");
}

static void links_between_the_places_of_skills_are_followed_and_no_others(void **state)
{
    struct fixture *f = *state;
    skill(f, ".agents/skills/pdf", "Reads PDF files");
    skill(f, "src/hidden", "Lies elsewhere");
    assert_int_equal(mkdir(in_workspace(f, ".claude"), 0700), 0);
    assert_int_equal(symlink("../.agents/skills", in_workspace(f, ".claude/skills")), 0);
    assert_int_equal(symlink("../../src/hidden", in_workspace(f, ".agents/skills/hidden")), 0);
    assert_int_equal(symlink("../../../outside", in_workspace(f, ".agents/skills/away")), 0);
    assert_string_equal(
        call_ok(f, "skill", "{}"),
        "- pdf: Reads PDF files (the workspace's) (hides another one of this name)\n");
}

static void hostile_skills_are_passed_over(void **state)
{
    struct fixture *f = *state;
    skill(f, ".agents/skills/Upper", "x");
    skill(f, ".agents/skills/under_score", "x");
    skill(f, ".agents/skills/empty", "");
    put(f, ".agents/skills/none/README", "x");
    put(f, ".agents/skills/open/SKILL.md", "---\ndescription: never closed\n");
    put(f, ".agents/skills/file", "x");
    assert_int_equal(mkdir(in_workspace(f, ".agents/skills/fifo"), 0700), 0);
    assert_int_equal(mkfifo(in_workspace(f, ".agents/skills/fifo/SKILL.md"), 0600), 0);
    skill(f, ".agents/skills/good", "a\\x1b[31m line\x1b]52;c;x\x07 <b>");
    assert_string_equal(call_ok(f, "skill", "{}"),
                        "- good: a\\x1b[31m line <b> (the workspace's)\n");
    call_error(f, "skill", "{\"name\":\"../good\"}", "small letters, digits and -");
    call_error(f, "skill", "{\"name\":\"Upper\"}", "small letters, digits and -");
    call_error(f, "skill", "{\"name\":\"nosuch\"}", "call skill without arguments for the list");
    call_error(f, "skill", "{\"file\":\"x\"}", "needs the name");
}

static void a_long_skill_comes_in_parts(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_text(&text, "---\ndescription: long\n---\n");
    for (int i = 0; i < 1000; i++)
        buf_text(&text, "0123456789");
    fixture_write(f->workspace, ".agents/skills/long/SKILL.md", text.p, text.n);
    f->context.max_result = 2000;
    const char *part = call_ok(f, "skill", "{\"name\":\"long\"}");
    assert_contains(part, "of 10000; ask for offset ");
    assert_contains(call_ok(f, "skill", "{\"name\":\"long\",\"offset\":9990}"), "0123456789\n");
    assert_lacks(f->result.text.p, "truncated");
    buf_release(&text);
}

static void more_skills_than_the_most_are_told(void **state)
{
    struct fixture *f = *state;
    char place[100];
    for (int i = 0; i < SKILLS_MAX + 5; i++) {
        snprintf(place, sizeof place, ".agents/skills/s%03d", i);
        skill(f, place, "many");
    }
    assert_contains(call_ok(f, "skill", "{}"), "[the list is truncated");
    assert_contains(f->result.text.p, "- s099: many");
    assert_lacks(f->result.text.p, "- s100: many");
}

static void value_is(const char *block, const char *key, const char *expected)
{
    struct buf out;
    buf_init(&out, 4096);
    front_matter_value(str_from(block), key, &out);
    assert_string_equal(buf_view(&out).p, expected);
    buf_release(&out);
}

static void front_matter_is_read_in_its_usual_spellings(void **state)
{
    (void)state;
    value_is("name: a\ndescription: plain words # a comment\n", "description", "plain words");
    value_is("description: \"quoted: \\\"x\\\" # kept\"\n", "description", "quoted: \"x\" # kept");
    value_is("description: 'it''s'\n", "description", "it's");
    value_is("description: >-\n  folded\n  words\nname: b\n", "description", "folded words");
    value_is("description: |\n  # first\n\n  second\n", "description", "# first second");
    value_is("description: goes\n  on here\n", "description", "goes on here");
    value_is("metadata:\n  description: not at the margin\n", "description", "");
    value_is("descriptions: x\n", "description", "");
    value_is("description:", "description", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(skills_are_listed_from_all_places),
        TEST(without_skills_the_list_says_so),
        TEST(a_skill_is_loaded_without_its_front_matter_and_names_its_files),
        TEST(a_skill_outside_the_contract_is_neither_listed_nor_loaded),
        TEST(the_files_of_a_skill_lie_in_its_own_directory),
        TEST(the_first_skill_of_a_name_holds_and_tells),
        TEST(links_between_the_places_of_skills_are_followed_and_no_others),
        TEST(hostile_skills_are_passed_over),
        TEST(a_long_skill_comes_in_parts),
        TEST(more_skills_than_the_most_are_told),
        cmocka_unit_test(front_matter_is_read_in_its_usual_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
