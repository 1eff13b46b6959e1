/*
 * net/peer: who is at the other end of a connection, as the kernel reports it.
 *
 * An IPv4 address that comes mapped into IPv6 (::ffff:10.0.0.1) is treated as the IPv4 address.
 */
#ifndef NOD_NET_PEER_H
#define NOD_NET_PEER_H

#include "base/str.h"

enum {
    PEER_ADDRESS_BYTES = 16, /* bytes of an IPv6 address */
    PEER_TEXT_MAX = 64,      /* bytes of an address as text */
};

enum peer_kind {
    PEER_UNKNOWN,
    PEER_IP4,  /* the first four bytes of `address` */
    PEER_IP6,  /* all of them */
    PEER_LOCAL /* over a Unix socket */
};

struct peer {
    uint8_t kind;
    bool same_user; /* PEER_LOCAL: its process runs as the same user as this one */
    /* Of a connected socket: the ports of both ends, in network order, our address, and the mark of
     * our end (base/os.h). */
    uint16_t port, own_port;
    uint64_t mark;
    uint8_t address[PEER_ADDRESS_BYTES];
    uint8_t own[PEER_ADDRESS_BYTES];
};

struct sockaddr;

/* From an address of the system; PEER_UNKNOWN if it is not an IP address. */
void peer_of_address(const struct sockaddr *address, struct peer *peer);
/* The peer of a connected socket. `local`: a Unix one. */
void peer_of(int fd, bool local, struct peer *peer);
/* Does the connection come from this machine, from a socket that a process of this one's user has
 * made and that is still open, both ways? The system is asked anew each time; false if it does not
 * tell. Whoever passes such a socket on to another user passes this on with it. */
bool peer_is_us(const struct peer *peer);
/* An address as people write it, without port and brackets. False: it is not an address. */
bool peer_parse(struct str text, struct peer *peer);
/* "203.0.113.7", "2001:db8::1", "unix" or "unknown"; points into `out` or to a constant. */
struct str peer_text(const struct peer *peer, char out[PEER_TEXT_MAX]);

#endif
