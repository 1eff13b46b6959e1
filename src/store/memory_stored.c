/*
 * store/memory: the records of calls that have not ended, and how they look to others.
 *
 * The journal of a call is kept in two parts: what its questions have led to is said by the asks
 * themselves, each of which knows its place in the journal; only the other entries are kept as
 * such. They are put together when somebody looks.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

static size_t texts_len(const struct str *texts, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += texts[i].len + 1;
    return bytes;
}

static void texts_place(char *at, uint32_t *lens, const struct str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lens[i] = (uint32_t)str_place(&at, texts[i]).len;
}

struct stored_call *memory_call_make(const struct str texts[CALL_TEXTS])
{
    struct stored_call *call = mem_alloc(sizeof(*call) + texts_len(texts, CALL_TEXTS));

    *call = (struct stored_call){ 0 };
    texts_place(call->text, call->is.text_len, texts, CALL_TEXTS);
    return call;
}

void memory_call_append(struct stored_call *call, struct stored_ask *ask)
{
    ask->call = call;
    ask->next = NULL;
    if (call->last_ask)
        call->last_ask->next = ask;
    else
        call->asks = ask;
    call->last_ask = ask;
}

struct stored_ask *memory_ask_make(const struct str texts[ASK_TEXTS])
{
    struct stored_ask *ask = mem_alloc(sizeof(*ask) + texts_len(texts, ASK_TEXTS));

    *ask = (struct stored_ask){ 0 };
    texts_place(ask->text, ask->is.text_len, texts, ASK_TEXTS);
    return ask;
}

struct ask_end *memory_end_make(struct str content, struct str by)
{
    struct ask_end *end = mem_alloc(sizeof(*end) + by.len + content.len + 2);
    char *at = end->text;

    end->is = (struct ask_ending){ 0 };
    end->is.by_len = (uint32_t)str_place(&at, by).len;
    end->is.content_len = (uint32_t)str_place(&at, content).len;
    return end;
}

void memory_call_free(struct memory_store *memory, struct stored_call *call)
{
    for (struct stored_ask *ask = call->asks, *next; ask; ask = next) {
        next = ask->next;
        mem_free(ask->end);
        mem_free(ask);
    }
    memory_tally_release(memory, call->is.tally);
    mem_free(call->entries);
    mem_free(call->result);
    mem_free(call);
}

/* --- how they look ------------------------------------------------------------------------------
 */

static struct str text_next(const char **at, uint32_t len)
{
    struct str s = str_n(*at, len);

    *at += len + 1;
    return s;
}

static struct str end_by(const struct ask_end *end)
{
    return str_n(end->text, end->is.by_len);
}

static struct str end_content(const struct ask_end *end)
{
    return str_n(end->text + end->is.by_len + 1, end->is.content_len);
}

/* What the journal says of an ask that was claimed. */
static void entry_of(const struct stored_ask *ask, struct entry *entry)
{
    entry->class = ENTRY_ASK;
    entry->key = str_n(ask->text, ask->is.text_len[TEXT_KEY]); /* the first of its texts */
    memcpy(entry->digest, ask->is.digest, DIGEST_BYTES);
    entry->state = memory_ask_state(ask);
    entry->status = NOD_OK;
    entry->number = ask->is.ttl_ms;
    entry->ask_id = id_str(&ask->is.id);
    entry->content = end_content(ask->end);
    entry->by = end_by(ask->end);
    entry->sensitive = ask->is.sensitive;
}

/* The asks have their places; the other entries have those that are left, in their order. */
static void journal_view(const struct stored_call *call, struct entry *entries, size_t count)
{
    const struct entry *other = call->entries;

    for (size_t i = 0; i < count; i++)
        entries[i].key = STR_NONE;
    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next)
        if (ask->end && ask->end->is.place)
            entry_of(ask, &entries[ask->end->is.place - 1]);
    for (size_t i = 0; i < count; i++)
        if (!entries[i].key.at)
            entries[i] = *other++;
}

void memory_call_view(const struct stored_call *call, struct call_view *view)
{
    struct call_record *record = &view->record;
    const uint32_t *len = call->is.text_len;
    const char *at = call->text;

    record->id = id_str(&call->is.id);
    record->principal = memory_principal(call);
    record->scope = text_next(&at, len[TEXT_SCOPE]);
    record->target = text_next(&at, len[TEXT_TARGET]);
    record->args = text_next(&at, len[TEXT_ARGS]);
    record->uri = text_next(&at, len[TEXT_URI]);
    record->caller = text_next(&at, len[TEXT_CALLER]);
    record->kind = (enum target_kind)call->is.kind;
    record->keep_ms = call->is.keep_ms;
    record->notices = call->is.notices;
    record->state = (enum call_state)call->is.state;
    record->epoch = call->is.epoch;
    record->result = str_n(call->result, call->result_len);
    record->opened_ms = call->is.opened_ms;
    record->entry_count = memory_journal_count(call);
    record->entries = call->entries;
    view->many = NULL;
    if (call->claimed == 0)
        return;
    struct entry *entries = view->few;
    if (record->entry_count > sizeof(view->few) / sizeof(view->few[0]))
        entries = view->many = mem_alloc(record->entry_count * sizeof(struct entry));
    journal_view(call, entries, record->entry_count);
    record->entries = entries;
}

void memory_call_view_finish(struct call_view *view)
{
    mem_free(view->many);
}

void memory_ask_view(const struct stored_ask *ask, struct ask_record *record)
{
    const struct stored_call *call = ask->call;
    const struct ask_facts *is = &ask->is;
    const char *at = call->text;

    record->id = id_str(&is->id);
    record->call_id = id_str(&call->is.id);
    record->principal = memory_principal(call);
    record->kind = (enum ask_kind)is->kind;
    record->consent = is->consent;
    record->sensitive = is->sensitive;
    record->wait_done = is->wait_done;
    record->ttl_ms = is->ttl_ms;
    record->attempts = is->attempts;
    record->attempt = is->attempt;
    record->seq = is->seq;
    record->asked_ms = is->asked_ms;
    record->expires_ms = is->expires_ms;
    record->state = memory_ask_state(ask);
    record->scope = text_next(&at, call->is.text_len[TEXT_SCOPE]);
    record->target = text_next(&at, call->is.text_len[TEXT_TARGET]);
    at = ask->text;
    record->key = text_next(&at, is->text_len[TEXT_KEY]);
    record->message = text_next(&at, is->text_len[TEXT_MESSAGE]);
    record->detail = text_next(&at, is->text_len[TEXT_DETAIL]);
    record->url = text_next(&at, is->text_len[TEXT_URL]);
    memcpy(record->digest, is->digest, DIGEST_BYTES);
    record->content = ask->end ? end_content(ask->end) : STR_NONE;
    record->by = ask->end ? end_by(ask->end) : STR_NONE;
    record->ended_ms = ask->end ? ask->end->is.ended_ms : 0;
}
