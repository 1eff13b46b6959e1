/*
 * store/redis: what its files share.
 *
 *     redis.c           the store: opening, the vtable, small records
 *     redis_save.c      park, append
 *     redis_claim.c     claim
 *     redis_calls.c     take, finish, cancel
 *     redis_words.c     what these have in common
 *     redis_quota.c     how many questions wait
 *     redis_scan.c      load, scan
 *     redis_live.c      calls that could be run
 *     redis_all.c       all calls, for operators
 *     redis_list.c      asks and small records by page
 *     redis_reseal.c    seals every record with the newest secret
 *     redis_mark.c      which secret the store is sealed with, and records of another
 *     redis_known.c     what is remembered of calls and asks
 *     redis_op.c        operations on their way: queue, deadlines, delivery
 *     redis_link.c      one connection: connecting, greeting, reconnecting
 *     redis_greet.c     the greeting of a connection
 *     redis_reply.c     turns the server's bytes into values
 *     redis_read.c      turns values into records
 *     redis_scripts.c   the transitions, in Lua: holds the files of redis/
 *     redis_wake.c      a connection for hints of calls from other nodes
 *     redis_hints.c     a connection for hints of asks, if somebody watches them
 *     redis_announce.c  a connection for what one node tells all
 *     redis_url.c       the address
 *
 * The keys. Everything that belongs to a call is in the shard of the call's id, and a shard is a
 * hash tag. So one script touches one slot of a Redis Cluster, including the shard's indexes.
 *
 *     {shard of the call}c:CALL      hash: the call, its journal, its asks (redis_scripts.c)
 *     {shard of the call}r           hash: running and runnable calls that are handed -> node, or
 * "" {shard of the call}i           sorted set: all running and runnable calls (sweep.lua) {shard
 * of the call}d           sorted set: pending asks (CALL ASK) by expiry {shard of the call}a sorted
 * set: asks (ASK CALL OWNER), pending ones by when they were asked, others by when they ended, as a
 * negative number {shard of the call}o:OWNER     sorted set: the same, of one principal {shard of
 * the ask}p:ASK        the ask's call; written before the ask, and only a pointer {shard of the
 * record}k:N:KIND:KEY  hash: a small record; N is the length of KIND {shard of the record}l sorted
 * set: N:KIND:KEY of the small records, in their order {shard of the node}n:NODE      exists while
 * the node is alive
 *
 * Pointers cross shards, so they cannot be part of the transition. They are written before it: a
 * pointer that leads to nothing is harmless, and none is ever missing.
 */
#ifndef NOD_STORE_REDIS_INSIDE_H
#define NOD_STORE_REDIS_INSIDE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "net/connect.h"
#include "net/loop.h"
#include "net/tls.h"
#include "store/kept.h"
#include "store/record_codec.h"
#include "store/redis.h"

struct redisReader;

enum {
    REDIS_SHARDS = 64,         /* hash tags over which calls, pointers and records are spread */
    REDIS_AT_ONCE = 64,        /* operations that it is sent: as many as it reads at once, twice */
    REDIS_LANES = 4,           /* connections for commands: Redis reads 16 KiB of each at once */
    REDIS_QUEUE_MOST = 200000, /* operations on their way */
    REDIS_QUEUE_BYTES = 256 << 20, /* bytes of operations on their way */
    REDIS_WRITE_BYTES = 2048,      /* bytes that are worth a write before the turn is over */
    REDIS_REPLY_BYTES = 96 << 20,  /* memory of one reply */
    REDIS_LINE_MAX = 64 << 10,     /* bytes of a line in a reply that is not a bulk string */
    REDIS_UNREAD_BYTES = 64 << 20, /* bytes of a reply that is not complete yet */
    REDIS_BACKOFF_MIN_MS = 50,     /* the first pause before reconnecting; the pauses double */
    REDIS_BACKOFF_MOST_MS = 2000,  /* the longest pause */
    REDIS_SCAN_MOST = 1000,        /* rows of one scan */
    REDIS_SCAN_BYTES = 8 << 20,    /* bytes of its records, after which it ends early */
    REDIS_KNOWN_MOST = 65536,      /* calls and asks that are remembered here */
    REDIS_TALLIES_MOST = 4096,     /* principals whose count is remembered here */
    REDIS_COUNT_MS = 1000,         /* how long a count of waiting questions is trusted */
    REDIS_COUNT_OLD_MS = 60000,    /* the same, while the next count is on its way */
    REDIS_LAPSE_EVERY_MS = 100,  /* between two searches for asks that have run out, to make room */
    REDIS_SWEEP_EVERY_MS = 5000, /* how often one shard is swept */
    REDIS_USED_STEP_MS = 60000,  /* the most that counts as time in use between two sweeps */
    REDIS_ASKS_MOST = 1000,      /* asks of one transition */
    REDIS_OP_BYTES = 96 << 20,   /* memory of one operation with what it reads */
};

