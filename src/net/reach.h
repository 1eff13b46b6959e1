/*
 * net/reach: which addresses an outgoing request may reach.
 *
 * Requests go to addresses that others had a hand in: a URL that was written down long ago, a name
 * whose owner changes its DNS. So the address itself is judged, after the name was looked up and
 * right before the connection is made. It has to be a public one; everything else (this machine,
 * its networks, the metadata service of a cloud) needs the operator, who names address and port.
 */
#ifndef NOD_NET_REACH_H
#define NOD_NET_REACH_H

#include "net/peer.h"

enum { REACH_ALLOWED_MAX = 64 }; /* targets that an operator may name */

struct reach {
    struct {
        struct peer address;
        int port;
    } allowed[REACH_ALLOWED_MAX];
    size_t count;
};

/* Names a target: "10.0.0.7:8443" or "[fd00::7]:8443". False: it is neither, or there are too
 * many. */
bool reach_allow(struct reach *reach, struct str target);
/* May a connection be made to this address and port? `reach` may be NULL: public ones only. */
bool reach_permits(const struct reach *reach, const struct sockaddr *address);
bool reach_permits_peer(const struct reach *reach, const struct peer *address, int port);
/* Is this a public address? */
bool reach_is_public(const struct peer *address);

#endif
