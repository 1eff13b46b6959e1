/*
 * host/storage: opens the store of an address.
 *
 * One table has all kinds of stores. Whatever is opened, the log says what it does not keep, so
 * that nobody learns that from a loss.
 */
#include "host/storage.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/similar.h"
#include "net/loop.h"
#include "store/memory.h"
#include "store/redis.h"
#include "store/sqlite.h"

enum {
    SCHEME_MAX = 64,      /* bytes shown of an address that is not valid */
    SCHEME_WHY_MAX = 160, /* bytes of what is said of it */
};

static struct store *refuse(const char *address, const char *why)
{
    LOG_ERROR("the store cannot be used", LOG_CSTR("store", address), LOG_CSTR("why", why));
    return NULL;
}

/* The key id of the secret that seals; operators tell secrets apart by it. */
static const char *key_shown(const struct storage_opts *opts, char key[SEAL_KEY_TEXT])
{
    return keyring_key(opts->ring, 0, key) ? key : "none";
}

/* --- memory --- */

static void defer_on_loop(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static struct store *open_memory(const struct storage_opts *opts, struct str rest)
{
    if (rest.len)
        return refuse(opts->address, "memory: takes nothing after it");
    if (opts->ephemeral)
        return refuse("memory:",
                      "with --ephemeral this process may be stopped at any moment, and what is in "
                      "its memory would be lost: configure Redis, --store redis://HOST:PORT");
    LOG_INFO("calls are kept in memory: questions, answers and results are lost when this process "
             "ends, and no other node sees them",
             LOG_CSTR("store", "memory:"), LOG_CSTR("instead", "--store sqlite:PATH"));
    return memory_store_create(
        &(struct memory_opts){ .clock = clock_held(),
                               .defer = defer_on_loop,
                               .defer_ctx = opts->loop,
                               .keep_ms = opts->keep_ms,
                               .pending_asks = opts->pending_asks,
                               .pending_asks_per_principal = opts->pending_asks_per_principal,
                               .kept_bytes = opts->kept_bytes,
                               .kept_bytes_per_principal = opts->kept_bytes_per_principal });
}

/* --- sqlite --- */

/* Removes the option from the path. False: it is not valid. */
static bool read_synchronous(struct str *path, enum sqlite_sync *out)
{
    static const struct {
        struct str text;
        enum sqlite_sync sync;
    } known[] = { { STR_INIT("?synchronous=full"), LITE_SYNC_FULL },
                  { STR_INIT("?synchronous=normal"), LITE_SYNC_NORMAL } };

    *out = LITE_SYNC_FULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!str_ends(*path, known[i].text))
            continue;
        path->len -= known[i].text.len;
        *out = known[i].sync;
        return true;
    }
    return str_find(*path, STR("?synchronous=")) < 0;
}

/* The file that an address names, to be freed; NULL: refused. */
static char *read_sqlite(const struct storage_opts *opts, struct str rest, enum sqlite_sync *sync)
{
    if (!read_synchronous(&rest, sync))
        refuse(opts->address, "synchronous is full or normal");
    else if (rest.len == 0)
        refuse(opts->address, "it names no file: sqlite:PATH");
    else
        return str_dup(rest);
    return NULL;
}

static struct store *open_sqlite(const struct storage_opts *opts, struct str rest)
{
    char why[LITE_WHY_MAX], key[SEAL_KEY_TEXT];
    enum sqlite_sync sync;
    char *path = read_sqlite(opts, rest, &sync);

