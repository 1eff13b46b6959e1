/*
 * accounts: see accounts.h. This file keeps the services and the work that is under way.
 *
 * A piece of work (struct work) is one thing after another: the store is asked, the service is
 * asked, the store is told. It ends by itself; whoever waits for it may go before.
 */
#include "accounts/accounts_inside.h"

#include "base/mem.h"

enum { SWEEP_FIRST_MS = 1000 }; /* after the start: what a node that has died has left */

/* --- services --- */

bool accounts_add(struct accounts *accounts, const struct oauth_service_spec *spec,
                  const void **part, const char **why)
{
    *part = NULL;
    *why = "there are more than 32 services";
    if (accounts->service_count == ACCOUNTS_SERVICES_MAX)
        return false;
    *why = "there is a service of that name already";
    if (service_find(accounts, spec->name) ||
        !oauth_service_open(&accounts->services[accounts->service_count], spec, accounts->opts.loop,
                            accounts->opts.ca_file, part, why))
        return false;
    if (!accounts->service_count++)
        replaced_later(accounts, SWEEP_FIRST_MS);
    return true;
}

struct oauth_service *service_find(const struct accounts *accounts, struct str name)
{
    for (size_t i = 0; i < accounts->service_count; i++)
        if (str_eq(accounts->services[i].spec.name, name))
            return (struct oauth_service *)&accounts->services[i];
    return NULL;
}

bool accounts_has_services(const struct accounts *accounts)
{
    return accounts->service_count > 0;
}

struct str accounts_title(const struct accounts *accounts, struct str service)
{
    const struct oauth_service *found = service_find(accounts, service);

    return found ? found->spec.title : STR_NONE;
}

/* --- work --- */

void *work_begin(struct accounts *accounts, size_t size, struct str key)
{
    struct work *work = mem_zalloc(size);

    work->accounts = accounts;
    arena_init(&work->arena, ACCOUNTS_ARENA_MAX);
    work->arena.wiped = true;
    work->key_len = key.len <= REPLACED_KEY_MAX ? key.len : 0;
    if (work->key_len)
        memcpy(work->key, key.at, work->key_len);
    list_append(&accounts->works, &work->link);
    accounts->work_count++;
    return work;
}

void work_end(struct work *work)
{
    struct accounts *accounts = work->accounts;

    timer_stop(accounts->opts.loop, &work->timer);
    oauth_await_stop(&work->ready);
    fetch_cancel(work->fetch);
    list_remove(&work->link);
    accounts->work_count--;
    if (work->freed)
        work->freed(work);
    buf_finish(&work->op.value);
    arena_finish(&work->arena);
    mem_free(work);
}

struct str work_key(const struct work *work)
{
    return str_n(work->key, work->key_len);
}

void work_later(struct work *work, int64_t after_ms, void (*again)(void *work))
{
    timer_set(work->accounts->opts.loop, &work->timer, after_ms, again, work);
}

bool work_again(struct work *work, int most, void (*again)(void *work))
{
    int64_t pause = ACCOUNTS_PAUSE_MS;

    if (++work->tries >= most)
        return false;
    for (int i = 1; i < work->tries && pause < ACCOUNTS_PAUSE_MOST_MS; i++)
        pause *= 2;
    work_later(work, pause < ACCOUNTS_PAUSE_MOST_MS ? pause : ACCOUNTS_PAUSE_MOST_MS, again);
    return true;
}

/* --- what the store is asked --- */

static void op_run(void *data);

static void op_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct work *work = data;

    if (status == NOD_E_STORE && work_again(work, work->op.most, op_run))
        return;
    buf_finish(&work->op.value);
    work->op.done(work, status, reply);
}

static void op_run(void *data)
{
    struct work *work = data;
    const struct work_op *op = &work->op;
    struct store *store = work->accounts->opts.store;

    if (op->verb == WORK_GET)
        store->ops->get(store, op->kind, op->key, op_done, work);
    else if (op->verb == WORK_DEL)
        store->ops->del(store, op->kind, op->key, op_done, work);
    else
        store->ops->put(store, op->kind, op->key, buf_str(&op->value), op->principal, op->version,
                        op->ttl_ms, op_done, work);
}

static void op_begin(struct work *work, const struct work_op *op)
{
    work->tries = 0;
    work->op = *op;
    op_run(work);
}

void work_get(struct work *work, struct str kind, struct str key, int most, store_done *done)
{
    op_begin(work, &(struct work_op){
                       .verb = WORK_GET, .kind = kind, .key = key, .most = most, .done = done });
}

void work_put(struct work *work, struct str kind, struct str key, struct buf *value,
              struct str principal, uint64_t version, int64_t ttl_ms, int most, store_done *done)
{
    op_begin(work, &(struct work_op){ .verb = WORK_PUT,
                                      .kind = kind,
                                      .key = key,
                                      .value = *value,
                                      .principal = principal,
                                      .version = version,
                                      .ttl_ms = ttl_ms,
                                      .most = most,
                                      .done = done });
}

void work_del(struct work *work, struct str kind, struct str key, store_done *done)
{
    op_begin(work, &(struct work_op){ .verb = WORK_DEL,
                                      .kind = kind,
                                      .key = key,
                                      .most = ACCOUNTS_STORE_TRIES,
                                      .done = done });
}

int64_t accounts_now(const struct accounts *accounts)
{
    return accounts->opts.store->ops->now(accounts->opts.store);
}

/* --- the whole --- */

struct accounts *accounts_create(const struct accounts_opts *opts)
{
    struct accounts *accounts = MEM_NEW(struct accounts);

    accounts->opts = *opts;
    map_init(&accounts->jobs, ACCOUNTS_WAITS_MAX);
    list_init(&accounts->works);
    return accounts;
}

void accounts_destroy(struct accounts *accounts)
{
    if (!accounts)
        return;
    timer_stop(accounts->opts.loop, &accounts->replaced_timer);
    LIST_EACH (at, &accounts->works)
        work_end(LIST_OF(at, struct work, link));
    for (size_t i = 0; i < accounts->service_count; i++)
        oauth_service_close(&accounts->services[i]);
    map_finish(&accounts->jobs);
    mem_free(accounts);
}
