/*
 * mcp/era2025/session_store: writes and reads the record of a session.
 *
 * A record is replaced only if its version is the one that was read. So a node that would keep
 * alive what another has ended, or overwrite what another has changed, is refused, and reads the
 * record again before it serves the session. A node checks a session that it knows at most every
 * SESSION_FRESH_MS, so one that was ended elsewhere is served here no longer than that.
 */
#include "mcp/era2025/session_store.h"

#include "base/log.h"
#include "base/mem.h"
#include "mcp/era2025/subscribers.h"
#include "mcp/shared/announce.h"
#include "mcp/shared/work.h"

enum {
    SESSION_FRESH_MS = 2000,      /* a session that other nodes may end is trusted for so long */
    SESSION_RECHECKED_MS = 10000, /* the same, if it is not used and has calls */
    SESSION_REWRITES = 4,         /* writes of a record in the time that a session may be idle */
    SESSION_RECORD_VERSION = 1,
    SESSION_RECORD_MAX = 4096 + MCP_SUBSCRIPTIONS_STORED,
    SESSION_ARENA_MAX = 1 << 20,
};

#define SESSION_KIND STR("session")

static struct store *store_of(const struct mcp_server *server)
{
    return engine_store(server->opts.engine);
}

static struct session *still_there(struct mcp_server *server, const struct id *id)
{
    return server ? session_here(server, id_str(id)) : NULL;
}

/* --- writing --- */

struct writing {
    struct server_work work; /* first */
    struct id id;
    int64_t until_ms;
    bool tells; /* other nodes have to be told */
    void (*done)(void *data, struct session *session, nod_status status);
    void *data;
};

/* Another node has written the record: our changes are written over that. */
static void read_again(void *data, struct mcp_server *server, nod_status status)
{
    struct id *id = data;
    struct session *session = status == NOD_OK ? still_there(server, id) : NULL;

    if (session)
        session_refresh(session, false);
    mem_free(id);
}

static void written(void *data, nod_status status, const struct store_reply *reply)
{
    struct writing *writing = data;
    struct session *session = still_there(writing->work.server, &writing->id);

    if (session) {
        session->writing = false;
        if (status == NOD_OK) {
            session->version = reply->version;
            session->checked_ms = clock_mono(session->server->opts.clock);
            session->stored_until_ms = writing->until_ms;
            if (writing->tells)
                announce_session(session->server, &session->id);
        } else {
            session->unwritten |= writing->tells;
            /* it was ended or changed: the next request reads it first */
            session->checked_ms = INT64_MIN;
        }
    }
    if (writing->done)
        writing->done(writing->data, session, status);
    session = still_there(writing->work.server, &writing->id);
    if (session && status == NOD_OK)
        session_refresh(session, false);
    else if (session && status == NOD_E_STALE &&
             (session->until_ms > session->stored_until_ms || session->unwritten)) {
        struct id *id = MEM_NEW(struct id);
        *id = session->id;
        session_fetch(session->server, id_str(id), session_principal(session), read_again, id);
    }
    server_work_done(&writing->work);
    mem_free(writing);
}

static int64_t life_of(const struct session *session)
{
    const struct mcp_server *server = session->server;
    int64_t idle_ms = server->opts.session_idle_ms;
    int64_t needed_ms = session->until_ms - server_now(server);

    return needed_ms > idle_ms ? needed_ms : idle_ms;
}

static void write_record(struct session *session,
                         void (*done)(void *data, struct session *session, nod_status status),
                         void *data)
{
    struct mcp_server *server = session->server;
    struct writing *writing = MEM_NEW(struct writing);
    struct json_writer w;
    struct buf record;

    buf_init(&record, SESSION_RECORD_MAX);
    json_writer_init(&w, &record);
    jw_object(&w);
    jw_key_i64(&w, STR("version"), SESSION_RECORD_VERSION);
    jw_key_str(&w, STR("principal"), session_principal(session));
    jw_key_str(&w, STR("revision"), session_knows(session)->name);
    jw_key_i64(&w, STR("can"), session->client.declares);
    jw_key_i64(&w, STR("logLevel"), session->log_level);
    jw_key_bool(&w, STR("booleanConfirm"), session->boolean_confirm);
    if (session->client.name.len)
        jw_key_raw(&w, STR("client"), session->client.name);
    if (session->pended)
        jw_key_bool(&w, STR("pended"), true);
    if (session->soft_ms)
        jw_key_i64(&w, STR("softMs"), session->soft_ms);
    jw_key_i64(&w, STR("until"), session->until_ms);
    if (!list_empty(&session->subscriptions) || session->unwritten) {
        jw_key(&w, STR("subscriptions"));
        subscribers_write(session, &w);
    }
    jw_end(&w);
    writing->id = session->id;
    writing->until_ms = session->until_ms;
    writing->tells = session->unwritten;
    session->unwritten = false;
    writing->done = done;
    writing->data = data;
    session->writing = true;
    session->written_ms = clock_mono(server->opts.clock);
    server_work_add(server, &writing->work);
    store_of(server)->ops->put(store_of(server), SESSION_KIND, id_str(&session->id),
                               buf_str(&record), session_principal(session), session->version,
                               life_of(session), written, writing);
    buf_finish(&record);
}

