/*
 * oauth: accounts that people have connected, for tools that act in their name elsewhere.
 *
 * A service (struct oauth_service_spec) is an authorization server that the operator has registered
 * this server with as a client. A person connects an account of theirs by the code flow with PKCE;
 * what comes of it is a record of the store, one for each principal and service. Whoever needs an
 * access token then asks for it by the name of the service.
 *
 * oauth.c      the services, and requests to them
 * service.c    what a service may be
 * discover.c   where its endpoints are, if only its issuer is known (RFC 8414, OpenID Connect)
 * wire.c       the URL of the code flow, bodies of requests, what a token endpoint answers
 * account.c    the record of an account
 * connect.c    the code flow (RFC 6749, 7636, 8707, 9207)
 * held.c       what came of it, until its question has ended
 * token.c      the access token of an account, refreshed in time, once
 * source.c     access tokens as what a run needs
 * replaced.c   tokens that another one has taken the place of
 * revoke.c     accounts are listed, and disconnected (RFC 7009)
 *
 * Holds always:
 * - A token is sent to nobody but the service that it is from, and handed to nobody but a call of
 *   the principal that has connected the account. It is in no log and in no message.
 * - An account is connected by a question that was accepted, and by no other.
 * - Where the keys of the store are missing, accounts are kept in the memory of this process alone.
 * - A refresh token is used by one node at a time: whoever uses it has written so into the record.
 *   That word runs out, so a node that dies while it refreshes strands nobody.
 * - Only a service that says that it refuses ends an account. One that does not answer, or that
 *   fails, does not.
 */
#ifndef NOD_OAUTH_OAUTH_H
#define NOD_OAUTH_OAUTH_H

#include "core/store.h"
#include "crypto/seal.h"
#include "net/fetch.h"

enum {
    OAUTH_SERVICES_MAX = 32,      /* services of one server */
    OAUTH_NAME_MAX = 32,          /* bytes of the name of a service */
    OAUTH_TITLE_MAX = 100,        /* bytes of its title */
    OAUTH_URL_MAX = 2048,         /* bytes of an address of a service */
    OAUTH_TEXT_MAX = 1024,        /* bytes of a client id, of scopes, of a resource */
    OAUTH_SECRET_MAX = 4096,      /* bytes of the secret of a client */
    OAUTH_TOKEN_MAX = 16 * 1024,  /* bytes of a token */
    OAUTH_ALLOWED_MAX = 8,        /* addresses of one service that are not public */
    OAUTH_WAITS_MAX = 100000,     /* runs that wait for a token at the same time */
    OAUTH_FLOWS_MAX = 1000,       /* people that are on their way through the flow */
    OAUTH_EARLY_MS = 60000,       /* a token that lasts no longer is refreshed */
    OAUTH_ANSWER_MS = 8000,       /* a service has so long to answer */
    OAUTH_LEASE_MS = 15000,       /* a node may take so long to refresh */
    OAUTH_LEASE_REST_MS = 10000,  /* and does not begin if less is left of that */
    OAUTH_LOOK_MS = 100,          /* between two looks whether another node is done */
    OAUTH_WAIT_MS = 60000,        /* so long a run waits for a token */
    OAUTH_METADATA_MS = 3600000,  /* what a service says of itself is read again after that */
    OAUTH_MESSAGE_MAX = 512,      /* bytes of a sentence for people */
    OAUTH_PAGE_MAX = 200,         /* accounts on one page of a list */
    OAUTH_CURSOR_MAX = 1024,      /* bytes of where a list goes on */
    OAUTH_REVOKED_MS = 604800000, /* the service is told of a revoke for at most so long */
    OAUTH_REPLACED_MS = 3600000,  /* a replaced token is given back to its service after that */
    OAUTH_HELD_MS = 604800000,    /* tokens are kept so long for the question that led to them */
};

enum oauth_client_auth {
    OAUTH_AUTH_ANY,   /* as the service says; otherwise basic, or none without a secret */
    OAUTH_AUTH_BASIC, /* in the header Authorization */
    OAUTH_AUTH_POST,  /* in the body */
};

struct oauth_service_spec { /* copied */
    struct str name;        /* a-z, 0-9, - and _ */
    struct str title;       /* as people read it; empty: the name */
    struct str issuer;      /* with it alone the endpoints are discovered */
    struct str authorization_endpoint, token_endpoint, revocation_endpoint;
    struct str client_id, client_secret; /* without a secret: a public client */
    enum oauth_client_auth client_auth;
    struct str scopes;     /* that are always asked for, between spaces */
    struct str resource;   /* RFC 8707; several between spaces */
    struct str parameters; /* further ones of the authorization request: a=b&c=d */
    struct str allow;      /* ADDRESS:PORT, between spaces, that may be reached (net/reach) */
    bool revokes_all;      /* with one token it ends all that the person has granted */
};

struct oauth;
struct loop;

struct oauth_opts {
    struct loop *loop;
    struct store *store;  /* where accounts are kept */
    struct keyring *ring; /* they are sealed with it; lent */
    const char *ca_file;  /* authorities; NULL: the system's */
};

