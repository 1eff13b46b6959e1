/* tests/unit/core/together: answers that are given together count together. */
#include "loaded.h"
#include "../runner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static struct world world;

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

struct told {
    int times;
    nod_status status;
    enum ask_state state;
    bool pending;
};

static void tell(void *data, const struct answer_result *result)
{
    struct told *told = data;

    told->times++;
    told->status = result->status;
    told->state = result->state;
    told->pending = result->pending;
}

/* `a` and `b`: content as JSON text, or NULL: not answered. What became of them is in told[]. */
static void submit(const char *a, const char *b, struct told told[2])
{
    struct answer_set *set = answers_begin(world.engine);
    const char *given[] = { a, b };
    struct arena arena;

    memset(told, 0, 2 * sizeof(*told));
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < 2; i++)
        if (given[i])
            ask_answer(
                world.engine, str_of(world.shown[i].id),
                &(struct answer){ .action = ASK_ACCEPTED,
                                  .content = json_parse(&arena, str_of(given[i]), NULL, NULL),
                                  .by = STR("ann"),
                                  .surface = &world.surface,
                                  .set = set },
                tell, &told[i]);
    answers_end(set);
    arena_finish(&arena);
}

static struct world_caller *begin(int attempts)
{
    world_init(&world, &(struct world_opts){ .handler = wants_two, .surface_attempts = attempts });
    struct world_caller *caller = world_call(&world, "ann", "s");
    world_settle(&world);
    assert_int_equal(world.shown_count, 2);
    return caller;
}

static void line11_a_submission_counts_whole(void **state)
{
    struct world_caller *caller = begin(0);
    struct told told[2];

    (void)state;
    submit("{\"n\":1}", "{\"n\":2}", told);
    assert_int_equal(told[0].times + told[1].times, 0); /* before anything is stored */
    world_settle(&world);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(told[i].times, 1);
        assert_int_equal(told[i].status, NOD_OK);
    }
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"a\":{\"n\":1},\"b\":{\"n\":2}}");
    world_finish(&world);
}

static void the_engine_goes_while_a_submission_ends_a_gone_call(void **state)
{
    struct catalog *empty = catalog_create();
    struct told told[2];

    (void)state;
    begin(0);
    engine_use_catalog(world.engine, empty);
    world.target.removed = true;
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 100000;
    submit("{\"n\":1}", "{\"n\":2}", told);
    world_settle(&world);
    engine_use_catalog(world.engine, NULL);
    catalog_destroy(empty);
    world_finish(&world);
}

static void line11_two_submissions_never_mix(void **state)
{
    struct world_caller *caller = begin(0);
    struct told first[2], second[2];

    (void)state;
    submit("{\"n\":1}", "{\"n\":1}", first);
    submit("{\"n\":2}", "{\"n\":2}", second);
    world_settle(&world);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(first[i].status, NOD_OK);
        assert_int_equal(second[i].times, 1);
        assert_int_equal(second[i].status, NOD_E_STALE);
    }
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"a\":{\"n\":1},\"b\":{\"n\":1}}");
    world_finish(&world);
}

static void line11_what_comes_second_leaves_the_rest_alone(void **state)
{
    struct world_caller *caller = begin(0);
    struct told first[2], second[2];

    (void)state;
    submit("{\"n\":1}", NULL, first); /* one of the two */
    submit("{\"n\":2}", "{\"n\":2}", second);
    world_settle(&world);
    assert_int_equal(first[0].status, NOD_OK);
    assert_int_equal(second[0].status, NOD_E_STALE);
    assert_int_equal(second[1].status, NOD_E_STALE);
    assert_true(second[1].pending);
    assert_int_equal(caller->finished, 0);
    submit(NULL, "{\"n\":3}", second);
    world_settle(&world);
    assert_string_equal(caller->body, "{\"a\":{\"n\":1},\"b\":{\"n\":3}}");
    world_finish(&world);
}

static void line11_a_question_that_was_answered_elsewhere_keeps_that_answer(void **state)
{
    struct world_caller *caller = begin(0);
    struct told told[2];
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    ask_answer(world.engine, str_of(world.shown[0].id),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = json_parse(&arena, STR("{\"n\":9}"), NULL, NULL),
                                 .by = STR("ann"),
                                 .via = STR("inbox"),
                                 .surface = &world.surface },
               NULL, NULL);
    submit("{\"n\":1}", "{\"n\":2}", told);
    world_settle(&world);
    assert_int_equal(told[0].status, NOD_E_STALE);
    assert_false(told[0].pending);
    assert_int_equal(told[1].status, NOD_OK);
    assert_string_equal(caller->body, "{\"a\":{\"n\":9},\"b\":{\"n\":2}}");
    arena_finish(&arena);
    world_finish(&world);
}

static void line11_what_does_not_fit_does_not_hold_up_the_rest(void **state)
{
    struct world_caller *caller = begin(0);
    struct told told[2];

    (void)state;
    submit("{\"n\":\"x\"}", "{\"n\":2}", told);
    world_settle(&world);
    assert_int_equal(told[0].status, NOD_E_INVALID);
    assert_true(told[0].pending);
    assert_int_equal(told[1].status, NOD_OK);
    assert_int_equal(caller->finished, 0);
    submit("{\"n\":1}", NULL, told);
    world_settle(&world);
    assert_string_equal(caller->body, "{\"a\":{\"n\":1},\"b\":{\"n\":2}}");
    world_finish(&world);
}

