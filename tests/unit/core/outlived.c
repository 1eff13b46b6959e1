/*
 * tests/unit/core/outlived: what finishes after the call that it belongs to has gone.
 *
 * A hook takes long, a read of the store is under way, another node is faster: in the meantime the
 * call is unloaded, cancelled, ended or taken over. Nothing may be lost by that, nothing done
 * twice, and nothing touched that is gone.
 */
#include "loaded.h"

#include <stdio.h>
#include <string.h>

#include "core/hook_inside.h"
#include "core/call_inside.h"
#include "../runner.h"

static struct world world;
static struct nod_hook_run *kept; /* a hook that finishes later */
static char call_name[ID_LEN + 1];

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"got\":" STR_FMT "}",
                      STR_ARG(answer->content.len ? answer->content : STR("null")));
    return NOD_OK;
}

static nod_status asks_two(struct run *run, struct str *body)
{
    const struct entry *a, *b;
    nod_status first = world_ask(run, "a", "How many a?", world_ask_form, &a);
    nod_status second = world_ask(run, "b", "How many b?", world_ask_form, &b);

    NOD_TRY(first);
    NOD_TRY(second);
    *body = STR("{}");
    return NOD_OK;
}

static nod_status replies(struct run *run, struct str *body)
{
    (void)run;
    *body = STR("{}");
    return NOD_OK;
}

static nod_status later(struct nod_hook_run *hook, void *data)
{
    (void)data;
    kept = hook;
    return NOD_PENDING;
}

static void begin(world_handler *handler)
{
    world_init(&world, &(struct world_opts){ .handler = handler });
}

static struct world_caller *call_it(void)
{
    struct world_caller *caller = world_call(&world, "ann", "s1");

    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    return caller;
}

/* Whoever calls can come back. */
static struct world_caller *call_handed_out(enum caller_way way)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    return caller;
}

static void say(const char *content)
{
    char id[ID_LEN + 1];

    assert_non_null(world_up(&world));
    memcpy(id, world_up(&world)->id, sizeof(id));
    world_answer(&world, id, ASK_ACCEPTED, content, "ann", 1);
}

static struct world_caller *come_back(void)
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    struct world_caller *caller = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, caller, false));
    world_settle(&world);
    arena_finish(&loaded.arena);
    memset(&loaded, 0, sizeof(loaded));
    return caller;
}

static void nothing_left(void)
{
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    world_finish(&world);
}

/* --- an answer that waits for a hook --- */

/* The client's connection breaks while the hook thinks. */
static void answer_and_go(const char *content)
{
    begin(asks_once);
    world_hook(&world, NOD_FLOW_ANSWER, "validateContent", NOD_WILL, later, NULL);
    struct world_caller *caller = call_handed_out(CALLER_HOLDS);
    say(content);
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    hook_done(kept, NOD_OK);
    world_settle(&world);
}

static void an_answer_keeps_its_content_though_its_call_is_unloaded(void **state)
{
    (void)state;
    answer_and_go("{\"n\":3}");
    assert_int_equal(world.last.status, NOD_OK);
    assert_string_equal(come_back()->body, "{\"got\":{\"n\":3}}");
    nothing_left();
}

static void an_answer_is_validated_though_its_call_is_unloaded(void **state)
{
    (void)state;
    answer_and_go("{\"n\":\"three\"}");
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_true(world.last.pending);
    struct world_caller *caller = come_back();
    assert_int_equal(caller->finished, 0);
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    nothing_left();
}

/* The call goes inside the hook: nobody has kept the question. */
static struct world_caller *holder;

static nod_status lets_go(struct nod_hook_run *hook, void *data)
{
    (void)hook, (void)data;
    call_caller_left(holder->caller.call);
    return NOD_OK;
}

static void an_answer_is_validated_though_a_hook_lets_its_call_go(void **state)
{
    (void)state;
    begin(asks_once);
    world_hook(&world, NOD_FLOW_ANSWER, "validateContent", NOD_WILL, lets_go, NULL);
    holder = call_handed_out(CALLER_HOLDS);
    say("{\"n\":3}");
    world_settle(&world);
    assert_int_equal(world.last.status, NOD_OK);
    assert_string_equal(come_back()->body, "{\"got\":{\"n\":3}}");
    nothing_left();
}

static char told_by[64], told_via[40];

