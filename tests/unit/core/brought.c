/* tests/unit/core/brought: a caller that brings its answers goes in by one door. */
#include "loaded.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static struct loaded loaded; /* what a caller that comes back knows */
static char call_name[ID_LEN + 1];

#define THREE "{\"n\":3}"
#define FOUR  "{\"n\":4}"
#define WRONG "{\"n\":\"many\"}"
#define BOTH  "{\"a\":{\"n\":3},\"b\":{\"n\":4}}"

static nod_status wants_two(struct run *run, struct str *body)
{
    const struct entry *a, *b;
    nod_status first = world_ask(run, "a", "A?", world_ask_form, &a);
    nod_status second = world_ask(run, "b", "B?", world_ask_form, &b);

    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    NOD_TRY(first);
    NOD_TRY(second);
    *body = arena_fmt(&run->arena, "{\"a\":" STR_FMT ",\"b\":" STR_FMT "}",
                      STR_ARG(a->content.len ? a->content : STR("null")),
                      STR_ARG(b->content.len ? b->content : STR("null")));
    return NOD_OK;
}

/* One after the other. */
static nod_status wants_one_and_one(struct run *run, struct str *body)
{
    const struct entry *a, *b;

    NOD_TRY(world_ask(run, "a", "A?", world_ask_form, &a));
    NOD_TRY(world_ask(run, "b", "B?", world_ask_form, &b));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static void load(void)
{
    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
}

static enum call_state stored_state(void)
{
    load();
    assert_int_equal(loaded.status, NOD_OK);
    return loaded.call.state;
}

/* A call that was asked on these surfaces (NULL: in turn), whose caller has left; its record is in
 * `loaded`. */
static void leave_asked_on(const char *const *surfaces, const struct world_opts *opts)
{
    struct str unknown;

    world_init(&world, opts);
    assert_true(engine_use_surfaces(world.engine, surfaces, &unknown));
    world.can |= 1u << ASK_SAMPLE;
    struct world_caller *caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    load();
}

static void leave_asked(const struct world_opts *opts)
{
    leave_asked_on(NULL, opts);
}

static struct world_caller *come_with(const char *a, const char *b)
{
    struct world_caller *back = world_caller_new(&world);

    back->way = CALLER_LEAVES;
    if (a)
        back->brings[0] = (struct world_brings){ .key = "a", .action = ASK_ACCEPTED, .content = a };
    if (b)
        back->brings[1] = (struct world_brings){ .key = "b", .action = ASK_ACCEPTED, .content = b };
    return back;
}

static struct world_caller *adopt_with(const char *a, const char *b)
{
    struct world_caller *back = come_with(a, b);

    assert_true(loaded_adopt(&loaded, &world, back, false));
    return back;
}

static const char *ask_named(const char *key)
{
    for (size_t i = 0; i < loaded.ask_count; i++)
        if (str_eq(loaded.asks[i].key, str_of(key)))
            return loaded.asks[i].id.at;
    fail_msg("no question of that key");
    return NULL;
}

static void answer_on(struct surface *surface, const char *key, const char *content)
{
    char id[ID_LEN + 1];
    struct arena arena;

    arena_init(&arena, 1 << 16);
    snprintf(id, sizeof(id), "%.*s", ID_LEN, ask_named(key));
    world_answer_by(&world, id,
                    &(struct answer){ .action = ASK_ACCEPTED,
                                      .content = json_parse(&arena, str_of(content), NULL, NULL),
                                      .by = STR("ann"),
                                      .roles = ROLE_ANSWER,
                                      .surface = surface });
    arena_finish(&arena);
    assert_int_equal(world.last.status, NOD_OK);
}

static void end(void)
{
    world_finish(&world);
    loaded_forget(&loaded);
}

static void what_is_brought_is_claimed_and_then_the_call_runs_once(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    struct world_caller *back = adopt_with(THREE, FOUR);
    assert_int_equal(world.runs, 1);
    world_settle(&world);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(back->brings[i].told, 1);
        assert_int_equal(back->brings[i].status, NOD_OK);
    }
    assert_int_equal(back->asked, 0); /* nothing was left to ask */
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, BOTH);
    assert_int_equal(world.runs, 2);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    end();
}

