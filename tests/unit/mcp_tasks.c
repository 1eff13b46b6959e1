/*
 * tests/unit/mcp_tasks: calls that are left and come back to, over real sockets.
 *
 * Every exchange is a connection of its own: nothing but the task's id leads from one to the next.
 */
#include "mcp_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { TEXT_MAX = 65536, ID_TEXT = 64 };

#define PLAIN    "\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}"
#define EXTENDED "{" PLAIN ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define ONLY     "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define WITHOUT  "{" PLAIN "}"
#define MISSING                                                                                    \
    "\"code\":-32021,\"message\":\"The client does not declare the extension "                     \
    "io.modelcontextprotocol/tasks.\",\"data\":{\"requiredCapabilities\":{\"extensions\":{"        \
    "\"io.modelcontextprotocol/tasks\":{}}}}"
#define UNKNOWN   "\"code\":-32602,\"message\":\"There is no such task, or it is no longer kept.\""
#define ACK       "\"result\":{\"resultType\":\"complete\",\"_meta\":"
#define AGE(n)    "{\"action\":\"accept\",\"content\":{\"age\":" n "}}"
#define WORKING   "\"status\":\"working\""
#define ASKS      "\"status\":\"input_required\""
#define COMPLETED "\"status\":\"completed\""
#define FAILED    "\"status\":\"failed\""
#define CANCELLED "\"status\":\"cancelled\""
#define REFUSAL   "Invalid or expired requestState"

static struct world world;
static char id[ID_TEXT], other[ID_TEXT];
static char text[TEXT_MAX], more[TEXT_MAX];
static struct tokens *given_tokens;
static struct store_ops survivor;

static void set_task(const char *name, nod_task_mode mode, bool asks_first)
{
    struct target *target = catalog_find(world.catalog, TARGET_TOOL, str_of(name));

    target->task = mode;
    target->task_asks_first = asks_first;
}

static void set_tasks(void)
{
    static const char *const names[] = { "echo", "confirm", "form",  "url",  "sample", "talk",
                                         "fail", "hold",    "twice", "pair", "deed" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        set_task(names[i], NOD_TASK_OPTIONAL, false);
    set_task("rich", NOD_TASK_REQUIRED, false);
}

static int setup(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ .hold_ms = 60 });
    set_tasks();
    return 0;
}

static int setup_tokens(void **state)
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
static int setup_survivor(void **state)
{
    setup(state);
    survivor = *world.store->ops;
    survivor.durable = true;
    world.store->ops = &survivor;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_stop(&world);
    return 0;
}

static int teardown_tokens(void **state)
{
    teardown(state);
    tokens_destroy(given_tokens);
    return 0;
}

/* --- one exchange -------------------------------------------------------------------------------
 */

struct exchange {
    const char *method;
    const char *name;         /* the header Mcp-Name; NULL: none */
    const char *params;       /* members, before _meta */
    const char *capabilities; /* NULL: EXTENDED */
    const char *token;
};

static void post(struct talk *talk, const struct exchange *exchange)
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

static void expect(const struct exchange *given, int status, const char *has)
{
    int got = exchange(given);

    if (got != status || !strstr(text, has))
        fail_msg("wanted %d with %s, got: %s", status, has, text);
}

static void has_not(const char *what)
{
    if (strstr(text, what))
        fail_msg("%s is in: %s", what, text);
}

/* `after` NULL: up to the end. */
static void cut(const char *from, const char *before, const char *after, char *out, size_t room)
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
static void cut_task(char *out)
{
    cut(text, "\"taskId\"", NULL, out, TEXT_MAX);
    out[strlen(out) - 2] = '\0'; /* the brackets of result and response */
}

static const char *token_now;

/* tools/call that is answered with a task, whose id goes to `into`. */
static void begin(const char *tool, const char *args, char *into)
{
    char params[512];

    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":%s", tool, args ? args : "{}");
    expect(&(struct exchange){ "tools/call", tool, params, .token = token_now }, 200,
           "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", into, ID_TEXT);
}

