/*
 * mcp/era2025/stream: delivers messages in order, also to clients that come back for them.
 *
 * Every message that is not plain JSON becomes an event in the stream's log. It is then written to
 * the connection, if there is one and it has room. `unsent` marks how far the connection has got.
 * Resuming only moves that mark, so what is sent again is byte for byte what was sent before.
 *
 * Holds always: the log is in the order of seq. Events from `unsent` on have not been written to
 * this connection. A stream with awaited responses is never freed. Past the caps, sent results and
 * asks may be dropped, oldest first; unsent ones only past much larger bounds, which no client that
 * reads reaches.
 */
#include "mcp/era2025/stream.h"
#include "mcp/shared/delivery.h"
#include "mcp/shared/shares.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/sse.h"

enum {
    MCP_STANDING_MAX = 4, /* GET streams of one session */
    MCP_RETRY_MS = 1000,  /* how long a client that lost its stream is asked to wait */
};

struct mcp_event {
    struct mcp_event *next;
    uint32_t seq;
    uint32_t len;
    bool kept;
    char text[];
};

enum { EVENT_ID_MAX = STREAM_NAME_MAX + 12, STANDING_MARK = 'g' };

static size_t digits_before(char *out, size_t at, uint32_t number)
{
    do
        out[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return at;
}

static struct str event_id(const struct mcp_stream *stream, uint32_t seq, char out[EVENT_ID_MAX])
{
    size_t at = digits_before(out, EVENT_ID_MAX, seq);
    struct str name = str_of(stream->name);

    out[--at] = '_';
    at -= name.len;
    memcpy(out + at, name.at, name.len);
    return str_n(out + at, EVENT_ID_MAX - at);
}

/*
 * The next seq. Events that only this node knows stay below the next place that will be given out:
 * another node may have given that place to a question, and an id must not stand for both.
 */
static uint32_t seq_behind(const struct mcp_stream *stream, uint32_t seq)
{
    return stream->of_call && (seq + 1) % EVENT_SEQ_STEP == 0 ? seq : seq + 1;
}

static void prime(struct mcp_stream *stream, uint32_t seq);

/* --- making and freeing --- */

static void stream_gone(void *data)
{
    struct mcp_stream *stream = data;

    stream->exchange = NULL;
    stream->unsent = NULL;
    if (!stream->begun)
        stream->lost = true;
    if (stream->beat)
        timer_stop(stream->session->server->opts.loop, stream->beat);
    session_touch(stream->session);
}

static void stream_drained(void *data)
{
    mcp_stream_pump(data);
}

static void stream_attach(struct mcp_stream *stream, struct http_exchange *exchange)
{
    stream->exchange = exchange;
    http_on_gone(exchange, stream_gone, stream);
}

static struct mcp_stream *stream_create(struct session *session)
{
    struct mcp_stream *stream = MEM_NEW(struct mcp_stream);
    char number[10];
    size_t at = digits_before(number, sizeof(number), ++session->next_stream);

    memcpy(stream->name, number + at, sizeof(number) - at);
    stream->session = session;
    stream->next_seq = 1;
    ended_entry_init(&stream->kept);
    list_append(&session->streams, &stream->link);
    return stream;
}

/* A random name: if nodes used numbers, nobody could tell whose stream it is. */
static void name_alone(struct mcp_stream *stream, const char *mark)
{
    struct id id;

    if (!server_survives(stream->session->server))
        return;
    id_random(&id);
    snprintf(stream->name, sizeof(stream->name), "%s%s", mark, id.text);
}

void mcp_stream_name(struct mcp_stream *stream, const struct id *call_id)
{
    memcpy(stream->name, call_id->text, ID_LEN + 1);
    stream->of_call = true;
}

struct mcp_stream *mcp_stream_held(struct session *session, struct http_exchange *exchange,
                                   bool array)
{
    struct mcp_stream *stream = stream_create(session);

    stream->array = array;
    stream_attach(stream, exchange);
    if (array)
        name_alone(stream, "");
    return stream;
}

struct mcp_stream *mcp_stream_back(struct session *session, struct http_exchange *exchange,
                                   struct str call_id, uint32_t seq)
{
    struct mcp_stream *stream = mcp_stream_held(session, exchange, false);

    memcpy(stream->name, call_id.at, ID_LEN);
    stream->of_call = true;
    stream->seen = seq;
    stream->next_seq = seq_behind(stream, seq);
    stream->begun = true;
    sse_begin(exchange, NULL, 0);
    prime(stream, seq);
    mcp_stream_pump(stream);
    return stream;
}

struct mcp_stream *mcp_stream_lines(struct session *session, struct pipe_lines *pipe)
{
    struct mcp_stream *stream = stream_create(session);

    stream->pipe = pipe;
    stream->begun = true;
    return stream;
}

static void stream_beat(void *data)
{
    struct mcp_stream *stream = data;
    struct mcp_server *server = stream->session->server;

    if (!stream->exchange)
        return;
    mcp_stream_comment(stream);
    timer_set(server->opts.loop, stream->beat, server->opts.heartbeat_ms, stream_beat, stream);
}

struct mcp_stream *mcp_stream_standing(struct session *session, struct http_exchange *exchange)
{
    struct mcp_server *server = session->server;

    if (session->standing_count >= MCP_STANDING_MAX) { /* the oldest makes room */
        LIST_EACH (at, &session->streams) {
            struct mcp_stream *old = LIST_OF(at, struct mcp_stream, link);
            if (!old->standing)
                continue;
            mcp_stream_close(old);
            mcp_stream_destroy(old);
            break;
        }
    }
    if (shares_full(server, session_principal(session), MCP_SHARE_LISTENERS, 1))
        return NULL;
    shares_add(server, session_principal(session), MCP_SHARE_LISTENERS, 1);
    struct mcp_stream *stream = stream_create(session);
    stream->standing = true;
    name_alone(stream, (char[]){ STANDING_MARK, '\0' });
    stream->beat = MEM_NEW(struct timer);
    session->standing_count++;
    stream_attach(stream, exchange);
    mcp_stream_begin(stream);
    timer_set(server->opts.loop, stream->beat, server->opts.heartbeat_ms, stream_beat, stream);
    return stream;
}

static void event_free(struct mcp_stream *stream, struct mcp_event *event)
{
    stream->bytes -= event->len;
    stream->count--;
    mem_free_sized(event, sizeof(*event) + event->len);
}

void mcp_stream_destroy(struct mcp_stream *stream)
{
    struct session *session = stream->session;

    if (stream->beat) {
        timer_stop(session->server->opts.loop, stream->beat);
        mem_free(stream->beat);
    }
    for (struct mcp_event *event = stream->first, *next; event; event = next) {
        next = event->next;
        event_free(stream, event);
    }
    if (stream->batch) {
        buf_finish(stream->batch);
        MEM_DELETE(stream->batch);
    }
    if (stream->standing) {
        session->standing_count--;
        shares_drop(session->server, session_principal(session), MCP_SHARE_LISTENERS, 1);
    }
    if (stream->delivery)
        delivery_forget(stream->delivery);
    ended_streams_remove(stream);
    list_remove(&stream->link);
    MEM_DELETE(stream);
}

/* --- the log --- */

static bool over_bounds(const struct mcp_stream *stream)
{
    return stream->count > MCP_STREAM_EVENTS_MOST || stream->bytes > MCP_STREAM_BYTES_MOST;
}

/* Drops the oldest event that may go; the newest always stays. */
static bool log_drop(struct mcp_stream *stream, bool kept)
{
    struct mcp_event **at = &stream->first;
    bool sent = stream->exchange != NULL || over_bounds(stream);

    for (struct mcp_event *event = stream->first; event && event->next; event = event->next) {
        if (event == stream->unsent)
            sent = over_bounds(stream);
        if (event->kept == kept && (sent || !kept)) {
            *at = event->next;
            if (stream->unsent == event)
                stream->unsent = event->next;
            event_free(stream, event);
            return true;
        }
        at = &event->next;
    }
    return false;
}

static void log_add_at(struct mcp_stream *stream, enum event_sort sort, uint32_t seq,
                       struct str message)
{
    struct mcp_event *event = mem_alloc(sizeof(*event) + message.len);

    event->next = NULL;
    event->seq = seq;
    event->len = (uint32_t)message.len;
    event->kept = sort == EVENT_KEPT;
    memcpy(event->text, message.at, message.len);
    if (stream->last && stream->first)
        stream->last->next = event;
    else
        stream->first = event;
    stream->last = event;
    stream->count++;
    stream->bytes += event->len;
    if ((stream->exchange || stream->pipe) && !stream->unsent)
        stream->unsent = event;
    while ((stream->count > MCP_STREAM_EVENTS_MAX || stream->bytes > MCP_STREAM_BYTES_MAX) &&
           (log_drop(stream, false) || log_drop(stream, true)))
        continue;
}

static void log_add(struct mcp_stream *stream, enum event_sort sort, struct str message)
{
    uint32_t seq = stream->next_seq;

    stream->next_seq = seq_behind(stream, seq);
    log_add_at(stream, sort, seq, message);
}

/* A client that was lost before it had an id sends its request again (repeat.c), unless the
 * request was in an array. */
static bool may_come_back(const struct mcp_stream *stream)
{
    return !stream->lost || !stream->array;
}

/* --- writing --- */

static bool write_event(struct mcp_stream *stream, const struct mcp_event *event)
{
    char id[EVENT_ID_MAX];

    return sse_send(stream->exchange,
                    &(struct sse_event){ .id = event_id(stream, event->seq, id),
                                         .data = str_n(event->text, event->len) });
}

/* An id to come back with, before anything is asked; on a stream that was taken up, the last that
 * the client has seen: clients forget it with the connection. */
static bool write_priming(struct mcp_stream *stream)
{
    char id[EVENT_ID_MAX];

    stream->unprimed =
        !sse_send(stream->exchange, &(struct sse_event){ .id = event_id(stream, stream->primes, id),
                                                         .retry_ms = MCP_RETRY_MS });
    return !stream->unprimed;
}

static void prime(struct mcp_stream *stream, uint32_t seq)
{
    stream->primes = seq;
    stream->unprimed = session_knows(stream->session)->priming;
}

/* Nobody can ask for a line again. */
static void lines_pump(struct mcp_stream *stream)
{
    for (struct mcp_event *event; (event = stream->first);) {
        /* JSON has line ends only between its tokens, where a blank does as well. */
        for (char *c = event->text; (c = memchr(c, '\n', (size_t)(event->text + event->len - c)));)
            *c = ' ';
        if (!pipe_write(stream->pipe, str_n(event->text, event->len)))
            break;
        stream->first = event->next;
        event_free(stream, event);
    }
    stream->unsent = stream->first;
    if (!stream->first)
        stream->last = NULL;
}

static void delivered(void *data, bool did)
{
    struct mcp_stream *stream = data;

    stream->delivery = NULL;
    if (did) {
        stream->arrived = true;
        ended_streams_arrived(stream);
    }
}

void mcp_stream_pump(struct mcp_stream *stream)
{
    if (stream->pipe) {
        lines_pump(stream);
        return;
    }
    if (stream->exchange && stream->unprimed && !write_priming(stream)) {
        http_on_drain(stream->exchange, stream_drained, stream);
        return;
    }
    while (stream->exchange && stream->unsent) {
        if (!write_event(stream, stream->unsent)) {
            if (stream->exchange)
                http_on_drain(stream->exchange, stream_drained, stream);
            return;
        }
        if (stream->unsent)
            stream->unsent = stream->unsent->next;
    }
    if (stream->exchange && stream->ended) {
        struct http_exchange *exchange = stream->exchange;
        stream->exchange = NULL;
        if (stream->delivery)
            delivery_forget(stream->delivery);
        stream->delivery = delivery_watch(
            stream->session->server, exchange,
            stream->result_of.text[0] ? id_str(&stream->result_of) : STR_NONE, delivered, stream);
        http_end(exchange);
    }
}

void mcp_stream_begin(struct mcp_stream *stream)
{
    if (stream->begun || !may_come_back(stream))
        return;
    stream->begun = true;
    if (stream->exchange)
        sse_begin(stream->exchange, NULL, 0);
    prime(stream, 0);
    if (stream->batch) {
        /* Responses that were to be one array are sent one by one now. */
        struct str text = buf_str(stream->batch), one;
        for (bool more = text.len > 0; more;) {
            more = str_cut(text, '\n', &one, &text);
            log_add(stream, EVENT_KEPT, one);
        }
        buf_finish(stream->batch);
        mem_free(stream->batch);
        stream->batch = NULL;
    }
    mcp_stream_pump(stream);
}

bool mcp_stream_has_id(const struct mcp_stream *stream)
{
    return stream->begun && !stream->lost &&
           (session_knows(stream->session)->priming || stream->next_seq > 1 || stream->reserved ||
            stream->seen);
}

void mcp_stream_send(struct mcp_stream *stream, enum event_sort sort, struct str message)
{
    /* While a session ends, clients that still listen are told which questions no longer count. */
    if (!may_come_back(stream) || (stream->session->ended && !stream->exchange))
        return;
    mcp_stream_begin(stream);
    log_add(stream, sort, message);
    mcp_stream_pump(stream);
}

uint32_t mcp_stream_reserve(struct mcp_stream *stream)
{
    uint32_t next = stream->reserved < stream->next_seq ? stream->next_seq : stream->reserved + 1;
    uint32_t seq = (next + EVENT_SEQ_STEP - 1) / EVENT_SEQ_STEP * EVENT_SEQ_STEP;

    if (seq >= EVENT_SEQ_RESULT)
        return 0; /* happens only if a client invents its event ids */
    stream->reserved = seq;
    return seq;
}

void mcp_stream_send_at(struct mcp_stream *stream, uint32_t seq, struct str message)
{
    if (!may_come_back(stream) || (stream->session->ended && !stream->exchange))
        return;
    if (seq >= stream->next_seq)
        stream->next_seq = seq_behind(stream, seq);
    if (seq <= stream->seen)
        return;
    mcp_stream_begin(stream);
    log_add_at(stream, EVENT_KEPT, seq, message);
    mcp_stream_pump(stream);
}

void mcp_stream_forget(struct mcp_stream *stream, uint32_t seq)
{
    struct mcp_event *before = NULL, *event = stream->first;

    for (; event && event != stream->unsent && event->seq != seq; event = event->next)
        before = event;
    if (!event || event == stream->unsent)
        return;
    if (before)
        before->next = event->next;
    else
        stream->first = event->next;
    if (stream->last == event)
        stream->last = before;
    event_free(stream, event);
}

void mcp_stream_comment(struct mcp_stream *stream)
{
    if (stream->exchange && stream->begun && !stream->unsent)
        sse_comment(stream->exchange, STR("waiting"));
}

bool mcp_stream_reachable(const struct mcp_stream *stream)
{
    return may_come_back(stream) && !stream->session->ended;
}

/* --- responses --- */

void mcp_stream_await(struct mcp_stream *stream)
{
    stream->awaited++;
}

/* All that was to be sent as one JSON text is there. */
static void reply_plain(struct mcp_stream *stream, int status, struct str message)
{
    struct http_exchange *exchange = stream->exchange;

    stream->exchange = NULL;
    if (!stream->array) {
        http_reply_json(exchange, status, message);
        return;
    }
    /* So far, one response in each line. */
    struct buf *batch = stream->batch;
    struct buf array;
    buf_init(&array, batch->len + 2);
    buf_add_char(&array, '[');
    for (size_t i = 0; i < batch->len; i++)
        if (batch->at[i] == '\n')
            batch->at[i] = ',';
    buf_add(&array, buf_str(batch));
    buf_add_char(&array, ']');
    http_reply_json(exchange, 200, buf_str(&array));
    buf_finish(&array);
}

static void batch_add(struct mcp_stream *stream, struct str message)
{
    if (!stream->batch) {
        stream->batch = mem_alloc(sizeof(*stream->batch));
        buf_init(stream->batch, MCP_MESSAGE_MAX);
    }
    size_t from = stream->batch->len;
    if (from)
        buf_add_char(stream->batch, '\n');
    if (!buf_add(stream->batch, message)) {
        LOG_WARN("response dropped: the batch has more than 16 MiB", LOG_INT("bytes", message.len));
        stream->batch->len = from;
        stream->batch->overflow = false;
        return;
    }
    for (size_t i = from + 1; i < stream->batch->len; i++)
        if (stream->batch->at[i] == '\n')
            stream->batch->at[i] = ' ';
}

/*
 * The questions of a call that has ended are over, and nobody is asked them again. The client can
 * still come back for the result and the notifications.
 */
static void log_drop_questions(struct mcp_stream *stream)
{
    struct mcp_event **at = &stream->first;

    for (struct mcp_event *event; (event = *at)->next && event != stream->unsent;) {
        if (!event->kept) {
            at = &event->next;
            continue;
        }
        *at = event->next;
        event_free(stream, event);
    }
}

size_t mcp_stream_memory(const struct mcp_stream *stream)
{
    return sizeof(*stream) + stream->bytes + stream->count * sizeof(struct mcp_event);
}

static void stream_settle(struct mcp_stream *stream)
{
    if (--stream->awaited > 0)
        return;
    bool kept = stream->begun && !stream->lost && !stream->session->ended;
    stream->ended = true;    /* a complete stream is kept for clients that lost their connection */
    mcp_stream_pump(stream); /* ends the connection, unless it takes no more */
    if (kept) {
        if (!stream->array && stream->first)
            log_drop_questions(stream);
        ended_streams_add(stream);
    } else {
        mcp_stream_close(stream);
        mcp_stream_destroy(stream);
    }
}

static void stream_respond(struct mcp_stream *stream, int status, struct str message)
{
    if (stream->pipe) {
        mcp_stream_send(stream, EVENT_KEPT, message);
        return;
    }
    if (stream->begun && !stream->session->ended) {
        log_add_at(stream, EVENT_KEPT, stream->of_call ? EVENT_SEQ_RESULT : stream->next_seq++,
                   message);
        if (stream->awaited > 1)
            mcp_stream_pump(stream);
    } else if (stream->exchange && !stream->begun) {
        if (stream->array)
            batch_add(stream, message);
        if (stream->awaited == 1)
            reply_plain(stream, status, message);
    }
    stream_settle(stream);
}

void mcp_stream_hands(struct mcp_stream *stream, struct str call_id)
{
    if (stream->pipe || call_id.len != ID_LEN)
        return;
    if (!stream->array && stream->begun)
        memcpy(stream->result_of.text, call_id.at, ID_LEN);
    else if (stream->exchange)
        delivery_begin(stream->session->server, stream->exchange, call_id);
}

void mcp_stream_respond(struct mcp_stream *stream, struct str message)
{
    stream_respond(stream, 200, message);
}

void mcp_stream_refuse(struct mcp_stream *stream, int status, struct str message)
{
    stream_respond(stream, status, message);
}

void mcp_stream_skip(struct mcp_stream *stream)
{
    if (stream->pipe)
        return;
    if (stream->awaited == 1 && stream->exchange && !stream->begun) {
        if (stream->batch) {
            reply_plain(stream, 200, STR_NONE);
        } else {
            /* There is nothing to send: the stream ends without an event. */
            struct http_exchange *exchange = stream->exchange;
            stream->exchange = NULL;
            sse_begin(exchange, NULL, 0);
            http_end(exchange);
        }
    }
    stream_settle(stream);
}

void mcp_stream_abandon(struct mcp_stream *stream)
{
    mcp_stream_close(stream);
    if (stream->array || stream->pipe) { /* others respond there as well */
        mcp_stream_skip(stream);
        return;
    }
    stream->awaited--;
    mcp_stream_destroy(stream);
}

void mcp_stream_close(struct mcp_stream *stream)
{
    struct http_exchange *exchange = stream->exchange;

    stream->exchange = NULL;
    stream->unsent = NULL;
    if (!exchange)
        return;
    if (!stream->begun)
        sse_begin(exchange, NULL, 0);
    http_end(exchange);
}

/* --- resuming --- */

bool mcp_event_id_read(struct str event_id, struct str *stream, uint32_t *seq)
{
    size_t at = event_id.len;
    uint64_t number;

    while (at > 0 && event_id.at[at - 1] != '_') /* a name may contain `_` as well */
        at--;
    if (event_id.len >= EVENT_ID_MAX || at < 2 || !str_to_u64(str_skip(event_id, at), &number) ||
        number > EVENT_SEQ_RESULT)
        return false;
    *stream = str_n(event_id.at, at - 1);
    *seq = (uint32_t)number;
    return true;
}

bool mcp_stream_name_is_standing(struct str name)
{
    return name.len == STREAM_NAME_MAX && name.at[0] == STANDING_MARK;
}

struct mcp_stream *mcp_stream_find(struct session *session, struct str name, uint32_t seq)
{
    LIST_EACH (at, &session->streams) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, link);
        if (!str_eq(str_of(stream->name), name))
            continue;
        /* Other nodes may have sent more of a call's stream than this one. */
        return stream->begun && (stream->of_call || seq < stream->next_seq) ? stream : NULL;
    }
    return NULL;
}

