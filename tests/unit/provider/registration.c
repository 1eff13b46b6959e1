/*
 * tests/unit/provider/registration: what is accepted into the catalog, how it is listed, and what
 * it replies.
 */
#include "handler_bench.h"
#include "../runner.h"

static nod_status fine(nod_call *call)
{
    return nod_reply_text(call, "fine");
}

static struct target *listed(enum target_kind kind, const char *name)
{
    return catalog_find(b.catalog, kind, str_of(name));
}

static void expect_listing(const struct target *target, const char *descriptor)
{
    assert_non_null(target);
    assert_string_equal(target->descriptor.at, descriptor);
}

/* --- tools --- */

static void a_tool_is_listed_with_everything_its_author_said(void **state)
{
    nod_tool tool = {
        .name = "remove/file-1.x_Y",
        .handler = fine,
        .title = "Remove",
        .description = "Removes a file",
        .input = NOD_FORM(NOD_TEXT("path", .required = true), NOD_BOOL("force")),
        .output_schema = "{\"type\":\"object\"}",
        .destructive = true,
        .idempotent = true,
        .closed_world = true,
        .requires_confirmation = true,
        .confirm_message = "Really?",
        .timeout_ms = 5,
        .meta = "{\"ui\": {\"a\": 1.0}}",
    };
    (void)state;

    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
    const struct target *t = listed(TARGET_TOOL, tool.name);
    expect_listing(
        t,
        "{\"name\":\"remove/file-1.x_Y\",\"title\":\"Remove\",\"description\":\"Removes a file\","
        "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
        "\"force\":{\"type\":\"boolean\"}},\"required\":[\"path\"]},\"outputSchema\":{\"type\":"
        "\"object\"},"
        "\"annotations\":{\"title\":\"Remove\",\"readOnlyHint\":false,\"destructiveHint\":true,"
        "\"idempotentHint\":true,\"openWorldHint\":false},\"_meta\":{\"ui\": {\"a\": 1.0}}}");
    assert_true(t->requires_confirmation);
    assert_true(str_eq(t->confirm_message, STR("Really?")));
    assert_int_equal(t->timeout_ms, 5);
}

static void a_schema_of_the_author_is_listed_as_it_was_written(void **state)
{
    static const char schema[] =
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
        "\"properties\":{\"n\":{\"type\":\"number\",\"multipleOf\":0.10,\"x-own\":[1e2]}},"
        "\"dependentRequired\":{\"a\":[\"n\"]},\"additionalProperties\":false}";
    nod_tool tool = { .name = "t", .handler = fine, .input_schema = schema, .read_only = true };
    char whole[1024];
    (void)state;

    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
    snprintf(whole, sizeof(whole),
             "{\"name\":\"t\",\"inputSchema\":%s,\"annotations\":{\"readOnlyHint\":true,"
             "\"openWorldHint\":true}}",
             schema);
    expect_listing(listed(TARGET_TOOL, "t"), whole);
}

static void a_strict_tool_lists_that_it_takes_nothing_else(void **state)
{
#define HINTS                                                                                      \
    "\"annotations\":{\"readOnlyHint\":false,\"idempotentHint\":false,\"openWorldHint\":true}}"
    const nod_tool tools[] = {
        { .name = "some", .handler = fine, .input = NOD_FORM(NOD_INT("n")), .strict = true },
        { .name = "none", .handler = fine, .strict = true },
    };
    (void)state;

    assert_int_equal(local_add_tools(b.local, tools, 2, sizeof(tools[0])), NOD_OK);
    expect_listing(
        listed(TARGET_TOOL, "some"),
        "{\"name\":\"some\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":"
        "{\"type\":\"integer\"}},\"required\":[],\"additionalProperties\":false}," HINTS);
    expect_listing(listed(TARGET_TOOL, "none"),
                   "{\"name\":\"none\",\"inputSchema\":{\"type\":\"object\",\"properties\":{},"
                   "\"required\":[],\"additionalProperties\":false}," HINTS);
}

