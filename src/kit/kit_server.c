/*
 * kit/kit_server: a server in a test, and how it crashes.
 *
 * The store is the memory store, which says that it is durable: it outlives the server. In a crash,
 * nothing more reaches the store from one moment on, and the server is destroyed. What was on its
 * way is lost, as when a process is killed. The test's own function makes the next server, which
 * finds the store as it was left.
 *
 * A crash is possible before and after each operation that changes the store. The point before a
 * step's result is stored is also the point after its effect.
 */
#include "base/mem.h"
#include "kit/kit.h"
#include "store/memory.h"

/* --- the store --- */

struct told {         /* a completion on its way */
    struct list link; /* in undelivered */
    nod_test *test;
    void (*fn)(void *data);
    void *data;
};

static void deliver(void *data)
{
    struct told *told = data;

    if (atomic_load(&told->test->dead) && !told->test->gone) {
        list_append(&told->test->undelivered, &told->link);
        return;
    }
    told->fn(told->data);
    mem_free(told);
}

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    nod_test *test = ctx;
    struct told *told = MEM_NEW(struct told);

    *told = (struct told){ .test = test, .fn = fn, .data = data };
    list_init(&told->link);
    loop_defer(test->server->loop, deliver, told);
}

/* Instead of destroy: its server goes, but the store stays. */
static void outlive(struct store *store)
{
    nod_test *test = (nod_test *)(void *)((char *)store->ops - offsetof(nod_test, ops));
    struct list *at;

    memory_store_orphan(store);
    test->gone = true;
    while ((at = list_first(&test->undelivered))) { /* nobody is there: it frees itself */
        struct told *told = LIST_OF(at, struct told, link);
        list_remove(&told->link);
        told->fn(told->data);
        mem_free(told);
    }
}

static size_t steps_so_far(nod_test *test)
{
    pthread_mutex_lock(&test->lock);
    size_t runs = test->step_runs;
    pthread_mutex_unlock(&test->lock);
    return runs;
}

/* Two points for each operation: it does not happen; or it does, and its reply is lost. */
static enum memory_fault fault(void *ctx, const char *verb)
{
    static const char *const changing[] = { "park", "append", "claim", "take", "finish", NULL };
    nod_test *test = ctx;

    if (atomic_load(&test->dead))
        return MEMORY_FAIL_BEFORE;
    if (!str_among(str_of(verb), changing))
        return MEMORY_FINE;
    test->points += 2;
    if (test->crash == KIT_CRASH_AFTER_STEP && strcmp(verb, "append") == 0 &&
        steps_so_far(test) == test->crash_at) {
        atomic_store(&test->dead, true);
        return MEMORY_FAIL_AFTER;
    }
    if (test->crash != KIT_CRASH_AT_POINT || test->points < test->crash_at)
        return MEMORY_FINE;
    atomic_store(&test->dead, true);
    return test->points == test->crash_at ? MEMORY_FAIL_AFTER : MEMORY_FAIL_BEFORE;
}

void kit_store_open(nod_test *test)
{
    test->store = memory_store_create(&(struct memory_opts){ .clock = &test->clock.clock,
                                                             .defer = defer,
                                                             .defer_ctx = test,
                                                             .fault = fault,
                                                             .fault_ctx = test });
    test->ops = *test->store->ops;
    test->store_destroy = test->ops.destroy;
    test->ops.durable = true;
    test->ops.destroy = outlive;
    test->store->ops = &test->ops;
}

void kit_store_close(nod_test *test)
{
    if (test->store)
        test->store_destroy(test->store);
    test->store = NULL;
}

/* --- the server --- */

static struct kit_step *step_of(nod_test *test, struct str key)
{
    for (size_t i = 0; i < test->step_count; i++)
        if (str_eq(test->steps[i].key, key))
            return &test->steps[i];
    if (test->step_count == KIT_STEPS_MAX)
        return NULL;
    struct kit_step *step = &test->steps[test->step_count++];
    *step = (struct kit_step){ .key = arena_str(&test->step_text, key) };
    return step;
}

/* On the handler's thread, after the effect and before it is recorded. */
static void stepped(void *data, const char *key)
{
    nod_test *test = data;

    if (atomic_load(&test->dead))
        return;
    pthread_mutex_lock(&test->lock);
    struct kit_step *step = step_of(test, str_skip(str_of(key), ID_LEN + 1)); /* behind its call */
    if (step)
        step->runs++;
    test->step_runs++;
    if (test->crash == KIT_CRASH_IN_STEP && test->step_runs == test->crash_at)
        atomic_store(&test->dead, true);
    pthread_mutex_unlock(&test->lock);
}

static nod_server *make_of_tools(nod_test *test)
{
    nod_server *server = nod_server_new(.name = "test", .version = NOD_VERSION);

    if (server && nod_add_tools(server, test->tools, test->tool_count, test->tool_size) != NOD_OK) {
        nod_server_destroy(server);
        return NULL;
    }
    return server;
}

/* The test decides the time: the real clock wakes nothing. */
static void nothing(void *data)
{
    (void)data;
}

bool kit_server_open(nod_test *test)
{
    test->server = test->make ? test->make(test->make_data) : make_of_tools(test);
    if (!test->server) {
        kit_fail(test, NULL, 0, "the server could not be made");
        return false;
    }
    nod_server *server = test->server;
    test->gone = false;
    if (!test->store)
        kit_store_open(test);
    loop_before_wait(server->loop, nothing, NULL);
    host_make_engine(server, &test->clock.clock, test->store);
    engine_use_catalog(server->engine, server->catalog);
    engine_use_pages(
        server->engine,
        &(struct engine_pages){ .link = kit_page_link, .kinds = (1u << ASK_PAGES_KNOWN) - 1 });
    engine_add_surface(server->engine, &test->surface);
    kit_values_open(test);
    local_check_replays(server->local, true);
    local_watch_steps(server->local, stepped, test);
    return true;
}

void kit_server_crash(nod_test *test)
{
    if (!test->server)
        return;
    atomic_store(&test->dead, true);
    shutdown_crash(test->server);
    test->server = NULL;
    test->caller.call = NULL;
    for (size_t i = 0; i < test->question_count; i++)
        test->questions[i].up = false;
}
