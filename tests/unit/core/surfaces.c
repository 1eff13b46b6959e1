/*
 * tests/unit/core/surfaces: an ask that is up on several surfaces, and who may answer it.
 *
 * The first surface stands for the client that made the call, the second for any other place. The
 * other node is played by operations on the store, as another engine would send them.
 */
#include "loaded.h"

#include <stdio.h>
#include <string.h>

#include "core/answerable.h"
#include "core/inside.h"
#include "../runner.h"

static struct world world;

static const char *const both[] = { "client", "second", NULL };

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

static struct world_caller *begin(const char *const *surfaces, world_handler *handler)
{
    struct str unknown;

    world_init(&world, &(struct world_opts){ .handler = handler, .surface_attempts = 1 });
    world.second_can = world.can = 1u << ASK_FORM | 1u << ASK_APPROVAL;
    assert_true(engine_use_surfaces(world.engine, surfaces, &unknown));
    return world_call(&world, "ann", "s1");
}

static void answer_on_second(enum ask_state action, const char *content, const char *by,
                             role_set roles)
{
    struct arena arena;

    arena_init(&arena, 1 << 20);
    world_answer_by(&world, world.second_shown[world.second_count - 1].id,
                    &(struct answer){
                        .action = action,
                        .content = content ? json_parse(&arena, str_of(content), NULL, NULL) : NULL,
                        .by = str_of(by),
                        .surface = &world.second,
                        .roles = roles });
    arena_finish(&arena);
}

static void an_ask_is_up_on_all_that_are_named(void **state)
{
    (void)state;
    begin(both, asks);
    world_settle(&world);
    assert_int_equal(world.shown_count, 1);
    assert_int_equal(world.second_count, 1);
    world_finish(&world);
}

static void without_names_it_is_up_on_the_first_alone(void **state)
{
    (void)state;
    begin(NULL, asks);
    world_settle(&world);
    assert_int_equal(world.shown_count, 1);
    assert_int_equal(world.second_count, 0);
    world_finish(&world);
}

static void the_first_answer_wins_and_the_other_surface_is_told_who(void **state)
{
    (void)state;
    struct world_caller *caller = begin(both, asks);
    world_settle(&world);
    world_answer(&world, world.shown[0].id, ASK_ACCEPTED, "{\"n\":3}", "ann", 1);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    const struct shown *lost = &world.second_shown[0];
    assert_false(lost->up);
    assert_int_equal(lost->end, ASK_ACCEPTED);
    assert_string_equal(lost->by, "ann");
    assert_string_equal(lost->via, "first");
    assert_ptr_equal(lost->winner, &world.surface);
    answer_on_second(ASK_DECLINED, NULL, "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_E_STALE); /* and it learns how it ended */
    assert_int_equal(world.last.state, ASK_ACCEPTED);
    world_finish(&world);
}

static void an_answer_elsewhere_takes_the_clients_prompt_down(void **state)
{
    (void)state;
    struct world_caller *caller = begin(both, asks);
    world_settle(&world);
    answer_on_second(ASK_DECLINED, NULL, "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"ok\":false}");
    const struct shown *lost = &world.shown[0];
    assert_false(lost->up);
    assert_int_equal(lost->end, ASK_DECLINED);
    assert_string_equal(lost->via, "second");
    assert_ptr_equal(lost->winner, &world.second);
    assert_string_equal(lost->why, "The question was answered elsewhere");
    world_finish(&world);
}

static void two_answers_at_the_same_moment_have_one_winner(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world_caller *caller = begin(both, asks);
        world_settle(&world);
        world.seed = seed; /* completions come in any order */
        world_answer(&world, world.shown[0].id, ASK_ACCEPTED, "{\"n\":3}", "ann", 1);
        answer_on_second(ASK_DECLINED, NULL, "ann", ROLE_ANSWER);
        world_settle(&world);
        assert_int_equal(world.answered, 2);
        assert_int_equal(caller->finished, 1);
        /* Whoever won may hear of it by its answer alone; nobody else is left with it. */
        assert_false(world.shown[0].up && world.second_shown[0].up);
        world_finish(&world);
    }
}

static void one_that_refuses_leaves_it_up_on_the_other(void **state)
{
    (void)state;
    struct world_caller *caller = begin(both, asks);
    world.offer = OFFER_REFUSED;
    world_settle(&world);
    assert_int_equal(world.second_count, 1);
    assert_true(world.second_shown[0].up);
    assert_int_equal(caller->finished, 0);
    answer_on_second(ASK_ACCEPTED, "{\"n\":1}", "ann", ROLE_ANSWER);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"ok\":true}");
    world_finish(&world);
}

