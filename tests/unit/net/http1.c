/*
 * tests/unit/net/http1: what the request parser accepts, what it refuses and with which status, and
 * that it does not matter how the bytes are cut.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "net/http1.h"
#include "../runner.h"

static const struct http1_limits limits = {
    .line_max = 200,
    .headers_max = 600,
    .header_count_max = 12,
    .body_max = 1000,
};

/* What feeding some bytes led to, in a form that can be compared. */
struct outcome {
    struct buf text;
    int status; /* of a refusal, or 0 */
    size_t requests;
};

static void note_request(struct outcome *outcome, const struct http1 *parser)
{
    const struct http_request *request = &parser->request;

    buf_fmt(&outcome->text, "%.*s|%.*s|%.*s|%.*s|k%d e%d c%d l%llu\n", STR_ARG(request->method),
            STR_ARG(request->target), STR_ARG(request->path), STR_ARG(request->query),
            parser->keep_alive, parser->expect_continue, parser->chunked,
            (unsigned long long)parser->content_length);
    for (size_t i = 0; i < request->header_count; i++)
        buf_fmt(&outcome->text, "  %.*s=%.*s\n", STR_ARG(request->headers[i].name),
                STR_ARG(request->headers[i].value));
}

/* Feeds one piece; false once it was refused. */
static bool feed(struct http1 *parser, struct str piece, struct outcome *outcome)
{
    struct str body;

    for (;;) {
        switch (http1_next(parser, &piece, &body)) {
        case HTTP1_HEAD:
            note_request(outcome, parser);
            break;
        case HTTP1_BODY:
            buf_add(&outcome->text, body);
            break;
        case HTTP1_END:
            buf_add(&outcome->text, STR("<end>\n"));
            outcome->requests++;
            http1_finish(parser);
            http1_init(parser, &limits);
            break;
        case HTTP1_REFUSED:
            outcome->status = parser->status;
            buf_fmt(&outcome->text, "%d %s", parser->status, parser->why);
            return false;
        case HTTP1_MORE:
            assert_int_equal(piece.len, 0);
            return true;
        }
    }
}

/* Cuts the bytes as `next_len` says; 0 takes all that is left. */
static struct outcome parse(struct str bytes, size_t (*next_len)(void *data), void *data)
{
    struct outcome outcome = { 0 };
    struct http1 parser;

    buf_init(&outcome.text, 1 << 20);
    http1_init(&parser, &limits);
    while (bytes.len) {
        size_t n = next_len ? next_len(data) : bytes.len;
        if (n == 0 || n > bytes.len)
            n = bytes.len;
        if (!feed(&parser, str_n(bytes.at, n), &outcome))
            break;
        bytes = str_skip(bytes, n);
    }
    http1_finish(&parser);
    return outcome;
}

static size_t one_byte(void *data)
{
    (void)data;
    return 1;
}

static size_t random_len(void *data)
{
    uint64_t *seed = data;

    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 1 + (size_t)(*seed >> 33) % 17;
}

#define H       "Host: h\r\n"
#define POST    "POST / HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define X10     "xxxxxxxxxx"
#define X50     X10 X10 X10 X10 X10
#define X250    X50 X50 X50 X50 X50

struct refused {
    struct str bytes;
    int status;
};

#define R(status, text)                                                                            \
    {                                                                                              \
        STR_INIT(text), (status)                                                                   \
    }

