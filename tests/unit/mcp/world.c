/* tests/unit/mcp/world: see world.h. */
#include "world.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECEIVED_MAX = 64 << 20 };

static struct world *world_now;

/* --- targets --- */

static void say(struct run *run, const char *text)
{
    struct buf body;

    buf_init(&body, 1 << 20);
    buf_fmt(&body, "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", text);
    run_done(run, NOD_OK, buf_str(&body));
    buf_finish(&body);
}

static void ask_and_say(struct run *run, const struct ask_spec *spec)
{
    const struct entry *entry = NULL;
    nod_status status = run_ask(run, spec, &entry);

    if (status != NOD_OK) {
        run_done(run, status, STR_NONE);
        return;
    }
    struct str state = ask_state_name(entry->state);
    char text[2048];

    snprintf(text, sizeof(text), STR_FMT " " STR_FMT, STR_ARG(state), STR_ARG(entry->content));
    for (char *c = text; *c; c++)
        if (*c == '"')
            *c = '\'';
    say(run, text);
}

static void tool_confirm(struct run *run)
{
    ask_and_say(run, &(struct ask_spec){
                         .kind = ASK_APPROVAL, .message = STR("Really?"), .consent = true });
}

static const struct str age_form = STR_INIT(
    "{\"type\":\"object\",\"properties\":{\"age\":{\"type\":\"integer\"}},\"required\":[\"age\"]}");
static const struct str many_form =
    STR_INIT("{\"type\":\"object\",\"properties\":{\"colours\":{\"type\":\"array\",\"items\":"
             "{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}}}}");

static void tool_form(struct run *run)
{
    int64_t attempts = 0, ttl = 0;

    json_i64(json_get(run->args, STR("attempts")), &attempts);
    json_i64(json_get(run->args, STR("ttl")), &ttl);
    ask_and_say(run, &(struct ask_spec){ .kind = ASK_FORM,
                                         .message = STR("How old?"),
                                         .detail = age_form,
                                         .ttl_ms = ttl,
                                         .attempts = (int)attempts });
}

static void tool_many(struct run *run)
{
    ask_and_say(
        run, &(struct ask_spec){ .kind = ASK_FORM, .message = STR("Which?"), .detail = many_form });
}

static void tool_url(struct run *run)
{
    ask_and_say(run,
                &(struct ask_spec){ .kind = ASK_URL,
                                    .message = STR("Sign in"),
                                    .url = STR("https://example.com/{id}"),
                                    .wait_done = json_true(json_get(run->args, STR("wait"))) });
}

static void tool_sample(struct run *run)
{
    bool tools = json_true(json_get(run->args, STR("tools")));

    ask_and_say(run, &(struct ask_spec){
                         .kind = ASK_SAMPLE,
                         .detail = tools ? STR("{\"messages\":[],\"maxTokens\":5,\"tools\":[]}")
                                         : STR("{\"messages\":[],\"maxTokens\":5}") });
}

static void tool_roots(struct run *run)
{
    ask_and_say(run, &(struct ask_spec){ .kind = ASK_ROOTS });
}

static void tool_talk(struct run *run)
{
    static const struct notice notices[] = {
        { .kind = NOTICE_PROGRESS, .progress = 1, .total = 3, .text = STR_INIT("one") },
        { .kind = NOTICE_PROGRESS, .progress = 1, .total = 3, .text = STR_INIT("not rising") },
        { .kind = NOTICE_PROGRESS, .progress = 2, .total = 3, .text = STR_INIT("two") },
        { .kind = NOTICE_LOG, .level = NOD_LOG_DEBUG, .text = STR_INIT("quiet") },
        { .kind = NOTICE_LOG,
          .level = NOD_LOG_WARNING,
          .logger = STR_INIT("t"),
          .text = STR_INIT("loud") },
    };

    for (size_t i = 0; i < sizeof(notices) / sizeof(notices[0]); i++)
        run_emit(run, &notices[i]);
    say(run, "talked");
}

static void tool_fail(struct run *run)
{
    run_done(run, run_fail(run, NOD_E_FAILED, "BROKEN", STR("It broke.")), STR_NONE);
}

static void tool_hold(struct run *run)
{
    world_now->held = run;
}

static void tool_rich(struct run *run)
{
    run_done(run, NOD_OK,
             STR("{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x://y\",\"name\":\"why\"}],"
                 "\"structuredContent\":{\"a\":1}}"));
}

