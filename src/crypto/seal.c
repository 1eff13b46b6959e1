/*
 * crypto/seal: see seal.h for the form and the promise.
 *
 * A secret is extracted (HKDF) once, when the ring is made, and then forgotten. A key is expanded
 * from it when its purpose and scope are first used. The key goes straight into an OpenSSL cipher
 * context, and is wiped. The cache keeps those contexts, which OpenSSL wipes when it frees them.
 * Setting a nonce on a keyed context is several times cheaper than keying one.
 *
 * Holds always: plain text that failed its tag check is left in nobody's memory. A context is only
 * ever used with a fresh nonce. The cache has at most KEYRING_CACHE_MAX entries; the one that was
 * not used for longest goes first.
 *
 * If OpenSSL fails at AES-256-GCM or HKDF, the process ends: there is no safe way to go on.
 */
#include "crypto/seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/byte_order.h"
#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "crypto/digest.h"

enum {
    VERSION = 1,
    KEY_LEN = 32,
    KEY_ID_LEN = 4,
    NONCE_LEN = 12,
    TAG_LEN = 16,
    ID_AT = 1,
    NONCE_AT = ID_AT + KEY_ID_LEN,
    BODY_AT = NONCE_AT + NONCE_LEN,
    BIND_HEAD = NONCE_AT + 8, /* bytes before the parts that are bound */
    BIND_TOGETHER_MAX = 512,  /* bound bytes that are handed to OpenSSL in one piece */
};
_Static_assert(BODY_AT + TAG_LEN == SEAL_OVERHEAD, "the form in seal.h");
_Static_assert(SEAL_PLAIN_MAX < INT32_MAX && SEAL_PART_MAX < INT32_MAX, "OpenSSL counts in int");

static const struct str salt = STR_INIT("nod/seal/1");

struct secret {
    uint8_t extracted[DIGEST_LEN]; /* HKDF's pseudorandom key */
    uint8_t id[KEY_ID_LEN];
};

/* The keys of one purpose and scope: a context for each secret and direction, made when first
 * needed. */
struct keys {
    struct list link; /* in ring->recent, least recently used first */
    EVP_CIPHER_CTX *sealing;
    EVP_CIPHER_CTX *opening[KEYRING_SECRETS_MAX];
    size_t len;
    char info[];
};

struct keyring {
    size_t count;
    struct secret secrets[KEYRING_SECRETS_MAX]; /* newest first */
    struct map cache;                           /* struct keys by info */
    struct list recent;
};

/* --- OpenSSL's objects, fetched once --- */

static EVP_CIPHER *gcm;
static EVP_KDF *hkdf;

static void must(bool worked)
{
    if (!worked) {
        fprintf(stderr, "nod: OpenSSL gives no AES-256-GCM or HKDF; check its installation\n");
        abort();
    }
}

static void fetch(void)
{
    gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    must(gcm && hkdf);
}

static void fetch_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fetch);
}

/* --- key derivation --- */

static OSSL_PARAM octets(const char *name, struct str bytes)
{
    return OSSL_PARAM_construct_octet_string(name, (void *)(uintptr_t)bytes.at, bytes.len);
}

static bool derive(int mode, struct str key, struct str with, struct str info, uint8_t *out,
                   size_t len)
{
    char sha[] = "SHA256";
    OSSL_PARAM params[6];
    size_t n = 0;

    fetch_once();
    params[n++] = OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode);
    params[n++] = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, sha, 0);
    params[n++] = octets(OSSL_KDF_PARAM_KEY, key);
    if (with.len)
        params[n++] = octets(OSSL_KDF_PARAM_SALT, with);
    if (info.len)
        params[n++] = octets(OSSL_KDF_PARAM_INFO, info);
    params[n] = OSSL_PARAM_construct_end();

    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(hkdf);
    bool worked = ctx && EVP_KDF_derive(ctx, out, len, params) == 1;
    EVP_KDF_CTX_free(ctx); /* wipes its copy of the key */
    return worked;
}

