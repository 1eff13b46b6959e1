/*
 * mcp/ask2025: asking through the MCP client itself.
 *
 * The request goes out on the stream of the call that asks. Its id is the ask's id; when the same
 * ask is put again, because the content did not fit, the id is `<ask>.2`, `<ask>.3` and so on. A
 * response counts only if it answers the offer that is up: same id, same attempt, same session (and
 * with it the same principal), and not answered before. Late, foreign and repeated ones are counted
 * and change nothing. Where the store survives, a question may be up on another node: it is found
 * by its id, and must be of the same session.
 *
 * A JSON-RPC error means that this client has no handler, or that its handler broke: nobody has
 * refused anything, so the ask moves on to the next surface. Only for sampling does MCP have an
 * error (-1) that is a person's no.
 *
 * Holds always: nothing is sent that the client did not declare, and no consent is read out of a
 * malformed result.
 */
#include "mcp/ask2025.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/caller_away.h"
#include "mcp/caller2025.h"

enum {
    CLIENT_ARENA_MAX = 8 << 20,
    CLIENT_WIRE_ID_MAX = 64,
    CLIENT_NUMBER_LEN = 11,  /* a dot and the digits of an attempt */
    CLIENT_PROBLEMS_MAX = 8, /* said in a message, when something is asked again */
    SAMPLING_REJECTED = -1,
};

struct client_surface {
    struct surface surface; /* first */
    struct mcp_server *server;
    struct map urls; /* elicitation id -> struct given_url */
    struct list url_order;
};

/* A URL elicitation, and who was given it. */
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

static const unsigned needs[] = {
    [ASK_FORM] = CLIENT_CAN_FORM,     [ASK_APPROVAL] = CLIENT_CAN_FORM, [ASK_URL] = CLIENT_CAN_URL,
    [ASK_SAMPLE] = CLIENT_CAN_SAMPLE, [ASK_ROOTS] = CLIENT_CAN_ROOTS,
};

static bool client_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    const struct caller2025 *held = caller2025_of(call);

    (void)surface;
    if (!held)
        return caller_away_can(call, true) & needs[kind];
    return held->session && (held->session->can & needs[kind]) &&
           mcp_stream_reachable(held->stream);
}

static unsigned client_kinds(struct surface *surface, const struct call *call)
{
    const struct caller2025 *held = caller2025_of(call);

    (void)surface;
    if (!held)
        return client_ask_kinds(caller_away_can(call, true));
    return held->session && mcp_stream_reachable(held->stream)
               ? client_ask_kinds(held->session->can)
               : 0;
}

/* --- offers --- */

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

static void offer_drop(struct caller2025 *call, struct offer *offer)
{
    for (struct offer **at = &call->offers; *at; at = &(*at)->next) {
        if (*at == offer) {
            *at = offer->next;
            mem_free(offer);
            return;
        }
    }
}

/* The JSON-RPC id of an offer, as a JSON string. An ask's id is base64url: nothing in it needs
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
    map_remove(&client->urls, str_n(url->id, url->len));
    list_remove(&url->order);
    list_remove(&url->of_session);
    mem_free(url);
}

static void url_note(struct client_surface *client, struct session *session, struct str id)
{
    if (map_get(&client->urls, id))
        return;
    if (client->urls.count >= MCP_URLS_MAX)
        url_forget(client, LIST_OF(list_first(&client->url_order), struct given_url, order));

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

void client_surface_url_done(struct surface *surface, struct str elicitation_id)
{
    struct client_surface *client = client_of(surface);
    struct mcp_server *server = client->server;
    struct given_url *url = map_get(&client->urls, elicitation_id);
    struct json_writer w;

    if (!url)
        return;
    struct session *session = url->session;
    struct ask *ask = engine_ask(server->opts.engine, elicitation_id);
    struct caller2025 *call = ask ? caller2025_of(ask_call(ask)) : NULL;
    buf_clear(&server->out);
    json_writer_init(&w, &server->out);
    jw_object(&w);
    jw_key_str(&w, STR("jsonrpc"), STR("2.0"));
    jw_key_str(&w, STR("method"), STR("notifications/elicitation/complete"));
    jw_key(&w, STR("params"));
    jw_object(&w);
    jw_key_str(&w, STR("elicitationId"), elicitation_id);
    jw_end(&w);
    jw_end(&w);
    /* On the call's own stream while it waits there, else where messages outside of calls go. */
    if (call && call->session == session)
        mcp_stream_send(call->stream, EVENT_KEPT, buf_str(&server->out));
    else
        session_notify(session, buf_str(&server->out));
    buf_clear(&server->out);
    url_forget(client, url);
}

