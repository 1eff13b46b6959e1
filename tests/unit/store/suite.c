/* tests/unit/store/suite: the plumbing of the suite; see suite.h. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/record.h"

struct store_rig *suite_rig;
struct store *suite_store;

enum { GOTS_MAX = 65536, GOT_BYTES = 64 << 20, ROWS_MAX = 4096 };

static struct got *gots[GOTS_MAX];
static size_t got_count;

struct got *got_new(void)
{
    struct got *got = calloc(1, sizeof(*got));

    assert_non_null(got);
    assert_true(got_count < GOTS_MAX);
    arena_init(&got->arena, GOT_BYTES);
    gots[got_count++] = got;
    return got;
}

static void gots_free(void)
{
    for (size_t i = 0; i < got_count; i++) {
        arena_finish(&gots[i]->arena);
        free(gots[i]);
    }
    got_count = 0;
}

/* --- copies --- */

static struct str keep(struct got *got, struct str s)
{
    return arena_str(&got->arena, s);
}

static struct ask_record keep_ask(struct got *got, const struct ask_record *ask)
{
    struct ask_record copy = *ask;

    copy.id = keep(got, ask->id);
    copy.call_id = keep(got, ask->call_id);
    copy.key = keep(got, ask->key);
    copy.principal = keep(got, ask->principal);
    copy.scope = keep(got, ask->scope);
    copy.target = keep(got, ask->target);
    copy.message = keep(got, ask->message);
    copy.detail = keep(got, ask->detail);
    copy.url = keep(got, ask->url);
    copy.remember = keep(got, ask->remember);
    copy.content = keep(got, ask->content);
    copy.by = keep(got, ask->by);
    copy.via = keep(got, ask->via);
    copy.note = keep(got, ask->note);
    return copy;
}

static struct call_record keep_call(struct got *got, const struct call_record *call)
{
    struct call_record copy = *call;

    copy.id = keep(got, call->id);
    copy.principal = keep(got, call->principal);
    copy.client = keep(got, call->client);
    copy.meta = keep(got, call->meta);
    copy.scope = keep(got, call->scope);
    copy.target = keep(got, call->target);
    copy.args = keep(got, call->args);
    copy.uri = keep(got, call->uri);
    copy.caller = keep(got, call->caller);
    copy.result = keep(got, call->result);
    copy.node = keep(got, call->node);
    copy.entries = NULL;
    if (call->entry_count) {
        struct entry *entries = arena_alloc(&got->arena, call->entry_count * sizeof(struct entry));
        char *at =
            arena_alloc(&got->arena, entries_text_bytes(call->entries, call->entry_count) + 1);
        assert_true(entries && at);
        entries_copy(entries, call->entries, call->entry_count, &at);
        copy.entries = entries;
    }
    return copy;
}

void got_row(void *data, const struct store_row *row)
{
    struct got *got = data;

    assert_int_equal(got->done, 0); /* rows come before done() */
    assert_true(got->rows < ROWS_MAX);
    if (!got->asks) {
        got->asks = arena_zalloc(&got->arena, ROWS_MAX * sizeof(*got->asks));
        got->calls = arena_zalloc(&got->arena, ROWS_MAX * sizeof(*got->calls));
        assert_true(got->asks && got->calls);
    }
    if (row->ask)
        got->asks[got->rows] = keep_ask(got, row->ask);
    if (row->call)
        got->calls[got->rows] = keep_call(got, row->call);
    got->rows++;
}

void got_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct got *got = data;

    got->done++;
    got->status = status;
    got->reply = *reply;
    got->reply.value = keep(got, reply->value);
    got->reply.cursor = keep(got, reply->cursor);
    if (reply->ask) {
        struct ask_record *ask = ARENA_NEW(&got->arena, struct ask_record);
        *ask = keep_ask(got, reply->ask);
        got->reply.ask = ask;
    }
    if (reply->claimed_count) {
        struct claimed *claimed =
            arena_zalloc(&got->arena, reply->claimed_count * sizeof(*claimed));
        for (size_t i = 0; i < reply->claimed_count; i++) {
            struct ask_record *ask = ARENA_NEW(&got->arena, struct ask_record);
            *ask = keep_ask(got, reply->claimed[i].ask);
            claimed[i] = (struct claimed){ ask, reply->claimed[i].won };
        }
        got->reply.claimed = claimed;
    }
    if (reply->call) {
        struct call_record *call = ARENA_NEW(&got->arena, struct call_record);
        *call = keep_call(got, reply->call);
        got->reply.call = call;
    }
}

