/*
 * tests/unit/mcp/tasks_hiccup: tasks on a store that fails for a while, loses a reply, or has
 * forgotten.
 *
 * It is the memory store, which pretends to be durable, with some of its operations replaced.
 */
#include "task_talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/id.h"
#include "../runner.h"

static struct store_ops real;
static int failures;              /* so many operations of the kind fail from now on */
static int sent;                  /* times that it was sent */
static char token[2][ID_LEN + 1]; /* the tokens of the first two */

struct failing {
    store_done *done;
    void *data;
};

static int setup_failing(void **state)
{
    setup_survivor(state);
    real = survivor;
    failures = sent = 0;
    return 0;
}

static void fail_later(void *data)
{
    struct failing *failing = data;

    failing->done(failing->data, NOD_E_STORE, &(struct store_reply){ 0 });
    free(failing);
}

/* True: it is one of those that fail. */
static bool fails(store_done *done, void *data)
{
    sent++;
    if (failures == 0)
        return false;
    failures--;
    struct failing *failing = malloc(sizeof(*failing));
    *failing = (struct failing){ done, data };
    loop_defer(world.loop, fail_later, failing);
    return true;
}

static void put_fails(struct store *store, struct str kind, struct str key, struct str value,
                      struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                      void *data)
{
    if (!str_eq(kind, STR("task")) || !fails(done, data))
        real.put(store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void park_fails(struct store *store, const struct park_spec *park, store_done *done,
                       void *data)
{
    if (!fails(done, data))
        real.park(store, park, done, data);
}

static void finish_fails(struct store *store, const struct finish_spec *finish, store_done *done,
                         void *data)
{
    if (!fails(done, data))
        real.finish(store, finish, done, data);
}

static void cancel_fails(struct store *store, struct str cancel_token, struct str call_id,
                         struct str why, store_done *done, void *data)
{
    if (!fails(done, data))
        real.cancel(store, cancel_token, call_id, why, done, data);
}

static void lost(void *data, nod_status status, const struct store_reply *reply)
{
    struct failing *failing = data;

    (void)status;
    failing->done(failing->data, NOD_E_STORE, reply);
    free(failing);
}

/* It happens, and its reply does not arrive. */
static void append_is_lost(struct store *store, const struct append_spec *append, store_done *done,
                           void *data)
{
    if (sent < 2)
        snprintf(token[sent], sizeof(token[0]), STR_FMT, STR_ARG(append->token));
    sent++;
    if (failures == 0) {
        real.append(store, append, done, data);
        return;
    }
    failures--;
    struct failing *failing = malloc(sizeof(*failing));
    *failing = (struct failing){ done, data };
    real.append(store, append, lost, failing);
}

static void finish_is_lost(struct store *store, const struct finish_spec *finish, store_done *done,
                           void *data)
{
    sent++;
    struct failing *failing = malloc(sizeof(*failing));
    *failing = (struct failing){ done, data };
    real.finish(store, finish, lost, failing);
}

static void park_is_lost(struct store *store, const struct park_spec *park, store_done *done,
                         void *data)
{
    sent++;
    if (failures == 0) {
        real.park(store, park, done, data);
        return;
    }
    failures--;
    struct failing *failing = malloc(sizeof(*failing));
    *failing = (struct failing){ done, data };
    real.park(store, park, lost, failing);
}

static void nothing_found(struct store *store, struct str call_id, store_done *done, void *data)
{
    (void)store, (void)call_id;
    done(data, NOD_E_NOT_FOUND, &(struct store_reply){ 0 });
}

static void claim_fails(struct store *store, const struct claim_spec *claim, store_done *done,
                        void *data)
{
    if (!fails(done, data))
        real.claim(store, claim, done, data);
}

struct passing {
    store_done *done;
    void *data;
};

/* As it is left by a node that died before it could say that the client has the id. */
static void pass_unhanded(void *data, nod_status status, const struct store_reply *reply)
{
    struct passing *passing = data;
    struct store_reply shown = *reply;
    struct call_record record;

    if (status == NOD_OK) {
        record = *reply->call;
        record.handed = false;
        shown.call = &record;
    }
    passing->done(passing->data, status, &shown);
    free(passing);
}

static void load_unhanded(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct passing *passing = malloc(sizeof(*passing));

    *passing = (struct passing){ done, data };
    real.load_call(store, call_id, pass_unhanded, passing);
}

static void get_fails(struct store *store, struct str kind, struct str key, store_done *done,
                      void *data)
{
    if (!str_eq(kind, STR("task")) || !fails(done, data))
        real.get(store, kind, key, done, data);
}

/* The pauses between two tries pass. */
static void let_pass(int times)
{
    for (int i = 0; i < times; i++) {
        for (int turn = 0; turn < 4; turn++)
            world_turn(&world);
        world_advance(&world, 2000);
    }
}

/* --- line 9 --- */

static void line09_the_opening_of_a_task_is_sent_again_with_its_token(void **state)
{
    struct talk talk;

    (void)state;
    survivor.append = append_is_lost;
    failures = 1;
    post(&talk, &(struct exchange){ "tools/call", "form", "\"name\":\"form\",\"arguments\":{}" });
    let_pass(2);
    talk_await(&talk, "\"resultType\":\"task\"");
    talk_cut(&talk, "\"taskId\":\"", "\"", id, sizeof(id));
    talk_close(&talk);
    assert_true(sent >= 2);
    assert_string_equal(token[0], token[1]);
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
}

static void line09_not_found_at_the_late_end_of_a_task_is_no_new_beginning(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    assert_int_equal(world.runs, 1);
    world_restart(&world);
    survivor.load_with_asks = NULL;
    survivor.load_call = nothing_found;
    get(id, FAILED);
    assert_non_null(strstr(text, "no longer known"));
    world_turn(&world);
    assert_int_equal(world.runs, 1);
}

/* The record of its call says why the call was cancelled. */
static void an_end_is_final_when_the_record_of_the_task_lags_and_its_time_is_over(void **state)
{
    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    survivor.put = put_fails;
    failures = 1000;
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    world_restart(&world);
    world_advance(&world, 3600000 + 1000);
    get(id, CANCELLED);
}

/* Whoever was told so comes back later, and finds it cancelled, also after a crash. */
static void a_cancel_is_acknowledged_when_it_is_stored(void **state)
{
    struct talk talk;
    char params[128];

    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    survivor.cancel = cancel_fails;
    failures = 1000;
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    post(&talk, &(struct exchange){ "tasks/cancel", id, params });
    let_pass(1);
    assert_true(failures < 1000);
    assert_int_equal(recv(talk.fd, params, 1, MSG_PEEK | MSG_DONTWAIT), -1); /* no reply yet */
    failures = 0;
    let_pass(4);
    talk_await(&talk, ACK);
    talk_close(&talk);
    get(id, CANCELLED);
}

/* It is sent on all the same. */
static void a_cancel_that_is_not_stored_for_long_is_told_503(void **state)
{
    struct talk talk;
    char params[128];

    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    survivor.cancel = cancel_fails;
    failures = 1000;
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    post(&talk, &(struct exchange){ "tasks/cancel", id, params });
    let_pass(4);
    talk_await(&talk, "HTTP/1.1 503");
    talk_await(&talk, "The cancel is sent on");
    talk_close(&talk);
    failures = 0;
    let_pass(4);
    get(id, CANCELLED);
}

/* --- line 12 --- */

static void retry_state(const char *responses, int status, const char *has)
{
    static char params[2 * TEXT_MAX];

    snprintf(params, sizeof(params),
             "\"name\":\"deed\",\"arguments\":{},\"requestState\":\"%s\",\"inputResponses\":%s",
             more, responses);
    expect(&(struct exchange){ "tools/call", "deed", params }, status, has);
}

static void line12_a_call_that_asks_first_waits_for_the_store_and_becomes_its_task(void **state)
{
    (void)state;
    set_task("deed", DETACH_MAY, true);
    survivor.put = put_fails;
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    failures = 3;
    retry_state("{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    WORLD_AWAIT(&world, world.deeds == 1);
    get(id, "done");
    retry_state("{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", other, sizeof(other));
    assert_string_equal(id, other);
    assert_int_equal(world.deeds, 1);
}

static void line12_a_task_waits_for_a_store_that_does_not_take_its_question(void **state)
{
    (void)state;
    survivor.park = park_fails;
    failures = 20;
    begin("form", NULL, id);
    let_pass(12);
    get(id, WORKING);
    has_not("STORE_UNAVAILABLE");
    let_pass(12);
    assert_int_equal(failures, 0);
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
    world_restart(&world);
    get(id, COMPLETED);
}

static void line12_an_end_is_told_after_it_is_stored(void **state)
{
    (void)state;
    survivor.finish = finish_fails;
    begin("form", NULL, id);
    get(id, ASKS);
    failures = 20;
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    let_pass(12);
    get(id, WORKING);
    let_pass(12);
    get(id, COMPLETED);
}

/* The node that works on it is not told that its end is stored. Whoever asks there is. */
static void an_end_that_is_stored_is_told_though_its_reply_was_lost(void **state)
{
    (void)state;
    survivor.shared = true;
    begin("form", NULL, id);
    get(id, ASKS);
    survivor.finish = finish_is_lost;
    sent = 0;
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    WORLD_AWAIT(&world, sent > 0);
    get(id, COMPLETED);
    survivor.get = get_fails; /* while the store cannot be read, it is told what its node knows */
    failures = 1;
    get(id, WORKING);
    assert_int_equal(failures, 0);
    get(id, COMPLETED);
    survivor.finish = real.finish;
}

static void line12_that_the_time_is_over_is_told_after_it_is_stored(void **state)
{
    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    survivor.cancel = cancel_fails;
    failures = 3;
    world_advance(&world, 3600000);
    get(id, "\"status\"");
    has_not(FAILED);
    let_pass(4);
    assert_int_equal(failures, 0);
    get(id, FAILED);
    assert_non_null(strstr(text, "The time to live of the task is over."));
}

/* Another node has shown the question. This node, where the task runs, has not heard of it yet. */
static void an_answer_is_looked_up_whose_question_is_stored_and_not_yet_known_to_be(void **state)
{
    (void)state;
    survivor.shared = true;
    survivor.park = park_is_lost;
    failures = 1;
    sent = 0;
    begin("form", NULL, id);
    WORLD_AWAIT(&world, sent > 0);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    let_pass(4);
    get(id, COMPLETED);
    survivor.park = real.park;
}

static void line12_a_late_answer_is_ignored(void **state)
{
    (void)state;
    begin("pair", NULL, id);
    get(id, ASKS);
    update(id, "{\"first\":" AGE("1") "}", 200, ACK);
    update(id, "{\"first\":" AGE("1") "}", 200, ACK); /* the same, sent again */
    update(id, "{\"first\":" AGE("2") "}", 200, ACK);
    update(id, "{\"never\":" AGE("2") "}", 200, ACK);
    update(id, "{\"second\":" AGE("2") "}", 200, ACK);
    get(id, "both");
    update(id, "{\"second\":" AGE("3") "}", 200, ACK);
    get(id, "both");
    update(id, "{\"second\":" AGE("2") "}", 200, ACK);

    begin("form", NULL, id);
    cancel(id);
    get(id, CANCELLED);
    update(id, "{\"#1\":" AGE("2") "}", 200, ACK);
}

static void line12_a_store_that_cannot_be_read_does_not_say_that_a_call_is_no_task(void **state)
{
    (void)state;
    world.opts.secret = "0123456789abcdef0123456789abcdef";
    world_restart(&world); /* with a key that outlives it, too */
    set_task("deed", DETACH_MAY, true);
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry_state("{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    WORLD_AWAIT(&world, world.deeds == 1);
    get(id, COMPLETED);
    world_restart(&world);
    survivor.get = get_fails;
    failures = 1;
    retry_state("{\"age\":" AGE("7") "}", 503, "try again later");
    assert_int_equal(failures, 0);
    retry_state("{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", other, sizeof(other));
    assert_string_equal(id, other);
    assert_int_equal(world.deeds, 1);
}

/* Sent, and the pauses between the tries of the store pass. */
static void told_503(const char *method, const char *task, const char *further)
{
    struct talk talk;
    char params[512];

    snprintf(params, sizeof(params), "\"taskId\":\"%s\"%s", task, further);
    post(&talk, &(struct exchange){ method, task, params });
    let_pass(8);
    talk_await_end(&talk);
    if (!talk_has(&talk, "HTTP/1.1 503 ") || !talk_has(&talk, "Retry-After: ") ||
        !talk_has(&talk, "\"code\":-32603"))
        fail_msg("%s: %.*s", method, (int)talk.got.len, talk.got.at);
    talk_close(&talk);
}

static void whoever_asks_for_a_task_is_told_503_while_the_store_is_away(void **state)
{
    static const char answer[] = ",\"inputResponses\":{\"#1\":" AGE("7") "}";

    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    world_restart(&world);
    survivor.get = get_fails;
    failures = 3;
    told_503("tasks/get", id, "");
    told_503("tasks/update", id, answer);
    told_503("tasks/cancel", id, "");
    assert_int_equal(failures, 0);
    world.store_away = "claim"; /* the task can be read */
    told_503("tasks/update", id, answer);
    world.store_away = NULL;
}

static void line12_an_answer_is_not_taken_for_an_offer_that_came_after_it(void **state)
{
    char params[512];
    struct talk talk;

    (void)state;
    begin("form", NULL, id);
    update(id, "{\"#1\":" AGE("\"old\"") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"#2:#1\":");
    survivor.claim = claim_fails;
    failures = 1;
    snprintf(params, sizeof(params),
             "\"taskId\":\"%s\",\"inputResponses\":{\"#2:#1\":" AGE("7") "}", id);
    post(&talk, &(struct exchange){ "tasks/update", id, params });
    WORLD_AWAIT(&world, failures == 0);
    update(id, "{\"#2:#1\":" AGE("false") "}", 200, ACK); /* is faster */
    get(id, "\"inputRequests\":{\"#3:#1\":");
    let_pass(2);
    talk_await(&talk, ACK);
    talk_close(&talk);
    get(id, "\"inputRequests\":{\"#3:#1\":");
    update(id, "{\"#3:#1\":" AGE("8") "}", 200, ACK);
    get(id, "accepted {'age':8}");
}

static void note_state(void *data, nod_status status, const struct store_reply *reply)
{
    *(int *)data = status == NOD_OK ? (int)reply->call->state : -2;
}

static int stored_state(const char *call_id)
{
    static int state; /* another's to change, so that the compiler sees why it is awaited */

    state = -1;
    real.load_call(world.store, str_of(call_id), note_state, &state);
    WORLD_AWAIT(&world, state != -1);
    return state;
}

/* While a server shuts down: what it has not begun is left to whoever comes next. */
static void line12_a_task_that_was_left_is_not_failed_by_the_clock(void **state)
{
    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    engine_stop(world.engine);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    for (int i = 0; i < 10; i++)
        world_turn(&world);
    get(id, WORKING);
    world_advance(&world, 3600000);
    get(id, WORKING);
    assert_int_equal(stored_state(id), CALL_STORED_RUNNABLE);
    world_restart(&world); /* the next one goes on with it */
    WORLD_AWAIT(&world, stored_state(id) == CALL_STORED_FINISHED);
    get(id, COMPLETED);
}

/* --- line 2 --- */

static void line02_a_node_without_the_tool_fails_no_task_of_another(void **state)
{
    struct target *hold = catalog_find(world.catalog, TARGET_TOOL, STR("hold"));

    (void)state;
    survivor.shared = true;
    begin("hold", NULL, id);
    WORLD_AWAIT(&world, world.held);
    world_restart(&world);
    survivor.load_call = load_unhanded;
    catalog_remove(world.catalog, hold);
    get(id, WORKING);
    for (int i = 0; i < 10; i++)
        world_turn(&world);
    get(id, WORKING);
    assert_int_equal(catalog_add(world.catalog, hold), NOD_OK);
    get(id, WORKING); /* and whoever has it goes on with it */
}

static void that_the_tool_of_a_task_is_gone_is_told_when_it_is_stored(void **state)
{
    struct talk talk;
    char params[128], byte;

    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    world_restart(&world);
    catalog_remove(world.catalog, catalog_find(world.catalog, TARGET_TOOL, STR("form")));
    survivor.cancel = cancel_fails;
    failures = 4;
    sent = 0;
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    post(&talk, &(struct exchange){ "tasks/get", id, params });
    WORLD_AWAIT(&world, sent > 0);
    for (int i = 0; i < 10; i++)
        world_turn(&world);
    assert_int_equal(recv(talk.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    failures = 0;
    world_advance(&world, 10000);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, COMPLETED)); /* as in the process that knew the tool */
    assert_true(talk_has(&talk, "TOOL_GONE"));
    talk_close(&talk);
    assert_int_equal(stored_state(id), CALL_STORED_CANCELLED);
}

/* --- the server goes, and the store has not replied --- */

/* Sends a request about the task, which the server has not ended when it goes. */
static void leave_behind(struct talk *talk, const char *method)
{
    char params[128];

    sent = 0;
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    post(talk, &(struct exchange){ method, id, params });
    WORLD_AWAIT(&world, sent > 0);
    for (int i = 0; i < 10; i++)
        world_turn(&world);
    talk_close(talk);
}

static void the_server_goes_while_a_cancel_of_a_shown_task_is_on_its_way(void **state)
{
    struct talk talk;

    (void)state;
    survivor.shared = true;
    begin("form", NULL, id);
    get(id, ASKS);
    world_restart(&world);
    survivor.cancel = cancel_fails;
    failures = 1000;
    leave_behind(&talk, "tasks/cancel");
}

static void the_server_goes_while_the_end_of_a_gone_task_is_on_its_way(void **state)
{
    struct talk talk;

    (void)state;
    begin("form", NULL, id);
    get(id, ASKS);
    world_restart(&world);
    catalog_remove(world.catalog, catalog_find(world.catalog, TARGET_TOOL, STR("form")));
    survivor.cancel = cancel_fails;
    failures = 1000;
    leave_behind(&talk, "tasks/get");
}

static void the_server_goes_while_the_record_of_a_task_waits_for_the_store(void **state)
{
    struct talk talk;
    char params[4096];

    (void)state;
    set_task("deed", DETACH_MAY, true);
    survivor.put = put_fails;
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    failures = 1000;
    sent = 0;
    snprintf(params, sizeof(params),
             "\"name\":\"deed\",\"arguments\":{},\"requestState\":\"%.3000s\","
             "\"inputResponses\":{\"age\":" AGE("7") "}",
             more);
    post(&talk, &(struct exchange){ "tools/call", "deed", params });
    WORLD_AWAIT(&world, sent > 1);
    talk_close(&talk);
}

#define FAILING(name) cmocka_unit_test_setup_teardown(name, setup_failing, teardown)
#define PLAINLY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(tasks_hiccup)
{
    const struct CMUnitTest tests[] = {
        FAILING(line09_the_opening_of_a_task_is_sent_again_with_its_token),
        FAILING(line09_not_found_at_the_late_end_of_a_task_is_no_new_beginning),
        FAILING(an_end_is_final_when_the_record_of_the_task_lags_and_its_time_is_over),
        FAILING(a_cancel_is_acknowledged_when_it_is_stored),
        FAILING(a_cancel_that_is_not_stored_for_long_is_told_503),
        FAILING(line12_a_call_that_asks_first_waits_for_the_store_and_becomes_its_task),
        FAILING(line12_a_task_waits_for_a_store_that_does_not_take_its_question),
        FAILING(line12_an_end_is_told_after_it_is_stored),
        FAILING(an_end_that_is_stored_is_told_though_its_reply_was_lost),
        FAILING(line12_that_the_time_is_over_is_told_after_it_is_stored),
        FAILING(an_answer_is_looked_up_whose_question_is_stored_and_not_yet_known_to_be),
        FAILING(line12_a_late_answer_is_ignored),
        FAILING(line12_a_store_that_cannot_be_read_does_not_say_that_a_call_is_no_task),
        FAILING(whoever_asks_for_a_task_is_told_503_while_the_store_is_away),
        FAILING(line12_an_answer_is_not_taken_for_an_offer_that_came_after_it),
        FAILING(line12_a_task_that_was_left_is_not_failed_by_the_clock),
        FAILING(line02_a_node_without_the_tool_fails_no_task_of_another),
        FAILING(that_the_tool_of_a_task_is_gone_is_told_when_it_is_stored),
        FAILING(the_server_goes_while_a_cancel_of_a_shown_task_is_on_its_way),
        FAILING(the_server_goes_while_the_end_of_a_gone_task_is_on_its_way),
        FAILING(the_server_goes_while_the_record_of_a_task_waits_for_the_store),
        PLAINLY(line12_a_late_answer_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
