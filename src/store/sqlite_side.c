/*
 * store/sqlite: a thread with its connection and its queue.
 *
 * Group commit: the writer takes everything that waits, runs it in one transaction and commits
 * once. In the meantime the next operations gather. If a commit takes long, it waits a little
 * longer, for about as many as came before. Completions are sent after the COMMIT.
 *
 * A transition checks before it writes, so if it fails there is nearly always nothing to undo. If
 * there is, the batch is rolled back and run again, each transition in its own savepoint, which
 * costs more, and only the one that fails is undone. If the transaction itself is lost or cannot be
 * committed, every operation of the batch has failed, and the callers send them again with their
 * tokens.
 *
 * A store that cannot keep what it is given acknowledges nothing. It checks its files before it
 * writes, writes nothing more to a file that was found damaged, and while it fails it tries again
 * by itself, with a write that really reaches the disk.
 */
#include "store/sqlite_inside.h"

#include <signal.h>
#include <time.h>

#include "base/crash.h"
#include "base/log.h"

enum { NS_OF_SECOND = 1000000000 };

static void run_plain(struct sqlite_side *side, enum sql statement)
{
    struct query q = query(side, statement);

    query_run(&q);
}

static void tell_failure(struct sqlite_side *side, const char *what)
{
    struct sqlite_store *store = side->store;
    const char *lost = sqlite_file_lost(store);
    int kind = side->error & 0xff;

    /* Logged once, not with every try, until it works again or fails in another way. */
    if (side->told != side->error)
        LOG_ERROR("the store failed", LOG_CSTR("store", "sqlite"),
                  LOG_CSTR("file", side->store->path), LOG_CSTR("what", what),
                  LOG_CSTR("why", sqlite3_errstr(side->error)),
                  LOG_CSTR("detail", lost ? lost : sqlite3_errmsg(side->db)));
    side->told = side->error;
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        atomic_store(&store->damaged, side->error);
    atomic_store(side->writes ? &store->failing : &store->unreadable,
                 side->error ? side->error : SQLITE_ERROR);
}

static void tell_recovery(struct sqlite_side *side)
{
    if (!side->told || atomic_load(&side->store->damaged))
        return;
    side->told = SQLITE_OK;
    atomic_store(side->writes ? &side->store->failing : &side->store->unreadable, SQLITE_OK);
    LOG_INFO("the store works again", LOG_CSTR("store", "sqlite"),
             LOG_CSTR("file", side->store->path));
}

static void op_clear(struct sqlite_op *op, nod_status status)
{
    op->status = status;
    op->reply = (struct store_reply){ .now_ms = op->now };
    op->rows = NULL;
    op->wake = STR_NONE;
}

/* The result of an operation that ran. Prepares the side for the next one. */
static bool op_failed(struct sqlite_side *side, struct sqlite_op *op)
{
    bool failed = side->error || side->refused || op->arena.exhausted;

    if (side->error && (side->error & 0xff) == SQLITE_CONSTRAINT)
        op_clear(op, NOD_E_STALE); /* the id exists already, by another operation */
    else if (op->arena.exhausted)
        op_clear(op, NOD_E_LIMIT);
    else if (side->error)
        op_clear(op, NOD_E_STORE);
    else if (side->refused)
        op_clear(op, side->refused);
    if (op->status == NOD_E_STORE)
        tell_failure(side, op->verb->name);
    if (op->status == NOD_E_REFUSED && side->codec.lacked) {
        op->status = NOD_E_STORE;
        op->reply.lacks = true;
    }
    side->error = SQLITE_OK;
    side->refused = NOD_OK;
    side->codec.lacked = false;
    return failed;
}

/* --- the writer --- */

static void fail_all(struct sqlite_side *side, struct list *ops, const char *what)
{
    tell_failure(side, what);
    LIST_EACH (at, ops)
        op_clear(LIST_OF(at, struct sqlite_op, link), NOD_E_STORE);
    side->error = SQLITE_OK;
    side->refused = NOD_OK;
    side->sweep_on = false; /* not again and again on a disk that fails: the next timer tries it */
    side->swept_ms = side->now;
    if (!sqlite3_get_autocommit(side->db))
        run_plain(side, SQL_ROLLBACK);
    side->error = SQLITE_OK;
    if (side->writes)
        sqlite_quota_forget(side);
}

enum batch_end {
    BATCH_WHOLE,
    BATCH_TORN, /* a transition failed after it had written something, which has to be undone */
    BATCH_LOST, /* the transaction is lost */
};

static enum batch_end run_bare(struct sqlite_side *side, struct sqlite_op *op)
{
    int before = sqlite3_total_changes(side->db);

    op->verb->run(side, op);
    if (side->error && sqlite3_get_autocommit(side->db))
        return BATCH_LOST;
    return op_failed(side, op) && sqlite3_total_changes(side->db) != before ? BATCH_TORN
                                                                            : BATCH_WHOLE;
}

