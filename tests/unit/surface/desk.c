/* tests/unit/surface/desk: see desk.h. */
#include "desk.h"

#include <stdlib.h>

#include "accounts/accounts.h"
#include "desk_core.h"
#include "front/tokens.h"
#include "surface/hosted.h"
#include "surface/events.h"
#include "../runner.h"

static struct loop *loop;
static struct arena arena, reply;
static struct tokens *tokens;
static struct catalog *catalog;
static struct engine *engine;
static struct front *front;
static struct inbox *inbox;
static struct hosted *hosted;
static struct reach reach;
static struct fetcher *fetcher;
static char base[64];
static int status; /* of the reply; 0: there is none yet */
static const struct json *body;

int desk_setup(void **state)
{
    struct str problem;
    char target[64];

    (void)state;
    loop = loop_create();
    arena_init(&arena, 1 << 20);
    arena_init(&reply, 1 << 20);
    tokens = tokens_parse(STR(ADA " ada answer\n" BOB " bob answer\n" ROOT " root admin\n"),
                          STR("t"), &arena, &problem);
    assert_non_null(tokens);
    catalog = catalog_create();
    engine = desk_core_open(catalog);
    front = front_create(&(struct front_opts){ .loop = loop, .engine = engine, .tokens = tokens });
    assert_non_null(front);
    assert_true(front_sign_in(front, &(struct front_signin_opts){ 0 }));
    inbox = inbox_create(&(struct inbox_opts){ .loop = loop,
                                               .engine = engine,
                                               .catalog = catalog,
                                               .front = front,
                                               .name = STR("desk"),
                                               .version = STR("1") });
    hosted = hosted_create(&(struct hosted_opts){
        .engine = engine, .catalog = catalog, .front = front, .name = STR("desk") });
    assert_true(inbox && hosted);
    assert_int_equal(front_listen(front, STR("127.0.0.1"), 0), NOD_OK);
    hosted_start(hosted);
    snprintf(target, sizeof(target), "127.0.0.1:%d", front_port(front, 0));
    snprintf(base, sizeof(base), "http://127.0.0.1:%d", front_port(front, 0));
    reach = (struct reach){ 0 };
    assert_true(reach_allow(&reach, str_of(target)));
    fetcher = fetcher_create(loop, &(struct fetcher_opts){ .reach = &reach });
    assert_non_null(fetcher);
    return 0;
}

int desk_teardown(void **state)
{
    (void)state;
    fetcher_destroy(fetcher);
    inbox_stop(inbox);
    front_close(front);
    desk_core_close();
    front_destroy(front);
    hosted_destroy(hosted);
    inbox_destroy(inbox);
    tokens_destroy(tokens);
    catalog_destroy(catalog);
    arena_finish(&reply);
    arena_finish(&arena);
    loop_turn(loop, 0);
    loop_destroy(loop);
    return 0;
}

static void came(void *data, const struct fetch_result *result)
{
    (void)data;
    assert_int_equal(result->end, FETCH_DONE);
    status = result->status;
    body = json_parse(&reply, arena_str(&reply, result->body), NULL, NULL);
}

__attribute__((format(printf, 3, 0))) static int ask(const char *token, const char *sent,
                                                     const char *format, va_list args)
{
    char url[4096], bearer[128];
    struct http_header headers[2] = { { STR("Content-Type"), STR("application/json") } };
    int64_t until = loop_now(loop) + PATIENCE_MS;
    size_t at = (size_t)snprintf(url, sizeof(url), "%s", base);

    vsnprintf(url + at, sizeof(url) - at, format, args);
    snprintf(bearer, sizeof(bearer), "Bearer %s", token ? token : "");
    headers[1] = (struct http_header){ STR("Authorization"), str_of(bearer) };
    arena_reset(&reply);
    status = 0;
    body = NULL;
    assert_non_null(fetch_begin(fetcher,
                                &(struct fetch_opts){ .method = sent ? STR("POST") : STR("GET"),
                                                      .url = str_of(url),
                                                      .headers = headers,
                                                      .header_count = token ? 2 : 1,
                                                      .body = str_of(sent) },
                                came, NULL));
    while (!status && loop_now(loop) < until) {
        desk_core_settle();
        loop_turn(loop, 1);
    }
    assert_true(status);
    desk_core_settle();
    return status;
}

int desk_get(const char *token, const char *path, ...)
{
    va_list args;

    va_start(args, path);
    int got = ask(token, NULL, path, args);
    va_end(args);
    return got;
}

int desk_post(const char *token, const char *sent, const char *path, ...)
{
    va_list args;

    va_start(args, path);
    int got = ask(token, sent, path, args);
    va_end(args);
    return got;
}

const struct json *desk_body(void)
{
    return body;
}

