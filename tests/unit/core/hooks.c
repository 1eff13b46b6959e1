/*
 * tests/unit/core/hooks: hooks on every stage of the three pipelines.
 *
 * Each test takes a call that asks once through its life: it is called, its question is put, the
 * answer comes, it ends. Hooks of the four kinds look, object, finish later, skip, replace, write
 * and ask, at every stage where that is possible.
 */
#include "core/call_inside.h"
#include "loaded.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;

#define ACCEPT_3 "{\"n\":3}"

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"got\":" STR_FMT "}",
                      STR_ARG(answer->content.len ? answer->content : STR("null")));
    return NOD_OK;
}

static nod_status shows_args(struct run *run, struct str *body)
{
    *body = arena_fmt(&run->arena, "{\"args\":" STR_FMT "}", STR_ARG(run->args->raw));
    return NOD_OK;
}

/* --- a stage after the other --- */

struct place {
    const struct flow_table *table;
    size_t stage;
    const char *name;
    bool needed;
};

enum { PLACES = 17 };

static struct place places(size_t i)
{
    for (nod_flow f = NOD_FLOW_CALL; f <= NOD_FLOW_ANSWER; f++) {
        const struct flow_table *table = engine_flow(f);
        if (i < table->count)
            return (struct place){ table, i, table->stages[i].name, table->stages[i].needed };
        i -= table->count;
    }
    fail_msg("there is no such stage");
    return (struct place){ 0 };
}

static bool behind_the_store(const struct place *place)
{
    return (place->table->id == NOD_FLOW_ASK && place->stage > 3) ||
           (place->table->id == NOD_FLOW_ANSWER && place->stage == 5);
}

static char trace[512];

static void note(const char *word)
{
    size_t len = strlen(trace);

    snprintf(trace + len, sizeof(trace) - len, "%s ", word);
}

static nod_status says(struct nod_hook_run *hook, void *data)
{
    (void)hook;
    note(data);
    return NOD_OK;
}

static nod_status comes_out(nod_hook_run *hook, nod_status status, void *data)
{
    char word[16];

    (void)hook;
    snprintf(word, sizeof(word), "%s)", (const char *)data);
    note(word);
    return status;
}

static nod_status goes_in(struct nod_hook_run *hook, void *data)
{
    char word[16];

    snprintf(word, sizeof(word), "%s(", (const char *)data);
    note(word);
    return hook_next(hook, comes_out, data);
}

static void add(const struct place *place, nod_hook_kind kind, int priority,
                nod_status (*fn)(struct nod_hook_run *, void *), const char *data)
{
    assert_int_equal(
        hooks_add(engine_hooks(world.engine), &(struct hook_spec){ .table = place->table,
                                                                   .stage = place->name,
                                                                   .kind = kind,
                                                                   .priority = priority,
                                                                   .fn = fn,
                                                                   .data = (void *)data }),
        NOD_OK);
}

static void begin(world_handler *handler)
{
    trace[0] = '\0';
    world_init(&world, &(struct world_opts){ .handler = handler });
}

static struct world_caller *call_it(void)
{
    struct world_caller *caller = world_call(&world, "ann", "s1");

    world_settle(&world);
    return caller;
}

static void answer_it(void)
{
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    assert_non_null(up);
    memcpy(id, up->id, sizeof(id));
    up->up = false; /* who answers takes it down */
    world_answer(&world, id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
}

static void nothing_left(void)
{
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    world_finish(&world);
}

static void went_well(const struct world_caller *caller)
{
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    assert_string_equal(caller->body, "{\"got\":{\"n\":3}}");
    nothing_left();
}

static void priorities_order_every_kind_at_every_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_DID, 2, says, "d2");
        add(&place, NOD_WILL, 5, says, "w5");
        add(&place, NOD_AROUND, 2, goes_in, "a2");
        add(&place, NOD_WILL, -1, says, "w-1");
        add(&place, NOD_WILL, 5, says, "w5,later");
        add(&place, NOD_DID, -3, says, "d-3");
        add(&place, NOD_AROUND, 1, goes_in, "a1");
        struct world_caller *caller = call_it();
        answer_it();
        assert_string_equal(trace, "w-1 w5 w5,later a1( a2( a2) a1) d-3 d2 ");
        went_well(caller);
    }
}

