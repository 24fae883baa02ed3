/* Events as bytes: the table of fields, printing and parsing, what is refused, the one-line summaries, and docs/events.md.
 * `unit-event --print-docs` prints docs/events.md. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "check.h"
#include "core/run/event.h"

enum kind { KIND_S, KIND_I, KIND_J };

static const struct field {
    const char *name;
    enum kind kind;
    size_t offset;
} fields[] = {
#define X(name, kind) {#name, KIND_##kind, offsetof(struct event, name)},
    EVENT_FIELDS(X)
#undef X
};

#define FIELD_COUNT (sizeof fields / sizeof fields[0])

static const struct field *field_named(const char *name, size_t n)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strlen(fields[i].name) == n && memcmp(fields[i].name, name, n) == 0)
            return &fields[i];
    }
    return NULL;
}

/* Walks the words of a type's list; NULL at the end. */
static const char *next_word(const char *at, size_t *n)
{
    at += strspn(at, " ");
    *n = strcspn(at, " ");
    return *n > 0 ? at : NULL;
}

/* The names of a type's fields; valid until the next call. */
static const char *fields_of(int type)
{
    static char text[1024];
    struct buf out;
    buf_init(&out, sizeof text - 1);
    event_fields_print((enum event_type)type, &out);
    assert_false(out.failed);
    snprintf(text, sizeof text, "%.*s", STR_FMT(buf_view(&out)));
    buf_release(&out);
    return text;
}

/* --- the table ------------------------------------------------------------------------------------- */

static void every_type_names_real_fields_and_each_once(void **state)
{
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        const char *list = fields_of(type);
        bool seen[FIELD_COUNT] = {false};
        size_t n;
        for (const char *at = next_word(list, &n); at != NULL; at = next_word(at + n, &n)) {
            const struct field *field = field_named(at, n);
            if (field == NULL)
                fail_msg("%s: %.*s is no field", event_type_text((enum event_type)type), (int)n,
                         at);
            if (seen[field - fields])
                fail_msg("%s names %s twice", event_type_text((enum event_type)type), field->name);
            seen[field - fields] = true;
        }
    }
}

static void every_field_belongs_to_some_type(void **state)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        bool used = false;
        for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
            size_t n;
            for (const char *at = next_word(fields_of(type), &n); at != NULL;
                 at = next_word(at + n, &n))
                used = used || field_named(at, n) == &fields[i];
        }
        if (!used)
            fail_msg("no type has the field %s", fields[i].name);
    }
}

static void type_texts_differ_and_have_a_category(void **state)
{
    for (int a = 0; a < EVENT_TYPE_COUNT; a++) {
        const char *text = event_type_text((enum event_type)a);
        assert_non_null(strchr(text, '.'));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(text, event_type_text((enum event_type)b));
    }
}

/* --- there and back -------------------------------------------------------------------------------- */

static const char *const texts[] = {
    "plain",
    "",
    "\"quoted\" \\ back/slash \b\f\n\r\t",
    "Grüße, 日本語, \xF0\x9F\x99\x82, \xE2\x80\xA8",
    "{\"text\":\"looks like JSON\",\"effects\":1}",
    "\x01\x1b[31m control \x7f",
};
static const char *const jsons[] = {
    "{\"a\":1}",
    "{ \"a\" :\t[ 1 , 2.50e3 , \"x\\\"}],\" ] , \"b\" : { } }",
    "[ ]",
    "null",
    "-0.0",
    "\"\\u00e9\\n\\\\\"",
    "{\"text\":\"nested\",\"calls\":[{\"effects\":{\"result\":\"}\"}}],\"é\":\"ü\"}",
    "12345678901234567890.5",
};
static const int64_t numbers[] = {0, -1, 1, INT64_MAX, INT64_MIN + 1, 1700000000000};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define VARIANTS 8 /* the longest list */

static void fill(struct event *event, enum event_type type, size_t variant)
{
    event_init(event, type);
    event->seq = 7;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        void *at = (char *)event + fields[i].offset;
        if (fields[i].kind == KIND_I)
            *(int64_t *)at = numbers[(variant + i) % COUNT(numbers)];
        else
            *(struct str *)at =
                str_from(fields[i].kind == KIND_S ? texts[(variant + i) % COUNT(texts)]
                                                  : jsons[(variant + i) % COUNT(jsons)]);
    }
}

