/*
 * tests/wire/toy_surface: a surface in one file.
 *
 * This is all that is needed to ask people somewhere else: a struct surface_ops, given to the
 * engine; nothing of core/, mcp/ or front/ is changed. Its people connect to a port on loopback and
 * speak lines of JSON. They are sent
 *
 *     {"offer":{"id":...,"call":...,"key":...,"message":...,"principal":...}}
 *     {"withdraw":{"id":...,"why":...,"state":...,"by":...,"via":...}}
 *     {"answered":{"n":...,"status":...,"state":...,"by":...,"via":...,"pending":...}}
 *
 * and send {"n":1,"id":...,"action":"accept","content":{...},"by":...,"roles":[...]}, where `n` is
 * theirs. An ask is answered by its id, whether it is up here or on another node. With
 * {"refuse":id} nobody here takes it.
 */
#include "toy_surface.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "json/write.h"
#include "net/listener.h"

enum { LINE_MAX_BYTES = 64 << 10, LINE_TREE_MAX = 1 << 20 };

struct person { /* a connection */
    struct list link;
    struct stream *stream;
    struct buf line; /* what has come of the next one */
};

static struct {
    struct surface surface;
    struct engine *engine;
    struct listener *listener;
    struct list people;
} toy;

/* To all of them. */
static void say(struct json_writer *w, struct buf *out)
{
    jw_end(w);
    jw_end(w);
    if (json_writer_done(w)) {
        buf_add_char(out, '\n');
        struct str line = buf_str(out);
        LIST_EACH (at, &toy.people)
            stream_write(LIST_OF(at, struct person, link)->stream, &line, 1);
    }
    buf_finish(out);
}

static void open_line(struct json_writer *w, struct buf *out, struct str what)
{
    buf_init(out, LINE_MAX_BYTES);
    json_writer_init(w, out);
    jw_object(w);
    jw_key(w, what);
    jw_object(w);
}

/* --- the surface --- */

static bool toy_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface, (void)call;
    return kind == ASK_FORM || kind == ASK_APPROVAL;
}

static void toy_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    const struct ask_record *record = ask_record(ask);
    struct json_writer w;
    struct buf out;

    (void)attempt, (void)problems;
    open_line(&w, &out, STR("offer"));
    jw_key_str(&w, STR("id"), record->id);
    jw_key_str(&w, STR("call"), record->call_id);
    jw_key_str(&w, STR("key"), record->key);
    jw_key_str(&w, STR("message"), record->message);
    jw_key_str(&w, STR("principal"), record->principal);
    say(&w, &out);
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void toy_withdraw(struct surface *surface, struct ask *ask, struct str why,
                         const struct winner *winner)
{
    struct json_writer w;
    struct buf out;

    (void)surface;
    open_line(&w, &out, STR("withdraw"));
    jw_key_str(&w, STR("id"), ask_record(ask)->id);
    jw_key_str(&w, STR("why"), why);
    jw_key_str(&w, STR("state"), ask_state_name(winner->state));
    jw_key_str(&w, STR("by"), winner->by);
    jw_key_str(&w, STR("via"), winner->via);
    say(&w, &out);
}

static const struct surface_ops toy_ops = {
    .name = "toy", .can = toy_can, .offer = toy_offer, .withdraw = toy_withdraw
};

/* --- its people --- */

struct question {
    int64_t n; /* as its answerer counts */
};

static void answered(void *data, const struct answer_result *result)
{
    struct question *question = data;
    struct json_writer w;
    struct buf out;

    open_line(&w, &out, STR("answered"));
    jw_key_i64(&w, STR("n"), question->n);
    jw_key_str(&w, STR("status"), str_of(nod_status_name(result->status)));
    jw_key_str(&w, STR("state"), ask_state_name(result->state));
    jw_key_str(&w, STR("by"), result->by);
    jw_key_str(&w, STR("via"), result->via);
    jw_key_bool(&w, STR("pending"), result->pending);
    say(&w, &out);
    mem_free(question);
}

static enum ask_state action_of(struct str word)
{
    if (str_eq(word, STR("accept")))
        return ASK_ACCEPTED;
    return str_eq(word, STR("decline")) ? ASK_DECLINED : ASK_CANCELLED;
}

static void take_line(struct str line)
{
    struct arena arena;
    role_set roles = ROLES_NONE;

    arena_init(&arena, LINE_TREE_MAX);
    const struct json *said = json_parse(&arena, line, NULL, NULL);
    struct str refused = json_get_str(said, STR("refuse"));
    struct ask *ask = refused.len && toy.engine ? engine_ask(toy.engine, refused) : NULL;
    if (ask)
        ask_offered(ask, &toy.surface, OFFER_REFUSED);
    if (said && toy.engine && !refused.len) {
        struct question *question = MEM_NEW(struct question);
        json_i64(json_get(said, STR("n")), &question->n);
        JSON_EACH (role, json_get(said, STR("roles")))
            roles |= role_named(json_str(role));
        ask_answer(toy.engine, json_get_str(said, STR("id")),
                   &(struct answer){ .action = action_of(json_get_str(said, STR("action"))),
                                     .content = json_get(said, STR("content")),
                                     .by = json_get_str(said, STR("by")),
                                     .roles = roles,
                                     .surface = &toy.surface },
                   answered, question);
    }
    arena_finish(&arena);
}

static void on_read(struct stream *stream, struct str bytes)
{
    struct person *person = stream->owner;

    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.at[i] != '\n') {
            buf_add_char(&person->line, bytes.at[i]);
            continue;
        }
        struct str line = buf_str(&person->line);
        take_line(line);
        buf_clear(&person->line);
    }
}

static void on_end(struct stream *stream, int error)
{
    (void)error;
    stream_close(stream);
}

static void on_closed(struct stream *stream)
{
    struct person *person = stream->owner;

    list_remove(&person->link);
    buf_finish(&person->line);
    mem_free(person);
}

static const struct stream_events events = { .on_read = on_read,
                                             .on_end = on_end,
                                             .on_closed = on_closed };

static void accepted(struct stream *stream, const struct peer *peer, void *data)
{
    struct person *person = MEM_NEW(struct person);

    (void)peer, (void)data;
    person->stream = stream;
    buf_init(&person->line, LINE_MAX_BYTES);
    list_append(&toy.people, &person->link);
    stream_own(stream, &events, person);
    stream_read_start(stream);
}

/* --- coming and going --- */

bool toy_surface_open(struct loop *loop, struct engine *engine)
{
    list_init(&toy.people);
    toy.engine = engine;
    toy.surface.ops = &toy_ops;
    if (!engine_add_surface(engine, &toy.surface) ||
        listener_open(loop, STR("127.0.0.1"), 0, accepted, NULL, &toy.listener) != NOD_OK)
        return false;
    fprintf(stderr, "toy=%d\n", listener_port(toy.listener));
    return true;
}

void toy_surface_close(struct loop *loop)
{
    toy.engine = NULL;
    listener_close(toy.listener);
    LIST_EACH (at, &toy.people)
        stream_close(LIST_OF(at, struct person, link)->stream);
    for (int i = 0; i < 100 && !list_empty(&toy.people); i++)
        loop_turn(loop, 10);
    loop_turn(loop, 0);
}
