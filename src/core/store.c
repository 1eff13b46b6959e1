/*
 * core/store: what all stores say alike.
 */
#include "core/store.h"

#include "crypto/digest.h"

uint64_t store_owner(struct str principal)
{
    struct digest digest;
    uint64_t owner = 0;

    digest_of(principal, &digest);
    for (size_t i = 0; i < sizeof(owner); i++)
        owner = owner << 8 | digest.bytes[i];
    return owner ? owner : 1; /* 0 is nobody */
}
