/*
 * mcp/gate: who may come in, decided when the head of a request is there.
 *
 * In order: is the request from where it may come (Host, Origin), is there such a path, is it a
 * browser that asks beforehand (a preflight), who is it (bearer token, or the local user on
 * loopback), is there such a method. Nothing of the body has been read by then, and for those who
 * are turned away nothing of it is kept.
 */
#ifndef NOD_MCP_GATE_H
#define NOD_MCP_GATE_H

#include "mcp/server.h"
#include "net/http.h"

/*
 * Copies the rules of where requests may come from, before the server listens. False, logged: an
 * origin that no browser would send.
 */
bool gate_open(struct mcp_server *server, const struct mcp_http_opts *opts);
/* The on_head of the HTTP server; data is the mcp_server. */
enum http_verdict gate_head(const struct http_request *http, struct http_ruling *ruling,
                            void *data);
/* Whose request it is that gate_head has let in. */
struct str gate_principal(const struct http_request *http);

#endif
