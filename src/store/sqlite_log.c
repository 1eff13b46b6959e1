/*
 * store/sqlite: keeps the log (WAL) short.
 *
 * Every commit lengthens the log. From LITE_LOG_PAGES on, the reader moves it into the file,
 * between two of its batches, so that no commit waits for that. What was added in the meantime is
 * little: the writer moves it after its next commit, and lets the log begin anew. SQLite alone
 * would not get there: while commits never pause, whoever moves the log always finds it longer at
 * the end. The writer waits for this only when the log has reached LITE_LOG_MOST_PAGES. A log that
 * is so long and cannot be moved is a failure of the store, because it would fill the disk.
 *
 * The log's file is kept, up to LITE_LOG_BYTES, because writing is faster if its space is already
 * allocated. If little happens, or writing has failed, it is cut to nothing: a disk that the log
 * has filled has room again. That needs no room: before a commit the file is given the blocks that
 * its pages will take.
 */
#include "store/sqlite_inside.h"

#include "base/log.h"

/* Moves it. SQLITE_BUSY: somebody reads a part of it. */
static int move(struct sqlite_side *side, int mode, int patience_ms)
{
    sqlite3_busy_timeout(side->db, patience_ms);
    int error = sqlite3_wal_checkpoint_v2(side->db, NULL, mode, NULL, NULL);
    sqlite3_busy_timeout(side->db, LITE_BUSY_MS);
    return error;
}

/* Logs each kind of failure once. */
static void log_tell(struct sqlite_side *side, int error)
{
    if ((error & 0xff) == SQLITE_BUSY || (error & 0xff) == SQLITE_LOCKED)
        return; /* somebody reads: it is tried again */
    if (error != SQLITE_OK && side->log_told != error)
        LOG_ERROR("the store's log cannot be moved into its file", LOG_CSTR("store", "sqlite"),
                  LOG_CSTR("file", side->store->path), LOG_CSTR("why", sqlite3_errmsg(side->db)));
    side->log_told = error;
}

void sqlite_log_move(struct sqlite_side *reader)
{
    log_tell(reader, move(reader, SQLITE_CHECKPOINT_PASSIVE, LITE_BUSY_MS));
    atomic_store(&reader->store->log_moved, true);
}

static bool begin_anew(struct sqlite_side *side, int mode, int patience_ms)
{
    int error = move(side, mode, patience_ms);

    log_tell(side, error);
    if (error != SQLITE_OK)
        return false;
    side->wal_pages = 0;
    side->log_asked = false;
    if (mode == SQLITE_CHECKPOINT_TRUNCATE)
        side->log_used = 0;
    return true;
}

void sqlite_log_reserve(struct sqlite_side *side)
{
    struct query q = query(side, SQL_PAGES);
    sqlite3_int64 bytes = query_row(&q) ? query_get_int(&q) * LITE_PAGE_BYTES : 0;

    query_end(&q);
    if (side->error)
        return;
    if (atomic_load(&side->store->failing))
        bytes += LITE_TRY_BYTES; /* see begin_batch */
    int error = sqlite3_file_control(side->db, NULL, SQLITE_FCNTL_SIZE_HINT, &bytes);
    if (error != SQLITE_OK && error != SQLITE_NOTFOUND)
        query_fail(side, SQLITE_FULL);
}

void sqlite_log_grew(struct sqlite_side *side, int pages)
{
    side->log_used += pages > side->wal_pages ? pages - side->wal_pages : pages;
    side->wal_pages = pages;
}

void sqlite_log_watch(struct sqlite_side *side)
{
    if (side->wal_pages < LITE_LOG_PAGES)
        return;
    if (side->wal_pages >= LITE_LOG_MOST_PAGES && side->wal_pages >= side->log_waited) {
        /* A reader that takes so long is not waited for again with every commit. */
        side->log_waited = begin_anew(side, SQLITE_CHECKPOINT_RESTART, LITE_BUSY_MS)
                               ? 0
                               : side->wal_pages + LITE_LOG_PAGES;
    } else if (!side->log_asked) {
        struct sqlite_side *reader = &side->store->reader;

        atomic_store(&side->store->log_moved, false);
        pthread_mutex_lock(&reader->lock);
        reader->checkpoint = true;
        pthread_cond_signal(&reader->wake);
        pthread_mutex_unlock(&reader->lock);
    } else if (atomic_load(&side->store->log_moved) &&
               begin_anew(side, SQLITE_CHECKPOINT_RESTART, 0)) {
        return;
    }
    side->log_asked = side->wal_pages >= LITE_LOG_PAGES;
}

void sqlite_log_quiet(struct sqlite_side *side)
{
    int64_t grew = side->log_used - side->log_looked;

    if (side->log_used >= LITE_LOG_QUIET_PAGES && grew >= 0 && grew < LITE_LOG_QUIET_PAGES)
        begin_anew(side, SQLITE_CHECKPOINT_TRUNCATE, 0);
    side->log_looked = side->log_used;
}

bool sqlite_log_has_room(struct sqlite_side *side)
{
    if (side->wal_pages < LITE_LOG_MOST_PAGES || !side->log_told ||
        begin_anew(side, SQLITE_CHECKPOINT_TRUNCATE, 0))
        return true;
    if (side->log_told)
        query_fail(side, side->log_told);
    return !side->log_told;
}

void sqlite_log_cut(struct sqlite_side *side)
{
    begin_anew(side, SQLITE_CHECKPOINT_TRUNCATE, 0);
}
