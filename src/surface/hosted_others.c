/*
 * surface/hosted_others: what else waits for what a person has just given.
 *
 * Several calls may ask for the same secret, or for the same account, before the person has seen
 * the first of these questions. They give it once: the other questions are answered with it.
 */
#include "base/mem.h"
#include "surface/hosted.h"

enum {
    OTHERS_PAGE_MAX = 64,    /* asks of the person that are looked at, and answered, at a time */
    OTHERS_CURSOR_MAX = 256, /* bytes of where the next ones begin */
    OTHERS_ARENA = 16 << 20, /* memory for looking at so many */
};

struct others {
    struct engine *engine;
    struct arena arena; /* of the ask that was answered */
    struct arena page;  /* of those that are being looked at */
    struct ask_record mine;
    bool by_link; /* nobody has signed in: a yes is not theirs to give */
    bool (*same)(struct arena *arena, const struct ask_record *mine,
                 const struct ask_record *other);
    struct id ids[OTHERS_PAGE_MAX];
    size_t count, open; /* found at this page, and of those not answered yet */
    char cursor[OTHERS_CURSOR_MAX];
    size_t cursor_len;
};

static void look(struct others *others);

static void others_next(struct others *others)
{
    if (others->open)
        return;
    if (others->cursor_len) {
        look(others);
        return;
    }
    arena_finish(&others->page);
    arena_finish(&others->arena);
    MEM_DELETE(others);
}

static void other_answered(void *data, const struct answer_result *result)
{
    struct others *others = data;

    if (result->status == NOD_E_STORE) /* or the engine is going away */
        others->cursor_len = 0;
    others->open--;
    others_next(others);
}

static void others_row(void *data, const struct store_row *row)
{
    struct others *others = data;
    const struct ask_record *ask = row->ask, *mine = &others->mine;

    if (ask->page == mine->page && !str_eq(ask->id, mine->id) && ask->id.len == ID_LEN &&
        str_eq(ask->principal, mine->principal) && others->count < OTHERS_PAGE_MAX &&
        !(others->by_link && page_is_consent(others->engine, ask)) &&
        others->same(&others->page, mine, ask))
        others->ids[others->count++] = id_of(ask->id);
}

static void others_found(void *data, nod_status status, const struct store_reply *reply)
{
    struct others *others = data;
    struct str cursor = status == NOD_OK ? reply->cursor : STR_NONE;

    others->cursor_len = cursor.len <= OTHERS_CURSOR_MAX ? cursor.len : 0;
    if (others->cursor_len)
        memcpy(others->cursor, cursor.at, cursor.len);
    others->open = others->count + 1; /* an answer may be taken before this returns */
    for (size_t i = 0; i < others->count; i++)
        ask_page_answer(others->engine, id_str(&others->ids[i]),
                        &(struct answer){ .action = ASK_ACCEPTED,
                                          .by = others->mine.principal,
                                          .once = true,
                                          .roles = ROLE_ANSWER },
                        other_answered, others);
    others->open--;
    others_next(others);
}

static void look(struct others *others)
{
    struct store *store = engine_store(others->engine);

    arena_reset(&others->page);
    others->count = 0;
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_PENDING,
                                           .key = others->mine.principal,
                                           .cursor = str_n(others->cursor, others->cursor_len),
                                           .limit = OTHERS_PAGE_MAX },
                     others_row, others_found, others);
}

void hosted_answer_others(const struct hosted_visit *visit,
                          bool (*same)(struct arena *arena, const struct ask_record *mine,
                                       const struct ask_record *other))
{
    struct others *others = MEM_NEW(struct others);

    others->engine = hosted_opts(visit->hosted)->engine;
    others->same = same;
    others->by_link = visit->by_link;
    arena_init(&others->arena, OTHERS_ARENA);
    arena_init(&others->page, OTHERS_ARENA);
    others->mine = ask_record_copy(&others->arena, &visit->ask);
    look(others);
}
