/*
 * tests/fuzz/mcp: arbitrary lines from a client on stdio. Whatever they are, every line that comes
 * back is one JSON-RPC message, every call ends, and nothing is left behind.
 *
 * These bytes of the input stand for what the server has said last, so that requests find it: 0x01
 * the id of a question, 0x02 of a call (a pending result has it), 0x03 a requestState. A client
 * that declares nothing is given pending results, because its model is asked.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/catalog.h"
#include "core/run.h"
#include "mcp/server.h"
#include "surface/model.h"
#include "store/memory.h"
#include "target.h"
#include "../unit/rpc/text.h"

enum {
    ARENA_CAP = 16 << 20,
    INPUT_MAX = 16 << 10,
    TURNS_MAX = 1000,
    SAID_MAX = 4096,
    ASKS_END_MS = 3600000
};

static void must(bool truth)
{
    if (!truth)
        abort();
}

/* --- a server with one tool that asks --- */

static void start(struct provider *provider, struct run *run)
{
    static const struct str form =
        STR_INIT("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}");
    const struct entry *entry;
    int64_t kind = 0;

    (void)provider;
    json_i64(json_get(run->args, STR("kind")), &kind);
    struct ask_spec spec = { .kind =
                                 kind >= 0 && kind <= ASK_ROOTS ? (enum ask_kind)kind : ASK_FORM,
                             .message = STR("?"),
                             .attempts = 2 };
    if (spec.kind == ASK_FORM)
        spec.detail = form;
    if (spec.kind == ASK_SAMPLE)
        spec.detail = STR("{\"messages\":[],\"maxTokens\":1}");
    if (spec.kind == ASK_URL)
        spec.url = STR("https://example.com");
    run_emit(run, &(struct notice){ .kind = NOTICE_PROGRESS, .progress = 1, .text = STR("x") });
    nod_status status =
        json_true(json_get(run->args, STR("ask"))) ? run_ask(run, &spec, &entry) : NOD_OK;
    run_done(run, status, STR("{\"content\":[]}"));
}

static const struct provider_ops provider_ops = { .name = "fuzz",
                                                  .start = start };
static struct provider provider = { &provider_ops };
static const struct target tool = { .kind = TARGET_TOOL,
                                    .name = STR_INIT("t"),
                                    .title = STR_INIT("t"),
                                    .provider = &provider,
                                    .descriptor = STR_INIT("{\"name\":\"t\",\"title\":\"T\"}") };
static const struct target resource = { .kind = TARGET_RESOURCE,
                                        .name = STR_INIT("r://{a}"),
                                        .title = STR_INIT("r"),
                                        .provider = &provider,
                                        .is_template = true,
                                        .subscribable = true,
                                        .descriptor = STR_INIT("{\"uriTemplate\":\"r://{a}\"}") };

struct place {
    struct loop *loop;
    struct engine *engine;
    struct fake_clock *clock;
    int in, out;
    bool ended;
    char asked[ID_LEN], call[ID_LEN];
    char state[SAID_MAX];
    size_t state_len;
    struct buf got;
};

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static void on_ended(void *data)
{
    ((struct place *)data)->ended = true;
}

/* The text behind `"name":"`; empty: it is not there. */
static struct str said(struct str line, struct str name)
{
    ptrdiff_t at = str_find(line, name);
    struct str text, rest;

    return at >= 0 && str_cut(str_skip(line, (size_t)at + name.len), '"', &text, &rest) ? text
                                                                                        : STR_NONE;
}

static void keep_said(struct place *place, struct str line)
{
    struct str ask = said(line, STR("\"elicitId\":\"")), call = said(line, STR("\"callId\":\"")),
               state = said(line, STR("\"requestState\":\""));

    if (ask.len == ID_LEN)
        memcpy(place->asked, ask.at, ID_LEN);
    if (call.len == ID_LEN)
        memcpy(place->call, call.at, ID_LEN);
    if (state.len && state.len <= SAID_MAX)
        memcpy(place->state, state.at, place->state_len = state.len);
}

/* Every line is a message; the id of a question is kept. */
static void check_line(struct place *place, struct str line)
{
    struct arena arena;
    struct rpc_message message;
    struct rpc_fault fault;
    struct rpc_batch batch;
    nod_status status;

    arena_init(&arena, ARENA_CAP);
    must(rpc_parse_batch(&arena, line, &batch, &fault) == NOD_OK && !batch.array);
    must(rpc_batch_next(&batch, &arena, &message, &fault, &status) && status == NOD_OK);
    struct str id = message.kind == RPC_REQUEST ? rpc_id_text(&arena, message.id) : STR_NONE;
    if (id.len >= ID_LEN)
        memcpy(place->asked, id.at, ID_LEN);
    else
        keep_said(place, line);
    arena_finish(&arena);
}

