/*
 * mcp/wire/era: which era does a message belong to?
 *
 * A client shows its era by how it opens. A request with the modern members of _meta stands alone
 * (era 2026); initialize begins a session (era 2025). Both may come at the same time, on the same
 * endpoint and on the same pipe.
 */
#ifndef NOD_MCP_WIRE_ERA_H
#define NOD_MCP_WIRE_ERA_H

#include "json/value.h"

enum era {
    ERA_2025,
    ERA_2026,
    ERA_UNKNOWN, /* HTTP: a version that this server does not speak, and no modern _meta */
};

struct era_opening {
    bool http;          /* otherwise stdio */
    struct str version; /* HTTP: the MCP-Protocol-Version header; empty: there is none */
    struct str method;  /* of the message; empty where there is none (GET, DELETE, a response) */
    const struct json *params; /* of the message */
};

enum era era_of(const struct era_opening *opening);

/* Does this server speak the version in requests that stand alone? */
bool era_speaks_2026(struct str version);
/* Every version there is, newest first: for server/discover and for the error -32022. */
enum { ERA_VERSIONS = 4 };
extern const struct str era_versions[ERA_VERSIONS];

#endif
