/*
 * oauth/connect: a person connects an account, by the code flow with PKCE.
 *
 *     oauth_begin:   read the account ─▶ endpoints known ─▶ keep the verifier ─▶ the person goes
 *     oauth_return:  read the verifier ─▶ checked ─▶ marked as used ─▶ code for tokens ─▶ held
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
 * answers it then, and says how it ended (oauth_keep, oauth_drop).
 *
 * A node may die at any of these arrows. Until the tokens are held, the question waits as before,
 * and the person opens its page again. After that the page sees what is held for this very
 * question, and ends it.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/crash.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "oauth/oauth_inside.h"

enum {
    VERIFIER_BYTES = 32,                    /* random bytes of a verifier */
    CODE_MAX = 4096,                        /* bytes of a code */
    FLOW_MS_LEAST = 60000,                  /* a flow is kept at least so long */
    GO_MAX = 3 * OAUTH_URL_MAX + 16 * 1024, /* bytes of where the person is sent */
};

struct connecting {
    struct work work; /* first */
    struct service *service;
    struct oauth_flow flow; /* its texts are in the arena */
    struct str scopes;      /* all that are asked for */
    struct str connected;   /* those of the account that is there */
    struct str verifier;
    uint64_t version; /* of the flow's record */
    struct account account;
    char key[OAUTH_KEY_MAX];
    size_t key_len;
    bool returns;
    oauth_flow_done *done;
    void *data;
};

static void flow_read(struct work *work);
static void flow_keep(struct work *work);
static void flow_use(struct work *work);
static void account_look(struct work *work);
static void held_look(struct work *work);
static void held_put(struct work *work);

static struct connecting *connecting_of(struct work *work)
{
    return (struct connecting *)(void *)work;
}

static struct str key_of(const struct connecting *c)
{
    return str_n(c->key, c->key_len);
}

/* --- the end --- */

static void over(struct connecting *c, const struct oauth_flow_result *result)
{
    c->done(c->data, result);
    work_end(&c->work);
}

