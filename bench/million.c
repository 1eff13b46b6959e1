/*
 * bench/million: a million questions that wait, in a file.
 *
 *   store.sqlite_million_rss_mb     the most resident memory of a server that is started over that
 *                                   file, while 128 clients ask and answer there
 *   store.sqlite_million_slowdown   time to answer one of them, each committed with fsync (p50),
 *                                   against the same with a thousand in another file; in turns
 *   inbox.million_slowdown          time for the first page of the inbox's list, over all
 * principals, against the same with a thousand; in turns
 *
 * The files are filled through the store, as by a server, with two differences that make it take
 * only seconds: there is no sync for each commit, and the ids are random but in order.
 *
 * Run as: bench-million SERVER [QUESTIONS]. The files are in the folder TMPDIR, or in /tmp.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"
#include "crypto/seal.h"
#include "load.h"
#include "mcp_load.h"
#include "net/loop.h"
#include "server_process.h"
#include "store/sqlite.h"

#define SECRET "a-secret-for-the-benchmark-of-a-million"

enum {
    THOUSAND = 1000,
    MILLION = 1000000,
    IN_FLIGHT = 2048,
    ANSWERS = 300, /* answers in each file */
    WARM = 50,
    CLIENTS = 128,
    CALLS = 2000, /* a round */
    ROUNDS = 5,
    TTL_MS = 24 * 3600 * 1000,
    PRINCIPALS = 1000,
    PAGES = 20, /* first pages, a round */
};

static struct loop *loop;
static struct keyring *ring;
static size_t done_count, failed;

struct file {
    char path[256];
    size_t count;
    struct id *calls, *asks;
    struct store *store;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    done_count++;
    failed += status != NOD_OK;
}

static int by_text(const void *a, const void *b)
{
    return memcmp(((const struct id *)a)->text, ((const struct id *)b)->text, ID_LEN);
}

static struct id *ids_in_order(size_t count)
{
    struct id *ids = mem_alloc(count * sizeof(*ids));

    for (size_t i = 0; i < count; i++)
        id_random(&ids[i]);
    qsort(ids, count, sizeof(*ids), by_text);
    return ids;
}

static void remove_file(const struct file *file)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[300];

    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", file->path, tails[i]);
        unlink(name);
    }
}

static void open_file(struct file *file, enum sqlite_sync sync)
{
    char why[LITE_WHY_MAX];

    file->store = sqlite_store_open(
        &(struct sqlite_opts){
            .path = file->path, .loop = loop, .ring = ring, .synchronous = sync },
        why);
    if (!file->store) {
        fprintf(stderr, "bench-million: %s\n", why);
        exit(1);
    }
}

static void close_file(struct file *file)
{
    file->store->ops->destroy(file->store);
    loop_turn(loop, 0);
}

/* --- filling --- */

static void park(struct file *file, size_t i)
{
    struct id token;
    char principal[32], args[64];

    id_random(&token);
    snprintf(principal, sizeof(principal), "person-%zu", i % PRINCIPALS);
    snprintf(args, sizeof(args), "{\"userId\":\"%zu\"}", i);
    struct call_record open = { .id = id_str(&file->calls[i]),
                                .principal = str_of(principal),
                                .scope = str_of(principal),
                                .target = STR("delete_account"),
                                .args = str_of(args) };
    struct ask_record ask = { .id = id_str(&file->asks[i]),
                              .call_id = open.id,
                              .principal = open.principal,
                              .scope = open.scope,
                              .target = open.target,
                              .key = STR("#1"),
                              .message = STR("Permanently delete this account?"),
                              .detail = STR("{\"type\":\"object\",\"properties\":{\"confirmed\":{"
                                            "\"type\":\"boolean\"}},\"required\":[\"confirmed\"]}"),
                              .turn =
                                  ASK_TURNS - 1, /* its client cannot be asked: the inbox has it */
                              .ttl_ms = TTL_MS };
    file->store->ops->park(file->store,
                           &(struct park_spec){ .token = id_str(&token),
                                                .open = &open,
                                                .node = STR("node"),
                                                .call_id = open.id,
                                                .epoch = 1,
                                                .asks = &ask,
                                                .ask_count = 1,
                                                .handed = true },
                           done, NULL);
}