/* --- what is sent --- */

static void add_problem(struct buf *text, const struct json *problem)
{
    struct str path = json_get_str(problem, STR("path"));

    if (path.len) {
        buf_add(text, path);
        buf_add(text, STR(": "));
    }
    buf_add(text, json_get_str(problem, STR("message")));
}

/* The question, with what was wrong with the last answer in front. */
static struct str message_text(struct arena *arena, struct str message, struct str problems)
{
    const struct json *list = problems.len ? json_parse(arena, problems, NULL, NULL) : NULL;
    struct buf text;
    size_t shown = 0;

    if (!json_first(list))
        return message;
    buf_init(&text, CLIENT_ARENA_MAX);
    buf_add(&text, STR("Your last answer could not be used: "));
    JSON_EACH (problem, list) {
        if (shown == CLIENT_PROBLEMS_MAX)
            break;
        if (shown++)
            buf_add(&text, STR("; "));
        add_problem(&text, problem);
    }
    buf_add(&text, STR(".\n\n"));
    buf_add(&text, message);
    struct str whole = arena_str(arena, buf_str(&text));
    buf_finish(&text);
    return whole;
}

static void write_empty_form(struct json_writer *w, bool confirm)
{
    jw_object(w);
    jw_key_str(w, STR("type"), STR("object"));
    jw_key(w, STR("properties"));
    jw_object(w);
    if (confirm) {
        jw_key(w, STR("confirm"));
        jw_object(w);
        jw_key_str(w, STR("type"), STR("boolean"));
        jw_key_str(w, STR("title"), STR("Confirm"));
        jw_end(w);
    }
    jw_end(w);
    jw_key(w, STR("required"));
    jw_array(w);
    if (confirm)
        jw_str(w, STR("confirm"));
    jw_end(w);
    jw_end(w);
}

/* An offer that is being written. */
struct drawing {
    struct session *session;
    const struct ask_record *record;
    struct arena arena;
    struct json_writer w;
    struct str problems;
    bool confirm;
};

/* The schema as a client of that revision is sent it. None: it cannot be. */
static struct str form_text(struct drawing *d, enum form_revision revision)
{
    struct schema_problems problems = { 0 };
    struct str text = STR_NONE;
    struct buf out;

    const struct json *schema = json_parse(&d->arena, d->record->detail, NULL, NULL);
    schema = schema ? form_for_revision(schema, revision, &d->arena, &problems) : NULL;
    if (!schema)
        return STR_NONE;
    buf_init(&out, CLIENT_ARENA_MAX);
    if (json_write(&out, schema))
        text = arena_str(&d->arena, buf_str(&out));
    buf_finish(&out);
    return text;
}

static bool draw_form(struct drawing *d)
{
    const struct revision_facts *facts = session_knows(d->session);
    struct str schema = STR_NONE;

    if (d->record->detail.len) {
        schema = form_text(d, facts->form);
        if (!schema.len)
            return false;
    }
    d->confirm = !schema.len && d->session->boolean_confirm;
    if (facts->modes)
        jw_key_str(&d->w, STR("mode"), STR("form"));
    jw_key_str(&d->w, STR("message"), message_text(&d->arena, d->record->message, d->problems));
    jw_key(&d->w, STR("requestedSchema"));
    if (schema.len)
        jw_raw(&d->w, schema);
    else
        write_empty_form(&d->w, d->confirm);
    return true;
}

static bool draw_url(struct drawing *d)
{
    jw_key_str(&d->w, STR("mode"), STR("url"));
    jw_key_str(&d->w, STR("message"), message_text(&d->arena, d->record->message, d->problems));
    jw_key_str(&d->w, STR("url"), d->record->url);
    jw_key_str(&d->w, STR("elicitationId"), d->record->id);
    return true;
}