const char *desk_at(const char *path)
{
    const struct json *at = body;
    struct str rest = str_of(path), name;
    struct json_writer w;
    struct buf out;

    for (bool more = true; more && at;) {
        int64_t index;
        more = str_cut(rest, '.', &name, &rest);
        if (str_to_i64(name, &index)) {
            int64_t i = 0;
            const struct json *found = NULL;
            JSON_EACH (item, at)
                if (i++ == index)
                    found = item;
            at = found;
        } else {
            at = json_get(at, name);
        }
    }
    if (!at)
        return "(none)";
    buf_init(&out, 1 << 16);
    json_writer_init(&w, &out);
    jw_value(&w, at);
    struct str text = arena_str(&reply, buf_str(&out));
    buf_finish(&out);
    return text.at;
}

/* --- while the store is away --- */

static int ended_well, ended;

static void came_one(void *data, const struct fetch_result *result)
{
    ended++;
    ended_well += result->end == FETCH_DONE && result->status == *(const int *)data;
}

int desk_get_while_away(const char *token, const char *path, int times, int want)
{
    char url[256], bearer[128];
    int64_t until = loop_now(loop) + PATIENCE_MS;

    ended = ended_well = 0;
    desk_core_lists_hang();
    snprintf(url, sizeof(url), "%s%s", base, path);
    snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    struct http_header header = { STR("Authorization"), str_of(bearer) };
    for (int i = 0; i < times; i++)
        assert_non_null(fetch_begin(
            fetcher,
            &(struct fetch_opts){
                .method = STR("GET"), .url = str_of(url), .headers = &header, .header_count = 1 },
            came_one, &want));
    while (inbox->reads.count < (size_t)times && loop_now(loop) < until)
        loop_turn(loop, 1);
    while (ended < times && loop_now(loop) < until) {
        desk_core_list_fails();
        loop_turn(loop, 1);
    }
    assert_int_equal(ended_well, times);
    return desk_core_lists_hang();
}

/* --- streams --- */

static void watch_ended(void *data, const struct fetch_result *result)
{
    (void)data, (void)result;
}

static size_t told_of(uint64_t number)
{
    size_t count = 0;

    LIST_EACH (at, &inbox->events->streams)
        count += LIST_OF(at, struct events_reader, link)->at >= number;
    return count;
}

void desk_watch(const char *token, size_t count)
{
    char url[256], bearer[128];
    int64_t until = loop_now(loop) + PATIENCE_MS;

    snprintf(url, sizeof(url), "%s/api/events", base);
    snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    struct http_header header = { STR("Authorization"), str_of(bearer) };
    for (size_t i = 0; i < count; i++)
        assert_non_null(fetch_begin(
            fetcher,
            &(struct fetch_opts){
                .method = STR("GET"), .url = str_of(url), .headers = &header, .header_count = 1 },
            watch_ended, NULL));
    const struct events *events = inbox->events;
    while (loop_now(loop) < until &&
           (!events->ready || events->lost || told_of(events->number) < count)) {
        desk_core_settle();
        loop_turn(loop, 1);
    }
    assert_int_equal(told_of(events->number), count);
}

size_t desk_beaten_at_once(void)
{
    struct events *events = inbox->events;
    int64_t until = loop_now(loop) + PATIENCE_MS;
    uint64_t beat = events->beat + 1;
    size_t most = 0, before = 0;

    timer_set(loop, &events->heartbeat, 0, events->heartbeat.fn, events);
    while (before < events->stream_count && loop_now(loop) < until) {
        size_t beaten = 0;
        loop_turn(loop, 1);
        LIST_EACH (at, &events->streams)
            beaten += LIST_OF(at, struct events_reader, link)->beat >= beat;
        most = beaten - before > most ? beaten - before : most;
        before = beaten;
    }
    assert_int_equal(before, events->stream_count);
    return most;
}

size_t desk_ended_at_once(void)
{
    const struct events *events = inbox->events;
    int64_t until = loop_now(loop) + PATIENCE_MS;
    size_t most = 0, before = events->stream_count;

    inbox_stop(inbox);
    while (before && loop_now(loop) < until) {
        size_t left = events->stream_count;
        most = before - left > most ? before - left : most;
        before = left;
        loop_turn(loop, 1);
    }
    assert_int_equal(before, 0);
    return most;
}

size_t desk_told_at_once(void)
{
    int64_t until = loop_now(loop) + PATIENCE_MS;
    uint64_t number = inbox->events->number + 1;
    size_t most = 0, before = 0;

    while (before < inbox->events->stream_count && loop_now(loop) < until) {
        desk_core_settle();
        loop_turn(loop, 1);
        size_t told = told_of(number);
        most = told - before > most ? told - before : most;
        before = told;
    }
    assert_int_equal(before, inbox->events->stream_count);
    return most;
}
