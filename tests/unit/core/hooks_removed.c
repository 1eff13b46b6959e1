/*
 * tests/unit/core/hooks_removed: hooks that are removed, before a call, while they run, and while
 * they wait.
 */
#include "loaded.h"

#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static char trace[256];
static int released; /* hooks that were told so */
static struct nod_hook_run *kept;
static const char mine, others; /* owners */

static void note(const char *word)
{
    size_t len = strlen(trace);

    snprintf(trace + len, sizeof(trace) - len, "%s ", word);
}

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static nod_status says(struct nod_hook_run *hook, void *data)
{
    (void)hook;
    note(data);
    return NOD_OK;
}

static nod_status finishes_later(struct nod_hook_run *hook, void *data)
{
    note(data);
    kept = hook;
    return NOD_PENDING;
}

static nod_status comes_out(nod_hook_run *hook, nod_status status, void *data)
{
    (void)hook, (void)data;
    note("out");
    return status;
}

static nod_status goes_in(struct nod_hook_run *hook, void *data)
{
    note(data);
    return hook_next(hook, comes_out, NULL);
}

static nod_status asks_at_gate(struct nod_hook_run *hook, void *data)
{
    const struct entry *answer;

    note(data);
    NOD_TRY(world_ask(hook_run(hook), NULL, "May it?", NULL, &answer));
    return answer->state == ASK_ACCEPTED
               ? NOD_OK
               : hook_fail(hook, NOD_E_REFUSED, "NOT_APPROVED", STR("Nobody approved it."));
}

static void note_released(void *data)
{
    (void)data;
    released++;
}

static nod_status add_of(const void *owner, const char *name, const char *stage, nod_hook_kind kind,
                         nod_status (*fn)(struct nod_hook_run *, void *))
{
    return hooks_add(engine_hooks(world.engine),
                     &(struct hook_spec){ .owner = owner,
                                          .table = engine_flow(NOD_FLOW_CALL),
                                          .stage = stage,
                                          .kind = kind,
                                          .name = str_of(name),
                                          .fn = fn,
                                          .released = note_released,
                                          .data = (void *)(uintptr_t)name });
}

static void add(const char *name, const char *stage, nod_hook_kind kind,
                nod_status (*fn)(struct nod_hook_run *, void *))
{
    assert_int_equal(add_of(&mine, name, stage, kind, fn), NOD_OK);
}

static bool remove_it(const char *name)
{
    return hooks_remove(engine_hooks(world.engine), &mine, str_of(name));
}

static int setup(void **state)
{
    (void)state;
    trace[0] = '\0';
    released = 0;
    kept = NULL;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_finish(&world);
    return 0;
}

static struct world_caller *call_it(void)
{
    struct world_caller *caller = world_call(&world, "ann", "s1");