    if (!path)
        return NULL;
    struct store *store = sqlite_store_open(
        &(struct sqlite_opts){ .path = path,
                               .loop = opts->loop,
                               .ring = opts->ring,
                               .synchronous = sync,
                               .keep_ms = opts->keep_ms,
                               .pending_asks = opts->pending_asks,
                               .pending_asks_per_principal = opts->pending_asks_per_principal,
                               .kept_bytes = opts->kept_bytes,
                               .kept_bytes_per_principal = opts->kept_bytes_per_principal,
                               .mark = opts->mark },
        why);
    if (!store)
        refuse(opts->address, why);
    else
        LOG_INFO("calls are kept in a file", LOG_CSTR("store", "sqlite"), LOG_CSTR("file", path),
                 LOG_CSTR("synchronous", sync == LITE_SYNC_FULL ? "full" : "normal"),
                 LOG_CSTR("sealed", opts->ring ? "yes" : "no: no secret is set"),
                 LOG_CSTR("key", key_shown(opts, key)));
    mem_free(path);
    return store;
}

/* If the file does not exist, a command does not make it: it would be empty. */
static bool sqlite_is_there(const struct storage_opts *opts, const char *path)
{
    if (access(path, F_OK) == 0)
        return true;
    refuse(opts->address, "there is no such file");
    return false;
}

static bool reseal_sqlite(const struct storage_opts *opts, struct str rest, bool plain,
                          struct reseal_counts *counts)
{
    char why[LITE_WHY_MAX];
    enum sqlite_sync sync;
    char *path = read_sqlite(opts, rest, &sync);

    if (!path)
        return false;
    bool done = false;
    if (sqlite_is_there(opts, path)) {
        done = sqlite_store_reseal(
            &(struct sqlite_opts){ .path = path, .ring = opts->ring, .synchronous = sync }, plain,
            counts, why);
        if (!done)
            refuse(opts->address, why);
    }
    mem_free(path);
    return done;
}

static struct store *visit_sqlite(const struct storage_opts *opts, struct str rest)
{
    enum sqlite_sync sync;
    char *path = read_sqlite(opts, rest, &sync);
    struct store *store = path && sqlite_is_there(opts, path) ? open_sqlite(opts, rest) : NULL;

    mem_free(path);
    return store;
}

/* --- redis --- */

/* The address may hold a password, so the store makes the text that is logged. */
static struct store *open_redis(const struct storage_opts *opts, struct str rest)
{
    char why[REDIS_WHY_MAX], shown[REDIS_WHY_MAX], key[SEAL_KEY_TEXT];

    (void)rest; /* it reads the whole address */
    if (!redis_address_shown(opts->address, shown, why))
        return refuse(shown, why);
    struct store *store = redis_store_open(
        &(struct redis_opts){ .url = opts->address,
                              .loop = opts->loop,
                              .ring = opts->ring,
                              .keep_ms = opts->keep_ms,
                              .pending_asks = opts->pending_asks,
                              .pending_asks_per_principal = opts->pending_asks_per_principal,
                              .kept_bytes = opts->kept_bytes,
                              .kept_bytes_per_principal = opts->kept_bytes_per_principal,
                              .mark = opts->mark },
        why);
    if (!store)
        return refuse(shown, why);
    LOG_INFO("calls are kept in Redis, and other nodes that name it share them",
             LOG_CSTR("store", "redis"), LOG_CSTR("where", shown),
             LOG_CSTR("sealed", opts->ring ? "yes" : "no: no secret is set"),
             LOG_CSTR("key", key_shown(opts, key)));
    return store;
}

static bool reseal_redis(const struct storage_opts *opts, struct str rest, bool plain,
                         struct reseal_counts *counts)
{
    char why[REDIS_WHY_MAX], shown[REDIS_WHY_MAX];

    (void)rest; /* it reads the whole address */
    if (!redis_address_shown(opts->address, shown, why)) {
        refuse(shown, why);
        return false;
    }
    struct loop *loop = loop_create();
    bool done = redis_store_reseal(
        &(struct redis_opts){ .url = opts->address, .loop = loop, .ring = opts->ring }, plain,
        counts, why);
    if (!done)
        refuse(shown, why);
    loop_destroy(loop);
    return done;
}

/* --- the table --- */

