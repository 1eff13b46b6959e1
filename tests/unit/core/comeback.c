/*
 * tests/unit/core/comeback: the one door for whoever comes back for a call, and what it says.
 */
#include "world.h"

#include "core/catalog.h"
#include "core/comeback.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static struct catalog *catalog;
static struct id name; /* of the call */

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

/* --- somebody who comes --- */

struct visit {
    struct comer comer;
    struct world_caller *caller;
    bool left;
    enum found says;
    int found, done;
    enum back_as as;
    char code[40];
};

static bool visit_there(const struct comer *comer)
{
    return !((const struct visit *)(const void *)comer)->left;
}

static enum found visit_found(struct comer *comer, const struct call_record *record)
{
    struct visit *visit = (struct visit *)(void *)comer;

    (void)record;
    visit->found++;
    return visit->says;
}

static bool visit_waits(struct comer *comer, const struct call_record *record,
                        struct adopt_spec *spec)
{
    (void)record;
    spec->caller = &((struct visit *)(void *)comer)->caller->caller;
    return true;
}

static void visit_done(struct comer *comer, const struct back *back)
{
    struct visit *visit = (struct visit *)(void *)comer;

    visit->done++;
    visit->as = back->as;
    if (back->outcome && back->outcome->code)
        snprintf(visit->code, sizeof(visit->code), "%s", back->outcome->code);
}

static const struct comer_ops visit_ops = {
    .there = visit_there, .found = visit_found, .waits = visit_waits, .done = visit_done
};

static struct visit come(const char *principal, struct visit how)
{
    static struct visit visit;

    visit = how;
    visit.comer.ops = &visit_ops;
    visit.comer.call = name;
    visit.comer.principal = str_of(principal);
    visit.caller = world_caller_new(&world);
    engine_return(world.engine, &visit.comer);
    assert_int_equal(visit.done + visit.found, 0); /* never before it returns */
    world_settle(&world);
    if (visit.comer.kept) {
        comer_goes_on(&visit.comer, true);
        world_settle(&world);
    }
    return visit;
}

/* A call of ann's that waits, and whose caller has left it. */
static int setup(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    catalog = catalog_create();
    assert_int_equal(catalog_add(catalog, &world.target), NOD_OK);
    engine_use_catalog(world.engine, catalog);
    struct world_caller *caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    name = id_of(call_id(caller->caller.call));
    world_settle(&world);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_use_catalog(world.engine, NULL);
    world_finish(&world);
    catalog_destroy(catalog);
    return 0;
}

/* --- what the door says --- */

static void who_comes_for_a_call_of_somebody_else_finds_none(void **state)
{
    (void)state;
    struct visit visit = come("bob", (struct visit){ 0 });
    assert_int_equal(visit.as, BACK_UNKNOWN);
    assert_int_equal(visit.found, 0);
    id_random(&name);
    assert_int_equal(come("ann", (struct visit){ 0 }).as, BACK_UNKNOWN);
}

static void who_comes_for_a_call_that_waits_has_it(void **state)
{
    (void)state;
    struct visit visit = come("ann", (struct visit){ 0 });
    assert_int_equal(visit.as, BACK_WAITS);
    assert_int_equal(visit.done, 1);
    assert_int_equal(visit.caller->asked, 1);
    struct visit second = come("ann", (struct visit){ 0 });
    assert_int_equal(second.as, BACK_BUSY); /* a caller of the world does not give way */
}

static void who_looks_at_something_else_first_goes_on_later(void **state)
{
    (void)state;
    struct visit visit = come("ann", (struct visit){ .says = FOUND_LATER });
    assert_int_equal(visit.as, BACK_WAITS);
    assert_int_equal(visit.found, 1);
}

static void who_means_another_call_is_told_nothing(void **state)
{
    (void)state;
    struct visit visit = come("ann", (struct visit){ .says = FOUND_OTHER });
    assert_int_equal(visit.found, 1);
    assert_int_equal(visit.done, 0);
}

static void for_who_has_left_nothing_is_done(void **state)
{
    (void)state;
    struct visit visit = come("ann", (struct visit){ .left = true });
    assert_int_equal(visit.as, BACK_LEFT);
    assert_int_equal(visit.found, 0);
    assert_int_equal(visit.caller->asked, 0);
}

