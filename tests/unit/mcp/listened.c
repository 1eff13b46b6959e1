/*
 * tests/unit/mcp/listened: whoever provides a resource hears of its first subscriber and of its
 * last, in both eras, whichever way they come and go.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "core/catalog.h"

static struct world world;

/* What the provider was told: "+uri" and "-uri", with a blank behind each. */
static char told[1024];

static void says(struct provider *provider, struct target *target, struct str uri, bool yes)
{
    size_t len = strlen(told);

    assert_ptr_equal(target->provider, provider);
    snprintf(told + len, sizeof(told) - len, "%c" STR_FMT "%s ", yes ? '+' : '-', STR_ARG(uri),
             target->owner.len ? "!" : "");
}

static void released(struct provider *provider, struct target *target)
{
    (void)provider, (void)target;
}

static const struct provider_ops ears_ops = { .name = "ears",
                                              .listened = says,
                                              .released = released };
static struct provider ears = { &ears_ops };

static struct target thing(const char *name, bool is_template)
{
    return (struct target){ .kind = TARGET_RESOURCE,
                            .name = str_of(name),
                            .provider = &ears,
                            .descriptor = STR("{\"uri\":\"x://y\",\"name\":\"thing\"}"),
                            .is_template = is_template,
                            .subscribable = true };
}

static struct target all;

static void begin(const struct world_opts *opts)
{
    told[0] = '\0';
    world_start(&world, opts);
    all = thing("ear://{id}", true);
    assert_int_equal(catalog_add(world.catalog, &all), NOD_OK);
}

static void told_is(const char *wanted)
{
    if (strcmp(told, wanted) != 0)
        fail_msg("told \"%s\", not \"%s\"", told, wanted);
    told[0] = '\0';
}

static void ask_2025(struct wire_client *client, const char *method, const char *uri)
{
    char body[256];

    snprintf(
        body, sizeof(body),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/%s\",\"params\":{\"uri\":\"%s\"}}",
        method, uri);
    assert_int_equal(client_status(client, "POST", body), 200);
}

static void listen_2026(struct talk *talk, const char *uris)
{
    char body[1024], head[2048];

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
             "\"notifications\":{\"resourceSubscriptions\":[%s]},\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             uris);
    snprintf(head, sizeof(head),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, "
             "text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: subscriptions/listen\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    talk_raw(talk, &world, head);
    talk_await(talk, "acknowledged");
}

static void the_first_and_the_last_are_told_in_both_eras(void **state)
{
    struct wire_client one = { 0 }, two = { 0 };
    struct talk first, second;

    (void)state;
    begin(&(struct world_opts){ 0 });
    client_begin(&one, &world, "2025-11-25", "{}");
    client_begin(&two, &world, "2025-11-25", "{}");
    ask_2025(&one, "subscribe", "ear://a");
    told_is("+ear://a ");
    ask_2025(&one, "subscribe", "ear://a"); /* it has that */
    ask_2025(&two, "subscribe", "ear://a");
    told_is("");
    listen_2026(&first, "\"ear://a\",\"ear://b\",\"ear://b\",\"note://silent\"");
    told_is("+ear://b ");
    ask_2025(&one, "unsubscribe", "ear://a");
    ask_2025(&two, "unsubscribe", "ear://a");
    ask_2025(&two, "unsubscribe", "ear://a"); /* it has not */
    told_is("");
    listen_2026(&second, "\"ear://a\"");
    talk_close(&first); /* its client goes */
    WORLD_AWAIT(&world, told[0]);
    told_is("-ear://b ");
    talk_close(&second);
    WORLD_AWAIT(&world, told[0]);
    told_is("-ear://a ");
    ask_2025(&one, "subscribe", "ear://a");
    told_is("+ear://a ");
    world_stop(&world);
    told_is("-ear://a ");
}

static void a_session_that_ends_or_expires_listens_no_more(void **state)
{
    struct wire_client one = { 0 }, two = { 0 };

    (void)state;
    begin(&(struct world_opts){ .session_idle_ms = 1000 });
    client_begin(&one, &world, "2025-11-25", "{}");
    client_begin(&two, &world, "2025-11-25", "{}");
    ask_2025(&one, "subscribe", "ear://a");
    ask_2025(&one, "subscribe", "ear://b");
    ask_2025(&two, "subscribe", "ear://b");
    told_is("+ear://a +ear://b ");
    assert_int_equal(client_status(&one, "DELETE", NULL), 204);
    told_is("-ear://a ");
    world_advance(&world, 5000);
    WORLD_AWAIT(&world, told[0]);
    told_is("-ear://b ");
    world_stop(&world);
    told_is("");
}

static void a_session_comes_back_with_what_it_listens_to(void **state)
{
    struct wire_client one = { 0 };

    (void)state;
    begin(&(struct world_opts){ .survives = true });
    client_begin(&one, &world, "2025-11-25", "{}");
    ask_2025(&one, "subscribe", "ear://a");
    told_is("+ear://a ");
    for (int i = 0; i < 20; i++) /* its record is written */
        world_turn(&world);
    world_restart(&world);
    told[0] = '\0';
    assert_int_equal(
        client_status(&one, "POST", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"), 200);
    WORLD_AWAIT(&world, told[0]);
    told_is("+ear://a ");
    world_stop(&world);
}

static void the_successor_of_a_target_is_told_and_one_that_is_gone_is_not(void **state)
{
    struct wire_client one = { 0 };
    struct target next = thing("ear://{id}", true), exact = thing("ear://a", false);
    struct target own = thing("ear://a", false), others = thing("ear://a", false);

    (void)state;
    begin(&(struct world_opts){ 0 });
    client_begin(&one, &world, "2025-11-25", "{}");
    ask_2025(&one, "subscribe", "ear://a");
    told_is("+ear://a ");
    assert_int_equal(catalog_replace(world.catalog, &all, &next), NOD_OK);
    WORLD_AWAIT(&world, told[0]);
    told_is("+ear://a ");
    assert_int_equal(catalog_add(world.catalog, &exact), NOD_OK); /* nearer than the template */
    WORLD_AWAIT(&world, told[0]);
    told_is("+ear://a -ear://a ");
    others.owner = STR("somebody else");
    assert_int_equal(catalog_add(world.catalog, &others), NOD_OK);
    own.owner = STR("local");
    assert_int_equal(catalog_add(world.catalog, &own), NOD_OK);
    WORLD_AWAIT(&world, told[0]);
    told_is("+ear://a! -ear://a ");
    catalog_remove(world.catalog, &own);
    WORLD_AWAIT(&world, told[0]);
    told_is("+ear://a ");
    catalog_remove(world.catalog, &exact);
    catalog_remove(world.catalog, &next);
    for (int i = 0; i < 20; i++)
        world_turn(&world);
    told_is("");
    assert_int_equal(exact.in_use + next.in_use + own.in_use, 0);
    ask_2025(&one, "unsubscribe", "ear://a");
    told_is("");
    world_stop(&world);
}

SUBJECT(listened)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_and_the_last_are_told_in_both_eras),
        cmocka_unit_test(a_session_that_ends_or_expires_listens_no_more),
        cmocka_unit_test(a_session_comes_back_with_what_it_listens_to),
        cmocka_unit_test(the_successor_of_a_target_is_told_and_one_that_is_gone_is_not),
    };

    return cmocka_run_group_tests_name("mcp-listened", tests, NULL, NULL);
}
