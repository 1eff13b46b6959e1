/*
 * store/sqlite: what its files share.
 *
 *     sqlite.c         the vtable: operations are copied and queued, completions delivered
 *     sqlite_side.c    a thread with its connection and its queue; group commit
 *     sqlite_write.c   the transitions of calls
 *     sqlite_claim.c   claims
 *     sqlite_quota.c   how many questions wait, and how many bytes are kept, in all and for each
 *                      principal
 *     sqlite_room.c    makes room of results that were handed out
 *     sqlite_sweep.c   removes what is over, a slice at a time
 *     sqlite_read.c    turns rows into records; load, scan, get, list
 *     sqlite_hints.c   tells a watcher of the asks what an operation has changed
 *     sqlite_reseal.c  seals every record with the newest secret
 *     sqlite_mark.c    which secret the file is sealed with, and records of another
 *     sqlite_file.c    the files on the disk: their lock, and whether they are there
 *     sqlite_log.c     keeps the log short
 *     sqlite_schema.c  what is in the file: pragmas, tables, migrations
 *     sqlite_query.c   prepared statements
 *
 * Holds always: a connection is used only by its own thread, from the opening of the store until
 * the thread was joined. The threads read no wall clock: an operation carries the time at which it
 * was asked for.
 */
#ifndef NOD_STORE_SQLITE_INSIDE_H
#define NOD_STORE_SQLITE_INSIDE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "net/loop.h"
#include "store/kept.h"
#include "store/record_codec.h"
#include "store/sqlite.h"

enum {
    LITE_SCHEMA = 8,            /* the newest version of the tables */
    LITE_QUEUE_MOST = 200000,   /* operations that wait for a thread */
    LITE_BATCH_MOST = 1024,     /* operations in one commit */
    LITE_OP_BYTES = 96 << 20,   /* memory of one operation with what it reads */
    LITE_SCAN_MOST = 1000,      /* rows of one scan */
    LITE_SCAN_BYTES = 8 << 20,  /* bytes of its records, after which it ends early */
    LITE_SWEEP_EVERY_MS = 5000, /* how often the store looks for what is over */
    LITE_USED_STEP_MS = 60000,  /* the most that counts as time in use between two looks */
    LITE_SWEEP_CALLS = 32,      /* calls removed in one commit */
    LITE_SWEEP_ROWS = 128,      /* small records removed in one commit */
    LITE_ROOM_CALLS = 256,      /* ended calls whose contents go in one commit, to make room */
    LITE_RESEAL_MOST = 256,     /* records sealed anew in one commit */
    LITE_GATHER_NS = 2000000,   /* how long a commit may wait for others to share it */
    LITE_LAPSE_MOST = 512,      /* questions that ran out, looked at in one commit */
    LITE_TALLIES_MOST = 4096,   /* principals whose counts are kept in memory */
    LITE_LOOK_EVERY_MS = 1000, /* how often the files are checked, and a failed store tries again */
    LITE_TRY_BYTES = 64 << 10, /* bytes written to see whether a store that failed works again */
    LITE_LOG_PAGES = 1000,     /* pages of the log, before it is moved into the file */
    LITE_LOG_BYTES = 4 << 20,  /* bytes of the log that are kept when it begins anew */
    LITE_LOG_MOST_PAGES = 2000, /* pages of the log, at which the writer waits until it was moved */
    LITE_LOG_QUIET_PAGES = 64,  /* fewer new pages between two sweeps: the log is cut */
    LITE_PAGE_BYTES = 4096,     /* bytes of a page */
    LITE_STEP_BYTES = 64 << 10, /* bytes by which the file grows */
    LITE_BUSY_MS = 5000,        /* how long somebody else may hold the file */
};

struct sqlite_store;
struct sqlite_side;
struct sqlite_op;

/* --- operations --- */

struct sqlite_verb {
    const char *name;
    void (*run)(struct sqlite_side *side, struct sqlite_op *op);
    bool reads; /* on the reader's thread */
};

struct sqlite_row { /* of a scan */
    struct sqlite_row *next;
    struct store_row row;
};

/* Everything it points to is in its arena. */
struct sqlite_op {
    struct list link;
    const struct sqlite_verb *verb;
    store_done *done; /* NULL: nobody waits */
    void *data;
    nod_status status;
    struct store_reply reply;
    struct arena arena;
    int64_t now;

