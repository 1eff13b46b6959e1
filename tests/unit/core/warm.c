/* tests/unit/core/warm: a call that was left waiting is at hand until something happens to it. */
#include "loaded.h"

#include "core/inside.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static struct caller_ops carrying; /* a caller's that tells its client how to come back */
static char call_name[ID_LEN + 1];

static nod_status asks_twice(struct run *run, struct str *body)
{
    const struct entry *first, *second;

    NOD_TRY(world_ask(run, "a", "How many?", world_ask_form, &first));
    NOD_TRY(world_ask(run, "b", "And now?", world_ask_form, &second));
    *body =
        arena_fmt(&run->arena, "{\"first\":\"" STR_FMT "\",\"second\":\"" STR_FMT "\"}",
                  STR_ARG(ask_state_name(first->state)), STR_ARG(ask_state_name(second->state)));
    return NOD_OK;
}

static struct world_caller *caller_new(enum caller_way way)
{
    struct world_caller *caller = world_caller_new(&world);

    carrying = *caller->caller.ops;
    carrying.carries = true;
    caller->caller.ops = &carrying;
    caller->way = way;
    return caller;
}

/* The callers of a world are few: one that is done is used again. */
static void call_and_leave(struct world_caller *caller, const struct json *args)
{
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .args = args,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    assert_null(caller->caller.call);
}

static void begin(const struct world_opts *opts)
{
    struct world_opts with = opts ? *opts : (struct world_opts){ 0 };

    with.handler = asks_twice;
    world_init(&world, &with);
    call_and_leave(caller_new(CALLER_LEAVES), NULL);
}

static struct call *warm(void)
{
    return engine_warm(world.engine, str_of(call_name));
}

static struct world_caller *come_back(enum caller_way way)
{
    struct world_caller *back = caller_new(way);
    struct call *call = warm();

    assert_non_null(call);
    engine_adopt_warm(world.engine, call,
                      &(struct adopt_spec){ .target = &world.target, .caller = &back->caller });
    world_settle(&world);
    return back;
}

static void answer(const char *id)
{
    world_answer(&world, id, ASK_ACCEPTED, "{\"n\":3}", "ann", 0);
}

static const char *pending(const struct world_caller *caller)
{
    return ask_record(call_ask_first(caller->caller.call))->id.at;
}

/* The id of the pending ask, from the store. */
static void stored_ask(char id[ID_LEN + 1])
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    assert_int_equal(loaded.ask_count, 1);
    snprintf(id, ID_LEN + 1, STR_FMT, STR_ARG(loaded.asks[0].id));
    loaded_forget(&loaded);
}

/* --- what it is --- */

static void a_warm_call_counts_for_nothing_and_holds_no_target(void **state)
{
    (void)state;
    begin(NULL);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    assert_int_equal(world.target.in_use, 0);
    assert_null(engine_find(world.engine, str_of(call_name)));
    assert_true(engine_deadline(world.engine) == INT64_MAX);
    assert_non_null(warm());
    world_finish(&world);
}

static void it_comes_back_is_answered_and_is_warm_again_in_its_next_round(void **state)
{
    (void)state;
    begin(NULL);
    struct world_caller *back = come_back(CALLER_CARRIES);
    assert_int_equal(back->asked, 1);
    assert_null(warm());
    assert_int_equal(engine_pending(world.engine), 1);
    assert_int_equal(world.target.in_use, 1);
    back->way = CALLER_LEAVES; /* when it asks for the second time */
    answer(pending(back));
    assert_int_equal(world.last.status, NOD_OK);

    struct call_record record = call_warm_record(warm(), &world.target);
    assert_int_equal(record.entry_count, 1);
    assert_int_equal(record.state, CALL_STORED_WAITING);
    back = come_back(CALLER_CARRIES);
    answer(pending(back));
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"first\":\"accepted\",\"second\":\"accepted\"}");
    assert_int_equal(world.runs, 3);
    assert_null(warm());
    world_finish(&world);
}

static void its_record_is_what_the_store_has(void **state)
{
    static struct loaded loaded;

    (void)state;
    begin(NULL);
    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    struct call *call = warm();
    struct call_record record = call_warm_record(call, &world.target);
    const struct ask_record *ask = ask_record(call_ask_first(call));
    assert_true(str_eq(record.principal, loaded.call.principal));
    assert_true(str_eq(record.args, loaded.call.args));
    assert_int_equal(record.state, loaded.call.state);
    assert_int_equal(record.epoch, loaded.call.epoch);
    assert_int_equal(record.entry_count, loaded.call.entry_count);
    assert_int_equal(loaded.ask_count, 1);
    assert_true(str_eq(ask->id, loaded.asks[0].id));
    assert_true(str_eq(ask->detail, loaded.asks[0].detail));
    assert_int_equal(ask->asked_ms, loaded.asks[0].asked_ms);
    assert_int_equal(ask->expires_ms, loaded.asks[0].expires_ms);
    loaded_forget(&loaded);
    world_finish(&world);
}

static void time_goes_on_for_its_questions(void **state)
{
    (void)state;
    begin(&(struct world_opts){ .ttl_ms = 5000 });
    world_advance(&world, 4000);
    struct world_caller *back = come_back(CALLER_CARRIES);
    world_advance(&world, 999);
    assert_int_equal(back->finished, 0);
    world_advance(&world, 1);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->code, "ELICITATION_TIMEOUT");
    world_finish(&world);
}

/* --- when it is kept no longer --- */

