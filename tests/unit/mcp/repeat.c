/*
 * tests/unit/mcp/repeat: the same request again (era 2025): within a session an id names one call.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/inside.h"
#include "mcp/shared/server_inside.h"
#include "../runner.h"

#define CALL(id, name, args)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":" args "}}"
#define FORM_ONLY "{\"elicitation\":{}}"
#define SEVEN     "\"result\":{\"action\":\"accept\",\"content\":{\"age\":7}}"

static struct world world;

static int setup_memory(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    return 0;
}

static int setup_survivor(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_stop(&world);
    return 0;
}

static void asked_id(struct talk *talk, char out[64])
{
    talk_await(talk, "\"method\":\"elicitation/create\"");
    talk_cut(talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", out, 64);
}

/* Sends it, and waits for the whole response. */
static void whole(struct wire_client *client, struct talk *talk, const char *body)
{
    client_post(client, talk, body);
    talk_await_end(talk);
}

/* A call that asks and does a deed, to its end. */
static void done_deed(struct wire_client *client)
{
    struct talk talk;
    char ask[64];

    client_begin(client, &world, "2025-11-25", FORM_ONLY);
    client_post(client, &talk, CALL("5", "deed", "{\"a\":1}"));
    asked_id(&talk, ask);
    client_answer(client, ask, SEVEN);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"text\":\"done\""));
    assert_int_equal(world.deeds, 1);
    talk_close(&talk);
}

static void line13_a_request_that_has_ended_gets_its_result_and_is_not_run(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    done_deed(&client);
    for (int i = 0; i < 2; i++) {
        whole(&client, &talk, CALL("5", "deed", "{ \"a\" : 1 }"));
        assert_true(talk_has(&talk, "\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
                                    "\"done\"}]}"));
        assert_false(talk_has(&talk, "elicitation/create"));
        talk_close(&talk);
    }
    assert_int_equal(world.deeds, 1);
}

static void line13_the_same_id_with_other_params_is_refused(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    static const char *const others[] = { CALL("5", "deed", "{\"a\":2}"),
                                          CALL("5", "echo", "{\"a\":1}") };

    (void)state;
    done_deed(&client);
    for (size_t i = 0; i < 2; i++) {
        whole(&client, &talk, others[i]);
        assert_true(talk_has(&talk, "-32600"));
        assert_true(talk_has(&talk, "This id was used for another request"));
        talk_close(&talk);
    }
    /* Another id, and a text that reads like the number, are requests of their own. */
    whole(&client, &talk, CALL("\"5\"", "echo", "{\"text\":\"own\"}"));
    assert_true(talk_has(&talk, "\"text\":\"own\""));
    talk_close(&talk);
    assert_int_equal(world.deeds, 1);
}

static void line13_another_session_has_ids_of_its_own(void **state)
{
    struct wire_client client = { 0 }, other = { 0 };
    struct talk talk;

    (void)state;
    done_deed(&client);
    client_begin(&other, &world, "2025-11-25", FORM_ONLY);
    whole(&other, &talk, CALL("5", "echo", "{\"text\":\"own\"}"));
    assert_true(talk_has(&talk, "\"text\":\"own\""));
    talk_close(&talk);
}

static void line13_a_request_in_flight_goes_on_with_the_newer_connection(void **state)
{
    struct wire_client client = { 0 };
    struct talk first, second;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &first, CALL("5", "hold", "{}"));
    WORLD_AWAIT(&world, world.held);
    struct run *held = world.held;
    client_post(&client, &second, CALL("5", "hold", "{}"));
    talk_await_end(&first);
    assert_ptr_equal(world.held, held);
    world_let_go(&world);
    talk_await_end(&second);
    assert_true(talk_has(&second, "\"id\":5,\"result\""));
    assert_false(talk_has(&first, "\"result\""));
    talk_close(&first);
    talk_close(&second);
}

static void line13_a_request_whose_connection_was_lost_is_found_by_its_id(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("5", "hold", "{}"));
    WORLD_AWAIT(&world, world.held);
    talk_close(&talk); /* before there was an event id */
    for (int i = 0; i < 5; i++)
        world_turn(&world);
    client_post(&client, &talk, CALL("5", "hold", "{}"));
    world_turn(&world);
    world_let_go(&world);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"id\":5,\"result\""));
    talk_close(&talk);
}

static void line13_a_request_that_waits_is_asked_the_same_question(void **state)
{
    struct wire_client client = { 0 };
    struct talk first, second;
    char ask[64], same[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &first, CALL("5", "deed", "{}"));
    asked_id(&first, ask);
    client_post(&client, &second, CALL("5", "deed", "{}"));
    asked_id(&second, same);
    assert_string_equal(ask, same);
    assert_true(talk_has(&second, "retry:"));
    client_answer(&client, ask, SEVEN);
    talk_await_end(&second);
    assert_true(talk_has(&second, "\"text\":\"done\""));
    assert_int_equal(world.deeds, 1);
    talk_close(&first);
    talk_close(&second);
}

