/*
 * accounts/account: the record of an account.
 *
 * It is a small record of the store (kind "credential"). Its key is made of whose account it is, as
 * a digest, and of the service's name, so whoever needs a token finds it with one look, and the
 * accounts of a principal stand side by side. The record says both again, and that is compared.
 * Until its question has ended, it is kept by the id of that (kind "credential-held", held.c).
 *
 * Its tokens are sealed before any store sees them (crypto/inner_seal.h). The rest of it is what
 * lists show, and what decides whether the account counts.
 */
#include "accounts/accounts_inside.h"
#include "crypto/digest.h"
#include "crypto/inner_seal.h"

static const char *const states[] = { "connected", "refused", "revoked" };

struct str account_owner(char out[ACCOUNT_OWNER_LEN], struct str principal)
{
    struct digest digest;

    digest_of_parts((struct str[]){ STR("credential owner"), principal }, 2, &digest);
    hex_encode(str_n((const char *)digest.bytes, ACCOUNT_OWNER_LEN / 2), out);
    return str_n(out, ACCOUNT_OWNER_LEN);
}

struct str account_key(char out[ACCOUNT_KEY_MAX], struct str principal, struct str service)
{
    size_t len = service.len <= OAUTH_NAME_MAX ? service.len : OAUTH_NAME_MAX;

    account_owner(out, principal);
    out[ACCOUNT_OWNER_LEN] = '-';
    memcpy(out + ACCOUNT_OWNER_LEN + 1, service.at, len);
    return str_n(out, ACCOUNT_OWNER_LEN + 1 + len);
}

struct str accounts_id(struct arena *arena, struct str principal, struct str called)
{
    bool is_id = called.len > ACCOUNT_OWNER_LEN && called.at[ACCOUNT_OWNER_LEN] == '-';
    char key[ACCOUNT_KEY_MAX];

    for (size_t i = 0; is_id && i < ACCOUNT_OWNER_LEN; i++)
        is_id = called.at[i] && strchr("0123456789abcdef", called.at[i]);
    return arena_str(arena, is_id ? called : account_key(key, principal, called));
}

/* --- what is sealed inside --- */

void sealed_write(struct accounts *accounts, struct json_writer *w, struct str kind, struct str key,
                  struct str plain)
{
    struct buf text;

    buf_init(&text, ACCOUNTS_RECORD_MAX);
    if (inner_seal(accounts->opts.ring, kind, key, plain, &text) == NOD_OK)
        jw_key_str(w, STR(INNER_SEAL_MEMBER), buf_str(&text));
    buf_finish(&text);
}

bool sealed_read(struct accounts *accounts, struct arena *arena, const struct json *record,
                 struct str kind, struct str key, struct str *plain)
{
    struct hidden value;

    if (inner_open(accounts->opts.ring, kind, key, json_get_str(record, STR(INNER_SEAL_MEMBER)),
                   &value) != NOD_OK)
        return false;
    *plain = arena_str(arena, hidden_str(&value)); /* which is wiped as well */
    hidden_wipe(&value);
    return !arena->exhausted;
}

static void tokens_write(struct accounts *accounts, struct json_writer *w, struct str kind,
                         struct str key, const struct account *account)
{
    struct json_writer inner;
    struct buf plain;

    buf_init(&plain, ACCOUNTS_RECORD_MAX);
    buf_wiped(&plain, true);
    json_writer_init(&inner, &plain);
    jw_object(&inner);
    jw_key_str(&inner, STR("access"), account->access);
    jw_key_str(&inner, STR("refresh"), account->refresh);
    jw_end(&inner);
    sealed_write(accounts, w, kind, key, buf_str(&plain));
    buf_finish(&plain);
}

static bool tokens_read(struct accounts *accounts, struct arena *arena, const struct json *record,
                        struct str kind, struct str key, struct account *out)
{
    const struct json *tokens;
    struct str plain;

    if (!sealed_read(accounts, arena, record, kind, key, &plain))
        return false;
    tokens = json_parse(arena, plain, NULL, NULL);
    out->access = json_get_str(tokens, STR("access"));
    out->refresh = json_get_str(tokens, STR("refresh"));
    return json_is(tokens, JSON_OBJECT);
}

/* --- the record --- */

void account_put(struct work *work, struct str kind, struct str key, const struct account *account,
                 uint64_t version, int64_t ttl_ms, int most, store_done *done)
{
    struct json_writer w;
    struct buf out;

    buf_init(&out, ACCOUNTS_RECORD_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("principal"), account->principal);
    jw_key_str(&w, STR("service"), account->service);
    jw_key_str(&w, STR("identity"), account->identity);
    jw_key_str(&w, STR("client"), account->client_id);
    jw_key_str(&w, STR("state"), str_of(states[account->state]));
    jw_key_str(&w, STR("scopes"), account->scopes);
    jw_key_str(&w, STR("ask"), account->ask_id);
    jw_key_str(&w, STR("lease"), account->lease);
    jw_key_i64(&w, STR("leaseUntil"), account->lease_until_ms);
    jw_key_i64(&w, STR("expires"), account->expires_ms);
    jw_key_i64(&w, STR("connected"), account->connected_ms);
    jw_key_i64(&w, STR("refreshed"), account->refreshed_ms);
    tokens_write(work->accounts, &w, kind, key, account);
    jw_end(&w);
    work_put(work, kind, key, &out, account->principal, version, ttl_ms, most, done);
}

static bool state_named(struct str name, enum account_state *state)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (str_eq(name, str_of(states[i]))) {
            *state = (enum account_state)i;
            return true;
        }
    }
    return false;
}

/* Does the record stand where it says that it belongs? */
static bool is_at(const struct account *account, struct str kind, struct str key)
{
    char expected[REPLACED_KEY_MAX];

    if (str_eq(kind, ACCOUNT_KIND_HELD))
        return str_eq(key, account->ask_id);
    if (str_eq(kind, ACCOUNT_KIND_REPLACED))
        return str_eq(key, replaced_key(expected, account));
    return str_eq(key, account_key(expected, account->principal, account->service));
}

bool account_read(struct accounts *accounts, struct arena *arena, struct str kind, struct str key,
                  struct str value, struct account *out)
{
    const struct json *v = json_parse(arena, arena_str(arena, value), NULL, NULL);

    *out = (struct account){
        .principal = json_get_str(v, STR("principal")),
        .service = json_get_str(v, STR("service")),
        .identity = json_get_str(v, STR("identity")),
        .client_id = json_get_str(v, STR("client")),
        .scopes = json_get_str(v, STR("scopes")),
        .ask_id = json_get_str(v, STR("ask")),
        .lease = json_get_str(v, STR("lease")),
    };
    return json_is(v, JSON_OBJECT) && tokens_read(accounts, arena, v, kind, key, out) &&
           state_named(json_get_str(v, STR("state")), &out->state) &&
           json_i64(json_get(v, STR("leaseUntil")), &out->lease_until_ms) &&
           json_i64(json_get(v, STR("expires")), &out->expires_ms) &&
           json_i64(json_get(v, STR("connected")), &out->connected_ms) &&
           json_i64(json_get(v, STR("refreshed")), &out->refreshed_ms) && is_at(out, kind, key);
}

bool account_is_of(const struct account *account, const struct oauth_service *service)
{
    return str_eq(account->identity, oauth_service_identity(service)) &&
           str_eq(account->client_id, service->spec.client_id);
}

bool account_counts(const struct account *account, const struct oauth_service *service)
{
    return account->state == ACCOUNT_CONNECTED && account_is_of(account, service);
}
