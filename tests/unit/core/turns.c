/*
 * tests/unit/core/turns: an ask that is up in one place after the other, and consent that counts in
 * some places only.
 *
 * The first surface stands for the client that made the call, the second for the inbox.
 */
#include "core/inside.h"
#include "loaded.h"
#include "../runner.h"

#include <string.h>

static struct world world;

static const char *const in_turn[] = { "client>second", NULL };
static const char *const both[] = { "client,second", NULL };

enum { TURN_MS = 30000 }; /* the default */

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, "n", "How many?", world_ask_form, &answer));
    *body = answer->state == ASK_ACCEPTED ? STR("{\"ok\":true}") : STR("{\"ok\":false}");
    return NOD_OK;
}

static nod_status approves(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(
        run,
        &(struct ask_spec){
            .kind = ASK_APPROVAL, .key = STR("ok"), .message = STR("May it?"), .consent = true },
        &answer));
    *body = answer->state == ASK_ACCEPTED ? STR("{\"ok\":true}") : STR("{\"ok\":false}");
    return NOD_OK;
}

static void prepare(const char *const *surfaces, world_handler *handler)
{
    struct str unknown;

    world_init(&world, &(struct world_opts){ .handler = handler, .surface_attempts = 1 });
    world.second_can = world.can = 1u << ASK_FORM | 1u << ASK_APPROVAL;
    assert_true(engine_use_surfaces(world.engine, surfaces, &unknown));
}

static struct world_caller *begin(const char *const *surfaces, world_handler *handler)
{
    prepare(surfaces, handler);
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    return caller;
}

static void answer_on(struct surface *surface, const char *id, const char *content)
{
    struct arena arena;

    arena_init(&arena, 1 << 20);
    world_answer_by(&world, id,
                    &(struct answer){
                        .action = ASK_ACCEPTED,
                        .content = content ? json_parse(&arena, str_of(content), NULL, NULL) : NULL,
                        .by = STR("ann"),
                        .surface = surface,
                        .roles = ROLE_ANSWER });
    arena_finish(&arena);
}

/* --- in turn --- */

static void the_next_one_has_it_after_the_time_and_the_first_no_longer(void **state)
{
    (void)state;
    struct world_caller *caller = begin(in_turn, asks);
    assert_int_equal(world.shown_count, 1);
    world_advance(&world, TURN_MS - 1);
    assert_int_equal(world.second_count, 0);
    assert_true(world.shown[0].up);
    world_advance(&world, 1);
    assert_int_equal(world.second_count, 1);
    assert_string_equal(world.second_shown[0].id, world.shown[0].id);
    assert_false(world.shown[0].up);
    assert_int_equal(world.shown[0].end, ASK_PENDING);
    answer_on(&world.second, world.second_shown[0].id, "{\"n\":1}");
    assert_string_equal(caller->body, "{\"ok\":true}");
    world_finish(&world);
}

static void an_answer_in_time_stays_where_it_was_given(void **state)
{
    (void)state;
    struct world_caller *caller = begin(in_turn, asks);
    world_advance(&world, TURN_MS / 2);
    answer_on(&world.surface, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(caller->finished, 1);
    world_advance(&world, TURN_MS * 2);
    assert_int_equal(world.second_count, 0);
    world_finish(&world);
}

static void who_refuses_is_followed_at_once(void **state)
{
    (void)state;
    prepare(in_turn, asks);
    world.offer = OFFER_REFUSED;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.second_count, 1);
    world_advance(&world, TURN_MS * 3); /* and nothing more follows */
    assert_int_equal(world.second_count, 1);
    assert_true(world.second_shown[0].up);
    answer_on(&world.second, world.second_shown[0].id, "{\"n\":1}");
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void it_stays_where_it_is_if_the_next_one_cannot(void **state)
{
    (void)state;
    prepare(in_turn, asks);
    world.second_can = 0;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    world_advance(&world, TURN_MS * 2);
    assert_true(world.shown[0].up);
    assert_int_equal(caller->finished, 0);
    answer_on(&world.surface, world.shown[0].id, "{\"n\":1}");
    assert_string_equal(caller->body, "{\"ok\":true}");
    world_finish(&world);
}

static void a_late_answer_of_the_first_counts_while_nobody_else_has_answered(void **state)
{
    (void)state;
    struct world_caller *caller = begin(in_turn, asks);
    world_advance(&world, TURN_MS);
    answer_on(&world.surface, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_false(world.second_shown[0].up);
    world_finish(&world);
}

static void the_operator_sets_the_time(void **state)
{
    (void)state;
    prepare(in_turn, asks);
    world.engine->opts.next_turn_ms = 1000;
    world_call(&world, "ann", "s1");
    world_settle(&world);
    world_advance(&world, 1000);
    assert_int_equal(world.second_count, 1);
    world_finish(&world);
}

/* The store's clock decides: a node that takes the call over comes to the same turn. */
static void another_node_comes_to_the_same_turn(void **state)
{
    static struct loaded loaded;
    char name[ID_LEN + 1] = "";
    struct str unknown;
    (void)state;

    struct world_caller *caller = begin(in_turn, asks);
    memcpy(name, call_id(caller->caller.call).at, ID_LEN);
    world_advance(&world, TURN_MS / 2);
    engine_destroy(world.engine);
    world_engine(&world);
    assert_true(engine_use_surfaces(world.engine, in_turn, &unknown));
    fake_clock_advance(&world.clock, TURN_MS / 4);
    loaded_begin(&loaded, world.store, str_of(name));
    world_settle(&world);
    world.shown_count = world.second_count = 0;
    struct world_caller *back = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    assert_int_equal(world.shown_count, 1); /* it is still the client's turn */
    world_advance(&world, TURN_MS / 4);
    assert_int_equal(world.second_count, 1);
    answer_on(&world.second, world.second_shown[0].id, "{\"n\":1}");
    assert_int_equal(back->finished, 1);
    world_finish(&world);
    loaded_forget(&loaded);
}

/* A client that carries its questions cannot be told that its turn is over. */
static void a_question_that_was_carried_away_comes_up_elsewhere_in_its_turn(void **state)
{
    (void)state;
    prepare(in_turn, asks);
    struct world_caller *caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    world_settle(&world);
    assert_int_equal(world.second_count, 0);
    world_advance(&world, TURN_MS);
    assert_int_equal(world.second_count, 1);
    answer_on(&world.second, world.second_shown[0].id, "{\"n\":1}");
    assert_int_equal(world.runs, 2);
    world_finish(&world);
}

static nod_status steps_then_asks(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "deed", false));
    return asks(run, body);
}

