/*
 * tests/unit/store/listing: asks and small records by page, and hints of asks.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

enum {
    MANY = 3000,         /* asks, in a normal run */
    MANY_SOAK = 100000,  /* and with NOD_SOAK=1, once in a program */
    OF_EACH = 100,       /* asks of one principal */
    AT_ONCE = 500,       /* operations on their way */
    PAGE = 250,          /* rows asked for */
    PAGES_MOST = 100000, /* no walk has more */
};

/* --- a page --- */

static struct got *page(enum store_index index, const char *principal, struct str cursor,
                        size_t limit)
{
    struct got *got = got_new();

    suite_store->ops->scan(
        suite_store,
        &(struct store_scan){
            .index = index, .key = str_of(principal), .cursor = cursor, .limit = limit },
        got_row, got_done, got);
    return got_wait(got);
}

/* All rows are these asks, in this order, whatever the size of a page. */
static void assert_listed(enum store_index index, const char *principal,
                          const struct id *const *ids, size_t count)
{
    for (size_t limit = 1; limit <= count + 1; limit++) {
        struct str cursor = STR_NONE;
        size_t seen = 0;
        for (int pages = 0; pages < 100; pages++) {
            struct got *got = page(index, principal, cursor, limit);
            assert_int_equal(got->status, NOD_OK);
            assert_true(got->rows <= limit);
            for (size_t i = 0; i < got->rows; i++, seen++) {
                assert_true(seen < count);
                assert_true(str_eq(got->asks[i].id, id_str(ids[seen])));
            }
            cursor = arena_str(&got->arena, got->reply.cursor);
            if (!cursor.len)
                break;
        }
        assert_int_equal(cursor.len, 0);
        assert_int_equal(seen, count);
    }
}

static struct id ask_of(struct question *question, const char *principal)
{
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = question, .count = 1, .principal = principal
    };

    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    suite_rig->advance(suite_rig, 2); /* so that each has a time of its own */
    return parking.call;
}

static void pending_asks_are_listed_by_page_the_oldest_first(void **state)
{
    struct question asks[5] = { { .key = "a" },
                                { .key = "b" },
                                { .key = "c" },
                                { .key = "d" },
                                { .key = "e", .ttl_ms = SUITE_SHORT_MS } };
    const char *whose[5] = { "ada", "bob", "ada", "bob", "ada" };
    (void)state;

    assert_listed(STORE_ASKS_PENDING, "", NULL, 0);
    for (int i = 0; i < 5; i++)
        ask_of(&asks[i], whose[i]);
    const struct id *all[] = { &asks[0].id, &asks[1].id, &asks[2].id, &asks[3].id, &asks[4].id };
    const struct id *adas[] = { &asks[0].id, &asks[2].id, &asks[4].id };
    const struct id *bobs[] = { &asks[1].id, &asks[3].id };
    struct got *got = page(STORE_ASKS_PENDING, "bob", STR_NONE, 0);
    assert_int_equal(got->rows, 2);
    assert_str(got->asks[0].principal, "bob");
    assert_true(got->asks[0].target.len > 0 && got->asks[0].message.len > 0);
    assert_int_equal(got->asks[0].state, ASK_PENDING);
    assert_true(got->asks[0].asked_ms > 0 && got->asks[0].asked_ms < got->asks[1].asked_ms);
    assert_int_equal(got->asks[0].expires_ms, got->asks[0].asked_ms + SUITE_LONG_MS);
    assert_int_equal(got->reply.cursor.len, 0);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS);
    /* What has run out is not answered any more, and not listed, though nobody has ended it. */
    assert_listed(STORE_ASKS_PENDING, "", all, 4);
    assert_listed(STORE_ASKS_PENDING, "ada", adas, 2);
    assert_listed(STORE_ASKS_PENDING, "bob", bobs, 2);
    assert_listed(STORE_ASKS_PENDING, "nobody", NULL, 0);
    assert_listed(STORE_ASKS_ENDED, "", NULL, 0);
    assert_int_equal(page(STORE_ASKS_PENDING, "", STR("nonsense"), 1)->status, NOD_E_USAGE);
    assert_int_equal(page(STORE_ASKS_ENDED, "", STR("12."), 1)->status, NOD_E_USAGE);
    suite_reopen();
    assert_listed(STORE_ASKS_PENDING, "", all, suite_rig->durable ? 4 : 0);
}

