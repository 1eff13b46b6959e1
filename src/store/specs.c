/* store/specs: see specs.h. */
#include "store/specs.h"

#include "core/record.h"

static struct str spec_text(struct arena *arena, struct str s)
{
    return s.len ? arena_str(arena, s) : STR_NONE;
}

struct park_spec park_of_append(const struct append_spec *append)
{
    return (struct park_spec){ .token = append->token,
                               .open = append->open,
                               .node = append->node,
                               .call_id = append->call_id,
                               .epoch = append->epoch,
                               .notices = append->notices,
                               .entries = append->entries,
                               .entry_count = append->entry_count,
                               .keep_for_ms = append->keep_for_ms,
                               .handed = append->handed };
}

bool park_copy(struct arena *arena, const struct park_spec *from, struct park_spec *to)
{
    struct call_record *open = from->open ? ARENA_NEW(arena, struct call_record) : NULL;
    struct entry *entries =
        from->entry_count ? arena_alloc(arena, from->entry_count * sizeof(*entries)) : NULL;
    char *text = entries
                     ? arena_alloc(arena, entries_text_bytes(from->entries, from->entry_count) + 1)
                     : NULL;
    struct ask_record *asks =
        from->ask_count ? arena_alloc(arena, from->ask_count * sizeof(*asks)) : NULL;

    *to = *from;
    to->token = spec_text(arena, from->token);
    to->node = spec_text(arena, from->node);
    to->call_id = spec_text(arena, from->call_id);
    to->open = open;
    to->entries = entries;
    to->asks = asks;
    if (open)
        *open = call_record_copy(arena, from->open);
    if (text)
        entries_copy(entries, from->entries, from->entry_count, &text);
    for (size_t i = 0; asks && i < from->ask_count; i++)
        asks[i] = ask_record_copy(arena, &from->asks[i]);
    return !arena->exhausted;
}

bool claim_copy(struct arena *arena, const struct claim_spec *from, struct claim_spec *to)
{
    struct claim_item *items = arena_alloc(arena, (from->count + 1) * sizeof(*items));

    *to = *from;
    to->token = spec_text(arena, from->token);
    to->by = spec_text(arena, from->by);
    to->via = spec_text(arena, from->via);
    to->take_for = spec_text(arena, from->take_for);
    to->items = items;
    for (size_t i = 0; items && i < from->count; i++) {
        items[i] = from->items[i];
        items[i].ask_id = spec_text(arena, from->items[i].ask_id);
        items[i].content = spec_text(arena, from->items[i].content);
        items[i].note = spec_text(arena, from->items[i].note);
    }
    return !arena->exhausted;
}
