/* bench/mcp_load: one epoll loop over every client's connections; see mcp_load.h. */
#include "mcp_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, PATIENCE_MS = 60000, PACE_MS = 2 };

enum phase {
    PHASE_IDLE,
    PHASE_OPENING,  /* initialize */
    PHASE_OPENED,   /* notifications/initialized */
    PHASE_CALLED,   /* the call is out, nothing has come */
    PHASE_ASKED,    /* the question is here */
    PHASE_ANSWERED, /* the answer is out */
};

struct connection {
    struct client *client;
    int fd;
    char *in; /* of the response under way, NUL-terminated */
    size_t in_len, in_room;
    bool waiting; /* for a response */
};

struct client {
    struct mcp_load *load;
    struct connection call, answer;
    enum phase phase;
    char session[128];
    char ask_id[128];
    uint64_t calls;
    char *plain_reply; /* of mcp_load_call */
    bool plain;
};

struct mcp_load {
    struct mcp_load_opts opts;
    struct client *clients;
    int epoll;
    uint64_t next_id;
    uint64_t to_begin, done, asked;
    uint64_t begun;  /* since `began` */
    int next_client; /* whose turn it is to begin, if calls begin at a pace */
    double began;
    bool hold; /* a question is left open */
    struct mcp_load_traffic traffic;
};

