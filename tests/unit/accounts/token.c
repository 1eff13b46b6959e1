/* tests/unit/accounts/token: access tokens, refreshed in time and once, also by two nodes whose
 * clocks differ. */
#include "nodes.h"

#include "../runner.h"

static void expire(void)
{
    fake_clock_advance(&nodes.clock, NODES_LASTS_S * 1000 + 1);
}

static void equal(const struct token_got *got, const char *access)
{
    assert_int_equal(got->told, 1);
    assert_int_equal(got->status, NOD_OK);
    assert_string_equal(got->access, access);
}

static void a_token_that_lasts_is_given_to_its_principal_alone(void **state)
{
    struct token_got got;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    got = nodes_token(1, ADA, "read");
    equal(&got, "access-1");
    assert_int_equal(nodes.refreshes, 0);
    got = nodes_token(1, BOB, "read");
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    assert_string_equal(got.access, "");
}

static void all_who_wait_at_a_node_wait_for_one_refresh(void **state)
{
    struct token_got got[5];

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    for (int i = 0; i < 5; i++)
        nodes_want(0, ADA, "read", NULL, &got[i]);
    nodes_await(got[4].told);
    for (int i = 0; i < 5; i++)
        equal(&got[i], "access-2");
    assert_int_equal(nodes.refreshes, 1);
    got[0] = nodes_token(1, ADA, "read"); /* what came of it is kept for all nodes */
    equal(&got[0], "access-2");
    assert_int_equal(nodes.refreshes, 1);
}

/* One node refreshes, and the service takes its time; meanwhile another node comes, whose clock
 * differs by so much. */
static void refresh_by_one_of_two(int64_t ahead_ms)
{
    struct token_got first, second;

    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    nodes.views[1].ahead_ms = ahead_ms;
    nodes.far.holds = true;
    nodes_want(0, ADA, "read", NULL, &first);
    nodes_await(nodes.refreshes == 1);
    nodes.views[1].gets = 0;
    nodes_want(1, ADA, "read", NULL, &second);
    nodes_await(nodes.views[1].gets >= 3 || nodes.refreshes > 1); /* it looks, and looks again */
    assert_int_equal(nodes.refreshes, 1);
    far_end_release(&nodes.far);
    nodes_await(first.told && second.told);
    equal(&first, "access-2");
    equal(&second, "access-2");
    assert_int_equal(nodes.refreshes, 1);
}

static void a_lease_is_one_for_a_clock_that_is_a_little_behind(void **state)
{
    (void)state;
    refresh_by_one_of_two(-700);
}

static void a_lease_is_one_for_a_clock_that_is_a_little_ahead(void **state)
{
    (void)state;
    refresh_by_one_of_two(700);
}

static void two_nodes_that_come_at_the_same_instant_refresh_once(void **state)
{
    struct token_got first, second;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    nodes.views[1].ahead_ms = -20;
    nodes_want(0, ADA, "read", NULL, &first);
    nodes_want(1, ADA, "read", NULL, &second);
    nodes_await(first.told && second.told);
    equal(&first, "access-2");
    equal(&second, "access-2");
    assert_int_equal(nodes.refreshes, 1);
}

/* A node dies in the middle of a refresh whose request was lost: the next one waits for the lease
 * of the first to run out, and no longer. */
static void the_lease_of_a_node_that_died_runs_out(void **state)
{
    struct token_got first, second;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    nodes.keeps_refresh = true;
    expire();
    nodes.far.holds = true;
    nodes_want(0, ADA, "read", NULL, &first);
    nodes_await(nodes.refreshes == 1);
    nodes_kill(0);
    nodes.views[1].gets = 0;
    nodes_want(1, ADA, "read", NULL, &second);
    nodes_await(nodes.views[1].gets >= 2);
    assert_int_equal(nodes.refreshes, 1);
    fake_clock_advance(&nodes.clock, ACCOUNTS_LEASE_MS + 1);
    nodes_await(second.told);
    assert_int_equal(second.status, NOD_OK);
    assert_int_equal(nodes.refreshes, 2);
    assert_int_equal(first.told, 0);
}

static void a_lease_of_the_far_future_is_one_of_a_wrong_clock(void **state)
{
    struct token_got first, second;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    nodes.keeps_refresh = true; /* the request of the first is lost */
    nodes.views[0].ahead_ms = 3600000;
    nodes.far.holds = true;
    nodes_want(0, ADA, "read", NULL, &first);
    nodes_await(nodes.refreshes == 1);
    nodes_kill(0);
    nodes_want(1, ADA, "read", NULL, &second);
    nodes_await(second.told);
    assert_int_equal(second.status, NOD_OK);
    assert_int_equal(nodes.refreshes, 2);
}

/* As long as the old token is good, whoever comes is not made to wait for the new one. */
static void a_token_that_still_lasts_is_given_while_another_node_refreshes(void **state)
{
    struct token_got first, second;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    fake_clock_advance(&nodes.clock, NODES_LASTS_S * 1000 - 30000);
    nodes.far.holds = true;
    nodes_want(0, ADA, "read", NULL, &first);
    nodes_await(nodes.refreshes == 1);
    second = nodes_token(1, ADA, "read");
    equal(&second, "access-1");
    far_end_release(&nodes.far);
    nodes_await(first.told);
    equal(&first, "access-2");
}

