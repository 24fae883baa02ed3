/* model/openai_chunk: which chunks are read in place, and what is read of them. That both ways of reading give the same is
 * tested with every body of openai_test.c, and by a fuzz target. */
#include "model/openai_chunk.h"

#include "check.h"

#define DELTA(delta)                                                                               \
    "{\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","            \
    "\"choices\":[{"                                                                               \
    "\"index\":0,\"delta\":{" delta "},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}"

static void text_is_read_as_it_stands(void **state)
{
    struct openai_chunks chunks;
    openai_chunks_init(&chunks);
    const struct openai_chunk *chunk =
        openai_chunks_read(&chunks, STR(DELTA("\"role\":\"assistant\",\"content\":\"a\\nb\"")));
    assert_non_null(chunk);
    check_str(chunk->id.raw, "r");
    check_str(chunk->model.raw, "m");
    check_str(chunk->content.raw, "a\\nb");
    assert_int_equal(chunk->content.form, SCAN_ESCAPED);
    assert_int_equal(chunk->choices, 1);
    assert_null(chunk->finish.raw.p);
    assert_null(chunk->refusal.raw.p);
    openai_chunks_release(&chunks);
}

static void pieces_of_calls_and_reasoning_are_read(void **state)
{
    struct openai_chunks chunks;
    openai_chunks_init(&chunks);
    const struct openai_chunk *chunk = openai_chunks_read(
        &chunks, STR(DELTA("\"reasoning_content\":\"hm\",\"tool_calls\":[{\"index\":3,\"id\":\"x\","
                           "\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":"
                           "\"{\\\"\"}},{\"function\":{\"arguments\":\"}\"}}]")));
    assert_non_null(chunk);
    check_str(chunk->reasoning_content.raw, "hm");
    assert_int_equal(chunk->piece_count, 2);
    assert_int_equal(chunk->pieces[0].index, 3);
    assert_int_equal(chunk->pieces[0].numbered, PIECE_WITH_INDEX);
    check_str(chunk->pieces[0].id.raw, "x");
    check_str(chunk->pieces[0].name.raw, "read");
    check_str(chunk->pieces[0].arguments.raw, "{\\\"");
    assert_int_equal(chunk->pieces[1].numbered, PIECE_WITHOUT_INDEX);
    assert_null(chunk->pieces[1].id.raw.p);
    openai_chunks_release(&chunks);
}

static void usage_is_read(void **state)
{
    struct openai_chunks chunks;
    openai_chunks_init(&chunks);
    const struct openai_chunk *chunk = openai_chunks_read(
        &chunks,
        STR("{\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,"
            "\"total_tokens\":18,\"cost\":0.25e-3,\"prompt_tokens_details\":{\"cached_tokens\":5,"
            "\"audio_tokens\":null},\"completion_tokens_details\":{\"reasoning_tokens\":3}}}"));
    static const int64_t expected[CHUNK_COUNTS] = {11, 7, -1, 5, -1, 3};
    assert_non_null(chunk);
    assert_int_equal(chunk->choices, 0);
    assert_memory_equal(chunk->counts, expected, sizeof expected);
    openai_chunks_release(&chunks);
}

static void what_is_unusual_is_not_read_in_place(void **state)
{
    static const char *const odd[] = {
        "",
        "{",
        "7",
        "[]",
        "{} x",
        "{}{}",
        "{,}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":[1,]}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":nul}",
        "{\"a\":1e999}",
        "{\"a\":12345678901234567890}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":{\"b\":1,\"b\":2}}",
        "{\"\\u0061\":1}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"tab\there\"}",
        "{\"a\":\"\xFF\"}",
        "{\"a\":\"\xED\xA0\x80\"}",
        "{\"a\":[[[[[[[[[1]]]]]]]]]}",
        "{\"error\":{\"message\":\"no\"}}",
        "{\"error\":\"no\"}",
        "{\"object\":\"error\"}",
        "{\"message\":\"no\"}",
        "{\"detail\":\"no\"}",
        "{\"usage\":{\"prompt_tokens\":1.5}}",
        "{\"choices\":[null]}",
        "{\"choices\":[{\"delta\":{}},{\"delta\":{}}]}",
        "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}",
        "{\"choices\":[{\"finish_reason\":\"error\"}]}",
        DELTA("\"content\":[{\"text\":\"a\"}]"),
        DELTA("\"content\":\"\\ud83d\""),
        DELTA("\"content\":\"\\ude00\""),
        DELTA("\"reasoning_details\":[]"),
        DELTA("\"tool_calls\":{}"),
        DELTA("\"tool_calls\":[null]"),
        DELTA("\"tool_calls\":[{\"name\":\"x\"}]"),
        DELTA("\"tool_calls\":[{\"index\":\"0\"}]"),
        DELTA("\"tool_calls\":[{\"function\":{\"arguments\":{}}}]"),
        DELTA("\"tool_calls\":[{\"extra_content\":{}}]"),
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct openai_chunks chunks;
        openai_chunks_init(&chunks);
        if (openai_chunks_read(&chunks, str_from(odd[i])))
            fail_msg("read in place: %s", odd[i]);
        openai_chunks_release(&chunks);
    }
}

