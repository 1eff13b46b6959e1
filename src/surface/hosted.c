/*
 * surface/hosted: see hosted.h.
 *
 * The page is for anyone, and says nothing of anybody. What its script asks for, or sends, opens
 * its token, then the ask is found (here or in the store), then it is checked who may see it.
 * Whatever is wrong with the token, or whoever it is for, the person is told the same: there is no
 * such page for them.
 */
#include "surface/hosted.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/answerable.h"
#include "crypto/page_token.h"
#include "front/public_url.h"
#include "surface/api.h"
#include "surface/page.h"

struct hosted {
    struct hosted_opts opts;
    struct store *store;
    bool lasting; /* its links outlive this process: the operator has given a secret */
    struct list visits;
    size_t visit_count; /* of those whose browsers wait */
};

#define ROW(page, name, brings) [page] = &hosted_##name,
static const struct hosted_kind *const kinds[] = { PAGE_ROWS(ROW) };
#undef ROW

const struct hosted_kind *hosted_kind_of(const struct ask_record *ask)
{
    return (size_t)ask->page < ASK_PAGES_KNOWN ? kinds[ask->page] : NULL;
}

struct hosted_opts *hosted_opts(struct hosted *hosted)
{
    return &hosted->opts;
}

/* Without a secret each process has keys of its own, and cannot tell its own old links from none.
 */
#define NO_SUCH_LINK                                                                               \
    STR("This link does not open a page. This server has no secret of its operator's, so its "     \
        "links end when it is started again, and are good at the node that made them only. The "   \
        "question may still wait: open it from the inbox, where it has a new link.")

/* --- links --- */

_Static_assert(ENGINE_PAGE_URL_MAX > PUBLIC_URL_MAX + PAGE_TOKEN_TEXT_MAX + ID_LEN,
               "every link fits, whatever address this server has");

static bool page_link_make(void *data, const struct ask_record *ask, int64_t expires_ms,
                           struct buf *url)
{
    struct hosted *hosted = data;
    struct arena arena;

    arena_init(&arena, ENGINE_PAGE_URL_MAX * 4);
    buf_add(url, front_link(hosted->opts.front, STR("/a/"), &arena));
    arena_finish(&arena);
    return page_token_make(hosted->opts.ring, PAGE_TOKEN_PAGE, ask->principal, ask->scope, ask->id,
                           expires_ms, url) == NOD_OK &&
           !url->overflow;
}

static bool may_open(void *data, struct str principal)
{
    const struct hosted *hosted = data;

    return front_has_role(hosted->opts.front, principal, ROLE_ANSWER);
}

/* An ask was declined, or its time is over, wherever that happened. Its page may have kept
 * something for it, and its node may have died before the page was told. */
static void ended_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct hosted *hosted = data;
    struct arena arena;

    if (status != NOD_OK || reply->ask->state == ASK_ACCEPTED || reply->ask->state == ASK_PENDING)
        return;
    arena_init(&arena, HOSTED_ARENA_MAX);
    hosted_kind_of(reply->ask)->undo(hosted, reply->ask, &arena);
    arena_finish(&arena);
}

static void page_ended(void *data, const struct ask_record *ask)
{
    struct hosted *hosted = data;
    const struct hosted_kind *kind = hosted_kind_of(ask);

    if (kind && kind->undo)
        hosted->store->ops->load_ask(hosted->store, ask->id, ended_loaded, hosted);
}

bool hosted_state(const struct hosted_visit *visit, struct buf *out)
{
    const struct ask_record *ask = &visit->ask;
    struct arena *arena = (struct arena *)&visit->arena;
    struct str name =
        arena_fmt(arena, STR_FMT "/%.*s", STR_ARG(ask->id), HOSTED_TIE_LEN, visit->tie);

    return page_token_make(visit->hosted->opts.ring, PAGE_TOKEN_RETURN, ask->principal, ask->scope,
                           name, ask->expires_ms, out) == NOD_OK;
}

struct str hosted_return_url(const struct hosted_visit *visit)
{
    struct arena *arena = (struct arena *)&visit->arena;

    return front_link(visit->hosted->opts.front, STR("/a/return"), arena);
}

/* --- visits --- */

static void visit_gone(void *data)
{
    struct hosted_visit *visit = data;

    visit->exchange = NULL;
    visit->http = NULL;
    visit->hosted->visit_count--; /* what it began may go on, within the share of its person */
}

static struct hosted_visit *visit_begin(struct hosted *hosted, const struct front_request *request)
{
    /* A visit may outlive its browser, for example while another server is slow: one person's many
     * leave room for those of others. */
    size_t own = 0;

