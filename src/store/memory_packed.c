/*
 * store/memory: a call that has ended, in one piece.
 *
 * Thousands of calls are kept after they have ended, and hardly anybody ever looks at one of them.
 * What they leave behind passes through the processor's cache and pushes out what is in use, so it
 * is packed as small as it can be, and the memory of the call that has ended is free at once for
 * the one that begins. Who does look is given the record it was, made anew.
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

static size_t ask_text_bytes(const struct ask_facts *ask)
{
    return texts_bytes(ask->text_len, ASK_TEXTS);
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

static size_t packed_bytes(const struct stored_call *call, struct str result)
{
    size_t bytes = sizeof(struct ended_call) + call->is.ask_count * sizeof(struct ended_ask) +
                   call_text_bytes(&call->is) + result.len;

    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next)
        bytes += ask_text_bytes(&ask->is) + end_text_bytes(&ask->end->is);
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

struct ended_call *memory_pack(struct stored_call *call, struct str result)
{
    struct ended_call *packed = mem_alloc(packed_bytes(call, result));
    struct ended_ask *to = packed->asks;
    char *at = (char *)(packed->asks + call->is.ask_count);

    packed->is = call->is;
    packed->is.packed = true;
    packed->result_len = (uint32_t)result.len;
    at = put(at, call->text, call_text_bytes(&call->is));
    at = put(at, result.at, result.len);
    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next, to++) {
        to->is = ask->is;
        to->is.packed = true;
        to->end = ask->end->is;
        at = put(at, ask->text, ask_text_bytes(&ask->is));
        at = put(at, ask->end->text, end_text_bytes(&ask->end->is));
    }
    packed->entry_count = call->entry_count;
    packed->entries = call->entry_count ? entries_take(call) : NULL;
    return packed;
}

static const char *unpack_ask(struct stored_call *call, const struct ended_ask *packed,
                              const char *at)
{
    size_t text = ask_text_bytes(&packed->is), end_text = end_text_bytes(&packed->end);
    struct stored_ask *ask = mem_alloc(sizeof(*ask) + text);

    *ask = (struct stored_ask){ .is = packed->is };
    ask->is.packed = false;
    memcpy(ask->text, at, text);
    ask->end = mem_alloc(sizeof(*ask->end) + end_text);
    ask->end->is = packed->end;
    memcpy(ask->end->text, at + text, end_text);
    memory_call_append(call, ask);
    call->claimed += packed->end.place != 0;
    return at + text + end_text;
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
    memory_tally_release(memory, packed->is.tally);
    mem_free(packed->entries);
    mem_free(packed);
}