static void a_chunk_that_differs_in_its_text_only_is_told_by_its_bytes(void **state)
{
    struct openai_chunks chunks;
    openai_chunks_init(&chunks);
    assert_non_null(openai_chunks_read(&chunks, STR(DELTA("\"content\":\"a\""))));
    const struct openai_chunk *chunk =
        openai_chunks_read(&chunks, STR(DELTA("\"content\":\"longer\\\"\"")));
    assert_non_null(chunk);
    check_str(chunk->content.raw, "longer\\\"");
    assert_int_equal(chunk->content.form, SCAN_ESCAPED);
    chunk = openai_chunks_read(&chunks, STR(DELTA("\"content\":\"\"")));
    assert_non_null(chunk);
    check_str(chunk->content.raw, "");
    assert_int_equal(chunk->content.form, SCAN_PLAIN);
    check_str(chunk->id.raw, "r");
    openai_chunks_release(&chunks);
}

static void the_bytes_between_are_still_checked(void **state)
{
    static const char *const odd[] = {
        DELTA("\"content\":\"\xFF\""),
        DELTA("\"content\":\"\\ud83d\""),
        DELTA("\"content\":\"a\",\"content\":\"b\""),
        DELTA("\"content\":\"a\" \"b\""),
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct openai_chunks chunks;
        openai_chunks_init(&chunks);
        assert_non_null(openai_chunks_read(&chunks, STR(DELTA("\"content\":\"b\""))));
        assert_null(openai_chunks_read(&chunks, str_from(odd[i])));
        assert_non_null(openai_chunks_read(&chunks, STR(DELTA("\"content\":\"b\""))));
        openai_chunks_release(&chunks);
    }
}

static void what_differs_behind_the_text_is_read(void **state)
{
#define ENDING(finish)                                                                             \
    "{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":" finish "}]}"
    struct openai_chunks chunks;
    openai_chunks_init(&chunks);
    assert_non_null(openai_chunks_read(&chunks, STR(ENDING("null"))));
    const struct openai_chunk *chunk = openai_chunks_read(&chunks, STR(ENDING("\"ab\"")));
    assert_non_null(chunk);
    check_str(chunk->finish.raw, "ab");
    openai_chunks_release(&chunks);
}

static void more_members_in_the_text_s_place_are_read_as_such(void **state)
{
    struct openai_chunks chunks;
    openai_chunks_init(&chunks);
    assert_non_null(openai_chunks_read(&chunks, STR(DELTA("\"content\":\"b\""))));
    const struct openai_chunk *chunk =
        openai_chunks_read(&chunks, STR(DELTA("\"content\":\"a\",\"refusal\":\"b\"")));
    assert_non_null(chunk);
    check_str(chunk->content.raw, "a");
    check_str(chunk->refusal.raw, "b");
    openai_chunks_release(&chunks);
}

static void a_chunk_too_long_to_be_kept_is_read_all_the_same(void **state)
{
    struct openai_chunks chunks;
    struct buf text;
    char piece[OPENAI_CHUNK_KEPT + 1];
    memset(piece, 'x', OPENAI_CHUNK_KEPT);
    piece[OPENAI_CHUNK_KEPT] = '\0';
    buf_init(&text, 100000);
    buf_printf(&text, DELTA("\"content\":\"%s\""), piece);
    openai_chunks_init(&chunks);
    for (int i = 0; i < 2; i++) {
        const struct openai_chunk *chunk = openai_chunks_read(&chunks, buf_view(&text));
        assert_non_null(chunk);
        check_str(chunk->content.raw, piece);
    }
    openai_chunks_release(&chunks);
    buf_release(&text);
}

static void escapes_are_decoded(void **state)
{
    struct buf out;
    buf_init(&out, 1000);
    scan_unescape(&out, STR("a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20AC\\uD83D\\ude00z"));
    check_str(buf_view(&out), "a\"\\/\b\f\n\r\tA\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read_as_it_stands),
        cmocka_unit_test(pieces_of_calls_and_reasoning_are_read),
        cmocka_unit_test(usage_is_read),
        cmocka_unit_test(what_is_unusual_is_not_read_in_place),
        cmocka_unit_test(a_chunk_that_differs_in_its_text_only_is_told_by_its_bytes),
        cmocka_unit_test(the_bytes_between_are_still_checked),
        cmocka_unit_test(what_differs_behind_the_text_is_read),
        cmocka_unit_test(more_members_in_the_text_s_place_are_read_as_such),
        cmocka_unit_test(a_chunk_too_long_to_be_kept_is_read_all_the_same),
        cmocka_unit_test(escapes_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
