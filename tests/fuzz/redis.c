/*
 * tests/fuzz/redis: arbitrary bytes as replies of a Redis, read as a call and its asks. However the
 * bytes are cut, the same values come out. Reading is bounded. With a keyring no content comes out
 * that was not sealed.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/log.h"
#include "store/redis_inside.h"
#include "target.h"

enum { ARENA_CAP = 64 << 20, VALUES_MOST = 1000 };

static void must(bool truth)
{
    if (!truth)
        abort();
}

static struct keyring *ring(void)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");
    static struct keyring *made;
    const char *why;

    if (!made)
        must(keyring_create(&secret, 1, &made, &why) == NOD_OK);
    return made;
}

static const struct str id = STR_INIT("0123456789abcdefghijkl");

static void row(void *data, const struct store_row *shown)
{
    size_t *rows = data;

    must(shown->ask->state <= ASK_INVALID);
    (*rows)++;
}

static void read_as_records(const struct redis_value *value)
{
    struct codec plain = { 0 }, sealed = { .ring = ring() };
    struct call_record call;
    struct ask_record ask;
    struct arena arena;
    size_t rows = 0;

    arena_init(&arena, ARENA_CAP);
    if (redis_read_call(&plain, id, value, true, &arena, &call) == NOD_OK)
        must(call.state <= CALL_STORED_CANCELLED);
    must(redis_read_call(&sealed, id, value, true, &arena, &call) != NOD_OK);
    redis_read_asks(&plain, value, &arena, REDIS_SCAN_MOST, row, &rows);
    must(rows <= REDIS_SCAN_MOST);
    redis_read_ask_of(&plain, value, id, &arena, &ask);
    redis_read_ask(&plain, id, redis_item(value, 0), redis_item(value, 1), redis_item(value, 2),
                   &arena, &ask);
    redis_number(value);
    redis_text(value);
    arena_finish(&arena);
}

/* The number of values, and a sum of what they are. */
static size_t read_all(struct str bytes, size_t piece, uint64_t *sum)
{
    struct redis_replies *replies = redis_replies_create();
    size_t count = 0;

    *sum = 0;
    while (bytes.len && count < VALUES_MOST) {
        size_t len = piece && piece < bytes.len ? piece : bytes.len;
        const struct redis_value *value;
        const char *why = NULL;
        redis_replies_feed(replies, str_n(bytes.at, len));
        bytes = str_skip(bytes, len);
        while (count < VALUES_MOST && (value = redis_replies_next(replies, &why))) {
            count++;
            *sum = *sum * 31 + (uint64_t)value->type * 7 + value->text.len + value->count;
            if (!piece)
                read_as_records(value);
        }
        if (why)
            break;
    }
    redis_replies_destroy(replies);
    return count;
}

FUZZ_TARGET(redis)
{
    struct str bytes = str_n((const char *)data, size);
    struct redis_url url;
    char why[REDIS_WHY_MAX];
    uint64_t whole, cut;

    must(read_all(bytes, 0, &whole) == read_all(bytes, 1, &cut) && whole == cut);
    redis_url_parse(bytes, &url, why);
    return 0;
}
