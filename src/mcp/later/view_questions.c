/*
 * mcp/later/view_questions: the tool nodQuestions: what waits for this principal and is offered to
 * views.
 *
 *     {tool, arguments, requestId, callId, known, now} ▶ {now, questions, ended, waiting}
 *
 * A question is given to requests of the chat whose call it is, to those that name that call by the
 * handle in its pending result (callId), and to those that know its nonce: see view_is_own. So any
 * other process that speaks for the same principal is given nothing, and a request of 2026 over
 * HTTP nothing before the pending result.
 *
 * What the host has told the view narrows the list: only questions of that tool, with those
 * arguments, of that call. If the id of the host's request is among them, only those of that id:
 * a host behind a proxy has other ids than we see, so an id that nobody has narrows nothing. All of
 * this is in the records, so the list is narrowed before it is cut to what a view is given. The
 * nonces of questions that the view shows are `known`. The request is held until there is something
 * that the view does not know, a new question or the end of a known one, for at most VIEW_HOLD_MS;
 * with `now` it is not held. A known question that waits is said to wait: somebody may be typing in
 * it.
 *
 * The records in the store are the truth (view_record.c). One look lists those of the principal,
 * and reads the asks of those that may be shown; then their calls, one after the other, those first
 * that the host's request or the view knows. There is a look when something comes up or ends on
 * this node, and every VIEW_LOOK_MS for what happens on others. The more requests of a principal
 * are held, the longer each of them waits for its next look: all of them together cost no more.
 *
 * Looks wait in line, and a reply has one large question at most: however small the request, the
 * reply takes no long turn of the loop. If not all fit into a reply, it says that there are more:
 * the next request, which knows those, is given others.
 *
 * Holds always: a question is given with the arguments of its call, or not at all. Of a known
 * question that waits, the view is told so, and it is not given again.
 *
 * Each question is written as the inbox has it, in one text, so no number changes on the way.
 */
#include "base/mem.h"
#include "mcp/later/view_inside.h"
#include "mcp/wire/failure.h"

enum {
    VIEW_HOLD_MS = 20000,         /* how long a request of nodQuestions is held */
    VIEW_LOOK_MS = 1000,          /* between two looks at what other nodes do */
    VIEW_SHOWN_MAX = 64,          /* questions that a view is given; as many may be `known` */
    VIEW_KEPT_MAX = 128,          /* of one look: those that are known, and as many others */
    VIEW_ROW_ARENA = 64 << 10,    /* memory of a record while it is read */
    VIEW_LISTED_MAX = 100,        /* records that are read at a time */
    VIEW_PAGES_MAX = 20,          /* times that so many are read */
    VIEW_LOOK_BYTES = 24 << 20,   /* memory of one look */
    VIEW_READ_BYTES = 8 << 20,    /* bytes of arguments that one look reads */
    VIEW_REPLY_BYTES = 512 << 10, /* bytes of a reply's questions, but for a single large one */
    VIEW_REPLY_MAX = 8 << 20,     /* bytes of that one */
    VIEW_REST_MAX = 1 << 20,      /* bytes of what else is in it */
    VIEW_HELD_MAX = 64,           /* requests of one principal that are held */
    VIEW_GAP_MS = 20,             /* between two looks of one of them, for each that is held */
};

struct wait {
    struct server_work work; /* first; in the server's list while a look is under way */
    struct queue_turn turn;  /* in server->queue, while a look waits or is under way */
    struct list link;
    struct views *views;
    struct run *run; /* NULL: it is over */
    struct str tool, call, request;
    const struct json *known;
    char owner[VIEW_OWNER_LEN + 1];
    char args[VIEW_ARGS_LEN + 1]; /* empty: the host has told none */
    char chat[VIEW_CHAT_LEN + 1]; /* that the request is of; may be empty */
    struct timer timer;
    int64_t until;
    int64_t looked_ms; /* when the last look began */
    bool looking, again, failed;
    /* One look. */
    struct arena arena;
    struct view_shown *shown;
    size_t count, unknown, loading, pages;
    size_t order[VIEW_KEPT_MAX], next; /* see comes_before; which call is read next */
    size_t given, read, bytes;         /* what is given; bytes of what was read, and is given */
    bool more;                         /* something waits that is not given */
    bool cut;                          /* there are records that were not read */
    bool quiet;                        /* nothing is new, and no call was read */
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
    if (queue_waits(&wait->turn))
        queue_end(&wait->views->server->queue, &wait->turn);
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
    struct str id = view_ask_id(record); /* no secret: it is compared first, as it is faster */

