/*
 * front/signin: see signin.h.
 *
 * A sign-in ends when its time is over, when it was not used for the idle time, when somebody signs
 * out, or when its token is gone. A use is written into the record at most once in a 60th of the
 * idle time, so it ends a little early rather than late.
 */
#include "front/signin.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/engine.h"
#include "core/store.h"

#define SIGNIN_KIND STR("signin")

enum { SIGNIN_RECORD_VERSION = 1, SIGNIN_MINUTE_MS = 60000 };

struct maker {
    int count;
    size_t len;
    char name[];
};

struct store *signin_store(const struct front *front)
{
    return engine_store(front->opts.engine);
}

int64_t signin_now(const struct front *front)
{
    struct store *store = signin_store(front);

    return store->ops->now(store);
}

/* --- operations under way --- */

static void client_gone(void *data)
{
    struct signin_op *op = data;

    op->exchange = NULL;
    op->http = NULL;
}

struct signin_op *signin_op_new(struct front *front, struct http_exchange *exchange,
                                const struct http_request *http)
{
    struct signin_op *op = MEM_NEW(struct signin_op);

    op->front = front;
    op->exchange = exchange;
    op->http = http;
    list_append(&front->signins->ops, &op->link);
    if (exchange)
        http_on_gone(exchange, client_gone, op);
    return op;
}

void signin_op_free(struct signin_op *op)
{
    if (op->exchange)
        http_on_gone(op->exchange, NULL, NULL);
    list_remove(&op->link);
    explicit_bzero(&op->secret, sizeof(op->secret));
    explicit_bzero(&op->cookie, sizeof(op->cookie));
    mem_free(op);
}

/* --- whose --- */

void holder_set(struct holder *holder, enum holder_kind kind, const struct digest *token,
                struct str name)
{
    *holder = (struct holder){ .kind = kind };
    if (token)
        holder->token = *token;
    holder->name_len = name.len < sizeof(holder->name) ? name.len : sizeof(holder->name);
    memcpy(holder->name, name.at, holder->name_len);
}

static struct str holder_name(const struct holder *holder)
{
    return str_n(holder->name, holder->name_len);
}

const struct principal *holder_principal(const struct front *front, const struct holder *holder)
{
    const struct tokens *tokens = front->opts.tokens;

    if (holder->kind == HOLDER_LOCAL || (holder->kind == HOLDER_START && !tokens))
        return &admit_local_user;
    if (holder->kind != HOLDER_TOKEN || !tokens)
        return NULL;
    const struct principal *owner = tokens_find_digest(tokens, &holder->token);
    return owner && str_eq(owner->name, holder_name(holder)) ? owner : NULL;
}

struct str signin_whose(const struct signin_op *op)
{
    const struct principal *principal = holder_principal(op->front, &op->holder);

    return principal ? principal->name : STR_NONE;
}

bool holder_is_lost(const struct front *front, const struct holder *holder)
{
    return front->opts.tokens && holder->kind == HOLDER_TOKEN && !holder_principal(front, holder);
}

void holder_write(struct json_writer *w, const struct holder *holder)
{
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(&holder->token, hex);
    jw_key_i64(w, STR("version"), SIGNIN_RECORD_VERSION);
    jw_key_i64(w, STR("holder"), holder->kind);
    jw_key_str(w, STR("name"), holder_name(holder));
    if (holder->kind != HOLDER_TOKEN)
        return;
    jw_key_str(w, STR("token"), str_n(hex, DIGEST_HEX_LEN));
}

bool holder_read(const struct json *record, struct holder *holder)
{
    struct str name = json_get_str(record, STR("name")), hex = json_get_str(record, STR("token"));
    struct digest token = { 0 };
    int64_t version, kind;

    if (!json_i64(json_get(record, STR("version")), &version) || version != SIGNIN_RECORD_VERSION ||
        !json_i64(json_get(record, STR("holder")), &kind) || kind < HOLDER_TOKEN ||
        kind > HOLDER_START || !name.len || name.len > sizeof(holder->name))
        return false;
    if (kind == HOLDER_TOKEN && !hex_decode(hex, token.bytes, DIGEST_LEN))
        return false;
    holder_set(holder, (enum holder_kind)kind, &token, name);
    return true;
}

