/*
 * store/sqlite: prepared statements.
 *
 * Each side prepares a statement when it first needs it, and keeps it. An error stays with the side
 * (side->error) until the operation is over. So a transition can be written without checks, and the
 * error is looked at once, at its end.
 */
#include "store/sqlite_inside.h"

#define CALL_COLUMNS                                                                               \
    "n, id, state, epoch, notices, keep_until_ms, handed, opened_ms, record, result, node, deaths"
#define ASK_COLUMNS "id, state, asked_ms, expires_ms, ended_ms, record, answer, attempt, via"
#define ROW_COLUMNS                                                                                \
    "n, state, epoch, pending, token, keep_until_ms, handed, scope, node, idle_ms, owner, "        \
    "sensitive, deaths, bytes, spare_ms IS NOT NULL, result IS NOT NULL"
#define ROW_OF_CALL                                                                                \
    "calls.n, calls.state, calls.epoch, calls.pending, calls.token, calls.keep_until_ms,"          \
    " calls.handed, calls.scope, calls.node, calls.idle_ms, calls.owner, calls.sensitive,"         \
    " calls.deaths, calls.bytes, calls.spare_ms IS NOT NULL, calls.result IS NOT NULL"

static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_BEGIN_READ] = "BEGIN",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_PAGES] = "PRAGMA page_count",
    [SQL_SAVE] = "SAVEPOINT transition",
    [SQL_SAVE_KEEP] = "RELEASE transition",
    [SQL_SAVE_UNDO] = "ROLLBACK TO transition",

    [SQL_CALL_FIND] = "SELECT " ROW_COLUMNS " FROM calls WHERE id = ?",
    [SQL_CALL_ADD] =
        "INSERT INTO calls (id, scope, record, opened_ms, owner, epoch, sensitive, state, pending,"
        " token, notices, node, keep_until_ms, handed, idle_ms, bytes)"
        " VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
    [SQL_CALL_PARK] = "UPDATE calls SET sensitive = ?, state = ?, pending = ?, token = ?,"
                      " notices = ?, node = ?, keep_until_ms = ?, handed = ?, idle_ms = ?,"
                      " deaths = ?, bytes = bytes + ? WHERE n = ?",
    [SQL_CALL_MOVE] = "UPDATE calls SET state = 0, epoch = epoch + 1, token = ?, node = ?,"
                      " idle_ms = NULL, deaths = ? WHERE n = ?",
    [SQL_CALL_CLEAR] = "UPDATE calls SET deaths = ? WHERE n = ?",
    [SQL_CALL_CLAIMED] = "UPDATE calls SET state = ?, epoch = ?, pending = ?, node = ?,"
                         " handed = ?, idle_ms = ?, bytes = bytes + ? WHERE n = ?",
    [SQL_CALL_END] = "UPDATE calls SET state = ?, token = ?, result = ?, pending = 0,"
                     " keep_until_ms = ?, handed = ?, idle_ms = NULL, drop_ms = ?,"
                     " bytes = bytes + ?, spare_ms = ? WHERE n = ?",
    [SQL_CALL_LOAD] = "SELECT " CALL_COLUMNS " FROM calls WHERE id = ?",
    [SQL_CALL_LOAD_NUMBER] = "SELECT " CALL_COLUMNS " FROM calls WHERE n = ?",
    /* By page. The order is made from numbers only; the LIMIT keeps it. */
    [SQL_CALLS_RUNNABLE] =
        "SELECT " CALL_COLUMNS " FROM (SELECT n AS m FROM calls WHERE state IN (0, 2)"
        " AND handed = 1 AND n > ? AND (state = 2 OR NOT EXISTS (SELECT 1 FROM nodes"
        " WHERE nodes.node = calls.node AND nodes.expires_ms > ?)) ORDER BY n LIMIT -1)"
        " CROSS JOIN calls ON calls.n = m",
    [SQL_CALLS_ALL] = "SELECT n, id, state, epoch, handed, opened_ms, node, deaths, pending, record"
                      " FROM calls WHERE n > ? ORDER BY n",
    [SQL_CALLS_OVER] =
        "SELECT n, pending, owner, bytes, spare_ms IS NOT NULL FROM calls WHERE drop_ms <= ?"
        " ORDER BY drop_ms LIMIT ?",
    [SQL_CALLS_ABANDONED] = "SELECT n, pending, owner, bytes, 0 FROM calls WHERE idle_ms <= ?"
                            " AND keep_until_ms <= ? ORDER BY idle_ms LIMIT ?",
    [SQL_CALLS_ORPHANED] = "UPDATE calls SET idle_ms = ? WHERE state = 0 AND idle_ms IS NULL"
                           " AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.node = calls.node"
                           " AND nodes.expires_ms > ?)",
    [SQL_CALLS_OWNED] = "UPDATE calls SET idle_ms = NULL WHERE state = 0 AND idle_ms IS NOT NULL"
                        " AND EXISTS (SELECT 1 FROM nodes WHERE nodes.node = calls.node"
                        " AND nodes.expires_ms > ?)",
    [SQL_CALL_DROP] = "DELETE FROM calls WHERE n = ?",
    [SQL_CALL_FETCHED] = "UPDATE calls SET spare_ms = ? WHERE n = ?",
    [SQL_CALL_SHRINK] = "UPDATE calls SET record = ?, result = NULL, bytes = ?, spare_ms = NULL,"
                        " drop_ms = keep_until_ms WHERE n = ?",
    [SQL_CALLS_SPARE] = "SELECT n, id, owner, bytes, keep_until_ms, record FROM calls"
                        " WHERE n > ? AND spare_ms IS NOT NULL ORDER BY n LIMIT 1",
    [SQL_CALLS_SPARE_OF] = "SELECT n, id, owner, bytes, keep_until_ms, record FROM calls"
                           " WHERE owner = ? AND spare_ms IS NOT NULL"
                           " ORDER BY owner, spare_ms, n LIMIT 1",

    [SQL_ASK_ADD] = "INSERT INTO asks (id, call, state, owner, sensitive, asked_ms, expires_ms,"
                    " attempt, record) VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?)",
    [SQL_ASK_FIND] = "SELECT " ASK_COLUMNS " FROM asks WHERE id = ?",
    [SQL_ASK_CLAIM] =
        "SELECT asks.id, asks.state, asks.asked_ms, asks.expires_ms, asks.ended_ms, asks.record,"
        " asks.answer, asks.attempt, asks.via, asks.n, asks.token, asks.took, " ROW_OF_CALL
        " FROM asks JOIN calls ON calls.n = asks.call WHERE asks.id = ?",
    [SQL_ASK_END] = "UPDATE asks SET state = ?, token = ?, took = ?, ended_ms = ?, via = ?,"
                    " answer = ? WHERE n = ?",
    [SQL_ASK_CAME] = "UPDATE asks SET via = max(via, ?) WHERE n = ?",
    [SQL_ASK_AGAIN] = "UPDATE asks SET attempt = ?, token = ? WHERE n = ?",
    [SQL_ASKS_WITHDRAW] = "UPDATE asks SET state = 5, ended_ms = ? WHERE call = ? AND state = 0",
    [SQL_ASKS_SENSITIVE] = "SELECT " ASK_COLUMNS ", n FROM asks WHERE call = ?"
                           " AND sensitive = 1 AND answer IS NOT NULL",
    [SQL_ASK_ERASE] = "UPDATE asks SET answer = ? WHERE n = ?",
    [SQL_ASKS_DUE] = "SELECT " ASK_COLUMNS " FROM asks WHERE state = 0 AND expires_ms <= ?"
                     " ORDER BY expires_ms",
    [SQL_ASKS_OF_CALL] = "SELECT " ASK_COLUMNS " FROM asks WHERE call ="
                         " (SELECT n FROM calls WHERE id = ?) ORDER BY n DESC LIMIT ?",
    /* The bounds are a time and a row's number. */
    [SQL_ASKS_PENDING] = "SELECT asked_ms, n, " ASK_COLUMNS " FROM asks WHERE state = 0"
                         " AND (asked_ms, n) > (?, ?) AND expires_ms > ? ORDER BY asked_ms, n",
    [SQL_ASKS_PENDING_OF] =
        "SELECT asked_ms, n, " ASK_COLUMNS " FROM asks WHERE state = 0 AND owner = ?"
        " AND (asked_ms, n) > (?, ?) AND expires_ms > ? ORDER BY asked_ms, n",
    [SQL_ASKS_ENDED] = "SELECT ended_ms, n, " ASK_COLUMNS " FROM asks WHERE state <> 0"
                       " AND (ended_ms, n) < (?, ?) ORDER BY ended_ms DESC, n DESC",
    [SQL_ASKS_ENDED_OF] = "SELECT ended_ms, n, " ASK_COLUMNS " FROM asks WHERE state <> 0"
                          " AND owner = ? AND (ended_ms, n) < (?, ?)"
                          " ORDER BY ended_ms DESC, n DESC",
    [SQL_ASKS_WAITING] = "SELECT id FROM asks WHERE call = ? AND state = 0",
    [SQL_ASKS_DROP] = "DELETE FROM asks WHERE call = ?",
    [SQL_ASKS_COUNTED] = "SELECT count(*) FROM asks WHERE call = ? AND state = 0"
                         " AND expires_ms > ?",
    [SQL_ASKS_LAPSED] = "SELECT asks.expires_ms, calls.owner FROM asks JOIN calls"
                        " ON calls.n = asks.call WHERE asks.state = 0 AND asks.expires_ms > ?"
                        " AND asks.expires_ms <= ? ORDER BY asks.expires_ms",

    [SQL_JOURNAL_ADD] = "INSERT INTO journal (call, entries) VALUES (?, ?)",
    [SQL_JOURNAL_LOAD] = "SELECT entries FROM journal WHERE call = ? ORDER BY n",
    [SQL_JOURNAL_PARTS] = "SELECT n, entries FROM journal WHERE call = ? ORDER BY n",
    [SQL_JOURNAL_REPLACE] = "UPDATE journal SET entries = ? WHERE n = ?",
    [SQL_JOURNAL_DROP] = "DELETE FROM journal WHERE call = ?",

    [SQL_SMALL_FIND] = "SELECT version, value FROM small WHERE kind = ? AND key = ?"
                       " AND (expires_ms IS NULL OR expires_ms > ?)",
    [SQL_SMALL_LIST] = "SELECT key, version, value FROM small WHERE kind = ? AND key >= ?"
                       " AND (expires_ms IS NULL OR expires_ms > ?) ORDER BY key",
    [SQL_SMALL_SEEN] = "SELECT version, expires_ms IS NULL OR expires_ms > ?, owner, bytes"
                       " FROM small WHERE kind = ? AND key = ?",
    [SQL_SMALL_PUT] = "INSERT INTO small (kind, key, version, expires_ms, value, owner, bytes)"
                      " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET"
                      " version = excluded.version, expires_ms = excluded.expires_ms,"
                      " value = excluded.value, owner = excluded.owner, bytes = excluded.bytes",
    [SQL_SMALL_DEL] = "DELETE FROM small WHERE kind = ? AND key = ?",
    [SQL_SMALL_OVER] = "SELECT n, owner, bytes FROM small WHERE expires_ms <= ? LIMIT ?",
    [SQL_SMALL_DROP] = "DELETE FROM small WHERE n = ?",

    [SQL_NODE_BEAT] = "INSERT INTO nodes (node, expires_ms) VALUES (?, ?) ON CONFLICT (node)"
                      " DO UPDATE SET expires_ms = excluded.expires_ms",
    [SQL_NODE_ALIVE] = "SELECT 1 FROM nodes WHERE node = ? AND expires_ms > ?",
    [SQL_NODES_SWEEP] = "DELETE FROM nodes WHERE expires_ms <= ?",

    [SQL_QUOTA_FIND] = "SELECT pending, bytes, spare FROM quota WHERE owner = ?",
    [SQL_QUOTA_SET] = "INSERT INTO quota (owner, pending, bytes, spare) VALUES (?, ?, ?, ?)"
                      " ON CONFLICT (owner) DO UPDATE SET pending = excluded.pending,"
                      " bytes = excluded.bytes, spare = excluded.spare",
    [SQL_QUOTA_DROP] = "DELETE FROM quota WHERE owner = ?",
    [SQL_MARK_FIND] = "SELECT value FROM marks WHERE name = ?",
    [SQL_MARK_SET] = "INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT (name)"
                     " DO UPDATE SET value = excluded.value",
};