    JSON_EACH (one, wait->known)
        if (str_starts(one->text, id) && view_nonce_is(record, one->text))
            return true;
    return false;
}

static bool is_pending(const struct wait *wait, const struct view_shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    return ask->id.len && ask->state == ASK_PENDING && !shown->record.over &&
           ask->expires_ms > server_now(wait->views->server) && view_is_up(wait->views, ask->id);
}

/* The view has it, and it is not over: it can be answered, or its end is told soon. */
static bool still_waits(const struct wait *wait, const struct view_shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    return shown->known && (shown->unread || (ask->id.len && ask->state == ASK_PENDING &&
                                              view_is_up(wait->views, ask->id)));
}

/* Is it of what the host has told? Arguments that cannot be compared may be the host's. */
static bool fits(const struct wait *wait, const struct view_record *record)
{
    const struct catalog *catalog = wait->views->server->opts.catalog;

    return (!wait->tool.len || catalog_calls(catalog, wait->tool, record->tool)) &&
           (!wait->call.len || str_eq(wait->call, id_str(&record->call))) &&
           (!wait->args[0] || !record->args[0] || strcmp(wait->args, record->args) == 0);
}

/* If some are of the host's request, only those of that request are. */
static bool is_narrowed(const struct wait *wait, const struct view_shown *shown)
{
    for (size_t i = 0; shown->rank != VIEW_RANK_REQUEST && i < wait->count; i++) {
        const struct view_shown *one = &wait->shown[i];
        if (one->rank == VIEW_RANK_REQUEST &&
            (!one->hidden || (one->known && is_pending(wait, one))))
            return true;
    }
    return shown->rank == VIEW_RANK_ASIDE;
}

/* The call of a question is here: does it fit? */
static void show(struct wait *wait, struct view_shown *shown, const struct call_record *call)
{
    size_t size = view_question_size(&shown->ask, call);

    wait->read += call->args.len;
    if (size <= (wait->given ? VIEW_REPLY_BYTES - wait->bytes : VIEW_REPLY_MAX)) {
        wait->arena.exhausted = false; /* a smaller one may fit after a large one */
        shown->args = arena_str(&wait->arena, call->args);
        shown->client = arena_str(&wait->arena, call->client);
        shown->hidden = wait->arena.exhausted;
    }
    if (shown->hidden) {
        wait->more = true;
    } else {
        wait->bytes +=
            size < VIEW_REPLY_BYTES - wait->bytes ? size : VIEW_REPLY_BYTES - wait->bytes;
        wait->given++;
    }
}

/* --- one look: the reply --- */

/* What the view has and is not given again. If not all records were read, those that were not may
 * wait: the view keeps them until they expire. */
static void write_waiting(struct json_writer *w, const struct wait *wait)
{
    jw_key(w, STR("waiting"));
    jw_array(w);
    for (size_t i = 0; i < wait->count; i++) {
        const struct view_shown *shown = &wait->shown[i];
        if (shown->hidden && still_waits(wait, shown))
            view_write_waiting(w, str_of(shown->record.nonce), !is_narrowed(wait, shown));
    }
    JSON_EACH (one, wait->cut ? wait->known : NULL) {
        size_t i = 0;
        while (i < wait->count &&
               !(wait->shown[i].known && view_nonce_is(&wait->shown[i].record, one->text)))
            i++;
        if (i == wait->count) /* it was not read */
            view_write_waiting(w, one->text, true);
    }
    jw_end(w);
}

static void write_all(struct json_writer *w, const struct wait *wait)
{
    jw_object(w);
    jw_key_time(w, STR("now"), server_now(wait->views->server));
    jw_key(w, STR("questions"));
    jw_array(w);
    for (size_t i = 0; i < wait->count; i++)
        if (!wait->shown[wait->order[i]].hidden)
            view_write_question(w, wait->views, &wait->shown[wait->order[i]]);
    jw_end(w);
    jw_key(w, STR("ended"));
    jw_array(w);
    for (size_t i = 0; i < wait->count; i++) {
        const struct view_shown *shown = &wait->shown[i];
        if (shown->known && shown->ask.id.len && shown->ask.state != ASK_PENDING)
            view_write_ended(w, shown);
    }
    jw_end(w);
    write_waiting(w, wait);
    if (wait->more)
        jw_key_bool(w, STR("more"), true);
    jw_end(w);
}

