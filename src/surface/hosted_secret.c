/*
 * surface/hosted_secret: a page on which a person gives a secret.
 *
 * What is sent is sealed at once and stored (core/secret.h), and then the ask is answered, without
 * content. The bytes of the request are wiped when it has been answered (route.wiped, arena.wiped).
 * If the process dies between the two, the ask still waits, and the value that was stored for it
 * stays, until the ask ends in another way. Then it is taken back, whoever has ended it.
 *
 * Holds always: whoever is told that a secret was taken has sent the one that is kept, and what was
 * refused is not kept.
 *
 * A person who has given a secret is not asked for it a second time: what else waits for the same
 * one is answered with it (hosted_others.c).
 */
#include "core/secret.h"
#include "surface/hosted.h"

enum { SECRET_ITEM_MAX = 8192 }; /* memory to read which secret is asked for */

static bool is_same(struct arena *arena, const struct ask_record *mine,
                    const struct ask_record *other)
{
    struct secret_asked one, two;

    return secret_asked_read(arena, mine->detail, &one) &&
           secret_asked_read(arena, other->detail, &two) && str_eq(one.name, two.name);
}

/* The name of the secret that is asked for. */
static void secret_item(struct json_writer *w, const struct ask_record *ask)
{
    struct secret_asked asked;
    struct arena arena;

    arena_init(&arena, SECRET_ITEM_MAX);
    if (secret_asked_read(&arena, ask->detail, &asked))
        jw_key_str(w, STR("secret"), asked.name);
    arena_finish(&arena);
}

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

    visit->stored = status == NOD_OK;
    if (status == NOD_OK || status == NOD_E_STALE) {
        hosted_answer(visit, ASK_ACCEPTED, NULL);
    } else {
        hosted_refuse(visit, 503, STR(STORE_AWAY ". Send it again."));
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
                                        .tool = visit->ask.target,
                                        .keep_ms = asked.keep_ms },
                given, visit);
}
_Static_assert(SECRET_VALUE_MAX == 16384, "as the sentence above says");

static void undo(struct hosted *hosted, const struct ask_record *ask, struct arena *arena)
{
    struct secret_asked asked;

    if (secret_asked_read(arena, ask->detail, &asked))
        secret_take_back(hosted_opts(hosted)->engine, ask->principal, asked.name, ask->id);
}

static bool secret_settled(struct hosted_visit *visit)
{
    if (visit->ask.state == ASK_ACCEPTED) { /* perhaps by another tab, which was told otherwise */
        visit->counted = visit->same = visit->stored;
        if (visit->stored)
            hosted_answer_others(visit, is_same);
    } else if (visit->stored || visit->ask.state != ASK_PENDING) {
        undo(visit->hosted, &visit->ask, &visit->arena);
    }
    return true;
}

const struct hosted_kind hosted_secret = { .name = STR_INIT("secret"),
                                           .done = STR_INIT(
                                               "The secret was taken, and the tool goes on."),
                                           .item = secret_item,
                                           .draw = secret_draw,
                                           .submitted = secret_submitted,
                                           .settled = secret_settled,
                                           .undo = undo };
