/*
 * tests/unit/core/targets: targets come, go and are replaced while calls of them wait, and two
 * people have targets of the same name.
 */
#include "world.h"

#include "base/mem.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

enum { MANY_CALLS = 1000, MANY_TARGETS = 10000, REPLACED = 1000 };

static struct world world;
static struct catalog *catalog;
static int apps;    /* that are alive */
static int changes; /* that the catalog has told */

/* --- a provider whose targets say whose they are, and which number they have --- */

struct app {
    struct target base; /* first */
    char name[24], owner[24];
    int number;
    int calls; /* that have run to their end */
};

static const struct app *app_of(const struct target *target)
{
    return (const struct app *)(const void *)target;
}

static void app_start(struct provider *provider, struct run *run)
{
    struct app *app = (struct app *)(void *)(uintptr_t)run->target;
    const struct entry *answer;
    nod_status status = world_ask(run, NULL, "Go on?", world_ask_form, &answer);

    (void)provider;
    app->calls += status == NOD_OK;
    run_done(run, status,
             status == NOD_OK ? arena_fmt(&run->arena, "{\"owner\":\"%s\",\"number\":%d}",
                                          app->owner, app->number)
                              : STR_NONE);
}

static void app_released(struct provider *provider, struct target *target)
{
    (void)provider;
    apps--;
    mem_free((struct app *)(void *)target);
}

static const struct provider_ops app_ops = { .name = "apps",
                                             .start = app_start,
                                             .released = app_released };
static struct provider app_provider = { .ops = &app_ops };

static struct target *app_new(const char *owner, const char *name, int number)
{
    struct app *app = MEM_NEW(struct app);

    apps++;
    snprintf(app->name, sizeof(app->name), "%s", name);
    snprintf(app->owner, sizeof(app->owner), "%s", owner);
    app->number = number;
    app->base = (struct target){ .kind = TARGET_TOOL,
                                 .name = str_of(app->name),
                                 .owner = str_of(app->owner),
                                 .provider = &app_provider };
    app->base.version[0] = 1; /* the same in all of them: none has another schema */
    return &app->base;
}

static struct target *app_add(const char *owner, const char *name, int number)
{
    struct target *app = app_new(owner, name, number);

    assert_int_equal(catalog_add(catalog, app), NOD_OK);
    return app;
}

static struct target *given(const char *principal, const char *name)
{
    return catalog_for(catalog, str_of(principal), TARGET_TOOL, str_of(name));
}

/* --- the world --- */

static void changed(void *data, const struct catalog_change *change)
{
    (void)data;
    changes++;
    for (size_t i = 0; i < change->remove_count; i++)
        assert_true(change->remove[i]->removed); /* and still there */
    engine_targets_changed(world.engine, change->remove_count > 0);
}

static int setup(void **state)
{
    (void)state;
    world_init(&world,
               &(struct world_opts){ .limits = { .pending_asks_per_principal = 2 * MANY_CALLS,
                                                 .calls = 4 * MANY_CALLS } });
    world.can = 0; /* everything is asked on the second surface, which has no end */
    world.second_can = 1u << ASK_FORM;
    catalog = catalog_create();
    catalog_watch(catalog, changed, NULL);
    engine_use_catalog(world.engine, catalog);
    changes = 0;
    return 0;
}

static void all_leave(void)
{
    size_t count = catalog_count(catalog, TARGET_TOOL, false);
    struct target **all = mem_zalloc((count + 1) * sizeof(*all));

    for (size_t i = 0; i < count; i++)
        all[i] = catalog_at(catalog, TARGET_TOOL, false, i);
    catalog_watch(catalog, NULL, NULL);
    catalog_change(catalog, &(struct catalog_change){ .remove = all, .remove_count = count }, NULL);
    mem_free(all);
    assert_int_equal(catalog_count(catalog, TARGET_TOOL, false), 0);
}

static int teardown(void **state)
{
    (void)state;
    engine_use_catalog(world.engine, NULL);
    world_finish(&world);
    all_leave();
    catalog_destroy(catalog);
    assert_int_equal(apps, 0);
    return 0;
}

/* --- whose --- */