static void a_stage_that_may_be_replaced_is_by_the_lowest_priority(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        struct place place = places(i);
        struct hook_spec spec = { .table = place.table,
                                  .stage = place.name,
                                  .kind = NOD_INSTEAD,
                                  .fn = says,
                                  .data = (void *)"s1" };
        begin(asks_once);
        if (place.needed) {
            assert_int_equal(hooks_add(engine_hooks(world.engine), &spec), NOD_E_NOT_SUPPORTED);
            world_finish(&world);
            continue;
        }
        add(&place, NOD_INSTEAD, 2, says, "s2");
        add(&place, NOD_AROUND, 0, goes_in, "a");
        assert_int_equal(hooks_add(engine_hooks(world.engine), &spec), NOD_OK);
        struct world_caller *caller = call_it();
        if (world_up(&world))
            answer_it();
        assert_string_equal(trace, "a( s1 a) ");
        if (strcmp(place.name, "start") == 0)
            assert_string_equal(caller->code, "HANDLER_BUG"); /* it gave no result */
        if (strcmp(place.name, "buildRequestParams") == 0) {
            assert_int_equal(caller->finished, 0); /* nobody has put it up */
            world_advance(&world, ENGINE_ASK_TTL_MS);
            assert_string_equal(caller->code, "ELICITATION_TIMEOUT");
        }
        assert_int_equal(caller->finished, 1);
        nothing_left();
    }
}

static void an_around_that_does_not_go_in_leaves_out_what_may_be_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_AROUND, 1, goes_in, "a");
        add(&place, NOD_AROUND, 2, says, "skips");
        add(&place, NOD_DID, 0, says, "did");
        struct world_caller *caller = call_it();
        if (world_up(&world))
            answer_it();
        assert_string_equal(trace, place.needed ? "a( skips a) " : "a( skips a) did ");
        if (place.needed && place.table->id == NOD_FLOW_ANSWER) {
            assert_int_equal(world.last.status, NOD_E_USAGE);
            assert_true(world.last.pending);
            call_cancel(caller->caller.call, STR("enough"));
            world_settle(&world);
        } else if (place.needed) {
            assert_string_equal(caller->code, "HANDLER_BUG");
            assert_non_null(strstr(caller->message, place.name));
        } else if (strcmp(place.name, "buildRequestParams") == 0) {
            world_advance(&world, ENGINE_ASK_TTL_MS);
        }
        assert_int_equal(caller->finished, 1);
        nothing_left();
    }
}

/* --- later --- */

static struct nod_hook_run *kept;

static nod_status keeps(struct nod_hook_run *hook, void *data)
{
    (void)data;
    assert_null(kept);
    kept = hook;
    return NOD_PENDING;
}

static nod_status then_keeps(nod_hook_run *hook, nod_status status, void *data)
{
    (void)status;
    return keeps(hook, data);
}

static nod_status goes_in_and_keeps(struct nod_hook_run *hook, void *data)
{
    return hook_next(hook, then_keeps, data);
}

static struct nod_hook_run *take_kept(void)
{
    struct nod_hook_run *hook = kept;

    kept = NULL;
    return hook;
}

static bool answered_yet; /* the answer is on its way, or through */

/* On to where the hook is held. */
static struct world_caller *until_kept(void)
{
    struct world_caller *caller = call_it();

    answered_yet = false;
    if (!kept) {
        answered_yet = true;
        answer_it();
    }
    assert_non_null(kept);
    return caller;
}

static void hooks_of_each_kind_may_finish_later_at_every_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES * 5; i++) {
        struct place place = places(i / 5);
        bool in_later = i % 5 == 2;
        begin(asks_once);
        add(&place,
            i % 5 == 0   ? NOD_WILL
            : i % 5 == 1 ? NOD_DID
                         : NOD_AROUND,
            0, i % 5 == 3 ? goes_in_and_keeps : keeps, NULL);
        if (i % 5 == 4) { /* one around another that finishes later */
            add(&place, NOD_AROUND, -1, goes_in, "a");
        }
        struct world_caller *caller = until_kept();
        bool published = place.table->id == NOD_FLOW_ANSWER &&
                         (place.stage == 5 || (place.stage == 4 && (i % 5 == 1 || i % 5 == 3)));
        assert_int_equal(caller->finished, published); /* an answer that counts is used at once */
        if (in_later || i % 5 == 4)
            assert_int_equal(hook_next(take_kept(), NULL, NULL), NOD_PENDING);
        else
            hook_done(take_kept(), NOD_OK);
        world_settle(&world);
        if (!answered_yet)
            answer_it();
        went_well(caller);
    }
}