static bool draw_sample(struct drawing *d)
{
    const struct json *params = json_parse(&d->arena, d->record->detail, NULL, NULL);

    if (!json_is(params, JSON_OBJECT))
        return false;
    /* Tools MUST NOT be sent to a client that has not said it takes them. */
    if ((json_get(params, STR("tools")) || json_get(params, STR("toolChoice"))) &&
        !(d->session->can & CLIENT_CAN_SAMPLE_TOOLS))
        return false;
    JSON_EACH (member, params)
        jw_key_value(&d->w, member->key, member);
    return true;
}

static bool draw_roots(struct drawing *d)
{
    (void)d;
    return true;
}

static const struct {
    struct str method;
    bool (*draw)(struct drawing *d); /* writes the members of params */
} drawings[] = {
    [ASK_FORM] = { STR_INIT("elicitation/create"), draw_form },
    [ASK_APPROVAL] = { STR_INIT("elicitation/create"), draw_form },
    [ASK_URL] = { STR_INIT("elicitation/create"), draw_url },
    [ASK_SAMPLE] = { STR_INIT("sampling/createMessage"), draw_sample },
    [ASK_ROOTS] = { STR_INIT("roots/list"), draw_roots },
};

/* Writes the whole request into server->out. */
static bool draw(struct drawing *d, struct str id)
{
    struct buf *out = &d->session->server->out;

    buf_clear(out);
    json_writer_init(&d->w, out);
    jw_object(&d->w);
    jw_key_str(&d->w, STR("jsonrpc"), STR("2.0"));
    jw_key_raw(&d->w, STR("id"), id);
    jw_key_str(&d->w, STR("method"), drawings[d->record->kind].method);
    jw_key(&d->w, STR("params"));
    jw_object(&d->w);
    bool fine = drawings[d->record->kind].draw(d);
    jw_end(&d->w);
    jw_end(&d->w);
    return fine && json_writer_done(&d->w);
}

static void client_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    struct caller2025 *call = caller2025_of(ask_call(ask));
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
    bool drawn = draw(&d, id);
    arena_finish(&d.arena);
    if (!drawn) {
        buf_clear(out);
        ask_offered(ask, surface, OFFER_UNRENDERED);
        return;
    }
    offer_make(call, record->id, attempt)->confirm = d.confirm;
    if (record->kind == ASK_URL)
        url_note(client_of(surface), call->session, record->id);
    if (record->seq && attempt == 1)
        mcp_stream_send_at(call->stream, (uint32_t)record->seq, buf_str(out));
    else
        mcp_stream_send(call->stream, EVENT_KEPT, buf_str(out));
    buf_clear(out);
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void client_withdraw(struct surface *surface, struct ask *ask, struct str why,
                            const struct winner *winner)
{
    struct caller2025 *call = caller2025_of(ask_call(ask));
    struct str ask_id = ask_record(ask)->id;
    struct offer *offer = call ? offer_find(call, ask_id) : NULL;
    char id_text[CLIENT_WIRE_ID_MAX];
    struct json_writer w;

    (void)surface, (void)winner;
    if (!offer)
        return;
    if (!offer->answered && call->session) {
        struct buf *out = &call->session->server->out;
        buf_clear(out);
        json_writer_init(&w, out);
        jw_object(&w);
        jw_key_str(&w, STR("jsonrpc"), STR("2.0"));
        jw_key_str(&w, STR("method"), STR("notifications/cancelled"));
        jw_key(&w, STR("params"));
        jw_object(&w);
        jw_key_raw(&w, STR("requestId"), wire_id(ask_id, offer->attempt, id_text));
        jw_key_str(&w, STR("reason"), why);
        jw_end(&w);
        jw_end(&w);
        if (json_writer_done(&w))
            mcp_stream_send(call->stream, EVENT_KEPT, buf_str(out));
        buf_clear(out);
    }
    offer_drop(call, offer);
}

/* --- what comes back --- */

/* What a response says to a question. */
enum reading {
    READ_ANSWER,  /* action and content */
    READ_NOTHING, /* the client has no handler, or it broke: nobody has refused anything */
};