static void two_people_each_have_a_target_of_the_same_name(void **state)
{
    (void)state;
    struct target *anns = app_add("ann", "notes", 1), *bobs = app_add("bob", "notes", 2);
    struct target *again = app_new("ann", "notes", 3);

    assert_ptr_equal(given("ann", "notes"), anns);
    assert_ptr_equal(given("bob", "notes"), bobs);
    assert_null(given("eve", "notes"));
    assert_null(given("", "notes"));
    assert_null(catalog_find(catalog, TARGET_TOOL, STR("notes")));
    assert_true(catalog_is_for(catalog, anns, STR("ann")));
    assert_false(catalog_is_for(catalog, anns, STR("bob")));
    assert_true(target_version(anns) != target_version(bobs)); /* also if their schemas are alike */
    assert_int_equal(catalog_add(catalog, again), NOD_E_USAGE);
    app_released(NULL, again);
    catalog_remove(catalog, anns);
    assert_null(given("ann", "notes"));
    assert_ptr_equal(given("bob", "notes"), bobs);
}

static void whoever_has_a_target_of_their_own_is_given_that_one(void **state)
{
    (void)state;
    struct target *anns = app_add("ann", "notes", 1);
    struct target *common = app_add("", "notes", 2); /* added later, and decided as if before */
    struct target *other = app_add("", "mail", 3), *own = app_add("ann", "mail", 4);

    assert_ptr_equal(given("ann", "notes"), anns);
    assert_ptr_equal(given("bob", "notes"), common);
    assert_ptr_equal(given("ann", "mail"), own);
    assert_ptr_equal(given("bob", "mail"), other);
    assert_false(catalog_is_for(catalog, common, STR("ann"))); /* no list has two of that name */
    assert_true(catalog_is_for(catalog, common, STR("bob")));
    catalog_remove(catalog, anns);
    assert_ptr_equal(given("ann", "notes"), common);
    assert_true(catalog_is_for(catalog, common, STR("ann")));
}

static void nobody_hides_a_tool_of_nods_own(void **state)
{
    (void)state;
    struct target *anns = app_add("ann", "nodAnswer", 1);
    struct target *nods = app_new("", "nodAnswer", 2);

    nods->inside = true;
    assert_int_equal(catalog_add(catalog, nods), NOD_OK);
    assert_ptr_equal(given("ann", "nodAnswer"), nods);
    assert_false(catalog_is_for(catalog, anns, STR("ann")));
    assert_true(catalog_is_for(catalog, nods, STR("ann")));
}

static void a_template_is_matched_for_its_owner_first(void **state)
{
    struct arena arena;
    struct json *variables;

    (void)state;
    struct target *common = app_new("", "app://{x}", 1), *anns = app_new("ann", "app://{y}", 2);
    struct target *both[] = { common, anns };
    for (size_t i = 0; i < 2; i++) {
        both[i]->kind = TARGET_RESOURCE;
        both[i]->is_template = true;
    }
    assert_int_equal(
        catalog_change(catalog, &(struct catalog_change){ .add = both, .add_count = 2 }, NULL),
        NOD_OK);
    arena_init(&arena, 1 << 16);
    assert_ptr_equal(catalog_match(catalog, STR("ann"), STR("app://7"), &arena, &variables), anns);
    assert_true(str_eq(json_get_str(variables, STR("y")), STR("7")));
    assert_ptr_equal(catalog_match(catalog, STR("bob"), STR("app://7"), &arena, &variables),
                     common);
    assert_ptr_equal(catalog_match(catalog, STR_NONE, STR("app://7"), &arena, &variables), common);
    assert_null(catalog_template_for(catalog, STR("bob"), STR("app://{y}")));
    assert_ptr_equal(catalog_template_for(catalog, STR("ann"), STR("app://{y}")), anns);
    arena_finish(&arena);
    catalog_change(catalog, &(struct catalog_change){ .remove = both, .remove_count = 2 }, NULL);
    assert_int_equal(apps, 0);
}

/* --- stored calls --- */

static struct call_record record_of(const struct target *target, const char *principal)
{
    return (struct call_record){ .kind = TARGET_TOOL,
                                 .target = target->name,
                                 .principal = str_of(principal),
                                 .version = target_version(target) };
}

