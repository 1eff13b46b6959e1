/*
 * store/redis: asks and small records, by page.
 *
 * Both are in sorted sets, one in each shard: asks by a time and their id, small records by their
 * key. A page asks every shard for the first few names after the cursor, and merges them. A shard
 * that returned as many as it was asked for may have more, so everything after its last name is
 * left for the next page. So nothing is shown before something that precedes it. Then the records
 * are read, and each decides whether it is shown.
 *
 * Holds always: what is in a set during the whole walk, in the same place, is shown once.
 */
#include "store/redis_inside.h"

#include <stdlib.h>

#include "store/cursor.h"

enum {
    LIST_EACH_LEAST = 8,    /* names that a shard is asked for, at least */
    LIST_EACH_MOST = 65536, /* and at most, if so many have the same time */
    LIST_EACH_GROWS = 4,    /* times as many, if a page would have shown nothing */
    MEMBER_CALL = ID_LEN,   /* where the call's id begins in the member of an ask */
    MEMBER_OWNER = 2 * ID_LEN,
};

struct named {
    int64_t at;      /* the score; 0: a small record */
    struct str name; /* the ask; or the member, of a small record */
    struct str member;
};

struct page;

struct listing { /* what asks and small records do in different ways */
    void (*say)(struct redis_op *op, struct page *page); /* asks every shard for names */
    void (*named)(struct redis_op *op, struct page *page, const struct redis_value *value);
    void (*read)(struct redis_op *op, const struct page *page, const struct named *named);
    void (*row)(struct redis_op *op, const struct page *page, const struct redis_value *value);
    struct str (*cursor)(struct redis_op *op, const struct page *page, const struct named *last);
};

struct page {
    const struct listing *listing;
    enum store_index index;
    struct str principal; /* empty: of all */
    struct str kind, prefix;
    struct cursor cursor;
    size_t most;
    size_t each;
    struct named *found;
    size_t count, room;
    struct named horizon; /* the last name of a shard that may have more */
    bool far;             /* there is such a shard */
    size_t next;          /* the next whose record is read */
    bool more;
};

static int name_order(const struct named *a, const struct named *b)
{
    size_t both = a->name.len < b->name.len ? a->name.len : b->name.len;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    int order = both ? memcmp(a->name.at, b->name.at, both) : 0;
    return order ? order : a->name.len < b->name.len ? -1 : a->name.len > b->name.len;
}

static int sort_order(const void *a, const void *b)
{
    return name_order(a, b);
}

/* --- names --- */

static void page_add(struct redis_op *op, struct page *page, struct named named)
{
    if (page->count == page->room) {
        size_t room = page->room ? 2 * page->room : 256;
        struct named *found = arena_alloc(&op->arena, room * sizeof(*found));
        if (!found)
            return; /* the arena is exhausted */
        if (page->count)
            memcpy(found, page->found, page->count * sizeof(*found));
        page->found = found;
        page->room = room;
    }
    page->found[page->count++] = named;
}

/* `last`: the shard has returned as many as it was asked for, and this is the last of them. */
static void page_heard(struct redis_op *op, struct page *page, struct named named, bool last)
{
    struct named cursor = { .at = page->cursor.at, .name = page->cursor.name };

    named.member = arena_str(&op->arena, named.member);
    named.name = str_n(named.member.at, named.name.len);
    if (!page->cursor.given || name_order(&cursor, &named) < 0)
        page_add(op, page, named);
    if (last && (!page->far || name_order(&named, &page->horizon) < 0)) {
        page->far = true;
        page->horizon = named;
    }
}

/* In order, up to the horizon and no more than wanted. False: more names are needed. */
static bool page_settle(struct page *page)
{
    size_t all = page->count;

    if (page->count)
        qsort(page->found, page->count, sizeof(*page->found), sort_order);
    while (page->far && page->count &&
           name_order(&page->found[page->count - 1], &page->horizon) > 0)
        page->count--;
    if (page->far && !page->count && page->each < LIST_EACH_MOST)
        return false;
    if (page->count > page->most)
        page->count = page->most;
    page->more = page->count < all || page->far;
    return true;
}

static void page_named(struct redis_op *op, struct page *page)
{
    bool settled = page_settle(page);

    redis_op_more(op);
    op->phase = settled;
    if (!settled) {
        page->each *= LIST_EACH_GROWS;
        page->count = 0;
        page->far = false;
        page->listing->say(op, page);
        return;
    }
    for (size_t i = 0; i < page->count; i++)
        page->listing->read(op, page, &page->found[i]);
    if (!page->count)
        op->more = false;
}