static struct event_row row_of(enum event_type type, struct str payload)
{
    return (struct event_row){.seq = 7,
                              .agent_no = 3,
                              .agent_prev = 5,
                              .ts = 1700000000000,
                              .version = EVENT_VERSION,
                              .cause_seq = 6,
                              .type = str_from(event_type_text(type)),
                              .call_id = STR("c1_0"),
                              .payload = payload};
}

static void there_and_back(const struct event *event)
{
    struct buf first, second;
    struct arena arena;
    struct event parsed;
    struct err err = ERR_INIT;
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    arena_init(&arena);
    event_print(event, &first);
    struct event_row row = row_of(event->type, buf_view(&first));
    if (event_parse(&row, &arena, &parsed, &err) != 0)
        fail_msg("%s\n%s", err.message, first.p);
    event_print(&parsed, &second);
    if (!str_eq(buf_view(&first), buf_view(&second)))
        fail_msg("%s\nprinted: %s\n  again: %s", event_type_text(event->type), first.p, second.p);
    assert_int_equal(parsed.type, event->type);
    assert_int_equal(parsed.seq, 7);
    assert_int_equal(parsed.agent_no, 3);
    assert_int_equal(parsed.agent_prev, 5);
    assert_int_equal(parsed.cause_seq, 6);
    assert_int_equal(parsed.ts, 1700000000000);
    check_str(parsed.call_id, "c1_0");
    arena_release(&arena);
    buf_release(&first);
    buf_release(&second);
}

static void printing_parsing_and_printing_gives_the_same_bytes(void **state)
{
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        for (size_t variant = 0; variant < VARIANTS * COUNT(texts); variant++) {
            struct event event;
            fill(&event, (enum event_type)type, variant);
            there_and_back(&event);
        }
    }
}

static void fields_that_are_empty_are_not_printed(void **state)
{
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        struct event event;
        struct buf out;
        buf_init(&out, 1 << 20);
        event_init(&event, (enum event_type)type);
        event_print(&event, &out);
        check_str(buf_view(&out), "{}");
        buf_release(&out);
        there_and_back(&event);
    }
}

static void a_text_with_a_nul_byte_comes_back_whole(void **state)
{
    struct event event;
    event_init(&event, EVENT_TOOL_FINISHED);
    event.text = (struct str){"a\0b", 3};
    there_and_back(&event);
}

static void mending_does_what_printing_would(void **state)
{
    static const char *const bad[] = {"\xff", "ok \xc3", "\xe2\x82 cut", "\xed\xa0\x80",
                                      "\xc0\xaf"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct event event;
        struct arena arena;
        struct buf raw, mended;
        arena_init(&arena);
        buf_init(&raw, 1 << 16);
        buf_init(&mended, 1 << 16);
        event_init(&event, EVENT_TOOL_FINISHED);
        event.text = str_from(bad[i]);
        event_print(&event, &raw);
        event_mend(&event, &arena);
        assert_int_equal(utf8_valid(event.text), event.text.n);
        event_print(&event, &mended);
        check_str(buf_view(&raw), mended.p);
        there_and_back(&event);
        buf_release(&raw);
        buf_release(&mended);
        arena_release(&arena);
    }
}

/* --- what is refused ------------------------------------------------------------------------------- */

static void refuses(struct event_row row, const char *says)
{
    struct arena arena;
    struct event event;
    struct err err = ERR_INIT;
    arena_init(&arena);
    assert_int_equal(event_parse(&row, &arena, &event, &err), -1);
    assert_int_equal(err.class, ERR_CORRUPT);
    if (strstr(err.message, says) == NULL || strstr(err.message, "7") == NULL)
        fail_msg("\"%s\" does not say \"%s\" and which event", err.message, says);
    arena_release(&arena);
}

static void an_unknown_type_asks_for_a_newer_cadre(void **state)
{
    struct event_row row = row_of(EVENT_TOOL_FINISHED, STR("{}"));
    row.type = STR("tool.invented");
    refuses(row, "newer cadre");
}

static void a_newer_version_asks_for_a_newer_cadre(void **state)
{
    struct event_row row = row_of(EVENT_TOOL_FINISHED, STR("{}"));
    row.version = EVENT_VERSION + 1;
    refuses(row, "newer cadre");
}

static void a_purged_payload_is_named_as_such(void **state)
{
    refuses(row_of(EVENT_TOOL_FINISHED, STR_NONE), "purged");
}

