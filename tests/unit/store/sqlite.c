/*
 * tests/unit/store/sqlite: the store suite against SQLite, plain and sealed, and what only SQLite
 * has: the lock, the version of the tables, records that were tampered with, a disk that is full.
 */
#include "suite.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "crypto/seal.h"
#include "net/loop.h"
#include "store/sqlite_inside.h"
#include "../runner.h"

struct sqlite_rig {
    struct store_rig rig; /* first */
    struct fake_clock clock;
    struct loop *loop;
    char folder[64];
    char path[96];
    char why[LITE_WHY_MAX];
    struct keyring *ring;
    int64_t abandoned_ms; /* of the stores that are opened from then on */
    enum mark_rule mark;  /* the same */
};

static void begin(struct store_rig *base)
{
    struct sqlite_rig *rig = (struct sqlite_rig *)base;

    fake_clock_init(&rig->clock, 1700000000000);
    rig->loop = loop_create();
    assert_true(scratch_make(rig->folder, sizeof(rig->folder)));
    snprintf(rig->path, sizeof(rig->path), "%s/store.db", rig->folder);
}

static struct store *open_store(struct store_rig *base)
{
    struct sqlite_rig *rig = (struct sqlite_rig *)base;

    return sqlite_store_open(
        &(struct sqlite_opts){ .path = rig->path,
                               .loop = rig->loop,
                               .clock = &rig->clock.clock,
                               .ring = rig->ring,
                               .pending_asks = base->pending_asks,
                               .kept_bytes = base->kept_bytes,
                               .kept_bytes_per_principal = base->kept_bytes_per_principal,
                               .keep_ms = base->keep_ms,
                               .abandoned_ms = rig->abandoned_ms,
                               .mark = rig->mark,
                               .pending_asks_per_principal = base->pending_asks_per_principal,
                               .synchronous = LITE_SYNC_NORMAL },
        rig->why);
}

static void turn(struct store_rig *base)
{
    loop_turn(((struct sqlite_rig *)base)->loop, 10);
}

static void advance(struct store_rig *base, int64_t ms)
{
    fake_clock_advance(&((struct sqlite_rig *)base)->clock, ms);
}

static void end(struct store_rig *base)
{
    struct sqlite_rig *rig = (struct sqlite_rig *)base;
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[128];

    loop_destroy(rig->loop);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", rig->path, tails[i]);
        unlink(name);
    }
    assert_int_equal(rmdir(rig->folder), 0);
}

/* --- its own --- */

static struct sqlite_rig *mine(void)
{
    return (struct sqlite_rig *)suite_rig;
}

/* Runs a statement on the file, beside the store. */
static void meddle(const char *sql)
{
    sqlite3 *db = NULL;
    char *problem = NULL;

    assert_int_equal(sqlite3_open(mine()->path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_exec(db, sql, NULL, NULL, &problem) != SQLITE_OK)
        fail_msg("%s: %s", sql, problem);
    sqlite3_close(db);
}

static bool file_has(const char *tail, const char *marker)
{
    char name[128], bytes[4096];
    size_t len = strlen(marker), kept = 0, got;
    bool found = false;

    snprintf(name, sizeof(name), "%s%s", mine()->path, tail);
    FILE *file = fopen(name, "rb");
    if (!file)
        return false;
    while (!found && (got = fread(bytes + kept, 1, sizeof(bytes) - kept, file)) > 0) {
        size_t all = kept + got;
        found = memmem(bytes, all, marker, len) != NULL;
        kept = all < len ? all : len - 1;
        memmove(bytes, bytes + all - kept, kept);
    }
    fclose(file);
    return found;
}

static bool found_on_disk(const char *marker)
{
    return file_has("", marker) || file_has("-wal", marker);
}

static void a_file_that_is_owned_is_not_opened_again(void **state)
{
    char pid[32];
    (void)state;

    assert_null(open_store(suite_rig));
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(mine()->why, pid));
    assert_non_null(strstr(mine()->why, "is in use"));
}

