/*
 * surface/resolve: an answer that comes through the API.
 *
 *     {"approved": true, "data": {...}, "executionId": "..."}      the way of approvals
 *     {"action": "accept", "content": {...}}                       the way of MCP
 *
 * Both mean the same, and both may carry a reason. This file reads the answer and says what became
 * of it; whether it counts is decided by the core (core/claim.c), as for every surface.
 *
 * An ask that this principal may not answer is not there (404). Content that does not fit leaves
 * the ask pending (422). If somebody was faster, the reply says who, how and where (409); if that
 * was this very answer, sent twice, it counts as given; but not if it now says to remember what the
 * first did not (409), because nothing is remembered later.
 */
#include <stdio.h>

#include "core/note.h"
#include "surface/inbox_inside.h"

enum { RESOLVE_DETAIL_MAX = 512 }; /* bytes of a sentence about a bad request */

struct resolve {
    struct shown shown; /* first */
    struct str id;
    struct answer answer;
    struct str call_id;          /* of the ask */
    struct str given;            /* executionId */
    const struct json *remember; /* what the answerer has chosen, or NULL */
    struct remember_choice choice;
    bool twice; /* the ask had ended with this answer, perhaps without the choice */
};

static struct resolve *resolve_of(struct shown *shown)
{
    return (struct resolve *)(void *)shown;
}

/* --- what became of it --- */

static void resolve_taken(struct resolve *resolve, bool pending)
{
    struct shown *shown = &resolve->shown;
    const struct answer *answer = &resolve->answer;
    bool yes = answer->action == ASK_ACCEPTED;
    struct json_writer w;
    struct buf body;

    buf_init(&body, INBOX_REPLY_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    jw_key_str(&w, STR("executionId"), resolve->call_id);
    jw_key_bool(&w, STR("approved"), yes);
    if (yes && answer->content)
        jw_key_value(&w, STR("data"), answer->content);
    jw_key_str(&w, STR("action"), ask_action(answer->action));
    if (pending) /* a page was opened, and has to say that it is done */
        jw_key_bool(&w, STR("pending"), true);
    jw_end(&w);
    api_reply(shown->exchange, &w, &body);
    shown_end(shown);
}

static void write_winner(struct json_writer *w, void *data)
{
    const struct ask_record *ask = data;

    jw_key_str(w, STR("state"), ask_state_name(ask->state));
    api_write_answer(w, ask);
    jw_end(w);
}

static struct str conflict_detail(enum ask_state state)
{
    switch (state) {
    case ASK_ACCEPTED:
    case ASK_DECLINED:
    case ASK_CANCELLED:
        return STR("Somebody has answered this before.");
    case ASK_EXPIRED:
        return STR("The time to answer this is over.");
    case ASK_PENDING:
        return STR("This was asked anew meanwhile: look at it again.");
    default:
        return STR("This is no longer asked.");
    }
}

/* One of what was offered, by all but its label. */
static bool is_choice(const struct json *wanted, const struct remember_choice *choice)
{
    const struct json *time = json_get(wanted, STR("for"));
    int64_t seconds = 0;

    if (time && !json_is(time, JSON_NULL) && (!json_i64(time, &seconds) || seconds <= 0))
        return false;
    return str_eq(json_get_str(wanted, STR("scope")), grant_scope_name(choice->scope)) &&
           str_eq(json_get_str(wanted, STR("match")), grant_match_name(choice->match)) &&
           seconds == choice->for_ms / 1000;
}

/* What is to be remembered was said by the answer that counts. */
static bool is_noted(struct resolve *resolve, const struct ask_record *ask)
{
    struct noted noted;

    return note_remember(ask->note, &resolve->shown.arena, &noted) &&
           is_choice(resolve->remember, &noted.choice);
}

/* How it ended is read from the store: the answer was late, so nobody waits for speed. */
static void winner_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct shown *shown = data;
    struct resolve *resolve = resolve_of(shown);
    struct ask_record ask;

    if (shown->exchange && status == NOD_OK && resolve->twice && is_noted(resolve, reply->ask)) {
        resolve_taken(resolve, false);
        return;
    }
    if (shown->exchange && status == NOD_OK) {
        ask = *reply->ask;
        api_problem_with(
            shown->exchange, 409,
            resolve->twice
                ? STR("You have answered this before, and it is not remembered in this way.")
                : conflict_detail(ask.state),
            ask.state == ASK_PENDING ? NULL : write_winner, &ask);
    } else if (shown->exchange) {
        api_problem(shown->exchange, status == NOD_E_NOT_FOUND ? 404 : 503,
                    status == NOD_E_NOT_FOUND ? STR("There is no such question.")
                                              : STR(STORE_AWAY "."));
    }
    shown_end(shown);
}