/* --- redis_url.c --- */

enum {
    REDIS_HOST_MAX = 256,   /* bytes of a host, with its NUL */
    REDIS_PATH_MAX = 1024,  /* of a file's name */
    REDIS_SECRET_MAX = 512, /* of a user's name, or of a password */
    REDIS_PREFIX_MAX = 128, /* of the prefix of keys */
};

struct redis_url {
    bool tls;
    bool strict;
    int port;
    int db;
    int64_t timeout_ms;
    char host[REDIS_HOST_MAX];
    char path[REDIS_PATH_MAX]; /* of a Unix socket; "": host and port */
    char user[REDIS_SECRET_MAX];
    char password[REDIS_SECRET_MAX];
    char prefix[REDIS_PREFIX_MAX];
    char ca[REDIS_PATH_MAX];
    char cert[REDIS_PATH_MAX];
    char key[REDIS_PATH_MAX];
    char shown[REDIS_WHY_MAX]; /* the address without its password */
};

bool redis_url_parse(struct str text, struct redis_url *out, char why[REDIS_WHY_MAX]);

/* --- redis_reply.c --- */

enum redis_type { REDIS_IS_NIL, REDIS_IS_TEXT, REDIS_IS_NUMBER, REDIS_IS_LIST, REDIS_IS_ERROR };

struct redis_value {
    enum redis_type type;
    struct str text; /* text, error */
    int64_t number;
    struct redis_value *items;
    size_t count;
};

struct redis_replies; /* takes bytes, gives values */

struct redis_replies *redis_replies_create(void);
void redis_replies_destroy(struct redis_replies *replies);
void redis_replies_feed(struct redis_replies *replies, struct str bytes);
/* The next value, valid until the next call. NULL: it is not complete yet, or `why` says what is
 * wrong with it, and no more values follow. */
const struct redis_value *redis_replies_next(struct redis_replies *replies, const char **why);

/* An item of a list, or a nil. */
const struct redis_value *redis_item(const struct redis_value *list, size_t at);
/* 0 if it is not a number, not even as text. */
int64_t redis_number(const struct redis_value *value);
struct str redis_text(const struct redis_value *value);

/* --- redis_scripts.c --- */

enum redis_script {
    SCRIPT_SAVE,
    SCRIPT_CLAIM,
    SCRIPT_TAKE,
    SCRIPT_BACK,
    SCRIPT_CLEAR,
    SCRIPT_FINISH,
    SCRIPT_PUT,
    SCRIPT_DEL,
    SCRIPT_LAPSE,
    SCRIPT_SWEEP,
    SCRIPT_RESEAL,
    SCRIPT_TIME_IN_USE,
    SCRIPT_ORPHAN,
    SCRIPT_KEPT,
    SCRIPT_FETCHED,
    SCRIPT_ROOM,
    SCRIPTS,
};

struct str redis_script_text(enum redis_script script);

