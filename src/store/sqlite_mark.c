/*
 * store/sqlite: which secret the file is sealed with, and records of another.
 *
 * The mark (store/mark.h) is a row of the table `about`. It is checked before the threads of the
 * store start. A file that cannot be written to, because its disk is full, gets its mark at a later
 * start.
 *
 * The threads meet records; the loop is asked whether the node is fit for requests. What was met
 * goes from one to the other under a lock of its own.
 */
#include "store/sqlite_inside.h"


/* The oldest and the newest of each kind that counts: id, scope, record. */
static const struct {
    enum codec_kind kind;
    const char *rows;
} looks[] = {
    { CODEC_CALL, "SELECT id, '', record FROM calls WHERE state < 3 ORDER BY n DESC LIMIT ?" },
    { CODEC_CALL, "SELECT id, '', record FROM calls WHERE state < 3 ORDER BY n LIMIT ?" },
    { CODEC_ASK, "SELECT id, '', record FROM asks WHERE state = 0 ORDER BY n DESC LIMIT ?" },
    { CODEC_VALUE, "SELECT key, kind, value FROM small ORDER BY n DESC LIMIT ?" },
    { CODEC_VALUE, "SELECT key, kind, value FROM small ORDER BY n LIMIT ?" },
};
_Static_assert(CALL_STORED_RUNNABLE == 2 && CALL_STORED_FINISHED == 3 && ASK_PENDING == 0,
               "as the statements say");

void sqlite_mark_renew(struct sqlite_side *side)
{
    sqlite3_stmt *stmt = NULL;
    struct arena arena;

    arena_init(&arena, 4 * MARK_TEXT_MAX);
    struct str mark = mark_make(side->codec.ring, &arena);
    if (sqlite3_prepare_v2(side->db, "INSERT OR REPLACE INTO about VALUES ('mark', ?)", -1, &stmt,
                           NULL) != SQLITE_OK ||
        sqlite3_bind_text64(stmt, 1, mark.at, mark.len, SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_DONE)
        query_fail(side, sqlite3_extended_errcode(side->db));
    sqlite3_finalize(stmt);
    arena_finish(&arena);
}

bool sqlite_mark_check(struct sqlite_side *side, enum mark_rule rule, char *why)
{
    struct keyring *ring = side->codec.ring;
    char mark[MARK_TEXT_MAX + 2]; /* one that is longer is damaged */

    if (rule == MARK_IGNORED)
        return true;
    sqlite_ask_text(side, "SELECT value FROM about WHERE name = 'mark'", mark, sizeof(mark));
    bool fits = !mark[0] || mark_opens(ring, str_of(mark), why);
    if (fits && rule == MARK_CHECKED) {
        struct mark_look look = { 0 };
        for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
            sqlite3_stmt *stmt = NULL;
            if (sqlite3_prepare_v2(side->db, looks[i].rows, -1, &stmt, NULL) == SQLITE_OK) {
                sqlite3_bind_int(stmt, 1, MARK_LOOKS);
                while (sqlite3_step(stmt) == SQLITE_ROW)
                    mark_saw(&look, side->codec.ring, looks[i].kind, query_column(stmt, 0),
                             query_column(stmt, 1), query_column(stmt, 2));
            }
            sqlite3_finalize(stmt);
        }
        fits = mark[0] || mark_allows(&look, ring, why);
        side->codec.foreign = look.foreign;
        if (fits && ring && !mark[0])
            sqlite_mark_renew(side);
        side->error = SQLITE_OK; /* if the disk is full it is made another time */
    }
    if (fits)
        sqlite_mark_met(side);
    return fits;
}

/* --- records of a secret that is not set --- */

void sqlite_mark_met(struct sqlite_side *side)
{
    struct sqlite_store *store = side->store;

    if (!side->codec.foreign.key[0])
        return;
    pthread_mutex_lock(&store->foreign_lock);
    bool first = !store->foreign.key[0];
    if (first)
        store->foreign = side->codec.foreign;
    pthread_mutex_unlock(&store->foreign_lock);
    if (first)
        mark_foreign_log("sqlite", side->codec.foreign.key, side->codec.ring);
    side->codec.foreign = (struct foreign_record){ 0 };
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct sqlite_store *store = data;

    (void)reply;
    store->foreign_asked = false;
    if (status != NOD_OK && status != NOD_E_NOT_FOUND)
        return;
    pthread_mutex_lock(&store->foreign_lock);
    store->foreign = (struct foreign_record){ 0 };
    pthread_mutex_unlock(&store->foreign_lock);
}

void sqlite_mark_look(struct sqlite_store *store)
{
    struct foreign_record foreign;

    pthread_mutex_lock(&store->foreign_lock);
    foreign = store->foreign;
    pthread_mutex_unlock(&store->foreign_lock);
    if (foreign.key[0] && !store->foreign_asked)
        store->foreign_asked = mark_foreign_look(&store->store, &foreign, looked, store);
}

bool sqlite_opens(struct store *base, struct str *why)
{
    struct sqlite_store *store = (struct sqlite_store *)base;

    pthread_mutex_lock(&store->foreign_lock);
    bool opens = !store->foreign.key[0];
    if (!opens)
        mark_foreign_why(store->foreign.key, store->foreign_why);
    pthread_mutex_unlock(&store->foreign_lock);
    if (!opens)
        *why = str_of(store->foreign_why);
    return opens;
}