static void tool_twice(struct run *run)
{
    static const char *const names[] = { "first", "second" };
    const struct entry *entry;
    char text[512] = "";
    int64_t ttl = 0;

    json_i64(json_get(run->args, STR("ttl")), &ttl);
    for (size_t i = 0; i < 2; i++) {
        nod_status status = run_ask(run,
                                    &(struct ask_spec){ .kind = ASK_FORM,
                                                        .key = str_of(names[i]),
                                                        .message = str_of(names[i]),
                                                        .ttl_ms = ttl,
                                                        .detail = age_form },
                                    &entry);
        if (status != NOD_OK) {
            run_done(run, status, STR_NONE);
            return;
        }
        int64_t age = 0;
        const struct json *content = json_parse(&run->arena, entry->content, NULL, NULL);
        json_i64(json_get(content, STR("age")), &age);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " and " : "",
                 (int)age);
    }
    say(run, text);
}

/* Two questions in one round. */
static void tool_pair(struct run *run)
{
    const struct entry *one = NULL, *two = NULL;
    struct ask_spec spec = { .kind = ASK_FORM, .message = STR("How old?"), .detail = age_form };

    spec.key = STR("first");
    nod_status first = run_ask(run, &spec, &one);
    spec.key = STR("second");
    nod_status second = run_ask(run, &spec, &two);
    if (first == NOD_OK && second == NOD_OK)
        say(run, "both");
    else
        run_done(run, first == NOD_OK ? second : first, STR_NONE);
}

static nod_status do_deed(struct run *run)
{
    const struct entry *entry;
    bool go = false;
    nod_status status = run_step(run, STR("deed"), false,
                                 json_true(json_get(run->args, STR("idempotent"))), &entry, &go);

    if (status == NOD_PENDING && go) {
        char byte;
        world_now->deeds++;
        world_now->sent = world_now->watched &&
                          recv(world_now->watched->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
        status = run_step_done(run, STR("deed"), NOD_OK, STR("1"));
    }
    return status;
}

/* Asks first, then does something that is counted; with the argument `first` in the other order. */
static void tool_deed(struct run *run)
{
    const struct entry *entry;
    bool first = json_true(json_get(run->args, STR("first")));
    nod_status status = first ? do_deed(run) : NOD_OK;

    if (status == NOD_OK)
        status = run_ask(run,
                         &(struct ask_spec){ .kind = ASK_FORM,
                                             .key = STR("age"),
                                             .message = STR("How old?"),
                                             .detail = age_form },
                         &entry);
    if (status == NOD_OK && !first)
        status = do_deed(run);
    if (status == NOD_OK)
        say(run, "done");
    else
        run_done(run, status, STR_NONE);
}

/* Asks, and then is held. */
static void tool_later(struct run *run)
{
    const struct entry *entry;
    nod_status status = run_ask(
        run,
        &(struct ask_spec){
            .kind = ASK_FORM, .key = STR("age"), .message = STR("How old?"), .detail = age_form },
        &entry);

    if (status == NOD_OK)
        world_now->held = run;
    else
        run_done(run, status, STR_NONE);
}

/* A question that does not fit into what a client carries. */
static void tool_long(struct run *run)
{
    char *message = arena_alloc(&run->arena, 20000);

    memset(message, 'x', 20000);
    ask_and_say(run, &(struct ask_spec){ .kind = ASK_FORM,
                                         .key = STR("age"),
                                         .message = str_n(message, 20000),
                                         .detail = age_form });
}

static void resource_ask(struct run *run)
{
    const struct entry *entry;
    nod_status status = run_ask(
        run,
        &(struct ask_spec){
            .kind = ASK_FORM, .key = STR("age"), .message = STR("How old?"), .detail = age_form },
        &entry);

    run_done(run, status,
             status == NOD_OK ? STR("{\"contents\":[{\"uri\":\"ask://age\",\"text\":\"told\"}]}")
                              : STR_NONE);
}

static void resource_read(struct run *run)
{
    struct str id = json_get_str(run->args, STR("id"));
    struct buf body;

    buf_init(&body, 4096);
    buf_fmt(&body, "{\"contents\":[{\"uri\":\"" STR_FMT "\",\"text\":\"id=" STR_FMT "\"}]}",
            STR_ARG(run->uri), STR_ARG(id));
    run_done(run, NOD_OK, buf_str(&body));
    buf_finish(&body);
}

static void prompt_get(struct run *run)
{
    if (!json_get(run->args, STR("topic")))
        run_done(run, run_fail(run, NOD_E_INVALID, NULL, STR("topic is missing")), STR_NONE);
    else
        run_done(run, NOD_OK,
                 STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
                     "\"hello\"}}]}"));
}

