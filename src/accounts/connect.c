/*
 * accounts/connect: a person connects an account, by the code flow with PKCE.
 *
 *     accounts_begin:   read the account ─▶ endpoints known ─▶ keep the verifier ─▶ the person goes
 *     accounts_return:  read the verifier ─▶ checked ─▶ marked as used ─▶ code for tokens ─▶ held
 *
 * What is kept of a flow (kind "credential-flow") is found by the question that led to it: the
 * verifier, the service, whose it is, where the person comes back to. It is used once. A person who
 * opens the page again before that goes on with the same one; after a failure there is a new one.
 *
 * What comes back is refused, and changes nothing, if it is of no flow, of a used one, of another
 * person or service, or if it names another issuer than the one that the person was sent to
 * (RFC 9207). The caller has checked `state`, and that the person who comes back is the one who
 * went.
 *
 * Two pages may be open at once, for different scopes. Whoever comes back second finds the account
 * of the first, and would replace it with a token that can do less: the code of the second is not
 * used then, and the person goes to the service once more, for the scopes of both.
 *
 * Nothing is connected here. The tokens are held for the question (held.c), and whoever has called
 * answers it then, and says how it ended (accounts_keep, accounts_drop).
 *
 * A node may die at any of these arrows. Until the tokens are held, the question waits as before,
 * and the person opens its page again. After that the page sees what is held for this very
 * question, and ends it.
 */
#include <stdarg.h>
#include <stdio.h>

#include "accounts/accounts_inside.h"
#include "base/crash.h"
#include "base/log.h"

enum {
    CODE_MAX = 4096,                        /* bytes of a code */
    FLOW_MS_LEAST = 60000,                  /* a flow is kept at least so long */
    GO_MAX = 3 * OAUTH_URL_MAX + 16 * 1024, /* bytes of where the person is sent */
};

struct connecting {
    struct work work; /* first; its key is that of the account */
    struct oauth_service *service;
    struct account_flow flow; /* its texts are in the arena */
    struct str scopes;        /* all that are asked for */
    struct str connected;     /* those of the account that is there */
    struct str verifier;
    uint64_t version; /* of the flow's record */
    struct account account;
    bool returns;
    account_flow_done *done;
    void *data;
};

static void flow_look(struct connecting *c);

/* --- the end --- */

static void over(struct connecting *c, const struct account_flow_result *result)
{
    c->done(c->data, result);
    work_end(&c->work);
}

