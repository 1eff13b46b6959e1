/*
 * tests/unit/core/in_hand: hooks of an answer that take their process down.
 *
 * The hook does not come back, and the end of the engine is the death of the node. The next engine
 * finds what the store has. The call waits, and is live nowhere.
 */
#include "loaded.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "../runner.h"
#include "core/call_inside.h"

static struct world world;
static struct store_ops ops; /* the store's own, but it survives */
static const struct store_ops *inner;
static struct id the_ask, the_call;
static size_t hooked; /* calls of the hook */
static size_t hands;  /* operations on what nodes have in hand */
static enum { HANGS, OBJECTS, PASSES } hook_way;
static int asks_fail, calls_fail;   /* so many of the next loads fail: the store is away */
static const char *hands_meanwhile; /* other nodes put these names while the hook runs */
static int replies_lost;            /* of the next puts of names */
static bool dies_by_claim;          /* the store takes the next claim, and the process ends */

static bool is_hand(struct str kind)
{
    return str_eq(kind, STR("hand"));
}

static void op_get(struct store *store, struct str kind, struct str key, store_done *done,
                   void *data)
{
    hands += is_hand(kind);
    inner->get(store, kind, key, done, data);
}

static void op_put(struct store *store, struct str kind, struct str key, struct str value,
                   struct str whose, uint64_t version, int64_t ttl_ms, store_done *done, void *data)
{
    hands += is_hand(kind);
    if (is_hand(kind) && replies_lost && replies_lost--) {
        inner->put(store, kind, key, value, whose, version, ttl_ms, NULL, NULL);
        done(data, NOD_E_STORE, NULL);
        return;
    }
    inner->put(store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void op_load_ask(struct store *store, struct str id, store_done *done, void *data)
{
    if (asks_fail && asks_fail--)
        done(data, NOD_E_STORE, NULL);
    else
        inner->load_ask(store, id, done, data);
}

static void op_load_call(struct store *store, struct str id, store_done *done, void *data)
{
    if (calls_fail && calls_fail--)
        done(data, NOD_E_STORE, NULL);
    else
        inner->load_call(store, id, done, data);
}

/* The clock does not wait for a hook. But what has died claims nothing. */
static void op_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                     void *data)
{
    if (dies_by_claim)
        inner->claim(store, claim, NULL, NULL);
    else if (!hooked || hook_way != HANGS)
        inner->claim(store, claim, done, data);
}

static nod_status hook(struct nod_hook_run *run, void *data)
{
    (void)data;
    hooked++;
    if (hands_meanwhile) {
        char names[256];
        snprintf(names, sizeof(names), "%s" STR_FMT "\n", hands_meanwhile,
                 STR_ARG(world.engine->node));
        inner->put(world.store, STR("hand"), id_str(&the_ask), str_of(names), STR_NONE, 0, 0, NULL,
                   NULL);
    }
    if (hook_way == OBJECTS)
        return hook_fail(run, NOD_E_REFUSED, "NOT_NOW", STR("Not now"));
    return hook_way == HANGS ? NOD_PENDING : NOD_OK;
}

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static void orphan(void *data, const struct call_record *record)
{
    (void)data;
    world.caller_count = 0; /* the others are gone by then */
    struct world_caller *adopter = world_caller_new(&world);
    *adopter = (struct world_caller){ .caller = adopter->caller, .way = CALLER_LEAVES };
    engine_adopt(world.engine, &(struct adopt_spec){ .record = record,
                                                     .target = &world.target,
                                                     .caller = &adopter->caller });
}

static void serve(const char *stage)
{
    if (stage)
        world_hook(&world, NOD_FLOW_ANSWER, stage, NOD_WILL, hook, NULL);
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan });
    for (int i = 0; i < 8; i++)
        world_advance(&world, 1);
}

static void die(const char *stage)
{
    engine_destroy(world.engine);
    world_settle(&world);
    world_engine(&world);
    serve(stage);
}