static void over_with(struct connecting *c, enum oauth_flow_end end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void over_with(struct connecting *c, enum oauth_flow_end end, const char *format, ...)
{
    char message[OAUTH_MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (end == OAUTH_FLOW_REFUSED || end == OAUTH_FLOW_FAILED)
        LOG_WARN("an account was not connected", LOG_STR("service", c->flow.service),
                 LOG_STR("principal", c->flow.principal), LOG_CSTR("why", message));
    over(c, &(struct oauth_flow_result){ .end = end, .message = str_of(message) });
}

static void store_failed(struct connecting *c)
{
    over_with(c, OAUTH_FLOW_FAILED, "The store cannot be reached. Try again.");
}

static void damaged(struct connecting *c)
{
    over_with(c, OAUTH_FLOW_REFUSED,
              "This did not begin here, or is over. Open the page of the question again.");
}

/* --- the record of a flow --- */

static void flow_put(struct connecting *c, bool used, uint64_t version, store_done *done)
{
    struct store *store = c->work.oauth->opts.store;
    int64_t ttl = c->flow.ttl_ms > FLOW_MS_LEAST ? c->flow.ttl_ms : FLOW_MS_LEAST;
    struct json_writer w;
    struct buf out;

    buf_init(&out, OAUTH_RECORD_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("principal"), c->flow.principal);
    jw_key_str(&w, STR("service"), c->flow.service);
    jw_key_str(&w, STR("identity"), service_identity(c->service));
    jw_key_str(&w, STR("client"), c->service->spec.client_id);
    jw_key_str(&w, STR("redirect"), c->flow.redirect_uri);
    jw_key_str(&w, STR("scopes"), c->scopes);
    jw_key_bool(&w, STR("used"), used);
    sealed_write(c->work.oauth, &w, OAUTH_KIND_FLOW, c->flow.ask_id, c->verifier);
    jw_end(&w);
    store->ops->put(store, OAUTH_KIND_FLOW, c->flow.ask_id, buf_str(&out), c->flow.principal,
                    version, ttl, done, c);
    buf_finish(&out);
}

/* Is it of this question's person and service, as that is set up now? Then its verifier is taken.
 */
static bool flow_fits(struct connecting *c, const struct json *record)
{
    return sealed_read(c->work.oauth, &c->work.arena, record, OAUTH_KIND_FLOW, c->flow.ask_id,
                       &c->verifier) &&
           str_eq(json_get_str(record, STR("principal")), c->flow.principal) &&
           str_eq(json_get_str(record, STR("service")), c->flow.service) &&
           str_eq(json_get_str(record, STR("identity")), service_identity(c->service)) &&
           str_eq(json_get_str(record, STR("client")), c->service->spec.client_id) &&
           !json_true(json_get(record, STR("used")));
}

/* --- going --- */

static void go(struct connecting *c)
{
    struct buf url;

    buf_init(&url, GO_MAX);
    wire_authorization(&url, c->service, &c->flow, c->scopes, c->verifier);
    if (url.overflow)
        over_with(c, OAUTH_FLOW_FAILED, "The address of " STR_FMT " would be too long.",
                  STR_ARG(c->service->spec.title));
    else
        over(c, &(struct oauth_flow_result){ .end = OAUTH_FLOW_GO, .url = buf_str(&url) });
    buf_finish(&url);
}

static void flow_kept(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;

    (void)reply;
    CRASH_POINT(flow_after);
    if (work_retry(&c->work, status, OAUTH_STORE_TRIES, flow_keep))
        return;
    if (status == NOD_E_STALE) /* the page was opened twice: both go with the same verifier */
        flow_read(&c->work);
    else if (status != NOD_OK)
        store_failed(c);
    else
        go(c);
}

static void flow_keep(struct work *work)
{
    struct connecting *c = connecting_of(work);

    CRASH_POINT(flow_before);
    flow_put(c, false, c->version, flow_kept);
}

static void make_verifier(struct connecting *c)
{
    uint8_t bytes[VERIFIER_BYTES];

    random_bytes(bytes, sizeof(bytes));
    c->verifier = base64url_text(&c->work.arena, str_n((const char *)bytes, sizeof(bytes)));
    explicit_bzero(bytes, sizeof(bytes));
}

static void begin_with(struct connecting *c, const struct json *record)
{
    if (record && flow_fits(c, record) &&
        str_eq(json_get_str(record, STR("redirect")), c->flow.redirect_uri) &&
        str_eq(json_get_str(record, STR("scopes")), c->scopes)) {
        go(c);
        return;
    }
    make_verifier(c);
    flow_keep(&c->work);
}

/* --- coming back --- */

static void agreed(struct connecting *c)
{
    over(c, &(struct oauth_flow_result){ .end = OAUTH_FLOW_AGREED });
}

static void is_held(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;

    (void)reply;
    CRASH_POINT(connect_held);
    if (work_retry(&c->work, status, OAUTH_KEEP_TRIES, held_put))
        return;
    if (status == NOD_OK)
        agreed(c);
    else
        store_failed(c);
}

/* `barred`: trying again does not help. */
static void unreached(struct connecting *c, const char *why, bool barred)
{
    over_with(c, OAUTH_FLOW_FAILED, STR_FMT " cannot be reached: %s.%s",
              STR_ARG(c->service->spec.title), why, barred ? "" : " Try again.");
}

static void held_put(struct work *work)
{
    struct connecting *c = connecting_of(work);

    account_put(work->oauth, OAUTH_KIND_HELD, c->flow.ask_id, &c->account, 0, OAUTH_HELD_MS,
                is_held, c);
}

static void tokens_came(void *data, const struct fetch_result *result)
{
    struct connecting *c = data;
    struct wire_tokens tokens;
    char why[OAUTH_MESSAGE_MAX];

    c->work.fetch = NULL;
    CRASH_POINT(connect_before);
    if (!wire_tokens_read(&c->work.arena, result, &tokens)) {
        if (result->end == FETCH_DONE) {
            over_with(c, OAUTH_FLOW_FAILED,
                      STR_FMT " answers with the status %d, and no token. Try again.",
                      STR_ARG(c->service->spec.title), result->status);
        } else {
            wire_unreached(result, why);
            unreached(c, why, result->end == FETCH_REFUSED);
        }
        return;
    }
    if (tokens.error.len) {
        over_with(c, OAUTH_FLOW_FAILED, STR_FMT " gives no token: " STR_FMT ". Try again.",
                  STR_ARG(c->service->spec.title), STR_ARG(tokens.error));
        return;
    }
    int64_t now = oauth_now(c->work.oauth);
    c->account = (struct account){
        .principal = c->flow.principal,
        .service = c->flow.service,
        .identity = service_identity(c->service),
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
    held_put(&c->work);
}

static void flow_used(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    struct str resources = c->service->spec.resource, resource;
    struct buf form;

    (void)reply;
    if (status == NOD_E_STORE) { /* whether it is marked is not known: the person begins again */
        store_failed(c);
        return;
    }
    if (status != NOD_OK) {
        damaged(c);
        return;
    }
    buf_init(&form, OAUTH_BODY_MAX);
    buf_wiped(&form, true);
    form_add(&form, STR("grant_type"), STR("authorization_code"));
    form_add(&form, STR("code"), c->flow.code);
    form_add(&form, STR("redirect_uri"), c->flow.redirect_uri);
    form_add(&form, STR("code_verifier"), c->verifier);
    while (word_next(&resources, &resource))
        form_add(&form, STR("resource"), resource);
    c->work.fetch = wire_post(c->service, c->service->token, &form, tokens_came, c);
    buf_finish(&form);
    if (!c->work.fetch)
        over_with(c, OAUTH_FLOW_FAILED, "The request cannot be sent. Try again.");
}

/* A code is used once: whoever comes second with the same one finds the flow used. */
static void flow_use(struct work *work)
{
    struct connecting *c = connecting_of(work);

    flow_put(c, true, c->version, flow_used);
}

/* RFC 9207: an answer of another issuer than the one that was asked is a mix-up. */
static bool issuer_fits(const struct connecting *c)
{
    struct str issuer = c->service->spec.issuer;

    if (!c->flow.has_iss)
        return !c->service->names_issuer;
    return !issuer.len || str_eq(c->flow.iss, issuer);
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
    if (!issuer_fits(c))
        over_with(c, OAUTH_FLOW_REFUSED,
                  "This comes from another issuer than " STR_FMT ". Nothing was connected.",
                  STR_ARG(c->service->spec.title));
    else if (str_eq(c->flow.error, STR("access_denied")))
        over(c, &(struct oauth_flow_result){ .end = OAUTH_FLOW_DECLINED });
    else if (c->flow.error.len)
        over_with(c, OAUTH_FLOW_FAILED, STR_FMT " did not connect the account. Try again.",
                  STR_ARG(c->service->spec.title));
    else if (!c->flow.code.len || c->flow.code.len > CODE_MAX)
        over_with(c, OAUTH_FLOW_REFUSED, "There is no code in what came back.");
    else if (oauth_scopes_within(c->connected, asked))
        flow_use(&c->work);
    else { /* another page was faster: this code is not used, and the person is asked for both */
        c->scopes = scopes_join(&c->work.arena, asked, c->connected);
        c->flow.redirect_uri = redirect;
        make_verifier(c);
        flow_keep(&c->work);
    }
}

/* --- both ways --- */

static void flow_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    const struct json *record = NULL;

    if (work_retry(&c->work, status, OAUTH_STORE_TRIES, flow_read))
        return;
    if (status == NOD_E_STORE) {
        store_failed(c);
        return;
    }
    c->version = status == NOD_OK ? reply->version : STORE_NEW;
    if (status == NOD_OK)
        record = json_parse(&c->work.arena, arena_str(&c->work.arena, reply->value), NULL, NULL);
    if (c->returns)
        return_with(c, record);
    else
        begin_with(c, record);
}

static void flow_read(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct connecting *c = connecting_of(work);

    store->ops->get(store, OAUTH_KIND_FLOW, c->flow.ask_id, flow_came, c);
}

static void endpoints_known(void *data, const char *why)
{
    struct connecting *c = data;

    if (why)
        unreached(c, why, c->service->barred);
    else
        flow_read(&c->work);
}

/* Tokens are held for the question: its node has died before it was answered, or the person came
 * back twice. */
static void held_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    struct arena scratch;
    struct account held;

    if (work_retry(&c->work, status, OAUTH_STORE_TRIES, held_look))
        return;
    if (status == NOD_E_STORE) {
        store_failed(c);
        return;
    }
    arena_init(&scratch, OAUTH_ARENA_MAX);
    scratch.wiped = true;
    bool fits = status == NOD_OK &&
                account_read(c->work.oauth, &scratch, OAUTH_KIND_HELD, c->flow.ask_id, reply->value,
                             &held) &&
                account_counts(&held, c->service) && str_eq(held.principal, c->flow.principal) &&
                str_eq(held.service, c->flow.service);
    arena_finish(&scratch);
    if (fits)
        agreed(c);
    else
        service_await(c->service, &c->work.ready, endpoints_known, c);
}

static void held_look(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct connecting *c = connecting_of(work);

    store->ops->get(store, OAUTH_KIND_HELD, c->flow.ask_id, held_came, c);
}

/* The account is there already, because another question has led to it. */
static void account_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct connecting *c = data;
    struct account account;

    if (work_retry(&c->work, status, OAUTH_STORE_TRIES, account_look))
        return;
    if (status == NOD_E_STORE) {
        store_failed(c);
        return;
    }
    if (status == NOD_OK &&
        account_read(c->work.oauth, &c->work.arena, OAUTH_KIND, key_of(c), reply->value,
                     &account) &&
        account_counts(&account, c->service)) {
        if (str_eq(account.ask_id, c->flow.ask_id) ||
            (!c->returns && oauth_scopes_within(c->scopes, account.scopes))) {
            agreed(c);
            return;
        }
        /* What was agreed to before is asked for again, so that nothing is lost by it. */
        c->connected = account.scopes;
        c->scopes = scopes_join(&c->work.arena, c->scopes, account.scopes);
    }
    held_look(&c->work);
}