static void over_with(struct connecting *c, enum account_flow_end end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void over_with(struct connecting *c, enum account_flow_end end, const char *format, ...)
{
    char message[OAUTH_MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (end == ACCOUNT_FLOW_REFUSED || end == ACCOUNT_FLOW_FAILED)
        LOG_WARN("an account was not connected", LOG_STR("service", c->flow.service),
                 LOG_STR("principal", c->flow.principal), LOG_CSTR("why", message));
    over(c, &(struct account_flow_result){ .end = end, .message = str_of(message) });
}

static void store_failed(struct connecting *c)
{
    over_with(c, ACCOUNT_FLOW_FAILED, STORE_AWAY ". Try again.");
}

static void damaged(struct connecting *c)
{
    over_with(c, ACCOUNT_FLOW_REFUSED,
              "This did not begin here, or is over. Open the page of the question again.");
}

/* --- the record of a flow --- */

static void flow_put(struct connecting *c, bool used, int most, store_done *done)
{
    int64_t ttl = c->flow.ttl_ms > FLOW_MS_LEAST ? c->flow.ttl_ms : FLOW_MS_LEAST;
    struct json_writer w;
    struct buf out;

    buf_init(&out, ACCOUNTS_RECORD_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("principal"), c->flow.principal);
    jw_key_str(&w, STR("service"), c->flow.service);
    jw_key_str(&w, STR("identity"), oauth_service_identity(c->service));
    jw_key_str(&w, STR("client"), c->service->spec.client_id);
    jw_key_str(&w, STR("redirect"), c->flow.redirect_uri);
    jw_key_str(&w, STR("scopes"), c->scopes);
    jw_key_bool(&w, STR("used"), used);
    sealed_write(c->work.accounts, &w, ACCOUNT_KIND_FLOW, c->flow.ask_id, c->verifier);
    jw_end(&w);
    work_put(&c->work, ACCOUNT_KIND_FLOW, c->flow.ask_id, &out, c->flow.principal, c->version, ttl,
             most, done);
}

/* Is it of this question's person and service, as that is set up now? Then its verifier is taken.
 */
static bool flow_fits(struct connecting *c, const struct json *record)
{
    return sealed_read(c->work.accounts, &c->work.arena, record, ACCOUNT_KIND_FLOW, c->flow.ask_id,
                       &c->verifier) &&
           str_eq(json_get_str(record, STR("principal")), c->flow.principal) &&
           str_eq(json_get_str(record, STR("service")), c->flow.service) &&
           str_eq(json_get_str(record, STR("identity")), oauth_service_identity(c->service)) &&
           str_eq(json_get_str(record, STR("client")), c->service->spec.client_id) &&
           !json_true(json_get(record, STR("used")));
}

/* --- going --- */

static void go(struct connecting *c)
{
    struct buf url;

    buf_init(&url, GO_MAX);
    oauth_authorization_url(&url, c->service,
                            &(struct oauth_code_request){ .redirect_uri = c->flow.redirect_uri,
                                                          .state = c->flow.state,
                                                          .scopes = c->scopes,
                                                          .verifier = c->verifier });
    if (url.overflow)
        over_with(c, ACCOUNT_FLOW_FAILED, "The address of " STR_FMT " would be too long.",
                  STR_ARG(c->service->spec.title));
    else
        over(c, &(struct account_flow_result){ .end = ACCOUNT_FLOW_GO, .url = buf_str(&url) });
    buf_finish(&url);
}

static void flow_kept(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;

    (void)reply;
    CRASH_POINT(flow_after);
    if (status == NOD_E_STALE) /* the page was opened twice: both go with the same verifier */
        flow_look(c);
    else if (status != NOD_OK)
        store_failed(c);
    else
        go(c);
}

/* With a new verifier. */
static void flow_keep(struct connecting *c)
{
    c->verifier = oauth_verifier(&c->work.arena);
    CRASH_POINT(flow_before);
    flow_put(c, false, ACCOUNTS_STORE_TRIES, flow_kept);
}

/* --- coming back --- */

static void agreed(struct connecting *c)
{
    over(c, &(struct account_flow_result){ .end = ACCOUNT_FLOW_AGREED });
}

static void is_held(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;

    (void)reply;
    CRASH_POINT(connect_held);
    if (status == NOD_OK)
        agreed(c);
    else
        store_failed(c);
}

/* `barred`: trying again does not help. */
static void unreached(struct connecting *c, const char *why, bool barred)
{
    over_with(c, ACCOUNT_FLOW_FAILED, STR_FMT " cannot be reached: %s.%s",
              STR_ARG(c->service->spec.title), why, barred ? "" : " Try again.");
}

static void tokens_came(void *data, const struct fetch_result *result)
{
    struct connecting *c = data;
    struct oauth_tokens tokens;
    char why[OAUTH_MESSAGE_MAX];

    c->work.fetch = NULL;
    CRASH_POINT(connect_before);
    if (!oauth_tokens_read(&c->work.arena, result, &tokens)) {
        if (result->end == FETCH_DONE) {
            over_with(c, ACCOUNT_FLOW_FAILED,
                      STR_FMT " answers with the status %d, and no token. Try again.",
                      STR_ARG(c->service->spec.title), result->status);
        } else {
            oauth_unreached(result, why);
            unreached(c, why, result->end == FETCH_REFUSED);
        }
        return;
    }
    if (tokens.error.len) {
        over_with(c, ACCOUNT_FLOW_FAILED, STR_FMT " gives no token: " STR_FMT ". Try again.",
                  STR_ARG(c->service->spec.title), STR_ARG(tokens.error));
        return;
    }
    int64_t now = accounts_now(c->work.accounts);
    c->account = (struct account){
        .principal = c->flow.principal,
        .service = c->flow.service,
        .identity = oauth_service_identity(c->service),
        .client_id = c->service->spec.client_id,
        .access = tokens.access,
        .refresh = tokens.refresh,
        /* A service that grants what was asked for need not say so. */
        .scopes = tokens.scopes.len ? tokens.scopes : c->scopes,
        .ask_id = c->flow.ask_id,
        .expires_ms = tokens.lasts_ms ? now + tokens.lasts_ms : 0,
        .connected_ms = now,
        .state = ACCOUNT_CONNECTED,
    };
    account_put(&c->work, ACCOUNT_KIND_HELD, c->flow.ask_id, &c->account, 0, ACCOUNTS_HELD_MS,
                ACCOUNTS_KEEP_TRIES, is_held);
}

static void flow_used(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;

    (void)reply;
    if (status == NOD_E_STORE) { /* whether it is marked is not known: the person begins again */
        store_failed(c);
        return;
    }
    if (status != NOD_OK) {
        damaged(c);
        return;
    }
    c->work.fetch =
        oauth_exchange(c->service, c->flow.code, c->flow.redirect_uri, c->verifier, tokens_came, c);
    if (!c->work.fetch)
        over_with(c, ACCOUNT_FLOW_FAILED, "The request cannot be sent. Try again.");
}

static void return_with(struct connecting *c, const struct json *record)
{
    if (!record || !flow_fits(c, record)) {
        damaged(c);
        return;
    }
    struct str asked = json_get_str(record, STR("scopes"));
    struct str redirect = c->flow.redirect_uri;
    c->scopes = asked;
    c->flow.redirect_uri = json_get_str(record, STR("redirect"));
    if (!oauth_issuer_fits(c->service, c->flow.has_iss ? &c->flow.iss : NULL))
        over_with(c, ACCOUNT_FLOW_REFUSED,
                  "This comes from another issuer than " STR_FMT ". Nothing was connected.",
                  STR_ARG(c->service->spec.title));
    else if (str_eq(c->flow.error, STR("access_denied")))
        over(c, &(struct account_flow_result){ .end = ACCOUNT_FLOW_DECLINED });
    else if (c->flow.error.len)
        over_with(c, ACCOUNT_FLOW_FAILED, STR_FMT " did not connect the account. Try again.",
                  STR_ARG(c->service->spec.title));
    else if (!c->flow.code.len || c->flow.code.len > CODE_MAX)
        over_with(c, ACCOUNT_FLOW_REFUSED, "There is no code in what came back.");
    else if (oauth_scopes_within(c->connected, asked))
        /* A code is used once: whoever comes second with the same one finds the flow used. */
        flow_put(c, true, 1, flow_used);
    else { /* another page was faster: this code is not used, and the person is asked for both */
        c->scopes = oauth_scopes_join(&c->work.arena, asked, c->connected);
        c->flow.redirect_uri = redirect;
        flow_keep(c);
    }
}

/* --- both ways --- */

static void flow_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    const struct json *record = NULL;

    if (status == NOD_E_STORE) {
        store_failed(c);
        return;
    }
    c->version = status == NOD_OK ? reply->version : STORE_NEW;
    if (status == NOD_OK)
        record = json_parse(&c->work.arena, arena_str(&c->work.arena, reply->value), NULL, NULL);
    if (c->returns)
        return_with(c, record);
    else if (record && flow_fits(c, record) &&
             str_eq(json_get_str(record, STR("redirect")), c->flow.redirect_uri) &&
             str_eq(json_get_str(record, STR("scopes")), c->scopes))
        go(c);
    else
        flow_keep(c);
}

static void flow_look(struct connecting *c)
{
    work_get(&c->work, ACCOUNT_KIND_FLOW, c->flow.ask_id, ACCOUNTS_STORE_TRIES, flow_came);
}

static void endpoints_known(void *data, const char *why)
{
    struct connecting *c = data;

    if (why)
        unreached(c, why, c->service->barred);
    else
        flow_look(c);
}

/* Tokens are held for the question: its node has died before it was answered, or the person came
 * back twice. */
static void held_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    struct arena scratch;
    struct account held;

    if (status == NOD_E_STORE) {
        store_failed(c);
        return;
    }
    arena_init(&scratch, ACCOUNTS_ARENA_MAX);
    scratch.wiped = true;
    bool fits = status == NOD_OK &&
                account_read(c->work.accounts, &scratch, ACCOUNT_KIND_HELD, c->flow.ask_id,
                             reply->value, &held) &&
                account_counts(&held, c->service) && str_eq(held.principal, c->flow.principal) &&
                str_eq(held.service, c->flow.service);
    arena_finish(&scratch);
    if (fits)
        agreed(c);
    else
        oauth_service_await(c->service, &c->work.ready, endpoints_known, c);
}

