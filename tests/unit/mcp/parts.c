/* tests/unit/mcp/parts: the tables and checks that need no server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcp/lists.h"
#include "mcp/origin.h"
#include "mcp/revision.h"
#include "mcp/tokens.h"

/* --- revisions --- */

static void written_as(enum revision revision, enum revision_part part, const char *in,
                       const char *expected)
{
    struct json_writer w;
    struct buf out;

    buf_init(&out, 65536);
    json_writer_init(&w, &out);
    assert_true(revision_write(&w, revision, part, str_of(in)));
    assert_true(json_writer_done(&w));
    if (!str_eq(buf_str(&out), str_of(expected)))
        print_error("got %.*s\nnot %s\n", STR_ARG(buf_str(&out)), expected);
    assert_true(str_eq(buf_str(&out), str_of(expected)));
    buf_finish(&out);
}

static void each_revision_sees_what_it_knows_of_a_tool(void **state)
{
    const char *tool =
        "{\"name\":\"t\",\"title\":\"T\",\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"title\":{\"title\":\"kept\"}}},\"outputSchema\":{\"type\":\"object\"},"
        "\"icons\":[],\"execution\":{},\"annotations\":{\"readOnlyHint\":true},"
        "\"_meta\":{\"a\":1}}";

    (void)state;
    written_as(REVISION_2025_11_25, PART_TOOL, tool, tool);
    written_as(
        REVISION_2025_06_18, PART_TOOL, tool,
        "{\"name\":\"t\",\"title\":\"T\",\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"title\":{\"title\":\"kept\"}}},\"outputSchema\":{\"type\":\"object\"},"
        "\"annotations\":{\"readOnlyHint\":true},\"_meta\":{\"a\":1}}");
    written_as(REVISION_2025_03_26, PART_TOOL, tool,
               "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"title\":{"
               "\"title\":\"kept\"}}},\"annotations\":{\"readOnlyHint\":true,\"title\":\"T\"}}");
}

static void line24_the_2025_era_sees_structured_objects_alone(void **state)
{
    /* A property of that name, in its plain shape, hides nothing behind it. */
    const char *tool = "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
                       "\"outputSchema\":{\"type\":\"object\"}}},\"outputSchema\":{\"type\":"
                       "\"array\"}}";
    const char *shown = "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
                        "\"outputSchema\":{\"type\":\"object\"}}}}";
    const char *object = "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{"
                         "\"$id\":\"x\",\"type\":\"object\"}}";

    (void)state;
    written_as(REVISION_2025_11_25, PART_TOOL, tool, shown);
    written_as(REVISION_2025_06_18, PART_TOOL, tool, shown);
    written_as(REVISION_2025_11_25, PART_TOOL, object, object);
    written_as(REVISION_2025_11_25, PART_TOOL_RESULT,
               "{\"content\":[],\"structuredContent\":[1],\"_meta\":{}}",
               "{\"content\":[],\"_meta\":{}}");
    written_as(REVISION_2025_11_25, PART_TOOL_RESULT,
               "{\"content\":[],\"structuredContent\":{\"structuredContent\":1}}",
               "{\"content\":[],\"structuredContent\":{\"structuredContent\":1}}");
}

static void the_oldest_revision_reads_a_link_as_text(void **state)
{
    const char *result =
        "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a://b\",\"name\":\"n\",\"icons\":[]},"
        "{\"type\":\"text\",\"text\":\"resource_link\",\"_meta\":{},\"annotations\":{"
        "\"lastModified\":\"x\",\"priority\":1}}],\"structuredContent\":{\"icons\":1},\"_meta\":{}"
        "}";

    (void)state;
    written_as(REVISION_2025_06_18, PART_TOOL_RESULT, result,
               "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a://b\",\"name\":\"n\"},{"
               "\"type\":\"text\",\"text\":\"resource_link\",\"_meta\":{},\"annotations\":{"
               "\"lastModified\":\"x\",\"priority\":1}}],\"structuredContent\":{\"icons\":1},"
               "\"_meta\":{}}");
    written_as(REVISION_2025_03_26, PART_TOOL_RESULT, result,
               "{\"content\":[{\"type\":\"text\",\"text\":\"n: a://b\"},{\"type\":\"text\","
               "\"text\":\"resource_link\",\"annotations\":{\"priority\":1}}],\"_meta\":{}}");
}

static void prompts_and_contents_are_taken_down_inside(void **state)
{
    (void)state;
    written_as(REVISION_2025_03_26, PART_PROMPT,
               "{\"name\":\"p\",\"title\":\"P\",\"arguments\":[{\"name\":\"a\",\"title\":\"A\"}]}",
               "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\"}]}");
    written_as(REVISION_2025_03_26, PART_PROMPT_RESULT,
               "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":"
               "{\"uri\":\"x\",\"_meta\":{}},\"_meta\":{}}}]}",
               "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":"
               "{\"uri\":\"x\"}}}]}");
    written_as(REVISION_2025_03_26, PART_RESOURCE_RESULT,
               "{\"contents\":[{\"uri\":\"x\",\"text\":\"title\",\"_meta\":{}}]}",
               "{\"contents\":[{\"uri\":\"x\",\"text\":\"title\"}]}");
}

