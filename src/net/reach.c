/*
 * net/reach: see reach.h.
 *
 * IPv4 is public unless it is in the table, which holds the special-purpose networks and the one
 * metadata service that has an address among the public ones. IPv6 is the other way round: only
 * global unicast (2000::/3) is public, without the networks that the table takes out of it. So
 * loopback, link-local, unique local, multicast and NAT64 (64:ff9b::/96) are refused without being
 * named. An IPv4 address mapped into IPv6 is judged as the IPv4 address (net/peer).
 */
#include "net/reach.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct network {
    uint8_t address[PEER_ADDRESS_BYTES];
    int bits;
};

static const struct network ip4_not_public[] = {
    { { 0 }, 8 },                 /* this network */
    { { 10 }, 8 },                /* private */
    { { 100, 64 }, 10 },          /* shared by the customers of a provider (CGNAT) */
    { { 127 }, 8 },               /* this machine */
    { { 168, 63, 129, 16 }, 32 }, /* a cloud's own services (Azure) */
    { { 169, 254 }, 16 },         /* link-local, and the metadata of most clouds */
    { { 172, 16 }, 12 },          /* private */
    { { 192, 0, 0 }, 24 },        /* protocol assignments */
    { { 192, 0, 2 }, 24 },        /* documentation */
    { { 192, 88, 99 }, 24 },      /* 6to4 relays */
    { { 192, 168 }, 16 },         /* private */
    { { 198, 18 }, 15 },          /* benchmarks */
    { { 198, 51, 100 }, 24 },     /* documentation */
    { { 203, 0, 113 }, 24 },      /* documentation */
    { { 224 }, 4 },               /* multicast */
    { { 240 }, 4 },               /* reserved, and broadcast */
};

static const struct network ip6_global = { { 0x20 }, 3 };

static const struct network ip6_not_public[] = {
    { { 0x20, 0x01 }, 23 },             /* protocol assignments: Teredo, ORCHID, benchmarks */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
    { { 0x20, 0x02 }, 16 },             /* 6to4, which holds an IPv4 address */
    { { 0x3f, 0xff }, 20 },             /* documentation */
};

static bool within(const struct peer *peer, const struct network *network)
{
    int whole = network->bits / 8, rest = network->bits % 8;
    int mask = 0xff << (8 - rest) & 0xff;

    return memcmp(peer->address, network->address, (size_t)whole) == 0 &&
           (rest == 0 || ((peer->address[whole] ^ network->address[whole]) & mask) == 0);
}

static bool within_any(const struct peer *peer, const struct network *networks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (within(peer, &networks[i]))
            return true;
    return false;
}

bool reach_is_public(const struct peer *address)
{
    switch (address->kind) {
    case PEER_IP4:
        return !within_any(address, ip4_not_public,
                           sizeof(ip4_not_public) / sizeof(ip4_not_public[0]));
    case PEER_IP6:
        return within(address, &ip6_global) &&
               !within_any(address, ip6_not_public,
                           sizeof(ip6_not_public) / sizeof(ip6_not_public[0]));
    default:
        return false;
    }
}

static bool same_address(const struct peer *a, const struct peer *b)
{
    return a->kind == b->kind && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static int port_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    if (address->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return -1;
}

bool reach_permits_peer(const struct reach *reach, const struct peer *address, int port)
{
    for (size_t i = 0; reach && i < reach->count; i++)
        if (reach->allowed[i].port == port && same_address(&reach->allowed[i].address, address))
            return true;
    return reach_is_public(address);
}

bool reach_permits(const struct reach *reach, const struct sockaddr *address)
{
    struct peer peer;

    peer_of_address(address, &peer);
    return reach_permits_peer(reach, &peer, port_of(address));
}

bool reach_allow(struct reach *reach, struct str target)
{
    size_t colon = target.len;
    struct str host;
    uint64_t port;

    while (colon > 0 && target.at[colon - 1] != ':')
        colon--;
    if (colon < 2 || reach->count == REACH_ALLOWED_MAX ||
        !str_to_u64(str_skip(target, colon), &port) || port == 0 || port > 65535)
        return false;
    host = str_n(target.at, colon - 1);
    bool brackets = host.at[0] == '[' && host.at[host.len - 1] == ']';
    if (brackets)
        host = str_n(host.at + 1, host.len - 2);
    else if (memchr(host.at, ':', host.len))
        return false; /* an IPv6 address needs its brackets */
    if (!peer_parse(host, &reach->allowed[reach->count].address))
        return false;
    reach->allowed[reach->count++].port = (int)port;
    return true;
}
