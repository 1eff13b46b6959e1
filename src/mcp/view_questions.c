/*
 * mcp/view_questions: the tool nodQuestions: what waits for this principal and is offered to views.
 *
 *     {tool, arguments, requestId, callId, known, now} ▶ {now, questions: [...], ended: [...]}
 *
 * What the host has told the view narrows the list: only questions of that tool, with those
 * arguments, of that call. If the id of the host's request is among them, only those of that id:
 * a host behind a proxy has other ids than we see, so an id that nobody has narrows nothing. The
 * nonces of questions that the view shows are `known`. The request is held until there is something
 * that the view does not know, a new question or the end of a known one, for at most VIEW_HOLD_MS;
 * with `now` it is not held.
 *
 * The records in the store are the truth (view_record.c). One look lists those of the principal,
 * and reads the asks and calls of those that may be shown. There is a look when something comes up
 * or ends on this node, and every VIEW_LOOK_MS for what happens on others.
 *
 * Each question is written as the inbox has it, in one text, so no number changes on the way.
 *
 * Holds always: a question is given to a view with all that it was asked with, or not at all. What
 * there is no room for comes when others have been answered; those of the host's request are first.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/tasks.h"
#include "mcp/view_inside.h"

enum {
    VIEW_HOLD_MS = 20000,       /* how long a request of nodQuestions is held */
    VIEW_LOOK_MS = 1000,        /* between two looks at what other nodes do */
    VIEW_SHOWN_MAX = 64,        /* questions that a view is given; as many may be `known` */
    VIEW_LISTED_MAX = 100,      /* records that are read at a time */
    VIEW_PAGES_MAX = 20,        /* times that so many are read */
    VIEW_LOOK_BYTES = 16 << 20, /* memory of one look */
    VIEW_ARGS_BYTES = 64 << 20, /* memory of arguments while they are compared */
    VIEW_REPLY_MAX = 8 << 20,   /* bytes of a reply */
    VIEW_MEMBERS_MAX = 8 << 10, /* bytes of a question beside its texts and its JSON */
};

struct shown {
    struct view_record record;
    struct ask_record ask; /* id empty: it is not there */
    struct str args, client;
    bool known;         /* the view has it */
    bool asked, called; /* all of the ask, and of the call, was read */
    bool hidden;        /* not one that the view is for, or there is no room */
};

struct wait {
    struct server_work work; /* first; in the server's list while a look is under way */
    struct list link;
    struct views *views;
    struct run *run; /* NULL: it is over */
    struct str tool, call, request;
    const struct json *args, *known;
    char owner[VIEW_OWNER_LEN + 1];
    struct timer timer;
    int64_t until;
    bool looking, again, failed;
    /* One look. */
    struct arena arena;
    struct shown *shown;
    size_t count, loading, pages;
};

struct loading { /* in the arena */
    struct wait *wait;
    struct shown *shown;
};

static void look(struct wait *wait);

/* --- the end of a request --- */

static void wait_settle(struct wait *wait)
{
    if (wait->run || wait->looking)
        return;
    arena_finish(&wait->arena);
    mem_free(wait);
}

static void wait_end(struct wait *wait, nod_status status, struct str body)
{
    struct run *run = wait->run;

    wait->run = NULL;
    list_remove(&wait->link);
    timer_stop(wait->views->server->opts.loop, &wait->timer);
    run->handle = NULL;
    run_done(run, status, body);
}

static void wait_fail(struct wait *wait, nod_status status, const char *message)
{
    wait_end(wait, run_fail(wait->run, status, NULL, str_of(message)), STR_NONE);
}

/* --- one look: what is shown --- */

static bool is_known(const struct wait *wait, const struct view_record *record)
{
    JSON_EACH (one, json_is(wait->known, JSON_ARRAY) ? wait->known : NULL)
        if (json_is(one, JSON_STRING) && view_nonce_is(record, one->text))
            return true;
    return false;
}

static bool is_pending(const struct wait *wait, const struct shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    return ask->id.len && ask->state == ASK_PENDING && !shown->record.over &&
           ask->expires_ms > server_now(wait->views->server) && view_is_up(wait->views, ask->id);
}

static bool has_arguments(const struct wait *wait, struct str text)
{
    struct arena arena;

    if (!wait->args)
        return true;
    arena_init(&arena, VIEW_ARGS_BYTES);
    const struct json *args = json_parse(&arena, text, NULL, NULL);
    bool same = args && json_equal(args, wait->args);
    arena_finish(&arena);
    return same;
}