static void answered(void *data, const struct answer_result *result)
{
    struct resolve *resolve = data;
    struct shown *shown = &resolve->shown;

    resolve->twice = result->same && str_eq(result->via, resolve->answer.via);
    if (!shown->exchange) {
        shown_end(shown);
        return;
    }
    if (result->status == NOD_OK ||
        (result->status == NOD_E_STALE && resolve->twice && !resolve->remember)) {
        resolve_taken(resolve, result->pending);
        return;
    }
    if (result->status == NOD_E_STALE) {
        struct store *store = shown->inbox->store;
        store->ops->load_ask(store, resolve->id, winner_loaded, shown);
        return;
    }
    if (result->problems.len && result->pending)
        api_invalid(shown->exchange,
                    result->message.len
                        ? result->message
                        : STR("The answer does not fit what was asked; it still waits."),
                    result->problems);
    else if (result->status == NOD_E_NOT_FOUND)
        api_problem(shown->exchange, 404, STR("There is no such question."));
    else if (result->status == NOD_E_STORE)
        api_problem(shown->exchange, 503, STR(STORE_AWAY ". Send the same answer again."));
    else if (result->message.len)
        api_problem(shown->exchange, 403, result->message);
    else
        api_problem(shown->exchange, 403, STR("This question may not be answered here."));
    shown_end(shown);
}

/* --- giving it --- */

static bool resolve_choose(struct resolve *resolve, const struct ask_record *ask)
{
    struct remember_choice offered[GRANT_CHOICES_MAX];
    size_t count = 0;

    if (!resolve->remember)
        return true;
    if (resolve->answer.action == ASK_ACCEPTED)
        count = grants_offered(ask, &resolve->shown.arena, offered);
    for (size_t i = 0; i < count; i++)
        if (is_choice(resolve->remember, &offered[i])) {
            resolve->choice = offered[i];
            resolve->answer.remember = &resolve->choice;
            return true;
        }
    return ask->state != ASK_PENDING; /* then the answerer learns who was faster */
}

/* `ask`: as it waits here, or, if `read`, as the store has it. */
static void resolve_give(struct resolve *resolve, const struct ask_record *ask, bool read)
{
    struct shown *shown = &resolve->shown;

    resolve->call_id = arena_str(&shown->arena, ask->call_id);
    if (!resolve_choose(resolve, ask)) {
        api_invalid(
            shown->exchange,
            STR("This cannot be remembered in this way; the question still waits."),
            STR("[{\"path\":\"/remember\",\"message\":\"is not one of what is offered\"}]"));
        shown_end(shown);
        return;
    }

    if (ask->page) /* what is entered there is no part of this answer, whatever was sent */
        resolve->answer.content = NULL;
    if (resolve->given.len && !str_eq(resolve->given, resolve->call_id)) {
        api_invalid(shown->exchange,
                    STR("The answer is for another call; the question still waits."),
                    STR("[{\"path\":\"/executionId\",\"message\":\"is not the call of this "
                        "question\"}]"));
        shown_end(shown);
        return;
    }
    resolve->answer.read = read ? ask : NULL;
    ask_answer(shown->inbox->opts.engine, resolve->id, &resolve->answer, answered, resolve);
}

static void ask_found(void *data, nod_status status, const struct store_reply *reply)
{
    struct shown *shown = data;
    struct resolve *resolve = resolve_of(shown);

    if (status == NOD_OK && !viewer_sees(&shown->viewer, reply->ask))
        status = NOD_E_NOT_FOUND;
    if (shown->exchange && status == NOD_OK) {
        resolve_give(resolve, reply->ask, true);
        return;
    }
    if (shown->exchange && status == NOD_E_STORE)
        api_problem(shown->exchange, 503, STR(STORE_AWAY "."));
    else if (shown->exchange)
        api_problem(shown->exchange, 404, STR("There is no such question."));
    shown_end(shown);
}

/* --- reading it --- */

