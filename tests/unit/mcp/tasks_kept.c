/*
 * tests/unit/mcp/tasks_kept: who is told of tasks, how many are kept, and what is left of them
 * after a restart.
 */
#include "task_talk.h"
#include "../runner.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/inside.h"

/* --- listening --- */

static void listen_to(struct talk *talk, const char *ids)
{
    char params[512];

    snprintf(params, sizeof(params), "\"notifications\":{\"taskIds\":%s}", ids);
    post(talk, &(struct exchange){ "subscriptions/listen", NULL, params, .token = token_now });
    talk_await(talk, "notifications/subscriptions/acknowledged");
}

static void listeners_are_told_the_whole_task(void **state)
{
    struct talk talk;
    char ids[128];

    (void)state;
    begin("form", NULL, id);
    snprintf(ids, sizeof(ids), "[\"%s\",\"nobody\"]", id);
    listen_to(&talk, ids);
    snprintf(ids, sizeof(ids), "\"notifications\":{\"taskIds\":[\"%s\"]}", id);
    talk_await(&talk, ids); /* the one that is there */
    talk_await(&talk, ASKS);

    /* What it is told is what tasks/get says. */
    get(id, ASKS);
    cut_task(more);
    talk_await(&talk, more);

    update(id, "{\"#1\":" AGE("\"x\"") "}", 200, ACK);
    talk_await(&talk, "#2:#1");
    update(id, "{\"#2:#1\":" AGE("7") "}", 200, ACK);
    talk_await(&talk, COMPLETED);
    get(id, COMPLETED);
    cut_task(more);
    assert_true(talk_has(&talk, more));
    assert_true(talk_has(&talk, "\"method\":\"notifications/tasks\",\"params\":{\"_meta\":{"
                                "\"io.modelcontextprotocol/subscriptionId\":1}"));
    assert_false(talk_has(&talk, "notifications/progress"));
    assert_false(talk_has(&talk, "notifications/message"));
    talk_close(&talk);
}

static void a_listener_that_comes_late_is_told_how_it_is(void **state)
{
    struct talk talk;
    char ids[128];

    (void)state;
    begin("talk", NULL, id);
    snprintf(ids, sizeof(ids), "[\"%s\"]", id);
    listen_to(&talk, ids);
    talk_await(&talk, COMPLETED);
    talk_close(&talk);
}

static void listeners_hear_of_their_own_tasks_only(void **state)
{
    struct talk talk;
    char ids[128];

    (void)state;
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    begin("form", NULL, id);
    token_now = "bbbbbbbbbbbbbbbbbbbb";
    snprintf(ids, sizeof(ids), "[\"%s\"]", id);
    listen_to(&talk, ids);
    assert_false(talk_has(&talk, "taskIds"));
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
    assert_false(talk_has(&talk, "notifications/tasks"));
    talk_close(&talk);
    token_now = NULL;
}

static void listening_to_tasks_needs_the_extension(void **state)
{
    (void)state;
    expect(&(struct exchange){ "subscriptions/listen", NULL, "\"notifications\":{\"taskIds\":[]}",
                               WITHOUT },
           400, MISSING);
    expect(&(struct exchange){ "subscriptions/listen", NULL, "\"notifications\":{\"taskIds\":7}" },
           200, "-32602");
}

/* --- limits --- */

static void a_principal_may_have_so_many_tasks_and_fetched_ones_make_room(void **state)
{
    static const struct exchange one_more = { "tools/call", "form",
                                              "\"name\":\"form\",\"arguments\":{}" };

    (void)state;
    begin("echo", "{\"text\":\"x\"}", other);
    for (int i = 0; i < 999; i++)
        begin("form", NULL, id);
    expect(&one_more, 429, "You have as many tasks here as one principal may have (");
    get(other, COMPLETED); /* it has ended, and now it was fetched, too: it makes room */
    begin("form", NULL, id);
    of_task("tasks/get", other, NULL, 200, UNKNOWN);
    expect(&one_more, 429, "You have as many tasks here as one principal may have (");
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 999);
    begin("form", NULL, id);
}

/* --- what the store is told --- */

static int marks;

static void count_mark(struct store *store, struct str call_id, store_done *done, void *data)
{
    (void)store, (void)done, (void)data; /* it is never over */
    assert_true(str_eq(call_id, str_of(id)));
    marks++;
}

static void the_store_is_told_once_of_an_end_that_is_fetched_again_and_again(void **state)
{
    (void)state;
    marks = 0;
    survivor.fetched = count_mark;
    begin("echo", "{\"text\":\"x\"}", id);
    for (int i = 0; i < 100; i++)
        get(id, COMPLETED);
    assert_int_equal(marks, 1);
}

/* --- after the process --- */

static void a_task_that_waits_outlives_the_process(void **state)
{
    (void)state;
    begin("form", NULL, id);
    update(id, "{\"#1\":" AGE("\"old\"") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"#2:#1\":");
    world_restart(&world);
    get(id, ASKS);
    assert_non_null(strstr(text, "\"inputRequests\":{\"#2:#1\":"));
    assert_non_null(strstr(text, "Your last answer could not be used"));
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, ASKS);
    world_restart(&world);
    update(id, "{\"#2:#1\":" AGE("7") "}", 200, ACK); /* the first that is heard of it */
    get(id, "accepted {'age':7}");
}

/* It has not failed: whoever comes when there is room again finds it. */
static void a_task_for_which_there_is_no_room_goes_on_later(void **state)
{
    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    world_restart(&world);
    size_t usual = world.engine->opts.limits.calls;
    world.engine->opts.limits.calls = 0;
    for (int i = 0; i < 2; i++)
        of_task("tasks/get", id, NULL, 503, "no room for the task now");
    update(id, "{\"#1\":" AGE("7") "}", 503, "no room for the task now");
    of_task("tasks/cancel", id, NULL, 503, "no room for the task now");
    world.engine->opts.limits.calls = usual;
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
}

