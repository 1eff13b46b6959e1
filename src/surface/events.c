/*
 * surface/events: see events.h.
 */
#include "surface/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* --- what is drawn once --- */

struct place { /* in the text of all, which moves while it grows */
    size_t from, len;
};

/* False: it does not fit, and nothing of it is there. */
static bool draw_one(struct inbox *inbox, const struct shown_ask *ask, bool all, struct buf *text,
                     struct place *place)
{
    struct json_writer w;
    struct buf one;

    buf_init(&one, EVENTS_BYTES_MAX);
    json_writer_init(&w, &one);
    item_write(&w, inbox, ask, all);
    bool fits = json_writer_done(&w) && one.len <= text->limit - text->len;
    *place = (struct place){ text->len, one.len };
    if (fits)
        fits = buf_add(text, buf_str(&one));
    buf_finish(&one);
    return fits;
}

static struct str placed(const struct buf *text, struct place place)
{
    return str_n(text->at + place.from, place.len);
}

void events_draw(struct inbox *inbox, const struct shown *shown, struct drawn *drawn)
{
    struct place *some = mem_zalloc((shown->count + 1) * sizeof(*some));
    struct place *all = mem_zalloc((shown->count + 1) * sizeof(*all));

    drawn->asks = mem_zalloc((shown->count + 1) * sizeof(*drawn->asks));
    drawn->count = shown->count;
    buf_init(&drawn->text, EVENTS_DRAWN_MAX);
    for (size_t i = 0; i < shown->count; i++) {
        const struct shown_ask *ask = &shown->asks[i];
        struct drawn_ask *to = &drawn->asks[i];
        to->ask = &ask->ask;
        events_await(inbox->events, &ask->ask);
        to->fits = draw_one(inbox, ask, false, &drawn->text, &some[i]);
        all[i] = some[i];
        if (to->fits && ask->ask.state != ASK_PENDING)
            to->fits = draw_one(inbox, ask, true, &drawn->text, &all[i]);
    }
    for (size_t i = 0; i < drawn->text.len; i++) /* a schema may come with line ends */
        if (drawn->text.at[i] == '\n' || drawn->text.at[i] == '\r')
            drawn->text.at[i] = ' ';
    for (size_t i = 0; i < shown->count; i++) {
        if (!drawn->asks[i].fits)
            continue;
        drawn->asks[i].some = placed(&drawn->text, some[i]);
        drawn->asks[i].all = placed(&drawn->text, all[i]);
    }
    mem_free(some);
    mem_free(all);
}

void drawn_finish(struct drawn *drawn)
{
    mem_free(drawn->asks);
    buf_finish(&drawn->text);
}

/* False: this viewer sees one that does not fit. */
static bool write_asks(struct json_writer *w, const struct drawn *drawn,
                       const struct viewer *viewer, bool ended, bool *nothing)
{
    jw_array(w);
    for (size_t i = 0; i < drawn->count; i++) {
        const struct drawn_ask *ask = &drawn->asks[i];
        if ((ask->ask->state != ASK_PENDING) != ended || !viewer_sees(viewer, ask->ask))
            continue;
        if (!ask->fits)
            return false;
        jw_raw(w, viewer_sees_all(viewer, ask->ask) ? ask->all : ask->some);
        *nothing = false;
    }
    jw_end(w);
    return true;
}

bool drawn_write(const struct inbox *inbox, const struct drawn *drawn, const struct viewer *viewer,
                 uint64_t owner, struct buf *out, bool *nothing)
{
    struct json_writer w;

    *nothing = true;
    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_time(&w, STR("now"), engine_now(inbox->opts.engine));
    jw_key(&w, STR("pending"));
    if (!write_asks(&w, drawn, viewer, false, nothing))
        return false;
    jw_key(&w, STR("ended"));
    if (!write_asks(&w, drawn, viewer, true, nothing))
        return false;
    jw_key(&w, STR("gone"));
    jw_array(&w);
    for (size_t i = 0; i < drawn->gone_count; i++) {
        if (drawn->gone[i].owner != owner && !roles_include(viewer->roles, ROLES_NONE))
            continue;
        jw_plain_str(&w, id_str(&drawn->gone[i].ask));
        *nothing = false;
    }
    jw_end(&w);
    jw_end(&w);
    return json_writer_done(&w);
}