static const struct refused refusals[] = {
    /* where a request ends */
    R(400, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    R(400, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    R(400, POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    R(400, POST "Content-Length: 5, 5\r\n\r\nhello"),
    R(400, POST "Content-Length: +5\r\n\r\nhello"),
    R(400, POST "Content-Length: -5\r\n\r\nhello"),
    R(400, POST "Content-Length: 0x5\r\n\r\nhello"),
    R(400, POST "Content-Length: 5 5\r\n\r\nhello"),
    R(400, POST "Content-Length: 5.0\r\n\r\nhello"),
    R(400, POST "Content-Length:\r\n\r\nhello"),
    R(400, POST "Content-Length: five\r\n\r\nhello"),
    R(400, POST "Content-Length: 18446744073709551616\r\n\r\n"),
    R(413, POST "Content-Length: 18446744073709551615\r\n\r\n"),
    R(413, POST "Content-Length: 1001\r\n\r\n"),
    R(400, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: identity\r\n\r\n"),
    R(400, POST "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Transfer-Encoding:\x0b"
                "chunked\r\n\r\n0\r\n\r\n"),
    R(400, "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),

    /* lines and headers */
    R(400, POST "Content-Length : 5\r\n\r\nhello"),
    R(400, POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    R(400, POST "Content-Length\t: 5\r\n\r\nhello"),
    R(400, POST " Content-Length: 5\r\n\r\nhello"),
    R(400, "GET / HTTP/1.1\r\n Host: h\r\n\r\n"),
    R(400, POST "A: b\r\n folded\r\n\r\n"),
    R(400, POST "A: b\r\n\tfolded\r\n\r\n"),
    R(400, POST "A: b\nContent-Length: 5\r\n\r\nhello"),
    R(400, POST "A: b\rContent-Length: 5\r\n\r\nhello"),
    R(400, POST "A: b\r\r\nContent-Length: 5\r\n\r\nhello"),
    R(400, POST "A: b\n\n"),
    R(400, "GET / HTTP/1.1\nHost: h\n\n"),
    R(400, "GET / HTTP/1.1\n" H "\r\n"),
    R(400, POST "\n"),
    R(400, POST "\rX"),
    R(400, POST "A: b\0c\r\n\r\n"),
    R(400, POST "A\0: b\r\n\r\n"),
    R(400, POST "A: \x7f\r\n\r\n"),
    R(400, POST "A: \x1b[2J\r\n\r\n"),
    R(400, POST ": no name\r\n\r\n"),
    R(400, POST "no colon\r\n\r\n"),
    R(400, POST "nocolon\r\n\r\n"),
    R(400, POST "A(b): c\r\n\r\n"),
    R(400, POST "\xc3\xa4: c\r\n\r\n"),

    /* the request line */
    R(400, "get / HTTP/1.1\r\n" H "\r\n"),
    R(400, "GeT / HTTP/1.1\r\n" H "\r\n"),
    R(400, "G\0ET / HTTP/1.1\r\n" H "\r\n"),
    R(400, " GET / HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET  / HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET\t/ HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET / HTTP/1.1 \r\n" H "\r\n"),
    R(400, "GET /  HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET /\r\n\r\n"),
    R(400, "GET / \r\n" H "\r\n"),
    R(400, "GET / HTTP/11\r\n" H "\r\n"),
    R(400, "GET / http/1.1\r\n" H "\r\n"),
    R(400, "GET / HTTP/1.1x\r\n" H "\r\n"),
    R(400, "GET / HTTP/1.\r\n" H "\r\n"),
    R(400, "GET / HTTP/x.y\r\n" H "\r\n"),
    R(400, "GET / XTTP/1.1\r\n" H "\r\n"),
    R(505, "GET / HTTP/1.2\r\n" H "\r\n"),
    R(505, "GET / HTTP/2.0\r\n" H "\r\n"),
    R(505, "GET / HTTP/0.9\r\n" H "\r\n"),
    R(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    R(400, "GET /a\0b HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET /a\x01 HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET /\xff HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET /a#b HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET \\evil HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET evil HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET * HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET h:80 HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET ftp://h/ HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET http://other/ HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET http:///x HTTP/1.1\r\n" H "\r\n"),
    R(400, "GET http://u@h/ HTTP/1.0\r\n\r\n"),
    R(501, "CONNECT h:80 HTTP/1.1\r\n" H "\r\n"),
    R(400, "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"),
    R(400, "\rGET / HTTP/1.1\r\n" H "\r\n"),
    R(400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    R(400, X50 " / HTTP/1.1\r\n" H "\r\n"),
    R(400, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n" H "\r\n"),

    /* Host */
    R(400, "GET / HTTP/1.1\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\nA: b\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\n" H H "\r\n"),
    R(400, "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"),

    /* what says whom a request is from, and what it is: once */
    R(400, "GET / HTTP/1.1\r\n" H "Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\n" H "Origin: http://a\r\nX: y\r\nORIGIN: http://a\r\n\r\n"),
    R(400,
      "GET / HTTP/1.1\r\n" H "Sec-Fetch-Site: same-origin\r\nSec-fetch-site: cross-site\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\n" H "X-Page-Key: a\r\nx-page-key: b\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\n" H "Mcp-Session-Id: a\r\nmcp-session-id:\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\n" H
           "MCP-Protocol-Version: 2025-11-25\r\nmcp-protocol-version: 2025-06-18\r\n\r\n"),
    R(400, "GET / HTTP/1.1\r\n" H "Last-Event-ID: 1\r\nlast-event-id: 2\r\n\r\n"),
    R(400,
      "GET / HTTP/1.1\r\n" H "Content-Type: application/json\r\nContent-type: text/plain\r\n\r\n"),

    /* chunks */
    R(400, CHUNKED "g\r\n"),
    R(400, CHUNKED "\r\n"),
    R(400, CHUNKED "-1\r\n"),
    R(400, CHUNKED "+1\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "0x1\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED " 1\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "1 \r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "1\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "1\r\nab\r\n0\r\n\r\n"),
    R(400, CHUNKED "1\r\na\n0\r\n\r\n"),
    R(400, CHUNKED "1\r\na\r0\r\n\r\n"),
    R(400, CHUNKED "2\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "1\rxa\r\n"),
    R(400, CHUNKED "10000000000000001\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "0000000000000001\r\na\r\n0\r\n\r\n"),
    R(413, CHUNKED "3e9\r\n"),
    R(413, CHUNKED "fffffffffffffff\r\n"),
    R(413, CHUNKED "1\r\na\r\n3e8\r\n"),
    R(400, CHUNKED "1;" X250 X50 "\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "1;a\nb\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "1;a\0b\r\na\r\n0\r\n\r\n"),
    R(400, CHUNKED "0\r\nA : b\r\n\r\n"),
    R(400, CHUNKED "0\r\n folded\r\n\r\n"),
    R(400, CHUNKED "0\r\nA: b\n\r\n"),
    R(400, CHUNKED "0\r\n\rX"),
    R(400, CHUNKED "0\r\nA: " X250 X250 X250 X250 X250 X250 X250 X250 X250 X250 X250 X250 X250 X250
               X250 X250 X250 "\r\n\r\n"),

    /* sizes and expectations */
    R(414, "GET /" X250 " HTTP/1.1\r\n" H "\r\n"),
    R(431, POST "A: " X250 X250 X250 "\r\n\r\n"),
    R(431, POST X250 X250 X250 ": b\r\n\r\n"),
    R(431, POST
      "A:1\r\nA:2\r\nA:3\r\nA:4\r\nA:5\r\nA:6\r\nA:7\r\nA:8\r\nA:9\r\nA:1\r\nA:2\r\nA:3\r\n\r\n"),
    R(417, POST "Expect: 200-maybe\r\n\r\n"),
    R(417, POST "Expect:\r\n\r\n"),
};

struct taken {
    struct str bytes;
    struct str outcome;
};

#define T(text, told)                                                                              \
    {                                                                                              \
        STR_INIT(text), STR_INIT(told)                                                             \
    }

static const struct taken good[] = {
    T("GET /a/b?c=d&e HTTP/1.1\r\nHost: h:80\r\n\r\n",
      "GET|/a/b?c=d&e|/a/b|c=d&e|k1 e0 c0 l0\n  Host=h:80\n<end>\n"),
    T("\r\nGET / HTTP/1.1\r\n" H "\r\n", "GET|/|/||k1 e0 c0 l0\n  Host=h\n<end>\n"),
    T("GET / HTTP/1.1\r\nHost:[::1]:80\r\n\r\n", "GET|/|/||k1 e0 c0 l0\n  Host=[::1]:80\n<end>\n"),
    T("GET / HTTP/1.1\r\nHost: \t h \t \r\nEmpty:\r\n\r\n",
      "GET|/|/||k1 e0 c0 l0\n  Host=h\n  Empty=\n<end>\n"),
    T("GET http://h/x?y HTTP/1.1\r\n" H "\r\n",
      "GET|http://h/x?y|/x|y|k1 e0 c0 l0\n  Host=h\n<end>\n"),
    T("GET https://H HTTP/1.1\r\n" H "\r\n", "GET|https://H|/||k1 e0 c0 l0\n  Host=h\n<end>\n"),
    T("OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS|*|*||k1 e0 c0 l0\n  Host=h\n<end>\n"),
    T("GET / HTTP/1.1\r\n" H "Cookie: a=1\r\nCookie: b=2\r\nAccept: a/b\r\nAccept: c/d\r\n\r\n",
      "GET|/|/||k1 e0 c0 l0\n  Host=h\n  Cookie=a=1\n  Cookie=b=2\n  Accept=a/b\n  "
      "Accept=c/d\n<end>\n"),
    T("M-SEARCH / HTTP/1.1\r\n" H "\r\n", "M-SEARCH|/|/||k1 e0 c0 l0\n  Host=h\n<end>\n"),
    T("GET / HTTP/1.0\r\n\r\n", "GET|/|/||k0 e0 c0 l0\n<end>\n"),
    T("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "GET|/|/||k0 e0 c0 l0\n  Connection=keep-alive\n<end>\n"),
    T("GET / HTTP/1.1\r\n" H "Connection: x, Close\r\n\r\n",
      "GET|/|/||k0 e0 c0 l0\n  Host=h\n  Connection=x, Close\n<end>\n"),
    T(POST "Content-Length: 5\r\n\r\nhello",
      "POST|/|/||k1 e0 c0 l5\n  Host=h\n  Content-Length=5\nhello<end>\n"),
    T(POST "Content-Length: 0005\r\n\r\nhello",
      "POST|/|/||k1 e0 c0 l5\n  Host=h\n  Content-Length=0005\nhello<end>\n"),
    T(POST "Content-Length: 0\r\n\r\n",
      "POST|/|/||k1 e0 c0 l0\n  Host=h\n  Content-Length=0\n<end>\n"),
    T(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
      "POST|/|/||k1 e1 c0 l1\n  Host=h\n  Expect=100-Continue\n  Content-Length=1\nx<end>\n"),
    T(CHUNKED "5\r\nhello\r\n00a;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
      "POST|/|/||k1 e0 c1 l0\n  Host=h\n  Transfer-Encoding=chunked\nhello0123456789<end>\n"),
    T(CHUNKED "1\r\n\r\r\n1\r\n\n\r\n000\r\nA: b\r\nContent-Length: 7\r\n\r\n",
      "POST|/|/||k1 e0 c1 l0\n  Host=h\n  Transfer-Encoding=chunked\n\r\n<end>\n"),
    T("GET /1 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n" H "\r\n",
      "GET|/1|/1||k1 e0 c0 l0\n  Host=h\n<end>\nGET|/2|/2||k1 e0 c0 l0\n  Host=h\n<end>\n"),
    T(POST "X: caf\xc3\xa9 \"<>\\`\r\n\r\n",
      "POST|/|/||k1 e0 c0 l0\n  Host=h\n  X=caf\xc3\xa9 \"<>\\`\n<end>\n"),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void every_unlawful_form_is_refused_with_its_status(void **state)
{
    (void)state;
    assert_true(COUNT(refusals) >= 50);
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct outcome outcome = parse(refusals[i].bytes, NULL, NULL);
        if (outcome.status != refusals[i].status)
            print_error("%.*s\n-> %.*s\n", STR_ARG(refusals[i].bytes),
                        STR_ARG(buf_str(&outcome.text)));
        assert_int_equal(outcome.status, refusals[i].status);
        assert_int_equal(outcome.requests, 0);
        buf_finish(&outcome.text);
    }
}

static void a_refusal_stays_whatever_comes_after_it(void **state)
{
    struct http1 parser;
    struct str body;
    struct str bytes = STR("bad\r\n\r\n");
    struct str fine = STR("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)state;

    http1_init(&parser, &limits);
    assert_int_equal(http1_next(&parser, &bytes, &body), HTTP1_REFUSED);
    assert_int_equal(http1_next(&parser, &fine, &body), HTTP1_REFUSED);
    assert_int_equal(parser.status, 400);
    http1_finish(&parser);
}

static void lawful_requests_are_taken_as_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct outcome outcome = parse(good[i].bytes, NULL, NULL);
        struct str told = buf_str(&outcome.text);
        if (!str_eq(told, good[i].outcome))
            print_error("wanted: %.*s\ngot:    %.*s\n", STR_ARG(good[i].outcome), STR_ARG(told));
        assert_true(str_eq(told, good[i].outcome));
        buf_finish(&outcome.text);
    }
}

static void same_however_cut(struct str bytes, uint64_t seed)
{
    struct outcome whole = parse(bytes, NULL, NULL);
    struct outcome single = parse(bytes, one_byte, NULL);

    assert_true(str_eq(buf_str(&whole.text), buf_str(&single.text)));
    for (int round = 0; round < 20; round++) {
        struct outcome cut = parse(bytes, random_len, &seed);
        assert_true(str_eq(buf_str(&whole.text), buf_str(&cut.text)));
        assert_int_equal(whole.status, cut.status);
        buf_finish(&cut.text);
    }
    buf_finish(&whole.text);
    buf_finish(&single.text);
}

static void the_events_do_not_depend_on_how_the_bytes_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        same_however_cut(good[i].bytes, 1 + i);
    for (size_t i = 0; i < COUNT(refusals); i++)
        same_however_cut(refusals[i].bytes, 1000 + i);
}

/* Lawful requests with one byte changed: refused or taken, but the same way whatever the cuts. */
static void a_changed_byte_is_judged_the_same_however_cut(void **state)
{
    uint64_t seed = 42;
    char bytes[512];
    (void)state;

    for (int round = 0; round < 2000; round++) {
        struct str from = good[(size_t)round % COUNT(good)].bytes;
        assert_true(from.len <= sizeof(bytes));
        memcpy(bytes, from.at, from.len);
        random_len(&seed);
        bytes[(size_t)(seed >> 20) % from.len] = (char)(seed >> 40);
        struct outcome whole = parse(str_n(bytes, from.len), NULL, NULL);
        struct outcome cut = parse(str_n(bytes, from.len), random_len, &seed);
        assert_true(str_eq(buf_str(&whole.text), buf_str(&cut.text)));
        buf_finish(&whole.text);
        buf_finish(&cut.text);
    }
}

static void the_limits_are_exact(void **state)
{
    struct buf line;
    (void)state;

    for (int over = 0; over <= 1; over++) {
        buf_init(&line, 4096);
        buf_add(&line, STR("GET /"));
        while (line.len < limits.line_max - strlen(" HTTP/1.1") + (size_t)over)
            buf_add_char(&line, 'x');
        buf_add(&line, STR(" HTTP/1.1\r\n" H "\r\n"));
        struct outcome outcome = parse(buf_str(&line), NULL, NULL);
        assert_int_equal(outcome.status, over ? 414 : 0);
        assert_int_equal(outcome.requests, over ? 0 : 1);
        buf_finish(&outcome.text);
        buf_finish(&line);
    }
    for (int over = 0; over <= 1; over++) {
        buf_init(&line, 4096);
        buf_add(&line, STR("GET / HTTP/1.1\r\n" H));
        for (size_t i = 1; i < limits.header_count_max + (size_t)over; i++)
            buf_fmt(&line, "A%zu: b\r\n", i);
        buf_add(&line, STR("\r\n"));
        struct outcome outcome = parse(buf_str(&line), NULL, NULL);
        assert_int_equal(outcome.status, over ? 431 : 0);
        buf_finish(&outcome.text);
        buf_finish(&line);
    }
}

static void all_chunk_extensions_together_have_a_limit(void **state)
{
    struct buf bytes;
    (void)state;

    buf_init(&bytes, 1 << 20);
    buf_add(&bytes, STR(CHUNKED));
    for (int i = 0; i < HTTP1_EXTENSIONS_MAX / 200 + 1; i++)
        buf_fmt(&bytes, "1;%0200d\r\na\r\n", i);
    buf_add(&bytes, STR("0\r\n\r\n"));
    struct outcome outcome = parse(buf_str(&bytes), NULL, NULL);
    assert_int_equal(outcome.status, 400);
    assert_int_equal(outcome.requests, 0);
    buf_finish(&outcome.text);
    buf_finish(&bytes);
}

/* A head that never ends must not make the parser hold more than its limits. */
static void an_endless_head_holds_bounded_memory(void **state)
{
    struct http1 parser;
    struct str body;
    (void)state;

    http1_init(&parser, &limits);
    struct str begin = STR("GET / HTTP/1.1\r\nA: ");
    assert_int_equal(http1_next(&parser, &begin, &body), HTTP1_MORE);
    for (int i = 0; i < 10000; i++) {
        struct str more = STR("x");
        if (http1_next(&parser, &more, &body) == HTTP1_REFUSED)
            break;
        assert_true(http1_memory(&parser) <= 4 * (limits.line_max + limits.headers_max));
    }
    assert_int_equal(parser.status, 431);
    http1_finish(&parser);
}

#define LINE   "POST /mcp?q=1 HTTP/1.1\r\n"
#define USUAL  LINE "Host: h:1\r\nAccept: a/b, c/d  \r\nX-Own:\r\nMcp-Name: n\r\n"
#define LENGTH "Content-Length: 2\r\n"

/* Heads that have more or less of their beginning in common. */
static const struct str alike[] = {
    STR_INIT(USUAL LENGTH "\r\nok"),
    STR_INIT(USUAL "Content-Length: 3\r\n\r\nyes"),
    STR_INIT(USUAL "Content-Length: 12\r\n\r\nyes, I do so."),
    STR_INIT(USUAL "Content-Length: 3 \t\r\n\r\nyes"),
    STR_INIT(USUAL "Content-Length: 3\r\r\nyes"),
    STR_INIT(USUAL "Content-Length: \r\n\r\n"),
    STR_INIT(USUAL "Content-Length: 0\r\n\r\n"),
    STR_INIT(USUAL "Content-Length: +3\r\n\r\nyes"),
    STR_INIT(USUAL "Content-Length: 3x\r\n\r\nyes"),
    STR_INIT(USUAL "Content-Length: 0000000000000000000000003\r\n\r\nyes"),
    STR_INIT(USUAL "Content-Length: 18446744073709551619\r\n\r\nyes"),
    STR_INIT(LINE "Host: h:1\r\nContent-Length: 3\r\nAccept: a/b\r\n\r\nyes"),
    STR_INIT(LINE "Host: h:1\r\nContent-Length: 2\r\nAccept: a/b\r\n\r\nok"),
    STR_INIT(LINE "Host: h:1\r\nContent-Length: 12\r\nAccept: a/b\r\n\r\nyes, I do so."),
    STR_INIT(USUAL "\r\n"),
    STR_INIT(USUAL LENGTH "Content-Length: 2\r\n\r\nok"),
    STR_INIT(USUAL LENGTH "Host: h:1\r\n\r\nok"),
    STR_INIT(USUAL LENGTH "Accept: e/f\r\n\r\nok"),
    STR_INIT(USUAL LENGTH "Origin: http://h\r\n\r\nok"),
    STR_INIT(USUAL LENGTH "Origin: http://h\r\nOrigin: http://h\r\n\r\nok"),
    STR_INIT(USUAL LENGTH "Connection: close\r\n\r\nok"),
    STR_INIT(USUAL LENGTH "Connection: keep-alive\r\n\r\nok"),
    STR_INIT(USUAL "Connection: keep-alive\r\nConnection: close\r\n\r\n"),
    STR_INIT(USUAL LENGTH "Expect: 100-continue\r\n\r\nok"),
    STR_INIT(USUAL "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    STR_INIT(USUAL LENGTH "Transfer-Encoding: chunked\r\n\r\n"),
    STR_INIT(USUAL "Content-Length: 100000\r\n\r\n"),
    STR_INIT(USUAL "Mcp-Name: n\r\n\r\n"),
    STR_INIT(USUAL "Bad Name: n\r\n\r\n"),
    STR_INIT(USUAL " folded\r\n\r\n"),
    STR_INIT(USUAL "\r"),
    STR_INIT(USUAL "Content-Length: 2\r\nX-Long: "
                   "0123456789012345678901234567890123456789012345678901234567890123456789"
                   "0123456789012345678901234567890123456789012345678901234567890123456789"
                   "0123456789012345678901234567890123456789012345678901234567890123456789"
                   "0123456789012345678901234567890123456789012345678901234567890123456789"
                   "\r\n\r\nok"),
    STR_INIT(LINE "Host: h:2\r\nAccept: a/b, c/d  \r\n" LENGTH "\r\nok"),
    STR_INIT(LINE "Host: h:1\r\nAccept: a/b, c/d\r\n" LENGTH "\r\nok"),
    STR_INIT(LINE LENGTH "Host: h:1\r\n\r\nok"),
    STR_INIT(LINE LENGTH "\r\nok"),
    STR_INIT("POST http://h/ HTTP/1.1\r\nX-Own: 1\r\nHost: h\r\n\r\n"),
    STR_INIT("POST http://h/ HTTP/1.1\r\nX-Own: 1\r\nHost: i\r\n\r\n"),
    STR_INIT("POST /mcp HTTP/1.0\r\nHost: h:1\r\n" LENGTH "\r\nok"),
    STR_INIT("\r\n" USUAL LENGTH "\r\nok"),
};

/* Reads what it can, and makes the parser ready for another request in the memory it has. */
static void read_before(struct http1 *parser, struct str bytes)
{
    struct str body;
    enum http1_event event;

    do
        event = http1_next(parser, &bytes, &body);
    while (event == HTTP1_HEAD || event == HTTP1_BODY);
    http1_reset(parser);
}

static void a_head_is_read_the_same_whatever_came_before_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(alike) * COUNT(alike); i++) {
        struct str before = alike[i / COUNT(alike)], next = alike[i % COUNT(alike)];
        struct outcome fresh = parse(next, NULL, NULL);
        for (size_t cut = 0; cut <= next.len; cut++) {
            struct outcome outcome = { 0 };
            struct http1 parser;

            buf_init(&outcome.text, 1 << 20);
            http1_init(&parser, &limits);
            read_before(&parser, alike[0]);
            read_before(&parser, before);
            if (feed(&parser, str_n(next.at, cut), &outcome))
                feed(&parser, str_skip(next, cut), &outcome);
            assert_int_equal(outcome.text.len, fresh.text.len);
            assert_memory_equal(outcome.text.at, fresh.text.at, fresh.text.len);
            http1_finish(&parser);
            buf_finish(&outcome.text);
        }
        buf_finish(&fresh.text);
    }
}

SUBJECT(http1)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unlawful_form_is_refused_with_its_status),
        cmocka_unit_test(a_refusal_stays_whatever_comes_after_it),
        cmocka_unit_test(lawful_requests_are_taken_as_they_are),
        cmocka_unit_test(the_events_do_not_depend_on_how_the_bytes_are_cut),
        cmocka_unit_test(a_changed_byte_is_judged_the_same_however_cut),
        cmocka_unit_test(the_limits_are_exact),
        cmocka_unit_test(all_chunk_extensions_together_have_a_limit),
        cmocka_unit_test(an_endless_head_holds_bounded_memory),
        cmocka_unit_test(a_head_is_read_the_same_whatever_came_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
