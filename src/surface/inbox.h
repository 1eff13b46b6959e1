/*
 * surface/inbox: the place where people answer that every server has.
 *
 * It is a surface named `inbox`, and routes below /api by which people and programs see what waits
 * and answer it. The page (web/) and `nod inbox` are clients of these routes; they know nothing
 * else.
 *
 * The store is the truth. What is listed comes from there, so asks that other nodes have put up are
 * listed and answered as well, and the surface itself keeps nothing.
 *
 * Nobody sees or answers anything without a credential, also where /mcp is open to the local user.
 */
#ifndef NOD_SURFACE_INBOX_H
#define NOD_SURFACE_INBOX_H

#include "core/catalog.h"
#include "core/engine.h"
#include "front/front.h"

struct inbox;
struct loop;
struct accounts;

struct inbox_opts {
    struct loop *loop;
    struct engine *engine;
    const struct catalog *catalog;
    struct front *front;
    struct accounts *accounts;       /* accounts that people have connected; outlives the inbox */
    struct str name, title, version; /* of the server; they outlive the inbox */
    bool demo;
    bool on_stdio; /* its MCP client is on standard input and output: there is no /mcp */
};

/* Adds the surface to the engine and the routes to the front door, before it listens. NULL, logged:
 * it cannot be added. */
struct inbox *inbox_create(const struct inbox_opts *opts);
/* The server is about to stop: open streams end, some in each turn of the loop. The second time,
 * before the store is destroyed: all that are left. */
void inbox_stop(struct inbox *inbox);
/* After the front door, the store and the engine are gone. */
void inbox_destroy(struct inbox *inbox);

#endif