static void reply(struct wait *wait)
{
    struct buf text, body;
    struct json_writer w;

    for (size_t i = 0; i < wait->count; i++)
        if (!wait->shown[i].hidden)
            view_seen(wait->views, &wait->shown[i].record, wait->shown[i].ask.expires_ms);
    buf_init(&text, VIEW_REPLY_MAX + VIEW_REST_MAX);
    buf_init(&body, 2 * (VIEW_REPLY_MAX + VIEW_REST_MAX));
    json_writer_init(&w, &text);
    write_all(&w, wait);
    bool fine = json_writer_done(&w);
    json_writer_init(&w, &body);
    jw_object(&w);
    content_text(&w, buf_str(&text));
    jw_end(&w);
    if (fine && json_writer_done(&w))
        wait_end(wait, NOD_OK, buf_str(&body));
    else
        wait_fail(wait, NOD_E_LIMIT, "What waits does not fit into a reply.");
    buf_finish(&text);
    buf_finish(&body);
}

/* Is there something that the view does not know? As far as the asks tell, or the calls as well. */
static bool is_news(const struct wait *wait, bool calls)
{
    size_t known = wait->known ? wait->known->count : 0, read = 0, still = 0;

    for (size_t i = 0; i < wait->count; i++) {
        const struct view_shown *shown = &wait->shown[i];
        if (!shown->known && (calls ? !shown->hidden : is_pending(wait, shown)))
            return true;
        read += shown->known;
        still += still_waits(wait, shown);
    }
    return still < (wait->cut ? read : known);
}

static void timer_fired(void *data)
{
    look(data);
}

static size_t held_by(const struct views *views, const char *owner)
{
    size_t count = 0;

    LIST_EACH (at, &views->waits)
        count += !memcmp(LIST_OF(at, struct wait, link)->owner, owner, VIEW_OWNER_LEN);
    return count;
}

static int64_t gap_of(const struct views *views, const char *owner)
{
    return (int64_t)held_by(views, owner) * VIEW_GAP_MS;
}

/* Looks again so long after the last look began, or when the request ends. */
static void look_after(struct wait *wait, int64_t ms)
{
    struct loop *loop = wait->views->server->opts.loop;
    int64_t at = wait->looked_ms + ms < wait->until ? wait->looked_ms + ms : wait->until;
    int64_t now = loop_now(loop);

    timer_set(loop, &wait->timer, at > now ? at - now : 0, timer_fired, wait);
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
    if (wait->failed) {
        wait_fail(wait, NOD_E_STORE, STORE_AWAY ", and nothing was done; try again later.");
        wait_settle(wait);
    } else if (left <= 0 || (!wait->quiet && is_news(wait, true))) {
        reply(wait);
        wait_settle(wait);
    } else if (wait->again) {
        look_after(wait, gap_of(wait->views, wait->owner));
    } else {
        int64_t gap = gap_of(wait->views, wait->owner);
        look_after(wait, gap > VIEW_LOOK_MS ? gap : VIEW_LOOK_MS);
    }
}

/* --- one look: reading --- */

static void look_done(struct wait *wait)
{
    if (wait->work.server) {
        queue_went(&wait->work.server->queue, !wait->failed);
        queue_end(&wait->work.server->queue, &wait->turn);
        server_work_done(&wait->work);
    }
    looked(wait);
}

static void next_call(struct wait *wait);

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct wait *wait = data;

    if (wait->run && status == NOD_OK)
        show(wait, &wait->shown[wait->order[wait->next - 1]], reply->call);
    wait->failed |= status == NOD_E_STORE;
    next_call(wait);
}

