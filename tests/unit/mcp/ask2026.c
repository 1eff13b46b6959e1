/*
 * tests/unit/mcp/ask2026: questions in results, answers in requests; over real sockets.
 *
 * Every exchange has its own connection: only the requestState leads from one to the next.
 */
#include "world.h"
#include "../runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/inside.h"

enum { TEXT_MAX = 65536 };

#define ALL "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}}"
#define REFUSAL                                                                                    \
    "\"error\":{\"code\":-32602,\"message\":\"Invalid or expired requestState: make the call "     \
    "again, without it\"}"

#define SECOND_TOLD "answered before, with other answers; nothing of this request counts."

static struct world world;

static int start(const struct world_opts *opts)
{
    world_start(&world, opts);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return start(&(struct world_opts){ .hold_ms = 60 });
}

static int setup_holding(void **state)
{
    (void)state;
    return start(&(struct world_opts){ .hold_ms = 20000 });
}

static int teardown(void **state)
{
    (void)state;
    world_stop(&world);
    return 0;
}

/* --- one exchange --- */

struct ask26 {
    const char *method, *name; /* NULL: tools/call */
    const char *args;          /* NULL: {} */
    const char *state;         /* requestState */
    const char *responses;     /* inputResponses */
    const char *capabilities;  /* NULL: ALL */
    const char *meta;          /* further members */
    const char *token;
};

static void post(struct talk *talk, const struct ask26 *ask)
{
    const char *method = ask->method ? ask->method : "tools/call";
    const char *named = strcmp(method, "resources/read") == 0 ? "uri" : "name";
    struct buf body, bytes;

    buf_init(&body, 1 << 20);
    buf_init(&bytes, 1 << 20);
    buf_fmt(&body,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"%s\":\"%s\",\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":%s%s}",
            method, named, ask->name, ask->capabilities ? ask->capabilities : ALL,
            ask->meta ? ask->meta : "");
    if (ask->args)
        buf_fmt(&body, ",\"arguments\":%s", ask->args);
    if (ask->state)
        buf_fmt(&body, ",\"requestState\":\"%s\"", ask->state);
    if (ask->responses)
        buf_fmt(&body, ",\"inputResponses\":%s", ask->responses);
    buf_add(&body, STR("}}"));
    buf_fmt(&bytes,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream"
            "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: %s\r\nMcp-Name: %s\r\n",
            method, ask->name);
    if (ask->token)
        buf_fmt(&bytes, "Authorization: Bearer %s\r\n", ask->token);
    buf_fmt(&bytes, "Content-Length: %zu\r\n\r\n", body.len);
    buf_add(&bytes, buf_str(&body));
    buf_add_char(&bytes, '\0');
    talk_raw(talk, &world, bytes.at);
    buf_finish(&bytes);
    buf_finish(&body);
}

/* Whole exchanges: what is wanted of the answer, and the state it carries. */
static void expect(const struct ask26 *ask, int status, const char *has, char *state)
{
    struct talk talk;
    char got[16];

    post(&talk, ask);
    talk_await_end(&talk);
    talk_cut(&talk, "HTTP/1.1 ", " ", got, sizeof(got));
    if (atoi(got) != status || !talk_has(&talk, has))
        fail_msg("wanted %d with %s, got: %.*s", status, has, STR_ARG(buf_str(&talk.got)));
    assert_false(talk_has(&talk, "elicitationId"));
    assert_false(talk_has(&talk, "-32042"));
    assert_false(talk_has(&talk, "-32002"));
    if (state)
        talk_cut(&talk, "\"requestState\":\"", "\"", state, TEXT_MAX);
    talk_close(&talk);
}

#define AGE(n)     "{\"age\":{\"action\":\"accept\",\"content\":{\"age\":" n "}}}"
#define FIRST(n)   "{\"first\":{\"action\":\"accept\",\"content\":{\"age\":" n "}}}"
#define SECOND(n)  "{\"second\":{\"action\":\"accept\",\"content\":{\"age\":" n "}}}"
#define HASH(text) "{\"#1\":" text "}"

static char one[TEXT_MAX], two[TEXT_MAX];

/* --- rounds --- */

