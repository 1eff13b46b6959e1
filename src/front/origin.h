/*
 * front/origin: from where may a browser send us requests?
 *
 * A page on the internet can make a browser send requests to a server on this machine, under a name
 * that the page's owner has pointed here (DNS rebinding). The Host and Origin headers give such a
 * request away: only loopback names, the addresses listened on, and what the operator has allowed
 * pass.
 */
#ifndef NOD_FRONT_ORIGIN_H
#define NOD_FRONT_ORIGIN_H

#include "base/str.h"

struct origin_rules {
    const struct str *own; /* the addresses that the server listens on */
    size_t own_count;
    const struct str *hosts; /* "name" (any port) or "name:port" */
    size_t host_count;
    const struct str *origins; /* "https://app.example.com", exactly */
    size_t origin_count;
};

/* "localhost", 127.0.0.0/8 or ::1 (with or without brackets), or a Unix socket. */
bool origin_is_loopback(struct str host);

/* A Host header, with or without a port. An empty one does not pass. */
bool origin_host_ok(const struct origin_rules *rules, struct str host);
/* A Host header that says "localhost", and the port that it says; false also if the operator has
 * allowed that name. */
bool origin_host_is_localhost(const struct origin_rules *rules, struct str host, int *port);
/* A Host header with an address: that is no name, which its owner could have pointed here. */
bool origin_host_is_address(struct str host);
/* Has the operator allowed this origin? *place is its number. */
bool origin_allowed(const struct origin_rules *rules, struct str origin, size_t *place);
/* An Origin header. An empty one (no browser) passes, "null" does not. */
bool origin_ok(const struct origin_rules *rules, struct str origin);

#endif
