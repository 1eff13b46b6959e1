/*
 * core/json_digest: the digest of a JSON value.
 *
 * It is taken over the canonical form (RFC 8785). So two documents that mean the same have the same
 * digest, whatever their spacing and the order of their members. A call's arguments and a tool's
 * schema are recognised by it.
 */
#ifndef NOD_CORE_JSON_DIGEST_H
#define NOD_CORE_JSON_DIGEST_H

#include "crypto/digest.h"
#include "json/value.h"

enum { DIGEST_JSON_MAX = 64 << 20 }; /* bytes of canonical text */

/* NOD_E_LIMIT past DIGEST_JSON_MAX, NOD_E_INVALID for a tree that cannot be written. */
nod_status digest_of_json(const struct json *value, struct digest *out);
/* Of the arguments of a call: NULL stands for none, and what has no digest for zeros. */
void digest_of_args(const struct json *args, struct digest *out);

#endif
