/*
 * bench/pending: thousands of questions open at once.
 *
 *   ask.bytes_per_pending   growth of the server's resident memory for each session with an open
 *                           question, over that with as many connections and no session
 *                           (http.bytes_per_idle_connection counts those)
 *   ask.live_growth         live bytes after the third cycle of asking and answering, over those
 *                           after the second
 *
 * Run as: bench-pending SERVER [CLIENTS]. The server is bench-ask-server. Every question must be
 * asked and every answer must lead to its result, three times over; otherwise the program fails.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"
#include "mcp_load.h"
#include "server_process.h"

enum { CLIENTS = 5000, CYCLES = 3 };

struct use {
    double live, rss;
};

static struct use use_of(struct mcp_load *load)
{
    char *reply = mcp_load_call(load, "stats");
    struct use use = { 0 };
    const char *at = strstr(reply, "live=");

    if (!at || sscanf(at, "live=%lf rss=%lf", &use.live, &use.rss) != 2) {
        fprintf(stderr, "no stats in: %s\n", reply);
        exit(1);
    }
    free(reply);
    return use;
}

int main(int argc, char **argv)
{
    int clients = argc > 2 ? atoi(argv[2]) : CLIENTS;
    struct use asked = { 0 }, idle[CYCLES];

    if (argc < 2) {
        fprintf(stderr, "usage: bench-pending SERVER [CLIENTS]\n");
        return 2;
    }
    load_raise_files();
    char http[] = "--http", address[] = "127.0.0.1:0";
    struct server_process server =
        server_process_start((char *const[]){ argv[1], http, address, NULL });
    struct mcp_load *probe = mcp_load_open(&(struct mcp_load_opts){
        .port = server.port, .clients = 1, .tool = "ask", .expects = "confirmed" });
    struct mcp_load *load = mcp_load_connect(&(struct mcp_load_opts){
        .port = server.port, .clients = clients, .tool = "ask", .expects = "confirmed" });
    struct use connected = use_of(probe);

    mcp_load_sessions(load);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        mcp_load_ask_all(load);
        if (cycle == 0)
            asked = use_of(probe);
        mcp_load_answer_all(load);
        idle[cycle] = use_of(probe);
    }
    printf("ask.bytes_per_pending %.0f\n", (asked.rss - connected.rss) / clients);
    fprintf(stderr, "live bytes a question: %.0f\n", (asked.live - connected.live) / clients);
    printf("ask.live_growth %.4f\n", idle[2].live / idle[1].live);
    fprintf(stderr,
            "%d questions open at once, %d times: all asked, all answered; live bytes %.0f, %.0f, "
            "%.0f\n",
            clients, CYCLES, idle[0].live, idle[1].live, idle[2].live);
    mcp_load_close(load);
    mcp_load_close(probe);
    server_process_stop(&server);
    return 0;
}