/* A call waits, and its node is gone. */
static void begin(const char *stage, int64_t ttl_ms)
{
    world_init(&world, &(struct world_opts){ .handler = asks_once, .ttl_ms = ttl_ms });
    inner = world.store->ops;
    ops = *inner;
    ops.durable = true;
    ops.claim = op_claim;
    ops.get = op_get;
    ops.put = op_put;
    ops.load_ask = op_load_ask;
    ops.load_call = op_load_call;
    world.store->ops = &ops;
    hooked = hands = 0;
    asks_fail = calls_fail = replies_lost = 0;
    hands_meanwhile = NULL;
    dies_by_claim = false;
    hook_way = HANGS;
    world_call(&world, "ann", "s1")->way = CALLER_HOLDS;
    world_settle(&world);
    const struct ask *ask = engine_ask(world.engine, str_of(world_up(&world)->id));
    the_ask = ask->id;
    the_call = ask->call->id;
    die(stage);
}

static void end(void)
{
    engine_destroy(world.engine);
    world_settle(&world);
    world.store->ops->destroy(world.store);
}

static void answer(void)
{
    world.answered = 0;
    world_answer(&world, the_ask.text, ASK_ACCEPTED, "{\"n\":3}", "ann", 0);
    for (int i = 0; i < 120; i++) /* the third time it waits for ten seconds */
        world_advance(&world, 100);
}

static enum call_state call_state;
static char call_result[512];

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    call_state = reply->call->state;
    snprintf(call_result, sizeof(call_result), STR_FMT, STR_ARG(reply->call->result));
}

static enum call_state stored(void)
{
    inner->load_call(world.store, id_str(&the_call), call_loaded, NULL);
    world_settle(&world);
    return call_state;
}

static char hand[256];

static void hand_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    hand[0] = '\0';
    if (status == NOD_OK)
        snprintf(hand, sizeof(hand), STR_FMT, STR_ARG(reply->value));
}

static size_t names_in_hand(void)
{
    size_t names = 0;

    inner->get(world.store, STR("hand"), id_str(&the_ask), hand_loaded, NULL);
    world_settle(&world);
    for (const char *at = hand; (at = strchr(at, '\n')); at++)
        names++;
    return names;
}

static void assert_crashed(void)
{
    assert_int_equal(stored(), CALL_STORED_CANCELLED);
    assert_non_null(strstr(call_result, "HANDLER_CRASHED"));
}

static void the_third_death_ends_the_call_and_the_hook_is_called_no_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < engine_flow(NOD_FLOW_ANSWER)->count - 1; i++) {
        const char *stage = engine_flow(NOD_FLOW_ANSWER)->stages[i].name;
        begin(stage, 0);
        for (size_t deaths = 1; deaths <= 3; deaths++) {
            answer();
            assert_int_equal(hooked, deaths);
            assert_int_equal(stored(), CALL_STORED_WAITING);
            die(stage);
        }
        answer();
        assert_int_equal(hooked, 3);
        assert_crashed();
        assert_int_equal(world.answered, 1);
        assert_int_equal(world.last.status, NOD_E_STALE);
        assert_int_equal(world.last.state, ASK_WITHDRAWN);
        end();
    }
}

/* The server died: that a hook of this answer did it is only one of the reasons there can be. */
static void what_died_is_tried_after_a_while(void **state)
{
    static const int pauses[] = { 0, 1000, 10000 };

    (void)state;
    begin("buildResult", 0);
    for (size_t deaths = 0; deaths < 3; deaths++) {
        world_answer(&world, the_ask.text, ASK_ACCEPTED, "{\"n\":3}", "ann", 0);
        world_settle(&world);
        for (int ms = 0; ms + 200 < pauses[deaths]; ms += 100)
            world_advance(&world, 100);
        assert_int_equal(hooked, deaths + !pauses[deaths]);
        for (int i = 0; i < 5; i++)
            world_advance(&world, 100);
        assert_int_equal(hooked, deaths + 1);
        die("buildResult");
    }
    end();
}

