/* Power cuts at random moments: what was acknowledged is there afterwards, all of a batch or nothing of it, in one
 * unbroken chain. Seeded; a failure names its seed. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "powercut_vfs.h"
#include "store/sqlite.h"
#include "store_conformance.h"

#define STORIES 25
#define CUTS 8 /* in one story, on one growing store */
#define BATCH_MAX 6

struct story {
    struct powercut *machine;
    uint64_t seed;
    unsigned cut;
    char directory[64], path[96];
    struct test_run run;
    bool known;         /* the run's start was acknowledged */
    uint64_t attempted; /* last seq of the batch that was never answered, or acknowledged */
    uint64_t acknowledged;
};

static void story_begin(struct story *story, uint64_t seed)
{
    const char *top = getenv("TMPDIR");
    *story = (struct story){.machine = powercut_new("powercut", seed), .seed = seed};
    snprintf(story->directory, sizeof story->directory, "%s/cadre-cut-XXXXXX", top ? top : "/tmp");
    assert_non_null(mkdtemp(story->directory));
    snprintf(story->path, sizeof story->path, "%s/cadre.db", story->directory);
    story->run.id = test_id(1);
}

static void story_end(struct story *story)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char path[128];
    powercut_free(story->machine);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", story->path, endings[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(story->directory), 0);
}

/* The payload can be told from every other one, and some are long enough to be blobs. */
static void payload_text(uint64_t seed, uint64_t seq, char *text, size_t size)
{
    size_t pad = seq % 5 == 0 ? 1500 : seq % 7 == 0 ? 900 : 20;
    snprintf(text, size, "{\"seed\":%llu,\"n\":%llu,\"pad\":\"%0*d\"}", (unsigned long long)seed,
             (unsigned long long)seq, (int)pad, 0);
}

static bool take_run(struct story *story, struct store *s)
{
    struct err err = ERR_INIT;
    struct lease lease;
    struct str id = id_str(&story->run.id);
    if (!story->known &&
        s->ops->inbox_put(s, id, STR("start"), STR("{}"), STR("cli"), NOW,
                          &story->run.start_message, &err) < 0 &&
        err.class != ERR_USAGE) /* it may have been made by a commit that was never answered */
        return false;
    story->known = true;
    if (s->ops->lease(s, id, STR("tester"), TTL, NOW, &lease, &err) < 0)
        return false;
    story->run.epoch = lease.epoch;
    return true;
}

static bool append_some(struct story *story, struct store *s)
{
    static char payloads[BATCH_MAX][2048];
    struct event_row events[BATCH_MAX];
    size_t count = 1 + powercut_random(story->machine, BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        uint32_t agent_no = (uint32_t)powercut_random(story->machine, 4);
        payload_text(story->seed, story->run.seq + 1, payloads[i], sizeof payloads[i]);
        events[i] = test_event(&story->run, agent_no, payloads[i]);
    }
    struct append_batch batch = test_batch(&story->run, events, count);
    story->attempted = story->run.seq;
    s->ops->append(s, &batch, 1);
    if (batch.result == APPEND_DURABLE) {
        story->acknowledged = story->run.seq;
        return true;
    }
    if (batch.result != APPEND_UNKNOWN)
        fail_msg("seed %llu: result %d: %s", (unsigned long long)story->seed, batch.result,
                 batch.err.message);
    return false;
}

/* Writes until the power goes. */
static void write_until_cut(struct story *story)
{
    const struct sqlite_store_config config = {
        .path = story->path, .busy_ms = 0, .vfs = "powercut", .checkpoint_pages = 30};
    struct err err = ERR_INIT;
    struct store *s = NULL;
    powercut_arm(story->machine, 1 + (unsigned)powercut_random(story->machine, 400));
    if (sqlite_store_open(&config, &s, &err) == 0) {
        if (take_run(story, s)) {
            while (append_some(story, s))
                ;
        }
        s->ops->close(s);
    }
    if (!powercut_is_off(story->machine))
        fail_msg("the power is on: %s", err.message);
}

static int check_payload(void *user, const struct stored_event *event)
{
    struct story *story = user;
    char text[2048];
    payload_text(story->seed, event->row.seq, text, sizeof text);
    check_str(event->row.payload, text);
    story->run.prev[event->row.agent_no] = event->row.seq;
    return 0;
}

static int count_event(void *user, const struct stored_event *event)
{
    ++*(uint64_t *)user;
    return 0;
}

static void check_after_cut(struct story *story)
{
    /* The machine with its power on is a plain file system that syncs nothing, which is what a test has time for;
     * the last cut of a story is looked at through the real one. */
    const struct sqlite_store_config config = {
        .path = story->path, .busy_ms = 1000, .vfs = story->cut + 1 < CUTS ? "powercut" : NULL};
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct str id = id_str(&story->run.id);
    uint64_t head = 0, by_agent = 0;
    check_ok(sqlite_store_open(&config, &s, &err), err);
    check_ok(s->ops->check(s, &err), err);
    struct id found;
    bool there = s->ops->run_find(s, id, &found, &err) == 0;
    if (!there && story->known && story->acknowledged > 0)
        fail_msg("seed %llu: the run is lost", (unsigned long long)story->seed);
    story->known = there;
    memset(story->run.prev, 0, sizeof story->run.prev);
    if (there) {
        head = test_verify(s, &story->run.id);
        check_ok(s->ops->read(s, id, 0, STORE_ALL_AGENTS, 0, check_payload, story, &err), err);
        for (uint32_t agent_no = 0; agent_no < 4; agent_no++)
            check_ok(s->ops->read(s, id, 0, agent_no, 0, count_event, &by_agent, &err), err);
    }
    s->ops->close(s);
    powercut_restore(story->machine);
    if (head != story->acknowledged && head != story->attempted)
        fail_msg("seed %llu, cut %u: %llu events were acknowledged, %llu attempted, %llu are there",
                 (unsigned long long)story->seed, story->cut,
                 (unsigned long long)story->acknowledged, (unsigned long long)story->attempted,
                 (unsigned long long)head);
    assert_int_equal(by_agent, head);
    story->run.seq = story->acknowledged = story->attempted = head;
}

static void acknowledged_events_survive_power_cuts(void **state)
{
    unsigned at_stake = 0;
    uint64_t events = 0;
    for (uint64_t seed = 1; seed <= STORIES; seed++) {
        struct story story;
        story_begin(&story, seed);
        for (story.cut = 0; story.cut < CUTS; story.cut++) {
            write_until_cut(&story);
            at_stake += powercut_restore(story.machine);
            check_after_cut(&story);
        }
        events += story.acknowledged;
        story_end(&story);
    }
    /* Cuts that found nothing unsynced, or no events, would prove nothing. */
    assert_true(at_stake > 200);
    assert_true(events > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_events_survive_power_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