void query_fail(struct sqlite_side *side, int error)
{
    if (!side->error)
        side->error = error;
}

struct query query(struct sqlite_side *side, enum sql name)
{
    struct query q = { .side = side };
    sqlite3_stmt **kept = &side->statements[name];

    if (side->error && name > SQL_SAVE_UNDO)
        return q;
    if (!*kept) {
        int error =
            sqlite3_prepare_v3(side->db, texts[name], -1, SQLITE_PREPARE_PERSISTENT, kept, NULL);
        if (error != SQLITE_OK) {
            query_fail(side, error);
            return q;
        }
    }
    q.stmt = *kept;
    return q;
}

static void query_check(struct query *q, int error)
{
    if (error == SQLITE_OK)
        return;
    query_fail(q->side, error);
    query_end(q);
}

/* An empty text must not be bound as NULL, wherever it points. */
static const char *somewhere(struct str s)
{
    return s.len ? s.at : "";
}

void query_text(struct query *q, struct str s)
{
    if (q->stmt)
        query_check(q, sqlite3_bind_text64(q->stmt, ++q->bound, somewhere(s), s.len, SQLITE_STATIC,
                                           SQLITE_UTF8));
}

void query_blob(struct query *q, struct str s)
{
    if (q->stmt)
        query_check(q,
                    sqlite3_bind_blob64(q->stmt, ++q->bound, somewhere(s), s.len, SQLITE_STATIC));
}