    struct str token;
    struct str id; /* of the call, of the ask; or a key */
    struct str node;
    uint64_t epoch;
    uint32_t notices;
    int64_t keep_for_ms;
    bool handed;
    bool parks;            /* park, not append */
    enum call_state state; /* finish, cancel */
    bool fetched;
    enum take_why why;
    const struct call_record *open;
    const struct entry *entries;
    size_t entry_count;
    struct ask_record *asks;
    size_t ask_count;
    size_t new_asks; /* those that were not asked before */
    struct claim_spec claim;
    struct str content; /* result; value */
    struct str kind;    /* of a small record */
    struct str whose;   /* the principal of a small record */
    uint64_t version;
    int64_t ttl_ms;
    struct store_scan scan;
    struct store_list list;
    store_row_fn *row;
    size_t row_count;
    size_t skipped_bytes; /* used for records that a scan could not read */
    struct sqlite_row *rows;
    struct sqlite_row **rows_end;
    struct str wake;       /* a call of which a hint is given when it is done */
    int64_t owner;         /* of the call that it has ended */
    struct str *withdrawn; /* asks of that call that were pending */
    size_t withdrawn_count;
};

/* --- a thread with its connection --- */

enum sql {
    SQL_BEGIN,
    SQL_BEGIN_READ,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_PAGES,
    SQL_SAVE,
    SQL_SAVE_KEEP,
    SQL_SAVE_UNDO,
    SQL_CALL_FIND,
    SQL_CALL_ADD,
    SQL_CALL_CLEAR,
    SQL_CALL_PARK,
    SQL_CALL_MOVE,
    SQL_CALL_CLAIMED,
    SQL_CALL_END,
    SQL_CALL_LOAD,
    SQL_CALL_LOAD_NUMBER,
    SQL_CALLS_RUNNABLE,
    SQL_CALLS_ALL,
    SQL_CALLS_OVER,
    SQL_CALLS_ABANDONED,
    SQL_CALLS_ORPHANED,
    SQL_CALLS_OWNED,
    SQL_CALL_DROP,
    SQL_CALL_FETCHED,
    SQL_CALL_SHRINK,
    SQL_CALLS_SPARE,
    SQL_CALLS_SPARE_OF,
    SQL_ASK_ADD,
    SQL_ASK_FIND,
    SQL_ASK_CLAIM,
    SQL_ASK_END,
    SQL_ASK_AGAIN,
    SQL_ASK_CAME,
    SQL_ASKS_WITHDRAW,
    SQL_ASKS_SENSITIVE,
    SQL_ASK_ERASE,
    SQL_ASKS_DUE,
    SQL_ASKS_OF_CALL,
    SQL_ASKS_PENDING,
    SQL_ASKS_PENDING_OF,
    SQL_ASKS_ENDED,
    SQL_ASKS_ENDED_OF,
    SQL_ASKS_WAITING,
    SQL_ASKS_DROP,
    SQL_ASKS_COUNTED,
    SQL_ASKS_LAPSED,
    SQL_JOURNAL_ADD,
    SQL_JOURNAL_LOAD,
    SQL_JOURNAL_PARTS,
    SQL_JOURNAL_REPLACE,
    SQL_JOURNAL_DROP,
    SQL_SMALL_FIND,
    SQL_SMALL_LIST,
    SQL_SMALL_SEEN,
    SQL_SMALL_PUT,
    SQL_SMALL_DEL,
    SQL_SMALL_OVER,
    SQL_SMALL_DROP,
    SQL_NODE_BEAT,
    SQL_NODE_ALIVE,
    SQL_NODES_SWEEP,
    SQL_QUOTA_FIND,
    SQL_QUOTA_SET,
    SQL_QUOTA_DROP,
    SQL_MARK_FIND,
    SQL_MARK_SET,
    SQL_COUNT,
};