static void a_question_travels_in_a_result_and_its_answer_in_a_request(void **state)
{
    (void)state;
    expect(&(struct ask26){ .name = "form" }, 200,
           "\"inputRequests\":{\"#1\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
           "\"form\",\"message\":\"How old?\",\"requestedSchema\":{\"type\":\"object\"",
           one);
    assert_int_equal(engine_calls(world.engine), 0); /* nothing of it is live meanwhile */
    expect(&(struct ask26){ .name = "form",
                            .state = one,
                            .responses = HASH("{\"action\":\"accept\",\"content\":{\"age\":7}}") },
           200, "accepted {'age':7}", NULL);
}

static void prompts_and_resources_may_ask_as_well(void **state)
{
    (void)state;
    expect(&(struct ask26){ .method = "resources/read", .name = "ask://age" }, 200,
           "\"resultType\":\"input_required\"", one);
    expect(
        &(struct ask26){
            .method = "resources/read", .name = "ask://age", .state = one, .responses = AGE("3") },
        200, "\"ttlMs\":0,\"cacheScope\":\"private\",\"contents\"", NULL);
    expect(&(struct ask26){ .method = "prompts/get", .name = "greet", .args = "{\"topic\":\"x\"}" },
           200, "\"resultType\":\"complete\"", NULL);
}

/* --- who, what, when --- */

static struct tokens *given_tokens;

static int setup_tokens(void **state)
{
    static const char file[] = "alice-alice-alice-alice alice\nbob-bob-bob-bob-bob bob\n";
    struct arena arena;
    struct str problem = STR_NONE;

    (void)state;
    arena_init(&arena, 1 << 20);
    struct tokens *tokens = tokens_parse(STR(file), STR("tokens"), &arena, &problem);
    arena_finish(&arena);
    assert_non_null(tokens);
    world_start(&world, &(struct world_opts){ .tokens = tokens, .hold_ms = 60 });
    given_tokens = tokens;
    return 0;
}

static int teardown_tokens(void **state)
{
    (void)state;
    world_stop(&world);
    tokens_destroy(given_tokens);
    return 0;
}

static void a_state_is_good_for_one_principal_and_one_request(void **state)
{
    const char *alice = "alice-alice-alice-alice", *bob = "bob-bob-bob-bob-bob";
    char bad[TEXT_MAX];

    (void)state;
    expect(&(struct ask26){ .name = "deed", .token = alice, .args = "{\"n\":1}" }, 200, "\"age\"",
           one);
    struct ask26 good = {
        .name = "deed", .token = alice, .args = "{\"n\":1.0}", .state = one, .responses = AGE("5")
    };
    struct ask26 attacks[] = { good, good, good, good, good, good, good };
    attacks[0].token = bob;
    attacks[1].args = "{\"n\":2}";
    attacks[2].args = NULL;
    attacks[3].name = "twice";
    attacks[4].method = "prompts/get", attacks[4].name = "greet", attacks[4].args = NULL;
    attacks[5].state = "";
    snprintf(bad, sizeof(bad), "%s", one);
    bad[40] = bad[40] == 'A' ? 'B' : 'A';
    attacks[6].state = bad;
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
        expect(&attacks[i], 400, REFUSAL, NULL);
    assert_int_equal(world.deeds, 0);
    expect(&good, 200, "done", NULL);
    /* and what stands behind a token is not for everybody's cache */
    expect(&(struct ask26){ .method = "resources/list", .name = "x", .token = bob }, 200,
           "\"cacheScope\":\"private\"", NULL);
}

static void an_expired_question_in_a_valid_state_is_a_timeout(void **state)
{
    (void)state;
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    world_advance(&world, 300001);
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 200,
           "\"code\":\"ELICITATION_TIMEOUT\"", NULL);
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 200,
           "\"code\":\"ELICITATION_TIMEOUT\"", NULL);
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    world_advance(&world, 300001);
    expect(&(struct ask26){ .name = "deed", .state = one }, 200, "\"code\":\"ELICITATION_TIMEOUT\"",
           NULL);
    assert_int_equal(world.deeds, 0);
}

static void a_state_ends_some_time_after_its_questions(void **state)
{
    (void)state;
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    world_advance(&world, 300000 + 600000 + 1);
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 400, REFUSAL,
           NULL);
}

static void a_large_question_makes_no_large_state(void **state)
{
    (void)state;
    expect(&(struct ask26){ .name = "long" }, 200, "\"age\":{\"method\"", one);
    assert_true(strlen(one) < 512);
    expect(
        &(struct ask26){ .name = "long", .args = "{\"x\":1}", .state = one, .responses = AGE("5") },
        400, REFUSAL, NULL);
    expect(&(struct ask26){ .name = "long", .state = one, .responses = AGE("5") }, 200,
           "accepted {'age':5}", NULL);
}