static void a_stored_call_goes_on_with_the_target_of_its_principal_alone(void **state)
{
    (void)state;
    struct target *anns = app_add("ann", "notes", 1), *bobs = app_add("bob", "notes", 2);
    struct call_record ann = record_of(anns, "ann"), bob = record_of(bobs, "bob");

    assert_ptr_equal(catalog_of_call(catalog, &ann), anns);
    assert_ptr_equal(catalog_of_call(catalog, &bob), bobs);
    ann.version = bob.version = 0; /* as a record may have it that names none */
    assert_ptr_equal(catalog_of_call(catalog, &ann), anns);
    assert_ptr_equal(catalog_of_call(catalog, &bob), bobs);
    catalog_remove(catalog, anns);
    assert_null(catalog_of_call(catalog, &ann)); /* and never with bob's */
}

static void a_stored_call_goes_on_with_what_it_began_with_although_its_principal_got_an_own_one(
    void **state)
{
    (void)state;
    struct target *common = app_add("", "notes", 1);
    struct call_record before = record_of(common, "ann");
    struct target *anns = app_add("ann", "notes", 2);
    struct call_record after = record_of(anns, "ann");
    struct ask_record ask = { .principal = STR("ann"),
                              .target = STR("notes"),
                              .call_version = before.version };

    assert_ptr_equal(catalog_of_call(catalog, &before), common);
    assert_ptr_equal(catalog_of_call(catalog, &after), anns);
    assert_ptr_equal(catalog_of_ask(catalog, &ask), common);
    assert_true(catalog_has_version(catalog, &ask));
    ask.principal = STR("bob"); /* who has never had ann's */
    ask.call_version = after.version;
    assert_false(catalog_has_version(catalog, &ask));
}

/* --- changes --- */

static void a_change_is_made_whole_or_not_at_all(void **state)
{
    struct target *old, *fine[2], *wrong[3];
    struct catalog_refused refused = { .at = 99 };

    (void)state;
    old = app_add("", "old", 1);
    app_add("", "taken", 2);
    fine[0] = wrong[0] = app_new("", "old", 3); /* in the place of the old one */
    fine[1] = wrong[1] = app_new("", "new", 4);
    wrong[2] = app_new("", "taken", 5);
    changes = 0;
    struct catalog_change change = {
        .add = wrong, .add_count = 3, .remove = &old, .remove_count = 1
    };
    assert_int_equal(catalog_change(catalog, &change, &refused), NOD_E_USAGE);
    assert_int_equal(refused.at, 2);
    assert_int_equal(changes, 0);
    assert_ptr_equal(given("", "old"), old);
    assert_false(old->removed);
    assert_null(given("", "new"));
    assert_int_equal(catalog_count(catalog, TARGET_TOOL, false), 2);
    assert_int_equal(catalog_from(catalog, TARGET_TOOL, false, 3), SIZE_MAX); /* nothing was used */

    struct target *twice[] = { fine[1], fine[1] };
    change = (struct catalog_change){ .add = twice, .add_count = 2 };
    assert_int_equal(catalog_change(catalog, &change, &refused), NOD_E_USAGE);
    assert_int_equal(refused.at, 1);
    assert_null(given("", "new"));

    struct target *gone_twice[] = { old, old };
    change = (struct catalog_change){
        .add = fine, .add_count = 2, .remove = gone_twice, .remove_count = 2
    };
    assert_int_equal(catalog_change(catalog, &change, NULL), NOD_OK);
    assert_int_equal(changes, 1);
    assert_ptr_equal(catalog_at(catalog, TARGET_TOOL, false, 0), fine[0]);
    assert_ptr_equal(catalog_at(catalog, TARGET_TOOL, false, 2), fine[1]);
    assert_int_equal(apps, 4); /* the old one is gone, once */
    app_released(NULL, wrong[2]);
}

/* A target that was removed, and is still in use, is added again. */
static void what_comes_again_takes_its_name_and_goes_as_before_if_the_change_is_refused(
    void **state)
{
    struct target *gone = app_add("", "notes", 1);
    struct target *both[] = { gone, app_new("", "notes", 2) };
    struct catalog_change change = { .add = both, .add_count = 2 };
    struct catalog_refused refused = { .at = 99 };

    (void)state;
    target_hold(gone);
    catalog_remove(catalog, gone);
    assert_int_equal(apps, 2);
    assert_int_equal(catalog_change(catalog, &change, &refused), NOD_E_USAGE);
    assert_int_equal(refused.at, 1); /* two of one name */
    assert_null(given("", "notes"));
    assert_int_equal(catalog_count(catalog, TARGET_TOOL, false), 0);

    assert_int_equal(catalog_add(catalog, gone), NOD_OK);
    catalog_remove(catalog, gone);
    assert_int_equal(catalog_change(catalog, &change, NULL), NOD_E_USAGE);
    assert_int_equal(apps, 2);
    target_release(gone);
    assert_int_equal(apps, 1); /* its last user has told that it is released */
    app_released(NULL, both[1]);
}