/* Of those that are left, only those of the host's request, if there are any. */
static void narrow_by_request(struct wait *wait)
{
    bool any = false;

    for (size_t i = 0; i < wait->count && wait->request.len; i++)
        any |= !wait->shown[i].hidden && str_eq(wait->shown[i].record.request, wait->request);
    for (size_t i = 0; any && i < wait->count; i++)
        if (!str_eq(wait->shown[i].record.request, wait->request))
            wait->shown[i].hidden = true;
}

/* What there is no room for in a reply is hidden: it comes when others have been answered. */
static void narrow_by_room(struct wait *wait)
{
    size_t room = VIEW_REPLY_MAX - VIEW_REPLY_MAX / 8; /* the rest is for how others ended */

    for (size_t i = 0; i < wait->count; i++) {
        struct shown *shown = &wait->shown[i];
        const struct ask_record *ask = &shown->ask;
        size_t text = ask->message.len + ask->principal.len + 2 * ask->target.len;
        size_t size =
            shown->args.len + ask->detail.len + shown->client.len + 6 * text + VIEW_MEMBERS_MAX;
        if (shown->hidden || size > room)
            shown->hidden = true;
        else
            room -= size;
    }
}

static void narrow(struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct shown *shown = &wait->shown[i];
        shown->hidden = !shown->asked || !shown->called || !is_pending(wait, shown);
    }
    narrow_by_request(wait);
    narrow_by_room(wait);
}

/* --- one look: the reply --- */

static void write_tool(struct json_writer *w, const struct wait *wait, const struct shown *shown)
{
    const struct target *tool =
        catalog_find(wait->views->server->opts.catalog, TARGET_TOOL, shown->ask.target);

    jw_key_str(w, STR("tool"), shown->ask.target);
    jw_key_str(w, STR("title"), tool && tool->title.len ? tool->title : shown->ask.target);
    jw_key_bool(w, STR("destructive"), tool && tool->destructive);
}

static void raw_or(struct json_writer *w, struct str key, struct str json, struct str or)
{
    jw_key_raw(w, key, json.len ? json : or);
}

static void write_question(struct json_writer *w, const struct wait *wait,
                           const struct shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    jw_object(w);
    jw_key_str(w, STR("nonce"), str_of(shown->record.nonce));
    jw_key_str(w, STR("id"), ask->id);
    jw_key_str(w, STR("executionId"), ask->call_id);
    jw_key_str(w, STR("kind"), ask->kind == ASK_APPROVAL ? STR("approval") : STR("form"));
    jw_key_str(w, STR("state"), STR("pending"));
    write_tool(w, wait, shown);
    jw_key_bool(w, STR("consent"), ask->consent);
    jw_key_str(w, STR("message"), ask->message);
    raw_or(w, STR("schema"), ask->detail, STR("null"));
    raw_or(w, STR("arguments"), shown->args, STR("{}"));
    jw_key_str(w, STR("principal"), ask->principal);
    raw_or(w, STR("client"), shown->client, STR("null"));
    jw_key_str(w, STR("server"), wait->views->server->opts.name);
    task_write_time(w, STR("askedAt"), ask->asked_ms);
    task_write_time(w, STR("expiresAt"), ask->expires_ms);
    jw_key_i64(w, STR("attempt"), ask->attempt);
    jw_end(w);
}

static void write_ended(struct json_writer *w, const struct shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    jw_object(w);
    jw_key_str(w, STR("nonce"), str_of(shown->record.nonce));
    jw_key_str(w, STR("state"), ask_state_name(ask->state));
    jw_key_str(w, STR("by"), ask->by);
    jw_key_str(w, STR("via"), ask->via);
    if (ask->ended_ms)
        task_write_time(w, STR("at"), ask->ended_ms);
    jw_end(w);
}

static void write_all(struct json_writer *w, const struct wait *wait)
{
    jw_object(w);
    task_write_time(w, STR("now"), server_now(wait->views->server));
    jw_key(w, STR("questions"));
    jw_array(w);
    for (size_t i = 0; i < wait->count; i++)
        if (!wait->shown[i].hidden)
            write_question(w, wait, &wait->shown[i]);
    jw_end(w);
    jw_key(w, STR("ended"));
    jw_array(w);
    for (size_t i = 0; i < wait->count; i++) {
        const struct shown *shown = &wait->shown[i];
        if (shown->known && shown->ask.id.len && shown->ask.state != ASK_PENDING)
            write_ended(w, shown);
    }
    jw_end(w);
    jw_end(w);
}

