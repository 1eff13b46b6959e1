/*
 * tests/unit/mcp/listing: a target says to whom it is listed.
 *
 * A client that is not shown a tool cannot call it either, and is told that there is no tool of
 * that name; unless the tool may be called unlisted.
 */
#include "world.h"
#include "../runner.h"

#include <stdio.h>

#define ABLE   "{\"elicitation\":{}}"
#define UNABLE "{}"

static struct world world;

static bool to_those_who_can_be_asked(const struct target *target, const struct audience *audience)
{
    (void)target;
    assert_true(audience->principal.len > 0);
    return audience->kinds & 1u << ASK_FORM;
}

static int setup(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ .page_size = 1, .hold_ms = 60 });
    world_add_tool(&world, "shy_one")->listed = to_those_who_can_be_asked;
    world_add_tool(&world, "plain");
    world_add_tool(&world, "shy_two")->listed = to_those_who_can_be_asked;
    struct target *open = world_add_tool(&world, "shy_open");
    open->listed = to_those_who_can_be_asked;
    open->callable_unlisted = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_stop(&world);
    return 0;
}

/* --- one exchange of each era --- */

struct party {
    bool modern;
    const char *capabilities;
    struct wire_client client; /* 2025 */
};

static void party_begin(struct party *party, bool modern, const char *capabilities)
{
    *party = (struct party){ .modern = modern, .capabilities = capabilities };
    if (!modern)
        client_begin(&party->client, &world, "2025-11-25", capabilities);
}

static void post(struct party *party, struct talk *talk, const char *method, const char *name,
                 const char *params)
{
    char body[1024], bytes[2048], named[128] = "";

    if (!party->modern) {
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s}}", method,
                 params);
        client_post(&party->client, talk, body);
        talk_await_end(talk);
        return;
    }
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
             method, params, params[0] ? "," : "", party->capabilities);
    if (name)
        snprintf(named, sizeof(named), "Mcp-Name: %s\r\n", name);
    snprintf(bytes, sizeof(bytes),
             "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: %s\r\n%sContent-Length: %zu\r\n\r\n%s",
             method, named, strlen(body), body);
    talk_raw(talk, &world, bytes);
    talk_await_end(talk);
}

/* The names of its tools, page by page. */
static void tools_of(struct party *party, char *out, size_t room)
{
    char cursor[64] = "", params[128];

    out[0] = '\0';
    for (int pages = 0; pages < 64; pages++) {
        struct talk talk;
        char name[64];

        snprintf(params, sizeof(params), cursor[0] ? "\"cursor\":\"%s\"" : "%s", cursor);
        post(party, &talk, "tools/list", NULL, params);
        assert_int_equal(talk_count(&talk, "\"inputSchema\""), 1); /* a page is full, or the last */
        talk_cut(&talk, "\"tools\":[{\"name\":\"", "\"", name, sizeof(name));
        snprintf(out + strlen(out), room - strlen(out), "%s ", name);
        bool more = talk_has(&talk, "\"nextCursor\"");
        if (more)
            talk_cut(&talk, "\"nextCursor\":\"", "\"", cursor, sizeof(cursor));
        talk_close(&talk);
        if (!more)
            return;
    }
    fail_msg("the list has no end: %s", out);
}

static bool unknown(struct party *party, const char *tool)
{
    char params[128];
    struct talk talk;

    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":{}", tool);
    post(party, &talk, "tools/call", tool, params);
    bool none = talk_has(&talk, "Unknown tool");
    assert_int_not_equal(none, talk_has(&talk, "\"result\""));
    talk_close(&talk);
    return none;
}

static void what_is_not_listed_is_not_there(void **state)
{
    char names[1024];

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        struct party able, unable;
        party_begin(&able, modern, ABLE);
        party_begin(&unable, modern, UNABLE);

        tools_of(&able, names, sizeof(names));
        if (!strstr(names, "shy_one plain shy_two shy_open "))
            fail_msg("era %d: %s", modern, names);
        tools_of(&unable, names, sizeof(names));
        assert_null(strstr(names, "shy"));
        assert_non_null(strstr(names, "plain "));

        assert_false(unknown(&able, "shy_one"));
        assert_true(unknown(&unable, "shy_one"));
        assert_false(unknown(&unable, "plain"));
        assert_false(unknown(&unable, "shy_open"));
    }
}

SUBJECT(listing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_listed_is_not_there, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