static void next_call(struct wait *wait)
{
    struct store *store;

    while (wait->run && wait->work.server && !wait->failed && wait->next < wait->count) {
        const struct view_shown *shown = &wait->shown[wait->order[wait->next++]];
        if (shown->known || !is_pending(wait, shown) || is_narrowed(wait, shown))
            continue;
        if (wait->read > VIEW_READ_BYTES || wait->given == VIEW_SHOWN_MAX ||
            wait->bytes == VIEW_REPLY_BYTES) {
            wait->more = true;
            break;
        }
        store = engine_store(wait->views->server->opts.engine);
        store->ops->load_call(store, shown->ask.call_id, call_loaded, wait);
        return;
    }
    look_done(wait);
}

/* By rank, and of the same rank in the order in which they were asked. */
static bool comes_before(const struct view_shown *a, const struct view_shown *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->ask.asked_ms != b->ask.asked_ms)
        return a->ask.asked_ms < b->ask.asked_ms;
    return str_cmp(a->ask.id, b->ask.id) < 0;
}

static void load_calls(struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        size_t at = i;
        for (; at > 0 && comes_before(&wait->shown[i], &wait->shown[wait->order[at - 1]]); at--)
            wait->order[at] = wait->order[at - 1];
        wait->order[at] = i;
    }
    if (wait->run)
        wait->quiet =
            !is_news(wait, false) && wait->until > loop_now(wait->views->server->opts.loop);
    if (wait->quiet) /* the calls would say nothing new */
        look_done(wait);
    else
        next_call(wait);
}

struct loading { /* in the arena */
    struct wait *wait;
    struct view_shown *shown;
};

static void part_loaded(struct wait *wait)
{
    if (--wait->loading == 0)
        load_calls(wait);
}

static void ask_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct wait *wait = loading->wait;

    if (wait->run && status == NOD_OK) {
        wait->arena.exhausted = false;
        loading->shown->ask = ask_record_copy(&wait->arena, reply->ask);
        if (wait->arena.exhausted) {
            loading->shown->ask = (struct ask_record){ 0 };
            loading->shown->unread = wait->more = true;
        }
    }
    wait->failed |= status == NOD_E_STORE;
    part_loaded(wait);
}

static void load_asks(struct wait *wait)
{
    struct store *store = engine_store(wait->views->server->opts.engine);

    wait->loading = 1; /* for this function */
    for (size_t i = 0; i < wait->count; i++) {
        struct loading *loading = ARENA_NEW(&wait->arena, struct loading);
        if (!loading) {
            wait->shown[i].unread = wait->more = true;
            continue;
        }
        *loading = (struct loading){ wait, &wait->shown[i] };
        wait->loading++;
        store->ops->load_ask(store, view_ask_id(&wait->shown[i].record), ask_loaded, loading);
    }
    part_loaded(wait);
}

/* Where the record is kept. What is known always has a place. If there is no more room for others,
 * one of the host's request takes the place of one that is not. */
static struct view_shown *place(struct wait *wait, const struct view_shown *read)
{
    bool room = read->known || wait->unknown < VIEW_KEPT_MAX - VIEW_SHOWN_MAX;

    if (room && wait->count < VIEW_KEPT_MAX) {
        wait->unknown += !read->known;
        return &wait->shown[wait->count++];
    }
    wait->more = true;
    for (size_t i = wait->count; read->rank == VIEW_RANK_REQUEST && i--;)
        if (wait->shown[i].rank == VIEW_RANK_OTHER)
            return &wait->shown[i];
    return NULL;
}

/* Its text is in the arena of the row. */
static void keep(struct wait *wait, struct view_shown *read)
{
    bool mine = fits(wait, &read->record);
    struct view_shown *to;

    read->known = is_known(wait, &read->record);
    if (!read->known &&
        (!mine || read->record.over || !view_is_own(&read->record, wait->chat, wait->call)))
        return;
    read->rank = !mine ? VIEW_RANK_ASIDE : read->known ? VIEW_RANK_KNOWN : VIEW_RANK_OTHER;
    if (mine && wait->request.len && str_eq(read->record.request, wait->request))
        read->rank = VIEW_RANK_REQUEST;
    if (!(to = place(wait, read)))
        return;
    *to = *read;
    to->record.tool = arena_str(&wait->arena, read->record.tool);
    to->record.request = arena_str(&wait->arena, read->record.request);
}

static void row(void *data, const struct store_row *row)
{
    struct wait *wait = data;
    struct view_shown read = { .hidden = true };
    struct arena arena;

    if (!wait->run || !wait->shown || !row->value)
        return;
    arena_init(&arena, VIEW_ROW_ARENA);
    if (view_record_read(&arena, row->value->key, row->value->value, row->value->version,
                         &read.record))
        keep(wait, &read);
    arena_finish(&arena);
}

