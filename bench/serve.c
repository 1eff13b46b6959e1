/*
 * bench/serve: a tool of a plugin under `nod serve`, against the same handler in a bare server.
 *
 *   serve.vs_library   asks a second under nod serve, with inbox and metrics on, over those of a
 *                      server that has neither, in turns; of the two eras the lower ratio
 *
 * Both keep their calls in memory. What each has in memory when it is idle is printed beside it.
 *
 * Run as: bench-serve NOD PLUGIN SERVER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"
#include "mcp_load.h"
#include "server_process.h"

enum { CLIENTS = 16, ROUNDS = 7, CALLS = 8000, SERVERS = 2 };

static const char *const names[SERVERS] = { "nod serve", "library" };

static struct server_process start(int which, char **argv)
{
    static char serve[] = "serve", http[] = "--http", address[] = "127.0.0.1:0",
                metrics[] = "--metrics", store[] = "--store",
                memory[] = "memory:", plugin[] = "--plugin", no_inbox[] = "--no-inbox";

    if (which == 0)
        return server_process_start((char *const[]){ argv[1], serve, http, address, metrics,
                                                     address, store, memory, plugin, argv[2],
                                                     NULL });
    return server_process_start(
        (char *const[]){ argv[3], http, address, no_inbox, store, memory, NULL });
}

static double compare(struct server_process servers[SERVERS], enum mcp_era era)
{
    double ratios[ROUNDS], rates[SERVERS][ROUNDS], cpu[SERVERS] = { 0 };
    struct mcp_load *loads[SERVERS];

    for (int i = 0; i < SERVERS; i++) {
        loads[i] = mcp_load_open(&(struct mcp_load_opts){ .port = servers[i].port,
                                                          .clients = CLIENTS,
                                                          .era = era,
                                                          .tool = "ask",
                                                          .expects = "\"text\":\"confirmed\"" });
        mcp_load_calls(loads[i], CALLS / 4); /* warm */
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SERVERS; i++) {
            int which = round % 2 ? SERVERS - 1 - i : i;
            cpu[which] -= server_process_cpu(&servers[which]);
            rates[which][round] = CALLS / mcp_load_calls(loads[which], CALLS);
            cpu[which] += server_process_cpu(&servers[which]);
        }
        ratios[round] = rates[0][round] / rates[1][round];
    }
    for (int i = 0; i < SERVERS; i++) {
        fprintf(stderr, "%s  %-10s %3d clients %10.0f asks/s %8.1f us of CPU each\n",
                era == MCP_ERA_2025 ? "2025" : "2026", names[i], CLIENTS,
                load_median(rates[i], ROUNDS), cpu[i] / ((double)CALLS * ROUNDS) * 1e6);
        mcp_load_close(loads[i]);
    }
    return load_median(ratios, ROUNDS);
}

static long resident_kib(pid_t process)
{
    char path[64], line[256];
    long kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

int main(int argc, char **argv)
{
    struct server_process servers[SERVERS];
    char home[] = "/tmp/nod-bench-home-XXXXXX", command[96];

    if (argc < 4) {
        fprintf(stderr, "usage: bench-serve NOD PLUGIN SERVER\n");
        return 2;
    }
    if (!mkdtemp(home))
        return 1;
    setenv("HOME", home, 1);
    setenv("XDG_STATE_HOME", home, 1);
    setenv("XDG_CONFIG_HOME", home, 1);
    setenv("XDG_RUNTIME_DIR", home, 1);
    setenv("MCP_ELICITATION_SECRET", "a-secret-for-the-benchmark-of-nod-serve", 1);
    load_raise_files();
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = start(i, argv);
        fprintf(stderr, "%-10s idle: %ld KiB resident\n", names[i], resident_kib(servers[i].pid));
    }
    double first = compare(servers, MCP_ERA_2025), second = compare(servers, MCP_ERA_2026);
    printf("serve.vs_library %.2f\n", first < second ? first : second);
    for (int i = 0; i < SERVERS; i++)
        server_process_stop(&servers[i]);
    snprintf(command, sizeof(command), "rm -rf '%s'", home);
    return system(command) == 0 ? 0 : 1;
}
