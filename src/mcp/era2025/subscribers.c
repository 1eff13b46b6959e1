/*
 * mcp/era2025/subscribers: which sessions are told of the changes of which resources.
 *
 * With a durable or shared store, a session's subscriptions are in its record, so that they move
 * with it to another node. An update is told to all nodes that share the store
 * (mcp/shared/announce).
 *
 * Subscribers are found by the URI of the resource, so the cost of an update is proportional to
 * their number. A subscription is in two lists, its resource's and its session's. It ends with
 * unsubscribe or with the session.
 */
#include "mcp/era2025/subscribers.h"

#include "base/mem.h"
#include "mcp/era2025/session_store.h"
#include "mcp/offered/methods.h"
#include "mcp/shared/listened.h"
#include "mcp/shared/shares.h"

enum {
    MCP_SUBSCRIPTIONS_MAX = 1000, /* subscriptions of one session */
    MCP_SUBJECTS_MAX = 100000,    /* resources that somebody subscribes to */
};

struct subjects {
    struct map by_uri; /* struct subject */
};

struct subject { /* a resource that has subscribers */
    struct list subscriptions;
    size_t len;
    char uri[];
};

struct subscription {
    struct list of_subject;
    struct list of_session;
    struct subject *subject;
    struct session *session;
};

struct subjects *subjects_create(void)
{
    struct subjects *subjects = MEM_NEW(struct subjects);

    map_init(&subjects->by_uri, MCP_SUBJECTS_MAX);
    return subjects;
}

void subjects_destroy(struct subjects *subjects)
{
    map_finish(&subjects->by_uri);
    mem_free(subjects);
}

static void subscription_end(struct subscription *subscription)
{
    struct subject *subject = subscription->subject;
    struct mcp_server *server = subscription->session->server;

    subscription->session->subscription_count--;
    shares_drop(server, session_principal(subscription->session), MCP_SHARE_SUBSCRIPTIONS, 1);
    listened_drop(server, session_principal(subscription->session),
                  str_n(subject->uri, subject->len));
    list_remove(&subscription->of_subject);
    list_remove(&subscription->of_session);
    mem_free(subscription);
    if (list_empty(&subject->subscriptions)) {
        map_remove(&server->subjects->by_uri, str_n(subject->uri, subject->len));
        mem_free(subject);
    }
}

void subscribers_forget(struct session *session)
{
    LIST_EACH (at, &session->subscriptions)
        subscription_end(LIST_OF(at, struct subscription, of_session));
}

static struct subscription *subscription_find(struct session *session, struct str uri)
{
    LIST_EACH (at, &session->subscriptions) {
        struct subscription *subscription = LIST_OF(at, struct subscription, of_session);
        if (str_eq(str_n(subscription->subject->uri, subscription->subject->len), uri))
            return subscription;
    }
    return NULL;
}

static struct subject *subject_of(struct mcp_server *server, struct str uri)
{
    struct subject *subject = map_get(&server->subjects->by_uri, uri);

    if (subject)
        return subject;
    subject = mem_alloc(sizeof(*subject) + uri.len);
    list_init(&subject->subscriptions);
    subject->len = uri.len;
    memcpy(subject->uri, uri.at, uri.len);
    if (!map_set(&server->subjects->by_uri, str_n(subject->uri, subject->len), subject)) {
        mem_free(subject);
        return NULL;
    }
    return subject;
}

/* False: too many. */
static bool subscribe(struct session *session, struct str uri)
{
    struct mcp_server *server = session->server;
    struct subject *subject =
        session->subscription_count < MCP_SUBSCRIPTIONS_MAX ? subject_of(server, uri) : NULL;

    if (!subject)
        return false;
    struct subscription *subscription = MEM_NEW(struct subscription);
    subscription->subject = subject;
    subscription->session = session;
    list_append(&subject->subscriptions, &subscription->of_subject);
    list_append(&session->subscriptions, &subscription->of_session);
    session->subscription_count++;
    shares_add(server, session_principal(session), MCP_SHARE_SUBSCRIPTIONS, 1);
    listened_add(server, session_principal(session), uri);
    return true;
}

/* The subscriptions have changed: other nodes have to know. */
static void subscriptions_moved(struct session *session)
{
    session->unwritten = true;
    session_refresh(session, true);
}

void subscribers_add(struct request *request)
{
    struct session *session = request->session;
    struct json *variables = NULL;
    struct str uri;
    struct target *target = resources_find(request, &uri, &variables, false);

    if (!target)
        return;
    if (!target->subscribable) {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("This resource does not report its changes; read it again instead."));
        return;
    }
    if (subscription_find(session, uri)) {
        reply_empty(request);
        return;
    }
    if (shares_refuse(request, session_principal(session), MCP_SHARE_SUBSCRIPTIONS, 1))
        return;
    if (!subscribe(session, uri)) {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("Too many subscriptions; end some that are no longer needed."));
        return;
    }
    subscriptions_moved(session);
    reply_empty(request);
}

void subscribers_remove(struct request *request)
{
    struct str uri;

    if (!request_text(request, STR("uri"), &uri))
        return;
    struct subscription *subscription = subscription_find(request->session, uri);
    if (subscription) {
        subscription_end(subscription);
        subscriptions_moved(request->session);
    }
    reply_empty(request);
}

void subscribers_write(const struct session *session, struct json_writer *w)
{
    enum { ESCAPED = 6 }; /* bytes that one byte of a URI may become */
    size_t room = MCP_SUBSCRIPTIONS_STORED;

    jw_array(w);
    for (const struct list *at = session->subscriptions.next; at != &session->subscriptions;
         at = at->next) {
        const struct subject *subject = LIST_OF(at, struct subscription, of_session)->subject;
        size_t needs = ESCAPED * subject->len + 3;
        if (needs > room)
            break; /* only this node knows the rest */
        room -= needs;
        jw_str(w, str_n(subject->uri, subject->len));
    }
    jw_end(w);
}

void subscribers_read(struct session *session, const struct json *uris, bool exact)
{
    if (!json_is(uris, JSON_ARRAY))
        return;
    LIST_EACH (at, &session->subscriptions) {
        struct subscription *subscription = LIST_OF(at, struct subscription, of_session);
        const struct subject *subject = subscription->subject;
        if (exact && !json_has_str(uris, str_n(subject->uri, subject->len)))
            subscription_end(subscription);
    }
    JSON_EACH (one, uris) {
        if (!json_is(one, JSON_STRING) || one->text.len > MCP_URI_MAX ||
            subscription_find(session, one->text))
            continue;
        if (shares_full(session->server, session_principal(session), MCP_SHARE_SUBSCRIPTIONS, 1) ||
            !subscribe(session, one->text))
            return;
    }
}

void subscribers_updated(struct mcp_server *server, struct str uri)
{
    struct subject *subject = map_get(&server->subjects->by_uri, uri);
    struct json_writer w;

    if (!subject)
        return;
    rpc_begin(&w, &server->out, STR_NONE, STR("notifications/resources/updated"));
    jw_key_str(&w, STR("uri"), uri);
    rpc_end(&w);
    LIST_EACH (at, &subject->subscriptions)
        session_notify(LIST_OF(at, struct subscription, of_subject)->session,
                       buf_str(&server->out));
    buf_clear(&server->out);
}
