/* tests/unit/front/tokens: the token file, and the roles in it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "front/tokens.h"
#include "../runner.h"

static struct tokens *parse(const char *text, struct arena *arena, struct str *problem)
{
    *problem = STR_NONE;
    return tokens_parse(str_of(text), STR("tokens"), arena, problem);
}

static void a_token_makes_its_bearer_a_principal(void **state)
{
    struct arena arena;
    struct str problem;

    (void)state;
    arena_init(&arena, 65536);
    struct tokens *tokens = parse("# a comment\n\n  0123456789abcdef  alice admin  answer # why\r\n"
                                  "fedcba9876543210\tbob\n",
                                  &arena, &problem);
    assert_non_null(tokens);
    assert_int_equal(tokens_count(tokens), 2);
    const struct principal *alice = tokens_find(tokens, STR("0123456789abcdef"));
    assert_non_null(alice);
    assert_true(str_eq(alice->name, STR("alice")));
    assert_int_equal(alice->roles, ROLE_ADMIN | ROLE_ANSWER);
    assert_int_equal(tokens_find(tokens, STR("fedcba9876543210"))->roles, ROLE_ASK);
    assert_null(tokens_find(tokens, STR("0123456789abcdeF")));
    assert_null(tokens_find(tokens, STR("")));
    tokens_destroy(tokens);
    arena_finish(&arena);
}

static void a_token_that_may_only_ask_uses_up_nothing_of_its_person(void **state)
{
    struct arena arena;
    struct str problem;

    (void)state;
    arena_init(&arena, 65536);
    struct tokens *tokens = parse("agents-token-0001 alice ask\nagents-token-0002 alice\n"
                                  "her-own-token-0001 alice answer\nhis-own-token-0001 bob\n",
                                  &arena, &problem);
    assert_non_null(tokens);
    const struct principal *agent = tokens_find(tokens, STR("agents-token-0001"));
    const struct principal *alice = tokens_find(tokens, STR("her-own-token-0001"));
    assert_true(str_eq(agent->name, alice->name));
    assert_false(str_eq(agent->share, alice->share));
    assert_true(str_eq(agent->share, tokens_find(tokens, STR("agents-token-0002"))->share));
    assert_false(str_eq(agent->share, tokens_find(tokens, STR("his-own-token-0001"))->share));
    tokens_destroy(tokens);
    arena_finish(&arena);
}

static void a_wrong_token_file_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        { "", "tokens: no token in it" },
        { "# nothing\n", "tokens: no token in it" },
        { "\nshort alice", "tokens:2: the token is shorter" },
        { "0123456789abcdef", "tokens:1: a name is missing" },
        { "0123456789abcdef # alice", "tokens:1: a name is missing" },
        { "0123456789abcdef a\n0123456789abcdef b", "tokens:2: this token is in the file twice" },
        { "0123456789abc\xc3\xa4"
          "ef a",
          "tokens:1: a token is at most" },
        { "0123456789abcdef a\nfedcba9876543210 b answer auditor",
          "tokens:2: \"auditor\" is no role" },
        { "0123456789abcdef a\nfedcba9876543210 local", "tokens:2: nobody may be called `local`" },
        { "0123456789abcdef a Admin", "tokens:1: \"Admin\" is no role" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena;
        struct str problem;
        arena_init(&arena, 65536);
        assert_null(parse(cases[i].text, &arena, &problem));
        if (!str_starts(problem, str_of(cases[i].problem)))
            fail_msg("got %.*s, not %s", STR_ARG(problem), cases[i].problem);
        arena_finish(&arena);
    }
}

static void a_token_file_is_read_from_disk(void **state)
{
    char path[] = "/tmp/nod-tokens-XXXXXX";
    struct arena arena;
    struct str problem;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123456789abcdef alice\n", 23), 23);
    close(fd);
    arena_init(&arena, 65536);
    struct tokens *tokens = tokens_load(path, &arena, &problem);
    assert_non_null(tokens);
    tokens_destroy(tokens);
    unlink(path);
    assert_null(tokens_load(path, &arena, &problem));
    assert_true(str_find(problem, STR("cannot be read")) >= 0);
    arena_finish(&arena);
}

static void rewrite(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_file_that_is_read_again_counts_whole_or_not_at_all(void **state)
{
    char path[] = "/tmp/nod-tokens-XXXXXX";
    struct arena arena;
    struct str problem;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    rewrite(path, "0123456789abcdef alice\nfedcba9876543210 bob answer\n");
    arena_init(&arena, 65536);
    struct tokens *tokens = tokens_load(path, &arena, &problem);
    assert_non_null(tokens);
    const struct principal *alice = tokens_find(tokens, STR("0123456789abcdef"));
    const struct principal *bob = tokens_find(tokens, STR("fedcba9876543210"));

    rewrite(path, "aaaaaaaaaaaaaaaa alice\nbbbbbbbbbbbbbbbb bob admin\ncccccccccccccccc carol\n");
    assert_true(tokens_reload(tokens, path, &arena, &problem));
    assert_int_equal(tokens_count(tokens), 3);
    assert_null(tokens_find(tokens, STR("0123456789abcdef")));
    assert_ptr_equal(tokens_find(tokens, STR("aaaaaaaaaaaaaaaa")), alice);
    assert_int_equal(tokens_find(tokens, STR("bbbbbbbbbbbbbbbb"))->roles, ROLE_ADMIN);
    assert_int_equal(tokens_roles_of(tokens, STR("bob")), ROLE_ADMIN);
    assert_int_equal(tokens_roles_of(tokens, STR("nobody")), ROLES_NONE);
    /* Who was let in before is who they were. */
    assert_true(str_eq(bob->name, STR("bob")));
    assert_int_equal(bob->roles, ROLE_ANSWER);

    rewrite(path, "dddddddddddddddd dora\nshort x\n");
    assert_false(tokens_reload(tokens, path, &arena, &problem));
    assert_true(str_find(problem, STR(":2: the token is shorter")) >= 0);
    unlink(path);
    assert_false(tokens_reload(tokens, path, &arena, &problem));
    assert_true(str_find(problem, STR("cannot be read")) >= 0);
    assert_int_equal(tokens_count(tokens), 3);
    assert_null(tokens_find(tokens, STR("dddddddddddddddd")));
    assert_ptr_equal(tokens_find(tokens, STR("aaaaaaaaaaaaaaaa")), alice);
    tokens_destroy(tokens);
    arena_finish(&arena);
}

