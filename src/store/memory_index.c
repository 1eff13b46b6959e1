/*
 * store/memory: lists of asks that wait, and of asks that have ended, by page.
 *
 * Waiting asks are in two trees, in the order in which they were asked: one of all, one of their
 * principal. A page begins where the last one ended, at the same cost however many there are.
 *
 * Ended asks are in one list, and a page looks at all of them: only some thousands of ended calls
 * are kept. So a call pays nothing for a list that is hardly ever looked at.
 *
 * Holds always: an ask is in the trees exactly while it is pending, and in the list from its end
 * on.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum { INDEX_LOOKS_MOST = 16384 }; /* questions looked at for one page of the waiting ones */

/* --- the order --- */

struct ask_place {
    int64_t at;
    const char *id;
};

static int place_order(const struct ask_place *a, int64_t at, const struct id *id)
{
    return a->at != at ? (a->at < at ? -1 : 1) : memcmp(a->id, id->text, ID_LEN);
}

static int order_in_all(const void *key, const struct tree_node *node)
{
    const struct stored_ask *ask = TREE_OF(node, struct stored_ask, in_all);

    return place_order(key, ask->asked_ms, &ask->id);
}

static int order_of_owner(const void *key, const struct tree_node *node)
{
    const struct stored_ask *ask = TREE_OF(node, struct stored_ask, of_owner);

    return place_order(key, ask->asked_ms, &ask->id);
}

static struct ask_place place_of(const struct stored_ask *ask)
{
    return (struct ask_place){ ask->asked_ms, ask->id.text };
}

void memory_index_add(struct memory_store *memory, struct stored_ask *ask)
{
    struct ask_place place = place_of(ask);

    tree_add(&memory->waiting, &ask->in_all, &place, order_in_all);
    tree_add(&ask->call->tally->waiting, &ask->of_owner, &place, order_of_owner);
}

void memory_index_remove(struct memory_store *memory, struct stored_ask *ask)
{
    struct ask_place place = place_of(ask);

    tree_remove(&memory->waiting, &ask->in_all, &place, order_in_all);
    tree_remove(&ask->call->tally->waiting, &ask->of_owner, &place, order_of_owner);
}

/* --- a page --- */

struct paged {
    int64_t at;
    struct id id;
};

struct page { /* ids of what is shown: a row's callback may change anything */
    struct paged *rows;
    size_t count, most;
    struct paged last;      /* the last that was looked at */
    const struct tally *of; /* NULL: of all */
    const struct cursor *cursor;
};

/* Waiting asks, in order. True: there may be more. */
static bool page_waiting(struct memory_store *memory, struct page *page)
{
    const struct tree *tree = page->of ? &page->of->waiting : &memory->waiting;
    tree_order *order = page->of ? order_of_owner : order_in_all;
    struct ask_place place = { page->cursor->at, page->cursor->name.at };
    struct tree_node *at = page->cursor->given ? tree_after(tree, &place, order) : tree_first(tree);

    for (int looks = 0; at && page->count < page->most && looks < INDEX_LOOKS_MOST; looks++) {
        const struct stored_ask *ask = page->of ? TREE_OF(at, struct stored_ask, of_owner)
                                                : TREE_OF(at, struct stored_ask, in_all);
        if (ask->expires_ms > memory_now(memory))
            page->rows[page->count++] = (struct paged){ ask->asked_ms, ask->id };
        page->last = (struct paged){ ask->asked_ms, ask->id };
        place = place_of(ask);
        at = tree_after(tree, &place, order);
    }
    return at != NULL;
}

/* Newer ones come first. */
static int newer(int64_t at, const struct id *id, int64_t than_at, const char *than_id)
{
    return at != than_at ? (at > than_at ? -1 : 1) : -memcmp(id->text, than_id, ID_LEN);
}

/* Adds the ask, if it is among the newest after the cursor. */
static void page_ended_add(struct page *page, const struct stored_ask *ask, int64_t at)
{
    const struct cursor *cursor = page->cursor;
    size_t place = page->count;

    if (cursor->given && newer(at, &ask->id, cursor->at, cursor->name.at) <= 0)
        return;
    while (place > 0 &&
           newer(at, &ask->id, page->rows[place - 1].at, page->rows[place - 1].id.text) < 0)
        place--;
    if (place == page->most)
        return;
    if (page->count < page->most)
        page->count++;
    memmove(&page->rows[place + 1], &page->rows[place],
            (page->count - 1 - place) * sizeof(*page->rows));
    page->rows[place] = (struct paged){ at, ask->id };
}

static bool page_ended(struct memory_store *memory, struct page *page)
{
    for (struct list *at = memory->answered.prev; at != &memory->answered; at = at->prev) {
        const struct ask_end *end = LIST_OF(at, struct ask_end, link);
        if (!page->of || end->ask->call->tally == page->of)
            page_ended_add(page, end->ask, end->ended_ms);
    }
    if (page->count < page->most)
        return false;
    page->last = page->rows[page->count - 1];
    return true;
}

static void page_show(struct reply *reply, const struct page *page)
{
    bool ended = reply->scanning->scan.index == STORE_ASKS_ENDED;

    for (size_t i = 0; i < page->count && reply->memory; i++) {
        struct stored_ask *ask = idmap_get(&reply->memory->asks, id_str(&page->rows[i].id));
        if (ask && (ask->end != NULL) == ended)
            memory_row_of_ask(reply, ask);
    }
}

void memory_index_scan(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    struct scanning *scanning = reply->scanning;
    struct str principal = scanning->scan.key;
    struct page page = { .most = most, .cursor = &scanning->cursor };

    if (principal.len && !(page.of = memory_tally_find(memory, principal)))
        return;
    page.rows = mem_alloc((most + 1) * sizeof(*page.rows));
    bool more = scanning->scan.index == STORE_ASKS_PENDING ? page_waiting(memory, &page)
                                                           : page_ended(memory, &page);
    if (more)
        reply->reply.cursor = cursor_write(scanning->next, page.last.at, id_str(&page.last.id));
    page_show(reply, &page);
    mem_free(page.rows);
}
