/*
 * tests/unit/core/chaos: ten thousand interleavings, or as many as fit into some seconds, from a
 * random seed that is printed; a hundred thousand with NOD_SOAK=1. NOD_CHAOS_SEED=n repeats one of
 * them, NOD_CHAOS_BASE=n all from there on.
 *
 * Each is a small world: one to three calls that ask one question after the other, ask two at once,
 * and have effects. Against them: answers (right, wrong, repeated, foreign), timeouts, cancels,
 * callers that leave and come back, clients that drop a prompt, blocking handlers, and a store
 * whose completions come late, in any order, or not at all. Then the faults stop, time passes, and
 * everything must have ended: each call finished once, each ask left pending once, each effect
 * journalled once, nothing stranded.
 */
#include "loaded.h"

#include "base/log.h"
#include "../runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASKS_MAX = 64, ACTIONS = 24, SAMPLE_SECONDS = 10 };

static struct world world;

static struct fate { /* what the store said of an ask */
    char id[ID_LEN + 1];
    char winner[ID_LEN + 1]; /* the token of the claim that won */
    enum ask_state state;
    int told_ok; /* answerers who were told that theirs counts */
} fates[ASKS_MAX];
static size_t fate_count;

static struct {
    char call[ID_LEN + 1];
    int effects;
} effects[WORLD_CALLS_MAX * 2];
static size_t effect_count;

static struct fate *fate_of(struct str id)
{
    for (size_t i = 0; i < fate_count; i++)
        if (str_eq(str_of(fates[i].id), id))
            return &fates[i];
    assert_true(fate_count < ASKS_MAX && id.len == ID_LEN);
    memset(&fates[fate_count], 0, sizeof(fates[0]));
    memcpy(fates[fate_count].id, id.at, ID_LEN);
    return &fates[fate_count++];
}

static int *effects_of(struct str call)
{
    for (size_t i = 0; i < effect_count; i++)
        if (str_eq(str_of(effects[i].call), call))
            return &effects[i].effects;
    memset(&effects[effect_count], 0, sizeof(effects[0]));
    memcpy(effects[effect_count].call, call.at, ID_LEN);
    return &effects[effect_count++].effects;
}

/* --- a spy between the engine and the store --- */

struct spied {
    store_done *done;
    void *data;
    char token[ID_LEN + 1];
};

static struct store_ops spied_ops;
static void (*real_claim)(struct store *, const struct claim_spec *, store_done *, void *);

static void claim_seen(void *data, nod_status status, const struct store_reply *reply)
{
    struct spied *spied = data;

    if (status == NOD_OK && reply->ask->state != ASK_PENDING) { /* else it was put up again */
        struct fate *fate = fate_of(reply->ask->id);
        if (fate->state != ASK_PENDING)
            assert_int_equal(fate->state, reply->ask->state); /* it never changes again */
        fate->state = reply->ask->state;
        if (reply->won && fate->winner[0])
            assert_string_equal(fate->winner, spied->token); /* exactly once */
        if (reply->won)
            memcpy(fate->winner, spied->token, sizeof(fate->winner));
    }
    spied->done(spied->data, status, reply);
    free(spied);
}

static void claim_spied(struct store *store, const struct claim_spec *claim, store_done *done,
                        void *data)
{
    struct spied *spied = calloc(1, sizeof(*spied));

    spied->done = done;
    spied->data = data;
    memcpy(spied->token, claim->token.at, ID_LEN);
    real_claim(store, claim, claim_seen, spied);
}

/* --- handlers --- */

static void journal_is_sound(const struct run *run)
{
    for (size_t i = 0; i < run->journal_count; i++)
        for (size_t j = 0; j < i; j++)
            assert_false(run->journal[i].class == run->journal[j].class &&
                         str_eq(run->journal[i].key, run->journal[j].key));
    for (size_t i = 0; i < run->journal_count; i++) {
        if (run->journal[i].class != ENTRY_ASK)
            continue;
        struct fate *fate = fate_of(run->journal[i].ask_id);
        if (fate->state == ASK_PENDING) /* its own claim's reply is still on its way, or lost */
            fate->state = run->journal[i].state;
        assert_int_equal(fate->state, run->journal[i].state);
    }
}

