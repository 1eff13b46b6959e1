/*
 * tests/unit/core/home: a call that stays goes on at its home, while its home lives.
 *
 * Two nodes share a store. The call is begun at the node `home`, and asks twice. Whoever comes back
 * comes to the node of the world, which has a provider of its own, or lacks the tool.
 */
#include "loaded.h"

#include <stdio.h>
#include <string.h>

#include "../runner.h"
#include "core/comeback.h"
#include "core/inside.h"

enum { TTL_MS = 600000, PASS_MS = 100, ASLEEP_MS = 4000, GONE_MS = 2 * RECOVERY_NODE_TTL_MS };

struct toy {                  /* a provider, with its one tool, at one node */
    struct provider provider; /* first */
    struct target target;
    int begun, ends;
    char code[40];         /* of the last end */
    char call[ID_LEN + 1]; /* that it keeps something for; empty: none */
    struct run *held;      /* with `holds` */
    bool holds;
};

static struct world world;
static struct store_ops own, ops;
static struct engine *home;
static struct catalog *here, *there;
static struct toy at_home, elsewhere;
static struct id name; /* of the call */
static bool asleep;    /* the home */
static int homes_put;  /* records of homes that were put */
static int appends;
static int held; /* calls that were held before their beginning */
static int runs;
static bool handle; /* whoever comes back has one */

/* --- the provider --- */

static void toy_start(struct provider *provider, struct run *run)
{
    struct toy *toy = (struct toy *)provider;
    const struct entry *answer;
    nod_status status;

    runs++;
    if (!str_eq(str_of(toy->call), run->call_id)) {
        toy->begun++;
        snprintf(toy->call, sizeof(toy->call), STR_FMT, STR_ARG(run->call_id));
    }
    status = world_ask(run, "first", "First?", world_ask_form, &answer);
    if (status == NOD_OK)
        status = world_ask(run, "second", "Second?", world_ask_form, &answer);
    if (status == NOD_OK && toy->holds)
        toy->held = run;
    else
        run_done(run, status, status == NOD_OK ? STR("{\"toy\":true}") : STR_NONE);
}

static void toy_ended(struct provider *provider, struct str call_id, const struct outcome *outcome)
{
    struct toy *toy = (struct toy *)provider;

    toy->ends++;
    snprintf(toy->code, sizeof(toy->code), "%s", outcome->status ? outcome->code : "OK");
    if (str_eq(str_of(toy->call), call_id))
        toy->call[0] = '\0';
}

static const struct provider_ops toy_ops = { .name = "toy",
                                             .start = toy_start,
                                             .ended = toy_ended };

static void toy_init(struct toy *toy)
{
    *toy = (struct toy){ .provider.ops = &toy_ops,
                         .target = { .kind = TARGET_TOOL, .name = STR("toy"), .stays = true } };
    toy->target.provider = &toy->provider;
}

/* --- two nodes --- */

static void counted_put(struct store *store, struct str kind, struct str key, struct str value,
                        struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                        void *data)
{
    homes_put += str_eq(kind, STR("home"));
    own.put(store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void counted_append(struct store *store, const struct append_spec *spec, store_done *done,
                           void *data)
{
    appends++;
    own.append(store, spec, done, data);
}

static void pass(int64_t ms)
{
    for (int64_t at = 0; at < ms; at += PASS_MS) {
        world_advance(&world, PASS_MS);
        if (home && !asleep)
            engine_tick(home);
        world_settle(&world);
    }
}

static void orphan(void *data, const struct call_record *record)
{
    struct toy *toy = data;
    struct world_caller *caller = world_caller_new(&world);

    caller->way = CALLER_LEAVES;
    engine_adopt(toy == &at_home ? home : world.engine,
                 &(struct adopt_spec){
                     .record = record, .target = &toy->target, .caller = &caller->caller });
}

static void home_defers(void *ctx, void (*fn)(void *data), void *data)
{
    (void)ctx;
    assert_true(world.queued < WORLD_QUEUE_MAX);
    world.queue[world.queued].fn = fn;
    world.queue[world.queued++].data = data;
}

static void home_starts(void)
{
    home = engine_create(&(struct engine_opts){ .clock = &world.clock.clock,
                                                .store = world.store,
                                                .defer = home_defers,
                                                .defer_ctx = &world,
                                                .node = STR("home"),
                                                .ask_ttl_ms = TTL_MS,
                                                .consent = "any" });
    assert_true(engine_add_surface(home, &world.surface));
    engine_use_catalog(home, there);
    engine_recover(home, &(struct recovery_opts){ .orphan = orphan, .data = &at_home });
    pass(1000);
}

static void home_dies(void)
{
    engine_use_store(world.engine, world.store); /* hints go to the node that is left */
    engine_destroy(home);
    home = NULL;
    world_settle(&world);
}

static void nodes(bool has_tool)
{
    world_init(&world, &(struct world_opts){ .ttl_ms = TTL_MS });
    own = ops = *world.store->ops;
    ops.durable = ops.shared = true;
    ops.put = counted_put;
    ops.append = counted_append;
    ops.load_with_asks = NULL;
    world.store->ops = &ops;
    asleep = false;
    toy_init(&at_home);
    toy_init(&elsewhere);
    here = catalog_create();
    there = catalog_create();
    if (has_tool)
        assert_int_equal(catalog_add(here, &elsewhere.target), NOD_OK);
    assert_int_equal(catalog_add(there, &at_home.target), NOD_OK);
    engine_use_catalog(world.engine, here);
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan, .data = &elsewhere });
    home_starts();
    homes_put = appends = held = 0;
}