/* The first word of a script's reply. The second is the time. */
enum { SAID_DONE, SAID_NOT_FOUND, SAID_STALE, SAID_RUNS, SAID_LIMIT };

/* --- redis_link.c, redis_greet.c --- */

struct redis_link;

struct redis_link_events { /* NULL: nobody minds; the link connects again by itself */
    void (*ready)(struct redis_link *link);
    void (*down)(struct redis_link *link, const char *why); /* it was ready, and no longer is */
    void (*value)(struct redis_link *link, const struct redis_value *value);
};

enum { SHA_LEN = 40 };

struct redis_link {
    struct loop *loop;
    const struct redis_url *url;
    struct tls_context *tls;
    const struct redis_link_events *events;
    void *owner;        /* NULL: it was let go of, and frees itself */
    struct str channel; /* of a subscriber; empty: for commands */
    struct connecting *connecting;
    struct stream *stream;
    struct redis_replies *replies;
    struct buf out; /* written at the end of the turn */
    struct loop_last flush;
    struct timer timer; /* the greeting's deadline, or the pause before the next try */
    int64_t pause_ms;
    bool ready;
    bool strict;
    unsigned lane;
    bool settled;    /* greeted, or failed, at least once */
    bool hopeless;   /* trying again will not help */
    int busy;        /* inside its own callbacks */
    size_t greeting; /* replies that the greeting expects */
    size_t greeted;  /* replies that have come */
    char shas[SCRIPTS][SHA_LEN + 1];
    int64_t offset_ms;        /* Redis's wall clock minus loop_now */
    struct id store_id;       /* which store this is; only on the first connection */
    char facts[3][64];        /* appendonly, appendfsync, maxmemory-policy */
    char told[REDIS_WHY_MAX]; /* what was last logged about the settings */
    char why[REDIS_WHY_MAX];  /* why it is not ready */
};

struct redis_link *redis_link_create(struct loop *loop, const struct redis_url *url,
                                     struct tls_context *tls, struct str channel,
                                     const struct redis_link_events *events, void *owner);
/* No more events. Freed when its stream is closed. */
void redis_link_destroy(struct redis_link *link);
/* Only while it is ready. */
void redis_link_write(struct redis_link *link, struct str bytes);
/* Drops the connection, and makes another after a pause. */
void redis_link_fail(struct redis_link *link, const char *why);

/* Writes the greeting, and returns the number of replies it expects. */
size_t redis_greeting(struct redis_link *link, struct buf *out);
/* The next reply to it. False: this server cannot be used, and link->why says why. */
bool redis_greeting_reply(struct redis_link *link, size_t at, const struct redis_value *value);
/* All replies were fine: logs what the settings mean. False: they are refused. */
bool redis_greeting_done(struct redis_link *link);

/* Appends one command to `out`, as bytes. */
void redis_command(struct buf *out, const struct str *words, size_t count);
/* True for an error of the server that begins with this text. */
bool redis_error_is(const struct redis_value *value, const char *begin);

/* --- the store --- */

/*
 * What is remembered of a call or an ask that went through here: its scope, for which its records
 * are sealed, and an ask's call, which says where it is. It never changes, so it is never wrong.
 * What is not remembered is read first.
 */
struct known {
    struct list link; /* oldest first */
    struct id id;
    struct id call;
    bool sensitive;
    size_t scope_len;
    char scope[];
};

/* Something that is bounded, as it was last counted. */
struct redis_meter {
    uint64_t there;
    uint64_t spare;  /* of that, what may go */
    uint64_t passed; /* let pass by this node, ever */
    uint64_t base;   /* let pass when that count was sent */
};

/* Waiting questions, and bytes that are kept: of a principal, and in all. */
struct redis_tally {
    struct list link; /* oldest first */
    char owner[17];   /* REDIS_OWNER_MAX; "": of all */
    int64_t counted_ms;
    int64_t sent_ms; /* when a count was last sent */
    struct redis_meter asks, bytes;
};