/* It left while the tool worked, and comes back. */
static void a_client_that_left_before_the_first_question_has_its_turn(void **state)
{
    (void)state;
    prepare(in_turn, steps_then_asks);
    struct world_caller *caller = world_caller_new(&world);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    assert_int_equal(world.steps_done, 1);
    world.blocking = true; /* its next run is under way for long */
    world_settle(&world);
    struct run *run = world.held;
    struct str body = STR_NONE;
    assert_non_null(run);
    call_caller_left(caller->caller.call);
    world.held = NULL;
    world.blocking = false;
    nod_status status = steps_then_asks(run, &body);
    run_done(run, status, body);
    world_settle(&world);
    assert_int_equal(engine_pending(world.engine), 1);
    assert_int_equal(world.second_count, 0);
    world_advance(&world, TURN_MS);
    assert_int_equal(world.second_count, 1);
    world_finish(&world);
}

/* --- before its turn --- */

static const char *const other_way[] = { "second>client", NULL };

static void an_answer_before_the_turn_of_a_place_does_not_count(void **state)
{
    (void)state;
    struct world_caller *caller = begin(in_turn, asks);
    world_advance(&world, TURN_MS - 1);
    answer_on(&world.second, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    assert_int_equal(caller->finished, 0);
    world_advance(&world, 1);
    answer_on(&world.second, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void what_a_client_says_before_its_turn_does_not_count(void **state)
{
    (void)state;
    struct world_caller *caller = begin(other_way, asks);
    assert_int_equal(world.shown_count, 0);
    answer_on(&world.surface, world.second_shown[0].id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    assert_int_equal(caller->finished, 0);
    world_advance(&world, TURN_MS);
    assert_int_equal(world.shown_count, 1);
    answer_on(&world.surface, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void who_follows_one_that_refuses_may_answer_at_once(void **state)
{
    (void)state;
    prepare(in_turn, asks);
    world.offer = OFFER_REFUSED;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    answer_on(&world.second, world.second_shown[0].id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

/* Of the call of another node, the record says whether anybody before could be asked. */
static void the_turn_is_known_where_the_call_is_not_live(void **state)
{
    static const bool able[] = { true, false };
    char id[ID_LEN + 1] = "";
    struct str unknown;
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        prepare(in_turn, asks);
        world.can = able[i] ? world.can : 0;
        world_call(&world, "ann", "s1");
        world_settle(&world);
        memcpy(id, able[i] ? world.shown[0].id : world.second_shown[0].id, ID_LEN);
        engine_destroy(world.engine);
        world_engine(&world);
        assert_true(engine_use_surfaces(world.engine, in_turn, &unknown));
        answer_on(&world.second, id, "{\"n\":1}");
        assert_int_equal(world.last.status, able[i] ? NOD_E_NOT_FOUND : NOD_OK);
        world_advance(&world, TURN_MS);
        answer_on(&world.second, id, "{\"n\":1}");
        assert_int_equal(world.last.status, able[i] ? NOD_OK : NOD_E_STALE);
        world_finish(&world);
    }
}

/* A store that outlives its process, and is away for a moment. */
static const struct store_ops *inner_ops;
static int claims_lost;

static void claim_unless_away(struct store *store, const struct claim_spec *claim, store_done *done,
                              void *data)
{
    if (claims_lost-- > 0)
        done(data, NOD_E_STORE, NULL);
    else
        inner_ops->claim(store, claim, done, data);
}

/* Everybody before has refused: other nodes know it as soon as the store is back. */
static void a_turn_that_came_early_is_kept_when_the_store_is_back(void **state)
{
    static struct store_ops ops;
    char id[ID_LEN + 1] = "";
    struct str unknown;
    (void)state;

    prepare(in_turn, asks);
    inner_ops = world.store->ops;
    ops = *inner_ops;
    ops.claim = claim_unless_away;
    ops.durable = true;
    world.store->ops = &ops;
    claims_lost = 3;
    world.offer = OFFER_REFUSED;
    world_call(&world, "ann", "s1");
    world_settle(&world);
    for (int i = 0; i < 10; i++)
        world_advance(&world, TURN_MS / 100);
    assert_true(claims_lost < 0);
    memcpy(id, world.second_shown[0].id, ID_LEN);
    engine_destroy(world.engine);
    world_engine(&world);
    assert_true(engine_use_surfaces(world.engine, in_turn, &unknown));
    answer_on(&world.second, id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_OK);
    world.store->ops = inner_ops;
    world_finish(&world);
}

/* The call has come back to this node, and everybody before has refused elsewhere. */
static void what_comes_back_is_asked_in_the_turn_that_came_early(void **state)
{
    static struct store_ops ops;
    static struct loaded loaded;
    char id[ID_LEN + 1] = "", name[ID_LEN + 1] = "";
    struct str unknown;
    (void)state;

    prepare(in_turn, asks);
    inner_ops = world.store->ops;
    ops = *inner_ops;
    ops.durable = true;
    world.store->ops = &ops;
    world.offer = OFFER_REFUSED;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    memcpy(id, world.second_shown[0].id, ID_LEN);
    memcpy(name, call_id(caller->caller.call).at, ID_LEN);
    engine_destroy(world.engine);
    world_engine(&world);
    world.offer = OFFER_SHOWN;
    assert_true(engine_use_surfaces(world.engine, in_turn, &unknown));
    loaded_begin(&loaded, world.store, str_of(name));
    world_settle(&world);
    struct world_caller *back = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    assert_int_equal(world.shown_count, 1); /* its client has refused, and is not asked again */
    answer_on(&world.second, id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_OK);
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    world.store->ops = inner_ops;
    world_finish(&world);
    loaded_forget(&loaded);
}

static void put_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    assert_int_equal(status, NOD_OK);
}

static void no_orphan(void *data, const struct call_record *record)
{
    (void)data;
    (void)record;
}

/* An older nod kept it in a small record beside the ask. */
static void a_turn_that_came_early_while_an_older_nod_ran_has_come(void **state)
{
    static struct store_ops ops;
    char id[ID_LEN + 1] = "";
    struct str unknown;
    (void)state;

    for (int older = 0; older < 2; older++) {
        prepare(in_turn, asks);
        inner_ops = world.store->ops;
        ops = *inner_ops;
        ops.durable = true;
        world.store->ops = &ops;
        world_call(&world, "ann", "s1");
        world_settle(&world);
        memcpy(id, world.shown[0].id, ID_LEN);
        if (older)
            ops.put(world.store, STR("turn"), str_of(id), STR("1l"), STR_NONE, 0, TURN_MS, put_done,
                    NULL);
        world_settle(&world);
        engine_destroy(world.engine);
        world_engine(&world);
        assert_true(engine_use_surfaces(world.engine, in_turn, &unknown));
        engine_recover(world.engine, &(struct recovery_opts){ .orphan = no_orphan });
        world_settle(&world);
        answer_on(&world.second, id, "{\"n\":1}");
        assert_int_equal(world.last.status, older ? NOD_OK : NOD_E_NOT_FOUND);
        world.store->ops = inner_ops;
        world_finish(&world);
    }
}

/* --- the names of a tool --- */

static void a_tool_has_its_own_places(void **state)
{
    static const char *const only_second[] = { "second", NULL };
    (void)state;

    prepare(both, asks);
    world.target.surfaces = only_second;
    world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(world.second_count, 1);
    world_finish(&world);
}

static void a_tool_that_names_nobody_who_is_here_asks_nobody(void **state)
{
    static const char *const nobody[] = { "inbox", NULL };
    (void)state;

    prepare(both, asks);
    world.target.surfaces = nobody;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count + world.second_count, 0);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_NOT_SUPPORTED);
    world_finish(&world);
}

static void an_answer_from_a_place_that_is_not_named_does_not_count(void **state)
{
    static const char *const client[] = { "client", NULL };
    (void)state;

    struct world_caller *caller = begin(client, asks);
    answer_on(&world.second, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    assert_int_equal(caller->finished, 0);
    answer_on(&world.surface, world.shown[0].id, "{\"n\":1}");
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void names_may_stand_in_one_text_or_in_several(void **state)
{
    static const char *const mixed[] = { " client , second", NULL };
    static const char *const odd[] = { "client>>second", NULL };
    struct str unknown = STR("-");
    (void)state;

    prepare(mixed, asks);
    world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count, 1);
    assert_int_equal(world.second_count, 1);
    assert_false(engine_use_surfaces(world.engine, odd, &unknown));
    assert_int_equal(unknown.len, 0);
    world_finish(&world);
}

/* --- consent --- */

static void consent_is_asked_for_where_it_counts_only(void **state)
{
    (void)state;
    prepare(both, approves);
    world.engine->consent = CONSENT_INBOX;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(world.second_count, 1);
    answer_on(&world.surface, world.second_shown[0].id,
              NULL); /* the client, which has guessed it */
    assert_int_equal(world.last.status, NOD_E_REFUSED);
    assert_true(world.last.pending);
    assert_int_equal(caller->finished, 0);
    answer_on(&world.second, world.second_shown[0].id, NULL);
    assert_string_equal(caller->body, "{\"ok\":true}");
    world_finish(&world);
}

static void data_is_asked_for_everywhere(void **state)
{
    (void)state;
    prepare(both, asks);
    world.engine->consent = CONSENT_INBOX;
    world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count, 1);
    assert_int_equal(world.second_count, 1);
    world_finish(&world);
}

static void the_gate_asks_where_consent_counts(void **state)
{
    struct str unknown;
    (void)state;

    world_init(&world, &(struct world_opts){ .handler = asks, .requires_confirmation = true });
    world.second_can = world.can = 1u << ASK_FORM | 1u << ASK_APPROVAL;
    assert_true(engine_use_surfaces(world.engine, NULL, &unknown));
    world.target.consent = CONSENT_INBOX;
    world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(world.second_count, 1);
    answer_on(&world.second, world.second_shown[0].id, NULL);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(world.shown_count, 1); /* its form is the client's again */
    world_finish(&world);
}

static void nobody_to_consent_is_nobody_asked(void **state)
{
    (void)state;
    prepare(both, approves);
    world.engine->consent = CONSENT_INBOX;
    world.second_can = 0;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(caller->status, NOD_E_NOT_SUPPORTED);
    world_finish(&world);
}

SUBJECT(turns)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_one_has_it_after_the_time_and_the_first_no_longer),
        cmocka_unit_test(an_answer_in_time_stays_where_it_was_given),
        cmocka_unit_test(who_refuses_is_followed_at_once),
        cmocka_unit_test(it_stays_where_it_is_if_the_next_one_cannot),
        cmocka_unit_test(a_late_answer_of_the_first_counts_while_nobody_else_has_answered),
        cmocka_unit_test(the_operator_sets_the_time),
        cmocka_unit_test(another_node_comes_to_the_same_turn),
        cmocka_unit_test(a_question_that_was_carried_away_comes_up_elsewhere_in_its_turn),
        cmocka_unit_test(a_client_that_left_before_the_first_question_has_its_turn),
        cmocka_unit_test(an_answer_before_the_turn_of_a_place_does_not_count),
        cmocka_unit_test(what_a_client_says_before_its_turn_does_not_count),
        cmocka_unit_test(who_follows_one_that_refuses_may_answer_at_once),
        cmocka_unit_test(the_turn_is_known_where_the_call_is_not_live),
        cmocka_unit_test(a_turn_that_came_early_is_kept_when_the_store_is_back),
        cmocka_unit_test(what_comes_back_is_asked_in_the_turn_that_came_early),
        cmocka_unit_test(a_turn_that_came_early_while_an_older_nod_ran_has_come),
        cmocka_unit_test(a_tool_has_its_own_places),
        cmocka_unit_test(a_tool_that_names_nobody_who_is_here_asks_nobody),
        cmocka_unit_test(an_answer_from_a_place_that_is_not_named_does_not_count),
        cmocka_unit_test(names_may_stand_in_one_text_or_in_several),
        cmocka_unit_test(consent_is_asked_for_where_it_counts_only),
        cmocka_unit_test(data_is_asked_for_everywhere),
        cmocka_unit_test(the_gate_asks_where_consent_counts),
        cmocka_unit_test(nobody_to_consent_is_nobody_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