static void of_task(const char *method, const char *task, const char *further, int status,
                    const char *has)
{
    char params[2048];

    snprintf(params, sizeof(params), "\"taskId\":\"%s\"%s%s", task, further ? "," : "",
             further ? further : "");
    expect(&(struct exchange){ method, task, params, .token = token_now }, status, has);
}

static void get(const char *task, const char *has)
{
    of_task("tasks/get", task, NULL, 200, has);
    has_not("requestState");
}

static void update(const char *task, const char *responses, int status, const char *has)
{
    char further[1024];

    snprintf(further, sizeof(further), "\"inputResponses\":%s", responses);
    of_task("tasks/update", task, further, status, has);
}

static void cancel(const char *task)
{
    of_task("tasks/cancel", task, NULL, 200, ACK);
    has_not("taskId");
}

/* --- who gets a task ----------------------------------------------------------------------------
 */

static void the_extension_is_declared_when_a_tool_has_tasks(void **state)
{
    (void)state;
    expect(&(struct exchange){ "server/discover" }, 200,
           "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
}

static void the_extension_is_not_declared_when_no_tool_has_tasks(void **state)
{
    (void)state;
    for (size_t i = 0; i < world.target_count; i++)
        world.targets[i].task = NOD_TASK_NEVER;
    expect(&(struct exchange){ "server/discover" }, 200, "\"capabilities\"");
    has_not("extensions");
    of_task("tasks/get", "x", NULL, 404, "-32601");
}

static void a_task_is_for_a_request_that_declares_the_extension_and_no_other(void **state)
{
    static const char params[] = "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}";

    (void)state;
    begin("echo", "{\"text\":\"hi\"}", id);
    expect(&(struct exchange){ "tools/call", "echo", params, WITHOUT }, 200,
           "\"resultType\":\"complete\"");
    has_not("taskId");
}

static void a_tool_without_tasks_is_never_one(void **state)
{
    (void)state;
    set_task("echo", NOD_TASK_NEVER, false);
    expect(&(struct exchange){ "tools/call", "echo",
                               "\"name\":\"echo\",\"task\":{\"ttl\":5},\"arguments\":{}" },
           200, "\"resultType\":\"complete\"");
    has_not("taskId");
}

static void a_required_tool_is_refused_without_the_extension(void **state)
{
    (void)state;
    expect(
        &(struct exchange){ "tools/call", "rich", "\"name\":\"rich\",\"arguments\":{}", WITHOUT },
        400, MISSING);
    assert_int_equal(world.runs, 0);
}

static void a_2025_client_of_a_required_tool_waits_for_the_result(void **state)
{
    struct client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"rich\",\"arguments\":{}}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "structuredContent"));
    talk_close(&talk);
}

static void methods_of_tasks_need_the_extension(void **state)
{
    static const char *const methods[] = { "tasks/get", "tasks/update", "tasks/cancel" };

    (void)state;
    begin("form", NULL, id);
    for (size_t i = 0; i < 3; i++) {
        char params[256];
        snprintf(params, sizeof(params), "\"taskId\":\"%s\",\"inputResponses\":{}", id);
        expect(&(struct exchange){ methods[i], id, params, WITHOUT }, 400, MISSING);
    }
    get(id, ASKS);
}

static void methods_that_were_taken_away_are_unknown(void **state)
{
    (void)state;
    of_task("tasks/result", "x", NULL, 404, "-32601");
    of_task("tasks/list", "x", NULL, 404, "-32601");
}

static void the_name_header_is_the_task_id(void **state)
{
    char params[128];

    (void)state;
    begin("form", NULL, id);
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    expect(&(struct exchange){ "tasks/get", "another", params }, 400, "-32020");
    expect(&(struct exchange){ "tasks/cancel", NULL, params }, 400, "-32020");
    get(id, ASKS);
}

static void an_unknown_task_is_an_invalid_parameter(void **state)
{
    (void)state;
    of_task("tasks/get", "nobody", NULL, 200, UNKNOWN);
    of_task("tasks/cancel", "nobody", NULL, 200, UNKNOWN);
    update("nobody", "{}", 200, UNKNOWN);
    expect(&(struct exchange){ "tasks/get", "", "\"taskId\":7" }, 200, "-32602");
}

static void a_task_does_not_exist_for_another_principal(void **state)
{
    (void)state;
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    begin("form", NULL, id);
    token_now = "bbbbbbbbbbbbbbbbbbbb";
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
    of_task("tasks/cancel", id, NULL, 200, UNKNOWN);
    update(id, "{\"#1\":" AGE("7") "}", 200, UNKNOWN);
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
    token_now = NULL;
}

/* --- its life -----------------------------------------------------------------------------------
 */

static void a_task_says_when_it_was_made_and_how_long_it_lives(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    assert_non_null(strstr(text, WORKING));
    assert_non_null(strstr(text, "\"createdAt\":\"2023-11-14T22:13:20.000Z\",\"lastUpdatedAt\":"
                                 "\"2023-11-14T22:13:20.000Z\",\"ttlMs\":3600000,"
                                 "\"pollIntervalMs\":1000"));
    has_not("requestState");
    get(id, WORKING);
    world_advance(&world, 1234);
    world_let_go(&world);
    get(id, COMPLETED);
    assert_non_null(strstr(text, "\"lastUpdatedAt\":\"2023-11-14T22:13:21.234Z\""));
    assert_non_null(strstr(text, "let go"));
}

static void the_result_is_what_the_call_would_have_had(void **state)
{
    (void)state;
    expect(&(struct exchange){ "tools/call", "echo",
                               "\"name\":\"echo\",\"arguments\":{\"text\":\"same\"}", WITHOUT },
           200, "\"result\":{");
    cut(text, "\"result\":", NULL, more, sizeof(more));
    more[strlen(more) - 1] = '\0'; /* the bracket of the response */
    begin("echo", "{\"text\":\"same\"}", id);
    get(id, COMPLETED);
    char wanted[TEXT_MAX + 16];
    snprintf(wanted, sizeof(wanted), "\"result\":%s", more);
    assert_non_null(strstr(text, wanted));
}

static void a_tools_own_failure_is_completed_with_an_error(void **state)
{
    (void)state;
    begin("fail", NULL, id);
    get(id, COMPLETED);
    assert_non_null(strstr(text, "\"isError\":true"));
}

static void an_error_of_the_protocol_is_failed_and_has_no_result(void **state)
{
    (void)state;
    expect(
        &(struct exchange){ "tools/call", "sample", "\"name\":\"sample\",\"arguments\":{}", ONLY },
        200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    get(id, FAILED);
    assert_non_null(strstr(text, "\"error\":{\"code\":-32021"));
    assert_non_null(strstr(text, "\"statusMessage\":"));
    has_not("\"result\":{\"resultType\":\"complete\",\"_meta\":{}");
    has_not("\"content\"");
}

static void what_a_client_cannot_draw_is_not_put_to_it(void **state)
{
    (void)state;
    begin("sample", "{\"tools\":true}", id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, FAILED);
    has_not("inputRequests");
}

static void a_task_goes_on_when_its_connection_is_gone(void **state)
{
    struct talk talk;

    (void)state;
    post(&talk, &(struct exchange){ "tools/call", "hold", "\"name\":\"hold\",\"arguments\":{}" });
    talk_await_end(&talk);
    talk_cut(&talk, "\"taskId\":\"", "\"", id, sizeof(id));
    talk_close(&talk);
    world_turn(&world);
    assert_non_null(world.held);
    world_let_go(&world);
    get(id, COMPLETED);
}

static void progress_is_the_status_message_and_nothing_is_notified(void **state)
{
    (void)state;
    begin("talk", NULL, id);
    has_not("text/event-stream");
    has_not("notifications/");
    begin("hold", NULL, id);
    run_emit(world.held, &(struct notice){ .kind = NOTICE_PROGRESS, .text = STR("half of it") });
    run_emit(world.held, &(struct notice){ .kind = NOTICE_LOG, .text = STR("never mind") });
    get(id, "\"status\":\"working\",\"statusMessage\":\"half of it\"");
    has_not("notifications/");
}

static void a_cancelled_task_stays_cancelled(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, CANCELLED);
    cancel(id);
    get(id, CANCELLED);
    begin("form", NULL, other);
    get(other, ASKS);
    cancel(other);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    update(other, "{\"#1\":" AGE("7") "}", 200, ACK); /* too late, and no harm done */
    get(other, CANCELLED);
    has_not("inputRequests");
}

static void cancelling_what_has_ended_changes_nothing(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"x\"}", id);
    cancel(id);
    get(id, COMPLETED);
}