struct got *got_wait(struct got *got)
{
    for (int i = 0; !got->done && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_int_equal(got->done, 1);
    return got;
}

/* Nothing completes inside the call that began it. */
static struct got *begun(struct got *got)
{
    assert_int_equal(got->done, 0);
    return got_wait(got);
}

/* --- operations --- */

struct id suite_id(void)
{
    struct id id;

    id_random(&id);
    return id;
}

static struct str token_of(const struct id *token, struct id *fresh)
{
    if (token && token->text[0])
        return id_str(token);
    *fresh = suite_id();
    return id_str(fresh);
}

static const char *principal_of(const struct parking *parking)
{
    return parking->principal ? parking->principal : "ada";
}

static struct call_record record_of(const struct parking *parking)
{
    return (struct call_record){ .id = id_str(&parking->call),
                                 .principal = str_of(principal_of(parking)),
                                 .scope = STR("ada/session-1"),
                                 .kind = TARGET_TOOL,
                                 .target = STR("delete_account"),
                                 .args =
                                     parking->args.len ? parking->args : STR("{\"userId\":\"7\"}"),
                                 .uri = STR("note://7"),
                                 .caller = parking->alone ? STR_NONE : STR("{\"stream\":\"s1\"}") };
}

static struct ask_record question_of(const struct parking *parking, struct question *question)
{
    struct ask_record ask = { .call_id = id_str(&parking->call),
                              .key = str_of(question->key),
                              .principal = str_of(principal_of(parking)),
                              .scope = STR("ada/session-1"),
                              .kind = ASK_URL,
                              .consent = true,
                              .sensitive = question->sensitive,
                              .remember = str_of(question->remember),
                              .wait_done = true,
                              .approver = ROLE_APPROVE,
                              .target = STR("delete_account"),
                              .message = str_of(question->message ? question->message : "Sure?"),
                              .detail = STR("{\"type\":\"object\"}"),
                              .url = STR("https://example.com/x"),
                              .ttl_ms = question->ttl_ms ? question->ttl_ms : SUITE_LONG_MS,
                              .asked_ms = question->expires_ms ? 1 : 0,
                              .expires_ms = question->expires_ms,
                              .attempts = 3,
                              .attempt = question->attempt ? question->attempt : 1,
                              .seq = 42 };

    if (!question->id.text[0])
        question->id = suite_id();
    ask.id = id_str(&question->id);
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        ask.digest[i] = (unsigned char)(i * 7);
    return ask;
}

struct got *suite_park(const struct parking *parking)
{
    struct ask_record *asks = calloc(parking->count + 1, sizeof(*asks));
    struct call_record open = record_of(parking);
    struct got *got = got_new();
    struct id fresh;

    char *client = strdup(parking->client ? parking->client : "");
    assert_true(asks && client);
    open.client = str_of(client);
    open.meta = str_of(parking->meta ? parking->meta : "");
    for (size_t i = 0; i < parking->count; i++)
        asks[i] = question_of(parking, &parking->questions[i]);
    suite_store->ops->park(
        suite_store,
        &(struct park_spec){ .token = token_of(&parking->token, &fresh),
                             .open = parking->open ? &open : NULL,
                             .node = str_of(parking->node ? parking->node : "node-a"),
                             .call_id = id_str(&parking->call),
                             .epoch = parking->epoch ? parking->epoch : 1,
                             .notices = 5,
                             .entries = parking->entries,
                             .entry_count = parking->entry_count,
                             .asks = asks,
                             .ask_count = parking->count,
                             .keep_for_ms = parking->keep_for_ms,
                             .handed = !parking->alone && !parking->unhanded },
        got_done, got);
    memset(asks, 0x5a, (parking->count + 1) * sizeof(*asks)); /* it was copied */
    memset(client, 0x5a, strlen(client));
    free(asks);
    free(client);
    return begun(got);
}

struct got *suite_append(const struct parking *parking)
{
    struct call_record open = record_of(parking);
    struct got *got = got_new();
    struct id fresh;