static void a_payload_that_is_no_json_object_is_refused(void **state)
{
    refuses(row_of(EVENT_TOOL_FINISHED, STR("{\"text\":")), "tool.finished");
    refuses(row_of(EVENT_TOOL_FINISHED, STR("")), "tool.finished");
    refuses(row_of(EVENT_TOOL_FINISHED, STR("[]")), "not an object");
    refuses(row_of(EVENT_TOOL_FINISHED, STR("\"text\"")), "not an object");
    refuses(row_of(EVENT_TOOL_FINISHED, STR("{\"text\":\"a\",\"text\":\"b\"}")), "tool.finished");
}

static void a_field_of_the_wrong_type_is_refused(void **state)
{
    refuses(row_of(EVENT_TOOL_FINISHED, STR("{\"text\":7}")), "text");
    refuses(row_of(EVENT_TOOL_FINISHED, STR("{\"text\":null}")), "text");
    refuses(row_of(EVENT_BUDGET_RESERVED, STR("{\"tokens\":\"7\"}")), "tokens");
    refuses(row_of(EVENT_BUDGET_RESERVED, STR("{\"tokens\":1.5}")), "tokens");
    refuses(row_of(EVENT_BUDGET_RESERVED, STR("{\"tokens\":99999999999999999999}")), "7");
}

/* --- summaries ------------------------------------------------------------------------------------- */

static void summaries_are_one_clean_line_for_hostile_text(void **state)
{
    char hostile[3000] = "\x1b[2J\x1b]0;title\x07 one\ntwo\r\tthree \xE2\x80\xAE \x9b \xff ";
    size_t n = strlen(hostile);
    memset(hostile + n, 'x', sizeof hostile - n - 1);
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        struct event event;
        struct buf out, clean;
        buf_init(&out, 1 << 20);
        buf_init(&clean, 1 << 20);
        event_init(&event, (enum event_type)type);
        for (size_t i = 0; i < FIELD_COUNT; i++) {
            if (fields[i].kind != KIND_I)
                *(struct str *)((char *)&event + fields[i].offset) = str_from(hostile);
        }
        event_summary(&event, &out);
        utf8_clean(&clean, buf_view(&out), UTF8_ONE_LINE);
        if (!str_eq(buf_view(&out), buf_view(&clean)))
            fail_msg("%s: %s", event_type_text((enum event_type)type), out.p);
        if (out.n > 600)
            fail_msg("%s: %zu bytes", event_type_text((enum event_type)type), out.n);
        buf_release(&out);
        buf_release(&clean);
    }
}

/* A name with characters that are not seen must not look like another name. */
static void a_summary_escapes_what_it_cannot_show(void **state)
{
    struct buf out;
    struct event asked = {.type = EVENT_TOOL_REQUESTED,
                          .tool = STR("delete"),
                          .arguments = STR("{\"path\":\"b\u202ec.txt\"}")};
    struct event prepared = {.type = EVENT_TOOL_PREPARED, .path = STR("b\u202ec.txt")};
    buf_init(&out, 4096);
    event_summary(&asked, &out);
    check_str(buf_view(&out), "delete {\"path\":\"b\\u202ec.txt\"}");
    buf_clear(&out);
    event_summary(&prepared, &out);
    check_str(buf_view(&out), "will change \"b\\342\\200\\256c.txt\"");
    buf_release(&out);
}

static void every_type_has_a_summary(void **state)
{
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        struct event event;
        struct buf out;
        buf_init(&out, 1 << 20);
        fill(&event, (enum event_type)type, 0);
        for (size_t i = 0; i < FIELD_COUNT; i++) {
            if (fields[i].kind == KIND_S)
                *(struct str *)((char *)&event + fields[i].offset) = STR("word");
        }
        event_summary(&event, &out);
        if (out.n == 0)
            fail_msg("%s has no summary", event_type_text((enum event_type)type));
        buf_release(&out);
    }
}

static void a_sleep_reads_in_its_two_largest_units(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {1000, "1 s"},          {59999, "59 s"},      {60000, "1 m 0 s"},
        {3599000, "59 m 59 s"}, {7380000, "2 h 3 m"}, {360000000, "100 h 0 m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event event;
        struct buf out;
        char expected[64];
        buf_init(&out, 1 << 10);
        event_init(&event, EVENT_RUN_SLEPT);
        event.slept_ms = cases[i].ms;
        event_summary(&event, &out);
        snprintf(expected, sizeof expected, "the machine slept for %s", cases[i].text);
        check_str(buf_view(&out), expected);
        buf_release(&out);
    }
}