static void a_hook_that_finishes_later_may_object(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_WILL, 0, keeps, NULL);
        struct world_caller *caller = until_kept();
        struct nod_hook_run *hook = take_kept();
        hook_done(hook, hook_fail(hook, NOD_E_REFUSED, "NOT_TODAY", STR("Not today.")));
        world_settle(&world);
        if (place.table->id == NOD_FLOW_ANSWER && place.stage == 5) {
            went_well(caller); /* it is stored: too late */
            continue;
        }
        if (place.table->id == NOD_FLOW_ANSWER) {
            assert_int_equal(world.last.status, NOD_E_REFUSED);
            assert_true(world.last.pending);
            call_cancel(caller->caller.call, STR("enough"));
            world_settle(&world);
        } else if (behind_the_store(&place)) {
            assert_string_equal(caller->code, "ELICITATION_NOT_SUPPORTED");
        } else {
            assert_int_equal(caller->status, NOD_E_REFUSED);
            assert_string_equal(caller->code, "NOT_TODAY");
            assert_string_equal(caller->message, "Not today.");
        }
        assert_int_equal(caller->finished, 1);
        nothing_left();
    }
}

static void a_hook_that_does_not_finish_ends_the_flow_in_its_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct place place = places(i);
        begin(asks_once);
        assert_int_equal(
            hooks_add(engine_hooks(world.engine), &(struct hook_spec){ .table = place.table,
                                                                       .stage = place.name,
                                                                       .name = STR("slow"),
                                                                       .timeout_ms = 500,
                                                                       .fn = keeps }),
            NOD_OK);
        struct world_caller *caller = until_kept();
        world_advance(&world, 499);
        assert_int_equal(caller->finished, 0);
        world_advance(&world, 1);
        assert_int_equal(caller->finished, 1);
        assert_string_equal(caller->code, "HOOK_TIMEOUT");
        hook_done(take_kept(), NOD_OK); /* too late: nobody waits for it */
        nothing_left();
    }
}

static void a_call_that_is_cancelled_does_not_wait_for_its_hook(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PLACES; i++) {
        struct place place = places(i / 2);
        begin(asks_once);
        add(&place, i % 2 ? NOD_AROUND : NOD_WILL, 0, keeps, NULL);
        struct world_caller *caller = until_kept();
        if (caller->caller.call) { /* behind publishResult the call has gone on, and ended */
            call_cancel(caller->caller.call, STR("enough"));
            world_settle(&world);
            assert_int_equal(caller->finished, 1);
            assert_int_equal(caller->status, NOD_E_CANCELLED);
        }
        hook_done(take_kept(), i % 2 ? NOD_E_REFUSED : NOD_OK);
        world_settle(&world);
        assert_int_equal(caller->finished, 1);
        nothing_left();
    }
}

static void a_world_may_end_while_a_hook_has_not_finished(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_WILL, 0, keeps, NULL);
        until_kept();
        world_finish(&world);
        kept = NULL;
    }
}

/* --- filters --- */

static void add_filtered(nod_flow flow, const char *stage, const struct hook_spec *filter)
{
    struct hook_spec spec = *filter;

    spec.table = engine_flow(flow);
    spec.stage = stage;
    spec.fn = says;
    spec.data = (void *)"called";
    assert_int_equal(hooks_add(engine_hooks(world.engine), &spec), NOD_OK);
}

