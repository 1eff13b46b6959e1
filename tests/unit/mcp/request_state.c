/*
 * tests/unit/mcp/request_state: a requestState opens only for what it was made for.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mcp/era2026/request_state.h"
#include "../runner.h"

enum { NOW = 1000000, EXPIRES = 2000000 };

static const struct state_bound good = {
    .principal = STR_INIT("alice"),
    .method = STR_INIT("tools/call"),
    .target = STR_INIT("delete"),
    .args = STR_INIT("fedcba9876543210fedcba9876543210"),
    .uri = STR_INIT(""),
};

static const struct entry entries[] = {
    { .class = ENTRY_ASK,
      .key = STR_INIT("name"),
      .digest = { 1, 2, 3 },
      .state = ASK_ACCEPTED,
      .number = 300000,
      .ask_id = STR_INIT("aaaaaaaaaaaaaaaaaaaaaa"),
      .content = STR_INIT("{\"name\":\"Ann\"}"),
      .by = STR_INIT("alice") },
    { .class = ENTRY_STEP,
      .key = STR_INIT("unlink"),
      .status = NOD_E_FAILED,
      .content = STR_INIT("null") },
    { .class = ENTRY_NOW, .key = STR_INIT("#now1"), .number = -1700000000000 },
    { .class = ENTRY_RANDOM, .key = STR_INIT("#random1"), .number = INT64_MIN },
};

static const struct ask_record asks[] = {
    { .id = STR_INIT("bbbbbbbbbbbbbbbbbbbbbb"),
      .key = STR_INIT("sure"),
      .kind = ASK_URL,
      .consent = true,
      .wait_done = true,
      .message = STR_INIT("Sure?"),
      .detail = STR_INIT("{}"),
      .url = STR_INIT("https://x.test/"),
      .digest = { 9, 8, 7 },
      .ttl_ms = 300000,
      .asked_ms = NOW,
      .expires_ms = NOW + 300000,
      .attempts = 3,
      .attempt = 2 },
    { .id = STR_INIT("cccccccccccccccccccccc"), .key = STR_INIT("#2"), .sensitive = true },
};

/* The call itself, for whoever has the key. */
static const struct state whole = { .target = STR_INIT("delete"),
                                    .call_id = STR_INIT("dddddddddddddddddddddd"),
                                    .version = { 4, 5, 6 },
                                    .expires_ms = EXPIRES,
                                    .notices = 3,
                                    .entries = entries,
                                    .entry_count = 4,
                                    .asks = asks,
                                    .ask_count = 2 };

/* What leads to it, for the store that has it. */
static const struct state stored = { .store = STR_INIT("the store's id"),
                                     .target = STR_INIT("delete"),
                                     .call_id = STR_INIT("dddddddddddddddddddddd"),
                                     .version = { 4, 5, 6 },
                                     .expires_ms = EXPIRES,
                                     .asks = asks,
                                     .ask_count = 2 };

static struct keyring *ring_of(const char *secret)
{
    struct str s = str_of(secret);
    struct keyring *ring = NULL;
    const char *why;

    assert_int_equal(keyring_create(&s, 1, &ring, &why), NOD_OK);
    return ring;
}

struct world {
    struct keyring *ring;
    struct arena arena;
    struct buf text;
};

static int setup(void **state)
{
    static struct world world;
    struct buf plain;

    world.ring = ring_of("a secret of at least thirty-two characters");
    arena_init(&world.arena, STATE_ARENA_MAX);
    buf_init(&world.text, STATE_TEXT_MAX);
    buf_init(&plain, STATE_TEXT_MAX);
    assert_true(state_write(&plain, &whole));
    assert_int_equal(state_seal(world.ring, &good, buf_str(&plain), &world.text), NOD_OK);
    buf_finish(&plain);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    keyring_destroy(world->ring);
    arena_finish(&world->arena);
    buf_finish(&world->text);
    return 0;
}

static nod_status open_with(struct world *world, struct keyring *ring,
                            const struct state_bound *bound, struct str text, int64_t now)
{
    struct state out;

    arena_reset(&world->arena);
    nod_status status = state_open(ring, bound, text, STATE_TEXT_MAX, now, &world->arena, &out);
    if (status != NOD_OK) { /* a refusal gives nothing away */
        assert_int_equal(status, NOD_E_REFUSED);
        assert_int_equal(out.call_id.len + out.entry_count + out.ask_count, 0);
        assert_null(out.entries);
    }
    return status;
}