/* --- capabilities --- */

static void nothing_is_asked_that_was_not_declared(void **state)
{
    static const struct {
        const char *name, *args, *capabilities, *required;
    } rows[] = {
        { "form", NULL, "{}", "{\"elicitation\":{\"form\":{}}}" },
        { "form", NULL, "{\"elicitation\":{\"url\":{}}}", "{\"elicitation\":{\"form\":{}}}" },
        { "url", NULL, "{\"elicitation\":{}}", "{\"elicitation\":{\"url\":{}}}" },
        { "sample", NULL, "{\"elicitation\":{}}", "{\"sampling\":{}}" },
        { "sample", "{\"tools\":true}", "{\"sampling\":{}}", "{\"sampling\":{\"tools\":{}}}" },
        { "roots", NULL, "{}", "{\"roots\":{}}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char wanted[256];
        snprintf(wanted, sizeof(wanted), "\"data\":{\"requiredCapabilities\":%s", rows[i].required);
        expect(&(struct ask26){ .name = rows[i].name,
                                .args = rows[i].args,
                                .capabilities = rows[i].capabilities },
               400, wanted, NULL);
        expect(&(struct ask26){ .name = rows[i].name,
                                .args = rows[i].args,
                                .capabilities = rows[i].capabilities },
               400, "\"code\":-32021", NULL);
    }
    /* Each request says for itself what its client can do. */
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    expect(&(struct ask26){ .name = "deed", .state = one, .capabilities = "{}" }, 400,
           "\"code\":-32021", NULL);
    expect(
        &(struct ask26){
            .name = "deed", .state = one, .capabilities = "{}", .responses = AGE("5") },
        200, "done", NULL);
}

/* --- answers nobody asked for --- */

static void a_first_request_may_bring_data_but_no_consent(void **state)
{
    (void)state;
    expect(&(struct ask26){ .name = "twice",
                            .responses =
                                "{\"first\":{\"action\":\"accept\",\"content\":{\"age\":1}}"
                                ",\"second\":{\"action\":\"accept\",\"content\":{\"age\":"
                                "2}},\"third\":{}}" },
           200, "1 and 2", NULL);
    expect(&(struct ask26){ .name = "twice", .responses = FIRST("\"old\"") }, 200,
           "\"first\":{\"method\"", NULL);
    expect(&(struct ask26){ .name = "confirm", .responses = HASH("{\"action\":\"accept\"}") }, 200,
           "\"message\":\"Really?\"", NULL);
    expect(&(struct ask26){ .name = "url", .responses = HASH("{\"action\":\"accept\"}") }, 200,
           "\"mode\":\"url\"", NULL);
}

#define MAIL(text) "{\"to\":{\"action\":\"accept\",\"content\":{\"to\":\"" text "\"}}}"

static void a_format_counts_for_an_answer_that_comes_ahead_and_for_one_that_was_asked(void **state)
{
    (void)state;
    expect(&(struct ask26){ .name = "mail", .responses = MAIL("ada@example.org") }, 200, "sent",
           NULL);
    expect(&(struct ask26){ .name = "mail", .responses = MAIL("no address") }, 200,
           "\"message\":\"To whom?\"", one);
    expect(&(struct ask26){ .name = "mail", .state = one, .responses = MAIL("no address") }, 200,
           "\"message\":\"Your last answer could not be used: to: ", two);
    expect(&(struct ask26){ .name = "mail", .state = two, .responses = MAIL("ada@example.org") },
           200, "sent", NULL);
}

/* --- pages --- */

#define OPENED HASH("{\"action\":\"accept\"}")

static void page_id(char id[64])
{
    struct talk talk;

    post(&talk, &(struct ask26){ .name = "url", .args = "{\"wait\":true}" });
    talk_await_end(&talk);
    talk_cut(&talk, "\"requestState\":\"", "\"", one, TEXT_MAX);
    talk_cut(&talk, "\"url\":\"https://example.com/", "\"", id, 64);
    talk_close(&talk);
}

static void a_retry_waits_for_the_page(void **state)
{
    struct talk talk;
    char id[64];

    (void)state;
    page_id(id);
    post(&talk, &(struct ask26){
                    .name = "url", .args = "{\"wait\":true}", .state = one, .responses = OPENED });
    WORLD_AWAIT(&world, engine_pending(world.engine) == 1);
    mcp_url_done(world.server, str_of(id));
    talk_await(&talk, "accepted ");
    talk_close(&talk);
}

static void a_page_that_is_done_between_two_requests_counts(void **state)
{
    char id[64];

    (void)state;
    page_id(id);
    mcp_url_done(world.server, str_of(id));
    for (int i = 0; i < 5; i++)
        world_turn(&world);
    expect(
        &(struct ask26){
            .name = "url", .args = "{\"wait\":true}", .state = one, .responses = OPENED },
        200, "accepted ", NULL);
}

static void a_page_that_is_not_done_in_time_is_asked_for_again(void **state)
{
    char id[64], same[128];

    (void)state;
    page_id(id);
    snprintf(same, sizeof(same), "\"url\":\"https://example.com/%s\"", id);
    expect(
        &(struct ask26){
            .name = "url", .args = "{\"wait\":true}", .state = one, .responses = OPENED },
        200, same, two);
    assert_int_equal(engine_calls(world.engine), 0);
    mcp_url_done(world.server, str_of(id));
    for (int i = 0; i < 5; i++)
        world_turn(&world);
    expect(
        &(struct ask26){
            .name = "url", .args = "{\"wait\":true}", .state = two, .responses = OPENED },
        200, "accepted ", NULL);
}

static void shutting_down_answers_those_who_wait(void **state)
{
    struct talk talk;
    char id[64];

    (void)state;
    page_id(id);
    post(&talk, &(struct ask26){
                    .name = "url", .args = "{\"wait\":true}", .state = one, .responses = OPENED });
    WORLD_AWAIT(&world, engine_pending(world.engine) == 1);
    world_drain(&world, PATIENCE_MS);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "the server is shutting down"));
    assert_false(talk_has(&talk, "requestState")); /* in memory nothing is left to come back for */
    talk_close(&talk);
}

