/*
 * mcp/era: which era does a message belong to?
 *
 * A client shows its era by how it opens: a request with the modern members of _meta is served by
 * itself (era 2026), initialize begins a session (era 2025). Both may come on the same endpoint,
 * and on the same pipe, at the same time.
 */
#ifndef NOD_MCP_ERA_H
#define NOD_MCP_ERA_H

#include "json/value.h"

enum era {
    ERA_2025,
    ERA_2026,
    ERA_UNKNOWN, /* HTTP: a version that nobody here speaks, and nothing else to go by */
};

struct era_opening {
    bool http;          /* else stdio */
    struct str version; /* HTTP: the MCP-Protocol-Version header; empty: there is none */
    struct str method;  /* of the message; empty where there is none (GET, DELETE, a response) */
    const struct json *params; /* of the message */
};

enum era era_of(const struct era_opening *opening);

/* Versions in which a request can be served by itself; in order of preference. */
bool era_speaks_2026(struct str version);
/* Every version there is, newest first: for server/discover and for the error -32022. */
enum { ERA_VERSIONS = 4 };
extern const struct str era_versions[ERA_VERSIONS];

#endif
