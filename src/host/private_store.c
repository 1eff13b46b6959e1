/*
 * host/private_store: where a server keeps what only handlers see: secrets that people gave, and
 * tokens of connected accounts.
 *
 * With a secret of the operator's that is the server's own store, under the server's own keys.
 * Without one there would be nothing to seal with that outlives the process: then it is a store in
 * memory, under a key that is made here and told to nobody, and the log says so.
 */
#include "host/host.h"
#include "core/secret.h"
#include "crypto/seal.h"
#include "store/memory.h"

static void defer_on_loop(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

bool host_open_private(nod_server *server)
{
    bool sealed = server->ring != NULL;

    server->private_ring = sealed ? keyring_copy(server->ring) : keyring_random();
    if (!server->private_ring)
        return false;
    server->private_store = server->store;
    if (!sealed)
        server->private_store = memory_store_create(&(struct memory_opts){
            .clock = clock_held(), .defer = defer_on_loop, .defer_ctx = server->loop });
    server->private_last = sealed && (server->store->ops->durable || server->store->ops->shared);
    engine_use_secrets(server->engine, &(struct secrets_opts){ .store = server->private_store,
                                                               .ring = server->private_ring,
                                                               .last = server->private_last });
    return true;
}

void host_close_private(nod_server *server)
{
    if (server->private_store && server->private_store != server->store)
        server->private_store->ops->destroy(server->private_store);
    server->private_store = NULL;
}
