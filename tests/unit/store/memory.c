/* tests/unit/store/memory: the store suite against the memory store, with a clock moved by hand. */
#include "suite.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/memory.h"
#include "../runner.h"

struct memory_rig {
    struct store_rig rig; /* first */
    struct fake_clock clock;
    struct {
        void (*fn)(void *data);
        void *data;
    } * queue;
    size_t queued, room;
};

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    struct memory_rig *rig = ctx;

    if (rig->queued == rig->room) {
        rig->room = rig->room ? rig->room * 2 : 64;
        rig->queue = mem_realloc(rig->queue, rig->room * sizeof(rig->queue[0]));
    }
    rig->queue[rig->queued].fn = fn;
    rig->queue[rig->queued].data = data;
    rig->queued++;
}

static void begin(struct store_rig *base)
{
    struct memory_rig *rig = (struct memory_rig *)base;

    fake_clock_init(&rig->clock, 1700000000000);
}

static struct store *open_store(struct store_rig *base)
{
    struct memory_rig *rig = (struct memory_rig *)base;

    return memory_store_create(
        &(struct memory_opts){ .clock = &rig->clock.clock,
                               .defer = defer,
                               .defer_ctx = rig,
                               .keep_most = 100000,
                               .pending_asks = base->pending_asks,
                               .kept_bytes = base->kept_bytes,
                               .kept_bytes_per_principal = base->kept_bytes_per_principal,
                               .keep_ms = base->keep_ms,
                               .pending_asks_per_principal = base->pending_asks_per_principal });
}

static void turn(struct store_rig *base)
{
    struct memory_rig *rig = (struct memory_rig *)base;

    for (size_t i = 0; i < rig->queued; i++)
        rig->queue[i].fn(rig->queue[i].data);
    rig->queued = 0;
}

static void advance(struct store_rig *base, int64_t ms)
{
    fake_clock_advance(&((struct memory_rig *)base)->clock, ms);
}

static void end(struct store_rig *base)
{
    struct memory_rig *rig = (struct memory_rig *)base;

    turn(base);
    mem_free(rig->queue);
    rig->queue = NULL;
    rig->room = 0;
}

static void lose(struct store_rig *rig, const struct id *call)
{
    (void)rig;
    memory_store_lose(suite_store, id_str(call), true);
}

SUBJECT(memory)
{
    struct memory_rig rig = { .rig = { .name = "memory",
                                       .quotas = true,
                                       .bytes = true,
                                       .by_hand = true,
                                       .begin = begin,
                                       .open = open_store,
                                       .turn = turn,
                                       .advance = advance,
                                       .end = end,
                                       .lose = lose } };

    return store_suite(&rig.rig);
}