/* No process waits for ten seconds, and it is tried all the same. */
static void where_no_process_lives_for_long_it_is_tried_by_the_clock_of_the_store(void **state)
{
    (void)state;
    begin("buildResult", 0);
    for (size_t lives = 0; lives < 8 && hooked < 3; lives++) {
        world_answer(&world, the_ask.text, ASK_ACCEPTED, "{\"n\":3}", "ann", 0);
        for (int i = 0; i < 40; i++)
            world_advance(&world, 100);
        assert_int_equal(hooked, lives < 2 ? lives + 1 : lives < 6 ? 2 : 3);
        die("buildResult");
    }
    assert_int_equal(hooked, 3);
    end();
}

/* Otherwise one that crashes would take the other with it each time. */
static void what_died_together_is_tried_one_after_the_other(void **state)
{
    struct id both[2];

    (void)state;
    begin("buildResult", 0);
    both[0] = the_ask;
    world_call(&world, "bob", "s2")->way = CALLER_HOLDS;
    world_settle(&world);
    both[1] = id_of(str_of(world_up(&world)->id));
    for (size_t deaths = 0; deaths < 2; deaths++) {
        for (int i = 0; i < 2; i++)
            world_answer(&world, both[i].text, ASK_ACCEPTED, "{\"n\":3}", i ? "bob" : "ann", 0);
        for (int i = 0; i < 80; i++)
            world_advance(&world, 100);
        assert_int_equal(hooked, deaths ? 3 : 2);
        if (!deaths)
            die("buildResult");
    }
    for (int i = 0; i < 60; i++) /* the first takes long, and does no harm */
        world_advance(&world, 100);
    assert_int_equal(hooked, 4);
    end();
}

static enum ask_state ask_state;

static void ask_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    ask_state = reply->ask->state;
}

static enum ask_state stored_ask(void)
{
    inner->load_ask(world.store, id_str(&the_ask), ask_loaded, NULL);
    world_settle(&world);
    return ask_state;
}

static void die_three_times(void)
{
    for (int i = 0; i < 3; i++) {
        answer();
        die("buildResult");
    }
    assert_int_equal(hooked, 3);
    hook_way = OBJECTS; /* whoever is asked now would say no */
}

/* Whatever fails: no answer counts that no hook has seen. */
static void a_store_that_is_away_lets_no_answer_past_the_hook(void **state)
{
    static const int lasts[] = { 1, 1000000 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        begin("buildResult", 0);
        die_three_times();
        *(i % 2 ? &calls_fail : &asks_fail) = lasts[i / 2];
        answer();
        for (int s = 0; s < 300 && !world.answered; s++)
            world_advance(&world, 100);
        assert_int_equal(world.answered, 1);
        assert_int_equal(hooked, 3);
        if (i < 2) {
            assert_crashed();
        } else {
            assert_int_equal(world.last.status, NOD_E_STORE);
            assert_true(world.last.pending);
            assert_int_equal(stored(), CALL_STORED_WAITING);
            asks_fail = calls_fail = 0;
            answer();
            assert_crashed();
        }
        assert_int_equal(stored_ask(), ASK_WITHDRAWN);
        end();
    }
}

static struct loaded loaded;

/* The call is live, and its client has come back with the answer. */
static struct world_caller *bring(void)
{
    struct world_caller *back = world_caller_new(&world);

    loaded_begin(&loaded, world.store, id_str(&the_call));
    world_settle(&world);
    *back = (struct world_caller){ .caller = back->caller, .way = CALLER_LEAVES };
    back->brings[0] = (struct world_brings){ .key = loaded.asks[0].key.at,
                                             .action = ASK_ACCEPTED,
                                             .content = "{\"n\":3}" };
    assert_true(loaded_adopt(&loaded, &world, back, false));
    for (int i = 0; i < 20; i++)
        world_advance(&world, 100);
    return back;
}