/* --- questions inside ---------------------------------------------------------------------------
 */

static void a_question_inside_is_shown_and_answered_by_key(void **state)
{
    (void)state;
    begin("form", NULL, id);
    has_not("inputRequests");
    get(id, ASKS);
    assert_non_null(strstr(text, "\"inputRequests\":{\"#1\":{\"method\":\"elicitation/create\","
                                 "\"params\":{\"mode\":\"form\",\"message\":\"How old?\""));
    get(id, ASKS); /* looking changes nothing */
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    has_not("taskId");
    get(id, COMPLETED);
    assert_non_null(strstr(text, "accepted {'age':7}"));
    has_not("inputRequests");
}

static void questions_one_after_the_other_have_keys_of_their_own(void **state)
{
    (void)state;
    begin("twice", NULL, id);
    get(id, "\"inputRequests\":{\"first\":");
    update(id, "{\"first\":" AGE("1") ",\"second\":" AGE("9") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"second\":"); /* it was not asked yet */
    update(id, "{\"first\":" AGE("5") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"second\":");
    update(id, "{\"second\":" AGE("2") "}", 200, ACK);
    get(id, "1 and 2");
}

static void invalid_content_is_asked_again_under_a_new_key(void **state)
{
    (void)state;
    begin("form", NULL, id);
    update(id, "{\"#1\":" AGE("\"old\"") "}", 200, ACK);
    get(id, ASKS);
    assert_non_null(strstr(text, "\"inputRequests\":{\"#2:#1\":"));
    assert_non_null(strstr(text, "Your last answer could not be used: /age"));
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK); /* that key is spent */
    get(id, "\"inputRequests\":{\"#2:#1\":");
    update(id, "{\"#2:#1\":" AGE("false") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"#3:#1\":");
    update(id, "{\"#3:#1\":" AGE("8") "}", 200, ACK);
    get(id, "accepted {'age':8}");
}