static void reply(struct wait *wait)
{
    struct buf text, body;
    struct json_writer w;

    buf_init(&text, VIEW_REPLY_MAX);
    buf_init(&body, 2 * VIEW_REPLY_MAX);
    json_writer_init(&w, &text);
    write_all(&w, wait);
    bool fine = json_writer_done(&w);
    for (size_t i = 0; i < wait->count; i++)
        if (!wait->shown[i].hidden)
            view_seen(wait->views, &wait->shown[i].record, wait->shown[i].ask.expires_ms);
    json_writer_init(&w, &body);
    jw_object(&w);
    jw_key(&w, STR("content"));
    jw_array(&w);
    jw_object(&w);
    jw_key_str(&w, STR("type"), STR("text"));
    jw_key_str(&w, STR("text"), buf_str(&text));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    if (fine && json_writer_done(&w))
        wait_end(wait, NOD_OK, buf_str(&body));
    else
        wait_fail(wait, NOD_E_LIMIT, "What waits does not fit into a reply.");
    buf_finish(&text);
    buf_finish(&body);
}

/* Is there something that the view does not know? */
static bool is_news(const struct wait *wait)
{
    size_t known = 0, still = 0;

    JSON_EACH (one, json_is(wait->known, JSON_ARRAY) ? wait->known : NULL)
        known++;
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->shown[i].hidden)
            continue;
        if (!wait->shown[i].known)
            return true;
        still++;
    }
    return still < known;
}

static void timer_fired(void *data)
{
    look(data);
}

static void looked(struct wait *wait)
{
    wait->looking = false;
    if (!wait->run) {
        wait_settle(wait);
        return;
    }
    struct mcp_server *server = wait->views->server;
    int64_t left = wait->until - loop_now(server->opts.loop);
    narrow(wait);
    if (wait->failed) {
        wait_fail(wait, NOD_E_STORE, "The store cannot be reached; try again later.");
        wait_settle(wait);
    } else if (left <= 0 || is_news(wait)) {
        reply(wait);
        wait_settle(wait);
    } else if (wait->again) {
        look(wait);
    } else {
        timer_set(server->opts.loop, &wait->timer, left < VIEW_LOOK_MS ? left : VIEW_LOOK_MS,
                  timer_fired, wait);
    }
}

/* --- one look: reading --- */

static void part_loaded(struct wait *wait)
{
    if (--wait->loading)
        return;
    if (wait->work.server)
        server_work_done(&wait->work);
    looked(wait);
}

static void ask_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct wait *wait = loading->wait;

    if (wait->run && status == NOD_OK) {
        wait->arena.exhausted = false; /* a smaller one may fit after a large one */
        loading->shown->ask = ask_record_copy(&wait->arena, reply->ask);
        loading->shown->asked = !wait->arena.exhausted;
    }
    wait->failed |= status == NOD_E_STORE;
    part_loaded(wait);
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct wait *wait = loading->wait;

    if (wait->run && status == NOD_OK && has_arguments(wait, reply->call->args)) {
        wait->arena.exhausted = false;
        loading->shown->args = arena_str(&wait->arena, reply->call->args);
        loading->shown->client = arena_str(&wait->arena, reply->call->client);
        loading->shown->called = !wait->arena.exhausted;
    }
    wait->failed |= status == NOD_E_STORE;
    part_loaded(wait);
}

/* Those of the host's request are read before there is no room left. */
static void put_request_first(struct wait *wait)
{
    size_t first = 0;

    for (size_t i = 0; i < wait->count && wait->request.len; i++) {
        struct shown other = wait->shown[first];
        if (!str_eq(wait->shown[i].record.request, wait->request))
            continue;
        wait->shown[first++] = wait->shown[i];
        wait->shown[i] = other;
    }
}

static void load_all(struct wait *wait)
{
    struct store *store = engine_store(wait->views->server->opts.engine);

    put_request_first(wait);
    wait->loading = 1 + 2 * wait->count; /* one for this function */
    for (size_t i = 0; i < wait->count; i++) {
        struct loading *loading = ARENA_NEW(&wait->arena, struct loading);
        if (!loading) {
            wait->loading -= 2 * (wait->count - i);
            wait->count = i;
            break;
        }
        *loading = (struct loading){ wait, &wait->shown[i] };
        store->ops->load_ask(store, view_ask_id(&wait->shown[i].record), ask_loaded, loading);
        store->ops->load_call(store, id_str(&wait->shown[i].record.call), call_loaded, loading);
    }
    part_loaded(wait);
}