    world_settle(&world);
    return caller;
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

/* It asks its own question, is answered, and ends well. */
static void goes_on(struct world_caller *caller)
{
    world_settle(&world);
    assert_string_equal(world_up(&world)->key, "#1");
    say(ASK_ACCEPTED, "{\"n\":3}");
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
}

/* --- before --- */

static void a_removed_hook_is_not_called_any_more(void **state)
{
    (void)state;
    add("a", "accept", NOD_WILL, says);
    add("b", "accept", NOD_WILL, says);
    add("c", "start", NOD_AROUND, goes_in);
    assert_true(remove_it("a"));
    assert_false(remove_it("a"));
    assert_false(remove_it("z"));
    goes_on(call_it());
    assert_string_equal(trace, "b c out ");
    world_advance(&world, 1);
    assert_int_equal(released, 1);
}

static void a_hook_is_its_owners_to_remove(void **state)
{
    struct hooks *hooks = engine_hooks(world.engine);

    (void)state;
    add("a", "accept", NOD_WILL, says);
    assert_int_equal(add_of(&others, "b", "accept", NOD_WILL, says), NOD_OK);
    assert_int_equal(add_of(NULL, "nobodys", "accept", NOD_WILL, says), NOD_OK);
    assert_false(hooks_remove(hooks, &others, STR("a")));
    assert_false(hooks_remove(hooks, NULL, STR("nobodys")));
    assert_int_equal(hooks_remove_all(hooks, NULL), 0); /* nor the confirmation, which is nod's */
    assert_int_equal(hooks_remove_all(hooks, &others), 1);
    assert_int_equal(hooks_remove_all(hooks, &others), 0);
    goes_on(call_it());
    assert_string_equal(trace, "a nobodys ");
}

static void the_room_and_the_name_of_a_removed_hook_are_free_again(void **state)
{
    char name[16];

    (void)state;
    for (int round = 0; round < 3; round++) {
        int added = 0;
        nod_status status = NOD_OK;
        for (int i = 0; status == NOD_OK; i++) {
            snprintf(name, sizeof(name), "h%d", i);
            status = add_of(&mine, name, "accept", NOD_WILL, says);
            added += status == NOD_OK;
        }
        assert_int_equal(status, NOD_E_LIMIT);
        assert_int_equal(added, HOOKS_MAX - 2); /* beside nod's own */
        assert_int_equal(hooks_remove_all(engine_hooks(world.engine), &mine), added);
        world_advance(&world, 1);
    }
    assert_int_equal(released, 3 * (HOOKS_MAX - 2));
}

/* --- while it runs --- */

static nod_status removes_itself_and_the_next(struct nod_hook_run *hook, void *data)
{
    (void)hook;
    note(data);
    assert_true(remove_it("a"));
    assert_true(remove_it("b"));
    assert_int_equal(released, 0); /* the flow stands at the one, and goes on from there */
    return NOD_OK;
}

static void a_hook_removes_itself_and_the_next_while_it_runs(void **state)
{
    (void)state;
    add("a", "accept", NOD_WILL, removes_itself_and_the_next);
    add("b", "accept", NOD_WILL, says);
    add("c", "accept", NOD_WILL, says);
    struct world_caller *caller = call_it();
    world_advance(&world, 1);
    assert_int_equal(released, 2);
    goes_on(caller);
    goes_on(call_it());
    assert_string_equal(trace, "a c c ");
}

static void a_hook_that_has_not_finished_when_it_is_removed_still_decides(void **state)
{
    (void)state;
    for (int refuses = 0; refuses < 2; refuses++) {
        add("a", "authorise", NOD_WILL, finishes_later);
        add("b", "authorise", NOD_WILL, says);
        trace[0] = '\0';
        released = 0;
        struct world_caller *caller = call_it();
        assert_true(remove_it("a"));
        add("a", "authorise", NOD_WILL, says); /* the name is free at once */
        world_advance(&world, 100);
        assert_int_equal(caller->finished, 0); /* it is waited for, and its data stays */
        assert_int_equal(released, 0);
        hook_done(kept, refuses ? hook_fail(kept, NOD_E_REFUSED, "POLICY", STR("No.")) : NOD_OK);
        world_settle(&world);
        if (refuses)
            assert_string_equal(caller->code, "POLICY");
        else
            goes_on(caller);
        world_advance(&world, 1);
        assert_int_equal(released, 1);
        assert_string_equal(trace, refuses ? "a " : "a b a ");
        hooks_remove_all(engine_hooks(world.engine), &mine);
        world_advance(&world, 1);
    }
}

static void a_hook_that_never_finishes_is_out_of_time_although_it_was_removed(void **state)
{
    (void)state;
    add("a", "authorise", NOD_WILL, finishes_later);
    struct world_caller *caller = call_it();
    assert_true(remove_it("a"));
    world_advance(&world, HOOK_TIMEOUT_MS + 1);
    assert_string_equal(caller->code, "HOOK_TIMEOUT");
    assert_int_equal(released, 0); /* it may still use its run */
    hook_done(kept, NOD_OK);
    world_advance(&world, 1);
    assert_int_equal(released, 1);
}

static void a_hook_around_a_stage_comes_out_although_it_was_removed_inside(void **state)
{
    (void)state;
    add("a", "start", NOD_AROUND, goes_in);
    struct world_caller *caller = call_it();
    assert_true(remove_it("a")); /* the question of the tool is up */
    world_advance(&world, 100);
    assert_int_equal(released, 0);
    goes_on(caller);
    assert_string_equal(trace, "a out ");
    world_advance(&world, 1);
    assert_int_equal(released, 1);
}

static struct world_caller *asked_and_removed(void)
{
    add("a", "gate", NOD_WILL, asks_at_gate);
    struct world_caller *caller = call_it();
    assert_non_null(world_up(&world));
    assert_true(remove_it("a"));
    world_advance(&world, 1);
    return caller;
}

static void a_yes_to_a_removed_hook_lets_the_call_go_on(void **state)
{
    (void)state;
    struct world_caller *caller = asked_and_removed();
    assert_string_equal(world_up(&world)->key, "nod.a.#1");
    assert_int_equal(released, 1); /* it does not run while its question waits */
    say(ASK_ACCEPTED, NULL);
    goes_on(caller);
    assert_string_equal(trace, "a ");
}

static void a_no_to_a_removed_hook_counts(void **state)
{
    static const struct {
        enum ask_state said;
        const char *code;
    } cases[] = { { ASK_DECLINED, "CONFIRMATION_DECLINED" },
                  { ASK_CANCELLED, "CONFIRMATION_CANCELLED" } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world_caller *caller = asked_and_removed();
        say(cases[i].said, NULL);
        world_settle(&world);
        assert_int_equal(caller->finished, 1);
        assert_int_equal(caller->status, NOD_E_REFUSED);
        assert_string_equal(caller->code, cases[i].code);
    }
}

static nod_status asks_if_it_likes(struct nod_hook_run *hook, void *data)
{
    const struct entry *answer;

    note(data);
    return world_ask(hook_run(hook), NULL, "A word?", NULL, &answer);
}

/* The no was the hook's to judge, and it has. What comes later does not undo that. */
static void a_no_that_a_hook_has_let_pass_ends_nothing(void **state)
{
    (void)state;
    add("a", "gate", NOD_WILL, asks_if_it_likes);
    struct world_caller *caller = call_it();
    say(ASK_DECLINED, NULL);
    assert_true(remove_it("a"));
    goes_on(caller);
    assert_string_equal(trace, "a a ");
}

/* After a restart, or on another node, the hook may not be there. */
static void a_no_counts_where_the_hook_never_was(void **state)
{
    static struct loaded loaded;
    char name[ID_LEN + 1] = "";

    (void)state;
    add("a", "gate", NOD_WILL, asks_at_gate);
    struct world_caller *caller = call_it();
    memcpy(name, call_id(caller->caller.call).at, ID_LEN);
    engine_destroy(world.engine);
    world_engine(&world);
    loaded_begin(&loaded, world.store, str_of(name));
    world_settle(&world);
    world.shown_count = 0;
    struct world_caller *back = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    say(ASK_DECLINED, NULL);
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->code, "CONFIRMATION_DECLINED");
    assert_string_equal(trace, "a ");
    loaded_forget(&loaded);
}