static void only_a_service_that_refuses_ends_an_account(void **state)
{
    struct token_got got;
    int refused;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    nodes.fails = 1;
    got = nodes_token(0, ADA, "read");
    assert_int_equal(got.status, NOD_E_IO);
    assert_non_null(strstr(got.message, "503"));
    nodes.generation = 1; /* which it has not given, then */
    nodes.error = "invalid_client";
    got = nodes_token(0, ADA, "read");
    assert_int_equal(got.status, NOD_E_IO);
    assert_int_equal(nodes_count(0, ADA, &refused), 1);
    assert_int_equal(refused, 0);

    nodes.error = "invalid_grant";
    got = nodes_token(0, ADA, "read");
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    assert_int_equal(nodes_count(1, ADA, &refused), 1);
    assert_int_equal(refused, 1);
    nodes.error = NULL;
    int before = nodes.refreshes;
    got = nodes_token(1, ADA, "read"); /* nobody asks it again with what it has refused */
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    assert_int_equal(nodes.refreshes, before);
}

static void a_token_with_time_left_is_given_although_its_service_is_away(void **state)
{
    struct token_got got;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    fake_clock_advance(&nodes.clock, NODES_LASTS_S * 1000 - 30000);
    nodes.fails = 1;
    got = nodes_token(0, ADA, "read");
    equal(&got, "access-1");
    assert_int_equal(nodes.refreshes, 1);
}

static void new_tokens_are_kept_although_the_store_is_away_for_a_moment(void **state)
{
    struct token_got got;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    nodes.far.holds = true;
    nodes_want(0, ADA, "read", NULL, &got);
    nodes_await(nodes.refreshes == 1);
    nodes.failing_puts = 3;
    far_end_release(&nodes.far);
    nodes_await(got.told);
    equal(&got, "access-2");
    assert_int_equal(nodes.failing_puts, 0);
    got = nodes_token(1, ADA, "read");
    equal(&got, "access-2");
    assert_int_equal(nodes.refreshes, 1);
}

static void a_service_that_gives_no_new_refresh_token_means_the_old_one(void **state)
{
    struct token_got got;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    nodes.keeps_refresh = true;
    for (int i = 2; i <= 3; i++) {
        char access[32];
        snprintf(access, sizeof(access), "access-%d", i);
        expire();
        got = nodes_token(0, ADA, "read");
        equal(&got, access);
        assert_non_null(strstr(nodes.far.body, "refresh_token=refresh-1&"));
    }
}

static void with_fewer_scopes_than_are_wanted_the_person_is_asked_once(void **state)
{
    struct token_got got;

    (void)state;
    nodes.grants = "profile read";
    nodes_connect(0, "ask-1", ADA, "read send");
    got = nodes_token(0, ADA, "send");
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    assert_non_null(strstr(got.message, "fewer permissions"));
    nodes_want(0, ADA, "send", "ask-1", &got); /* by this very question */
    nodes_await(got.told);
    assert_int_equal(got.status, NOD_E_REFUSED);
    got = nodes_token(0, ADA, "read");
    equal(&got, "access-1");
}

static void a_service_that_is_not_known_is_named(void **state)
{
    static char many[OAUTH_TEXT_MAX + 2];
    struct token_got got;

    (void)state;
    memset(many, 's', sizeof(many) - 1);
    got = nodes_token(0, ADA, many);
    assert_int_equal(got.status, NOD_E_USAGE);
    nodes_kill(0);
    nodes.at[0] = accounts_create(&(struct accounts_opts){
        .loop = nodes.loop, .store = &nodes.views[0].store, .ring = nodes.ring });
    got = nodes_token(0, ADA, "read");
    assert_int_equal(got.status, NOD_E_NOT_SUPPORTED);
    assert_non_null(strstr(got.message, "mail"));
    assert_non_null(strstr(got.message, "none"));
}

static void who_goes_is_not_told(void **state)
{
    struct token_got goes, stays;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    expire();
    struct account_wait *wait = nodes_want(0, ADA, "read", NULL, &goes);
    nodes_want(0, ADA, "read", NULL, &stays);
    nodes_await(nodes.refreshes == 1);
    accounts_token_cancel(wait);
    nodes_await(stays.told);
    equal(&stays, "access-2");
    assert_int_equal(goes.told, 0);
}

SUBJECT(token)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_token_that_lasts_is_given_to_its_principal_alone),
        CASE(all_who_wait_at_a_node_wait_for_one_refresh),
        CASE(a_lease_is_one_for_a_clock_that_is_a_little_behind),
        CASE(a_lease_is_one_for_a_clock_that_is_a_little_ahead),
        CASE(two_nodes_that_come_at_the_same_instant_refresh_once),
        CASE(the_lease_of_a_node_that_died_runs_out),
        CASE(a_lease_of_the_far_future_is_one_of_a_wrong_clock),
        CASE(a_token_that_still_lasts_is_given_while_another_node_refreshes),
        CASE(only_a_service_that_refuses_ends_an_account),
        CASE(a_token_with_time_left_is_given_although_its_service_is_away),
        CASE(new_tokens_are_kept_although_the_store_is_away_for_a_moment),
        CASE(a_service_that_gives_no_new_refresh_token_means_the_old_one),
        CASE(with_fewer_scopes_than_are_wanted_the_person_is_asked_once),
        CASE(a_service_that_is_not_known_is_named),
        CASE(who_goes_is_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