static void an_ask_that_ends_moves_from_one_list_to_the_other(void **state)
{
    struct question asks[5] = { { .key = "a" },
                                { .key = "b" },
                                { .key = "c" },
                                { .key = "d" },
                                { .key = "e", .ttl_ms = SUITE_SHORT_MS } };
    struct id calls[5];
    (void)state;

    for (int i = 0; i < 5; i++)
        calls[i] = ask_of(&asks[i], i == 1 ? "bob" : "ada");
    suite_claim(&asks[2].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_rig->advance(suite_rig, 2);
    suite_claims_of(
        NULL, &(struct claim_spec){ .items = &(struct claim_item){ .ask_id = id_str(&asks[1].id),
                                                                   .outcome = ASK_DECLINED },
                                    .count = 1,
                                    .by = STR("bob"),
                                    .via = STR("inbox") });
    suite_rig->advance(suite_rig, 2);
    suite_cancel(NULL, &calls[3], "enough");
    suite_rig->advance(suite_rig, SUITE_SHORT_MS);
    assert_true(suite_claim(&asks[4].id, ASK_EXPIRED, "", "nod", "")->reply.won);
    const struct id *waits[] = { &asks[0].id };
    const struct id *ended[] = { &asks[4].id, &asks[3].id, &asks[1].id, &asks[2].id };
    const struct id *adas[] = { &asks[4].id, &asks[3].id, &asks[2].id };
    assert_listed(STORE_ASKS_PENDING, "", waits, 1);
    assert_listed(STORE_ASKS_PENDING, "bob", NULL, 0);
    assert_listed(STORE_ASKS_ENDED, "", ended, 4);
    assert_listed(STORE_ASKS_ENDED, "ada", adas, 3);
    struct got *got = page(STORE_ASKS_ENDED, "", STR_NONE, 10);
    assert_int_equal(got->asks[0].state, ASK_EXPIRED);
    assert_int_equal(got->asks[1].state, ASK_WITHDRAWN);
    assert_int_equal(got->asks[2].state, ASK_DECLINED);
    assert_str(got->asks[2].by, "bob");
    assert_str(got->asks[2].via, "inbox");
    assert_true(got->asks[2].ended_ms > got->asks[3].ended_ms);
    /* The end of a call changes nothing of how its asks have ended. */
    suite_finish(NULL, &calls[2], 2, "{}");
    assert_listed(STORE_ASKS_ENDED, "", ended, 4);
    suite_reopen();
    assert_listed(STORE_ASKS_ENDED, "", ended, suite_rig->durable ? 4 : 0);
}

static void asks_of_one_moment_are_listed_each_once(void **state)
{
    enum { ROUND = 40 };
    struct question questions[ROUND] = { 0 };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = ROUND
    };
    struct map seen;
    size_t count = 0;
    (void)state;

    for (int i = 0; i < ROUND; i++)
        questions[i].key = "k";
    char keys[ROUND][8];
    for (int i = 0; i < ROUND; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%d", i);
        questions[i].key = keys[i];
    }
    suite_park(&parking);
    for (int ended = 0; ended < 2; ended++) {
        struct str cursor = STR_NONE;
        map_init(&seen, SIZE_MAX / 2);
        count = 0;
        do {
            struct got *got = page(ended ? STORE_ASKS_ENDED : STORE_ASKS_PENDING, "ada", cursor, 3);
            for (size_t i = 0; i < got->rows; i++, count++) {
                assert_null(map_get(&seen, got->asks[i].id));
                map_set(&seen, got->asks[i].id, got);
            }
            cursor = got->reply.cursor;
            if (cursor.len)
                cursor = arena_str(&got->arena, cursor);
        } while (cursor.len);
        assert_int_equal(count, ROUND);
        map_finish(&seen);
        suite_cancel(NULL, &parking.call, "enough");
    }
}

static void a_call_that_is_removed_leaves_nothing_in_the_lists(void **state)
{
    struct question question = { .key = "a" };
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    suite_reopen();
    struct id call = ask_of(&question, "ada");
    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_finish(NULL, &call, 2, "{}");
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    for (int i = 0; i < 3; i++) {
        struct parking other = { .call = suite_id(), .open = true };
        suite_rig->advance(suite_rig, suite_rig->by_hand ? 10000 : 1);
        suite_append(&other);
        suite_finish(NULL, &other.call, 1, "{}");
    }
    assert_listed(STORE_ASKS_ENDED, "", NULL, 0);
    assert_listed(STORE_ASKS_ENDED, "ada", NULL, 0);
}

