/*
 * store/memory: the records of calls and asks, and how they are shown.
 *
 * All that belongs to a call is in pieces of memory that are freed together with the call. So what
 * a reply shows (the texts, the asks, the journal as it was) stays where it is for as long as the
 * reply holds the call. Each piece is counted when it is made.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

/* A piece of memory for so many bytes of this call; objects in it need no more alignment than a
 * pointer. */
static void *piece_make(struct memory_store *memory, struct stored_call *call, size_t size)
{
    struct piece *piece = mem_alloc(sizeof(*piece) + size);

    piece->next = call->pieces;
    call->pieces = piece;
    call->bytes += sizeof(*piece) + size;
    memory_count(memory, call->tally, (int64_t)(sizeof(*piece) + size));
    return piece->at;
}

/* Puts a text behind the last, and returns its length. */
static uint32_t text_put(char **at, struct str text)
{
    return (uint32_t)str_place(at, text).len;
}

/* The text at this place; the next one follows. */
static struct str text_next(const char **at, uint32_t len)
{
    struct str text = { *at, len };

    *at += (size_t)len + 1;
    return text;
}

struct stored_call *memory_call_make(struct memory_store *memory, const struct call_record *open,
                                     struct tally *tally)
{
    size_t texts = open->scope.len + open->target.len + open->args.len + open->uri.len +
                   open->caller.len + open->client.len + open->meta.len + 7;
    struct stored_call *call = mem_alloc(sizeof(*call) + texts);
    char *at = call->texts;

    *call = (struct stored_call){ .tally = tally,
                                  .refs = 1,
                                  .bytes = sizeof(*call) + texts,
                                  .id = id_of(open->id),
                                  .kind = (unsigned char)open->kind,
                                  .version = open->version,
                                  .notices = open->notices };
    call->scope_len = text_put(&at, open->scope);
    call->target_len = text_put(&at, open->target);
    call->args_len = text_put(&at, open->args);
    call->uri_len = text_put(&at, open->uri);
    call->caller_len = text_put(&at, open->caller);
    call->client_len = text_put(&at, open->client);
    call->meta_len = text_put(&at, open->meta);
    tally->holders++;
    memory_count(memory, tally, (int64_t)call->bytes);
    return call;
}

struct stored_ask *memory_ask_make(struct memory_store *memory, struct stored_call *call,
                                   const struct ask_record *record)
{
    size_t texts = record->key.len + record->message.len + record->detail.len + record->url.len +
                   record->remember.len + 5;
    struct stored_ask *ask = piece_make(memory, call, sizeof(*ask) + texts);
    char *at = ask->texts;

    *ask = (struct stored_ask){ .call = call,
                                .id = id_of(record->id),
                                .kind = (unsigned char)record->kind,
                                .page = (unsigned char)record->page,
                                .listed = (unsigned char)record->listed,
                                .approver = (unsigned char)record->approver,
                                .turn = record->turn,
                                .consent = record->consent,
                                .sensitive = record->sensitive,
                                .wait_done = record->wait_done,
                                .inner = record->inner,
                                .ttl_ms = record->ttl_ms,
                                .attempts = record->attempts,
                                .attempt = record->attempt,
                                .seq = record->seq };
    ask->key_len = text_put(&at, record->key);
    ask->message_len = text_put(&at, record->message);
    ask->detail_len = text_put(&at, record->detail);
    ask->url_len = text_put(&at, record->url);
    ask->remember_len = text_put(&at, record->remember);
    memcpy(ask->digest, record->digest, DIGEST_BYTES);
    if (call->last_ask)
        call->last_ask->next = ask;
    else
        call->asks = ask;
    call->last_ask = ask;
    call->ask_count++;
    return ask;
}

struct ask_end *memory_ask_end_make(struct memory_store *memory, struct stored_ask *ask,
                                    struct str content, struct str by, struct str via,
                                    struct str note)
{
    size_t texts = by.len + via.len + note.len + content.len + 4;
    struct ask_end *end = piece_make(memory, ask->call, sizeof(*end) + texts);
    char *at = (char *)(end + 1);

    *end = (struct ask_end){ .by = str_place(&at, by),
                             .via = str_place(&at, via),
                             .note = str_place(&at, note),
                             .content = str_place(&at, content) };
    return end;
}

struct call_end *memory_call_end_make(struct memory_store *memory, struct stored_call *call,
                                      struct str result)
{
    struct call_end *end = piece_make(memory, call, sizeof(*end) + result.len + 1);
    char *at = (char *)(end + 1);

