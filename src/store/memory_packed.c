/*
 * store/memory: the record of an ended call, in one block.
 *
 * Thousands of calls are kept after they have ended, and hardly anybody ever looks at one. What
 * they leave behind goes through the processor's cache and pushes out what is in use. So it is
 * packed as small as possible, and the memory of the call is free at once for the next one. Readers
 * see the texts where they are: nothing is copied, however large it is.
 *
 * The detail of a question (the form) is the longest of its texts, and the same in every call of a
 * tool. So ended calls share it with the last one that had the same, and it is freed with the last
 * of them. The detail of a sensitive question is never shared.
 *
 * Holds always: a packed record never changes, and lives as long as somebody looks at it.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

/* The size of texts that follow each other, each with a NUL. */
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

/* The texts before the detail, and those after it. */
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
    return (size_t)end->by_len + end->content_len + end->via_len + end->note_len + 4;
}

static char *put(char *to, const void *from, size_t len)
{
    if (len)
        memcpy(to, from, len);
    return to + len;
}

/* --- the details --- */

struct shared_text {
    size_t refs; /* asks that are packed with it */
    size_t len;
    char text[]; /* NUL-terminated */
};

static struct shared_text **text_place(struct memory_store *memory, size_t len)
{
    return &memory->details[len % DETAIL_PLACES];
}

static void text_release(struct memory_store *memory, struct shared_text *shared)
{
    if (!shared || --shared->refs > 0)
        return;
    struct shared_text **place = text_place(memory, shared->len);
    if (*place == shared)
        *place = NULL;
    mem_free(shared);
}

static struct shared_text *text_make(struct str text)
{
    struct shared_text *shared = mem_alloc(sizeof(*shared) + text.len + 1);
    char *at = shared->text;

    shared->refs = 1;
    shared->len = str_place(&at, text).len;
    return shared;
}

/* The detail that is kept in its place, if it is the same; otherwise a new one, which replaces
 * that. */
static struct shared_text *text_share(struct memory_store *memory, struct str text)
{
    struct shared_text **place = text_place(memory, text.len);

    if (!*place || !str_eq(str_n((*place)->text, (*place)->len), text))
        return *place = text_make(text);
    (*place)->refs++;
    return *place;
}

static struct shared_text *detail_keep(struct memory_store *memory, const struct ask_facts *ask,
                                       struct str detail)
{
    if (detail.len == 0)
        return NULL;
    return ask->sensitive ? text_make(detail) : text_share(memory, detail);
}

/* --- packing --- */

static size_t packed_bytes(const struct stored_call *call, struct str result)
{
    size_t bytes = sizeof(struct ended_call) + call->is.ask_count * sizeof(struct ended_ask) +
                   call_text_bytes(&call->is) + result.len + 1;

    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next)
        bytes +=
            ask_text_before(&ask->is) + ask_text_behind(&ask->is) + end_text_bytes(&ask->end->is);
    return bytes;
}

/* If a reply shows the call, it keeps its entries, and the packed call gets a copy. */
static struct entry *entries_take(struct stored_call *call)
{
    struct entry *entries = call->entries;
    struct journal copy;

    if (call->is.refs == 1) {
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
    packed->detail = detail_keep(memory, &ask->is, str_n(text + before, detail));
    at = put(at, text, before);
    at = put(at, text + before + detail + 1, ask_text_behind(&ask->is));
    return put(at, ask->end->text, end_text_bytes(&ask->end->is));
}

struct ended_call *memory_pack(struct memory_store *memory, struct stored_call *call,
                               struct str result)
{
    size_t bytes = packed_bytes(call, result);
    struct ended_call *packed = mem_alloc(bytes);
    struct ended_ask *to = packed->asks;
    char *at = (char *)(packed->asks + call->is.ask_count);

    packed->is = call->is;
    packed->is.packed = true;
    packed->is.refs = 1;
    packed->is.bytes = 0;
    list_init(&packed->in_all);
    list_init(&packed->of_tally);
    at = put(at, call->text, call_text_bytes(&call->is));
    packed->result_len = (uint32_t)str_place(&at, result).len;
    for (const struct stored_ask *ask = call->asks; ask; ask = ask->next) {
        at = pack_ask(memory, ask, to++, at);
        bytes += ask->is.text_len[TEXT_DETAIL]; /* as if it were not shared */
    }
    packed->entry_count = call->entry_count;
    packed->entries = call->entry_count ? entries_take(call) : NULL;
    memory_bytes_add(memory, &packed->is,
                     bytes + memory_entries_bytes(packed->entries, packed->entry_count));
    return packed;
}

struct ended_call *memory_packed_of(struct ask_facts *ask)
{
    struct ended_ask *first = (struct ended_ask *)(void *)ask - ask->number;

    return (struct ended_call *)(void *)((char *)first - offsetof(struct ended_call, asks));
}

void memory_packed_free(struct memory_store *memory, struct ended_call *packed)
{
    for (uint32_t i = 0; i < packed->is.ask_count; i++)
        text_release(memory, packed->asks[i].detail);
    memory_bytes_drop(memory, &packed->is);
    memory_tally_release(memory, packed->is.tally);
    mem_free(packed->entries);
    mem_free(packed);
}

/* --- looking --- */

const char *memory_packed_text(const struct ended_call *packed)
{
    return (const char *)(packed->asks + packed->is.ask_count);
}

struct str memory_packed_result(const struct ended_call *packed)
{
    return str_n(memory_packed_text(packed) + call_text_bytes(&packed->is), packed->result_len);
}

/* The ask's texts begin at `text`. */
static void look_at(struct ask_look *look, struct ended_ask *ask, const char *text)
{
    look->is = &ask->is;
    look->end = &ask->end;
    look->text = text;
    look->detail = ask->detail ? ask->detail->text : "";
    look->url = text + ask_text_before(&ask->is);
    look->ended = look->url + ask_text_behind(&ask->is);
}

bool memory_packed_first(struct ended_call *packed, struct ask_look *look)
{
    struct str result = memory_packed_result(packed);

    if (packed->is.ask_count == 0)
        return false;
    look->call = &packed->is;
    look_at(look, packed->asks, result.at + result.len + 1);
    return true;
}

bool memory_packed_next(struct ask_look *look)
{
    if (look->is->number + 1 == look->call->ask_count)
        return false;
    look_at(look, memory_ended_ask(look->is) + 1, look->ended + end_text_bytes(look->end));
    return true;
}