static void line11_a_submission_whose_reply_is_lost_happens_once(void **state)
{
    struct world_caller *caller = begin(0);
    struct told told[2];

    (void)state;
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = 2;
    submit("{\"n\":1}", "{\"n\":2}", told);
    for (int i = 0; i < 20 && !caller->finished; i++)
        world_advance(&world, 1000);
    assert_int_equal(told[0].status, NOD_OK);
    assert_int_equal(told[1].status, NOD_OK);
    assert_string_equal(caller->body, "{\"a\":{\"n\":1},\"b\":{\"n\":2}}");
    world_finish(&world);
}

/* It comes back while its answers are on their way: they take it, in an epoch that only the reply
 * tells, and so the reply is waited for. */
static void line11_a_call_that_comes_back_under_its_answers_is_not_stranded(void **state)
{
    struct world_caller *caller = begin(0);
    struct loaded loaded = { 0 };
    struct told told[2];
    char name[ID_LEN + 1];

    (void)state;
    snprintf(name, sizeof(name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    call_caller_left(caller->caller.call);
    world_settle(&world);
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1;
    submit("{\"n\":1}", "{\"n\":2}", told);
    world_settle(&world);
    assert_int_equal(world.fail_times, 0);
    loaded_begin(&loaded, world.store, str_of(name));
    world_settle(&world);
    struct world_caller *back = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = 2 * ENGINE_STORE_TRIES;
    for (int i = 0; i < 60 && !back->finished; i++)
        world_advance(&world, 1000);
    assert_int_equal(told[0].status, NOD_OK);
    assert_int_equal(told[1].status, NOD_OK);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"a\":{\"n\":1},\"b\":{\"n\":2}}");
    arena_finish(&loaded.arena);
    world_finish(&world);
}

static void line11_an_empty_submission_and_an_engine_that_goes_leave_nothing_behind(void **state)
{
    struct told told[2];

    (void)state;
    begin(0);
    submit(NULL, NULL, told);
    submit("{\"n\":1}", "{\"n\":2}", told);
    world_finish(&world); /* on its way: nobody is told, and nothing leaks */
    assert_int_equal(told[0].times, 0);
}

/* --- answers to one question, more than are sent to the store at once --- */

static void nobody_listens(void *data, const struct answer_result *result)
{
    (void)data;
    (void)result;
}

static void answer_with(const char *ask, int n, answered_fn *done)
{
    struct arena arena;

    arena_init(&arena, 1 << 16);
    ask_answer(world.engine, str_of(ask),
               &(struct answer){
                   .action = ASK_ACCEPTED,
                   .content = json_parse(&arena, arena_fmt(&arena, "{\"n\":%d}", n), NULL, NULL),
                   .by = STR("ann"),
                   .surface = &world.surface,
                   .roles = ROLE_ANSWER },
               done, NULL);
    arena_finish(&arena);
    world_settle(&world);
}

enum { ANSWERS = 16 }; /* different ones that are on their way at once */

/* Its call is on no node, and as many answers are on their way as may be, to a store that takes
 * none. */
static void crowd(char *call, char *ask)
{
    struct world_caller *caller = begin(0);

    snprintf(call, ID_LEN + 1, STR_FMT, STR_ARG(call_id(caller->caller.call)));
    memcpy(ask, world.shown[0].id, ID_LEN + 1);
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = INT_MAX;
    for (int i = 0; i < ANSWERS; i++)
        answer_with(ask, i, nobody_listens);
}

static void an_answer_that_is_given_once_is_not_dropped_in_a_crowd(void **state)
{
    char call[ID_LEN + 1], ask[ID_LEN + 1];
    struct loaded loaded = { 0 };

    (void)state;
    crowd(call, ask);
    answer_with(ask, 99, NULL); /* nobody could send this one again */
    for (int i = 0; i < 60; i++)
        world_advance(&world, 1000); /* the others have given up by now */
    world.fail_times = 0;
    for (int i = 0; i < 10; i++)
        world_advance(&world, 1000);
    loaded_begin(&loaded, world.store, str_of(call));
    world_settle(&world);
    assert_int_equal(loaded.call.entry_count, 1);
    assert_true(str_eq(loaded.call.entries[0].content, STR("{\"n\":99}")));
    arena_finish(&loaded.arena);
    world_finish(&world);
}

/* --- answers that are long --- */

#define WORD_FORM "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}"

static nod_status wants_two_words(struct run *run, struct str *body)
{
    const struct entry *a, *b;
    nod_status first = world_ask(run, "a", "A?", WORD_FORM, &a);
    nod_status second = world_ask(run, "b", "B?", WORD_FORM, &b);

    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    NOD_TRY(first);
    NOD_TRY(second);
    NOD_TRY(world_step(run, &world, "one", false));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static const char *word(size_t bytes)
{
    static char text[16384];

    snprintf(text, sizeof(text), "{\"x\":\"%0*d\"}", (int)bytes, 0);
    return text;
}

/* Its questions are world.shown[0] and [1], here or on no node. */
static struct world_caller *begin_words(bool away)
{
    world_init(&world, &(struct world_opts){ .handler = wants_two_words,
                                             .limits = { .journal_bytes = 16384 } });
    struct world_caller *caller = world_call(&world, "ann", "s");
    world_settle(&world);
    assert_int_equal(world.shown_count, 2);
    if (away)
        call_caller_left(caller->caller.call);
    world_settle(&world);
    return caller;
}

static void line17_answers_that_have_no_room_together_are_not_taken_together(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        struct world_caller *caller = begin_words(away);
        struct told told[2];
        submit(word(9000), word(9000), told);
        world_settle(&world);
        assert_int_equal(told[0].status, NOD_OK);
        assert_int_equal(told[1].status, NOD_E_INVALID);
        assert_true(told[1].pending);
        submit(NULL, word(2000), told);
        world_settle(&world);
        assert_int_equal(told[1].status, NOD_OK);
        if (!away) {
            assert_int_equal(world.steps_done, 1);
            assert_int_equal(caller->status, NOD_OK);
            assert_string_equal(caller->body, "{\"done\":true}");
        }
        world_finish(&world);
    }
}

/* The second comes while the first is on its way to the store. */
static void line17_answers_by_themselves_have_room_together_too(void **state)
{
    struct world_caller *caller = begin_words(false);
    struct told first[2], second[2];

    (void)state;
    submit(word(9000), NULL, first);
    submit(NULL, word(9000), second);
    world_settle(&world);
    assert_int_equal(first[0].status, NOD_OK);
    assert_int_equal(second[1].status, NOD_E_INVALID);
    assert_true(second[1].pending);
    submit(NULL, word(2000), second);
    world_settle(&world);
    assert_int_equal(caller->status, NOD_OK);
    assert_string_equal(caller->body, "{\"done\":true}");
    world_finish(&world);
}

/* One that is sent twice needs its room once, and one that failed needs none. */
static void line17_only_what_can_come_takes_up_room(void **state)
{
    struct world_caller *caller = begin_words(false);
    struct told first[2], second[2];

    (void)state;
    submit(word(5000), word(5000), first);
    submit(word(5000), word(5000), second);
    world_settle(&world);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(first[i].status, NOD_OK);
        assert_int_equal(second[i].status, NOD_E_STALE);
    }
    assert_string_equal(caller->body, "{\"done\":true}");
    world_finish(&world);
}