void mcp_stream_resume(struct mcp_stream *stream, struct http_exchange *exchange, uint32_t seq)
{
    struct mcp_server *server = stream->session->server;
    struct http_exchange *old = stream->exchange;

    /* The old connection may be dead without our knowing: the new one takes over. */
    stream->exchange = NULL;
    stream->lost = false;
    if (old)
        http_end(old);
    if (stream->of_call && seq < EVENT_SEQ_RESULT) {
        if (seq >= stream->next_seq)
            stream->next_seq = seq_behind(stream, seq);
        if (seq > stream->seen)
            stream->seen = seq;
    }
    stream_attach(stream, exchange);
    sse_begin(exchange, NULL, 0);
    stream->unsent = stream->first;
    while (stream->unsent && stream->unsent->seq <= seq)
        stream->unsent = stream->unsent->next;
    if (!stream->ended || stream->unsent) /* whoever has everything need not come back */
        prime(stream, seq);
    if (stream->standing)
        timer_set(server->opts.loop, stream->beat, server->opts.heartbeat_ms, stream_beat, stream);
    mcp_stream_pump(stream);
}

void mcp_stream_again(struct mcp_stream *stream, struct http_exchange *exchange)
{
    struct http_exchange *old = stream->exchange;

    if (stream->begun) {
        mcp_stream_resume(stream, exchange, 0);
        return;
    }
    stream->exchange = NULL;
    stream->lost = false; /* a lost stream is reachable again */
    if (old) {
        sse_begin(old, NULL, 0);
        http_end(old);
    }
    stream_attach(stream, exchange);
    http_release(exchange);
}
