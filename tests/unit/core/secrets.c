/* tests/unit/core/secrets: values that people give once, and that only handlers see. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "core/need.h"
#include "core/secret.h"
#include "crypto/inner_seal.h"
#include "../runner.h"

static struct world w;
static struct keyring *ring;
static const char *wanted = "stripe";

static nod_status says_it(struct run *run, struct str *body)
{
    struct str value;
    nod_status status = run_need(
        run, &(struct need_spec){ .source = STR(SECRET_KIND), .name = str_of(wanted) }, &value);

    if (status == NOD_E_NOT_FOUND)
        *body = STR("{\"none\":1}");
    else if (status == NOD_OK)
        *body = arena_fmt(&run->arena, "{\"said\":\"" STR_FMT "\"}", STR_ARG(value));
    return status == NOD_E_NOT_FOUND ? NOD_OK : status;
}

/* The same store, whose reads fail so often. */
static struct store_ops frail_ops;
static struct store frail;
static int failures;

static void frail_get(struct store *store, struct str kind, struct str key, store_done *done,
                      void *data)
{
    (void)store;
    if (failures > 0) {
        failures--;
        done(data, NOD_E_STORE, &(struct store_reply){ 0 });
    } else {
        w.store->ops->get(w.store, kind, key, done, data);
    }
}