static void what_was_sealed_comes_back_whole(void **state)
{
    struct world *world = *state;
    struct state out;

    assert_int_equal(state_open(world->ring, &good, buf_str(&world->text), STATE_TEXT_MAX, NOW,
                                &world->arena, &out),
                     NOD_OK);
    assert_true(str_eq(out.call_id, whole.call_id));
    assert_int_equal(out.store.len, 0);
    assert_memory_equal(out.version, whole.version, DIGEST_BYTES);
    assert_int_equal(out.notices, 3);
    assert_int_equal(out.expires_ms, EXPIRES);
    assert_int_equal(out.entry_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(out.entries[i].class, entries[i].class);
        assert_int_equal(out.entries[i].state, entries[i].state);
        assert_int_equal(out.entries[i].status, entries[i].status);
        assert_true(out.entries[i].number == entries[i].number);
        assert_true(str_eq(out.entries[i].key, entries[i].key));
        assert_true(str_eq(out.entries[i].ask_id, entries[i].ask_id));
        assert_true(str_eq(out.entries[i].content, entries[i].content));
        assert_true(str_eq(out.entries[i].by, entries[i].by));
        assert_memory_equal(out.entries[i].digest, entries[i].digest, DIGEST_BYTES);
    }
    assert_int_equal(out.ask_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(str_eq(out.asks[i].id, asks[i].id));
        assert_true(str_eq(out.asks[i].key, asks[i].key));
        assert_true(str_eq(out.asks[i].message, asks[i].message));
        assert_true(str_eq(out.asks[i].detail, asks[i].detail));
        assert_true(str_eq(out.asks[i].url, asks[i].url));
        assert_int_equal(out.asks[i].kind, asks[i].kind);
        assert_int_equal(out.asks[i].consent, asks[i].consent);
        assert_int_equal(out.asks[i].sensitive, asks[i].sensitive);
        assert_int_equal(out.asks[i].wait_done, asks[i].wait_done);
        assert_int_equal(out.asks[i].ttl_ms, asks[i].ttl_ms);
        assert_int_equal(out.asks[i].expires_ms, asks[i].expires_ms);
        assert_int_equal(out.asks[i].attempts, asks[i].attempts);
        assert_int_equal(out.asks[i].attempt, asks[i].attempt);
        assert_memory_equal(out.asks[i].digest, asks[i].digest, DIGEST_BYTES);
    }
}

static void a_flipped_bit_anywhere_is_refused(void **state)
{
    struct world *world = *state;
    struct str text = buf_str(&world->text);
    char copy[STATE_TEXT_MAX];

    for (size_t i = 0; i < text.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, text.at, text.len);
            copy[i] = (char)(copy[i] ^ (1 << bit));
            assert_int_equal(open_with(world, world->ring, &good, str_n(copy, text.len), NOW),
                             NOD_E_REFUSED);
        }
    }
}

static void a_truncated_or_longer_text_is_refused_at_every_length(void **state)
{
    struct world *world = *state;
    struct str text = buf_str(&world->text);
    char copy[STATE_TEXT_MAX];

    for (size_t len = 0; len < text.len; len++)
        assert_int_equal(open_with(world, world->ring, &good, str_n(text.at, len), NOW),
                         NOD_E_REFUSED);
    memcpy(copy, text.at, text.len);
    for (size_t more = 1; more <= 8; more++) {
        copy[text.len + more - 1] = 'A';
        assert_int_equal(open_with(world, world->ring, &good, str_n(copy, text.len + more), NOW),
                         NOD_E_REFUSED);
    }
}

static void what_it_is_bound_to_has_to_be_the_same(void **state)
{
    struct world *world = *state;
    struct str text = buf_str(&world->text);
    struct state_bound bound;

    assert_int_equal(open_with(world, world->ring, &good, text, NOW), NOD_OK);
    static const struct {
        const char *what;
        size_t offset;
        struct str other;
    } attacks[] = {
        { "another principal", offsetof(struct state_bound, principal), STR_INIT("bob") },
        { "no principal", offsetof(struct state_bound, principal), STR_INIT("") },
        { "another method", offsetof(struct state_bound, method), STR_INIT("prompts/get") },
        { "another tool", offsetof(struct state_bound, target), STR_INIT("deletes") },
        { "other arguments", offsetof(struct state_bound, args),
          STR_INIT("fedcba9876543210fedcba987654321f") },
        { "another resource", offsetof(struct state_bound, uri), STR_INIT("note://one") },
    };
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        bound = good;
        memcpy((char *)&bound + attacks[i].offset, &attacks[i].other, sizeof(struct str));
        if (open_with(world, world->ring, &bound, text, NOW) != NOD_E_REFUSED)
            fail_msg("%s opened it", attacks[i].what);
    }
    /* Bytes do not move from one part to its neighbour. */
    bound = good;
    bound.principal = STR("alicetools/call");
    bound.method = STR("");
    assert_int_equal(open_with(world, world->ring, &bound, text, NOW), NOD_E_REFUSED);
}