    LIST_EACH (at, &hosted->visits)
        own += str_eq(LIST_OF(at, struct hosted_visit, link)->principal, request->principal);
    if (hosted->visit_count >= HOSTED_VISITS_MAX || own >= HOSTED_VISITS_OF_ONE) {
        api_problem(request->exchange, 503,
                    STR("Too many pages are being opened at the moment. Wait a little, and try "
                        "again."));
        return NULL;
    }
    struct hosted_visit *visit = MEM_NEW(struct hosted_visit);
    struct digest credential;
    visit->hosted = hosted;
    visit->exchange = request->exchange;
    visit->http = request->http;
    visit->by_link = request->by_link;
    visit->half = request->half;
    visit->roles = request->roles;
    front_credential(request, &credential);
    base64url_encode(str_n(digest_str(&credential).at, sizeof(credential) / 2), visit->tie);
    arena_init(&visit->arena, HOSTED_ARENA_MAX);
    visit->arena.wiped = true; /* what was sent may be a secret */
    visit->principal = arena_str(&visit->arena, request->principal);
    list_init(&visit->link);
    list_append(&hosted->visits, &visit->link);
    hosted->visit_count++;
    http_on_gone(visit->exchange, visit_gone, visit);
    return visit;
}

static void visit_end(struct hosted_visit *visit)
{
    list_remove(&visit->link);
    if (visit->exchange)
        visit->hosted->visit_count--;
    arena_finish(&visit->arena);
    MEM_DELETE(visit);
}

void hosted_refuse(struct hosted_visit *visit, int status, struct str why)
{
    if (visit->exchange)
        api_problem(visit->exchange, status, why);
    visit_end(visit);
}

void hosted_unfit(struct hosted_visit *visit, struct str detail, struct str errors)
{
    if (visit->exchange)
        api_invalid(visit->exchange, detail, errors);
    visit_end(visit);
}

void hosted_lead(struct hosted_visit *visit, struct str url)
{
    visit->go = url;
    hosted_show(visit);
}

/* Who is signed in as somebody else reads as whom. */
static void refuse_no_page(struct hosted_visit *visit)
{
    hosted_refuse(visit, 404,
                  arena_fmt(&visit->arena,
                            "There is no such page for you. You are signed in as " STR_FMT
                            ": the link may be for somebody else, or incomplete.",
                            STR_ARG(visit->principal)));
}

/* --- the ask --- */

static void refuse_link(struct hosted_visit *visit)
{
    if (visit->half)
        hosted_refuse(visit, 403, FRONT_HALF);
    else
        hosted_refuse(visit, 401, STR("This needs a sign-in: here the link alone is not enough."));
}

/* Who has not signed in may be somebody else, for whom there is a page. */
static void not_there(struct hosted_visit *visit)
{
    if (visit->by_link)
        refuse_link(visit);
    else
        refuse_no_page(visit);
}

struct finding {
    struct hosted_visit *visit;
    struct page_token token;
    bool elsewhere; /* a return: another browser, or another sign-in, was sent away */
};

static void found(void *data, nod_status status, const struct store_reply *reply)
{
    struct finding *finding = data;
    struct hosted_visit *visit = finding->visit;
    /* Is it for this person? The token has said so when it was made; the ask says so now. */
    bool seen = status == NOD_OK && reply->ask->page && hosted_kind_of(reply->ask) &&
                str_eq(reply->ask->principal, visit->principal) &&
                page_token_is_for(&finding->token, reply->ask->principal) &&
                page_token_is_of(&finding->token, reply->ask->scope) &&
                answerable_by(reply->ask, visit->principal, visit->roles);
    bool elsewhere = finding->elsewhere;

    if (seen)
        visit->ask = ask_record_copy(&visit->arena, reply->ask);
    MEM_DELETE(finding);
    if (!visit->exchange)
        visit_end(visit);
    else if (status == NOD_E_STORE)
        hosted_refuse(visit, 503, STR(STORE_AWAY "; try again."));
    else if (!seen || visit->arena.exhausted)
        not_there(visit);
    else if (visit->by_link && (page_is_consent(visit->hosted->opts.engine, &visit->ask) ||
                                hosted_kind_of(&visit->ask)->signed_in))
        /* The answer is a person's yes to something, or decides in whose name things are done: a
         * link that anybody may hold is no yes. */
        refuse_link(visit);
    else if (elsewhere)
        /* What was done at another site by whoever was sent there from another browser is theirs,
         * whoever is signed in here as the same person. */
        hosted_refuse(visit, 409,
                      STR("This was begun in another browser, or by another sign-in: what the "
                          "other site has sent was not taken. Open the question here, and begin "
                          "again."));
    else
        visit->next(visit);
}