static void told(void)
{
    snprintf(told_by, sizeof(told_by), STR_FMT, STR_ARG(world.last.by));
    snprintf(told_via, sizeof(told_via), STR_FMT, STR_ARG(world.last.via));
}

static void who_has_answered_where_is_told_after_a_hook_that_took_its_time(void **state)
{
    (void)state;
    begin(asks_once);
    world_hook(&world, NOD_FLOW_ANSWER, "finalize", NOD_WILL, later, NULL);
    world.on_answered = told;
    struct world_caller *caller = call_it();
    say("{\"n\":3}");
    world_settle(&world);
    hook_done(kept, NOD_OK);
    world_settle(&world);
    assert_string_equal(told_by, "ann");
    assert_string_equal(told_via, world.surface.ops->name);
    assert_int_equal(caller->finished, 1);
    nothing_left();
}

/* --- questions that wait for a hook --- */

static nod_status a_later_b_refused(struct nod_hook_run *hook, void *data)
{
    struct hook_view view;

    (void)data;
    assert_true(hook_look(hook, &view));
    if (str_eq(view.ask_key, STR("a"))) {
        kept = hook;
        return NOD_PENDING;
    }
    return hook_fail(hook, NOD_E_REFUSED, "NO", STR("No."));
}

static struct world_caller *two_asks(void)
{
    begin(asks_two);
    world_hook(&world, NOD_FLOW_ASK, "validateRequest", NOD_WILL, a_later_b_refused, NULL);
    struct world_caller *caller = call_it();
    assert_int_equal(caller->finished, 0);
    hook_done(kept, NOD_OK);
    return caller;
}

static void a_question_ends_with_another_that_was_refused(void **state)
{
    (void)state;
    struct world_caller *caller = two_asks();
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "NO");
    assert_null(world_up(&world));
    nothing_left();
}

static void a_call_is_cancelled_while_its_refused_questions_end(void **state)
{
    (void)state;
    struct world_caller *caller = two_asks();
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    nothing_left();
}

static struct call *asking;

static nod_status cancels(struct nod_hook_run *hook, void *data)
{
    struct hook_view view;

    (void)data;
    assert_true(hook_look(hook, &view));
    asking = engine_call_at(world.engine, view.call_id);
    call_cancel(asking, STR("enough"));
    return NOD_OK;
}

static void a_hook_cancels_the_call_whose_question_it_sees(void **state)
{
    (void)state;
    begin(asks_two);
    world_hook(&world, NOD_FLOW_ASK, "storePendingRecord", NOD_WILL, cancels, NULL);
    struct world_caller *caller = call_it();
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    nothing_left();
}

/* --- homes --- */

static int ends;

static void count_end(struct provider *provider, struct str call_id, const struct outcome *outcome)
{
    (void)provider, (void)call_id, (void)outcome;
    ends++;
}

static void a_call_ends_while_it_is_looked_at(void **state)
{
    static struct provider_ops ops;

    (void)state;
    begin(asks_once);
    ends = 0;
    ops = *world.provider.ops;
    ops.ended = count_end;
    world.provider.ops = &ops;
    call_handed_out(CALLER_LEAVES);
    assert_int_equal(engine_calls(world.engine), 0);
    engine_cancel(world.engine, str_of(call_name), STR("enough"), NULL, NULL); /* is on its way */
    world_advance(&world, 5000); /* a look is sent behind it */
    world_settle(&world);
    assert_int_equal(ends, 1);
    nothing_left();
}