struct sqlite_side {
    struct sqlite_store *store;
    bool writes;
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT];
    struct codec codec;
    struct buf buf;     /* a record being written */
    int error;          /* SQLite's error in the current operation; 0: none */
    nod_status refused; /* the current operation met a record that was refused */
    uint64_t newest;    /* newest version of a small record; the writer's */
    int64_t now;        /* time of the newest operation; the writer's */
    int64_t swept_ms;   /* the writer's */
    int64_t used_ms;    /* the time in use, as of used_at; the writer's */
    int64_t used_at;    /* 0: not read yet */
    bool sweep_on;      /* there is more to remove */
    int told;           /* the failure that was logged; 0: the store works */
    struct map
        tallies; /* owner -> struct tally, as they will be after the next commit; the writer's */
    int64_t lapsed_ms; /* questions that ran out until then are no longer counted */
    bool lapsed_known; /* lapsed_ms was read */
    bool lapsed_ahead; /* it is later than in the file */
    bool mark_wanted;  /* something relied on it: it has to be saved */
    int64_t moved;     /* by how many the current operation changes the waiting questions */
    int64_t moved_owner;
    int64_t moved_bytes; /* by how many the current operation changes the bytes of that owner */
    int64_t moved_spare; /* and those of results that were handed out */
    int64_t spare_at;    /* the number of the call after which room in all is looked for */
    int64_t commit_ns;   /* how long the last commit took; the writer's */
    size_t crowd;        /* operations that were there when it ended, including its own */
    bool settled;        /* what the last owner left behind was put in order; the writer's */
    /* pages of the log after the last commit; this and the following are the writer's */
    int wal_pages;
    bool log_asked;     /* the reader was asked to move it */
    int64_t log_used;   /* pages written to it since it was cut */
    int64_t log_looked; /* log_used at the last look */
    int64_t looked_ms;
    int lost;       /* as store->lost, before it is reported */
    int log_waited; /* waiting for the log was in vain: not again before it has so many pages */
    int log_told;   /* why it cannot be moved; 0: it can */

    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t wake;
    struct list queue;
    size_t queued;
    size_t wanted;   /* how many must be queued to wake a writer that gathers; 0: one */
    bool checkpoint; /* the reader's: the log is to be moved */
    bool stopping;
};

/* Outlives the store while completions are on their way to the loop. */
struct sqlite_mailbox {
    struct sqlite_store *store; /* NULL: the store is gone. Loop thread only */
    atomic_uint refs;
    struct list arrived; /* struct sqlite_op, to be told. Loop thread only */
    bool telling;        /* they are being told, or will be on a later turn of the loop */
};

/* The files that belong together; see sqlite_file.c. */
enum sqlite_part { LITE_PART_FILE, LITE_PART_LOCK, LITE_PART_LOG, LITE_PART_INDEX, LITE_PARTS };

/* A file as it was opened: another file in its place is not the same. */
struct sqlite_known {
    char *path;
    dev_t device;
    ino_t inode; /* 0: not seen yet */
};

struct sqlite_store {
    struct store store; /* first */
    struct id id;
    struct loop *loop;
    const struct clock *clock;
    const char *path;
    char *vfs;
    int file_fd, lock_fd;
    enum sqlite_sync synchronous;
    int64_t keep_ms;
    int64_t abandoned_ms;
    int64_t pending_most;              /* bound on waiting questions, in all; 0: none */
    int64_t pending_most_each;         /* the same for one principal */
    int64_t kept_most, kept_most_each; /* the same for bytes that are kept */
    atomic_llong kept;                 /* bytes, in all, after the last commit */
    atomic_ullong kept_refused, kept_dropped;
    struct sqlite_known known[LITE_PARTS]; /* the writer's, once it runs */
    atomic_int lost;                       /* a part that is no longer there, plus 1 */
    atomic_int failing;                    /* SQLite's error, while writes do not reach the disk */
    atomic_int unreadable;                 /* the same for reads */
    atomic_int damaged;    /* the same, for good: the file was changed by something else */
    atomic_bool log_moved; /* the reader has moved the log, as it was asked to */
    struct sqlite_side writer;
    struct sqlite_side reader;
    struct sqlite_mailbox *mailbox;
    struct timer look;
    size_t in_flight; /* operations that keep the loop running; loop thread only */
    void (*wake)(void *data, struct str call_id);
    void *wake_data;
    void (*told)(void *data, const struct ask_hint *hint); /* NULL: nobody watches the asks */
    void *told_data;
    atomic_ullong commits;

    pthread_mutex_t foreign_lock;
    struct foreign_record foreign;  /* a record whose secret is not set; guarded by the lock */
    bool foreign_asked;             /* whether it is still there is being looked up; loop thread */
    char foreign_why[MARK_WHY_MAX]; /* loop thread */
};

struct query;

/* sqlite.c */
/* A store without its threads: the file is locked and up to date, and the writer's connection
 * belongs to the caller. NULL: see why. Ends with ops->destroy. */
struct sqlite_store *sqlite_store_offline(const struct sqlite_opts *opts, char *why);
void sqlite_deliver(struct sqlite_store *store, struct list *ops); /* from a side's thread */

/* sqlite_side.c */
bool sqlite_side_start(struct sqlite_side *side);
/* The writer first works through its queue; the reader's queue is dropped. */
void sqlite_side_stop(struct sqlite_side *side);
/* False: too many operations wait. */
bool sqlite_side_submit(struct sqlite_side *side, struct sqlite_op *op);