static void what_is_asked_while_memory_shuts_down_gives_nothing_to_come_back_with(void **state)
{
    const struct entry *entry;
    struct talk talk;

    (void)state;
    post(&talk, &(struct ask26){ .name = "hold" });
    WORLD_AWAIT(&world, world.held);
    world_drain(&world, PATIENCE_MS);
    struct run *run = world.held;
    world.held = NULL;
    nod_status status = run_ask(
        run,
        &(struct ask_spec){
            .kind = ASK_FORM,
            .key = STR("age"),
            .message = STR("How old?"),
            .detail = STR("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}") },
        &entry);
    run_done(run, status, STR_NONE);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "the server is shutting down"));
    assert_false(talk_has(&talk, "requestState"));
    talk_close(&talk);
}

/* --- going away --- */

static void a_client_that_goes_cancels_what_is_not_stored(void **state)
{
    struct talk talk;

    (void)state;
    post(&talk, &(struct ask26){ .name = "hold" });
    WORLD_AWAIT(&world, world.held);
    talk_close(&talk);
    WORLD_AWAIT(&world, !world.held && engine_calls(world.engine) == 0);
}

static void a_client_that_goes_may_come_back_for_what_is_stored(void **state)
{
    struct talk talk;

    (void)state;
    expect(&(struct ask26){ .name = "later" }, 200, "\"age\"", one);
    post(&talk, &(struct ask26){ .name = "later", .state = one, .responses = AGE("5") });
    WORLD_AWAIT(&world, world.held);
    talk_close(&talk);
    for (int i = 0; i < 5; i++)
        world_turn(&world);
    assert_non_null(world.held);
    int runs = world.runs;
    post(&talk, &(struct ask26){ .name = "later", .state = one, .responses = AGE("5") });
    world_let_go(&world);
    talk_await(&talk, "let go");
    assert_int_equal(world.runs, runs);
    talk_close(&talk);
}

/* --- messages on the way --- */

static void messages_are_those_that_this_request_asked_for(void **state)
{
    struct talk talk;

    (void)state;
    post(&talk, &(struct ask26){ .name = "talk" });
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "application/json"));
    assert_false(talk_has(&talk, "notifications/"));
    talk_close(&talk);

    post(&talk, &(struct ask26){ .name = "talk",
                                 .meta = ",\"progressToken\":\"t\",\"io.modelcontextprotocol/"
                                         "logLevel\":\"warning\"" });
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "text/event-stream"));
    assert_int_equal(talk_count(&talk, "notifications/progress"), 2);
    assert_int_equal(talk_count(&talk, "notifications/message"), 1);
    assert_false(talk_has(&talk, "quiet"));
    assert_false(talk_has(&talk, "\nid:"));
    assert_true(talk_has(&talk, "\"text\":\"talked\""));
    talk_close(&talk);
}