static void a_call_that_has_ended_gives_its_end(void **state)
{
    (void)state;
    engine_cancel(world.engine, id_str(&name), STR("Enough"), NULL, NULL);
    world_settle(&world);
    struct visit visit = come("ann", (struct visit){ 0 });
    assert_int_equal(visit.as, BACK_ENDED);
    assert_string_equal(visit.code, "CANCELLED");
}

/* The store did not know it yet when another node heard of the cancel. */
static void a_call_that_was_cancelled_ahead_asks_nobody(void **state)
{
    struct world_caller *caller = world_caller_new(&world);
    size_t shown = world.shown_count;

    (void)state;
    id_random(&name);
    engine_cancel_ahead(world.engine, id_str(&name), STR("ann"), STR("s1"), STR("Enough"), NULL,
                        NULL);
    world_settle(&world);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .id = id_str(&name),
                                                   .named = true,
                                                   .caller = &caller->caller });
    world_settle(&world);
    assert_string_equal(caller->code, "CANCELLED");
    assert_int_equal(world.shown_count, shown);
    struct visit visit = come("ann", (struct visit){ 0 });
    assert_int_equal(visit.as, BACK_ENDED);
    assert_string_equal(visit.code, "CANCELLED");
}

static void a_call_whose_target_is_gone_ends_unless_it_is_spared(void **state)
{
    struct catalog *empty = catalog_create();

    (void)state;
    engine_use_catalog(world.engine, empty);
    assert_int_equal(come("ann", (struct visit){ .comer.spares = true }).as, BACK_TOO_SOON);
    struct visit visit = come("ann", (struct visit){ 0 });
    assert_int_equal(visit.as, BACK_ENDED);
    assert_string_equal(visit.code, "TOOL_GONE");
    assert_int_equal(visit.found, 1);
    catalog_destroy(empty);
}

static void the_engine_goes_while_the_end_of_a_gone_call_is_on_its_way(void **state)
{
    struct catalog *empty = catalog_create();

    (void)state;
    engine_use_catalog(world.engine, empty);
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1000;
    assert_int_equal(come("ann", (struct visit){ 0 }).done, 0);
    catalog_destroy(empty);
}

/* Its caller leaves while the store is away, and the client is back before the store has said how
 * the call stands. */
static void whoever_comes_while_a_call_is_looked_at_is_heard_or_asked(void **state)
{
    static struct visit visit;

    (void)state;
    for (int brings = 0; brings < 2; brings++) {
        struct world_caller *first = world_caller_new(&world);
        first->way = CALLER_HOLDS;
        engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                       .principal = STR("ann"),
                                                       .scope = STR("s2"),
                                                       .caller = &first->caller });
        name = id_of(call_id(first->caller.call));
        world_settle(&world);
        world.fail_verb = "take";
        world.fail_how = MEMORY_FAIL_BEFORE;
        world.fail_times = 1;
        call_wake(first->caller.call);
        world_settle(&world);
        assert_int_equal(world.fail_times, 0);
        call_caller_left(first->caller.call);
        visit = (struct visit){
            .caller = world_caller_new(&world),
            .comer = { .ops = &visit_ops, .call = name, .principal = STR("ann"), .asks = true }
        };
        visit.caller->way = CALLER_LEAVES;
        if (brings)
            visit.caller->brings[0] = (struct world_brings){ .key = "#1",
                                                             .action = ASK_ACCEPTED,
                                                             .content = "{\"n\":1}" };
        engine_return(world.engine, &visit.comer);
        for (int i = 0; i < 5; i++)
            world_advance(&world, 1000);
        assert_int_equal(visit.as, BACK_WAITS);
        assert_int_equal(visit.caller->finished, brings);
        assert_int_equal(visit.caller->asked, !brings);
    }
}

#define VISIT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

SUBJECT(comeback)
{
    const struct CMUnitTest tests[] = {
        VISIT(who_comes_for_a_call_of_somebody_else_finds_none),
        VISIT(who_comes_for_a_call_that_waits_has_it),
        VISIT(whoever_comes_while_a_call_is_looked_at_is_heard_or_asked),
        VISIT(who_looks_at_something_else_first_goes_on_later),
        VISIT(who_means_another_call_is_told_nothing),
        VISIT(for_who_has_left_nothing_is_done),
        VISIT(a_call_that_has_ended_gives_its_end),
        VISIT(a_call_that_was_cancelled_ahead_asks_nobody),
        VISIT(a_call_whose_target_is_gone_ends_unless_it_is_spared),
        VISIT(the_engine_goes_while_the_end_of_a_gone_call_is_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