static void row(void *data, const struct store_row *row)
{
    struct wait *wait = data;
    struct shown *shown = wait->shown ? &wait->shown[wait->count] : NULL;

    if (!wait->run || !shown || !row->value || wait->count == VIEW_SHOWN_MAX)
        return;
    *shown = (struct shown){ 0 };
    if (!view_record_read(&wait->arena, row->value->key, row->value->value, row->value->version,
                          &shown->record))
        return;
    shown->known = is_known(wait, &shown->record);
    if (shown->known ||
        (!shown->record.over && (!wait->tool.len || str_eq(wait->tool, shown->record.tool)) &&
         (!wait->call.len || str_eq(wait->call, id_str(&shown->record.call)))))
        wait->count++;
}

static void list_page(struct wait *wait, struct str cursor);

static void page_listed(void *data, nod_status status, const struct store_reply *reply)
{
    struct wait *wait = data;
    bool here = wait->work.server;

    wait->failed = status != NOD_OK;
    if (here && wait->run && status == NOD_OK && reply->cursor.len &&
        wait->count < VIEW_SHOWN_MAX && ++wait->pages < VIEW_PAGES_MAX) {
        list_page(wait, arena_str(&wait->arena, reply->cursor));
        return;
    }
    if (here && wait->run && !wait->failed) {
        load_all(wait);
        return;
    }
    if (here)
        server_work_done(&wait->work);
    looked(wait);
}

static void list_page(struct wait *wait, struct str cursor)
{
    struct store *store = engine_store(wait->views->server->opts.engine);

    store->ops->list(store,
                     &(struct store_list){ .kind = VIEW_KIND,
                                           .prefix = str_of(wait->owner),
                                           .cursor = cursor,
                                           .limit = VIEW_LISTED_MAX },
                     row, page_listed, wait);
}

static void look(struct wait *wait)
{
    timer_stop(wait->views->server->opts.loop, &wait->timer);
    wait->again = false;
    if (wait->looking) {
        wait->again = true;
        return;
    }
    arena_finish(&wait->arena);
    arena_init(&wait->arena, VIEW_LOOK_BYTES);
    wait->looking = true;
    wait->failed = false;
    wait->count = wait->pages = 0;
    wait->shown = arena_zalloc(&wait->arena, VIEW_SHOWN_MAX * sizeof(*wait->shown));
    server_work_add(wait->views->server, &wait->work);
    list_page(wait, STR_NONE);
}

/* --- requests --- */

void view_questions_start(struct views *views, struct run *run)
{
    struct wait *wait = MEM_NEW(struct wait);
    const struct json *args = run->args;

    wait->views = views;
    wait->run = run;
    run->handle = wait;
    wait->tool = json_get_str(args, STR("tool"));
    wait->call = json_get_str(args, STR("callId"));
    wait->request = rpc_id_of(&run->arena, json_get(args, STR("requestId")));
    wait->args = json_get(args, STR("arguments"));
    if (!json_is(wait->args, JSON_OBJECT))
        wait->args = NULL;
    wait->known = json_get(args, STR("known"));
    wait->until = loop_now(views->server->opts.loop) +
                  (json_true(json_get(args, STR("now"))) ? 0 : VIEW_HOLD_MS);
    view_owner(run->principal, wait->owner);
    arena_init(&wait->arena, VIEW_LOOK_BYTES);
    list_append(&views->waits, &wait->link);
    look(wait);
}

void view_questions_cancelled(struct run *run)
{
    struct wait *wait = run->handle;

    if (!wait)
        return;
    wait_end(wait, NOD_E_CANCELLED, STR_NONE);
    wait_settle(wait);
}

void view_questions_look(struct views *views)
{
    LIST_EACH (at, &views->waits) {
        struct wait *wait = LIST_OF(at, struct wait, link);
        if (wait->looking)
            wait->again = true;
        else
            timer_set(views->server->opts.loop, &wait->timer, 0, timer_fired, wait);
    }
}

void view_questions_drop(struct views *views)
{
    LIST_EACH (at, &views->waits)
        view_questions_cancelled(LIST_OF(at, struct wait, link)->run);
}

/* No question will come: whoever waits is answered. */
void view_questions_stop(struct views *views)
{
    LIST_EACH (at, &views->waits) {
        struct wait *wait = LIST_OF(at, struct wait, link);
        wait->until = 0;
        if (!wait->looking)
            timer_set(views->server->opts.loop, &wait->timer, 0, timer_fired, wait);
    }
}