/* --- docs/events.md -------------------------------------------------------------------------------- */

static const char *const meanings[EVENT_TYPE_COUNT] = {
    [EVENT_INBOX_TAKEN] = "A message from outside was taken: start, cancel, approve.",
    [EVENT_RUN_STARTED] = "The run has its settings and the root its contract.",
    [EVENT_RUN_RESUMED] = "A new owner took the run over after a crash or a stop.",
    [EVENT_RUN_PARKED] =
        "Nobody works on the run any more, and nothing of it has ended: `cadre resume` goes on.",
    [EVENT_RUN_SLEPT] =
        "The machine slept. The run's time stood still, and a resume leaves the sleep out, too.",
    [EVENT_RUN_COMPLETED] = "The root answered; every child is closed.",
    [EVENT_RUN_FAILED] = "The run ended without success: error, timeout or budget.",
    [EVENT_RUN_CANCELLED] = "Somebody stopped the run, and everything of it has ended.",
    [EVENT_SUBAGENT_CREATED] = "A child exists, with its contract; it waits for a slot.",
    [EVENT_SUBAGENT_STARTED] = "It has a slot and a place to work.",
    [EVENT_SUBAGENT_ATTEMPT] = "An attempt begins with fresh history; the first is 0.",
    [EVENT_SUBAGENT_WAITING] = "It worked to an end; its parent must integrate.",
    [EVENT_SUBAGENT_FAILED] = "It ended in an error, a timeout, a cancel or a failed merge.",
    [EVENT_SUBAGENT_COMPLETED] = "Its work is integrated.",
    [EVENT_SUBAGENT_CLOSED] = "Cleaned up; exactly one for each child, and nothing follows.",
    [EVENT_ITEM_REFUSED] = "A task of a delegation gets no child: refused or skipped, and why.",
    [EVENT_AGENT_IDLE] = "Nothing came from its model or its tool for idle_timeout_ms.",
    [EVENT_RESULT_REUSED] =
        "The same task was done before by a child that could only read: its result is used again.",
    [EVENT_AGENT_AWAITING] = "A call waits for jobs that earlier calls started.",
    [EVENT_CALLS_HELD] =
        "So many calls of a long reply wait until those before them are on their way.",
    [EVENT_AGENT_STEERED] = "Its parent sent it a message, which it sees at its next turn.",
    [EVENT_RUN_DIRECTED] = "the root makes these calls instead of asking a model what to do",
    [EVENT_PLAN_MADE] = "a call has a plan, or a longer one after a review; `count` is its version",
    [EVENT_PLAN_STEP] = "what became of a step: in_progress, completed, failed, skipped, blocked "
                        "(waits for approval), approved",
    [EVENT_AGENT_ISOLATING] = "an agent that can write is to have files of its own; another "
                              "attempt starts from `base_ref` again",
    [EVENT_WORKTREE_CREATED] = "it has them, or `error` says why not; `shared`: a root without a "
                               "repository works in place",
    [EVENT_AGENT_MERGING] = "its work is done: its tree is merged into its parent's, or its work "
                            "kept on its branch",
    [EVENT_WORKTREE_MERGED] = "what became of its tree; `branch` holds work that was not merged",
    [EVENT_AGENT_CHECKING] = "The agent has answered; the checks of its contract are run.",
    [EVENT_AGENT_CHECKED] = "What came of them: ok, failed or not_run, and the evidence.",
    [EVENT_RUN_PAUSED] = "The root made pause_at tool calls; its user is asked whether it goes on.",
    [EVENT_RUN_UNPAUSED] = "The answer: go_on, up to hard_stop_at, or stop, with one last turn.",
    [EVENT_RUN_JOINING] = "The agent has answered and waits for the jobs that it left open.",
    [EVENT_AGENT_MESSAGE] = "A message from cadre itself; reason: the limit of a last turn.",
    [EVENT_AGENT_MASKED] = "Old tool results were shortened to make room.",
    [EVENT_AGENT_COMPACTED] = "The older conversation was replaced by a summary.",
    [EVENT_AGENT_STOPPING] = "The agent is being wound down; what is under way is aborted.",
    [EVENT_MODEL_REQUESTED] = "The model is asked once this is durable.",
    [EVENT_MODEL_REPLIED] = "The model's whole answer.",
    [EVENT_MODEL_FAILED] = "The request failed; retry_at says when it is asked again.",
    [EVENT_MODEL_HELD] =
        "The request waits until its provider may be asked; deadlines stand still.",
    [EVENT_MODEL_ADMITTED] = "It waits no longer.",
    [EVENT_TOOL_REQUESTED] = "A call counts from here on; a reading tool runs at once.",
    [EVENT_TOOL_PREPARED] = "What a writing tool will change; it may act once this is durable.",
    [EVENT_TOOL_FINISHED] = "A call ended; the text is what the model reads.",
    [EVENT_TOOL_INTERRUPTED] = "What the call did cannot be known; it is not repeated.",
    [EVENT_FACTS_GATHERED] = "Files that were read for a child's prompt.",
    [EVENT_PERMISSION_ASKED] = "A person must say yes before the call may run.",
    [EVENT_PERMISSION_GRANTED] = "The person said yes.",
    [EVENT_PERMISSION_SHOWN] =
        "What the question about a call, or about a step (`item`), shows now. The hash is that of "
        "the text itself; secrets that a diff repeats from a file are masked in `preview`.",
    [EVENT_PERMISSION_DENIED] = "The contract, the mode or the person said no.",
    [EVENT_CONTRACT_CLAMPED] = "What was asked for and not granted.",
    [EVENT_BUDGET_RESERVED] = "Taken from the agent and all its ancestors until the request ends.",
    [EVENT_BUDGET_WAITING] = "The request fits once others have settled.",
    [EVENT_BUDGET_SETTLED] = "What was used is booked; only where something is limited.",
    [EVENT_BUDGET_REFUSED] = "What is left of this limit (reason) can never pay for the request.",
    [EVENT_BUDGET_WARNED] = "The agent was told to wrap up, near this limit (reason).",
    [EVENT_TIMER_FIRED] =
        "A deadline passed: wall, attempt, backoff or approval; calls: those that were held go on.",
};