static void when_all_refuse_nobody_was_asked(void **state)
{
    (void)state;
    struct world_caller *caller = begin(both, asks);
    world.offer = world.second_offer = OFFER_REFUSED;
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_NOT_SUPPORTED);
    world_finish(&world);
}

static void content_that_does_not_fit_is_asked_again_only_where_offers_are_counted(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks, .surface_attempts = 2 });
    world.second_can = world.can = 1u << ASK_FORM;
    struct str unknown;
    assert_true(engine_use_surfaces(world.engine, both, &unknown));
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    answer_on_second(ASK_ACCEPTED, "{\"n\":\"three\"}", "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_true(world.last.pending);
    assert_int_equal(world.shown_count, 1);
    world_answer(&world, world.shown[0].id, ASK_ACCEPTED, "{\"n\":\"three\"}", "ann", 1);
    assert_int_equal(world.shown_count, 2);
    assert_int_equal(world.second_count, 1);
    answer_on_second(ASK_ACCEPTED, "{\"n\":3}", "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_null(world_up(&world)); /* neither of its two offers stands */
    world_finish(&world);
}

static void an_ask_whose_time_is_up_or_whose_call_ends_is_taken_down_everywhere(void **state)
{
    (void)state;
    for (int cancels = 0; cancels < 2; cancels++) {
        struct world_caller *caller = begin(both, asks);
        world_settle(&world);
        if (cancels)
            call_cancel(caller->caller.call, STR("enough"));
        world_settle(&world);
        world_advance(&world, ENGINE_ASK_TTL_MS + 1);
        const struct shown *here = &world.shown[0], *there = &world.second_shown[0];
        assert_false(here->up || there->up);
        assert_int_equal(here->end, cancels ? ASK_WITHDRAWN : ASK_EXPIRED);
        assert_int_equal(there->end, here->end);
        assert_string_equal(there->via, cancels ? "" : "clock");
        world_finish(&world);
    }
}

/* --- another node --- */

static void nothing_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

static nod_status asks_two(struct run *run, struct str *body)
{
    const struct entry *answer;
    bool pending = false;

    for (int i = 0; i < 2; i++) {
        struct ask_spec spec = { .kind = ASK_FORM,
                                 .key = i ? STR("b") : STR("a"),
                                 .message = STR("How many?"),
                                 .detail = STR(world_ask_form) };
        pending |= run_ask(run, &spec, &answer) == NOD_PENDING;
    }
    if (pending)
        return NOD_PENDING;
    *body = STR("{}");
    return NOD_OK;
}

static void both_surfaces_are_told_who_won_on_another_node(void **state)
{
    struct id token;
    (void)state;

    struct world_caller *caller = begin(both, asks_two);
    world_settle(&world);
    assert_int_equal(world.shown_count, 2);
    id_random(&token);
    world.store->ops->claim(
        world.store,
        &(struct claim_spec){ .token = id_str(&token),
                              .items = &(struct claim_item){ .ask_id = str_of(world.shown[0].id),
                                                             .outcome = ASK_DECLINED },
                              .count = 1,
                              .by = STR("bob"),
                              .via = STR("inbox") },
        nothing_done, NULL);
    world_settle(&world);
    call_wake(caller->caller.call);
    world_settle(&world);
    for (int i = 0; i < 2; i++) {
        const struct shown *shown = i ? &world.second_shown[0] : &world.shown[0];
        assert_false(shown->up);
        assert_int_equal(shown->end, ASK_DECLINED);
        assert_string_equal(shown->by, "bob");
        assert_string_equal(shown->via, "inbox");
        assert_null(shown->winner);
    }
    assert_true(world.shown[1].up && world.second_shown[1].up);
    world_finish(&world);
}

/* --- a client that carries its asks away --- */

static struct loaded loaded; /* what a caller that comes back knows */
static char call_name[ID_LEN + 1];
static uint64_t first_place; /* of the caller's first ask, in its stream */

static struct world_caller *leave_with(world_handler *handler, bool handed)
{
    struct str unknown;

    world_init(&world, &(struct world_opts){ .handler = handler,
                                             .surface_attempts = 1,
                                             .limits = { .journal_bytes = 16384 } });
    world.second_can = world.can = 1u << ASK_FORM;
    assert_true(engine_use_surfaces(world.engine, both, &unknown));
    struct world_caller *caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    caller->place = first_place;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = handed,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    return caller;
}

static void load(void)
{
    loaded_forget(&loaded);
    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
}

static void end(void)
{
    world_finish(&world);
    loaded_forget(&loaded);
}

static nod_status asks_twice(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, "a", "A?", world_ask_form, &answer));
    NOD_TRY(world_ask(run, "b", "B?", world_ask_form, &answer));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static void what_a_client_carries_is_up_elsewhere_and_run_on_without_it(void **state)
{
    (void)state;
    struct world_caller *caller = leave_with(asks_twice, true);
    assert_null(caller->caller.call);
    assert_null(engine_find(world.engine, str_of(call_name)));
    assert_int_equal(world.shown_count, 0); /* the client was told by its caller */
    for (size_t i = 1; i <= 2; i++) {
        assert_int_equal(world.second_count, i);
        assert_true(world.second_shown[i - 1].up);
        answer_on_second(ASK_ACCEPTED, "{\"n\":3}", "ann", ROLE_ANSWER);
        assert_int_equal(world.last.status, NOD_OK);
    }
    assert_int_equal(engine_calls(world.engine), 0);
    load();
    assert_int_equal(loaded.call.state, CALL_STORED_FINISHED);
    assert_non_null(strstr(loaded.call.result.at, "done"));
    end();
}

