/*
 * mcp/era2025/ask: asking through the MCP client itself (era 2025).
 *
 * The request goes out on the stream of the call that asks. Its id is the ask's id. If the same ask
 * is put again, because the content did not fit, the id is `<ask>.2`, `<ask>.3` and so on. A
 * response counts only if it answers the offer that is up: same id, same attempt, same session (and
 * so the same principal), and not answered before. Late, foreign and repeated responses are counted
 * and change nothing. With a durable or shared store, a question may be up on another node: it is
 * found by its id, and must belong to the same session.
 *
 * Holds always: nothing is sent that the client did not declare. ask_question.c writes the
 * requests; ask_answer.c reads the responses.
 */
#include "mcp/era2025/ask_inside.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/shared/announce.h"
#include "mcp/era2025/caller.h"
#include "mcp/shared/shares.h"
#include "mcp/shared/work.h"

enum { MCP_URLS_MAX = 10000 }; /* URL elicitations whose end nod can report */

enum {
    CLIENT_WIRE_ID_MAX = 64,
    CLIENT_NUMBER_LEN = 11, /* a dot and the digits of an attempt */
};

struct client_surface {
    struct surface surface; /* first */
    struct mcp_server *server;
    struct map urls; /* elicitation id -> struct given_url */
    struct list url_order;
};

/* A URL elicitation, and the session that was given it. */
struct given_url {
    struct list order;
    struct list of_session;
    struct session *session;
    size_t len;
    char id[];
};

static struct client_surface *client_of(struct surface *surface)
{
    return (struct client_surface *)(void *)surface;
}

/* --- can --- */

/* A request that has found a call of another session waits for it, but is not asked for it. */
static unsigned client_kinds(struct surface *surface, const struct call *call)
{
    const struct caller2025 *held = caller2025_of(call);
    struct client client = call_client(call);

    (void)surface;
    if (call_caller(call)->ops->carries || !str_eq(client.scope, call_scope(call)) ||
        (held && (!held->session || !mcp_stream_reachable(held->stream))))
        return 0;
    return client_ask_kinds(client.asked);
}

static bool client_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    return client_kinds(surface, call) & 1u << kind;
}

/* --- offers --- */

/* The held request that waits for the call of an ask; NULL: there is none. */
static struct caller2025 *held_of(const struct ask *ask)
{
    return ask ? caller2025_of(ask_call(ask)) : NULL;
}

static struct offer *offer_find(const struct caller2025 *call, struct str ask_id)
{
    for (struct offer *offer = call->offers; offer; offer = offer->next)
        if (str_eq(str_n(offer->id, offer->id_len), ask_id))
            return offer;
    return NULL;
}

static struct offer *offer_make(struct caller2025 *call, struct str ask_id, int attempt)
{
    struct offer *offer = offer_find(call, ask_id);

    if (!offer) {
        offer = mem_zalloc(sizeof(*offer) + ask_id.len);
        offer->id_len = (uint16_t)ask_id.len;
        memcpy(offer->id, ask_id.at, ask_id.len);
        offer->next = call->offers;
        call->offers = offer;
    }
    offer->attempt = (uint32_t)attempt;
    offer->answered = false;
    return offer;
}

/* The JSON-RPC id of an offer, as a JSON string. An ask's id is base64url, so nothing in it needs
 * escaping. */
static struct str wire_id(struct str ask_id, uint32_t attempt, char out[CLIENT_WIRE_ID_MAX])
{
    char number[CLIENT_NUMBER_LEN];
    size_t at = sizeof(number);

    for (uint32_t left = attempt > 1 ? attempt : 0; left; left /= 10)
        number[--at] = (char)('0' + left % 10);
    if (at < sizeof(number))
        number[--at] = '.';
    size_t digits = sizeof(number) - at;
    if (ask_id.len + digits + 2 > CLIENT_WIRE_ID_MAX)
        return STR_NONE;
    out[0] = '"';
    memcpy(out + 1, ask_id.at, ask_id.len);
    memcpy(out + 1 + ask_id.len, number + at, digits);
    out[1 + ask_id.len + digits] = '"';
    return str_n(out, ask_id.len + digits + 2);
}

/* --- URL elicitations that were given out --- */

static void url_forget(struct client_surface *client, struct given_url *url)
{
    shares_drop(client->server, session_principal(url->session), MCP_SHARE_URLS, 1);
    map_remove(&client->urls, str_n(url->id, url->len));
    list_remove(&url->order);
    list_remove(&url->of_session);
    mem_free(url);
}