/* Another hook hears only what it has asked itself. */
static void a_no_to_a_removed_hook_counts_beside_another_one(void **state)
{
    (void)state;
    add("a", "gate", NOD_WILL, asks_at_gate);
    struct world_caller *caller = call_it();
    assert_true(remove_it("a"));
    add("b", "gate", NOD_WILL, asks_at_gate);
    say(ASK_DECLINED, NULL);
    world_settle(&world);
    assert_string_equal(world_up(&world)->key, "nod.b.#1");
    say(ASK_ACCEPTED, NULL);
    world_settle(&world);
    assert_string_equal(caller->code, "CONFIRMATION_DECLINED");
}

static void a_world_may_end_while_a_removed_hook_has_not_finished(void **state)
{
    (void)state;
    add("a", "authorise", NOD_WILL, finishes_later);
    call_it();
    assert_true(remove_it("a"));
    world_finish(&world);
    assert_int_equal(released, 1);
    setup(state);
}

#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

SUBJECT(hooks_removed)
{
    const struct CMUnitTest tests[] = {
        HOOK_TEST(a_removed_hook_is_not_called_any_more),
        HOOK_TEST(a_hook_is_its_owners_to_remove),
        HOOK_TEST(the_room_and_the_name_of_a_removed_hook_are_free_again),
        HOOK_TEST(a_hook_removes_itself_and_the_next_while_it_runs),
        HOOK_TEST(a_hook_that_has_not_finished_when_it_is_removed_still_decides),
        HOOK_TEST(a_hook_that_never_finishes_is_out_of_time_although_it_was_removed),
        HOOK_TEST(a_hook_around_a_stage_comes_out_although_it_was_removed_inside),
        HOOK_TEST(a_yes_to_a_removed_hook_lets_the_call_go_on),
        HOOK_TEST(a_no_to_a_removed_hook_counts),
        HOOK_TEST(a_no_that_a_hook_has_let_pass_ends_nothing),
        HOOK_TEST(a_no_counts_where_the_hook_never_was),
        HOOK_TEST(a_no_to_a_removed_hook_counts_beside_another_one),
        HOOK_TEST(a_world_may_end_while_a_removed_hook_has_not_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
