/*
 * surface/listing: what waits, and what has ended, by page; and one ask by its id.
 *
 * The store lists asks of one principal or of all, in order. What the viewer may not see, and what
 * the filters leave out, is passed over here: no more is asked for at a time than the page still
 * has room for, so the store's cursor always ends where the page does. A request looks through at
 * most INBOX_SCANS_MAX pages of the store, and then replies with what it has and where to go on.
 *
 * Lists wait in a queue (net/queue.h), and of one user only one is under way; those with a text
 * that is looked for have a queue of their own. If the store cannot be reached, what waits behind
 * the one that found it out, of the same user, fails with it. Questions that are read by their ids
 * wait too, INBOX_ONES_AT_ONCE of a user under way: such a request is small, and its reply may not
 * be.
 *
 * Filters of tool, principal, state and time go over everything that is kept. The text `q` is
 * looked for in the first INBOX_TEXT_SEARCH_MAX asks of the list: in the message, the tool, the
 * principals, the reason and the arguments (search.c).
 *
 * If a page is larger than INBOX_PAGE_BYTES, it is made again with as many asks as fit, at least
 * one: readers hold a page in memory, and one large ask must not keep them from all others.
 */
#include "base/mem.h"
#include "surface/search.h"

enum {
    PARAM_STATE,
    PARAM_TOOL,
    PARAM_PRINCIPAL,
    PARAM_SINCE,
    PARAM_UNTIL,
    PARAM_Q,
    PARAM_LIMIT,
    PARAM_CURSOR,
    PARAMS
};

struct listing {
    struct shown shown; /* first */
    struct api_param params[PARAMS];
    bool ended;           /* not what waits, but what has ended */
    enum ask_state state; /* only these; ASK_PENDING with `ended`: all that have ended */
    int64_t since, until;
    size_t limit;
    struct str from, cursor; /* where this page began, and where the next begins */
    size_t scans, looked;
    bool over; /* nothing that follows can fit the filters */
    bool away; /* the store cannot be reached */
};

static struct listing *listing_of(struct shown *shown)
{
    return (struct listing *)(void *)shown;
}

/* --- filters --- */

static bool fits(const struct listing *listing, const struct ask_record *ask)
{
    const struct api_param *params = listing->params;
    int64_t at = listing->ended ? ask->ended_ms : ask->asked_ms;

    return viewer_sees(&listing->shown.viewer, ask) &&
           (!params[PARAM_TOOL].given || str_eq(params[PARAM_TOOL].value, ask->target)) &&
           (!params[PARAM_PRINCIPAL].given ||
            str_eq(params[PARAM_PRINCIPAL].value, ask->principal)) &&
           (listing->state == ASK_PENDING || listing->state == ask->state) &&
           at >= listing->since && at <= listing->until;
}

/* --- the scan --- */

static void listing_scan(struct listing *listing);

static void scan_row(void *data, const struct store_row *row)
{
    struct listing *listing = data;

    listing->looked++;
    events_await(listing->shown.inbox->events, row->ask);
    /* The lists are in the order of time: past its end nothing fits. */
    listing->over |=
        listing->ended ? row->ask->ended_ms < listing->since : row->ask->asked_ms > listing->until;
    if (!listing->over && fits(listing, row->ask))
        shown_add(&listing->shown, row->ask);
}

static void scanned(void *data, nod_status status, const struct store_reply *reply)
{
    struct listing *listing = data;
    struct shown *shown = &listing->shown;

    if (status == NOD_E_USAGE && shown->exchange) {
        api_problem(shown->exchange, 400, STR("The parameter cursor is not one of this list."));
        shown_end(shown);
        return;
    }
    shown->failed |= status != NOD_OK;
    listing->away = status == NOD_E_STORE;
    listing->cursor = arena_str(&shown->arena, reply ? reply->cursor : STR_NONE);
    if (listing->params[PARAM_Q].given && listing->looked >= INBOX_TEXT_SEARCH_MAX)
        listing->over = true;
    if (listing->over)
        listing->cursor = STR_NONE;
    if (shown->search)
        search_asks(shown->search);
    else
        shown_load(shown);
}

/* Whose asks are looked through. Who may answer only what was put to it need not look at others. */
static struct str whose(const struct listing *listing)
{
    const struct viewer *viewer = &listing->shown.viewer;
    const struct api_param *wanted = &listing->params[PARAM_PRINCIPAL];

    if (!roles_include(viewer->roles, ROLE_APPROVE))
        return viewer->principal;
    return wanted->value;
}