static void what_is_wrong_with_a_tool_refuses_it(void **state)
{
    static char long_name[130];
    const struct {
        nod_tool tool;
        nod_status status;
    } cases[] = {
        { { .name = NULL, .handler = fine }, NOD_E_USAGE },
        { { .name = "", .handler = fine }, NOD_E_USAGE },
        { { .name = "with space", .handler = fine }, NOD_E_USAGE },
        { { .name = "na\xC3\xAFve", .handler = fine }, NOD_E_USAGE },
        { { .name = long_name, .handler = fine }, NOD_E_USAGE },
        { { .name = "t" }, NOD_E_USAGE },
        { { .name = "t", .handler = fine, .timeout_ms = -1 }, NOD_E_USAGE },
        { { .name = "t", .handler = fine, .read_only = true, .destructive = true }, NOD_E_USAGE },
        { { .name = "t", .handler = fine, .task = (nod_task_mode)7 }, NOD_E_USAGE },
        { { .name = "t", .handler = fine, .task_asks_first = true }, NOD_E_USAGE },
        { { .name = "t", .handler = fine, .description = "\xff" }, NOD_E_USAGE },
        { { .name = "t", .handler = fine, .input_schema = "{" }, NOD_E_BAD_SCHEMA },
        { { .name = "t", .handler = fine, .input_schema = "{}" }, NOD_E_BAD_SCHEMA },
        { { .name = "t", .handler = fine, .input_schema = "{\"type\":\"string\"}" },
          NOD_E_BAD_SCHEMA },
        { { .name = "t", .handler = fine, .input_schema = "{\"type\":\"object\",\"required\":1}" },
          NOD_E_BAD_SCHEMA },
        { { .name = "t",
            .handler = fine,
            .input_schema = "{\"type\":\"object\",\"type\":\"object\"}" },
          NOD_E_BAD_SCHEMA },
        { { .name = "t",
            .handler = fine,
            .output_schema = "{\"$ref\":\"#/nowhere\",\"type\":\"object\"}" },
          NOD_E_BAD_SCHEMA },
        { { .name = "t", .handler = fine, .input = NOD_FORM(NOD_INT("n", .preset = "x")) },
          NOD_E_BAD_SCHEMA },
        { { .name = "t",
            .handler = fine,
            .input = NOD_FORM(NOD_INT("n")),
            .input_schema = "{\"type\":\"object\"}" },
          NOD_E_USAGE },
        { { .name = "t", .handler = fine, .strict = true, .input_schema = "{\"type\":\"object\"}" },
          NOD_E_USAGE },
    };
    (void)state;

    memset(long_name, 'a', sizeof(long_name) - 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nod_status status = local_add_tools(b.local, &cases[i].tool, 1, sizeof(nod_tool));
        if (status != cases[i].status)
            fail_msg("case %zu: %d", i, (int)status);
        assert_int_equal(catalog_count(b.catalog, TARGET_TOOL, false), 0);
    }
}

static void the_arguments_of_a_tool_may_be_secret(void **state)
{
    nod_tool tool = { .name = "t", .handler = fine, .input = NOD_FORM(NOD_TEXT("api_key")) };
    (void)state;

    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
}

static void a_table_is_added_whole_or_not_at_all(void **state)
{
    nod_tool twice[] = { { .name = "a", .handler = fine },
                         { .name = "b", .handler = fine },
                         { .name = "a", .handler = fine } };
    nod_tool bad[] = { { .name = "a", .handler = fine }, { .name = "b" } };
    (void)state;

    assert_int_equal(local_add_tools(b.local, twice, 3, sizeof(twice[0])), NOD_E_USAGE);
    assert_int_equal(catalog_count(b.catalog, TARGET_TOOL, false), 0);
    assert_int_equal(local_add_tools(b.local, bad, 2, sizeof(bad[0])), NOD_E_USAGE);
    assert_int_equal(catalog_count(b.catalog, TARGET_TOOL, false), 0);
    assert_int_equal(local_add_tools(b.local, twice, 2, sizeof(twice[0])), NOD_OK);
    assert_int_equal(catalog_count(b.catalog, TARGET_TOOL, false), 2);
}

static void a_table_of_an_older_header_is_read_with_its_own_size(void **state)
{
    struct old_tool {
        const char *name;
        nod_handler *handler;
        const char *title;
    } old[] = { { "one", fine, "One" }, { "two", fine, NULL } };
    (void)state;

    assert_int_equal(
        local_add_tools(b.local, (const nod_tool *)(const void *)old, 2, sizeof(old[0])), NOD_OK);
    expect_listing(
        listed(TARGET_TOOL, "two"),
        "{\"name\":\"two\",\"inputSchema\":{\"type\":\"object\",\"properties\":{},\"required\":[]},"
        "\"annotations\":{\"readOnlyHint\":false,\"idempotentHint\":false,\"openWorldHint\":"
        "true}}");
    assert_int_equal(local_add_tools(b.local, (const nod_tool *)(const void *)old, 1, 4),
                     NOD_E_USAGE);
}

