/*
 * cli/options: the command line that every server has.
 *
 * It is strict: an option that is unknown, lacks its value or does not go with the others is
 * refused, with a message that says what to do.
 */
#ifndef NOD_CLI_OPTIONS_H
#define NOD_CLI_OPTIONS_H

#include "base/log.h"
#include "base/str.h"

enum {
    OPTIONS_NAMES_MAX = 64,         /* names of --allow-host, and of each option like it */
    OPTIONS_LISTEN_MAX = 16,        /* addresses of --http */
    OPTIONS_PROBLEM_MAX = 512,      /* bytes of an error message */
    OPTIONS_DAYS_MAX = 3650,        /* days of a duration */
    OPTIONS_COUNT_MAX = 1000000000, /* the largest number that an option takes */
};

/* What --sessions-per-principal and the like limit. */
enum options_share {
    OPTIONS_SESSIONS,
    OPTIONS_CALLS,
    OPTIONS_LISTENERS,
    OPTIONS_SUBSCRIPTIONS,
    OPTIONS_TASKS,
    OPTIONS_SHARES
};

enum options_do { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG };

/* An address to listen on. */
struct options_listen {
    struct str host; /* empty: loopback; "unix:PATH": a Unix socket */
    int port;
    bool given;
};

/* The soft deadline of a client or a tool. */
struct options_soft {
    struct str name;
    bool tool;
    int64_t ms;
};

struct options {
    struct options_listen listen[OPTIONS_LISTEN_MAX]; /* addresses of --http */
    size_t listen_count;
    bool no_inbox;
    bool demo;                   /* the page has a button that makes a call */
    struct options_listen inbox; /* of a server on stdio: where its inbox is */
    const char *token_file;
    const char *public_url;
    const char *trusted_proxies[OPTIONS_NAMES_MAX + 1]; /* NULL-terminated */
    const char *tls_cert;
    const char *tls_key;
    const char *allow_hosts[OPTIONS_NAMES_MAX + 1]; /* NULL-terminated */
    const char *allow_origins[OPTIONS_NAMES_MAX + 1];
    const char *allow_fields[OPTIONS_NAMES_MAX + 1];
    struct options_listen metrics;               /* of --metrics */
    const char *webhooks[OPTIONS_NAMES_MAX + 1]; /* URLs */
    const char *webhook_allow[OPTIONS_NAMES_MAX + 1];
    const char *webhook_secret; /* a file; NULL: NOD_WEBHOOK_SECRET */
    bool webhook_content;
    const char *oauth;                           /* a file of services; NULL: none */
    const char *remember[OPTIONS_NAMES_MAX + 1]; /* rules: see cli/remember.c */
    bool confirm_destructive;
    bool no_model, model_may_consent, view_consent;
    const char *no_view_consent[OPTIONS_NAMES_MAX + 1];
    const char *surfaces;     /* names between commas and >; NULL: what the program sets */
    int64_t next_surface_ms;  /* 0: what the program sets */
    int64_t soft_deadline_ms; /* 0: what the program sets */
    struct options_soft soft[OPTIONS_NAMES_MAX]; /* and for clients and tools by name */
    size_t soft_count;
    const char *consent; /* NULL: what the program sets */
    const char *store;   /* an address; NULL: what the program sets */
    bool ephemeral;
    bool portable_states;
    int64_t keep_ms;    /* 0: what the program sets */
    int64_t ask_ttl_ms; /* the same */
    size_t pending_asks;
    size_t pending_asks_per_principal;
    size_t kept_mib;
    size_t kept_mib_per_principal;
    size_t journal_entries, journal_bytes; /* of a call; 0: as the program says */
    size_t per_principal[OPTIONS_SHARES];  /* 0: what the program sets */
    struct log_opts log;
    char problem[OPTIONS_PROBLEM_MAX]; /* with OPTIONS_WRONG */
};

/* The slices point into argv. */
enum options_do options_read(struct options *options, int argc, char **argv);
/* "90s", "30m", "24h", "7d". */
bool options_duration(struct str text, int64_t *ms);
/* "HOST:PORT", ":PORT", "PORT", "[::1]:PORT", "unix:PATH". */
bool options_address(struct str text, struct str *host, int *port);
const char *options_help(void);

#endif