static void what_cannot_be_read_is_not_written(void **state)
{
    struct json_writer w;
    struct buf out;

    (void)state;
    buf_init(&out, 1024);
    json_writer_init(&w, &out);
    assert_false(revision_write(&w, REVISION_2025_03_26, PART_TOOL, STR("[\"title\"]")));
    assert_false(revision_write(&w, REVISION_2025_03_26, PART_TOOL, STR("{\"title\"")));
    assert_int_equal(out.len, 0);
    buf_finish(&out);
}

/* --- origins
 * --------------------------------------------------------------------------------------- */

static void only_loopback_and_allowed_hosts_pass(void **state)
{
    static const struct str hosts[] = { STR_INIT("nod.example"), STR_INIT("b.example:8443") };
    const struct origin_rules rules = { .own = STR("10.0.0.5"), .hosts = hosts, .host_count = 2 };
    static const char *const fine[] = { "localhost",    "LOCALHOST:80",   "127.0.0.1:1",
                                        "127.9.9.9",    "[::1]",          "[::1]:8080",
                                        "nod.example",  "nod.example:99", "b.example:8443",
                                        "10.0.0.5:8080" };
    static const char *const wrong[] = { "",
                                         "evil.example",
                                         "localhost.evil.example",
                                         "127.0.0.1.evil.example",
                                         "localhost:",
                                         "localhost:x",
                                         "localhost:99999",
                                         "[::1",
                                         "[::2]",
                                         "b.example",
                                         "b.example:1",
                                         "128.0.0.1",
                                         "127.0.0.1:80@evil",
                                         ":80" };

    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        if (!origin_host_ok(&rules, str_of(fine[i])))
            fail_msg("refused %s", fine[i]);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (origin_host_ok(&rules, str_of(wrong[i])))
            fail_msg("let through %s", wrong[i]);
    assert_false(origin_host_ok(&rules, STR("127.0.0.1\0x")));
}

static void only_loopback_and_allowed_origins_pass(void **state)
{
    static const struct str origins[] = { STR_INIT("https://app.example") };
    const struct origin_rules rules = { .origins = origins, .origin_count = 1 };

    (void)state;
    assert_true(origin_ok(&rules, STR_NONE));
    assert_true(origin_ok(&rules, STR("http://localhost:6274")));
    assert_true(origin_ok(&rules, STR("https://127.0.0.1")));
    assert_true(origin_ok(&rules, STR("https://app.example")));
    assert_false(origin_ok(&rules, STR("null")));
    assert_false(origin_ok(&rules, STR("http://app.example")));
    assert_false(origin_ok(&rules, STR("https://app.example.evil")));
    assert_false(origin_ok(&rules, STR("http://localhost.evil.example")));
    assert_false(origin_ok(&rules, STR("file://localhost")));
    assert_true(origin_is_loopback(STR("unix:/tmp/x")));
    assert_true(origin_is_loopback(STR("::1")));
    assert_false(origin_is_loopback(STR("0.0.0.0")));
}

/* --- tokens
 * ---------------------------------------------------------------------------------------- */

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
    struct tokens *tokens =
        parse("# a comment\n\n  0123456789abcdef  alice admin  auditor # why\r\n"
              "fedcba9876543210\tbob\n",
              &arena, &problem);
    assert_non_null(tokens);
    assert_int_equal(tokens_count(tokens), 2);
    const struct token_owner *alice = tokens_find(tokens, STR("0123456789abcdef"));
    assert_non_null(alice);
    assert_true(str_eq(alice->name, STR("alice")));
    assert_int_equal(alice->role_count, 2);
    assert_true(str_eq(alice->roles[1], STR("auditor")));
    assert_int_equal(tokens_find(tokens, STR("fedcba9876543210"))->role_count, 0);
    assert_null(tokens_find(tokens, STR("0123456789abcdeF")));
    assert_null(tokens_find(tokens, STR("")));
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
        { "0123456789abcdef a 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
          "tokens:1: too many roles" },
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

/* --- cursors
 * --------------------------------------------------------------------------------------- */

static void a_cursor_leads_back_to_its_place_in_its_list_alone(void **state)
{
    static const size_t places[] = { 0, 1, 100, CATALOG_TARGETS_MAX };
    static const char *const wrong[] = { "", "!", "dA", "dDEyMzQ1Njc4OTA", "dC0x", "dDE=" };
    char text[LISTS_CURSOR_MAX];
    size_t place;

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct str cursor = lists_cursor(TARGET_TOOL, false, places[i], text);
        assert_true(lists_place(TARGET_TOOL, false, cursor, &place));
        assert_int_equal(place, places[i]);
        assert_false(lists_place(TARGET_PROMPT, false, cursor, &place));
        assert_false(lists_place(TARGET_RESOURCE, true, cursor, &place));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(lists_place(TARGET_TOOL, false, str_of(wrong[i]), &place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_revision_sees_what_it_knows_of_a_tool),
        cmocka_unit_test(line24_the_2025_era_sees_structured_objects_alone),
        cmocka_unit_test(the_oldest_revision_reads_a_link_as_text),
        cmocka_unit_test(prompts_and_contents_are_taken_down_inside),
        cmocka_unit_test(what_cannot_be_read_is_not_written),
        cmocka_unit_test(only_loopback_and_allowed_hosts_pass),
        cmocka_unit_test(only_loopback_and_allowed_origins_pass),
        cmocka_unit_test(a_token_makes_its_bearer_a_principal),
        cmocka_unit_test(a_wrong_token_file_is_refused_with_its_line),
        cmocka_unit_test(a_token_file_is_read_from_disk),
        cmocka_unit_test(a_cursor_leads_back_to_its_place_in_its_list_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
