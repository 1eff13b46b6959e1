/* tests/unit/oauth/metadata: what a service says of itself, if only its issuer is known. */
#include "far_end.h"

#include "../runner.h"

static struct loop *loop;
static struct far_end far;
static struct oauth_service service;
static char issuer[128];
static char paths[8][256];
static int told;
static char why_not[256]; /* empty: it was ready */

/* The document, with the member that a test is about. */
#define DOCUMENT                                                                                   \
    "{\"issuer\":\"%s\",\"authorization_endpoint\":\"https://a.example/go\","                      \
    "\"token_endpoint\":\"https://a.example/token\"%s}"

static void remember(struct far_end *end, const struct http_request *request)
{
    if (end->requests <= 8)
        snprintf(paths[end->requests - 1], sizeof(paths[0]), STR_FMT, STR_ARG(request->path));
}

/* The first place has nothing. */
static void only_openid(struct far_end *end, const struct http_request *request)
{
    remember(end, request);
    if (str_find(request->path, STR("openid")) < 0)
        far_end_say(end, 404, "none");
    else
        far_end_say(end, 200, DOCUMENT, issuer, "");
}

static int setup(void **state)
{
    struct oauth_service_spec spec;
    const void *part;
    const char *why;

    (void)state;
    loop = loop_create();
    far_end_open(&far, loop);
    far.answers = remember;
    snprintf(issuer, sizeof(issuer), "%s/tenant/7", far.base);
    spec = (struct oauth_service_spec){ .name = STR("mail"),
                                        .issuer = str_of(issuer),
                                        .client_id = STR("nod"),
                                        .client_secret = STR("secret"),
                                        .allow = str_of(far.allow) };
    told = 0;
    if (!oauth_service_open(&service, &spec, loop, NULL, &part, &why))
        fail_msg("%s", why);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    oauth_service_close(&service);
    far_end_close(&far);
    loop_destroy(loop);
    return 0;
}

static void ready(void *data, const char *why)
{
    (void)data;
    told++;
    snprintf(why_not, sizeof(why_not), "%s", why ? why : "");
}

static void look(void)
{
    struct oauth_await wait = { 0 };
    int before = told;

    oauth_service_await(&service, &wait, ready, NULL);
    far_end_await(&far, told > before);
}

static void refuses(const char *word)
{
    look();
    if (!strstr(why_not, word))
        fail_msg("\"%s\" says nothing of %s", why_not, word);
    assert_null(service.token); /* nothing of it was taken over */
    assert_null(service.authorization);
}

static void the_document_is_found_between_host_and_path_and_read_once(void **state)
{
    (void)state;
    far_end_say(&far, 200, DOCUMENT, issuer,
                ",\"revocation_endpoint\":\"https://a.example/revoke\","
                "\"authorization_response_iss_parameter_supported\":true,"
                "\"code_challenge_methods_supported\":[\"plain\",\"S256\"]");
    look();
    assert_string_equal(why_not, "");
    assert_string_equal(paths[0], "/.well-known/oauth-authorization-server/tenant/7");
    assert_string_equal(service.authorization, "https://a.example/go");
    assert_string_equal(service.token, "https://a.example/token");
    assert_string_equal(service.revocation, "https://a.example/revoke");
    assert_true(service.names_issuer);
    look();
    assert_int_equal(far.requests, 1);
}

static void a_service_of_openid_connect_has_it_behind_the_path(void **state)
{
    (void)state;
    far.answers = only_openid;
    look();
    assert_string_equal(why_not, "");
    assert_string_equal(paths[1], "/tenant/7/.well-known/openid-configuration");
    assert_int_equal(far.requests, 2);
    assert_false(service.names_issuer);
    assert_null(service.revocation);
}

static void a_document_of_another_issuer_is_not_taken(void **state)
{
    char other[160];

    (void)state;
    far_end_say(&far, 200, DOCUMENT, "https://evil.example", "");
    refuses("another issuer");
    snprintf(other, sizeof(other), "%s/", issuer); /* the very one, and no other */
    far_end_say(&far, 200, DOCUMENT, other, "");
    refuses("another issuer");
    far_end_say(&far, 200, "{\"token_endpoint\":\"https://a.example/token\"}");
    refuses("another issuer");
}