/* Of a tool that is gone: the client has no more than the name that it was shown. */
static void it_opens_for_the_name_that_clients_are_shown_where_it_may(void **state)
{
    struct world *world = *state;
    struct state path = whole, out;
    struct state_bound bound = good;
    struct buf plain, text;

    path.target = STR("files/delete.now");
    buf_init(&plain, STATE_TEXT_MAX);
    buf_init(&text, STATE_TEXT_MAX);
    assert_true(state_write(&plain, &path));
    assert_int_equal(state_seal(world->ring, &bound, buf_str(&plain), &text), NOD_OK);
    static const struct {
        struct str name;
        bool as_shown;
        nod_status status;
    } rows[] = { { STR_INIT("files/delete.now"), false, NOD_OK },
                 { STR_INIT("files/delete.now"), true, NOD_OK },
                 { STR_INIT("files_delete_now"), true, NOD_OK },
                 { STR_INIT("files_delete_now"), false, NOD_E_REFUSED },
                 { STR_INIT("files.delete.now"), true, NOD_E_REFUSED },
                 { STR_INIT("files_delete_no"), true, NOD_E_REFUSED } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bound.target = rows[i].name;
        bound.as_shown = rows[i].as_shown;
        arena_reset(&world->arena);
        assert_int_equal(state_open(world->ring, &bound, buf_str(&text), STATE_TEXT_MAX, NOW,
                                    &world->arena, &out),
                         rows[i].status);
        assert_true(str_eq(out.target, rows[i].status == NOD_OK ? path.target : STR_NONE));
    }
    buf_finish(&plain);
    buf_finish(&text);
}

static void time_and_keys_decide_as_well(void **state)
{
    struct world *world = *state;
    struct str text = buf_str(&world->text);
    struct keyring *other = ring_of("another secret, which nobody has told us yet");
    struct str both[] = { STR("another secret, which nobody has told us yet"),
                          STR("a secret of at least thirty-two characters") };
    struct keyring *rotated = NULL;
    const char *why;

    assert_int_equal(open_with(world, world->ring, &good, text, EXPIRES - 1), NOD_OK);
    assert_int_equal(open_with(world, world->ring, &good, text, EXPIRES), NOD_E_REFUSED);
    assert_int_equal(open_with(world, other, &good, text, NOW), NOD_E_REFUSED);
    assert_int_equal(keyring_create(both, 2, &rotated, &why), NOD_OK);
    assert_int_equal(open_with(world, rotated, &good, text, NOW), NOD_OK);
    keyring_destroy(rotated);
    keyring_destroy(other);
}

static void text_that_is_too_long_is_not_even_decoded(void **state)
{
    struct world *world = *state;
    struct state out;

    assert_int_equal(state_open(world->ring, &good, buf_str(&world->text), world->text.len - 1, NOW,
                                &world->arena, &out),
                     NOD_E_REFUSED);
}

static void line01_a_state_names_its_store_and_carries_nothing_that_the_store_has(void **state)
{
    struct world *world = *state;
    struct state out;
    struct buf plain;

    buf_init(&plain, 1024);
    assert_true(state_write(&plain, &stored));
    assert_true(state_read(buf_str(&plain), &world->arena, &out));
    assert_true(str_eq(out.store, stored.store));
    assert_true(str_eq(out.target, stored.target));
    assert_true(str_eq(out.call_id, stored.call_id));
    assert_memory_equal(out.version, stored.version, DIGEST_BYTES);
    assert_int_equal(out.expires_ms, EXPIRES);
    assert_int_equal(out.ask_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(str_eq(out.asks[i].id, asks[i].id));
        assert_int_equal(out.asks[i].attempt, asks[i].attempt);
        assert_int_equal(out.asks[i].message.len + out.asks[i].key.len, 0);
    }
    assert_int_equal(out.entry_count, 0);
    for (size_t len = 0; len < plain.len; len++) {
        arena_reset(&world->arena);
        assert_false(state_read(str_n(plain.at, len), &world->arena, &out));
    }
    buf_finish(&plain);
}

