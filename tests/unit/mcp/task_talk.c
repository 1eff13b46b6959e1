/* tests/unit/mcp/task_talk: see task_talk.h. */
#include "task_talk.h"

#include <stdio.h>
#include <stdlib.h>

struct world world;
char id[ID_TEXT], other[ID_TEXT];
char text[TEXT_MAX], more[TEXT_MAX];
static struct tokens *given_tokens;
struct store_ops survivor;

void set_task(const char *name, enum target_detach mode, bool asks_first)
{
    struct target *target = catalog_find(world.catalog, TARGET_TOOL, str_of(name));

    target->detach = mode;
    target->detach_after_asks = asks_first;
}

static void set_tasks(void)
{
    static const char *const names[] = { "echo", "confirm", "form",  "url",  "sample", "talk",
                                         "fail", "hold",    "twice", "pair", "deed" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        set_task(names[i], DETACH_MAY, false);
    set_task("rich", DETACH_MUST, false);
}

int setup(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ .hold_ms = 60 });
    set_tasks();
    return 0;
}

int setup_tokens(void **state)
{
    static const char file[] = "aaaaaaaaaaaaaaaaaaaa alice\nbbbbbbbbbbbbbbbbbbbb bob\n";
    struct arena arena;
    struct str problem;

    (void)state;
    arena_init(&arena, 1 << 16);
    given_tokens = tokens_parse(STR(file), STR("tokens"), &arena, &problem);
    arena_finish(&arena);
    assert_non_null(given_tokens);
    world_start(&world, &(struct world_opts){ .hold_ms = 60, .tokens = given_tokens });
    set_tasks();
    return 0;
}

/* The memory store, which says that it outlives the process, and does. */
int setup_survivor(void **state)
{
    setup(state);
    survivor = *world.store->ops;
    survivor.durable = true;
    world.store->ops = &survivor;
    return 0;
}

int teardown(void **state)
{
    (void)state;
    world_stop(&world);
    return 0;
}

int teardown_tokens(void **state)
{
    teardown(state);
    tokens_destroy(given_tokens);
    return 0;
}

/* --- one exchange --- */

void post(struct talk *talk, const struct exchange *exchange)
{
    struct buf body, bytes;

    buf_init(&body, 1 << 20);
    buf_init(&bytes, 1 << 20);
    buf_fmt(&body,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
            "\"progressToken\":7,\"io.modelcontextprotocol/logLevel\":\"debug\","
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
            exchange->method, exchange->params ? exchange->params : "", exchange->params ? "," : "",
            exchange->capabilities ? exchange->capabilities : EXTENDED);
    buf_fmt(&bytes,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream"
            "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: %s\r\n",
            exchange->method);
    if (exchange->name)
        buf_fmt(&bytes, "Mcp-Name: %s\r\n", exchange->name);
    if (exchange->token)
        buf_fmt(&bytes, "Authorization: Bearer %s\r\n", exchange->token);
    buf_fmt(&bytes, "Content-Length: %zu\r\n\r\n", body.len);
    buf_add(&bytes, buf_str(&body));
    buf_add_char(&bytes, '\0');
    talk_raw(talk, &world, bytes.at);
    buf_finish(&bytes);
    buf_finish(&body);
}

/* The whole response is in `text` afterwards. */
static int exchange(const struct exchange *exchange)
{
    struct talk talk;
    char status[16];

    post(&talk, exchange);
    talk_await_end(&talk);
    talk_cut(&talk, "HTTP/1.1 ", " ", status, sizeof(status));
    assert_true(talk.got.len < TEXT_MAX);
    memcpy(text, talk.got.at, talk.got.len);
    text[talk.got.len] = '\0';
    talk_close(&talk);
    return atoi(status);
}

void expect(const struct exchange *given, int status, const char *has)
{
    int got = exchange(given);

    if (got != status || !strstr(text, has))
        fail_msg("wanted %d with %s, got: %s", status, has, text);
}

void has_not(const char *what)
{
    if (strstr(text, what))
        fail_msg("%s is in: %s", what, text);
}

/* `after` NULL: up to the end. */
void cut(const char *from, const char *before, const char *after, char *out, size_t room)
{
    const char *at = strstr(from, before);

    if (!at)
        fail_msg("no %s in: %s", before, from);
    at += strlen(before);
    const char *end = after ? strstr(at, after) : at + strlen(at);
    assert_non_null(end);
    size_t len = (size_t)(end - at);
    assert_true(len < room);
    memcpy(out, at, len);
    out[len] = '\0';
}

/* The members of the task in a response. */
void cut_task(char *out)
{
    cut(text, "\"taskId\"", NULL, out, TEXT_MAX);
    out[strlen(out) - 2] = '\0'; /* the brackets of result and response */
}

const char *token_now;

/* tools/call that is answered with a task, whose id goes to `into`. */
void begin(const char *tool, const char *args, char *into)
{
    char params[512];

    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":%s", tool, args ? args : "{}");
    expect(&(struct exchange){ "tools/call", tool, params, .token = token_now }, 200,
           "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", into, ID_TEXT);
}

void of_task(const char *method, const char *task, const char *further, int status, const char *has)
{
    char params[2048];

    snprintf(params, sizeof(params), "\"taskId\":\"%s\"%s%s", task, further ? "," : "",
             further ? further : "");
    expect(&(struct exchange){ method, task, params, .token = token_now }, status, has);
}

void get(const char *task, const char *has)
{
    of_task("tasks/get", task, NULL, 200, has);
    has_not("requestState");
}

void update(const char *task, const char *responses, int status, const char *has)
{
    char further[1024];

    snprintf(further, sizeof(further), "\"inputResponses\":%s", responses);
    of_task("tasks/update", task, further, status, has);
}

void cancel(const char *task)
{
    of_task("tasks/cancel", task, NULL, 200, ACK);
    has_not("taskId");
}