static void frail_put(struct store *store, struct str kind, struct str key, struct str value,
                      struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                      void *data)
{
    (void)store;
    w.store->ops->put(w.store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void use(struct store *store)
{
    engine_use_secrets(w.engine,
                       &(struct secrets_opts){ .store = store, .ring = ring, .last = true });
}

static struct keyring *ring_of(const char *one, const char *other)
{
    struct str secrets[] = { str_of(one), str_of(other) };
    struct keyring *made;
    const char *why;

    assert_int_equal(keyring_create(secrets, other ? 2 : 1, &made, &why), NOD_OK);
    return made;
}

#define OLD "an old secret of more than 32 characters"
#define NEW "a new secret of more than 32 characters!"

static int begin(void **state)
{
    (void)state;
    wanted = "stripe";
    ring = ring_of(OLD, NULL);
    world_init(&w, &(struct world_opts){ .handler = says_it });
    assert_false(engine_secrets_last(w.engine));
    use(w.store);
    assert_true(engine_secrets_last(w.engine));
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_finish(&w);
    keyring_destroy(ring);
    return 0;
}

static int told;
static nod_status told_status;

static void tell(void *data, nod_status status)
{
    (void)data;
    told++;
    told_status = status;
}

static nod_status give(const char *principal, const char *name, const char *value, const char *ask,
                       int64_t keep_ms)
{
    told = 0;
    secret_give(w.engine,
                &(struct secret_given){ .principal = str_of(principal),
                                        .name = str_of(name),
                                        .value = str_of(value),
                                        .ask_id = str_of(ask),
                                        .keep_ms = keep_ms },
                tell, NULL);
    world_advance(&w, 0);
    assert_int_equal(told, 1);
    return told_status;
}

static nod_status delete (const char *id, const char *principal)
{
    told = 0;
    secret_delete(w.engine, str_of(id), str_of(principal), tell, NULL);
    world_settle(&w);
    assert_int_equal(told, 1);
    return told_status;
}

static const char *said_to(const char *principal)
{
    if (w.caller_count == WORLD_CALLS_MAX)
        w.caller_count = 0;
    struct world_caller *caller = world_call(&w, principal, principal);
    world_advance(&w, 0);
    world_advance(&w, 0);
    assert_int_equal(caller->finished, 1);
    return caller->status == NOD_OK ? caller->body : caller->message;
}

#define NONE "{\"none\":1}"

static char listed[1024], first_id[128];

static void row(void *data, const struct secret_row *one)
{
    size_t len = strlen(listed);

    (void)data;
    snprintf(listed + len, sizeof(listed) - len, STR_FMT "/" STR_FMT "/%d ",
             STR_ARG(one->principal), STR_ARG(one->name), one->until_ms != 0);
    if (len == 0)
        snprintf(first_id, sizeof(first_id), STR_FMT, STR_ARG(one->id));
}

static void list_over(void *data, nod_status status, struct str cursor)
{
    (void)data;
    assert_int_equal(cursor.len, 0);
    tell(NULL, status);
}

static const char *list(const char *principal)
{
    listed[0] = '\0';
    told = 0;
    secrets_list(w.engine, str_of(principal), STR_NONE, 100, row, list_over, NULL);
    world_settle(&w);
    assert_int_equal(told, 1);
    assert_int_equal(told_status, NOD_OK);
    return listed;
}

static void it_is_given_once_and_used_until_it_is_deleted(void **state)
{
    (void)state;
    assert_string_equal(said_to("ada"), NONE);
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
    assert_string_equal(list("ada"), "ada/stripe/0 ");
    assert_int_equal(delete (first_id, "ada"), NOD_OK);
    assert_int_equal(delete (first_id, "ada"), NOD_E_NOT_FOUND);
    assert_string_equal(said_to("ada"), NONE);
    assert_string_equal(list("ada"), "");
}

static void it_is_its_principals_and_has_its_name(void **state)
{
    (void)state;
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    assert_int_equal(give("ada", "mail.key", "sk_2", "ask-2", 0), NOD_OK);
    assert_int_equal(give("bob", "stripe", "sk_3", "ask-3", 0), NOD_OK);
    assert_string_equal(said_to("bob"), "{\"said\":\"sk_3\"}");
    assert_string_equal(said_to("eve"), NONE);
    assert_string_equal(list("ada"), "ada/mail.key/0 ada/stripe/0 ");
    assert_string_equal(list("bob"), "bob/stripe/0 ");
    assert_int_equal(delete (first_id, "ada"), NOD_E_NOT_FOUND); /* it is bob's */
    assert_int_equal(delete (first_id, ""), NOD_OK);             /* an administrator */
    assert_int_equal(delete ("x", ""), NOD_E_NOT_FOUND);
    assert_string_equal(said_to("bob"), NONE);
    wanted = "mail.key";
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_2\"}");
}

static void it_expires(void **state)
{
    (void)state;
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 60000), NOD_OK);
    assert_string_equal(list("ada"), "ada/stripe/1 ");
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
    world_advance(&w, 60000);
    assert_string_equal(said_to("ada"), NONE);
    assert_string_equal(list("ada"), "");
    assert_int_equal(give("ada", "stripe", "sk_2", "ask-2", 0), NOD_OK);
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_2\"}");
}

static void the_first_value_stays(void **state)
{
    (void)state;
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    assert_int_equal(give("ada", "stripe", "sk_other", "ask-1", 0), NOD_E_STALE);
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);      /* sent again */
    assert_int_equal(give("ada", "stripe", "sk_2", "ask-2", 0), NOD_E_STALE); /* asked meanwhile */
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
}

static void what_was_stored_for_one_question_is_taken_back_for_that_one_only(void **state)
{
    (void)state;
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    secret_take_back(w.engine, STR("ada"), STR("stripe"), STR("ask-2"));
    secret_take_back(w.engine, STR("bob"), STR("stripe"), STR("ask-1"));
    world_settle(&w);
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
    secret_take_back(w.engine, STR("ada"), STR("stripe"), STR("ask-1"));
    world_settle(&w);
    char id[SECRET_ID_MAX + 1];
    struct arena arena;
    arena_init(&arena, 4096);
    struct str named = secret_id(&arena, STR("ada"), STR("stripe"));
    memcpy(id, named.at, named.len);
    id[named.len] = '\0';
    arena_finish(&arena);
    assert_int_equal(delete (id, "ada"), NOD_E_NOT_FOUND);
}

