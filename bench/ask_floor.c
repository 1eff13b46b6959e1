/*
 * bench/ask_floor: see ask_floor.h.
 *
 * A held call is found again by its place in a table, which is the id of its question. Requests are
 * told apart by one search for a word in the body.
 */
#include "ask_floor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/http.h"
#include "net/sse.h"

enum {
    FLOOR_HELD_MAX = 1024, /* calls that wait */
    FLOOR_ID_DIGITS = 22,  /* digits of a question's id: as many characters as real ids have */
    FLOOR_TEXT_MAX = 1 << 20,
};

#define FORM                                                                                       \
    "{\"mode\":\"form\",\"message\":\"Delete 3 files? This cannot be undone.\","                   \
    "\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"confirmed\":{\"type\":"            \
    "\"boolean\",\"title\":\"Confirm\"}},\"required\":[\"confirmed\"]}}"
#define CONFIRMED "\"content\":[{\"type\":\"text\",\"text\":\"confirmed\"}]}}"
#define SERVER_INFO                                                                                \
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"ask\",\"version\":\"1\"}}"

static const struct str priming = STR_INIT("id: 1_0\nretry: 1000\ndata: \n\n");
static const struct str question_front = STR_INIT("id: 1_1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"");
static const struct str question_back =
    STR_INIT("\",\"method\":\"elicitation/create\",\"params\":" FORM "}\n\n");
static const struct str result_event =
    STR_INIT("id: 1_2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1234567,\"result\":{" CONFIRMED "\n\n");
static const struct str result_2026 = STR_INIT(
    "{\"jsonrpc\":\"2.0\",\"id\":1234567,\"result\":{\"resultType\":\"complete\"," SERVER_INFO
    "," CONFIRMED);

static struct {
    const struct ask_floor *floor;
    struct http_exchange *held[FLOOR_HELD_MAX];
    size_t free_count;
    size_t free_places[FLOOR_HELD_MAX];
    struct buf question; /* 2025: with room for the id; 2026: the whole first response */
} self;

static bool body_has(const struct http_request *request, struct str word)
{
    return memmem(request->body.at, request->body.len, word.at, word.len) != NULL;
}

static void reply_json(struct http_exchange *exchange, struct str body)
{
    static const struct http_header json = { STR_INIT("Content-Type"),
                                             STR_INIT("application/json") };

    http_reply(exchange, 200, &json, 1, body);
}

/* --- 2025 --- */

static void open_session(struct http_exchange *exchange)
{
    static const struct http_header headers[] = {
        { STR_INIT("Content-Type"), STR_INIT("application/json") },
        { STR_INIT("Mcp-Session-Id"), STR_INIT("sEdN0-rfTQdkY3mS5Z1a7Q") },
    };

    http_reply(exchange, 200, headers, 2, STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}"));
}

static void ask(struct http_exchange *exchange)
{
    if (self.free_count == 0)
        abort();
    size_t place = self.free_places[--self.free_count];
    char *id = self.question.at + question_front.len;

    self.held[place] = exchange;
    for (size_t i = FLOOR_ID_DIGITS; i-- > 0; place /= 10)
        id[i] = (char)('0' + place % 10);
    sse_begin(exchange, NULL, 0);
    http_write(exchange, priming);
    http_write(exchange, buf_str(&self.question));
}

static void answered(struct http_exchange *exchange, const struct http_request *request)
{
    const char *id = memmem(request->body.at, request->body.len, "\"id\":\"", 6);
    size_t place = id ? strtoul(id + 6, NULL, 10) : FLOOR_HELD_MAX;

    if (place >= FLOOR_HELD_MAX || !self.held[place])
        abort();
    struct http_exchange *call = self.held[place];
    self.held[place] = NULL;
    self.free_places[self.free_count++] = place;
    http_reply(exchange, 202, NULL, 0, STR_NONE);
    http_write(call, result_event);
    http_end(call);
}

static void on_request_2025(struct http_exchange *exchange, const struct http_request *request,
                            void *data)
{
    (void)data;
    if (body_has(request, STR("\"tools/call\"")))
        ask(exchange);
    else if (body_has(request, STR("\"accept\"")))
        answered(exchange, request);
    else if (body_has(request, STR("\"initialize\"")))
        open_session(exchange);
    else
        http_reply(exchange, 202, NULL, 0, STR_NONE);
}

/* --- 2026 --- */

static void on_request_2026(struct http_exchange *exchange, const struct http_request *request,
                            void *data)
{
    (void)data;
    reply_json(exchange, body_has(request, STR("\"inputResponses\"")) ? result_2026
                                                                      : buf_str(&self.question));
}

/* --- the whole --- */

static void prepare(const struct ask_floor *floor)
{
    self.floor = floor;
    for (size_t i = 0; i < FLOOR_HELD_MAX; i++)
        self.free_places[self.free_count++] = i;
    buf_init(&self.question, FLOOR_TEXT_MAX);
    if (floor->era == MCP_ERA_2025) {
        buf_add(&self.question, question_front);
        for (size_t i = 0; i < FLOOR_ID_DIGITS; i++)
            buf_add_char(&self.question, '0');
        buf_add(&self.question, question_back);
        return;
    }
    buf_add(&self.question,
            STR("{\"jsonrpc\":\"2.0\",\"id\":1234567,\"result\":{\"resultType\":\"input_"
                "required\"," SERVER_INFO
                ",\"inputRequests\":{\"sure\":{\"method\":\"elicitation/create\",\"params\":" FORM
                "}},\"requestState\":\""));
    for (size_t i = 0; i < floor->state_len; i++)
        buf_add_char(&self.question, 'x');
    buf_add(&self.question, STR("\"}}"));
}

void ask_floor_serve(int port_fd, void *data)
{
    const struct ask_floor *floor = data;
    struct http_opts opts = { .limits = http_limits_default,
                              .on_request =
                                  floor->era == MCP_ERA_2025 ? on_request_2025 : on_request_2026 };
    struct loop *loop = loop_create();
    signal(SIGPIPE, SIG_IGN); /* clients go as they like */
    struct http_server *server;

    prepare(floor);
    if (http_listen(loop, STR("127.0.0.1"), 0, &opts, &server) != NOD_OK)
        exit(1);
    int port = http_port(server);
    if (write(port_fd, &port, sizeof(port)) != sizeof(port))
        exit(1);
    loop_run(loop);
}