void session_keep(struct session *session,
                  void (*done)(void *data, struct session *session, nod_status status), void *data)
{
    write_record(session, done, data);
}

void session_refresh(struct session *session, bool changed)
{
    struct mcp_server *server = session->server;
    int64_t since = clock_mono(server->opts.clock) - session->written_ms;

    if (!server_survives(server) || session->writing || session->version == 0 || session->lines)
        return;
    if (changed || session->unwritten || since > server->opts.session_idle_ms / SESSION_REWRITES ||
        session->until_ms > session->stored_until_ms)
        write_record(session, NULL, NULL);
}

/* --- erasing --- */

struct erasing {
    void (*done)(void *data, nod_status status);
    void *data;
};

static void erased(void *data, nod_status status, const struct store_reply *reply)
{
    struct erasing *erasing = data;

    (void)reply;
    erasing->done(erasing->data, status);
    mem_free(erasing);
}

void session_erase(struct mcp_server *server, struct str id,
                   void (*done)(void *data, nod_status status), void *data)
{
    struct erasing *erasing = MEM_NEW(struct erasing);

    erasing->done = done;
    erasing->data = data;
    store_of(server)->ops->del(store_of(server), SESSION_KIND, id, erased, erasing);
}

/* --- reading --- */

bool session_is_fresh(const struct session *session)
{
    const struct mcp_server *server = session->server;

    if (!server_survives(server) || session->lines)
        return true;
    if (session->checked_ms == INT64_MIN)
        return false;
    return !store_of(server)->ops->shared ||
           clock_mono(server->opts.clock) - session->checked_ms < SESSION_FRESH_MS;
}

struct fetching {
    struct server_work work; /* first */
    struct id id;
    void (*done)(void *data, struct mcp_server *server, nod_status status);
    void *data;
    size_t principal_len;
    char principal[];
};

static bool number_within(const struct json *record, struct str key, int64_t most, uint8_t *out)
{
    int64_t n;

    if (!json_i64(json_get(record, key), &n) || n < 0 || n > most)
        return false;
    *out = (uint8_t)n;
    return true;
}

/* Into the session. False: the record cannot be read. */
static bool read_into(struct session *session, const struct json *record)
{
    enum revision revision;
    uint8_t version;

    if (!number_within(record, STR("version"), SESSION_RECORD_VERSION, &version) ||
        !number_within(record, STR("can"), UINT8_MAX, &session->client.declares) ||
        !number_within(record, STR("logLevel"), UINT8_MAX, &session->log_level) ||
        !revision_find(json_get_str(record, STR("revision")), &revision))
        return false;
    session->client.revision = (uint8_t)revision;
    session->client.asked = session->client.declares;
    session->stored_until_ms = 0;
    json_i64(json_get(record, STR("until")), &session->stored_until_ms);
    if (session->stored_until_ms > session->until_ms)
        session->until_ms = session->stored_until_ms;
    session->boolean_confirm = json_true(json_get(record, STR("booleanConfirm")));
    session_name_client(session, json_get(record, STR("client")));
    session->pended = json_true(json_get(record, STR("pended")));
    json_i64(json_get(record, STR("softMs")), &session->soft_ms);
    session->initialized = true;
    subscribers_read(session, json_get(record, STR("subscriptions")),
                     !session->unwritten && !session->writing);
    return true;
}

