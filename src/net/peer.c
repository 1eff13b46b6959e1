/*
 * net/peer: see peer.h.
 */
#include "net/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/os.h"

static void peer_ip4(struct peer *peer, const void *address)
{
    peer->kind = PEER_IP4;
    memcpy(peer->address, address, sizeof(struct in_addr));
}

static void peer_ip6(struct peer *peer, const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        peer_ip4(peer, address->s6_addr + 12);
        return;
    }
    peer->kind = PEER_IP6;
    memcpy(peer->address, address->s6_addr, sizeof(peer->address));
}

void peer_of_address(const struct sockaddr *address, struct peer *peer)
{
    *peer = (struct peer){ 0 };
    switch (address->sa_family) {
    case AF_INET:
        peer_ip4(peer, &((const struct sockaddr_in *)(const void *)address)->sin_addr);
        break;
    case AF_INET6:
        peer_ip6(peer, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
        break;
    default:
        break;
    }
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET
               ? ((const struct sockaddr_in *)(const void *)address)->sin_port
           : address->ss_family == AF_INET6
               ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_port
               : 0;
}

static bool is_loopback(const struct peer *peer)
{
    static const uint8_t six[PEER_ADDRESS_BYTES] = { [15] = 1 };

    return peer->kind == PEER_IP4
               ? peer->address[0] == 127
               : peer->kind == PEER_IP6 && memcmp(peer->address, six, sizeof(six)) == 0;
}

void peer_of(int fd, bool local, struct peer *peer)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);

    *peer = (struct peer){ 0 };
    if (local) {
        peer->kind = PEER_LOCAL;
        peer->same_user = os_peer_is_us(fd);
        return;
    }
    if (getpeername(fd, (struct sockaddr *)&address, &len) != 0)
        return; /* it has gone already */
    peer_of_address((const struct sockaddr *)&address, peer);
    peer->port = port_of(&address);
    struct peer own;
    len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return;
    peer_of_address((const struct sockaddr *)&address, &own);
    peer->own_port = port_of(&address);
    memcpy(peer->own, own.address, sizeof(peer->own));
    if (is_loopback(peer))
        peer->mark = os_socket_mark(fd);
}

static void address_make(bool six, const uint8_t *bytes, uint16_t port,
                         struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *wide = (struct sockaddr_in6 *)out;

    *out = (struct sockaddr_storage){ .ss_family = six ? AF_INET6 : AF_INET };
    if (six) {
        memcpy(&wide->sin6_addr, bytes, sizeof(wide->sin6_addr));
        wide->sin6_port = port;
    } else {
        memcpy(&four->sin_addr, bytes, sizeof(four->sin_addr));
        four->sin_port = port;
    }
}

bool peer_is_us(const struct peer *peer)
{
    struct sockaddr_storage theirs, ours;

    if (peer->kind == PEER_LOCAL)
        return peer->same_user;
    if (!is_loopback(peer) || !peer->port || !peer->own_port)
        return false;
    address_make(peer->kind == PEER_IP6, peer->address, peer->port, &theirs);
    address_make(peer->kind == PEER_IP6, peer->own, peer->own_port, &ours);
    return os_tcp_is_us((const struct sockaddr *)&theirs, (const struct sockaddr *)&ours,
                        peer->mark);
}

bool peer_parse(struct str text, struct peer *peer)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr six;
    struct in_addr four;

    *peer = (struct peer){ 0 };
    if (!text.len || text.len >= sizeof(copy) || memchr(text.at, '\0', text.len))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, &four) == 1)
        peer_ip4(peer, &four);
    else if (inet_pton(AF_INET6, copy, &six) == 1)
        peer_ip6(peer, &six);
    return peer->kind != PEER_UNKNOWN;
}

struct str peer_text(const struct peer *peer, char out[PEER_TEXT_MAX])
{
    int family = peer->kind == PEER_IP4 ? AF_INET : AF_INET6;

    if (peer->kind == PEER_LOCAL)
        return STR("unix");
    if (peer->kind == PEER_UNKNOWN || !inet_ntop(family, peer->address, out, PEER_TEXT_MAX))
        return STR("unknown");
    return str_of(out);
}