static void a_newer_file_is_refused(void **state)
{
    (void)state;

    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    meddle("PRAGMA user_version = 99");
    assert_null(open_store(suite_rig));
    assert_non_null(strstr(mine()->why, "newer nod"));
    meddle("PRAGMA user_version = 8");
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
}

/* What version 8 added goes. */
#define DOWN_TO_7                                                                                  \
    "ALTER TABLE small DROP COLUMN owner; ALTER TABLE small DROP COLUMN bytes;"                    \
    "DELETE FROM migrations WHERE version > 7; PRAGMA user_version = 7;"

/* What version 7 added goes. */
#define DOWN_TO_6                                                                                  \
    DOWN_TO_7                                                                                      \
    "DROP INDEX calls_spare; ALTER TABLE calls DROP COLUMN bytes;"                                 \
    "ALTER TABLE calls DROP COLUMN spare_ms; ALTER TABLE quota DROP COLUMN bytes;"                 \
    "ALTER TABLE quota DROP COLUMN spare; DELETE FROM migrations WHERE version > 6;"               \
    "PRAGMA user_version = 6;"

/* What version 6 added goes. */
#define DOWN_TO_5                                                                                  \
    DOWN_TO_6                                                                                      \
    "ALTER TABLE calls DROP COLUMN deaths; DELETE FROM migrations WHERE version > 5;"              \
    "PRAGMA user_version = 5;"

/* What version 5 added goes. */
#define DOWN_TO_4                                                                                  \
    DOWN_TO_5                                                                                      \
    "DROP INDEX asks_pending; DROP INDEX asks_pending_of; DROP INDEX asks_ended;"                  \
    "DROP INDEX asks_ended_of; ALTER TABLE asks DROP COLUMN owner;"                                \
    "DELETE FROM migrations WHERE version > 4; PRAGMA user_version = 4;"

/* What version 4 dropped is there. */
#define DOWN_TO_3                                                                                  \
    DOWN_TO_4                                                                                      \
    "CREATE TABLE events (n INTEGER PRIMARY KEY, stream BLOB NOT NULL, seq INTEGER NOT NULL,"      \
    " expires_ms INTEGER NOT NULL, event BLOB NOT NULL, UNIQUE (stream, seq)) STRICT;"             \
    "CREATE INDEX events_over ON events (expires_ms);"                                             \
    "INSERT INTO events VALUES (1, x'73', 1, 9, x'00');"                                           \
    "DELETE FROM migrations WHERE version > 3; PRAGMA user_version = 3;"

/* What version 3 added goes; keep_ms is what a protocol used to give its calls. */
#define DOWN_TO_2                                                                                  \
    DOWN_TO_3                                                                                      \
    "DROP TABLE about; DROP INDEX calls_idle; DROP INDEX calls_running;"                           \
    "ALTER TABLE asks DROP COLUMN attempt; ALTER TABLE asks DROP COLUMN via;"                      \
    "ALTER TABLE calls ADD COLUMN keep_ms INTEGER NOT NULL DEFAULT 3600000;"                       \
    "ALTER TABLE calls DROP COLUMN keep_until_ms; ALTER TABLE calls DROP COLUMN idle_ms;"          \
    "ALTER TABLE calls RENAME COLUMN handed TO called;"                                            \
    "DELETE FROM migrations WHERE version > 2; PRAGMA user_version = 2;"