bool hkdf_sha256(struct str secret, struct str with, struct str info, uint8_t *out, size_t len)
{
    return derive(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, secret, with, info, out, len);
}

static void expand(const struct secret *secret, struct str info, uint8_t *out, size_t len)
{
    struct str key = str_n((const char *)secret->extracted, DIGEST_LEN);

    must(derive(EVP_KDF_HKDF_MODE_EXPAND_ONLY, key, STR_NONE, info, out, len));
}

/* --- the ring --- */

static const char *secrets_fault(const struct str *secrets, size_t count)
{
    if (count == 0)
        return "there is no secret to derive keys from";
    if (count > KEYRING_SECRETS_MAX)
        return "at most 8 secrets: take out the oldest";
    for (size_t i = 0; i < count; i++) {
        if (secrets[i].len < KEYRING_SECRET_MIN)
            return "a secret must have at least 32 characters; make one with: "
                   "openssl rand -base64 48";
        if (secrets[i].len > KEYRING_SECRET_MAX)
            return "a secret must have at most 4096 bytes";
    }
    return NULL;
}
_Static_assert(KEYRING_SECRET_MIN == 32 && KEYRING_SECRET_MAX == 4096 && KEYRING_SECRETS_MAX == 8,
               "the messages above name the limits");

static struct keyring *ring_new(size_t count)
{
    struct keyring *ring = MEM_NEW(struct keyring);

    ring->count = count;
    map_init(&ring->cache, KEYRING_CACHE_MAX);
    list_init(&ring->recent);
    return ring;
}

nod_status keyring_create(const struct str *secrets, size_t count, struct keyring **out,
                          const char **why)
{
    *out = NULL;
    *why = secrets_fault(secrets, count);
    if (*why)
        return NOD_E_USAGE;

    struct keyring *ring = ring_new(count);
    for (size_t i = 0; i < count; i++) {
        struct secret *secret = &ring->secrets[i];
        must(derive(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, secrets[i], salt, STR_NONE, secret->extracted,
                    DIGEST_LEN));
        /* No key's info is as short as this (see write_info), so the id reveals no key. */
        expand(secret, STR("key id"), secret->id, KEY_ID_LEN);
    }
    *out = ring;
    return NOD_OK;
}

struct keyring *keyring_random(void)
{
    char secret[KEYRING_SECRET_MIN];
    struct keyring *ring = NULL;
    const char *why;

    random_bytes(secret, sizeof(secret));
    keyring_create(&(struct str){ secret, sizeof(secret) }, 1, &ring, &why);
    OPENSSL_cleanse(secret, sizeof(secret));
    return ring;
}

struct keyring *keyring_copy(const struct keyring *ring)
{
    struct keyring *copy = ring_new(ring->count);

    memcpy(copy->secrets, ring->secrets, sizeof(copy->secrets));
    return copy;
}

static void keys_destroy(struct keyring *ring, struct keys *keys)
{
    map_remove(&ring->cache, str_n(keys->info, keys->len));
    list_remove(&keys->link);
    EVP_CIPHER_CTX_free(keys->sealing);
    for (size_t i = 0; i < KEYRING_SECRETS_MAX; i++)
        EVP_CIPHER_CTX_free(keys->opening[i]);
    mem_free(keys);
}

void keyring_destroy(struct keyring *ring)
{
    if (!ring)
        return;
    while (!list_empty(&ring->recent))
        keys_destroy(ring, LIST_OF(list_first(&ring->recent), struct keys, link));
    map_finish(&ring->cache);
    OPENSSL_cleanse(ring->secrets, sizeof(ring->secrets));
    mem_free(ring);
}

/* --- the cache of keys --- */

static void put_length(uint8_t out[8], size_t len)
{
    uint64_t most_first = order_be64(len);

    memcpy(out, &most_first, sizeof(most_first));
}

enum { INFO_MAX = 8 + 2 * SEAL_NAME_MAX };

/* HKDF's info: the purpose's length, the purpose, the scope. Never as short as "key id". */
static struct str write_info(const struct seal_for *what, char *out)
{
    size_t len = 8;