static void line24_a_hint_that_the_author_did_not_give_is_left_out(void **state)
{
    nod_tool tools[] = { { .name = "silent", .handler = fine },
                         { .name = "deletes", .handler = fine, .destructive = true },
                         { .name = "adds", .handler = fine, .additive = true },
                         { .name = "reads", .handler = fine, .read_only = true } };
    nod_tool both = { .name = "both", .handler = fine, .destructive = true, .additive = true };
    (void)state;

    assert_int_equal(local_add_tools(b.local, tools, 4, sizeof(tools[0])), NOD_OK);
    static const char *const hints[] = { NULL, "\"destructiveHint\":true",
                                         "\"destructiveHint\":false", NULL };
    for (size_t i = 0; i < 4; i++) {
        struct str listing = listed(TARGET_TOOL, tools[i].name)->descriptor;
        assert_int_equal(str_find(listing, STR("destructiveHint")) >= 0, hints[i] != NULL);
        assert_true(!hints[i] || str_find(listing, str_of(hints[i])) >= 0);
    }
    assert_int_equal(local_add_tools(b.local, &both, 1, sizeof(both)), NOD_E_USAGE);
}

/* Titles are for people and may repeat; what is chosen must not. */
static void line24_choices_that_repeat_are_refused_when_a_tool_is_registered(void **state)
{
    nod_tool tool = { .name = "pick", .handler = fine };
    (void)state;

    tool.input = NOD_FORM(NOD_CHOICE("size", NOD_OPTIONS({ "s", "S" }, { "s", "Small" })));
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_E_BAD_SCHEMA);
    tool.input = NOD_FORM(NOD_CHOICES("size", NOD_OPTIONS({ "s" }, { "m" }, { "s" })));
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_E_BAD_SCHEMA);
    tool.input = NOD_FORM(NOD_CHOICES("size", NOD_OPTIONS({ "s" }, { "m" })));
    tool.name = "pick2";
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("pick2")), "{\"size\":[\"s\",\"s\"]}",
                NULL);
    bench_turn(false);
    expect_failure(NOD_E_INVALID, "/size/1: is there twice");
}

static void line24_an_output_schema_may_be_any_schema(void **state)
{
    nod_tool tool = { .name = "list", .handler = fine, .output_schema = "{\"type\":\"array\"}" };
    (void)state;

    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
    tool.name = "none";
    tool.output_schema = "true"; /* a schema, but MCP has them as objects */
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_E_BAD_SCHEMA);
    tool.output_schema = "{\"type\":\"list\"}";
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_E_BAD_SCHEMA);
}

/* --- replies of tools --- */

static nod_status every_block(nod_call *call)
{
    nod_json *number = nod_json_int(call, 1);

    (void)nod_reply_text(call, "a\"\n\xff");
    (void)nod_reply_image(call, "abc", 3, "image/png");
    (void)nod_reply_audio(call, "ab", 2, "audio/wav");
    (void)nod_reply_resource_text(call, "x://1", "text/plain", "t");
    (void)nod_reply_resource_blob(call, "x://2", NULL, "a", 1);
    nod_reply_meta(call, "k", number);
    return nod_reply_link(call, "x://3", "three", NULL, "text/html");
}

static void every_kind_of_block_is_written_as_mcp_has_it(void **state)
{
    (void)state;
    bench_call(every_block, "{}");
    expect_body("{\"content\":[{\"type\":\"text\",\"text\":\"a\\\"\\n\xEF\xBF\xBD\"},"
                "{\"type\":\"image\",\"data\":\"YWJj\",\"mimeType\":\"image/png\"},"
                "{\"type\":\"audio\",\"data\":\"YWI=\",\"mimeType\":\"audio/wav\"},"
                "{\"type\":\"resource\",\"resource\":{\"uri\":\"x://1\",\"mimeType\":\"text/"
                "plain\",\"text\":\"t\"}},"
                "{\"type\":\"resource\",\"resource\":{\"uri\":\"x://2\",\"blob\":\"YQ==\"}},"
                "{\"type\":\"resource_link\",\"uri\":\"x://"
                "3\",\"name\":\"three\",\"mimeType\":\"text/html\"}],"
                "\"_meta\":{\"k\":1}}");
}