static void what_a_file_of_the_sixth_version_keeps_is_counted(void **state)
{
    enum { LARGE = 100000 };
    char *text = suite_large(LARGE);
    struct question question = { .key = "a" }, gone = { .key = "a" }, more = { .key = "a" };
    struct parking waits = { .call = suite_id(),
                             .open = true,
                             .questions = &question,
                             .count = 1,
                             .args = str_n(text, LARGE) };
    struct parking ends = waits, next = waits;
    struct store_held held;
    (void)state;

    ends.call = suite_id(), ends.questions = &gone, ends.alone = true;
    next.call = suite_id(), next.questions = &more;
    suite_park(&waits);
    suite_park(&ends);
    suite_claim(&gone.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_finish(NULL, &ends.call, 2, "{}");
    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    meddle(DOWN_TO_6);
    suite_rig->kept_bytes_per_principal = LARGE + LARGE / 2;
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
    suite_store->ops->held(suite_store, &held);
    assert_in_range(held.bytes, 2 * LARGE, 2 * LARGE + 8192);
    assert_int_equal(suite_park(&next)->status, NOD_E_LIMIT);
    suite_cancel(NULL, &waits.call, "enough");
    assert_int_equal(suite_park(&next)->status, NOD_OK); /* and what nobody comes for has gone */
    suite_store->ops->held(suite_store, &held);
    assert_in_range(held.bytes, LARGE, LARGE + LARGE / 2);
    mem_free(text);
}

static void a_file_of_the_third_version_is_brought_up_to_date(void **state)
{
    struct question question = { .key = "a" };
    (void)state;

    struct id call = suite_ask(&question);
    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    meddle(DOWN_TO_3);
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
    struct store_scan pending = { .index = STORE_ASKS_PENDING, .key = STR("ada") };
    assert_int_equal(suite_scan(&pending)->rows, 1); /* also what was there before the lists */
    assert_true(suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "node-a")->reply.taken);
    assert_int_equal(suite_load_call(&call)->reply.call->entry_count, 1);
    assert_int_equal(suite_scan(&pending)->rows, 0);
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_ASKS_ENDED })->rows, 1);
}

static void an_ask_without_its_call_does_not_stop_the_migration(void **state)
{
    struct question lost = { .key = "a" }, kept = { .key = "b" };
    (void)state;

    struct id gone = suite_ask(&lost);
    suite_ask(&kept);
    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    char sql[2048];
    snprintf(sql, sizeof(sql), DOWN_TO_3 "DELETE FROM calls WHERE id = '" STR_FMT "'",
             STR_ARG(id_str(&gone)));
    meddle(sql);
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
    assert_true(suite_claim(&kept.id, ASK_ACCEPTED, "{}", "ada", "node-a")->reply.taken);
}

static void line01_a_file_of_the_second_version_is_brought_up_to_date(void **state)
{
    struct question asks[4] = { { .key = "a" }, { .key = "b" }, { .key = "c" }, { .key = "d" } };
    struct id waits, runnable, ended, runs;
    (void)state;

    waits = suite_ask(&asks[0]);
    runnable = suite_ask(&asks[1]);
    suite_claim(&asks[1].id, ASK_ACCEPTED, "{}", "ada", "");
    ended = suite_ask(&asks[2]);
    suite_finish(NULL, &ended, 1, "{}");
    runs = suite_ask(&asks[3]);
    suite_claim(&asks[3].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    int64_t now = mine()->clock.wall;
    char sql[2048];
    snprintf(sql, sizeof(sql),
             DOWN_TO_2 "UPDATE calls SET drop_ms = %lld WHERE state IN (1, 2);"
                       "UPDATE calls SET drop_ms = %lld WHERE state = 3",
             (long long)now + 5000, (long long)now + 5000);
    meddle(sql);
    suite_rig->keep_ms = 1000;
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
    assert_int_equal(suite_store->id.len, ID_LEN);
    /* Its questions wait for ten minutes, and its kind was kept for an hour beyond. */
    const int64_t until = now + SUITE_LONG_MS + 3600000;
    const struct id *calls[] = { &waits, &runnable, &ended, &runs };
    for (size_t i = 0; i < 4; i++) {
        const struct call_record *call = suite_load_call(calls[i])->reply.call;
        assert_int_equal(call->keep_until_ms, until);
        assert_true(call->handed);
    }
    assert_int_equal(suite_load_ask(&asks[0].id)->reply.ask->attempt, 1);
    assert_int_equal(suite_load_ask(&asks[1].id)->reply.ask->via.len, 0);
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE });
    assert_int_equal(got->rows, 2); /* also what ran on a node that is gone */
    /* The old time to remove them is over, and nothing goes. */
    for (int i = 0; i < 3; i++) {
        advance(suite_rig, 10000);
        suite_beat("node-b", 1000);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(suite_load_call(calls[i])->status, NOD_OK);
    advance(suite_rig, SUITE_LONG_MS + 3600000);
    for (int i = 0; i < 3; i++) {
        advance(suite_rig, 10000);
        suite_beat("node-b", 1000);
    }
    assert_int_equal(suite_load_call(&ended)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_call(&waits)->status, NOD_OK);
    assert_int_equal(suite_load_call(&runnable)->status, NOD_OK);
    assert_int_equal(suite_load_call(&runs)->status, NOD_OK);
}