static void fill(struct file *file, const char *name, size_t count)
{
    const char *folder = getenv("TMPDIR");
    size_t sent = 0;

    snprintf(file->path, sizeof(file->path), "%s/nod-%s-%ld.db", folder ? folder : "/tmp", name,
             (long)getpid());
    file->count = count;
    file->calls = ids_in_order(count);
    file->asks = ids_in_order(count);
    open_file(file, LITE_SYNC_NORMAL);
    done_count = 0;
    while (done_count < count) {
        while (sent < count && sent - done_count < IN_FLIGHT)
            park(file, sent++);
        loop_turn(loop, 100);
    }
    close_file(file);
}

/* --- answering --- */

static double answer(struct file *file, size_t i)
{
    struct id token;
    double start = now_us();

    id_random(&token);
    done_count = 0;
    file->store->ops->claim(
        file->store,
        &(struct claim_spec){ .token = id_str(&token),
                              .items =
                                  &(struct claim_item){ .ask_id = id_str(&file->asks[i]),
                                                        .outcome = ASK_ACCEPTED,
                                                        .content = STR("{\"confirmed\":true}") },
                              .count = 1,
                              .by = STR("ada"),
                              .take_for = STR("node") },
        done, NULL);
    while (!done_count)
        loop_turn(loop, 100);
    return now_us() - start;
}

/* The n-th to be answered: anywhere in the file, and never twice. */
static size_t place(const struct file *file, size_t n)
{
    return n * (file->count / (ANSWERS + WARM)) + n % 7 % (file->count / (ANSWERS + WARM));
}

static void show_slowdown(struct file *few, struct file *many)
{
    double few_us[ANSWERS], many_us[ANSWERS];

    open_file(few, LITE_SYNC_FULL);
    open_file(many, LITE_SYNC_FULL);
    for (size_t i = 0; i < ANSWERS + WARM; i++) {
        double a = answer(few, place(few, i)), b = answer(many, place(many, i));
        if (i < WARM)
            continue;
        few_us[i - WARM] = a;
        many_us[i - WARM] = b;
    }
    close_file(few);
    close_file(many);
    double a = load_median(few_us, ANSWERS), b = load_median(many_us, ANSWERS);
    fprintf(stderr, "an answer, synchronous=full: %.0f us with %zu pending, %.0f us with %zu\n", a,
            few->count, b, many->count);
    printf("store.sqlite_million_slowdown %.2f\n", b / a);
}

/* --- a server --- */