static void listing_scan(struct listing *listing)
{
    struct shown *shown = &listing->shown;
    struct store *store = shown->inbox->store;
    size_t limit = listing->limit - shown->count;

    if (shown->search && limit > INBOX_TEXT_SCAN_MAX)
        limit = INBOX_TEXT_SCAN_MAX;
    listing->scans++;
    store->ops->scan(
        store,
        &(struct store_scan){ .index = listing->ended ? STORE_ASKS_ENDED : STORE_ASKS_PENDING,
                              .key = whose(listing),
                              .cursor = listing->cursor,
                              .limit = limit },
        scan_row, scanned, listing);
}

static void listing_turn(struct shown *shown)
{
    listing_scan(listing_of(shown));
}

/* --- the reply --- */

static void listing_reply(struct listing *listing)
{
    struct shown *shown = &listing->shown;
    struct inbox *inbox = shown->inbox;
    struct json_writer w;
    struct buf body;

    buf_init(&body, INBOX_REPLY_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    jw_key(&w, STR("items"));
    jw_array(&w);
    for (size_t i = 0; i < shown->count; i++)
        item_write(&w, inbox, &shown->asks[i],
                   viewer_sees_all(&shown->viewer, &shown->asks[i].ask));
    jw_end(&w);
    api_key_str_or_null(&w, STR("next"), listing->cursor);
    jw_key_time(&w, STR("now"), engine_now(inbox->opts.engine));
    jw_end(&w);
    api_reply(shown->exchange, &w, &body);
}

static void listing_begin(struct listing *listing)
{
    listing->cursor = listing->from;
    listing->scans = listing->looked = 0;
    listing->over = false;
    shown_room(&listing->shown, listing->limit);
    listing_scan(listing);
}

/* The texts of the request are at the beginning of the arena: what was read behind them is left
 * there, and a smaller page is tried with a fresh one. */
static void listing_again(struct listing *listing, size_t limit)
{
    struct shown *shown = &listing->shown;
    struct arena fresh;

    arena_init(&fresh, INBOX_ARENA_MAX);
    shown->viewer.principal = arena_str(&fresh, shown->viewer.principal);
    for (size_t i = 0; i < PARAMS; i++)
        listing->params[i].value = arena_str(&fresh, listing->params[i].value);
    listing->from = listing->params[PARAM_CURSOR].value;
    arena_finish(&shown->arena);
    shown->arena = fresh;
    listing->limit = limit;
    listing_begin(listing);
}

/* How many asks, from the first on, are not more than a page may have. */
static size_t fitting(const struct shown *shown)
{
    size_t count = 0, bytes = 0;

    while (count < shown->count && (bytes += shown->asks[count].bytes) <= INBOX_PAGE_BYTES)
        count++;
    return count ? count : 1;
}

/* The store could not be reached: those of the same user that wait would each find that out again,
 * after as long a time. */
static void listing_fail_behind(struct listing *listing)
{
    struct fair_turn *turn;

    while ((turn = fair_behind(&listing->shown.turn.turn))) {
        struct shown *behind = LIST_OF(turn, struct shown, turn.turn);
        if (behind->exchange)
            api_problem(behind->exchange, 503, STR(STORE_AWAY "."));
        shown_end(behind);
    }
}

/* The calls of what was found are here. */
static void listing_done(struct shown *shown)
{
    struct listing *listing = listing_of(shown);
    bool full = shown->arena.exhausted;

    if (!shown->exchange || shown->failed) {
        if (shown->exchange)
            api_problem(shown->exchange, 503, STR(STORE_AWAY "."));
        if (listing->away)
            listing_fail_behind(listing);
    } else if (fitting(shown) < shown->count) {
        listing_again(listing, fitting(shown));
        return;
    } else if (full && listing->limit > 1) {
        listing_again(listing, listing->limit / 2);
        return;
    } else if (full) {
        api_problem(shown->exchange, 500, STR("This question is larger than a reply may be."));
    } else if (listing->cursor.len && shown->count < listing->limit &&
               listing->scans < INBOX_SCANS_MAX) {
        if (shown->search)
            search_later(shown->search, listing_turn);
        else
            listing_scan(listing);
        return;
    } else {
        listing_reply(listing);
    }
    shown_end(shown);
}

/* --- the request --- */

static bool read_state(struct listing *listing, struct str word)
{
    listing->state = ASK_PENDING;
    listing->ended = word.len && !str_eq(word, STR("pending"));
    if (!listing->ended || str_eq(word, STR("ended")))
        return true;
    for (enum ask_state state = ASK_ACCEPTED; state <= ASK_INVALID; state++) {
        listing->state = state;
        if (str_eq(word, ask_state_name(state)))
            return true;
    }
    return false;
}

static bool read_time(const struct api_param *param, int64_t otherwise, int64_t *ms)
{
    *ms = otherwise;
    return !param->given || api_time_read(param->value, ms);
}

/* What is wrong with the parameters; empty: nothing. */
static struct str read_params(struct listing *listing)
{
    const struct api_param *params = listing->params;

    if (!read_state(listing, params[PARAM_STATE].value))
        return STR("The parameter state is pending, ended, accepted, declined, cancelled, expired, "
                   "withdrawn, unsupported or invalid.");
    if (!read_time(&params[PARAM_SINCE], INT64_MIN, &listing->since) ||
        !read_time(&params[PARAM_UNTIL], INT64_MAX, &listing->until))
        return STR("The parameters since and until are times such as 2026-07-28T09:30:00Z.");
    if (!api_limit(&params[PARAM_LIMIT], &listing->limit))
        return STR("The parameter limit is a number from 1 to 200.");
    if (params[PARAM_Q].given && str_blank(params[PARAM_Q].value))
        return STR("The parameter q is empty: leave it out, or give a text to look for.");
    if (params[PARAM_Q].value.len > SEARCH_TEXT_MAX)
        return STR("The parameter q is a text of at most 200 bytes.");
    listing->from = params[PARAM_CURSOR].value;
    return STR_NONE;
}

static void list_begun(struct queue_turn *turn)
{
    struct listing *listing = listing_of(SHOWN_OF(turn));
    const struct api_param *text = &listing->params[PARAM_Q];

    if (text->given)
        listing->shown.search = search_create(&listing->shown, text->value);
    listing_begin(listing);
}

void listing_serve(const struct front_request *request, void *data)
{
    static const struct str names[PARAMS] = {
        [PARAM_STATE] = STR_INIT("state"),         [PARAM_TOOL] = STR_INIT("tool"),
        [PARAM_PRINCIPAL] = STR_INIT("principal"), [PARAM_SINCE] = STR_INIT("since"),
        [PARAM_UNTIL] = STR_INIT("until"),         [PARAM_Q] = STR_INIT("q"),
        [PARAM_LIMIT] = STR_INIT("limit"),         [PARAM_CURSOR] = STR_INIT("cursor"),
    };
    struct inbox *inbox = data;
    struct shown *shown = shown_begin(inbox, &inbox->reads, request, sizeof(struct listing));

    if (!shown)
        return;
    struct listing *listing = listing_of(shown);
    for (size_t i = 0; i < PARAMS; i++)
        listing->params[i].name = names[i];
    if (!api_query(request, &shown->arena, listing->params, PARAMS)) {
        shown_end(shown);
        return;
    }
    struct str wrong = read_params(listing);
    if (wrong.len) {
        api_problem(request->exchange, 400, wrong);
        shown_end(shown);
        return;
    }
    shown->done = listing_done;
    http_release(request->exchange);
    shown_wait(shown, listing->params[PARAM_Q].given ? &inbox->searches : &inbox->lists,
               shown->viewer.principal, list_begun);
}

/* --- one ask --- */

static void one_done(struct shown *shown)
{
    struct json_writer w;
    struct buf body;

    queue_went(shown->queue, !shown->failed);
    if (!shown->exchange) {
        shown_end(shown);
        return;
    }
    if (shown->failed) {
        api_problem(shown->exchange, 503, STR(STORE_AWAY "."));
    } else if (shown->count == 0) {
        api_problem(shown->exchange, 404, STR("There is no such question."));
    } else {
        buf_init(&body, INBOX_REPLY_MAX);
        json_writer_init(&w, &body);
        item_write_alone(&w, shown->inbox, &shown->asks[0],
                         viewer_sees_all(&shown->viewer, &shown->asks[0].ask));
        api_reply(shown->exchange, &w, &body);
    }
    shown_end(shown);
}

static void one_begun(struct queue_turn *turn)
{
    shown_find(SHOWN_OF(turn), SHOWN_OF(turn)->id);
}

void listing_serve_one(const struct front_request *request, void *data)
{
    struct inbox *inbox = data;
    struct shown *shown = shown_begin(inbox, &inbox->reads, request, sizeof(*shown));

    if (!shown)
        return;
    shown->done = one_done;
    shown->id = arena_str(&shown->arena, front_var(request, STR("id")));
    http_release(request->exchange);
    shown_wait(shown, &inbox->ones, shown->viewer.principal, one_begun);
}
