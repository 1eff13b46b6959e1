/*
 * surface/events_reader: GET /api/events, one reader of what comes and goes.
 *
 * A reader is first told where it is: `reset` if it is new, or if what it has missed is not known;
 * otherwise what has changed since the event that it names (Last-Event-ID). From then on it is sent
 * what events.c gathers. While its connection takes no more it is left alone, and it is told what
 * it has missed when that is drained. What was missed is read like a list, and waits in line.
 *
 * It ends with `bye` when its credential does, or when the server stops.
 */
#include "base/mem.h"
#include "net/sse.h"
#include "surface/events.h"

struct reader_catch {             /* what a reader has missed, being read */
    struct shown shown;           /* first */
    struct events_reader *reader; /* NULL: it is gone */
    uint64_t number;              /* the newest event when it was begun */
};

static void reader_catch_up(struct events_reader *reader);

static void reader_free(struct events_reader *reader)
{
    if (reader->catch && queue_waits(&reader->catch->shown.turn))
        shown_end(&reader->catch->shown);
    else if (reader->catch)
        reader->catch->reader = NULL;
    front_unwatch(&reader->watch);
    events_leave(reader->events, reader);
    mem_free(reader);
}

static void client_gone(void *data)
{
    reader_free(data);
}

/* Its connection takes no more for now. */
static bool is_busy(const struct events_reader *reader)
{
    return http_queued(reader->exchange) > EVENTS_QUEUE_MAX;
}

static bool send_event(struct events_reader *reader, struct str event, struct str data)
{
    char id[EVENTS_ID_MAX];

    return sse_send(reader->exchange,
                    &(struct sse_event){ .id = events_id(reader->events, reader->at, id),
                                         .event = event,
                                         .data = data,
                                         .retry_ms = EVENTS_RETRY_MS });
}

void reader_send(struct events_reader *reader, struct str data, bool nothing)
{
    if (!nothing && is_busy(reader))
        return; /* when that is drained it catches up */
    reader->at = reader->events->number;
    if (!nothing)
        send_event(reader, STR("changes"), data);
}

void reader_reset(struct events_reader *reader)
{
    if (is_busy(reader))
        return;
    reader->at = reader->events->number;
    send_event(reader, STR("reset"), STR("{}"));
}

void reader_heartbeat(struct events_reader *reader)
{
    if (!is_busy(reader))
        sse_comment(reader->exchange, STR("still here"));
    reader_look(reader);
}

void reader_bye(struct events_reader *reader, struct str why)
{
    struct json_writer w;
    struct buf data;

    buf_init(&data, EVENTS_BYTES_MAX);
    json_writer_init(&w, &data);
    jw_object(&w);
    jw_key_str(&w, STR("why"), why);
    jw_end(&w);
    send_event(reader, STR("bye"), buf_str(&data));
    buf_finish(&data);
    http_end(reader->exchange);
    reader_free(reader);
}

/* --- what was missed --- */

static void caught(struct shown *shown)
{
    struct reader_catch *catch = (struct reader_catch *)(void *)shown;
    struct events_reader *reader = catch->reader;
    struct drawn drawn = { 0 };
    struct buf data;
    bool nothing = true, fits = !shown->failed && !shown->arena.exhausted;

    queue_went(shown->queue, !shown->failed);
    if (!reader) {
        shown_end(shown);
        return;
    }
    reader->catch = NULL;
    buf_init(&data, EVENTS_BYTES_MAX);
    if (fits) {
        events_draw(shown->inbox, shown, &drawn);
        fits = drawn_write(shown->inbox, &drawn, &reader->viewer, reader->owner, &data, &nothing);
    }
    reader->at = catch->number;
    if (!fits)
        reader_reset(reader);
    else if (!nothing)
        send_event(reader, STR("changes"), buf_str(&data));
    buf_finish(&data);
    drawn_finish(&drawn);
    shown_end(shown);
    reader_look(reader);
}