#define WORD_FORM "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}"

static nod_status wants_two_words(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, "a", "A?", WORD_FORM, &answer));
    NOD_TRY(world_ask(run, "b", "B?", WORD_FORM, &answer));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static void what_a_call_has_learned_is_counted_after_it_was_taken_over_too(void **state)
{
    char word[9100];
    (void)state;

    snprintf(word, sizeof(word), "{\"x\":\"%09000d\"}", 0);
    leave_with(wants_two_words, true);
    answer_on_second(ASK_ACCEPTED, word, "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_OK);
    load();
    struct world_caller *back = world_caller_new(&world);
    back->way = CALLER_CARRIES;
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    answer_on_second(ASK_ACCEPTED, word, "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_E_INVALID); /* the journal has no room for both */
    assert_true(world.last.pending);
    answer_on_second(ASK_ACCEPTED, "{\"x\":\"short\"}", "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_OK);
    assert_string_equal(back->body, "{\"done\":true}");
    end();
}

static void a_client_that_comes_back_takes_the_resting_call_over(void **state)
{
    (void)state;
    leave_with(asks_twice, true);
    load();
    struct world_caller *back = world_caller_new(&world);
    back->way = CALLER_CARRIES;
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    assert_int_equal(back->asked, 1);
    assert_true(world.second_shown[0].up); /* as it was, and once */
    assert_int_equal(world.second_count, 1);
    world_answer(&world, world.second_shown[0].id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
    assert_int_equal(world.last.status, NOD_OK);
    assert_false(world.second_shown[0].up);
    assert_string_equal(world.second_shown[0].via, "first");
    assert_int_equal(back->asked, 2); /* the next question */
    answer_on_second(ASK_ACCEPTED, "{\"n\":3}", "ann", ROLE_ANSWER);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"done\":true}");
    end();
}

/* --- the places of its asks in the client's stream --- */

/* The store survives from now on, and may answer the look at a call's asks in its own way. */
static struct {
    struct store_ops ops;
    const struct store_ops *inner;
    void (*meanwhile)(void);
    nod_status status; /* NOD_OK: as it was */
    size_t looks;
    store_done *done;
    void *data;
} looking;

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    if (looking.meanwhile)
        looking.meanwhile();
    looking.done(looking.data, looking.status ? looking.status : status, reply);
}

static void look_at_asks(struct store *store, const struct store_scan *scan, store_row_fn *row,
                         store_done *done, void *data)
{
    if (scan->index == STORE_ASKS_OF_CALL && looking.looks++ == 0) {
        looking.done = done;
        looking.data = data;
        done = looked;
    }
    looking.inner->scan(store, scan, row, done, data);
}

/* The caller of a call has given its first ask this place, and has left. The next ask is made
 * without it: which place has that? */
static uint64_t place_behind(uint64_t place, nod_status status, void (*meanwhile)(void))
{
    first_place = place;
    leave_with(asks_twice, true);
    first_place = 0;
    looking.inner = world.store->ops;
    looking.ops = *looking.inner;
    looking.ops.durable = true;
    looking.ops.scan = look_at_asks;
    looking.status = status;
    looking.meanwhile = meanwhile;
    looking.looks = 0;
    world.store->ops = &looking.ops;
    answer_on_second(ASK_ACCEPTED, "{\"n\":3}", "ann", ROLE_ANSWER);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(looking.looks, 1);
    load();
    assert_int_equal(loaded.ask_count, 1);
    uint64_t next = loaded.asks[0].seq;
    end();
    return next;
}

static void the_ask_of_a_resting_call_has_the_place_behind_those_that_were_given_out(void **state)
{
    (void)state;
    assert_int_equal(place_behind(7 * PLACE_STEP, NOD_OK, NULL), 8 * PLACE_STEP);
    assert_int_equal(place_behind(7 * PLACE_STEP + 5, NOD_OK, NULL), 8 * PLACE_STEP);
    assert_int_equal(place_behind(0, NOD_OK, NULL), PLACE_STEP);
    assert_int_equal(place_behind(PLACES_END / PLACE_STEP * PLACE_STEP, NOD_OK, NULL), 0);
}

static void an_ask_whose_place_cannot_be_found_is_asked_without_one(void **state)
{
    (void)state;
    assert_int_equal(place_behind(PLACE_STEP, NOD_E_REFUSED, NULL), 0);
}

static void the_client_comes_back(void)
{
    struct world_caller *back = world_caller_new(&world);

    back->place = 9 * PLACE_STEP;
    back->way = CALLER_CARRIES;
    call_change_caller(engine_call_at(world.engine, str_of(call_name)), &back->caller);
}

static void a_client_that_comes_back_while_a_place_is_looked_for_gives_it_itself(void **state)
{
    (void)state;
    assert_int_equal(place_behind(PLACE_STEP, NOD_OK, the_client_comes_back), 9 * PLACE_STEP);
}

static void a_call_whose_client_holds_nothing_does_not_rest(void **state)
{
    (void)state;
    leave_with(asks, false);
    assert_int_equal(world.second_count, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void a_resting_call_expires_is_cancelled_and_is_taken_down(void **state)
{
    (void)state;
    for (int cancels = 0; cancels < 2; cancels++) {
        leave_with(asks, true);
        assert_true(world.second_shown[0].up);
        if (cancels)
            engine_cancel(world.engine, str_of(call_name), STR("enough"), NULL, NULL);
        world_settle(&world);
        world_advance(&world, ENGINE_ASK_TTL_MS + 1);
        assert_false(world.second_shown[0].up);
        assert_int_equal(world.second_shown[0].end, cancels ? ASK_WITHDRAWN : ASK_EXPIRED);
        load();
        assert_int_equal(loaded.call.state, cancels ? CALL_STORED_CANCELLED : CALL_STORED_FINISHED);
        end();
    }
}

static void a_resting_call_that_goes_on_at_another_node_is_taken_down_here(void **state)
{
    struct id token;
    (void)state;

    leave_with(asks, true);
    id_random(&token);
    world.store->ops->claim(
        world.store,
        &(struct claim_spec){ .token = id_str(&token),
                              .items =
                                  &(struct claim_item){ .ask_id = str_of(world.second_shown[0].id),
                                                        .outcome = ASK_DECLINED },
                              .count = 1,
                              .by = STR("bob"),
                              .via = STR("inbox"),
                              .take_for = STR("another node") },
        nothing_done, NULL);
    world_settle(&world);
    world_advance(&world, 1000);
    if (world.second_shown[0].up) { /* no hint has come: it learns when somebody answers here */
        answer_on_second(ASK_ACCEPTED, "{\"n\":3}", "ann", ROLE_ANSWER);
        assert_int_equal(world.last.status, NOD_E_STALE);
        assert_int_equal(world.last.state, ASK_DECLINED);
    } else {
        assert_string_equal(world.second_shown[0].by, "bob");
    }
    world_advance(&world, 5000);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

/* --- names --- */

static void an_unknown_surface_is_refused_and_changes_nothing(void **state)
{
    static const char *const wrong[] = { "second", "inbox", NULL };
    struct str unknown = STR_NONE;
    (void)state;

    world_init(&world, &(struct world_opts){ .handler = asks });
    assert_false(engine_use_surfaces(world.engine, wrong, &unknown));
    assert_true(str_eq(unknown, STR("inbox")));
    assert_true(engine_asks_client(world.engine, NULL));
    assert_false(engine_asks_together(world.engine, NULL));
    world_finish(&world);
}

static void one_that_is_not_named_is_not_used(void **state)
{
    static const char *const one[] = { "second", "second", NULL };
    (void)state;

    begin(one, asks);
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(world.second_count, 1);
    assert_false(engine_asks_client(world.engine, NULL));
    world_finish(&world);
}

static void a_surface_that_cannot_be_told_apart_is_refused(void **state)
{
    static const char *const names[] = {
        "",      "Second", "my inbox", "second",      "client",
        "clock", "nod",    "page",     "caf\xc3\xa9", "a-name-that-is-longer-than-a-name-may-be"
    };
    (void)state;

    world_init(&world, &(struct world_opts){ .handler = asks });
    struct surface_ops ops = *world.second.ops;
    struct surface one = { .ops = &ops };
    struct str unknown;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ops.name = names[i];
        if (engine_add_surface(world.engine, &one))
            fail_msg("took \"%s\"", names[i]);
    }
    ops.name = "inbox-2_b";
    assert_true(engine_add_surface(world.engine, &one));
    assert_true(
        engine_use_surfaces(world.engine, (const char *const[]){ "inbox-2_b", NULL }, &unknown));
    world_finish(&world);
}

enum { SURFACES = 8 }; /* of one engine */

static void a_surface_too_many_is_refused(void **state)
{
    struct surface_ops ops[SURFACES];
    struct surface more[SURFACES];
    char names[SURFACES][8];
    size_t added = 2; /* the world's own */
    struct str unknown;
    (void)state;

    world_init(&world, &(struct world_opts){ .handler = asks });
    for (size_t i = 0; i < SURFACES; i++) {
        snprintf(names[i], sizeof(names[i]), "s%zu", i);
        ops[i] = *world.second.ops;
        ops[i].name = names[i];
        more[i].ops = &ops[i];
        bool fits = added < SURFACES;
        assert_true(engine_add_surface(world.engine, &more[i]) == fits);
        assert_true(engine_use_surfaces(world.engine, (const char *const[]){ names[i], NULL },
                                        &unknown) == fits);
        added += fits;
    }
    world_finish(&world);
}

/* --- who may answer --- */

static void the_rule_of_who_may_answer(void **state)
{
    static const struct {
        enum ask_kind kind;
        unsigned approver;
        const char *by;
        role_set roles;
        bool may;
    } cases[] = {
        { ASK_FORM, 0, "ann", ANSWERS_AS_CLIENT, true },
        { ASK_FORM, 0, "bob", ANSWERS_AS_CLIENT, false },
        { ASK_FORM, 0, "ann", ROLES_NONE, false },
        { ASK_FORM, 0, "ann", ROLE_ASK, false },
        { ASK_FORM, 0, "ann", ROLE_ANSWER, true },
        { ASK_FORM, 0, "bob", ROLE_ANSWER, false },
        { ASK_FORM, 0, "ann", ROLE_APPROVE, false },
        { ASK_FORM, 0, "bob", ROLE_APPROVE, false },
        { ASK_FORM, 0, "bob", ROLE_ADMIN, true },
        { ASK_APPROVAL, 0, "ann", ANSWERS_AS_CLIENT | ROLE_ASK, true },
        { ASK_APPROVAL, 0, "ann", ROLE_ANSWER, true },
        { ASK_APPROVAL, 0, "bob", ROLE_ANSWER, false },
        { ASK_APPROVAL, 0, "bob", ROLE_APPROVE, true },
        { ASK_APPROVAL, 0, "ann", ROLE_ASK | ROLE_APPROVE, false },
        { ASK_APPROVAL, 0, "ann", ROLE_ADMIN, true },
        { ASK_APPROVAL, 0, "bob", ROLE_ASK, false },
        { ASK_APPROVAL, 0, "bob", ROLE_ADMIN, true },
        { ASK_URL, 0, "bob", ROLE_APPROVE | ROLE_ANSWER, false },
        /* Four eyes: never who made the call, whatever it may do otherwise. */
        { ASK_APPROVAL, ROLE_APPROVE, "ann", ANSWERS_AS_CLIENT, false },
        { ASK_APPROVAL, ROLE_APPROVE, "ann", ROLE_ANSWER | ROLE_APPROVE | ROLE_ADMIN, false },
        { ASK_APPROVAL, ROLE_APPROVE, "bob", ROLE_APPROVE, true },
        { ASK_APPROVAL, ROLE_APPROVE, "bob", ROLE_ANSWER, false },
        { ASK_FORM, ROLE_APPROVE, "bob", ROLE_APPROVE, true },
        { ASK_APPROVAL, ROLE_ADMIN, "bob", ROLE_APPROVE, false },
        { ASK_APPROVAL, ROLE_ADMIN, "bob", ROLE_ADMIN, true },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ask_record ask = { .principal = STR("ann"),
                                  .kind = cases[i].kind,
                                  .approver = cases[i].approver };
        if (answerable_by(&ask, str_of(cases[i].by), cases[i].roles) != cases[i].may)
            fail_msg("case %zu", i);
    }
}

static void an_answer_without_the_role_finds_nothing_and_changes_nothing(void **state)
{
    (void)state;
    struct world_caller *caller = begin(both, asks);
    world_settle(&world);
    answer_on_second(ASK_DECLINED, NULL, "ann", ROLE_ASK);
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    answer_on_second(ASK_DECLINED, NULL, "bob", ROLE_ANSWER | ROLE_APPROVE);
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    assert_int_equal(caller->finished, 0);
    assert_true(world.shown[0].up && world.second_shown[0].up);
    answer_on_second(ASK_ACCEPTED, "{\"n\":1}", "ann", ROLE_ANSWER);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void an_approver_answers_the_approval_of_another(void **state)
{
    (void)state;
    struct world_caller *caller = begin(both, approves);
    world_settle(&world);
    answer_on_second(ASK_ACCEPTED, NULL, "bob", ROLE_APPROVE);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"ok\":true}");
    assert_string_equal(world.shown[0].by, "bob");
    world_finish(&world);
}

SUBJECT(surfaces)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ask_is_up_on_all_that_are_named),
        cmocka_unit_test(without_names_it_is_up_on_the_first_alone),
        cmocka_unit_test(the_first_answer_wins_and_the_other_surface_is_told_who),
        cmocka_unit_test(an_answer_elsewhere_takes_the_clients_prompt_down),
        cmocka_unit_test(two_answers_at_the_same_moment_have_one_winner),
        cmocka_unit_test(one_that_refuses_leaves_it_up_on_the_other),
        cmocka_unit_test(when_all_refuse_nobody_was_asked),
        cmocka_unit_test(content_that_does_not_fit_is_asked_again_only_where_offers_are_counted),
        cmocka_unit_test(an_ask_whose_time_is_up_or_whose_call_ends_is_taken_down_everywhere),
        cmocka_unit_test(both_surfaces_are_told_who_won_on_another_node),
        cmocka_unit_test(what_a_client_carries_is_up_elsewhere_and_run_on_without_it),
        cmocka_unit_test(what_a_call_has_learned_is_counted_after_it_was_taken_over_too),
        cmocka_unit_test(a_client_that_comes_back_takes_the_resting_call_over),
        cmocka_unit_test(the_ask_of_a_resting_call_has_the_place_behind_those_that_were_given_out),
        cmocka_unit_test(an_ask_whose_place_cannot_be_found_is_asked_without_one),
        cmocka_unit_test(a_client_that_comes_back_while_a_place_is_looked_for_gives_it_itself),
        cmocka_unit_test(a_call_whose_client_holds_nothing_does_not_rest),
        cmocka_unit_test(a_resting_call_expires_is_cancelled_and_is_taken_down),
        cmocka_unit_test(a_resting_call_that_goes_on_at_another_node_is_taken_down_here),
        cmocka_unit_test(an_unknown_surface_is_refused_and_changes_nothing),
        cmocka_unit_test(one_that_is_not_named_is_not_used),
        cmocka_unit_test(a_surface_that_cannot_be_told_apart_is_refused),
        cmocka_unit_test(a_surface_too_many_is_refused),
        cmocka_unit_test(the_rule_of_who_may_answer),
        cmocka_unit_test(an_answer_without_the_role_finds_nothing_and_changes_nothing),
        cmocka_unit_test(an_approver_answers_the_approval_of_another),
    };

    return cmocka_run_group_tests_name("core: several surfaces", tests, NULL, NULL);
}