    suite_store->ops->append(
        suite_store,
        &(struct append_spec){ .token = token_of(&parking->token, &fresh),
                               .open = parking->open ? &open : NULL,
                               .node = str_of(parking->node ? parking->node : "node-a"),
                               .call_id = id_str(&parking->call),
                               .epoch = parking->epoch ? parking->epoch : 1,
                               .notices = 9,
                               .entries = parking->entries,
                               .entry_count = parking->entry_count,
                               .keep_for_ms = parking->keep_for_ms,
                               .handed = !parking->alone && !parking->unhanded },
        got_done, got);
    return begun(got);
}

struct id suite_ask(struct question *question)
{
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = question, .count = 1
    };

    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    return parking.call;
}

struct got *suite_claim_token(const struct id *token, const struct id *ask, enum ask_state outcome,
                              const char *content, const char *by, const char *take_for)
{
    struct got *got = got_new();
    struct id fresh;

    suite_store->ops->claim(
        suite_store,
        &(struct claim_spec){ .token = token_of(token, &fresh),
                              .items = &(struct claim_item){ .ask_id = id_str(ask),
                                                             .outcome = outcome,
                                                             .content = str_of(content) },
                              .count = 1,
                              .by = str_of(by),
                              .take_for = str_of(take_for) },
        got_done, got);
    return begun(got);
}

struct got *suite_claim(const struct id *ask, enum ask_state outcome, const char *content,
                        const char *by, const char *take_for)
{
    return suite_claim_token(NULL, ask, outcome, content, by, take_for);
}

struct got *suite_take_as(const struct id *token, const struct id *call, const char *node,
                          enum take_why why)
{
    struct got *got = got_new();
    struct id fresh;

    suite_store->ops->take(suite_store,
                           &(struct take_spec){ .token = token_of(token, &fresh),
                                                .call_id = id_str(call),
                                                .node = str_of(node),
                                                .why = why },
                           got_done, got);
    return begun(got);
}

struct got *suite_take(const struct id *token, const struct id *call, const char *node)
{
    return suite_take_as(token, call, node, TAKE_PLAIN);
}

struct got *suite_clear(const struct id *call, uint64_t epoch)
{
    struct got *got = got_new();

    suite_store->ops->append(
        suite_store,
        &(struct append_spec){ .call_id = id_str(call), .epoch = epoch, .clears = true }, got_done,
        got);
    return begun(got);
}

struct got *suite_finish(const struct id *token, const struct id *call, uint64_t epoch,
                         const char *result)
{
    struct got *got = got_new();
    struct id fresh;

    suite_store->ops->finish(suite_store,
                             &(struct finish_spec){ .token = token_of(token, &fresh),
                                                    .call_id = id_str(call),
                                                    .epoch = epoch,
                                                    .result = str_of(result) },
                             got_done, got);
    return begun(got);
}

char *suite_large(size_t len)
{
    static const char hex[] = "0123456789abcdef";
    static uint32_t seed = 7;
    char *text = mem_alloc(len + 1);

    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = hex[seed >> 28];
    }
    text[0] = text[len - 1] = '"';
    text[len] = '\0';
    return text;
}

struct got *suite_finish_as(const struct id *call, uint64_t epoch, struct str result, bool fetched)
{
    struct got *got = got_new();
    struct id fresh;

    suite_store->ops->finish(suite_store,
                             &(struct finish_spec){ .token = token_of(NULL, &fresh),
                                                    .call_id = id_str(call),
                                                    .epoch = epoch,
                                                    .result = result,
                                                    .fetched = fetched },
                             got_done, got);
    return begun(got);
}

struct got *suite_claims_of(const struct id *token, const struct claim_spec *claim)
{
    struct claim_spec spec = *claim;
    struct got *got = got_new();
    struct id fresh;

    spec.token = token_of(token, &fresh);
    suite_store->ops->claim(suite_store, &spec, got_done, got);
    return begun(got);
}

struct got *suite_finish_for(const struct id *call, uint64_t epoch, int64_t keep_for_ms)
{
    struct got *got = got_new();
    struct id token = suite_id();

    suite_store->ops->finish(suite_store,
                             &(struct finish_spec){ .token = id_str(&token),
                                                    .call_id = id_str(call),
                                                    .epoch = epoch,
                                                    .result = STR("{}"),
                                                    .keep_for_ms = keep_for_ms },
                             got_done, got);
    return begun(got);
}