/* --- how many --- */

static void made_forget(struct signins *signins)
{
    size_t at = 0;

    for (struct maker *maker; (maker = map_next(&signins->made, &at));) {
        map_remove(&signins->made, str_n(maker->name, maker->len));
        mem_free(maker);
    }
}

bool signin_may_make(struct front *front, const struct holder *holder)
{
    struct signins *signins = front->signins;
    /* By token: an agent that has one of its person's name does not use up hers. */
    struct str name = holder->kind == HOLDER_TOKEN
                          ? str_n((const char *)holder->token.bytes, sizeof(holder->token.bytes))
                          : holder_name(holder);
    int64_t now = loop_now(front->opts.loop);

    if (now - signins->made_from > SIGNIN_MINUTE_MS) {
        made_forget(signins);
        signins->made_from = now;
    }
    struct maker *maker = map_get(&signins->made, name);
    if (!maker) {
        maker = mem_zalloc(sizeof(*maker) + name.len);
        maker->len = name.len;
        memcpy(maker->name, name.at, name.len);
        if (!map_set(&signins->made, str_n(maker->name, maker->len), maker)) {
            mem_free(maker);
            return false;
        }
    }
    return maker->count++ < SIGNIN_MADE_MAX;
}

/* --- what is known here --- */

static bool is_live(const struct front *front, const struct signin *signin)
{
    int64_t now = signin_now(front);

    return now < signin->until_ms && now - signin->written_ms < front->signins->times.idle_ms;
}

static void drop(struct front *front, struct signin *signin)
{
    map_remove(&front->signins->by_digest, digest_str(&signin->digest));
    list_remove(&signin->by_use);
    mem_free(signin);
}

void signin_forget(struct front *front, struct signin *signin, struct str why)
{
    struct digest digest = signin->digest;

    if (signin->watched)
        watches_end(front, signin, why);
    signin = map_get(&front->signins->by_digest, digest_str(&digest));
    if (signin) /* whoever was told has not forgotten it before */
        drop(front, signin);
}

/* Makes room for one more. One whose stream is open stays. */
static void make_room(struct front *front)
{
    struct signins *signins = front->signins;

    if (signins->by_digest.count < SIGNIN_CACHED_MAX)
        return;
    LIST_EACH (at, &signins->by_use) {
        struct signin *signin = LIST_OF(at, struct signin, by_use);
        if (signin->watched || signin->writing)
            continue;
        drop(front, signin);
        return;
    }
}

/* NULL: too many of them have open streams. */
static struct signin *keep(struct front *front, const struct digest *digest)
{
    struct signins *signins = front->signins;
    struct signin *signin = map_get(&signins->by_digest, digest_str(digest));

    if (signin)
        return signin;
    make_room(front);
    signin = MEM_NEW(struct signin);
    signin->digest = *digest;
    list_append(&signins->by_use, &signin->by_use);
    if (map_set(&signins->by_digest, digest_str(&signin->digest), signin))
        return signin;
    list_remove(&signin->by_use);
    mem_free(signin);
    return NULL;
}

struct signin *signin_known(struct front *front, const struct digest *digest)
{
    struct signin *signin = map_get(&front->signins->by_digest, digest_str(digest));

    if (!signin || !is_live(front, signin) || !holder_principal(front, &signin->holder))
        return NULL;
    if (signin_store(front)->ops->shared &&
        loop_now(front->opts.loop) - signin->checked_ms > SIGNIN_FRESH_MS)
        return NULL;
    return signin;
}

/* --- records --- */

