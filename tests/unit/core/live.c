/* tests/unit/core/live: a run that stays open while its call waits (core/live.c), by a live toy. */
#include "../../toys/live.h"
#include "../runner.h"
#include "loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world world;
static struct live_toy toy;
static char call_name[ID_LEN + 1];
static int64_t timeout_ms = 500; /* of work */

/* What is due now happens, and all that follows from it. */
static void calm(void)
{
    for (int i = 0; i < 12; i++)
        world_advance(&world, 0);
}

static struct live_session *only(void)
{
    assert_int_equal(toy.count, 1);
    return &toy.sessions[0];
}

static struct world_caller *begin_with(enum caller_way way, const struct world_opts *opts)
{
    struct world_caller *caller;

    world_init(&world, opts);
    live_toy_init(&toy, "live");
    toy.target.timeout_ms = timeout_ms;
    caller = world_caller_new(&world);
    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &toy.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    calm();
    assert_non_null(only()->run);
    return caller;
}

static struct world_caller *begin(void)
{
    return begin_with(CALLER_HOLDS, &(struct world_opts){ .ttl_ms = 60000 });
}

static void ask(const char *key)
{
    assert_int_equal(live_toy_ask(only(), key, key), NOD_PENDING);
}

static void commit(void)
{
    live_toy_commit(only());
    calm();
}

static void answer_as(const char *key, enum ask_state action, const char *content)
{
    struct shown *up = world_up_key(&world, key);
    char id[ID_LEN + 1];

    assert_non_null(up);
    memcpy(id, up->id, sizeof(id));
    up->up = false;
    world_answer(&world, id, action, content, "ann", 1);
    calm();
}

static void answer(const char *key)
{
    answer_as(key, ASK_ACCEPTED, "{\"n\":1}");
}

static void nothing_is_up(void)
{
    assert_null(world_up(&world));
    assert_int_equal(engine_calls(world.engine), 0);
}

static void over(const char *code)
{
    assert_int_equal(only()->ended, 1);
    assert_string_equal(only()->code, code);
    nothing_is_up();
    world_finish(&world);
    assert_int_equal(only()->ended, 1);
    assert_int_equal(toy.count, 1); /* it was begun once */
}

static struct loaded *stored(void)
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    return &loaded;
}

/* --- what it may do --- */

static void it_asks_two_commits_a_step_takes_one_back_reports_and_ends_before_the_other_is_answered(
    void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    ask("b");
    commit();
    assert_string_equal(only()->heard, "committed");
    assert_non_null(world_up_key(&world, "a"));
    assert_non_null(world_up_key(&world, "b"));
    assert_true(caller->waiting);
    assert_int_equal(live_toy_step(only(), "s"), NOD_PENDING);
    commit();
    assert_string_equal(only()->heard, "committed committed");
    struct loaded *loaded = stored();
    assert_int_equal(loaded->call.state, CALL_STORED_WAITING);
    assert_int_equal(loaded->ask_count, 2);
    const struct entry *last = &loaded->call.entries[loaded->call.entry_count - 1];
    assert_true(str_eq(last->key, STR("s")));
    loaded_forget(loaded);
    assert_int_equal(live_toy_take_back(only(), "a", "not needed any more"), NOD_PENDING);
    calm();
    assert_null(world_up_key(&world, "a"));
    assert_string_equal(world.shown[0].why, "not needed any more");
    assert_int_equal(world.shown[0].end, ASK_WITHDRAWN);
    assert_string_equal(only()->heard, "committed committed a=withdrawn");
    live_toy_progress(only(), 3);
    assert_int_equal(caller->notices, 1);
    assert_non_null(world_up_key(&world, "b"));
    live_toy_end(only(), "enough");
    calm();
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"content\":[{\"type\":\"text\",\"text\":\"enough\"}]}");
    assert_int_equal(world.shown[1].end, ASK_WITHDRAWN);
    over("OK");
}

static void it_is_told_each_answer_and_is_not_begun_again(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    ask("b");
    commit();
    answer("b");
    assert_string_equal(only()->heard, "committed b=accepted");
    answer_as("a", ASK_DECLINED, NULL);
    assert_string_equal(only()->heard, "committed b=accepted a=declined");
    assert_false(caller->waiting);
    ask("c");
    commit();
    answer("c");
    live_toy_end(only(), "all");
    calm();
    assert_int_equal(caller->status, NOD_OK);
    over("OK");
}

