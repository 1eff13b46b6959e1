/*
 * surface/shown: asks together with what their calls add: the arguments, the client, the result.
 *
 * A reply shows up to a page of asks, and each has a call of its own. All calls are asked for at
 * once, so a store that is reached over a network is waited for once and not once for each ask.
 *
 * What it reads counts in the share of its reader (http_hold), and past that it is refused, and
 * nothing more is read.
 *
 * Holds always: a request is freed when its last reply of the store has come, or with the inbox,
 * never before. If its client has gone away, nothing is sent.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "surface/inbox_inside.h"

struct loading { /* one ask whose call is being read; in the arena */
    struct shown *shown;
    size_t at;
};

static void client_gone(void *data)
{
    struct shown *shown = data;

    shown->exchange = NULL;
    if (queue_waits(&shown->turn))
        shown_end(shown); /* it has asked the store for nothing */
}

static struct shown *open_in(struct inbox *inbox, struct shown_group *group, size_t size)
{
    struct shown *shown = mem_zalloc(size);

    shown->inbox = inbox;
    shown->viewer.inbox = inbox;
    arena_init(&shown->arena, INBOX_ARENA_MAX);
    shown->group = group;
    list_append(&group->all, &shown->link);
    group->count++;
    return shown;
}

struct shown *shown_open(struct inbox *inbox, size_t size)
{
    return open_in(inbox, &inbox->reads, size);
}

/* Nobody has a whole share before so many are there. */
static bool has_share(const struct shown_group *group, struct str principal)
{
    size_t count = 0;

    if (group->count < group->most)
        return false;
    LIST_EACH (at, &group->all)
        count += str_eq(LIST_OF(at, struct shown, link)->viewer.principal, principal);
    return count >= group->most;
}

struct shown *shown_begin(struct inbox *inbox, struct shown_group *group,
                          const struct front_request *request, size_t size)
{
    if (has_share(group, request->principal)) {
        api_problem(request->exchange, 429,
                    STR("Too many of your requests wait for the store; try again later."));
        return NULL;
    }
    struct shown *shown = open_in(inbox, group, size);
    shown->exchange = request->exchange;
    shown->viewer = viewer_of(inbox, request);
    shown->viewer.principal = arena_str(&shown->arena, shown->viewer.principal);
    http_on_gone(request->exchange, client_gone, shown);
    return shown;
}

void shown_wait(struct shown *shown, struct queue *queue, struct str who,
                void (*begin)(struct queue_turn *turn))
{
    shown->queue = queue;
    queue_wait(queue, &shown->turn, who, begin);
}

void shown_end(struct shown *shown)
{
    search_end(shown->search);
    if (shown->queue)
        queue_end(shown->queue, &shown->turn);
    list_remove(&shown->link);
    shown->group->count--;
    arena_finish(&shown->arena);
    mem_free(shown);
}

void shown_room(struct shown *shown, size_t room)
{
    shown->asks = arena_zalloc(&shown->arena, room * sizeof(*shown->asks));
    shown->room = shown->asks ? room : 0;
    shown->count = shown->loaded = 0;
}

/* Nobody waits for the reply any more. */
static bool is_over(const struct shown *shown)
{
    return !shown->exchange && !shown->everybody;
}

void shown_hold(struct shown *shown, size_t more)
{
    int status = shown->exchange ? http_hold(shown->exchange, shown->arena.used + more) : 0;

    if (!status)
        return;
    api_problem(shown->exchange, status,
                status == 429 ? STR("Your unread replies hold too much; try again later.")
                              : STR("Unread replies hold too much; try again later."));
    shown->exchange = NULL;
}

bool shown_add(struct shown *shown, const struct ask_record *ask)
{
    if (shown->count == shown->room || is_over(shown))
        return false;
    shown->asks[shown->count++] = (struct shown_ask){
        .ask = ask_record_copy(&shown->arena, ask),
        .kept = true,
        .bytes = ask->message.len + ask->detail.len + ask->url.len + ask->remember.len +
                 ask->content.len + ask->note.len,
    };
    shown_hold(shown, 0);
    return true;
}