static void tool_echo(struct run *run)
{
    struct str text = json_get_str(run->args, STR("text"));
    char copy[512];

    snprintf(copy, sizeof(copy), STR_FMT, STR_ARG(text));
    say(run, copy);
}

/* A page has to be opened first. */
static void tool_require(struct run *run)
{
    nod_status status = run_fail(run, NOD_E_FAILED, "URL_ELICITATION_REQUIRED", STR("Sign in"));

    run->fault.request_error = true;
    run->fault.error_data = STR("{\"elicitations\":[{\"mode\":\"url\",\"elicitationId\":\"page-1\","
                                "\"url\":\"https://example.com\",\"message\":\"Sign in\"}]}");
    run_done(run, status, STR_NONE);
}

/* Asks for an address of mail. */
static void tool_mail(struct run *run)
{
    static const char form[] = "{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"string\","
                               "\"format\":\"email\"}},\"required\":[\"to\"]}";
    const struct entry *answer;
    nod_status status = run_ask(
        run,
        &(struct ask_spec){
            .kind = ASK_FORM, .key = STR("to"), .message = STR("To whom?"), .detail = STR(form) },
        &answer);

    if (status == NOD_OK)
        say(run, "sent");
    else
        run_done(run, status, STR_NONE);
}

static const struct row {
    enum target_kind kind;
    const char *name;
    void (*start)(struct run *run);
    const char *descriptor;
    bool is_template, subscribable, completes;
} rows[] = {
    { TARGET_TOOL, "echo", tool_echo,
      "{\"name\":\"echo\",\"title\":\"Echo\",\"inputSchema\":{\"type\":\"object\"},"
      "\"outputSchema\":{\"type\":\"object\"},\"icons\":[]}",
      .completes = false },
    { TARGET_TOOL, "confirm", tool_confirm,
      "{\"name\":\"confirm\",\"inputSchema\":{\"type\":\"object\"}}", .completes = false },
    { TARGET_TOOL, "form", tool_form, "{\"name\":\"form\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "many", tool_many, "{\"name\":\"many\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "url", tool_url, "{\"name\":\"url\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "sample", tool_sample,
      "{\"name\":\"sample\",\"inputSchema\":{\"type\":\"object\"}}", .completes = false },
    { TARGET_TOOL, "roots", tool_roots,
      "{\"name\":\"roots\",\"inputSchema\":{\"type\":\"object\"}}", .completes = false },
    { TARGET_TOOL, "talk", tool_talk, "{\"name\":\"talk\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "fail", tool_fail, "{\"name\":\"fail\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "require", tool_require,
      "{\"name\":\"require\",\"inputSchema\":{\"type\":\"object\"}}", .completes = false },
    { TARGET_TOOL, "hold", tool_hold, "{\"name\":\"hold\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "rich", tool_rich, "{\"name\":\"rich\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "twice", tool_twice,
      "{\"name\":\"twice\",\"inputSchema\":{\"type\":\"object\"}}", .completes = false },
    { TARGET_TOOL, "pair", tool_pair, "{\"name\":\"pair\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "deed", tool_deed, "{\"name\":\"deed\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "later", tool_later,
      "{\"name\":\"later\",\"inputSchema\":{\"type\":\"object\"}}", .completes = false },
    { TARGET_TOOL, "long", tool_long, "{\"name\":\"long\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_TOOL, "mail", tool_mail, "{\"name\":\"mail\",\"inputSchema\":{\"type\":\"object\"}}",
      .completes = false },
    { TARGET_RESOURCE, "ask://age", resource_ask, "{\"uri\":\"ask://age\",\"name\":\"age\"}",
      .completes = false },
    { TARGET_RESOURCE, "age://of/{who}", resource_ask,
      "{\"uriTemplate\":\"age://of/{who}\",\"name\":\"age of\"}", .is_template = true },
    { TARGET_RESOURCE, "note://one", resource_read, "{\"uri\":\"note://one\",\"name\":\"one\"}",
      .subscribable = true },
    { TARGET_RESOURCE, "note://silent", resource_read,
      "{\"uri\":\"note://silent\",\"name\":\"silent\"}", .completes = false },
    { TARGET_RESOURCE, "item://{id}", resource_read,
      "{\"uriTemplate\":\"item://{id}\",\"name\":\"item\"}", .is_template = true,
      .completes = true },
    { TARGET_PROMPT, "greet", prompt_get,
      "{\"name\":\"greet\",\"arguments\":[{\"name\":\"topic\",\"title\":\"T\",\"required\":true}]}",
      .completes = true },
};

static void provider_start(struct provider *provider, struct run *run)
{
    (void)provider;
    world_now->runs++;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_eq(str_of(rows[i].name), run->target->name)) {
            rows[i].start(run);
            return;
        }
    }
    tool_echo(run);
}

static void provider_cancelled(struct provider *provider, struct run *run)
{
    (void)provider;
    if (world_now->held == run) {
        world_now->held = NULL;
        run_done(run, NOD_E_CANCELLED, STR_NONE);
    }
}

static void provider_complete(struct provider *provider, struct target *target,
                              struct completion *completion, completion_done *done)
{
    (void)provider, (void)target;
    if (!str_eq(completion->argument, STR("topic"))) {
        done(completion, NOD_E_NOT_FOUND);
        return;
    }
    completion->values[completion->count++] =
        arena_fmt(completion->arena, STR_FMT "-one", STR_ARG(completion->typed));
    completion->total = 7;
    done(completion, NOD_OK);
}

static const struct provider_ops provider_ops = { .name = "test",
                                                  .start = provider_start,
                                                  .cancelled = provider_cancelled,
                                                  .complete = provider_complete };

struct target *world_add_tool(struct world *world, const char *name)
{
    static char texts[WORLD_TARGETS_MAX][128];
    size_t at = world->target_count++;
    struct target *target = &world->targets[at];

    assert_true(at < WORLD_TARGETS_MAX);
    snprintf(texts[at], sizeof(texts[at]),
             "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", name);
    *target = (struct target){ .kind = TARGET_TOOL,
                               .name = str_of(name),
                               .title = str_of(name),
                               .provider = &world->provider,
                               .descriptor = str_of(texts[at]) };
    assert_int_equal(catalog_add(world->catalog, target), NOD_OK);
    return target;
}

/* --- the world --- */

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static void add_rows(struct world *world)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct target *target = &world->targets[world->target_count++];
        *target = (struct target){ .kind = rows[i].kind,
                                   .name = str_of(rows[i].name),
                                   .title = str_of(rows[i].name),
                                   .provider = &world->provider,
                                   .descriptor = str_of(rows[i].descriptor),
                                   .portable = true,
                                   .is_template = rows[i].is_template,
                                   .subscribable = rows[i].subscribable,
                                   .completes = rows[i].completes };
        assert_int_equal(catalog_add(world->catalog, target), NOD_OK);
    }
}

static struct keyring *keyring_of(const char *secret)
{
    struct str text = str_of(secret);
    struct keyring *ring = NULL;
    const char *why;

    assert_int_equal(keyring_create(&text, 1, &ring, &why), NOD_OK);
    return ring;
}

static void make_engine(struct world *world)
{
    world->engine = engine_create(&(struct engine_opts){ .clock = &world->clock.clock,
                                                         .store = world->store,
                                                         .defer = defer,
                                                         .defer_ctx = world->loop });
}

static void make_server(struct world *world)
{
    const struct world_opts *opts = &world->opts;

    world->server = mcp_server_create(
        &(struct mcp_opts){ .loop = world->loop,
                            .engine = world->engine,
                            .catalog = world->catalog,
                            .clock = &world->clock.clock,
                            .self = { STR("test"), STR("Test"), STR("1"), STR_NONE },
                            .heartbeat_ms = opts->heartbeat_ms,
                            .session_idle_ms = opts->session_idle_ms,
                            .page_size = opts->page_size,
                            .hold_ms = opts->hold_ms,
                            .completion_ms = opts->completion_ms,
                            .soft_ms = opts->soft_ms,
                            .task_ttl_ms = opts->task_ttl_ms,
                            .portable_states = opts->portable_states,
                            .keyring = opts->secret ? keyring_of(opts->secret) : NULL });
    if (opts->no_http)
        return;
    world->front = front_create(&(struct front_opts){
        .loop = world->loop, .engine = world->engine, .tokens = opts->tokens });
    assert_non_null(world->front);
    assert_int_equal(mcp_http_start(world->server, world->front), NOD_OK);
    assert_int_equal(front_listen(world->front, STR("127.0.0.1"), 0), NOD_OK);
}

static enum memory_fault store_fault(void *ctx, const char *verb)
{
    struct world *world = ctx;

    if (!world->store_away || strcmp(world->store_away, verb) != 0)
        return MEMORY_FINE;
    world->away_tries++;
    return MEMORY_FAIL_BEFORE;
}

void world_start(struct world *world, const struct world_opts *opts)
{
    memset(world, 0, sizeof(*world));
    world_now = world;
    world->opts = *opts;
    world->loop = loop_create();
    fake_clock_init(&world->clock, 1700000000000);
    world->store = memory_store_create(
        &(struct memory_opts){ .clock = &world->clock.clock,
                               .kept_bytes_per_principal = opts->kept_bytes_per_principal,
                               .defer = defer,
                               .defer_ctx = world->loop,
                               .fault = store_fault,
                               .fault_ctx = world });
    if (opts->survives) {
        world->ops = *world->store->ops;
        world->ops.durable = true;
        world->ops.lacks_call = NULL;     /* only a store in memory can tell at once */
        world->ops.load_with_asks = NULL; /* tests come between the load and the scan */
        world->store->ops = &world->ops;
    }
    world->catalog = catalog_create();
    world->provider.ops = &provider_ops;
    add_rows(world);
    make_engine(world);
    make_server(world);
}

void world_restart(struct world *world)
{
    mcp_server_destroy(world->server);
    front_destroy(world->front);
    world->front = NULL;
    for (int i = 0; i < 10; i++)
        world_turn(world); /* what is on its way to the engine arrives */
    engine_destroy(world->engine);
    make_engine(world);
    make_server(world);
}

void world_turn(struct world *world)
{
    engine_tick(world->engine);
    loop_turn(world->loop, 5);
}

void world_let_go(struct world *world)
{
    struct run *run = world->held;

    assert_non_null(run);
    world->held = NULL;
    say(run, "let go");
}

void world_advance(struct world *world, int64_t ms)
{
    fake_clock_advance(&world->clock, ms);
    world_turn(world);
}

static void drained(void *data)
{
    ((struct world *)data)->ended = true;
}

void world_drain(struct world *world, int grace_ms)
{
    if (world->draining)
        return;
    world->draining = true;
    if (world->front)
        front_stopping(world->front);
    mcp_drain(world->server, grace_ms, drained, world);
}

void world_stop(struct world *world)
{
    if (world->held)
        world_let_go(world);
    world_drain(world, 2000);
    WORLD_AWAIT(world, world->ended);
    mcp_server_destroy(world->server);
    front_destroy(world->front);
    world->front = NULL;
    world->store->ops->destroy(world->store);
    engine_destroy(world->engine);
    loop_turn(world->loop, 0); /* as in host/shutdown.c: the tools go next */
    catalog_destroy(world->catalog);
    loop_destroy(world->loop);
}

/* --- clients --- */

static int dial(struct world *world)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)front_port(world->front, 0)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void talk_raw(struct talk *talk, struct world *world, const char *bytes)
{
    struct str rest = str_of(bytes);

    *talk = (struct talk){ .world = world, .fd = dial(world) };
    buf_init(&talk->got, RECEIVED_MAX);
    while (rest.len) {
        ssize_t n = send(talk->fd, rest.at, rest.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            rest = str_skip(rest, (size_t)n);
        else
            assert_true(errno == EAGAIN);
        world_turn(world);
    }
}

static void talk_read(struct talk *talk)
{
    char bytes[65536];
    ssize_t n;

    while ((n = recv(talk->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_add(&talk->got, str_n(bytes, (size_t)n));
    if (n == 0 || errno != EAGAIN)
        talk->closed = true;
}

bool talk_has(const struct talk *talk, const char *text)
{
    return str_find(buf_str(&talk->got), str_of(text)) >= 0;
}

int talk_count(const struct talk *talk, const char *text)
{
    struct str rest = buf_str(&talk->got);
    int count = 0;

    for (ptrdiff_t at; (at = str_find(rest, str_of(text))) >= 0; count++)
        rest = str_skip(rest, (size_t)at + strlen(text));
    return count;
}

void talk_await(struct talk *talk, const char *text)
{
    for (int turns = 0; !talk_has(talk, text); turns++) {
        if (talk->closed || turns >= PATIENCE_MS / 5)
            print_error("waited for %s, got: %.*s\n", text, (int)talk->got.len,
                        talk->got.len ? talk->got.at : "");
        assert_true(!talk->closed && turns < PATIENCE_MS / 5);
        world_turn(talk->world);
        talk_read(talk);
    }
}

static bool talk_ended(const struct talk *talk)
{
    struct str got = buf_str(&talk->got);
    ptrdiff_t head = str_find(got, STR("\r\n\r\n"));

    if (head < 0)
        return false;
    if (str_find(str_n(got.at, (size_t)head), STR("chunked")) >= 0)
        return str_ends(got, STR("\r\n0\r\n\r\n"));
    ptrdiff_t at = str_find(got, STR("Content-Length: "));
    if (at < 0)
        return true;
    return got.len - (size_t)head - 4 >= (size_t)atol(got.at + at + 16);
}

void talk_await_end(struct talk *talk)
{
    for (int turns = 0; !talk_ended(talk); turns++) {
        if (turns >= PATIENCE_MS / 5)
            print_error("waited for the end, got: %.*s\n", STR_ARG(buf_str(&talk->got)));
        assert_true(turns < PATIENCE_MS / 5);
        world_turn(talk->world);
        talk_read(talk);
    }
}

void talk_cut(const struct talk *talk, const char *before, const char *after, char *out,
              size_t room)
{
    struct str got = buf_str(&talk->got);
    ptrdiff_t at = str_find(got, str_of(before));

    if (at < 0)
        print_error("no %s in: %.*s\n", before, STR_ARG(got));
    assert_true(at >= 0);
    got = str_skip(got, (size_t)at + strlen(before));
    ptrdiff_t end = str_find(got, str_of(after));
    assert_true(end >= 0 && (size_t)end < room);
    memcpy(out, got.at, (size_t)end);
    out[end] = '\0';
}

void talk_close(struct talk *talk)
{
    close(talk->fd);
    buf_finish(&talk->got);
    world_turn(talk->world);
}

static void client_send(struct wire_client *client, struct talk *talk, const char *method,
                        const char *body, const char *last_event_id)
{
    struct buf head;

    buf_init(&head, 8 << 20);
    buf_fmt(
        &head,
        "%s /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n",
        method);
    if (client->session[0])
        buf_fmt(&head, "Mcp-Session-Id: %s\r\n", client->session);
    if (client->token)
        buf_fmt(&head, "Authorization: Bearer %s\r\n", client->token);
    if (client->version)
        buf_fmt(&head, "MCP-Protocol-Version: %s\r\n", client->version);
    if (last_event_id)
        buf_fmt(&head, "Last-Event-ID: %s\r\n", last_event_id);
    if (body)
        buf_fmt(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    buf_fmt(&head, "\r\n%s", body ? body : "");
    buf_add_char(&head, '\0');
    talk_raw(talk, client->world, head.at);
    buf_finish(&head);
}

void client_post(struct wire_client *client, struct talk *talk, const char *body)
{
    client_send(client, talk, "POST", body, NULL);
}

void client_get(struct wire_client *client, struct talk *talk, const char *last_event_id)
{
    client_send(client, talk, "GET", NULL, last_event_id);
}

int client_status(struct wire_client *client, const char *method, const char *body)
{
    struct talk talk;
    char status[16];

    client_send(client, &talk, method, body, NULL);
    talk_await_end(&talk);
    talk_cut(&talk, "HTTP/1.1 ", " ", status, sizeof(status));
    talk_close(&talk);
    return atoi(status);
}

void client_begin(struct wire_client *client, struct world *world, const char *version,
                  const char *capabilities)
{
    const char *token = client->token;
    struct talk talk;
    char body[1024];

    *client = (struct wire_client){ .world = world, .token = token };
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
             "{\"protocolVersion\":\"%s\",\"capabilities\":%s,\"clientInfo\":{\"name\":\"c\","
             "\"version\":\"1\"}}}",
             version, capabilities);
    client_post(client, &talk, body);
    talk_await_end(&talk);
    talk_cut(&talk, "Mcp-Session-Id: ", "\r\n", client->session, sizeof(client->session));
    talk_close(&talk);
    assert_int_equal(
        client_status(client, "POST",
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
        202);
}

void client_answer(struct wire_client *client, const char *id, const char *result)
{
    char body[2048];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", id, result);
    assert_int_equal(client_status(client, "POST", body), 202);
}