struct response {
    enum reading reading;
    enum ask_state action;
    const struct json *content;
    bool too_large; /* there was more than can be held here */
};

/* Content that fits no question: the answer is invalid, and says nothing about consent. */
static const struct json not_an_object = { .type = JSON_STRING };

static const struct response unfit = { .action = ASK_ACCEPTED, .content = &not_an_object };

/* null says no more than nothing. */
static const struct json *content_of(const struct json *result)
{
    const struct json *content = json_get(result, STR("content"));

    return json_is(content, JSON_NULL) ? NULL : content;
}

static struct response read_form(bool confirm, const struct json *content)
{
    const struct json *truth = json_get(content, STR("confirm"));

    if (!confirm)
        return (struct response){ .action = ASK_ACCEPTED, .content = content };
    if (!json_is(truth, JSON_BOOL))
        return unfit;
    return (struct response){ .action = truth->truth ? ASK_ACCEPTED : ASK_DECLINED };
}

static struct response read_elicitation(const struct ask_record *record, bool confirm,
                                        const struct json *result)
{
    struct str action = json_get_str(result, STR("action"));
    bool url = record->kind == ASK_URL;

    if (str_eq(action, STR("decline")))
        return (struct response){ .action = ASK_DECLINED };
    if (str_eq(action, STR("cancel")))
        return (struct response){ .action = ASK_CANCELLED };
    if (str_eq(action, STR("accept")) && url)
        return (struct response){ .action = ASK_ACCEPTED };
    if (str_eq(action, STR("accept")))
        return read_form(confirm, content_of(result));
    if (url) /* a link has no content to be invalid */
        return (struct response){ .reading = READ_NOTHING };
    return unfit;
}

/* What was taken down for this client's revision is put back, in `arena`. */
static void read_back(const struct ask_record *record, enum form_revision revision,
                      struct arena *arena, struct response *response)
{
    if (record->kind != ASK_FORM || !record->detail.len || !response->content ||
        revision == FORM_2025_11_25)
        return;
    const struct json *schema = json_parse(arena, record->detail, NULL, NULL);
    response->content = form_read_back(schema, revision, response->content, arena);
    response->too_large |= arena->exhausted;
}

/* `result` is NULL for an error. */
static struct response read_response(const struct ask_record *record, bool confirm,
                                     const struct json *result, int64_t code)
{
    if (!result && record->kind == ASK_SAMPLE && code == SAMPLING_REJECTED)
        return (struct response){ .action = ASK_DECLINED };
    if (!result)
        return (struct response){ .reading = READ_NOTHING };
    if (record->kind == ASK_SAMPLE || record->kind == ASK_ROOTS)
        return (struct response){ .action = ASK_ACCEPTED, .content = result };
    return read_elicitation(record, confirm, result);
}

static const struct json *result_of(const struct rpc_message *message)
{
    return message->kind == RPC_ERROR ? NULL : message->result;
}