static void an_answer_from_elsewhere_ends_it(void **state)
{
    char id[ID_LEN + 1];

    (void)state;
    begin(NULL);
    stored_ask(id);
    answer(id);
    assert_int_equal(world.last.status, NOD_OK);
    assert_null(warm());
    world_finish(&world);
}

static void an_answer_that_is_on_its_way_is_found_when_it_comes_back(void **state)
{
    char id[ID_LEN + 1];

    (void)state;
    begin(NULL);
    stored_ask(id);
    ask_unsupported(world.engine, str_of(id), NULL, NULL); /* stored; nobody has heard of it yet */
    struct world_caller *back = come_back(CALLER_CARRIES);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->code, "ELICITATION_NOT_SUPPORTED");
    world_finish(&world);
}

static void a_cancel_ends_it(void **state)
{
    (void)state;
    begin(NULL);
    engine_cancel(world.engine, str_of(call_name), STR("no more"));
    assert_null(warm());
    world_finish(&world);
}

static void one_whose_time_is_up_is_left_to_the_store(void **state)
{
    (void)state;
    begin(&(struct world_opts){ .ttl_ms = 5000 });
    fake_clock_advance(&world.clock, 4999);
    assert_non_null(warm());
    fake_clock_advance(&world.clock, 1);
    assert_null(warm());
    world_finish(&world);
}

static void the_oldest_makes_room(void **state)
{
    char oldest[ID_LEN + 1];

    (void)state;
    begin(NULL);
    memcpy(oldest, call_name, sizeof(oldest));
    struct world_caller *caller = caller_new(CALLER_LEAVES);
    for (int i = 1; i < WARM_CALLS_MAX; i++)
        call_and_leave(caller, NULL);
    assert_non_null(engine_warm(world.engine, str_of(oldest)));
    call_and_leave(caller, NULL);
    assert_null(engine_warm(world.engine, str_of(oldest)));
    assert_non_null(warm());
    world_finish(&world);
}

static void a_large_one_is_not_kept(void **state)
{
    static char text[WARM_BYTES_MAX + 1];
    struct arena arena;

    (void)state;
    begin(NULL);
    arena_init(&arena, 1 << 20);
    memset(text, 'x', sizeof(text));
    struct json *args = json_new_object(&arena);
    json_set(&arena, args, STR("text"), json_new_str(&arena, str_n(text, sizeof(text))));
    call_and_leave(caller_new(CALLER_LEAVES), args);
    assert_null(warm());
    arena_finish(&arena);
    world_finish(&world);
}

static void a_call_whose_caller_only_went_away_is_not_kept(void **state)
{
    (void)state;
    begin(NULL);
    struct world_caller *back = come_back(CALLER_CARRIES);
    call_let_go(back->caller.call);
    assert_null(warm()); /* its journal is with the store alone */
    world_finish(&world);
}

/* --- one question at a time --- */

static void (*own_put)(struct store *, struct str, struct str, struct str, uint64_t, int64_t,
                       store_done *, void *);
static char older_value[2 * ID_LEN + 1];

static void told_nobody(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)status;
    (void)reply;
}

/* Another node has seen no question in the scope either, and is the first to write. */
static void put_second(struct store *store, struct str kind, struct str key, struct str value,
                       uint64_t version, int64_t ttl_ms, store_done *done, void *data)
{
    if (older_value[0])
        own_put(store, kind, key, str_of(older_value), version, ttl_ms, told_nobody, NULL);
    older_value[0] = '\0';
    own_put(store, kind, key, value, version, ttl_ms, done, data);
}

static enum ask_state kept_state;

static void state_shown(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    kept_state = reply->ask->state;
}

static void line24_of_two_nodes_that_ask_at_once_in_a_scope_one_is_replaced(void **state)
{
    struct store_ops ops;
    char older[ID_LEN + 1];

    (void)state;
    begin(&(struct world_opts){ .one_ask_per_scope = true });
    snprintf(older, sizeof(older), STR_FMT, STR_ARG(id_str(&call_ask_first(warm())->id)));
    snprintf(older_value, sizeof(older_value), "%s%s", call_name, older);
    ops = *world.store->ops;
    ops.del(world.store, STR("scope"), STR("s1"), told_nobody, NULL);
    world_settle(&world);
    own_put = ops.put;
    ops.put = put_second;
    world.store->ops = &ops;
    call_and_leave(caller_new(CALLER_LEAVES), NULL);
    assert_int_equal(older_value[0], 0);
    ops.load_ask(world.store, str_of(older), state_shown, NULL);
    world_settle(&world);
    assert_int_equal(kept_state, ASK_CANCELLED);
    world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_call_counts_for_nothing_and_holds_no_target),
        cmocka_unit_test(it_comes_back_is_answered_and_is_warm_again_in_its_next_round),
        cmocka_unit_test(its_record_is_what_the_store_has),
        cmocka_unit_test(time_goes_on_for_its_questions),
        cmocka_unit_test(an_answer_from_elsewhere_ends_it),
        cmocka_unit_test(an_answer_that_is_on_its_way_is_found_when_it_comes_back),
        cmocka_unit_test(a_cancel_ends_it),
        cmocka_unit_test(one_whose_time_is_up_is_left_to_the_store),
        cmocka_unit_test(the_oldest_makes_room),
        cmocka_unit_test(a_large_one_is_not_kept),
        cmocka_unit_test(a_call_whose_caller_only_went_away_is_not_kept),
        cmocka_unit_test(line24_of_two_nodes_that_ask_at_once_in_a_scope_one_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