static void page_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct page *page = (struct page *)(uintptr_t)op->with;
    bool last = at + 1 == op->expected;

    if (op->phase == 0) {
        page->listing->named(op, page, value);
        if (last && op->arena.exhausted)
            op->status = NOD_E_LIMIT;
        else if (last)
            page_named(op, page);
        return;
    }
    if (page->next == at && (at == 0 || op->arena.used < REDIS_SCAN_BYTES)) {
        page->listing->row(op, page, value);
        page->next++;
    }
    /* The next page begins after the last name whose record was looked at. */
    if (last && (page->more || page->next < page->count))
        op->reply.cursor = page->listing->cursor(op, page, &page->found[page->next - 1]);
}

static void page_begin(struct redis_op *op, struct page *page, const struct listing *listing,
                       size_t limit, store_row_fn *row)
{
    page->listing = listing;
    page->most = limit && limit < REDIS_SCAN_MOST ? limit : REDIS_SCAN_MOST;
    page->each = 2 * page->most / REDIS_SHARDS + LIST_EACH_LEAST;
    op->with = page;
    op->row = row;
    listing->say(op, page);
    redis_op_send(op);
}

/* --- asks --- */

static void asks_say(struct redis_op *op, struct page *page)
{
    bool ended = page->index == STORE_ASKS_ENDED;
    struct str owner = page->principal.len ? redis_owner(op, page->principal) : STR_NONE;
    struct str each = redis_digits(op, (int64_t)page->each);
    struct str from = page->cursor.given ? arena_fmt(&op->arena, "%lld", (long long)page->cursor.at)
                      : ended            ? STR("-inf")
                                         : STR("0");

    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        redis_op_say(op,
                     (struct str[]){ STR("ZRANGEBYSCORE"),
                                     redis_shard_key(op, i, owner.len ? "o:" : "a", owner), from,
                                     ended ? STR("(0") : STR("+inf"), STR("WITHSCORES"),
                                     STR("LIMIT"), STR("0"), each },
                     8);
}