struct redis_home { /* outlives the store while a deferred call is on its way */
    struct redis_store *store;
    bool turning; /* a deferred call is on its way */
    int telling;  /* completions on the stack */
};

struct redis_store {
    struct store store; /* first */
    struct loop *loop;
    struct redis_url url;
    struct tls_context *tls;
    struct redis_link *lanes[REDIS_LANES]; /* for commands; the first stands for all */
    struct redis_link *wakes;              /* NULL: nobody watches */
    struct redis_home *home;
    struct codec codec;
    struct buf record; /* a record being written */
    int64_t keep_ms;
    int64_t abandoned_ms;
    int64_t used_ms; /* the time in use, as last heard; 0: not known yet */

    struct list waiting;           /* operations that wait for a connection */
    struct list sent[REDIS_LANES]; /* operations that wait for a reply, in order */
    struct list finished;          /* operations whose end is told on another turn */
    size_t in_flight;
    size_t bytes;
    struct timer deadline;
    struct timer sweep;
    unsigned swept;        /* the next shard to be swept */
    bool told;             /* it was logged that the store is away */
    int64_t complained_ms; /* when a refusal was last logged */
    const char *refusing;  /* why it takes no writes, although it answers; NULL: it takes them */

    struct map known; /* id -> struct known */
    struct list known_order;

    size_t pending_asks; /* 0: no bound */
    size_t pending_asks_per_principal;
    uint64_t kept_most, kept_most_each; /* bytes; 0: no bound */
    uint64_t kept_refused, kept_dropped;
    struct redis_tally in_all;
    struct map tallies; /* owner -> struct redis_tally */
    struct list tally_order;

    struct str node;     /* the node that watches */
    char *channel_text;  /* its channel, of which its name is the end */
    struct str channels; /* what the channels of all nodes begin with */
    char channels_text[REDIS_PREFIX_MAX + 32];
    void (*wake)(void *data, struct str call_id);
    void *wake_data;
    struct redis_link *hints; /* NULL: nobody watches the asks */
    void (*hinted)(void *data, const struct ask_hint *hint);
    void *hinted_data;
    int64_t lapsed_ms; /* the last search for asks that have run out */
    uint64_t commands_sent;

    enum mark_rule mark;         /* what was asked of the secrets */
    bool foreign_told;           /* it was logged that codec.foreign was met */
    bool foreign_asked;          /* whether it is still there is being looked up */
    bool misfit;                 /* the mark is of another secret, since we began */
    char mark_why[MARK_WHY_MAX]; /* why this node is not fit for requests */

    struct redis_link *announcements; /* NULL: nobody here listens to announcements */
    char announce_channel[REDIS_PREFIX_MAX + 32];
    void (*announced)(void *data, struct str text);
    void *announced_data;
};

static inline struct redis_store *redis_of(struct store *store)
{
    return (struct redis_store *)(void *)store;
}

/* Redis's wall clock, as far as it is known without asking. */
static inline int64_t redis_now(const struct redis_store *store)
{
    return loop_now(store->loop) + store->lanes[0]->offset_ms;
}

/* --- redis_op.c --- */

struct redis_op;

struct redis_verb {
    const char *name;
    /* Reply `at` of op->expected. After the last one the operation has ended, unless there are new
     * commands (redis_op_more). NULL: only an error matters. */
    void (*reply)(struct redis_op *op, size_t at, const struct redis_value *value);
};

struct redis_row { /* of a scan */
    struct redis_row *next;
    struct store_row row;
};

struct redis_op {
    struct list link;
    struct redis_store *store;
    const struct redis_verb *verb;
    store_done *done; /* NULL: nobody waits */
    void *data;
    int64_t deadline;
    unsigned shard;   /* what it is about; decides the connection */
    struct buf bytes; /* the commands */
    size_t counted;   /* of these, counted in store->bytes */
    size_t expected;  /* replies */
    size_t got;
    bool again; /* Redis did not know a script: everything is sent again */
    bool more;  /* there are new commands */
    bool wakes; /* the call's node, which is this one, is to be woken */
    bool leave; /* the server can no longer be used */
    int tries;  /* how often it was sent again */
    nod_status status;
    struct store_reply reply;
    struct arena arena;
    int phase;