static void two_at_the_same_instant_leave_one(void **state)
{
    (void)state;
    told = 0;
    for (int i = 0; i < 2; i++)
        secret_give(w.engine,
                    &(struct secret_given){ .principal = STR("ada"),
                                            .name = STR("stripe"),
                                            .value = i ? STR("sk_other") : STR("sk_1"),
                                            .ask_id = STR("ask-1") },
                    tell, NULL);
    world_settle(&w);
    assert_int_equal(told, 2);
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
}

static void names_and_values_are_bounded(void **state)
{
    static char large[SECRET_VALUE_MAX + 2];
    static const char *const wrong[] = { "", ".a", "a.", "a b", "a/b", "-", "ä" };

    (void)state;
    memset(large, 'x', SECRET_VALUE_MAX + 1);
    assert_int_equal(give("ada", "stripe", large, "ask-1", 0), NOD_E_LIMIT);
    assert_int_equal(give("ada", "stripe", "", "ask-1", 0), NOD_E_LIMIT);
    assert_int_equal(give("ada", "stripe", "x", "ask-1", -1), NOD_E_USAGE);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(give("ada", wrong[i], "x", "ask-1", 0), NOD_E_USAGE);
    large[SECRET_NAME_MAX + 1] = '\0';
    assert_int_equal(give("ada", large, "x", "ask-1", 0), NOD_E_USAGE);
    large[SECRET_NAME_MAX] = '\0';
    assert_int_equal(give("ada", large, "x", "ask-1", 0), NOD_OK);
    memset(large, 'x', SECRET_VALUE_MAX);
    large[SECRET_VALUE_MAX] = '\0';
    assert_int_equal(give("ada", "stripe", large, "ask-2", 0), NOD_OK);
    assert_memory_equal(said_to("ada"), "{\"said\":\"xxxx", 13);
}

static struct {
    char key[128], value[4096];
    uint64_t version;
} stored;

static void store_row(void *data, const struct store_row *one)
{
    (void)data;
    snprintf(stored.key, sizeof(stored.key), STR_FMT, STR_ARG(one->value->key));
    snprintf(stored.value, sizeof(stored.value), STR_FMT, STR_ARG(one->value->value));
}

static void store_over(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    tell(NULL, status);
}

static void look(void)
{
    w.store->ops->list(w.store, &(struct store_list){ .kind = STR(SECRET_KIND), .limit = 10 },
                       store_row, store_over, NULL);
    world_settle(&w);
}

static void put(const char *key, const char *value)
{
    w.store->ops->put(w.store, STR(SECRET_KIND), str_of(key), str_of(value), STR_NONE, 0, 0,
                      store_over, NULL);
    world_settle(&w);
}

static void its_store_never_sees_it_and_it_counts_in_its_own_place_only(void **state)
{
    char bobs[128];

    (void)state;
    assert_int_equal(give("bob", "stripe", "sk_bob", "ask-0", 0), NOD_OK);
    look();
    snprintf(bobs, sizeof(bobs), "%s", stored.key);
    assert_string_equal(list("bob"), "bob/stripe/0 ");
    assert_int_equal(delete (first_id, "bob"), NOD_OK);
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    look();
    assert_null(strstr(stored.value, "sk_1"));
    assert_non_null(strstr(stored.value, "\"ada\""));

    put(bobs, stored.value); /* ada's record in bob's place */
    assert_string_equal(said_to("bob"), NONE);
    char *at = strstr(stored.value, "\"ada\"");
    memcpy(at, "\"bob\"", 5); /* which says that it is bob's */
    put(bobs, stored.value);
    assert_string_equal(said_to("bob"), NONE);
    put(bobs, "nonsense");
    assert_string_equal(said_to("bob"), NONE);
    assert_string_equal(list("bob"), "");
    assert_int_equal(give("bob", "stripe", "sk_2", "ask-2", 0), NOD_OK); /* and is replaced */
    assert_string_equal(said_to("bob"), "{\"said\":\"sk_2\"}");
}

