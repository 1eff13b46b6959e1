/*
 * store/sqlite: tells a watcher of the asks what an operation has changed.
 *
 * One process owns the file, so there is nothing to tell but what this process has stored. It is
 * told on the loop, after the completion, from what the operation holds anyway. There is no queue.
 */
#include "store/sqlite_inside.h"

#include "base/mem.h"

static void hints_tell_one(struct sqlite_mailbox *mailbox, const struct ask_hint *hint)
{
    if (mailbox->store && mailbox->store->told)
        mailbox->store->told(mailbox->store->told_data, hint);
}

static void tell_ask(struct sqlite_mailbox *mailbox, const struct ask_record *ask, bool ended)
{
    if (!mailbox->store || !mailbox->store->told)
        return;
    hints_tell_one(mailbox, &(struct ask_hint){ .ask_id = ask->id,
                                                .call_id = ask->call_id,
                                                .owner = store_owner(ask->principal),
                                                .ended = ended });
}

/* The number in the file is the same digest, as this machine reads it. */
static uint64_t owner_of_row(int64_t stored)
{
    unsigned char bytes[sizeof(stored)];
    uint64_t owner = 0;

    memcpy(bytes, &stored, sizeof(stored));
    for (size_t i = 0; i < sizeof(bytes); i++)
        owner = owner << 8 | bytes[i];
    return owner;
}

void sqlite_hints_tell(struct sqlite_mailbox *mailbox, const struct sqlite_op *op)
{
    for (size_t i = 0; i < op->ask_count; i++)
        tell_ask(mailbox, &op->asks[i], false);
    for (size_t i = 0; i < op->reply.claimed_count; i++)
        if (op->reply.claimed[i].won &&
            (op->claim.items[i].turn || op->reply.claimed[i].ask->state != ASK_PENDING))
            tell_ask(mailbox, op->reply.claimed[i].ask, !op->claim.items[i].turn);
    for (size_t i = 0; i < op->withdrawn_count; i++)
        hints_tell_one(mailbox, &(struct ask_hint){ .ask_id = op->withdrawn[i],
                                                    .call_id = op->id,
                                                    .owner = owner_of_row(op->owner),
                                                    .ended = true });
}

static void look_again(void *data)
{
    struct sqlite_mailbox *mailbox = data;

    hints_tell_one(mailbox, NULL);
    if (atomic_fetch_sub(&mailbox->refs, 1) == 1)
        mem_free(mailbox);
}

void sqlite_watch_asks(struct store *base, void (*told)(void *data, const struct ask_hint *hint),
                       void *data)
{
    struct sqlite_store *store = (struct sqlite_store *)(void *)base;

    store->told = told;
    store->told_data = data;
    if (!told)
        return;
    atomic_fetch_add(&store->mailbox->refs, 1);
    loop_defer(store->loop, look_again, store->mailbox);
}
