/*
 * tests/unit/provider/sets: what one plugin registers comes and goes in one step.
 *
 * A plugin here is a number: its tools and hooks say it, so a test sees whose code was called. It
 * is unloaded when its set is released, and none of its functions may be called after that.
 */
#include "handler_bench.h"

#include <semaphore.h>

enum { PLUGINS = 5, SETTLES = 20 };

static struct plugin {
    int released, hooked;
} plugins[PLUGINS];
static bool inside; /* a handler or a hook of a plugin is on the stack */
static int changes; /* of the catalog */

static void unload(void *data)
{
    struct plugin *plugin = data;

    assert_false(inside);
    plugin->released++;
}

static void assert_loaded(const struct plugin *plugin)
{
    assert_int_equal(plugin->released, 0);
}

static nod_status says(nod_call *call)
{
    struct plugin *plugin = nod_data(call);

    assert_loaded(plugin);
    return nod_reply_textf(call, "%d", (int)(plugin - plugins));
}

static nod_status hooked(nod_hook_run *hook, void *data)
{
    struct plugin *plugin = data;

    (void)hook;
    assert_loaded(plugin);
    plugin->hooked++;
    return NOD_OK;
}

static void changed(void *data, const struct catalog_change *change)
{
    (void)data;
    (void)change;
    changes++;
}

static int setup(void **state)
{
    memset(plugins, 0, sizeof(plugins));
    bench_setup(state);
    engine_use_catalog(b.engine, b.catalog);
    catalog_watch(b.catalog, changed, NULL);
    changes = 0;
    return 0;
}

static int teardown(void **state)
{
    catalog_watch(b.catalog, NULL, NULL);
    engine_use_catalog(b.engine, NULL);
    return bench_teardown(state);
}

static void settle(void)
{
    for (int i = 0; i < SETTLES; i++) {
        loop_turn(b.loop, 0);
        engine_tick(b.engine);
    }
}

static nod_status commit(struct local_set *set, struct local_set *replaces,
                         struct local_set_refused *refused)
{
    size_t at;

    return local_sets_change(b.local, engine_hooks(b.engine),
                             &(struct local_change){ set, replaces }, 1, &at, refused);
}

static void leave(struct local_set *set)
{
    assert_int_equal(commit(NULL, set, &(struct local_set_refused){ 0 }), NOD_OK);
}

static struct local_set *begin(int number, const char *from)
{
    return local_set_begin(b.local, engine_hooks(b.engine),
                           &(struct local_set_opts){ .from = str_of(from),
                                                     .released = unload,
                                                     .data = &plugins[number] });
}

static nod_status tool(int number, const char *name, nod_handler *handler, const nod_tool *like)
{
    nod_tool tool = like ? *like : (nod_tool){ .input_schema = "{\"type\":\"object\"}" };

    tool.name = name;
    tool.handler = handler;
    tool.data = &plugins[number];
    return local_add_tools(b.local, &tool, 1, sizeof(tool));
}

static nod_status hook(int number, const char *name, const char *stage, nod_hook_kind kind,
                       nod_hook_fn *fn)
{
    return local_add_hook(b.local, engine_hooks(b.engine),
                          &(struct nod_hook_opts){ .size = sizeof(struct nod_hook_opts),
                                                   .flow = NOD_FLOW_CALL,
                                                   .stage = stage,
                                                   .kind = kind,
                                                   .name = name,
                                                   .fn = fn,
                                                   .data = &plugins[number] });
}

static struct local_set *plugin_begin(int number)
{
    struct local_set *set = begin(number, "house");

    assert_int_equal(tool(number, "look", says, NULL), NOD_OK);
    assert_int_equal(hook(number, "record", "accept", NOD_WILL, hooked), NOD_OK);
    return set;
}

static struct local_set *plugin_add(int number, struct local_set *replaces)
{
    struct local_set *set = plugin_begin(number);
    struct local_set_refused refused;

