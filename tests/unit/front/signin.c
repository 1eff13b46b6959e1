/*
 * tests/unit/front/signin: sign-ins and one-time links, on a store whose replies can be lost and
 * with a clock that is moved; the two halves of one in a browser, and what keeps other pages from
 * using it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/engine.h"
#include "core/store.h"
#include "front/signin.h"
#include "signin_store.h"
#include "../runner.h"

#define ADA "ada-token-0123456789"

static struct loop *loop;
static struct arena arena;
static struct tokens *tokens;
static struct fake_clock fake;
static struct store *store;
static const struct store_ops *real;
static struct store_ops ops; /* of the store, as the tests change them */
static struct engine *engine;
static struct front *front;

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static void turn(void)
{
    for (int i = 0; i < 8; i++)
        loop_turn(loop, 0);
}

static void open_front(const char *public_url)
{
    struct str problem;

    loop = loop_create();
    arena_init(&arena, 1 << 20);
    fake_clock_init(&fake, 1700000000000);
    tokens = tokens_parse(STR(ADA " ada answer approve\n"), STR("t"), &arena, &problem);
    store = signin_store_create(&fake.clock, loop);
    real = store->ops;
    ops = *real;
    store->ops = &ops;
    engine = engine_create(&(struct engine_opts){
        .clock = &fake.clock, .store = store, .defer = defer, .defer_ctx = loop });
    front = front_create(&(struct front_opts){
        .loop = loop, .engine = engine, .tokens = tokens, .public_url = public_url });
    assert_non_null(front);
    assert_true(front_sign_in(front, &(struct front_signin_opts){ 0 }));
}

static void close_front(void)
{
    front_close(front);
    store->ops = real;
    store->ops->destroy(store);
    front_destroy(front);
    engine_destroy(engine);
    tokens_destroy(tokens);
    arena_finish(&arena);
    loop_turn(loop, 0);
    loop_destroy(loop);
}

/* --- one operation, and what it came to --- */

static nod_status outcome;
static struct id secret, in_cookie;
static struct holder whose;
static int told, won;

static void note(struct signin_op *op, nod_status status)
{
    outcome = status;
    secret = op->secret;
    in_cookie = op->cookie;
    whose = op->holder;
    told++;
    won += status == NOD_OK;
    signin_op_free(op);
}

static struct signin_op *operation(void)
{
    struct signin_op *op = signin_op_new(front, NULL, NULL);
    struct digest token;

    digest_of(STR(ADA), &token);
    holder_set(&op->holder, HOLDER_TOKEN, &token, STR("ada"));
    op->done = note;
    outcome = NOD_E_USAGE;
    return op;
}

static nod_status make_signin(void)
{
    signin_make(operation());
    turn();
    return outcome;
}

static nod_status make_link(void)
{
    signin_link_make(operation());
    turn();
    return outcome;
}

static nod_status use_link(struct str text)
{
    struct signin_op *op = operation();

    memcpy(op->secret.text, text.at, text.len);
    signin_link_use(op);
    turn();
    return outcome;
}

static nod_status look_at_link(struct str text)
{
    struct signin_op *op = operation();

    memcpy(op->secret.text, text.at, text.len);
    signin_link_look(op);
    turn();
    return outcome;
}

static nod_status fetch(struct str text)
{
    struct signin_op *op = operation();

    digest_of(text, &op->digest);
    signin_fetch(op);
    turn();
    return outcome;
}

static struct signin *known(struct str text)
{
    struct digest digest;

    digest_of(text, &digest);
    return signin_known(front, &digest);
}

/* --- what is stored --- */

static char records[65536];

static void keep_row(void *data, const struct store_row *row)
{
    size_t at = strlen(records);

    (void)data;
    snprintf(records + at, sizeof(records) - at, STR_FMT " " STR_FMT "\n", STR_ARG(row->value->key),
             STR_ARG(row->value->value));
}