/* The first call that is loaded is not. */
static struct {
    void (*own)(struct store *, struct str, store_done *, void *);
    store_done *done;
    void *data;
} lost;

static void load_lost(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)status;
    (void)reply;
    lost.done(lost.data, NOD_E_STORE, &(struct store_reply){ 0 });
}

static void load_call_once_lost(struct store *store, struct str id, store_done *done, void *data)
{
    if (lost.done) {
        lost.own(store, id, done, data);
        return;
    }
    lost.done = done;
    lost.data = data;
    lost.own(store, id, load_lost, NULL);
}

static void line11_a_submission_that_could_not_be_weighed_counts_for_nothing(void **state)
{
    struct told told[2];

    (void)state;
    begin_words(true);
    struct store_ops ops = *world.store->ops;
    lost.own = ops.load_call;
    ops.load_call = load_call_once_lost;
    world.store->ops = &ops;
    submit(word(2000), word(2000), told);
    world_settle(&world);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(told[i].times, 1);
        assert_int_equal(told[i].status, NOD_E_STORE);
    }
    submit(word(2000), word(2000), told);
    world_settle(&world);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(told[i].status, NOD_OK);
    world_finish(&world);
}

SUBJECT(together)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_is_given_once_is_not_dropped_in_a_crowd),
        cmocka_unit_test(line11_a_submission_counts_whole),
        cmocka_unit_test(the_engine_goes_while_a_submission_ends_a_gone_call),
        cmocka_unit_test(line11_two_submissions_never_mix),
        cmocka_unit_test(line11_what_comes_second_leaves_the_rest_alone),
        cmocka_unit_test(line11_a_question_that_was_answered_elsewhere_keeps_that_answer),
        cmocka_unit_test(line11_what_does_not_fit_does_not_hold_up_the_rest),
        cmocka_unit_test(line11_a_submission_whose_reply_is_lost_happens_once),
        cmocka_unit_test(line11_a_call_that_comes_back_under_its_answers_is_not_stranded),
        cmocka_unit_test(line11_an_empty_submission_and_an_engine_that_goes_leave_nothing_behind),
        cmocka_unit_test(line17_answers_that_have_no_room_together_are_not_taken_together),
        cmocka_unit_test(line17_answers_by_themselves_have_room_together_too),
        cmocka_unit_test(line17_only_what_can_come_takes_up_room),
        cmocka_unit_test(line11_a_submission_that_could_not_be_weighed_counts_for_nothing),
    };

    return cmocka_run_group_tests_name("core-together", tests, NULL, NULL);
}
