/*
 * store/sqlite: what is in the file.
 *
 * The tables have a version (user_version). An older file is brought up to date, one step in each
 * transaction, each noted in `migrations`. A newer file is refused.
 *
 * Content is in columns that hold records of store/record_codec (record, result, answer, entries,
 * value). The other columns have to be found or compared: ids, states, epochs, times, the node that
 * owns a call.
 */
#include "store/sqlite_inside.h"

#include <stdio.h>

#include "base/log.h"

enum { APPLICATION_ID = 0x6e6f6421 }; /* tells it from other SQLite files, for `file` and others */

struct migration {
    const char *what;
    const char *sql;
};

/* Step n makes version n + 1. A step that was released is never changed. */
static const struct migration steps[LITE_SCHEMA] = {
    { "calls, asks, journals, events, small records, nodes",
      "CREATE TABLE calls (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL,"
      " epoch INTEGER NOT NULL, pending INTEGER NOT NULL, token TEXT NOT NULL, node TEXT NOT NULL,"
      " notices INTEGER NOT NULL, keep_ms INTEGER NOT NULL, opened_ms INTEGER NOT NULL,"
      " drop_ms INTEGER, scope BLOB NOT NULL, record BLOB NOT NULL, result BLOB) STRICT;"
      "CREATE INDEX calls_active ON calls (state) WHERE state IN (0, 2);"
      "CREATE INDEX calls_over ON calls (drop_ms) WHERE drop_ms IS NOT NULL;"
      "CREATE TABLE asks (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, call INTEGER NOT NULL,"
      " state INTEGER NOT NULL, sensitive INTEGER NOT NULL, asked_ms INTEGER NOT NULL,"
      " expires_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL DEFAULT 0,"
      " token TEXT NOT NULL DEFAULT '', took INTEGER NOT NULL DEFAULT 0, entry INTEGER,"
      " record BLOB NOT NULL, answer BLOB) STRICT;"
      "CREATE INDEX asks_of_call ON asks (call);"
      "CREATE INDEX asks_due ON asks (expires_ms) WHERE state = 0;"
      "CREATE TABLE journal (n INTEGER PRIMARY KEY, call INTEGER NOT NULL, entries BLOB NOT NULL)"
      " STRICT;"
      "CREATE INDEX journal_of_call ON journal (call);"
      "CREATE TABLE events (n INTEGER PRIMARY KEY, stream BLOB NOT NULL, seq INTEGER NOT NULL,"
      " expires_ms INTEGER NOT NULL, event BLOB NOT NULL, UNIQUE (stream, seq)) STRICT;"
      "CREATE INDEX events_over ON events (expires_ms);"
      "CREATE TABLE small (n INTEGER PRIMARY KEY, kind BLOB NOT NULL, key BLOB NOT NULL,"
      " version INTEGER NOT NULL, expires_ms INTEGER, value BLOB NOT NULL, UNIQUE (kind, key))"
      " STRICT;"
      "CREATE INDEX small_over ON small (expires_ms) WHERE expires_ms IS NOT NULL;"
      "CREATE INDEX small_newest ON small (version);"
      "CREATE TABLE nodes (node TEXT PRIMARY KEY, expires_ms INTEGER NOT NULL) STRICT;" },
    { "how many questions wait, in all and for each principal",
      "ALTER TABLE calls ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;"
      "ALTER TABLE calls ADD COLUMN sensitive INTEGER NOT NULL DEFAULT 1;"
      "ALTER TABLE calls ADD COLUMN called INTEGER NOT NULL DEFAULT 0;"
      "DROP INDEX calls_active;"
      "CREATE INDEX calls_active ON calls (state) WHERE state IN (0, 2) AND called = 1;"
      "CREATE TABLE quota (owner INTEGER PRIMARY KEY, pending INTEGER NOT NULL) STRICT;"
      "CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
      "INSERT INTO quota SELECT 0, count(*) FROM asks WHERE state = 0;" },
    /* In older versions a call was removed some time after its last question, ended or not, and
     * that time was set once. What could bring an older call back is guessed from its asks. */
    { "how long something lives that could bring a call back, and who holds it",
      "ALTER TABLE calls RENAME COLUMN called TO handed;"
      "ALTER TABLE calls ADD COLUMN keep_until_ms INTEGER NOT NULL DEFAULT 0;"
      "ALTER TABLE calls ADD COLUMN idle_ms INTEGER;"
      "UPDATE calls SET keep_until_ms = max(coalesce(drop_ms, 0), keep_ms + coalesce((SELECT"
      " max(expires_ms) FROM asks WHERE asks.call = calls.n), opened_ms));"
      "UPDATE calls SET drop_ms = CASE WHEN state IN (3, 4) THEN keep_until_ms END,"
      " idle_ms = CASE WHEN state = 2 THEN 0 END;"
      "ALTER TABLE calls DROP COLUMN keep_ms;"
      "CREATE INDEX calls_idle ON calls (idle_ms) WHERE idle_ms IS NOT NULL;"
      "CREATE INDEX calls_running ON calls (n) WHERE state = 0;"
      "ALTER TABLE asks ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;"
      "ALTER TABLE asks ADD COLUMN via TEXT NOT NULL DEFAULT '';"
      "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
      "INSERT INTO about VALUES ('id', substr(lower(hex(randomblob(16))), 1, 22));" },
    { "no events of streams any more", "DROP TABLE events;" },
    /* The number of the row is the last part of every index, which makes the order complete. */
    { "which questions wait, and which have ended, of all and of each principal",
      "ALTER TABLE asks ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;"
      "UPDATE asks SET owner = coalesce((SELECT owner FROM calls WHERE calls.n = asks.call), 0);"
      "CREATE INDEX asks_pending ON asks (asked_ms) WHERE state = 0;"
      "CREATE INDEX asks_pending_of ON asks (owner, asked_ms) WHERE state = 0;"
      "CREATE INDEX asks_ended ON asks (ended_ms) WHERE state <> 0;"
      "CREATE INDEX asks_ended_of ON asks (owner, ended_ms) WHERE state <> 0;" },
    { "how often processes died that ran a call",
      "ALTER TABLE calls ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;" },
    /* What is there already is counted. Whether its result was handed out is not known of a call
     * that has ended; if its client holds nothing to come back with, nobody comes for it. 512 and
     * 64: see store/kept.h. */
    { "how many bytes are kept, in all and for each principal",
      "ALTER TABLE calls ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
      "ALTER TABLE calls ADD COLUMN spare_ms INTEGER;"
      "UPDATE calls SET bytes = 512 + length(record) + coalesce(length(result), 0)"
      " + coalesce((SELECT sum(512 + length(asks.record) + coalesce(length(asks.answer), 0))"
      " FROM asks WHERE asks.call = calls.n), 0)"
      " + coalesce((SELECT sum(64 + length(entries)) FROM journal WHERE journal.call = calls.n),"
      " 0);"
      "UPDATE calls SET spare_ms = opened_ms WHERE state IN (3, 4) AND handed = 0;"
      "CREATE INDEX calls_spare ON calls (owner, spare_ms) WHERE spare_ms IS NOT NULL;"
      "ALTER TABLE quota ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
      "ALTER TABLE quota ADD COLUMN spare INTEGER NOT NULL DEFAULT 0;"
      "INSERT INTO quota (owner, pending, bytes, spare) SELECT owner, 0, sum(bytes),"
      " coalesce(sum(bytes - 512) FILTER (WHERE spare_ms IS NOT NULL), 0) FROM calls"
      " WHERE owner <> 0 GROUP BY owner"
      " ON CONFLICT (owner) DO UPDATE SET bytes = excluded.bytes, spare = excluded.spare;"
      "INSERT INTO quota (owner, pending, bytes, spare) SELECT 0, 0, coalesce(sum(bytes), 0),"
      " coalesce(sum(bytes - 512) FILTER (WHERE spare_ms IS NOT NULL), 0) FROM calls WHERE true"
      " ON CONFLICT (owner) DO UPDATE SET bytes = excluded.bytes, spare = excluded.spare;" },
    /* Whose an older record is, is not known: it counts when it is written anew. */
    { "whose a small record is, and how many bytes it counts",
      "ALTER TABLE small ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;"
      "ALTER TABLE small ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;" },
};

