/*
 * mcp/era2025/http: replies about sessions.
 */
#ifndef NOD_MCP_ERA2025_HTTP_H
#define NOD_MCP_ERA2025_HTTP_H

#include "mcp/shared/endpoint.h"

/* 429 if the principal has as many sessions as it may have, otherwise 503. */
void endpoint_too_many_sessions(struct mcp_server *server, struct http_exchange *exchange,
                                struct str principal);
/* 404: there is no such session. */
void endpoint_no_session(struct http_exchange *exchange);
#endif