static void of_what_is_left_the_caller_is_told(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    struct world_caller *back = adopt_with(THREE, NULL);
    back->way = CALLER_HOLDS;
    world_settle(&world);
    assert_int_equal(back->brings[0].status, NOD_OK);
    assert_int_equal(back->asked, 1);
    assert_int_equal(world.runs, 1);
    assert_int_equal(world.shown_count, 1);
    assert_string_equal(world.shown[0].key, "b");
    load();
    assert_int_equal(loaded.call.entry_count, 1);
    world_answer(&world, world.shown[0].id, ASK_ACCEPTED, FOUR, "ann", 0);
    assert_string_equal(back->body, BOTH);
    assert_int_equal(world.runs, 2);
    end();
}

static void content_that_does_not_fit_runs_nothing_and_is_asked_again(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two, .surface_attempts = 3 });
    struct world_caller *back = adopt_with(WRONG, FOUR);
    world_settle(&world);
    assert_int_equal(back->brings[0].status, NOD_E_INVALID);
    assert_true(back->brings[0].pending);
    assert_int_equal(back->brings[1].status, NOD_OK);
    assert_int_equal(back->asked, 1);
    assert_int_equal(world.runs, 1);
    load();
    assert_int_equal(loaded.call.state, CALL_STORED_WAITING);
    assert_int_equal(loaded.ask_count, 1);
    assert_int_equal(loaded.asks[0].attempt, 2);
    back = adopt_with(THREE, NULL);
    world_settle(&world);
    assert_string_equal(back->body, BOTH);
    end();
}

static void other_answers_than_were_given_before_are_refused_whole(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    answer_on(&world.surface, "a", THREE);
    struct world_caller *back = adopt_with(FOUR, FOUR); /* by what was known before that */
    world_settle(&world);
    assert_int_equal(back->contradicted, 1);
    assert_int_equal(back->asked, 0);
    assert_int_equal(back->finished, 0);
    assert_null(back->caller.call);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(world.runs, 1);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    assert_int_equal(loaded.call.entry_count, 1); /* `b` is still to be answered */
    assert_int_equal(loaded.ask_count, 1);
    back = adopt_with(THREE, FOUR);
    world_settle(&world);
    assert_string_equal(back->body, BOTH);
    end();
}

static void a_caller_that_stays_goes_on_with_what_was_said_first(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    answer_on(&world.surface, "a", THREE);
    struct world_caller *back = adopt_with(FOUR, FOUR);
    back->stays = true;
    world_settle(&world);
    assert_int_equal(back->contradicted, 1);
    assert_int_equal(back->asked, 1);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    end();
}

static void the_same_answers_again_get_the_same_end(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    struct world_caller *first = adopt_with(THREE, FOUR);
    world_settle(&world);
    struct world_caller *second = adopt_with(THREE, FOUR); /* by what was known at first */
    world_settle(&world);
    assert_int_equal(second->contradicted, 0);
    for (size_t i = 0; i < 2; i++)
        assert_true(second->brings[i].same);
    assert_int_equal(second->finished, 1);
    assert_string_equal(second->body, first->body);
    assert_int_equal(world.runs, 2);
    end();
}

static void what_was_answered_on_another_surface_counts_and_is_no_contradiction(void **state)
{
    static const char *const both[] = { "client", "second", NULL };

    (void)state;
    leave_asked_on(both, &(struct world_opts){ .handler = wants_two });
    answer_on(&world.second, "a", THREE);
    struct world_caller *back = adopt_with(FOUR, FOUR);
    world_settle(&world);
    assert_int_equal(back->contradicted, 0);
    assert_int_equal(back->brings[0].status, NOD_E_STALE);
    assert_string_equal(back->brings[0].via, "second");
    assert_int_equal(back->brings[1].status, NOD_OK);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, BOTH);
    end();
}

static nod_status wants_a_sample(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(run,
                    &(struct ask_spec){ .kind = ASK_SAMPLE,
                                        .key = STR("a"),
                                        .message = STR("What now?"),
                                        .detail = STR("{\"maxTokens\":9}") },
                    &answer));
    *body = answer->content;
    return NOD_OK;
}

#define SAID(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"

