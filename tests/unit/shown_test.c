/* What a question shows as the log has it: byte for byte, and without secrets that only a file had. */
#include "engine/shown.h"

#include "base/mask.h"
#include "check.h"

static struct preview_part part(enum preview_kind kind, struct str text)
{
    return (struct preview_part){.label = STR("it"), .text = text, .kind = kind};
}

static size_t around(const struct preview_part *given, const struct masker *masker,
                     struct arena *arena, struct preview *back)
{
    struct preview preview = {.tool = STR("shell"), .parts = {*given}, .count = 1};
    struct err err = ERR_INIT;
    struct buf out;
    buf_init(&out, 1 << 20);
    size_t masked = shown_print(&preview, masker, &out);
    struct js *doc = js_parse(buf_view(&out), &err);
    assert_non_null(doc);
    assert_int_equal(shown_parse(arena, doc, back), 0);
    js_free(doc);
    buf_release(&out);
    return masked;
}

static void every_byte_comes_back(void **state)
{
    static const struct str texts[] = {STR(""), STR("ls\nrm -r src\n"),
                                       STR("\x1b[2J\xe2\x80\xaegnp"), STR("\xff\xfe\0x"),
                                       STR("\r\t\"\\")};
    struct arena arena;
    struct preview back;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int kind = 0; kind < PREVIEW_KIND_COUNT; kind++) {
            struct preview_part given = part((enum preview_kind)kind, texts[i]);
            around(&given, NULL, &arena, &back);
            assert_int_equal(back.count, 1);
            assert_int_equal(back.parts[0].kind, kind);
            assert_true(str_eq(back.parts[0].text, texts[i]));
            check_str(back.parts[0].label, "it");
        }
    arena_release(&arena);
}

static const uint8_t key[MASK_KEY_BYTES] = {1};

/* A command between the two lines of a private key must not be hidden by its mask. */
static void what_would_happen_is_never_masked(void **state)
{
    struct masker *masker = masker_new(key);
    struct arena arena;
    struct preview back;
    arena_init(&arena);
    masker_know(masker, "config", STR("rm -rf everything"));
    struct preview_part command = part(PREVIEW_TEXT, STR("ls; rm -rf everything\n"));
    assert_int_equal(around(&command, masker, &arena, &back), 0);
    check_str(back.parts[0].text, "ls; rm -rf everything\n");
    struct preview_part diff = part(PREVIEW_DIFF, STR("@@ -1 +1 @@\n-ls\n+rm -rf everything\n"));
    assert_int_equal(around(&diff, masker, &arena, &back), 0);
    check_str(back.parts[0].text, "@@ -1 +1 @@\n-ls\n+rm -rf everything\n");
    masker_free(masker);
    arena_release(&arena);
}

static void secrets_that_a_diff_repeats_from_a_file_are_masked(void **state)
{
    struct masker *masker = masker_new(key);
    struct arena arena;
    struct preview back;
    arena_init(&arena);
    masker_know(masker, "config", STR("hunter2hunter2"));
    struct preview_part diff =
        part(PREVIEW_DIFF, STR(" a = hunter2hunter2\n-b = hunter2hunter2\n+b = 1\n c\n"));
    assert_int_equal(around(&diff, masker, &arena, &back), 2);
    struct str text = back.parts[0].text;
    assert_null(memmem(text.p, text.n, "hunter2", 7));
    assert_non_null(memmem(text.p, text.n, "\n+b = 1\n c\n", 11));
    masker_free(masker);
    arena_release(&arena);
}

static void what_is_not_a_preview_is_not_read(void **state)
{
    static const char *const wrong[] = {"{}", "[]", "{\"parts\":[{}]}",
                                        "{\"parts\":[{\"kind\":\"text\",\"hex\":\"zz\"}]}",
                                        "{\"parts\":[{\"kind\":\"other\",\"text\":\"\"}]}"};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err err = ERR_INIT;
        struct preview back;
        struct js *doc = js_parse(str_from(wrong[i]), &err);
        assert_int_equal(shown_parse(&arena, doc, &back), -1);
        js_free(doc);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(what_would_happen_is_never_masked),
        cmocka_unit_test(secrets_that_a_diff_repeats_from_a_file_are_masked),
        cmocka_unit_test(what_is_not_a_preview_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