static void stored(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

/* This node sleeps, and another takes the call over. Its epoch is one more. */
static void taken_by_another(uint64_t epoch)
{
    struct store *store = world.store;

    store->ops->park(store,
                     &(struct park_spec){ .token = STR("t000000000000000000001"),
                                          .node = STR("b"),
                                          .call_id = str_of(call_name),
                                          .epoch = epoch },
                     stored, NULL);
    store->ops->take(store,
                     &(struct take_spec){ .token = STR("t000000000000000000002"),
                                          .call_id = str_of(call_name),
                                          .node = STR("b") },
                     stored, NULL);
}

static void a_call_that_stays_is_not_begun_again_if_another_node_has_begun_it(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = replies, .requires_confirmation = true });
    world.target.stays = true;
    struct world_caller *caller = call_it();
    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1;
    say(NULL);
    assert_non_null(caller->caller.call);
    assert_int_equal(world.runs, 0);
    uint64_t epoch = caller->caller.call->epoch;
    struct store *store = world.store;
    taken_by_another(epoch);
    store->ops->append(store,
                       &(struct append_spec){ .token = STR("t000000000000000000003"),
                                              .node = STR("b"),
                                              .call_id = str_of(call_name),
                                              .epoch = epoch + 1,
                                              .entries = &(struct entry){ .class = ENTRY_INTENT,
                                                                          .key = STR("nod.start") },
                                              .entry_count = 1 },
                       stored, NULL);
    store->ops->park(store, /* and dies */
                     &(struct park_spec){ .token = STR("t000000000000000000004"),
                                          .node = STR("b"),
                                          .call_id = str_of(call_name),
                                          .epoch = epoch + 1 },
                     stored, NULL);
    world_settle(&world);
    world_advance(&world, 5000);
    assert_int_equal(world.runs, 0);
    assert_string_equal(caller->code, "OUTCOME_UNKNOWN");
    nothing_left();
}

/* --- the end --- */

static void a_hook_before_finish_refuses_what_another_node_has_ended(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = replies, .requires_confirmation = true });
    world_hook(&world, NOD_FLOW_CALL, "finish", NOD_WILL, later, NULL);
    struct world_caller *caller = call_it();
    say(NULL);
    uint64_t epoch = caller->caller.call->epoch;
    taken_by_another(epoch);
    world.store->ops->finish(
        world.store,
        &(struct finish_spec){ .token = STR("t000000000000000000003"),
                               .call_id = str_of(call_name),
                               .epoch = epoch + 1,
                               .result = STR("{\"status\":0,\"body\":{\"b\":1}}"),
                               .keep_for_ms = 100000 },
        stored, NULL);
    world_settle(&world);
    hook_done(kept, NOD_E_REFUSED);
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"b\":1}");
    nothing_left();
}

/* --- a hook's run --- */

static struct run *hooks_run;

static nod_status runs_later(struct nod_hook_run *hook, void *data)
{
    (void)data;
    kept = hook;
    hooks_run = hook_run(hook);
    return NOD_PENDING;
}

/* What nod_log, nod_progress and nod_ask do: at a gate whose call is gone. */
static void use_run(void)
{
    const struct entry *answer = NULL;

    hooks_run->emit(hooks_run, &(struct notice){ 0 });
    world_ask(hooks_run, "late", "Still there?", world_ask_form, &answer);
    assert_null(answer);
    hook_done(kept, NOD_OK);
}

static void a_hook_uses_its_run_after_its_call_was_cancelled(void **state)
{
    (void)state;
    begin(asks_once);
    world_hook(&world, NOD_FLOW_CALL, "gate", NOD_WILL, runs_later, NULL);
    struct world_caller *caller = call_it();
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    use_run();
    nothing_left();
}

static void a_hook_uses_its_run_after_its_time_was_over(void **state)
{
    (void)state;
    begin(asks_once);
    world_hook(&world, NOD_FLOW_CALL, "gate", NOD_WILL, runs_later, NULL);
    struct world_caller *caller = call_it();
    world_advance(&world, 24 * 3600 * 1000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "HOOK_TIMEOUT");
    use_run();
    nothing_left();
}

SUBJECT(outlived)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_keeps_its_content_though_its_call_is_unloaded),
        cmocka_unit_test(an_answer_is_validated_though_its_call_is_unloaded),
        cmocka_unit_test(an_answer_is_validated_though_a_hook_lets_its_call_go),
        cmocka_unit_test(who_has_answered_where_is_told_after_a_hook_that_took_its_time),
        cmocka_unit_test(a_question_ends_with_another_that_was_refused),
        cmocka_unit_test(a_call_is_cancelled_while_its_refused_questions_end),
        cmocka_unit_test(a_hook_cancels_the_call_whose_question_it_sees),
        cmocka_unit_test(a_call_ends_while_it_is_looked_at),
        cmocka_unit_test(a_call_that_stays_is_not_begun_again_if_another_node_has_begun_it),
        cmocka_unit_test(a_hook_before_finish_refuses_what_another_node_has_ended),
        cmocka_unit_test(a_hook_uses_its_run_after_its_call_was_cancelled),
        cmocka_unit_test(a_hook_uses_its_run_after_its_time_was_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
