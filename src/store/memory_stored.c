/*
 * store/memory: the records of calls that have not ended, and how all records are shown.
 *
 * The journal of a call is kept in two parts. The entries of questions are made from the asks
 * themselves, each of which knows its place in the journal. Only the other entries are kept as
 * such. The two are put together when somebody looks.
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

struct ask_end *memory_end_make(struct str content, struct str by, struct str via, struct str note)
{
    struct ask_end *end = mem_alloc(sizeof(*end) + by.len + content.len + via.len + note.len + 4);
    char *at = end->text;

    end->is = (struct ask_ending){ 0 };
    end->is.by_len = (uint32_t)str_place(&at, by).len;
    end->is.via_len = (uint32_t)str_place(&at, via).len;
    end->is.note_len = (uint32_t)str_place(&at, note).len;
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
    memory_bytes_drop(memory, &call->is);
    memory_tally_release(memory, call->is.tally);
    mem_free(call->entries);
    mem_free(call->result);
    mem_free(call);
}

/* --- how they look --- */

static struct str text_next(const char **at, uint32_t len)
{
    struct str s = str_n(*at, len);

    *at += len + 1;
    return s;
}

static void look_at(struct ask_look *look, struct stored_ask *ask)
{
    const uint32_t *len = ask->is.text_len;

    look->call = &ask->call->is;
    look->is = &ask->is;
    look->end = memory_ask_ending(&ask->is);
    look->text = ask->text;
    look->detail = ask->text + len[TEXT_KEY] + 1 + len[TEXT_MESSAGE] + 1;
    look->url = look->detail + len[TEXT_DETAIL] + 1;
    look->ended = ask->end ? ask->end->text : NULL;
}

bool memory_ask_first(struct call_facts *call, struct ask_look *look)
{
    if (call->packed)
        return memory_packed_first(memory_ended_call(call), look);
    if (!memory_stored_call(call)->asks)
        return false;
    look_at(look, memory_stored_call(call)->asks);
    return true;
}

bool memory_ask_next(struct ask_look *look)
{
    if (look->is->packed)
        return memory_packed_next(look);
    struct stored_ask *next = memory_stored_ask(look->is)->next;
    if (!next)
        return false;
    look_at(look, next);
    return true;
}

void memory_ask_look(struct ask_facts *ask, struct ask_look *look)
{
    if (!ask->packed) {
        look_at(look, memory_stored_ask(ask));
        return;
    }
    memory_packed_first(memory_packed_of(ask), look);
    while (look->is != ask)
        memory_packed_next(look);
}

static enum ask_state look_state(const struct ask_look *look)
{
    return look->end ? (enum ask_state)look->end->state : ASK_PENDING;
}

static struct str look_by(const struct ask_look *look)
{
    return look->end ? str_n(look->ended, look->end->by_len) : STR_NONE;
}

static struct str look_content(const struct ask_look *look)
{
    const struct ask_ending *end = look->end;

    return end ? str_n(look->ended + end->by_len + 1 + end->via_len + 1 + end->note_len + 1,
                       end->content_len)
               : STR_NONE;
}

static struct str look_note(const struct ask_look *look)
{
    const struct ask_ending *end = look->end;

    return end ? str_n(look->ended + end->by_len + 1 + end->via_len + 1, end->note_len) : STR_NONE;
}

static struct str look_via(const struct ask_look *look)
{
    return look->end ? str_n(look->ended + look->end->by_len + 1, look->end->via_len) : STR_NONE;
}

/* The journal entry of an ask that was claimed. */
static void entry_of(const struct ask_look *look, struct entry *entry)
{
    entry->class = ENTRY_ASK;
    entry->key = str_n(look->text, look->is->text_len[TEXT_KEY]); /* the first of its texts */
    memcpy(entry->digest, look->is->digest, DIGEST_BYTES);
    entry->state = look_state(look);
    entry->status = NOD_OK;
    entry->number = look->is->ttl_ms;
    entry->ask_id = id_str(&look->is->id);
    entry->content = look_content(look);
    entry->by = look_by(look);
    entry->note = look_note(look);
    entry->sensitive = look->is->sensitive;
}

/* The asks have their places; the other entries fill the rest, in their order. */
static void journal_view(struct call_facts *call, const struct entry *other, struct entry *entries,
                         size_t count)
{
    struct ask_look look;

    for (size_t i = 0; i < count; i++)
        entries[i].key = STR_NONE;
    for (bool more = memory_ask_first(call, &look); more; more = memory_ask_next(&look))
        if (look.end && look.end->place)
            entry_of(&look, &entries[look.end->place - 1]);
    for (size_t i = 0; i < count; i++)
        if (!entries[i].key.at)
            entries[i] = *other++;
}

