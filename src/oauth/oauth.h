/*
 * oauth: the client's side of OAuth, with a service that the operator has registered this server
 * with.
 *
 * service.c    what a service may be, and the words of a scope
 * discover.c   where its endpoints are, if only its issuer is known (RFC 8414, OpenID Connect)
 * wire.c       the URL of the code flow with PKCE, requests to endpoints, what a token endpoint
 *              answers (RFC 6749, 7009, 7636, 8707, 9207)
 *
 * Nothing is kept here but what a service says of itself. Whose tokens they are, where they are
 * stored and when they are refreshed is in accounts/.
 *
 * Holds always: requests go out by the fetcher of their service alone, and no token, code or secret
 * is in a log or in a message.
 */
#ifndef NOD_OAUTH_OAUTH_H
#define NOD_OAUTH_OAUTH_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "net/fetch.h"

enum {
    OAUTH_NAME_MAX = 32,         /* bytes of the name of a service */
    OAUTH_TITLE_MAX = 100,       /* bytes of its title */
    OAUTH_URL_MAX = 2048,        /* bytes of an address of a service */
    OAUTH_TEXT_MAX = 1024,       /* bytes of a client id, of scopes, of a resource */
    OAUTH_SECRET_MAX = 4096,     /* bytes of the secret of a client */
    OAUTH_TOKEN_MAX = 16 * 1024, /* bytes of a token */
    OAUTH_BODY_MAX = 64 * 1024,  /* bytes of a request's body */
    OAUTH_ALLOWED_MAX = 8,       /* addresses of one service that are not public */
    OAUTH_ANSWER_MS = 8000,      /* a service has so long to answer */
    OAUTH_METADATA_MS = 3600000, /* what a service says of itself is read again after that */
    OAUTH_MESSAGE_MAX = 512,     /* bytes of a sentence for people */
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

struct loop;

struct oauth_service {
    struct loop *loop;
    struct oauth_service_spec spec; /* its texts are in `text` */
    char *text;
    size_t text_size;
    struct reach reach;
    struct fetcher *fetcher;
    char problem[OAUTH_MESSAGE_MAX]; /* why it was not opened, if that names an address */
    bool discovers;                  /* only its issuer was given */
    /* What it says of itself (RFC 8414); freed with it. */
    char *authorization, *token, *revocation;
    bool names_issuer; /* its answers say `iss` (RFC 9207) */
    bool barred;       /* where it describes itself may not be reached (net/reach) */
    bool auth_in_body; /* it takes the client's secret in the body only */
    int64_t read_ms;   /* loop_now when that was read; 0: it was not */
    struct fetch *fetch;
    int which;         /* of the places where it may be */
    struct list waits; /* struct oauth_await */
};

/* --- a service (service.c) --- */

/* False: *why says what is wrong with it, as long as the service is where it is, and *part is the
 * member of `spec` that it is wrong with, or NULL. */
bool oauth_service_open(struct oauth_service *service, const struct oauth_service_spec *spec,
                        struct loop *loop, const char *ca_file, const void **part,
                        const char **why);
void oauth_service_close(struct oauth_service *service);
/* What its refresh tokens are for: its issuer, or where they are used. */
struct str oauth_service_identity(const struct oauth_service *service);
bool oauth_url_fits(struct str url, const char **why);

/* Scopes are words between spaces; some services write commas. */
bool oauth_scopes_fit(struct str scopes);
/* Are all scopes of `wanted` among those of `granted`? */
bool oauth_scopes_within(struct str wanted, struct str granted);
/* The words of both, each once. */
struct str oauth_scopes_join(struct arena *arena, struct str some, struct str more);
/* The next word of `rest`. */
bool oauth_word(struct str *rest, struct str *word);

/* --- its endpoints (discover.c) --- */

struct oauth_await { /* embedded; zeroed at first */
    struct list link;
    void (*ready)(void *data, const char *why); /* NULL: it is ready */
    void *data;
};

/* Calls ready() when the endpoints are known, perhaps at once. */
void oauth_service_await(struct oauth_service *service, struct oauth_await *wait,
                         void (*ready)(void *data, const char *why), void *data);
void oauth_await_stop(struct oauth_await *wait);

/* --- requests and answers (wire.c) --- */

/* A new verifier (RFC 7636, 4.1). */
struct str oauth_verifier(struct arena *arena);

struct oauth_code_request {
    struct str redirect_uri, state, scopes, verifier;
};
/* Where the person is sent to. */
void oauth_authorization_url(struct buf *url, const struct oauth_service *service,
                             const struct oauth_code_request *request);
/* Does an answer with this `iss`, or without (NULL), come from the service? (RFC 9207) */
bool oauth_issuer_fits(const struct oauth_service *service, const struct str *iss);

/* Each of these POSTs a form to an endpoint, as this client. NULL: it cannot be sent. */
struct fetch *oauth_exchange(struct oauth_service *service, struct str code,
                             struct str redirect_uri, struct str verifier, fetch_done *done,
                             void *data);
struct fetch *oauth_refresh(struct oauth_service *service, struct str token, fetch_done *done,
                            void *data);
/* With the refresh token, a service ends all that came of it (RFC 7009, 2.1). */
struct fetch *oauth_revoke(struct oauth_service *service, struct str token, bool is_refresh,
                           fetch_done *done, void *data);

struct oauth_tokens {
    struct str access, refresh, scopes; /* empty: it was not said */
    int64_t lasts_ms;                   /* 0: it was not said */
    struct str error;                   /* the service says that it refuses, and why */
};
/* False: that is no answer of a token endpoint. */
bool oauth_tokens_read(struct arena *arena, const struct fetch_result *result,
                       struct oauth_tokens *out);
/* Does it mean that the service does not accept this grant any more? */
bool oauth_is_refusal(struct str error);
/* Why the service could not be reached, in words; if only the operator can mend it, with the
 * setting that is missing. */
void oauth_unreached(const struct fetch_result *result, char out[OAUTH_MESSAGE_MAX]);

#endif