    size_t result_bytes; /* finish, cancel */
    struct id call;
    struct id ask;
    const void *with; /* of a verb with several rounds of commands: its state, in the arena */
    struct str kind;  /* of a small record */
    struct str key;
    store_row_fn *row; /* of a scan */
    struct redis_row *rows;
    struct redis_row **rows_end;
    size_t row_count;
};

struct redis_op *redis_op_new(struct redis_store *store, const struct redis_verb *verb,
                              store_done *done, void *data);
/* Adds a command to the operation. */
void redis_op_say(struct redis_op *op, const struct str *words, size_t count);
void redis_op_script(struct redis_op *op, enum redis_script script, const struct str *keys,
                     size_t key_count, const struct str *args, size_t arg_count);
void redis_op_send(struct redis_op *op);
/* Ends the operation with this status, on another turn, instead of sending it. */
void redis_op_end(struct redis_op *op, nod_status status);
/* Inside verb->reply: the old commands are dropped, and new ones follow. */
void redis_op_more(struct redis_op *op);
/* The first two words of a script's reply. False: the operation ends here, with op->status. */
bool redis_op_said(struct redis_op *op, const struct redis_value *value);
/* For a verb whose reply says no more than that. */
void redis_reply_said(struct redis_op *op, size_t at, const struct redis_value *value);
/* The server has refused it: NOD_E_STORE, and a line in the log. */
void redis_op_refused(struct redis_op *op, const struct redis_value *value);
/* Redis has taken a write that it refuses when it is short of something. */
void redis_writes(struct redis_store *store);
/* Sends what waits, if it may be sent now. */
void redis_ops_flow(struct redis_store *store);
/* Drops all operations on their way, without calling done(). */
void redis_ops_drop(struct redis_store *store);
extern const struct redis_link_events redis_command_events;
/* Is every connection for commands ready? If not, *why says why. */
bool redis_lanes_ready(const struct redis_store *store, const char **why);

/* A key: prefix, shard of `of` as a hash tag, a letter, and texts after it. In the arena. */
struct str redis_key(struct redis_op *op, struct str of, const char *letter, struct str tail);
struct str redis_shard_key(struct redis_op *op, unsigned shard, const char *letter,
                           struct str tail);
unsigned redis_shard(struct str of);

/* --- redis_reseal.c --- */

/* For SCAN: the keys of a letter in every shard. */
struct str redis_pattern(struct redis_op *op, const char *letter);

/* --- redis_mark.c --- */

/* Once the store is greeted: do the secrets fit? If there is no mark, one is made. Turns the
 * loop. */
bool redis_mark_check(struct redis_store *store, char why[REDIS_WHY_MAX]);
/* All records are sealed with the newest secret now. Turns the loop. */
bool redis_mark_renew(struct redis_store *store);
/* Logs that a record of a secret that is not set was met, if it was, and was not logged yet. */
void redis_mark_met(struct redis_store *store);
/* Now and then: looks at the mark, and at the record that was met. */
void redis_mark_look(struct redis_store *store);
bool redis_opens(struct store *base, struct str *why);

/* --- redis_announce.c --- */

void redis_announce(struct store *base, struct str text);
void redis_watch_announced(struct store *base, void (*told)(void *data, struct str text),
                           void *data);

/* --- redis_words.c --- */