struct call_look { /* a call, packed or not, and where its parts are */
    const char *text;
    struct str result;
    const struct entry *entries;
    size_t entry_count;
    size_t claimed; /* as in a stored_call */
};

static struct call_look look_of_packed(const struct ended_call *packed)
{
    size_t claimed = 0;

    for (uint32_t i = 0; i < packed->is.ask_count; i++)
        claimed += packed->asks[i].end.place != 0;
    return (struct call_look){ .text = memory_packed_text(packed),
                               .result = memory_packed_result(packed),
                               .entries = packed->entries,
                               .entry_count = packed->entry_count,
                               .claimed = claimed };
}

static struct call_look look_of(struct call_facts *call)
{
    if (call->packed)
        return look_of_packed(memory_ended_call(call));
    const struct stored_call *stored = memory_stored_call(call);
    return (struct call_look){ .text = stored->text,
                               .result = str_n(stored->result, stored->result_len),
                               .entries = stored->entries,
                               .entry_count = stored->entry_count,
                               .claimed = stored->claimed };
}

void memory_call_view(struct call_facts *call, struct call_view *view)
{
    struct call_record *record = &view->record;
    const struct call_look look = look_of(call);
    const uint32_t *len = call->text_len;
    const char *at = look.text;

    record->id = id_str(&call->id);
    record->principal = memory_principal(call);
    record->scope = text_next(&at, len[TEXT_SCOPE]);
    record->target = text_next(&at, len[TEXT_TARGET]);
    record->args = text_next(&at, len[TEXT_ARGS]);
    record->uri = text_next(&at, len[TEXT_URI]);
    record->caller = text_next(&at, len[TEXT_CALLER]);
    record->client = text_next(&at, len[TEXT_CLIENT]);
    record->version = 0;
    record->kind = (enum target_kind)call->kind;
    record->keep_until_ms = call->keep_until;
    record->handed = call->handed;
    record->node = call->gone ? STR("gone") : STR_NONE; /* it knows one node alone */
    record->deaths = deaths_unpack(call->deaths);
    record->forgotten = false;
    record->notices = call->notices;
    record->state = (enum call_state)call->state;
    record->epoch = call->epoch;
    record->result = look.result;
    record->opened_ms = call->opened_ms;
    record->entry_count = look.entry_count + look.claimed;
    record->entries = look.entries;
    view->many = NULL;
    if (look.claimed == 0)
        return;
    struct entry *entries = view->few;
    if (record->entry_count > sizeof(view->few) / sizeof(view->few[0]))
        entries = view->many = mem_alloc(record->entry_count * sizeof(struct entry));
    journal_view(call, look.entries, entries, record->entry_count);
    record->entries = entries;
}

void memory_call_view_finish(struct call_view *view)
{
    mem_free(view->many);
}

void memory_ask_view(const struct ask_look *look, struct ask_record *record)
{
    struct call_facts *call = look->call;
    const struct ask_facts *is = look->is;
    const char *at =
        call->packed ? memory_packed_text(memory_ended_call(call)) : memory_stored_call(call)->text;

    record->id = id_str(&is->id);
    record->call_id = id_str(&call->id);
    record->principal = memory_principal(call);
    record->kind = (enum ask_kind)is->kind;
    record->consent = is->consent;
    record->sensitive = is->sensitive;
    record->wait_done = is->wait_done;
    record->approver = is->approver;
    record->turn = is->turn;
    record->listed = (enum ask_listed)is->listed;
    record->page = (enum ask_page)is->page;
    record->ttl_ms = is->ttl_ms;
    record->attempts = is->attempts;
    record->attempt = is->attempt;
    record->seq = is->seq;
    record->asked_ms = is->asked_ms;
    record->expires_ms = is->expires_ms;
    record->state = look_state(look);
    record->scope = text_next(&at, call->text_len[TEXT_SCOPE]);
    record->target = text_next(&at, call->text_len[TEXT_TARGET]);
    at = look->text;
    record->key = text_next(&at, is->text_len[TEXT_KEY]);
    record->message = text_next(&at, is->text_len[TEXT_MESSAGE]);
    record->detail = str_n(look->detail, is->text_len[TEXT_DETAIL]);
    record->url = str_n(look->url, is->text_len[TEXT_URL]);
    record->remember = str_n(look->url + is->text_len[TEXT_URL] + 1, is->text_len[TEXT_REMEMBER]);
    memcpy(record->digest, is->digest, DIGEST_BYTES);
    record->content = look_content(look);
    record->by = look_by(look);
    record->via = look_via(look);
    record->note = look_note(look);
    record->ended_ms = look->end ? look->end->ended_ms : 0;
}