/* --- numbers --- */

struct str events_id(const struct events *events, uint64_t number, char text[EVENTS_ID_MAX])
{
    int len =
        snprintf(text, EVENTS_ID_MAX, "%s-%llu", events->epoch.text, (unsigned long long)number);

    return str_n(text, len > 0 ? (size_t)len : 0);
}

bool events_since(const struct events *events, uint64_t number, struct id *ids, size_t *count)
{
    struct map seen;
    bool known = number >= events->oldest && number <= events->number;

    *count = 0;
    map_init(&seen, EVENTS_READ_MAX + 1);
    for (size_t i = events->past_count; known && i > 0; i--) {
        const struct past *past = &events->past[(events->past_first + i - 1) % EVENTS_PAST_MAX];
        if (past->number <= number)
            break;
        if (map_get(&seen, id_str(&past->ask)))
            continue;
        known = *count < EVENTS_READ_MAX;
        if (!known)
            break;
        ids[*count] = past->ask;
        map_set(&seen, id_str(&ids[*count]), &ids[*count]);
        ++*count;
    }
    map_finish(&seen);
    return known;
}

/* --- an event --- */

struct making {         /* an event that is being made */
    struct shown shown; /* first */
    struct changed *gone;
    size_t gone_count;
};

static void events_schedule(struct events *events);

static void forget_changes(struct events *events)
{
    events->changed_count = 0;
    events->lost = false;
    map_finish(&events->by_id);
    map_init(&events->by_id, EVENTS_CHANGED_MAX);
}

struct same_event { /* for all readers who may see the same */
    char *principal;
    role_set roles;
    struct buf data;
    bool fits, nothing;
};

struct telling {           /* an event on its way to the readers */
    struct making *making; /* NULL: they are to look at everything */
    struct drawn drawn;
    struct same_event *made;
    size_t count;
    uint64_t before;    /* the event that they have */
    struct list untold; /* struct events_reader, by `turn` */
    struct loop_last next;
};

static void telling_end(struct events *events)
{
    struct telling *telling = events->telling;

    if (!telling)
        return;
    events->telling = NULL;
    loop_last_stop(&telling->next);
    for (size_t i = 0; i < telling->count; i++) {
        free(telling->made[i].principal);
        buf_finish(&telling->made[i].data);
    }
    mem_free(telling->made);
    drawn_finish(&telling->drawn);
    if (telling->making)
        shown_end(&telling->making->shown);
    mem_free(telling);
}

/* The event as this reader sees it, made for the first who sees it so. */
static const struct same_event *event_for(struct telling *telling,
                                          const struct events_reader *reader)
{
    const struct viewer *viewer = &reader->viewer;

    for (size_t i = 0; i < telling->count; i++)
        if (telling->made[i].roles == viewer->roles &&
            str_eq(str_of(telling->made[i].principal), viewer->principal))
            return &telling->made[i];
    struct same_event *event = &telling->made[telling->count++];
    event->principal = str_dup(viewer->principal);
    event->roles = viewer->roles;
    buf_init(&event->data, EVENTS_BYTES_MAX);
    event->fits = drawn_write(viewer->inbox, &telling->drawn, viewer, reader->owner, &event->data,
                              &event->nothing);
    return event;
}

static void tell_one(struct telling *telling, struct events_reader *reader)
{
    if (reader->at == reader->events->number)
        return; /* it has caught up meanwhile */
    if (telling->making && (reader->at != telling->before || reader->catch)) {
        reader_look(reader);
        return;
    }
    const struct same_event *event = telling->making ? event_for(telling, reader) : NULL;
    if (event && event->fits)
        reader_send(reader, buf_str(&event->data), event->nothing);
    else
        reader_reset(reader);
}