static void listed(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

static const char *all_records(const char *kind)
{
    records[0] = '\0';
    store->ops->list(store, &(struct store_list){ .kind = str_of(kind) }, keep_row, listed, NULL);
    turn();
    return records;
}

static void what_is_stored_opens_nothing(void **state)
{
    (void)state;
    open_front(NULL);
    assert_int_equal(make_link(), NOD_OK);
    assert_non_null(strstr(all_records("link"), "\"name\":\"ada\""));
    assert_null(strstr(records, secret.text));
    assert_null(strstr(records, ADA));
    assert_int_equal(make_signin(), NOD_OK);
    assert_non_null(strstr(all_records("signin"), "\"name\":\"ada\""));
    assert_null(strstr(records, secret.text));
    assert_null(strstr(records, in_cookie.text));
    assert_null(strstr(records, ADA));
    close_front();
}

static void a_link_is_used_once_and_within_its_time(void **state)
{
    (void)state;
    open_front(NULL);
    assert_int_equal(make_link(), NOD_OK);
    struct id link = secret;
    assert_int_equal(use_link(STR("AAAAAAAAAAAAAAAAAAAAAA")), NOD_E_NOT_FOUND);
    assert_int_equal(use_link(STR("")), NOD_E_NOT_FOUND);
    assert_int_equal(look_at_link(STR("AAAAAAAAAAAAAAAAAAAAAA")), NOD_E_NOT_FOUND);
    for (int i = 0; i < 3; i++) /* to look at it uses nothing up */
        assert_int_equal(look_at_link(id_str(&link)), NOD_OK);
    assert_int_equal(use_link(id_str(&link)), NOD_OK);
    assert_true(str_eq(holder_principal(front, &whose)->name, STR("ada")));
    assert_int_equal(use_link(id_str(&link)), NOD_E_STALE);
    assert_int_equal(look_at_link(id_str(&link)), NOD_E_STALE);

    assert_int_equal(make_link(), NOD_OK);
    link = secret;
    fake_clock_advance(&fake, SIGNIN_LINK_MS - 1);
    struct signin_op *first = operation(), *second = operation();
    first->secret = second->secret = link;
    told = won = 0;
    signin_link_use(first);
    signin_link_use(second); /* both have read it before either has replaced it */
    turn();
    assert_int_equal(told, 2);
    assert_int_equal(won, 1);
    assert_int_equal(use_link(id_str(&link)), NOD_E_STALE);

    assert_int_equal(make_link(), NOD_OK);
    link = secret;
    fake_clock_advance(&fake, SIGNIN_LINK_MS);
    assert_int_equal(use_link(id_str(&link)), NOD_E_NOT_FOUND);
    close_front();
}

/* The next put happens, and its reply is lost. */
static store_done *lost_done;
static void *lost_data;

static void reply_lost(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status;
    lost_done(lost_data, NOD_E_STORE, reply);
}

static void put_and_lose(struct store *self, struct str kind, struct str key, struct str value,
                         struct str owner, uint64_t version, int64_t ttl_ms, store_done *done,
                         void *data)
{
    lost_done = done;
    lost_data = data;
    real->put(self, kind, key, value, owner, version, ttl_ms, reply_lost, NULL);
}

static void a_link_whose_use_was_lost_is_used_up(void **state)
{
    (void)state;
    open_front(NULL);
    assert_int_equal(make_link(), NOD_OK);
    struct id link = secret;
    ops.put = put_and_lose;
    assert_int_equal(use_link(id_str(&link)), NOD_E_STORE);
    ops.put = real->put;
    assert_int_equal(use_link(id_str(&link)), NOD_E_STALE);
    close_front();
}

static void a_sign_in_ends_by_time_and_when_it_is_idle(void **state)
{
    (void)state;
    open_front(NULL);
    assert_int_equal(make_signin(), NOD_OK);
    struct str cookie = id_str(&secret);
    assert_non_null(known(cookie));
    assert_null(known(STR("AAAAAAAAAAAAAAAAAAAAAA")));
    for (int64_t left = SIGNIN_MS; left > SIGNIN_IDLE_MS / 2; left -= SIGNIN_IDLE_MS / 2) {
        assert_non_null(known(cookie));
        signin_use(front, known(cookie));
        turn();
        fake_clock_advance(&fake, SIGNIN_IDLE_MS / 2);
    }
    assert_non_null(known(cookie));
    assert_int_equal(fetch(cookie), NOD_OK);
    fake_clock_advance(&fake, SIGNIN_IDLE_MS / 2);
    assert_null(known(cookie)); /* after 12 h, although it was used all the time */
    assert_int_equal(fetch(cookie), NOD_E_NOT_FOUND);

    assert_int_equal(make_signin(), NOD_OK);
    struct id idle = secret;
    fake_clock_advance(&fake, SIGNIN_IDLE_MS - 1);
    assert_non_null(known(id_str(&idle)));
    fake_clock_advance(&fake, 1);
    assert_null(known(id_str(&idle)));
    assert_int_equal(fetch(id_str(&idle)), NOD_E_NOT_FOUND);
    close_front();
}

/* The next get reads now, and its reply comes when the test wants it. */
static struct store_reply held;
static char held_value[SIGNIN_RECORD_MAX];

static void reply_held(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    held = *reply;
    memcpy(held_value, reply->value.at, reply->value.len);
    held.value.at = held_value;
}

static void get_and_hold(struct store *self, struct str kind, struct str key, store_done *done,
                         void *data)
{
    lost_done = done;
    lost_data = data;
    real->get(self, kind, key, reply_held, NULL);
}

static void a_late_look_does_not_bring_back_what_was_removed(void **state)
{
    (void)state;
    open_front(NULL);
    assert_int_equal(make_signin(), NOD_OK);
    struct id cookie = secret;
    struct signin_op *removal = operation(), *look = operation();
    digest_of(id_str(&cookie), &removal->digest);
    look->digest = removal->digest;
    ops.get = get_and_hold;
    signin_fetch(look);
    turn();
    ops.get = real->get;
    signin_remove(removal);
    turn();
    assert_null(known(id_str(&cookie)));
    lost_done(lost_data, NOD_OK, &held); /* as another thread of the store may say it */
    turn();
    assert_int_equal(outcome, NOD_E_NOT_FOUND);
    assert_null(known(id_str(&cookie)));
    close_front();
}

static void what_was_removed_is_not_written_again(void **state)
{
    (void)state;
    open_front(NULL);
    assert_int_equal(make_signin(), NOD_OK);
    struct id cookie = secret;
    fake_clock_advance(&fake, SIGNIN_IDLE_MS / 2);
    struct signin_op *removal = operation(), *look = operation();
    digest_of(id_str(&cookie), &removal->digest);
    look->digest = removal->digest;
    signin_fetch(look); /* begun before it is removed */
    signin_remove(removal);
    signin_use(front, known(id_str(&cookie))); /* its record is refreshed behind the removal */
    turn();
    assert_null(known(id_str(&cookie)));
    assert_int_equal(fetch(id_str(&cookie)), NOD_E_NOT_FOUND);
    assert_string_equal(all_records("signin"), "");
    close_front();
}

static void other_nodes_are_asked_where_there_are_some(void **state)
{
    (void)state;
    open_front(NULL);
    ops.shared = true;
    assert_int_equal(make_signin(), NOD_OK);
    struct id cookie = secret;
    struct signin *signin = known(id_str(&cookie));
    assert_non_null(signin);
    signin->checked_ms -= SIGNIN_FRESH_MS + 1;
    assert_null(known(id_str(&cookie)));
    assert_int_equal(fetch(id_str(&cookie)), NOD_OK);
    assert_non_null(known(id_str(&cookie)));
    close_front();
}

static void the_local_user_s_link_of_the_start_counts_without_tokens_only(void **state)
{
    struct holder start, socket, other;
    struct digest unknown;

    (void)state;
    open_front(NULL);
    digest_of(STR("another token"), &unknown);
    holder_set(&start, HOLDER_START, NULL, STR("local"));
    holder_set(&socket, HOLDER_LOCAL, NULL, STR("local"));
    holder_set(&other, HOLDER_TOKEN, &unknown, STR("ada"));
    assert_null(holder_principal(front, &start));
    assert_ptr_equal(holder_principal(front, &socket), &admit_local_user);
    assert_null(holder_principal(front, &other));
    front->opts.tokens = NULL;
    assert_ptr_equal(holder_principal(front, &start), &admit_local_user);
    assert_null(holder_principal(front, &other));
    front->opts.tokens = tokens;
    close_front();
}

static void what_is_known_here_is_bounded(void **state)
{
    (void)state;
    open_front(NULL);
    for (int i = 0; i < SIGNIN_CACHED_MAX + 10; i++) {
        signin_make(operation());
        if (i % 1000 == 0)
            turn();
    }
    turn();
    assert_int_equal(front->signins->by_digest.count, SIGNIN_CACHED_MAX);
    assert_non_null(known(id_str(&secret)));
    struct holder ada;
    holder_set(&ada, HOLDER_LOCAL, NULL, STR("ada"));
    for (int i = 0; i < SIGNIN_MADE_MAX; i++)
        assert_true(signin_may_make(front, &ada));
    assert_false(signin_may_make(front, &ada));
    holder_set(&ada, HOLDER_LOCAL, NULL, STR("bob"));
    assert_true(signin_may_make(front, &ada));
    close_front();
}

static void an_agent_with_a_token_of_its_person_s_name_uses_up_its_own_sign_ins(void **state)
{
    struct digest token;
    struct holder holder;

    (void)state;
    open_front(NULL);
    digest_of(STR("agent-token-0123456789"), &token);
    holder_set(&holder, HOLDER_TOKEN, &token, STR("ada"));
    for (int i = 0; i < SIGNIN_MADE_MAX; i++)
        assert_true(signin_may_make(front, &holder));
    assert_false(signin_may_make(front, &holder));
    digest_of(STR(ADA), &token);
    holder_set(&holder, HOLDER_TOKEN, &token, STR("ada"));
    assert_true(signin_may_make(front, &holder));
    close_front();
}

/* --- tokens that go --- */

static void list_fails(struct store *self, const struct store_list *list, store_row_fn *row,
                       store_done *done, void *data)
{
    (void)list, (void)row;
    lost_done = done;
    lost_data = data;
    real->get(self, STR("none"), STR("none"), reply_lost, NULL);
}

static void a_sign_in_whose_token_was_gone_stays_ended(void **state)
{
    struct str problem;

    (void)state;
    open_front(NULL);
    struct tokens *others =
        tokens_parse(STR("bob-token-0123456789 bob\n"), STR("t"), &arena, &problem);
    struct tokens *renamed = tokens_parse(STR(ADA " eve answer\n"), STR("t"), &arena, &problem);
    struct tokens *without[] = { others, renamed };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(make_link(), NOD_OK);
        struct id link = secret;
        assert_int_equal(make_signin(), NOD_OK);
        struct id cookie = secret;
        front_tokens_read(front);
        turn();
        assert_non_null(known(id_str(&cookie)));
        front->opts.tokens = without[i % 2];
        if (i < 2) { /* nobody uses it while its token is gone */
            front_tokens_read(front);
            front_tokens_read(front);
            turn();
            assert_string_equal(all_records("signin"), "");
            assert_string_equal(all_records("link"), "");
            front->opts.tokens = tokens;
            assert_int_equal(use_link(id_str(&link)), NOD_E_NOT_FOUND);
        } else { /* it is used, on a node that has not looked */
            assert_int_equal(fetch(id_str(&cookie)), NOD_E_NOT_FOUND);
            assert_string_equal(all_records("signin"), "");
            front->opts.tokens = tokens;
        }
        assert_null(known(id_str(&cookie)));
        assert_int_equal(fetch(id_str(&cookie)), NOD_E_NOT_FOUND);
    }
    assert_int_equal(make_signin(), NOD_OK);
    front->opts.tokens = others;
    ops.list = list_fails;
    front_tokens_read(front);
    turn();
    ops.list = real->list;
    assert_string_not_equal(all_records("signin"), "");
    for (int i = 0; i < 40 && all_records("signin")[0]; i++) /* it is tried again */
        loop_turn(loop, 50);
    assert_string_equal(records, "");

    front->opts.tokens = tokens;
    assert_int_equal(make_signin(), NOD_OK);
    front->opts.tokens = NULL; /* a server without tokens says nothing about them */
    front_tokens_read(front);
    assert_int_equal(fetch(id_str(&secret)), NOD_E_NOT_FOUND);
    front->opts.tokens = tokens;
    assert_string_not_equal(all_records("signin"), "");
    tokens_destroy(others);
    tokens_destroy(renamed);
    close_front();
}