static void filters_decide_whom_a_hook_is_called_for(void **state)
{
    static const struct {
        nod_flow flow;
        const char *stage;
        struct hook_spec filter;
        bool called;
    } rows[] = {
        { NOD_FLOW_CALL, "authorise", { .target = STR_INIT("tool") }, true },
        { NOD_FLOW_CALL, "authorise", { .target = STR_INIT("too") }, false },
        { NOD_FLOW_CALL, "authorise", { .target = STR_INIT("t*") }, true },
        { NOD_FLOW_CALL, "authorise", { .target = STR_INIT("*o?l") }, true },
        { NOD_FLOW_CALL, "authorise", { .target = STR_INIT("*o?") }, true },
        { NOD_FLOW_CALL, "authorise", { .target = STR_INIT("*x*") }, false },
        { NOD_FLOW_CALL, "finish", { .principal = STR_INIT("ann") }, true },
        { NOD_FLOW_CALL, "finish", { .principal = STR_INIT("bob") }, false },
        { NOD_FLOW_CALL, "gate", { .ask = NOD_ASK_FORM }, false },
        { NOD_FLOW_ASK, "finalize", { .ask = NOD_ASK_FORM, .target = STR_INIT("tool") }, true },
        { NOD_FLOW_ASK, "finalize", { .ask = NOD_ASK_URL }, false },
        { NOD_FLOW_ANSWER, "publishResult", { .ask = NOD_ASK_FORM }, true },
        { NOD_FLOW_ANSWER, "publishResult", { .ask = NOD_ASK_APPROVAL }, false },
        { NOD_FLOW_ANSWER, "parseInput", { .principal = STR_INIT("a??") }, true },
        { NOD_FLOW_ANSWER, "parseInput", { .target = STR_INIT("other") }, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(asks_once);
        add_filtered(rows[i].flow, rows[i].stage, &rows[i].filter);
        struct world_caller *caller = call_it();
        answer_it();
        assert_string_equal(trace, rows[i].called ? "called " : "");
        went_well(caller);
    }
}

static nod_status sees_its_call(struct nod_hook_run *hook, void *data)
{
    struct hook_view view;

    assert_true(hook_look(hook, &view));
    assert_int_equal(view.call_id.len, ID_LEN);
    return says(hook, data);
}

static nod_status sees_its_call_then(nod_hook_run *hook, nod_status status, void *data)
{
    assert_int_equal(sees_its_call(hook, data), NOD_OK);
    return status;
}

static nod_status goes_in_to_its_call(struct nod_hook_run *hook, void *data)
{
    assert_int_equal(sees_its_call(hook, data), NOD_OK);
    return hook_next(hook, sees_its_call_then, data);
}

static void add_for_target(const struct place *place, nod_hook_kind kind,
                           nod_status (*fn)(struct nod_hook_run *, void *))
{
    assert_int_equal(
        hooks_add(engine_hooks(world.engine), &(struct hook_spec){ .table = place->table,
                                                                   .stage = place->name,
                                                                   .kind = kind,
                                                                   .target = STR("t*"),
                                                                   .fn = fn,
                                                                   .data = (void *)"called" }),
        NOD_OK);
}

static void target_and_call_are_known_at_every_stage_to_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        struct place place = places(i);
        begin(asks_once);
        add_for_target(&place, NOD_WILL, sees_its_call);
        add_for_target(&place, NOD_AROUND, goes_in_to_its_call);
        add_for_target(&place, NOD_DID, sees_its_call);
        struct world_caller *caller = call_it();
        answer_it();
        assert_string_equal(trace, "called called called called ");
        went_well(caller);
    }
}

/* The clock's word enters at buildResult: for a question that waits here, and for one that does
 * not. */
static void target_and_call_are_known_when_the_clock_ends_a_question(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct place place = places(PLACES - 3 + i / 2);
        char id[ID_LEN + 1];
        begin(asks_once);
        add_for_target(&place, NOD_WILL, sees_its_call);
        add_for_target(&place, NOD_DID, sees_its_call);
        struct world_caller *caller = call_it();
        memcpy(id, world_up(&world)->id, sizeof(id));
        if (i % 2) {
            call_caller_left(caller->caller.call);
            world_settle(&world);
            assert_int_equal(engine_calls(world.engine), 0);
            world_advance(&world, ENGINE_ASK_TTL_MS);
            claim_overdue(world.engine, str_of(id), NULL, NULL);
            world_settle(&world);
        } else {
            world_advance(&world, ENGINE_ASK_TTL_MS);
            assert_int_equal(caller->finished, 1);
        }
        assert_string_equal(trace, "called called ");
        world_finish(&world);
    }
}