/* Streams may end while they are sent something. */
static void tell_some(void *data)
{
    struct events *events = data;
    struct telling *telling = events->telling;
    struct loop *loop = events->inbox->opts.loop;
    enum turn_work before = loop_spend(loop, TURN_LISTS);
    struct list *at;

    for (size_t i = 0; i < EVENTS_TOLD_AT_ONCE && (at = list_first(&telling->untold)); i++) {
        list_remove(at);
        tell_one(telling, LIST_OF(at, struct events_reader, turn));
    }
    if (!list_empty(&telling->untold)) {
        loop_last(loop, &telling->next, tell_some, events);
    } else {
        telling_end(events);
        events->reading = false;
        events->ticked = loop_now(loop);
        events_schedule(events);
    }
    loop_spend(loop, before);
}

/* Those that come meanwhile are told to look. */
static void tell_all(struct events *events, struct making *making)
{
    struct telling *telling = MEM_NEW(struct telling);

    events->telling = telling;
    events->reading = true;
    telling->making = making;
    if (making) {
        telling->drawn.gone = making->gone;
        telling->drawn.gone_count = making->gone_count;
        events_draw(events->inbox, &making->shown, &telling->drawn);
        telling->made = mem_zalloc((events->stream_count + 1) * sizeof(*telling->made));
    }
    telling->before = events->number++;
    list_init(&telling->untold);
    LIST_EACH (at, &events->streams)
        list_append(&telling->untold, &LIST_OF(at, struct events_reader, link)->turn);
    loop_last(events->inbox->opts.loop, &telling->next, tell_some, events);
}

/* Everybody is to look at everything, and nothing older can be told. */
static void reset_all(struct events *events)
{
    events->oldest = events->number + 1;
    events->past_count = 0;
    forget_changes(events);
    tell_all(events, NULL);
}

static void event_read(struct shown *shown)
{
    struct events *events = shown->inbox->events;

    events->reading = !events->stopped && !list_empty(&events->streams);
    if (events->reading && !shown->failed && !shown->arena.exhausted) {
        tell_all(events, (struct making *)(void *)shown);
        return;
    }
    shown_end(shown);
    if (events->reading)
        reset_all(events);
}

/* Which of the changes are read, and which are only named. */
static bool is_read(const struct events *events, const struct changed *changed, size_t *ended)
{
    if (!changed->ended)
        return true;
    if (changed->came)
        return events->approvers > 0; /* whether they may know of it is in its record */
    return ++*ended <= EVENTS_ENDED_MAX || events->approvers > 0;
}

static void make_event(struct events *events)
{
    struct making *making = (struct making *)(void *)shown_open(events->inbox, sizeof(*making));
    struct arena *arena = &making->shown.arena;
    size_t count = events->changed_count, reads = 0, ended = 0;
    struct id *ids = arena_alloc(arena, (count + 1) * sizeof(*ids));

    making->gone = arena_alloc(arena, (count + 1) * sizeof(*making->gone));
    making->shown.done = event_read;
    events->number++; /* what has changed belongs to the event that is sent when all is read */
    for (size_t i = 0; i < count; i++) {
        const struct changed *changed = &events->changed[i];
        if (is_read(events, changed, &ended))
            ids[reads++] = changed->ask;
        else
            making->gone[making->gone_count++] = *changed;
        size_t at = (events->past_first + events->past_count) % EVENTS_PAST_MAX;
        if (events->past_count == EVENTS_PAST_MAX) {
            /* The oldest goes, and its whole event with it. */
            events->oldest = events->past[events->past_first].number;
            events->past_first = (events->past_first + 1) % EVENTS_PAST_MAX;
            events->past_count--;
        }
        events->past[at] = (struct past){ events->number, changed->ask, changed->owner };
        events->past_count++;
    }
    events->number--;
    forget_changes(events);
    events->pause = count > EVENTS_BUSY ? EVENTS_BUSY_PAUSE_MS : EVENTS_PAUSE_MS;
    if (reads > EVENTS_READ_MAX) {
        shown_end(&making->shown);
        reset_all(events);
        return;
    }
    events->reading = true;
    shown_find_all(&making->shown, ids, reads);
}

static void tick(void *data)
{
    struct events *events = data;

    if (events->stopped || events->reading || list_empty(&events->streams))
        return;
    if (events->lost)
        reset_all(events);
    else if (events->changed_count)
        make_event(events);
}

