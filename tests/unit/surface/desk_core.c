/* tests/unit/surface/desk_core: see desk_core.h. */
#include "desk_core.h"

#include "../core/world.h"
#include "desk.h"

static struct world world;
static struct world_caller *last;
static char asked[128]; /* what the last call asks */

/* {"message": ..., "page": N} */
static nod_status handler(struct run *run, struct str *body)
{
    const struct entry *answer;
    int64_t page = 0;

    json_i64(json_get(run->args, STR("page")), &page);
    nod_status status =
        run_ask(run,
                &(struct ask_spec){ .kind = page ? ASK_URL : ASK_FORM,
                                    .key = STR("q"),
                                    .message = json_get_str(run->args, STR("message")),
                                    .detail = STR(FORM),
                                    .page = (enum ask_page)page,
                                    .wait_done = page != PAGE_NONE },
                &answer);
    if (status != NOD_OK)
        return status;
    *body = answer->content.len ? answer->content : STR("{}");
    return NOD_OK;
}

struct engine *desk_core_open(struct catalog *catalog)
{
    world_init(&world, &(struct world_opts){ .handler = handler, .ttl_ms = 600000 });
    world.can = 0; /* the client cannot ask: the inbox does */
    assert_int_equal(catalog_add(catalog, &world.target), NOD_OK);
    return world.engine;
}

void desk_core_close(void)
{
    world_finish(&world);
}

void desk_core_settle(void)
{
    world_settle(&world);
}

static void note_id(void *data, const struct store_row *row)
{
    if (str_eq(row->ask->message, str_of(asked)))
        snprintf(data, ID_LEN + 1, STR_FMT, STR_ARG(row->ask->id));
}

static void scanned(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    assert_int_equal(status, NOD_OK);
}

const char *desk_ask(const char *principal, const char *message, enum ask_page page)
{
    static char ids[WORLD_CALLS_MAX][ID_LEN + 1];
    char *id = ids[world.caller_count];

    struct arena arena;

    arena_init(&arena, 1 << 16);
    snprintf(asked, sizeof(asked), "%s", message);
    last = world_caller_new(&world);
    engine_call(
        world.engine,
        &(struct call_spec){
            .target = &world.target,
            .args = json_parse(
                &arena, arena_fmt(&arena, "{\"message\":\"%s\",\"page\":%d}", message, (int)page),
                NULL, NULL),
            .principal = str_of(principal),
            .caller = &last->caller });
    world_settle(&world);
    arena_finish(&arena);
    id[0] = '\0';
    world.store->ops->scan(world.store,
                           &(struct store_scan){ .index = STORE_ASKS_PENDING,
                                                 .key = str_of(principal),
                                                 .limit = WORLD_CALLS_MAX },
                           note_id, scanned, id);
    world_settle(&world);
    assert_true(id[0]);
    return id;
}

const char *desk_result(void)
{
    return last->finished ? last->body : NULL;
}

void desk_later(int64_t ms)
{
    world_advance(&world, ms);
}

void desk_elsewhere(const char *id, const char *by, enum ask_state action, const char *content)
{
    struct arena arena;

    arena_init(&arena, 1 << 16);
    world_answer_by(&world, id,
                    &(struct answer){
                        .action = action,
                        .content = content ? json_parse(&arena, str_of(content), NULL, NULL) : NULL,
                        .by = str_of(by),
                        .via = STR("terminal"),
                        .roles = ROLES_ALL });
    assert_int_equal(world.last.status, NOD_OK);
    arena_finish(&arena);
}

static struct store_ops hanging_ops;
static store_done *hanging;
static void *hanging_data;
static int lists;

static void scan_hangs(struct store *store, const struct store_scan *scan, store_row_fn *row,
                       store_done *done, void *data)
{
    (void)store, (void)scan, (void)row;
    assert_null(hanging);
    hanging = done;
    hanging_data = data;
    lists++;
}

int desk_core_lists_hang(void)
{
    if (world.store->ops != &hanging_ops) {
        lists = 0;
        hanging_ops = *world.store->ops;
        hanging_ops.scan = scan_hangs;
        world.store->ops = &hanging_ops;
    }
    return lists;
}

void desk_core_list_fails(void)
{
    store_done *done = hanging;

    hanging = NULL;
    if (done)
        done(hanging_data, NOD_E_STORE, NULL);
}
