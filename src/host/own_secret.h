/*
 * host/own_secret: the secret that `nod serve` makes for itself.
 *
 * The default has to keep the promise that calls go on after a restart, also those that a client
 * carries. So where the operator has set no secret the server makes one at its first start, in a
 * file beside its store that this user alone can read, and says so.
 *
 * Holds always: the file is whole, and on the disk, before the secret seals anything; one that is
 * there is never replaced.
 */
#ifndef NOD_HOST_OWN_SECRET_H
#define NOD_HOST_OWN_SECRET_H

#include "base/str.h"
#include "crypto/seal.h"

enum { OWN_SECRET_ROOM = KEYRING_SECRET_MAX + 2 }; /* the file, with the end of its line */

/* The secret of the file: *secret points into `room`, which the caller wipes; it is empty if there
 * is no such file. `make`: then it is made. False, logged: it cannot be used. */
bool own_secret(const char *file, bool make, char room[OWN_SECRET_ROOM], struct str *secret);

#endif
