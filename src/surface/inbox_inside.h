/*
 * surface/inbox_inside: the inbox as its files see it. No other file includes this.
 *
 * inbox.c    the surface, the table of routes, GET /api/me
 * shown.c    asks together with what their calls add
 * item.c     an ask as JSON
 * credentials.c  GET /api/credentials and DELETE /api/credentials/{id}
 * grants.c   GET /api/grants and DELETE /api/grants/{id}
 * secrets.c  GET /api/secrets and DELETE /api/secrets/{id}
 * owned.c    what those three have in common
 * listing.c  GET /api/elicitation and GET /api/elicitation/{id}
 * resolve.c  POST /api/elicitation/{id}/resolve
 * search.c   the text `q` of a list
 * events.c   what comes and goes, gathered for all streams
 * openapi.c  GET /api/openapi.json, which describes all of them
 * events_reader.c  GET /api/events: one reader of them
 * page*.c    the page (page.h)
 */
#ifndef NOD_SURFACE_INBOX_INSIDE_H
#define NOD_SURFACE_INBOX_INSIDE_H

#include "base/list.h"
#include "json/write.h"
#include "net/queue.h"
#include "surface/api.h"
#include "surface/inbox.h"

enum {
    INBOX_READS_MAX = 64,            /* requests of one user that wait; past that: 429 */
    INBOX_ANSWERS_MAX = 256,         /* answers of one user that wait; past that: 429 */
    INBOX_ONES_AT_ONCE = 4,          /* questions that are read by their ids for one user */
    INBOX_ARENA_MAX = 24 << 20,      /* memory of one of them */
    INBOX_REPLY_MAX = 24 << 20,      /* bytes of its reply */
    INBOX_PAGE_BYTES = 8 << 20,      /* bytes of one, if it has more than one ask */
    INBOX_SCANS_MAX = 400,           /* pages of the store that one request looks through */
    INBOX_TEXT_SEARCH_MAX = 1000,    /* asks, from the first of a list, that are searched for `q` */
    INBOX_TEXT_SCAN_MAX = 8,         /* of them, that are read from the store at once */
    INBOX_ANSWER_VALUES_MAX = 20000, /* JSON values of the body of an answer */
    INBOX_ANSWER_TREE_MAX = 8 << 20, /* memory of the body of an answer, as a tree */
    OWNED_KINDS = 3,                 /* kinds of owned records */
};

struct events;
struct search;

/* What the routes of one kind of owned records are given (owned.c). */
struct owned_place {
    struct inbox *inbox;
    const struct owned_kind *kind;
};

/* Requests that wait for the store. Answers are not counted with the others: whoever asks for
 * lists, however many, keeps nobody from answering. Each user has a share, so nobody is refused
 * for what others want. */
struct shown_group {
    struct list all; /* struct shown */
    size_t count;
    size_t most; /* of one user */
};

struct inbox {
    struct surface surface; /* first */
    struct inbox_opts opts;
    struct store *store;
    struct events *events;
    struct shown_group reads, answers;
    struct queue lists;           /* struct shown: lists */
    struct queue catches;         /* the same: what streams have missed */
    struct queue ones;            /* the same, one question each */
    struct queue searches;        /* the same: lists with a text that is looked for */
    struct list search_turns;     /* struct search, under way: those that have their turn next */
    struct loop_last search_turn; /* the next turn */
    struct owned_place owned[OWNED_KINDS];
    struct list tries; /* struct try_call: page_try.c */
    size_t try_count;
};

/* Whom something is shown to. */
struct viewer {
    const struct inbox *inbox;
    struct str principal;
    role_set roles;
};

struct viewer viewer_of(const struct inbox *inbox, const struct front_request *request);
/* May the viewer see this ask? The rule of core/answerable.h, for the kinds that the inbox shows,
 * if the inbox is among the places where it is asked, and its turn has come. */
bool viewer_sees(const struct viewer *viewer, const struct ask_record *ask);
/* May the viewer see what was answered, and what the call led to? */
bool viewer_sees_all(const struct viewer *viewer, const struct ask_record *ask);

/* --- shown.c --- */

struct shown_ask {
    struct ask_record ask;
    bool found;            /* its call is known */
    bool kept;             /* false: it does not have the text that is looked for */
    enum call_state state; /* of its call */
    struct str args;       /* JSON object, or empty */
    struct str client;     /* JSON object with name and version, or empty */
    struct str result;     /* the outcome of the call, as the store keeps it */
    size_t bytes;          /* of all its texts, also if there was no memory for them */
};

