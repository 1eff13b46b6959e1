/*
 * bench/mcp_load: MCP clients that call a tool which asks, and answer it.
 *
 * For a separate process, like bench/load. Each client has two keep-alive connections: one for its
 * calls, whose response is held while the question is open, and (2025 era) one for the answer. It
 * reads just enough of HTTP, SSE and JSON to find the question's id or the requestState, and checks
 * that every call ends in the expected result. If questions are up in the inbox as well, it can
 * answer there.
 */
#ifndef NOD_BENCH_MCP_LOAD_H
#define NOD_BENCH_MCP_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum mcp_era { MCP_ERA_2025, MCP_ERA_2026 };

struct mcp_load;

struct mcp_load_opts {
    int port; /* on 127.0.0.1 */
    int clients;
    enum mcp_era era;
    const char *tool;    /* takes no arguments, asks one form {confirmed: boolean} */
    const char *key;     /* 2026: the key of its question; NULL: any */
    const char *expects; /* text of the result */
    const char *token;   /* sent with every request; NULL: none */
    double per_second;   /* calls that begin in a second, at most; 0: as many as can */
    bool by_api;         /* 2025: answers go to the inbox's API instead of the session */
};

/* Connects. Ends the process with a message when something fails. */
struct mcp_load *mcp_load_connect(const struct mcp_load_opts *opts);
/* 2025: opens the sessions. */
void mcp_load_sessions(struct mcp_load *load);
/* Both. */
struct mcp_load *mcp_load_open(const struct mcp_load_opts *opts);
void mcp_load_close(struct mcp_load *load);

/* So many calls in all, each asked and answered. Returns the wall seconds. */
double mcp_load_calls(struct mcp_load *load, uint64_t calls);

/* 2025: every client makes one call, until all of them are asked. */
void mcp_load_ask_all(struct mcp_load *load);
/* Every client answers its call, until all have their result. */
void mcp_load_answer_all(struct mcp_load *load);

/* HTTP exchanges and bytes that the last mcp_load_calls took, for a floor that does the same. */
struct mcp_load_traffic {
    uint64_t exchanges;
    uint64_t bytes_out; /* to the server */
    uint64_t bytes_in;
};
struct mcp_load_traffic mcp_load_traffic(const struct mcp_load *load);

/* One call of a tool without questions: the text of its result, to be freed. */
char *mcp_load_call(struct mcp_load *load, const char *tool);

#endif
