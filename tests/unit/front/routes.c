/* tests/unit/front/routes: patterns, precedence, methods and variables. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "front/routes.h"
#include "../runner.h"

static void handle(const struct front_request *request, void *data)
{
    (void)request;
    (void)data;
}

static bool add(struct routes *routes, const char *method, const char *pattern, role_set who)
{
    const char *why = NULL;
    bool added = routes_add(routes,
                            &(struct route){ .method = str_of(method),
                                             .pattern = str_of(pattern),
                                             .who = who,
                                             .anyone = who == ROLES_NONE,
                                             .handle = handle },
                            &why);

    assert_true(added == (why == NULL));
    return added;
}

/* The pattern that serves it, or "". */
static const char *served(const struct routes *routes, const char *method, const char *path)
{
    struct routes_found found;
    static char pattern[ROUTES_PATTERN_MAX + 1];

    routes_find(routes, str_of(method), str_of(path), &found);
    if (!found.route)
        return "";
    memcpy(pattern, found.route->pattern.at, found.route->pattern.len);
    pattern[found.route->pattern.len] = '\0';
    return pattern;
}

static const char *allowed(const struct routes *routes, const char *path)
{
    static char text[256];
    struct buf out;

    buf_init(&out, sizeof(text) - 1);
    routes_allow(routes, str_of(path), &out);
    if (out.len)
        memcpy(text, out.at, out.len);
    text[out.len] = '\0';
    buf_finish(&out);
    return text;
}