    put_length((uint8_t *)out, what->purpose.len);
    if (what->purpose.len)
        memcpy(out + len, what->purpose.at, what->purpose.len);
    len += what->purpose.len;
    if (what->scope.len)
        memcpy(out + len, what->scope.at, what->scope.len);
    return str_n(out, len + what->scope.len);
}

static struct keys *keys_for(struct keyring *ring, const struct seal_for *what)
{
    char info[INFO_MAX];
    struct str text = write_info(what, info);
    struct keys *keys = map_get(&ring->cache, text);

    if (!keys) {
        if (ring->cache.count >= KEYRING_CACHE_MAX)
            keys_destroy(ring, LIST_OF(list_first(&ring->recent), struct keys, link));
        keys = mem_zalloc(sizeof(*keys) + text.len);
        keys->len = text.len;
        memcpy(keys->info, text.at, text.len);
        list_init(&keys->link);
        map_set(&ring->cache, str_n(keys->info, keys->len), keys);
    }
    list_remove(&keys->link);
    list_append(&ring->recent, &keys->link);
    return keys;
}

static EVP_CIPHER_CTX *keyed_context(const struct secret *secret, const struct keys *keys,
                                     int seals)
{
    uint8_t key[KEY_LEN];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    fetch_once();
    expand(secret, str_n(keys->info, keys->len), key, KEY_LEN);
    must(ctx && EVP_CipherInit_ex2(ctx, gcm, key, NULL, seals, NULL) == 1);
    OPENSSL_cleanse(key, sizeof(key));
    return ctx;
}

/* --- sealing --- */

static bool within_limits(const struct seal_for *what)
{
    if (what->purpose.len > SEAL_NAME_MAX || what->scope.len > SEAL_NAME_MAX ||
        what->bound_count > SEAL_BOUND_MAX)
        return false;
    for (size_t i = 0; i < what->bound_count; i++)
        if (what->bound[i].len > SEAL_PART_MAX)
            return false;
    return true;
}

static void bind_piece(EVP_CIPHER_CTX *ctx, const void *bytes, size_t bytes_len)
{
    int len;

    if (bytes_len)
        must(EVP_CipherUpdate(ctx, NULL, &len, bytes, (int)bytes_len) == 1);
}

/*
 * The header, the number of parts, and each part with its length, so that no two lists read the
 * same. Short ones are gathered, because each step of OpenSSL costs more than some hundred bytes.
 */
static void bind(EVP_CIPHER_CTX *ctx, const uint8_t *form, const struct seal_for *what)
{
    uint8_t bytes[BIND_TOGETHER_MAX];

    memcpy(bytes, form, NONCE_AT);
    put_length(bytes + NONCE_AT, what->bound_count);
    struct str parts = digest_gather(what->bound, what->bound_count, (char *)bytes + BIND_HEAD,
                                     sizeof(bytes) - BIND_HEAD);
    bind_piece(ctx, bytes, BIND_HEAD + parts.len);
    if (!parts.at) {
        uint8_t length[8];

        for (size_t i = 0; i < what->bound_count; i++) {
            put_length(length, what->bound[i].len);
            bind_piece(ctx, length, sizeof(length));
            bind_piece(ctx, what->bound[i].at, what->bound[i].len);
        }
    }
}

/* Written out, because OpenSSL's control call does the same through a long switch. */
static OSSL_PARAM tag_at(uint8_t *at)
{
    return (OSSL_PARAM){ OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, at, TAG_LEN,
                         OSSL_PARAM_UNMODIFIED };
}

