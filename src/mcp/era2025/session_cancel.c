/*
 * mcp/era2025/session_cancel: cancels the calls of a session that wait in the store.
 *
 * A client that ends its session does not want its calls any more, including those that were begun
 * on a node that is gone. Waiting calls have questions, and questions are listed by principal. So
 * the pages of this principal's questions are searched for this session, and the calls are
 * cancelled, page by page.
 *
 * A call whose pending result was given out is left alone: its client holds a handle, which is of
 * use in every session of the principal (mcp/later/handle).
 */
#include "mcp/era2025/session.h"

#include "base/mem.h"
#include "mcp/later/handle.h"
#include "mcp/shared/work.h"

enum {
    SESSION_CALLS_PAGE = 128,    /* questions that are read at a time */
    SESSION_CALLS_CURSOR = 1024, /* bytes of the cursor of the next page */
};

struct ending {
    struct server_work work; /* first */
    struct id calls[SESSION_CALLS_PAGE];
    size_t count, at;
    size_t cursor_len;
    char cursor[SESSION_CALLS_CURSOR];
    char *principal, *scope, *why;
    void (*done)(void *data, struct mcp_server *server, nod_status status);
    void *data;
};

static void ending_over(struct ending *ending, nod_status status)
{
    ending->done(ending->data, ending->work.server, status);
    server_work_done(&ending->work);
    mem_free(ending->principal);
    mem_free(ending->scope);
    mem_free(ending->why);
    mem_free(ending);
}

static void found(void *data, const struct store_row *row)
{
    struct ending *ending = data;
    const struct ask_record *ask = row->ask;

    if (!ask || !str_eq(ask->scope, str_of(ending->scope)) || ask->call_id.len != ID_LEN ||
        ending->count == SESSION_CALLS_PAGE)
        return;
    for (size_t i = 0; i < ending->count; i++)
        if (str_eq(id_str(&ending->calls[i]), ask->call_id))
            return;
    struct id *call = &ending->calls[ending->count++];
    *call = id_of(ask->call_id);
}

static void next_page(struct ending *ending);

/* --- one call after the other --- */

static void next_call(struct ending *ending);

static void call_cancelled(void *data, nod_status status)
{
    struct ending *ending = data;

    if (!ending->work.server || status == NOD_E_STORE) {
        ending_over(ending, NOD_E_STORE);
        return;
    }
    ending->at++;
    next_call(ending);
}

static void handle_looked(void *data, nod_status status, const struct handle *handles, size_t count)
{
    struct ending *ending = data;
    struct mcp_server *server = ending->work.server;

    if (!server || status != NOD_OK) {
        ending_over(ending, NOD_E_STORE);
        return;
    }
    if (!count || handles[0].collected_ms)
        engine_cancel(server->opts.engine, id_str(&ending->calls[ending->at]), str_of(ending->why),
                      call_cancelled, ending);
    else
        call_cancelled(ending, NOD_OK);
}

static void call_looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct ending *ending = data;
    struct mcp_server *server = ending->work.server;
    const struct call_record *record = status == NOD_OK ? reply->call : NULL;
    char key[HANDLE_KEY_LEN + 1];

    if (!server || status == NOD_E_STORE) {
        ending_over(ending, NOD_E_STORE);
    } else if (!record || record->forgotten || record->kind != TARGET_TOOL) {
        handle_looked(ending, NOD_OK, NULL, 0);
    } else {
        handle_key(record->principal, record->target, record->args, record->id, key);
        handles_find(server, str_of(key), handle_looked, ending);
    }
}

static void next_call(struct ending *ending)
{
    struct store *store = engine_store(ending->work.server->opts.engine);

    if (ending->at < ending->count) {
        store->ops->load_call(store, id_str(&ending->calls[ending->at]), call_looked, ending);
    } else if (!ending->cursor_len) {
        ending_over(ending, NOD_OK);
    } else {
        ending->count = ending->at = 0;
        next_page(ending);
    }
}

static void page_read(void *data, nod_status status, const struct store_reply *reply)
{
    struct ending *ending = data;
    struct mcp_server *server = ending->work.server;

    if (!server || status != NOD_OK) {
        ending_over(ending, status);
        return;
    }
    ending->cursor_len = reply->cursor.len <= sizeof(ending->cursor) ? reply->cursor.len : 0;
    if (ending->cursor_len)
        memcpy(ending->cursor, reply->cursor.at, ending->cursor_len);
    next_call(ending);
}

static void next_page(struct ending *ending)
{
    struct store *store = engine_store(ending->work.server->opts.engine);

    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_PENDING,
                                           .key = str_of(ending->principal),
                                           .cursor = str_n(ending->cursor, ending->cursor_len),
                                           .limit = SESSION_CALLS_PAGE },
                     found, page_read, ending);
}

void session_calls_cancel(struct session *session, struct str why,
                          void (*done)(void *data, struct mcp_server *server, nod_status status),
                          void *data)
{
    struct ending *ending = MEM_NEW(struct ending);

    ending->principal = str_dup(session_principal(session));
    ending->scope = str_dup(session_scope(session));
    ending->why = str_dup(why);
    ending->done = done;
    ending->data = data;
    server_work_add(session->server, &ending->work);
    next_page(ending);
}