/* --- names that clients are shown --- */

static struct target *called(const char *principal, const char *name)
{
    return catalog_called(catalog, str_of(principal), str_of(name));
}

static nod_status change_to(struct target *add, struct target *remove,
                            struct catalog_refused *refused)
{
    return catalog_change(catalog,
                          &(struct catalog_change){ .add = &add,
                                                    .add_count = add != NULL,
                                                    .remove = &remove,
                                                    .remove_count = remove != NULL },
                          refused);
}

static void show_underscores(void)
{
    const struct target *at, *other;

    assert_true(catalog_show(catalog, true, &at, &other));
}

static void a_tool_is_called_by_its_path_or_by_what_clients_are_shown(void **state)
{
    struct target *create, *read, *plain;
    struct arena arena;

    (void)state;
    create = app_add("", "github.issues.create", 1);
    plain = app_add("", "Look-up_2", 2);
    assert_null(called("", "github_issues_create"));
    assert_false(catalog_calls(catalog, STR("github_issues_create"), create->name));
    show_underscores();
    read = app_add("", "files/read.me", 3); /* later, too */
    assert_ptr_equal(called("", "github_issues_create"), create);
    assert_ptr_equal(called("", "github.issues.create"), create);
    assert_ptr_equal(called("", "files_read_me"), read);
    assert_ptr_equal(called("", "Look-up_2"), plain);
    assert_null(called("", "files_read.me"));
    assert_null(called("", "Look_up_2"));
    /* all else has the path alone */
    assert_null(given("", "github_issues_create"));
    assert_ptr_equal(given("", "github.issues.create"), create);
    arena_init(&arena, 4096);
    struct str shown = catalog_shown(catalog, create->name, &arena);
    assert_true(str_eq(shown, STR("github_issues_create")));
    assert_true(catalog_calls(catalog, shown, create->name));
    assert_true(catalog_calls(catalog, create->name, create->name));
    assert_false(catalog_calls(catalog, STR("github_issues.create"), create->name));
    arena_finish(&arena);

    catalog_remove(catalog, create);
    assert_null(called("", "github_issues_create"));
    assert_int_equal(apps, 2);
    const struct target *at, *other;
    assert_true(catalog_show(catalog, false, &at, &other));
    assert_null(called("", "files_read_me"));
    assert_ptr_equal(called("", "files/read.me"), read);
}

static void tools_that_clients_could_not_tell_apart_are_refused(void **state)
{
    struct target *dots, *dash, *lines, *both[2];
    struct catalog_refused refused = { 0 };
    const struct target *at, *other;

    (void)state;
    dots = app_add("", "a.b", 1);
    lines = app_add("", "a_b", 2);
    dash = app_add("", "a-b", 3);
    /* too late: nothing changes */
    assert_false(catalog_show(catalog, true, &at, &other));
    assert_ptr_equal(at, lines);
    assert_ptr_equal(other, dots);
    assert_false(catalog_shows_underscores(catalog));
    assert_ptr_equal(called("", "a_b"), lines);
    catalog_remove(catalog, lines);
    show_underscores();
    assert_ptr_equal(called("", "a_b"), dots);
    assert_ptr_equal(called("", "a-b"), dash);

    lines = app_new("", "a_b", 4);
    assert_int_equal(change_to(lines, NULL, &refused), NOD_E_USAGE);
    assert_ptr_equal(refused.other, dots);
    assert_true(refused.shown);
    assert_int_equal(change_to(lines, dash, &refused), NOD_E_USAGE);
    assert_ptr_equal(called("", "a-b"), dash); /* it stays */
    /* of one change */
    both[0] = app_new("", "c.d", 5);
    both[1] = app_new("", "c/d", 6);
    struct catalog_change change = { .add = both, .add_count = 2 };
    assert_int_equal(catalog_change(catalog, &change, &refused), NOD_E_USAGE);
    assert_int_equal(refused.at, 1);
    assert_ptr_equal(refused.other, both[0]);
    assert_null(called("", "c_d"));
    /* the same path is another mistake */
    struct target *same = app_new("", "a.b", 7);
    assert_int_equal(change_to(same, NULL, &refused), NOD_E_USAGE);
    assert_false(refused.shown);
    app_released(NULL, same);
    app_released(NULL, both[0]);
    app_released(NULL, both[1]);
    app_released(NULL, lines);
}