static void events_schedule(struct events *events)
{
    int64_t wait = events->ticked + events->pause - loop_now(events->inbox->opts.loop);

    if ((events->changed_count || events->lost) && !events->reading)
        timer_set(events->inbox->opts.loop, &events->tick, wait > 0 ? wait : 0, tick, events);
}

/* --- hints --- */

/* *hint: it has come up, or ended; `only`: something else about it has changed. */
static void note_change(struct events *events, const struct ask_hint *hint, bool only)
{
    struct changed *changed = map_get(&events->by_id, hint->ask_id);

    if (!changed && (events->changed_count == EVENTS_CHANGED_MAX || hint->ask_id.len != ID_LEN)) {
        events->lost = true;
        return;
    }
    if (!changed) {
        changed = &events->changed[events->changed_count++];
        *changed = (struct changed){ .owner = hint->owner };
        changed->ask = id_of(hint->ask_id);
        map_set(&events->by_id, id_str(&changed->ask), changed);
    }
    changed->came |= !hint->ended && !only;
    changed->ended |= hint->ended;
}

static void told(void *data, const struct ask_hint *hint)
{
    struct events *events = data;
    bool first = !events->changed_count && !events->lost;

    if (!events->changed)
        return;
    if (hint)
        note_change(events, hint, false);
    else
        events->lost = events->ready = true;
    if (first)
        events_schedule(events);
}

void events_note(struct events *events, const struct ask_record *ask)
{
    bool first = !events->changed_count && !events->lost;

    if (!events->changed)
        return;
    note_change(events,
                &(struct ask_hint){ .ask_id = ask->id, .owner = store_owner(ask->principal) },
                true);
    if (first)
        events_schedule(events);
}

/* --- turns that come later --- */

static void turns_look(void *data);

static void turns_look_at(struct events *events, int64_t at)
{
    int64_t wait = at - engine_now(events->inbox->opts.engine);

    if (events->turn_at && events->turn_at <= at)
        return;
    events->turn_at = at;
    timer_set(events->inbox->opts.loop, &events->turn, wait > 0 ? wait : 1, turns_look, events);
}

static void later_free(struct events *events, struct later *later)
{
    map_remove(&events->later_by_id, id_str(&later->ask));
    list_remove(&later->link);
    mem_free(later);
}

static void turns_look(void *data)
{
    struct events *events = data;
    int64_t now = engine_now(events->inbox->opts.engine);

    events->turn_at = 0;
    LIST_EACH (at, &events->later) {
        struct later *later = LIST_OF(at, struct later, link);
        if (later->at > now) {
            turns_look_at(events, later->at);
            continue;
        }
        note_change(events,
                    &(struct ask_hint){ .ask_id = id_str(&later->ask), .owner = later->owner },
                    true);
        later_free(events, later);
    }
    if (events->later_reset && events->later_reset <= now) {
        events->later_reset = 0;
        events->lost = true;
    } else if (events->later_reset) {
        turns_look_at(events, events->later_reset);
    }
    events_schedule(events);
}

void events_await(struct events *events, const struct ask_record *ask)
{
    const struct inbox *inbox = events->inbox;

    if (!events->changed || ask->state != ASK_PENDING || ask->id.len != ID_LEN)
        return;
    int64_t at = engine_turn_comes(inbox->opts.engine, ask, &inbox->surface);
    if (at == TURN_HAS_COME || at >= TURN_UNTIMED || map_get(&events->later_by_id, ask->id))
        return;
    if (events->later_by_id.count == EVENTS_LATER_MAX) {
        if (!events->later_reset || at < events->later_reset)
            events->later_reset = at;
    } else {
        struct later *later = MEM_NEW(struct later);
        *later = (struct later){ .owner = store_owner(ask->principal), .at = at };
        later->ask = id_of(ask->id);
        list_init(&later->link);
        list_append(&events->later, &later->link);
        map_set(&events->later_by_id, id_str(&later->ask), later);
    }
    turns_look_at(events, at);
}

/* --- who watches --- */

