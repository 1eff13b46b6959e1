/*
 * store/redis: turns the server's bytes into values.
 *
 * hiredis's reader splits the bytes. The values are made in one arena, which is reset with every
 * reply. So a reply costs no allocation of its own, and whatever the bytes say, it takes no more
 * memory than the arena may have: a list that claims to be longer is refused before there is room
 * for it.
 *
 * Holds always: an incomplete reply is bounded too (REDIS_UNREAD_BYTES, and REDIS_LINE_MAX for a
 * line without an end), so a server that never completes a reply is disconnected.
 */
#include <hiredis/hiredis.h>

#include "base/mem.h"
#include "store/redis_inside.h"

struct redis_replies {
    redisReader *reader;
    struct arena arena; /* of the newest value, complete or not */
    bool began;         /* the newest value is being read */
    bool broken;
};

/* Where the task's value goes: into its list, or to the top. */
static struct redis_value *place(const redisReadTask *task)
{
    struct redis_replies *replies = task->privdata;

    if (task->parent) {
        struct redis_value *list = task->parent->obj;
        return &list->items[task->idx];
    }
    return ARENA_NEW(&replies->arena, struct redis_value);
}

static void *make_text(const redisReadTask *task, char *at, size_t len)
{
    struct redis_replies *replies = task->privdata;
    struct redis_value *value = place(task);
    struct str text = arena_str(&replies->arena, str_n(at, len));

    if (!value || !text.at)
        return NULL;
    value->type = task->type == REDIS_REPLY_ERROR ? REDIS_IS_ERROR : REDIS_IS_TEXT;
    value->text = text;
    return value;
}

#if HIREDIS_MAJOR >= 1
typedef size_t list_count;
#else
typedef int list_count;
#endif

static void *make_list(const redisReadTask *task, list_count count)
{
    struct redis_replies *replies = task->privdata;
    struct redis_value *value = place(task);

    if (!value || (size_t)count > REDIS_REPLY_BYTES / sizeof(*value))
        return NULL;
    value->type = REDIS_IS_LIST;
    value->count = (size_t)count;
    value->items = arena_zalloc(&replies->arena, (size_t)count * sizeof(*value) + 1);
    return value->items ? value : NULL;
}

static void *make_number(const redisReadTask *task, long long number)
{
    struct redis_value *value = place(task);

    if (value) {
        value->type = REDIS_IS_NUMBER;
        value->number = number;
    }
    return value;
}

static void *make_nil(const redisReadTask *task)
{
    return place(task); /* zeroed, which is a nil */
}

static void forget(void *value)
{
    (void)value; /* freed with its arena */
}

static redisReplyObjectFunctions makers = {
    .createString = make_text,
    .createArray = make_list,
    .createInteger = make_number,
    .createNil = make_nil,
    .freeObject = forget,
};

struct redis_replies *redis_replies_create(void)
{
    struct redis_replies *replies = MEM_NEW(struct redis_replies);

    replies->reader = redisReaderCreateWithFunctions(&makers);
    if (replies->reader)
        replies->reader->privdata = replies;
    else
        replies->broken = true;
    arena_init(&replies->arena, REDIS_REPLY_BYTES);
    return replies;
}

void redis_replies_destroy(struct redis_replies *replies)
{
    if (!replies)
        return;
    if (replies->reader)
        redisReaderFree(replies->reader);
    arena_finish(&replies->arena);
    mem_free(replies);
}

void redis_replies_feed(struct redis_replies *replies, struct str bytes)
{
    if (!replies->broken && redisReaderFeed(replies->reader, bytes.at, bytes.len) != REDIS_OK)
        replies->broken = true;
}

/* Why the bytes so far can never become a reply; NULL: they can. */
static const char *never(const redisReader *reader)
{
    size_t unread = reader->len - reader->pos;

    _Static_assert(REDIS_UNREAD_BYTES == 64 << 20, "as the message says");
    if (unread > REDIS_UNREAD_BYTES)
        return "it sends a reply of more than 64 MiB";
    if (unread > REDIS_LINE_MAX && !memchr(reader->buf + reader->pos, '\n', REDIS_LINE_MAX))
        return "it does not speak Redis's protocol: a line without an end";
    return NULL;
}

const struct redis_value *redis_replies_next(struct redis_replies *replies, const char **why)
{
    void *value = NULL;

    *why = NULL;
    if (!replies->began)
        arena_reset(&replies->arena);
    replies->began = true;
    if (!replies->broken && redisReaderGetReply(replies->reader, &value) != REDIS_OK)
        replies->broken = true;
    if (replies->broken) {
        *why = replies->arena.exhausted ? "it sends a reply of more than 64 MiB"
                                        : "it does not speak Redis's protocol";
        return NULL;
    }
    if (value) {
        replies->began = false;
        return value;
    }
    *why = never(replies->reader);
    replies->broken = *why != NULL;
    return NULL;
}

/* --- looking at values --- */

const struct redis_value *redis_item(const struct redis_value *list, size_t at)
{
    static const struct redis_value nil = { .type = REDIS_IS_NIL };

    return list->type == REDIS_IS_LIST && at < list->count ? &list->items[at] : &nil;
}

int64_t redis_number(const struct redis_value *value)
{
    int64_t number;

    if (value->type == REDIS_IS_NUMBER)
        return value->number;
    return value->type == REDIS_IS_TEXT && str_to_i64(value->text, &number) ? number : 0;
}

struct str redis_text(const struct redis_value *value)
{
    return value->type == REDIS_IS_TEXT ? value->text : STR_NONE;
}

bool redis_error_is(const struct redis_value *value, const char *begin)
{
    return value->type == REDIS_IS_ERROR && str_starts(value->text, str_of(begin));
}