    *end = (struct call_end){ .call = call, .result = str_place(&at, result) };
    list_init(&end->of_tally);
    return end;
}

void memory_call_free(struct memory_store *memory, struct stored_call *call)
{
    for (struct piece *piece = call->pieces, *next; piece; piece = next) {
        next = piece->next;
        mem_free(piece);
    }
    memory_count(memory, call->tally, -(int64_t)call->bytes);
    memory_tally_release(memory, call->tally);
    mem_free(call);
}

/* --- the journal --- */

/* Places for so many more entries. If the journal has to move, the old one stays for those who look
 * at it. */
static struct entry *journal_more(struct memory_store *memory, struct stored_call *call,
                                  size_t count)
{
    uint32_t least = call->entry_count + (uint32_t)count, room = call->entry_room * 2;

    if (least > call->entry_room) {
        const struct entry *before = call->entries;
        call->entry_room = room > least ? room : least;
        call->entries = piece_make(memory, call, call->entry_room * sizeof(*before));
        if (before)
            memcpy(call->entries, before, call->entry_count * sizeof(*before));
    }
    call->entry_count = least;
    return call->entries + least - count;
}

void memory_journal_add(struct memory_store *memory, struct stored_call *call,
                        const struct entry *entries, size_t count)
{
    if (count == 0)
        return;
    struct entry *to = journal_more(memory, call, count);
    char *at = piece_make(memory, call, entries_text_bytes(entries, count));
    entries_copy(to, entries, count, &at);
}

void memory_journal_ask(struct memory_store *memory, const struct stored_ask *ask)
{
    struct entry *entry = journal_more(memory, ask->call, 1);

    *entry = (struct entry){ .class = ENTRY_ASK,
                             .key = { ask->texts, ask->key_len },
                             .state = ask->end->state,
                             .number = ask->ttl_ms,
                             .ask_id = id_str(&ask->id),
                             .content = ask->end->content,
                             .by = ask->end->by,
                             .note = ask->end->note,
                             .sensitive = ask->sensitive };
    memcpy(entry->digest, ask->digest, DIGEST_BYTES);
}

/* --- how they look --- */

struct call_record memory_call_view(const struct stored_call *call)
{
    const char *at = call->texts;
    struct call_record record = { .id = id_str(&call->id),
                                  .principal = call->tally->name,
                                  .kind = (enum target_kind)call->kind,
                                  .version = call->version,
                                  .notices = call->notices,
                                  .entries = call->entries,
                                  .entry_count = call->entry_count,
                                  .state = (enum call_state)call->state,
                                  .epoch = call->epoch,
                                  .result = call->end ? call->end->result : STR_NONE,
                                  .opened_ms = call->opened_ms,
                                  .keep_until_ms = call->keep_until,
                                  .handed = call->handed,
                                  .node = call->gone ? STR("gone") : STR_NONE,
                                  .deaths = deaths_unpack(call->deaths) };

    record.scope = text_next(&at, call->scope_len);
    record.target = text_next(&at, call->target_len);
    record.args = text_next(&at, call->args_len);
    record.uri = text_next(&at, call->uri_len);
    record.caller = text_next(&at, call->caller_len);
    record.client = text_next(&at, call->client_len);
    record.meta = text_next(&at, call->meta_len);
    return record;
}

struct ask_record memory_ask_view(const struct stored_ask *ask)
{
    static const struct ask_end pending = { .state = ASK_PENDING };
    const struct ask_end *end = ask->end ? ask->end : &pending;
    const char *at = ask->texts, *at_call = ask->call->texts;
    struct ask_record record = { .id = id_str(&ask->id),
                                 .call_id = id_str(&ask->call->id),
                                 .call_version = ask->call->version,
                                 .principal = ask->call->tally->name,
                                 .kind = (enum ask_kind)ask->kind,
                                 .consent = ask->consent,
                                 .sensitive = ask->sensitive,
                                 .wait_done = ask->wait_done,
                                 .inner = ask->inner,
                                 .page = (enum ask_page)ask->page,
                                 .approver = ask->approver,
                                 .turn = ask->turn,
                                 .listed = (enum ask_listed)ask->listed,
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

    record.scope = text_next(&at_call, ask->call->scope_len);
    record.target = text_next(&at_call, ask->call->target_len);
    record.key = text_next(&at, ask->key_len);
    record.message = text_next(&at, ask->message_len);
    record.detail = text_next(&at, ask->detail_len);
    record.url = text_next(&at, ask->url_len);
    record.remember = text_next(&at, ask->remember_len);
    memcpy(record.digest, ask->digest, DIGEST_BYTES);
    return record;
}