static void a_secret_that_was_replaced_opens_as_long_as_it_is_named(void **state)
{
    struct keyring *first = ring;

    (void)state;
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    engine_destroy(w.engine);
    ring = ring_of(NEW, OLD);
    world_engine(&w);
    use(w.store);
    assert_string_equal(said_to("ada"), "{\"said\":\"sk_1\"}");
    engine_destroy(w.engine);
    keyring_destroy(ring);
    ring = ring_of(NEW, NULL);
    world_engine(&w);
    use(w.store);
    assert_string_equal(said_to("ada"), NONE); /* and is asked for again */
    keyring_destroy(first);
}

static void a_store_that_is_away_is_a_failure_and_not_a_question(void **state)
{
    (void)state;
    engine_destroy(w.engine);
    world_engine(&w);
    frail_ops = (struct store_ops){ .name = "frail", .get = frail_get, .put = frail_put };
    frail = (struct store){ .ops = &frail_ops };
    use(&frail);
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    failures = 1000;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    for (int i = 0; i < 20; i++)
        world_advance(&w, 2000);
    assert_int_equal(caller->status, NOD_E_STORE);
    told = 0;
    secret_give(w.engine,
                &(struct secret_given){ .principal = STR("ada"),
                                        .name = STR("other"),
                                        .value = STR("x"),
                                        .ask_id = STR("ask-2") },
                tell, NULL);
    for (int i = 0; i < 20; i++)
        world_advance(&w, 2000);
    assert_int_equal(told, 1);
    assert_int_equal(told_status, NOD_E_STORE);
    failures = 1; /* a hiccup is not told to anybody */
    caller = world_call(&w, "ada", "ada");
    for (int i = 0; i < 5; i++)
        world_advance(&w, 200);
    assert_string_equal(caller->body, "{\"said\":\"sk_1\"}");
}

static void a_call_that_goes_while_its_value_is_fetched_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(give("ada", "stripe", "sk_1", "ask-1", 0), NOD_OK);
    struct world_caller *caller = world_call(&w, "ada", "ada");
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&w);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    world_call(&w, "ada", "ada"); /* and one that goes with its engine */
    secrets_list(w.engine, STR("ada"), STR_NONE, 10, row, list_over, NULL);
}

static void what_is_asked_for_is_read_again(void **state)
{
    struct secret_asked asked;
    struct arena arena;

    (void)state;
    arena_init(&arena, 65536);
    struct str text = secret_asked_write(&arena, &(struct secret_asked){ STR("mail-key"), 60000 });
    assert_true(secret_asked_read(&arena, text, &asked));
    assert_true(str_eq(asked.name, STR("mail-key")));
    assert_int_equal(asked.keep_ms, 60000);
    text = secret_asked_write(&arena, &(struct secret_asked){ STR("k"), 0 });
    assert_true(secret_asked_read(&arena, text, &asked) && asked.keep_ms == 0);
    assert_false(secret_asked_read(&arena, STR("{}"), &asked));
    assert_false(secret_asked_read(&arena, STR("{\"name\":\"a b\"}"), &asked));
    assert_false(secret_asked_read(&arena, STR_NONE, &asked));
    arena_finish(&arena);
}

SUBJECT(secrets)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(it_is_given_once_and_used_until_it_is_deleted),
        TEST(it_is_its_principals_and_has_its_name),
        TEST(it_expires),
        TEST(the_first_value_stays),
        TEST(what_was_stored_for_one_question_is_taken_back_for_that_one_only),
        TEST(two_at_the_same_instant_leave_one),
        TEST(names_and_values_are_bounded),
        TEST(its_store_never_sees_it_and_it_counts_in_its_own_place_only),
        TEST(a_secret_that_was_replaced_opens_as_long_as_it_is_named),
        TEST(a_store_that_is_away_is_a_failure_and_not_a_question),
        TEST(a_call_that_goes_while_its_value_is_fetched_leaves_nothing),
        TEST(what_is_asked_for_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