/* --- what is abandoned --- */

/* So much time in which the file is in use. */
static void in_use(int64_t ms)
{
    enum { STEP_MS = 30000 };

    for (; ms > 0; ms -= STEP_MS) {
        advance(suite_rig, ms < STEP_MS ? ms : STEP_MS);
        suite_beat("node-b", 1000);
    }
}

static void line07_time_in_which_nobody_could_run_a_call_does_not_count(void **state)
{
    enum { ABANDONED_MS = 600000 };
    struct question asks[3] = { { .key = "a" }, { .key = "b" }, { .key = "c", .ttl_ms = 1000 } };
    (void)state;

    mine()->abandoned_ms = ABANDONED_MS;
    suite_reopen();
    struct id runnable = suite_ask(&asks[0]), runs = suite_ask(&asks[1]),
              waits = suite_ask(&asks[2]);
    suite_claim(&asks[0].id, ASK_ACCEPTED, "{}", "ada", "");
    suite_claim(&asks[1].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_beat("node-a", 10 * ABANDONED_MS); /* which works on it for long */
    in_use(ABANDONED_MS / 2);
    suite_store->ops->destroy(suite_store);
    advance(suite_rig, (int64_t)100 * ABANDONED_MS); /* a long stop */
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
    in_use(ABANDONED_MS / 2 - 60000);
    assert_int_equal(suite_load_call(&runnable)->status, NOD_OK);
    in_use(2 * 60000);
    assert_int_equal(suite_load_call(&runnable)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_call(&runs)->status, NOD_OK); /* gone for half of it */
    in_use(ABANDONED_MS / 2);
    assert_int_equal(suite_load_call(&runs)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_call(&waits)->reply.call->state, CALL_STORED_WAITING);
    mine()->abandoned_ms = 0;
}

static void line07_a_call_that_its_node_works_on_is_not_abandoned(void **state)
{
    enum { ABANDONED_MS = 300000 };
    struct question ask = { .key = "a" };
    (void)state;

    mine()->abandoned_ms = ABANDONED_MS;
    suite_reopen();
    struct id runs = suite_ask(&ask);
    suite_claim(&ask.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    in_use(60000); /* it has not said yet that it is alive */
    for (int i = 0; i < 30; i++) {
        suite_beat("node-a", 40000);
        in_use(30000);
    }
    assert_int_equal(suite_load_call(&runs)->status, NOD_OK);
    in_use(60000 + ABANDONED_MS / 2);
    assert_int_equal(suite_load_call(&runs)->status, NOD_OK);
    in_use(ABANDONED_MS);
    assert_int_equal(suite_load_call(&runs)->status, NOD_E_NOT_FOUND);
    mine()->abandoned_ms = 0;
}

/* --- what cannot be read --- */

static void line09_records_that_cannot_be_read_hide_no_others(void **state)
{
    enum { BAD = 20, LIMIT = 8 };
    struct question question;
    struct id good_call, good_due;
    (void)state;

    for (int i = 0; i < BAD; i++) {
        question = (struct question){ .key = "#1", .ttl_ms = SUITE_SHORT_MS };
        suite_ask(&question);
        question = (struct question){ .key = "#1" };
        suite_ask(&question);
        suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    }
    suite_store->ops->destroy(suite_store);
    meddle("UPDATE calls SET record = x'00'; UPDATE asks SET record = x'00'");
    suite_store = open_store(suite_rig);
    question = (struct question){ .key = "#1", .ttl_ms = SUITE_SHORT_MS + 1 };
    suite_ask(&question);
    good_due = question.id;
    question = (struct question){ .key = "#1" };
    good_call = suite_ask(&question);
    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    advance(suite_rig, 2 * SUITE_SHORT_MS);
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE, .limit = LIMIT });
    assert_int_equal(got->rows, 1);
    assert_true(str_eq(got->calls[0].id, id_str(&good_call)));
    got = suite_scan(&(struct store_scan){ .index = STORE_ASKS_DUE, .limit = LIMIT });
    assert_int_equal(got->rows, 1);
    assert_true(str_eq(got->asks[0].id, id_str(&good_due)));
}