/* Times are whole numbers, and Redis writes them as such up to 2^53. */
static bool score_read(struct str text, int64_t *out)
{
    uint64_t n;
    bool negative = str_starts(text, STR("-"));

    if (!str_to_u64(str_skip(text, negative), &n) || n > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static void asks_named(struct redis_op *op, struct page *page, const struct redis_value *value)
{
    size_t count = value->type == REDIS_IS_LIST ? value->count / 2 : 0;

    for (size_t i = 0; i < count; i++) {
        struct named named = { .member = redis_text(&value->items[2 * i]) };
        named.name = str_n(named.member.at, ID_LEN);
        if (named.member.len >= MEMBER_OWNER &&
            score_read(redis_text(&value->items[2 * i + 1]), &named.at))
            page_heard(op, page, named, count == page->each && i + 1 == count);
    }
}

static void ask_read(struct redis_op *op, const struct page *page, const struct named *named)
{
    (void)page;
    redis_say_ask(op, str_n(named->member.at + MEMBER_CALL, ID_LEN), named->name);
}

/* The index knows a digest of the principal. The record decides whether it is the same. */
static bool ask_fits(const struct redis_op *op, const struct ask_record *ask)
{
    const struct page *page = op->with;

    if (page->principal.len && !str_eq(ask->principal, page->principal))
        return false;
    if (page->index == STORE_ASKS_ENDED)
        return ask->state != ASK_PENDING;
    return ask->state == ASK_PENDING && ask->expires_ms > redis_now(op->store);
}

static void ask_row(struct redis_op *op, const struct page *page, const struct redis_value *value)
{
    redis_row_ask(op, page->found[page->next].name, value, ask_fits);
}

static struct str ask_cursor(struct redis_op *op, const struct page *page, const struct named *last)
{
    char *text = arena_alloc(&op->arena, CURSOR_TEXT_MAX);

    (void)page;
    return text ? cursor_write(text, last->at, last->name) : STR_NONE;
}

static const struct listing asks_listing = { asks_say, asks_named, ask_read, ask_row, ask_cursor };
static const struct redis_verb asks_verb = { "list asks", page_reply };

void redis_scan_asks(struct store *base, const struct store_scan *scan, store_row_fn *row,
                     store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &asks_verb, done, data);
    struct page *page = ARENA_NEW(&op->arena, struct page);

    if (!page || !cursor_read(redis_copy(op, scan->cursor), &page->cursor) ||
        (page->cursor.given && page->cursor.name.len != ID_LEN)) {
        redis_op_end(op, page ? NOD_E_USAGE : NOD_E_LIMIT);
        return;
    }
    page->index = scan->index;
    page->principal = redis_copy(op, scan->key);
    page_begin(op, page, &asks_listing, scan->limit, row);
}

/* --- small records --- */

/* The kind follows its length, so that no two records share a name. */
struct str redis_value_name(struct redis_op *op, struct str kind, struct str key)
{
    struct str len = redis_digits(op, (int64_t)kind.len);
    size_t all = len.len + kind.len + key.len + 2;
    char *at = arena_alloc_aligned(&op->arena, all + 3, 1), *to = at;

    if (!at || !len.len)
        return STR_NONE;
    str_place(&to, len);
    to[-1] = ':';
    str_place(&to, kind);
    to[-1] = ':';
    str_place(&to, key);
    return str_n(at, all);
}

static struct str marked(struct redis_op *op, char mark, struct str name)
{
    char *at = arena_alloc_aligned(&op->arena, name.len + 2, 1);

    if (!at)
        return STR_NONE;
    at[0] = mark;
    if (name.len)
        memcpy(at + 1, name.at, name.len);
    return str_n(at, name.len + 1);
}

/* The first name after all that begin so: the last byte that can be raised is raised. There is one,
 * because a name contains a colon. */
static struct str behind(struct redis_op *op, struct str prefix)
{
    struct str end = arena_str(&op->arena, prefix);

    while (end.len && (unsigned char)end.at[end.len - 1] == 0xff)
        end.len--;
    if (end.len)
        ((char *)end.at)[end.len - 1]++;
    return end;
}

static void values_say(struct redis_op *op, struct page *page)
{
    struct str begins = redis_value_name(op, page->kind, page->prefix);
    struct str from =
        page->cursor.given ? marked(op, '(', page->cursor.name) : marked(op, '[', begins);
    struct str to = marked(op, '(', behind(op, begins));
    struct str each = redis_digits(op, (int64_t)page->each);

    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        redis_op_say(op,
                     (struct str[]){ STR("ZRANGEBYLEX"), redis_shard_key(op, i, "l", STR_NONE),
                                     from, to, STR("LIMIT"), STR("0"), each },
                     7);
}

static void values_named(struct redis_op *op, struct page *page, const struct redis_value *value)
{
    size_t count = value->type == REDIS_IS_LIST ? value->count : 0;

    for (size_t i = 0; i < count; i++) {
        struct str member = redis_text(&value->items[i]);
        page_heard(op, page, (struct named){ .name = member, .member = member },
                   count == page->each && i + 1 == count);
    }
}

/* The length of what precedes the key in a name. */
static size_t before_key(struct redis_op *op, const struct page *page)
{
    return redis_value_name(op, page->kind, STR_NONE).len;
}

static void value_read(struct redis_op *op, const struct page *page, const struct named *named)
{
    struct str key = str_skip(named->name, before_key(op, page));

    redis_op_say(
        op,
        (struct str[]){ STR("HMGET"), redis_key(op, key, "k:", named->name), STR("v"), STR("d") },
        4);
}

static void value_row(struct redis_op *op, const struct page *page, const struct redis_value *reply)
{
    struct store_value *value = ARENA_NEW(&op->arena, struct store_value);
    struct redis_value record = redis_keep_value(op, redis_item(reply, 1));

    if (!value || redis_item(reply, 0)->type == REDIS_IS_NIL)
        return; /* its time is over */
    value->key = str_skip(page->found[page->next].name, before_key(op, page));
    value->version = (uint64_t)redis_number(redis_item(reply, 0));
    op->store->codec.again = true;
    bool read = codec_read_text(&op->store->codec, CODEC_VALUE, page->kind, value->key, record.text,
                                &op->arena, &value->value) == NOD_OK;
    op->store->codec.again = false;
    if (read)
        redis_row_add(op, (struct store_row){ .value = value });
}

static struct str value_cursor(struct redis_op *op, const struct page *page,
                               const struct named *last)
{
    return marked(op, '.', str_skip(last->name, before_key(op, page)));
}

static const struct listing values_listing = { values_say, values_named, value_read, value_row,
                                               value_cursor };
static const struct redis_verb values_verb = { "list", page_reply };

void redis_list(struct store *base, const struct store_list *list, store_row_fn *row,
                store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &values_verb, done, data);
    struct page *page = ARENA_NEW(&op->arena, struct page);

    if (!page || (list->cursor.len && list->cursor.at[0] != '.')) {
        redis_op_end(op, page ? NOD_E_USAGE : NOD_E_LIMIT);
        return;
    }
    page->kind = redis_copy(op, list->kind);
    page->prefix = redis_copy(op, list->prefix);
    page->cursor.given = list->cursor.len > 0;
    if (page->cursor.given)
        page->cursor.name = redis_value_name(op, page->kind, str_skip(list->cursor, 1));
    page_begin(op, page, &values_listing, list->limit, row);
}