static void keys_that_nobody_knows_are_ignored(void **state)
{
    (void)state;
    begin("form", NULL, id);
    update(id, "{\"nobody\":{\"ignored\":true}}", 200, ACK);
    update(id, "{}", 200, ACK);
    get(id, "\"inputRequests\":{\"#1\":");
    assert_int_equal(world.runs, 1);
}

static void some_answers_leave_the_rest_open(void **state)
{
    (void)state;
    begin("pair", NULL, id);
    get(id, "\"first\":");
    assert_non_null(strstr(text, "\"second\":"));
    update(id, "{\"first\":" AGE("1") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"second\":");
    has_not("\"first\":");
    update(id, "{\"first\":" AGE("1") ",\"second\":" AGE("2") "}", 200, ACK);
    get(id, COMPLETED);
}

static void a_malformed_response_is_refused_and_changes_nothing(void **state)
{
    static const char *const responses[] = {
        "7",
        "[]",
        "null",
        "{\"first\":7}",
        "{\"nobody\":7}",
        "{\"first\":{}}",
        "{\"first\":{\"action\":\"maybe\"}}",
        "{\"first\":{\"action\":\"accept\",\"content\":[]}}",
        "{\"second\":" AGE("1") ",\"first\":{\"action\":1}}",
    };

    (void)state;
    begin("pair", NULL, id);
    for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++)
        update(id, responses[i], 400, "-32602");
    of_task("tasks/update", id, NULL, 400, "-32602");
    get(id, "\"first\":");
    assert_non_null(strstr(text, "\"second\":"));
    assert_int_equal(world.runs, 1);
}