static void what_cannot_be_registered_is_refused(void **state)
{
    begin(asks_once);
    const struct flow_table *table = engine_flow(NOD_FLOW_CALL);
    struct hooks *hooks = engine_hooks(world.engine);

    (void)state;
    assert_int_equal(
        hooks_add(hooks, &(struct hook_spec){ .table = table, .stage = "nowhere", .fn = says }),
        NOD_E_NOT_FOUND);
    assert_int_equal(hooks_add(hooks, &(struct hook_spec){ .table = table, .stage = "gate" }),
                     NOD_E_USAGE);
    assert_int_equal(
        hooks_add(hooks,
                  &(struct hook_spec){ .table = table, .stage = "gate", .fn = says, .kind = 7 }),
        NOD_E_USAGE);
    struct hook_spec named = { .table = table, .stage = "gate", .fn = says, .name = STR("me") };
    assert_int_equal(hooks_add(hooks, &named), NOD_OK);
    named.stage = "start";
    assert_int_equal(hooks_add(hooks, &named), NOD_E_USAGE);
    named.name = STR("a.b"); /* its key "c" would be the key "b.c" of the hook "a" */
    assert_int_equal(hooks_add(hooks, &named), NOD_E_USAGE);
    named.name = STR_NONE;
    while (hooks->count < HOOKS_MAX)
        assert_int_equal(hooks_add(hooks, &named), NOD_OK);
    assert_int_equal(hooks_add(hooks, &named), NOD_E_LIMIT);
    world_finish(&world);
}

/* --- writing --- */

static nod_status written; /* what the hook was told */

static nod_status writes_args(struct nod_hook_run *hook, void *data)
{
    written = hook_write(hook, HOOK_ARGS, str_of(data));
    return written;
}

static nod_status writes_message(struct nod_hook_run *hook, void *data)
{
    written = hook_write(hook, HOOK_MESSAGE, str_of(data));
    return NOD_OK;
}

static nod_status writes_content(struct nod_hook_run *hook, void *data)
{
    written = hook_write(hook, HOOK_CONTENT, str_of(data));
    return NOD_OK;
}

static nod_status writes_result(struct nod_hook_run *hook, void *data)
{
    written = hook_write(hook, HOOK_RESULT, str_of(data));
    return NOD_OK;
}

static void arguments_are_written_before_the_tool_has_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct place place = places(i);
        bool may = i == 2 || i == 3;
        begin(shows_args);
        add(&place, NOD_WILL, 0, writes_args, "{\"n\":7}");
        struct world_caller *caller = call_it();
        assert_int_equal(written, may ? NOD_OK : NOD_E_USAGE);
        if (may)
            assert_string_equal(caller->body, "{\"args\":{\"n\":7}}");
        else
            assert_string_equal(caller->code, "HANDLER_BUG");
        nothing_left();
    }
}

static void a_message_is_written_before_it_is_stored(void **state)
{
    (void)state;
    for (size_t i = 5; i < 11; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_WILL, 0, writes_message, "How many, Ann?");
        struct world_caller *caller = call_it();
        assert_int_equal(written, i < 9 ? NOD_OK : NOD_E_USAGE);
        assert_string_equal(world_up(&world)->message, i < 9 ? "How many, Ann?" : "How many?");
        answer_it();
        went_well(caller); /* the handler asks what it always asks */
    }
}

static void a_message_that_asks_for_a_secret_is_not_written(void **state)
{
    struct place place = places(5);

    begin(asks_once);
    (void)state;
    add(&place, NOD_WILL, 0, writes_message, "What is your password?");
    struct world_caller *caller = call_it();
    assert_string_equal(world_up(&world)->message, "How many?");
    assert_int_not_equal(written, NOD_OK);
    answer_it();
    went_well(caller);
}

static void the_content_of_an_answer_is_written_before_it_is_validated(void **state)
{
    (void)state;
    for (size_t i = 11; i < 17; i++) {
        struct place place = places(i);
        bool may = i < 14;
        begin(asks_once);
        add(&place, NOD_WILL, 0, writes_content, "{\"n\":8}");
        struct world_caller *caller = call_it();
        answer_it();
        assert_int_equal(written, may ? NOD_OK : NOD_E_USAGE);
        assert_string_equal(caller->body, may ? "{\"got\":{\"n\":8}}" : "{\"got\":{\"n\":3}}");
        nothing_left();
    }
}