/* sqlite_file.c */
void sqlite_file_names(struct sqlite_store *store, const char *path);
bool sqlite_file_lock(struct sqlite_store *store, char *why);
/* Unlocks. Only after both connections were closed. */
void sqlite_file_finish(struct sqlite_store *store);
/* False, with side->error: a file was removed or replaced, and a commit would be lost. */
bool sqlite_file_is_there(struct sqlite_side *side);
/* Saves what is in the log, and records the loss: from then on the store is not ready. Outside of a
 * transaction. */
void sqlite_file_say_lost(struct sqlite_side *side);
/* Which one, as a constant sentence; NULL: none. */
const char *sqlite_file_lost(const struct sqlite_store *store);

/* sqlite_log.c */
void sqlite_log_grew(struct sqlite_side *side, int pages); /* it has so many pages now */
void sqlite_log_watch(struct sqlite_side *writer);         /* after a commit */
void sqlite_log_move(struct sqlite_side *side);    /* does not wait, and does not cut the log */
void sqlite_log_quiet(struct sqlite_side *writer); /* called now and then */
void sqlite_log_cut(struct sqlite_side *writer);
void sqlite_log_reserve(struct sqlite_side *writer); /* before a commit */
/* False, with side->error: the log is too long, and cannot be moved. */
bool sqlite_log_has_room(struct sqlite_side *writer);

/* sqlite_schema.c */
/* The text that a statement returns, cut at `size`. False: it fails, or returns nothing. */
bool sqlite_ask_text(struct sqlite_side *side, const char *sql, char *out, size_t size);
bool sqlite_connect(struct sqlite_side *side, char *why);
bool sqlite_migrate(struct sqlite_side *side, char *why);
/* What a new owner of the file does, in its first transaction. False: side->error. */
bool sqlite_settle(struct sqlite_side *side);
void sqlite_disconnect(struct sqlite_side *side);

/* sqlite_mark.c */
/* Once the tables are up to date: do the secrets fit? If there is no mark, one is made. */
bool sqlite_mark_check(struct sqlite_side *side, enum mark_rule rule, char *why);
/* All records are sealed with the newest secret now. */
void sqlite_mark_renew(struct sqlite_side *side);
/* From a side's thread, after a batch: has it met a record of a secret that is not set? */
void sqlite_mark_met(struct sqlite_side *side);
/* On the loop, now and then. */
void sqlite_mark_look(struct sqlite_store *store);
bool sqlite_opens(struct store *store, struct str *why);

/* sqlite_write.c */
struct sqlite_call_row {
    int64_t n;
    enum call_state state;
    uint64_t epoch;
    int64_t pending;
    struct str token;
    int64_t keep_until_ms;
    bool handed;
    struct str scope;
    struct str node;
    int64_t idle_ms; /* only if it is runnable */
    int64_t owner;   /* its principal, as sqlite_quota.c counts it */
    bool sensitive;  /* one of its questions is sensitive */
    struct deaths deaths;
    int64_t bytes; /* that are kept of it: store/kept.h */
    bool spare;    /* it has ended, and its result was handed out */
    bool whole;    /* it has ended, and its content is there */
};

/* Reads the columns of ROW_COLUMNS. */
void sqlite_row_read(struct query *q, struct arena *arena, struct sqlite_call_row *row);
/* False: the record is too large, which is the operation's fault and no failure of the store. */
bool sqlite_wrote(struct sqlite_side *side, nod_status status);
/* Where the next record is written; and what was just written. */
struct buf *sqlite_blank(struct sqlite_side *side);
struct str sqlite_fresh(struct sqlite_side *side);
void sqlite_journal_add(struct sqlite_side *side, const struct sqlite_call_row *row,
                        struct str call_id, const struct entry *entries, size_t count);
