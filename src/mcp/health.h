/*
 * mcp/health: is the process alive, and can it do its work?
 *
 *     GET /healthz   200 {"status":"ok"}: the process answers
 *     GET /readyz    200 {"status":"ready","store":"sqlite"}, or
 *                    503 {"status":"not ready","store":"sqlite","why":"database or disk is full"}
 *
 * No token is needed, and nothing is said that is anybody's. A page in a browser gets neither
 * (Origin). Where the server has no tokens, and so listens on loopback alone, the Host has to be
 * one of its names as for every request; a server with tokens answers whoever asks, because probes
 * name it by its address.
 */
#ifndef NOD_MCP_HEALTH_H
#define NOD_MCP_HEALTH_H

#include "mcp/server_inside.h"

/* Is the path one of these? */
bool health_has(struct str path);
/* Does the store do its work, as far as it knows? If not, why. */
bool health_store_ready(struct mcp_server *server, struct str *why);
void health_reply(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http);

#endif