static nod_status structured(nod_call *call)
{
    nod_json *reply = nod_object(call), *list = nod_array(call);

    nod_push(call, list, nod_args(call));
    nod_push(call, list, list); /* a copy: nothing is in itself */
    nod_set(call, reply, "list", list);
    nod_set_double(call, reply, "n", nod_arg_double_or(call, "n", 0.5));
    nod_set_bool(call, reply, "b", true);
    return nod_reply_structured(call, reply);
}

static nod_status unstructured_error(nod_call *call)
{
    return nod_reply_error(call, "no %s", "luck");
}

static void a_structured_reply_is_checked_and_repeated_as_text(void **state)
{
    nod_tool tool = { .input_schema = "{\"type\":\"object\"}",
                      .output_schema =
                          "{\"type\":\"object\",\"properties\":{\"n\":{\"maximum\":1}}}" };
    (void)state;

    bench_call_as(structured, "{\"n\":1.00}", &tool);
    expect_body("{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"list\\\":[{\\\"n\\\":1.00},[{"
                "\\\"n\\\":1.00}]],"
                "\\\"n\\\":1,\\\"b\\\":true}\"}],\"structuredContent\":{\"list\":[{\"n\":1.00},[{"
                "\"n\":1.00}]],\"n\":1,"
                "\"b\":true}}");
    bench_call_as(structured, "{\"n\":2}", &tool);
    expect_failure(NOD_E_USAGE, "output_schema: at \"/n\"");
    bench_call_as(fine, "{}", &tool);
    expect_failure(NOD_E_USAGE, "no structured reply");
    bench_call_as(unstructured_error, "{}", &tool);
    expect_body("{\"content\":[{\"type\":\"text\",\"text\":\"no luck\"}],\"isError\":true}");
}

static nod_status huge(nod_call *call)
{
    static char bytes[1 << 20];

    for (int i = 0; i < 13; i++)
        (void)nod_reply_image(call, bytes, sizeof(bytes), "image/png");
    return NOD_OK;
}

static void a_reply_past_its_bound_is_an_error_and_not_cut(void **state)
{
    (void)state;
    bench_call(huge, "{}");
    expect_failure(NOD_E_LIMIT, "larger than the 16777216 bytes");
}

static void arguments_that_do_not_fit_never_reach_the_handler(void **state)
{
    (void)state;
    bench_call_as(fine, "{\"age\":\"ten\"}",
                  &(nod_tool){ .input = NOD_FORM(NOD_INT("age", .required = true)) });
    expect_failure(NOD_E_INVALID, ": age: expected an integer");
}

/* --- resources --- */

static nod_status read_note(nod_call *call)
{
    (void)nod_reply_textf(call, "%s|%s", nod_uri(call), nod_arg_str_or(call, "id", "-"));
    return nod_reply_resource_blob(call, "note://other", "image/png", "abc", 3);
}

static nod_status read_failing(nod_call *call)
{
    return nod_reply_error(call, "no such note");
}

static nod_status complete_id(nod_call *call)
{
    for (int i = 0; i < 120; i++)
        nod_suggest(call,
                    nod_fmt(call, "%s-%s-%s-%d", nod_completing(call), nod_completing_text(call),
                            nod_arg_str_or(call, "other", "none"), i));
    return NOD_OK;
}

static const nod_resource resources[] = {
    { .uri = "note://all",
      .name = "all",
      .read = read_note,
      .mime_type = "text/plain",
      .subscribable = true },
    { .uri = "note://{id}/x",
      .name = "one",
      .read = read_note,
      .title = "One",
      .description = "D",
      .complete = complete_id },
    { .uri = "note://failing", .read = read_failing },
};