/* The account is there already, because another question has led to it. */
static void account_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    struct account account;

    if (status == NOD_E_STORE) {
        store_failed(c);
        return;
    }
    if (status == NOD_OK &&
        account_read(c->work.accounts, &c->work.arena, ACCOUNT_KIND, work_key(&c->work),
                     reply->value, &account) &&
        account_counts(&account, c->service)) {
        if (str_eq(account.ask_id, c->flow.ask_id) ||
            (!c->returns && oauth_scopes_within(c->scopes, account.scopes))) {
            agreed(c);
            return;
        }
        /* What was agreed to before is asked for again, so that nothing is lost by it. */
        c->connected = account.scopes;
        c->scopes = oauth_scopes_join(&c->work.arena, c->scopes, account.scopes);
    }
    work_get(&c->work, ACCOUNT_KIND_HELD, c->flow.ask_id, ACCOUNTS_STORE_TRIES, held_came);
}

static void refuse(void *data)
{
    struct connecting *c = data;

    over_with(c, ACCOUNT_FLOW_FAILED, "%s",
              c->service ? "Too many people are connecting accounts. Try again."
                         : "This server knows no such service any more.");
}

static void start(struct accounts *accounts, const struct account_flow *flow, bool returns,
                  account_flow_done *done, void *data)
{
    bool many = accounts->work_count - accounts->jobs.count >= ACCOUNTS_FLOWS_MAX;
    char key[ACCOUNT_KEY_MAX];
    struct connecting *c =
        work_begin(accounts, sizeof(*c), account_key(key, flow->principal, flow->service));

    c->service = service_find(accounts, flow->service);
    c->returns = returns;
    c->done = done;
    c->data = data;
    c->flow = *flow;
    struct str *const texts[] = { &c->flow.ask_id, &c->flow.principal,    &c->flow.service,
                                  &c->flow.scopes, &c->flow.redirect_uri, &c->flow.state,
                                  &c->flow.code,   &c->flow.error,        &c->flow.iss };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = arena_str(&c->work.arena, *texts[i]);
    if (!c->service || many) {
        work_later(&c->work, 0, refuse);
        return;
    }
    c->scopes = oauth_scopes_join(&c->work.arena, c->service->spec.scopes, c->flow.scopes);
    work_get(&c->work, ACCOUNT_KIND, work_key(&c->work), ACCOUNTS_STORE_TRIES, account_came);
}

void accounts_begin(struct accounts *accounts, const struct account_flow *flow,
                    account_flow_done *done, void *data)
{
    start(accounts, flow, false, done, data);
}

void accounts_return(struct accounts *accounts, const struct account_flow *flow,
                     account_flow_done *done, void *data)
{
    start(accounts, flow, true, done, data);
}