static void list_page(struct wait *wait, struct str cursor);

static void page_listed(void *data, nod_status status, const struct store_reply *reply)
{
    struct wait *wait = data;
    bool here = wait->work.server;

    wait->failed = status != NOD_OK;
    wait->cut = status == NOD_OK && reply->cursor.len; /* unless it is read as well */
    wait->more |= wait->cut && wait->pages + 1 == VIEW_PAGES_MAX;
    if (here && wait->run && status == NOD_OK && reply->cursor.len &&
        ++wait->pages < VIEW_PAGES_MAX) {
        list_page(wait, arena_str(&wait->arena, reply->cursor));
        return;
    }
    if (here && wait->run && !wait->failed) {
        load_asks(wait);
        return;
    }
    look_done(wait);
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

static void look_begin(struct queue_turn *turn)
{
    struct wait *wait = LIST_OF(turn, struct wait, turn);

    arena_finish(&wait->arena);
    arena_init(&wait->arena, VIEW_LOOK_BYTES);
    wait->looking = true;
    wait->failed = wait->more = wait->cut = wait->quiet = false;
    wait->count = wait->unknown = wait->pages = wait->next = 0;
    wait->given = wait->read = wait->bytes = 0;
    wait->looked_ms = loop_now(wait->views->server->opts.loop);
    wait->shown = arena_zalloc(&wait->arena, VIEW_KEPT_MAX * sizeof(*wait->shown));
    server_work_add(wait->views->server, &wait->work);
    list_page(wait, STR_NONE);
}

static void look(struct wait *wait)
{
    timer_stop(wait->views->server->opts.loop, &wait->timer);
    wait->again = wait->looking;
    if (!queue_has(&wait->turn))
        queue_wait(&wait->views->server->queue, &wait->turn, str_of(wait->owner), look_begin);
}

/* --- requests --- */

static void view_questions_start(struct own_tool *tool, struct run *run)
{
    struct views *views = tool->data;
    struct wait *wait;
    const struct json *args = run->args;
    char owner[VIEW_OWNER_LEN + 1];

    view_owner(run->principal, owner);
    if (held_by(views, owner) >= VIEW_HELD_MAX) {
        run_done(run,
                 run_fail(run, NOD_E_LIMIT, NULL,
                          STR("64 requests of nodQuestions are held for this principal: wait until "
                              "one of them ends.")),
                 STR_NONE);
        return;
    }
    wait = MEM_NEW(struct wait);
    memcpy(wait->owner, owner, sizeof(owner));
    wait->views = views;
    wait->run = run;
    run->handle = wait;
    wait->tool = json_get_str(args, STR("tool"));
    wait->call = json_get_str(args, STR("callId"));
    wait->request = rpc_id_of(&run->arena, json_get(args, STR("requestId")));
    if (json_get(args, STR("arguments")))
        view_args(json_get(args, STR("arguments")), wait->args);
    view_chat(views, run->call, run->principal, wait->chat);
    wait->known = json_get(args, STR("known"));
    wait->until = loop_now(views->server->opts.loop) +
                  (json_true(json_get(args, STR("now"))) ? 0 : VIEW_HOLD_MS);
    arena_init(&wait->arena, VIEW_LOOK_BYTES);
    list_append(&views->waits, &wait->link);
    look(wait);
}

static void view_questions_cancelled(struct run *run)
{
    struct wait *wait = run->handle;

    if (!wait)
        return;
    wait_end(wait, NOD_E_CANCELLED, STR_NONE);
    wait_settle(wait);
}

const struct own_tool_ops view_questions_ops = { .start = view_questions_start,
                                                 .cancelled = view_questions_cancelled,
                                                 .released = view_released };

void view_questions_look(struct views *views, const struct view_record *record)
{
    int64_t gap = gap_of(views, record->key);

    LIST_EACH (at, &views->waits) {
        struct wait *wait = LIST_OF(at, struct wait, link);
        if (memcmp(wait->owner, record->key, VIEW_OWNER_LEN) != 0)
            continue;
        if (wait->looking)
            wait->again = true;
        else
            look_after(wait, gap);
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