static void a_result_outlives_the_process(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"lasting\"}", id);
    begin("hold", NULL, other);
    cancel(other);
    get(id, COMPLETED);
    memcpy(more, text, sizeof(more));
    world_restart(&world);
    get(id, COMPLETED);
    assert_string_equal(strstr(text, "\"taskId\""), strstr(more, "\"taskId\""));
    get(other, CANCELLED);
    cancel(id);
    world_advance(&world, 3600000);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
    world_restart(&world);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

static void a_call_that_runs_is_not_begun_a_second_time(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    assert_int_equal(world.runs, 1);
    world_restart(&world);
    get(id, WORKING); /* the store takes the node that began it for alive */
    for (int i = 0; i < 10; i++)
        world_turn(&world);
    assert_int_equal(world.runs, 1);
}

static void a_task_that_is_cancelled_after_the_process_is_cancelled(void **state)
{
    (void)state;
    begin("form", NULL, id);
    world_restart(&world);
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, CANCELLED);
    world_restart(&world);
    get(id, CANCELLED);
}

struct failing {
    store_done *done;
    void *data;
};

static void fail_later(void *data)
{
    struct failing *failing = data;

    failing->done(failing->data, NOD_E_STORE, &(struct store_reply){ 0 });
    free(failing);
}

static void put_fails(struct store *store, struct str kind, struct str key, struct str value,
                      struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                      void *data)
{
    struct failing *failing = malloc(sizeof(*failing));

    (void)store, (void)kind, (void)key, (void)value, (void)whose, (void)version, (void)ttl_ms;
    *failing = (struct failing){ done, data };
    loop_defer(world.loop, fail_later, failing);
}

static void a_task_that_cannot_be_stored_is_not_given_out(void **state)
{
    (void)state;
    survivor.put = put_fails;
    expect(&(struct exchange){ "tools/call", "hold", "\"name\":\"hold\",\"arguments\":{}" }, 503,
           "The task could not be stored");
    has_not("taskId");
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    set_task("deed", DETACH_MAY, true);
    expect(
        &(struct exchange){
            "tools/call", "deed",
            "\"name\":\"deed\",\"arguments\":{},\"inputResponses\":{\"age\":" AGE("7") "}" },
        503, "The task could not be stored");
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    assert_int_equal(world.deeds, 0);
}

static struct failing *kept_back;

static void put_is_kept_back(struct store *store, struct str kind, struct str key, struct str value,
                             struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                             void *data)
{
    (void)store, (void)kind, (void)key, (void)value, (void)whose, (void)version, (void)ttl_ms;
    assert_null(kept_back);
    kept_back = malloc(sizeof(*kept_back));
    *kept_back = (struct failing){ done, data };
}

static void a_record_may_be_stored_while_the_server_is_taken_apart(void **state)
{
    struct talk talk;

    (void)state;
    survivor.put = put_is_kept_back;
    post(&talk, &(struct exchange){ "tools/call", "hold", "\"name\":\"hold\",\"arguments\":{}" });
    WORLD_AWAIT(&world, kept_back);
    loop_defer(world.loop, fail_later, kept_back);
    kept_back = NULL;
    survivor.put = put_fails;
    world_restart(&world);
    talk_close(&talk);
}

static void shutting_down_waits_for_a_task_that_works(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    begin("form", NULL, other); /* one that waits for a person is not waited for */
    world_drain(&world, PATIENCE_MS);
    for (int i = 0; i < 20; i++)
        world_turn(&world);
    assert_false(world.ended);
    world_let_go(&world);
    WORLD_AWAIT(&world, world.ended);
}

static void asking_first_outlives_the_process(void **state)
{
    (void)state;
    set_task("deed", DETACH_MAY, true);
    expect(
        &(struct exchange){
            "tools/call", "deed",
            "\"name\":\"deed\",\"arguments\":{},\"inputResponses\":{\"age\":" AGE("7") "}" },
        200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    world_restart(&world);
    get(id, "done");
    assert_int_equal(world.deeds, 1);
}

#define PLAINLY(name)     cmocka_unit_test_setup_teardown(name, setup, teardown)
#define WITH_TOKENS(name) cmocka_unit_test_setup_teardown(name, setup_tokens, teardown_tokens)
#define SURVIVING(name)   cmocka_unit_test_setup_teardown(name, setup_survivor, teardown)

SUBJECT(tasks_kept)
{
    const struct CMUnitTest tests[] = {
        PLAINLY(listeners_are_told_the_whole_task),
        PLAINLY(a_listener_that_comes_late_is_told_how_it_is),
        WITH_TOKENS(listeners_hear_of_their_own_tasks_only),
        PLAINLY(listening_to_tasks_needs_the_extension),
        PLAINLY(a_principal_may_have_so_many_tasks_and_fetched_ones_make_room),
        SURVIVING(the_store_is_told_once_of_an_end_that_is_fetched_again_and_again),
        SURVIVING(a_task_that_waits_outlives_the_process),
        SURVIVING(a_task_for_which_there_is_no_room_goes_on_later),
        SURVIVING(a_result_outlives_the_process),
        SURVIVING(a_call_that_runs_is_not_begun_a_second_time),
        SURVIVING(a_task_that_is_cancelled_after_the_process_is_cancelled),
        SURVIVING(asking_first_outlives_the_process),
        SURVIVING(a_task_that_cannot_be_stored_is_not_given_out),
        SURVIVING(a_record_may_be_stored_while_the_server_is_taken_apart),
        PLAINLY(shutting_down_waits_for_a_task_that_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
