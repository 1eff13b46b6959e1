/*
 * tests/unit/core/world: a whole core in memory, with a clock that is moved by hand.
 *
 * The world has one engine on a memory store, one surface that remembers what it was shown, and a
 * provider whose handlers are plain functions over struct run. Completions of the store are in a
 * queue: world_turn delivers them in order, or (chaos) in any order, late, and with failures before
 * or after the operation has happened.
 */
#ifndef NOD_TESTS_CORE_WORLD_H
#define NOD_TESTS_CORE_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "core/catalog.h"
#include "core/engine.h"
#include "core/run.h"
#include "store/memory.h"

enum { WORLD_SHOWN_MAX = 64, WORLD_QUEUE_MAX = 4096, WORLD_CALLS_MAX = 8 };

typedef nod_status world_handler(struct run *run, struct str *body);

enum { WORLD_BRINGS_MAX = 2 };

struct world_brings { /* an answer that a caller has with it, and what became of it */
    const char *key;  /* NULL: none */
    enum ask_state action;
    const char *content; /* JSON, or NULL */
    int told;
    nod_status status;
    bool pending, same;
    char via[40];
};

struct world_caller {
    struct caller caller; /* first */
    struct world_brings brings[WORLD_BRINGS_MAX];
    bool stays; /* when it is told that it is contradicted */
    int contradicted;
    enum caller_way way; /* what it says when it is told of asks */
    uint64_t place;      /* of the next ask in its stream; 0: it has none */
    int finished, asked, notices, waiting_changes;
    bool waiting;
    nod_status status;
    char code[40], body[512], message[256], details[512];
    char order[64]; /* of notices */
};

struct shown {
    char id[ID_LEN + 1];
    char key[64], message[256], problems[512];
    int attempt;
    bool up; /* not withdrawn, not answered */
    char why[128];
    enum ask_state end; /* as it was told when it was withdrawn */
    char by[64], via[40];
    const struct surface *winner;
};

struct world_opts {
    world_handler *handler;
    int64_t ttl_ms;
    bool one_ask_per_scope;
    bool requires_confirmation;
    int64_t timeout_ms;
    struct engine_limits limits;
    int surface_attempts; /* of the first surface; 0: still pending on invalid content */
    bool model;           /* the first surface is a model */
    uint64_t seed;
    unsigned fault_per_mille;
};

struct world {
    struct world_opts opts;
    struct fake_clock clock;
    struct engine *engine;
    struct store *store;
    struct surface surface;
    struct surface second;
    struct provider provider;
    struct target target;
    world_handler *handler;
    struct shown shown[WORLD_SHOWN_MAX];
    size_t shown_count;
    size_t second_count;
    struct shown second_shown[WORLD_SHOWN_MAX];
    enum offer_result second_offer; /* what the second surface says at once */
    unsigned can;                   /* bits of kinds the first surface can */
    unsigned second_can;
    enum offer_result offer; /* what the first surface says at once */
    struct world_caller callers[WORLD_CALLS_MAX];
    size_t caller_count;
    struct {
        void (*fn)(void *data);
        void *data;
    } queue[WORLD_QUEUE_MAX];
    size_t queued;
    uint64_t seed; /* chaos: order and faults; 0: in order, no faults */
    unsigned fault_per_mille;
    int steps_done; /* effects that handlers had */
    size_t runs;
    struct run *held; /* a blocking handler keeps its run here */
    bool blocking;
    bool cancelled_told;
    struct answer_result last;
    char said_code[40], said[128], said_problems[256]; /* of a hook, with it */
    int answered;
    const char *fail_verb; /* these operations fail so often, in this way */
    enum memory_fault fail_how;
    int fail_times;
    /* Called from inside: what they do to the engine must be safe there. May be NULL. */
    void (*on_asked)(struct world_caller *caller, struct call *call);
    void (*on_waiting)(struct world_caller *caller, struct call *call, bool waiting);
    void (*on_withdraw)(struct ask *ask);
    void (*on_answered)(void);
};

void world_init(struct world *world, const struct world_opts *opts);
void world_finish(struct world *world);
/* Another engine on the same store, after engine_destroy: a restart, or another node. */
void world_engine(struct world *world);

struct world_caller *world_call(struct world *world, const char *principal, const char *scope);
/* A caller that has not called yet. */
struct world_caller *world_caller_new(struct world *world);
/* Delivers what is queued, and what that queues, until nothing is. */
void world_settle(struct world *world);
/* Delivers one; false if there is none. */
bool world_turn(struct world *world);
void world_advance(struct world *world, int64_t ms); /* moves the clock, ticks, settles */
uint64_t world_random(struct world *world);

/* The newest that is up, or NULL. */
struct shown *world_up(struct world *world);
struct shown *world_up_key(struct world *world, const char *key);
/* Answers by the surface; `content` is JSON text or NULL. Settles. Result in world->last. */
void world_answer(struct world *world, const char *id, enum ask_state action, const char *content,
                  const char *by, int attempt);
/* The same, with all that an answer has. */
void world_answer_by(struct world *world, const char *id, const struct answer *answer);

/* A hook without a filter. */
void world_hook(struct world *world, nod_flow flow, const char *stage, nod_hook_kind kind,
                nod_status (*fn)(struct nod_hook_run *hook, void *data), void *data);

/* For handlers. */
nod_status world_ask(struct run *run, const char *key, const char *message, const char *schema,
                     const struct entry **answer);
nod_status world_step(struct run *run, struct world *world, const char *key, bool at_most_once);
extern struct world *world_now; /* the one under test */

#define world_ask_form                                                                             \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"

#endif