static void an_answer_that_is_brought_finds_the_call_ended_before_it_is_claimed(void **state)
{
    (void)state;
    for (int dies = 0; dies <= 1; dies++) {
        begin("buildResult", 0);
        die_three_times();
        size_t runs = world.runs;
        dies_by_claim = dies;
        struct world_caller *back = bring();
        if (dies) {
            dies_by_claim = false;
            die("buildResult");
            for (int i = 0; i < 30; i++)
                world_advance(&world, 100);
        } else {
            assert_int_equal(back->finished, 1);
            assert_string_equal(back->code, "HANDLER_CRASHED");
        }
        assert_int_equal(world.runs, runs);
        assert_int_equal(hooked, 3);
        assert_crashed();
        assert_int_equal(stored_ask(), ASK_WITHDRAWN);
        end();
    }
}

static void whoever_may_not_answer_learns_nothing_of_it(void **state)
{
    (void)state;
    begin("parseInput", 0);
    for (int i = 0; i < 3; i++) {
        answer();
        die("parseInput");
    }
    world_answer(&world, the_ask.text, ASK_ACCEPTED, "{\"n\":3}", "eve", 0);
    world_advance(&world, 100);
    world_advance(&world, 100);
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    end();
}

static void a_node_that_was_told_to_stop_counts_for_nothing(void **state)
{
    (void)state;
    begin("buildResult", 0);
    for (size_t i = 1; i <= 6; i++) {
        answer();
        assert_int_equal(hooked, i);
        engine_leave(world.engine);
        world_settle(&world);
        die("buildResult");
    }
    hook_way = PASSES;
    answer();
    assert_int_equal(world.last.status, NOD_OK);
    end();
}

static void put_by_hand(const char *kind, struct str key, const char *value)
{
    inner->put(world.store, str_of(kind), key, str_of(value), STR_NONE, 0, 0, NULL, NULL);
    world_settle(&world);
}

/* Otherwise the server would die whenever it is started. The third time would come after ten
 * seconds: then the store of one process has ended the question by itself. */
static void deaths_by_the_clock_are_counted_too(void **state)
{
    (void)state;
    begin("buildResult", 60000);
    world_advance(&world, 61000);
    for (size_t deaths = 1; deaths <= 2; deaths++) {
        for (int i = 0; i < 30 && hooked < deaths; i++)
            world_advance(&world, 100);
        assert_int_equal(hooked, deaths);
        die("buildResult");
    }
    assert_int_equal(names_in_hand(), 2);
    strcat(hand, "a third\n");
    put_by_hand("hand", id_str(&the_ask), hand);
    for (int i = 0; i < 30; i++)
        world_advance(&world, 100);
    assert_int_equal(hooked, 2);
    assert_crashed();
    end();
}

static void an_answer_that_has_ended_leaves_no_name_and_forgets_no_death(void **state)
{
    (void)state;
    begin("buildResult", 0);
    answer();
    assert_int_equal(names_in_hand(), 1);
    die("buildResult");
    hook_way = OBJECTS;
    for (int i = 0; i < 5; i++) {
        answer();
        assert_int_equal(world.last.status, NOD_E_REFUSED);
        assert_int_equal(names_in_hand(), 1);
    }
    hook_way = PASSES;
    answer();
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(names_in_hand(), 0);
    end();
}

static void without_a_hook_that_can_want_it_an_answer_costs_nothing_more(void **state)
{
    (void)state;
    begin(NULL, 0);
    hook_way = PASSES;
    answer();
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(hands, 0);
    assert_int_equal(hooks_add(engine_hooks(world.engine),
                               &(struct hook_spec){ .table = engine_flow(NOD_FLOW_ANSWER),
                                                    .stage = "buildResult",
                                                    .kind = NOD_WILL,
                                                    .target = STR("another"),
                                                    .fn = hook }),
                     NOD_OK);
    world_call(&world, "ann", "s1");
    world_settle(&world);
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":3}", "ann", 1);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(hands + hooked, 0);
    end();
}

