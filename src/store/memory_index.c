/*
 * store/memory: lists of asks that wait, and of asks that have ended, by page.
 *
 * Asks are in two trees: one of all, one of their principal. Those that have ended come first, the
 * latest end before the others; then those that wait, in the order in which they were asked. A page
 * begins where the last one ended, at the same cost however many there are.
 *
 * Holds always: an ask is in the trees while it can be found.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum { INDEX_LOOKS_MOST = 16384 }; /* questions looked at for one page */

/* --- the order --- */

struct ask_place {
    int64_t at; /* when it was asked; when it ended, as a negative number */
    const char *id;
};

static struct ask_place place_of(const struct stored_ask *ask)
{
    return (struct ask_place){ ask->place, ask->id.text };
}

/* The place is in the ask itself: to look at the end of each ask on the way would cost more than
 * all the rest. */
static int place_order(const struct ask_place *a, const struct stored_ask *ask)
{
    if (a->at != ask->place)
        return a->at < ask->place ? -1 : 1;
    return memcmp(a->id, ask->id.text, ID_LEN);
}

static int order_in_all(const void *key, const struct tree_node *node)
{
    return place_order(key, TREE_OF(node, struct stored_ask, in_all));
}

static int order_of_owner(const void *key, const struct tree_node *node)
{
    return place_order(key, TREE_OF(node, struct stored_ask, of_owner));
}

void memory_index_add(struct memory_store *memory, struct stored_ask *ask)
{
    ask->place = ask->end ? -ask->end->ended_ms : ask->asked_ms;
    struct ask_place place = place_of(ask);

    tree_add(&memory->in_order, &ask->in_all, &place, order_in_all);
    tree_add(&ask->call->tally->in_order, &ask->of_owner, &place, order_of_owner);
}

void memory_index_remove(struct memory_store *memory, struct stored_ask *ask)
{
    struct ask_place place = place_of(ask);

    tree_remove(&memory->in_order, &ask->in_all, &place, order_in_all);
    tree_remove(&ask->call->tally->in_order, &ask->of_owner, &place, order_of_owner);
}

/* --- a page --- */

struct page {
    struct id *rows; /* of what is shown: a row's callback may change anything */
    size_t count, most;
    struct id last; /* the last that was looked at */
    int64_t last_at;
};

/* True: there may be more. */
static bool page_fill(struct memory_store *memory, const struct tally *of, bool ended,
                      const struct cursor *cursor, struct page *page)
{
    static const struct id none;
    const struct tree *tree = of ? &of->in_order : &memory->in_order;
    tree_order *order = of ? order_of_owner : order_in_all;
    struct ask_place place = { ended ? INT64_MIN : 0, none.text };

    if (cursor->given)
        place = (struct ask_place){ cursor->at, cursor->name.at };
    for (int looks = 0;; looks++) {
        struct tree_node *at = tree_after(tree, &place, order);
        if (!at)
            return false;
        const struct stored_ask *ask =
            of ? TREE_OF(at, struct stored_ask, of_owner) : TREE_OF(at, struct stored_ask, in_all);
        if (ended && !ask->end)
            return false;
        if (page->count == page->most || looks == INDEX_LOOKS_MOST)
            return true;
        if (ended || ask->expires_ms > memory_now(memory))
            page->rows[page->count++] = ask->id;
        place = place_of(ask);
        page->last = ask->id;
        page->last_at = place.at;
    }
}

void memory_index_scan(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    struct scanning *scanning = reply->scanning;
    struct str principal = scanning->scan.key;
    const struct tally *of = principal.len ? memory_tally_find(memory, principal) : NULL;
    bool ended = scanning->scan.index == STORE_ASKS_ENDED;

    if (principal.len && !of)
        return;
    struct page page = { .rows = mem_alloc(most * sizeof(*page.rows)), .most = most };
    if (page_fill(memory, of, ended, &scanning->cursor, &page))
        reply->reply.cursor = cursor_write(scanning->next, page.last_at, id_str(&page.last));
    for (size_t i = 0; i < page.count && reply->memory; i++) {
        const struct stored_ask *ask = idmap_get(&memory->asks, id_str(&page.rows[i]));
        if (ask && (ask->end != NULL) == ended)
            memory_row_of_ask(reply, ask);
    }
    mem_free(page.rows);
}