/* --- another node --- */

static const char secret[] = "the secret that all the nodes have been given";

static void with_portable_states_another_node_goes_on_without_a_store(void **state)
{
    (void)state;
    start(&(struct world_opts){ .secret = secret, .portable_states = true });
    expect(&(struct ask26){ .name = "twice" }, 200, "\"first\"", one);
    world_stop(&world);
    start(&(struct world_opts){ .secret = secret, .portable_states = true });
    expect(&(struct ask26){ .name = "twice", .state = one, .responses = FIRST("1") }, 200,
           "\"second\"", two);
    world_stop(&world);
    start(&(struct world_opts){ .secret = secret, .portable_states = true });
    expect(&(struct ask26){ .name = "twice", .state = two, .responses = SECOND("2") }, 200,
           "1 and 2", NULL);
    expect(&(struct ask26){ .name = "twice", .state = two, .responses = SECOND("2") }, 200,
           "1 and 2", NULL);
    expect(&(struct ask26){ .name = "twice", .state = two, .responses = SECOND("3") }, 400,
           SECOND_TOLD, NULL);
    world_stop(&world);
    start(&(struct world_opts){ 0 });
    expect(&(struct ask26){ .name = "twice", .state = two, .responses = SECOND("2") }, 400, REFUSAL,
           NULL);
    world_stop(&world);
}

static void with_portable_states_only_idempotent_steps_are_done(void **state)
{
    (void)state;
    start(&(struct world_opts){ .secret = secret, .portable_states = true });
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 200,
           "\"isError\":true", NULL);
    assert_int_equal(world.deeds, 0);
    expect(&(struct ask26){ .name = "deed", .args = "{\"idempotent\":true}" }, 200, "\"age\"", one);
    expect(
        &(struct ask26){
            .name = "deed", .args = "{\"idempotent\":true}", .state = one, .responses = AGE("5") },
        200, "done", NULL);
    assert_int_equal(world.deeds, 1);
    world_stop(&world);
}

#define OTHER_SERVER                                                                               \
    "\"error\":{\"code\":-32602,\"message\":\"This requestState belongs to another server"

static void line20_with_a_secret_every_step_is_done(void **state)
{
    (void)state;
    start(&(struct world_opts){ .secret = secret });
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 200, "done",
           NULL);
    assert_int_equal(world.deeds, 1);
    world_stop(&world);
}

static void line20_another_server_with_the_secret_says_that_it_is_another(void **state)
{
    (void)state;
    start(&(struct world_opts){ .secret = secret });
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    world_stop(&world);
    start(&(struct world_opts){ .secret = secret });
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 400,
           OTHER_SERVER, NULL);
    world_stop(&world);
    start(&(struct world_opts){ .secret = secret, .portable_states = true });
    expect(&(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") }, 400,
           OTHER_SERVER, NULL);
    expect(&(struct ask26){ .name = "deed", .args = "{\"idempotent\":true}" }, 200, "\"age\"", two);
    world_stop(&world);
    start(&(struct world_opts){ .secret = secret });
    expect(
        &(struct ask26){
            .name = "deed", .args = "{\"idempotent\":true}", .state = two, .responses = AGE("5") },
        400, OTHER_SERVER, NULL);
    world_stop(&world);
}

static void line20_what_is_not_portable_is_refused_before_anybody_is_asked(void **state)
{
    (void)state;
    start(&(struct world_opts){ .secret = secret, .portable_states = true });
    world_add_tool(&world, "here-only")->portable = false;
    expect(&(struct ask26){ .name = "here-only" }, 200, "\"code\":\"TOOL_NOT_PORTABLE\"", NULL);
    world_stop(&world);
}

/* --- an end is told after it is stored --- */

static void is_told_when_the_cancel_is_stored(const char *what)
{
    struct talk talk;
    char byte;

    world.store_away = "cancel";
    post(&talk, &(struct ask26){ .name = "deed", .state = one, .responses = AGE("5") });
    for (int i = 0; i < 40; i++)
        world_turn(&world);
    assert_true(world.away_tries > 0);
    assert_int_equal(recv(talk.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, what));
    talk_close(&talk);
    assert_int_equal(world.deeds, 0);
}

static void that_a_tool_is_gone_is_told_when_it_is_stored(void **state)
{
    (void)state;
    start(&(struct world_opts){ .survives = true, .hold_ms = 60 });
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    catalog_remove(world.catalog, catalog_find(world.catalog, TARGET_TOOL, STR("deed")));
    is_told_when_the_cancel_is_stored("is no longer there");
    world_stop(&world);
}

