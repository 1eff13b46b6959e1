/* tests/unit/mcp/parts: the tables and checks that need no server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "mcp/offered/lists.h"
#include "mcp/wire/revision.h"
#include "../runner.h"

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

/* --- cursors --- */

static void a_cursor_leads_back_to_its_place_in_its_list_alone(void **state)
{
    static const uint64_t places[] = { 0, 1, 100, CATALOG_TARGETS_MAX, UINT64_MAX };
    static const char *const wrong[] = { "", "!", "dA", "dDE4NDQ2NzQ0MDczNzA5NTUxNjE2", "dC0x", "dDE=" };
    char text[LISTS_CURSOR_MAX];
    uint64_t place;

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

SUBJECT(parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_revision_sees_what_it_knows_of_a_tool),
        cmocka_unit_test(line24_the_2025_era_sees_structured_objects_alone),
        cmocka_unit_test(the_oldest_revision_reads_a_link_as_text),
        cmocka_unit_test(prompts_and_contents_are_taken_down_inside),
        cmocka_unit_test(what_cannot_be_read_is_not_written),
        cmocka_unit_test(a_cursor_leads_back_to_its_place_in_its_list_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
