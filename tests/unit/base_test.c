/* err, buf, arena, hash, id, map and log: the small parts that everything stands on. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/set.h"
#include "base/utf8.h"
#include "check.h"

static void err_set_keeps_class_and_message_and_returns_minus_one(void **state)
{
    struct err err = ERR_INIT;
    assert_int_equal(err_set(&err, ERR_DENIED, "no %s for %d", "tool", 7), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_string_equal(err.message, "no tool for 7");
}

static void err_prefix_puts_context_in_front_and_keeps_the_class(void **state)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_IO, "disk full");
    assert_int_equal(err_prefix(&err, "while opening %s", "the store"), -1);
    assert_int_equal(err.class, ERR_IO);
    assert_string_equal(err.message, "while opening the store: disk full");
}

static void err_message_may_quote_itself(void **state)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_IO, "inner");
    err_set(&err, ERR_RETRY, "outer (%s)", err.message);
    assert_string_equal(err.message, "outer (inner)");
}

static void err_message_is_cut_between_characters(void **state)
{
    struct err err = ERR_INIT;
    char text[2048];
    /* One ASCII byte, then two-byte characters: the limit of 1023 bytes falls inside none of them, and with
     * two ASCII bytes it falls inside one. */
    for (int lead = 1; lead <= 2; lead++) {
        memset(text, 'a', (size_t)lead);
        size_t n = (size_t)lead;
        while (n + 2 < sizeof text) {
            memcpy(text + n, "\xC3\xA4", 2);
            n += 2;
        }
        text[n] = '\0';
        err_set(&err, ERR_IO, "%s", text);
        assert_int_equal(utf8_valid(str_from(err.message)), strlen(err.message));
        assert_in_range(strlen(err.message), 1022, 1023);
        err_prefix(&err, "%s", text);
        assert_int_equal(utf8_valid(str_from(err.message)), strlen(err.message));
    }
}

static void err_class_texts_go_both_ways_and_unknown_is_bug(void **state)
{
    for (int i = 0; i < ERR_CLASS_COUNT; i++)
        assert_int_equal(err_class_parse(str_from(err_class_text((enum err_class)i))), i);
    assert_int_equal(err_class_parse(STR("surprise")), ERR_BUG);
    assert_string_equal(err_class_text((enum err_class)99), "bug");
}

static void buf_grows_to_exactly_its_maximum(void **state)
{
    struct buf buf;
    buf_init(&buf, 100);
    for (int i = 0; i < 100; i++)
        buf_char(&buf, 'x');
    assert_false(buf.failed);
    assert_int_equal(buf.n, 100);
    assert_int_equal(buf.p[100], '\0');
    buf_char(&buf, 'y');
    assert_true(buf.failed);
    assert_int_equal(buf.n, 100);
    buf_release(&buf);
}

static void buf_that_failed_takes_nothing_more_until_cleared(void **state)
{
    struct buf buf;
    buf_init(&buf, 4);
    buf_text(&buf, "ab");
    buf_text(&buf, "too long");
    buf_text(&buf, "c");
    assert_true(buf.failed);
    check_str(buf_view(&buf), "ab");
    buf_clear(&buf);
    buf_text(&buf, "c");
    assert_false(buf.failed);
    check_str(buf_view(&buf), "c");
    buf_release(&buf);
}

static void buf_refuses_a_length_that_would_overflow(void **state)
{
    struct buf buf;
    buf_init(&buf, SIZE_MAX);
    buf_text(&buf, "ab");
    assert_null(buf_reserve(&buf, SIZE_MAX - 1));
    assert_true(buf.failed);
    buf_release(&buf);
}

static void buf_int_prints_every_extreme(void **state)
{
    struct buf buf;
    buf_init(&buf, 100);
    buf_int(&buf, 0);
    buf_char(&buf, ' ');
    buf_int(&buf, INT64_MIN);
    buf_char(&buf, ' ');
    buf_int(&buf, INT64_MAX);
    check_str(buf_view(&buf), "0 -9223372036854775808 9223372036854775807");
    buf_release(&buf);
}

static void buf_printf_appends_and_respects_the_maximum(void **state)
{
    struct buf buf;
    buf_init(&buf, 10);
    buf_printf(&buf, "%s-%d", "ab", 12);
    check_str(buf_view(&buf), "ab-12");
    buf_printf(&buf, "%s", "123456");
    assert_true(buf.failed);
    check_str(buf_view(&buf), "ab-12");
    buf_release(&buf);
}