static void answer(struct client_surface *client, const struct ask_record *record, int attempt,
                   const struct response *response, answered_fn *done, void *data)
{
    ask_answer(client->server->opts.engine, record->id,
               &(struct answer){ .action = response->action,
                                 .content = response->content,
                                 .by = record->principal,
                                 .scope = record->scope,
                                 .surface = &client->surface,
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

/* Splits `<ask>.<attempt>`; attempt 1 is written without. */
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

/* The ask that is up on this node, with its offer; NULL if there is none in this session. */
static struct ask *find_offered(struct client_surface *client, const struct session *session,
                                struct str ask_id, struct offer **offer)
{
    struct ask *ask = engine_ask(client->server->opts.engine, ask_id);
    struct caller2025 *call = ask ? caller2025_of(ask_call(ask)) : NULL;

    if (!call || call->session != session)
        return NULL;
    *offer = offer_find(call, ask_id);
    return *offer ? ask : NULL;
}

static void stray(struct client_surface *client, const struct rpc_message *message,
                  answered_fn *done, void *data)
{
    client->server->stray++;
    LOG_DEBUG("a response answers nothing that is asked", LOG_STR("id", message->id));
    tell(done, data, NOD_E_NOT_FOUND);
}

/* `attempt` may be one that another node has put since: the store knows which is up. */
static void answer_here(struct client_surface *client, struct ask *ask, struct offer *offer,
                        uint32_t attempt, const struct rpc_message *message, answered_fn *done,
                        void *data)
{
    const struct ask_record *record = ask_record(ask);
    struct response response =
        read_response(record, offer->confirm, result_of(message), message->code);

    /* The same answer once more, because nobody has said yet that the first was stored. */
    bool again = offer->answered || attempt != offer->attempt;
    offer->answered |= attempt == offer->attempt;
    if (response.reading == READ_ANSWER) {
        struct arena arena;
        arena_init(&arena, CLIENT_ARENA_MAX);
        read_back(record, session_knows(caller2025_of(ask_call(ask))->session)->form, &arena,
                  &response);
        answer(client, record, (int)attempt, &response, done, data);
        arena_finish(&arena);
        return;
    }
    LOG_DEBUG("the client has no answer", LOG_INT("code", message->code),
              LOG_STR("message", message->text));
    if (!again)
        ask_offered(ask, &client->surface, OFFER_REFUSED);
    tell(done, data, NOD_OK);
}

/* --- answers to what is asked elsewhere ---
 *
 * The client sends its answer to whichever node it likes; the store knows the question. */

struct far_answer {
    struct server_work work; /* first */
    struct client_surface *client;
    struct arena arena;
    struct str scope;
    int attempt;
    enum form_revision form;
    bool boolean_confirm;
    bool too_large;
    const struct json *result; /* NULL: an error */
    int64_t code;
    answered_fn *done;
    void *data;
};

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
        struct response response = read_response(record, confirm, far->result, far->code);
        read_back(record, far->form, &far->arena, &response);
        if (far->too_large)
            response = (struct response){ .action = ASK_ACCEPTED, .too_large = true };
        if (response.reading == READ_ANSWER)
            answer(far->client, record, far->attempt, &response, far->done, far->data);
        else if (record->state == ASK_PENDING && record->attempt != far->attempt)
            tell(far->done, far->data, NOD_OK); /* of an offer that is no longer up */
        else
            ask_unsupported(far->work.server->opts.engine, record->id, far->done, far->data);
    }
    server_work_done(&far->work);
    arena_finish(&far->arena);
    mem_free(far);
}

static void answer_elsewhere(struct client_surface *client, const struct session *session,
                             struct str ask_id, uint32_t attempt, const struct rpc_message *message,
                             answered_fn *done, void *data)
{
    struct mcp_server *server = client->server;
    struct store *store = engine_store(server->opts.engine);
    struct far_answer *far = MEM_NEW(struct far_answer);

    arena_init(&far->arena, CLIENT_ARENA_MAX);
    far->client = client;
    far->scope = arena_str(&far->arena, session_scope(session));
    far->attempt = (int)attempt;
    far->boolean_confirm = session->boolean_confirm;
    far->form = session_knows(session)->form;
    far->result = result_of(message) ? json_copy(&far->arena, result_of(message)) : NULL;
    far->code = message->code;
    far->done = done;
    far->data = data;
    far->too_large = far->arena.exhausted;
    server_work_add(server, &far->work);
    store->ops->load_ask(store, ask_id, far_loaded, far);
}

void client_surface_response(struct surface *surface, struct session *session,
                             const struct rpc_message *message, answered_fn *done, void *data)
{
    struct client_surface *client = client_of(surface);
    struct offer *offer = NULL;
    struct str ask_id;
    uint32_t attempt;

    if (!split_id(rpc_id_text(&client->server->message, message->id), &ask_id, &attempt)) {
        stray(client, message, done, data);
        return;
    }
    struct ask *ask = find_offered(client, session, ask_id, &offer);
    bool survives = server_survives(client->server) && !session->lines;
    bool newer = ask && survives && attempt > offer->attempt; /* by another node */
    if (ask && (offer->attempt == attempt || newer) && (!offer->answered || survives))
        answer_here(client, ask, offer, attempt, message, done, data);
    else if (!ask && survives && ask_id.len == ID_LEN)
        answer_elsewhere(client, session, ask_id, attempt, message, done, data);
    else
        stray(client, message, done, data);
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
