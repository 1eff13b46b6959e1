/*
 * store/redis: one connection, for as long as the store lives.
 *
 *     connecting ─▶ greeting ─▶ ready ─▶ (broken) ─▶ pause ─▶ connecting ...
 *
 * What is written while it is ready is gathered, and sent at the end of the loop's turn, or earlier
 * if it is worth a write of its own: then Redis works on it while we prepare the next. The pauses
 * double up to a bound, and each is chosen at random below that, so that many nodes do not come
 * back at once.
 *
 * Holds always: `ready` is told once for each connection that greeted well, and `down` once for
 * each of those. There is no event after redis_link_destroy. The object is freed when nothing
 * refers to it: no stream, and no callback of its own on the stack.
 */
#include <stdio.h>
#include <uv.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/redis_inside.h"

enum { COUNT_MAX = sizeof("*18446744073709551615\r\n") - 1 };

/* How many words (kind '*') or bytes ('$') follow. */
static char *put_count(char *to, char kind, size_t n)
{
    char digits[COUNT_MAX];
    size_t from = sizeof(digits);

    do
        digits[--from] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    *to++ = kind;
    memcpy(to, digits + from, sizeof(digits) - from);
    to += sizeof(digits) - from;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

void redis_command(struct buf *out, const struct str *words, size_t count)
{
    size_t most = COUNT_MAX;

    for (size_t i = 0; i < count; i++)
        most += COUNT_MAX + words[i].len + 2;
    char *to = buf_reserve(out, most);
    if (!to)
        return;
    to = put_count(to, '*', count);
    for (size_t i = 0; i < count; i++) {
        to = put_count(to, '$', words[i].len);
        if (words[i].len)
            memcpy(to, words[i].at, words[i].len);
        to += words[i].len;
        *to++ = '\r';
        *to++ = '\n';
    }
    out->len = (size_t)(to - out->at);
}

static void link_begin(struct redis_link *link);

static void link_release(struct redis_link *link)
{
    if (link->owner || link->busy || link->stream || link->connecting)
        return;
    redis_replies_destroy(link->replies);
    buf_finish(&link->out);
    mem_free(link);
}

/* --- the end of a connection --- */

static void stream_gone(struct stream *stream)
{
    (void)stream;
}

static void nothing_read(struct stream *stream, struct str bytes)
{
    (void)stream;
    (void)bytes;
}

static void nothing_ended(struct stream *stream, int error)
{
    (void)stream;
    (void)error;
}

/* For a stream that is closed and no longer ours. */
static const struct stream_events orphan_events = { nothing_read, nothing_ended, NULL,
                                                    stream_gone };

static void drop_stream(struct redis_link *link)
{
    struct stream *stream = link->stream;

    link->stream = NULL;
    loop_last_stop(&link->flush);
    buf_clear(&link->out);
    if (!stream)
        return;
    stream_own(stream, &orphan_events, NULL);
    stream_close(stream);
}

static void pause_over(void *data)
{
    link_begin(data);
}

void redis_link_fail(struct redis_link *link, const char *why)
{
    bool was_ready = link->ready;

    if (!link->owner)
        return;
    if (why != link->why)
        snprintf(link->why, sizeof(link->why), "%s", why);
    link->ready = false;
    link->settled = true;
    drop_stream(link);
    uint32_t chance;
    random_bytes(&chance, sizeof(chance));
    link->pause_ms = link->pause_ms ? link->pause_ms * 2 : REDIS_BACKOFF_MIN_MS;
    if (link->pause_ms > REDIS_BACKOFF_MOST_MS)
        link->pause_ms = REDIS_BACKOFF_MOST_MS;
    int64_t wait = link->pause_ms / 2 + chance % (link->pause_ms / 2 + 1);
    timer_set(link->loop, &link->timer, wait, pause_over, link);
    if (was_ready && link->events->down) {
        link->busy++;
        link->events->down(link, link->why);
        link->busy--;
    }
    link_release(link);
}

/* --- reading --- */

static void greet_heard(struct redis_link *link, const struct redis_value *value)
{
    if (!redis_greeting_reply(link, link->greeted, value)) {
        redis_link_fail(link, link->why);
        return;
    }
    if (++link->greeted < link->greeting)
        return;
    if (!redis_greeting_done(link)) {
        redis_link_fail(link, link->why);
        return;
    }
    timer_stop(link->loop, &link->timer);
    link->pause_ms = 0;
    link->ready = link->settled = true;
    link->hopeless = false;
    link->why[0] = '\0';
    if (link->events->ready)
        link->events->ready(link);
}

static void on_read(struct stream *stream, struct str bytes)
{
    struct redis_link *link = stream->owner;
    const char *why = NULL;
    struct loop *loop = link->loop;
    enum turn_work before = loop_spend(loop, TURN_STORE);

    link->busy++;
    redis_replies_feed(link->replies, bytes);
    while (link->owner && link->stream == stream) {
        const struct redis_value *value = redis_replies_next(link->replies, &why);
        if (!value)
            break;
        if (link->ready)
            link->events->value(link, value);
        else
            greet_heard(link, value);
    }
    if (why && link->owner && link->stream == stream)
        redis_link_fail(link, why);
    link->busy--;
    link_release(link);
    loop_spend(loop, before);
}

static void on_end(struct stream *stream, int error)
{
    struct redis_link *link = stream->owner;
    const char *why = tls_why(stream);
    char text[REDIS_WHY_MAX];

    if (why[0])
        snprintf(text, sizeof(text), "%s", why);
    else
        snprintf(text, sizeof(text), "the connection was lost%s%s", error ? ": " : "",
                 error ? uv_strerror(error) : " (closed by the other side)");
    redis_link_fail(link, text);
}

static const struct stream_events events = { on_read, on_end, NULL, stream_gone };

/* --- writing --- */

static void flush(void *data)
{
    struct redis_link *link = data;

    if (!link->stream || !link->out.len)
        return;
    stream_write(link->stream, &(struct str){ link->out.at, link->out.len }, 1);
    buf_clear(&link->out);
    if (link->ready)
        CRASH_POINT(redis_send_after);
}

void redis_link_write(struct redis_link *link, struct str bytes)
{
    buf_add(&link->out, bytes);
    if (link->out.len >= REDIS_WRITE_BYTES)
        flush(link);
    else
        loop_last(link->loop, &link->flush, flush, link);
}

/* --- the beginning --- */

static void greeting_late(void *data)
{
    struct redis_link *link = data;
    char why[REDIS_WHY_MAX];

    snprintf(why, sizeof(why), "it was connected, and did not answer within %lld ms",
             (long long)link->url->timeout_ms);
    redis_link_fail(link, why);
}

static void connected(void *data, struct stream *stream, const char *why)
{
    struct redis_link *link = data;
    struct str host = str_of(link->url->host);
    char text[REDIS_WHY_MAX];

    link->connecting = NULL;
    if (!stream) { /* "no such file" alone would be read as one of the server's own */
        snprintf(text, sizeof(text), "%s%s", link->url->path[0] ? "its Unix socket: " : "", why);
        redis_link_fail(link, text);
        return;
    }
    link->stream = link->tls ? tls_client(link->loop, link->tls, stream, host) : stream;
    stream_own(link->stream, &events, link);
    redis_replies_destroy(link->replies);
    link->replies = redis_replies_create();
    link->greeted = 0;
    timer_set(link->loop, &link->timer, link->url->timeout_ms, greeting_late, link);
    stream_read_start(link->stream);
    link->greeting = redis_greeting(link, &link->out);
    flush(link);
}

static void link_begin(struct redis_link *link)
{
    const struct redis_url *url = link->url;

    link->connecting = connect_begin(link->loop,
                                     &(struct connect_opts){ .host = str_of(url->host),
                                                             .port = url->port,
                                                             .path = str_of(url->path),
                                                             .timeout_ms = url->timeout_ms,
                                                             .background = true },
                                     connected, link);
}

struct redis_link *redis_link_create(struct loop *loop, const struct redis_url *url,
                                     struct tls_context *tls, struct str channel,
                                     const struct redis_link_events *told, void *owner)
{
    struct redis_link *link = MEM_NEW(struct redis_link);

    link->loop = loop;
    link->url = url;
    link->tls = tls;
    link->channel = channel;
    link->events = told;
    link->owner = owner;
    link->strict = url->strict;
    buf_init(&link->out, 2u * REDIS_QUEUE_BYTES);
    snprintf(link->why, sizeof(link->why), "no connection yet");
    link_begin(link);
    return link;
}

void redis_link_destroy(struct redis_link *link)
{
    if (!link)
        return;
    link->owner = NULL;
    link->ready = false;
    timer_stop(link->loop, &link->timer);
    connect_cancel(link->connecting);
    link->connecting = NULL;
    drop_stream(link);
    link_release(link);
}
