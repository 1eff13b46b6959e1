/*
 * tests/chaos: the server that most of these tests kill. All its tools are in tools.c.
 *
 * CHAOS_NODE_TTL_MS is when it counts as gone, so that nobody waits long for what it has left.
 */
#include "tools.h"

#include <stdlib.h>

enum { WORKERS = 4 };

int main(int argc, char **argv)
{
    const char *ttl = getenv("CHAOS_NODE_TTL_MS");
    nod_server *server = nod_server_new(.name = "chaos", .version = NOD_VERSION, .workers = WORKERS,
                                        .node_ttl_ms = ttl != NULL ? strtoll(ttl, NULL, 10) : 0);

    return server != NULL ? chaos_main(server, argc, argv) : 1;
}
