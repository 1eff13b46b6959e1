/*
 * tests/unit/mcp/world: a whole server in one thread, and clients that talk to it over loopback
 * sockets.
 *
 * Engine, memory store and protocol are the real ones. The targets are small, and in world.c. Time
 * (the engine's and the sessions') is a fake clock; the loop is real, and every wait turns it.
 */
#ifndef NOD_TESTS_MCP_WORLD_H
#define NOD_TESTS_MCP_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "core/catalog.h"
#include "core/run.h"
#include "crypto/seal.h"
#include "front/front.h"
#include "front/tokens.h"
#include "mcp/server.h"
#include "store/memory.h"
#include "../runner.h"

enum { WORLD_TARGETS_MAX = 32 };

struct world_opts {
    int64_t heartbeat_ms;
    int64_t session_idle_ms;
    size_t page_size;
    bool no_http;
    struct tokens *tokens;
    const char *secret; /* NULL: a random key */
    int64_t hold_ms;
    int64_t completion_ms; /* by the real clock */
    int64_t soft_ms; /* by the real clock */
    int64_t task_ttl_ms;
    uint64_t kept_bytes_per_principal; /* the store keeps so many; 0: no bound */
    bool survives;                     /* the store says that it outlives the process, and does */
    bool portable_states;
};

struct talk;

struct world {
    struct world_opts opts;
    struct loop *loop;
    struct fake_clock clock;
    struct store *store;
    struct store_ops ops;   /* the store's, if it survives */
    const char *store_away; /* this verb fails before it happens */
    int away_tries;         /* how often it did */
    struct engine *engine;
    struct catalog *catalog;
    struct mcp_server *server;
    struct front *front; /* NULL: no_http */
    struct provider provider;
    struct target targets[WORLD_TARGETS_MAX];
    size_t target_count;
    struct run *held; /* of the tool "hold", until world_let_go */
    int runs;
    int deeds;                  /* of the tool "deed" */
    const struct talk *watched; /* at a deed, what its client has been sent is looked at */
    bool sent;                  /* it had something */
    bool draining, ended;
};

void world_start(struct world *world, const struct world_opts *opts);
/* Begins to shut down; world_stop waits for it. */
void world_drain(struct world *world, int grace_ms);
void world_stop(struct world *world);
/* Another engine and another server on the same store, as after a crash. */
void world_restart(struct world *world);
/* The tool "hold" ends now. */
void world_let_go(struct world *world);
void world_advance(struct world *world, int64_t ms);
void world_turn(struct world *world);
/* One more tool that echoes, under another name. */
struct target *world_add_tool(struct world *world, const char *name);

#define WORLD_AWAIT(world, condition)                                                              \
    do {                                                                                           \
        for (int turns_ = 0; !(condition); turns_++) {                                             \
            assert_true(turns_ < PATIENCE_MS / 5);                                                 \
            world_turn(world);                                                                     \
        }                                                                                          \
    } while (0)

/* --- clients --- */

struct talk { /* one request on a connection of its own */
    struct world *world;
    int fd;
    bool closed;
    struct buf got;
};

struct wire_client {
    struct world *world;
    char session[64];
    const char *token;
    const char *version; /* header; NULL: none */
};

/* `capabilities` is JSON. */
void client_begin(struct wire_client *client, struct world *world, const char *version,
                  const char *capabilities);
void talk_raw(struct talk *talk, struct world *world, const char *bytes);
void client_post(struct wire_client *client, struct talk *talk, const char *body);
void client_get(struct wire_client *client, struct talk *talk, const char *last_event_id);
/* The status of a request that is answered and done with. */
int client_status(struct wire_client *client, const char *method, const char *body);
void talk_await(struct talk *talk, const char *text);
/* The end of the response: a whole body, or the last chunk. */
void talk_await_end(struct talk *talk);
bool talk_has(const struct talk *talk, const char *text);
int talk_count(const struct talk *talk, const char *text);
/* The text between `before` and `after`, NUL-terminated; fails if it is not there. */
void talk_cut(const struct talk *talk, const char *before, const char *after, char *out,
              size_t room);
void talk_close(struct talk *talk);
/* Answers an elicitation by its id. */
void client_answer(struct wire_client *client, const char *id, const char *result);

#endif