static enum batch_end run_guarded(struct sqlite_side *side, struct sqlite_op *op)
{
    run_plain(side, SQL_SAVE);
    if (!side->error)
        op->verb->run(side, op);
    if (side->error && sqlite3_get_autocommit(side->db))
        return BATCH_LOST;
    if (op_failed(side, op)) {
        run_plain(side, SQL_SAVE_UNDO);
        if (side->error)
            return BATCH_LOST;
    }
    run_plain(side, SQL_SAVE_KEEP);
    return side->error ? BATCH_LOST : BATCH_WHOLE;
}

static enum batch_end run_batch(struct sqlite_side *side, struct list *ops, bool guarded)
{
    LIST_EACH (at, ops) {
        struct sqlite_op *op = LIST_OF(at, struct sqlite_op, link);
        side->moved = side->moved_bytes = side->moved_spare = 0;
        enum batch_end end = guarded ? run_guarded(side, op) : run_bare(side, op);
        if (end == BATCH_LOST)
            fail_all(side, ops, op->verb->name);
        if (end != BATCH_WHOLE)
            return end;
        if (op->status == NOD_OK && side->moved)
            sqlite_quota_move(side, side->moved_owner, side->moved);
        if (op->status == NOD_OK && (side->moved_bytes || side->moved_spare))
            sqlite_quota_bytes(side, side->moved_owner, side->moved_bytes, side->moved_spare);
    }
    return BATCH_WHOLE;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_OF_SECOND + t.tv_nsec;
}

/* Would what is written now be found again? False: side->error. */
static bool may_write(struct sqlite_side *side)
{
    struct sqlite_store *store = side->store;
    int failed = atomic_load(&store->failing) & 0xff;

    if (!sqlite_file_is_there(side)) {
        sqlite_file_say_lost(side);
        return false;
    }
    if (atomic_load(&store->damaged)) {
        query_fail(side, atomic_load(&store->damaged));
        return false;
    }
    if (failed == SQLITE_FULL || failed == SQLITE_IOERR)
        sqlite_log_cut(side); /* the log may take all the room */
    return sqlite_log_has_room(side);
}

/* What precedes the operations of a batch, in their transaction. */
static void begin_batch(struct sqlite_side *side)
{
    run_plain(side, SQL_BEGIN);
    if (!side->settled && !side->error)
        sqlite_settle(side);
    /* A store that has failed works again only if there is room for more than the little that is
     * written now. It is swept soon. */
    static const char bytes[LITE_TRY_BYTES];
    struct sqlite_op op = { .kind = STR("look"),
                            .id = STR("look"),
                            .content = str_n(bytes, sizeof(bytes)),
                            .ttl_ms = 1,
                            .now = side->now };

    if (atomic_load(&side->store->failing) && !side->error)
        sqlite_put(side, &op);
}

/* Resets the operations to what they were before they ran. */
static void begin_again(struct sqlite_side *side, struct list *ops)
{
    bool full = side->error == SQLITE_FULL;

    side->error = SQLITE_OK;
    if (!sqlite3_get_autocommit(side->db))
        run_plain(side, SQL_ROLLBACK);
    if (full)
        sqlite_log_cut(side); /* the log may take all the room */
    sqlite_quota_forget(side);
    LIST_EACH (at, ops) {
        struct sqlite_op *op = LIST_OF(at, struct sqlite_op, link);
        op_clear(op, NOD_OK);
        op->rows_end = &op->rows;
    }
    begin_batch(side);
}

static bool all_fine(const struct list *ops)
{
    LIST_EACH (at, ops)
        if (LIST_OF(at, struct sqlite_op, link)->status == NOD_E_STORE)
            return false;
    return true;
}

static void batch_commit(struct sqlite_side *side)
{
    if (side->now >= side->swept_ms + LITE_SWEEP_EVERY_MS || side->sweep_on)
        sqlite_sweep(side);
    sqlite_make_room(side);
    sqlite_quota_save(side);
    sqlite_log_reserve(side);
    CRASH_POINT(sqlite_commit_before);
    if (!side->error && sqlite_file_is_there(side)) {
        int64_t began = now_ns();
        run_plain(side, SQL_COMMIT);
        side->commit_ns = now_ns() - began;
    }
}

static void write_batch(struct sqlite_side *side, struct list *ops)
{
    enum batch_end end;

    LIST_EACH (at, ops) {
        int64_t now = LIST_OF(at, struct sqlite_op, link)->now;
        side->now = now > side->now ? now : side->now;
    }
    if (!may_write(side)) {
        fail_all(side, ops, "write");
        return;
    }
    begin_batch(side);
    if (side->error) {
        fail_all(side, ops, "begin");
        return;
    }
    end = run_batch(side, ops, false);
    if (end == BATCH_TORN) {
        begin_again(side, ops);
        end = run_batch(side, ops, true);
    }
    if (end == BATCH_LOST)
        return;
    batch_commit(side);
    if (side->error == SQLITE_FULL && side->wal_pages) {
        begin_again(side, ops);
        if (!side->error && run_batch(side, ops, true) == BATCH_LOST)
            return;
        if (!side->error)
            batch_commit(side);
    }
    if (side->lost) {
        run_plain(side, SQL_ROLLBACK);
        sqlite_file_say_lost(side);
    }
    if (side->error) {
        fail_all(side, ops, "commit");
        return;
    }
    CRASH_POINT(sqlite_commit_after);
    atomic_fetch_add(&side->store->commits, 1);
    side->settled = true;
    if (!all_fine(ops) || !side->told)
        return;
    tell_recovery(side);
    sqlite_log_cut(side); /* there is room for it in the file now, and perhaps not later */
}