/* --- watches --- */

static struct str why_ended;
static int ended_count;

static void on_ended(void *data, struct str why)
{
    (void)data;
    why_ended = why;
    ended_count++;
}

static void wait_for_end(void)
{
    for (int i = 0; i < 40 && !ended_count; i++)
        loop_turn(loop, 50);
}

static void a_watch_ends_with_its_sign_in_once(void **state)
{
    struct front_watch watch, other;
    struct http_request http = { 0 };

    (void)state;
    open_front(NULL);
    assert_int_equal(make_signin(), NOD_OK);
    struct front_request request = { .front = front,
                                     .http = &http,
                                     .session = known(id_str(&secret)),
                                     .principal = STR("ada"),
                                     .roles = ROLE_ANSWER };
    ended_count = 0;
    front_watch(&request, &watch, on_ended, NULL);
    front_watch(&request, &other, on_ended, NULL);
    front_unwatch(&other);
    fake_clock_advance(&fake, SIGNIN_MS);
    wait_for_end();
    assert_int_equal(ended_count, 1);
    assert_true(str_eq(why_ended, STR("the sign-in has expired")));
    front_unwatch(&watch); /* it is over already */
    front_unwatch(&(struct front_watch){ 0 });

    assert_int_equal(make_signin(), NOD_OK);
    request.session = known(id_str(&secret));
    request.roles = ROLE_ANSWER | ROLE_ADMIN; /* one that the token file does not give */
    ended_count = 0;
    front_watch(&request, &watch, on_ended, NULL);
    wait_for_end();
    assert_int_equal(ended_count, 1);
    assert_true(str_eq(why_ended, STR("the token is no longer valid, or has lost a role")));
    close_front();
}

