/*
 * store/sqlite: seals every record with the newest secret.
 *
 * Walks the columns that hold records, one after the other, by row number, a slice in each
 * transaction. A record that is sealed with the newest secret is left alone, so a run that was
 * stopped is simply begun again. The file is locked in the meantime, as by a server.
 *
 * When all is done the mark of the file is renewed (store/mark.h), unless a record was met whose
 * secret is missing: from then on the newest secret alone will do.
 *
 * Holds always: a record is replaced only by itself, bound to what it was bound to. A record that
 * does not open stays as it is, and is still refused by the server.
 */
#include "store/sqlite_inside.h"

#include <stdio.h>

struct column {
    enum codec_kind kind;
    const char *rows;   /* number, id and record of so many rows after a number */
    const char *change; /* record, number */
};

static const struct column columns[] = {
    { CODEC_CALL, "SELECT n, id, record FROM calls WHERE n > ? ORDER BY n LIMIT ?",
      "UPDATE calls SET record = ? WHERE n = ?" },
    { CODEC_RESULT,
      "SELECT n, id, result FROM calls WHERE n > ? AND result IS NOT NULL ORDER BY n LIMIT ?",
      "UPDATE calls SET result = ? WHERE n = ?" },
    { CODEC_ASK, "SELECT n, id, record FROM asks WHERE n > ? ORDER BY n LIMIT ?",
      "UPDATE asks SET record = ? WHERE n = ?" },
    { CODEC_ANSWER,
      "SELECT n, id, answer FROM asks WHERE n > ? AND answer IS NOT NULL ORDER BY n LIMIT ?",
      "UPDATE asks SET answer = ? WHERE n = ?" },
    { CODEC_ENTRIES,
      "SELECT journal.n, calls.id, entries FROM journal JOIN calls ON calls.n = journal.call"
      " WHERE journal.n > ? ORDER BY journal.n LIMIT ?",
      "UPDATE journal SET entries = ? WHERE n = ?" },
    { CODEC_VALUE, "SELECT n, key, value FROM small WHERE n > ? ORDER BY n LIMIT ?",
      "UPDATE small SET value = ? WHERE n = ?" },
};

struct resealing {
    struct sqlite_side *side;
    struct reseal_counts *counts;
    bool plain;
    sqlite3_stmt *rows;
    sqlite3_stmt *change;
    struct arena arena;
};

static void reseal_check(struct resealing *work, int error)
{
    if (error != SQLITE_OK && error != SQLITE_DONE && error != SQLITE_ROW)
        query_fail(work->side, error);
}

static void reseal_row(struct resealing *work, enum codec_kind kind, int64_t n)
{
    struct sqlite_side *side = work->side;
    struct str id = query_column(work->rows, 1), record = query_column(work->rows, 2);

    arena_reset(&work->arena);
    buf_clear(&side->buf);
    work->counts->records++;
    if (codec_reseal(&side->codec, kind, id, record, work->plain, &work->arena, &side->buf) !=
        NOD_OK) {
        work->counts->refused++;
        return;
    }
    if (side->buf.len == 0)
        return;
    reseal_check(work,
                 sqlite3_bind_blob64(work->change, 1, side->buf.at, side->buf.len, SQLITE_STATIC));
    reseal_check(work, sqlite3_bind_int64(work->change, 2, n));
    reseal_check(work, sqlite3_step(work->change));
    reseal_check(work, sqlite3_reset(work->change));
    work->counts->resealed++;
}

static void reseal_run(struct resealing *work, const char *sql)
{
    reseal_check(work, sqlite3_exec(work->side->db, sql, NULL, NULL, NULL));
}

/* False: this was the last slice, or it failed. */
static bool reseal_slice(struct resealing *work, enum codec_kind kind, int64_t *after)
{
    int count = 0;

    reseal_run(work, "BEGIN IMMEDIATE");
    reseal_check(work, sqlite3_bind_int64(work->rows, 1, *after));
    reseal_check(work, sqlite3_bind_int(work->rows, 2, LITE_RESEAL_MOST));
    while (!work->side->error) {
        int step = sqlite3_step(work->rows);
        reseal_check(work, step);
        if (step != SQLITE_ROW)
            break;
        *after = sqlite3_column_int64(work->rows, 0);
        reseal_row(work, kind, *after);
        count++;
    }
    sqlite3_reset(work->rows);
    if (!work->side->error)
        reseal_run(work, "COMMIT");
    if (work->side->wal_pages >= LITE_LOG_PAGES) /* nobody else moves the log into the file */
        reseal_check(work, sqlite3_wal_checkpoint_v2(work->side->db, NULL,
                                                     SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
    return count == LITE_RESEAL_MOST && !work->side->error;
}

bool sqlite_store_reseal(const struct sqlite_opts *opts, bool plain, struct reseal_counts *counts,
                         char why[LITE_WHY_MAX])
{
    *counts = (struct reseal_counts){ 0 };
    if (!opts->ring) {
        snprintf(why, LITE_WHY_MAX, "no secret is set: there is nothing to seal with");
        return false;
    }
    struct sqlite_opts with = *opts;
    with.mark = MARK_RESEALS;
    struct sqlite_store *store = sqlite_store_offline(&with, why);
    if (!store)
        return false;
    struct resealing work = { .side = &store->writer, .counts = counts, .plain = plain };
    arena_init(&work.arena, LITE_OP_BYTES);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && !work.side->error; i++) {
        sqlite3 *db = work.side->db;
        int64_t after = INT64_MIN;
        reseal_check(&work, sqlite3_prepare_v2(db, columns[i].rows, -1, &work.rows, NULL));
        reseal_check(&work, sqlite3_prepare_v2(db, columns[i].change, -1, &work.change, NULL));
        while (!work.side->error && reseal_slice(&work, columns[i].kind, &after))
            continue;
        sqlite3_finalize(work.rows);
        sqlite3_finalize(work.change);
        work.rows = work.change = NULL;
    }
    if (!work.side->error && !work.side->codec.foreign.key[0])
        sqlite_mark_renew(work.side);
    bool done = !work.side->error;
    if (!done)
        snprintf(why, LITE_WHY_MAX, "%s cannot be written: %s", opts->path,
                 sqlite3_errmsg(work.side->db));
    arena_finish(&work.arena);
    store->store.ops->destroy(&store->store); /* the last connection moves the log into the file */
    return done;
}
