/* tests/unit/accounts/connect: an account is connected by a question that was accepted, once, and
 * by no other; what comes back from a service is what was begun. */
#include "nodes.h"

#include "../runner.h"

static void nothing_is_connected_before_the_question_is_accepted(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");
    struct token_got got;

    (void)state;
    assert_int_equal(nodes_begin(0, &flow).end, ACCOUNT_FLOW_GO);
    assert_int_equal(nodes_return(0, &flow, "code").end, ACCOUNT_FLOW_AGREED);
    got = nodes_token(0, ADA, "read");
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    assert_int_equal(nodes_count(0, ADA, NULL), 0);
    assert_int_equal(nodes_keep(1, &flow), NOD_OK); /* whoever learns it first */
    got = nodes_token(0, ADA, "read");
    assert_int_equal(got.status, NOD_OK);
    assert_string_equal(got.access, "access-1");
    assert_non_null(strstr(nodes.far.body, "code=code&"));
}

static void a_question_that_ends_otherwise_gives_back_what_was_granted(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");

    (void)state;
    nodes_begin(0, &flow);
    nodes_return(0, &flow, "code");
    accounts_drop(nodes.at[1], &flow);
    nodes_await(nodes.views[1].dels == 1);
    assert_int_equal(nodes.revokes, 1);
    assert_string_equal(nodes.revoked[0], "refresh-1");
    assert_int_equal(nodes_keep(0, &flow), NOD_OK); /* nothing is held any more */
    assert_int_equal(nodes_count(0, ADA, NULL), 0);
}

/* The node has died between the answer and the account: the call that goes on keeps what is held
 * for its question. */
static void a_call_keeps_what_its_accepted_question_has_led_to(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");
    struct token_got got;

    (void)state;
    nodes_begin(0, &flow);
    nodes_return(0, &flow, "code");
    nodes_kill(0);
    nodes_want(1, BOB, "read", "ask-1", &got); /* whose question it is not */
    nodes_await(got.told);
    assert_int_equal(got.status, NOD_E_NOT_FOUND);
    nodes_want(1, ADA, "read", "ask-1", &got);
    nodes_await(got.told);
    assert_int_equal(got.status, NOD_OK);
    assert_string_equal(got.access, "access-1");
}

static const char *part_of(const char *url, const char *name, char out[256])
{
    const char *at = strstr(url, name);

    assert_non_null(at);
    sscanf(at + strlen(name), "%255[^&]", out);
    return out;
}

static void a_page_that_is_opened_again_goes_with_the_same_verifier(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read"), more = flow;
    struct flow_got one, two, three;
    char a[256], b[256];

    (void)state;
    one = nodes_begin(0, &flow);
    two = nodes_begin(1, &flow);
    assert_string_equal(part_of(one.url, "code_challenge=", a),
                        part_of(two.url, "code_challenge=", b));
    more.redirect_uri = STR("https://other.example/a/return"); /* the server has moved */
    three = nodes_begin(1, &more);
    assert_string_not_equal(a, part_of(three.url, "code_challenge=", b));
}

static void what_was_agreed_to_before_is_asked_for_again(void **state)
{
    struct account_flow flow = nodes_flow("ask-2", ADA, "send");
    struct flow_got got;
    char scope[256];

    (void)state;
    nodes_connect(0, "ask-1", ADA, "read");
    got = nodes_begin(0, &flow);
    assert_int_equal(got.end, ACCOUNT_FLOW_GO);
    assert_string_equal(part_of(got.url, "&scope=", scope), "profile%20send%20read");
    flow.scopes = STR("read"); /* which it has */
    assert_int_equal(nodes_begin(0, &flow).end, ACCOUNT_FLOW_AGREED);
}

/* Two pages were open at once: the token of the second would take away what the first has got. */
static void a_second_page_does_not_narrow_what_the_first_has_connected(void **state)
{
    struct account_flow first = nodes_flow("ask-1", ADA, "read"),
                        second = nodes_flow("ask-2", ADA, "send");
    struct flow_got got;
    char scope[256];

    (void)state;
    nodes_begin(0, &first);
    nodes_begin(0, &second);
    assert_int_equal(nodes_return(0, &first, "one").end, ACCOUNT_FLOW_AGREED);
    nodes_keep(0, &first);
    got = nodes_return(0, &second, "two");
    assert_int_equal(got.end, ACCOUNT_FLOW_GO);
    assert_string_equal(part_of(got.url, "&scope=", scope), "profile%20send%20read");
    assert_int_equal(nodes.exchanges, 1); /* its code was not used */
    assert_int_equal(nodes_return(0, &second, "three").end, ACCOUNT_FLOW_AGREED);
    nodes_keep(0, &second);
    assert_int_equal(nodes_token(0, ADA, "read send").status, NOD_OK);
}