static void print_docs(struct buf *out)
{
    static const char *const kinds[] = {"text", "number", "JSON"};
    buf_text(
        out,
        "# Events\n\n"
        "<!-- Generated from src/core/run/event.h by `unit-event --print-docs`; the test suite "
        "compares. -->\n\n"
        "A run is its events; everything else is computed from them. The store's view "
        "`event_log` shows each with `seq` (dense\n"
        "in its run, from 1), `agent_id`, `ts` (milliseconds since 1970), `type`, `summary` "
        "(one line) and a payload with the fields\n"
        "below; a field that is empty is left out. An event without a cause is a fact from "
        "outside; every other one was decided from\n"
        "the fact that it names. `effects`, in facts, is a mark of all effects decided "
        "before, which replay compares.\n\n");
    buf_printf(out,
               "Each event is stored with the version of the rules that decided it; today's is %d. "
               "Older logs stay readable: their events keep the\n"
               "meaning that they were written with.\n\n",
               EVENT_VERSION);
    buf_text(out, "| type | what happened | fields |\n|---|---|---|\n");
    for (int type = 0; type < EVENT_TYPE_COUNT; type++)
        buf_printf(out, "| `%s` | %s | %s |\n", event_type_text((enum event_type)type),
                   meanings[type] != NULL ? meanings[type] : "", fields_of(type));
    buf_text(out, "\n| field | kind |\n|---|---|\n");
    for (size_t i = 0; i < FIELD_COUNT; i++)
        buf_printf(out, "| `%s` | %s |\n", fields[i].name, kinds[fields[i].kind]);
}

static void every_type_is_explained(void **state)
{
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        if (meanings[type] == NULL)
            fail_msg("say in tests/unit/event_test.c what %s means",
                     event_type_text((enum event_type)type));
    }
}

static void docs_events_says_what_the_table_says(void **state)
{
    const char *tests = getenv("CADRE_TESTS");
    char path[4096];
    struct buf made, stored;
    if (tests == NULL)
        fail_msg("CADRE_TESTS must name the tests folder (meson test sets it)");
    snprintf(path, sizeof path, "%s/../docs/events.md", tests);
    buf_init(&made, 1 << 20);
    buf_init(&stored, 1 << 20);
    print_docs(&made);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        char *room = buf_reserve(&stored, 1 << 19);
        assert_non_null(room);
        stored.n += fread(room, 1, 1 << 19, file);
        fclose(file);
    }
    if (!str_eq(buf_view(&made), buf_view(&stored)))
        fail_msg("docs/events.md is out of date: unit-event --print-docs > docs/events.md");
    buf_release(&made);
    buf_release(&stored);
}