/* Writes the whole form, plain.len + SEAL_OVERHEAD bytes. */
static void seal_into(struct keyring *ring, const struct seal_for *what, struct str plain,
                      uint8_t *form)
{
    struct keys *keys = keys_for(ring, what);
    int len;

    if (!keys->sealing)
        keys->sealing = keyed_context(&ring->secrets[0], keys, 1);
    EVP_CIPHER_CTX *ctx = keys->sealing;
    form[0] = VERSION;
    memcpy(form + ID_AT, ring->secrets[0].id, KEY_ID_LEN);
    random_bytes(form + NONCE_AT, NONCE_LEN);

    must(EVP_CipherInit_ex2(ctx, NULL, NULL, form + NONCE_AT, 1, NULL) == 1);
    bind(ctx, form, what);
    if (plain.len)
        must(EVP_CipherUpdate(ctx, form + BODY_AT, &len, (const uint8_t *)plain.at,
                              (int)plain.len) == 1);
    must(EVP_CipherFinal_ex(ctx, form + BODY_AT + plain.len, &len) == 1);
    OSSL_PARAM tag[] = { tag_at(form + BODY_AT + plain.len), OSSL_PARAM_END };
    must(EVP_CIPHER_CTX_get_params(ctx, tag) == 1);
}

nod_status seal_bytes(struct keyring *ring, const struct seal_for *what, struct str plain,
                      struct buf *out)
{
    if (plain.len > SEAL_PLAIN_MAX || !within_limits(what))
        return NOD_E_LIMIT;
    char *to = buf_reserve(out, plain.len + SEAL_OVERHEAD);
    if (!to)
        return NOD_E_LIMIT;
    seal_into(ring, what, plain, (uint8_t *)to);
    out->len += plain.len + SEAL_OVERHEAD;
    return NOD_OK;
}

nod_status seal_text(struct keyring *ring, const struct seal_for *what, struct str plain,
                     struct buf *out)
{
    if (plain.len > SEAL_PLAIN_MAX || !within_limits(what))
        return NOD_E_LIMIT;
    size_t bytes = plain.len + SEAL_OVERHEAD;
    size_t chars = base64url_len(bytes);
    char *to = buf_reserve(out, chars);
    if (!to)
        return NOD_E_LIMIT;
    /* The bytes go to the end of the room and are encoded towards its beginning: what is written
     * for a group never reaches past the group that was just read. */
    char *form = to + (chars - bytes);
    seal_into(ring, what, plain, (uint8_t *)form);
    base64url_encode(str_n(form, bytes), to);
    out->len += chars;
    return NOD_OK;
}

/* --- opening --- */

static bool try_open(EVP_CIPHER_CTX *ctx, const struct seal_for *what, const uint8_t *form,
                     size_t plain_len, uint8_t *plain)
{
    uint8_t expected[TAG_LEN];
    OSSL_PARAM tag[] = { tag_at(expected), OSSL_PARAM_END };
    uint8_t none[1];
    int len;

    memcpy(expected, form + BODY_AT + plain_len, TAG_LEN);
    if (EVP_CipherInit_ex2(ctx, NULL, NULL, form + NONCE_AT, 0, NULL) != 1)
        return false;
    bind(ctx, form, what);
    if (plain_len && EVP_CipherUpdate(ctx, plain, &len, form + BODY_AT, (int)plain_len) != 1)
        return false;
    return EVP_CIPHER_CTX_set_params(ctx, tag) == 1 && EVP_CipherFinal_ex(ctx, none, &len) == 1;
}

/* Two secrets have the same key id once in four thousand million cases; then both are tried. */
static bool open_form(struct keyring *ring, const struct seal_for *what, const uint8_t *form,
                      size_t plain_len, uint8_t *plain)
{
    for (size_t i = 0; i < ring->count; i++) {
        if (memcmp(ring->secrets[i].id, form + ID_AT, KEY_ID_LEN) != 0)
            continue;
        struct keys *keys = keys_for(ring, what);
        if (!keys->opening[i])
            keys->opening[i] = keyed_context(&ring->secrets[i], keys, 0);
        if (try_open(keys->opening[i], what, form, plain_len, plain))
            return true;
        OPENSSL_cleanse(plain, plain_len);
    }
    return false;
}

static bool openable(const struct seal_for *what, const uint8_t *form, size_t len)
{
    return len >= SEAL_OVERHEAD && len - SEAL_OVERHEAD <= SEAL_PLAIN_MAX && form[0] == VERSION &&
           within_limits(what);
}