static double resident_mb(pid_t pid)
{
    char name[64];
    long pages = 0;

    snprintf(name, sizeof(name), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(name, "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        fprintf(stderr, "bench-million: no memory of process %d\n", (int)pid);
    if (file)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void show_memory(char *program, const struct file *file)
{
    char http[] = "--http", port[] = "127.0.0.1:0", store[] = "--store", address[300];
    char pending[] = "--pending", bound[] = "10000000";
    double most, began = now_us(), rates[ROUNDS];

    snprintf(address, sizeof(address), "sqlite:%s", file->path);
    struct server_process server = server_process_start(
        (char *const[]){ program, http, port, store, address, pending, bound, NULL });
    double start = most = resident_mb(server.pid), took = now_us() - began;
    struct mcp_load *load = mcp_load_open(&(struct mcp_load_opts){
        .port = server.port, .clients = CLIENTS, .tool = "ask", .expects = "confirmed" });
    for (int i = 0; i < ROUNDS; i++) {
        rates[i] = CALLS / mcp_load_calls(load, CALLS);
        double mb = resident_mb(server.pid);
        most = mb > most ? mb : most;
    }
    fprintf(stderr,
            "a server over %zu pending: %.0f ms to start, %.0f MB then, %.0f MB after %d calls of "
            "%d clients, %.0f calls/s, synchronous=full\n",
            file->count, took / 1e3, start, most, ROUNDS * CALLS, CLIENTS,
            load_median(rates, ROUNDS));
    printf("store.sqlite_million_rss_mb %.0f\n", most);
    mcp_load_close(load);
    server_process_stop(&server);
}

/* --- the inbox --- */

#define TOKEN "a-token-for-the-benchmark-of-a-million"

static struct server_process start_inbox(char *program, const struct file *file, char *tokens)
{
    char http[] = "--http", port[] = "127.0.0.1:0", store[] = "--store", address[300];
    char pending[] = "--pending", bound[] = "10000000", token_file[] = "--token-file";

    snprintf(address, sizeof(address), "sqlite:%s", file->path);
    return server_process_start((char *const[]){ program, http, port, store, address, pending,
                                                 bound, token_file, tokens, NULL });
}

static void show_first_page(char *program, const struct file *few, const struct file *many)
{
    const struct file *files[] = { few, many };
    struct server_process servers[2];
    struct load *loads[2];
    char tokens[] = "/tmp/nod-bench-tokens-XXXXXX", requests[2][256];
    double us[2][ROUNDS];
    int fd = mkstemp(tokens);

    if (fd < 0 || dprintf(fd, "%s ada admin\n", TOKEN) < 0) {
        fprintf(stderr, "bench-million: no token file\n");
        exit(1);
    }
    close(fd);
    for (int i = 0; i < 2; i++) {
        servers[i] = start_inbox(program, files[i], tokens);
        snprintf(requests[i], sizeof(requests[i]),
                 "GET /api/elicitation?state=pending HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                 "Authorization: Bearer %s\r\n\r\n",
                 servers[i].port, TOKEN);
        loads[i] = load_open(&(struct load_opts){
            .port = servers[i].port, .connections = 1, .request = str_of(requests[i]) });
        load_run(loads[i], PAGES);
    }
    unlink(tokens);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++)
            us[i][round] = load_run(loads[i], PAGES) / PAGES * 1e6;
    double a = load_median(us[0], ROUNDS), b = load_median(us[1], ROUNDS);
    fprintf(stderr, "the first page of the inbox: %.0f us with %zu pending, %.0f us with %zu\n", a,
            few->count, b, many->count);
    printf("inbox.million_slowdown %.2f\n", b / a);
    for (int i = 0; i < 2; i++) {
        load_close(loads[i]);
        server_process_stop(&servers[i]);
    }
}

int main(int argc, char **argv)
{
    size_t million = argc > 2 ? (size_t)atol(argv[2]) : MILLION;
    struct file few, many;
    const char *why;
    double start = now_us();

    if (argc < 2 || million < THOUSAND) {
        fprintf(stderr, "usage: bench-million SERVER [QUESTIONS]\n");
        return 2;
    }
    unsetenv("MCP_PREVIOUS_SECRETS");
    setenv("MCP_ELICITATION_SECRET", SECRET, 1);
    if (keyring_create(&STR(SECRET), 1, &ring, &why) != NOD_OK)
        return 1;
    load_raise_files();
    loop = loop_create();
    signal(SIGPIPE, SIG_IGN); /* clients go as they like */
    fill(&few, "thousand", THOUSAND);
    fill(&many, "million", million);
    sync(); /* what the filling has left to write must not slow the answers */
    fprintf(stderr, "filled in %.0f s\n", (now_us() - start) / 1e6);
    show_slowdown(&few, &many);
    show_memory(argv[1], &many);
    show_first_page(argv[1], &few, &many);
    remove_file(&few);
    remove_file(&many);
    mem_free(few.calls);
    mem_free(few.asks);
    mem_free(many.calls);
    mem_free(many.asks);
    loop_destroy(loop);
    keyring_destroy(ring);
    if (failed)
        fprintf(stderr, "bench-million: %zu operations failed\n", failed);
    return failed ? 1 : 0;
}
