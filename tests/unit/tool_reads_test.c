/* The memory of files that were read: that it saves reading, and that nobody ever gets a text that
 * is no longer the file's. */
#include "unit/program_fixture.h"

#include "tool/reads.h"

static struct reads_tally tally(void)
{
    return reads_tally(tool_memory_reads(program_services.memory));
}

/* A file that has just changed is not kept; this reads until it is. */
static void read_until_kept(struct fixture *f, const char *json)
{
    size_t held = tally().held;
    for (int i = 0; i < 500 && tally().held == held; i++) {
        call_ok(f, "read", json);
        usleep(10000);
    }
    assert_int_equal(tally().held, held + 1);
}

static void a_file_that_many_agents_read_is_read_from_the_disk_once(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one\ntwo\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    struct reads_tally before = tally();
    for (uint32_t agent = 1; agent <= 100; agent++) {
        f->context.agent_no = agent;
        assert_string_equal(call_ok(f, "read", "{\"path\":\"a\"}"), "     1\tone\n     2\ttwo\n");
    }
    assert_int_equal(tally().hits - before.hits, 100);
    assert_int_equal(tally().bytes, before.bytes);
}

static void a_file_that_changes_outside_is_read_again(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    put(f, "a", "two\n");
    assert_string_equal(call_ok(f, "read", "{\"path\":\"a\"}"), "     1\ttwo\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    put(f, "b", "six\n");
    assert_int_equal(rename(in_workspace(f, "b"), in_workspace(f, "a")), 0);
    assert_string_equal(call_ok(f, "read", "{\"path\":\"a\"}"), "     1\tsix\n");
}

static void a_file_that_changed_a_moment_ago_is_not_kept(void **state)
{
    struct fixture *f = *state;
    char json[] = "{\"path\":\"a\"}";
    /* Same size and, now and then, the same times: whatever is kept would show. */
    for (int i = 0; i < 2000; i++) {
        char text[8], shown[16];
        snprintf(text, sizeof text, "%04d\n", i);
        snprintf(shown, sizeof shown, "     1\t%04d\n", i);
        put(f, "a", text);
        assert_string_equal(call_ok(f, "read", json), shown);
    }
}

static void a_write_drops_what_was_kept(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one\n");
    put(f, "b", "one\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    read_until_kept(f, "{\"path\":\"b\"}");
    call_ok(f, "write", "{\"path\":\"a\",\"content\":\"two\\n\"}");
    assert_int_equal(tally().held, 1);
    call_ok(f, "edit", "{\"path\":\"b\",\"old_text\":\"one\",\"new_text\":\"six\"}");
    assert_int_equal(tally().held, 0);
    assert_string_equal(call_ok(f, "read", "{\"path\":\"b\"}"), "     1\tsix\n");
    read_until_kept(f, "{\"path\":\"b\"}");
    call_ok(f, "delete", "{\"path\":\"b\"}");
    assert_int_equal(tally().held, 0);
    assert_int_equal(tally().held_bytes, 0);
}

static void a_command_drops_what_was_kept(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    call_ok(f, "shell", "{\"command\":\"true\"}");
    assert_int_equal(tally().held, 0);
    read_until_kept(f, "{\"path\":\"a\"}");
    call_ok(f, "shell", "{\"command\":\"true\",\"background\":true}");
    call_ok(f, "shell", "{\"job\":1,\"wait_ms\":5000}");
    assert_int_equal(tally().held, 0);
}

static void a_scope_is_dropped_as_a_whole_and_alone(void **state)
{
    struct fixture *f = *state;
    struct reads *reads = tool_memory_reads(program_services.memory);
    struct scope other;
    struct err err = ERR_INIT;
    put(f, "a", "one\n");
    put(f, "sub/a", "two\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    assert_int_equal(scope_open(&other, in_workspace(f, "sub"), &err), 0);
    f->context.scope = &other;
    read_until_kept(f, "{\"path\":\"a\"}");
    assert_string_equal(call_ok(f, "read", "{\"path\":\"a\"}"), "     1\ttwo\n");
    reads_drop_scope(reads, &other);
    assert_int_equal(tally().held, 1);
    f->context.scope = &f->scope;
    reads_drop_scope(reads, &f->scope);
    assert_int_equal(tally().held, 0);
    scope_close(&other);
}

static void what_is_kept_stays_within_its_bound_and_the_oldest_goes_first(void **state)
{
    struct fixture *f = *state;
    struct reads *reads = reads_new(20000);
    struct scope_file file;
    struct err err = ERR_INIT;
    struct scope_allow all = {f->paths, 1};
    char path[16];
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "f%d", i);
        put(f, path, "x");
    }
    usleep(200000);
    for (int i = 0; i < 20; i++) {
        struct buf content;
        snprintf(path, sizeof path, "f%d", i);
        assert_int_equal(
            scope_open_read(&f->scope, str_from(path), all, SCOPE_REFUSE_LINKS, &file, &err), 0);
        buf_init(&content, 1 << 20);
        memset(buf_reserve(&content, 2000), 'x', 2000);
        content.n = 2000;
        const struct reads_text *text = reads_keep(reads, &f->scope, &file, 1, TEXT_UTF8, &content);
        assert_non_null(text);
        assert_int_equal(content.n, 0);
        reads_give_back(reads, text);
        assert_true(reads_tally(reads).held_bytes <= 20000);
        buf_release(&content);
        close(file.fd);
    }
    assert_true(reads_tally(reads).held >= 2);
    assert_int_equal(scope_open_read(&f->scope, STR("f19"), all, SCOPE_REFUSE_LINKS, &file, &err),
                     0);
    const struct reads_text *last = reads_take(reads, &f->scope, &file);
    assert_non_null(last);
    close(file.fd);
    reads_drop(reads, &f->scope, STR("f19")); /* who holds a text keeps it */
    assert_int_equal(last->text.n, 2000);
    assert_int_equal(last->text.p[1999], 'x');
    reads_give_back(reads, last);
    assert_int_equal(scope_open_read(&f->scope, STR("f0"), all, SCOPE_REFUSE_LINKS, &file, &err),
                     0);
    assert_null(reads_take(reads, &f->scope, &file));
    close(file.fd);
    reads_free(reads);
}

struct reader {
    struct fixture *f;
    pthread_t thread;
    atomic_bool *stop;
    long wrong;
    atomic_long calls;
};

static void *read_all_the_time(void *user)
{
    struct reader *reader = user;
    struct arena arena;
    struct tool_context context = reader->f->context;
    struct tool_result result = {0};
    struct js *arguments = parse("{\"path\":\"a\"}");
    arena_init(&arena);
    context.arena = &arena;
    while (!atomic_load(reader->stop)) {
        tool_find(STR("read"))->run(&context, arguments, NULL, &result);
        reader->wrong += strncmp(result.text.p, "     1\tline", 11) != 0;
        atomic_fetch_add(&reader->calls, 1);
        arena_reset(&arena);
    }
    js_free(arguments);
    buf_release(&result.text);
    arena_release(&arena);
    return NULL;
}

static void threads_share_what_is_kept_while_it_is_dropped(void **state)
{
    struct fixture *f = *state;
    atomic_bool stop = false;
    struct reader readers[4];
    put(f, "a", "line\n");
    read_until_kept(f, "{\"path\":\"a\"}");
    for (size_t i = 0; i < 4; i++) {
        readers[i] = (struct reader){.f = f, .stop = &stop};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all_the_time, &readers[i]),
                         0);
    }
    for (int i = 0; i < 2000; i++) {
        reads_drop_scope(tool_memory_reads(program_services.memory), &f->scope);
        usleep(50);
    }
    /* A busy machine may not have let all of them begin yet. */
    for (size_t i = 0; i < 4; i++)
        while (atomic_load(&readers[i].calls) == 0)
            usleep(1000);
    atomic_store(&stop, true);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(a_file_that_many_agents_read_is_read_from_the_disk_once),
        PROGRAM_TEST(a_file_that_changes_outside_is_read_again),
        PROGRAM_TEST(a_file_that_changed_a_moment_ago_is_not_kept),
        PROGRAM_TEST(a_write_drops_what_was_kept),
        PROGRAM_TEST(a_command_drops_what_was_kept),
        PROGRAM_TEST(a_scope_is_dropped_as_a_whole_and_alone),
        PROGRAM_TEST(what_is_kept_stays_within_its_bound_and_the_oldest_goes_first),
        PROGRAM_TEST(threads_share_what_is_kept_while_it_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
