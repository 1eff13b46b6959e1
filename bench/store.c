/*
 * bench/store: what a pending question costs in memory, and how many claims a second a file takes.
 *
 *     store.memory_bytes_per_pending   heap of the memory store for a waiting call with one ask,
 *                                      without its content
 *     store.sqlite_claims_N            claims a second, with N in flight, each committed
 *
 * The file is in the folder TMPDIR, or in /tmp.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "net/loop.h"
#include "store/memory.h"
#include "store/sqlite.h"

enum {
    PENDING = 100000,
    CLAIMS = 3000,
    SINGLE_CLAIMS = 400, /* one at a time: each waits for the disk */
    IN_FLIGHT_MOST = 512,
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- asking and answering --- */

static struct store *store;
static struct loop *loop;
static struct id *asks;
static size_t done_count, failed;

static void done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    done_count++;
    failed += status != NOD_OK;
}

static void park(size_t i)
{
    struct id call, token;

    id_random(&call);
    id_random(&token);
    id_random(&asks[i]);
    struct call_record open = { .id = id_str(&call),
                                .principal = STR("ada"),
                                .scope = STR("ada"),
                                .target = STR("delete_account"),
                                .args = STR("{\"userId\":\"7\"}") };
    struct ask_record ask = { .id = id_str(&asks[i]),
                              .call_id = id_str(&call),
                              .principal = open.principal,
                              .scope = open.scope,
                              .target = open.target,
                              .key = STR("#1"),
                              .message = STR("Permanently delete account 7?"),
                              .ttl_ms = 3600000 };
    store->ops->park(store,
                     &(struct park_spec){ .token = id_str(&token),
                                          .open = &open,
                                          .node = STR("node"),
                                          .call_id = id_str(&call),
                                          .epoch = 1,
                                          .asks = &ask,
                                          .ask_count = 1,
                                          .handed = true },
                     done, NULL);
}

static void claim(size_t i)
{
    struct id token;

    id_random(&token);
    store->ops->claim(store,
                      &(struct claim_spec){
                          .token = id_str(&token),
                          .items = &(struct claim_item){ .ask_id = id_str(&asks[i]),
                                                         .outcome = ASK_ACCEPTED,
                                                         .content = STR("{\"confirmed\":true}") },
                          .count = 1,
                          .by = STR("ada"),
                          .take_for = STR("node") },
                      done, NULL);
}

/* Runs `count` operations from `first`, so many of them at once. */
static void run(void (*operation)(size_t i), size_t first, size_t count, size_t at_once)
{
    size_t sent = 0;

    done_count = 0;
    while (done_count < count) {
        while (sent < count && sent - done_count < at_once)
            operation(first + sent++);
        loop_turn(loop, 100);
    }
}

/* --- memory --- */

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static void measure_memory(void)
{
    size_t content = sizeof("ada") * 2 + sizeof("delete_account") + sizeof("{\"userId\":\"7\"}") +
                     2 + sizeof("#1") + sizeof("Permanently delete account 7?") + 2;

    store = memory_store_create(
        &(struct memory_opts){ .clock = clock_system(), .defer = defer, .defer_ctx = loop });
    asks = mem_alloc(PENDING * sizeof(*asks));
    run(park, 0, 100, 1); /* what is there once */
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    run(park, 0, PENDING, IN_FLIGHT_MOST);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    printf("store.memory_bytes_per_pending %.0f\n",
           (double)(after - before) / PENDING - (double)content);
    store->ops->destroy(store);
    mem_free(asks);
}

/* --- sqlite --- */

static char path[256];

static void remove_file(void)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[300];

    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s%s", path, tails[i]);
        unlink(name);
    }
}

static bool open_file(enum sqlite_sync sync)
{
    char why[LITE_WHY_MAX];

    store = sqlite_store_open(
        &(struct sqlite_opts){ .path = path, .loop = loop, .synchronous = sync }, why);
    if (!store)
        fprintf(stderr, "bench-store: %s\n", why);
    return store != NULL;
}

static void measure_claims(size_t at_once)
{
    size_t count = at_once == 1 ? SINGLE_CLAIMS : CLAIMS;

    if (!open_file(LITE_SYNC_FULL))
        return;
    asks = mem_alloc(count * sizeof(*asks));
    run(park, 0, count, IN_FLIGHT_MOST);
    int64_t start = now_ns();
    run(claim, 0, count, at_once);
    double seconds = (double)(now_ns() - start) / 1e9;
    printf("store.sqlite_claims_%zu %.0f\n", at_once, (double)count / seconds);
    store->ops->destroy(store);
    mem_free(asks);
    remove_file();
}

int main(void)
{
    const char *folder = getenv("TMPDIR");

    snprintf(path, sizeof(path), "%s/nod-bench-%ld.db", folder ? folder : "/tmp", (long)getpid());
    loop = loop_create();
    measure_memory();
    measure_claims(1);
    measure_claims(16);
    measure_claims(128);
    loop_destroy(loop);
    if (failed)
        fprintf(stderr, "bench-store: %zu operations failed\n", failed);
    return failed ? 1 : 0;
}