static void another_sample_is_another_answer(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_a_sample });
    answer_on(&world.surface, "a", SAID("yes"));
    struct world_caller *back = adopt_with(SAID("no"), NULL);
    world_settle(&world);
    assert_int_equal(back->contradicted, 1);
    back = adopt_with(SAID("yes"), NULL);
    world_settle(&world);
    assert_int_equal(back->contradicted, 0);
    assert_true(back->brings[0].same);
    assert_string_equal(back->body, SAID("yes"));
    end();
}

static void what_has_expired_by_the_clock_of_the_store_is_not_taken(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two, .ttl_ms = 5000 });
    world.clock.wall += 5000; /* and nobody has said so yet */
    struct world_caller *back = adopt_with(THREE, FOUR);
    world_settle(&world);
    world_advance(&world, 2000);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_TIMEOUT);
    assert_int_equal(back->contradicted, 0);
    end();
}

static void answers_may_come_ahead_of_the_questions(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = wants_one_and_one });
    struct world_caller *caller = come_with(THREE, FOUR);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    world_settle(&world);
    assert_int_equal(caller->asked, 0);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"done\":true}");
    assert_int_equal(world.runs, 3);
    assert_int_equal(engine_pending(world.engine), 0);
    end();
}

static void a_caller_that_leaves_meanwhile_loses_nothing(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    struct world_caller *back = adopt_with(THREE, FOUR);
    assert_true(world_turn(&world)); /* they are on their way */
    assert_int_equal(back->brings[0].told, 0);
    call_caller_left(back->caller.call);
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(world.runs, 1); /* nobody would get the result */
    assert_int_equal(stored_state(), CALL_STORED_RUNNABLE);
    back = adopt_with(NULL, NULL);
    world_settle(&world);
    assert_string_equal(back->body, BOTH);
    end();
}

static void a_call_that_is_cancelled_meanwhile_ends_so(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    struct world_caller *back = adopt_with(THREE, FOUR);
    assert_true(world_turn(&world));
    call_cancel(back->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_CANCELLED);
    assert_int_equal(world.runs, 1);
    assert_int_equal(stored_state(), CALL_STORED_CANCELLED);
    end();
}

static void nothing_runs_while_the_store_is_away_and_nothing_is_lost(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_AFTER; /* it has happened, and nobody was told */
    world.fail_times = 20;
    struct world_caller *back = adopt_with(THREE, FOUR);
    world_settle(&world);
    world_advance(&world, 10);
    assert_int_equal(back->finished, 0);
    assert_int_equal(back->asked, 0);
    assert_int_equal(world.runs, 1);
    for (int i = 0; i < 60 && !back->finished; i++)
        world_advance(&world, 10000);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, BOTH);
    assert_int_equal(world.runs, 2);
    end();
}

static void an_engine_that_goes_meanwhile_leaves_nothing_behind(void **state)
{
    (void)state;
    leave_asked(&(struct world_opts){ .handler = wants_two });
    adopt_with(THREE, FOUR);
    assert_true(world_turn(&world));
    end(); /* the sanitizer would tell */
}

SUBJECT(brought)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_brought_is_claimed_and_then_the_call_runs_once),
        cmocka_unit_test(of_what_is_left_the_caller_is_told),
        cmocka_unit_test(content_that_does_not_fit_runs_nothing_and_is_asked_again),
        cmocka_unit_test(other_answers_than_were_given_before_are_refused_whole),
        cmocka_unit_test(a_caller_that_stays_goes_on_with_what_was_said_first),
        cmocka_unit_test(the_same_answers_again_get_the_same_end),
        cmocka_unit_test(what_was_answered_on_another_surface_counts_and_is_no_contradiction),
        cmocka_unit_test(another_sample_is_another_answer),
        cmocka_unit_test(what_has_expired_by_the_clock_of_the_store_is_not_taken),
        cmocka_unit_test(answers_may_come_ahead_of_the_questions),
        cmocka_unit_test(a_caller_that_leaves_meanwhile_loses_nothing),
        cmocka_unit_test(a_call_that_is_cancelled_meanwhile_ends_so),
        cmocka_unit_test(nothing_runs_while_the_store_is_away_and_nothing_is_lost),
        cmocka_unit_test(an_engine_that_goes_meanwhile_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("core-brought", tests, NULL, NULL);
}
