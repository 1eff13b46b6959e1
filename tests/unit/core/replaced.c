/*
 * tests/unit/core/replaced: the target of a call is replaced while the call waits, and while it
 * runs. What a call is doing then, by what the next edition of its target has changed.
 *
 * An edition says its number in the result, so a test sees whose code was run. It is freed when
 * nobody holds it any more, and is counted until then.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/need.h"
#include "loaded.h"
#include "../runner.h"

static struct world world;
static struct catalog *catalog;
static int editions;  /* that are alive */
static int starts[4]; /* runs of each */

struct edition {
    struct target base; /* first */
    char name[16];
    int number;
    world_handler *handler;
};

static const struct edition *edition_of(const struct run *run)
{
    return (const struct edition *)(const void *)run->target;
}

static struct run *held; /* of a handler that takes its time */
static bool holds;

static void run_ends(struct run *run)
{
    struct str body = STR_NONE;
    nod_status status = edition_of(run)->handler(run, &body);

    if (status == NOD_OK && !body.len)
        body = arena_fmt(&run->arena, "{\"edition\":%d}", edition_of(run)->number);
    run_done(run, status, body);
}

static void edition_start(struct provider *provider, struct run *run)
{
    (void)provider;
    starts[edition_of(run)->number]++;
    if (holds)
        held = run;
    else
        run_ends(run);
}

static void edition_released(struct provider *provider, struct target *target)
{
    (void)provider;
    editions--;
    mem_free((struct edition *)(void *)target);
}

static const struct provider_ops edition_ops = { .name = "editions",
                                                 .start = edition_start,
                                                 .released = edition_released };
static struct provider provider = { .ops = &edition_ops };

static struct target *edition_new(const char *name, int number, unsigned char version,
                                  world_handler *handler)
{
    struct edition *edition = MEM_NEW(struct edition);

    editions++;
    snprintf(edition->name, sizeof(edition->name), "%s", name);
    edition->number = number;
    edition->handler = handler;
    edition->base = (struct target){ .kind = TARGET_TOOL,
                                     .name = str_of(edition->name),
                                     .title = str_of(edition->name),
                                     .provider = &provider };
    edition->base.version[0] = version;
    return &edition->base;
}

/* --- what they do --- */

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    (void)body;
    return world_ask(run, NULL, "How many?", world_ask_form, &answer);
}

static nod_status steps_and_asks(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "one", false));
    return asks(run, body);
}

static nod_status steps(struct run *run, struct str *body)
{
    (void)body;
    NOD_TRY(world_step(run, &world, "one", false));
    return world_step(run, &world, "two", false);
}

static nod_status says(struct run *run, struct str *body)
{
    (void)run;
    (void)body;
    return NOD_OK;
}

static nod_status calls(struct run *run, struct str *body)
{
    struct outcome outcome;

    NOD_TRY(run_call(run, &(struct run_call_spec){ .tool = STR("inner") }, &outcome));
    *body = arena_fmt(&run->arena, "{\"outer\":%d,\"inner\":\"%s\"}", edition_of(run)->number,
                      outcome.status == NOD_OK ? "ok" : outcome.code);
    return NOD_OK;
}

static struct need *needs_now;

static void source_fetch(struct need_source *source, struct need *need)
{
    (void)source;
    needs_now = need;
}

static void source_dropped(struct need_source *source, struct need *need)
{
    (void)source;
    (void)need;
    needs_now = NULL;
}

static struct need_source vault = { .name = "vault",
                                    .fetch = source_fetch,
                                    .dropped = source_dropped };

static nod_status needs(struct run *run, struct str *body)
{
    struct str value;

    (void)body;
    return run_need(run, &(struct need_spec){ .source = STR("vault"), .name = STR("pin") }, &value);
}

/* --- the world --- */

static void changed(void *data, const struct catalog_change *change)
{
    (void)data;
    engine_targets_changed(world.engine, change->remove_count > 0);
}

