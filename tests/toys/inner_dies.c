/*
 * tests/toys/inner_dies: the process dies after any turn, between outer and inner call or anywhere
 * else. The call ends right at the next one, and the inner call is begun once. Meanwhile the inner
 * tool may change, or go.
 */
#include "core/inside.h"
#include "inner_dying.h"

/* --- the process dies --- */

/* The client comes back, is asked what is still asked, and answers. True: it had ended before. */
static bool dies_after(int turns, world_handler *handler)
{
    struct world_caller *outer = begin_to_die(handler, false);

    if (!goes_on_for(turns)) {
        ended_right(outer, "alive", turns);
        finish();
        return true;
    }
    die();
    fake_clock_advance(&world.clock, 60000);
    struct world_caller *again = caller_held();
    come_for(again, call_name);
    recover();
    for (int i = 0; i < 40 && !again->finished && returning.as != BACK_UNKNOWN; i++) {
        if (world_up(&world))
            accepts_it();
        else
            world_advance(&world, 500);
    }
    if (returning.as != BACK_UNKNOWN) { /* else it died before anything was stored */
        ended_right(again, "killed", turns);
        for (int i = 0; i < 20; i++)
            world_advance(&world, 500);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(engine_pending(world.engine), 0);
    }
    finish_both();
    return false;
}

static void killed_after_any_turn_it_ends_right(void **state)
{
    (void)state;
    int turns = 0;

    while (!dies_after(turns, asks))
        assert_true(++turns < 200);
    assert_true(turns > 8);
    for (turns = 0; !dies_after(turns, steps_then_asks); turns++)
        assert_true(turns < 200);
}

