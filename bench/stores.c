/*
 * bench/stores: questions asked and answered over HTTP at 128 clients, on each store.
 *
 *   store.sqlite_vs_memory   calls a second on SQLite over those on memory, in one run
 *   store.redis_vs_memory    the same on its own redis-server, over a Unix socket, with Redis's
 *                            default settings; store.redis_always_vs_memory with a sync before
 *                            every reply, which the whole promise needs
 *
 * A call is what bench/mcp_load does: a tool asks one form, is answered, and ends. The stores take
 * turns, so that other work on the machine slows all of them down; of the two eras the lower ratio
 * counts. Beside the figures it prints what a completion waits for (fsync).
 *
 * Run as: bench-stores SERVER. The files are in the folder TMPDIR, or in /tmp.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"
#include "mcp_load.h"
#include "server_process.h"

enum { CLIENTS = 128, ROUNDS = 5, ADDRESS_MAX = 300 };

struct kind {
    const char *name;
    const char *waits_for; /* what happens before a transition counts as done */
    uint64_t calls;        /* a round */
    void (*begin)(char address[ADDRESS_MAX]);
    void (*end)(void);
};

static char path[256];

static void memory_begin(char address[ADDRESS_MAX])
{
    snprintf(address, ADDRESS_MAX, "memory:");
}

static void nothing_to_end(void)
{
}

static void sqlite_end(void)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[ADDRESS_MAX];

    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, tails[i]);
        unlink(name);
    }
}

static void sqlite_begin(char address[ADDRESS_MAX])
{
    sqlite_end();
    snprintf(address, ADDRESS_MAX, "sqlite:%s", path);
}

/* --- redis --- */

enum { REDIS_WAIT_MS = 10000 };

struct redis {
    pid_t process;
    char folder[64];
};
static struct redis by_default, always;

static void redis_stop(struct redis *redis)
{
    char command[96];

    kill(redis->process, SIGKILL);
    waitpid(redis->process, NULL, 0);
    snprintf(command, sizeof(command), "rm -rf '%s'", redis->folder);
    if (system(command) != 0)
        fprintf(stderr, "%s is left behind\n", redis->folder);
}

static void redis_start(struct redis *redis, const char *fsync, char address[ADDRESS_MAX])
{
    char at[96];

    snprintf(redis->folder, sizeof(redis->folder), "%s", "/tmp/nod-bench-redis-XXXXXX");
    if (!mkdtemp(redis->folder))
        exit(1);
    snprintf(at, sizeof(at), "%s/socket", redis->folder);
    redis->process = fork();
    if (redis->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", at, "--dir",
               redis->folder, "--save", "", "--appendonly", "yes", "--appendfsync", fsync,
               "--logfile", "log", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; access(at, F_OK) != 0 && i < REDIS_WAIT_MS / 5; i++)
        usleep(5000);
    snprintf(address, ADDRESS_MAX, "redis+unix://%s", at);
}

static void redis_begin(char address[ADDRESS_MAX])
{
    redis_start(&by_default, "everysec", address);
}

static void redis_end(void)
{
    redis_stop(&by_default);
}

static void redis_always_begin(char address[ADDRESS_MAX])
{
    redis_start(&always, "always", address);
}

static void redis_always_end(void)
{
    redis_stop(&always);
}

/* The others are measured against the first. */
static const struct kind kinds[] = {
    { "memory", "nothing", 10000, memory_begin, nothing_to_end },
    { "sqlite", "fsync (synchronous=full)", 4000, sqlite_begin, sqlite_end },
    { "redis", "write; fsync every second (appendfsync everysec)", 4000, redis_begin, redis_end },
    { "redis_always", "fsync (appendfsync always)", 4000, redis_always_begin, redis_always_end },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct running {
    struct server_process process;
    struct mcp_load *load;
};

static struct running start(const struct kind *kind, char *server, enum mcp_era era)
{
    char address[ADDRESS_MAX], http[] = "--http", port[] = "127.0.0.1:0", store[] = "--store";
    struct running running;

    kind->begin(address);
    running.process =
        server_process_start((char *const[]){ server, http, port, store, address, NULL });
    running.load = mcp_load_open(&(struct mcp_load_opts){ .port = running.process.port,
                                                          .clients = CLIENTS,
                                                          .era = era,
                                                          .tool = "ask",
                                                          .expects = "\"text\":\"confirmed\"" });
    mcp_load_calls(running.load, kind->calls / 4); /* warm */
    return running;
}

/* ratio[k]: calls a second on store k over those on the first. */
static void compare(char *server, enum mcp_era era, double ratio[KINDS])
{
    struct running running[KINDS];
    double rates[KINDS][ROUNDS], ratios[KINDS][ROUNDS], cpu[KINDS];

    for (size_t k = 0; k < KINDS; k++) {
        running[k] = start(&kinds[k], server, era);
        cpu[k] = server_process_cpu(&running[k].process);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < KINDS; k++) {
            rates[k][round] =
                (double)kinds[k].calls / mcp_load_calls(running[k].load, kinds[k].calls);
            ratios[k][round] = rates[k][round] / rates[0][round];
        }
    for (size_t k = 0; k < KINDS; k++) {
        cpu[k] = server_process_cpu(&running[k].process) - cpu[k];
        ratio[k] = load_median(ratios[k], ROUNDS);
        fprintf(stderr, "%s  %-12s %4d clients %10.0f calls/s %10.2f us CPU a call; waits for %s\n",
                era == MCP_ERA_2025 ? "2025" : "2026", kinds[k].name, CLIENTS,
                load_median(rates[k], ROUNDS), cpu[k] / ROUNDS / (double)kinds[k].calls * 1e6,
                kinds[k].waits_for);
        mcp_load_close(running[k].load);
        server_process_stop(&running[k].process);
        kinds[k].end();
    }
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    double first[KINDS], second[KINDS];

    if (argc < 2) {
        fprintf(stderr, "usage: bench-stores SERVER\n");
        return 2;
    }
    unsetenv("MCP_ELICITATION_SECRET");
    setenv("MCP_SERVER_SECRET", "a-secret-for-the-benchmark-of-the-stores", 1);
    snprintf(path, sizeof(path), "%s/nod-stores-%ld.db", folder ? folder : "/tmp", (long)getpid());
    load_raise_files();
    compare(argv[1], MCP_ERA_2025, first);
    compare(argv[1], MCP_ERA_2026, second);
    for (size_t k = 1; k < KINDS; k++)
        printf("store.%s_vs_memory %.2f\n", kinds[k].name,
               first[k] < second[k] ? first[k] : second[k]);
    return 0;
}