static void end(void)
{
    world.store->ops->destroy(world.store);
    if (home)
        engine_destroy(home);
    home = NULL;
    engine_destroy(world.engine);
    world.engine = NULL;
    world_settle(&world);
    catalog_destroy(here);
    catalog_destroy(there);
}

static struct world_caller *call_at_home(enum caller_way way)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = way;
    engine_call(home, &(struct call_spec){ .target = &at_home.target,
                                           .principal = STR("ann"),
                                           .scope = STR("s1"),
                                           .handed = true,
                                           .caller = &caller->caller });
    name = id_of(call_id(caller->caller.call));
    world_settle(&world);
    return caller;
}

/* --- whoever comes back --- */

struct visit {
    struct comer comer;
    struct world_caller *caller;
    int done;
    enum back_as as;
    char code[40];
};

static struct visit visit;

static bool visit_there(const struct comer *comer)
{
    (void)comer;
    return true;
}

static bool visit_waits(struct comer *comer, const struct call_record *record,
                        struct adopt_spec *spec)
{
    (void)comer, (void)record;
    spec->caller = &visit.caller->caller;
    spec->handed = handle;
    return true;
}

static void visit_done(struct comer *comer, const struct back *back)
{
    (void)comer;
    visit.done++;
    visit.as = back->as;
    snprintf(visit.code, sizeof(visit.code), "%s",
             back->outcome && back->outcome->code ? back->outcome->code : "");
}

static const struct comer_ops visit_ops = { .there = visit_there,
                                            .waits = visit_waits,
                                            .done = visit_done };

static struct world_caller *comes(void)
{
    visit = (struct visit){ .comer = { .ops = &visit_ops, .call = name, .asks = true } };
    visit.comer.principal = STR("ann");
    visit.caller = world_caller_new(&world);
    engine_return(world.engine, &visit.comer);
    world_settle(&world);
    assert_int_equal(visit.done, 1);
    return visit.caller;
}

/* The question of the call that is pending is answered at the other node. */
static void answered(const char *key)
{
    static struct loaded loaded;
    char id[ID_LEN + 1];

    loaded_begin(&loaded, world.store, id_str(&name));
    world_settle(&world);
    assert_int_equal(loaded.ask_count, 1);
    assert_true(str_eq(loaded.asks[0].key, str_of(key)));
    snprintf(id, sizeof(id), STR_FMT, STR_ARG(loaded.asks[0].id));
    loaded_forget(&loaded);
    world_answer(&world, id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
}

static void ended_unknown_once(void)
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, id_str(&name));
    world_settle(&world);
    assert_int_equal(loaded.call.state, CALL_STORED_CANCELLED);
    assert_true(str_find(loaded.call.result, STR("OUTCOME_UNKNOWN")) > 0);
    loaded_forget(&loaded);
    assert_int_equal(elsewhere.begun, 0);
}

/* --- its home lives --- */

static void goes_on(bool has_tool)
{
    nodes(has_tool);
    call_at_home(CALLER_LEAVES);
    struct world_caller *caller = comes();
    assert_int_equal(visit.as, BACK_WAITS);
    assert_int_equal(caller->asked, 1);
    answered("first");
    pass(3000);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(caller->asked,
                     2); /* the second question was asked at home, and is told here */
    answered("second");
    pass(3000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"toy\":true}");
    assert_int_equal(at_home.begun, 1);
    assert_int_equal(elsewhere.begun, 0);
    assert_int_equal(at_home.ends, 1);
    assert_string_equal(at_home.code, "OK");
    end();
}

static void what_is_answered_elsewhere_goes_on_at_home(void **state)
{
    (void)state;
    goes_on(true);
}

static void who_comes_to_a_node_without_the_tool_waits_there(void **state)
{
    (void)state;
    goes_on(false);
}

