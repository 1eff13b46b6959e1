/*
 * tests/fuzz/front: heads that anybody can send, and the options that an operator writes.
 *
 * The first line is read as a public URL, a network, a pattern and a line of a token file. The
 * second is a method and a path, the others are headers. Together they are a request on which the
 * gate decides: from a trusted proxy, from an untrusted one, and over a Unix socket.
 */
#include <stdlib.h>

#include "front/front_inside.h"
#include "net/loop.h"
#include "target.h"

enum { HEADERS_MAX = 32, ARENA_MAX = 1 << 20 };

#define ADA "ada-token-0123456789"

static struct front *front;
static const struct peer trusted = { .kind = PEER_IP4, .address = { 10, 0, 0, 1 } };
static const struct peer other = { .kind = PEER_IP4, .address = { 203, 0, 113, 7 } };
static const struct peer foreign = { .kind = PEER_LOCAL };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void handle(const struct front_request *request, void *data)
{
    (void)request;
    (void)data;
}

static void open_front(void)
{
    static const char *const origins[] = { "https://app.example", NULL };
    static const char *const proxies[] = { "10.0.0.0/8", "2001:db8::/32", NULL };
    static const char *const sent[] = { "X-Many-*", NULL };
    static struct arena arena;
    struct str problem;

    arena_init(&arena, ARENA_MAX);
    front = front_create(
        &(struct front_opts){ .loop = loop_create(),
                              .tokens = tokens_parse(STR(ADA " ada\n"), STR("t"), &arena, &problem),
                              .allowed_origins = origins,
                              .public_url = "https://nod.example.org",
                              .trusted_proxies = proxies });
    front_web_headers(front, sent, "X-Told");
    static const char *const patterns[] = { "/do", "/a/{x}", "/a/{x}/b", "/f/{rest...}" };
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        require(front_route(front, &(struct route){ .method = STR("GET"),
                                                    .pattern = str_of(patterns[i]),
                                                    .who = i ? ROLES_NONE : ROLE_ASK,
                                                    .anyone = i > 0,
                                                    .handle = handle }));
}

static void read_options(struct str line)
{
    struct arena arena;
    struct public_url url;
    struct cidr cidr;
    struct str problem;
    const char *why;
    struct routes *routes = routes_create();

    arena_init(&arena, ARENA_MAX);
    if (public_url_read(line, &arena, &url, &why)) {
        struct public_url again; /* what it is written as is read as the same */
        require(public_url_read(url.origin, &arena, &again, &why));
        require(str_eq(again.origin, url.origin) && str_eq(again.host, url.host));
    }
    if (cidr_parse(line, &cidr))
        require(cidr_has(&cidr, &cidr.base));
    routes_add(
        routes,
        &(struct route){ .method = STR("GET"), .pattern = line, .who = ROLE_ASK, .handle = handle },
        &why);
    tokens_destroy(tokens_parse(line, STR("t"), &arena, &problem));
    routes_destroy(routes);
    arena_finish(&arena);
}

static void decide(struct http_request *request, const struct peer *peer)
{
    struct http_ruling ruling = { 0 };
    struct route_vars vars;
    struct peer client;

    request->peer = peer;
    address_of(front->proxies, front->proxy_count, request, &client);
    require(peer == &trusted || memcmp(&client, peer, sizeof(client)) == 0);
    enum http_verdict verdict = gate_head(request, &ruling, front);
    require((verdict == HTTP_ANSWER) == (ruling.status != 0));
    require(ruling.header_count <= HTTP_RULING_HEADERS_MAX);
    require(verdict == HTTP_ANSWER || ruling.mark.what);
    require(verdict != HTTP_TRUST || ruling.mark.who);
    if (verdict != HTTP_ANSWER && routes_vars(ruling.mark.what, request->path, &front->path, &vars))
        for (size_t i = 0; i < vars.count; i++)
            require(!vars.at[i].value.len || !memchr(vars.at[i].value.at, 0, vars.at[i].value.len));
}

FUZZ_TARGET(front)
{
    struct str rest = str_n((const char *)data, size), line;
    struct http_header headers[HEADERS_MAX];
    struct http_request request = { .headers = headers };

    if (!front)
        open_front();
    str_cut(rest, '\n', &line, &rest);
    read_options(line);
    str_cut(rest, '\n', &line, &rest);
    str_cut(line, ' ', &request.method, &request.path);
    while (rest.len && request.header_count < HEADERS_MAX) {
        struct http_header *header = &headers[request.header_count];
        str_cut(rest, '\n', &line, &rest);
        if (str_cut(line, ':', &header->name, &header->value))
            request.header_count++;
        header->value = str_trim(header->value);
    }
    decide(&request, &trusted);
    decide(&request, &other);
    decide(&request, &foreign);
    return 0;
}
