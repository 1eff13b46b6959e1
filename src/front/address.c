/*
 * front/address: see address.h.
 *
 * Several X-Forwarded-For lines are one list, in their order. What is to the left of the first
 * untrusted address was written by the client, and may be anything, so it is never read.
 */
#include "front/address.h"

static const struct str forwarded_for = STR_INIT("X-Forwarded-For");
static const struct str any_forwarded = STR_INIT("X-Forwarded-"); /* how several begin */
static const struct str forwarded = STR_INIT("Forwarded");

static unsigned bits_of(const struct peer *peer)
{
    return peer->kind == PEER_IP4 ? 32 : 128;
}

/* Are the bits from `from` on the same? Without `b`: are they zero? */
static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        uint8_t bit = (uint8_t)(0x80 >> (i % 8));
        if ((a[i / 8] & bit) != (b ? b[i / 8] & bit : 0))
            return false;
    }
    return true;
}

bool cidr_parse(struct str text, struct cidr *cidr)
{
    struct str address, digits;
    bool prefixed = str_cut(text, '/', &address, &digits);
    int64_t bits = 0;

    *cidr = (struct cidr){ 0 };
    if (!peer_parse(address, &cidr->base))
        return false;
    cidr->bits = bits_of(&cidr->base);
    if (!prefixed)
        return true;
    if (!digits.len || digits.len > 3 || digits.at[0] < '0' || digits.at[0] > '9' ||
        !str_to_i64(digits, &bits) || bits > (int64_t)cidr->bits)
        return false;
    cidr->bits = (unsigned)bits;
    return same_bits(cidr->base.address, NULL, cidr->bits, bits_of(&cidr->base));
}

bool cidr_has(const struct cidr *cidr, const struct peer *peer)
{
    return cidr->base.kind == peer->kind &&
           same_bits(cidr->base.address, peer->address, 0, cidr->bits);
}

static bool is_trusted(const struct cidr *trusted, size_t count, const struct peer *peer)
{
    for (size_t i = 0; i < count; i++)
        if (cidr_has(&trusted[i], peer))
            return true;
    return false;
}

/* "203.0.113.7", "203.0.113.7:4711", "2001:db8::1" or "[2001:db8::1]:4711". */
static bool read_hop(struct str text, struct peer *hop)
{
    struct str name = str_trim(text), port;

    if (name.len && name.at[0] == '[') {
        const char *close = memchr(name.at, ']', name.len);
        return close && peer_parse(str_n(name.at + 1, (size_t)(close - name.at) - 1), hop);
    }
    if (peer_parse(name, hop))
        return true;
    return str_cut(name, ':', &name, &port) && peer_parse(name, hop) && hop->kind == PEER_IP4;
}

/* Removes the last element of a list, and returns it. */
static struct str take_last(struct str *list)
{
    size_t from = list->len;

    while (from > 0 && list->at[from - 1] != ',')
        from--;
    struct str last = str_skip(*list, from);
    list->len = from ? from - 1 : 0;
    return last;
}

/* False: the client's address is known, or no more can be known. */
static bool step_back(const struct cidr *trusted, size_t count, struct str hop, struct peer *client)
{
    struct peer before;

    if (!is_trusted(trusted, count, client) || !read_hop(hop, &before))
        return false;
    *client = before;
    return true;
}

void address_of(const struct cidr *trusted, size_t count, const struct http_request *http,
                struct peer *client)
{
    *client = *http->peer;
    for (size_t i = count ? http->header_count : 0; i > 0; i--) {
        struct str list = http->headers[i - 1].value;
        if (!str_eq_nocase(http->headers[i - 1].name, forwarded_for))
            continue;
        while (list.len)
            if (!step_back(trusted, count, take_last(&list), client))
                return;
    }
}

bool address_is_forwarded(const struct http_request *http)
{
    for (size_t i = 0; i < http->header_count; i++) {
        struct str name = http->headers[i].name;
        if (str_eq_nocase(name, forwarded) || str_eq_nocase(name, STR("Via")) ||
            str_eq_nocase(name, STR("X-Real-IP")) ||
            (name.len >= any_forwarded.len &&
             str_eq_nocase(str_n(name.at, any_forwarded.len), any_forwarded)))
            return true;
    }
    return false;
}