/* Finds the ask that the token names, and goes on with `next`. */
static void visit_find(struct hosted_visit *visit, struct str purpose, struct str text,
                       void (*next)(struct hosted_visit *visit))
{
    struct hosted *hosted = visit->hosted;
    struct page_token token;
    struct str id, tie = STR_NONE;

    visit->next = next;
    if (page_token_open(hosted->opts.ring, purpose, text, &visit->arena, &token) != NOD_OK) {
        if (hosted->lasting || visit->by_link)
            not_there(visit);
        else
            hosted_refuse(visit, 404, NO_SUCH_LINK);
        return;
    }
    if (!page_token_is_for(&token, visit->principal)) {
        not_there(visit);
        return;
    }
    struct finding *finding = MEM_NEW(struct finding);
    finding->visit = visit;
    finding->token = token;
    str_cut(token.name, '/', &id, &tie);
    finding->elsewhere =
        str_eq(purpose, PAGE_TOKEN_RETURN) && !str_eq(tie, str_n(visit->tie, HOSTED_TIE_LEN));
    hosted->store->ops->load_ask(hosted->store, id, found, finding);
}

/* --- answering --- */

void hosted_show(struct hosted_visit *visit)
{
    if (visit->exchange)
        hosted_draw(visit);
    visit_end(visit);
}

static bool settled(struct hosted_visit *visit)
{
    const struct hosted_kind *kind = hosted_kind_of(&visit->ask);

    return !kind->settled || kind->settled(visit);
}

/* How it ended is read from the store, which also knows who was faster. */
static void outcome_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct hosted_visit *visit = data;

    if (status == NOD_OK)
        visit->ask = ask_record_copy(&visit->arena, reply->ask);
    if (status != NOD_OK || settled(visit))
        hosted_show(visit);
}

static void answered(void *data, const struct answer_result *result)
{
    struct hosted_visit *visit = data;
    struct store *store = visit->hosted->store;

    CRASH_POINT(page_after);
    visit->counted = result->status == NOD_OK;
    visit->same = result->same;
    if (result->status != NOD_OK && result->status != NOD_E_STALE && result->status != NOD_E_STORE)
        settled(visit);
    if (result->status == NOD_OK || (result->status == NOD_E_STALE && !result->pending))
        store->ops->load_ask(store, visit->ask.id, outcome_loaded, visit);
    else if (result->problems.len && result->pending)
        hosted_unfit(visit,
                     result->message.len
                         ? result->message
                         : STR("The answer does not fit what was asked; it still waits."),
                     result->problems);
    else if (result->status == NOD_E_STORE)
        hosted_refuse(visit, 503, STR(STORE_AWAY ". Send the same answer again."));
    else if (result->message.len)
        hosted_refuse(visit, 403, result->message);
    else
        refuse_no_page(visit);
}

void hosted_answer(struct hosted_visit *visit, enum ask_state action, const struct json *content)
{
    CRASH_POINT(page_before);
    ask_page_answer(
        visit->hosted->opts.engine, visit->ask.id,
        &(struct answer){
            .action = action, .content = content, .by = visit->principal, .roles = visit->roles },
        answered, visit);
}

/* --- GET /a/{token}/data --- */

bool hosted_is_over(const struct hosted_visit *visit)
{
    return visit->ask.state != ASK_PENDING ||
           engine_now(visit->hosted->opts.engine) >= visit->ask.expires_ms;
}

static void opened(struct hosted_visit *visit)
{
    const struct hosted_kind *kind = hosted_kind_of(&visit->ask);

    if (kind->opened && !hosted_is_over(visit))
        kind->opened(visit);
    else if (visit->ask.state == ASK_PENDING || settled(visit)) /* by a node that has died then */
        hosted_show(visit);
}

static void data_serve(const struct front_request *request, void *data)
{
    struct hosted_visit *visit = visit_begin(data, request);

    if (visit)
        visit_find(visit, PAGE_TOKEN_PAGE, front_var(request, STR("token")), opened);
}

/* --- POST /a/{token} --- */

