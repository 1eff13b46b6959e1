/*
 * tests/unit/mcp/in_line: requests that read what may be large wait in line, by principal: streams
 * of 2025 that come back, and tasks/get.
 *
 * The store keeps each look at a call back until the test lets it go.
 */
#include "task_talk.h"

#include <stdio.h>

#include "mcp/shared/server_inside.h"

#define CALL                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"form\","       \
    "\"arguments\":{}}}"

enum { COME = 2 * MCP_LARGE_AT_ONCE, TURNS = 2 * COME };

static struct {
    store_done *done;
    void *data;
} looks[2 * COME];
static size_t look_count;

static void look(struct store *store, struct str call_id, store_done *done, void *data)
{
    (void)store, (void)call_id;
    assert_true(look_count < 2 * COME);
    looks[look_count].done = done;
    looks[look_count++].data = data;
}

static int setup_looks(void **state)
{
    setup_survivor(state);
    look_count = 0;
    return 0;
}

static int teardown_looks(void **state)
{
    for (size_t i = 0; i < look_count; i++) /* no end waits for them */
        looks[i].done(looks[i].data, NOD_E_NOT_FOUND, &(struct store_reply){ 0 });
    return teardown(state);
}

static void hold_looks(void)
{
    survivor.load_with_asks = NULL;
    survivor.load_call = look;
}

static size_t works(void)
{
    size_t count = 0;

    LIST_EACH (at, &world.server->works)
        count += at != NULL;
    return count;
}

static void turns(void)
{
    for (int i = 0; i < TURNS; i++)
        world_turn(&world);
}

/* --- streams of 2025 --- */

static struct wire_client client;
static char event[128]; /* the last one of a stream that waits */

static void come(struct talk *talk)
{
    client_get(&client, talk, event);
}

static void begin_stream(void)
{
    struct talk talk;

    client = (struct wire_client){ 0 };
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&client, &talk, CALL);
    talk_await(&talk, "elicitation/create");
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    world_restart(&world);
    hold_looks();
}

/* --- tasks --- */

static void come_for_task(struct talk *talk)
{
    char params[128];

    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    post(talk, &(struct exchange){ "tasks/get", id, params });
}

static void begin_task(void)
{
    begin("form", NULL, id);
    get(id, ASKS);
    world_restart(&world);
    hold_looks();
}

/* --- both --- */

static const struct kind {
    void (*begin)(void);
    void (*come)(struct talk *talk);
} kinds[] = { { begin_stream, come }, { begin_task, come_for_task } };

static struct talk talks[COME];

static void all_come(const struct kind *kind)
{
    size_t before = works();

    for (int i = 0; i < COME; i++)
        kind->come(&talks[i]);
    WORLD_AWAIT(&world, works() >= before + COME);
    turns();
}

static void all_close(void)
{
    for (int i = 0; i < COME; i++)
        talk_close(&talks[i]);
}

static void of_one_principal_a_few_are_read_at_once(void **state)
{
    kinds[*(int *)*state].begin();
    all_come(&kinds[*(int *)*state]);
    assert_int_equal(look_count, MCP_LARGE_AT_ONCE);
    all_close();
}

/* Then all wait for what none of them gets, one after the other. */
static void nobody_waits_in_line_for_a_store_that_is_away(void **state)
{
    struct talk talk;

    kinds[*(int *)*state].begin();
    kinds[*(int *)*state].come(&talk);
    WORLD_AWAIT(&world, look_count == 1);
    for (size_t i = 0; i < look_count; i++) { /* it is tried again */
        looks[i].done(looks[i].data, NOD_E_STORE, &(struct store_reply){ 0 });
        world_advance(&world, 10000);
    }
    talk_await_end(&talk);
    talk_close(&talk);
    look_count = 0;
    all_come(&kinds[*(int *)*state]);
    assert_int_equal(look_count, COME);
    all_close();
}

/* That is no word about the store. */
static void a_record_that_is_too_large_lets_nobody_past_the_line(void **state)
{
    struct talk talk;

    kinds[*(int *)*state].begin();
    kinds[*(int *)*state].come(&talk);
    WORLD_AWAIT(&world, look_count == 1);
    looks[0].done(looks[0].data, NOD_E_LIMIT, &(struct store_reply){ 0 });
    talk_await_end(&talk);
    assert_false(talk_has(&talk, "store cannot be reached"));
    talk_close(&talk);
    look_count = 0;
    all_come(&kinds[*(int *)*state]);
    assert_int_equal(look_count, MCP_LARGE_AT_ONCE);
    all_close();
}

static void who_leaves_is_no_longer_in_line(void **state)
{
    kinds[*(int *)*state].begin();
    all_come(&kinds[*(int *)*state]);
    size_t all = works();
    all_close();
    WORLD_AWAIT(&world, works() <= all - COME + MCP_LARGE_AT_ONCE);
    turns();
    assert_int_equal(look_count, MCP_LARGE_AT_ONCE); /* nothing was begun for them */
}

SUBJECT(in_line)
{
    static int of[] = { 0, 1 };
#define OF(name, kind, word)                                                                       \
    {                                                                                              \
#name " (" word ")", name, setup_looks, teardown_looks, &of[kind]                          \
    }
#define T(name) OF(name, 0, "streams of 2025"), OF(name, 1, "tasks/get")
    const struct CMUnitTest tests[] = {
        T(of_one_principal_a_few_are_read_at_once),
        T(nobody_waits_in_line_for_a_store_that_is_away),
        T(a_record_that_is_too_large_lets_nobody_past_the_line),
        T(who_leaves_is_no_longer_in_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