static void line13_in_flight_other_params_are_refused_too(void **state)
{
    struct wire_client client = { 0 };
    struct talk first, second;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &first, CALL("5", "hold", "{}"));
    WORLD_AWAIT(&world, world.held);
    whole(&client, &second, CALL("5", "hold", "{\"other\":true}"));
    assert_true(talk_has(&second, "This id was used for another request"));
    world_let_go(&world);
    talk_await_end(&first);
    assert_true(talk_has(&first, "\"result\""));
    talk_close(&first);
    talk_close(&second);
}

/* A request that has asked is cancelled, and comes again. */
static void cancelled_and_sent_again(struct wire_client *client, struct talk *talk,
                                     const char *request)
{
    char ask[64];

    client_post(client, talk, request);
    asked_id(talk, ask);
    assert_int_equal(
        client_status(client, "POST",
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                      "\"requestId\":5}}"),
        202);
    talk_await_end(talk);
    talk_close(talk);
    whole(client, talk, request);
}

static void line13_a_cancelled_request_is_not_begun_again(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    cancelled_and_sent_again(&client, &talk, CALL("5", "deed", "{}"));
    assert_true(talk_has(&talk, "-32600"));
    assert_true(talk_has(&talk, "cancelled"));
    talk_close(&talk);
}

static void line13_after_a_restart_an_id_still_names_its_call(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], same[64];

    (void)state;
    done_deed(&client);
    client_post(&client, &talk, CALL("6", "deed", "{}"));
    asked_id(&talk, ask);
    talk_close(&talk);
    world_restart(&world);
    whole(&client, &talk, CALL("5", "deed", "{\"a\":1}"));
    assert_true(talk_has(&talk, "\"text\":\"done\""));
    talk_close(&talk);
    whole(&client, &talk, CALL("5", "echo", "{}"));
    assert_true(talk_has(&talk, "This id was used for another request"));
    talk_close(&talk);
    client_post(&client, &talk, CALL("6", "deed", "{}"));
    asked_id(&talk, same);
    assert_string_equal(ask, same);
    client_answer(&client, ask, SEVEN);
    talk_await_end(&talk);
    assert_int_equal(world.deeds, 2);
    talk_close(&talk);
}

/* Nothing of it is kept, so nothing can be promised: docs/inside/mcp.md says so. */
static void line13_a_request_that_neither_asked_nor_did_anything_is_run_again(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    done_deed(&client);
    for (int i = 0; i < 2; i++) {
        whole(&client, &talk,
              i ? CALL("7", "echo", "{\"text\":\"b\"}") : CALL("7", "echo", "{\"text\":\"a\"}"));
        assert_true(talk_has(&talk, i ? "\"text\":\"b\"" : "\"text\":\"a\""));
        talk_close(&talk);
    }
}

static void line13_a_template_that_asked_is_found_after_a_restart(void **state)
{
    static const char read[] = "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"resources/read\","
                               "\"params\":{\"uri\":\"age://of/me\"}}";
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], same[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, read);
    asked_id(&talk, ask);
    talk_close(&talk);
    world_restart(&world);
    client_post(&client, &talk, read);
    asked_id(&talk, same);
    assert_string_equal(ask, same);
    client_answer(&client, ask, SEVEN);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"text\":\"told\""));
    talk_close(&talk);
}

static void (*real_load)(struct store *store, struct str call_id, store_done *done, void *data);

/* As the store has it when many others have ended since. */
struct shortened {
    store_done *done;
    void *data;
};

static void shorten(void *data, nod_status status, const struct store_reply *reply)
{
    struct shortened *shortened = data;
    struct store_reply shown = *reply;
    struct call_record record;

    if (status == NOD_OK) {
        record = (struct call_record){ .id = reply->call->id,
                                       .principal = reply->call->principal,
                                       .state = reply->call->state,
                                       .opened_ms = reply->call->opened_ms,
                                       .keep_until_ms = reply->call->keep_until_ms,
                                       .forgotten = true };
        shown.call = &record;
    }
    shortened->done(shortened->data, status, &shown);
    free(shortened);
}

static void load_forgotten(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct shortened *shortened = malloc(sizeof(*shortened));

    *shortened = (struct shortened){ done, data };
    real_load(store, call_id, shorten, shortened);
}

static void line13_an_end_that_is_no_longer_kept_is_not_called_another_request(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    done_deed(&client);
    real_load = world.ops.load_call;
    world.ops.load_call = load_forgotten;
    whole(&client, &talk, CALL("5", "deed", "{\"a\":1}"));
    assert_true(talk_has(&talk, "This request has ended, and its result is no longer kept"));
    talk_close(&talk);
    assert_int_equal(world.deeds, 1);
}

