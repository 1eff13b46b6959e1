/*
 * mcp/shared/held: a request that is answered later, and is no call of the engine.
 *
 * Its holder embeds a struct held, and gives the request to its era (era_ops.hold). From then on
 * one of two things happens, once: the holder answers, or gone() is called, because the client has
 * cancelled the request, is gone, or its session or the server ends. After that the era has
 * forgotten the struct.
 */
#ifndef NOD_MCP_SHARED_HELD_H
#define NOD_MCP_SHARED_HELD_H

#include "base/str.h"

struct held {
    void (*gone)(struct held *held); /* set by the holder; nobody is told anything any more */
    /* Set by the era: sends the whole response. */
    void (*answer)(struct held *held, struct str message);
    void *era; /* the era's own */
};

#endif