static void an_address_that_is_missing_or_not_safe_is_not_taken(void **state)
{
    static const char *const endpoints[] = {
        "\"token_endpoint\":\"https://a.example/t\"",
        "\"authorization_endpoint\":\"https://a.example/go\"",
        "\"authorization_endpoint\":\"https://a.example/go\",\"token_endpoint\":"
        "\"http://a.example/t\"",
        "\"authorization_endpoint\":\"javascript:alert(1)\",\"token_endpoint\":"
        "\"https://a.example/t\"",
        "\"authorization_endpoint\":\"https://a.example/go\",\"token_endpoint\":"
        "\"https://a.example/t\",\"revocation_endpoint\":\"ftp://a.example/r\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
        far_end_say(&far, 200, "{\"issuer\":\"%s\",%s}", issuer, endpoints[i]);
        refuses("address");
    }
}

static void a_service_without_s256_is_not_taken(void **state)
{
    (void)state;
    far_end_say(&far, 200, DOCUMENT, issuer, ",\"code_challenge_methods_supported\":[\"plain\"]");
    refuses("PKCE");
    far_end_say(&far, 200, DOCUMENT, issuer, ",\"code_challenge_methods_supported\":[]");
    refuses("PKCE");
}

static void what_is_no_document_is_said_so(void **state)
{
    (void)state;
    far_end_say(&far, 200, "<html>");
    refuses("where its endpoints are");
    far_end_say(&far, 500, DOCUMENT, issuer, "");
    refuses("where its endpoints are");
    far_end_say(&far, 302, "{}"); /* nobody follows */
    refuses("where its endpoints are");
}

/* Whoever waits together is told together; whoever goes before is not told. */
static void all_who_wait_are_told_by_one_request(void **state)
{
    struct oauth_await waits[3] = { 0 };

    (void)state;
    far.holds = true;
    far_end_say(&far, 200, DOCUMENT, issuer, "");
    for (int i = 0; i < 3; i++)
        oauth_service_await(&service, &waits[i], ready, NULL);
    far_end_await(&far, far.requests == 1);
    oauth_await_stop(&waits[1]);
    far_end_release(&far);
    far_end_await(&far, told == 2);
    loop_turn(loop, 0);
    assert_int_equal(told, 2);
    assert_int_equal(far.requests, 1);
}

static void while_a_new_document_cannot_be_read_the_old_one_counts(void **state)
{
    (void)state;
    far_end_say(&far, 200, DOCUMENT, issuer, "");
    look();
    service.read_ms -= OAUTH_METADATA_MS + 1;
    far_end_say(&far, 200, DOCUMENT, "https://evil.example", "");
    look();
    assert_int_equal(far.requests, 2);
    assert_string_equal(why_not, "");
    assert_string_equal(service.token, "https://a.example/token");
}

static void a_service_that_takes_the_secret_in_the_body_only_gets_it_there(void **state)
{
    (void)state;
    far_end_say(&far, 200, DOCUMENT, issuer,
                ",\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]");
    look();
    assert_true(service.auth_in_body);
    service.read_ms -= OAUTH_METADATA_MS + 1;
    far_end_say(&far, 200, DOCUMENT, issuer,
                ",\"token_endpoint_auth_methods_supported\":[\"client_secret_post\","
                "\"client_secret_basic\"]");
    look();
    assert_false(service.auth_in_body);
}

SUBJECT(metadata)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(the_document_is_found_between_host_and_path_and_read_once),
        CASE(a_service_of_openid_connect_has_it_behind_the_path),
        CASE(a_document_of_another_issuer_is_not_taken),
        CASE(an_address_that_is_missing_or_not_safe_is_not_taken),
        CASE(a_service_without_s256_is_not_taken),
        CASE(what_is_no_document_is_said_so),
        CASE(all_who_wait_are_told_by_one_request),
        CASE(while_a_new_document_cannot_be_read_the_old_one_counts),
        CASE(a_service_that_takes_the_secret_in_the_body_only_gets_it_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