/* A call that has gone on elsewhere takes the place of the one that waits here. */
static void an_ask_that_is_replaced_is_not_listed(void **state)
{
    struct question old = { .key = "old" }, new = { .key = "new" };
    struct entry entry = { .class = ENTRY_NOW, .key = STR("n"), .number = 1 };
    struct parking parking = { .call = suite_id(), .open = true, .questions = &old, .count = 1 };
    (void)state;

    suite_park(&parking);
    parking.questions = &new;
    parking.entries = &entry;
    parking.entry_count = 1;
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    const struct id *waits[] = { &new.id };
    assert_listed(STORE_ASKS_PENDING, "", waits, 1);
    assert_listed(STORE_ASKS_PENDING, "ada", waits, 1);
    assert_listed(STORE_ASKS_ENDED, "", NULL, 0);
}

/* --- many --- */

struct bulk { /* asks, most of which stay; the others come and go while pages are read */
    struct id *calls, *asks;
    unsigned char *seen;
    size_t count; /* that stay */
    size_t on_their_way;
    size_t failed;
    struct map known; /* ask -> its place in `seen`, from 1 */
    size_t rows;
    struct str cursor;
    char cursor_text[64];
    bool done;
};

static void bulk_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct bulk *bulk = data;

    (void)reply;
    bulk->on_their_way--;
    bulk->failed += status != NOD_OK;
}