static void a_path_finds_the_most_literal_pattern(void **state)
{
    struct routes *routes = routes_create();
    static const char *const patterns[] = { "/asks/{id}",         "/asks/{id}/answer",
                                            "/asks/all",          "/",
                                            "/assets/{file...}",  "/assets/logo.svg",
                                            "/{any}/{id}/answer", "/dir/" };
    static const char *const cases[][2] = {
        { "/asks/17", "/asks/{id}" },
        { "/asks/all", "/asks/all" },
        { "/asks/all/answer", "/asks/{id}/answer" },
        { "/calls/all/answer", "/{any}/{id}/answer" },
        { "/assets/logo.svg", "/assets/logo.svg" },
        { "/assets/a/b/c", "/assets/{file...}" },
        { "/assets/", "/assets/{file...}" },
        { "/", "/" },
        { "/dir/", "/dir/" },
        { "/asks/a%2Fb", "/asks/{id}" },
        { "/assets", "" },
        { "/dir", "" },
        { "/asks/", "" },
        { "/asks//answer", "" },
        { "/asks/17/", "" },
        { "/Asks/17", "" },
        { "/%61sks/17", "" },
        { "", "" },
        { "*", "" },
        { "asks/17", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        assert_true(add(routes, "GET", patterns[i], ROLES_NONE));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(served(routes, "GET", cases[i][0]), cases[i][1]) != 0)
            fail_msg("%s is served by \"%s\"", cases[i][0], served(routes, "GET", cases[i][0]));
    routes_destroy(routes);
}

static void a_path_is_known_whatever_the_method(void **state)
{
    struct routes *routes = routes_create();
    struct routes_found found;

    (void)state;
    assert_true(add(routes, "GET", "/asks/{id}", ROLE_ANSWER));
    assert_true(add(routes, "POST", "/asks/{id}", ROLE_ANSWER));
    assert_true(add(routes, "DELETE", "/asks/all", ROLES_NONE));
    assert_true(add(routes, "POST", "/open", ROLES_NONE));

    assert_string_equal(allowed(routes, "/asks/1"), "GET, HEAD, POST");
    assert_string_equal(allowed(routes, "/asks/all"), "GET, HEAD, POST, DELETE");
    assert_string_equal(allowed(routes, "/none"), "");
    assert_string_equal(served(routes, "HEAD", "/asks/1"), "/asks/{id}");
    assert_string_equal(served(routes, "GET", "/asks/all"), "/asks/{id}"); /* by its method */
    assert_string_equal(served(routes, "HEAD", "/open"), "");
    routes_find(routes, STR("PUT"), STR("/asks/1"), &found);
    assert_null(found.route);
    assert_non_null(found.path);
    assert_true(found.guarded);
    routes_find(routes, STR("PUT"), STR("/open"), &found);
    assert_true(found.path && !found.guarded);
    routes_find(routes, STR("PUT"), STR("/none"), &found);
    assert_null(found.path);
    routes_destroy(routes);
}

static void an_endless_route_has_no_head(void **state)
{
    struct routes *routes = routes_create();
    const char *why;

    (void)state;
    assert_true(routes_add(routes,
                           &(struct route){ .method = STR("GET"),
                                            .pattern = STR("/events"),
                                            .who = ROLE_ASK,
                                            .endless = true,
                                            .handle = handle },
                           &why));
    assert_string_equal(served(routes, "HEAD", "/events"), "");
    assert_string_equal(allowed(routes, "/events"), "GET");
    routes_destroy(routes);
}

static void a_wrong_pattern_or_a_second_one_is_refused(void **state)
{
    struct routes *routes = routes_create();
    static const char *const wrong[] = { "",
                                         "a",
                                         "/{",
                                         "/{}",
                                         "/{A}",
                                         "/a{b}",
                                         "/{a}b",
                                         "/{a...}/b",
                                         "/{a}/{a}",
                                         "/a%20b",
                                         "/a?b",
                                         "/a b",
                                         "/{...}",
                                         "/{a}/{a...}",
                                         "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17",
                                         "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}" };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (add(routes, "GET", wrong[i], ROLES_NONE))
            fail_msg("took %s", wrong[i]);
    assert_false(add(routes, "get", "/a", ROLES_NONE));
    assert_false(add(routes, "", "/a", ROLES_NONE));
    assert_false(add(routes, "HEAD", "/a", ROLES_NONE));
    assert_true(add(routes, "GET", "/a/{id}", ROLES_NONE));
    assert_false(add(routes, "GET", "/a/{other}", ROLES_NONE));
    assert_true(add(routes, "POST", "/a/{other}", ROLES_NONE));
    assert_true(add(routes, "GET", "/a/{rest...}", ROLES_NONE));
    routes_destroy(routes);
}

static void a_route_says_who_may(void **state)
{
    struct routes *routes = routes_create();
    struct route route = { .method = STR("GET"), .pattern = STR("/a"), .handle = handle };
    const char *why = NULL;

    (void)state;
    assert_false(routes_add(routes, &route, &why));
    assert_non_null(strstr(why, ".who"));
    route.anyone = true;
    route.who = ROLE_ASK;
    assert_false(routes_add(routes, &route, &why)); /* which of the two? */
    route.who = ROLES_NONE;
    assert_true(routes_add(routes, &route, &why));
    routes_destroy(routes);
}

static void the_table_is_bounded(void **state)
{
    struct routes *routes = routes_create();
    char pattern[32];

    (void)state;
    for (int i = 0; i < ROUTES_MAX; i++) {
        snprintf(pattern, sizeof(pattern), "/r%d", i);
        assert_true(add(routes, "GET", pattern, ROLES_NONE));
    }
    assert_false(add(routes, "GET", "/more", ROLES_NONE));
    assert_string_equal(served(routes, "GET", "/r255"), "/r255");
    routes_destroy(routes);
}

static void variables_are_decoded(void **state)
{
    struct routes *routes = routes_create();
    struct routes_found found;
    struct route_vars vars;
    struct buf text;
    static const char *const broken[] = { "/a/%", "/a/%4", "/a/%zz", "/a/x%00y", "/a/%4/b" };

    (void)state;
    buf_init(&text, 1024);
    assert_true(add(routes, "GET", "/a/{first}", ROLES_NONE));
    assert_true(add(routes, "GET", "/a/{first}/{rest...}", ROLES_NONE));
    routes_find(routes, STR("GET"), STR("/a/caf%C3%a9%2F1/x%20y/../z"), &found);
    assert_non_null(found.route);
    assert_true(routes_vars(found.route, STR("/a/caf%C3%a9%2F1/x%20y/../z"), &text, &vars));
    assert_int_equal(vars.count, 2);
    assert_true(str_eq(vars.at[0].name, STR("first")));
    assert_true(str_eq(vars.at[0].value, STR("caf\xc3\xa9/1")));
    assert_true(str_eq(vars.at[1].value, STR("x y/../z")));
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        routes_find(routes, STR("GET"), str_of(broken[i]), &found);
        assert_non_null(found.route);
        if (routes_vars(found.route, str_of(broken[i]), &text, &vars))
            fail_msg("decoded %s", broken[i]);
    }
    buf_finish(&text);
    routes_destroy(routes);
}

SUBJECT(routes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_finds_the_most_literal_pattern),
        cmocka_unit_test(a_path_is_known_whatever_the_method),
        cmocka_unit_test(an_endless_route_has_no_head),
        cmocka_unit_test(a_wrong_pattern_or_a_second_one_is_refused),
        cmocka_unit_test(a_route_says_who_may),
        cmocka_unit_test(the_table_is_bounded),
        cmocka_unit_test(variables_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