struct got *suite_cancel(const struct id *token, const struct id *call, const char *why)
{
    struct got *got = got_new();
    struct id fresh;

    suite_store->ops->cancel(suite_store, token_of(token, &fresh), id_str(call), str_of(why),
                             got_done, got);
    return begun(got);
}

/* A store that can tell at once that it lacks a call says what the load says. */
struct got *suite_load_call(const struct id *call)
{
    const struct store_ops *ops = suite_store->ops;
    struct got *got = got_new();
    bool lacks = ops->lacks_call && ops->lacks_call(suite_store, id_str(call));

    ops->load_call(suite_store, id_str(call), got_done, got);
    got = begun(got);
    if (ops->lacks_call)
        assert_int_equal(lacks, got->status == NOD_E_NOT_FOUND);
    return got;
}

struct got *suite_load_ask(const struct id *ask)
{
    struct got *got = got_new();

    suite_store->ops->load_ask(suite_store, id_str(ask), got_done, got);
    return begun(got);
}

struct got *suite_scan(const struct store_scan *scan)
{
    struct got *got = got_new();

    suite_store->ops->scan(suite_store, scan, got_row, got_done, got);
    begun(got);
    assert_int_equal(got->status, NOD_OK);
    return got;
}

struct got *suite_put_of(const char *whose, const char *key, struct str value, uint64_t version,
                         int64_t ttl_ms)
{
    struct got *got = got_new();

    suite_store->ops->put(suite_store, STR("k"), str_of(key), value, str_of(whose), version, ttl_ms,
                          got_done, got);
    return begun(got);
}

struct got *suite_put(const char *kind, const char *key, struct str value, uint64_t version,
                      int64_t ttl_ms)
{
    struct got *got = got_new();

    suite_store->ops->put(suite_store, str_of(kind), str_of(key), value, STR_NONE, version, ttl_ms,
                          got_done, got);
    return begun(got);
}

struct got *suite_get(const char *kind, const char *key)
{
    struct got *got = got_new();

    suite_store->ops->get(suite_store, str_of(kind), str_of(key), got_done, got);
    return begun(got);
}

struct got *suite_del(const char *kind, const char *key)
{
    struct got *got = got_new();

    suite_store->ops->del(suite_store, str_of(kind), str_of(key), got_done, got);
    return begun(got);
}

struct got *suite_beat(const char *node, int64_t ttl_ms)
{
    struct got *got = got_new();

    suite_store->ops->beat(suite_store, str_of(node), ttl_ms, got_done, got);
    return begun(got);
}

void suite_reopen(void)
{
    suite_store->ops->destroy(suite_store);
    suite_store = suite_rig->open(suite_rig);
    assert_non_null(suite_store);
}

/* --- running --- */

int suite_setup(void **state)
{
    (void)state;
    suite_rig->pending_asks = suite_rig->pending_asks_per_principal = 0;
    suite_rig->kept_bytes = suite_rig->kept_bytes_per_principal = 0;
    suite_rig->keep_ms = 0;
    suite_rig->begin(suite_rig);
    suite_store = suite_rig->open(suite_rig);
    return suite_store ? 0 : -1;
}

int suite_teardown(void **state)
{
    (void)state;
    if (suite_store)
        suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    suite_rig->end(suite_rig);
    gots_free();
    return 0;
}

bool suite_soak(void)
{
    return getenv("NOD_SOAK") && atoi(getenv("NOD_SOAK"));
}

static int run_part(const char *part, const struct CMUnitTest *tests, size_t count)
{
    char name[96];

    snprintf(name, sizeof(name), "%s: %s", suite_rig->name, part);
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

int store_suite_first(struct store_rig *rig)
{
    suite_rig = rig;
    return run_part("transitions", suite_transitions, suite_transitions_count) +
           run_part("holder", suite_holder, suite_holder_count) +
           run_part("claims", suite_claims, suite_claims_count);
}

int store_suite(struct store_rig *rig)
{
    int failed = store_suite_first(rig);

    failed += run_part("keeping", suite_keeping, suite_keeping_count);
    failed += run_part("records", suite_records, suite_records_count);
    failed += run_part("listing", suite_listing, suite_listing_count);
    if (rig->quotas)
        failed += run_part("quotas", suite_quota, suite_quota_count);
    if (rig->bytes)
        failed += run_part("bytes", suite_bytes, suite_bytes_count);
    return failed;
}