static int setup(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ 0 });
    catalog = catalog_create();
    catalog_watch(catalog, changed, NULL);
    engine_use_catalog(world.engine, catalog);
    assert_true(engine_add_need_source(world.engine, &vault));
    memset(starts, 0, sizeof(starts));
    holds = false;
    held = NULL;
    needs_now = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_use_catalog(world.engine, NULL);
    catalog_watch(catalog, NULL, NULL);
    world_finish(&world);
    while (catalog_count(catalog, TARGET_TOOL, false))
        catalog_remove(catalog, catalog_at(catalog, TARGET_TOOL, false, 0));
    catalog_destroy(catalog);
    assert_int_equal(editions, 0);
    return 0;
}

static struct target *there(const char *name)
{
    return catalog_find(catalog, TARGET_TOOL, str_of(name));
}

static void add(const char *name, world_handler *handler)
{
    assert_int_equal(catalog_add(catalog, edition_new(name, 1, 1, handler)), NOD_OK);
}

/* The next edition, in this version. */
static void replace(const char *name, unsigned char version, world_handler *handler)
{
    assert_int_equal(catalog_replace(catalog, there(name), edition_new(name, 2, version, handler)),
                     NOD_OK);
}

static struct world_caller *call(const char *name)
{
    struct world_caller *caller = world_caller_new(&world);

    engine_call(world.engine, &(struct call_spec){ .target = there(name),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    world_settle(&world);
    return caller;
}

static void turn(void)
{
    world_advance(&world, 1);
}

static void answer_up(void)
{
    struct shown *shown = world_up(&world);

    assert_non_null(shown);
    world_answer(&world, shown->id, ASK_ACCEPTED, "{\"n\":3}", "ann", shown->attempt);
}

static void ended(const struct world_caller *caller, const char *body)
{
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "");
    assert_string_equal(caller->body, body);
}

static void ended_as(const struct world_caller *caller, const char *code)
{
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, code);
    assert_int_equal(starts[2], 0); /* nothing of it ran in the new code */
}

static const char changed_code[] = OUTCOME_TARGET_CHANGED, gone_code[] = OUTCOME_TARGET_GONE;

/* --- it waits for a person --- */

static void a_held_call_goes_on_in_the_new_edition_and_lets_go_of_the_old(void **state)
{
    (void)state;
    add("tool", asks);
    struct world_caller *caller = call("tool");
    replace("tool", 1, asks);
    turn();
    assert_int_equal(editions, 1);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(caller->asked, 1);
    assert_int_equal(world.shown_count, 1); /* the same question is up */
    answer_up();
    ended(caller, "{\"edition\":2}");
    assert_int_equal(starts[1], 1);
}

static void a_held_call_of_another_version_ends_and_says_what_was_done(void **state)
{
    (void)state;
    add("tool", steps_and_asks);
    struct world_caller *caller = call("tool");
    char ask[ID_LEN + 1];
    snprintf(ask, sizeof(ask), "%s", world_up(&world)->id);
    replace("tool", 2, asks);
    turn();
    ended_as(caller, changed_code);
    assert_non_null(strstr(caller->message, "no answer was taken. Done before: 'one'."));
    assert_null(world_up(&world)); /* withdrawn */
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":3}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    turn();
    assert_int_equal(editions, 1);
}

/* The catalog has changed in this turn, and nobody has looked at the calls. */
static void an_answer_in_the_same_turn_meets_the_new_edition(void **state)
{
    (void)state;
    add("tool", asks);
    struct world_caller *same = call("tool");
    replace("tool", 1, asks);
    answer_up();
    ended(same, "{\"edition\":2}");
    turn();
    assert_int_equal(editions, 1);

    starts[2] = 0;
    struct world_caller *other = call("tool");
    starts[2] = 0;
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 9, asks)),
                     NOD_OK);
    answer_up();
    assert_int_equal(world.last.status, NOD_E_STALE); /* it is not taken */
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    ended_as(other, changed_code);
    assert_int_equal(starts[3], 0);
    turn();
    assert_int_equal(editions, 1);
}

static void a_removal_and_an_addition_in_one_turn_are_a_replacement(void **state)
{
    (void)state;
    add("tool", asks);
    struct world_caller *same = call("tool");
    catalog_remove(catalog, there("tool"));
    assert_int_equal(catalog_add(catalog, edition_new("tool", 2, 1, asks)), NOD_OK);
    turn();
    answer_up();
    ended(same, "{\"edition\":2}");
    assert_int_equal(editions, 1);

    struct world_caller *gone = call("tool");
    catalog_remove(catalog, there("tool"));
    turn();
    assert_int_equal(gone->finished, 1);
    assert_string_equal(gone->code, gone_code);
    assert_int_equal(editions, 0);
}