static void a_file_of_the_first_version_is_brought_up_to_date(void **state)
{
    struct question questions[2] = { { .key = "pin", .sensitive = true }, { .key = "b" } };
    struct question more = { .key = "c" };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 2
    };
    struct parking next = { .call = suite_id(), .open = true, .questions = &more, .count = 1 };
    (void)state;

    suite_park(&parking);
    suite_store->ops->destroy(suite_store);
    meddle(DOWN_TO_2
           "DROP TABLE quota; DROP TABLE marks; ALTER TABLE calls DROP COLUMN owner;"
           "ALTER TABLE calls DROP COLUMN sensitive; DROP INDEX calls_active;"
           "ALTER TABLE calls DROP COLUMN called;"
           "CREATE INDEX calls_active ON calls (state) WHERE state IN (0, 2); DELETE FROM "
           "migrations WHERE version > 1;"
           "PRAGMA user_version = 1");
    suite_rig->pending_asks = 2;
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
    assert_int_equal(suite_park(&next)->status, NOD_E_LIMIT); /* what it has was counted */
    assert_true(suite_claim(&questions[0].id, ASK_ACCEPTED, "{\"pin\":1}", "ada", "")->reply.won);
    assert_int_equal(suite_park(&next)->status, NOD_OK);
    suite_cancel(NULL, &parking.call, "enough");
    assert_int_equal(suite_load_call(&parking.call)->reply.call->entries[0].content.len, 0);
    assert_int_equal(suite_load_ask(&questions[0].id)->reply.ask->content.len, 0);
}

static void a_file_of_something_else_is_refused(void **state)
{
    (void)state;

    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    meddle("PRAGMA application_id = 1");
    assert_null(open_store(suite_rig));
    assert_non_null(strstr(mine()->why, "something else"));
    FILE *file = fopen(mine()->path, "w");
    assert_non_null(file);
    fputs("this is no database, however long one looks at it", file);
    fclose(file);
    assert_null(open_store(suite_rig));
    assert_true(strlen(mine()->why) > 0);
}

static void a_path_that_cannot_be_made_is_said(void **state)
{
    char why[LITE_WHY_MAX];
    (void)state;

    assert_null(sqlite_store_open(
        &(struct sqlite_opts){ .path = "/nonexistent-folder/x.db", .loop = mine()->loop }, why));
    assert_string_equal(why, "/nonexistent-folder/x.db cannot be made: the folder "
                             "/nonexistent-folder is not there");
}

static void nobody_else_may_read_its_files(void **state)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[128];
    struct stat about;
    (void)state;

    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s%s", mine()->path, tails[i]);
        assert_int_equal(stat(name, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
    }
}

static uint64_t commits(void)
{
    return atomic_load(&((struct sqlite_store *)(void *)suite_store)->commits);
}

static void many_operations_share_a_commit(void **state)
{
    uint64_t before = commits();
    struct got *got[500];
    (void)state;

    for (int i = 0; i < 500; i++) {
        got[i] = got_new();
        suite_store->ops->put(suite_store, STR("k"), STR("a"), STR("v"), STR_NONE, 0, 0, got_done,
                              got[i]);
    }
    for (int i = 0; i < 500; i++)
        assert_int_equal(got_wait(got[i])->status, NOD_OK);
    assert_true(commits() - before < 100);
}

static void content_is_in_the_file_only_when_no_secret_is_set(void **state)
{
    struct question question = { .key = "#1", .message = "MARKER-question" };
    struct id call = suite_ask(&question);
    (void)state;

    suite_claim(&question.id, ASK_ACCEPTED, "MARKER-answer", "ada", "node-a");
    suite_finish(NULL, &call, 2, "MARKER-result");
    suite_put("grant", "k", STR("MARKER-value"), 0, 0);
    static const char *const markers[] = { "MARKER-question", "MARKER-answer", "MARKER-result",
                                           "MARKER-value" };
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++)
        assert_int_equal(found_on_disk(markers[i]), mine()->ring == NULL);
}

