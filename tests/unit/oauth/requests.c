/* tests/unit/oauth/requests: where a person is sent, what is sent to endpoints, and what a service
 * and its scopes may be. */
#include "far_end.h"

#include "../runner.h"

static struct loop *loop;
static struct arena arena;
static struct far_end far;
static struct oauth_service service;
static int answered;

static int setup(void **state)
{
    (void)state;
    loop = loop_create();
    arena_init(&arena, 1 << 20);
    far_end_open(&far, loop);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    far_end_close(&far);
    arena_finish(&arena);
    loop_destroy(loop);
    return 0;
}

static void open_as(const struct oauth_service_spec *spec)
{
    const void *part;
    const char *why;

    if (!oauth_service_open(&service, spec, loop, NULL, &part, &why))
        fail_msg("%s", why);
}

static const char *url_for(const struct oauth_code_request *request)
{
    static char text[4096];
    struct buf url;

    buf_init(&url, sizeof(text) - 1);
    oauth_authorization_url(&url, &service, request);
    assert_false(url.overflow);
    snprintf(text, sizeof(text), STR_FMT, STR_ARG(buf_str(&url)));
    buf_finish(&url);
    return text;
}

static void on_answer(void *data, const struct fetch_result *result)
{
    (void)data;
    assert_int_equal(result->end, FETCH_DONE);
    answered++;
}

/* RFC 7636, appendix B. */
#define VERIFIER  "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define CHALLENGE "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

static void a_person_is_sent_with_the_challenge_of_the_verifier(void **state)
{
    struct oauth_service_spec spec = far_end_spec(&far);

    (void)state;
    spec.authorization_endpoint = STR("https://mail.example/authorize");
    open_as(&spec);
    assert_string_equal(
        url_for(&(struct oauth_code_request){ .redirect_uri = STR("https://n/a/return"),
                                              .state = STR("s&t=1"),
                                              .verifier = STR(VERIFIER) }),
        "https://mail.example/authorize?response_type=code&client_id=nod"
        "&redirect_uri=https%3A%2F%2Fn%2Fa%2Freturn&state=s%26t%3D1"
        "&code_challenge=" CHALLENGE "&code_challenge_method=S256");
    oauth_service_close(&service);
}

static void an_endpoint_with_a_query_scopes_resources_and_parameters_of_the_operator(void **state)
{
    struct oauth_service_spec spec = far_end_spec(&far);

    (void)state;
    spec.authorization_endpoint = STR("https://mail.example/go?tenant=7");
    spec.resource = STR("https://one.example urn:two");
    spec.parameters = STR("access_type=offline&prompt=consent");
    open_as(&spec);
    assert_string_equal(url_for(&(struct oauth_code_request){ .redirect_uri = STR("u"),
                                                              .state = STR("s"),
                                                              .scopes = STR("read mail:send"),
                                                              .verifier = STR(VERIFIER) }),
                        "https://mail.example/go?tenant=7&response_type=code&client_id=nod"
                        "&redirect_uri=u&state=s&code_challenge=" CHALLENGE
                        "&code_challenge_method=S256&scope=read%20mail%3Asend"
                        "&resource=https%3A%2F%2Fone.example&resource=urn%3Atwo"
                        "&access_type=offline&prompt=consent");
    oauth_service_close(&service);
}

