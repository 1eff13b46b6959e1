/* tests/unit/core/needs: values that a run needs and the journal must not hold. */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/need.h"
#include "../runner.h"

/* A source that answers when the test says so, or at once. */
static struct {
    struct need *waiting[8];
    size_t count;
    int fetched, dropped;
    bool at_once;
    nod_status status; /* at once */
    const char *value;
    char asked_for[128];
} source;

static void source_fetch(struct need_source *from, struct need *need)
{
    (void)from;
    source.fetched++;
    snprintf(source.asked_for, sizeof(source.asked_for),
             STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(need->principal),
             STR_ARG(need->tool), STR_ARG(need->spec.name), STR_ARG(need->spec.detail));
    if (source.at_once)
        need_done(need, source.status, str_of(source.value), STR("the source is broken"));
    else
        source.waiting[source.count++] = need;
}

static void source_dropped(struct need_source *from, struct need *need)
{
    (void)from;
    source.dropped++;
    for (size_t i = 0; i < source.count; i++)
        if (source.waiting[i] == need)
            source.waiting[i] = source.waiting[--source.count];
}

static struct need_source vault = { .name = "vault",
                                    .fetch = source_fetch,
                                    .dropped = source_dropped };

static struct world w;
static const char *given_at; /* where the last value was */

static nod_status uses(struct run *run, const char *name, char *out, size_t room)
{
    struct str value;

    NOD_TRY(run_need(
        run,
        &(struct need_spec){ .source = STR("vault"), .name = str_of(name), .detail = STR("read") },
        &value));
    given_at = value.at;
    assert_int_equal(value.at[value.len], 0);
    snprintf(out, room, STR_FMT, STR_ARG(value));
    return NOD_OK;
}

static nod_status says_one(struct run *run, struct str *body)
{
    char value[64];

    NOD_TRY(uses(run, "pin", value, sizeof(value)));
    *body = arena_fmt(&run->arena, "{\"said\":\"%s\"}", value);
    return NOD_OK;
}

static int begin(void **state)
{
    (void)state;
    memset(&source, 0, sizeof(source));
    source.status = NOD_OK;
    source.value = "1234";
    given_at = NULL;
    world_init(&w, &(struct world_opts){ .handler = says_one });
    assert_true(engine_add_need_source(w.engine, &vault));
    assert_false(engine_add_need_source(w.engine, &vault));
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_finish(&w);
    assert_int_equal(source.count, 0); /* whoever waited was told that it need not */
    return 0;
}

/* Its pages are gone, and were wiped before that. */
static bool is_gone(const char *at)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    errno = 0;
    return msync((void *)((uintptr_t)at & ~(page - 1)), 1, MS_ASYNC) != 0 && errno == ENOMEM;
}

static void comes(nod_status status, const char *value)
{
    struct need *need = source.waiting[--source.count];

    need_done(need, status, str_of(value), STR("the source is broken"));
    world_advance(&w, 0);
}

static void a_value_is_fetched_and_the_target_runs_again_with_it(void **state)
{
    (void)state;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    world_settle(&w);
    assert_int_equal(w.runs, 1);
    assert_int_equal(caller->finished, 0);
    assert_string_equal(source.asked_for, "ada/tool/pin/read");
    comes(NOD_OK, "1234");
    assert_int_equal(w.runs, 2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"said\":\"1234\"}");
    assert_true(is_gone(given_at));
    assert_int_equal(source.dropped, 0);
}

static void a_source_may_answer_at_once(void **state)
{
    (void)state;
    source.at_once = true;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    world_advance(&w, 0);
    assert_int_equal(w.runs, 2);
    assert_string_equal(caller->body, "{\"said\":\"1234\"}");
}

static void the_time_of_waiting_for_it_is_no_work(void **state)
{
    (void)state;
    w.target.timeout_ms = 1000;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    world_advance(&w, 60000);
    assert_int_equal(caller->finished, 0);
    comes(NOD_OK, "1234");
    assert_int_equal(caller->status, NOD_OK);
}