static void a_watch_ends_when_its_token_gets_another_owner(void **state)
{
    struct http_header header = { STR("Authorization"), STR("Bearer " ADA) };
    struct http_request http = { .headers = &header, .header_count = 1 };
    struct front_watch watch;
    struct str problem;

    (void)state;
    open_front(NULL);
    struct tokens *renamed =
        tokens_parse(STR(ADA " eve answer approve\n"), STR("t"), &arena, &problem);
    struct front_request request = {
        .front = front, .http = &http, .principal = STR("ada"), .roles = ROLE_ANSWER
    };
    ended_count = 0;
    front_watch(&request, &watch, on_ended, NULL);
    for (int i = 0; i < 8; i++)
        loop_turn(loop, 50); /* longer than between two looks */
    assert_int_equal(ended_count, 0);
    front->opts.tokens = renamed;
    wait_for_end();
    assert_int_equal(ended_count, 1);
    assert_true(str_eq(why_ended, STR("the token is no longer valid, or has lost a role")));
    front->opts.tokens = tokens;
    tokens_destroy(renamed);
    close_front();
}

/* --- the cookie --- */

static bool has(const char *value, const char *secret_text)
{
    struct http_header header = { STR("cookie"), str_of(value) };
    struct http_request http = { .headers = &header, .header_count = 1 };
    struct digest digest;

    digest_of(secret_text ? str_of(secret_text) : STR_NONE, &digest);
    return cookie_has(front, &http, secret_text ? &digest : NULL);
}