static nod_status effect(struct run *run, const char *key, bool at_most_once)
{
    int before = world.steps_done;
    nod_status status = world_step(run, &world, key, at_most_once);

    *effects_of(run->call_id) += (world.steps_done - before);
    return status;
}

static nod_status passes(nod_status status)
{
    return status == NOD_E_TIMEOUT || status == NOD_E_INVALID || status == NOD_E_NOT_SUPPORTED
               ? NOD_OK
               : status;
}

static nod_status works(struct run *run, struct str *body)
{
    const struct entry *a, *b, *c;
    int64_t now;

    journal_is_sound(run);
    NOD_TRY(run_now(run, &now));
    NOD_TRY(passes(world_ask(run, "a", "A?", world_ask_form, &a)));
    NOD_TRY(effect(run, "one", false));
    nod_status first = world_ask(run, "b", "B?", world_ask_form, &b);
    nod_status second = world_ask(run, "c", "C?", NULL, &c);
    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    NOD_TRY(passes(first));
    NOD_TRY(passes(second));
    NOD_TRY(effect(run, "two", true));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

/* --- what happens to them --- */

static int untold; /* answerers who have not heard yet */

struct told {
    char id[ID_LEN + 1];
};

static void was_told(void *data, const struct answer_result *result)
{
    struct told *told = data;

    if (result->status == NOD_OK && !result->pending)
        assert_int_equal(++fate_of(str_of(told->id))->told_ok, 1);
    untold--;
    free(told);
}

static void answer_something(void)
{
    static const enum ask_state actions[] = { ASK_ACCEPTED, ASK_ACCEPTED, ASK_DECLINED,
                                              ASK_CANCELLED };
    static const struct remember_choice always = { .scope = GRANT_PRINCIPAL, .match = GRANT_TOOL };
    static const char *const contents[] = { "{\"n\":1}", "{\"n\":2}", "{\"n\":\"bad\"}", "[]" };
    struct arena arena;
    struct json_error error;

    if (world.shown_count == 0)
        return;
    const struct shown *shown = &world.shown[world_random(&world) % world.shown_count];
    struct told *told = calloc(1, sizeof(*told));
    memcpy(told->id, shown->id, sizeof(told->id));
    arena_init(&arena, 1 << 16);
    bool listens = world_random(&world) % 4 != 0;
    /* Confirmations are sometimes given elsewhere, to be remembered: other calls then pass. */
    bool keeps =
        world.target.remember && strcmp(shown->key, "nod.gate") == 0 && world_random(&world) % 2;
    untold += listens;
    ask_answer(
        world.engine, str_of(shown->id),
        &(struct answer){
            .action = actions[world_random(&world) % 4],
            .content = json_parse(&arena, str_of(contents[world_random(&world) % 4]), NULL, &error),
            .by = world_random(&world) % 8 ? STR("ann") : STR("bob"),
            .surface = keeps ? &world.second : &world.surface,
            .roles = keeps ? ROLE_ANSWER : ROLES_NONE,
            .remember = keeps ? &always : NULL,
            .attempt = shown->attempt },
        listens ? was_told : NULL, told);
    if (!listens)
        free(told);
    arena_finish(&arena);
}

static void drop_a_prompt(void)
{
    struct ask *ask;

    if (world.shown_count == 0)
        return;
    ask =
        engine_ask(world.engine, str_of(world.shown[world_random(&world) % world.shown_count].id));
    if (ask)
        ask_offered(ask, &world.surface, OFFER_REFUSED);
}

static void end_the_held_run(void)
{
    struct run *run = world.held;
    struct str body = STR_NONE;

    if (!run)
        return;
    world.held = NULL;
    /* A detached run may still finish its work: what it returns is dropped. */
    if (!run->call) {
        run_done(run, NOD_E_FAILED, STR_NONE);
        return;
    }
    nod_status status = works(run, &body);
    run_done(run, status, body);
}

static void cancel_a_call(void)
{
    struct world_caller *caller = &world.callers[world_random(&world) % world.caller_count];

    if (caller->caller.call)
        call_cancel(caller->caller.call, STR("enough"));
}

/* --- callers that go, and come back --- */

static struct journey {
    char call[ID_LEN + 1];
    struct loaded loaded;
    bool away;
    bool looking;
} journeys[WORLD_CALLS_MAX];

static void go_away(size_t i)
{
    struct world_caller *caller = &world.callers[i];
    struct journey *journey = &journeys[i];

    if (!caller->caller.call)
        return;
    snprintf(journey->call, sizeof(journey->call), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    call_caller_left(caller->caller.call);
    assert_null(caller->caller.call);
    journey->away = true;
}

/* Looks at the store, then adopts with what it saw, which may be old by now. */
static void come_back(size_t i)
{
    struct world_caller *caller = &world.callers[i];
    struct journey *journey = &journeys[i];
    struct loaded *loaded = &journey->loaded;

    if (!journey->away || loaded->on_their_way)
        return;
    if (!journey->looking) {
        journey->looking = true;
        loaded_begin(loaded, world.store, str_of(journey->call));
        return;
    }
    journey->looking = false;
    bool unknown = loaded->status == NOD_E_NOT_FOUND; /* it was never stored: cancelled */
    bool over = !unknown && (loaded->call.state == CALL_STORED_FINISHED ||
                             loaded->call.state == CALL_STORED_CANCELLED);
    if (unknown && engine_find(world.engine, str_of(journey->call)))
        return; /* not yet */
    if (unknown || over) {
        journey->away = false;
        caller->finished++; /* it has what it came for */
        caller->status =
            over && loaded->call.state == CALL_STORED_FINISHED ? NOD_OK : NOD_E_CANCELLED;
        return;
    }
    journey->away = !loaded_adopt(loaded, &world, caller, false);
}

static void travel(void)
{
    size_t i = world_random(&world) % world.caller_count;

    if (journeys[i].away)
        come_back(i);
    else if (world_random(&world) % 2)
        go_away(i);
}

static void everybody_comes_back(void)
{
    for (size_t i = 0; i < world.caller_count; i++)
        come_back(i);
}

static bool somebody_is_away(void)
{
    for (size_t i = 0; i < world.caller_count; i++)
        if (journeys[i].away)
            return true;
    return false;
}

static bool travels;    /* in this interleaving */
static uint64_t passed; /* questions that grants answered, in all */

static void something_happens(void)
{
    switch (world_random(&world) % (travels ? 15 : 12)) {
    case 0:
    case 1:
    case 2:
        answer_something();
        break;
    case 3:
        fake_clock_advance(&world.clock, (int64_t)(world_random(&world) % 1500));
        engine_tick(world.engine);
        break;
    case 4:
        if (world_random(&world) % 3 == 0)
            cancel_a_call();
        break;
    case 5:
        if (world_random(&world) % 3 == 0)
            drop_a_prompt();
        break;
    case 6:
        end_the_held_run();
        break;
    case 12:
    case 13:
    case 14:
        travel();
        break;
    default:
        for (uint64_t turns = world_random(&world) % 6; turns > 0; turns--)
            world_turn(&world);
    }
}

static void come_to_an_end(void)
{
    world.fault_per_mille = 0;
    for (int i = 0; i < 200 && (engine_calls(world.engine) || world.queued || untold > 0 ||
                                somebody_is_away());
         i++) {
        end_the_held_run();
        world_settle(&world);
        everybody_comes_back();
        world_settle(&world);
        fake_clock_advance(&world.clock, 3000);
        engine_tick(world.engine);
    }
}

static void one_interleaving(uint64_t seed)
{
    static const char *const both[] = { "client", "second", NULL };
    struct str unknown;
    uint64_t spread = seed * 0x9E3779B97F4A7C15u | 1;

    fate_count = effect_count = 0;
    for (size_t i = 0; i < WORLD_CALLS_MAX; i++) {
        loaded_forget(&journeys[i].loaded);
        journeys[i].away = journeys[i].looking = false;
    }
    travels = (spread >> 30 & 3) == 0;
    world_init(&world, &(struct world_opts){ .handler = works,
                                             .ttl_ms = 4000,
                                             .surface_attempts = 1 + (int)(spread >> 60) % 2,
                                             .one_ask_per_scope = (spread >> 55 & 7) == 0,
                                             .requires_confirmation = (spread >> 50 & 7) == 0,
                                             .seed = spread,
                                             .fault_per_mille = (spread >> 45 & 3) ? 150 : 0 });
    assert_true(engine_use_surfaces(world.engine, both, &unknown));
    if (world.opts.requires_confirmation)
        world.target.remember = NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TOOL;
    spied_ops = *world.store->ops;
    real_claim = spied_ops.claim;
    spied_ops.claim = claim_spied;
    world.store->ops = &spied_ops;
    world.blocking = (spread >> 40 & 7) == 0;

    size_t calls = world.blocking ? 1 : 1 + (spread >> 35) % 3;
    for (size_t i = 0; i < calls; i++)
        world_call(&world, "ann", "scope");
    for (int i = 0; i < ACTIONS; i++) {
        if (i == ACTIONS / 2 && world.target.remember && !world.blocking) {
            world_call(&world, "ann", "scope"); /* which may pass by then */
            calls++;
        }
        something_happens();
    }
    come_to_an_end();

    assert_int_equal(engine_calls(world.engine), 0); /* nothing is stranded */
    assert_int_equal(engine_pending(world.engine), 0);
    assert_int_equal(untold, 0); /* every answerer hears how it ended */
    for (size_t i = 0; i < calls; i++)
        assert_int_equal(world.callers[i].finished, 1);
    for (size_t i = 0; i < effect_count; i++)
        assert_in_range(effects[i].effects, 0, 2); /* "one" and "two", at most once each */
    assert_null(world_up(&world) && engine_ask(world.engine, str_of(world_up(&world)->id))
                    ? (void *)1
                    : NULL);
    passed += engine_counts(world.engine)->grants_used;
    world_finish(&world);
    for (size_t i = 0; i < WORLD_CALLS_MAX; i++)
        loaded_forget(&journeys[i].loaded);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t playing; /* the seed of the interleaving that is being tried */

static void every_interleaving_comes_to_its_right_end(void **state)
{
    bool soak = number_from("NOD_SOAK", 0) != 0;
    uint64_t rounds = number_from("NOD_CHAOS_ROUNDS", soak ? 100000 : 10000);
    size_t ended_ok = 0, timeouts = 0, cancelled = 0, other = 0;
    passed = 0;
    uint64_t thrown;

    (void)state;
    playing = number_from("NOD_CHAOS_SEED", 0);
    if (playing) {
        one_interleaving(playing);
        return;
    }
    random_bytes(&thrown, sizeof(thrown));
    uint64_t base = number_from("NOD_CHAOS_BASE", thrown % 1000000000 + 1);
    printf("seeds from %llu on (NOD_CHAOS_BASE=%llu repeats them)\n", (unsigned long long)base,
           (unsigned long long)base);
    int64_t until = soak || getenv("NOD_CHAOS_ROUNDS")
                        ? INT64_MAX
                        : clock_mono(clock_system()) + SAMPLE_SECONDS * 1000;
    for (playing = base; playing < base + rounds && clock_mono(clock_system()) < until; playing++) {
        one_interleaving(playing);
        for (size_t c = 0; c < world.caller_count; c++) {
            nod_status status = world.callers[c].status;
            ended_ok += status == NOD_OK;
            timeouts += status == NOD_E_TIMEOUT;
            cancelled += status == NOD_E_CANCELLED;
            other += status != NOD_OK && status != NOD_E_TIMEOUT && status != NOD_E_CANCELLED;
        }
    }
    printf("%llu interleavings: %zu calls ended well, %zu timed out, %zu cancelled, %zu "
           "otherwise\n",
           (unsigned long long)(playing - base), ended_ok, timeouts, cancelled, other);
    printf("%llu questions were answered by grants\n", (unsigned long long)passed);
    assert_true(passed > 0 || playing - base < 1000);        /* one in a hundred has some */
    assert_true(ended_ok > 0 && cancelled > 0 && other > 0); /* the dice reach every kind of end */
}

SUBJECT(chaos)
{
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR });
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_interleaving_comes_to_its_right_end),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        fprintf(stderr, "NOD_CHAOS_SEED=%llu repeats it\n", (unsigned long long)playing);
    return failed;
}