/* --- the chain ------------------------------------------------------------------------------------------------ */

static struct event_row chained(void)
{
    return (struct event_row){.seq = 7,
                              .agent_no = 2,
                              .agent_prev = 5,
                              .ts = 1700000000000,
                              .cause_seq = 6,
                              .category = STR("tool"),
                              .type = STR("tool.finished"),
                              .call_id = STR("c4_1"),
                              .summary = STR("read a file"),
                              .payload = STR("{}")};
}

/* The chain value of the event as one of this version. */
static struct hash chain_of(struct event_row row, uint16_t version, uint64_t epoch)
{
    struct hash start = chain_start(STR("01HF7YAT00000000000000ROOT"));
    struct hash payload = hash_of(row.payload);
    row.version = version;
    return chain_next(&start, &row, epoch, &payload);
}

static bool chain_same(const struct event_row *row, uint16_t version, uint64_t epoch)
{
    struct hash a = chain_of(chained(), version, 3), b = chain_of(*row, version, epoch);
    return hash_eq(&a, &b);
}

static void what_people_read_of_an_event_is_in_its_chain(void **state)
{
    struct event_row same = chained(), rows[] = {same, same, same, same};
    rows[0].summary = STR("read a fila");
    rows[1].call_id = STR_NONE;
    rows[2].call_id = STR("c4_2");
    rows[3].cause_seq = 0;
    for (uint16_t version = 1; version <= EVENT_VERSION; version++) {
        bool older = version < 4;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            assert_int_equal(chain_same(&rows[i], version, 3), older);
        assert_int_equal(chain_same(&same, version, 4), older);
        assert_true(chain_same(&same, version, 3));
    }
    /* No call and a call without a name are two things. */
    rows[2].call_id = STR("");
    struct hash none = chain_of(rows[1], 4, 3), empty = chain_of(rows[2], 4, 3);
    assert_false(hash_eq(&none, &empty));
}

/* Logs of older versions are on disks: their chain never changes. */
static void the_chain_of_older_events_is_as_it_was(void **state)
{
    char hex[HASH_HEX + 1];
    struct hash hash = chain_of(chained(), 3, 3);
    hash_hex(&hash, hex);
    assert_string_equal(hex, "e1d36e34f5bfc4753af46fda81e44387941f2b4f903d9eab0e2d4625107ab713");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_names_real_fields_and_each_once),
        cmocka_unit_test(every_field_belongs_to_some_type),
        cmocka_unit_test(type_texts_differ_and_have_a_category),
        cmocka_unit_test(printing_parsing_and_printing_gives_the_same_bytes),
        cmocka_unit_test(fields_that_are_empty_are_not_printed),
        cmocka_unit_test(a_text_with_a_nul_byte_comes_back_whole),
        cmocka_unit_test(mending_does_what_printing_would),
        cmocka_unit_test(an_unknown_type_asks_for_a_newer_cadre),
        cmocka_unit_test(a_newer_version_asks_for_a_newer_cadre),
        cmocka_unit_test(a_purged_payload_is_named_as_such),
        cmocka_unit_test(what_people_read_of_an_event_is_in_its_chain),
        cmocka_unit_test(the_chain_of_older_events_is_as_it_was),
        cmocka_unit_test(a_payload_that_is_no_json_object_is_refused),
        cmocka_unit_test(a_field_of_the_wrong_type_is_refused),
        cmocka_unit_test(summaries_are_one_clean_line_for_hostile_text),
        cmocka_unit_test(every_type_has_a_summary),
        cmocka_unit_test(a_summary_escapes_what_it_cannot_show),
        cmocka_unit_test(a_sleep_reads_in_its_two_largest_units),
        cmocka_unit_test(every_type_is_explained),
        cmocka_unit_test(docs_events_says_what_the_table_says),
    };
    if (argc > 1 && strcmp(argv[1], "--print-docs") == 0) {
        struct buf docs;
        buf_init(&docs, 1 << 20);
        print_docs(&docs);
        fwrite(docs.p, 1, docs.n, stdout);
        buf_release(&docs);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