/* A lifetime within the bounds of Redis, and not negative. */
int64_t redis_life(int64_t ms);
struct str redis_digits(struct redis_op *op, int64_t n);
struct str redis_copy(struct redis_op *op, struct str s);
/* What was just written into store->record, kept with the operation; or its status. */
struct str redis_kept(struct redis_op *op, nod_status status);
/* The time in use, as the index needs it. */
struct str redis_used(struct redis_op *op);
/* Can these be parts of a call's head, where they have to be told apart? */
bool redis_plain(struct str token, struct str node);
/* Sends the operation, unless writing its records has failed. */
void redis_op_send_or_end(struct redis_op *op);
/* Before the transition: reads the call's own record, for its scope; and the reply to that. False:
 * the operation ends here. */
void redis_say_look(struct redis_op *op);
bool redis_looked(struct redis_op *op, const struct redis_value *value, struct str *scope);
/* The operation's call, which `node` took in that epoch and cannot read, can be run by any node. */
void redis_say_back(struct redis_op *op, struct str node, uint64_t epoch);
struct str redis_known_scope(const struct known *known);

/* --- redis_quota.c --- */

/* A principal, as it is listed and counted. */
struct str redis_owner(struct redis_op *op, struct str principal);
enum { REDIS_OWNER_MAX = 17 };

struct redis_more { /* so many more questions, and bytes; or a bound on them, 0: none */
    uint64_t asks, bytes;
};

struct redis_sum { /* what the shards say, added up */
    int64_t asks, bytes, spare;
    uint64_t asks_base, bytes_base; /* what this node had let pass when it asked them */
};

struct redis_count {
    bool principal; /* the count under way is that of the principal */
    bool in_all;
    bool lapsed; /* what is over was searched for */
    struct redis_sum of_principal, of_all;
    struct redis_more more;
    char owner[REDIS_OWNER_MAX];
};

/* NULL: there is room for so much more. Otherwise it has to be counted first. */
struct redis_count *redis_count_wanted(struct redis_op *op, struct str principal,
                                       const struct redis_more *more);
/* The operation was refused for want of room, by this bound. */
void redis_quota_said(struct redis_op *op, enum store_quota quota);
/* How many bytes have to go before what was let pass fits; 0: none. */
uint64_t redis_count_lacks(struct redis_store *store, const struct redis_count *count);
void redis_count_say(struct redis_op *op, struct redis_count *count);
void redis_count_heard(const struct redis_store *store, struct redis_count *count, size_t at,
                       const struct redis_value *value);
/* All counts are here: which bound, if any, leaves no room? */
enum store_quota redis_count_full(struct redis_store *store, struct redis_count *count);
/* Asks that have run out, and calls that were removed, may still be counted. True: every shard is
 * searched for them now, and the count begins anew after that. */
bool redis_lapse_say(struct redis_op *op, struct redis_count *count);
/* A result of so many bytes was stored: whoever is counted next must not be let pass by an older
 * count. */
void redis_tally_grew(struct redis_store *store, struct str owner, size_t bytes);
void redis_tallies_finish(struct redis_store *store);

/* --- redis_kept.c --- */

struct redis_room;
/* Asks which results of the principal were handed out; and the replies. */
struct redis_room *redis_room_say(struct redis_op *op, const struct redis_count *count,
                                  uint64_t lacks);
void redis_room_heard(struct redis_room *room, size_t at, const struct redis_value *value);
/* The oldest go. False: there are none. */
bool redis_room_make(struct redis_op *op, struct redis_room *room, const struct redis_count *count);
void redis_fetched(struct store *store, struct str call_id, store_done *done, void *data);
void redis_held(struct store *store, struct store_held *held);

/* --- redis_save.c, redis_calls.c --- */

void redis_park(struct store *store, const struct park_spec *park, store_done *done, void *data);
void redis_append(struct store *store, const struct append_spec *append, store_done *done,
                  void *data);
void redis_claim(struct store *store, const struct claim_spec *claim, store_done *done, void *data);
void redis_take(struct store *store, const struct take_spec *take, store_done *done, void *data);
void redis_clear(struct store *store, const struct append_spec *append, store_done *done,
                 void *data);
void redis_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                  void *data);
void redis_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                  store_done *done, void *data);