/* Three nodes have it in hand and live, as far as is known. */
static void an_answer_waits_while_other_nodes_may_die_by_it(void **state)
{
    static const char *nodes[] = { "n1", "n2", "n3" };

    (void)state;
    for (int dies = 0; dies <= 1; dies++) {
        begin("buildResult", 0);
        ops.shared = true;
        hook_way = PASSES;
        for (int i = 0; i < 3; i++)
            put_by_hand("node", str_of(nodes[i]), "1 1700000000000 here ");
        put_by_hand("hand", id_str(&the_ask), dies ? "n1\nn2\nn3\n" : "n1\n");
        answer();
        assert_int_equal(world.answered + (int)hooked, 0);
        if (dies)
            for (int i = 0; i < 3; i++)
                inner->del(world.store, STR("node"), str_of(nodes[i]), NULL, NULL);
        else
            put_by_hand("hand", id_str(&the_ask), "");
        for (int i = 0; i < 20; i++)
            world_advance(&world, 100);
        assert_int_equal(world.answered, 1);
        assert_int_equal(world.last.status, dies ? NOD_E_STALE : NOD_OK);
        assert_int_equal(hooked, !dies);
        if (dies)
            assert_crashed();
        end();
    }
}

static bool is_ours_in_hand(void)
{
    char name[64];

    names_in_hand();
    snprintf(name, sizeof(name), STR_FMT " ", STR_ARG(world.engine->node));
    return strstr(hand, name);
}

/* Other nodes take the ask in hand, and let it go, while the hook runs here. */
static void a_name_is_taken_out_whatever_other_nodes_do_meanwhile(void **state)
{
    static const char *meanwhile[] = { "n1\n", "", "n1\nn2\n" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin("buildResult", 0);
        hook_way = OBJECTS;
        hands_meanwhile = meanwhile[i];
        answer();
        assert_int_equal(world.last.status, NOD_E_REFUSED);
        assert_false(is_ours_in_hand());
        assert_string_equal(hand, meanwhile[i]); /* theirs are as they were */
        end();
    }
}

/* It was stored that the ask is in hand, and the reply was lost. */
static void a_name_is_taken_out_although_its_reply_was_lost(void **state)
{
    (void)state;
    begin("buildResult", 0);
    hook_way = OBJECTS;
    replies_lost = 1;
    answer();
    assert_int_equal(replies_lost, 0);
    assert_int_equal(world.last.status, NOD_E_REFUSED);
    assert_int_equal(names_in_hand(), 0);
    end();
}

static void a_name_stays_while_another_answer_is_in_hand_here(void **state)
{
    (void)state;
    begin("buildResult", 0);
    answer();
    assert_true(is_ours_in_hand());
    hook_way = OBJECTS;
    world_answer(&world, the_ask.text, ASK_ACCEPTED, "{\"n\":4}", "ann", 0);
    for (int i = 0; i < 20; i++)
        world_advance(&world, 100);
    assert_int_equal(world.last.status, NOD_E_REFUSED);
    assert_true(is_ours_in_hand());
    end();
}

/* Two nodes that are given the same answers would each wait for what the other has in hand. */
static void an_answer_that_waits_for_others_of_its_submission_is_not_in_hand(void **state)
{
    struct answer_set *set;
    struct arena arena;

    (void)state;
    begin("buildResult", 0);
    hook_way = PASSES;
    arena_init(&arena, 1 << 16);
    set = answers_begin(world.engine);
    ask_answer(world.engine, id_str(&the_ask),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = json_parse(&arena, STR("{\"n\":3}"), NULL, NULL),
                                 .by = STR("ann"),
                                 .surface = &world.surface,
                                 .set = set },
               NULL, NULL);
    for (int i = 0; i < 20; i++)
        world_advance(&world, 100);
    assert_int_equal(hooked, 1);
    assert_int_equal(names_in_hand(), 0);
    answers_end(set);
    for (int i = 0; i < 20; i++)
        world_advance(&world, 100);
    assert_int_equal(stored_ask(), ASK_ACCEPTED);
    assert_int_equal(names_in_hand(), 0);
    arena_finish(&arena);
    end();
}

static nod_status asks_for_a_page(struct run *run, struct str *body)
{
    const struct entry *answer;

    *body = STR("{\"done\":true}");
    return run_ask(run,
                   &(struct ask_spec){ .kind = ASK_URL,
                                       .message = STR("Sign in"),
                                       .wait_done = true,
                                       .url = STR("https://example.com/{id}") },
                   &answer);
}

