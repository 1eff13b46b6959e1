/*
 * tests/sim/snapshot: a reply as it was when the store gave it.
 *
 * A reply on its way shows what was, not what is: if it comes late, the node must notice that it is
 * old. So everything in it is copied at the moment of the transition.
 */
#include "sim.h"

#include "base/mem.h"

enum { MESSAGE_BYTES_MAX = 1 << 20 };

struct message *message_new(struct node *node, store_done *done, void *data)
{
    struct message *message = MEM_NEW(struct message);

    list_init(&message->link);
    message->refs = 1;
    message->node = node;
    message->done = done;
    message->data = data;
    arena_init(&message->arena, MESSAGE_BYTES_MAX);
    return message;
}

void message_free(struct message *message)
{
    if (!message || --message->refs > 0)
        return;
    list_remove(&message->link);
    arena_finish(&message->arena);
    mem_free(message);
}

struct message *message_keep(const struct store_reply *reply)
{
    struct message *message =
        (struct message *)(void *)((char *)(uintptr_t)reply - offsetof(struct message, reply));

    message->refs++;
    return message;
}

static const struct entry *journal_copy(struct arena *arena, const struct entry *entries,
                                        size_t count)
{
    struct entry *copy = arena_zalloc(arena, (count + 1) * sizeof(*copy));

    for (size_t i = 0; i < count; i++) {
        copy[i] = entries[i];
        copy[i].key = arena_str(arena, entries[i].key);
        copy[i].ask_id = arena_str(arena, entries[i].ask_id);
        copy[i].content = arena_str(arena, entries[i].content);
        copy[i].by = arena_str(arena, entries[i].by);
    }
    return copy;
}

static const struct call_record *call_copy(struct arena *arena, const struct call_record *call)
{
    struct call_record *copy = ARENA_NEW(arena, struct call_record);

    *copy = *call;
    copy->id = arena_str(arena, call->id);
    copy->principal = arena_str(arena, call->principal);
    copy->scope = arena_str(arena, call->scope);
    copy->target = arena_str(arena, call->target);
    copy->args = arena_str(arena, call->args);
    copy->uri = arena_str(arena, call->uri);
    copy->caller = arena_str(arena, call->caller);
    copy->client = arena_str(arena, call->client);
    copy->meta = arena_str(arena, call->meta);
    copy->result = arena_str(arena, call->result);
    copy->node = arena_str(arena, link_owner(call->id));
    copy->entries = journal_copy(arena, call->entries, call->entry_count);
    return copy;
}

static const struct ask_record *ask_copy(struct arena *arena, const struct ask_record *ask)
{
    struct ask_record *copy = ARENA_NEW(arena, struct ask_record);

    *copy = *ask;
    copy->id = arena_str(arena, ask->id);
    copy->call_id = arena_str(arena, ask->call_id);
    copy->key = arena_str(arena, ask->key);
    copy->principal = arena_str(arena, ask->principal);
    copy->scope = arena_str(arena, ask->scope);
    copy->target = arena_str(arena, ask->target);
    copy->message = arena_str(arena, ask->message);
    copy->detail = arena_str(arena, ask->detail);
    copy->url = arena_str(arena, ask->url);
    copy->content = arena_str(arena, ask->content);
    copy->by = arena_str(arena, ask->by);
    copy->via = arena_str(arena, ask->via);
    return copy;
}

void message_fill(void *data, nod_status status, const struct store_reply *reply)
{
    struct message *message = data;
    struct arena *arena = &message->arena;

    message->status = status;
    if (!reply)
        return;
    message->reply = *reply;
    if (reply->call)
        message->reply.call = call_copy(arena, reply->call);
    if (reply->ask)
        message->reply.ask = ask_copy(arena, reply->ask);
    if (reply->claimed_count) {
        struct claimed *claimed =
            arena_zalloc(arena, reply->claimed_count * sizeof(struct claimed));
        for (size_t i = 0; i < reply->claimed_count; i++) {
            claimed[i] = reply->claimed[i];
            if (reply->claimed[i].ask)
                claimed[i].ask = ask_copy(arena, reply->claimed[i].ask);
        }
        message->reply.claimed = claimed;
    }
    message->reply.value = arena_str(arena, reply->value);
}

static struct store_row *row_add(struct message *message)
{
    if (message->row_count == message->row_room) {
        size_t room = message->row_room ? message->row_room * 2 : 8;
        struct store_row *rows = arena_zalloc(&message->arena, room * sizeof(*rows));
        for (size_t i = 0; i < message->row_count; i++)
            rows[i] = message->rows[i];
        message->rows = rows;
        message->row_room = room;
    }
    return &message->rows[message->row_count++];
}

void message_row(void *data, const struct store_row *row)
{
    struct message *message = data;
    struct store_row *copy = row_add(message);

    *copy = (struct store_row){ 0 };
    if (row->call)
        copy->call = call_copy(&message->arena, row->call);
    if (row->ask)
        copy->ask = ask_copy(&message->arena, row->ask);
    if (row->value) {
        struct store_value *value = ARENA_NEW(&message->arena, struct store_value);
        *value = (struct store_value){ .key = arena_str(&message->arena, row->value->key),
                                       .value = arena_str(&message->arena, row->value->value),
                                       .version = row->value->version };
        copy->value = value;
    }
}