static void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("mcp_load: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* --- bytes --- */

static int connect_to(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        fail("cannot connect to port %d: %s", port, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void connection_open(struct client *client, struct connection *connection)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

    connection->client = client;
    connection->fd = connect_to(client->load->opts.port);
    epoll_ctl(client->load->epoll, EPOLL_CTL_ADD, connection->fd, &event);
}

static void send_all(struct client *client, struct connection *connection, const char *bytes,
                     size_t len)
{
    while (len > 0) {
        ssize_t sent = send(connection->fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0)
            fail("cannot send: %s", strerror(errno));
        client->load->traffic.bytes_out += (uint64_t)sent;
        bytes += sent;
        len -= (size_t)sent;
    }
}

static void post_to(struct client *client, struct connection *connection, const char *path,
                    const char *headers, const char *body)
{
    const struct mcp_load_opts *opts = &client->load->opts;
    char head[1024];
    int len =
        snprintf(head, sizeof(head),
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                 "Accept: application/json, text/event-stream\r\n%s%s%s%sContent-Length: "
                 "%zu\r\n\r\n",
                 path, opts->port, opts->token ? "Authorization: Bearer " : "",
                 opts->token ? opts->token : "", opts->token ? "\r\n" : "", headers, strlen(body));
    size_t body_len = strlen(body);
    char *whole = malloc((size_t)len + body_len);

    memcpy(whole, head, (size_t)len);
    memcpy(whole + len, body, body_len);
    connection->in_len = 0;
    connection->waiting = true;
    send_all(client, connection, whole, (size_t)len + body_len);
    free(whole);
    client->load->traffic.exchanges++;
}

static void post(struct client *client, struct connection *connection, const char *headers,
                 const char *body)
{
    post_to(client, connection, "/mcp", headers, body);
}

/* --- reading --- */

/* The whole response is there: by its length, or by its last chunk. */
static bool response_whole(const struct connection *connection)
{
    const char *end = strstr(connection->in, "\r\n\r\n");

    if (!end)
        return false;
    const char *body = end + 4;
    const char *length = strcasestr(connection->in, "\r\ncontent-length:");
    if (length && length < end)
        return connection->in_len - (size_t)(body - connection->in) >=
               strtoull(length + 17, NULL, 10);
    if (strncmp(connection->in, "HTTP/1.1 202", 12) == 0 && !strcasestr(connection->in, "chunked"))
        return true;
    return connection->in_len >= 5 &&
           memcmp(connection->in + connection->in_len - 5, "0\r\n\r\n", 5) == 0;
}

static bool find_string(const char *text, const char *name, char *out, size_t room)
{
    const char *at = strstr(text, name);

    if (!at)
        return false;
    at += strlen(name);
    const char *end = strchr(at, '"');
    if (!end || (size_t)(end - at) >= room)
        return false;
    memcpy(out, at, (size_t)(end - at));
    out[end - at] = '\0';
    return true;
}

static const char *session_header(const struct client *client, char *out, size_t room)
{
    snprintf(out, room, "%s%s%sMCP-Protocol-Version: 2025-11-25\r\n",
             client->session[0] ? "Mcp-Session-Id: " : "", client->session,
             client->session[0] ? "\r\n" : "");
    return out;
}

/* --- what a client does --- */

#define META_2026                                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"load\",\"version\":\"1\"},"                \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}}"

static const char *headers_2026(const char *tool, char *out, size_t room)
{
    snprintf(out, room,
             "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n",
             tool);
    return out;
}

static void call_tool(struct client *client, const char *tool)
{
    struct mcp_load *load = client->load;
    char headers[512], body[1024];
    bool modern = load->opts.era == MCP_ERA_2026;

    client->phase = PHASE_CALLED;
    client->ask_id[0] = '\0';
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"%s\",\"arguments\":{}%s}}",
             (unsigned long long)++load->next_id, tool, modern ? "," META_2026 : "");
    post(client, &client->call,
         modern ? headers_2026(tool, headers, sizeof(headers))
                : session_header(client, headers, sizeof(headers)),
         body);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* More calls than per_second allows begin later: begin_due. */
static bool too_soon(const struct mcp_load *load)
{
    double rate = load->opts.per_second;

    return rate > 0 && (double)load->begun >= (now() - load->began) * rate;
}

static void client_begin(struct client *client)
{
    struct mcp_load *load = client->load;

    client->phase = PHASE_IDLE;
    if (load->to_begin == 0 || too_soon(load))
        return;
    load->to_begin--;
    load->begun++;
    call_tool(client, load->opts.tool);
}

/* All clients in turn: the server closes a connection on which nothing ever comes. */
static void begin_due(struct mcp_load *load)
{
    for (int i = 0; i < load->opts.clients && load->to_begin && !too_soon(load); i++) {
        struct client *client = &load->clients[load->next_client++ % load->opts.clients];
        if (client->phase == PHASE_IDLE)
            client_begin(client);
    }
}

static void answer_by_api(struct client *client)
{
    char path[256];

    /* ask_id has its quotes */
    snprintf(path, sizeof(path), "/api/elicitation/%.*s/resolve", (int)strlen(client->ask_id) - 2,
             client->ask_id + 1);
    post_to(client, &client->answer, path, "",
            "{\"action\":\"accept\",\"content\":{\"confirmed\":true}}");
}

static void answer_2025(struct client *client)
{
    char headers[512], body[512];

    client->phase = PHASE_ANSWERED;
    if (client->load->opts.by_api) {
        answer_by_api(client);
        return;
    }
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{"
             "\"confirmed\":true}}}",
             client->ask_id);
    post(client, &client->answer, session_header(client, headers, sizeof(headers)), body);
}

static void answer_2026(struct client *client)
{
    static char state[64 * 1024], key[128], body[80 * 1024];
    struct mcp_load *load = client->load;
    char headers[512];

    if (!find_string(client->call.in, "\"requestState\":\"", state, sizeof(state)))
        fail("no requestState in: %s", client->call.in);
    if (load->opts.key)
        snprintf(key, sizeof(key), "%s", load->opts.key);
    else if (!find_string(client->call.in, "\"inputRequests\":{\"", key, sizeof(key)))
        fail("no inputRequests in: %s", client->call.in);
    client->phase = PHASE_ANSWERED;
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"%s\",\"arguments\":{},"
             "\"inputResponses\":{\"%s\":{\"action\":\"accept\",\"content\":{\"confirmed\":true}}},"
             "\"requestState\":\"%s\"," META_2026 "}}",
             (unsigned long long)++load->next_id, load->opts.tool, key, state);
    post(client, &client->call, headers_2026(load->opts.tool, headers, sizeof(headers)), body);
}

/* The question's id as it is in the JSON, with its quotes: the answer must have exactly that. */
static bool find_question(struct client *client)
{
    const char *in = client->call.in;
    const char *method = strstr(in, "\"elicitation/create\"");

    if (!method)
        return false;
    const char *line = method;
    while (line > in && line[-1] != '\n')
        line--;
    const char *end = strchr(method, '\n');
    const char *id = strstr(line, "\"id\":");
    if (!end || !id || id > end)
        return false; /* the rest of the line is still to come */
    id += 5;
    const char *stop = *id == '"' ? strchr(id + 1, '"') + 1 : id + strspn(id, "0123456789");
    snprintf(client->ask_id, sizeof(client->ask_id), "%.*s", (int)(stop - id), id);
    return true;
}

static void call_finished(struct client *client)
{
    struct mcp_load *load = client->load;

    client->call.waiting = false;
    if (client->plain) {
        client->plain_reply = strdup(client->call.in);
        client->plain = false;
        client->phase = PHASE_IDLE;
        return;
    }
    if (!strstr(client->call.in, load->opts.expects))
        fail("a call did not end in %s: %s", load->opts.expects, client->call.in);
    client->calls++;
    load->done++;
    client_begin(client);
}

static void progress_call(struct client *client)
{
    struct mcp_load *load = client->load;
    bool whole = response_whole(&client->call);

    if (load->opts.era == MCP_ERA_2026) {
        if (!whole)
            return;
        client->call.waiting = false;
        if (client->phase == PHASE_CALLED && !client->plain)
            answer_2026(client);
        else
            call_finished(client);
        return;
    }
    if (client->phase == PHASE_OPENING && whole) {
        char headers[512];
        const char *session = strcasestr(client->call.in, "\r\nmcp-session-id:");
        if (!session)
            fail("no session id: %s", client->call.in);
        sscanf(session + 17, " %127[^\r\n]", client->session);
        client->phase = PHASE_OPENED;
        post(client, &client->call, session_header(client, headers, sizeof(headers)),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    } else if (client->phase == PHASE_OPENED && whole) {
        client->call.waiting = false;
        client->phase = PHASE_IDLE;
        load->done++;
    } else if (client->phase == PHASE_CALLED && !client->plain && find_question(client)) {
        client->phase = PHASE_ASKED;
        load->asked++;
        if (!load->hold)
            answer_2025(client);
    } else if (whole && (client->phase == PHASE_ANSWERED || client->plain)) {
        call_finished(client);
    }
}

static void readable(struct connection *connection)
{
    struct client *client = connection->client;

    if (connection->in_room - connection->in_len < 4096) {
        connection->in_room = connection->in_room ? connection->in_room * 2 : 8192;
        connection->in = realloc(connection->in, connection->in_room);
    }
    ssize_t got = recv(connection->fd, connection->in + connection->in_len,
                       connection->in_room - connection->in_len - 1, 0);
    if (got <= 0)
        fail("the server closed a connection: %s", got ? strerror(errno) : "end");
    client->load->traffic.bytes_in += (uint64_t)got;
    connection->in_len += (size_t)got;
    connection->in[connection->in_len] = '\0';
    if (connection == &client->call) {
        progress_call(client);
    } else if (response_whole(connection)) {
        connection->waiting = false;
        if (strncmp(connection->in, client->load->opts.by_api ? "HTTP/1.1 200" : "HTTP/1.1 202",
                    12) != 0)
            fail("an answer was not taken: %s", connection->in);
    }
}

static void turn(struct mcp_load *load)
{
    struct epoll_event events[EVENTS];
    int count =
        epoll_wait(load->epoll, events, EVENTS, load->opts.per_second > 0 ? PACE_MS : PATIENCE_MS);

    if (count == 0 && load->opts.per_second == 0)
        fail("nothing came for %d ms (%llu of the calls are done)", PATIENCE_MS,
             (unsigned long long)load->done);
    for (int i = 0; i < count; i++)
        readable(events[i].data.ptr);
}

/* --- the whole --- */

struct mcp_load *mcp_load_connect(const struct mcp_load_opts *opts)
{
    struct mcp_load *load = calloc(1, sizeof(*load));

    load->opts = *opts;
    load->epoll = epoll_create1(0);
    load->clients = calloc((size_t)opts->clients, sizeof(*load->clients));
    for (int i = 0; i < opts->clients; i++) {
        struct client *client = &load->clients[i];
        client->load = load;
        connection_open(client, &client->call);
        if (opts->era == MCP_ERA_2025)
            connection_open(client, &client->answer);
    }
    return load;
}

void mcp_load_sessions(struct mcp_load *load)
{
    for (int i = 0; i < load->opts.clients && load->opts.era == MCP_ERA_2025; i++) {
        struct client *client = &load->clients[i];
        client->phase = PHASE_OPENING;
        post(client, &client->call, "",
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":{\"elicitation\":{\"form\":{}}},\"clientInfo\":{\"name\":\"load\","
             "\"version\":\"1\"}}}");
        while (client->phase != PHASE_IDLE)
            turn(load);
    }
}

struct mcp_load *mcp_load_open(const struct mcp_load_opts *opts)
{
    struct mcp_load *load = mcp_load_connect(opts);

    mcp_load_sessions(load);
    return load;
}

double mcp_load_calls(struct mcp_load *load, uint64_t calls)
{
    load->began = now();
    load->begun = 0;
    load->to_begin = calls;
    load->done = 0;
    load->traffic = (struct mcp_load_traffic){ 0 };
    for (int i = 0; i < load->opts.clients; i++)
        client_begin(&load->clients[i]);
    while (load->done < calls) {
        turn(load);
        if (load->opts.per_second > 0)
            begin_due(load);
    }
    return now() - load->began;
}

void mcp_load_ask_all(struct mcp_load *load)
{
    load->hold = true;
    load->asked = 0;
    load->to_begin = (uint64_t)load->opts.clients;
    for (int i = 0; i < load->opts.clients; i++)
        client_begin(&load->clients[i]);
    while (load->asked < (uint64_t)load->opts.clients)
        turn(load);
}

void mcp_load_answer_all(struct mcp_load *load)
{
    load->done = 0;
    for (int i = 0; i < load->opts.clients; i++)
        answer_2025(&load->clients[i]);
    while (load->done < (uint64_t)load->opts.clients)
        turn(load);
    load->hold = false;
}

struct mcp_load_traffic mcp_load_traffic(const struct mcp_load *load)
{
    return load->traffic;
}

char *mcp_load_call(struct mcp_load *load, const char *tool)
{
    struct client *client = &load->clients[0];

    client->plain = true;
    client->plain_reply = NULL;
    call_tool(client, tool);
    while (!client->plain_reply)
        turn(load);
    return client->plain_reply;
}

void mcp_load_close(struct mcp_load *load)
{
    for (int i = 0; i < load->opts.clients; i++) {
        close(load->clients[i].call.fd);
        free(load->clients[i].call.in);
        if (load->opts.era == MCP_ERA_2025)
            close(load->clients[i].answer.fd);
        free(load->clients[i].answer.in);
    }
    close(load->epoll);
    free(load->clients);
    free(load);
}
