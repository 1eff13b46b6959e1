/*
 * surface/events: what comes and goes, gathered for all who watch.
 *
 * The store hints that an ask has come up or ended. Hints are gathered for EVENTS_PAUSE_MS, and
 * then all streams are sent one event with what has changed. So a stream is sent at most four
 * events a second, however much happens. An ask is read and drawn once, and readers who may see the
 * same are sent the same bytes. In one turn of the loop EVENTS_TOLD_AT_ONCE streams are told, and
 * the next event is made when all are. So it is with heartbeats, and when the server stops.
 *
 * An ask that came and went in between is not read at all: only its id is named (`gone`), for
 * whoever has seen it in a list. So are asks that end in large numbers.
 *
 * Every event has a number, and the ids of the last EVENTS_PAST_MAX changes are kept with theirs.
 * A reader that comes back, or was too slow, is sent what has changed since its last event, as the
 * store knows it now. If that is not known any more, it is told to look at everything (`reset`).
 *
 * Holds always: what a slow reader has missed is not queued. It holds EVENTS_QUEUE_MAX and one
 * event at most.
 */
#ifndef NOD_SURFACE_EVENTS_H
#define NOD_SURFACE_EVENTS_H

#include "base/map.h"
#include "surface/inbox_inside.h"

enum {
    EVENTS_STREAMS_MAX = 2000,     /* open streams, in all */
    EVENTS_STREAMS_USER_MAX = 500, /* of one user: a quarter */
    EVENTS_PAUSE_MS = 250,         /* between two events of a stream */
    EVENTS_BUSY_PAUSE_MS = 1000,   /* the same, after an event about many asks */
    EVENTS_BUSY = 100,             /* asks that are many */
    EVENTS_TOLD_AT_ONCE = 32,      /* streams that are sent something before I/O is served */
    EVENTS_CHANGED_MAX = 8192,     /* asks that change between two events; past that: reset */
    EVENTS_READ_MAX = 400,         /* asks that are read for one event; past that: reset */
    EVENTS_ENDED_MAX = 50,         /* ends that are shown whole in one event; others by id */
    EVENTS_PAST_MAX = 16384,       /* changes that are remembered for those who come back */
    EVENTS_BYTES_MAX = 256 << 10,  /* bytes of one event; past that: reset */
    EVENTS_QUEUE_MAX = 64 << 10,   /* unsent bytes of a stream, past which it is left alone */
    EVENTS_DRAWN_MAX = 8 << 20,    /* bytes of all asks that were drawn for one event */
    EVENTS_HEARTBEAT_MS = 15000,   /* a comment, for connections that would be given up */
    EVENTS_RETRY_MS = 1000,        /* when a reader comes back after its connection broke */
    EVENTS_ID_MAX = 64,            /* bytes of the id of an event */
    EVENTS_LATER_MAX = 1024,       /* asks whose turn is awaited; past that: reset when it comes */
};

struct changed { /* an ask, between two events */
    struct id ask;
    uint64_t owner;
    bool came, ended;
};

struct later { /* an ask that waits, and whose turn to be up here comes later (core/plan.h) */
    struct list link;
    struct id ask;
    uint64_t owner;
    int64_t at; /* by the store's clock */
};

struct past {        /* an ask that has changed */
    uint64_t number; /* of the event */
    struct id ask;
    uint64_t owner;
};

struct events {
    struct inbox *inbox;
    struct ask_watch watch;
    struct list streams; /* struct events_reader */
    size_t stream_count;
    size_t approvers;        /* streams that see the approvals of others, but not everything */
    struct changed *changed; /* room for EVENTS_CHANGED_MAX, while anybody watches */
    size_t changed_count;
    struct map by_id;  /* of them */
    bool lost;         /* there was more */
    struct past *past; /* a ring of EVENTS_PAST_MAX, likewise */
    size_t past_first, past_count;
    struct list later;      /* struct later, likewise */
    struct map later_by_id; /* of them */
    int64_t later_reset;    /* when the turn of others may come; 0: there are none */
    int64_t turn_at;        /* when the next of all these comes; 0: none does */
    struct timer turn;
    struct id epoch; /* of the numbers: another one for each time of watching */
    uint64_t number; /* of the newest event */
    uint64_t oldest; /* what has changed since this event is known */
    struct timer tick, heartbeat;
    uint64_t beat;          /* the newest heartbeat */
    struct loop_last round; /* it, or the end, goes on to the next streams */
    int64_t ticked;         /* when the last event was sent */
    int64_t pause;
    bool reading;            /* an event is being made, or is on its way */
    struct telling *telling; /* the event that is on its way; NULL: none is */
    bool ready;              /* the store has said that it tells us */
    bool stopped;
};

struct reader_catch;

/* One reader. */
struct events_reader {
    struct list link;
    struct list turn; /* among those that are still to be told of an event */
    struct events *events;
    struct http_exchange *exchange;
    struct viewer viewer;     /* its name is behind the struct */
    struct front_watch watch; /* of its credential */
    uint64_t owner;
    uint64_t at;                /* the event it has */
    uint64_t beat;              /* the last heartbeat that it was sent */
    struct reader_catch *catch; /* what it has missed is being read; NULL: nothing */
    char text[];
};

/* What is drawn for one event: see events.c. */
struct drawn_ask {
    const struct ask_record *ask;
    bool fits;            /* false: it is larger than an event, and whoever sees it is to look */
    struct str some, all; /* for those who may see more; there if it fits */
};

struct drawn {
    struct drawn_ask *asks;
    size_t count;
    struct buf text;
    const struct changed *gone; /* asks that were not read */
    size_t gone_count;
};

void events_draw(struct inbox *inbox, const struct shown *shown, struct drawn *drawn);
void drawn_finish(struct drawn *drawn);
/* The data of an event for this viewer, in `out`. False: it is larger than an event may be.
 * *nothing: there is nothing in it. */
bool drawn_write(const struct inbox *inbox, const struct drawn *drawn, const struct viewer *viewer,
                 uint64_t owner, struct buf *out, bool *nothing);
/* "epoch-number". */
struct str events_id(const struct events *events, uint64_t number, char text[EVENTS_ID_MAX]);
/* The ids that have changed since, each once. False: that is not known, or there are too many. */
bool events_since(const struct events *events, uint64_t number, struct id *ids, size_t *count);

/* A stream has come, and gone. */
void events_join(struct events *events, struct events_reader *reader);
void events_leave(struct events *events, struct events_reader *reader);

/* --- events_reader.c --- */

/* The event with this number, for a reader that has the one before. */
void reader_send(struct events_reader *reader, struct str data, bool nothing);
void reader_reset(struct events_reader *reader);
void reader_heartbeat(struct events_reader *reader);
/* If it has missed something and its connection takes more, it is told. */
void reader_look(struct events_reader *reader);
/* Says why, and ends it. */
void reader_bye(struct events_reader *reader, struct str why);

#endif