static void bulk_wait(struct bulk *bulk, size_t most)
{
    for (int i = 0; bulk->on_their_way > most && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_true(bulk->on_their_way <= most);
    assert_int_equal(bulk->failed, 0);
}

static void bulk_ask(struct bulk *bulk, const struct id *call, const struct id *ask, size_t owner)
{
    struct id token = suite_id();
    char name[32];

    snprintf(name, sizeof(name), "principal-%zu", owner);
    struct call_record open = {
        .id = id_str(call), .principal = str_of(name), .scope = STR("s"), .target = STR("tool")
    };
    struct ask_record record = { .id = id_str(ask),
                                 .call_id = id_str(call),
                                 .key = STR("#1"),
                                 .principal = str_of(name),
                                 .message = STR("Go on?"),
                                 .ttl_ms = SUITE_LONG_MS };
    bulk_wait(bulk, AT_ONCE);
    bulk->on_their_way++;
    suite_store->ops->park(suite_store,
                           &(struct park_spec){ .token = id_str(&token),
                                                .open = &open,
                                                .node = STR("node-a"),
                                                .call_id = id_str(call),
                                                .epoch = 1,
                                                .asks = &record,
                                                .ask_count = 1,
                                                .handed = true },
                           bulk_done, bulk);
}

static void bulk_cancel(struct bulk *bulk, const struct id *call)
{
    struct id token = suite_id();

    bulk_wait(bulk, AT_ONCE);
    bulk->on_their_way++;
    suite_store->ops->cancel(suite_store, id_str(&token), id_str(call), STR("enough"), bulk_done,
                             bulk);
}

static void bulk_row(void *data, const struct store_row *row)
{
    struct bulk *bulk = data;
    size_t place = (size_t)(uintptr_t)map_get(&bulk->known, row->ask->id);

    bulk->rows++;
    if (place)
        bulk->seen[place - 1]++;
}

static void bulk_paged(void *data, nod_status status, const struct store_reply *reply)
{
    struct bulk *bulk = data;

    assert_int_equal(status, NOD_OK);
    assert_true(reply->cursor.len < sizeof(bulk->cursor_text));
    if (reply->cursor.len)
        memcpy(bulk->cursor_text, reply->cursor.at, reply->cursor.len);
    bulk->cursor = str_n(bulk->cursor_text, reply->cursor.len);
    bulk->done = true;
}

/* Pages through, and meanwhile others come, and some that came go again. How many rows there were.
 */
static size_t bulk_walk(struct bulk *bulk, enum store_index index, const char *principal,
                        bool others)
{
    struct id call, ask;
    size_t pages = 0;

    memset(bulk->seen, 0, bulk->count);
    bulk->rows = 0;
    bulk->cursor = STR_NONE;
    do {
        assert_true(++pages < PAGES_MOST);
        bulk->done = false;
        suite_store->ops->scan(
            suite_store,
            &(struct store_scan){
                .index = index, .key = str_of(principal), .cursor = bulk->cursor, .limit = PAGE },
            bulk_row, bulk_paged, bulk);
        for (int i = 0; !bulk->done && i < SUITE_PATIENCE; i++)
            suite_rig->turn(suite_rig);
        assert_true(bulk->done);
        for (size_t i = 0; others && i < 8; i++) {
            call = suite_id();
            ask = suite_id();
            bulk_ask(bulk, &call, &ask, (pages + i) % 7);
            bulk_wait(bulk, 0);
            if (i % 2)
                bulk_cancel(bulk, &call);
        }
    } while (bulk->cursor.len);
    bulk_wait(bulk, 0);
    return pages;
}

static void of_many_asks_none_is_left_out_or_shown_twice_while_others_come_and_go(void **state)
{
    static bool done_in_full;
    bool soak = suite_soak() && !done_in_full;
    struct bulk bulk = { .count = soak ? MANY_SOAK : MANY };
    size_t owners = bulk.count / OF_EACH;
    char name[32];
    (void)state;

    bulk.calls = malloc(bulk.count * sizeof(struct id));
    bulk.asks = malloc(bulk.count * sizeof(struct id));
    bulk.seen = malloc(bulk.count);
    assert_true(bulk.calls && bulk.asks && bulk.seen);
    map_init(&bulk.known, SIZE_MAX / 2);
    for (size_t i = 0; i < bulk.count; i++) {
        bulk.calls[i] = suite_id();
        bulk.asks[i] = suite_id();
        map_set(&bulk.known, id_str(&bulk.asks[i]), (void *)(uintptr_t)(i + 1));
        bulk_ask(&bulk, &bulk.calls[i], &bulk.asks[i], i % owners);
    }
    bulk_wait(&bulk, 0);
    /* Of all. */
    bulk_walk(&bulk, STORE_ASKS_PENDING, "", true);
    for (size_t i = 0; i < bulk.count; i++)
        assert_int_equal(bulk.seen[i], 1);
    /* Of one: its own and no other's. */
    for (size_t owner = 3; owner < owners; owner += owners / 3) {
        snprintf(name, sizeof(name), "principal-%zu", owner);
        bulk_walk(&bulk, STORE_ASKS_PENDING, name, true);
        for (size_t i = 0; i < bulk.count; i++)
            assert_int_equal(bulk.seen[i], i % owners == owner);
    }
    /* A third of them ends: they leave the one list, and the other shows them. */
    for (size_t i = 0; i < bulk.count; i += 3)
        bulk_cancel(&bulk, &bulk.calls[i]);
    bulk_wait(&bulk, 0);
    bulk_walk(&bulk, STORE_ASKS_PENDING, "", true);
    for (size_t i = 0; i < bulk.count; i++)
        assert_int_equal(bulk.seen[i], i % 3 != 0);
    bulk_walk(&bulk, STORE_ASKS_ENDED, "", true);
    size_t missing = 0;
    for (size_t i = 0; i < bulk.count; i++) {
        assert_true(bulk.seen[i] <= (i % 3 == 0));
        missing += i % 3 == 0 && !bulk.seen[i];
    }
    /* In memory no more than some thousands of ends are kept. */
    assert_true(missing == 0 || (!suite_rig->durable && soak));
    done_in_full = soak || done_in_full;
    map_finish(&bulk.known);
    free(bulk.calls);
    free(bulk.asks);
    free(bulk.seen);
}

/* --- small records --- */

struct listed {
    size_t rows;
    nod_status status;
    bool done;
    char keys[16][32];
    char values[16][32];
    uint64_t versions[16];
    struct str cursor;
    char cursor_text[64];
};

static void listed_row(void *data, const struct store_row *row)
{
    struct listed *listed = data;

    assert_true(listed->rows < 16 && row->value->key.len < 32 && row->value->value.len < 32);
    snprintf(listed->keys[listed->rows], 32, STR_FMT, STR_ARG(row->value->key));
    snprintf(listed->values[listed->rows], 32, STR_FMT, STR_ARG(row->value->value));
    listed->versions[listed->rows++] = row->value->version;
}

static void listed_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct listed *listed = data;

    listed->status = status;
    assert_true(reply->cursor.len < sizeof(listed->cursor_text));
    if (reply->cursor.len)
        memcpy(listed->cursor_text, reply->cursor.at, reply->cursor.len);
    listed->cursor = str_n(listed->cursor_text, reply->cursor.len);
    listed->done = true;
}