/* --- redis_known.c --- */

/* NULL: not remembered. */
const struct known *redis_known(struct redis_store *store, struct str id);
void redis_know(struct redis_store *store, struct str id, struct str call, struct str scope,
                bool sensitive);
void redis_forget(struct redis_store *store, struct str id);
void redis_forget_all(struct redis_store *store);
/* Ids have one length, and nothing else is looked up. */
bool redis_is_id(struct str id);

/* --- redis_scan.c --- */

void redis_load_call(struct store *store, struct str call_id, store_done *done, void *data);
void redis_load_with_asks(struct store *base, struct str call_id, size_t most, store_row_fn *row,
                          store_done *done, void *data);
void redis_load_ask(struct store *store, struct str ask_id, store_done *done, void *data);
void redis_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                store_done *done, void *data);

void redis_row_add(struct redis_op *op, struct store_row row);
/* A copy of a value, to be read after its reply is gone. */
struct redis_value redis_keep_value(struct redis_op *op, const struct redis_value *value);
/* Adds the ask to the rows. False: it does not exist, cannot be read, or does not fit. */
bool redis_row_ask(struct redis_op *op, struct str id, const struct redis_value *value,
                   bool (*fits)(const struct redis_op *op, const struct ask_record *ask));
/* Reads all of a call; or meta, record and answer of an ask, and the version of its call. */
void redis_say_call(struct redis_op *op, struct str call);
void redis_say_ask(struct redis_op *op, struct str call, struct str ask);

/* --- redis_live.c, redis_list.c --- */

void redis_scan_live(struct store *store, const struct store_scan *scan, store_row_fn *row,
                     store_done *done, void *data);
/* --- redis_all.c --- */
void redis_scan_all(struct store *base, const struct store_scan *scan, store_row_fn *row,
                    store_done *done, void *data);

void redis_scan_asks(struct store *store, const struct store_scan *scan, store_row_fn *row,
                     store_done *done, void *data);
void redis_list(struct store *store, const struct store_list *list, store_row_fn *row,
                store_done *done, void *data);
/* The key of a small record after its letter: N:KIND:KEY. */
struct str redis_value_name(struct redis_op *op, struct str kind, struct str key);

/* --- redis_read.c --- */

/*
 * `pairs` is a call's hash as HGETALL gives it. NOD_E_NOT_FOUND if it is empty. With `journal` the
 * entries are read too.
 */
/* What is beside the record of a call: the text of its head, field x. False: it is damaged. The
 * node points into the text. */
bool redis_read_beside(struct str head, struct call_record *call, size_t *pending);
nod_status redis_read_call(struct codec *codec, struct str id, const struct redis_value *pairs,
                           bool journal, struct arena *arena, struct call_record *out);
/* The call's epoch, for one whose record cannot be read. 0: it has none. */
uint64_t redis_epoch_of(const struct redis_value *pairs);
/* meta, record and answer as they are in the call's hash. */
nod_status redis_read_ask(struct codec *codec, struct str id, const struct redis_value *meta,
                          const struct redis_value *record, const struct redis_value *answer,
                          struct arena *arena, struct ask_record *out);
/* Each ask of a call, in order. If one cannot be read, it stops there with its status. */
nod_status redis_read_asks(struct codec *codec, const struct redis_value *pairs,
                           struct arena *arena, size_t most, store_row_fn *row, void *data);
/* One of them. */
nod_status redis_read_ask_of(struct codec *codec, const struct redis_value *pairs, struct str id,
                             struct arena *arena, struct ask_record *out);

/* --- redis_wake.c --- */

void redis_watch(struct store *store, struct str node, void (*wake)(void *data, struct str call_id),
                 void *data);
void redis_watch_asks(struct store *store, void (*told)(void *data, const struct ask_hint *hint),
                      void *data);
/* Hints can arrive, or nobody waits for any. */
bool redis_watching(const struct redis_store *store);

#endif