/* Of this principal; empty: of all. */
static struct given_url *url_oldest(const struct client_surface *client, struct str principal)
{
    LIST_EACH (at, &client->url_order) {
        struct given_url *url = LIST_OF(at, struct given_url, order);
        if (!principal.len || str_eq(session_principal(url->session), principal))
            return url;
    }
    return NULL;
}

/* Whoever has its share makes room with its own oldest, so that nobody loses another's. */
static void url_note(struct client_surface *client, struct session *session, struct str id)
{
    struct str principal = session_principal(session);

    if (map_get(&client->urls, id))
        return;
    if (shares_full(client->server, principal, MCP_SHARE_URLS, 1))
        url_forget(client, url_oldest(client, principal));
    else if (client->urls.count >= MCP_URLS_MAX)
        url_forget(client, url_oldest(client, STR_NONE));
    shares_add(client->server, principal, MCP_SHARE_URLS, 1);

    struct given_url *url = mem_alloc(sizeof(*url) + id.len);
    url->session = session;
    url->len = id.len;
    memcpy(url->id, id.at, id.len);
    map_set(&client->urls, str_n(url->id, url->len), url);
    list_append(&client->url_order, &url->order);
    list_append(&session->urls, &url->of_session);
}

void client_surface_url_required(struct surface *surface, struct session *session, struct str data)
{
    struct arena arena;

    arena_init(&arena, CLIENT_ARENA_MAX);
    const struct json *list = json_get(json_parse(&arena, data, NULL, NULL), STR("elicitations"));
    JSON_EACH (one, json_is(list, JSON_ARRAY) ? list : NULL) {
        struct str id = json_get_str(one, STR("elicitationId"));
        if (id.len)
            url_note(client_of(surface), session, id);
    }
    arena_finish(&arena);
}

void client_surface_forget(struct surface *surface, struct session *session)
{
    LIST_EACH (at, &session->urls)
        url_forget(client_of(surface), LIST_OF(at, struct given_url, of_session));
}

static void write_complete(struct mcp_server *server, struct str elicitation_id)
{
    struct json_writer w;

    rpc_begin(&w, &server->out, STR_NONE, STR("notifications/elicitation/complete"));
    jw_key_str(&w, STR("elicitationId"), elicitation_id);
    rpc_end(&w);
}

bool client_surface_complete(struct session *session, struct str elicitation_id)
{
    struct mcp_server *server = session->server;

    write_complete(server, elicitation_id);
    bool told = session_notify(session, buf_str(&server->out));
    buf_clear(&server->out);
    return told;
}

/* On the call's own stream while it waits there, otherwise where messages outside of calls go, on
 * whatever node that is. */
static void url_complete(struct client_surface *client, struct given_url *url,
                         struct caller2025 *call)
{
    struct mcp_server *server = client->server;
    struct session *session = url->session;
    struct str id = str_n(url->id, url->len);

    if (call && call->session == session) {
        write_complete(server, id);
        mcp_stream_send(call->stream, EVENT_KEPT, buf_str(&server->out));
        buf_clear(&server->out);
    } else if (!client_surface_complete(session, id)) {
        announce_complete(server, &session->id, id);
    }
    url_forget(client, url);
}

bool client_surface_url_done(struct surface *surface, struct str elicitation_id)
{
    struct client_surface *client = client_of(surface);
    struct given_url *url = map_get(&client->urls, elicitation_id);
    struct ask *ask = engine_ask(client->server->opts.engine, elicitation_id);

    if (url)
        url_complete(client, url, held_of(ask));
    return url;
}

/* --- putting it up and taking it down --- */

