/*
 * tests/unit/mcp/completions: suggestions that come later than they are asked for, in both eras,
 * and all that may happen to the request, the client and the target meanwhile.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "core/catalog.h"

enum { OPEN_MAX = 80, SOON_MS = 30 };

static struct world world;

/* What the provider was asked and has not finished. */
static struct {
    struct completion *completion;
    completion_done *done;
} open[OPEN_MAX];
static size_t open_count;
static int released_count;

static void slow_complete(struct provider *provider, struct target *target,
                          struct completion *completion, completion_done *done)
{
    assert_ptr_equal(target->provider, provider);
    assert_true(open_count < OPEN_MAX);
    open[open_count].completion = completion;
    open[open_count++].done = done;
}

/* Finishes one of them: it suggests what was typed. */
static void finish(size_t which, nod_status status)
{
    struct completion *completion = open[which].completion;

    completion->values[completion->count++] = completion->typed;
    open[which].completion = NULL;
    open[which].done(completion, status);
}

static void released(struct provider *provider, struct target *target)
{
    (void)provider, (void)target;
    released_count++;
}

static const struct provider_ops slow_ops = { .name = "slow",
                                              .complete = slow_complete,
                                              .released = released };
static struct provider slow = { &slow_ops };
static struct target prompt;

static void begin(const struct world_opts *opts)
{
    open_count = 0;
    released_count = 0;
    world_start(&world, opts);
    prompt = (struct target){ .kind = TARGET_PROMPT,
                              .name = STR("slow"),
                              .provider = &slow,
                              .descriptor = STR("{\"name\":\"slow\"}"),
                              .completes = true };
    assert_int_equal(catalog_add(world.catalog, &prompt), NOD_OK);
}

#define PARAMS(typed, more)                                                                        \
    "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"slow\"},\"argument\":{\"name\":\"a\","           \
    "\"value\":\"" typed "\"}" more "}"
#define ASK25(id, typed)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" id                                                              \
    ",\"method\":\"completion/complete\",\"params\":" PARAMS(typed, "") "}"