static bool read_action(const struct json *body, struct answer *answer)
{
    const struct json *approved = json_get(body, STR("approved"));

    if (json_get(body, STR("action")))
        return ask_action_read(json_get_str(body, STR("action")), &answer->action) && !approved;
    answer->action = json_true(approved) ? ASK_ACCEPTED : ASK_DECLINED;
    return json_is(approved, JSON_BOOL);
}

/* What is wrong with the body; empty: nothing. */
static struct str read_body(struct resolve *resolve, const struct json *body)
{
    static const char *const known[] = { "executionId", "approved", "data",     "action",
                                         "content",     "reason",   "remember", NULL };
    const struct json *data = json_get(body, STR("data")),
                      *content = json_get(body, STR("content")),
                      *reason = json_get(body, STR("reason")),
                      *call = json_get(body, STR("executionId")),
                      *remember = json_get(body, STR("remember"));

    if (!json_is(body, JSON_OBJECT))
        return STR("The body is not a JSON object.");
    JSON_EACH (member, body)
        if (!str_among(member->key, known))
            return STR("The body has a member that is not known; the members are executionId, "
                       "approved and data, or action and content, and reason and remember.");
    if (!read_action(body, &resolve->answer))
        return STR("The body says either \"approved\": true or false, or \"action\": \"accept\", "
                   "\"decline\" or \"cancel\".");
    if ((data && json_get(body, STR("action"))) || (content && !json_get(body, STR("action"))))
        return STR("With approved the content is called data, with action it is called content.");
    if (reason && (!json_is(reason, JSON_STRING) || reason->text.len > NOTE_REASON_MAX))
        return STR("The reason is a text of at most 2000 bytes.");
    if (remember && !json_is(remember, JSON_OBJECT) && !json_is(remember, JSON_NULL))
        return STR("What to remember is one of the objects that the question offers.");
    if (call && !json_is(call, JSON_STRING))
        return STR("The executionId is a text.");
    data = data ? data : content;
    resolve->answer.content = json_is(data, JSON_NULL) ? NULL : data;
    resolve->given = json_str(call);
    resolve->answer.reason = json_str(reason);
    resolve->remember = json_is(remember, JSON_NULL) ? NULL : remember;
    return STR_NONE;
}

static const struct json *parse_body(struct shown *shown, struct str text)
{
    struct json_error error;
    struct str body = arena_str(&shown->arena, text);
    const struct json *tree = json_parse(
        &shown->arena, body,
        &(struct json_opts){ .max_values = INBOX_ANSWER_VALUES_MAX, .refuse_duplicates = true },
        &error);

    if (!tree) {
        char detail[RESOLVE_DETAIL_MAX];
        int len = snprintf(detail, sizeof(detail), "The body is not JSON: at byte %zu, %s.",
                           error.offset, error.what);
        api_problem(shown->exchange, 400, str_n(detail, len > 0 ? (size_t)len : 0));
    }
    return tree;
}

/* Where the answer is given: a page has a session, the terminal says so itself. */
static struct str via_of(const struct front_request *request)
{
    if (request->session)
        return STR("page");
    return str_eq(http_header(request->http, STR("X-Nod-Via")), STR("terminal")) ? STR("terminal")
                                                                                 : STR("api");
}

void resolve_serve(const struct front_request *request, void *data)
{
    struct inbox *inbox = data;

    if (!api_is_json(request))
        return;
    struct shown *shown = shown_begin(inbox, &inbox->answers, request, sizeof(struct resolve));
    if (!shown)
        return;
    struct resolve *resolve = resolve_of(shown);
    const struct json *body = parse_body(shown, request->http->body);
    if (!body) {
        shown_end(shown);
        return;
    }
    struct str wrong = read_body(resolve, body);
    if (wrong.len) {
        api_problem(shown->exchange, 400, wrong);
        shown_end(shown);
        return;
    }
    resolve->id = arena_str(&shown->arena, front_var(request, STR("id")));
    resolve->answer.by = shown->viewer.principal;
    resolve->answer.roles = shown->viewer.roles;
    resolve->answer.via = via_of(request);
    resolve->answer.surface = &inbox->surface;
    http_release(request->exchange);
    /* The call is mostly live on this node: then the store need not be asked whose it is. */
    const struct ask *ask = engine_ask(inbox->opts.engine, resolve->id);
    if (ask && viewer_sees(&shown->viewer, ask_record(ask)))
        resolve_give(resolve, ask_record(ask), false);
    else
        inbox->store->ops->load_ask(inbox->store, resolve->id, ask_found, shown);
}