static void client_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    struct caller2025 *call = held_of(ask);
    const struct ask_record *record = ask_record(ask);
    char id_text[CLIENT_WIRE_ID_MAX];
    struct str id = wire_id(record->id, (uint32_t)attempt, id_text);

    if (!call || !call->session || id.len == 0 || !mcp_stream_reachable(call->stream)) {
        ask_offered(ask, surface, OFFER_REFUSED);
        return;
    }
    struct drawing d = { .session = call->session, .record = record, .problems = problems };
    struct buf *out = &call->session->server->out;
    arena_init(&d.arena, CLIENT_ARENA_MAX);
    bool drawn = ask2025_draw(&d, id);
    arena_finish(&d.arena);
    if (!drawn) {
        buf_clear(out);
        ask_offered(ask, surface, OFFER_UNRENDERED);
        return;
    }
    struct offer *older = offer_find(call, record->id);
    if (older)
        mcp_stream_forget(call->stream, older->seq);
    struct offer *offer = offer_make(call, record->id, attempt);
    bool placed = record->seq && attempt == 1;
    offer->confirm = d.confirm;
    offer->seq = placed ? (uint32_t)record->seq : call->stream->next_seq;
    if (record->kind == ASK_URL)
        url_note(client_of(surface), call->session, record->id);
    if (placed)
        mcp_stream_send_at(call->stream, offer->seq, buf_str(out));
    else
        mcp_stream_send(call->stream, EVENT_KEPT, buf_str(out));
    buf_clear(out);
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void client_withdraw(struct surface *surface, struct ask *ask, struct str why,
                            const struct winner *winner)
{
    struct caller2025 *call = held_of(ask);
    struct str ask_id = ask_record(ask)->id;
    struct offer *offer = call ? offer_find(call, ask_id) : NULL;
    char id_text[CLIENT_WIRE_ID_MAX];
    struct json_writer w;

    /* A question whose page decides has ended, on this node or another: did its page end it? */
    struct client_surface *client = client_of(surface);
    const struct ask_record *record = ask_record(ask);
    bool by_page = str_eq(winner->via, STR("page")) || winner->state == ASK_ACCEPTED;
    struct given_url *url = record->kind == ASK_URL && record->wait_done && by_page
                                ? map_get(&client->urls, record->id)
                                : NULL;
    if (url)
        url_complete(client, url, held_of(ask));
    if (!offer)
        return;
    if (!offer->answered && call->session) {
        struct buf *out = &call->session->server->out;
        rpc_begin(&w, out, STR_NONE, STR("notifications/cancelled"));
        jw_key_raw(&w, STR("requestId"), wire_id(ask_id, offer->attempt, id_text));
        jw_key_str(&w, STR("reason"), why);
        if (rpc_end(&w))
            mcp_stream_send(call->stream, EVENT_KEPT, buf_str(out));
        buf_clear(out);
    }
    if (call->session)
        mcp_stream_forget(call->stream, offer->seq);
    for (struct offer **at = &call->offers; *at; at = &(*at)->next) {
        if (*at == offer) {
            *at = offer->next;
            mem_free(offer);
            return;
        }
    }
}

void client_surface_forget_ended(struct caller2025 *call)
{
    const struct engine *engine = call->session->server->opts.engine;

    for (struct offer *offer = call->offers; offer; offer = offer->next)
        if (!engine_ask(engine, str_n(offer->id, offer->id_len)))
            mcp_stream_forget(call->stream, offer->seq);
}

/* --- what comes back --- */

static const struct json *result_of(const struct rpc_message *message)
{
    return message->kind == RPC_ERROR ? NULL : message->result;
}

static void answer(struct client_surface *client, const struct ask_record *record, int attempt,
                   role_set roles, const struct response *response, answered_fn *done, void *data)
{
    ask_answer(client->server->opts.engine, record->id,
               &(struct answer){ .action = response->action,
                                 .content = response->content,
                                 .by = record->principal,
                                 .scope = record->scope,
                                 .surface = &client->surface,
                                 .roles = roles,
                                 .attempt = attempt,
                                 .too_large = response->too_large,
                                 .handed = true,
                                 .once = true },
               done, data);
}

static void tell(answered_fn *done, void *data, nod_status status)
{
    if (done)
        done(data, &(struct answer_result){ .status = status });
}

/* The answer does not count, and somebody else is asked. */
static void tell_unheard(answered_fn *done, void *data, const char *why)
{
    if (done)
        done(data,
             &(struct answer_result){ .status = NOD_E_REFUSED, .pending = true, .unheard = why });
}

/* Splits `<ask>.<attempt>`; attempt 1 is written without a number. */
static bool split_id(struct str id, struct str *ask_id, uint32_t *attempt)
{
    struct str number;
    uint64_t n;

    *attempt = 1;
    if (!str_cut(id, '.', ask_id, &number)) {
        *ask_id = id;
        return id.len > 0;
    }
    if (!str_to_u64(number, &n) || n < 2 || n > INT32_MAX || number.at[0] == '0')
        return false;
    *attempt = (uint32_t)n;
    return true;
}

/* The ask that is up on this node in this session, with its offer; NULL: there is none. */
static struct ask *find_offered(struct client_surface *client, const struct session *session,
                                struct str ask_id, struct offer **offer)
{
    struct ask *ask = engine_ask(client->server->opts.engine, ask_id);
    struct caller2025 *call = held_of(ask);