    assert_int_equal(commit(set, replaces, &refused), NOD_OK);
    return set;
}

static struct target *there(const char *name)
{
    return catalog_find(b.catalog, TARGET_TOOL, str_of(name));
}

static void call(const char *name, const char *body)
{
    bench_start(there(name), "{}", NULL);
    bench_turn(false);
    expect_body(body);
}

/* --- coming --- */

static void nobody_sees_a_set_before_it_is_committed_and_then_all_of_it(void **state)
{
    struct local_set_refused refused;
    struct local_set *set;
    nod_prompt prompt = { .name = "tell", .get = says };
    nod_resource resources[] = { { .uri = "app://one", .name = "One", .read = says },
                                 { .uri = "app://{x}", .name = "Each", .read = says } };

    (void)state;
    bench_add("own", says, &(nod_tool){ .data = &plugins[3] });
    changes = 0;
    set = plugin_begin(0);
    assert_int_equal(local_add_prompts(b.local, &prompt, 1, sizeof(prompt)), NOD_OK);
    assert_int_equal(local_add_resources(b.local, resources, 2, sizeof(resources[0])), NOD_OK);
    assert_null(there("look"));
    assert_int_equal(changes, 0);
    call("own", TEXT_BODY("3"));
    assert_int_equal(plugins[0].hooked, 0);

    assert_int_equal(commit(set, NULL, &refused), NOD_OK);
    assert_int_equal(changes, 1);
    call("look", TEXT_BODY("0"));
    assert_int_equal(plugins[0].hooked, 1);
    assert_non_null(catalog_find(b.catalog, TARGET_PROMPT, STR("tell")));
    assert_non_null(catalog_template(b.catalog, STR("app://{x}")));
    assert_true(str_eq(there("look")->from, STR("house")));
    assert_int_equal(there("own")->from.len, 0);

    leave(set);
    assert_int_equal(changes, 2);
    assert_null(there("look"));
    assert_null(catalog_find(b.catalog, TARGET_PROMPT, STR("tell")));
    assert_null(catalog_template(b.catalog, STR("app://{x}")));
    assert_int_equal(plugins[0].released, 0); /* the stack is not clear */
    settle();
    assert_int_equal(plugins[0].released, 1);
    call("own", TEXT_BODY("3"));
    assert_int_equal(plugins[0].hooked, 1);
}

static void what_could_not_be_registered_refuses_the_whole_set(void **state)
{
    struct local_set_refused refused;
    struct local_set *set;

    (void)state;
    set = plugin_begin(0);
    assert_int_equal(tool(0, "bad", NULL, NULL), NOD_E_USAGE); /* and the plugin does not look */
    assert_int_equal(tool(0, "fine", says, NULL), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.kind, "tool");
    assert_string_equal(refused.name, "bad");
    assert_false(refused.taken);
    local_set_abort(set);
    settle();
    assert_int_equal(plugins[0].released, 1);

    set = plugin_begin(1);
    assert_int_equal(tool(1, "look", says, NULL), NOD_E_USAGE); /* twice in one set */
    assert_int_equal(hook(1, "record", "accept", NOD_WILL, hooked), NOD_E_USAGE);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.name, "look"); /* the first */
    local_set_abort(set);

    set = plugin_begin(2);
    assert_int_equal(hook(2, "record", "accept", NOD_WILL, hooked), NOD_E_USAGE);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.kind, "hook");
    assert_string_equal(refused.name, "record");
    local_set_abort(set);
    settle();
    assert_int_equal(plugins[1].released, 1);
    assert_int_equal(plugins[2].released, 1);
    assert_int_equal(changes, 0);
    assert_null(there("look"));
    assert_null(there("fine"));
    plugin_add(3, NULL); /* nothing has kept its name */
    call("look", TEXT_BODY("3"));
    assert_int_equal(plugins[3].hooked, 1);
}

