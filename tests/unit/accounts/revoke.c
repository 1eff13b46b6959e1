/* tests/unit/accounts/revoke: an account is disconnected, and its service learns it. */
#include "nodes.h"

#include "../runner.h"

static void an_account_that_is_disconnected_gives_no_token_at_any_node(void **state)
{
    struct token_got got;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    assert_int_equal(nodes_revoke(1, ADA, STR("mail")), NOD_OK);
    nodes_await(nodes.revokes == 1);
    assert_string_equal(nodes.revoked[0], "refresh-1");
    for (int i = 0; i < NODES; i++) {
        got = nodes_token(i, ADA, "read");
        assert_int_equal(got.status, NOD_E_NOT_FOUND);
    }
    assert_int_equal(nodes_count(0, ADA, NULL), 0);
    assert_int_equal(nodes_revoke(0, ADA, STR("mail")), NOD_E_NOT_FOUND);
}

static void the_account_of_another_is_as_good_as_none(void **state)
{
    struct str id;
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 16);
    nodes_connect(0, "ask-1", ADA, "read");
    id = accounts_id(&arena, ADA, STR("mail"));
    assert_int_equal(nodes_revoke(0, BOB, STR("mail")), NOD_E_NOT_FOUND);
    assert_int_equal(nodes_revoke(0, BOB, id), NOD_E_NOT_FOUND);
    assert_int_equal(nodes_token(0, ADA, "read").status, NOD_OK);
    assert_int_equal(nodes_revoke(0, STR_NONE, id), NOD_OK); /* an administrator */
    assert_int_equal(nodes_token(0, ADA, "read").status, NOD_E_NOT_FOUND);
    nodes_await(nodes.revokes == 1);
    arena_finish(&arena);
}

/* A person disconnects the account while a node waits for its new tokens. */
static void what_a_refresh_brings_after_that_is_given_back(void **state)
{
    struct token_got got;

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    fake_clock_advance(&nodes.clock, NODES_LASTS_S * 1000 + 1);
    nodes.far.holds = true;
    nodes_want(0, ADA, "read", NULL, &got);
    nodes_await(nodes.refreshes == 1);
    nodes.far.holds = false;
    char answer[FAR_END_TEXT_MAX];
    snprintf(answer, sizeof(answer), "%s", nodes.far.answer);
    assert_int_equal(nodes_revoke(1, ADA, STR("mail")), NOD_OK);
    nodes_await(nodes.revokes == 1);
    far_end_say(&nodes.far, 200, "%s", answer);
    far_end_release(&nodes.far);
    nodes_await(got.told);
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    nodes_await(nodes.revokes == 2);
    assert_string_equal(nodes.revoked[0], "refresh-1");
    assert_string_equal(nodes.revoked[1], "refresh-2");
    assert_int_equal(nodes_count(0, ADA, NULL), 0);
}

static void a_service_that_is_away_for_a_moment_is_told_after_that(void **state)
{
    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    nodes.fails = 2;
    assert_int_equal(nodes_revoke(0, ADA, STR("mail")), NOD_OK);
    nodes_await(nodes.revokes == 3);
    assert_int_equal(nodes.fails, 0);
    assert_string_equal(nodes.revoked[2], "refresh-1");
}

/* The node died after the mark, and before the service was told. */
static void whoever_lists_accounts_goes_on_with_what_a_dead_node_began(void **state)
{
    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    nodes.far.holds = true;
    assert_int_equal(nodes_revoke(0, ADA, STR("mail")), NOD_OK);
    nodes_await(nodes.revokes == 1);
    nodes_kill(0);
    assert_int_equal(nodes_count(1, ADA, NULL), 0);
    nodes_await(nodes.revokes == 2);
    assert_string_equal(nodes.revoked[1], "refresh-1");
}

static void tokens_that_were_replaced_end_with_the_account(void **state)
{
    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    nodes_connect(1, "ask-2", ADA, "send");
    assert_int_equal(nodes.revokes, 0); /* a call may be in the middle of using the old one */
    assert_int_equal(nodes_revoke(0, ADA, STR("mail")), NOD_OK);
    nodes_await(nodes.revokes == 2);
    bool old_first = strcmp(nodes.revoked[0], "refresh-1") == 0;
    assert_string_equal(nodes.revoked[old_first ? 0 : 1], "refresh-1");
    assert_string_equal(nodes.revoked[old_first ? 1 : 0], "refresh-2");
}

/* Nobody who is late connects it a second time. */
static void an_account_that_was_disconnected_is_connected_by_another_question_only(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    assert_int_equal(nodes_revoke(0, ADA, STR("mail")), NOD_OK);
    nodes_await(nodes.revokes == 1);
    assert_int_equal(nodes_keep(1, &flow), NOD_OK);
    assert_int_equal(nodes_count(1, ADA, NULL), 0);
    nodes_connect(1, "ask-2", ADA, "read");
    assert_int_equal(nodes_token(0, ADA, "read").status, NOD_OK);
}

struct page {
    int rows;
    char ids[4][96];
    bool told;
    char cursor[256];
};

static void on_row(void *data, const struct account_shown *account)
{
    struct page *page = data;

    assert_true(page->rows < 4);
    assert_true(str_eq(account->title, STR("Mail")));
    snprintf(page->ids[page->rows++], 96, STR_FMT, STR_ARG(account->id));
}

static void on_listed(void *data, nod_status status, struct str cursor)
{
    struct page *page = data;

    assert_int_equal(status, NOD_OK);
    snprintf(page->cursor, sizeof(page->cursor), STR_FMT, STR_ARG(cursor));
    page->told = true;
}

static void accounts_are_listed_by_page_and_each_once(void **state)
{
    struct page page = { 0 };

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    nodes_connect(0, "ask-2", BOB, "read");
    nodes_connect(0, "ask-3", STR("eve"), "read");
    accounts_list(nodes.at[1], STR_NONE, STR_NONE, 2, on_row, on_listed, &page);
    nodes_await(page.told);
    assert_int_equal(page.rows, 2);
    assert_true(page.cursor[0]);
    page.told = false;
    char cursor[256];
    memcpy(cursor, page.cursor, sizeof(cursor));
    accounts_list(nodes.at[1], STR_NONE, str_of(cursor), 2, on_row, on_listed, &page);
    nodes_await(page.told);
    assert_int_equal(page.rows, 3);
    assert_string_equal(page.cursor, "");
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(page.ids[i], page.ids[j]);
    assert_int_equal(nodes_count(0, BOB, NULL), 1);
    assert_int_equal(nodes_count(0, STR("nobody"), NULL), 0);
}

SUBJECT(revoke)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
    const struct CMUnitTest tests[] = {
        CASE(an_account_that_is_disconnected_gives_no_token_at_any_node),
        CASE(the_account_of_another_is_as_good_as_none),
        CASE(what_a_refresh_brings_after_that_is_given_back),
        CASE(a_service_that_is_away_for_a_moment_is_told_after_that),
        CASE(whoever_lists_accounts_goes_on_with_what_a_dead_node_began),
        CASE(tokens_that_were_replaced_end_with_the_account),
        CASE(an_account_that_was_disconnected_is_connected_by_another_question_only),
        CASE(accounts_are_listed_by_page_and_each_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