static bool record_write(struct buf *out, const struct signin_op *op, int64_t written_ms)
{
    char hex[DIGEST_HEX_LEN + 1];
    struct json_writer w;

    digest_hex(&op->cookie_digest, hex);
    buf_init(out, SIGNIN_RECORD_MAX);
    json_writer_init(&w, out);
    jw_object(&w);
    holder_write(&w, &op->holder);
    jw_key_str(&w, STR("cookie"), str_n(hex, DIGEST_HEX_LEN));
    jw_key_i64(&w, STR("until"), op->until_ms);
    jw_key_i64(&w, STR("written"), written_ms);
    jw_end(&w);
    return json_writer_done(&w);
}

static void record_put(struct signin_op *op, int64_t written_ms, uint64_t version, store_done *done)
{
    struct store *store = signin_store(op->front);
    char hex[DIGEST_HEX_LEN + 1];
    struct buf record;
    int64_t left = op->until_ms - written_ms, idle = op->front->signins->times.idle_ms;

    digest_hex(&op->digest, hex);
    record_write(&record, op, written_ms);
    store->ops->put(store, SIGNIN_KIND, str_n(hex, DIGEST_HEX_LEN), buf_str(&record),
                    signin_whose(op), version, left < idle ? left : idle, done, op);
    buf_finish(&record);
}

static void remove_lost(struct front *front, const struct digest *digest);

/* Into what is known here. False: it cannot be read, or has ended. */
static bool record_read(struct signin_op *op, const struct store_reply *reply)
{
    struct front *front = op->front;
    struct digest cookie;
    struct holder holder;
    struct arena arena;
    int64_t until = 0, written = 0;

    arena_init(&arena, SIGNIN_RECORD_MAX * 8);
    const struct json *record = json_parse(&arena, reply->value, NULL, NULL);
    bool fine = holder_read(record, &holder) && json_i64(json_get(record, STR("until")), &until) &&
                json_i64(json_get(record, STR("written")), &written) &&
                hex_decode(json_get_str(record, STR("cookie")), cookie.bytes, DIGEST_LEN);
    arena_finish(&arena);
    if (!fine) {
        LOG_ERROR("the record of a sign-in cannot be read: it is damaged, or of another nod");
        return false;
    }
    struct signin *signin = keep(front, &op->digest);
    if (!signin)
        return false;
    signin->holder = holder;
    signin->cookie = cookie;
    signin->until_ms = until;
    signin->written_ms = written;
    signin->version = reply->version;
    signin->checked_ms = loop_now(front->opts.loop);
    if (is_live(front, signin) && holder_principal(front, &holder))
        return true;
    signin_forget(front, signin, STR("the sign-in has ended"));
    if (holder_is_lost(front, &holder))
        remove_lost(front, &op->digest);
    return false;
}

static void fetched(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;
    struct front *front = op->front;
    struct signin *signin = map_get(&front->signins->by_digest, digest_str(&op->digest));

    if (signin)
        signin->checking = false;
    if (op->removals != front->signins->removals) { /* it may show what was removed meanwhile */
        signin_fetch(op);
        return;
    }
    if (status == NOD_OK && !record_read(op, reply))
        status = NOD_E_NOT_FOUND;
    else if (status == NOD_E_NOT_FOUND && signin)
        signin_forget(front, signin, STR("the sign-in has ended"));
    op->done(op, status);
}

void signin_fetch(struct signin_op *op)
{
    struct store *store = signin_store(op->front);
    char hex[DIGEST_HEX_LEN + 1];

    op->removals = op->front->signins->removals;
    digest_hex(&op->digest, hex);
    store->ops->get(store, SIGNIN_KIND, str_n(hex, DIGEST_HEX_LEN), fetched, op);
}

static void made(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;
    struct front *front = op->front;
    struct signin *signin = status == NOD_OK ? keep(front, &op->digest) : NULL;

    if (signin) {
        signin->holder = op->holder;
        signin->cookie = op->cookie_digest;
        signin->until_ms = op->until_ms;
        signin->written_ms = op->until_ms - front->signins->times.session_ms;
        signin->version = reply->version;
        signin->checked_ms = loop_now(front->opts.loop);
    }
    op->done(op, status);
}