/* A page that is done says so for whom the question was put to, and hooks filter by that. */
static void a_page_that_is_done_is_in_hand_too(void **state)
{
    static const char *filters[] = { "", "ann", "bob" };

    (void)state;
    for (int i = 0; i < 3; i++) {
        world_init(&world, &(struct world_opts){ .handler = asks_for_a_page });
        inner = world.store->ops;
        ops = *inner;
        ops.durable = true;
        ops.get = op_get;
        ops.put = op_put;
        world.store->ops = &ops;
        hooked = hands = 0;
        hook_way = HANGS;
        assert_int_equal(hooks_add(engine_hooks(world.engine),
                                   &(struct hook_spec){ .table = engine_flow(NOD_FLOW_ANSWER),
                                                        .stage = "buildResult",
                                                        .kind = NOD_WILL,
                                                        .principal = str_of(filters[i]),
                                                        .fn = hook }),
                         NOD_OK);
        world_call(&world, "ann", "s1")->way = CALLER_HOLDS;
        world_settle(&world);
        the_ask = engine_ask(world.engine, str_of(world_up(&world)->id))->id;
        ask_url_done(world.engine, id_str(&the_ask), NULL, NULL);
        for (int at = 0; at < 20; at++)
            world_advance(&world, 100);
        assert_int_equal(hooked, i < 2);
        assert_int_equal(names_in_hand(), i < 2);
        assert_int_equal(hands > 0, i < 2);
        end();
    }
}

static void the_engine_goes_while_an_answer_in_hand_ends_a_gone_call(void **state)
{
    struct catalog *empty = catalog_create();

    (void)state;
    begin("buildResult", 0);
    hook_way = PASSES;
    engine_use_catalog(world.engine, empty);
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 100000;
    answer();
    assert_int_equal(names_in_hand(), 1);
    engine_use_catalog(world.engine, NULL);
    catalog_destroy(empty);
    world_finish(&world); /* the store goes first, as in a server */
}

static void the_engine_goes_while_a_brought_answer_ends_a_crashed_call(void **state)
{
    (void)state;
    begin("buildResult", 0);
    die_three_times();
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 100000;
    bring();
    world_finish(&world);
}

SUBJECT(in_hand)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_third_death_ends_the_call_and_the_hook_is_called_no_more),
        cmocka_unit_test(the_engine_goes_while_an_answer_in_hand_ends_a_gone_call),
        cmocka_unit_test(the_engine_goes_while_a_brought_answer_ends_a_crashed_call),
        cmocka_unit_test(what_died_is_tried_after_a_while),
        cmocka_unit_test(where_no_process_lives_for_long_it_is_tried_by_the_clock_of_the_store),
        cmocka_unit_test(what_died_together_is_tried_one_after_the_other),
        cmocka_unit_test(a_store_that_is_away_lets_no_answer_past_the_hook),
        cmocka_unit_test(an_answer_that_is_brought_finds_the_call_ended_before_it_is_claimed),
        cmocka_unit_test(a_name_is_taken_out_whatever_other_nodes_do_meanwhile),
        cmocka_unit_test(a_name_is_taken_out_although_its_reply_was_lost),
        cmocka_unit_test(a_name_stays_while_another_answer_is_in_hand_here),
        cmocka_unit_test(an_answer_that_waits_for_others_of_its_submission_is_not_in_hand),
        cmocka_unit_test(a_page_that_is_done_is_in_hand_too),
        cmocka_unit_test(whoever_may_not_answer_learns_nothing_of_it),
        cmocka_unit_test(a_node_that_was_told_to_stop_counts_for_nothing),
        cmocka_unit_test(deaths_by_the_clock_are_counted_too),
        cmocka_unit_test(an_answer_that_has_ended_leaves_no_name_and_forgets_no_death),
        cmocka_unit_test(without_a_hook_that_can_want_it_an_answer_costs_nothing_more),
        cmocka_unit_test(an_answer_waits_while_other_nodes_may_die_by_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