static void an_erased_answer_is_not_in_the_file(void **state)
{
    struct question question = { .key = "#1", .sensitive = true };
    struct id call = suite_ask(&question);
    (void)state;

    suite_claim(&question.id, ASK_ACCEPTED, "MARKER-secret", "ada", "node-a");
    suite_finish(NULL, &call, 2, "{}");
    suite_reopen(); /* the log goes with the last connection */
    assert_false(found_on_disk("MARKER-secret"));
}

static void a_record_that_was_tampered_with_is_refused_and_the_rest_works_on(void **state)
{
    struct question changed = { .key = "a" }, moved = { .key = "b" }, fine = { .key = "c" };
    char sql[2048];
    (void)state;

    if (!mine()->ring)
        return;
    suite_ask(&changed);
    suite_ask(&moved);
    suite_ask(&fine);
    /* A blob, also after the concatenation. */
    snprintf(sql, sizeof(sql),
             "UPDATE asks SET record = CAST(substr(record, 1, 40) || x'00' || substr(record, 42) "
             "AS BLOB) WHERE id = '%s';"
             "UPDATE asks SET record = (SELECT record FROM asks WHERE id = '%s') WHERE id = '%s'",
             changed.id.text, fine.id.text, moved.id.text);
    meddle(sql);
    assert_int_equal(suite_load_ask(&changed.id)->status, NOD_E_REFUSED);
    assert_int_equal(suite_claim(&changed.id, ASK_ACCEPTED, "{}", "ada", "")->status,
                     NOD_E_REFUSED);
    assert_int_equal(suite_load_ask(&moved.id)->status, NOD_E_REFUSED);
    struct store_scan all = { .index = STORE_ASKS_DUE,
                              .before = mine()->clock.wall + 2 * SUITE_LONG_MS };
    assert_int_equal(suite_scan(&all)->rows, 1);
    assert_true(suite_claim(&fine.id, ASK_ACCEPTED, "{}", "ada", "")->reply.won);
}

static struct keyring *ring_of(const struct str *secrets, size_t count)
{
    struct keyring *ring = NULL;
    const char *why;

    assert_int_equal(keyring_create(secrets, count, &ring, &why), NOD_OK);
    return ring;
}

static void with_ring(struct keyring *ring)
{
    suite_store->ops->destroy(suite_store);
    mine()->ring = ring;
    suite_store = open_store(suite_rig);
    assert_non_null(suite_store);
}

static void secrets_rotate_and_a_plain_or_foreign_record_is_refused(void **state)
{
    static const struct str third = STR_INIT("third-third-third-third-third-third-");
    static const struct str second = STR_INIT("second-second-second-second-second-");
    static const struct str first = STR_INIT("first-first-first-first-first-first");
    struct keyring *before = mine()->ring;
    struct keyring *rings[] = { ring_of(&first, 1), ring_of((struct str[]){ second, first }, 2),
                                ring_of((struct str[]){ third, second, first }, 3),
                                ring_of(&third, 1) };
    struct question questions[4] = {
        { .key = "0" }, { .key = "1" }, { .key = "2" }, { .key = "3" }
    };
    (void)state;

    mine()->mark = MARK_IGNORED;
    with_ring(NULL);
    suite_ask(&questions[3]); /* plain */
    for (int i = 0; i < 3; i++) {
        with_ring(rings[i]);
        suite_ask(&questions[i]);
        for (int j = 0; j <= i; j++)
            assert_int_equal(suite_load_ask(&questions[j].id)->status, NOD_OK);
        assert_int_equal(suite_load_ask(&questions[3].id)->status, NOD_E_REFUSED);
    }
    with_ring(rings[3]);
    assert_int_equal(suite_load_ask(&questions[0].id)->status, NOD_E_STORE);
    assert_int_equal(suite_load_ask(&questions[1].id)->status, NOD_E_STORE);
    assert_int_equal(suite_load_ask(&questions[2].id)->status, NOD_OK);
    with_ring(NULL);
    assert_int_equal(suite_load_ask(&questions[2].id)->status, NOD_E_STORE);
    assert_int_equal(suite_load_ask(&questions[3].id)->status, NOD_OK);
    for (size_t i = 0; i < 4; i++)
        keyring_destroy(rings[i]);
    mine()->ring = before;
    mine()->mark = MARK_CHECKED;
}

