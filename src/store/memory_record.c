/*
 * store/memory: the records of calls and asks, and how they are shown.
 *
 * The journal of a call is kept in two parts. The entries of questions are made from the asks
 * themselves, each of which knows its place in the journal. Only the other entries are kept as
 * such. The two are put together when somebody looks.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

struct stored_call *memory_call_make(const struct call_record *open)
{
    size_t texts = open->scope.len + open->target.len + open->args.len + open->uri.len +
                   open->caller.len + open->client.len + 6;
    struct stored_call *call = mem_alloc(sizeof(*call) + texts);
    char *at = (char *)(call + 1);

    *call = (struct stored_call){ .id = id_of(open->id),
                                  .kind = (unsigned char)open->kind,
                                  .notices = open->notices,
                                  .scope = str_place(&at, open->scope),
                                  .target = str_place(&at, open->target),
                                  .args = str_place(&at, open->args),
                                  .uri = str_place(&at, open->uri),
                                  .caller = str_place(&at, open->caller),
                                  .client = str_place(&at, open->client) };
    return call;
}

struct stored_ask *memory_ask_make(const struct ask_record *record)
{
    size_t texts = record->key.len + record->message.len + record->detail.len + record->url.len +
                   record->remember.len + 5;
    struct stored_ask *ask = mem_alloc(sizeof(*ask) + texts);
    char *at = (char *)(ask + 1);

    *ask = (struct stored_ask){ .id = id_of(record->id),
                                .kind = (unsigned char)record->kind,
                                .page = (unsigned char)record->page,
                                .listed = (unsigned char)record->listed,
                                .approver = (unsigned char)record->approver,
                                .turn = (unsigned char)record->turn,
                                .consent = record->consent,
                                .sensitive = record->sensitive,
                                .wait_done = record->wait_done,
                                .ttl_ms = record->ttl_ms,
                                .attempts = record->attempts,
                                .attempt = record->attempt,
                                .seq = record->seq,
                                .key = str_place(&at, record->key),
                                .message = str_place(&at, record->message),
                                .detail = str_place(&at, record->detail),
                                .url = str_place(&at, record->url),
                                .remember = str_place(&at, record->remember) };
    memcpy(ask->digest, record->digest, DIGEST_BYTES);
    return ask;
}

struct ask_end *memory_ask_end_make(struct str content, struct str by, struct str via,
                                    struct str note)
{
    struct ask_end *end = mem_alloc(sizeof(*end) + by.len + via.len + note.len + content.len + 4);
    char *at = (char *)(end + 1);

    *end = (struct ask_end){ .by = str_place(&at, by),
                             .via = str_place(&at, via),
                             .note = str_place(&at, note),
                             .content = str_place(&at, content) };
    return end;
}

struct call_end *memory_call_end_make(struct str result)
{
    struct call_end *end = mem_alloc(sizeof(*end) + result.len + 1);
    char *at = (char *)(end + 1);

    *end = (struct call_end){ .result = str_place(&at, result) };
    list_init(&end->in_all);
    list_init(&end->of_tally);
    return end;
}

void memory_call_free(struct memory_store *memory, struct stored_call *call)
{
    for (struct stored_ask *ask = call->asks, *next; ask; ask = next) {
        next = ask->next;
        mem_free(ask->end);
        mem_free(ask);
    }
    memory_bytes_drop(memory, call);
    memory_tally_release(memory, call->tally);
    mem_free(call->entries);
    mem_free(call->end);
    mem_free(call);
}

/* --- how they look --- */

/* The journal entry of an ask that was claimed. */
static struct entry entry_of(const struct stored_ask *ask)
{
    struct entry entry = { .class = ENTRY_ASK,
                           .key = ask->key,
                           .state = ask->end->state,
                           .number = ask->ttl_ms,
                           .ask_id = id_str(&ask->id),
                           .content = ask->end->content,
                           .by = ask->end->by,
                           .note = ask->end->note,
                           .sensitive = ask->sensitive };

    memcpy(entry.digest, ask->digest, DIGEST_BYTES);
    return entry;
}

/* The asks have their places; the other entries fill the rest, in their order. */
static void journal_view(const struct stored_call *call, struct entry *entries, size_t count)
{
    const struct entry *other = call->entries;

    for (size_t i = 0; i < count; i++)
        entries[i].key = STR_NONE;
    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next)
        if (ask->end && ask->end->place)
            entries[ask->end->place - 1] = entry_of(ask);
    for (size_t i = 0; i < count; i++)
        if (!entries[i].key.at)
            entries[i] = *other++;
}

void memory_call_view(const struct stored_call *call, struct call_view *view)
{
    struct entry *entries = view->few;

    view->record = (struct call_record){
        .id = id_str(&call->id),
        .principal = memory_principal(call),
        .scope = call->scope,
        .kind = (enum target_kind)call->kind,
        .target = call->target,
        .args = call->args,
        .uri = call->uri,
        .caller = call->caller,
        .client = call->client,
        .notices = call->notices,
        .entries = call->entries,
        .entry_count = memory_journal_count(call),
        .state = (enum call_state)call->state,
        .epoch = call->epoch,
        .result = call->end ? call->end->result : STR_NONE,
        .opened_ms = call->opened_ms,
        .keep_until_ms = call->keep_until,
        .handed = call->handed,
        .node = call->gone ? STR("gone") : STR_NONE, /* it knows one node alone */
        .deaths = deaths_unpack(call->deaths),
    };
    view->many = NULL;
    if (call->claimed == 0)
        return;
    if (view->record.entry_count > sizeof(view->few) / sizeof(view->few[0]))
        entries = view->many = mem_alloc(view->record.entry_count * sizeof(struct entry));
    journal_view(call, entries, view->record.entry_count);
    view->record.entries = entries;
}

void memory_call_view_finish(struct call_view *view)
{
    mem_free(view->many);
}

struct ask_record memory_ask_view(const struct stored_ask *ask)
{
    static const struct ask_end pending = { .state = ASK_PENDING };
    const struct ask_end *end = ask->end ? ask->end : &pending;
    struct ask_record record = { .id = id_str(&ask->id),
                                 .call_id = id_str(&ask->call->id),
                                 .key = ask->key,
                                 .principal = memory_principal(ask->call),
                                 .scope = ask->call->scope,
                                 .kind = (enum ask_kind)ask->kind,
                                 .consent = ask->consent,
                                 .sensitive = ask->sensitive,
                                 .wait_done = ask->wait_done,
                                 .page = (enum ask_page)ask->page,
                                 .approver = ask->approver,
                                 .turn = ask->turn,
                                 .listed = (enum ask_listed)ask->listed,
                                 .target = ask->call->target,
                                 .message = ask->message,
                                 .detail = ask->detail,
                                 .url = ask->url,
                                 .remember = ask->remember,
                                 .ttl_ms = ask->ttl_ms,
                                 .attempts = ask->attempts,
                                 .attempt = ask->attempt,
                                 .seq = ask->seq,
                                 .asked_ms = ask->asked_ms,
                                 .expires_ms = ask->expires_ms,
                                 .state = end->state,
                                 .content = end->content,
                                 .by = end->by,
                                 .via = end->via,
                                 .note = end->note,
                                 .ended_ms = end->ended_ms };

    memcpy(record.digest, ask->digest, DIGEST_BYTES);
    return record;
}
