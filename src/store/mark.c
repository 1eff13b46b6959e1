/* store/mark: makes marks, opens them, and says what is wrong without showing a secret. */
#include "store/mark.h"

#include <stdio.h>

#include "base/log.h"
#include "crypto/digest.h"

static const char remedy[] = "set it as MCP_ELICITATION_SECRET, or name it in MCP_PREVIOUS_SECRETS";

enum { KEYS_TEXT = KEYRING_SECRETS_MAX * (SEAL_KEY_TEXT + 2) };

/* The key ids of a ring, the newest first: "1f2e3d4c", "1f2e3d4c, 99aabbcc"; "none". */
static void mark_keys(const struct keyring *ring, char *out, size_t size)
{
    char key[SEAL_KEY_TEXT];
    size_t len = 0;

    snprintf(out, size, "none");
    for (size_t i = 0; keyring_key(ring, i, key) && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "", key);
}

/* "no secret is set" or "this server has 1f2e3d4c, 99aabbcc". */
static const char *have(const struct keyring *ring, char out[KEYS_TEXT + 32])
{
    char keys[KEYS_TEXT];

    mark_keys(ring, keys, sizeof(keys));
    snprintf(out, KEYS_TEXT + 32, ring ? "the key ids of the secrets that are set are: %s" : "%s",
             ring ? keys : "no secret is set");
    return out;
}

static const struct seal_for sealed_for = { .purpose = STR_INIT("mark") };

struct str mark_make(struct keyring *ring, struct arena *arena)
{
    struct buf text;

    buf_init(&text, MARK_TEXT_MAX);
    seal_text(ring, &sealed_for, STR("nod"), &text);
    struct str mark = arena_str(arena, buf_str(&text));
    buf_finish(&text);
    return mark;
}

bool mark_opens(struct keyring *ring, struct str mark, char why[MARK_WHY_MAX])
{
    enum { MARK_ARENA_MAX = 4096 };
    char key[SEAL_KEY_TEXT], ours[KEYS_TEXT + 32];
    struct str form = STR_NONE, plain;
    struct arena arena;

    arena_init(&arena, MARK_ARENA_MAX);
    if (mark.len <= MARK_TEXT_MAX)
        form = base64url_bytes(&arena, mark);
    bool known = seal_key(form, key);
    bool opens =
        known && ring && seal_open_bytes(ring, &sealed_for, form, &arena, &plain) == NOD_OK;
    if (!known || (!opens && keyring_has(ring, key)))
        snprintf(why, MARK_WHY_MAX,
                 "its mark, which says with which secret it is sealed, is damaged: put a copy of "
                 "the store in its place, or name another");
    else if (!opens)
        snprintf(why, MARK_WHY_MAX,
                 "it is sealed with the secret of key id %s, and %s; %s, or name another store",
                 key, have(ring, ours), remedy);
    arena_finish(&arena);
    return opens;
}

void mark_saw(struct mark_look *look, const struct keyring *ring, enum codec_kind kind,
              struct str id, struct str scope, struct str record)
{
    char key[SEAL_KEY_TEXT];
    bool plain;

    if (codec_key(record, key, &plain) && !keyring_has(ring, key))
        foreign_keep(&look->foreign, key, kind, id, scope);
    else if (plain && kind == CODEC_CALL)
        look->plain++;
}

bool mark_allows(const struct mark_look *look, const struct keyring *ring, char why[MARK_WHY_MAX])
{
    char ours[KEYS_TEXT + 32];

    if (look->foreign.key[0])
        snprintf(why, MARK_WHY_MAX,
                 "it holds records that are sealed with the secret of key id %s, and %s; %s, or "
                 "name another store",
                 look->foreign.key, have(ring, ours), remedy);
    else if (ring && look->plain)
        snprintf(why, MARK_WHY_MAX,
                 "it holds calls that were written without a secret, and one is set now: they "
                 "could not go on. Seal them (nod store reseal --plain), or let them end without "
                 "the secret, or name another store");
    else
        return true;
    return false;
}

void mark_foreign_why(const char *key, char why[MARK_WHY_MAX])
{
    snprintf(why, MARK_WHY_MAX,
             "it holds records of a secret that this server does not have (key id %s)", key);
}

void mark_foreign_log(const char *store, const char *key, const struct keyring *ring)
{
    char keys[KEYS_TEXT];

    mark_keys(ring, keys, sizeof(keys));
    LOG_ERROR("the store holds records of a secret that this server does not have: it is not ready",
              LOG_CSTR("store", store), LOG_CSTR("key", key), LOG_CSTR("has", keys),
              LOG_CSTR("try", remedy));
}

bool mark_foreign_look(struct store *store, const struct foreign_record *record, store_done *done,
                       void *data)
{
    struct str id = str_of(record->id);

    if (!id.len)
        return false;
    if (record->kind == CODEC_VALUE)
        store->ops->get(store, str_of(record->scope), id, done, data);
    else if (record->kind == CODEC_ASK || record->kind == CODEC_ANSWER)
        store->ops->load_ask(store, id, done, data);
    else
        store->ops->load_call(store, id, done, data);
    return true;
}