static void written_content_is_validated_like_any_other(void **state)
{
    struct place place = places(11);

    begin(asks_once);
    (void)state;
    add(&place, NOD_WILL, 0, writes_content, "{\"n\":\"many\"}");
    struct world_caller *caller = call_it();
    answer_it();
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_int_equal(caller->finished, 0);
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    nothing_left();
}

static void content_that_was_checked_is_validated_anew_if_it_is_written(void **state)
{
    struct place place = places(11);
    struct arena arena;

    begin(asks_once);
    (void)state;
    add(&place, NOD_WILL, 0, writes_content, "{\"n\":\"many\"}");
    struct world_caller *caller = call_it();
    struct shown *up = world_up(&world);
    arena_init(&arena, 1 << 20);
    up->up = false;
    world_answer_by(&world, up->id,
                    &(struct answer){ .action = ASK_ACCEPTED,
                                      .content = json_parse(&arena, STR(ACCEPT_3), NULL, NULL),
                                      .by = STR("ann"),
                                      .surface = &world.surface,
                                      .attempt = 1,
                                      .fits = true });
    arena_finish(&arena);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    nothing_left();
}

static nod_status then_changes(nod_hook_run *hook, nod_status status, void *data)
{
    struct hook_view view;

    assert_int_equal(status, NOD_OK);
    assert_true(hook_look(hook, &view));
    assert_true(str_eq(view.result, STR("{\"got\":{\"n\":3}}")));
    return writes_result(hook, data);
}

static nod_status changes_around(struct nod_hook_run *hook, void *data)
{
    return hook_next(hook, then_changes, data);
}

static void a_result_is_changed_around_start_and_before_finish(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct place start = places(3), finish = places(4);
        begin(asks_once);
        if (i == 0)
            add(&start, NOD_AROUND, 0, changes_around, "{\"other\":1}");
        else
            add(i == 1 ? &start : &finish, i == 1 ? NOD_DID : NOD_WILL, 0, writes_result,
                "{\"other\":1}");
        struct world_caller *caller = call_it();
        answer_it();
        assert_string_equal(caller->body, "{\"other\":1}");
        nothing_left();
    }
}

static void a_hook_instead_of_start_gives_the_result(void **state)
{
    struct place place = places(3);

    begin(asks_once);
    (void)state;
    add(&place, NOD_INSTEAD, 0, writes_result, "{\"cached\":true}");
    struct world_caller *caller = call_it();
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"cached\":true}");
    assert_int_equal(world.runs, 0);
    nothing_left();
}

static void what_is_stored_stands(void **state)
{
    struct place place = places(4);

    begin(asks_once);
    (void)state;
    add(&place, NOD_DID, 0, writes_result, "{\"other\":1}");
    struct world_caller *caller = call_it();
    answer_it();
    assert_int_equal(written, NOD_E_USAGE);
    went_well(caller);
}

/* --- objecting --- */

static nod_status objects(struct nod_hook_run *hook, void *data)
{
    return hook_fail(hook, NOD_E_REFUSED, data, STR("Because."));
}

static void the_answerer_is_told_why_and_may_answer_again(void **state)
{
    (void)state;
    for (size_t i = 11; i < 16; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_WILL, 0, objects, "FOUR_EYES");
        struct world_caller *caller = call_it();
        answer_it();
        assert_int_equal(world.last.status, NOD_E_REFUSED);
        assert_true(world.last.pending);
        assert_string_equal(world.said_code, "FOUR_EYES");
        assert_string_equal(world.said, "Because.");
        assert_string_equal(world.said_problems, "[{\"path\":\"\",\"message\":\"Because.\"}]");
        assert_int_equal(caller->finished, 0);
        call_cancel(caller->caller.call, STR("enough"));
        world_settle(&world);
        nothing_left();
    }
}