void sqlite_save(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_clear(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_take(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_end(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_put(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_del(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_beat(struct sqlite_side *side, struct sqlite_op *op);
/* Drops a call with everything that belongs to it. Returns how many of its questions were
 * counted. */
int64_t sqlite_call_drop(struct sqlite_side *side, int64_t n, int64_t pending);
/* Its asks and its journal go. */
void sqlite_call_empty(struct sqlite_side *side, int64_t n);
void sqlite_fetched(struct sqlite_side *side, struct sqlite_op *op);

/* sqlite_room.c */
/* Before a commit: what was handed out goes, of whoever is past a bound. */
void sqlite_make_room(struct sqlite_side *side);

/* sqlite_claim.c */
void sqlite_claim(struct sqlite_side *side, struct sqlite_op *op);

/* sqlite_hints.c */
/* On the loop, when the operation is done. */
void sqlite_hints_tell(struct sqlite_mailbox *mailbox, const struct sqlite_op *op);
void sqlite_watch_asks(struct store *store, void (*told)(void *data, const struct ask_hint *hint),
                       void *data);

/* sqlite_sweep.c: removes a slice of what is over. */
void sqlite_sweep(struct sqlite_side *side);
/* The time in use of the file: time in which nobody could run a call does not count. */
int64_t sqlite_used(struct sqlite_side *side);

/* sqlite_quota.c */
/* A principal as a number; never 0, which stands for all. */
int64_t sqlite_quota_owner(struct str principal);
/* Which bound, if any, keeps so many more questions from waiting? */
enum store_quota sqlite_quota_full(struct sqlite_side *side, int64_t owner, int64_t more,
                                   int64_t now);
/* So many more questions wait, or fewer. */
void sqlite_quota_move(struct sqlite_side *side, int64_t owner, int64_t by);
/* Which bound keeps so many more bytes from this owner, even if all that was handed out goes? */
enum store_quota sqlite_quota_bytes_full(struct sqlite_side *side, int64_t owner, int64_t more);
/* So many bytes more, or fewer, are kept, and could go. */
void sqlite_quota_bytes(struct sqlite_side *side, int64_t owner, int64_t bytes, int64_t spare);
/* Is this owner past its bound, and has something that may go? An owner of whom this is so, and
 * whose bytes have changed since the last commit; SQLITE_NOBODY: there is none. */
#define SQLITE_NOBODY INT64_MIN
bool sqlite_quota_over(struct sqlite_side *side, int64_t owner);
int64_t sqlite_quota_next_over(struct sqlite_side *side);
/* Is a question with this deadline counted? */
bool sqlite_quota_counts(struct sqlite_side *side, int64_t expires_ms);
/* How many questions of a call wait and are counted. */
int64_t sqlite_quota_of_call(struct sqlite_side *side, int64_t n);
/* Stops counting a slice of the questions that ran out by then. True: there are more. */
bool sqlite_quota_lapse(struct sqlite_side *side, int64_t now);
/* Before a commit. */
void sqlite_quota_save(struct sqlite_side *side);
/* After a rollback: what was counted in the transaction did not happen. */
void sqlite_quota_forget(struct sqlite_side *side);

/* sqlite_read.c */
void sqlite_load_call(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_load_ask(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_scan(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_get(struct sqlite_side *side, struct sqlite_op *op);
void sqlite_list(struct sqlite_side *side, struct sqlite_op *op);
/* The call with its journal. NULL: side->error or side->refused is set, or it does not exist. */
const struct call_record *sqlite_read_call(struct sqlite_side *side, struct sqlite_op *op,
                                           struct str id);
/* The same, by its number. */
const struct call_record *sqlite_read_call_number(struct sqlite_side *side, struct sqlite_op *op,
                                                  int64_t n);

/* --- sqlite_query.c: one statement being run --- */

struct query {
    struct sqlite_side *side;
    sqlite3_stmt *stmt; /* NULL: it failed */
    int bound;
    int column;
};

struct query query(struct sqlite_side *side, enum sql name);
/* Each binds the next parameter. What is bound must live until the query has ended. */
void query_text(struct query *q, struct str s);
void query_blob(struct query *q, struct str s);
void query_int(struct query *q, int64_t n);
void query_int_or_null(struct query *q, bool is, int64_t n);
/* True: there is a row. A query without more rows, or that fails (side->error), has ended. */
bool query_row(struct query *q);
void query_end(struct query *q);
/* After the binds: runs a statement without rows. False: side->error is set. */
bool query_run(struct query *q);
/* Runs a statement without rows whose only parameter is a number. */
bool query_run_int(struct sqlite_side *side, enum sql name, int64_t n);
/* A number that has a name in the file; 0: it is not there. */
int64_t query_mark(struct sqlite_side *side, struct str name);
void query_mark_set(struct sqlite_side *side, struct str name, int64_t value);
/* A column of any statement, valid until its next step. */
struct str query_column(sqlite3_stmt *stmt, int column);
/* Each returns the next column. Text and blobs are copied into the arena. */
int64_t query_get_int(struct query *q);
struct str query_get_bytes(struct query *q, struct arena *arena);
/* Sets side->error, as a failed statement does. */
void query_fail(struct sqlite_side *side, int error);

/* Reads the ask of a row whose next columns are: id, state, asked_ms, expires_ms, ended_ms, record,
 * answer, attempt, via. False: it was refused (side->refused), or side->error. */
bool sqlite_read_ask(struct query *q, struct arena *arena, struct ask_record *out);

#endif
