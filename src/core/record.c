/*
 * core/record: copies of records and journals, and the words for the states of an ask.
 */
#include "core/record.h"

#include <string.h>

#include "base/mem.h"

struct str ask_state_name(enum ask_state state)
{
    static const struct str names[] = {
        [ASK_PENDING] = STR_INIT("pending"),         [ASK_ACCEPTED] = STR_INIT("accepted"),
        [ASK_DECLINED] = STR_INIT("declined"),       [ASK_CANCELLED] = STR_INIT("cancelled"),
        [ASK_EXPIRED] = STR_INIT("expired"),         [ASK_WITHDRAWN] = STR_INIT("withdrawn"),
        [ASK_UNSUPPORTED] = STR_INIT("unsupported"), [ASK_INVALID] = STR_INIT("invalid"),
    };
    return names[state];
}

size_t entry_bytes(const struct entry *entry)
{
    return entry->key.len + entry->content.len + entry->by.len + entry->note.len +
           sizeof(struct entry);
}

size_t entries_text_bytes(const struct entry *entries, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += entries[i].key.len + entries[i].content.len + entries[i].by.len +
                 entries[i].ask_id.len + entries[i].note.len;
    return bytes;
}

static struct str place(char **at, struct str s)
{
    struct str copy = { *at, s.len };

    if (s.len)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return copy;
}

void entries_copy(struct entry *to, const struct entry *from, size_t count, char **at)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].key = place(at, from[i].key);
        to[i].content = place(at, from[i].content);
        to[i].by = place(at, from[i].by);
        to[i].ask_id = place(at, from[i].ask_id);
        to[i].note = place(at, from[i].note);
    }
}

void journal_make(struct journal *out, const struct entry *first, size_t first_count,
                  const struct entry *more, size_t more_count)
{
    size_t count = first_count + more_count;
    size_t text = entries_text_bytes(first, first_count) + entries_text_bytes(more, more_count);

    *out = (struct journal){ .count = count };
    if (count == 0)
        return;
    out->entries = mem_alloc(count * sizeof(struct entry) + text);
    char *at = (char *)(out->entries + count);
    entries_copy(out->entries, first, first_count, &at);
    entries_copy(out->entries + first_count, more, more_count, &at);
    for (size_t i = 0; i < count; i++)
        out->bytes += entry_bytes(&out->entries[i]);
}

void journal_finish(struct journal *journal)
{
    mem_free(journal->entries);
    *journal = (struct journal){ 0 };
}

struct str ask_carried_key(const struct ask_record *ask)
{
    return ask->inner ? ask->id : ask->key;
}

struct str ask_action(enum ask_state state)
{
    return state == ASK_ACCEPTED    ? STR("accept")
           : state == ASK_DECLINED  ? STR("decline")
           : state == ASK_CANCELLED ? STR("cancel")
                                    : STR_NONE;
}

bool ask_action_read(struct str word, enum ask_state *out)
{
    static const enum ask_state states[] = { ASK_ACCEPTED, ASK_DECLINED, ASK_CANCELLED };

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (!str_eq(word, ask_action(states[i])))
            continue;
        *out = states[i];
        return true;
    }
    return false;
}

struct str ask_via_shown(struct str via)
{
    return !via.len ? STR("nod") : str_eq(via, STR("mrtr")) ? STR("client") : via;
}

const struct entry *journal_find(const struct entry *entries, size_t count, enum entry_class class,
                                 struct str key)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].class == class && str_eq(entries[i].key, key))
            return &entries[i];
    return NULL;
}

enum page_brings ask_page_brings(enum ask_page page)
{
#define ROW(page, name, brings) [page] = brings,
    static const enum page_brings rows[] = { [PAGE_NONE] = PAGE_BRINGS_NOTHING, PAGE_ROWS(ROW) };
#undef ROW

    return page < ASK_PAGES_KNOWN ? rows[page] : PAGE_BRINGS_NOTHING;
}

struct str ask_record_form(const struct ask_record *ask)
{
    bool form = ask->kind == ASK_FORM || ask->kind == ASK_APPROVAL ||
                ask_page_brings(ask->page) == PAGE_BRINGS_FORM;

    return form ? ask->detail : STR_NONE;
}

struct ask_record ask_record_copy(struct arena *arena, const struct ask_record *from)
{
    struct ask_record copy = *from;

    copy.id = arena_str(arena, from->id);
    copy.call_id = arena_str(arena, from->call_id);
    copy.key = arena_str(arena, from->key);
    copy.principal = arena_str(arena, from->principal);
    copy.scope = arena_str(arena, from->scope);
    copy.target = arena_str(arena, from->target);
    copy.message = arena_str(arena, from->message);
    copy.detail = arena_str(arena, from->detail);
    copy.url = arena_str(arena, from->url);
    copy.remember = arena_str(arena, from->remember);
    copy.content = arena_str(arena, from->content);
    copy.by = arena_str(arena, from->by);
    copy.via = arena_str(arena, from->via);
    copy.note = arena_str(arena, from->note);
    return copy;
}

const struct entry *entries_kept(struct arena *arena, const struct entry *from, size_t *count)
{
    if (*count == 0)
        return NULL;
    struct entry *entries = arena_alloc(arena, *count * sizeof(*entries));
    char *text = arena_alloc_aligned(arena, entries_text_bytes(from, *count) + 1, 1);

    if (entries && text)
        entries_copy(entries, from, *count, &text);
    else
        *count = 0;
    return entries;
}

struct call_record call_record_copy(struct arena *arena, const struct call_record *from)
{
    struct call_record copy = *from;

    copy.entries = entries_kept(arena, from->entries, &copy.entry_count);
    copy.id = arena_str(arena, from->id);
    copy.principal = arena_str(arena, from->principal);
    copy.scope = arena_str(arena, from->scope);
    copy.target = arena_str(arena, from->target);
    copy.args = arena_str(arena, from->args);
    copy.uri = arena_str(arena, from->uri);
    copy.caller = arena_str(arena, from->caller);
    copy.client = arena_str(arena, from->client);
    copy.meta = arena_str(arena, from->meta);
    copy.result = arena_str(arena, from->result);
    copy.node = arena_str(arena, from->node);
    return copy;
}