static void an_administrator_has_every_role(void **state)
{
    (void)state;
    assert_int_equal(role_named(STR("ask")), ROLE_ASK);
    assert_int_equal(role_named(STR("answer")), ROLE_ANSWER);
    assert_int_equal(role_named(STR("approve")), ROLE_APPROVE);
    assert_int_equal(role_named(STR("admin")), ROLE_ADMIN);
    assert_int_equal(role_named(STR("")), ROLES_NONE);
    assert_true(roles_include(ROLE_ADMIN, ROLE_APPROVE));
    assert_true(roles_include(ROLE_ASK | ROLE_ANSWER, ROLE_ANSWER | ROLE_APPROVE));
    assert_false(roles_include(ROLE_ASK, ROLE_ANSWER | ROLE_APPROVE));
    assert_false(roles_include(ROLES_NONE, ROLES_ALL));
}

SUBJECT(tokens)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_makes_its_bearer_a_principal),
        cmocka_unit_test(a_token_that_may_only_ask_uses_up_nothing_of_its_person),
        cmocka_unit_test(a_wrong_token_file_is_refused_with_its_line),
        cmocka_unit_test(a_token_file_is_read_from_disk),
        cmocka_unit_test(a_file_that_is_read_again_counts_whole_or_not_at_all),
        cmocka_unit_test(an_administrator_has_every_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