static void why_there_is_none_is_told(void **state)
{
    (void)state;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    comes(NOD_E_STORE, NULL);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_STORE);
    assert_string_equal(caller->message, "the source is broken");

    caller = world_call(&w, "ada", "ada"); /* a source that says nothing that makes sense */
    comes(NOD_PENDING, NULL);
    assert_int_equal(caller->status, NOD_E_FAILED);
}

static void a_value_that_is_too_large_is_refused(void **state)
{
    static char large[HIDDEN_MAX + 2];

    (void)state;
    memset(large, 'x', HIDDEN_MAX + 1);
    struct world_caller *caller = world_call(&w, "ada", "ada");
    comes(NOD_OK, large);
    assert_int_equal(caller->status, NOD_E_LIMIT);
}

static nod_status of_nobody(struct run *run, struct str *body)
{
    struct str value;

    (void)body;
    return run_need(run, &(struct need_spec){ .source = STR("nowhere"), .name = STR("pin") },
                    &value);
}

static void a_source_that_is_not_there_is_a_failure(void **state)
{
    (void)state;
    w.handler = of_nobody;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    world_advance(&w, 0);
    assert_int_equal(caller->status, NOD_E_NOT_SUPPORTED);
}

static void a_cancelled_call_waits_for_no_value(void **state)
{
    (void)state;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&w);
    assert_int_equal(source.dropped, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    assert_int_equal(w.runs, 1);

    /* it has come, and the run has not begun */
    caller = world_call(&w, "ada", "ada");
    need_done(source.waiting[--source.count], NOD_OK, STR("1234"), STR_NONE);
    call_cancel(caller->caller.call, STR("enough"));
    world_advance(&w, 0);
    assert_int_equal(source.dropped, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    assert_int_equal(w.runs, 2);
}

static void a_node_that_stops_does_not_wait_for_it(void **state)
{
    (void)state;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    engine_stop(w.engine);
    world_advance(&w, 0);
    assert_int_equal(source.dropped, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED); /* only this process knew the call */
}

/* Both values, an effect, a question, and both values again. */
static nod_status works(struct run *run, struct str *body)
{
    const struct entry *answer;
    char one[64], other[64];

    NOD_TRY(uses(run, "one", one, sizeof(one)));
    NOD_TRY(uses(run, "other", other, sizeof(other)));
    NOD_TRY(world_step(run, world_now, "effect", false));
    NOD_TRY(world_ask(run, NULL, "Go on?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"said\":\"%s %s\"}", one, other);
    return NOD_OK;
}

static void every_run_is_given_them_anew_and_no_effect_happens_twice(void **state)
{
    (void)state;
    w.handler = works;
    source.at_once = true;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    world_advance(&w, 0);
    world_advance(&w, 0);
    assert_int_equal(w.steps_done, 1);
    assert_non_null(world_up(&w));
    assert_true(is_gone(given_at)); /* while a person thinks, nobody has them */
    assert_int_equal(source.fetched, 4);
    source.value = "5678"; /* it was changed meanwhile: the journal does not know */
    world_answer(&w, world_up(&w)->id, ASK_ACCEPTED, "{\"n\":1}", "ada", 0);
    world_advance(&w, 0);
    world_advance(&w, 0);
    assert_int_equal(source.fetched, 6);
    assert_int_equal(w.steps_done, 1);
    assert_string_equal(caller->body, "{\"said\":\"5678 5678\"}");
}

static nod_status works_at_most_once(struct run *run, struct str *body)
{
    char one[64];

    NOD_TRY(uses(run, "one", one, sizeof(one)));
    NOD_TRY(world_step(run, world_now, "effect", true));
    *body = STR("{}");
    return NOD_OK;
}

static void a_step_at_most_once_is_done_with_it(void **state)
{
    (void)state;
    w.handler = works_at_most_once;
    source.at_once = true;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    for (int i = 0; i < 4; i++)
        world_advance(&w, 0);
    assert_int_equal(caller->status, NOD_OK);
    assert_int_equal(w.steps_done, 1);
}

static nod_status asks_if_there_is_none(struct run *run, struct str *body)
{
    const struct entry *answer;
    char one[64];
    nod_status status = uses(run, "one", one, sizeof(one));

    if (status == NOD_E_NOT_FOUND) {
        NOD_TRY(world_ask(run, "give", "Give it", world_ask_form, &answer));
        return run_fail(run, NOD_E_REFUSED, NULL, STR("asked, and still none"));
    }
    NOD_TRY(status);
    *body = arena_fmt(&run->arena, "{\"said\":\"%s\"}", one);
    return NOD_OK;
}

static void a_person_is_asked_for_what_is_not_there(void **state)
{
    (void)state;
    w.handler = asks_if_there_is_none;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    comes(NOD_E_NOT_FOUND, NULL);
    assert_non_null(world_up_key(&w, "give"));
    world_answer(&w, world_up(&w)->id, ASK_ACCEPTED, "{\"n\":1}", "ada", 0);
    assert_int_equal(caller->finished, 0);
    comes(NOD_OK, "1234");
    assert_string_equal(caller->body, "{\"said\":\"1234\"}");
}

static nod_status wants_many(struct run *run, struct str *body)
{
    char name[32], value[64];

    for (int i = 0; i <= NEEDS_OF_RUN_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        NOD_TRY(uses(run, name, value, sizeof(value)));
    }
    *body = STR("{}");
    return NOD_OK;
}

static void there_is_a_bound(void **state)
{
    (void)state;
    w.handler = wants_many;
    source.at_once = true;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    for (int i = 0; i < 2 * NEEDS_OF_RUN_MAX; i++)
        world_advance(&w, 0);
    assert_int_equal(caller->status, NOD_E_LIMIT);
    assert_int_equal(source.fetched, NEEDS_OF_RUN_MAX);
}

static void a_run_that_outlives_its_call_keeps_its_values_until_it_ends(void **state)
{
    char value[64];

    (void)state;
    struct world_caller *caller = world_call(&w, "ada", "ada");
    w.blocking = true; /* the next run is with its provider */
    comes(NOD_OK, "1234");
    assert_non_null(w.held);
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&w);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    assert_int_equal(uses(w.held, "pin", value, sizeof(value)), NOD_OK);
    assert_string_equal(value, "1234");
    struct run *run = w.held;
    w.held = NULL;
    run_done(run, NOD_OK, STR("{}"));
    assert_true(is_gone(given_at));
}

static void an_engine_that_goes_drops_what_is_being_fetched(void **state)
{
    (void)state;
    world_call(&w, "ada", "ada");
    assert_int_equal(source.count, 1);
    /* and end() looks that nobody waits */
}

SUBJECT(needs)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_value_is_fetched_and_the_target_runs_again_with_it),
        TEST(a_source_may_answer_at_once),
        TEST(the_time_of_waiting_for_it_is_no_work),
        TEST(why_there_is_none_is_told),
        TEST(a_value_that_is_too_large_is_refused),
        TEST(a_source_that_is_not_there_is_a_failure),
        TEST(a_cancelled_call_waits_for_no_value),
        TEST(a_node_that_stops_does_not_wait_for_it),
        TEST(every_run_is_given_them_anew_and_no_effect_happens_twice),
        TEST(a_step_at_most_once_is_done_with_it),
        TEST(a_person_is_asked_for_what_is_not_there),
        TEST(there_is_a_bound),
        TEST(a_run_that_outlives_its_call_keeps_its_values_until_it_ends),
        TEST(an_engine_that_goes_drops_what_is_being_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