#define GOOD  "abcdefghijklmnopqrstu_"
#define OTHER "AAAAAAAAAAAAAAAAAAAAAA"

static void a_cookie_is_found_by_its_name_and_shape(void **state)
{
    (void)state;
    open_front("https://nod.example:8443");
    assert_true(has("__Host-nod-8443=" GOOD, GOOD));
    assert_true(has("__Host-nod-8443=" GOOD, NULL));
    assert_true(has("a=b; __Host-nod-8443=" GOOD "; c", GOOD));
    assert_true(has("__Host-nod-8443=;__Host-nod-8443=" GOOD, GOOD));
    assert_false(has("__Host-nod-8443=" OTHER, GOOD));
    assert_true(has("__Host-nod-8443=" OTHER, NULL));
    assert_false(has("nod-8443=" GOOD, NULL));
    assert_false(has("__Host-nod-8080=" GOOD, NULL));
    assert_false(has("__Host-nod-8443=" GOOD "x", NULL));
    assert_false(has("__Host-nod-8443=abcdefghijklmnopqrstu%", NULL));
    assert_false(has("__Host-nod-8443", NULL));
    assert_false(has("", NULL));
    assert_true(str_eq(
        cookie_line(front, STR(GOOD), &arena),
        STR("__Host-nod-8443=" GOOD "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure")));
    close_front();
}