/* Those that were sent this heartbeat, or have come since, are behind all others. */
static void heartbeat_some(void *data)
{
    struct events *events = data;

    for (size_t i = 0; i < EVENTS_TOLD_AT_ONCE && !list_empty(&events->streams); i++) {
        struct events_reader *reader =
            LIST_OF(list_first(&events->streams), struct events_reader, link);
        if (reader->beat == events->beat)
            return;
        reader->beat = events->beat;
        list_remove(&reader->link);
        list_append(&events->streams, &reader->link);
        reader_heartbeat(reader); /* it may go */
    }
    if (!list_empty(&events->streams))
        loop_last(events->inbox->opts.loop, &events->round, heartbeat_some, events);
}

static void heartbeat(void *data)
{
    struct events *events = data;

    timer_set(events->inbox->opts.loop, &events->heartbeat, EVENTS_HEARTBEAT_MS, heartbeat, events);
    if (events->stopped)
        return;
    events->beat++;
    heartbeat_some(events);
}

static bool is_approver(const struct events_reader *reader)
{
    return reader->viewer.roles & ROLE_APPROVE && !(reader->viewer.roles & ROLE_ADMIN);
}

void events_join(struct events *events, struct events_reader *reader)
{
    if (!events->changed) {
        id_random(&events->epoch);
        events->changed = mem_alloc(EVENTS_CHANGED_MAX * sizeof(*events->changed));
        events->past = mem_alloc(EVENTS_PAST_MAX * sizeof(*events->past));
        events->past_first = events->past_count = 0;
        events->number = events->oldest = 0;
        events->ticked = 0;
        events->ready = false;
        events->pause = EVENTS_PAUSE_MS;
        forget_changes(events);
        engine_watch_asks(events->inbox->opts.engine, &events->watch);
        timer_set(events->inbox->opts.loop, &events->heartbeat, EVENTS_HEARTBEAT_MS, heartbeat,
                  events);
    }
    reader->beat = events->beat;
    list_append(&events->streams, &reader->link);
    events->stream_count++;
    events->approvers += is_approver(reader);
}

void events_leave(struct events *events, struct events_reader *reader)
{
    list_remove(&reader->link);
    list_remove(&reader->turn);
    events->stream_count--;
    events->approvers -= is_approver(reader);
    if (list_empty(&events->streams) && events->changed) {
        engine_unwatch_asks(events->inbox->opts.engine, &events->watch);
        timer_stop(events->inbox->opts.loop, &events->heartbeat);
        loop_last_stop(&events->round);
        timer_stop(events->inbox->opts.loop, &events->tick);
        timer_stop(events->inbox->opts.loop, &events->turn);
        LIST_EACH (at, &events->later)
            later_free(events, LIST_OF(at, struct later, link));
        events->later_reset = events->turn_at = 0;
        mem_free(events->changed);
        mem_free(events->past);
        events->changed = NULL;
        events->past = NULL;
        events->changed_count = 0;
        map_finish(&events->by_id);
    }
}

struct events *events_create(struct inbox *inbox)
{
    struct events *events = MEM_NEW(struct events);

    events->inbox = inbox;
    events->watch.told = told;
    events->watch.data = events;
    list_init(&events->streams);
    list_init(&events->later);
    map_init(&events->later_by_id, EVENTS_LATER_MAX);
    map_init(&events->by_id, EVENTS_CHANGED_MAX);
    return events;
}

static void bye_some(struct events *events, size_t most)
{
    for (size_t i = 0; i < most && !list_empty(&events->streams); i++)
        reader_bye(LIST_OF(list_first(&events->streams), struct events_reader, link),
                   STR("stopping"));
}

static void bye_on(void *data)
{
    struct events *events = data;

    bye_some(events, EVENTS_TOLD_AT_ONCE);
    if (!list_empty(&events->streams))
        loop_last(events->inbox->opts.loop, &events->round, bye_on, events);
}

void events_stop(struct events *events)
{
    if (events->stopped)
        bye_some(events, SIZE_MAX); /* nothing is served any more */
    events->stopped = true;
    bye_on(events);
}

void events_destroy(struct events *events)
{
    if (!events)
        return;
    telling_end(events);
    LIST_EACH (at, &events->later)
        later_free(events, LIST_OF(at, struct later, link));
    map_finish(&events->later_by_id);
    map_finish(&events->by_id);
    MEM_DELETE(events);
}