static void a_call_of_two_editions_ago_goes_on_in_the_newest(void **state)
{
    (void)state;
    add("tool", asks);
    struct world_caller *caller = call("tool");
    replace("tool", 2, asks); /* another version, and back, before anybody has looked */
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 1, asks)),
                     NOD_OK);
    turn();
    assert_int_equal(editions, 1);
    answer_up();
    ended(caller, "{\"edition\":3}");
    assert_int_equal(starts[2], 0);
}

static void somebody_elses_target_of_that_name_replaces_nothing(void **state)
{
    (void)state;
    struct target *anns = edition_new("tool", 1, 1, asks);
    anns->owner = STR("ann");
    assert_int_equal(catalog_add(catalog, anns), NOD_OK);
    struct world_caller *caller = world_caller_new(&world);
    engine_call(world.engine, &(struct call_spec){ .target = anns,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s"),
                                                   .caller = &caller->caller });
    world_settle(&world);
    catalog_remove(catalog, anns);
    assert_int_equal(catalog_add(catalog, edition_new("tool", 2, 1, asks)), NOD_OK);
    answer_up(); /* before anybody has looked: it is not taken */
    ended_as(caller, gone_code);
    turn();
    assert_int_equal(editions, 1);
}

/* --- it rests, or is only in the store --- */

static struct world_caller *leaves(const char *name)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = there(name),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    world_settle(&world);
    return caller;
}

static char call_name[ID_LEN + 1];

static void note_call(struct world_caller *caller, struct call *call)
{
    (void)caller;
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(call)));
}

static struct loaded loaded;

static void load(void)
{
    arena_finish(&loaded.arena);
    memset(&loaded, 0, sizeof(loaded));
    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    assert_int_equal(loaded.status, NOD_OK);
}

static void stored(enum call_state as, const char *part)
{
    load();
    assert_int_equal(loaded.call.state, as);
    assert_true(str_find(loaded.call.result, str_of(part)) >= 0);
    arena_finish(&loaded.arena);
    memset(&loaded, 0, sizeof(loaded));
}

static void answer_second(enum ask_state action)
{
    world_answer_by(
        &world, world.second_shown[world.second_count - 1].id,
        &(struct answer){
            .action = action, .by = STR("ann"), .roles = ROLE_ANSWER, .surface = &world.second });
}

static void a_resting_call_goes_over_or_ends_where_it_rests(void **state)
{
    (void)state;
    world.can = 0;
    world.second_can = 1u << ASK_FORM; /* it is up elsewhere: the call rests here */
    world.on_asked = note_call;
    add("tool", asks);
    leaves("tool");
    assert_int_equal(world.second_count, 1);
    replace("tool", 1, asks);
    turn();
    assert_int_equal(editions, 1);
    assert_true(world.second_shown[0].up);
    answer_second(ASK_DECLINED);
    stored(CALL_STORED_FINISHED, "{\"edition\":2}");

    leaves("tool");
    starts[2] = 0;
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 2, asks)),
                     NOD_OK);
    turn();
    assert_int_equal(editions, 1);
    assert_false(world.second_shown[1].up);
    stored(CALL_STORED_CANCELLED, changed_code);

    leaves("tool");
    catalog_remove(catalog, there("tool"));
    turn();
    assert_int_equal(editions, 0);
    stored(CALL_STORED_CANCELLED, gone_code);
}