    if (!call || call->session != session)
        return NULL;
    *offer = offer_find(call, ask_id);
    return *offer ? ask : NULL;
}

/* Is it of a call of this session, and waits on this node, but not at the client (any more)? */
static bool is_taken_back(struct client_surface *client, const struct session *session,
                          struct str ask_id)
{
    const struct ask *ask = engine_ask(client->server->opts.engine, ask_id);
    const struct caller2025 *call = held_of(ask);

    return call && call->session == session && !offer_find(call, ask_id);
}

static void stray(const struct rpc_message *message, answered_fn *done, void *data)
{
    LOG_DEBUG("a response answers nothing that is asked", LOG_STR("id", message->id));
    tell(done, data, NOD_E_NOT_FOUND);
}

/* `attempt` may be one that another node has put: the store knows which is up. */
static void answer_here(struct client_surface *client, struct ask *ask, struct offer *offer,
                        uint32_t attempt, role_set roles, const struct rpc_message *message,
                        answered_fn *done, void *data)
{
    const struct ask_record *record = ask_record(ask);
    const char *unheard =
        answer_unheard(client->server->opts.engine, record, &client->surface, roles);
    struct response response =
        ask2025_read(record, offer->confirm, result_of(message), message->code);

    /* True: the same answer once more. The client has not been told yet that the first was
     * stored. */
    bool again = offer->answered || attempt != offer->attempt;
    offer->answered |= attempt == offer->attempt;
    if (response.reading == READ_ANSWER && unheard) {
        call_caller(ask_call(ask))->roles = roles;
        if (!again)
            ask_client_unheard(ask);
        tell_unheard(done, data, unheard);
        return;
    }
    if (response.reading == READ_ANSWER) {
        struct arena arena;
        arena_init(&arena, CLIENT_ARENA_MAX);
        enum revision revision = (enum revision)call_client(ask_call(ask)).revision;
        ask2025_read_back(record, revision_facts(revision)->form, &arena, &response);
        answer(client, record, (int)attempt, roles, &response, done, data);
        arena_finish(&arena);
        return;
    }
    LOG_DEBUG("the client has no answer", LOG_INT("code", message->code),
              LOG_STR("message", message->text));
    if (!again)
        ask_offered(ask, &client->surface, OFFER_REFUSED);
    tell(done, data, NOD_OK);
}

/*
 * --- answers to asks that are up on another node ---
 *
 * The client may send its answer to any node. The store knows the question. If it has none, the
 * node that has the question up is told. Perhaps there is none: whoever follows is asked in any
 * case.
 */

struct far_answer {
    struct server_work work; /* first */
    struct client_surface *client;
    struct arena arena;
    struct str scope;
    int attempt;
    role_set roles;
    const char *unheard; /* why its answer does not count; NULL: it does, or there is none */
    struct str refused;  /* what the client has no answer to */
    enum form_revision form;
    bool boolean_confirm;
    bool too_large;
    const struct json *result; /* NULL: an error */
    int64_t code;
    answered_fn *done;
    void *data;
};

static void far_over(struct far_answer *far)
{
    server_work_done(&far->work);
    arena_finish(&far->arena);
    mem_free(far);
}

static void refusal_kept(void *data, nod_status status, const struct store_reply *reply)
{
    struct far_answer *far = data;
    struct mcp_server *server = far->work.server;

    (void)reply;
    if (server && status != NOD_E_STORE) { /* NOD_E_STALE: it is recorded already */
        announce_refused(server, far->refused, (uint32_t)far->attempt);
    }
    if (far->unheard)
        tell_unheard(far->done, far->data, far->unheard);
    else
        tell(far->done, far->data, server && status != NOD_E_STORE ? NOD_OK : NOD_E_STORE);
    far_over(far);
}

/* An error to a question that has ended, or that nobody else can be asked, says how it ended. */
static void refuse_elsewhere(struct far_answer *far, const struct ask_record *record)
{
    struct engine *engine = far->work.server->opts.engine;
    bool pending = record->state == ASK_PENDING;

    far->refused = arena_str(&far->arena, record->id);
    if (pending && (record->attempt != far->attempt ||
                    !engine_asks_on(engine, record, &far->client->surface))) {
        if (far->unheard)
            tell_unheard(far->done, far->data, far->unheard);
        else
            tell(far->done, far->data, NOD_OK); /* of an older offer, or of none */
        far_over(far);
    } else if (!pending || !engine_client_refused(engine, record, refusal_kept, far)) {
        ask_unsupported(engine, record->id, far->done, far->data);
        far_over(far);
    }
}