/* --- calls --- */

void shown_keep(struct shown *shown)
{
    size_t to = shown->loaded;

    for (size_t i = to; i < shown->count; i++)
        if (shown->asks[i].kept)
            shown->asks[to++] = shown->asks[i];
    shown->count = to;
}

static void all_loaded(struct shown *shown)
{
    struct loop *loop = shown->inbox->opts.loop;
    enum turn_work before = loop_spend(loop, TURN_LISTS);

    shown_keep(shown);
    shown->loaded = shown->count;
    shown->done(shown);
    loop_spend(loop, before);
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct shown *shown = loading->shown;
    struct shown_ask *to = &shown->asks[loading->at];

    if (is_over(shown)) {
        to->kept = false;
    } else if (status == NOD_OK) {
        to->found = true;
        to->state = reply->call->state;
        to->args = arena_str(&shown->arena, reply->call->args);
        to->client = arena_str(&shown->arena, reply->call->client);
        to->bytes += reply->call->args.len + reply->call->client.len;
        if (to->ask.state != ASK_PENDING &&
            (shown->everybody || viewer_sees_all(&shown->viewer, &to->ask))) {
            to->result = arena_str(&shown->arena, reply->call->result);
            to->bytes += reply->call->result.len;
        }
        shown_hold(shown, 0);
    } else if (status == NOD_E_STORE) {
        shown->failed = true;
    }
    if (--shown->waiting == 0)
        all_loaded(shown);
}

void shown_load(struct shown *shown)
{
    struct store *store = shown->inbox->store;
    size_t count = shown->count - shown->loaded;
    struct loading *loading = arena_alloc(&shown->arena, (count + 1) * sizeof(*loading));

    if (!loading || shown->arena.exhausted || count == 0 || is_over(shown)) {
        shown->loaded = shown->count;
        shown->done(shown);
        return;
    }
    size_t first = shown->loaded;
    shown->waiting = 1; /* until all are asked for */
    for (size_t i = 0; i < count; i++) {
        const struct ask_record *ask = &shown->asks[first + i].ask;
        loading[i] = (struct loading){ shown, first + i };
        shown->waiting++;
        store->ops->load_call(store, ask->call_id, call_loaded, &loading[i]);
    }
    if (--shown->waiting == 0)
        all_loaded(shown);
}

/* --- asks by their ids --- */

static int in_order_asked(const void *left, const void *right)
{
    const struct ask_record *a = &((const struct shown_ask *)left)->ask;
    const struct ask_record *b = &((const struct shown_ask *)right)->ask;

    return a->asked_ms != b->asked_ms ? (a->asked_ms < b->asked_ms ? -1 : 1)
                                      : memcmp(a->id.at, b->id.at, ID_LEN);
}

static void ask_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct shown *shown = data;

    shown->failed |= status == NOD_E_STORE;
    if (status == NOD_OK && (shown->everybody || viewer_sees(&shown->viewer, reply->ask)))
        shown_add(shown, reply->ask);
    if (--shown->waiting)
        return;
    if (shown->count > 1)
        qsort(shown->asks, shown->count, sizeof(*shown->asks), in_order_asked);
    shown_load(shown);
}

void shown_find(struct shown *shown, struct str id)
{
    struct store *store = shown->inbox->store;

    shown_room(shown, 1);
    shown->waiting = 1;
    store->ops->load_ask(store, id, ask_loaded, shown);
}

void shown_find_all(struct shown *shown, const struct id *ids, size_t count)
{
    struct store *store = shown->inbox->store;

    shown->everybody = true;
    shown_room(shown, count);
    shown->waiting = count;
    for (size_t i = 0; i < count; i++)
        store->ops->load_ask(store, id_str(&ids[i]), ask_loaded, shown);
    if (count == 0)
        shown_load(shown);
}