nod_status seal_open_bytes(struct keyring *ring, const struct seal_for *what, struct str sealed,
                           struct arena *arena, struct str *plain)
{
    const uint8_t *form = (const uint8_t *)sealed.at;

    *plain = STR_NONE;
    if (!openable(what, form, sealed.len))
        return NOD_E_REFUSED;
    size_t len = sealed.len - SEAL_OVERHEAD;
    char *to = arena_alloc_aligned(arena, len + 1, 1);
    if (!to || !open_form(ring, what, form, len, (uint8_t *)to))
        return NOD_E_REFUSED;
    to[len] = '\0';
    *plain = str_n(to, len);
    return NOD_OK;
}

nod_status seal_open_hidden(struct keyring *ring, const struct seal_for *what, struct str sealed,
                            struct hidden *plain)
{
    const uint8_t *form = (const uint8_t *)sealed.at;

    *plain = (struct hidden){ 0 };
    if (!openable(what, form, sealed.len) || !hidden_make(plain, sealed.len - SEAL_OVERHEAD))
        return NOD_E_REFUSED;
    if (open_form(ring, what, form, plain->len, (uint8_t *)plain->at))
        return NOD_OK;
    hidden_wipe(plain);
    return NOD_E_REFUSED;
}

nod_status seal_open_text(struct keyring *ring, const struct seal_for *what, struct str text,
                          struct arena *arena, struct str *plain)
{
    struct str form = STR_NONE;

    *plain = STR_NONE;
    if (text.len <= base64url_len(SEAL_PLAIN_MAX + SEAL_OVERHEAD))
        form = base64url_bytes(arena, text);
    return seal_open_bytes(ring, what, form, arena, plain);
}

bool seal_is_newest(const struct keyring *ring, struct str sealed)
{
    return sealed.len >= SEAL_OVERHEAD && sealed.at[0] == VERSION &&
           memcmp(sealed.at + ID_AT, ring->secrets[0].id, KEY_ID_LEN) == 0;
}

/* --- key ids in messages --- */

static void key_text(const uint8_t key[KEY_ID_LEN], char id[SEAL_KEY_TEXT])
{
    _Static_assert(SEAL_KEY_TEXT == 2 * KEY_ID_LEN + 1, "two digits for each byte");
    for (size_t i = 0; i < KEY_ID_LEN; i++)
        snprintf(id + 2 * i, 3, "%02x", key[i]);
}

bool seal_key(struct str sealed, char id[SEAL_KEY_TEXT])
{
    id[0] = '\0';
    if (sealed.len < SEAL_OVERHEAD || sealed.at[0] != VERSION)
        return false;
    key_text((const uint8_t *)sealed.at + ID_AT, id);
    return true;
}

bool seal_text_key(struct str text, char id[SEAL_KEY_TEXT])
{
    enum { HEAD = 8, HEAD_ARENA = 4096 }; /* characters that hold the key id */
    struct arena arena;

    id[0] = '\0';
    if (text.len < base64url_len(SEAL_OVERHEAD))
        return false;
    arena_init(&arena, HEAD_ARENA);
    struct str head = base64url_bytes(&arena, str_n(text.at, HEAD));
    bool sealed = head.len > ID_AT + KEY_ID_LEN && head.at[0] == VERSION;
    if (sealed)
        key_text((const uint8_t *)head.at + ID_AT, id);
    arena_finish(&arena);
    return sealed;
}

bool keyring_key(const struct keyring *ring, size_t at, char id[SEAL_KEY_TEXT])
{
    id[0] = '\0';
    if (!ring || at >= ring->count)
        return false;
    key_text(ring->secrets[at].id, id);
    return true;
}

bool keyring_has(const struct keyring *ring, const char *id)
{
    char key[SEAL_KEY_TEXT];

    for (size_t i = 0; keyring_key(ring, i, key); i++)
        if (strcmp(key, id) == 0)
            return true;
    return false;
}