/* {"action": "accept", "content": {...}} or {"action": "decline"} */
static void submitted(struct hosted_visit *visit)
{
    const struct hosted_kind *kind = hosted_kind_of(&visit->ask);
    const struct json *body = json_parse(
        &visit->arena, visit->http->body,
        &(struct json_opts){ .max_values = HOSTED_VALUES_MAX, .refuse_duplicates = true }, NULL);
    struct str action = json_get_str(body, STR("action"));
    const struct json *content = json_get(body, STR("content"));

    if (str_eq(action, STR("decline")))
        hosted_answer(visit, ASK_DECLINED, NULL);
    else if (!str_eq(action, STR("accept")) || (content && !json_is(content, JSON_OBJECT)))
        hosted_refuse(visit, 400,
                      STR("The body says \"action\": \"accept\" or \"decline\", and \"content\" is "
                          "an object."));
    else if (!kind->submitted)
        hosted_refuse(visit, 400, STR("Nothing can be submitted here; open the page."));
    else if (hosted_is_over(visit)) /* whoever was late is told how it ended */
        hosted_answer(visit, ASK_ACCEPTED,
                      ask_page_brings(visit->ask.page) == PAGE_BRINGS_FORM ? content : NULL);
    else
        kind->submitted(visit, content);
}

static void submit_serve(const struct front_request *request, void *data)
{
    if (!api_is_json(request))
        return;
    struct hosted_visit *visit = visit_begin(data, request);
    if (!visit)
        return;
    visit->submits = true;
    visit_find(visit, PAGE_TOKEN_PAGE, front_var(request, STR("token")), submitted);
}

/* --- POST /a/return: of the page that the person was sent back to, with its query --- */

static void returned(struct hosted_visit *visit)
{
    const struct hosted_kind *kind = hosted_kind_of(&visit->ask);

    CRASH_POINT(return_before);
    if (!kind->returned)
        refuse_no_page(visit);
    else if (hosted_is_over(visit))
        hosted_show(visit);
    else
        kind->returned(visit);
}

static void return_serve(const struct front_request *request, void *data)
{
    struct hosted_visit *visit = visit_begin(data, request);
    struct str state;

    if (!visit)
        return;
    if (!hosted_read_query(&visit->arena, request->http->query, visit->query, &visit->query_count,
                           &state))
        hosted_refuse(visit, 400,
                      STR("What the other site sent back cannot be read: open the link again."));
    else
        visit_find(visit, PAGE_TOKEN_RETURN, state, returned);
}

/* --- the whole --- */

static void page_serve(const struct front_request *request, void *data)
{
    const struct hosted_opts *opts = hosted_opts(data);
    struct arena arena;

    arena_init(&arena, PAGE_MAX);
    const struct place places[] = {
        { STR("assets"), page_assets(opts->front, &arena) },
        { STR("title"),
          page_as_text(&arena, opts->title.len ? opts->title : opts->name, PAGE_TITLE_MAX) },
    };
    page_reply(request->exchange, 200, STR("hosted.html"), places,
               sizeof(places) / sizeof(places[0]));
    arena_finish(&arena);
}

static bool add_routes(struct hosted *hosted)
{
    /* The data are without HEAD: it may begin something. */
    const struct route routes[] = {
        { STR("GET"), STR("/a/{token}"), .handle = page_serve },
        { STR("GET"), STR("/a/{token}/data"), ROLE_ANSWER, .endless = true, .handle = data_serve },
        { STR("POST"), STR("/a/{token}"), ROLE_ANSWER, .wiped = true, .handle = submit_serve },
        { STR("POST"), STR("/a/return"), ROLE_ANSWER, .handle = return_serve },
    };

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        struct route route = routes[i];
        route.anyone = route.page = !route.who;
        route.cookie = route.link = route.fetch_site = !route.anyone;
        route.data = hosted;
        if (!front_route(hosted->opts.front, &route))
            return false;
    }
    return true;
}

struct hosted *hosted_create(const struct hosted_opts *opts)
{
    struct hosted *hosted = MEM_NEW(struct hosted);

    hosted->opts = *opts;
    hosted->lasting = hosted->opts.ring != NULL;
    if (!hosted->lasting)
        hosted->opts.ring = keyring_random();
    hosted->store = engine_store(opts->engine);
    list_init(&hosted->visits);
    if (add_routes(hosted))
        return hosted;
    hosted_destroy(hosted);
    return NULL;
}

void hosted_start(struct hosted *hosted)
{
    struct engine_pages pages = {
        .link = page_link_make, .may_open = may_open, .ended = page_ended, .data = hosted
    };

    for (int page = 0; page < ASK_PAGES_KNOWN; page++)
        pages.kinds |= kinds[page] ? 1u << page : 0;
    if (front_is_linked(hosted->opts.front))
        engine_use_pages(hosted->opts.engine, &pages);
}

void hosted_destroy(struct hosted *hosted)
{
    struct list *at;

    if (!hosted)
        return;
    while ((at = list_first(&hosted->visits)))
        visit_end(LIST_OF(at, struct hosted_visit, link));
    keyring_destroy(hosted->opts.ring);
    MEM_DELETE(hosted);
}
