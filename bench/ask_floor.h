/*
 * bench/ask_floor: our bare HTTP server, which sends the clients of bench/mcp_load what the real
 * server sends, without doing any work.
 *
 * The same clients drive it over the same connections, and get the same bytes in the same pieces:
 * in the 2025 era a stream that is held until the answer comes on another connection, in the 2026
 * era two whole responses. There is no JSON, no tool, no session and no store: what a call costs
 * here is what HTTP costs.
 */
#ifndef NOD_BENCH_ASK_FLOOR_H
#define NOD_BENCH_ASK_FLOOR_H

#include <stddef.h>

#include "mcp_load.h"

struct ask_floor {
    enum mcp_era era;
    size_t state_len; /* 2026: length of the requestState, which is sent both ways */
};

/* For load_server_start; data is a struct ask_floor. */
void ask_floor_serve(int port_fd, void *data);

#endif
