/*
 * surface/hosted_secret: a page on which a person gives a secret.
 *
 * What is sent is sealed at once and stored (core/secret.h), and then the ask is answered, without
 * content. The bytes of the request are wiped when it has been answered (route.wiped, arena.wiped).
 * If the process dies between the two, the ask still waits, and the value that was stored for it
 * stays.
 *
 * A person who has given a secret is not asked for it a second time: what else waits for the same
 * one is answered with it.
 */
#include "base/mem.h"
#include "core/secret.h"
#include "surface/hosted.h"

enum {
    OTHERS_MAX = 64,       /* other asks that wait for the same secret and are answered with it */
    OTHERS_SCAN_MAX = 200, /* asks of the person that are looked at */
    OTHERS_ARENA = 1 << 20,
};

/* --- what else waits for it --- */

struct others {
    struct engine *engine;
    struct arena arena;
    struct str principal, name, but;
    struct id ids[OTHERS_MAX];
    size_t count;
};

static void others_row(void *data, const struct store_row *row)
{
    struct others *others = data;
    const struct ask_record *ask = row->ask;
    struct secret_asked asked;

    if (ask->page == PAGE_SECRET && !str_eq(ask->id, others->but) && ask->id.len == ID_LEN &&
        str_eq(ask->principal, others->principal) && others->count < OTHERS_MAX &&
        secret_asked_read(&others->arena, ask->detail, &asked) && str_eq(asked.name, others->name))
        memcpy(others->ids[others->count++].text, ask->id.at, ID_LEN);
}

static void others_found(void *data, nod_status status, const struct store_reply *reply)
{
    struct others *others = data;

    (void)status, (void)reply;
    for (size_t i = 0; i < others->count; i++)
        ask_page_answer(others->engine, id_str(&others->ids[i]),
                        &(struct answer){
                            .action = ASK_ACCEPTED, .by = others->principal, .roles = ROLE_ANSWER },
                        NULL, NULL);
    arena_finish(&others->arena);
    MEM_DELETE(others);
}

static void others_answer(const struct hosted_visit *visit, struct str name)
{
    struct engine *engine = hosted_opts(visit->hosted)->engine;
    struct store *store = engine_store(engine);
    struct others *others = MEM_NEW(struct others);

    others->engine = engine;
    arena_init(&others->arena, OTHERS_ARENA);
    others->principal = arena_str(&others->arena, visit->ask.principal);
    others->name = arena_str(&others->arena, name);
    others->but = arena_str(&others->arena, visit->ask.id);
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_PENDING,
                                           .key = others->principal,
                                           .limit = OTHERS_SCAN_MAX },
                     others_row, others_found, others);
}

/* --- the page --- */

static void secret_draw(struct hosted_visit *visit, struct json_writer *w)
{
    struct secret_asked asked;

    secret_asked_read(&visit->arena, visit->ask.detail, &asked);
    jw_key_str(w, STR("name"), asked.name);
    jw_key_i64(w, STR("keepMs"), asked.keep_ms);
    jw_key_bool(w, STR("lasting"), engine_secrets_last(hosted_opts(visit->hosted)->engine));
}

static void given(void *data, nod_status status)
{
    struct hosted_visit *visit = data;
    struct secret_asked asked;

    if (status == NOD_OK) {
        secret_asked_read(&visit->arena, visit->ask.detail, &asked);
        others_answer(visit, asked.name);
        hosted_answer(visit, ASK_ACCEPTED, NULL);
    } else {
        hosted_refuse(visit, 503, STR("The store cannot be reached. Send it again."));
    }
}

static void secret_submitted(struct hosted_visit *visit, const struct json *content)
{
    struct str value = json_get_str(content, STR("secret"));
    struct secret_asked asked;

    if (!secret_asked_read(&visit->arena, visit->ask.detail, &asked)) {
        hosted_refuse(visit, 500, STR("The question does not say which secret it is about."));
        return;
    }
    if (value.len < 1 || value.len > SECRET_VALUE_MAX) {
        hosted_unfit(visit, STR("The secret was not taken; the question still waits."),
                     value.len
                         ? STR("[{\"path\":\"/secret\",\"message\":\"is longer than the 16384 "
                               "bytes that a secret may have\"}]")
                         : STR("[{\"path\":\"/secret\",\"message\":\"is empty\"}]"));
        return;
    }
    secret_give(hosted_opts(visit->hosted)->engine,
                &(struct secret_given){ .principal = visit->ask.principal,
                                        .name = asked.name,
                                        .value = value,
                                        .ask_id = visit->ask.id,
                                        .keep_ms = asked.keep_ms },
                given, visit);
}
_Static_assert(SECRET_VALUE_MAX == 16384, "as the sentence above says");

const struct hosted_kind hosted_secret = { .name = STR_INIT("secret"),
                                           .draw = secret_draw,
                                           .submitted = secret_submitted };