static void resources_and_templates_are_listed_and_read(void **state)
{
    struct arena arena;
    struct json *variables;
    (void)state;

    assert_int_equal(local_add_resources(b.local, resources, 3, sizeof(resources[0])), NOD_OK);
    struct target *all = listed(TARGET_RESOURCE, "note://all");
    expect_listing(all, "{\"uri\":\"note://all\",\"name\":\"all\",\"mimeType\":\"text/plain\"}");
    assert_true(all->subscribable);
    expect_listing(catalog_template(b.catalog, STR("note://{id}/x")),
                   "{\"uriTemplate\":\"note://{id}/"
                   "x\",\"name\":\"one\",\"title\":\"One\",\"description\":\"D\"}");
    bench_start(all, "{}", "note://all");
    bench_turn(false);
    expect_body("{\"contents\":[{\"uri\":\"note://all\",\"mimeType\":\"text/"
                "plain\",\"text\":\"note://all|-\"},"
                "{\"uri\":\"note://other\",\"mimeType\":\"image/png\",\"blob\":\"YWJj\"}]}");
    arena_init(&arena, 1 << 16);
    struct target *one = catalog_match(b.catalog, STR_NONE, STR("note://7/x"), &arena, &variables);
    bench_start(one, "{\"id\":\"7\"}", "note://7/x");
    bench_turn(false);
    assert_non_null(strstr(b.body, "note://7/x|7"));
    arena_finish(&arena);
    bench_start(listed(TARGET_RESOURCE, "note://failing"), "{}", "note://failing");
    bench_turn(false);
    expect_failure(NOD_E_FAILED, "no such note");
}

static void resources_templates_and_prompts_are_removed(void **state)
{
    nod_prompt prompt = { .name = "review", .get = fine };
    (void)state;

    assert_int_equal(local_add_resources(b.local, resources, 3, sizeof(resources[0])), NOD_OK);
    assert_int_equal(local_add_prompts(b.local, &prompt, 1, sizeof(prompt)), NOD_OK);
    assert_false(local_remove_resource(b.local, STR("note://nowhere")));
    assert_false(local_remove_prompt(b.local, STR("note://all")));
    assert_true(local_remove_resource(b.local, STR("note://all")));
    assert_true(local_remove_resource(b.local, STR("note://{id}/x")));
    assert_false(local_remove_resource(b.local, STR("note://all")));
    assert_true(local_remove_prompt(b.local, STR("review")));
    assert_int_equal(catalog_count(b.catalog, TARGET_RESOURCE, false), 1);
    assert_int_equal(catalog_count(b.catalog, TARGET_RESOURCE, true), 0);
    assert_int_equal(catalog_count(b.catalog, TARGET_PROMPT, false), 0);
    assert_int_equal(local_add_prompts(b.local, &prompt, 1, sizeof(prompt)), NOD_OK);
}

static void a_uri_that_cannot_be_matched_is_refused(void **state)
{
    static const char *const uris[] = { "",         "plain",     "1x://a", "x://{",
                                        "x://{}",   "x://{a",    "x://a}", "x://{{a}}",
                                        "x://{+a}", "x://{a,b}", "x://a b" };
    (void)state;

    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        nod_resource r = { .uri = uris[i], .name = "n", .read = fine };
        if (local_add_resources(b.local, &r, 1, sizeof(r)) != NOD_E_USAGE)
            fail_msg("%s was taken", uris[i]);
    }
}

static nod_status completed_as;

static void completed(struct completion *completion, nod_status status)
{
    (void)completion;
    completed_as = status;
}

static void completions_are_bounded_and_see_what_was_typed(void **state)
{
    struct arena arena;
    struct json *context;
    struct target *one;
    (void)state;

    arena_init(&arena, 1 << 20);
    assert_int_equal(local_add_resources(b.local, resources, 3, sizeof(resources[0])), NOD_OK);
    one = catalog_template(b.catalog, STR("note://{id}/x"));
    assert_true(one->completes);
    context = json_parse(&arena, STR("{\"other\":\"o\"}"), NULL, NULL);
    struct completion c = {
        .argument = STR("id"), .typed = STR("ab"), .context = context, .arena = &arena
    };
    one->provider->ops->complete(one->provider, one, &c, completed);
    assert_int_equal(completed_as, NOD_OK);
    assert_int_equal(c.count, 100);
    assert_int_equal(c.total, 120);
    assert_true(str_eq(c.values[99], STR("id-ab-o-99")));
    struct target *all = listed(TARGET_RESOURCE, "note://all");
    all->provider->ops->complete(all->provider, all, &c, completed);
    assert_int_equal(completed_as, NOD_E_NOT_FOUND);
    arena_finish(&arena);
}

/* --- prompts --- */

static nod_status get_prompt(nod_call *call)
{
    (void)nod_reply_textf(call, "Review %s", nod_arg_str(call, "code"));
    nod_reply_as(call, NOD_ASSISTANT);
    return nod_reply_text(call, "Gladly.");
}

