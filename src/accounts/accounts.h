/*
 * accounts: accounts that people have connected, for tools that act in their name elsewhere.
 *
 * A person connects an account of theirs at a service (oauth/oauth.h) by the code flow; what comes
 * of it is a record of the store, one for each principal and service. Whoever needs an access token
 * then asks for it by the name of the service.
 *
 * accounts.c   the services, and the pieces of work that are under way
 * account.c    the record of an account
 * connect.c    the code flow, from a question to the tokens that are held for it
 * held.c       these tokens, until their question has ended
 * token.c      the access token of an account, refreshed in time, once
 * source.c     access tokens as what a run needs
 * replaced.c   tokens that another one has taken the place of
 * revoke.c     accounts are listed, and disconnected
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
#ifndef NOD_ACCOUNTS_ACCOUNTS_H
#define NOD_ACCOUNTS_ACCOUNTS_H

#include "core/store.h"
#include "crypto/seal.h"
#include "oauth/oauth.h"

enum {
    ACCOUNTS_SERVICES_MAX = 32,      /* services of one server */
    ACCOUNTS_WAITS_MAX = 100000,     /* runs that wait for a token at the same time */
    ACCOUNTS_FLOWS_MAX = 1000,       /* people that are on their way through the flow */
    ACCOUNTS_EARLY_MS = 60000,       /* a token that lasts no longer is refreshed */
    ACCOUNTS_LEASE_MS = 15000,       /* a node may take so long to refresh */
    ACCOUNTS_LEASE_REST_MS = 10000,  /* and does not begin if less is left of that */
    ACCOUNTS_LOOK_MS = 100,          /* between two looks whether another node is done */
    ACCOUNTS_WAIT_MS = 60000,        /* so long a run waits for a token */
    ACCOUNTS_PAGE_MAX = 200,         /* accounts on one page of a list */
    ACCOUNTS_CURSOR_MAX = 1024,      /* bytes of where a list goes on */
    ACCOUNTS_REVOKED_MS = 604800000, /* the service is told of a revoke for at most so long */
    ACCOUNTS_REPLACED_MS = 3600000,  /* a replaced token is given back to its service after that */
    ACCOUNTS_HELD_MS = 604800000,    /* tokens are kept so long for the question that led to them */
};

struct accounts;

struct accounts_opts {
    struct loop *loop;
    struct store *store;  /* where accounts are kept */
    struct keyring *ring; /* they are sealed with it; lent */
    const char *ca_file;  /* authorities; NULL: the system's */
};

struct accounts *accounts_create(const struct accounts_opts *opts);
/* After the store was destroyed: nobody is called any more. NULL is fine. */
void accounts_destroy(struct accounts *accounts);
/* False: *why says what is wrong with it, until the next call, and *part is the member of `spec`
 * that it is wrong with, or NULL. */
bool accounts_add(struct accounts *accounts, const struct oauth_service_spec *spec,
                  const void **part, const char **why);
bool accounts_has_services(const struct accounts *accounts);
/* Gives access tokens to runs (core/need.h), as the source "credential". As long as the accounts.
 */
struct need_source;
struct need_source *accounts_source(struct accounts *accounts);
/* The title of a service; empty: there is no such service. */
struct str accounts_title(const struct accounts *accounts, struct str service);

/* --- the access token (token.c) --- */

struct account_token { /* valid during done() */
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
typedef void account_token_done(void *data, const struct account_token *token);

struct account_want { /* copied */
    struct str principal;
    struct str service;
    struct str scopes; /* between spaces */
    struct str ask_id; /* the question by which it was connected for this, if it was */
};

struct account_wait;
/* done() is called once, later. */
struct account_wait *accounts_token(struct accounts *accounts, const struct account_want *want,
                                    account_token_done *done, void *data);
/* done() is not called any more. */
void accounts_token_cancel(struct account_wait *wait);

/* --- the code flow (connect.c) --- */

struct account_flow {     /* copied */
    struct str ask_id;    /* whose question leads there: the flow is found by it */
    struct str principal; /* whose account it becomes */
    struct str service;
    struct str scopes;       /* that are wanted, besides the service's own */
    struct str redirect_uri; /* where the person comes back to */
    struct str state;        /* and with what */
    /* What came back, decoded; for accounts_return. */
    struct str code, error, iss;
    bool has_iss;   /* it says which issuer it is from */
    int64_t ttl_ms; /* how long the question waits */
};

enum account_flow_end {
    ACCOUNT_FLOW_GO,     /* the person goes to `url`: at first, or for more scopes */
    ACCOUNT_FLOW_AGREED, /* the account was connected before, or is once the question is accepted */
    ACCOUNT_FLOW_DECLINED, /* the person did not agree */
    ACCOUNT_FLOW_REFUSED,  /* what came back is not what was begun; nothing has happened */
    ACCOUNT_FLOW_FAILED,   /* the service or the store failed: it can be tried again */
};

struct account_flow_result { /* valid during done() */
    enum account_flow_end end;
    struct str url;
    struct str message; /* for people, unless it went well */
};
typedef void account_flow_done(void *data, const struct account_flow_result *result);

/* done() is called once, later, unless the accounts are destroyed before. */
void accounts_begin(struct accounts *accounts, const struct account_flow *flow,
                    account_flow_done *done, void *data);
void accounts_return(struct accounts *accounts, const struct account_flow *flow,
                     account_flow_done *done, void *data);
/*
 * The question of a flow has ended (held.c). Accepted: what it led to is the account now. done() is
 * called once, later, with NOD_OK or NOD_E_STORE, unless the accounts are destroyed before. In any
 * other way: what it led to is given back to the service, and nothing is connected.
 */
void accounts_keep(struct accounts *accounts, const struct account_flow *flow,
                   void (*done)(void *data, nod_status status), void *data);
void accounts_drop(struct accounts *accounts, const struct account_flow *flow);

/* --- the accounts that there are (revoke.c) --- */

struct account_shown { /* what may be shown of one */
    struct str id;
    struct str principal, service, title, scopes;
    int64_t connected_ms, refreshed_ms; /* 0: never */
    int64_t expires_ms;                 /* of the access token; 0: it has no end that is known */
    bool refused;                       /* the service refuses it: the person is asked again */
};
typedef void account_row(void *data, const struct account_shown *account);

/* Accounts of a principal (empty: of all), by page. `cursor` as done() was given it. */
void accounts_list(struct accounts *accounts, struct str principal, struct str cursor, size_t limit,
                   account_row *row, void (*done)(void *data, nod_status status, struct str cursor),
                   void *data);
/* The id of what this principal calls so: the service of an account of their own, or the id. */
struct str accounts_id(struct arena *arena, struct str principal, struct str called);
/*
 * Disconnects an account of this principal (empty: of anyone). With NOD_OK no call is given its
 * token any more; its service is told, if it can be and has an endpoint for that. NOD_E_NOT_FOUND:
 * there is none, or it is another principal's.
 */
void accounts_revoke(struct accounts *accounts, struct str id, struct str principal,
                     void (*done)(void *data, nod_status status), void *data);

#endif