static void a_request_is_cancelled_after_a_restart(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("5", "deed", "{}"));
    asked_id(&talk, ask);
    talk_close(&talk);
    world_restart(&world);
    assert_int_equal(
        client_status(&client, "POST",
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                      "\"requestId\":5}}"),
        202);
    for (int i = 0; i < 10; i++)
        world_turn(&world);
    whole(&client, &talk, CALL("5", "deed", "{}"));
    assert_true(talk_has(&talk, "cancelled"));
    talk_close(&talk);
}

static void a_cancelled_request_that_comes_again_is_told_which_steps_were_done(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    cancelled_and_sent_again(&client, &talk, CALL("5", "deed", "{\"first\":true}"));
    assert_true(talk_has(&talk, "-32600"));
    assert_true(talk_has(&talk, "This request was cancelled. Done before: 'deed'. Look at"));
    assert_true(talk_has(&talk, "\"stepsDone\":[\"deed\"]"));
    assert_true(talk_has(&talk, "\"code\":\"CANCELLED\""));
    talk_close(&talk);
    assert_int_equal(world.deeds, 1);
}

/* Also if the store is so quick that all of it happens in one turn of the loop. */
static void the_client_has_an_event_id_before_anything_is_done(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("5", "deed", "{\"first\":true}"));
    world.watched = &talk;
    WORLD_AWAIT(&world, world.deeds == 1);
    assert_true(world.sent);
    asked_id(&talk, ask);
    client_answer(&client, ask, SEVEN);
    talk_await_end(&talk);
    talk_close(&talk);
}

/* Whoever is told an end does not come back, and the deed would be done later for nobody. */
static void a_client_that_comes_back_where_there_is_no_room_is_told_no_end(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], same[64], event[128];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("5", "deed", "{}"));
    asked_id(&talk, ask);
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    world_restart(&world);
    size_t usual = world.engine->opts.limits.calls;
    world.engine->opts.limits.calls = 0;
    client_get(&client, &talk, event); /* by its event id: the stream ends, and is resumed */
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 200"));
    assert_false(talk_has(&talk, "LIMIT_REACHED"));
    assert_false(talk_has(&talk, "\"result\""));
    talk_close(&talk);
    whole(&client, &talk, CALL("5", "deed", "{}")); /* by the same request: it is sent again */
    assert_true(talk_has(&talk, "HTTP/1.1 503"));
    assert_true(talk_has(&talk, "has not ended"));
    talk_close(&talk);
    assert_int_equal(engine_calls(world.engine), 0);
    world.engine->opts.limits.calls = usual;
    client_get(&client, &talk, event);
    asked_id(&talk, same);
    assert_string_equal(ask, same);
    client_answer(&client, ask, SEVEN);
    talk_await(&talk, "\"text\":\"done\"");
    talk_close(&talk);
    assert_int_equal(world.deeds, 1);
}

SUBJECT(repeat)
{
#define BOTH(name)                                                                                 \
    { #name " (memory)", name, setup_memory, teardown, NULL },                                     \
    {                                                                                              \
#name " (a store that survives)", name, setup_survivor, teardown, NULL                     \
    }
#define SURVIVING(name) cmocka_unit_test_setup_teardown(name, setup_survivor, teardown)
    const struct CMUnitTest tests[] = {
        BOTH(line13_a_request_that_has_ended_gets_its_result_and_is_not_run),
        BOTH(line13_the_same_id_with_other_params_is_refused),
        BOTH(line13_another_session_has_ids_of_its_own),
        BOTH(line13_a_request_in_flight_goes_on_with_the_newer_connection),
        BOTH(line13_a_request_whose_connection_was_lost_is_found_by_its_id),
        BOTH(line13_a_request_that_waits_is_asked_the_same_question),
        BOTH(line13_in_flight_other_params_are_refused_too),
        BOTH(line13_a_cancelled_request_is_not_begun_again),
        BOTH(line13_a_request_that_neither_asked_nor_did_anything_is_run_again),
        SURVIVING(line13_after_a_restart_an_id_still_names_its_call),
        SURVIVING(line13_a_template_that_asked_is_found_after_a_restart),
        SURVIVING(line13_an_end_that_is_no_longer_kept_is_not_called_another_request),
        SURVIVING(a_request_is_cancelled_after_a_restart),
        SURVIVING(the_client_has_an_event_id_before_anything_is_done),
        SURVIVING(a_client_that_comes_back_where_there_is_no_room_is_told_no_end),
        SURVIVING(a_cancelled_request_that_comes_again_is_told_which_steps_were_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