static void hooks_of_finish_see_every_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < 9; i++) { /* up to the stages behind the store */
        struct place place = places(i), finish = places(4);
        begin(asks_once);
        add(&place, NOD_WILL, 0, objects, "NO");
        if (i != 4)
            add(&finish, NOD_WILL, 0, says, "finish");
        struct world_caller *caller = call_it();
        if (i == 4)
            answer_it();
        assert_string_equal(caller->code, "NO");
        assert_string_equal(trace, i == 4 ? "" : "finish ");
        nothing_left();
    }
}

/* --- asking at the gate --- */

static nod_status asks_at_gate(struct nod_hook_run *hook, void *data)
{
    const struct entry *answer;

    note(data);
    NOD_TRY(world_ask(hook_run(hook), NULL, data, NULL, &answer));
    return answer->state == ASK_ACCEPTED
               ? NOD_OK
               : hook_fail(hook, NOD_E_REFUSED, "NOT_APPROVED", STR("Nobody approved it."));
}

static void add_named(const char *name, nod_hook_kind kind,
                      nod_status (*fn)(struct nod_hook_run *, void *), const char *data)
{
    assert_int_equal(hooks_add(engine_hooks(world.engine),
                               &(struct hook_spec){ .table = engine_flow(NOD_FLOW_CALL),
                                                    .stage = "gate",
                                                    .kind = kind,
                                                    .name = str_of(name),
                                                    .fn = fn,
                                                    .data = (void *)data }),
                     NOD_OK);
}

static void say(enum ask_state action, const char *content)
{
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    assert_non_null(up);
    memcpy(id, up->id, sizeof(id));
    up->up = false;
    world_answer(&world, id, action, content, "ann", 1);
}

static void two_hooks_the_gate_and_the_handler_ask_under_keys_of_their_own(void **state)
{
    (void)state;
    trace[0] = '\0';
    world_init(&world, &(struct world_opts){ .handler = asks_once, .requires_confirmation = true });
    add_named("first", NOD_WILL, asks_at_gate, "One?");
    add_named("second", NOD_AROUND, asks_at_gate, "Two?"); /* does not go in: no confirmation */
    struct world_caller *caller = call_it();
    assert_string_equal(world_up(&world)->key, "nod.first.#1");
    say(ASK_ACCEPTED, NULL);
    assert_string_equal(world_up(&world)->key, "nod.second.#1");
    say(ASK_ACCEPTED, NULL);
    assert_string_equal(world_up(&world)->key, "#1");
    answer_it();
    assert_string_equal(trace, "One? One? Two? One? Two? ");
    went_well(caller);
}

static void what_a_hook_asks_may_be_declined(void **state)
{
    (void)state;
    begin(asks_once);
    add_named("first", NOD_WILL, asks_at_gate, "One?");
    struct world_caller *caller = call_it();
    say(ASK_DECLINED, NULL);
    assert_string_equal(caller->code, "NOT_APPROVED");
    assert_int_equal(world.runs, 0);
    nothing_left();
}

static void a_hook_before_the_gate_is_called_before_anybody_is_asked(void **state)
{
    struct place gate = places(2);

    (void)state;
    trace[0] = '\0';
    world_init(&world, &(struct world_opts){ .handler = asks_once, .requires_confirmation = true });
    add(&gate, NOD_WILL, 0, objects, "POLICY");
    struct world_caller *caller = call_it();
    assert_int_equal(world.shown_count, 0);
    assert_string_equal(caller->code, "POLICY");
    nothing_left();
}

static nod_status doubles(struct nod_hook_run *hook, void *data)
{
    struct hook_view view;

    (void)data;
    assert_true(hook_look(hook, &view));
    return hook_write(hook, HOOK_ARGS,
                      str_eq(view.args, STR("{}")) ? STR("{\"n\":1}") : STR("{\"n\":2}"));
}

static nod_status asks_then_shows(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    return shows_args(run, body);
}

