/*
 * store/memory: a call that has ended, in one piece.
 *
 * Thousands of calls are kept after they have ended, and hardly anybody ever looks at one of them.
 * What they leave behind passes through the processor's cache and pushes out what is in use, so it
 * is packed as small as it can be, and the memory of the call that has ended is free at once for
 * the one that begins. Who does look is given the record it was, made anew.
 *
 * The detail of a question is the longest of its texts, and the same in every call of a tool: the
 * form. Calls that have ended share it with the last that came with the same.
 *
 * Holds always: what is packed never changes.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

/* As they stand one behind the other, each NUL-terminated. */
static size_t texts_bytes(const uint32_t *lens, size_t count)
{
    size_t bytes = count;

    for (size_t i = 0; i < count; i++)
        bytes += lens[i];
    return bytes;
}

static size_t call_text_bytes(const struct call_facts *call)
{
    return texts_bytes(call->text_len, CALL_TEXTS);
}

/* Those before the detail, and those behind it. */
static size_t ask_text_before(const struct ask_facts *ask)
{
    return texts_bytes(ask->text_len, TEXT_DETAIL);
}

static size_t ask_text_behind(const struct ask_facts *ask)
{
    return texts_bytes(ask->text_len + TEXT_DETAIL + 1, ASK_TEXTS - TEXT_DETAIL - 1);
}

static size_t end_text_bytes(const struct ask_ending *end)
{
    return (size_t)end->by_len + end->content_len + 2;
}

static char *put(char *to, const void *from, size_t len)
{
    if (len)
        memcpy(to, from, len);
    return to + len;
}

/* --- the details --- */

struct shared_text {
    size_t refs; /* and one more while it is the last of its place */
    size_t len;
    char text[]; /* NUL-terminated */
};

static void text_release(struct shared_text *shared)
{
    if (shared && --shared->refs == 0)
        mem_free(shared);
}

static struct shared_text *text_make(struct str text)
{
    struct shared_text *shared = mem_alloc(sizeof(*shared) + text.len + 1);
    char *at = shared->text;

    shared->refs = 0;
    shared->len = str_place(&at, text).len;
    return shared;
}

static struct shared_text *text_share(struct memory_store *memory, struct str text)
{
    struct shared_text **place = &memory->details[text.len % DETAIL_PLACES];

    if (text.len == 0)
        return NULL;
    if (!*place || !str_eq(str_n((*place)->text, (*place)->len), text)) {
        text_release(*place);
        *place = text_make(text);
        (*place)->refs++;
    }
    (*place)->refs++;
    return *place;
}

void memory_packed_finish(struct memory_store *memory)
{
    for (size_t i = 0; i < DETAIL_PLACES; i++)
        text_release(memory->details[i]);
}

/* --- packing --- */

static size_t packed_bytes(const struct stored_call *call, struct str result)
{
    size_t bytes = sizeof(struct ended_call) + call->is.ask_count * sizeof(struct ended_ask) +
                   call_text_bytes(&call->is) + result.len;

    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next)
        bytes +=
            ask_text_before(&ask->is) + ask_text_behind(&ask->is) + end_text_bytes(&ask->end->is);
    return bytes;
}

/* Who looks at the call now sees its entries for as long as it looks. */
static struct entry *entries_take(struct stored_call *call)
{
    struct entry *entries = call->entries;
    struct journal copy;

    if (call->refs == 0) {
        call->entries = NULL;
        return entries;
    }
    journal_make(&copy, entries, call->entry_count, NULL, 0);
    return copy.entries;
}

static char *pack_ask(struct memory_store *memory, const struct stored_ask *ask,
                      struct ended_ask *packed, char *at)
{
    const char *text = ask->text;
    size_t before = ask_text_before(&ask->is), detail = ask->is.text_len[TEXT_DETAIL];

    packed->is = ask->is;
    packed->is.packed = true;
    packed->end = ask->end->is;
    packed->detail = text_share(memory, str_n(text + before, detail));
    at = put(at, text, before);
    at = put(at, text + before + detail + 1, ask_text_behind(&ask->is));
    return put(at, ask->end->text, end_text_bytes(&ask->end->is));
}

struct ended_call *memory_pack(struct memory_store *memory, struct stored_call *call,
                               struct str result)
{
    struct ended_call *packed = mem_alloc(packed_bytes(call, result));
    struct ended_ask *to = packed->asks;
    char *at = (char *)(packed->asks + call->is.ask_count);

    packed->is = call->is;
    packed->is.packed = true;
    packed->result_len = (uint32_t)result.len;
    at = put(at, call->text, call_text_bytes(&call->is));
    at = put(at, result.at, result.len);
    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next)
        at = pack_ask(memory, ask, to++, at);
    packed->entry_count = call->entry_count;
    packed->entries = call->entry_count ? entries_take(call) : NULL;
    return packed;
}

static const char *unpack_ask(struct stored_call *call, const struct ended_ask *packed,
                              const char *at)
{
    size_t before = ask_text_before(&packed->is), behind = ask_text_behind(&packed->is);
    size_t detail = packed->is.text_len[TEXT_DETAIL], end = end_text_bytes(&packed->end);
    struct stored_ask *ask = mem_alloc(sizeof(*ask) + before + detail + 1 + behind);

    *ask = (struct stored_ask){ .is = packed->is };
    ask->is.packed = false;
    char *text = put(ask->text, at, before);
    str_place(&text, str_n(packed->detail ? packed->detail->text : NULL, detail));
    put(text, at + before, behind);
    at += before + behind;
    ask->end = mem_alloc(sizeof(*ask->end) + end);
    ask->end->is = packed->end;
    memcpy(ask->end->text, at, end);
    memory_call_append(call, ask);
    call->claimed += packed->end.place != 0;
    return at + end;
}

struct stored_call *memory_unpack(const struct ended_call *packed)
{
    const char *at = (const char *)(packed->asks + packed->is.ask_count);
    size_t text = call_text_bytes(&packed->is);
    struct stored_call *call = mem_alloc(sizeof(*call) + text);
    struct journal journal;

    *call = (struct stored_call){ .is = packed->is, .dropped = true };
    call->is.packed = false;
    call->is.tally->calls++;
    memcpy(call->text, at, text);
    call->result = str_dup(str_n(at + text, packed->result_len));
    call->result_len = packed->result_len;
    at += text + packed->result_len;
    for (uint32_t i = 0; i < packed->is.ask_count; i++)
        at = unpack_ask(call, &packed->asks[i], at);
    journal_make(&journal, packed->entries, packed->entry_count, NULL, 0);
    call->entries = journal.entries;
    call->entry_count = packed->entry_count;
    return call;
}

struct ended_call *memory_packed_of(struct ask_facts *ask)
{
    struct ended_ask *first = (struct ended_ask *)(void *)ask - ask->number;

    return (struct ended_call *)(void *)((char *)first - offsetof(struct ended_call, asks));
}

void memory_packed_free(struct memory_store *memory, struct ended_call *packed)
{
    for (uint32_t i = 0; i < packed->is.ask_count; i++)
        text_release(packed->asks[i].detail);
    memory_tally_release(memory, packed->is.tally);
    mem_free(packed->entries);
    mem_free(packed);
}