static void decline_and_cancel_are_answers(void **state)
{
    (void)state;
    begin("confirm", NULL, id);
    update(id, "{\"#1\":{\"action\":\"decline\"}}", 200, ACK);
    get(id, "declined");
    begin("confirm", NULL, id);
    update(id, "{\"#1\":{\"action\":\"cancel\"}}", 200, ACK);
    get(id, "cancelled");
}

static void a_page_that_was_opened_is_not_asked_for_again(void **state)
{
    char ask[64];

    (void)state;
    begin("url", "{\"wait\":true}", id);
    get(id, "\"mode\":\"url\"");
    cut(text, "https://example.com/", "\"", ask, sizeof(ask));
    update(id, "{\"#1\":{\"action\":\"accept\"}}", 200, ACK);
    get(id, WORKING);
    has_not("inputRequests");
    mcp_url_done(world.server, str_of(ask));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, COMPLETED);
}

/* --- time ---------------------------------------------------------------------------------------
 */

static void a_question_waits_as_long_as_its_task(void **state)
{
    (void)state;
    begin("form", NULL, id);
    world_advance(&world, 3590000);
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
}

static void after_its_time_a_task_has_failed_and_is_then_forgotten(void **state)
{
    (void)state;
    catalog_find(world.catalog, TARGET_TOOL, STR("hold"))->timeout_ms = 7200000;
    begin("hold", NULL, id);
    world_advance(&world, 3600000);
    get(id, FAILED);
    assert_non_null(strstr(text, "\"error\":{\"code\":-32603,\"message\":\"The time to live of the "
                                 "task is over.\"}"));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    world_advance(&world, 59999);
    get(id, FAILED);
    world_advance(&world, 1);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

static void a_question_ends_before_its_task_so_that_the_handler_can_end_well(void **state)
{
    (void)state;
    begin("form", NULL, id);
    world_advance(&world, 3599500);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, COMPLETED);
    assert_non_null(strstr(text, "ELICITATION_TIMEOUT"));
    world_advance(&world, 59000); /* it ended late, and is kept a while all the same */
    get(id, COMPLETED);
    world_advance(&world, 1000);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

static void a_result_is_kept_until_the_time_is_over(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"kept\"}", id);
    world_advance(&world, 3599999);
    get(id, "kept");
    world_advance(&world, 1);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

/* --- asking first -------------------------------------------------------------------------------
 */

static void retry(const char *tool, const char *request_state, const char *responses, int status,
                  const char *has)
{
    static char params[2 * TEXT_MAX];

    snprintf(params, sizeof(params),
             "\"name\":\"%s\",\"arguments\":{},\"requestState\":\"%s\",\"inputResponses\":%s", tool,
             request_state, responses);
    expect(&(struct exchange){ "tools/call", tool, params }, status, has);
}

static void what_is_asked_first_is_asked_before_there_is_a_task(void **state)
{
    (void)state;
    set_task("deed", NOD_TASK_REQUIRED, true);
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    has_not("taskId");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry("deed", more, "{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    has_not("requestState");
    has_not("inputRequests");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, "done");
    assert_int_equal(world.deeds, 1);

    /* The same once more is the same task; with other answers it is nothing. */
    retry("deed", more, "{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", other, sizeof(other));
    assert_string_equal(id, other);
    retry("deed", more, "{\"age\":" AGE("8") "}", 400, REFUSAL);
    assert_int_equal(world.deeds, 1);
}

static void the_step_is_not_done_before_the_task_is_told(void **state)
{
    struct talk talk;

    (void)state;
    set_task("deed", NOD_TASK_OPTIONAL, true);
    post(&talk, &(struct exchange){ "tools/call", "deed",
                                    "\"name\":\"deed\",\"arguments\":{},\"inputResponses\":{"
                                    "\"age\":" AGE("7") "}" });
    for (int i = 0; i < 50; i++)
        loop_turn(world.loop, 1); /* the engine's clock stands still: it does not go on */
    assert_true(recv(talk.fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_PEEK) > 0);
    assert_non_null(strstr(text, "taskId"));
    assert_int_equal(world.deeds, 0);
    talk_close(&talk);
    WORLD_AWAIT(&world, world.deeds == 1);
}

static void a_call_that_needs_no_step_has_its_result_at_once(void **state)
{
    (void)state;
    set_task("form", NOD_TASK_REQUIRED, true);
    expect(&(struct exchange){ "tools/call", "form", "\"name\":\"form\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry("form", more, "{\"#1\":" AGE("7") "}", 200, "\"resultType\":\"complete\"");
    assert_non_null(strstr(text, "accepted"));
}

/* Two requests bring the same answers at the same time, and only one of them may get a task. */
static void a_request_without_the_extension_never_shares_a_task(void **state)
{
    static char params[2 * TEXT_MAX];
    struct talk with, without;

    (void)state;
    set_task("deed", NOD_TASK_OPTIONAL, true);
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    snprintf(params, sizeof(params),
             "\"name\":\"deed\",\"arguments\":{},\"requestState\":\"%s\",\"inputResponses\":{"
             "\"age\":" AGE("7") "}",
             more);
    post(&with, &(struct exchange){ "tools/call", "deed", params });
    post(&without, &(struct exchange){ "tools/call", "deed", params, WITHOUT });
    talk_await_end(&with);
    talk_await_end(&without);
    assert_true(talk_has(&with, "taskId"));
    assert_false(talk_has(&without, "taskId"));
    assert_int_equal(world.deeds, 1);
    talk_close(&with);
    talk_close(&without);
}

static void a_round_that_has_begun_goes_on_as_it_began(void **state)
{
    (void)state;
    expect(
        &(struct exchange){ "tools/call", "form", "\"name\":\"form\",\"arguments\":{}", WITHOUT },
        200, "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry("form", more, "{\"#1\":" AGE("7") "}", 200, "\"resultType\":\"complete\"");
}

/* --- listening ----------------------------------------------------------------------------------
 */

static void listen_to(struct talk *talk, const char *ids)
{
    char params[512];

    snprintf(params, sizeof(params), "\"notifications\":{\"taskIds\":%s}", ids);
    post(talk, &(struct exchange){ "subscriptions/listen", NULL, params, .token = token_now });
    talk_await(talk, "notifications/subscriptions/acknowledged");
}

static void listeners_are_told_the_whole_task(void **state)
{
    struct talk talk;
    char ids[128];

    (void)state;
    begin("form", NULL, id);
    snprintf(ids, sizeof(ids), "[\"%s\",\"nobody\"]", id);
    listen_to(&talk, ids);
    snprintf(ids, sizeof(ids), "\"notifications\":{\"taskIds\":[\"%s\"]}", id);
    talk_await(&talk, ids); /* the one that is there */
    talk_await(&talk, ASKS);

    /* What it is told is what tasks/get says. */
    get(id, ASKS);
    cut_task(more);
    talk_await(&talk, more);

    update(id, "{\"#1\":" AGE("\"x\"") "}", 200, ACK);
    talk_await(&talk, "#2:#1");
    update(id, "{\"#2:#1\":" AGE("7") "}", 200, ACK);
    talk_await(&talk, COMPLETED);
    get(id, COMPLETED);
    cut_task(more);
    assert_true(talk_has(&talk, more));
    assert_true(talk_has(&talk, "\"method\":\"notifications/tasks\",\"params\":{\"_meta\":{"
                                "\"io.modelcontextprotocol/subscriptionId\":1}"));
    assert_false(talk_has(&talk, "notifications/progress"));
    assert_false(talk_has(&talk, "notifications/message"));
    talk_close(&talk);
}

static void a_listener_that_comes_late_is_told_how_it_is(void **state)
{
    struct talk talk;
    char ids[128];

    (void)state;
    begin("talk", NULL, id);
    snprintf(ids, sizeof(ids), "[\"%s\"]", id);
    listen_to(&talk, ids);
    talk_await(&talk, COMPLETED);
    talk_close(&talk);
}

static void listeners_hear_of_their_own_tasks_only(void **state)
{
    struct talk talk;
    char ids[128];

    (void)state;
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    begin("form", NULL, id);
    token_now = "bbbbbbbbbbbbbbbbbbbb";
    snprintf(ids, sizeof(ids), "[\"%s\"]", id);
    listen_to(&talk, ids);
    assert_false(talk_has(&talk, "taskIds"));
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
    assert_false(talk_has(&talk, "notifications/tasks"));
    talk_close(&talk);
    token_now = NULL;
}

static void listening_to_tasks_needs_the_extension(void **state)
{
    (void)state;
    expect(&(struct exchange){ "subscriptions/listen", NULL, "\"notifications\":{\"taskIds\":[]}",
                               WITHOUT },
           400, MISSING);
    expect(&(struct exchange){ "subscriptions/listen", NULL, "\"notifications\":{\"taskIds\":7}" },
           200, "-32602");
}

/* --- limits -------------------------------------------------------------------------------------
 */

static void a_principal_may_have_so_many_tasks_and_ended_ones_make_room(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"x\"}", other); /* ended: makes room */
    for (int i = 0; i < 1000; i++)
        begin("form", NULL, id);
    of_task("tasks/get", other, NULL, 200, UNKNOWN);
    expect(&(struct exchange){ "tools/call", "form", "\"name\":\"form\",\"arguments\":{}" }, 503,
           "There are as many tasks as there may be");
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 999);
    begin("form", NULL, id);
}

/* --- after the process --------------------------------------------------------------------------
 */

static void a_task_that_waits_outlives_the_process(void **state)
{
    (void)state;
    begin("form", NULL, id);
    update(id, "{\"#1\":" AGE("\"old\"") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"#2:#1\":");
    world_restart(&world);
    get(id, ASKS);
    assert_non_null(strstr(text, "\"inputRequests\":{\"#2:#1\":"));
    assert_non_null(strstr(text, "Your last answer could not be used"));
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, ASKS);
    world_restart(&world);
    update(id, "{\"#2:#1\":" AGE("7") "}", 200, ACK); /* the first that is heard of it */
    get(id, "accepted {'age':7}");
}

static void a_result_outlives_the_process(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"lasting\"}", id);
    begin("hold", NULL, other);
    cancel(other);
    get(id, COMPLETED);
    memcpy(more, text, sizeof(more));
    world_restart(&world);
    get(id, COMPLETED);
    assert_string_equal(strstr(text, "\"taskId\""), strstr(more, "\"taskId\""));
    get(other, CANCELLED);
    cancel(id);
    world_advance(&world, 3600000);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
    world_restart(&world);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

static void a_call_that_had_not_done_anything_is_begun_again(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    assert_int_equal(world.runs, 1);
    world_restart(&world);
    get(id, WORKING);
    assert_int_equal(world.runs, 2);
    world_let_go(&world);
    get(id, "let go");
}

static void a_task_that_is_cancelled_after_the_process_is_cancelled(void **state)
{
    (void)state;
    begin("form", NULL, id);
    world_restart(&world);
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, CANCELLED);
    world_restart(&world);
    get(id, CANCELLED);
}