/* Nobody comes back. What was asked or answered before goes on by itself. */
static bool dies_alone_after(int turns)
{
    struct world_caller *outer = begin_to_die(asks, false);

    (void)outer;
    if (!goes_on_for(turns)) {
        finish();
        return true;
    }
    die();
    fake_clock_advance(&world.clock, 60000);
    recover();
    for (int i = 0; i < 60; i++)
        world_advance(&world, 500);
    load(call_name);
    if (loaded.status == NOD_OK && loaded.call.state != CALL_STORED_FINISHED) {
        /* what is left is a question that nobody has answered */
        assert_int_equal(loaded.call.state, CALL_STORED_WAITING);
        assert_int_equal(loaded.ask_count, 1);
        char inner[ID_LEN + 1], question[ID_LEN + 1];
        snprintf(inner, sizeof(inner), STR_FMT, STR_ARG(loaded.asks[0].id));
        loaded_forget(&loaded);
        load(inner); /* it was begun by itself, also if nobody had begun it before */
        if (loaded.status != NOD_OK || loaded.call.state != CALL_STORED_WAITING ||
            loaded.ask_count != 1)
            fail_msg("killed after %d turns: the inner call is %d %d", turns, loaded.status,
                     loaded.call.state);
        assert_int_equal(does.runs, 1);
        snprintf(question, sizeof(question), STR_FMT, STR_ARG(loaded.asks[0].id));
        loaded_forget(&loaded);
        world_answer(&world, question, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
        for (int i = 0; i < 60; i++)
            world_advance(&world, 500);
        load(call_name);
        if (loaded.call.state != CALL_STORED_FINISHED)
            fail_msg("killed after %d turns: the outer call is %d", turns, loaded.call.state);
    }
    loaded_forget(&loaded);
    finish_both();
    return false;
}

static void no_beginning_and_no_end_is_lost_if_nobody_comes_back(void **state)
{
    (void)state;
    int turns = 0;

    while (!dies_alone_after(turns))
        assert_true(++turns < 200);
}

static nod_status steps_once(struct run *run, struct str *body)
{
    nod_status status = world_step(run, &world, "deed", true);

    return status == NOD_OK ? asks(run, body) : status;
}

static void what_may_be_done_once_is_not_done_twice(void **state)
{
    (void)state;
    bool over = false;
    int unknown = 0;

    for (int turns = 0; !over; turns++) {
        assert_true(turns < 200);
        struct world_caller *outer = begin_to_die(steps_once, false);
        over = !goes_on_for(turns);
        if (over) {
            ended_right(outer, "alive", turns);
            finish();
            break;
        }
        die();
        fake_clock_advance(&world.clock, 60000);
        struct world_caller *again = caller_held();
        come_for(again, call_name);
        recover();
        for (int i = 0; i < 40 && !again->finished && returning.as != BACK_UNKNOWN; i++) {
            if (world_up(&world))
                accepts_it();
            else
                world_advance(&world, 500);
        }
        if (strstr(again->body, "OUTCOME_UNKNOWN"))
            unknown++;
        else if (returning.as != BACK_UNKNOWN)
            ended_right(again, "killed", turns);
        assert_true(world.steps_done <= 1);
        finish_both();
    }
    assert_true(unknown > 0);
}

/* --- the inner tool changes, or goes, while no process lives --- */

static int ran_as[3]; /* runs of each version of inner */

static nod_status asks_as(struct run *run, struct str *body)
{
    ran_as[run->target->version[0]]++;
    return asks(run, body);
}

enum meanwhile { IT_CHANGES, IT_GOES };

/* 1: it had ended before. */
static bool changes_after(int turns, enum meanwhile what, bool comes_back, int *ended)
{
    tools[1].version[0] = 0;
    memset(ran_as, 0, sizeof(ran_as));
    begin_with(asks_as, true);
    keep_versions();
    world.engine->opts.ask_ttl_ms = 3600000;
    adopted = 0;
    tool("inner")->version[0] = 1;
    began_with = target_version(tool("inner"));
    struct world_caller *outer = caller_held();
    recover();
    world_settle(&world);
    engine_call(world.engine, &(struct call_spec){ .target = tool("outer"),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &outer->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(outer->caller.call)));
    if (!goes_on_for(turns)) {
        ended_right(outer, "alive", turns);
        finish();
        return true;
    }
    die();
    if (what == IT_GOES)
        catalog_remove(catalog, tool("inner"));
    else
        tool("inner")->version[0] = 2;
    fake_clock_advance(&world.clock, 60000);
    int before = ran_as[1];
    struct world_caller *again = caller_held();
    if (comes_back)
        come_for(again, call_name);
    recover();
    for (int i = 0; i < 200 && !again->finished; i++) {
        if (comes_back && returning.as == BACK_UNKNOWN)
            break;
        if (world_up(&world))
            accepts_it();
        else
            world_advance(&world, 500);
    }
    if (!comes_back) {
        load(call_name);
        bool waits = loaded.status == NOD_OK && loaded.call.state == CALL_STORED_WAITING;
        loaded_forget(&loaded);
        come_for(again, call_name); /* to see what became of it */
        if (waits)                  /* for an answer that nobody gave */
            for (int i = 0; i < 60 && !again->finished; i++) {
                if (world_up(&world))
                    accepts_it();
                else
                    world_advance(&world, 500);
            }
    }
    if (returning.as != BACK_UNKNOWN) {
        const char *code = what == IT_GOES ? "TOOL_GONE" : "TOOL_CHANGED";
        if (again->finished != 1)
            fail_msg("killed after %d turns: not finished", turns);
        if (strstr(again->body, code))
            (*ended)++;
        else if (what == IT_GOES
                     ? !strstr(again->body, "accepted") && !strstr(again->body, "Unknown tool")
                     : !strstr(again->body, "accepted"))
            fail_msg("killed after %d turns: %s %s", turns, again->code, again->body);
        assert_true(!before || !ran_as[2]); /* what one version has begun, no other runs on */
        for (int i = 0; i < 20; i++)
            world_advance(&world, 500);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(engine_pending(world.engine), 0);
    }
    assert_int_equal(ran_as[1], before);
    finish_both();
    return false;
}

static void an_inner_tool_that_has_changed_or_gone_meanwhile_is_an_outcome(void **state)
{
    (void)state;
    for (int what = IT_CHANGES; what <= IT_GOES; what++) {
        for (int comes_back = 0; comes_back < 2; comes_back++) {
            int ended = 0, turns = 0;
            while (!changes_after(turns, what, comes_back, &ended))
                assert_true(++turns < 200);
            assert_true(ended > 2);
        }
    }
}

SUBJECT(toy_inner_dies)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_after_any_turn_it_ends_right),
        cmocka_unit_test(no_beginning_and_no_end_is_lost_if_nobody_comes_back),
        cmocka_unit_test(what_may_be_done_once_is_not_done_twice),
        cmocka_unit_test(an_inner_tool_that_has_changed_or_gone_meanwhile_is_an_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