static void a_tool_of_another_path_takes_over_what_the_one_that_goes_was_shown_as(void **state)
{
    struct target *dots, *lines, *slash, *pair[2];
    struct catalog_refused refused;

    (void)state;
    show_underscores();
    dots = app_add("ann", "a.b", 1); /* the only one of its owner */
    pair[0] = app_new("ann", "a_b", 2);
    pair[1] = app_new("ann", "a/b", 3);
    /* refused in its second half: the first had taken the name over */
    struct catalog_change change = {
        .add = pair, .add_count = 2, .remove = &dots, .remove_count = 1
    };
    assert_int_equal(catalog_change(catalog, &change, &refused), NOD_E_USAGE);
    assert_int_equal(refused.at, 1);
    assert_ptr_equal(called("ann", "a_b"), dots);

    lines = pair[0];
    assert_int_equal(change_to(lines, dots, &refused), NOD_OK);
    assert_ptr_equal(called("ann", "a_b"), lines);
    assert_null(called("ann", "a.b"));
    slash = pair[1];
    assert_int_equal(change_to(slash, lines, &refused), NOD_OK);
    assert_ptr_equal(called("ann", "a_b"), slash);
    /* a new edition of the same path */
    struct target *next = app_new("ann", "a/b", 4);
    assert_int_equal(change_to(next, slash, &refused), NOD_OK);
    assert_ptr_equal(called("ann", "a_b"), next);
    assert_ptr_equal(called("ann", "a/b"), next);
    catalog_remove(catalog, next);
    assert_null(called("ann", "a_b"));
    assert_int_equal(apps, 0);
}

static void whoever_has_a_tool_that_is_shown_as_another_is_given_that_one(void **state)
{
    struct target *common, *anns;

    (void)state;
    common = app_add("", "a.b", 1);
    anns = app_add("ann", "a_b", 2);
    assert_true(catalog_is_for(catalog, common, STR("ann"))); /* they have two names */
    show_underscores();
    assert_ptr_equal(called("ann", "a_b"), anns);
    assert_ptr_equal(called("bob", "a_b"), common);
    assert_true(catalog_is_for(catalog, anns, STR("ann")));
    assert_false(catalog_is_for(catalog, common, STR("ann")));
    assert_true(catalog_is_for(catalog, common, STR("bob")));
    common->inside = true;
    assert_ptr_equal(called("ann", "a_b"), common);
    common->inside = false;
    assert_ptr_equal(given("ann", "a.b"), common); /* by its path */
}

static void there_is_an_end_to_how_many_there_may_be(void **state)
{
    struct target **many = mem_zalloc((CATALOG_TARGETS_MAX + 1) * sizeof(*many));
    char name[24];

    (void)state;
    for (int i = 0; i <= CATALOG_TARGETS_MAX; i++) {
        snprintf(name, sizeof(name), "tool%d", i);
        many[i] = app_new("", name, i);
    }
    struct catalog_change all = { .add = many, .add_count = CATALOG_TARGETS_MAX + 1 };
    assert_int_equal(catalog_change(catalog, &all, NULL), NOD_E_LIMIT);
    assert_int_equal(catalog_count(catalog, TARGET_TOOL, false), 0);
    all.add_count--;
    assert_int_equal(catalog_change(catalog, &all, NULL), NOD_OK);
    assert_int_equal(catalog_add(catalog, many[CATALOG_TARGETS_MAX]), NOD_E_LIMIT);
    /* where one goes, another has room */
    many[0]->name = STR("renamed"); /* and is another one for the catalog: it does not go */
    assert_int_equal(catalog_replace(catalog, many[0], many[CATALOG_TARGETS_MAX]), NOD_E_LIMIT);
    many[0]->name = str_of(((struct app *)(void *)many[0])->name);
    assert_int_equal(catalog_replace(catalog, many[0], many[CATALOG_TARGETS_MAX]), NOD_OK);
    assert_int_equal(catalog_count(catalog, TARGET_TOOL, false), CATALOG_TARGETS_MAX);
    mem_free(many);
}

