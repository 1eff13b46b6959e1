/*
 * bench/redis: what a call costs redis-server, in CPU, in both eras.
 *
 *   redis.cpu_us_2025, redis.cpu_us_2026   user and system time of redis-server for a call that
 *                                          asks once, in microseconds; lower is better
 *
 * A call is what bench/mcp_load does, at 128 clients. Each server that is named has its own
 * redis-server, with an append-only file that is synced every second. They take turns, and the
 * order changes each round, so that other work on the machine slows all of them down. For each era
 * it prints the median of the rounds, its quartiles, and the ratio to the first server in the same
 * round; then which commands Redis ran for a call, and how long Redis says that they took.
 *
 * Run as: bench-redis SERVER [SERVER ...]
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

enum {
    CLIENTS = 128,
    CALLS = 2000, /* a round */
    ROUNDS = 9,
    SERVERS_MOST = 4,
    START_WAIT_MS = 10000,
    LINE_MAX_BYTES = 512,
};

struct rival {
    char *server;
    struct server_process redis, process;
    struct mcp_load *load;
    char folder[64], socket[96];
    double cpu[ROUNDS], ratio[ROUNDS];
};

static void redis_start(struct rival *rival)
{
    snprintf(rival->folder, sizeof(rival->folder), "%s", "/tmp/nod-bench-redis-XXXXXX");
    if (!mkdtemp(rival->folder))
        exit(1);
    snprintf(rival->socket, sizeof(rival->socket), "%s/socket", rival->folder);
    rival->redis.pid = fork();
    if (rival->redis.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", rival->socket,
               "--dir", rival->folder, "--save", "", "--appendonly", "yes", "--appendfsync",
               "everysec", "--logfile", "log", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; access(rival->socket, F_OK) != 0 && i < START_WAIT_MS / 5; i++)
        usleep(5000);
}

static void redis_stop(struct rival *rival)
{
    char command[96];

    kill(rival->redis.pid, SIGKILL);
    waitpid(rival->redis.pid, NULL, 0);
    snprintf(command, sizeof(command), "rm -rf '%s'", rival->folder);
    if (system(command) != 0)
        fprintf(stderr, "%s is left behind\n", rival->folder);
}

static void rival_start(struct rival *rival, enum mcp_era era)
{
    char address[128], http[] = "--http", port[] = "127.0.0.1:0", store[] = "--store";

    redis_start(rival);
    snprintf(address, sizeof(address), "redis+unix://%s", rival->socket);
    rival->process =
        server_process_start((char *const[]){ rival->server, http, port, store, address, NULL });
    rival->load = mcp_load_open(&(struct mcp_load_opts){ .port = rival->process.port,
                                                         .clients = CLIENTS,
                                                         .era = era,
                                                         .tool = "ask",
                                                         .expects = "\"text\":\"confirmed\"" });
    mcp_load_calls(rival->load, CALLS / 4); /* warm */
}

static double rival_round(const struct rival *rival)
{
    double before = server_process_cpu(&rival->redis);

    mcp_load_calls(rival->load, CALLS);
    return (server_process_cpu(&rival->redis) - before) / CALLS * 1e6;
}

/* What Redis has counted since it began, for one call. */
static void rival_commands(const struct rival *rival)
{
    char command[192], line[LINE_MAX_BYTES], name[64];
    double all = CALLS / 4 + (double)ROUNDS * CALLS;
    long long calls, usec;

    snprintf(command, sizeof(command), "redis-cli -s '%s' info commandstats", rival->socket);
    FILE *said = popen(command, "r");
    while (said && fgets(line, sizeof(line), said))
        if (sscanf(line, "cmdstat_%63[^:]:calls=%lld,usec=%lld", name, &calls, &usec) == 3 &&
            (double)calls > all / 10)
            fprintf(stderr, "        %-16s %6.2f a call %8.2f us a call\n", name,
                    (double)calls / all, (double)usec / all);
    if (said)
        pclose(said);
}

static void compare(const char *era_name, enum mcp_era era, struct rival *rivals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rival_start(&rivals[i], era);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            struct rival *rival = &rivals[round % 2 ? count - 1 - i : i];
            rival->cpu[round] = rival_round(rival);
        }
        for (size_t i = 0; i < count; i++)
            rivals[i].ratio[round] = rivals[i].cpu[round] / rivals[0].cpu[round];
    }
    for (size_t i = 0; i < count; i++) {
        struct rival *rival = &rivals[i];
        double cpu = load_median(rival->cpu, ROUNDS), ratio = load_median(rival->ratio, ROUNDS);
        fprintf(stderr, "%s  %s\n        %.1f us (%.1f, %.1f); to the first %.3f (%.3f, %.3f)\n",
                era_name, rival->server, cpu, rival->cpu[ROUNDS / 4],
                rival->cpu[ROUNDS - 1 - ROUNDS / 4], ratio, rival->ratio[ROUNDS / 4],
                rival->ratio[ROUNDS - 1 - ROUNDS / 4]);
        rival_commands(rival);
        mcp_load_close(rival->load);
        server_process_stop(&rival->process);
        redis_stop(rival);
    }
    printf("redis.cpu_us_%s %.1f\n", era_name, rivals[count - 1].cpu[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    static struct rival rivals[SERVERS_MOST];
    size_t count = 0;

    for (int i = 1; i < argc && count < SERVERS_MOST; i++)
        rivals[count++].server = argv[i];
    if (!count) {
        fprintf(stderr, "usage: bench-redis SERVER [SERVER ...]\n");
        return 2;
    }
    unsetenv("MCP_ELICITATION_SECRET");
    setenv("MCP_SERVER_SECRET", "a-secret-for-the-benchmark-of-the-stores", 1);
    load_raise_files();
    compare("2025", MCP_ERA_2025, rivals, count);
    compare("2026", MCP_ERA_2026, rivals, count);
    return 0;
}
