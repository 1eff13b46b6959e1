/*
 * host/operator_keys: reads the secrets, and says what is wrong with them without showing them.
 */
#include "host/operator_keys.h"

#include <stdlib.h>

#include "base/log.h"

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

bool operator_keyring(struct keyring **out)
{
    struct str secrets[KEYRING_SECRETS_MAX];
    size_t count = 0;
    const char *why = "";

    *out = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && count == 0; i++) {
        struct str secret = set(names[i]);
        if (secret.len == 0)
            continue;
        if (!fits(names[i], secret))
            return false;
        secrets[count++] = secret;
    }
    if (count == 0) {
        if (set(previous_name).len)
            return refuse(previous_name, "it is set, but none of MCP_ELICITATION_SECRET, "
                                         "MCP_SESSION_SECRET and MCP_SERVER_SECRET is");
        LOG_WARN(
            "no secret is set: calls that wait in a client's hands (requestState) cannot go on "
            "after a restart, nor on another node, and secrets that people give are kept in memory "
            "only",
            LOG_CSTR("set", names[0]));
        return true;
    }
    if (!add_previous(secrets, &count))
        return false;
    if (keyring_create(secrets, count, out, &why) != NOD_OK)
        return refuse(names[0], why);
    return true;
}