static void a_code_is_used_once(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");
    struct flow_got got;

    (void)state;
    nodes_begin(0, &flow);
    nodes.fails = 1;
    got = nodes_return(0, &flow, "code");
    assert_int_equal(got.end, ACCOUNT_FLOW_FAILED);
    assert_non_null(strstr(got.message, "503"));
    assert_int_equal(nodes_return(0, &flow, "code").end, ACCOUNT_FLOW_REFUSED);
    assert_int_equal(nodes.exchanges, 1);
    nodes_begin(0, &flow); /* a new one */
    assert_int_equal(nodes_return(0, &flow, "other").end, ACCOUNT_FLOW_AGREED);
    assert_int_equal(nodes_return(0, &flow, "other").end, ACCOUNT_FLOW_AGREED); /* as is held */
    assert_int_equal(nodes.exchanges, 2);
}

static void what_did_not_begin_here_is_refused(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read"), other = flow;

    (void)state;
    assert_int_equal(nodes_return(0, &flow, "code").end, ACCOUNT_FLOW_REFUSED);
    nodes_begin(0, &flow);
    other.principal = BOB;
    assert_int_equal(nodes_return(0, &other, "code").end, ACCOUNT_FLOW_REFUSED);
    other = flow;
    other.ask_id = STR("ask-2");
    assert_int_equal(nodes_return(0, &other, "code").end, ACCOUNT_FLOW_REFUSED);
    other = flow;
    other.iss = STR("https://evil.example");
    other.has_iss = true;
    assert_int_equal(nodes_return(0, &other, "code").end, ACCOUNT_FLOW_REFUSED);
    assert_int_equal(nodes_return(0, &flow, "").end, ACCOUNT_FLOW_REFUSED);
    assert_int_equal(nodes.exchanges, 0);
    other.iss = STR("https://mail.example"); /* and none of that has used it up */
    assert_int_equal(nodes_return(0, &other, "code").end, ACCOUNT_FLOW_AGREED);
}

static void a_person_who_does_not_agree_has_declined(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");

    (void)state;
    nodes_begin(0, &flow);
    flow.error = STR("server_error");
    assert_int_equal(nodes_return(0, &flow, "").end, ACCOUNT_FLOW_FAILED);
    flow.error = STR("access_denied");
    assert_int_equal(nodes_return(0, &flow, "code").end, ACCOUNT_FLOW_DECLINED);
    assert_int_equal(nodes.exchanges, 0);
}

static void a_service_that_is_gone_is_said_so(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");
    struct flow_got got;

    (void)state;
    flow.service = STR("gone");
    got = nodes_begin(0, &flow);
    assert_int_equal(got.end, ACCOUNT_FLOW_FAILED);
    assert_non_null(strstr(got.message, "no such service"));
}

static void no_store_sees_a_token(void **state)
{
    struct account_flow flow = nodes_flow("ask-1", ADA, "read");

    (void)state;
    nodes_begin(0, &flow);
    nodes_return(0, &flow, "code");
    assert_non_null(strstr(nodes.views[0].put, "\"ada\""));
    assert_null(strstr(nodes.views[0].put, "access-1"));
    assert_null(strstr(nodes.views[0].put, "refresh-1"));
    nodes_keep(0, &flow);
    assert_null(strstr(nodes.views[0].put, "access-1"));
    assert_null(strstr(nodes.views[0].put, "refresh-1"));
}

SUBJECT(connect)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_connected_before_the_question_is_accepted),
        CASE(a_question_that_ends_otherwise_gives_back_what_was_granted),
        CASE(a_call_keeps_what_its_accepted_question_has_led_to),
        CASE(a_page_that_is_opened_again_goes_with_the_same_verifier),
        CASE(what_was_agreed_to_before_is_asked_for_again),
        CASE(a_second_page_does_not_narrow_what_the_first_has_connected),
        CASE(a_code_is_used_once),
        CASE(what_did_not_begin_here_is_refused),
        CASE(a_person_who_does_not_agree_has_declined),
        CASE(a_service_that_is_gone_is_said_so),
        CASE(no_store_sees_a_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