/* Another page behind what was listed. */
static void list_more(struct listed *listed, const char *kind, const char *prefix, size_t limit)
{
    listed->done = false;
    suite_store->ops->list(suite_store,
                           &(struct store_list){ .kind = str_of(kind),
                                                 .prefix = str_of(prefix),
                                                 .cursor = listed->cursor,
                                                 .limit = limit },
                           listed_row, listed_done, listed);
    assert_false(listed->done);
    for (int i = 0; !listed->done && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_true(listed->done);
}

static void assert_keys(const char *kind, const char *prefix, const char *const *keys, size_t count)
{
    for (size_t limit = 0; limit <= count + 1; limit++) {
        struct listed listed = { 0 };
        for (int pages = 0; pages < 32; pages++) {
            size_t before = listed.rows;
            list_more(&listed, kind, prefix, limit);
            assert_int_equal(listed.status, NOD_OK);
            assert_true(!limit || listed.rows - before <= limit);
            if (!listed.cursor.len)
                break;
        }
        assert_int_equal(listed.cursor.len, 0);
        assert_int_equal(listed.rows, count);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(listed.keys[i], keys[i]);
    }
}

static void small_records_are_listed_by_kind_and_prefix_in_order(void **state)
{
    static const char *const all[] = { "", "a", "ada/1", "ada/2", "ada/3", "b", "\xff\xff" };
    static const char *const some[] = { "ada/1", "ada/2", "ada/3" };
    static const char *const fewer[] = { "ada/1", "ada/3" };
    static const size_t order[] = { 4, 1, 6, 0, 3, 5, 2 };
    (void)state;

    for (size_t i = 0; i < 7; i++)
        suite_put("grant", all[order[i]], str_of(all[order[i]]), 0, 0);
    suite_put("grants", "ada/0", STR("x"), 0, 0);
    suite_put("gran", "tada/0", STR("x"), 0, 0);
    assert_keys("grant", "", all, 7);
    assert_keys("grant", "ada/", some, 3);
    assert_keys("grant", "ada/2", some + 1, 1);
    assert_keys("grant", "\xff", all + 6, 1);
    assert_keys("grant", "c", NULL, 0);
    assert_keys("nothing", "", NULL, 0);
    uint64_t version = suite_put("grant", "ada/3", STR("new"), 0, 0)->reply.version;
    struct listed listed = { 0 };
    list_more(&listed, "grant", "ada/3", 0);
    assert_string_equal(listed.values[0], "new");
    assert_int_equal(listed.versions[0], version);
    suite_del("grant", "ada/2");
    assert_keys("grant", "ada/", fewer, 2);
    suite_put("grant", "ada/2", STR("again"), 0, SUITE_LONG_MS);
    assert_keys("grant", "ada/", some, 3);
    suite_put("grant", "ada/2", STR("again"), 0, SUITE_SHORT_MS);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    assert_keys("grant", "ada/", fewer, 2);
    suite_put("grant", "ada/2", STR("again"), 0, 0);
    assert_keys("grant", "ada/", some, 3);
    listed = (struct listed){ .cursor = STR("nonsense") };
    list_more(&listed, "grant", "", 1);
    assert_int_equal(listed.status, NOD_E_USAGE);
    suite_reopen();
    assert_keys("grant", "ada/", some, suite_rig->durable ? 3 : 0);
}

/* What comes and goes between two pages moves nothing else. */
static void a_page_of_small_records_begins_behind_the_last_one(void **state)
{
    struct listed listed = { 0 };
    (void)state;

    suite_put("k", "b", STR("1"), 0, 0);
    suite_put("k", "d", STR("1"), 0, 0);
    suite_put("k", "f", STR("1"), 0, 0);
    list_more(&listed, "k", "", 2);
    assert_int_equal(listed.rows, 2);
    suite_del("k", "d");
    suite_put("k", "a", STR("1"), 0, 0);
    suite_put("k", "e", STR("1"), 0, 0);
    while (listed.cursor.len)
        list_more(&listed, "k", "", 2);
    assert_int_equal(listed.rows, 4);
    assert_string_equal(listed.keys[2], "e");
    assert_string_equal(listed.keys[3], "f");
}

/* --- hints --- */

struct watched {
    int looks; /* told to look again */
    size_t count;
    struct {
        struct id ask, call;
        uint64_t owner;
        bool ended;
    } hints[64];
};

static void watched_told(void *data, const struct ask_hint *hint)
{
    struct watched *watched = data;

    if (!hint) {
        watched->looks++;
        return;
    }
    assert_true(watched->count < 64 && hint->ask_id.len == ID_LEN && hint->call_id.len == ID_LEN);
    memcpy(watched->hints[watched->count].ask.text, hint->ask_id.at, ID_LEN);
    memcpy(watched->hints[watched->count].call.text, hint->call_id.at, ID_LEN);
    watched->hints[watched->count].owner = hint->owner;
    watched->hints[watched->count++].ended = hint->ended;
}

static bool was_told(const struct watched *watched, const struct id *ask, const struct id *call,
                     bool ended)
{
    for (size_t i = 0; i < watched->count; i++)
        if (str_eq(id_str(&watched->hints[i].ask), id_str(ask)) &&
            str_eq(id_str(&watched->hints[i].call), id_str(call)) &&
            watched->hints[i].owner == store_owner(STR("ada")) && watched->hints[i].ended == ended)
            return true;
    return false;
}

static void assert_told(const struct watched *watched, const struct id *ask, const struct id *call,
                        bool ended)
{
    for (int i = 0; !was_told(watched, ask, call, ended) && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_true(was_told(watched, ask, call, ended));
}

static void whoever_watches_is_told_of_asks_that_come_and_end_on_any_node(void **state)
{
    struct question asks[4] = { { .key = "a" }, { .key = "b" }, { .key = "c" }, { .key = "d" } };
    struct parking two = { .call = suite_id(), .open = true, .questions = asks, .count = 2 };
    struct watched watched = { 0 };
    (void)state;

    struct store *other = suite_rig->shared ? suite_rig->open(suite_rig) : suite_store;
    assert_non_null(other);
    other->ops->watch_asks(other, watched_told, &watched);
    for (int i = 0; !watched.looks && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_true(watched.looks > 0);
    suite_park(&two);
    assert_told(&watched, &asks[0].id, &two.call, false);
    assert_told(&watched, &asks[1].id, &two.call, false);
    suite_claim(&asks[0].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_told(&watched, &asks[0].id, &two.call, true);
    assert_false(was_told(&watched, &asks[1].id, &two.call, true));
    watched.count = 0;
    suite_claims_of(NULL,
                    &(struct claim_spec){
                        .items = &(struct claim_item){ .ask_id = id_str(&asks[1].id), .turn = 1 },
                        .count = 1 });
    assert_told(&watched, &asks[1].id, &two.call, false); /* a turn has come early */
    suite_cancel(NULL, &two.call, "enough");
    assert_told(&watched, &asks[1].id, &two.call, true);
    /* Nobody watches any more. */
    other->ops->watch_asks(other, NULL, NULL);
    size_t before = watched.count;
    suite_ask(&asks[2]);
    suite_get("none", "such");
    suite_rig->advance(suite_rig, 20);
    assert_int_equal(watched.count, before);
    /* Somebody does again, and begins by looking. */
    int looks = watched.looks;
    other->ops->watch_asks(other, watched_told, &watched);
    for (int i = 0; watched.looks == looks && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_true(watched.looks > looks);
    struct id call = suite_ask(&asks[3]);
    assert_told(&watched, &asks[3].id, &call, false);
    if (other != suite_store)
        other->ops->destroy(other);
    else
        other->ops->watch_asks(other, NULL, NULL);
}

/* --- all calls --- */

struct seen_calls {
    size_t count;
    struct {
        struct call_record call; /* its texts are those of the page */
        size_t pending;
        bool closed;
    } rows[16];
};

static struct seen_calls *seen_calls;

static void see_call(void *data, const struct store_row *row)
{
    struct arena *arena = &((struct got *)data)->arena;

    assert_true(seen_calls->count < 16);
    for (size_t i = 0; i < seen_calls->count; i++) /* one may be shown twice */
        if (str_eq(seen_calls->rows[i].call.id, row->call->id))
            return;
    seen_calls->rows[seen_calls->count].call = call_record_copy(arena, row->call);
    seen_calls->rows[seen_calls->count].pending = row->pending;
    seen_calls->rows[seen_calls->count++].closed = row->closed;
}

static void every_call_is_listed_by_page_in_whatever_state_it_is(void **state)
{
    enum { CALLS = 5 };
    struct question asks[CALLS] = {
        { .key = "a" }, { .key = "b" }, { .key = "c" }, { .key = "d" }, { .key = "e" }
    };
    const enum call_state states[CALLS] = { CALL_STORED_WAITING, CALL_STORED_RUNNING,
                                            CALL_STORED_RUNNABLE, CALL_STORED_CANCELLED,
                                            CALL_STORED_FINISHED };
    struct id calls[CALLS];
    (void)state;

    for (int i = 0; i < CALLS; i++)
        calls[i] = ask_of(&asks[i], i == 1 ? "bob" : "ada");
    suite_claim(&asks[1].id, ASK_ACCEPTED, "{}", "bob", "node-b");
    suite_claim(&asks[2].id, ASK_ACCEPTED, "{}", "ada", "");
    suite_cancel(NULL, &calls[3], "{}");
    suite_claim(&asks[4].id, ASK_ACCEPTED, "{}", "ada", "node-b");
    suite_finish(NULL, &calls[4], 2, "{}");
    for (size_t limit = 1; limit <= CALLS + 1; limit++) {
        struct seen_calls seen = { .count = 0 };
        struct str cursor = STR_NONE;
        seen_calls = &seen;
        for (int pages = 0; pages < 100; pages++) {
            struct got *got = got_new();
            suite_store->ops->scan(
                suite_store,
                &(struct store_scan){ .index = STORE_CALLS, .cursor = cursor, .limit = limit },
                see_call, got_done, got);
            got_wait(got);
            assert_int_equal(got->status, NOD_OK);
            cursor = arena_str(&got->arena, got->reply.cursor);
            if (!cursor.len)
                break;
        }
        assert_int_equal(cursor.len, 0);
        assert_int_equal(seen.count, CALLS);
        for (size_t i = 0; i < CALLS; i++) {
            size_t at = 0;
            while (at < CALLS && !str_eq(seen.rows[at].call.id, id_str(&calls[i])))
                at++;
            assert_true(at < CALLS);
            assert_int_equal(seen.rows[at].call.state, states[i]);
            assert_str(seen.rows[at].call.principal, i == 1 ? "bob" : "ada");
            assert_true(seen.rows[at].call.target.len > 0 && seen.rows[at].call.opened_ms > 0);
            assert_int_equal(seen.rows[at].call.args.len + seen.rows[at].call.result.len, 0);
            assert_int_equal(seen.rows[at].pending, i == 0);
            assert_false(seen.rows[at].closed);
            if (suite_rig->nodes && i == 1)
                assert_str(seen.rows[at].call.node, "node-b");
        }
    }
    struct got *wrong = got_new();
    suite_store->ops->scan(suite_store,
                           &(struct store_scan){ .index = STORE_CALLS, .cursor = STR("x") },
                           see_call, got_done, wrong);
    assert_int_equal(got_wait(wrong)->status, NOD_E_USAGE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_listing[] = {
    TEST(pending_asks_are_listed_by_page_the_oldest_first),
    TEST(an_ask_that_ends_moves_from_one_list_to_the_other),
    TEST(asks_of_one_moment_are_listed_each_once),
    TEST(a_call_that_is_removed_leaves_nothing_in_the_lists),
    TEST(an_ask_that_is_replaced_is_not_listed),
    TEST(of_many_asks_none_is_left_out_or_shown_twice_while_others_come_and_go),
    TEST(every_call_is_listed_by_page_in_whatever_state_it_is),
    TEST(small_records_are_listed_by_kind_and_prefix_in_order),
    TEST(a_page_of_small_records_begins_behind_the_last_one),
    TEST(whoever_watches_is_told_of_asks_that_come_and_end_on_any_node),
};
const size_t suite_listing_count = sizeof(suite_listing) / sizeof(suite_listing[0]);