static void a_prompt_is_listed_with_its_arguments_and_gives_messages(void **state)
{
    static const nod_prompt_arg args[] = { { "code", "Code", "What to review", true, NULL },
                                           { "style" },
                                           { NULL } };
    nod_prompt prompt = {
        .name = "code review", .get = get_prompt, .description = "Reviews", .args = args
    };
    (void)state;

    assert_int_equal(local_add_prompts(b.local, &prompt, 1, sizeof(prompt)), NOD_OK);
    struct target *t = listed(TARGET_PROMPT, "code review");
    expect_listing(
        t,
        "{\"name\":\"code review\",\"description\":\"Reviews\",\"arguments\":[{\"name\":\"code\","
        "\"title\":\"Code\",\"description\":\"What to "
        "review\",\"required\":true},{\"name\":\"style\"}]}");
    bench_start(t, "{\"code\":\"x\"}", NULL);
    bench_turn(false);
    expect_body(
        "{\"description\":\"Reviews\",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
        "\"text\","
        "\"text\":\"Review "
        "x\"}},{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"Gladly.\"}}]}");
    bench_start(t, "{}", NULL);
    bench_turn(false);
    expect_failure(NOD_E_INVALID, "code");
}

/* --- JSON values --- */

static nod_json *kept;

static nod_status json_values(nod_call *call)
{
    const nod_json *v = nod_parse(
        call, "{\"s\":\"t\\u0065xt\",\"i\":9007199254740993,\"d\":0.5,\"b\":true,\"n\":null,"
              "\"a\":[1,\"two\",[3]]}");

    assert_null(nod_parse(call, "{"));
    assert_string_equal(nod_get_str(v, "s"), "text");
    assert_true(nod_get_int(v, "i") == INT64_C(9007199254740993));
    assert_true(nod_get_double(v, "d") == 0.5);
    assert_true(nod_get_bool(v, "b"));
    assert_false(nod_has(v, "n"));
    assert_true(nod_has(v, "s"));
    assert_int_equal(nod_count(v), 6);
    assert_string_equal(nod_as_str(nod_at(nod_get(v, "a"), 1)), "two");
    assert_string_equal(nod_get_str(NULL, "x"), "");
    assert_int_equal(nod_get_int(v, "s"), 0);
    assert_int_equal(nod_count(nod_get(v, "s")), 0);
    assert_null(nod_at(v, 0));
    assert_string_equal(nod_as_str(NULL), "");
    kept = nod_json_dup(v);
    return nod_reply_text(call, nod_json_text(call, nod_get(v, "a")));
}

static void json_values_read_and_outlive_a_run_when_asked_to(void **state)
{
    (void)state;
    bench_call(json_values, "{}");
    expect_body(TEXT_BODY("[1,\\\"two\\\",[3]]"));
    assert_string_equal(nod_get_str(kept, "s"), "text");
    nod_json_free(kept);
    nod_json_free(NULL);
    assert_null(nod_json_dup(NULL));
}

SUBJECT(registration)
{
#define T(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        T(a_tool_is_listed_with_everything_its_author_said),
        T(a_schema_of_the_author_is_listed_as_it_was_written),
        T(a_strict_tool_lists_that_it_takes_nothing_else),
        T(what_is_wrong_with_a_tool_refuses_it),
        T(the_arguments_of_a_tool_may_be_secret),
        T(a_table_is_added_whole_or_not_at_all),
        T(a_table_of_an_older_header_is_read_with_its_own_size),
        T(every_kind_of_block_is_written_as_mcp_has_it),
        T(a_structured_reply_is_checked_and_repeated_as_text),
        T(line24_a_hint_that_the_author_did_not_give_is_left_out),
        T(line24_choices_that_repeat_are_refused_when_a_tool_is_registered),
        T(line24_an_output_schema_may_be_any_schema),
        T(a_reply_past_its_bound_is_an_error_and_not_cut),
        T(arguments_that_do_not_fit_never_reach_the_handler),
        T(resources_and_templates_are_listed_and_read),
        T(resources_templates_and_prompts_are_removed),
        T(a_uri_that_cannot_be_matched_is_refused),
        T(completions_are_bounded_and_see_what_was_typed),
        T(a_prompt_is_listed_with_its_arguments_and_gives_messages),
        T(json_values_read_and_outlive_a_run_when_asked_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