/* As with a client that carries its questions away, and nobody else is asked. */
static void a_call_that_is_only_in_the_store_meets_what_is_there(void **state)
{
    (void)state;
    world.on_asked = note_call;
    add("tool", asks);
    leaves("tool");
    replace("tool", 1, asks);
    turn();
    assert_int_equal(editions, 1);
    load();
    struct world_caller *back = world_caller_new(&world);
    struct adopt_spec spec = { .record = &loaded.call,
                               .target = there("tool"),
                               .asks = loaded.asks,
                               .ask_count = loaded.ask_count,
                               .caller = &back->caller };
    assert_true(engine_adopt(world.engine, &spec));
    world_settle(&world);
    answer_up();
    ended(back, "{\"edition\":2}");

    leaves("tool");
    load();
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 2, asks)),
                     NOD_OK);
    turn();
    world_answer(&world, (char *)(uintptr_t)loaded.asks[0].id.at, ASK_ACCEPTED, "{\"n\":3}", "ann",
                 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    stored(CALL_STORED_CANCELLED, changed_code);

    leaves("tool");
    load();
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 2, 1, asks)),
                     NOD_OK);
    back = world_caller_new(&world);
    spec = (struct adopt_spec){ .record = &loaded.call,
                                .target = there("tool"),
                                .asks = loaded.asks,
                                .ask_count = loaded.ask_count,
                                .caller = &back->caller };
    starts[2] = 0;
    assert_true(engine_adopt(world.engine, &spec));
    world_settle(&world);
    ended_as(back, changed_code);
    stored(CALL_STORED_CANCELLED, changed_code);
}

/* --- it waits for something else --- */

static void a_call_that_waits_for_a_value_goes_over(void **state)
{
    (void)state;
    add("tool", needs);
    struct world_caller *caller = call("tool");
    assert_non_null(needs_now);
    replace("tool", 1, needs);
    turn();
    assert_int_equal(editions, 1);
    assert_true(str_eq(needs_now->tool, STR("tool")));
    need_done(needs_now, NOD_OK, STR("1234"), STR_NONE);
    turn();
    ended(caller, "{\"edition\":2}");

    caller = call("tool");
    starts[2] = 0;
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 2, needs)),
                     NOD_OK);
    turn();
    assert_int_equal(editions, 1);
    need_done(needs_now, NOD_OK, STR("1234"), STR_NONE);
    turn();
    ended_as(caller, changed_code);
    assert_int_equal(starts[3], 0);

    caller = call("tool");
    catalog_remove(catalog, there("tool"));
    need_done(needs_now, NOD_OK, STR("1234"), STR_NONE);
    turn();
    ended_as(caller, gone_code);
    turn();
    assert_int_equal(editions, 0);
}

static void a_call_that_waits_at_its_gate_goes_over(void **state)
{
    (void)state;
    add("tool", says);
    there("tool")->requires_confirmation = true;
    struct world_caller *caller = call("tool");
    assert_int_equal(starts[1], 0);
    struct target *newer = edition_new("tool", 2, 1, says);
    newer->requires_confirmation = true;
    assert_int_equal(catalog_replace(catalog, there("tool"), newer), NOD_OK);
    turn();
    assert_int_equal(editions, 1);
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{}", "ann", 0);
    ended(caller, "{\"edition\":2}");
    assert_int_equal(world.shown_count, 1); /* it was confirmed once */

    caller = call("tool");
    starts[2] = 0;
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 2, says)),
                     NOD_OK);
    turn();
    ended_as(caller, changed_code);
    assert_false(world.shown[world.shown_count - 1].up);
}

/* A restart would ask as well. */
static void an_edition_that_wants_a_confirmation_gets_it_before_it_runs(void **state)
{
    (void)state;
    add("tool", asks);
    struct world_caller *caller = call("tool");
    struct target *newer = edition_new("tool", 2, 1, asks);
    newer->requires_confirmation = true;
    assert_int_equal(catalog_replace(catalog, there("tool"), newer), NOD_OK);
    turn();
    answer_up();
    assert_int_equal(caller->finished, 0);
    assert_int_equal(starts[2], 0);
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{}", "ann", 0);
    ended(caller, "{\"edition\":2}");
}