static void ask_2026(struct talk *talk, const char *typed)
{
    char body[1024], head[2048];

    snprintf(
        body, sizeof(body),
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"completion/complete\",\"params\":" PARAMS(
            "%s", ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  "\"io.modelcontextprotocol/clientCapabilities\":{}}") "}",
        typed);
    snprintf(head, sizeof(head),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, "
             "text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: completion/complete\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    talk_raw(talk, &world, head);
}

static void suggestions_may_come_later_and_in_any_order(void **state)
{
    struct wire_client client = { 0 };
    struct talk first, second, modern, failed;

    (void)state;
    begin(&(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &first, ASK25("1", "one"));
    client_post(&client, &second, ASK25("\"1\"", "two"));
    ask_2026(&modern, "three");
    WORLD_AWAIT(&world, open_count == 3);
    finish(2, NOD_OK);
    talk_await_end(&modern);
    assert_true(talk_has(&modern, "\"id\":\"m\""));
    assert_true(talk_has(&modern, "\"resultType\":\"complete\""));
    assert_true(talk_has(&modern, "\"values\":[\"three\"],\"total\":1,\"hasMore\":false"));
    finish(1, NOD_OK);
    talk_await_end(&second);
    assert_true(talk_has(&second, "\"id\":\"1\""));
    assert_true(talk_has(&second, "\"values\":[\"two\"]"));
    finish(0, NOD_E_NOT_FOUND);
    talk_await_end(&first);
    assert_true(talk_has(&first, "\"id\":1,"));
    assert_true(talk_has(&first, "\"values\":[],\"total\":0"));
    client_post(&client, &failed, ASK25("1", "four")); /* the id is free again */
    WORLD_AWAIT(&world, open_count == 4);
    finish(3, NOD_E_IO);
    talk_await_end(&failed);
    assert_true(talk_has(&failed, "-32603"));
    talk_close(&first);
    talk_close(&second);
    talk_close(&modern);
    talk_close(&failed);
    world_stop(&world);
}

static void who_waits_too_long_is_told_so(void **state)
{
    struct wire_client client = { 0 };
    struct talk old, modern;

    (void)state;
    begin(&(struct world_opts){ .completion_ms = SOON_MS });
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &old, ASK25("1", "one"));
    ask_2026(&modern, "two");
    WORLD_AWAIT(&world, open_count == 2);
    talk_await_end(&old);
    talk_await_end(&modern);
    assert_true(talk_has(&old, "-32603") && talk_has(&old, "within 30 ms"));
    assert_true(talk_has(&modern, "-32603") && talk_has(&modern, "within 30 ms"));
    assert_true(open[0].completion->given_up && open[1].completion->given_up);
    finish(0, NOD_OK); /* nobody is told */
    finish(1, NOD_OK);
    talk_close(&old);
    talk_close(&modern);
    world_stop(&world);
}

static void who_cancels_or_goes_is_not_answered(void **state)
{
    struct wire_client client = { 0 }, other = { 0 };
    struct talk cancelled, ended, gone;

    (void)state;
    begin(&(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    client_begin(&other, &world, "2025-11-25", "{}");
    client_post(&client, &cancelled, ASK25("1", "one"));
    WORLD_AWAIT(&world, open_count == 1);
    client_status(&other, "POST",
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":1}}");
    assert_false(open[0].completion->given_up); /* that was not of this session */
    client_status(&client, "POST",
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":1}}");
    assert_true(open[0].completion->given_up);
    client_post(&other, &ended, ASK25("1", "two"));
    ask_2026(&gone, "three");
    WORLD_AWAIT(&world, open_count == 3);
    assert_int_equal(client_status(&other, "DELETE", NULL), 204);
    assert_true(open[1].completion->given_up);
    talk_close(&gone);
    WORLD_AWAIT(&world, open[2].completion->given_up);
    for (size_t i = 0; i < 3; i++)
        finish(i, NOD_OK);
    assert_false(talk_has(&cancelled, "values") || talk_has(&ended, "values"));
    talk_close(&cancelled);
    talk_close(&ended);
    world_stop(&world);
}

static void the_target_may_go_and_the_server_too(void **state)
{
    struct wire_client client = { 0 };
    struct talk first, second;

    (void)state;
    begin(&(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &first, ASK25("1", "one"));
    WORLD_AWAIT(&world, open_count == 1);
    catalog_remove(world.catalog, &prompt);
    assert_int_equal(released_count, 0); /* its provider still works for it */
    finish(0, NOD_OK);
    assert_int_equal(released_count, 1);
    talk_await_end(&first);
    assert_true(talk_has(&first, "\"values\":[\"one\"]"));
    talk_close(&first);

    prompt.removed = false;
    assert_int_equal(catalog_add(world.catalog, &prompt), NOD_OK);
    client_post(&client, &first, ASK25("1", "two"));
    ask_2026(&second, "three");
    WORLD_AWAIT(&world, open_count == 3);
    world_restart(&world); /* another server, while they wait */
    assert_true(open[1].completion->given_up && open[2].completion->given_up);
    finish(1, NOD_OK);
    finish(2, NOD_OK);
    talk_close(&first);
    talk_close(&second);
    world_stop(&world);
}

static void a_session_holds_so_many_and_no_more(void **state)
{
    enum { MOST = 64 }; /* MCP_HELD_PER_SESSION_MAX */
    struct wire_client client = { 0 };
    struct talk talks[MOST], again, more;
    char body[512];

    (void)state;
    begin(&(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    for (int i = 0; i < MOST; i++) {
        snprintf(body, sizeof(body), ASK25("%d", "x"), i);
        client_post(&client, &talks[i], body);
        WORLD_AWAIT(&world, open_count == (size_t)i + 1);
    }
    client_post(&client, &again, ASK25("3", "x"));
    talk_await_end(&again);
    assert_true(talk_has(&again, "-32600") && talk_has(&again, "still being worked on"));
    client_post(&client, &more, ASK25("64", "x"));
    talk_await_end(&more);
    assert_true(talk_has(&more, "-32600") && talk_has(&more, "64 requests of this session wait"));
    while (open_count)
        finish(--open_count, NOD_OK);
    for (int i = 0; i < MOST; i++) {
        talk_await_end(&talks[i]);
        assert_true(talk_has(&talks[i], "\"values\":[\"x\"]"));
        talk_close(&talks[i]);
    }
    talk_close(&again);
    talk_close(&more);
    world_stop(&world);
}

SUBJECT(completions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggestions_may_come_later_and_in_any_order),
        cmocka_unit_test(who_waits_too_long_is_told_so),
        cmocka_unit_test(who_cancels_or_goes_is_not_answered),
        cmocka_unit_test(the_target_may_go_and_the_server_too),
        cmocka_unit_test(a_session_holds_so_many_and_no_more),
    };

    return cmocka_run_group_tests_name("mcp-completions", tests, NULL, NULL);
}