/* --- connections --- */

static bool schema_run(struct sqlite_side *side, const char *sql, char *why)
{
    if (sqlite3_exec(side->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    snprintf(why, LITE_WHY_MAX, "%s cannot be used: %s", side->store->path,
             sqlite3_errmsg(side->db));
    return false;
}

/* The single number that a statement returns; -1: it failed. */
static int64_t ask_number(struct sqlite_side *side, const char *sql, char *why)
{
    sqlite3_stmt *stmt = NULL;
    int64_t n = -1;

    if (sqlite3_prepare_v2(side->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        n = sqlite3_column_int64(stmt, 0);
    else
        snprintf(why, LITE_WHY_MAX, "%s cannot be read: %s", side->store->path,
                 sqlite3_errmsg(side->db));
    sqlite3_finalize(stmt);
    return n;
}

bool sqlite_ask_text(struct sqlite_side *side, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    bool asked = sqlite3_prepare_v2(side->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
                 sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0);

    snprintf(out, size, "%s", asked ? (const char *)sqlite3_column_text(stmt, 0) : "");
    sqlite3_finalize(stmt);
    return asked;
}

static bool has_log(struct sqlite_side *side, char *why)
{
    char mode[16];

    if (sqlite_ask_text(side, "PRAGMA journal_mode", mode, sizeof(mode)) &&
        strcmp(mode, "wal") == 0)
        return true;
    snprintf(why, LITE_WHY_MAX, "%s cannot have a write-ahead log; is it on a network file system?",
             side->store->path);
    return false;
}

static int wal_grew(void *data, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    sqlite_log_grew(data, pages);
    return SQLITE_OK;
}

bool sqlite_connect(struct sqlite_side *side, char *why)
{
    struct sqlite_store *store = side->store;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    if (sqlite3_open_v2(store->path, &side->db, flags, store->vfs) != SQLITE_OK) {
        snprintf(why, LITE_WHY_MAX, "%s cannot be opened: %s", store->path,
                 side->db ? sqlite3_errmsg(side->db) : "no memory");
        return false;
    }
    sqlite3_extended_result_codes(side->db, 1);
    sqlite3_busy_timeout(side->db, LITE_BUSY_MS);
    /* Erased content must not be found in the file: freed space is overwritten. */
    char limit[64];

    snprintf(limit, sizeof(limit), "PRAGMA journal_size_limit = %d", LITE_LOG_BYTES);
    if (!schema_run(side,
                    "PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON;"
                    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;"
                    "PRAGMA wal_autocheckpoint = 0; PRAGMA trusted_schema = OFF;",
                    why) ||
        !schema_run(side,
                    store->synchronous == LITE_SYNC_NORMAL ? "PRAGMA synchronous = NORMAL"
                                                           : "PRAGMA synchronous = FULL",
                    why) ||
        !schema_run(side, limit, why) || !has_log(side, why))
        return false;
    /* Its files stay when it is closed: a full disk would have no room for new ones. */
    sqlite3_file_control(side->db, NULL, SQLITE_FCNTL_PERSIST_WAL, &(int){ 1 });
    sqlite3_file_control(side->db, NULL, SQLITE_FCNTL_CHUNK_SIZE, &(int){ LITE_STEP_BYTES });
    sqlite3_wal_hook(side->db, wal_grew, side);
    return true;
}

static bool step_up(struct sqlite_side *side, int version, char *why)
{
    char note[256];

    snprintf(note, sizeof(note),
             "INSERT INTO migrations VALUES (%d, %lld, '%s'); PRAGMA user_version = %d;"
             "PRAGMA application_id = %d; COMMIT",
             version + 1, (long long)clock_wall(side->store->clock), steps[version].what,
             version + 1, APPLICATION_ID);
    if (schema_run(
            side,
            "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS migrations"
            " (version INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, what TEXT NOT NULL) STRICT;",
            why) &&
        schema_run(side, steps[version].sql, why) && schema_run(side, note, why))
        return true;
    sqlite3_exec(side->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* Nodes of an earlier process are gone: only this one owns the file. Calls that ran on them can be
 * run again. */
static bool forget_nodes(struct sqlite_side *side, char *why)
{
    return schema_run(side, "DELETE FROM nodes", why);
}

/* Which store this is: made once, and kept in the file. */
static bool read_identity(struct sqlite_side *side, char *why)
{
    struct sqlite_store *store = side->store;
    char id[ID_LEN + 2];

    sqlite_ask_text(side, "SELECT value FROM about WHERE name = 'id'", id, sizeof(id));
    if (strlen(id) != ID_LEN) {
        snprintf(why, LITE_WHY_MAX, "%s does not say which store it is", store->path);
        return false;
    }
    store->id = id_of(str_of(id));
    store->store.id = id_str(&store->id);
    return true;
}

bool sqlite_settle(struct sqlite_side *side)
{
    char why[LITE_WHY_MAX];

    if (!forget_nodes(side, why))
        query_fail(side, sqlite3_extended_errcode(side->db));
    return !side->error;
}

/* SQLITE_OK: it is done. */
static int settle_now(struct sqlite_side *side, char *why)
{
    side->settled = schema_run(side, "BEGIN IMMEDIATE", why) && forget_nodes(side, why) &&
                    schema_run(side, "COMMIT", why);
    if (side->settled)
        return SQLITE_OK;
    int error = sqlite3_extended_errcode(side->db);
    if (!sqlite3_get_autocommit(side->db))
        sqlite3_exec(side->db, "ROLLBACK", NULL, NULL, NULL);
    return error;
}

/* If the disk has no room for it, that is logged, and the store starts nevertheless: what is stored
 * can be read, and the first commit that works does it. */
static bool settle_if_possible(struct sqlite_side *side, char *why)
{
    int error = settle_now(side, why);

    /* A process that was killed may have left a log that takes all the room. */
    if (error == SQLITE_FULL || side->wal_pages >= LITE_LOG_PAGES)
        sqlite_log_cut(side);
    if (error == SQLITE_FULL)
        error = settle_now(side, why);
    if (error == SQLITE_OK)
        return true;
    if ((error & 0xff) != SQLITE_FULL && error != SQLITE_IOERR_WRITE)
        return false;
    LOG_ERROR("the store starts, but cannot be written to", LOG_CSTR("store", "sqlite"),
              LOG_CSTR("file", side->store->path), LOG_CSTR("why", sqlite3_errstr(error)),
              LOG_CSTR("instead", "make room on its disk: it goes on by itself"));
    side->told = error;
    atomic_store(&side->store->failing, error);
    return true;
}

bool sqlite_migrate(struct sqlite_side *side, char *why)
{
    int64_t version = ask_number(side, "PRAGMA user_version", why);
    int64_t others = ask_number(side, "SELECT count(*) FROM sqlite_schema", why);
    int64_t application = ask_number(side, "PRAGMA application_id", why);

    if (version < 0 || others < 0 || application < 0)
        return false;
    if (others > 0 && application != APPLICATION_ID) {
        snprintf(why, LITE_WHY_MAX, "%s is a database of something else; name another file",
                 side->store->path);
        return false;
    }
    if (version > LITE_SCHEMA) {
        snprintf(why, LITE_WHY_MAX,
                 "%s was written by a newer nod (version %lld of its tables, and this one knows "
                 "%d); run that one, or name another file",
                 side->store->path, (long long)version, LITE_SCHEMA);
        return false;
    }
    for (int at = (int)version; at < LITE_SCHEMA; at++)
        if (!step_up(side, at, why))
            return false;
    side->newest = (uint64_t)ask_number(side, "SELECT coalesce(max(version), 0) FROM small", why);
    atomic_store(
        &side->store->kept,
        ask_number(side, "SELECT coalesce(max(bytes), 0) FROM quota WHERE owner = 0", why));
    return side->newest != UINT64_MAX && settle_if_possible(side, why) && read_identity(side, why);
}

void sqlite_disconnect(struct sqlite_side *side)
{
    sqlite_quota_forget(side);
    map_finish(&side->tallies);
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(side->statements[i]);
    sqlite3_close(side->db);
    keyring_destroy(side->codec.ring);
    buf_finish(&side->buf);
}