static void catch_begun(struct queue_turn *turn)
{
    struct shown *shown = SHOWN_OF(turn);
    struct reader_catch *catch = (struct reader_catch *)(void *)shown;
    struct events_reader *reader = catch->reader;
    struct events *events = reader->events;
    struct id *ids = mem_alloc(EVENTS_READ_MAX * sizeof(*ids));
    size_t count;

    catch->number = events->number;
    if (events_since(events, reader->at, ids, &count)) {
        shown_find_all(shown, ids, count);
    } else {
        reader->catch = NULL;
        shown_end(shown);
        reader_reset(reader);
    }
    mem_free(ids);
}

static void reader_catch_up(struct events_reader *reader)
{
    struct inbox *inbox = reader->events->inbox;

    if (reader->at == reader->events->number)
        return;
    reader->catch = (struct reader_catch *)(void *)shown_open(inbox, sizeof(*reader->catch));
    reader->catch->reader = reader;
    reader->catch->shown.done = caught;
    shown_wait(&reader->catch->shown, &inbox->catches, reader->viewer.principal, catch_begun);
}

void reader_look(struct events_reader *reader)
{
    if (!reader->catch && reader->at != reader->events->number && !is_busy(reader))
        reader_catch_up(reader);
}

static void drained(void *data)
{
    reader_look(data);
}

/* --- coming --- */

/* Its credential no longer counts. */
static void signed_out(void *data, struct str why)
{
    reader_bye(data, why);
}

/* The number of the event that the reader has seen last. False: it is new, or has come from
 * elsewhere. */
static bool read_id(const struct events *events, struct str id, uint64_t *number)
{
    return events->changed && id.len > ID_LEN + 1 &&
           str_eq(str_n(id.at, ID_LEN), id_str(&events->epoch)) && id.at[ID_LEN] == '-' &&
           str_to_u64(str_skip(id, ID_LEN + 1), number) && *number <= events->number;
}

static struct events_reader *reader_create(struct events *events,
                                           const struct front_request *request)
{
    struct events_reader *reader = mem_alloc(sizeof(*reader) + request->principal.len + 1);
    char *text = reader->text;

    *reader = (struct events_reader){ .events = events,
                                      .exchange = request->exchange,
                                      .viewer = viewer_of(events->inbox, request),
                                      .owner = store_owner(request->principal) };
    reader->viewer.principal = str_place(&text, request->principal);
    list_init(&reader->link);
    list_init(&reader->turn);
    return reader;
}

void reader_serve(const struct front_request *request, void *data)
{
    struct inbox *inbox = data;
    struct events *events = inbox->events;
    uint64_t number = 0;

    if (events->stopped || events->stream_count >= EVENTS_STREAMS_MAX) {
        api_problem(request->exchange, 503, STR("There are too many event streams."));
        return;
    }
    /* This user has its share of all streams already. */
    size_t count = 0;
    LIST_EACH (at, &events->streams)
        count +=
            str_eq(LIST_OF(at, struct events_reader, link)->viewer.principal, request->principal);
    if (count >= EVENTS_STREAMS_USER_MAX) {
        api_problem(request->exchange, 429, STR("You have too many event streams; close one."));
        return;
    }
    bool known = read_id(events, http_named(request->http, HTTP_NAME_LAST_EVENT_ID), &number);
    struct events_reader *reader = reader_create(events, request);
    events_join(events, reader);
    reader->at = known ? number : events->number;
    http_on_gone(request->exchange, client_gone, reader);
    http_on_drain(request->exchange, drained, reader);
    front_watch(request, &reader->watch, signed_out, reader);
    sse_begin(request->exchange, NULL, 0);
    if (known)
        reader_catch_up(reader);
    else if (events->ready) /* otherwise all are told as soon as the store tells us */
        send_event(reader, STR("reset"), STR("{}"));
}