static void a_place_in_a_list_outlives_what_was_there(void **state)
{
    struct target *at[5];
    char name[24];

    (void)state;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "tool%d", i);
        at[i] = app_add(i == 1 ? "ann" : "", name, i);
    }
    uint64_t third = at[3]->place;
    assert_int_equal(catalog_from(catalog, TARGET_TOOL, false, third), 3);
    catalog_remove(catalog, at[0]); /* an index would lead one too far now */
    assert_ptr_equal(
        catalog_at(catalog, TARGET_TOOL, false, catalog_from(catalog, TARGET_TOOL, false, third)),
        at[3]);
    struct target *by = app_new("", "tool3", 33);
    assert_int_equal(catalog_replace(catalog, at[3], by), NOD_OK);
    assert_ptr_equal(
        catalog_at(catalog, TARGET_TOOL, false, catalog_from(catalog, TARGET_TOOL, false, third)),
        by);
    catalog_remove(catalog, by); /* what comes next is next */
    assert_ptr_equal(
        catalog_at(catalog, TARGET_TOOL, false, catalog_from(catalog, TARGET_TOOL, false, third)),
        at[4]);
    app_add("", "tool3", 333); /* it comes to the end, and not to the place of the old one */
    assert_ptr_equal(
        catalog_at(catalog, TARGET_TOOL, false, catalog_from(catalog, TARGET_TOOL, false, third)),
        at[4]);
    assert_int_equal(catalog_from(catalog, TARGET_TOOL, false, 7), SIZE_MAX);
}

/* --- calls that wait --- */

struct waiter {
    struct world_caller caller; /* first */
    char ask[ID_LEN + 1];
    const char *principal;
    int number; /* of the target that it ends with */
};

static void note_ask(struct world_caller *caller, struct call *call)
{
    struct waiter *waiter = (struct waiter *)(void *)caller;
    struct str id = ask_record(call_ask_first(call))->id;

    snprintf(waiter->ask, sizeof(waiter->ask), STR_FMT, STR_ARG(id));
}

static void waiter_calls(struct waiter *waiter, const char *principal, const char *name)
{
    struct target *target = given(principal, name);

    assert_non_null(target); /* never an unknown one */
    if (!world.caller_count)
        world_caller_new(&world);
    *waiter = (struct waiter){ .caller = { .caller = { .ops = world.callers[0].caller.ops } },
                               .principal = principal };
    engine_call(world.engine, &(struct call_spec){ .target = target,
                                                   .principal = str_of(principal),
                                                   .scope = STR("s"),
                                                   .caller = &waiter->caller.caller });
    world_settle(&world);
    assert_true(waiter->caller.waiting);
}

/* It ends with the target that is there now. */
static void waiter_ends(struct waiter *waiter)
{
    waiter->number = app_of(given(waiter->principal, "notes"))->number;

    char wanted[80];

    assert_int_equal(waiter->caller.finished, 0);
    world_answer_by(&world, waiter->ask,
                    &(struct answer){ .action = ASK_DECLINED,
                                      .by = str_of(waiter->principal),
                                      .roles = ROLE_ANSWER,
                                      .surface = &world.second });
    assert_int_equal(waiter->caller.finished, 1);
    assert_string_equal(waiter->caller.code, "");
    snprintf(wanted, sizeof(wanted), "{\"owner\":\"%s\",\"number\":%d}", waiter->principal,
             waiter->number);
    assert_string_equal(waiter->caller.body, wanted);
}

static void calls_that_wait_end_when_their_own_target_goes_and_nobody_elses(void **state)
{
    struct waiter ann, bob;

    (void)state;
    world.on_asked = note_ask;
    struct target *anns = app_add("ann", "notes", 1);
    app_add("bob", "notes", 2);
    waiter_calls(&ann, "ann", "notes");
    waiter_calls(&bob, "bob", "notes");
    struct target *newer = app_new("ann", "notes", 3);
    assert_int_equal(catalog_replace(catalog, anns, newer), NOD_OK);
    world_advance(&world, 1);
    assert_int_equal(ann.caller.finished, 0); /* it was only replaced */
    catalog_remove(catalog, newer);
    world_advance(&world, 1);
    assert_int_equal(ann.caller.finished, 1);
    assert_string_equal(ann.caller.code, "TOOL_GONE");
    waiter_ends(&bob);
}