void signin_make(struct signin_op *op)
{
    int64_t now = signin_now(op->front);

    id_random(&op->secret);
    id_random(&op->cookie);
    digest_of(id_str(&op->secret), &op->digest);
    digest_of(id_str(&op->cookie), &op->cookie_digest);
    op->until_ms = now + op->front->signins->times.session_ms;
    record_put(op, now, STORE_NEW, made);
}

static void refreshed(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;
    struct signin *signin = map_get(&op->front->signins->by_digest, digest_str(&op->digest));

    if (signin) {
        signin->writing = false;
        if (status == NOD_OK)
            signin->version = reply->version;
        else
            signin->checked_ms = INT64_MIN / 2; /* written or removed elsewhere: it is read again */
    }
    signin_op_free(op);
}

void signin_use(struct front *front, struct signin *signin)
{
    int64_t now = signin_now(front);

    list_remove(&signin->by_use);
    list_append(&front->signins->by_use, &signin->by_use);
    if (signin->writing ||
        now - signin->written_ms < front->signins->times.idle_ms / SIGNIN_WRITTEN_PART)
        return;
    struct signin_op *op = signin_op_new(front, NULL, NULL);
    op->digest = signin->digest;
    op->cookie_digest = signin->cookie;
    op->holder = signin->holder;
    op->until_ms = signin->until_ms;
    signin->writing = true;
    signin->written_ms = now;
    record_put(op, now, signin->version, refreshed);
}

static void removed(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;
    struct signin *signin = map_get(&op->front->signins->by_digest, digest_str(&op->digest));

    (void)reply;
    op->front->signins->removals++;
    if (signin && (status == NOD_OK || status == NOD_E_NOT_FOUND))
        signin_forget(op->front, signin, STR("signed out"));
    op->done(op, status == NOD_E_NOT_FOUND ? NOD_OK : status);
}

void signin_remove(struct signin_op *op)
{
    struct store *store = signin_store(op->front);
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(&op->digest, hex);
    store->ops->del(store, SIGNIN_KIND, str_n(hex, DIGEST_HEX_LEN), removed, op);
}

static void lost_removed(struct signin_op *op, nod_status status)
{
    if (status != NOD_OK)
        front_tokens_read(op->front); /* it is looked for until it is gone */
    signin_op_free(op);
}

/* Its token may be put back, and it stays ended. */
static void remove_lost(struct front *front, const struct digest *digest)
{
    struct signin_op *op = signin_op_new(front, NULL, NULL);

    op->digest = *digest;
    op->done = lost_removed;
    signin_remove(op);
}

/* --- the whole --- */

static int64_t or_usual(int64_t given, int64_t usual)
{
    return given ? given : usual;
}

bool signins_open(struct front *front, const struct front_signin_opts *opts)
{
    struct signins *signins = MEM_NEW(struct signins);

    signins->times = (struct front_signin_opts){
        .session_ms = or_usual(opts->session_ms, SIGNIN_MS),
        .idle_ms = or_usual(opts->idle_ms, SIGNIN_IDLE_MS),
        .link_ms = or_usual(opts->link_ms, SIGNIN_LINK_MS),
    };
    map_init(&signins->by_digest, SIGNIN_CACHED_MAX);
    map_init(&signins->made, SIGNIN_MAKERS_MAX);
    list_init(&signins->by_use);
    list_init(&signins->ops);
    list_init(&signins->watches);
    front->signins = signins;
    front_tokens_read(front);
    return login_open(front);
}

void signins_close(struct front *front)
{
    struct signins *signins = front->signins;

    if (!signins)
        return;
    timer_stop(front->opts.loop, &signins->look);
    sweep_close(front);
    LIST_EACH (at, &signins->ops)
        signin_op_free(LIST_OF(at, struct signin_op, link));
    LIST_EACH (at, &signins->by_use)
        drop(front, LIST_OF(at, struct signin, by_use));
    made_forget(signins);
    map_finish(&signins->made);
    map_finish(&signins->by_digest);
    mem_free(signins);
    front->signins = NULL;
}
