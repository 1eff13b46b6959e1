/*
 * surface/search: looking for a text in asks and in the arguments of their calls (`q` of a list).
 *
 * Texts are large if somebody wants them to be, so a search is made of slices. In one turn of the
 * loop SEARCH_SLICE bytes are looked through, by all searches together, and then I/O is served. The
 * searches have their slices one after the other. Searches wait in line, and of one user only one
 * is under way (listing.c). So what a user looks for costs the others a slice at a time and half of
 * the slices at most, however often it is looked for.
 *
 * A slice takes time in proportion to its length, whatever is looked for (the algorithm of Knuth,
 * Morris and Pratt): no byte of a text is looked at again, however much of `q` it repeats.
 *
 * Holds always: a search is under way. It holds the arguments of one call, which count in its
 * reader's share.
 */
#include "surface/search.h"

#include "base/mem.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* --- turns --- */

static void search_turn(void *data);

void search_later(struct search *search, void (*fn)(struct shown *shown))
{
    struct inbox *inbox = search->shown->inbox;

    search->fn = fn;
    list_remove(&search->turn);
    list_append(&inbox->search_turns, &search->turn);
    loop_last(inbox->opts.loop, &inbox->search_turn, search_turn, inbox);
}

struct search *search_create(struct shown *shown, struct str wanted)
{
    struct search *search = MEM_NEW(struct search);

    search->shown = shown;
    list_init(&search->turn);
    buf_init(&search->args, INBOX_ARENA_MAX);
    search->len = wanted.len;
    for (size_t i = 0; i < wanted.len; i++)
        search->text[i] = lower(wanted.at[i]);
    for (size_t i = 1, same = 0; i < wanted.len; i++) {
        while (same && search->text[i] != search->text[same])
            same = search->again[same - 1];
        same += search->text[i] == search->text[same];
        search->again[i] = same;
    }
    return search;
}

void search_end(struct search *search)
{
    if (!search)
        return;
    list_remove(&search->turn);
    buf_finish(&search->args);
    mem_free(search);
}

/* --- looking --- */

/* The texts of an ask, one after the other. False: there are no more. */
static bool text_at(const struct search *search, size_t index, struct str *text)
{
    const struct ask_record *ask = &search->shown->asks[search->ask].ask;
    const struct target *tool =
        catalog_for(search->shown->inbox->opts.catalog, ask->principal, TARGET_TOOL, ask->target);
    const struct str texts[] = { ask->message,
                                 ask->target,
                                 ask->principal,
                                 ask->by,
                                 ask->id,
                                 ask->note,
                                 tool ? tool->title : STR_NONE,
                                 buf_str(&search->args) };

    if (index >= sizeof(texts) / sizeof(texts[0]))
        return false;
    *text = texts[index];
    return true;
}

/* True: it is in this text. ASCII in any case; other characters as they are. */
static bool look_in(struct search *search, struct str text, size_t *budget)
{
    size_t at = search->at, same = search->same;
    size_t end = text.len - at < *budget ? text.len : at + *budget;

    *budget -= end - at;
    while (at < end && same < search->len) {
        char c = lower(text.at[at++]);
        while (same && c != search->text[same])
            same = search->again[same - 1];
        same += c == search->text[same];
    }
    search->at = at;
    search->same = same;
    return same == search->len;
}

enum found { FOUND_NOT_YET, FOUND, FOUND_NOT };

static enum found look(struct search *search, size_t *budget)
{
    struct str text;

    for (; text_at(search, search->part, &text); search->part++) {
        if (search->at < text.len && look_in(search, text, budget))
            return FOUND;
        if (search->at < text.len)
            return FOUND_NOT_YET;
        search->at = search->same = 0;
    }
    return FOUND_NOT;
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct search *search = data;

    buf_finish(&search->args); /* the next may be much smaller */
    search->part = search->at = search->same = 0;
    search->shown->failed |= status == NOD_E_STORE;
    if (status == NOD_OK && search->shown->exchange)
        buf_add(&search->args, reply->call->args);
    shown_hold(search->shown, search->args.len);
    search_later(search, NULL);
}

/* The next of the asks that were found. */
static void look_at_next(struct search *search)
{
    struct shown *shown = search->shown;
    struct store *store = shown->inbox->store;

    if (search->ask < shown->count && shown->exchange && !shown->failed) {
        store->ops->load_call(store, shown->asks[search->ask].ask.call_id, call_loaded, search);
        return;
    }
    buf_finish(&search->args);
    shown_keep(shown);
    shown_load(shown);
}

void search_asks(struct search *search)
{
    search->ask = search->shown->loaded;
    look_at_next(search);
}

/* One step of one search. */
static void step(struct search *search, size_t *budget)
{
    struct shown *shown = search->shown;

    if (search->fn) {
        search->fn(shown);
        return;
    }
    enum found found = shown->exchange ? look(search, budget) : FOUND_NOT;
    if (found == FOUND_NOT_YET) {
        search_later(search, NULL);
        return;
    }
    shown->asks[search->ask++].kept = found == FOUND;
    look_at_next(search);
}

static void search_turn(void *data)
{
    struct inbox *inbox = data;
    size_t budget = SEARCH_SLICE;
    struct list *at;

    while (budget >= SEARCH_STEP && (at = list_first(&inbox->search_turns))) {
        budget -= SEARCH_STEP;
        list_remove(at);
        step(LIST_OF(at, struct search, turn), &budget);
    }
    if (!list_empty(&inbox->search_turns))
        loop_last(inbox->opts.loop, &inbox->search_turn, search_turn, inbox);
}
