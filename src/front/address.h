/*
 * front/address: from which address a request comes.
 *
 * It is the peer of the connection, unless the operator trusts the peer as a proxy. Then the
 * proxy's X-Forwarded-For is believed. It is read from its end, and the first address that is not
 * itself a trusted proxy is the client's. The header of an untrusted peer is ignored.
 */
#ifndef NOD_FRONT_ADDRESS_H
#define NOD_FRONT_ADDRESS_H

#include "net/http.h"
#include "net/peer.h"

/* Addresses with the same first bits: "10.0.0.0/8", "2001:db8::/32", or a single one. */
struct cidr {
    struct peer base;
    unsigned bits;
};

/* False: it is not a CIDR, or bits after its prefix are set. */
bool cidr_parse(struct str text, struct cidr *cidr);
bool cidr_has(const struct cidr *cidr, const struct peer *peer);

void address_of(const struct cidr *trusted, size_t count, const struct http_request *http,
                struct peer *client);
/* Does the request say that a proxy has passed it on: Forwarded, X-Forwarded-*, X-Real-IP, Via? */
bool address_is_forwarded(const struct http_request *http);

#endif