struct storage_kind {
    struct str prefix;
    struct store *(*open)(const struct storage_opts *opts, struct str rest);
    /* For commands of an operator. NULL: nothing in it outlives a process. */
    struct store *(*visit)(const struct storage_opts *opts, struct str rest);
    bool (*reseal)(const struct storage_opts *opts, struct str rest, bool plain,
                   struct reseal_counts *counts);
};

static const struct storage_kind kinds[] = {
    { STR_INIT("memory:"), open_memory, NULL, NULL },
    { STR_INIT("sqlite:"), open_sqlite, visit_sqlite, reseal_sqlite },
    { STR_INIT("redis://"), open_redis, open_redis, reseal_redis },
    { STR_INIT("rediss://"), open_redis, open_redis, reseal_redis },
    { STR_INIT("redis+unix://"), open_redis, open_redis, reseal_redis },
    { STR_INIT("unix://"), open_redis, open_redis, reseal_redis },
};

static const struct storage_kind *kind_of(struct str address)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (str_starts(address, kinds[i].prefix))
            return &kinds[i];
    return NULL;
}

/* What follows a misspelt scheme may be a password. */
static struct store *refuse_scheme(struct str address, const char *named_by)
{
    struct str scheme = address, rest;
    char shown[SCHEME_MAX], why[SCHEME_WHY_MAX];
    bool cut = str_cut(address, ':', &scheme, &rest);
    struct similar similar = { .to = scheme };

    similar_try(&similar, "memory");
    similar_try(&similar, "sqlite");
    similar_try(&similar, "redis");
    scheme.len += cut;
    snprintf(shown, sizeof(shown), STR_FMT, STR_ARG(scheme));
    snprintf(why, sizeof(why),
             "%s must be memory:, sqlite:PATH, redis://HOST:PORT, rediss://HOST:PORT or "
             "redis+unix:///PATH%s%s%s",
             named_by, similar.meant ? "; did you mean " : "", similar.meant ? similar.meant : "",
             similar.meant ? "?" : "");
    return refuse(shown, why);
}

bool storage_is_shared(const char *address)
{
    const struct storage_kind *kind = address ? kind_of(str_of(address)) : NULL;

    return kind && kind->open == open_redis;
}

bool storage_is_memory(const char *address)
{
    const struct storage_kind *kind = address ? kind_of(str_of(address)) : &kinds[0];

    return kind && kind->open == open_memory;
}

bool storage_is_known(const char *address)
{
    if (!kind_of(str_of(address)))
        refuse_scheme(str_of(address), "--store");
    return kind_of(str_of(address));
}

struct store *storage_open(const struct storage_opts *opts)
{
    struct storage_opts with = *opts;

    if (!with.address)
        with.address = "memory:";
    struct str address = str_of(with.address);
    const struct storage_kind *kind = kind_of(address);
    if (!kind)
        return refuse_scheme(address, "it");
    return kind->open(&with, str_skip(address, kind->prefix.len));
}

/* The kind of a store that an operator can work on without its server. NULL: refused. */
static const struct storage_kind *kind_that_stays(const char *address)
{
    const struct storage_kind *kind = kind_of(str_of(address));

    if (!kind)
        refuse_scheme(str_of(address), "it");
    else if (!kind->visit)
        refuse(address, "it has to be a store that outlives a process: sqlite:PATH or "
                        "redis://HOST:PORT");
    return kind && kind->visit ? kind : NULL;
}

bool storage_stays(const char *address)
{
    return kind_that_stays(address);
}

struct store *storage_visit(const struct storage_opts *opts, enum mark_rule mark)
{
    const struct storage_kind *kind = kind_that_stays(opts->address);
    struct storage_opts with = *opts;

    with.mark = mark;
    return kind ? kind->visit(&with, str_skip(str_of(opts->address), kind->prefix.len)) : NULL;
}

bool storage_reseal(const struct storage_opts *opts, bool plain, struct reseal_counts *counts)
{
    const struct storage_kind *kind = kind_that_stays(opts->address);

    return kind &&
           kind->reseal(opts, str_skip(str_of(opts->address), kind->prefix.len), plain, counts);
}