static int loads; /* of calls, from the store */
static const struct store_ops *plain;

static void load_counted(struct store *store, struct str call_id, store_done *done, void *data)
{
    loads++;
    plain->load_call(store, call_id, done, data);
}

static void many_people_change_their_targets_while_many_calls_wait(void **state)
{
    struct waiter *waiters = mem_zalloc(MANY_CALLS * sizeof(*waiters));
    struct target **many = mem_zalloc(MANY_TARGETS * sizeof(*many));
    static struct store_ops counted;
    char owner[24];

    (void)state;
    plain = world.store->ops;
    counted = *plain;
    counted.load_call = load_counted;
    world.store->ops = &counted;
    world.on_asked = note_ask;
    struct target *anns = app_add("ann", "notes", 0), *bobs = app_add("bob", "notes", -1);

    for (int i = 0; i < REPLACED; i++) { /* with a call of each, and of the one before */
        waiter_calls(&waiters[i], i % 2 ? "ann" : "bob", "notes");
        struct target *newer = app_new("ann", "notes", i + 1);
        assert_int_equal(catalog_replace(catalog, anns, newer), NOD_OK);
        anns = newer;
        assert_ptr_equal(given("ann", "notes"), anns);
        assert_ptr_equal(given("bob", "notes"), bobs);
        if (i % 100 == 99)
            world_advance(&world, 1); /* a turn ends */
    }
    loads = 0;
    changes = 0;
    for (int i = 0; i < MANY_TARGETS; i++) { /* of one name, as many people as that */
        snprintf(owner, sizeof(owner), "person%d", i);
        many[i] = app_new(owner, "notes", i);
    }
    struct catalog_change all = { .add = many, .add_count = MANY_TARGETS };
    assert_int_equal(catalog_change(catalog, &all, NULL), NOD_OK);
    assert_int_equal(changes, 1);
    for (int i = 0; i < MANY_TARGETS; i++) {
        snprintf(owner, sizeof(owner), "person%d", i);
        assert_ptr_equal(given(owner, "notes"), many[i]);
    }
    struct catalog_change gone = { .remove = many, .remove_count = MANY_TARGETS };
    assert_int_equal(catalog_change(catalog, &gone, NULL), NOD_OK);
    assert_int_equal(changes, 2);
    world_advance(&world, 1);
    assert_int_equal(loads, 0); /* nobody who waits was bothered */
    assert_int_equal(apps, 2);  /* what was replaced has gone, and its calls wait for the newest */
    for (int i = 0; i < MANY_CALLS; i++)
        waiter_ends(&waiters[i]);
    world.store->ops = plain;
    mem_free(waiters);
    mem_free(many);
}

SUBJECT(targets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_people_each_have_a_target_of_the_same_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(whoever_has_a_target_of_their_own_is_given_that_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nobody_hides_a_tool_of_nods_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_template_is_matched_for_its_owner_first, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_stored_call_goes_on_with_the_target_of_its_principal_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_stored_call_goes_on_with_what_it_began_with_although_its_principal_got_an_own_one,
            setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_is_made_whole_or_not_at_all, setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_comes_again_takes_its_name_and_goes_as_before_if_the_change_is_refused, setup,
            teardown),
        cmocka_unit_test_setup_teardown(a_tool_is_called_by_its_path_or_by_what_clients_are_shown,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(tools_that_clients_could_not_tell_apart_are_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_tool_of_another_path_takes_over_what_the_one_that_goes_was_shown_as, setup, teardown),
        cmocka_unit_test_setup_teardown(
            whoever_has_a_tool_that_is_shown_as_another_is_given_that_one, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_an_end_to_how_many_there_may_be, setup, teardown),
        cmocka_unit_test_setup_teardown(a_place_in_a_list_outlives_what_was_there, setup, teardown),
        cmocka_unit_test_setup_teardown(
            calls_that_wait_end_when_their_own_target_goes_and_nobody_elses, setup, teardown),
        cmocka_unit_test_setup_teardown(many_people_change_their_targets_while_many_calls_wait,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