/* --- the reader --- */

/* One snapshot for the batch: it includes everything that was completed before its operations
 * came. */
static void read_batch(struct sqlite_side *side, struct list *ops)
{
    bool fine = true;

    run_plain(side, SQL_BEGIN_READ);
    if (side->error) {
        fail_all(side, ops, "begin");
        return;
    }
    LIST_EACH (at, ops) {
        struct sqlite_op *op = LIST_OF(at, struct sqlite_op, link);
        op->verb->run(side, op);
        op_failed(side, op);
        fine &= op->status != NOD_E_STORE;
    }
    if (fine)
        tell_recovery(side);
    run_plain(side, SQL_COMMIT);
    if (side->error) {
        side->error = SQLITE_OK;
        run_plain(side, SQL_ROLLBACK);
        side->error = SQLITE_OK;
    }
}

/* --- the thread --- */

/*
 * With the lock held. The callers of the last commit are about to send their next operations. If a
 * commit waits for most of them, for a fraction of the time that it takes itself, it serves them
 * all. An operation that comes alone does not wait.
 */
static void gather(struct sqlite_side *side)
{
    size_t most = side->crowd < LITE_BATCH_MOST ? side->crowd : LITE_BATCH_MOST;
    int64_t patience = side->commit_ns / 4;
    int64_t until = now_ns() + (patience < LITE_GATHER_NS ? patience : LITE_GATHER_NS);
    struct timespec at = { .tv_sec = until / NS_OF_SECOND, .tv_nsec = until % NS_OF_SECOND };

    side->wanted = most - most / 4;
    while (!side->stopping && side->queued < side->wanted &&
           pthread_cond_timedwait(&side->wake, &side->lock, &at) == 0)
        continue;
    side->wanted = 0;
}

static size_t take_batch(struct sqlite_side *side, struct list *ops)
{
    size_t count = 0;

    list_init(ops);
    for (; count < LITE_BATCH_MOST && !list_empty(&side->queue); count++) {
        struct list *first = list_first(&side->queue);
        list_remove(first);
        list_append(ops, first);
        side->queued--;
    }
    return count;
}

static void work(struct sqlite_side *side, struct list *ops, bool move_log)
{
    if (side->writes) {
        write_batch(side, ops);
    } else if (!list_empty(ops)) {
        read_batch(side, ops);
    }
    sqlite_mark_met(side);
    if (!list_empty(ops))
        sqlite_deliver(side->store, ops);
    if (!side->writes) {
        if (move_log)
            sqlite_log_move(side);
        return;
    }
    sqlite_log_watch(side);
    if (side->now < side->looked_ms + LITE_SWEEP_EVERY_MS)
        return;
    side->looked_ms = side->now;
    sqlite_log_quiet(side);
}

static void *side_main(void *data)
{
    struct sqlite_side *side = data;
    struct list ops;

    pthread_mutex_lock(&side->lock);
    for (;;) {
        while (!side->stopping && list_empty(&side->queue) && !side->checkpoint && !side->sweep_on)
            pthread_cond_wait(&side->wake, &side->lock);
        if (side->stopping && (!side->writes || list_empty(&side->queue)))
            break;
        if (side->writes)
            gather(side);
        bool move_log = side->checkpoint;
        side->checkpoint = false;
        size_t count = take_batch(side, &ops);
        pthread_mutex_unlock(&side->lock);
        work(side, &ops, move_log);
        pthread_mutex_lock(&side->lock);
        side->crowd = count + side->queued;
    }
    pthread_mutex_unlock(&side->lock);
    return NULL;
}

bool sqlite_side_start(struct sqlite_side *side)
{
    sigset_t all, before;

    /* Signals are for the loop. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    side->started = pthread_create(&side->thread, NULL, side_main, side) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return side->started;
}

void sqlite_side_stop(struct sqlite_side *side)
{
    if (!side->started)
        return;
    pthread_mutex_lock(&side->lock);
    side->stopping = true;
    pthread_cond_signal(&side->wake);
    pthread_mutex_unlock(&side->lock);
    pthread_join(side->thread, NULL);
    side->started = false;
}

bool sqlite_side_submit(struct sqlite_side *side, struct sqlite_op *op)
{
    pthread_mutex_lock(&side->lock);
    bool room = side->queued < LITE_QUEUE_MOST;
    if (room) {
        list_append(&side->queue, &op->link);
        side->queued++;
        if (side->queued >= side->wanted)
            pthread_cond_signal(&side->wake);
    }
    pthread_mutex_unlock(&side->lock);
    return room;
}