void query_int(struct query *q, int64_t n)
{
    if (q->stmt)
        query_check(q, sqlite3_bind_int64(q->stmt, ++q->bound, n));
}

void query_int_or_null(struct query *q, bool is, int64_t n)
{
    if (is)
        query_int(q, n);
    else if (q->stmt)
        query_check(q, sqlite3_bind_null(q->stmt, ++q->bound));
}

void query_end(struct query *q)
{
    if (!q->stmt)
        return;
    sqlite3_reset(q->stmt);
    sqlite3_clear_bindings(q->stmt);
    q->stmt = NULL;
}

bool query_row(struct query *q)
{
    if (!q->stmt)
        return false;
    int result = sqlite3_step(q->stmt);
    q->column = 0;
    if (result == SQLITE_ROW)
        return true;
    if (result != SQLITE_DONE)
        query_fail(q->side, result);
    query_end(q);
    return false;
}

bool query_run(struct query *q)
{
    bool begun = q->stmt != NULL;

    while (query_row(q))
        continue;
    return begun && !q->side->error;
}

bool query_run_int(struct sqlite_side *side, enum sql name, int64_t n)
{
    struct query q = query(side, name);

    query_int(&q, n);
    return query_run(&q);
}

int64_t query_mark(struct sqlite_side *side, struct str name)
{
    struct query q = query(side, SQL_MARK_FIND);

    query_text(&q, name);
    int64_t value = query_row(&q) ? query_get_int(&q) : 0;
    query_end(&q);
    return value;
}

void query_mark_set(struct sqlite_side *side, struct str name, int64_t value)
{
    struct query q = query(side, SQL_MARK_SET);

    query_text(&q, name);
    query_int(&q, value);
    query_run(&q);
}

int64_t query_get_int(struct query *q)
{
    return sqlite3_column_int64(q->stmt, q->column++);
}

struct str query_column(sqlite3_stmt *stmt, int column)
{
    const void *at = sqlite3_column_blob(stmt, column);
    int len = sqlite3_column_bytes(stmt, column);

    return at && len > 0 ? str_n(at, (size_t)len) : STR_NONE;
}

struct str query_get_bytes(struct query *q, struct arena *arena)
{
    struct str s = query_column(q->stmt, q->column++);

    if (s.len) {
        s = arena_str(arena, s);
        if (!s.at)
            query_fail(q->side, SQLITE_NOMEM);
    }
    return s;
}