static void a_call_that_comes_back_meets_its_hooks_again_with_its_journal(void **state)
{
    static struct loaded loaded;
    char id[ID_LEN + 1];

    (void)state;
    begin(asks_then_shows);
    add_named("doubles", NOD_WILL, doubles, NULL);
    add_named("asks", NOD_DID, asks_at_gate, "Really?");
    struct world_caller *caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(id, sizeof(id), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    for (int round = 0; round < 2; round++) { /* the hook's question, then the handler's */
        loaded_begin(&loaded, world.store, str_of(id));
        world_settle(&world);
        assert_int_equal(loaded.ask_count, 1);
        char ask[ID_LEN + 1];
        snprintf(ask, sizeof(ask), STR_FMT, STR_ARG(loaded.asks[0].id));
        world_answer(&world, ask, ASK_ACCEPTED, round ? ACCEPT_3 : NULL, "ann", 0);
        loaded_forget(&loaded);
        loaded_begin(&loaded, world.store, str_of(id));
        world_settle(&world);
        caller = world_caller_new(&world);
        caller->way = CALLER_LEAVES;
        assert_true(loaded_adopt(&loaded, &world, caller, false));
        world_settle(&world);
        loaded_forget(&loaded);
    }
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"args\":{\"n\":1}}"); /* written once, each time */
    assert_string_equal(trace, "Really? Really? Really? ");
    nothing_left();
}

static nod_status looks_and_waits(struct nod_hook_run *hook, void *data)
{
    struct hook_view view;

    (void)data;
    assert_true(hook_look(hook, &view));
    note(ask_state_name(view.action).at);
    return NOD_PENDING; /* and is never done */
}

static void the_clock_waits_for_no_hook_and_is_changed_by_none(void **state)
{
    (void)state;
    for (size_t i = 11; i < 17; i++) {
        struct place place = places(i);
        begin(asks_once);
        add(&place, NOD_WILL, 0, looks_and_waits, NULL);
        add(&place, NOD_AROUND, 0, says, "around");
        add(&place, NOD_DID, 0, objects, "NO");
        struct world_caller *caller = call_it();
        world_advance(&world, ENGINE_ASK_TTL_MS);
        assert_int_equal(caller->status, NOD_E_TIMEOUT);
        assert_string_equal(trace, i < 14 ? "" : "expired ");
        nothing_left();
    }
}

SUBJECT(hooks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priorities_order_every_kind_at_every_stage),
        cmocka_unit_test(a_stage_that_may_be_replaced_is_by_the_lowest_priority),
        cmocka_unit_test(an_around_that_does_not_go_in_leaves_out_what_may_be_left_out),
        cmocka_unit_test(hooks_of_each_kind_may_finish_later_at_every_stage),
        cmocka_unit_test(a_hook_that_finishes_later_may_object),
        cmocka_unit_test(a_hook_that_does_not_finish_ends_the_flow_in_its_time),
        cmocka_unit_test(a_call_that_is_cancelled_does_not_wait_for_its_hook),
        cmocka_unit_test(a_world_may_end_while_a_hook_has_not_finished),
        cmocka_unit_test(filters_decide_whom_a_hook_is_called_for),
        cmocka_unit_test(target_and_call_are_known_at_every_stage_to_the_end),
        cmocka_unit_test(target_and_call_are_known_when_the_clock_ends_a_question),
        cmocka_unit_test(what_cannot_be_registered_is_refused),
        cmocka_unit_test(arguments_are_written_before_the_tool_has_run),
        cmocka_unit_test(a_message_is_written_before_it_is_stored),
        cmocka_unit_test(a_message_that_asks_for_a_secret_is_not_written),
        cmocka_unit_test(the_content_of_an_answer_is_written_before_it_is_validated),
        cmocka_unit_test(written_content_is_validated_like_any_other),
        cmocka_unit_test(content_that_was_checked_is_validated_anew_if_it_is_written),
        cmocka_unit_test(a_result_is_changed_around_start_and_before_finish),
        cmocka_unit_test(a_hook_instead_of_start_gives_the_result),
        cmocka_unit_test(what_is_stored_stands),
        cmocka_unit_test(the_answerer_is_told_why_and_may_answer_again),
        cmocka_unit_test(hooks_of_finish_see_every_end),
        cmocka_unit_test(two_hooks_the_gate_and_the_handler_ask_under_keys_of_their_own),
        cmocka_unit_test(what_a_hook_asks_may_be_declined),
        cmocka_unit_test(a_hook_before_the_gate_is_called_before_anybody_is_asked),
        cmocka_unit_test(a_call_that_comes_back_meets_its_hooks_again_with_its_journal),
        cmocka_unit_test(the_clock_waits_for_no_hook_and_is_changed_by_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