/* Asks that are read from the store for one reply. The exchange may go away meanwhile. */
struct shown {
    struct inbox *inbox;
    struct shown_group *group;
    struct list link;       /* in the group */
    struct queue *queue;    /* where it waits for its turn; NULL: it does not */
    struct queue_turn turn; /* in it */
    struct http_exchange *exchange;
    struct arena arena;
    struct viewer viewer;
    struct str id;          /* of the only ask that is read */
    struct shown_ask *asks; /* room for `room` */
    size_t count, room;
    size_t loaded;         /* asks before this one have their calls */
    size_t waiting;        /* replies of the store that are still to come */
    bool failed;           /* the store did */
    struct search *search; /* what is looked for; NULL: nothing */
    bool
        everybody; /* it is read for several viewers: all asks are, with what any of them may see */
    void (*done)(struct shown *shown);
};

/* Prepares a request whose struct begins with a struct shown. NULL: this user has too many, and it
 * was answered with 429. */
struct shown *shown_begin(struct inbox *inbox, struct shown_group *group,
                          const struct front_request *request, size_t size);
/* The same for nobody's request: there is no exchange, and everything is read. */
struct shown *shown_open(struct inbox *inbox, size_t size);
/* It waits in this queue, as what `who` wants, and then begins. */
void shown_wait(struct shown *shown, struct queue *queue, struct str who,
                void (*begin)(struct queue_turn *turn));
#define SHOWN_OF(turn_) LIST_OF(turn_, struct shown, turn)
/* Frees it; answer the exchange before. */
void shown_end(struct shown *shown);
/* Makes room for so many asks, and forgets those that were there. */
void shown_room(struct shown *shown, size_t room);
/* False: there is no room, or nobody waits for it any more. */
bool shown_add(struct shown *shown, const struct ask_record *ask);
/* Counts what was read so far, and so much beside it, in the share of the reader. If that is too
 * much, it is refused. */
void shown_hold(struct shown *shown, size_t more);
/* Of what was added since the last shown_load, what is not kept goes. */
void shown_keep(struct shown *shown);
/* Reads the calls of what was added since, all at once; then done(). */
void shown_load(struct shown *shown);
/* Reads one ask by its id, and its call; then done(). If it is not there, count is 0. */
void shown_find(struct shown *shown, struct str id);

/* Reads so many asks by their ids, and their calls, all at once; then done(). Those that are not
 * there are left out. */
void shown_find_all(struct shown *shown, const struct id *ids, size_t count);

/* --- search.c --- */

/* NULL is fine. */
void search_end(struct search *search);

/* --- item.c --- */

/* `all`: what was answered and the call's result are shown as well. */
void item_write(struct json_writer *w, const struct inbox *inbox, const struct shown_ask *shown,
                bool all);
/* With the input schema of its tool, as the tool is now. */
void item_write_alone(struct json_writer *w, const struct inbox *inbox,
                      const struct shown_ask *shown, bool all);

/* --- events.c --- */

struct events *events_create(struct inbox *inbox);
/* Something about this pending ask has changed on this node, of which the store does not tell. */
void events_note(struct events *events, const struct ask_record *ask);
/* If this ask has its turn here later, whoever watches is told of it then. */
void events_await(struct events *events, const struct ask_record *ask);
/* All streams are told, and end. Before the store is destroyed. */
void events_stop(struct events *events);
/* After the front door is gone. */
void events_destroy(struct events *events);

/* --- the handlers of routes --- */

void listing_serve(const struct front_request *request, void *data);
void listing_serve_one(const struct front_request *request, void *data);
void resolve_serve(const struct front_request *request, void *data);
/* GET /api/openapi.json */
void openapi_serve(const struct front_request *request, void *data);
void reader_serve(const struct front_request *request, void *data);
/* Records that belong to somebody (owned.c): how one kind of them is listed, and one is ended. */
struct owned {          /* one request */
    struct shown shown; /* first; its asks are not used */
    const struct owned_kind *kind;
    struct json_writer w;
    struct buf body;
};

struct owned_kind {
    struct str path, path_of_one; /* of the list, and of one of them */
    /* Writes each record of this principal (empty: of all) to owned->w, then owned_listed(). */
    void (*list)(struct owned *owned, struct str principal, struct str cursor, size_t limit);
    /* Ends the one with this id, if it is this principal's (empty: anyone's); owned_ended(). */
    void (*end)(struct owned *owned, struct str id, struct str principal);
    void (*more)(struct owned *owned); /* further members of the list; may be NULL */
    struct str none, unsure;           /* what is said if there is none, or the store is away */
};

extern const struct owned_kind owned_accounts, owned_grants, owned_secrets;

bool owned_routes(struct inbox *inbox);
void owned_listed(void *data, nod_status status, struct str cursor);
void owned_ended(void *data, nod_status status);

#endif