static void a_call_that_waits_for_a_call_goes_over_and_so_does_that_one(void **state)
{
    (void)state;
    add("outer", calls);
    add("inner", asks);
    struct world_caller *caller = call("outer");
    assert_non_null(world_up(&world));
    replace("outer", 1, calls);
    replace("inner", 1, asks);
    turn();
    assert_int_equal(editions, 2);
    answer_up();
    turn();
    ended(caller, "{\"outer\":2,\"inner\":\"ok\"}");

    caller = call("outer"); /* its end is what the outer one is told */
    assert_int_equal(catalog_replace(catalog, there("inner"), edition_new("inner", 3, 2, asks)),
                     NOD_OK);
    turn();
    turn();
    ended(caller, "{\"outer\":2,\"inner\":\"TOOL_CHANGED\"}");
    assert_int_equal(starts[3], 0);

    caller = call("outer");
    starts[2] = 0;
    assert_int_equal(catalog_replace(catalog, there("outer"), edition_new("outer", 1, 2, calls)),
                     NOD_OK);
    turn();
    ended_as(caller, changed_code);
    world_advance(&world, 60000);
    assert_false(world.shown[world.shown_count - 1].up); /* nobody waits for the inner one */
    assert_int_equal(editions, 2);
}

/* --- it runs --- */

static void a_run_under_way_ends_in_the_old_code_and_its_end_counts(void **state)
{
    (void)state;
    holds = true;
    add("tool", says);
    struct world_caller *caller = call("tool");
    replace("tool", 2, says);
    turn();
    assert_int_equal(editions, 2);
    run_ends(held);
    world_settle(&world);
    ended(caller, "{\"edition\":1}");
    turn();
    assert_int_equal(editions, 1);
}

static void a_run_that_asks_after_it_was_replaced_waits_for_the_new_edition(void **state)
{
    (void)state;
    holds = true;
    add("tool", asks);
    struct world_caller *caller = call("tool");
    replace("tool", 1, asks);
    turn();
    run_ends(held);
    world_settle(&world);
    assert_non_null(world_up(&world));
    turn();
    assert_int_equal(editions, 1);
    holds = false;
    answer_up();
    ended(caller, "{\"edition\":2}");
}

static void a_run_that_asks_after_another_version_has_come_asks_nobody(void **state)
{
    (void)state;
    holds = true;
    add("tool", steps_and_asks);
    struct world_caller *caller = call("tool");
    run_ends(held); /* the step */
    world_settle(&world);
    replace("tool", 2, asks);
    turn();
    run_ends(held); /* the question */
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(caller->asked, 0);
    ended_as(caller, changed_code);
    assert_non_null(strstr(caller->message, "Done before: 'one'."));
    turn();
    assert_int_equal(editions, 1);

    caller = call("tool");
    catalog_remove(catalog, there("tool"));
    turn();
    run_ends(held);
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, gone_code);
    assert_int_equal(world.shown_count, 0);
    turn();
    assert_int_equal(editions, 0);
}

static void a_step_under_way_is_stored_before_it_is_decided_how_the_call_goes_on(void **state)
{
    (void)state;
    holds = true;
    add("tool", steps);
    struct world_caller *caller = call("tool");
    replace("tool", 1, steps);
    holds = false;
    run_ends(held); /* does the first step; the second is the new edition's */
    world_settle(&world);
    ended(caller, "{\"edition\":2}");
    assert_int_equal(world.steps_done, 2);
    assert_int_equal(starts[1], 1);
    turn();
    assert_int_equal(editions, 1);

    holds = true;
    caller = call("tool");
    starts[2] = 0;
    assert_int_equal(catalog_replace(catalog, there("tool"), edition_new("tool", 3, 2, steps)),
                     NOD_OK);
    holds = false;
    run_ends(held);
    world_settle(&world);
    ended_as(caller, changed_code);
    assert_non_null(strstr(caller->message, "Done before: 'one'."));
    assert_int_equal(world.steps_done, 3);
    assert_int_equal(starts[3], 0);

    holds = true;
    caller = call("tool");
    catalog_remove(catalog, there("tool"));
    holds = false;
    run_ends(held);
    world_settle(&world);
    ended_as(caller, gone_code);
    assert_int_equal(world.steps_done, 4);
    turn();
    assert_int_equal(editions, 0);
}

/* --- hooks --- */

static struct nod_hook_run *pending;

static nod_status pends(struct nod_hook_run *hook, void *data)
{
    (void)data;
    pending = hook;
    return NOD_PENDING;
}