static void a_further_question_is_asked_beside_one_that_waits(void **state)
{
    (void)state;
    begin();
    ask("a");
    commit();
    ask("b");
    commit();
    assert_non_null(world_up_key(&world, "a"));
    answer("a");
    assert_string_equal(only()->heard, "committed committed a=accepted");
    answer("b");
    assert_string_equal(only()->heard, "committed committed a=accepted b=accepted");
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void what_is_not_committed_is_not_asked(void **state)
{
    (void)state;
    begin();
    ask("a");
    ask("b");
    calm();
    assert_null(world_up(&world));
    assert_int_equal(live_toy_take_back(only(), "a", "never mind"), NOD_OK);
    commit();
    assert_null(world_up_key(&world, "a"));
    assert_non_null(world_up_key(&world, "b"));
    assert_int_equal(live_toy_take_back(only(), "x", ""), NOD_E_NOT_FOUND);
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

/* How many questions of 500 bytes fit, until the journal is full. All are taken back. */
static int asked_and_taken_back(void)
{
    char message[501], key[16];
    int fit = 0;

    memset(message, 'm', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    for (nod_status status = NOD_PENDING; status == NOD_PENDING; fit += status == NOD_PENDING) {
        snprintf(key, sizeof(key), "k%d", fit);
        status = live_toy_ask(only(), key, message);
    }
    for (int i = 0; i < fit; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(live_toy_take_back(only(), key, "never mind"), NOD_OK);
    }
    return fit;
}

static void what_is_taken_back_before_its_commit_gives_its_room_back(void **state)
{
    (void)state;
    begin_with(CALLER_HOLDS,
               &(struct world_opts){ .ttl_ms = 60000,
                                     .limits.journal_bytes = ENGINE_JOURNAL_BYTES_LEAST });
    int fit = asked_and_taken_back();
    assert_in_range(fit, 3, 7);
    for (int i = 0; i < 10; i++)
        assert_int_equal(asked_and_taken_back(), fit);
    ask("a");
    commit();
    answer("a");
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void the_last_question_is_taken_back_and_the_run_goes_on(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    commit();
    live_toy_take_back(only(), "a", "no");
    calm();
    assert_false(caller->waiting);
    assert_int_equal(live_toy_step(only(), "s"), NOD_PENDING);
    commit();
    assert_string_equal(only()->heard, "committed a=withdrawn committed");
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void a_question_that_expires_is_told_as_expired(void **state)
{
    (void)state;
    begin_with(CALLER_HOLDS, &(struct world_opts){ .ttl_ms = 1000 });
    ask("a");
    commit();
    world_advance(&world, 1000);
    calm();
    assert_string_equal(only()->heard, "committed a=expired");
    live_toy_fail(only(), "TOO_LATE", "nobody came");
    calm();
    over("TOO_LATE");
}

static void a_key_is_asked_once_while_it_waits(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    commit();
    assert_int_equal(live_toy_ask(only(), "a", "a"), NOD_E_USAGE);
    live_toy_end(only(), "all");
    calm();
    assert_int_equal(caller->status, NOD_E_USAGE); /* a mistake of the provider is named */
    over("HANDLER_BUG");
}

static void from_the_oldest_that_waits_on_it_asks_at_most_a_round(void **state)
{
    char key[16];
    (void)state;

    begin_with(CALLER_HOLDS,
               &(struct world_opts){ .ttl_ms = 60000, .limits = { .journal_entries = 1000 } });
    ask("oldest");
    commit();
    for (int i = 1; i < RUN_ROUND_MAX; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ask(key);
    }
    assert_int_equal(live_toy_ask(only(), "more", "more"), NOD_E_LIMIT);
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void questions_that_wait_count_against_the_journal(void **state)
{
    (void)state;
    begin_with(CALLER_HOLDS,
               &(struct world_opts){ .ttl_ms = 60000, .limits = { .journal_entries = 4 } });
    ask("a"); /* beside nod.start */
    ask("b");
    commit();
    ask("c");
    assert_int_equal(live_toy_ask(only(), "d", "d"), NOD_E_LIMIT);
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

/* --- time --- */

static void the_timeout_counts_work_and_not_waiting(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    world_advance(&world, 300);
    ask("a");
    commit();
    world_advance(&world, 5000); /* it waits, and may work */
    answer("a");
    assert_int_equal(caller->finished, 0);
    world_advance(&world, 150);
    assert_int_equal(caller->finished, 0);
    world_advance(&world, 100);
    calm();
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "TOOL_TIMEOUT");
    assert_int_equal(only()->cancelled, 1);
    over("TOOL_TIMEOUT");
}

/* --- other ends --- */

static void a_call_that_is_cancelled_while_it_waits_drops_its_run_at_once(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    commit();
    call_cancel(caller->caller.call, STR("enough"));
    assert_int_equal(only()->cancelled, 1);
    calm();
    assert_string_equal(caller->code, "CANCELLED");
    over("CANCELLED");
}

static void a_call_that_is_cancelled_while_it_saves_drops_its_run(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    commit();
    ask("b");
    live_toy_step(only(), "s");
    live_toy_commit(only());
    engine_tick(world.engine); /* the park is under way */
    call_cancel(caller->caller.call, STR("enough"));
    assert_int_equal(only()->cancelled, 1);
    calm();
    over("CANCELLED");
}

static void ended_elsewhere(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

static void a_call_that_another_node_ends_drops_its_run_with_the_next_write(void **state)
{
    static const struct outcome elsewhere = { .status = NOD_E_CANCELLED, .code = "CANCELLED" };
    struct world_caller *caller = begin();
    struct id token;
    struct buf result;
    (void)state;

    ask("a");
    commit();
    buf_init(&result, 1024);
    outcome_write(&result, &elsewhere);
    id_random(&token);
    world.store->ops->cancel(world.store, id_str(&token), str_of(call_name), buf_str(&result),
                             ended_elsewhere, NULL);
    world_settle(&world);
    buf_finish(&result);
    ask("b");
    commit();
    assert_int_equal(only()->cancelled, 1);
    assert_int_equal(caller->finished, 1);
    over("CANCELLED");
}

/* The store has the end, and a look at the call finds it before the reply comes. */
static void a_provider_is_told_once_of_a_cancel_whose_reply_is_lost(void **state)
{
    (void)state;
    for (int waits = 0; waits < 24; waits++) {
        begin_with(CALLER_LEAVES, &(struct world_opts){ .ttl_ms = 60000 });
        ask("a");
        commit();
        for (int i = 0; i < waits; i++)
            world_advance(&world, 250);
        world.fail_verb = "cancel";
        world.fail_how = MEMORY_FAIL_AFTER;
        world.fail_times = ENGINE_STORE_TRIES - 1;
        engine_cancel(world.engine, str_of(call_name), STR("enough"), NULL, NULL);
        for (int i = 0; i < 80; i++)
            world_advance(&world, 50);
        over("CANCELLED");
    }
}

static void an_end_that_meets_another_end_gives_way(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    commit();
    live_toy_end(only(), "mine");
    engine_tick(world.engine); /* the finish is under way */
    call_cancel(caller->caller.call, STR("too late"));
    calm();
    assert_int_equal(caller->finished, 1);
    over("OK");
}

static void a_park_that_the_store_refuses_for_good_ends_the_call_and_takes_all_down(void **state)
{
    struct world_caller *caller = begin_with(
        CALLER_HOLDS,
        &(struct world_opts){ .ttl_ms = 60000, .limits = { .pending_asks_per_principal = 1 } });
    (void)state;

    ask("a");
    commit();
    assert_non_null(world_up_key(&world, "a"));
    ask("b");
    commit();
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "LIMIT_REACHED");
    assert_int_equal(world.shown[0].end, ASK_WITHDRAWN);
    assert_int_equal(only()->cancelled, 1);
    over("LIMIT_REACHED");
}

/* --- a client that leaves and comes back --- */

static struct world_caller *come_back(enum caller_way way)
{
    struct world_caller *again = world_caller_new(&world);
    struct loaded *loaded = stored();

    again->way = way;
    assert_true(engine_adopt(world.engine, &(struct adopt_spec){ .record = &loaded->call,
                                                                 .asks = loaded->asks,
                                                                 .ask_count = loaded->ask_count,
                                                                 .target = &toy.target,
                                                                 .handed = true,
                                                                 .caller = &again->caller }));
    calm();
    loaded_forget(loaded);
    return again;
}

static void it_goes_on_while_its_client_is_away_and_the_next_round_has_what_was_asked(void **state)
{
    struct world_caller *caller =
        begin_with(CALLER_LEAVES, &(struct world_opts){ .ttl_ms = 60000 });
    (void)state;

    ask("a");
    commit();
    assert_int_equal(caller->asked, 1);
    assert_null(caller->caller.call);
    ask("b");
    live_toy_step(only(), "s");
    commit();
    assert_string_equal(only()->heard, "committed committed");
    struct loaded *loaded = stored();
    assert_int_equal(loaded->ask_count, 2);
    loaded_forget(loaded);
    struct world_caller *again = come_back(CALLER_HOLDS);
    assert_int_equal(again->asked, 1);
    answer("a");
    answer("b");
    assert_string_equal(only()->heard, "committed committed a=accepted b=accepted");
    live_toy_end(only(), "all");
    calm();
    assert_int_equal(again->finished, 1);
    over("OK");
}

static void a_client_that_brings_an_answer_is_asked_what_was_asked_meanwhile(void **state)
{
    (void)state;
    begin_with(CALLER_LEAVES, &(struct world_opts){ .ttl_ms = 60000 });
    ask("a");
    commit();
    ask("b");
    commit();
    struct world_caller *again = world_caller_new(&world);
    again->brings[0] =
        (struct world_brings){ .key = "a", .action = ASK_ACCEPTED, .content = "{\"n\":1}" };
    again->way = CALLER_LEAVES;
    struct loaded *loaded = stored();
    assert_true(engine_adopt(world.engine, &(struct adopt_spec){ .record = &loaded->call,
                                                                 .asks = loaded->asks,
                                                                 .ask_count = loaded->ask_count,
                                                                 .target = &toy.target,
                                                                 .handed = true,
                                                                 .caller = &again->caller }));
    calm();
    loaded_forget(loaded);
    assert_int_equal(again->brings[0].told, 1);
    assert_int_equal(again->asked, 1);
    assert_string_equal(only()->heard, "committed committed a=accepted");
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void it_ends_while_its_client_is_away_and_the_client_finds_the_end(void **state)
{
    (void)state;
    begin_with(CALLER_LEAVES, &(struct world_opts){ .ttl_ms = 60000 });
    ask("a");
    commit();
    live_toy_end(only(), "away");
    calm();
    struct loaded *loaded = stored();
    assert_int_equal(loaded->call.state, CALL_STORED_FINISHED);
    assert_int_equal(loaded->ask_count, 0);
    loaded_forget(loaded);
    over("OK");
}

/* --- an answer that is given elsewhere --- */

static void claimed_elsewhere(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    assert_true(reply->won);
}

static void claim_at_the_store(const char *key)
{
    struct shown *up = world_up_key(&world, key);
    struct claim_item item = { .ask_id = str_of(up->id),
                               .outcome = ASK_ACCEPTED,
                               .content = STR("{\"n\":4}") };
    struct id token;

    id_random(&token);
    world.store->ops->claim(world.store,
                            &(struct claim_spec){ .token = id_str(&token),
                                                  .items = &item,
                                                  .count = 1,
                                                  .by = STR("ann"),
                                                  .via = STR("api") },
                            claimed_elsewhere, NULL); /* it happens now, and is told later */
}

static void an_answer_that_another_node_takes_is_told_at_home(void **state)
{
    (void)state;
    begin();
    ask("a");
    ask("b");
    commit();
    claim_at_the_store("a");
    world_settle(&world);
    call_wake(engine_find(world.engine, str_of(call_name))); /* the hint of a shared store */
    calm();
    assert_string_equal(only()->heard, "committed a=accepted");
    assert_null(world_up_key(&world, "a"));
    assert_non_null(world_up_key(&world, "b"));
    claim_at_the_store("b");
    calm();
    assert_string_equal(only()->heard, "committed a=accepted b=accepted");
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void a_write_that_an_answer_elsewhere_has_overtaken_is_sent_again(void **state)
{
    (void)state;
    begin();
    ask("a");
    commit();
    ask("b");
    live_toy_step(only(), "s");
    live_toy_commit(only());
    claim_at_the_store("a"); /* the call can be taken, and this node is yet to hear of it */
    engine_tick(world.engine);
    calm();
    assert_string_equal(only()->heard, "committed committed a=accepted");
    assert_non_null(world_up_key(&world, "b"));
    answer("b");
    live_toy_end(only(), "all");
    calm();
    over("OK");
}

static void a_cancel_that_comes_while_a_refused_write_is_looked_into_ends_the_call(void **state)
{
    (void)state;
    for (int turns = 0; turns < 8; turns++) {
        struct world_caller *caller = begin();
        ask("a");
        commit();
        ask("b");
        live_toy_commit(only());
        claim_at_the_store("a");
        engine_tick(world.engine); /* the park is refused, and the call looked at */
        for (int i = 0; i < turns; i++)
            world_turn(&world);
        call_cancel(caller->caller.call, STR("enough"));
        calm();
        assert_int_equal(caller->finished, 1);
        over("CANCELLED");
    }
}

/* --- a node that stops --- */

static void a_node_that_stops_still_tells_its_live_runs(void **state)
{
    struct world_caller *caller = begin();
    (void)state;

    ask("a");
    commit();
    engine_stop(world.engine);
    answer("a");
    assert_string_equal(only()->heard, "committed a=accepted");
    live_toy_end(only(), "all");
    calm();
    assert_int_equal(caller->status, NOD_OK);
    over("OK");
}

/* --- its end against an answer --- */

static bool live_soak(void)
{
    const char *soak = getenv("NOD_SOAK");

    return soak && *soak && strcmp(soak, "0") != 0;
}

static void some_turns(void)
{
    for (uint64_t left = world_random(&world) % 6; left > 0; left--)
        if (world_random(&world) % 2)
            engine_tick(world.engine);
        else
            world_turn(&world);
}

static struct answer_result heard_of; /* by whoever answered */
static int heard_times, answers_won, answers_lost;

static void race_answered(void *data, const struct answer_result *result)
{
    (void)data;
    heard_of = *result;
    heard_times++;
    for (size_t i = 0; result->status == NOD_OK && i < world.shown_count; i++)
        if (strcmp(world.shown[i].key, "a") == 0)
            world.shown[i].up = false; /* where it was answered */
}

static void race_answer(void)
{
    struct shown *up = world_up_key(&world, "a");
    struct json *content;
    struct arena arena;

    if (!up)
        return;
    arena_init(&arena, 4096);
    content = json_parse(&arena, STR("{\"n\":1}"), NULL, NULL);
    ask_answer(world.engine, str_of(up->id),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = content,
                                 .by = STR("ann"),
                                 .scope = STR("s1"),
                                 .surface = &world.surface,
                                 .attempt = 1 },
               race_answered, NULL);
    arena_finish(&arena);
}

/* Completions come in any order, and some are lost. */
static void one_race(uint64_t seed, bool back, unsigned faults)
{
    timeout_ms = 60000;
    struct world_caller *caller = begin();
    timeout_ms = 500;

    heard_times = 0;
    ask("a");
    if (seed & 1)
        ask("b");
    commit();
    if (seed & 1) /* only one is left when they race, or two */
        answer("b");
    world.seed = seed;
    world.fault_per_mille = faults;
    bool end_first = world_random(&world) % 2;
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == end_first) {
            if (back)
                live_toy_take_back(only(), "a", "no");
            else
                live_toy_end(only(), "mine");
            if (world_random(&world) % 2)
                engine_tick(world.engine);
        } else {
            race_answer();
        }
        some_turns();
    }
    world.fault_per_mille = 0;
    for (int i = 0; i < 40; i++)
        world_advance(&world, 100);
    if (back) {
        bool won = strstr(only()->heard, "a=withdrawn");
        assert_int_equal(won + !!strstr(only()->heard, "a=accepted"), 1);
        if (heard_times)
            assert_int_equal(heard_of.state, won ? ASK_WITHDRAWN : ASK_ACCEPTED);
        live_toy_end(only(), "mine");
        for (int i = 0; i < 20; i++)
            world_advance(&world, 100);
    } else if (heard_times && heard_of.status != NOD_OK) {
        assert_int_equal(heard_of.state, ASK_WITHDRAWN);
    }
    assert_true(heard_times <= 1);
    answers_won += heard_times && heard_of.status == NOD_OK;
    answers_lost += heard_times && heard_of.status != NOD_OK;
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    struct loaded *loaded = stored();
    assert_int_equal(loaded->call.state, CALL_STORED_FINISHED);
    loaded_forget(loaded);
    over("OK");
}

static void races(bool back)
{
    uint64_t most = live_soak() ? 10000 : 150;

    answers_won = answers_lost = 0;
    for (uint64_t seed = 1; seed <= most; seed++)
        one_race(seed * 2654435761u + back, back, seed % 3 ? 0 : 200);
    print_message("%d answers won, %d came too late\n", answers_won, answers_lost);
    assert_true(answers_won > 10 && answers_lost > 10);
}

static void its_end_against_an_answer_one_end_and_nothing_left_standing(void **state)
{
    (void)state;
    races(false);
}

static void a_question_taken_back_against_its_answer_one_of_them_wins(void **state)
{
    (void)state;
    races(true);
}

/* --- whatever comes, in whatever order --- */

struct storm {
    int asked, steps, committed_steps; /* what the toy did, and what it was told is stored */
    bool ended, cancelled;
};

static void storm_answer(void)
{
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    if (!up)
        return;
    memcpy(id, up->id, sizeof(id));
    up->up = false; /* the surface knows: it is where the answer was given */
    world_answer(&world, id, world_random(&world) % 3 ? ASK_ACCEPTED : ASK_DECLINED, "{\"n\":1}",
                 "ann", 1);
}

/* One thing that may happen at any time. */
static void storm_deed(struct storm *storm, struct world_caller **caller)
{
    struct live_session *session = only();
    char key[16];

    switch (world_random(&world) % 12) {
    case 0:
    case 1:
        if (session->run && storm->asked < 20) {
            snprintf(key, sizeof(key), "q%d", storm->asked++);
            assert_int_equal(live_toy_ask(session, key, key), NOD_PENDING);
        }
        break;
    case 2:
        if (session->run && storm->steps < 20) {
            snprintf(key, sizeof(key), "s%d", storm->steps++);
            assert_int_equal(live_toy_step(session, key), NOD_PENDING);
        }
        break;
    case 3:
    case 4:
        if (session->run)
            live_toy_commit(session);
        break;
    case 5:
        snprintf(key, sizeof(key), "q%d", (int)(world_random(&world) % 20));
        if (session->run)
            live_toy_take_back(session, key, "no");
        break;
    case 6:
    case 7:
    case 8:
        storm_answer();
        break;
    case 9:
        if ((*caller)->caller.call && call_waiting((*caller)->caller.call) &&
            world_random(&world) % 8 == 0) {
            call_caller_left((*caller)->caller.call); /* its prompts go with the client */
            for (size_t i = 0; i < world.shown_count; i++)
                world.shown[i].up = false;
        }
        break;
    case 10:
        if (session->run && world_random(&world) % 8 == 0) {
            live_toy_end(session, "mine");
            storm->ended = true;
        }
        break;
    default:
        if ((*caller)->caller.call && world_random(&world) % 40 == 0) {
            call_cancel((*caller)->caller.call, STR("enough"));
            storm->cancelled = true;
        }
    }
}

/* Each question is told of once at most, and never before `committed`. */
static void heard_once(const struct live_session *session, const struct storm *storm)
{
    char key[16];

    for (int i = 0; i < storm->asked; i++) {
        snprintf(key, sizeof(key), "q%d=", i);
        const char *first = strstr(session->heard, key);
        assert_true(!first || !strstr(first + 1, key));
        assert_true(!first || strstr(session->heard, "committed") < first);
    }
}

static void stored_once(const struct loaded *loaded)
{
    for (size_t i = 0; i < loaded->call.entry_count; i++)
        for (size_t j = 0; j < i; j++)
            assert_false(loaded->call.entries[i].class == loaded->call.entries[j].class &&
                         str_eq(loaded->call.entries[i].key, loaded->call.entries[j].key));
}

static void one_storm(uint64_t seed)
{
    struct storm storm = { 0 };

    timeout_ms = 600000;
    struct world_caller *caller = begin();
    timeout_ms = 500;
    world.seed = seed;
    world.fault_per_mille = seed % 3 ? 0 : 100;
    for (int i = 0; i < 120 && engine_calls(world.engine); i++) {
        storm_deed(&storm, &caller);
        some_turns();
        if (world_random(&world) % 4 == 0)
            world_advance(&world, 50);
        if (world.shown_count > WORLD_SHOWN_MAX - 8)
            break;
    }
    world.fault_per_mille = 0;
    for (int i = 0; i < 40; i++)
        world_advance(&world, 100);
    if (only()->run) { /* all that was committed and has ended was told by now */
        struct loaded *loaded = stored();
        for (size_t i = 0; i < loaded->call.entry_count; i++) {
            const struct entry *entry = &loaded->call.entries[i];
            char what[64];
            snprintf(what, sizeof(what), STR_FMT "=" STR_FMT, STR_ARG(entry->key),
                     STR_ARG(ask_state_name(entry->state)));
            if (entry->class == ENTRY_ASK)
                assert_non_null(strstr(only()->heard, what));
        }
        loaded_forget(loaded);
        live_toy_end(only(), "mine");
        for (int i = 0; i < 40; i++)
            world_advance(&world, 100);
    }
    heard_once(only(), &storm);
    assert_true(caller->finished <= 1);
    struct loaded *loaded = stored();
    assert_true(loaded->call.state == CALL_STORED_FINISHED ||
                loaded->call.state == CALL_STORED_CANCELLED);
    assert_int_equal(loaded->call.state == CALL_STORED_CANCELLED, strcmp(only()->code, "OK") != 0);
    assert_true(storm.cancelled || loaded->call.state == CALL_STORED_FINISHED);
    stored_once(loaded);
    loaded_forget(loaded);
    assert_int_equal(only()->ended, 1);
    over(only()->code);
}

static void whatever_comes_in_whatever_order_it_comes_to_one_end(void **state)
{
    const char *one = getenv("NOD_STORM_SEED");
    uint64_t most = live_soak() ? 10000 : 200;
    (void)state;

    if (one) {
        one_storm(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t i = 1; i <= most; i++) {
        uint64_t seed = i * 2654435761u % 1000003 + 1;
        print_message("NOD_STORM_SEED=%llu\n", (unsigned long long)seed);
        one_storm(seed);
    }
}

SUBJECT(live)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            it_asks_two_commits_a_step_takes_one_back_reports_and_ends_before_the_other_is_answered),
        cmocka_unit_test(it_is_told_each_answer_and_is_not_begun_again),
        cmocka_unit_test(a_further_question_is_asked_beside_one_that_waits),
        cmocka_unit_test(what_is_not_committed_is_not_asked),
        cmocka_unit_test(what_is_taken_back_before_its_commit_gives_its_room_back),
        cmocka_unit_test(the_last_question_is_taken_back_and_the_run_goes_on),
        cmocka_unit_test(a_question_that_expires_is_told_as_expired),
        cmocka_unit_test(a_key_is_asked_once_while_it_waits),
        cmocka_unit_test(from_the_oldest_that_waits_on_it_asks_at_most_a_round),
        cmocka_unit_test(questions_that_wait_count_against_the_journal),
        cmocka_unit_test(the_timeout_counts_work_and_not_waiting),
        cmocka_unit_test(a_call_that_is_cancelled_while_it_waits_drops_its_run_at_once),
        cmocka_unit_test(a_call_that_is_cancelled_while_it_saves_drops_its_run),
        cmocka_unit_test(a_call_that_another_node_ends_drops_its_run_with_the_next_write),
        cmocka_unit_test(a_provider_is_told_once_of_a_cancel_whose_reply_is_lost),
        cmocka_unit_test(an_end_that_meets_another_end_gives_way),
        cmocka_unit_test(a_park_that_the_store_refuses_for_good_ends_the_call_and_takes_all_down),
        cmocka_unit_test(it_goes_on_while_its_client_is_away_and_the_next_round_has_what_was_asked),
        cmocka_unit_test(a_client_that_brings_an_answer_is_asked_what_was_asked_meanwhile),
        cmocka_unit_test(it_ends_while_its_client_is_away_and_the_client_finds_the_end),
        cmocka_unit_test(an_answer_that_another_node_takes_is_told_at_home),
        cmocka_unit_test(a_write_that_an_answer_elsewhere_has_overtaken_is_sent_again),
        cmocka_unit_test(a_cancel_that_comes_while_a_refused_write_is_looked_into_ends_the_call),
        cmocka_unit_test(a_node_that_stops_still_tells_its_live_runs),
        cmocka_unit_test(its_end_against_an_answer_one_end_and_nothing_left_standing),
        cmocka_unit_test(a_question_taken_back_against_its_answer_one_of_them_wins),
        cmocka_unit_test(whatever_comes_in_whatever_order_it_comes_to_one_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