static void a_cookie_is_found_among_any_number_of_the_same_name(void **state)
{
    static char many[64 << 10];
    static const char other[] = "__Host-nod-8443=" OTHER "; ";
    size_t len = 0;

    (void)state;
    open_front("https://nod.example:8443");
    while (len + 2 * sizeof(other) < sizeof(many))
        len += (size_t)snprintf(many + len, sizeof(many) - len, "%s", other);
    assert_false(has(many, GOOD));
    snprintf(many + len, sizeof(many) - len, "__Host-nod-8443=" GOOD);
    assert_true(has(many, GOOD));
    close_front();
}

/* Two servers behind one host, by path: neither takes the other's cookie for its own, or overwrites
 * it. */
static void servers_at_two_paths_of_one_host_have_two_cookies(void **state)
{
    const char *const places[] = { "https://nod.example/a", "https://nod.example/b" };
    char lines[2][256];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_front(places[i]);
        struct str line = cookie_line(front, STR(GOOD), &arena);
        assert_true(str_starts(line, STR("__Host-nod-443-")));
        assert_true(str_find(line, STR("; Path=/; ")) > 0);
        snprintf(lines[i], sizeof(lines[i]), STR_FMT, STR_ARG(line));
        close_front();
    }
    for (size_t i = 0; i < 2; i++) {
        open_front(places[i]);
        assert_true(has(lines[i], GOOD));
        assert_false(has(lines[1 - i], NULL));
        close_front();
    }
}

static bool from_us(const char *host, const char *origin)
{
    struct http_header headers[] = { { STR("Host"), str_of(host) },
                                     { STR("Origin"), str_of(origin) } };
    struct http_request http = { .headers = headers, .header_count = origin ? 2 : 1 };

    return cookie_origin_ok(front, &http);
}

static void a_change_comes_from_our_own_origin(void **state)
{
    (void)state;
    open_front(NULL);
    assert_true(from_us("localhost:8080", "http://localhost:8080"));
    assert_true(from_us("LocalHost:8080", "http://localhost:8080"));
    assert_false(from_us("localhost:8080", "http://localhost:8081"));
    assert_false(from_us("localhost:8080", "https://localhost:8080"));
    assert_false(from_us("localhost:8080", "http://127.0.0.1:8080"));
    assert_false(from_us("localhost:8080", "http://localhost:8080.evil.example"));
    assert_false(from_us("localhost:8080", "null"));
    assert_false(from_us("localhost:8080", NULL));
    assert_false(from_us("", "http://"));
    close_front();
    open_front("https://nod.example/inbox");
    assert_true(from_us("127.0.0.1:8080", "https://nod.example"));
    assert_false(from_us("127.0.0.1:8080", "https://nod.example.evil"));
    assert_false(from_us("127.0.0.1:8080", "http://nod.example"));
    close_front();
}

SUBJECT(signin)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_opens_nothing),
        cmocka_unit_test(a_link_is_used_once_and_within_its_time),
        cmocka_unit_test(a_link_whose_use_was_lost_is_used_up),
        cmocka_unit_test(a_sign_in_ends_by_time_and_when_it_is_idle),
        cmocka_unit_test(a_late_look_does_not_bring_back_what_was_removed),
        cmocka_unit_test(what_was_removed_is_not_written_again),
        cmocka_unit_test(other_nodes_are_asked_where_there_are_some),
        cmocka_unit_test(the_local_user_s_link_of_the_start_counts_without_tokens_only),
        cmocka_unit_test(what_is_known_here_is_bounded),
        cmocka_unit_test(an_agent_with_a_token_of_its_person_s_name_uses_up_its_own_sign_ins),
        cmocka_unit_test(a_sign_in_whose_token_was_gone_stays_ended),
        cmocka_unit_test(a_watch_ends_with_its_sign_in_once),
        cmocka_unit_test(a_watch_ends_when_its_token_gets_another_owner),
        cmocka_unit_test(a_cookie_is_found_by_its_name_and_shape),
        cmocka_unit_test(a_cookie_is_found_among_any_number_of_the_same_name),
        cmocka_unit_test(servers_at_two_paths_of_one_host_have_two_cookies),
        cmocka_unit_test(a_change_comes_from_our_own_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