/* While hooks of an answer think, the target of its call is replaced. */
static void an_answer_that_hooks_look_at_is_not_taken_if_nobody_can_use_it(void **state)
{
    (void)state;
    add("tool", asks);
    world_hook(&world, NOD_FLOW_ANSWER, "publishResult", NOD_WILL, pends, NULL);
    struct world_caller *caller = call("tool");
    answer_up();
    assert_non_null(pending);
    replace("tool", 2, asks);
    hook_done(pending, NOD_OK);
    world_settle(&world);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    ended_as(caller, changed_code);
}

static const char old_owner, new_owner;
static int hooks_released;
static char trace[64];

static void hook_is_released(void *data)
{
    (void)data;
    hooks_released++;
}

static nod_status goes_in(struct nod_hook_run *hook, void *data)
{
    strncat(trace, data, sizeof(trace) - strlen(trace) - 1);
    return hook_next(hook, NULL, NULL);
}

static void hook_staged(const void *owner, const char *name, bool staged)
{
    assert_int_equal(hooks_add(engine_hooks(world.engine),
                               &(struct hook_spec){ .owner = owner,
                                                    .table = engine_flow(NOD_FLOW_CALL),
                                                    .stage = "start",
                                                    .kind = NOD_AROUND,
                                                    .name = str_of("around"),
                                                    .staged = staged,
                                                    .leaves = true,
                                                    .fn = goes_in,
                                                    .released = hook_is_released,
                                                    .data = (void *)name }),
                     NOD_OK);
}

/* A call that waits inside of a hook does not keep the code of that hook. */
static void a_hook_around_a_call_that_waits_is_let_go_of(void **state)
{
    struct hooks_taken taken;

    (void)state;
    trace[0] = '\0';
    hooks_released = 0;
    add("tool", asks);
    hook_staged(&old_owner, "old ", false);
    struct world_caller *caller = call("tool");
    hook_staged(&new_owner, "new ", true);
    struct hooks *hooks = engine_hooks(world.engine);
    const struct hooks_change change = { &new_owner, &old_owner };
    assert_true(hooks_fit(hooks, &change, 1, &taken));
    hooks_switch(hooks, &change, 1);
    turn();
    assert_int_equal(hooks_released, 1);
    answer_up();
    ended(caller, "{\"edition\":1}");
    assert_string_equal(trace, "old new ");

    holds = true; /* it waits only after the hook was removed */
    caller = call("tool");
    assert_int_equal(hooks_remove_all(hooks, &new_owner), 1);
    turn();
    assert_int_equal(hooks_released, 1);
    run_ends(held);
    world_settle(&world);
    turn();
    assert_int_equal(hooks_released, 2);
    holds = false;
    answer_up();
    ended(caller, "{\"edition\":1}");
}

SUBJECT(replaced)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_held_call_goes_on_in_the_new_edition_and_lets_go_of_the_old),
        TEST(a_held_call_of_another_version_ends_and_says_what_was_done),
        TEST(an_answer_in_the_same_turn_meets_the_new_edition),
        TEST(a_removal_and_an_addition_in_one_turn_are_a_replacement),
        TEST(a_call_of_two_editions_ago_goes_on_in_the_newest),
        TEST(somebody_elses_target_of_that_name_replaces_nothing),
        TEST(a_resting_call_goes_over_or_ends_where_it_rests),
        TEST(a_call_that_is_only_in_the_store_meets_what_is_there),
        TEST(a_call_that_waits_for_a_value_goes_over),
        TEST(a_call_that_waits_at_its_gate_goes_over),
        TEST(an_edition_that_wants_a_confirmation_gets_it_before_it_runs),
        TEST(a_call_that_waits_for_a_call_goes_over_and_so_does_that_one),
        TEST(a_run_under_way_ends_in_the_old_code_and_its_end_counts),
        TEST(a_run_that_asks_after_it_was_replaced_waits_for_the_new_edition),
        TEST(a_run_that_asks_after_another_version_has_come_asks_nobody),
        TEST(a_step_under_way_is_stored_before_it_is_decided_how_the_call_goes_on),
        TEST(an_answer_that_hooks_look_at_is_not_taken_if_nobody_can_use_it),
        TEST(a_hook_around_a_call_that_waits_is_let_go_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