static void turn(struct place *place, int wait_ms)
{
    char bytes[65536];
    struct str line, rest;
    ssize_t n;

    engine_tick(place->engine);
    loop_turn(place->loop, wait_ms);
    while ((n = read(place->out, bytes, sizeof(bytes))) > 0)
        buf_add(&place->got, str_n(bytes, (size_t)n));
    while (str_cut(buf_str(&place->got), '\n', &line, &rest)) {
        check_line(place, line);
        buf_drop(&place->got, line.len + 1);
    }
}

static void send_line(struct place *place, struct str line)
{
    struct buf text;

    buf_init(&text, 65 * INPUT_MAX);
    for (size_t i = 0; i < line.len; i++) {
        if (line.at[i] == 1)
            buf_add(&text, str_n(place->asked, ID_LEN));
        else if (line.at[i] == 2)
            buf_add(&text, str_n(place->call, ID_LEN));
        else if (line.at[i] == 3 && text.len < 64 * INPUT_MAX)
            buf_add(&text, str_n(place->state, place->state_len));
        else
            buf_add_char(&text, line.at[i]);
    }
    buf_add_char(&text, '\n');
    for (struct str rest = buf_str(&text); rest.len;) {
        ssize_t n = write(place->in, rest.at, rest.len);
        if (n > 0)
            rest = str_skip(rest, (size_t)n);
        turn(place, 0);
    }
    buf_finish(&text);
    turn(place, 0);
    turn(place, 0);
}

static void talk(struct place *place, struct mcp_server *server, struct str input)
{
    int to[2], from[2];

    must(pipe2(to, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(from, O_CLOEXEC | O_NONBLOCK) == 0);
    place->in = to[1];
    place->out = from[0];
    memset(place->asked, 'A', ID_LEN);
    memset(place->call, 'A', ID_LEN);
    must(mcp_stdio_start(server, to[0], from[1], on_ended, place) == NOD_OK);
    for (bool more = input.len > 0; more;) {
        struct str line;
        more = str_cut(input, '\n', &line, &input);
        send_line(place, line);
    }
    close(place->in);
    for (int i = 0; !place->ended; i++) {
        must(i < TURNS_MAX);
        turn(place, 1);
    }
    fake_clock_advance(place->clock, ASKS_END_MS); /* whose handle went out waits for that */
    for (int i = 0; engine_calls(place->engine); i++) {
        must(i < TURNS_MAX);
        turn(place, 1);
    }
    close(place->out);
}

FUZZ_TARGET(mcp)
{
    struct fake_clock clock;
    struct place place = { .loop = loop_create(), .clock = &clock };
    struct target targets[2] = { tool, resource };

    signal(SIGPIPE, SIG_IGN); /* what is left is written outside of a turn */

    if (size > INPUT_MAX)
        size = INPUT_MAX;
    fake_clock_init(&clock, 1700000000000);
    buf_init(&place.got, 64 << 20);
    struct store *store = memory_store_create(
        &(struct memory_opts){ .clock = &clock.clock, .defer = defer, .defer_ctx = place.loop });
    place.engine = engine_create(&(struct engine_opts){
        .clock = &clock.clock, .store = store, .defer = defer, .defer_ctx = place.loop });
    struct catalog *catalog = catalog_create();
    must(catalog_add(catalog, &targets[0]) == NOD_OK &&
         catalog_add(catalog, &targets[1]) == NOD_OK);
    struct mcp_server *server =
        mcp_server_create(&(struct mcp_opts){ .loop = place.loop,
                                              .engine = place.engine,
                                              .catalog = catalog,
                                              .clock = &clock.clock,
                                              .self = { .name = STR("f"), .version = STR("1") } });
    must(mcp_use_model(server, surface_model()));
    talk(&place, server, str_n((const char *)data, size));
    mcp_server_destroy(server);
    store->ops->destroy(store);
    engine_destroy(place.engine);
    catalog_destroy(catalog);
    loop_turn(place.loop, 0);
    loop_destroy(place.loop);
    buf_finish(&place.got);
    return 0;
}