static nod_status take_in(struct fetching *fetching, const struct store_reply *reply)
{
    struct mcp_server *server = fetching->work.server;
    struct session *session = still_there(server, &fetching->id);
    struct str principal = str_n(fetching->principal, fetching->principal_len);
    struct arena arena;
    nod_status status = NOD_OK;

    arena_init(&arena, SESSION_ARENA_MAX);
    const struct json *record = json_parse(&arena, reply->value, NULL, NULL);
    if (!str_eq(json_get_str(record, STR("principal")), principal)) {
        status = NOD_E_NOT_FOUND;
    } else {
        bool is_new = !session;
        if (is_new)
            session = session_restore(server, principal, &fetching->id);
        if (!session) {
            status = NOD_E_LIMIT;
        } else if (!read_into(session, record)) {
            LOG_ERROR("the record of a session cannot be read: it is damaged, or of a newer nod",
                      LOG_STR("session", id_str(&fetching->id)));
            status = NOD_E_PARSE;
        } else {
            session->version = reply->version;
            session->checked_ms = clock_mono(server->opts.clock);
            session->restored |= is_new;
            if (is_new)
                session->written_ms = INT64_MIN / 2; /* its remaining time is not known */
        }
        if (session && status != NOD_OK)
            session_end(session, STR("its record cannot be read"));
    }
    arena_finish(&arena);
    return status;
}

static void fetched(void *data, nod_status status, const struct store_reply *reply)
{
    struct fetching *fetching = data;
    struct mcp_server *server = fetching->work.server;

    if (server && status == NOD_OK) {
        status = take_in(fetching, reply);
    } else if (server && status == NOD_E_NOT_FOUND) {
        struct session *session = still_there(server, &fetching->id);
        if (session)
            session_end(session, STR("the session was ended elsewhere"));
    }
    fetching->done(fetching->data, server, status);
    server_work_done(&fetching->work);
    mem_free(fetching);
}

void session_fetch(struct mcp_server *server, struct str id, struct str principal,
                   void (*done)(void *data, struct mcp_server *server, nod_status status),
                   void *data)
{
    struct fetching *fetching = mem_zalloc(sizeof(*fetching) + principal.len);

    fetching->id = id_of(id);
    fetching->done = done;
    fetching->data = data;
    fetching->principal_len = principal.len;
    memcpy(fetching->principal, principal.at, principal.len);
    server_work_add(server, &fetching->work);
    store_of(server)->ops->get(store_of(server), SESSION_KIND, id_str(&fetching->id), fetched,
                               fetching);
}

/* --- a session that is not here --- */

struct needing {
    struct id id;
    int64_t for_ms;
};

static void needed(void *data, struct mcp_server *server, nod_status status)
{
    struct needing *needing = data;
    struct session *session = status == NOD_OK ? still_there(server, &needing->id) : NULL;

    if (session)
        session_need(session, needing->for_ms);
    else if (server && status != NOD_E_NOT_FOUND)
        LOG_WARN("a session may end earlier than what it keeps",
                 LOG_STR("session", id_str(&needing->id)),
                 LOG_CSTR("why", nod_status_name(status)));
    mem_free(needing);
}

void session_need_away(struct mcp_server *server, struct str scope, int64_t for_ms)
{
    if (scope.len <= ID_LEN + 1)
        return;
    struct str id = str_skip(scope, scope.len - ID_LEN);
    struct str principal = str_n(scope.at, scope.len - ID_LEN - 1);
    struct session *session = session_find(server, id, principal);
    if (session) {
        session_need(session, for_ms);
        return;
    }
    struct needing *needing = MEM_NEW(struct needing);
    needing->id = id_of(id);
    needing->for_ms = for_ms;
    session_fetch(server, id, principal, needed, needing);
}

/* --- looking again --- */

static void rechecked(void *data, struct mcp_server *server, nod_status status)
{
    (void)data, (void)server, (void)status; /* a session that has ended is gone by now */
}

void session_look_again(struct mcp_server *server, struct str id)
{
    const struct session *session = session_here(server, id);

    if (session && !session->lines)
        session_fetch(server, id, session_principal(session), rechecked, NULL);
}

/* Its calls may wait longer than its record lives, and other nodes may have ended it. */
void session_recheck(struct mcp_server *server, int64_t now)
{
    enum { RECHECKS_MOST = 100 }; /* sessions that are checked at a time */
    int64_t fresh_ms = server->opts.session_idle_ms / SESSION_REWRITES;
    int asked = 0;

    if (!server_survives(server))
        return;
    LIST_EACH (at, &server->sessions->by_use) {
        struct session *session = LIST_OF(at, struct session, by_use);
        if (!session->call_count && session->until_ms <= session->stored_until_ms &&
            (now - session->written_ms <= fresh_ms || session_is_idle(session)))
            continue; /* nobody holds it */
        session_refresh(session, false);
        if (!store_of(server)->ops->shared || session->call_count == 0 ||
            session->checked_ms > now - SESSION_RECHECKED_MS)
            continue;
        session->checked_ms = now;
        session_fetch(server, id_str(&session->id), session_principal(session), rechecked, NULL);
        if (++asked == RECHECKS_MOST)
            return;
    }
}