struct oauth *oauth_create(const struct oauth_opts *opts);
/* After the store was destroyed: nobody is called any more. NULL is fine. */
void oauth_destroy(struct oauth *oauth);
/* False: *why says what is wrong with it, until the next call, and *part is the member of `spec`
 * that it is wrong with, or NULL. */
bool oauth_add(struct oauth *oauth, const struct oauth_service_spec *spec, const void **part,
               const char **why);
bool oauth_has_services(const struct oauth *oauth);
/* Gives access tokens to runs (core/need.h), as the source "credential". As long as the oauth. */
struct need_source;
struct need_source *oauth_source(struct oauth *oauth);
/* The title of a service; empty: there is no such service. */
struct str oauth_title(const struct oauth *oauth, struct str service);

/* Are all scopes of `wanted` among those of `granted`? Both between spaces. */
bool oauth_scopes_within(struct str wanted, struct str granted);

/* --- the access token (token.c) --- */

struct oauth_token { /* valid during done() */
    /*
     * NOD_OK. NOD_E_NOT_FOUND: no account is connected, or its service refuses it, or it was
     * connected for fewer scopes: the person has to be asked. NOD_E_REFUSED: they were asked, and
     * the service grants no more. NOD_E_NOT_SUPPORTED: there is no such service. NOD_E_IO: the
     * service cannot be reached. NOD_E_STORE, NOD_E_LIMIT.
     */
    nod_status status;
    struct str access;  /* with NOD_OK */
    struct str message; /* otherwise: why, for people */
};
typedef void oauth_token_done(void *data, const struct oauth_token *token);

struct oauth_want { /* copied */
    struct str principal;
    struct str service;
    struct str scopes; /* between spaces */
    struct str ask_id; /* the question by which it was connected for this, if it was */
};

struct oauth_wait;
/* done() is called once, later. */
struct oauth_wait *oauth_token(struct oauth *oauth, const struct oauth_want *want,
                               oauth_token_done *done, void *data);
/* done() is not called any more. */
void oauth_token_cancel(struct oauth_wait *wait);

/* --- the code flow (connect.c) --- */

struct oauth_flow {       /* copied */
    struct str ask_id;    /* whose question leads there: the flow is found by it */
    struct str principal; /* whose account it becomes */
    struct str service;
    struct str scopes;       /* that are wanted, besides the service's own */
    struct str redirect_uri; /* where the person comes back to */
    struct str state;        /* and with what */
    /* What came back, decoded; for oauth_return. */
    struct str code, error, iss;
    bool has_iss;   /* it says which issuer it is from */
    int64_t ttl_ms; /* how long the question waits */
};

enum oauth_flow_end {
    OAUTH_FLOW_GO,       /* the person goes to `url`: at first, or for more scopes */
    OAUTH_FLOW_AGREED,   /* the account was connected before, or is once the question is accepted */
    OAUTH_FLOW_DECLINED, /* the person did not agree */
    OAUTH_FLOW_REFUSED,  /* what came back is not what was begun; nothing has happened */
    OAUTH_FLOW_FAILED,   /* the service or the store failed: it can be tried again */
};

struct oauth_flow_result { /* valid during done() */
    enum oauth_flow_end end;
    struct str url;
    struct str message; /* for people, unless it went well */
};
typedef void oauth_flow_done(void *data, const struct oauth_flow_result *result);

/* done() is called once, later, unless the oauth is destroyed before. */
void oauth_begin(struct oauth *oauth, const struct oauth_flow *flow, oauth_flow_done *done,
                 void *data);
void oauth_return(struct oauth *oauth, const struct oauth_flow *flow, oauth_flow_done *done,
                  void *data);
/*
 * The question of a flow has ended (held.c). Accepted: what it led to is the account now. done() is
 * called once, later, with NOD_OK or NOD_E_STORE, unless the oauth is destroyed before. In any
 * other way: what it led to is given back to the service, and nothing is connected.
 */
void oauth_keep(struct oauth *oauth, const struct oauth_flow *flow,
                void (*done)(void *data, nod_status status), void *data);
void oauth_drop(struct oauth *oauth, const struct oauth_flow *flow);

/* --- the accounts that there are (revoke.c) --- */

struct oauth_account { /* what may be shown of one */
    struct str id;
    struct str principal, service, title, scopes;
    int64_t connected_ms, refreshed_ms; /* 0: never */
    int64_t expires_ms;                 /* of the access token; 0: it has no end that is known */
    bool refused;                       /* the service refuses it: the person is asked again */
};
typedef void oauth_account_row(void *data, const struct oauth_account *account);

/* Accounts of a principal (empty: of all), by page. `cursor` as done() was given it. */
void oauth_list(struct oauth *oauth, struct str principal, struct str cursor, size_t limit,
                oauth_account_row *row,
                void (*done)(void *data, nod_status status, struct str cursor), void *data);
/* The id of what this principal calls so: the service of an account of their own, or the id. */
struct str oauth_account_id(struct arena *arena, struct str principal, struct str called);
/*
 * Disconnects an account of this principal (empty: of anyone). With NOD_OK no call is given its
 * token any more; its service is told, if it can be and has an endpoint for that. NOD_E_NOT_FOUND:
 * there is none, or it is another principal's.
 */
void oauth_revoke(struct oauth *oauth, struct str id, struct str principal,
                  void (*done)(void *data, nod_status status), void *data);

#endif