static void a_name_that_is_taken_is_told_with_whose_it_is(void **state)
{
    struct local_set_refused refused;
    struct local_set *set;

    (void)state;
    bench_add("own", says, NULL);
    assert_int_equal(hook(3, "guard", "accept", NOD_WILL, hooked), NOD_OK);
    plugin_add(0, NULL);

    set = begin(1, "github");
    assert_int_equal(tool(1, "new", says, NULL), NOD_OK);
    assert_int_equal(tool(1, "own", says, NULL), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_true(refused.taken);
    assert_string_equal(refused.name, "own");
    assert_string_equal(refused.from, ""); /* the program's */
    local_set_abort(set);
    assert_null(there("new"));

    set = begin(1, "github");
    assert_int_equal(tool(1, "look", says, NULL), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.name, "look");
    assert_string_equal(refused.from, "house");
    local_set_abort(set);

    set = begin(1, "github");
    assert_int_equal(hook(1, "record", "accept", NOD_WILL, hooked), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.kind, "hook");
    assert_string_equal(refused.from, "house");
    local_set_abort(set);

    set = begin(1, "github");
    assert_int_equal(hook(1, "guard", "accept", NOD_WILL, hooked), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.name, "guard");
    assert_string_equal(refused.from, "");
    local_set_abort(set);
    settle();
    assert_int_equal(plugins[1].released, 4);
    call("look", TEXT_BODY("0"));
}

static void a_tool_that_clients_could_not_tell_from_another_is_told_with_whose_that_is(void **state)
{
    const struct target *at, *other;
    struct local_set_refused refused;
    struct local_set *set, *own;

    (void)state;
    assert_true(catalog_show(b.catalog, true, &at, &other));
    bench_add("own.tool", says, NULL);
    plugin_add(0, NULL);
    set = begin(1, "github");
    assert_int_equal(tool(1, "new.tool", says, NULL), NOD_OK);
    assert_int_equal(tool(1, "own_tool", says, NULL), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.name, "own_tool");
    assert_string_equal(refused.shown, "own.tool");
    assert_string_equal(refused.from, ""); /* the program's */
    local_set_abort(set);
    assert_null(there("new.tool"));

    /* two of one plugin: refused where the second is registered */
    set = begin(1, "github");
    assert_int_equal(tool(1, "new.tool", says, NULL), NOD_OK);
    assert_int_equal(tool(1, "new_tool", says, NULL), NOD_E_USAGE);
    assert_false(local_set_close(set, &refused));
    assert_string_equal(refused.name, "new_tool");
    assert_false(refused.taken);
    local_set_abort(set);

    /* the next edition has renamed its tool */
    own = begin(1, "github");
    assert_int_equal(tool(1, "new.tool", says, NULL), NOD_OK);
    assert_int_equal(commit(own, NULL, &refused), NOD_OK);
    set = begin(2, "github");
    assert_int_equal(tool(2, "new_tool", says, NULL), NOD_OK);
    assert_int_equal(commit(set, own, &refused), NOD_OK);
    assert_null(there("new.tool"));
    assert_ptr_equal(catalog_called(b.catalog, STR_NONE, STR("new_tool")), there("new_tool"));
    own = begin(3, "house");
    assert_int_equal(tool(3, "new/tool", says, NULL), NOD_OK);
    assert_int_equal(commit(own, NULL, &refused), NOD_E_USAGE);
    assert_string_equal(refused.shown, "new_tool");
    assert_string_equal(refused.from, "github");
    local_set_abort(own);
    settle();
    assert_int_equal(plugins[3].released, 1);
    assert_int_equal(plugins[1].released, 3);
}

static void sets_are_begun_one_after_the_other(void **state)
{
    (void)state;
    struct local_set *set = begin(0, "house");
    assert_null(begin(1, "github"));
    local_set_abort(set);
    set = begin(1, "github");
    assert_non_null(set);
    local_set_abort(set);
}

/* --- replacing --- */

static char order[64];

static nod_status notes(nod_hook_run *run, void *data)
{
    struct plugin *plugin = data;
    size_t len = strlen(order);

    (void)run;
    snprintf(order + len, sizeof(order) - len, "%d", (int)(plugin - plugins));
    return NOD_OK;
}

static void noted(const char *wanted)
{
    order[0] = '\0';
    bench_start(there("own"), "{}", NULL);
    bench_turn(false);
    assert_string_equal(order, wanted);
}

static void a_set_is_replaced_in_one_step_and_its_hooks_keep_their_places(void **state)
{
    struct local_set_refused refused;
    struct local_set *old, *set;

    (void)state;
    bench_add("own", says, &(nod_tool){ .data = &plugins[3] });
    old = begin(0, "house");
    assert_int_equal(hook(0, "first", "accept", NOD_WILL, notes), NOD_OK);
    assert_int_equal(tool(0, "look", says, NULL), NOD_OK);
    assert_int_equal(tool(0, "old", says, NULL), NOD_OK);
    assert_int_equal(commit(old, NULL, &refused), NOD_OK);
    assert_int_equal(hook(3, "second", "accept", NOD_WILL, notes), NOD_OK);
    noted("03");
    uint64_t place = there("look")->place;

    /* refused: as it was */
    set = begin(1, "house");
    assert_int_equal(hook(1, "first", "accept", NOD_WILL, notes), NOD_OK);
    assert_int_equal(hook(1, "second", "accept", NOD_WILL, notes), NOD_OK);
    assert_int_equal(tool(1, "look", says, NULL), NOD_OK);
    changes = 0;
    assert_int_equal(commit(set, old, &refused), NOD_E_USAGE);
    assert_string_equal(refused.name, "second");
    local_set_abort(set);
    set = begin(1, "house");
    assert_int_equal(hook(1, "first", "accept", NOD_WILL, notes), NOD_OK);
    assert_int_equal(tool(1, "look", says, NULL), NOD_OK);
    assert_int_equal(tool(1, "own", says, NULL), NOD_OK);
    assert_int_equal(commit(set, old, &refused), NOD_E_USAGE);
    assert_string_equal(refused.name, "own");
    local_set_abort(set);
    settle();
    assert_int_equal(changes, 0);
    assert_int_equal(plugins[1].released, 2);
    assert_int_equal(plugins[0].released, 0);
    noted("03");
    call("look", TEXT_BODY("0"));

    set = begin(2, "house");
    assert_int_equal(hook(2, "first", "accept", NOD_WILL, notes), NOD_OK);
    assert_int_equal(hook(2, "third", "accept", NOD_WILL, notes), NOD_OK);
    assert_int_equal(tool(2, "look", says, NULL), NOD_OK);
    assert_int_equal(tool(2, "new", says, NULL), NOD_OK);
    assert_int_equal(commit(set, old, &refused), NOD_OK);
    assert_int_equal(changes, 1);
    assert_int_equal(there("look")->place, place);
    assert_null(there("old"));
    noted("232");
    settle();
    assert_int_equal(plugins[0].released, 1);
    call("look", TEXT_BODY("2"));
    call("new", TEXT_BODY("2"));
}

/* --- many at once --- */

static struct local_set *begin_with(int number, const char *from, const char *name)
{
    struct local_set *set = begin(number, from);

    assert_int_equal(tool(number, name, says, NULL), NOD_OK);
    assert_int_equal(hook(number, name, "accept", NOD_WILL, hooked), NOD_OK);
    assert_true(local_set_close(set, &(struct local_set_refused){ 0 }));
    return set;
}

static nod_status change_all(const struct local_change *sets, size_t count, size_t *at,
                             struct local_set_refused *refused)
{
    return local_sets_change(b.local, engine_hooks(b.engine), sets, count, at, refused);
}

static void two_sets_exchange_their_names_in_one_step_or_nothing_changes(void **state)
{
    struct local_set_refused refused;
    struct local_set *house, *github, *third, *next[2];
    size_t at;

    (void)state;
    house = begin_with(0, "house", "look");
    github = begin_with(1, "github", "list");
    assert_int_equal(
        change_all((struct local_change[]){ { house, NULL }, { github, NULL } }, 2, &at, &refused),
        NOD_OK);
    assert_int_equal(changes, 1);

    /* Each has the other's name. With a third one that wants one of them, too, neither has. */
    next[0] = begin_with(2, "house", "list");
    next[1] = begin_with(3, "github", "look");
    third = begin(4, "third");
    assert_int_equal(tool(4, "look", says, NULL), NOD_OK);
    local_set_close(third, &refused);
    assert_int_equal(
        change_all(
            (struct local_change[]){ { next[0], house }, { next[1], github }, { third, NULL } }, 3,
            &at, &refused),
        NOD_E_USAGE);
    assert_int_equal(at, 2);
    assert_string_equal(refused.name, "look");
    assert_string_equal(refused.from, "github");
    assert_int_equal(changes, 1);
    call("look", TEXT_BODY("0"));
    call("list", TEXT_BODY("1"));
    local_set_abort(third);

    third = begin(4, "third");
    assert_int_equal(hook(4, "list", "accept", NOD_WILL, hooked), NOD_OK);
    local_set_close(third, &refused);
    assert_int_equal(
        change_all(
            (struct local_change[]){ { third, NULL }, { next[0], house }, { next[1], github } }, 3,
            &at, &refused),
        NOD_E_USAGE);
    assert_int_equal(at, 1);
    assert_string_equal(refused.kind, "hook");
    assert_string_equal(refused.from, "third");
    local_set_abort(third);

    assert_int_equal(change_all((struct local_change[]){ { next[0], house }, { next[1], github } },
                                2, &at, &refused),
                     NOD_OK);
    assert_int_equal(changes, 2);
    call("look", TEXT_BODY("3"));
    call("list", TEXT_BODY("2"));
    settle();
    assert_int_equal(plugins[0].released + plugins[1].released, 2);
    assert_int_equal(plugins[4].released, 2);
}

static void as_many_hooks_as_there_may_be_can_be_replaced(void **state)
{
    struct local_set_refused refused;
    struct local_set *sets[2] = { NULL };
    char name[32];

    (void)state;
    size_t free = HOOKS_MAX - engine_hooks(b.engine)->count;
    for (int i = 0; i < 2; i++) {
        sets[i] = begin(i, "house");
        for (size_t h = 0; h < free; h++) {
            snprintf(name, sizeof(name), "h%zu", h);
            assert_int_equal(hook(i, name, "accept", NOD_WILL, hooked), NOD_OK);
        }
        assert_int_equal(commit(sets[i], i ? sets[0] : NULL, &refused), NOD_OK);
    }
    settle();
    assert_int_equal(plugins[0].released, 1);
    struct local_set *more = begin(2, "more");
    assert_int_equal(hook(2, "one", "accept", NOD_WILL, hooked), NOD_OK);
    assert_int_equal(commit(more, NULL, &refused), NOD_E_LIMIT);
    assert_string_equal(refused.kind, "hook");
    assert_true(refused.limit);
    local_set_abort(more);
}

static void what_is_removed_by_its_name_is_forgotten_by_its_set(void **state)
{
    struct local_set *set;

    (void)state;
    set = plugin_add(0, NULL);
    assert_true(local_remove_tool(b.local, STR("look")));
    assert_true(local_remove_hook(b.local, engine_hooks(b.engine), STR("record")));
    assert_false(local_remove_hook(b.local, engine_hooks(b.engine), STR("record")));
    settle();
    assert_int_equal(plugins[0].released, 0);                    /* its plugin is still there */
    bench_add("look", says, &(nod_tool){ .data = &plugins[3] }); /* another's, now */
    leave(set);
    settle();
    assert_int_equal(plugins[0].released, 1);
    call("look", TEXT_BODY("3"));

    set = plugin_begin(1);
    assert_true(local_remove_hook(b.local, engine_hooks(b.engine), STR("record"))); /* likewise */
    assert_false(local_remove_tool(b.local, STR("none")));
    assert_true(local_remove_tool(b.local, STR("look"))); /* the staged one */
    call("look", TEXT_BODY("3"));
    local_set_abort(set);
}

/* --- in use --- */

static sem_t began, go_on;

static nod_status blocks(nod_call *call)
{
    struct plugin *plugin = nod_data(call);

    sem_post(&began);
    while (sem_wait(&go_on) != 0)
        ;
    assert_loaded(plugin);
    return nod_reply_textf(call, "%d", (int)(plugin - plugins));
}

static const nod_tool blocking = { .input_schema = "{\"type\":\"object\"}", .blocking = true };

static struct local_set *blocking_add(int number, struct local_set *replaces)
{
    struct local_set *set = begin(number, "house");
    struct local_set_refused refused;

    assert_int_equal(tool(number, "wait", number ? says : blocks, &blocking), NOD_OK);
    assert_int_equal(commit(set, replaces, &refused), NOD_OK);
    return set;
}

static void a_blocking_handler_ends_in_the_old_code_which_is_let_go_of_after_it(void **state)
{
    (void)state;
    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    struct local_set *old = blocking_add(0, NULL);
    bench_start(there("wait"), "{}", NULL);
    sem_wait(&began);
    blocking_add(1, old);
    settle();
    assert_int_equal(plugins[0].released, 0);
    sem_post(&go_on);
    bench_turn(true);
    expect_body(TEXT_BODY("0"));
    settle();
    assert_int_equal(plugins[0].released, 1);
    bench_start(there("wait"), "{}", NULL);
    bench_turn(true);
    expect_body(TEXT_BODY("1"));
}

static void code_that_runs_after_its_call_was_cancelled_is_still_there(void **state)
{
    (void)state;
    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    struct local_set *old = blocking_add(0, NULL);
    bench_start(there("wait"), "{}", NULL);
    sem_wait(&began);
    leave(old);
    call_cancel(b.caller.call, STR("gone"));
    bench_turn(true);
    assert_true(b.finished);
    settle();
    assert_int_equal(plugins[0].released, 0);
    sem_post(&go_on);
    while (!plugins[0].released)
        loop_turn(b.loop, 10);
    settle();
    assert_int_equal(plugins[0].released, 1);
}

static nod_status replaces_itself(nod_call *call)
{
    struct local_set **mine = nod_data(call);

    inside = true;
    leave(*mine);
    inside = false;
    return nod_reply_text(call, "gone");
}

static void a_handler_that_removes_its_own_set_ends_before_its_code_goes(void **state)
{
    struct local_set_refused refused;
    static struct local_set *set;
    nod_tool suicidal = { .name = "leave", .handler = replaces_itself, .data = &set };

    (void)state;
    set = begin(0, "house");
    assert_int_equal(local_add_tools(b.local, &suicidal, 1, sizeof(suicidal)), NOD_OK);
    assert_int_equal(commit(set, NULL, &refused), NOD_OK);
    bench_start(there("leave"), "{}", NULL);
    bench_turn(false);
    expect_body(TEXT_BODY("gone"));
    settle();
    assert_int_equal(plugins[0].released, 1);
}

static nod_hook_run *pending;

static nod_status pends(nod_hook_run *run, void *data)
{
    assert_loaded(data);
    pending = run;
    return NOD_PENDING;
}

static void a_hook_that_is_under_way_is_waited_for_and_its_successor_is_called(void **state)
{
    struct local_set_refused refused;

    (void)state;
    bench_add("own", says, &(nod_tool){ .data = &plugins[3] });
    struct local_set *old = begin(0, "house");
    assert_int_equal(hook(0, "guard", "accept", NOD_WILL, pends), NOD_OK);
    assert_int_equal(commit(old, NULL, &refused), NOD_OK);
    bench_start(there("own"), "{}", NULL);
    loop_turn(b.loop, 0);
    assert_non_null(pending);
    struct local_set *set = begin(1, "house");
    assert_int_equal(hook(1, "guard", "accept", NOD_WILL, hooked), NOD_OK);
    assert_int_equal(commit(set, old, &refused), NOD_OK);
    settle();
    assert_int_equal(plugins[0].released, 0);
    assert_false(b.finished);
    nod_hook_done(pending, NOD_OK);
    bench_turn(true);
    expect_body(TEXT_BODY("3"));
    assert_int_equal(plugins[1].hooked, 0); /* its predecessor has spoken for it */
    settle();
    assert_int_equal(plugins[0].released, 1);
    call("own", TEXT_BODY("3"));
    assert_int_equal(plugins[1].hooked, 1);
}

/* --- the end of the server --- */

static void when_the_server_ends_each_set_is_released_once(void **state)
{
    struct local_set *set;

    setup(state);
    plugin_add(0, NULL); /* in force */
    set = begin(1, "gone");
    assert_int_equal(tool(1, "gone", says, NULL), NOD_OK);
    assert_int_equal(commit(set, NULL, &(struct local_set_refused){ 0 }), NOD_OK);
    leave(set);         /* over, and not released so far */
    begin(2, "coming"); /* staged */
    assert_int_equal(tool(2, "coming", says, NULL), NOD_OK);
    assert_int_equal(hook(2, "coming", "accept", NOD_WILL, hooked), NOD_OK);
    teardown(state);
    for (int i = 0; i < 3; i++)
        assert_int_equal(plugins[i].released, 1);
}

static nod_status asks(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    return nod_reply_text(call, "yes");
}

static void a_set_whose_call_still_waits_when_the_server_ends_is_released(void **state)
{
    struct local_set *set;

    setup(state);
    set = begin(0, "house");
    assert_int_equal(tool(0, "ask", asks, NULL), NOD_OK);
    assert_int_equal(commit(set, NULL, &(struct local_set_refused){ 0 }), NOD_OK);
    bench_start(there("ask"), "{}", NULL);
    bench_turn(false);
    assert_int_equal(b.ask_count, 1);
    leave(set); /* nobody has looked at its calls yet */
    teardown(state);
    assert_int_equal(plugins[0].released, 1);
}

SUBJECT(sets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_sees_a_set_before_it_is_committed_and_then_all_of_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_could_not_be_registered_refuses_the_whole_set, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_tool_that_clients_could_not_tell_from_another_is_told_with_whose_that_is, setup,
            teardown),
        cmocka_unit_test_setup_teardown(a_name_that_is_taken_is_told_with_whose_it_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(sets_are_begun_one_after_the_other, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_set_is_replaced_in_one_step_and_its_hooks_keep_their_places, setup, teardown),
        cmocka_unit_test_setup_teardown(
            two_sets_exchange_their_names_in_one_step_or_nothing_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(as_many_hooks_as_there_may_be_can_be_replaced, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_removed_by_its_name_is_forgotten_by_its_set, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_blocking_handler_ends_in_the_old_code_which_is_let_go_of_after_it, setup, teardown),
        cmocka_unit_test_setup_teardown(code_that_runs_after_its_call_was_cancelled_is_still_there,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_handler_that_removes_its_own_set_ends_before_its_code_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_hook_that_is_under_way_is_waited_for_and_its_successor_is_called, setup, teardown),
        cmocka_unit_test(when_the_server_ends_each_set_is_released_once),
        cmocka_unit_test(a_set_whose_call_still_waits_when_the_server_ends_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
