/*
 * crypto/inner_seal: a value inside a record that even its store must not see.
 *
 * Whoever makes such a record seals the value before it is handed to a store, and puts it into the
 * record as text. So the value is in no queue, cache or file of a store, with or without a seal of
 * the store's own around the record. It is bound to the kind and the key of its record: in another
 * one it does not open. It is opened into hidden memory, and nowhere else.
 *
 * The member of the record that holds it is called INNER_SEAL_MEMBER: by that name it is found when
 * a store's records are brought under another secret.
 */
#ifndef NOD_CRYPTO_INNER_SEAL_H
#define NOD_CRYPTO_INNER_SEAL_H

#include "crypto/seal.h"

#define INNER_SEAL_MEMBER "sealed"

/* Appends the text. NOD_E_LIMIT: the value is larger than HIDDEN_MAX, or the buffer full. */
nod_status inner_seal(struct keyring *ring, struct str kind, struct str key, struct str value,
                      struct buf *out);
/* NOD_E_REFUSED: no secret of the ring opens it, or it is of another record. */
nod_status inner_open(struct keyring *ring, struct str kind, struct str key, struct str text,
                      struct hidden *value);

#endif
