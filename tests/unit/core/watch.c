/* tests/unit/core/watch: several watchers of one store. */
#include "world.h"
#include "../runner.h"

static struct world world;

struct seen {
    struct ask_watch watch;
    int up, ended, all;
};

static void on_told(void *data, const struct ask_hint *hint)
{
    struct seen *seen = data;

    if (!hint)
        seen->all++;
    else if (hint->ended)
        seen->ended++;
    else
        seen->up++;
}

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{}");
    return NOD_OK;
}

static void watch_with(struct seen *seen)
{
    *seen = (struct seen){ .watch = { .told = on_told, .data = seen } };
    engine_watch_asks(world.engine, &seen->watch);
    world_settle(&world);
}

static void ask_and_answer(void)
{
    world_call(&world, "ann", "s1");
    world_settle(&world);
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
}

static void each_watcher_is_told_until_it_stops(void **state)
{
    struct seen a, b;

    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    watch_with(&a);
    assert_int_equal(a.all, 1);
    watch_with(&b);
    assert_int_equal(b.all, 1);
    ask_and_answer();
    assert_int_equal(a.up + a.ended, 2);
    assert_int_equal(b.up + b.ended, 2);
    engine_unwatch_asks(world.engine, &a.watch);
    engine_unwatch_asks(world.engine, &a.watch); /* again: nothing happens */
    ask_and_answer();
    assert_int_equal(a.up + a.ended, 2);
    assert_int_equal(b.up + b.ended, 4);
    engine_unwatch_asks(world.engine, &b.watch);
    ask_and_answer();
    assert_int_equal(b.up + b.ended, 4);
    world_finish(&world);
}

SUBJECT(watch)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_watcher_is_told_until_it_stops) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
