/*
 * surface/hosted_others: what else waits for what a person has just given.
 *
 * Several calls may ask for the same secret, or for the same account, before the person has seen
 * the first of these questions. They give it once: the other questions are answered with it.
 */
#include "base/mem.h"
#include "surface/hosted.h"

enum {
    OTHERS_MAX = 64,         /* other asks that wait for the same and are answered with it */
    OTHERS_SCAN_MAX = 200,   /* asks of the person that are looked at */
    OTHERS_ARENA = 16 << 20, /* memory for looking at them */
};

struct others {
    struct engine *engine;
    struct arena arena;
    struct ask_record mine;
    bool (*same)(struct arena *arena, const struct ask_record *mine,
                 const struct ask_record *other);
    struct id ids[OTHERS_MAX];
    size_t count;
};

static void others_row(void *data, const struct store_row *row)
{
    struct others *others = data;
    const struct ask_record *ask = row->ask, *mine = &others->mine;

    if (ask->page == mine->page && !str_eq(ask->id, mine->id) && ask->id.len == ID_LEN &&
        str_eq(ask->principal, mine->principal) && others->count < OTHERS_MAX &&
        others->same(&others->arena, mine, ask))
        memcpy(others->ids[others->count++].text, ask->id.at, ID_LEN);
}

static void others_found(void *data, nod_status status, const struct store_reply *reply)
{
    struct others *others = data;

    (void)status, (void)reply;
    for (size_t i = 0; i < others->count; i++)
        ask_page_answer(others->engine, id_str(&others->ids[i]),
                        &(struct answer){ .action = ASK_ACCEPTED,
                                          .by = others->mine.principal,
                                          .roles = ROLE_ANSWER },
                        NULL, NULL);
    arena_finish(&others->arena);
    MEM_DELETE(others);
}

void hosted_answer_others(const struct hosted_visit *visit,
                          bool (*same)(struct arena *arena, const struct ask_record *mine,
                                       const struct ask_record *other))
{
    struct engine *engine = hosted_opts(visit->hosted)->engine;
    struct store *store = engine_store(engine);
    struct others *others = MEM_NEW(struct others);

    others->engine = engine;
    others->same = same;
    arena_init(&others->arena, OTHERS_ARENA);
    others->mine = ask_record_copy(&others->arena, &visit->ask);
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_PENDING,
                                           .key = others->mine.principal,
                                           .limit = OTHERS_SCAN_MAX },
                     others_row, others_found, others);
}