static void a_home_that_sleeps_for_a_while_keeps_its_call(void **state)
{
    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    pass(RECOVERY_NODE_TTL_MS / RECOVERY_BEATS - PASS_MS); /* it is about to beat */
    asleep = true;
    struct world_caller *caller = comes();
    answered("first");
    pass(ASLEEP_MS + 3000); /* and is slow for a while */
    assert_int_equal(caller->finished, 0);
    asleep = false;
    pass(3000);
    assert_int_equal(caller->asked, 2);
    answered("second");
    pass(3000);
    assert_string_equal(caller->body, "{\"toy\":true}");
    assert_int_equal(at_home.begun, 1);
    end();
}

static void nobody_comes_and_it_goes_on_at_home(void **state)
{
    static struct loaded loaded;

    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    answered("first");
    pass(3000);
    answered("second");
    pass(3000);
    loaded_begin(&loaded, world.store, id_str(&name));
    world_settle(&world);
    assert_int_equal(loaded.call.state, CALL_STORED_FINISHED);
    loaded_forget(&loaded);
    assert_int_equal(at_home.begun + elsewhere.begun, 1);
    end();
}

static void claimed(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

/* Its client has left without a handle, as far as the store knows, and its question ends. */
static void unheard(void)
{
    static struct loaded loaded;
    struct world_caller *caller;
    struct id token;

    nodes(true);
    caller = world_caller_new(&world);
    engine_call(home, &(struct call_spec){ .target = &at_home.target,
                                           .principal = STR("ann"),
                                           .scope = STR("s1"),
                                           .caller = &caller->caller });
    name = id_of(call_id(caller->caller.call));
    world_settle(&world);
    call_caller_left(caller->caller.call);
    world_settle(&world);
    loaded_begin(&loaded, world.store, id_str(&name));
    world_settle(&world);
    assert_int_equal(loaded.ask_count, 1);
    id_random(&token);
    world.store->ops->claim(
        world.store,
        &(struct claim_spec){ .token = id_str(&token),
                              .items = &(struct claim_item){ .ask_id = loaded.asks[0].id,
                                                             .outcome = ASK_ACCEPTED,
                                                             .content = STR("{\"n\":1}") },
                              .count = 1,
                              .by = STR("ann") },
        claimed, NULL);
    loaded_forget(&loaded);
    runs = 0;
}

static void what_nobody_can_come_back_for_does_not_go_on(void **state)
{
    (void)state;
    unheard();
    pass(20000);
    assert_int_equal(runs, 0);
    end();
}

static void what_somebody_waits_for_elsewhere_goes_on_at_home(void **state)
{
    (void)state;
    unheard();
    handle = true;
    struct world_caller *caller = comes();
    handle = false;
    pass(8000);
    assert_int_equal(runs, 1);
    answered("second");
    pass(3000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"toy\":true}");
    assert_int_equal(elsewhere.begun, 0);
    end();
}

static void a_home_that_was_told_to_stop_keeps_its_call_until_it_is_gone(void **state)
{
    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    engine_stop(home);
    world_settle(&world);
    struct world_caller *caller = comes();
    assert_int_equal(visit.as, BACK_WAITS);
    answered("first");
    pass(2 * GONE_MS);
    assert_int_equal(caller->finished, 0);
    home_dies();
    pass(GONE_MS + 3000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "OUTCOME_UNKNOWN");
    ended_unknown_once();
    end();
}

/* --- its home is gone --- */

static void who_comes_when_the_home_is_gone_is_told_that_the_outcome_is_not_known(void **state)
{
    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    home_dies();
    pass(GONE_MS + 1000);
    comes();
    assert_int_equal(visit.as, BACK_ENDED);
    assert_string_equal(visit.code, "OUTCOME_UNKNOWN");
    comes();
    assert_int_equal(visit.as, BACK_ENDED);
    assert_string_equal(visit.code, "OUTCOME_UNKNOWN");
    ended_unknown_once();
    end();
}

static void who_waits_when_the_home_goes_is_told(void **state)
{
    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    struct world_caller *caller = comes();
    home_dies();
    pass(GONE_MS - 1000);
    assert_int_equal(caller->finished, 0);
    pass(4000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "OUTCOME_UNKNOWN");
    ended_unknown_once();
    end();
}

static void what_nobody_comes_for_ends_when_it_is_answered_and_its_home_is_gone(void **state)
{
    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    home_dies();
    answered("first");
    pass(GONE_MS + 4000);
    ended_unknown_once();
    end();
}

static void a_node_of_the_same_name_in_another_life_is_not_the_home(void **state)
{
    (void)state;
    nodes(true);
    call_at_home(CALLER_LEAVES);
    home_dies();
    toy_init(&at_home);
    home_starts();
    answered("first");
    pass(GONE_MS + 4000);
    ended_unknown_once();
    assert_int_equal(at_home.begun, 0);
    end();
}

static void a_home_that_wakes_too_late_tells_its_provider_of_the_end(void **state)
{
    (void)state;
    nodes(true);
    at_home.holds = true;
    struct world_caller *caller = call_at_home(CALLER_HOLDS);
    answered("first");
    pass(3000);
    answered("second");
    pass(3000);
    assert_non_null(at_home.held); /* it is with its provider */
    asleep = true;
    pass(GONE_MS + 4000);
    comes();
    ended_unknown_once();
    assert_int_equal(at_home.ends, 0);
    asleep = false;
    pass(2 * RECOVERY_NODE_TTL_MS / RECOVERY_BEATS);
    assert_int_equal(at_home.ends, 1);
    assert_string_equal(at_home.code, "OUTCOME_UNKNOWN");
    assert_string_equal(caller->code, "OUTCOME_UNKNOWN");
    run_done(at_home.held, NOD_OK, STR("{}")); /* nobody hears of it */
    assert_int_equal(at_home.ends, 1);
    end();
}

/* --- its beginning --- */

static void count_held(struct caller *caller, struct call *call)
{
    (void)caller, (void)call;
    held++;
}

static struct world_caller *call_held(struct caller_ops *with)
{
    struct world_caller *caller = world_caller_new(&world);

    *with = *caller->caller.ops;
    with->stepping = count_held;
    caller->caller.ops = with;
    engine_call(home, &(struct call_spec){ .target = &at_home.target,
                                           .principal = STR("ann"),
                                           .scope = STR("s1"),
                                           .hold_steps = true,
                                           .caller = &caller->caller });
    name = id_of(call_id(caller->caller.call));
    world_settle(&world);
    return caller;
}

static void it_is_not_begun_before_its_client_has_a_handle(void **state)
{
    struct caller_ops with;

    (void)state;
    nodes(true);
    struct world_caller *caller = call_held(&with);
    assert_int_equal(held, 1);
    pass(5000);
    assert_int_equal(at_home.begun, 0);
    call_handed(caller->caller.call);
    call_step_on(caller->caller.call);
    pass(PASS_MS);
    assert_int_equal(at_home.begun, 1);
    end();
}

static void it_is_never_begun_for_a_client_that_left_without_a_handle(void **state)
{
    struct caller_ops with;

    (void)state;
    nodes(true);
    struct world_caller *caller = call_held(&with);
    call_caller_left(caller->caller.call);
    pass(3 * GONE_MS);
    assert_int_equal(at_home.begun + elsewhere.begun, 0);
    end();
}

static void a_call_that_migrates_needs_no_intent_and_no_home(void **state)
{
    (void)state;
    nodes(true);
    at_home.target.stays = elsewhere.target.stays = false;
    call_at_home(CALLER_LEAVES);
    struct world_caller *caller = comes();
    answered("first");
    pass(3000);
    answered("second");
    pass(3000);
    assert_string_equal(caller->body, "{\"toy\":true}");
    assert_int_equal(homes_put, 0);
    assert_int_equal(appends, 0);
    end();
}

SUBJECT(home)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_answered_elsewhere_goes_on_at_home),
        cmocka_unit_test(who_comes_to_a_node_without_the_tool_waits_there),
        cmocka_unit_test(a_home_that_sleeps_for_a_while_keeps_its_call),
        cmocka_unit_test(nobody_comes_and_it_goes_on_at_home),
        cmocka_unit_test(what_nobody_can_come_back_for_does_not_go_on),
        cmocka_unit_test(what_somebody_waits_for_elsewhere_goes_on_at_home),
        cmocka_unit_test(a_home_that_was_told_to_stop_keeps_its_call_until_it_is_gone),
        cmocka_unit_test(who_comes_when_the_home_is_gone_is_told_that_the_outcome_is_not_known),
        cmocka_unit_test(who_waits_when_the_home_goes_is_told),
        cmocka_unit_test(what_nobody_comes_for_ends_when_it_is_answered_and_its_home_is_gone),
        cmocka_unit_test(a_node_of_the_same_name_in_another_life_is_not_the_home),
        cmocka_unit_test(a_home_that_wakes_too_late_tells_its_provider_of_the_end),
        cmocka_unit_test(it_is_not_begun_before_its_client_has_a_handle),
        cmocka_unit_test(it_is_never_begun_for_a_client_that_left_without_a_handle),
        cmocka_unit_test(a_call_that_migrates_needs_no_intent_and_no_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