static void buf_reserve_keeps_a_nul_behind_what_was_written(void **state)
{
    struct buf buf;
    buf_init(&buf, 1000);
    buf_text(&buf, "ab");
    char *room = buf_reserve(&buf, 500);
    assert_non_null(room);
    memcpy(room, "cd", 2);
    buf.n += 2;
    assert_string_equal(buf.p, "abcd");
    buf_release(&buf);
}

static void buf_view_of_an_empty_buf_is_an_empty_text(void **state)
{
    struct buf buf;
    buf_init(&buf, 10);
    assert_non_null(buf_view(&buf).p);
    assert_int_equal(buf_view(&buf).n, 0);
    buf_release(&buf);
}

static void arena_memory_is_zeroed_aligned_and_apart(void **state)
{
    struct arena arena;
    arena_init(&arena);
    unsigned char *earlier[200];
    for (size_t i = 0; i < 200; i++) {
        size_t size = 1 + i * 37;
        unsigned char *p = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(p[k], 0);
        memset(p, (int)i + 1, size);
        earlier[i] = p;
    }
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(earlier[i][0], (unsigned char)(i + 1));
        assert_int_equal(earlier[i][i * 37], (unsigned char)(i + 1));
    }
    assert_true(arena.used >= 200 * 199 / 2 * 37);
    arena_release(&arena);
    assert_null(arena.head);
    assert_int_equal(arena.used, 0);
}

static void arena_large_block_leaves_the_room_of_the_small_ones(void **state)
{
    struct arena arena;
    arena_init(&arena);
    char *first = arena_alloc(&arena, 16);
    arena_alloc(&arena, 1 << 20);
    char *second = arena_alloc(&arena, 16);
    assert_ptr_equal(second, first + 16);
    arena_release(&arena);
}

static void arena_memory_is_zeroed_again_after_a_reset(void **state)
{
    struct arena arena;
    arena_init(&arena);
    arena_reset(&arena); /* of an empty one */
    memset(arena_alloc(&arena, 700), 'x', 700);
    memset(arena_alloc(&arena, 900), 'x', 900);
    arena_reset(&arena);
    assert_int_equal(arena.used, 0);
    const char *again = arena_alloc(&arena, 1500);
    for (int i = 0; i < 1500; i++)
        assert_int_equal(again[i], 0);
    memset(arena_alloc(&arena, 1 << 20), 'x', 1 << 20);
    arena_reset(&arena);
    arena_release(&arena);
}

static void arena_reserve_gives_one_piece(void **state)
{
    struct arena arena;
    arena_init(&arena);
    arena_alloc(&arena, 16);
    arena_reserve(&arena, 4000);
    char *first = arena_alloc(&arena, 2000), *second = arena_alloc(&arena, 2000);
    assert_ptr_equal(first + 2000, second);
    arena_release(&arena);
}

static void buf_expect_takes_what_is_expected_and_the_buf_grows_on(void **state)
{
    struct buf buf;
    buf_init(&buf, 10000);
    buf_expect(&buf, 3000);
    assert_int_equal(buf.capacity, 3001);
    for (int i = 0; i < 3000; i++)
        buf_char(&buf, 'a');
    assert_int_equal(buf.capacity, 3001);
    buf_expect(&buf, 10);    /* less than it has: nothing */
    buf_expect(&buf, 20000); /* more than it may have: nothing */
    for (int i = 0; i < 7000; i++)
        buf_char(&buf, 'b');
    assert_false(buf.failed);
    assert_int_equal(buf.n, 10000);
    buf_char(&buf, 'c');
    assert_true(buf.failed);
    buf_release(&buf);
}

static void arena_copy_ends_with_a_nul_and_keeps_null(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct str copy = arena_copy(&arena, (struct str){"abcdef", 3});
    assert_string_equal(copy.p, "abc");
    assert_null(arena_copy(&arena, STR_NONE).p);
    assert_non_null(arena_copy(&arena, STR("")).p);
    arena_release(&arena);
}

