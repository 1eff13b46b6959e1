/*
 * host/operator_keys: the secrets of the operator, from the environment, as keys.
 *
 * The first that is set of MCP_ELICITATION_SECRET, MCP_SESSION_SECRET and MCP_SERVER_SECRET seals
 * what clients carry (requestState) and the records in SQLite and Redis. MCP_PREVIOUS_SECRETS,
 * separated by commas, opens what was sealed before a secret was replaced.
 *
 * `nod serve` has a secret of its own as well (own_secret.h). It is used if the environment has
 * none; if the environment has one, that seals, and its own opens what was sealed before, as a
 * previous secret does.
 */
#ifndef NOD_HOST_OPERATOR_KEYS_H
#define NOD_HOST_OPERATOR_KEYS_H

#include "crypto/seal.h"

/* `own`: the file of its own secret, or NULL. True with NULL: no secret is set; the log says what
 * that means. False: one cannot be used; the log says why. */
bool operator_keyring(const char *own, struct keyring **out);
/* The variable that has the secret which seals; NULL: none is set. */
const char *operator_secret_named(void);

#endif