static void asking_first_outlives_the_process(void **state)
{
    (void)state;
    set_task("deed", NOD_TASK_OPTIONAL, true);
    expect(
        &(struct exchange){
            "tools/call", "deed",
            "\"name\":\"deed\",\"arguments\":{},\"inputResponses\":{\"age\":" AGE("7") "}" },
        200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    world_restart(&world);
    get(id, "done");
    assert_int_equal(world.deeds, 1);
}

#define PLAINLY(name)     cmocka_unit_test_setup_teardown(name, setup, teardown)
#define WITH_TOKENS(name) cmocka_unit_test_setup_teardown(name, setup_tokens, teardown_tokens)
#define SURVIVING(name)   cmocka_unit_test_setup_teardown(name, setup_survivor, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAINLY(the_extension_is_declared_when_a_tool_has_tasks),
        PLAINLY(the_extension_is_not_declared_when_no_tool_has_tasks),
        PLAINLY(a_task_is_for_a_request_that_declares_the_extension_and_no_other),
        PLAINLY(a_tool_without_tasks_is_never_one),
        PLAINLY(a_required_tool_is_refused_without_the_extension),
        PLAINLY(a_2025_client_of_a_required_tool_waits_for_the_result),
        PLAINLY(methods_of_tasks_need_the_extension),
        PLAINLY(methods_that_were_taken_away_are_unknown),
        PLAINLY(the_name_header_is_the_task_id),
        PLAINLY(an_unknown_task_is_an_invalid_parameter),
        WITH_TOKENS(a_task_does_not_exist_for_another_principal),
        PLAINLY(a_task_says_when_it_was_made_and_how_long_it_lives),
        PLAINLY(the_result_is_what_the_call_would_have_had),
        PLAINLY(a_tools_own_failure_is_completed_with_an_error),
        PLAINLY(an_error_of_the_protocol_is_failed_and_has_no_result),
        PLAINLY(what_a_client_cannot_draw_is_not_put_to_it),
        PLAINLY(a_task_goes_on_when_its_connection_is_gone),
        PLAINLY(progress_is_the_status_message_and_nothing_is_notified),
        PLAINLY(a_cancelled_task_stays_cancelled),
        PLAINLY(cancelling_what_has_ended_changes_nothing),
        PLAINLY(a_question_inside_is_shown_and_answered_by_key),
        PLAINLY(questions_one_after_the_other_have_keys_of_their_own),
        PLAINLY(invalid_content_is_asked_again_under_a_new_key),
        PLAINLY(keys_that_nobody_knows_are_ignored),
        PLAINLY(some_answers_leave_the_rest_open),
        PLAINLY(a_malformed_response_is_refused_and_changes_nothing),
        PLAINLY(decline_and_cancel_are_answers),
        PLAINLY(a_page_that_was_opened_is_not_asked_for_again),
        PLAINLY(a_question_waits_as_long_as_its_task),
        PLAINLY(after_its_time_a_task_has_failed_and_is_then_forgotten),
        PLAINLY(a_question_ends_before_its_task_so_that_the_handler_can_end_well),
        PLAINLY(a_result_is_kept_until_the_time_is_over),
        PLAINLY(what_is_asked_first_is_asked_before_there_is_a_task),
        PLAINLY(the_step_is_not_done_before_the_task_is_told),
        PLAINLY(a_call_that_needs_no_step_has_its_result_at_once),
        PLAINLY(a_request_without_the_extension_never_shares_a_task),
        PLAINLY(a_round_that_has_begun_goes_on_as_it_began),
        PLAINLY(listeners_are_told_the_whole_task),
        PLAINLY(a_listener_that_comes_late_is_told_how_it_is),
        WITH_TOKENS(listeners_hear_of_their_own_tasks_only),
        PLAINLY(listening_to_tasks_needs_the_extension),
        PLAINLY(a_principal_may_have_so_many_tasks_and_ended_ones_make_room),
        SURVIVING(a_task_that_waits_outlives_the_process),
        SURVIVING(a_result_outlives_the_process),
        SURVIVING(a_call_that_had_not_done_anything_is_begun_again),
        SURVIVING(a_task_that_is_cancelled_after_the_process_is_cancelled),
        SURVIVING(asking_first_outlives_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