static void arena_printf_holds_short_and_long_texts(void **state)
{
    struct arena arena;
    arena_init(&arena);
    check_str(arena_printf(&arena, "%d %s", 5, "apples"), "5 apples");
    for (int width = 250; width < 260; width++) {
        struct str text = arena_printf(&arena, "%*d", width, 7);
        assert_int_equal(text.n, width);
        assert_int_equal(text.p[width - 1], '7');
        assert_int_equal(text.p[width], '\0');
    }
    arena_release(&arena);
}

static void hash_of_empty_is_blake2b_256(void **state)
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(STR_NONE);
    hash_hex(&hash, hex);
    assert_string_equal(hex, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

static void hash_in_pieces_equals_hash_at_once(void **state)
{
    struct hasher h;
    hasher_init(&h);
    hasher_add(&h, "hello ", 6);
    hasher_add(&h, "world", 5);
    struct hash pieces = hasher_end(&h);
    struct hash whole = hash_of(STR("hello world"));
    assert_true(hash_eq(&pieces, &whole));
    whole.bytes[31] ^= 1;
    assert_false(hash_eq(&pieces, &whole));
}

static void hasher_str_tells_ab_c_from_a_bc(void **state)
{
    struct hash hashes[2];
    const struct str parts[2][2] = {{STR("ab"), STR("c")}, {STR("a"), STR("bc")}};
    for (int i = 0; i < 2; i++) {
        struct hasher h;
        hasher_init(&h);
        hasher_str(&h, parts[i][0]);
        hasher_str(&h, parts[i][1]);
        hashes[i] = hasher_end(&h);
    }
    assert_false(hash_eq(&hashes[0], &hashes[1]));
}

static void hasher_u64_is_eight_little_endian_bytes(void **state)
{
    struct hasher h;
    hasher_init(&h);
    hasher_u64(&h, UINT64_C(0x0807060504030201));
    struct hash number = hasher_end(&h);
    struct hash bytes = hash_of(STR("\x01\x02\x03\x04\x05\x06\x07\x08"));
    assert_true(hash_eq(&number, &bytes));
}

static void hash_parse_reads_hex_of_either_case_and_refuses_the_rest(void **state)
{
    struct hash hash = hash_of(STR("x"));
    struct hash back;
    char hex[HASH_HEX + 1];
    hash_hex(&hash, hex);
    assert_true(hash_parse(str_from(hex), &back));
    assert_true(hash_eq(&hash, &back));
    for (char *p = hex; *p; p++)
        if (*p >= 'a')
            *p = (char)(*p - 'a' + 'A');
    assert_true(hash_parse(str_from(hex), &back));
    assert_true(hash_eq(&hash, &back));
    assert_false(hash_parse((struct str){hex, HASH_HEX - 1}, &back));
    hex[5] = 'g';
    assert_false(hash_parse(str_from(hex), &back));
    assert_false(hash_parse(STR_NONE, &back));
}

static void id_make_is_the_ulid_of_its_time_and_bytes(void **state)
{
    const uint8_t ones[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    const uint8_t count[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct id id = id_make(1469918176385, ones);
    assert_string_equal(id.text, "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
    id = id_make(0, count);
    assert_string_equal(id.text, "0000000000000G40R40M30E209");
    assert_true(id_valid(id_str(&id)));
}

static void ids_sort_by_time(void **state)
{
    const uint8_t high[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    const uint8_t low[10] = {0};
    struct id earlier = id_make(1700000000000, high);
    struct id later = id_make(1700000000001, low);
    assert_true(strcmp(earlier.text, later.text) < 0);
}

static void id_derive_repeats_and_depends_on_parent_and_seq(void **state)
{
    struct id a = id_derive(1000, STR("parent"), 7);
    struct id again = id_derive(1000, STR("parent"), 7);
    struct id other_seq = id_derive(1000, STR("parent"), 8);
    struct id other_parent = id_derive(1000, STR("parenu"), 7);
    assert_string_equal(a.text, again.text);
    assert_string_not_equal(a.text, other_seq.text);
    assert_string_not_equal(a.text, other_parent.text);
    assert_true(id_valid(id_str(&a)));
}

static void id_valid_refuses_wrong_length_and_letters(void **state)
{
    assert_true(id_valid(STR("01aryz6s41zzzzzzzzzzzzzzzz")));
    assert_false(id_valid(STR("01ARYZ6S41ZZZZZZZZZZZZZZZ")));
    assert_false(id_valid(STR("01ARYZ6S41ZZZZZZZZZZZZZZZZZ")));
    assert_false(id_valid(STR("01ARYZ6S41ZZZZZZZZZZZZZZZU")));
    assert_false(id_valid(STR("01ARYZ6S41ZZZZZZZZZZZZZZZ\0")));
    assert_false(id_valid(STR_NONE));
    struct id none = {{0}};
    assert_int_equal(id_str(&none).n, 0);
}

static void a_set_keeps_one_of_each_in_their_order(void **state)
{
    struct set set = {0};
    struct arena arena;
    arena_init(&arena);
    assert_false(set_has(&set, STR("a")));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++)
            assert_int_equal(set_add(&set, &arena, arena_printf(&arena, "item %d", i)), round == 0);
    assert_true(set_add(&set, &arena, STR("")));
    assert_true(set_add(&set, &arena, STR("a\0b")));
    assert_true(set_add(&set, &arena, STR("a")));
    assert_int_equal(set.n, 5003);
    assert_string_equal(set.items[4999].p, "item 4999");
    assert_true(set_has(&set, STR("item 17")) && set_has(&set, STR("")) && set_has(&set, STR("a")));
    assert_false(set_has(&set, STR("item")));
    set_release(&set);
    assert_int_equal(set.n, 0);
    assert_false(set_has(&set, STR("a")));
    arena_release(&arena);
}

static void map_holds_and_replaces_and_removes(void **state)
{
    struct map map;
    map_init(&map);
    int one, two;
    assert_null(map_get(&map, STR("a")));
    assert_null(map_remove(&map, STR("a")));
    assert_null(map_set(&map, STR("a"), &one));
    assert_ptr_equal(map_get(&map, STR("a")), &one);
    assert_ptr_equal(map_set(&map, STR("a"), &two), &one);
    assert_int_equal(map.count, 1);
    assert_ptr_equal(map_remove(&map, STR("a")), &two);
    assert_null(map_get(&map, STR("a")));
    assert_int_equal(map.count, 0);
    map_release(&map);
}

static void map_copies_its_keys(void **state)
{
    struct map map;
    map_init(&map);
    char key[] = "key";
    int value;
    map_set(&map, str_from(key), &value);
    key[0] = 'x';
    assert_ptr_equal(map_get(&map, STR("key")), &value);
    assert_null(map_get(&map, str_from(key)));
    map_release(&map);
}

static void map_keys_may_be_empty_or_hold_nul(void **state)
{
    struct map map;
    map_init(&map);
    int a, b, c;
    map_set(&map, STR(""), &a);
    map_set(&map, STR("x"), &b);
    map_set(&map, STR("x\0y"), &c);
    assert_ptr_equal(map_get(&map, STR_NONE), &a);
    assert_ptr_equal(map_get(&map, STR("x")), &b);
    assert_ptr_equal(map_get(&map, STR("x\0y")), &c);
    map_release(&map);
}

/* Against a plain array, over a long mixed sequence: this is what finds a wrong backward shift. */
static void map_agrees_with_a_model_over_random_operations(void **state)
{
    enum { KEYS = 300, STEPS = 60000 };
    static int values[KEYS];
    bool present[KEYS] = {false};
    struct map map;
    map_init(&map);
    uint32_t random = 12345;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        int k = (int)((random >> 8) % KEYS);
        char key[16];
        snprintf(key, sizeof key, "key%d", k);
        void *expected = present[k] ? &values[k] : NULL;
        if (random >> 31) {
            assert_ptr_equal(map_set(&map, str_from(key), &values[k]), expected);
            present[k] = true;
        } else {
            assert_ptr_equal(map_remove(&map, str_from(key)), expected);
            present[k] = false;
        }
        random = random * 1664525u + 1013904223u;
        k = (int)((random >> 8) % KEYS);
        snprintf(key, sizeof key, "key%d", k);
        assert_ptr_equal(map_get(&map, str_from(key)), present[k] ? &values[k] : NULL);
    }
    size_t cursor = 0, walked = 0, expected_count = 0;
    struct str key;
    void *value;
    while (map_next(&map, &cursor, &key, &value)) {
        int k = atoi(key.p + 3);
        assert_true(present[k]);
        assert_ptr_equal(value, &values[k]);
        walked++;
    }
    for (int k = 0; k < KEYS; k++)
        expected_count += present[k];
    assert_int_equal(walked, expected_count);
    assert_int_equal(map.count, expected_count);
    map_release(&map);
}

static struct str log_output(FILE *file, char *text, size_t size)
{
    rewind(file);
    size_t n = fread(text, 1, size, file);
    return (struct str){text, n};
}

static void log_writes_one_clean_line(void **state)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct log log = {.file = file, .minimum = LOG_LEVEL_INFO};
    log_write(&log, LOG_LEVEL_WARN, "bad \x1b[31mname\x1b[0m %s", "a\nb");
    char text[200];
    check_str(log_output(file, text, sizeof text), "cadre: warning: bad name a b\n");
    fclose(file);
}

static void log_drops_what_is_below_its_level_and_needs_no_file(void **state)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct log log = {.file = file, .minimum = LOG_LEVEL_WARN};
    log_write(&log, LOG_LEVEL_INFO, "quiet");
    log_write(NULL, LOG_LEVEL_ERROR, "nobody listens");
    char text[200];
    check_str(log_output(file, text, sizeof text), "");
    log.file = NULL;
    log_write(&log, LOG_LEVEL_ERROR, "nobody listens");
    fclose(file);
}

static void log_levels_go_both_ways(void **state)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++) {
        enum log_level level;
        assert_true(log_level_parse(str_from(log_level_text((enum log_level)i)), &level));
        assert_int_equal(level, i);
    }
    enum log_level level;
    assert_false(log_level_parse(STR("loud"), &level));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_set_keeps_class_and_message_and_returns_minus_one),
        cmocka_unit_test(err_prefix_puts_context_in_front_and_keeps_the_class),
        cmocka_unit_test(err_message_may_quote_itself),
        cmocka_unit_test(err_message_is_cut_between_characters),
        cmocka_unit_test(err_class_texts_go_both_ways_and_unknown_is_bug),
        cmocka_unit_test(buf_grows_to_exactly_its_maximum),
        cmocka_unit_test(buf_that_failed_takes_nothing_more_until_cleared),
        cmocka_unit_test(buf_refuses_a_length_that_would_overflow),
        cmocka_unit_test(buf_int_prints_every_extreme),
        cmocka_unit_test(buf_printf_appends_and_respects_the_maximum),
        cmocka_unit_test(buf_reserve_keeps_a_nul_behind_what_was_written),
        cmocka_unit_test(buf_view_of_an_empty_buf_is_an_empty_text),
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(arena_large_block_leaves_the_room_of_the_small_ones),
        cmocka_unit_test(arena_memory_is_zeroed_again_after_a_reset),
        cmocka_unit_test(arena_reserve_gives_one_piece),
        cmocka_unit_test(buf_expect_takes_what_is_expected_and_the_buf_grows_on),
        cmocka_unit_test(arena_copy_ends_with_a_nul_and_keeps_null),
        cmocka_unit_test(arena_printf_holds_short_and_long_texts),
        cmocka_unit_test(hash_of_empty_is_blake2b_256),
        cmocka_unit_test(hash_in_pieces_equals_hash_at_once),
        cmocka_unit_test(hasher_str_tells_ab_c_from_a_bc),
        cmocka_unit_test(hasher_u64_is_eight_little_endian_bytes),
        cmocka_unit_test(hash_parse_reads_hex_of_either_case_and_refuses_the_rest),
        cmocka_unit_test(id_make_is_the_ulid_of_its_time_and_bytes),
        cmocka_unit_test(ids_sort_by_time),
        cmocka_unit_test(id_derive_repeats_and_depends_on_parent_and_seq),
        cmocka_unit_test(id_valid_refuses_wrong_length_and_letters),
        cmocka_unit_test(a_set_keeps_one_of_each_in_their_order),
        cmocka_unit_test(map_holds_and_replaces_and_removes),
        cmocka_unit_test(map_copies_its_keys),
        cmocka_unit_test(map_keys_may_be_empty_or_hold_nul),
        cmocka_unit_test(map_agrees_with_a_model_over_random_operations),
        cmocka_unit_test(log_writes_one_clean_line),
        cmocka_unit_test(log_drops_what_is_below_its_level_and_needs_no_file),
        cmocka_unit_test(log_levels_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