static void damaged_bytes_are_refused_with_a_reason(void **state)
{
    struct question question = { .key = "a" };
    struct id call = suite_ask(&question);
    (void)state;

    meddle("UPDATE asks SET record = x'01'; UPDATE calls SET record = x'ff02000000'");
    assert_int_equal(suite_load_ask(&question.id)->status, NOD_E_PARSE);
    assert_int_equal(suite_load_call(&call)->status, NOD_E_PARSE);
}

static void what_is_over_is_removed_while_nobody_asks(void **state)
{
    (void)state;

    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", i);
        struct got *got = got_new();
        suite_store->ops->put(suite_store, STR("k"), str_of(key), STR("v"), STR_NONE, 0, 100,
                              got_done, got);
    }
    suite_beat("node-a", SUITE_LONG_MS);
    suite_rig->advance(suite_rig, 10000);
    suite_beat("node-a", SUITE_LONG_MS); /* one commit; the slices that follow are its own */
    sqlite3 *db = NULL;
    int left = 1;
    assert_int_equal(sqlite3_open(mine()->path, &db), SQLITE_OK);
    for (int i = 0; left && i < PATIENCE_MS; i++) {
        sqlite3_stmt *stmt = NULL;
        suite_rig->turn(suite_rig);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM small", -1, &stmt, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        left = sqlite3_column_int(stmt, 0);
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    assert_int_equal(left, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

static const struct CMUnitTest own[] = {
    TEST(a_file_that_is_owned_is_not_opened_again),
    TEST(a_newer_file_is_refused),
    TEST(a_file_of_the_first_version_is_brought_up_to_date),
    TEST(a_file_of_the_third_version_is_brought_up_to_date),
    TEST(an_ask_without_its_call_does_not_stop_the_migration),
    TEST(what_a_file_of_the_sixth_version_keeps_is_counted),
    TEST(line01_a_file_of_the_second_version_is_brought_up_to_date),
    TEST(line07_time_in_which_nobody_could_run_a_call_does_not_count),
    TEST(line07_a_call_that_its_node_works_on_is_not_abandoned),
    TEST(line09_records_that_cannot_be_read_hide_no_others),
    TEST(a_file_of_something_else_is_refused),
    TEST(a_path_that_cannot_be_made_is_said),
    TEST(nobody_else_may_read_its_files),
    TEST(many_operations_share_a_commit),
    TEST(content_is_in_the_file_only_when_no_secret_is_set),
    TEST(an_erased_answer_is_not_in_the_file),
    TEST(a_record_that_was_tampered_with_is_refused_and_the_rest_works_on),
    TEST(secrets_rotate_and_a_plain_or_foreign_record_is_refused),
    TEST(damaged_bytes_are_refused_with_a_reason),
    TEST(what_is_over_is_removed_while_nobody_asks),
};

SUBJECT(sqlite)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");
    struct sqlite_rig rig = { .rig = { .name = "sqlite",
                                       .durable = true,
                                       .nodes = true,
                                       .quotas = true,
                                       .bytes = true,
                                       .by_hand = true,
                                       .begin = begin,
                                       .open = open_store,
                                       .turn = turn,
                                       .advance = advance,
                                       .end = end } };
    const char *why;
    int failed = store_suite(&rig.rig);

    failed += cmocka_run_group_tests_name("sqlite: its own", own, NULL, NULL);
    if (keyring_create(&secret, 1, &rig.ring, &why) != NOD_OK)
        return 1;
    rig.rig.name = "sqlite, sealed";
    failed += store_suite(&rig.rig);
    failed += cmocka_run_group_tests_name("sqlite, sealed: its own", own, NULL, NULL);
    keyring_destroy(rig.ring);
    return failed;
}