static void that_a_tool_has_changed_is_told_when_it_is_stored(void **state)
{
    (void)state;
    start(&(struct world_opts){ .survives = true, .hold_ms = 60 });
    struct target *deed = catalog_find(world.catalog, TARGET_TOOL, STR("deed"));
    deed->version[0] = 1;
    expect(&(struct ask26){ .name = "deed" }, 200, "\"age\"", one);
    deed->version[0] = 2;
    is_told_when_the_cancel_is_stored("TOOL_CHANGED");
    world_stop(&world);
}

/* A retry that is told an end is not sent again, and what it was to do would be done for nobody. */
static void a_retry_where_there_is_no_room_is_to_be_sent_again(void **state)
{
    static const bool portable[] = { false, true };

    (void)state;
    for (int i = 0; i < 2; i++) {
        start(&(struct world_opts){
            .secret = secret, .portable_states = portable[i], .hold_ms = 60 });
        const char *tool = portable[i] ? "form" : "deed";
        const char *answers =
            portable[i] ? HASH("{\"action\":\"accept\",\"content\":{\"age\":5}}") : AGE("5");
        expect(&(struct ask26){ .name = tool }, 200, "\"age\"", one);
        if (portable[i]) { /* another node, which does not know the call */
            world_stop(&world);
            start(&(struct world_opts){ .secret = secret, .portable_states = true });
        }
        size_t usual = world.engine->opts.limits.calls;
        world.engine->opts.limits.calls = 0;
        for (int times = 0; times < 2; times++)
            expect(&(struct ask26){ .name = tool, .state = one, .responses = answers }, 503,
                   "has not ended", NULL);
        assert_int_equal(world.deeds, 0);
        world.engine->opts.limits.calls = usual;
        expect(&(struct ask26){ .name = tool, .state = one, .responses = answers }, 200,
               portable[i] ? "accepted" : "done", NULL);
        world_stop(&world);
    }
}

#define TEST(name)        cmocka_unit_test_setup_teardown(name, setup, teardown)
#define HOLDING(name)     cmocka_unit_test_setup_teardown(name, setup_holding, teardown)
#define WITH_TOKENS(name) cmocka_unit_test_setup_teardown(name, setup_tokens, teardown_tokens)

SUBJECT(ask2026)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_travels_in_a_result_and_its_answer_in_a_request),
        TEST(prompts_and_resources_may_ask_as_well),
        WITH_TOKENS(a_state_is_good_for_one_principal_and_one_request),
        TEST(an_expired_question_in_a_valid_state_is_a_timeout),
        TEST(a_state_ends_some_time_after_its_questions),
        TEST(a_large_question_makes_no_large_state),
        TEST(nothing_is_asked_that_was_not_declared),
        TEST(a_first_request_may_bring_data_but_no_consent),
        TEST(a_format_counts_for_an_answer_that_comes_ahead_and_for_one_that_was_asked),
        HOLDING(a_retry_waits_for_the_page),
        HOLDING(a_page_that_is_done_between_two_requests_counts),
        TEST(a_page_that_is_not_done_in_time_is_asked_for_again),
        HOLDING(shutting_down_answers_those_who_wait),
        HOLDING(what_is_asked_while_memory_shuts_down_gives_nothing_to_come_back_with),
        TEST(a_client_that_goes_cancels_what_is_not_stored),
        HOLDING(a_client_that_goes_may_come_back_for_what_is_stored),
        TEST(messages_are_those_that_this_request_asked_for),
        cmocka_unit_test(with_portable_states_another_node_goes_on_without_a_store),
        cmocka_unit_test(with_portable_states_only_idempotent_steps_are_done),
        cmocka_unit_test(line20_with_a_secret_every_step_is_done),
        cmocka_unit_test(line20_another_server_with_the_secret_says_that_it_is_another),
        cmocka_unit_test(line20_what_is_not_portable_is_refused_before_anybody_is_asked),
        cmocka_unit_test(that_a_tool_is_gone_is_told_when_it_is_stored),
        cmocka_unit_test(that_a_tool_has_changed_is_told_when_it_is_stored),
        cmocka_unit_test(a_retry_where_there_is_no_room_is_to_be_sent_again),
    };

    return cmocka_run_group_tests_name("mcp-mrtr", tests, NULL, NULL);
}