static void account_look(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct connecting *c = connecting_of(work);

    store->ops->get(store, OAUTH_KIND, key_of(c), account_came, c);
}

struct refusal { /* for an end that is known at once */
    struct work work;
    oauth_flow_done *done;
    void *data;
    struct str message;
};

static void refuse(struct work *work)
{
    struct refusal *refusal = (struct refusal *)(void *)work;

    refusal->done(refusal->data, &(struct oauth_flow_result){ .end = OAUTH_FLOW_FAILED,
                                                              .message = refusal->message });
    work_end(work);
}

static void refuse_later(struct oauth *oauth, struct str message, oauth_flow_done *done, void *data)
{
    struct work *work = work_begin(oauth, sizeof(struct refusal));
    struct refusal *refusal = (struct refusal *)(void *)work;

    refusal->done = done;
    refusal->data = data;
    refusal->message = message;
    work_later(work, 0, refuse);
}

static void start(struct oauth *oauth, const struct oauth_flow *flow, bool returns,
                  oauth_flow_done *done, void *data)
{
    struct service *service = service_find(oauth, flow->service);
    struct connecting *c;

    if (!service || oauth->work_count - oauth->jobs.count >= OAUTH_FLOWS_MAX) {
        refuse_later(oauth,
                     service ? STR("Too many people are connecting accounts. Try again.")
                             : STR("This server knows no such service any more."),
                     done, data);
        return;
    }
    c = connecting_of(work_begin(oauth, sizeof(struct connecting)));
    c->service = service;
    c->returns = returns;
    c->done = done;
    c->data = data;
    c->flow = *flow;
    struct str *const texts[] = { &c->flow.ask_id, &c->flow.principal,    &c->flow.service,
                                  &c->flow.scopes, &c->flow.redirect_uri, &c->flow.state,
                                  &c->flow.code,   &c->flow.error,        &c->flow.iss };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = arena_str(&c->work.arena, *texts[i]);
    c->scopes = scopes_join(&c->work.arena, service->spec.scopes, c->flow.scopes);
    c->key_len = account_key(c->key, c->flow.principal, c->flow.service).len;
    account_look(&c->work);
}

void oauth_begin(struct oauth *oauth, const struct oauth_flow *flow, oauth_flow_done *done,
                 void *data)
{
    start(oauth, flow, false, done, data);
}

void oauth_return(struct oauth *oauth, const struct oauth_flow *flow, oauth_flow_done *done,
                  void *data)
{
    start(oauth, flow, true, done, data);
}
