/* tests/unit/accounts/node_store: see node_store.h. */
#include "node_store.h"

#include "net/loop.h"
#include "store/memory.h"

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

struct store *node_store_create(const struct clock *clock, struct loop *loop)
{
    return memory_store_create(
        &(struct memory_opts){ .clock = clock, .defer = defer, .defer_ctx = loop });
}