static void each_verifier_is_new_and_of_unreserved_characters(void **state)
{
    struct str one = oauth_verifier(&arena), two = oauth_verifier(&arena);

    (void)state;
    assert_false(str_eq(one, two));
    assert_int_equal(one.len, 43);
    for (size_t i = 0; i < one.len; i++)
        assert_non_null(
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", one.at[i]));
}

/* RFC 9207. */
static void an_answer_of_another_issuer_does_not_fit(void **state)
{
    struct oauth_service_spec spec = far_end_spec(&far);
    struct str right = STR("https://mail.example"), wrong = STR("https://mail.example/"),
               none = STR_NONE;

    (void)state;
    spec.issuer = right;
    open_as(&spec);
    assert_true(oauth_issuer_fits(&service, &right));
    assert_false(oauth_issuer_fits(&service, &wrong));
    assert_false(oauth_issuer_fits(&service, &none));
    assert_true(oauth_issuer_fits(&service, NULL));
    service.names_issuer = true; /* its metadata says that it always does */
    assert_false(oauth_issuer_fits(&service, NULL));
    oauth_service_close(&service);
}

static void a_client_says_who_it_is_in_the_header_or_in_the_body(void **state)
{
    struct oauth_service_spec spec = far_end_spec(&far);

    (void)state;
    far_end_say(&far, 200, "{}");
    spec.resource = STR("https://one.example");
    open_as(&spec); /* a public client */
    assert_non_null(oauth_refresh(&service, STR("r/1"), on_answer, NULL));
    far_end_await(&far, answered == 1);
    assert_string_equal(far.path, "/token");
    assert_string_equal(far.body, "grant_type=refresh_token&refresh_token=r%2F1"
                                  "&resource=https%3A%2F%2Fone.example&client_id=nod");
    assert_string_equal(far.authorization, "");
    oauth_service_close(&service);

    spec.client_id = STR("n:d");
    spec.client_secret = STR("s e+");
    spec.resource = STR_NONE;
    open_as(&spec);
    assert_non_null(oauth_exchange(&service, STR("c&1"), STR("u"), STR("v"), on_answer, NULL));
    far_end_await(&far, answered == 2);
    assert_string_equal(far.body,
                        "grant_type=authorization_code&code=c%261&redirect_uri=u&code_verifier=v");
    assert_string_equal(far.authorization, "Basic biUzQWQ6cyUyMGUlMkI="); /* n%3Ad:s%20e%2B */
    oauth_service_close(&service);

    spec.client_auth = OAUTH_AUTH_POST;
    open_as(&spec);
    assert_non_null(oauth_revoke(&service, STR("t"), true, on_answer, NULL));
    far_end_await(&far, answered == 3);
    assert_string_equal(far.path, "/revoke");
    assert_string_equal(far.body, "token=t&token_type_hint=refresh_token&client_id=n%3Ad"
                                  "&client_secret=s%20e%2B");
    assert_string_equal(far.authorization, "");
    oauth_service_close(&service);
}

static void what_a_service_may_not_be_is_said_with_its_part(void **state)
{
    const struct oauth_service_spec good = far_end_spec(&far);
    struct oauth_service_spec spec;
    const void *part;
    const char *why;

    (void)state;
#define REFUSES(change, which, word)                                                               \
    do {                                                                                           \
        spec = good;                                                                               \
        change;                                                                                    \
        assert_false(oauth_service_open(&service, &spec, loop, NULL, &part, &why));                \
        assert_ptr_equal(part, which);                                                             \
        if (!strstr(why, word))                                                                    \
            fail_msg("%s", why);                                                                   \
    } while (0)
    REFUSES(spec.name = STR("Mail"), NULL, "name");
    REFUSES(spec.name = STR_NONE, NULL, "name");
    REFUSES(spec.name = STR("a23456789b23456789c23456789d23456"), NULL, "name");
    REFUSES(spec.token_endpoint = STR("http://mail.example/token"), &spec.token_endpoint,
            "https://");
    REFUSES(spec.token_endpoint = STR("http://localhost.example/t"), &spec.token_endpoint,
            "https://");
    REFUSES(spec.authorization_endpoint = STR("https://mail.example/#a"),
            &spec.authorization_endpoint, "#");
    REFUSES(spec.token_endpoint = STR_NONE, NULL, "issuer");
    REFUSES(spec.issuer = STR("https://mail.example/?a=b"), &spec.issuer, "query");
    REFUSES(spec.client_id = STR_NONE, &spec.client_id, "client_id");
    REFUSES(spec.client_secret = STR("a\nb"), &spec.client_secret, "secret");
    REFUSES(spec.client_auth = OAUTH_AUTH_POST, &spec.client_auth, "there is none");
    REFUSES(spec.scopes = STR("a \"b\""), &spec.scopes, "scopes");
    REFUSES(spec.resource = STR("https://one.example two"), &spec.resource, "absolute");
    REFUSES(spec.parameters = STR("prompt"), &spec.parameters, "name=value");
    REFUSES(spec.parameters = STR("a=b&redirect_uri=x"), &spec.parameters, "the flow itself");
    REFUSES(spec.allow = STR("10.0.0.7"), &spec.allow, "port");
    /* A machine in the operator's own network is meant only if it is named. */
    REFUSES(spec.token_endpoint = STR("https://10.0.0.7/token"), &spec.token_endpoint,
            "allow = 10.0.0.7:443");
    REFUSES(spec.revocation_endpoint = STR("https://[fd00::7]/r"), &spec.revocation_endpoint,
            "allow = [fd00::7]:443");
#undef REFUSES
    open_as(&good);
    oauth_service_close(&service);
}

static void scopes_are_words_in_any_order(void **state)
{
    (void)state;
    assert_true(oauth_scopes_within(STR_NONE, STR_NONE));
    assert_true(oauth_scopes_within(STR("b a"), STR("a,b c")));
    assert_false(oauth_scopes_within(STR("a"), STR("ab")));
    assert_false(oauth_scopes_within(STR("a b"), STR("a")));
    assert_true(str_eq(oauth_scopes_join(&arena, STR("a b"), STR("b c,d")), STR("a b c d")));
    assert_true(str_eq(oauth_scopes_join(&arena, STR_NONE, STR("c  c")), STR("c")));
    assert_true(str_eq(oauth_scopes_join(&arena, STR("a"), STR_NONE), STR("a")));
}

SUBJECT(requests)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_is_sent_with_the_challenge_of_the_verifier),
        cmocka_unit_test(an_endpoint_with_a_query_scopes_resources_and_parameters_of_the_operator),
        cmocka_unit_test(each_verifier_is_new_and_of_unreserved_characters),
        cmocka_unit_test(an_answer_of_another_issuer_does_not_fit),
        cmocka_unit_test(a_client_says_who_it_is_in_the_header_or_in_the_body),
        cmocka_unit_test(what_a_service_may_not_be_is_said_with_its_part),
        cmocka_unit_test(scopes_are_words_in_any_order),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