void client_surface_refused(struct surface *surface, struct str ask_id, uint64_t attempt)
{
    struct ask *ask = engine_ask(client_of(surface)->server->opts.engine, ask_id);
    struct caller2025 *call = held_of(ask);
    struct offer *offer = call ? offer_find(call, ask_id) : NULL;

    if (!offer || offer->answered || offer->attempt != attempt)
        return;
    offer->answered = true;
    ask_offered(ask, surface, OFFER_REFUSED);
}

static void far_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct far_answer *far = data;
    const struct ask_record *record = reply ? reply->ask : NULL;

    if (!far->work.server)
        tell(far->done, far->data, NOD_E_STORE);
    else if (status != NOD_OK || !str_eq(record->scope, far->scope))
        tell(far->done, far->data, status == NOD_OK ? NOD_E_NOT_FOUND : status);
    else {
        bool confirm = far->boolean_confirm && record->detail.len == 0;
        struct response response = ask2025_read(record, confirm, far->result, far->code);
        ask2025_read_back(record, far->form, &far->arena, &response);
        if (far->too_large)
            response = (struct response){ .action = ASK_ACCEPTED, .too_large = true };
        if (response.reading != READ_NOTHING && record->state == ASK_PENDING)
            far->unheard = answer_unheard(far->work.server->opts.engine, record,
                                          &far->client->surface, far->roles);
        if (response.reading == READ_NOTHING || far->unheard) {
            refuse_elsewhere(far, record);
            return;
        }
        answer(far->client, record, far->attempt, far->roles, &response, far->done, far->data);
    }
    far_over(far);
}

void client_surface_response(struct surface *surface, struct session *session, role_set roles,
                             const struct rpc_message *message, answered_fn *done, void *data)
{
    struct client_surface *client = client_of(surface);
    struct offer *offer = NULL;
    struct str ask_id;
    uint32_t attempt;

    if (!split_id(rpc_id_text(&client->server->message, message->id), &ask_id, &attempt)) {
        stray(message, done, data);
        return;
    }
    struct ask *ask = find_offered(client, session, ask_id, &offer);
    bool survives = server_survives(client->server) && !session->lines;
    bool newer = ask && survives && attempt > offer->attempt; /* put by another node */
    if (ask && (offer->attempt == attempt || newer) && (!offer->answered || survives)) {
        answer_here(client, ask, offer, attempt, roles, message, done, data);
    } else if (!ask && is_taken_back(client, session, ask_id) && !result_of(message)) {
        stray(message, done, data); /* so clients end what was cancelled; others may still answer */
    } else if (!ask && (survives || is_taken_back(client, session, ask_id)) &&
               ask_id.len == ID_LEN) {
        struct mcp_server *server = client->server;
        struct store *store = engine_store(server->opts.engine);
        struct far_answer *far = MEM_NEW(struct far_answer);

        arena_init(&far->arena, CLIENT_ARENA_MAX);
        far->client = client;
        far->scope = arena_str(&far->arena, session_scope(session));
        far->attempt = (int)attempt;
        far->roles = roles;
        far->boolean_confirm = session->boolean_confirm;
        far->form = session_knows(session)->form;
        far->result = result_of(message) ? json_copy(&far->arena, result_of(message)) : NULL;
        far->code = message->code;
        far->done = done;
        far->data = data;
        far->too_large = far->arena.exhausted;
        server_work_add(server, &far->work);
        store->ops->load_ask(store, ask_id, far_loaded, far);
    } else {
        stray(message, done, data);
    }
}

/* --- the surface --- */

static const struct surface_ops client_ops = {
    .name = "client",
    .can = client_can,
    .kinds = client_kinds,
    .offer = client_offer,
    .withdraw = client_withdraw,
    .attempts = 1,
    .client = true,
};

struct surface *client_surface_create(struct mcp_server *server)
{
    struct client_surface *client = MEM_NEW(struct client_surface);

    client->surface.ops = &client_ops;
    client->server = server;
    map_init(&client->urls, MCP_URLS_MAX);
    list_init(&client->url_order);
    return &client->surface;
}

void client_surface_destroy(struct surface *surface)
{
    struct client_surface *client = client_of(surface);

    LIST_EACH (at, &client->url_order)
        url_forget(client, LIST_OF(at, struct given_url, order));
    map_finish(&client->urls);
    mem_free(client);
}
