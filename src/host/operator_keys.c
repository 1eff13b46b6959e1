/*
 * host/operator_keys: reads the secrets, and says what is wrong with them without showing them.
 */
#include "host/operator_keys.h"

#include <stdlib.h>

#include "base/log.h"
#include "host/own_secret.h"

static const char *const names[] = { "MCP_ELICITATION_SECRET", "MCP_SESSION_SECRET",
                                     "MCP_SERVER_SECRET" };
static const char previous_name[] = "MCP_PREVIOUS_SECRETS";

static bool refuse(const char *name, const char *why)
{
    LOG_ERROR("a secret cannot be used", LOG_CSTR("variable", name), LOG_CSTR("why", why));
    return false;
}

static struct str set(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? str_of(value) : STR_NONE;
}

static bool fits(const char *name, struct str secret)
{
    if (secret.len < KEYRING_SECRET_MIN)
        return refuse(name,
                      "it has less than 32 characters; make one with: openssl rand -base64 48");
    if (secret.len > KEYRING_SECRET_MAX)
        return refuse(name, "it has more than 4096 characters");
    return true;
}

/* Adds the older secrets after the one that seals. */
static bool add_previous(struct str secrets[KEYRING_SECRETS_MAX], size_t *count)
{
    struct str rest = set(previous_name), one;

    for (bool more = rest.len > 0; more;) {
        more = str_cut(rest, ',', &one, &rest);
        one = str_trim(one);
        if (one.len == 0)
            continue;
        if (*count == KEYRING_SECRETS_MAX)
            return refuse(previous_name, "there are more than 7 of them; take out the oldest");
        if (!fits(previous_name, one))
            return false;
        secrets[(*count)++] = one;
    }
    return true;
}

const char *operator_secret_named(void)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (set(names[i]).len)
            return names[i];
    return NULL;
}

/* The one that seals, if the environment has it. */
static bool add_newest(struct str secrets[KEYRING_SECRETS_MAX], size_t *count, const char *name)
{
    if (!name)
        return true;
    if (!fits(name, set(name)))
        return false;
    secrets[(*count)++] = set(name);
    return true;
}

/* Its own opens what was sealed before the environment had one. */
static bool add_own(struct str secrets[KEYRING_SECRETS_MAX], size_t *count, struct str own)
{
    if (!own.len)
        return true;
    if (*count == KEYRING_SECRETS_MAX)
        return refuse(
            previous_name,
            "there are more than 6 of them, beside the secret that nod serve has made for "
            "itself; take out the oldest");
    secrets[(*count)++] = own;
    return true;
}

bool operator_keyring(const char *own_file, struct keyring **out)
{
    struct str secrets[KEYRING_SECRETS_MAX], own = STR_NONE;
    const char *name = operator_secret_named(), *why = "";
    char room[OWN_SECRET_ROOM];
    size_t count = 0;

    *out = NULL;
    if (!name && set(previous_name).len && !own_file)
        return refuse(previous_name, "it is set, but none of MCP_ELICITATION_SECRET, "
                                     "MCP_SESSION_SECRET and MCP_SERVER_SECRET is");
    if (!name && !own_file) {
        LOG_WARN(
            "no secret is set: calls that wait in a client's hands (requestState) cannot go on "
            "after a restart, nor on another node, and secrets that people give are kept in memory "
            "only",
            LOG_CSTR("set", names[0]));
        return true;
    }
    bool fine = (!own_file || own_secret(own_file, !name, room, &own)) &&
                add_newest(secrets, &count, name) && (name || add_own(secrets, &count, own)) &&
                add_previous(secrets, &count) && (!name || add_own(secrets, &count, own));
    if (fine && keyring_create(secrets, count, out, &why) != NOD_OK)
        fine = refuse(name ? name : previous_name, why);
    explicit_bzero(room, sizeof(room));
    return fine;
}