static void line01_a_state_of_a_store_has_the_name_of_one(void **state)
{
    struct world *world = *state;
    char name[STATE_STORE_MAX + 1];
    struct state out, other = stored;
    struct buf plain;

    memset(name, 'x', sizeof(name));
    buf_init(&plain, 1024);
    other.store = str_n(name, STATE_STORE_MAX);
    assert_true(state_write(&plain, &other));
    assert_true(state_read(buf_str(&plain), &world->arena, &out));
    buf_clear(&plain);
    other.store = str_n(name, STATE_STORE_MAX + 1);
    assert_true(state_write(&plain, &other));
    assert_false(state_read(buf_str(&plain), &world->arena, &out));
    buf_finish(&plain);
}

static void a_state_is_written_whole_up_to_the_limit_or_not_at_all(void **state)
{
    struct buf plain, exact, less;

    (void)state;
    buf_init(&plain, STATE_TEXT_MAX);
    assert_true(state_write(&plain, &whole));
    buf_init(&exact, plain.len);
    assert_true(state_write(&exact, &whole));
    assert_true(str_eq(buf_str(&exact), buf_str(&plain)));
    buf_init(&less, plain.len - 1);
    assert_false(state_write(&less, &whole));
    assert_int_equal(less.len, 0);
    assert_false(state_write(&less, &(struct state){ .expires_ms = 1 })); /* it stays so */
    buf_finish(&plain);
    buf_finish(&exact);
    buf_finish(&less);
}

static void a_portable_state_carries_what_the_first_request_said(void **state)
{
    struct world *world = *state;
    struct state said = whole, out;
    struct buf plain, before;

    buf_init(&plain, STATE_TEXT_MAX);
    buf_init(&before, STATE_TEXT_MAX);
    said.meta = STR("{\"traceparent\":\"00-1\"}");
    assert_true(state_write(&before, &whole) && state_write(&plain, &said));
    assert_true(str_starts(buf_str(&plain), buf_str(&before))); /* an older state has no more */
    assert_true(state_read(buf_str(&before), &world->arena, &out));
    assert_int_equal(out.meta.len, 0);
    assert_true(state_read(buf_str(&plain), &world->arena, &out));
    assert_true(str_eq(out.meta, said.meta));
    for (size_t len = before.len + 1; len < plain.len; len++)
        assert_false(state_read(str_n(plain.at, len), &world->arena, &out));
    buf_add_char(&before, 0); /* nothing is said in one way alone */
    assert_false(state_read(buf_str(&before), &world->arena, &out));

    struct state leads = stored; /* the store has it */
    leads.meta = said.meta;
    buf_clear(&plain);
    assert_true(state_write(&plain, &leads) && state_read(buf_str(&plain), &world->arena, &out));
    assert_int_equal(out.meta.len, 0);
    buf_finish(&plain);
    buf_finish(&before);
}

/* Whoever had a key could still not make the reader do anything but refuse. */
static void the_plain_form_has_one_reading(void **state)
{
    struct world *world = *state;
    struct state out;
    struct buf plain, again;
    size_t read = 0;

    buf_init(&plain, STATE_TEXT_MAX);
    buf_init(&again, STATE_TEXT_MAX);
    assert_true(state_write(&plain, &whole));
    for (size_t len = 0; len < plain.len; len++) {
        arena_reset(&world->arena);
        assert_false(state_read(str_n(plain.at, len), &world->arena, &out));
    }
    for (size_t i = 0; i < plain.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            plain.at[i] = (char)(plain.at[i] ^ (1 << bit));
            arena_reset(&world->arena);
            if (state_read(buf_str(&plain), &world->arena, &out)) {
                buf_clear(&again);
                assert_true(state_write(&again, &out));
                assert_true(str_eq(buf_str(&again), buf_str(&plain)));
                read++;
            }
            plain.at[i] = (char)(plain.at[i] ^ (1 << bit));
        }
    }
    assert_true(read > 0); /* a letter of a message may change */
    buf_finish(&plain);
    buf_finish(&again);
}

SUBJECT(request_state)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_sealed_comes_back_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flipped_bit_anywhere_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_truncated_or_longer_text_is_refused_at_every_length,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_is_bound_to_has_to_be_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(it_opens_for_the_name_that_clients_are_shown_where_it_may,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(time_and_keys_decide_as_well, setup, teardown),
        cmocka_unit_test_setup_teardown(text_that_is_too_long_is_not_even_decoded, setup, teardown),
        cmocka_unit_test_setup_teardown(
            line01_a_state_names_its_store_and_carries_nothing_that_the_store_has, setup, teardown),
        cmocka_unit_test_setup_teardown(line01_a_state_of_a_store_has_the_name_of_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_state_is_written_whole_up_to_the_limit_or_not_at_all,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_portable_state_carries_what_the_first_request_said, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_plain_form_has_one_reading, setup, teardown),
    };

    return cmocka_run_group_tests_name("mcp-state", tests, NULL, NULL);
}
