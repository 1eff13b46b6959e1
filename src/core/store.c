/*
 * core/store: what all stores say alike: whose a record is, and how the deaths of a call are
 * counted.
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

enum { LATE_BIT = 4, PROBATION_BIT = 8, TRIED_BIT = 16, TRIED_MS = 1000 };
_Static_assert(DEATHS_COUNTED == (1 << LATE_BIT) - 1,
               "each count has four bits; take.lua knows them");

uint64_t deaths_pack(const struct deaths *deaths)
{
    uint64_t tried = (uint64_t)(deaths->tried_ms + TRIED_MS - 1) / TRIED_MS;

    return deaths->early | deaths->late << LATE_BIT |
           (deaths->probation ? UINT64_C(1) << PROBATION_BIT | tried << TRIED_BIT : 0);
}

struct deaths deaths_unpack(uint64_t packed)
{
    return (struct deaths){ .early = packed & DEATHS_COUNTED,
                            .late = packed >> LATE_BIT & DEATHS_COUNTED,
                            .probation = packed >> PROBATION_BIT & 1,
                            .tried_ms = (int64_t)(packed >> TRIED_BIT) * TRIED_MS };
}

struct deaths deaths_taken(struct deaths deaths, enum take_why why, bool gone, int64_t now_ms)
{
    unsigned *count = deaths.probation ? &deaths.early : &deaths.late;

    if (why != TAKE_SUSPECT || !gone)
        return deaths;
    if (*count < DEATHS_COUNTED)
        ++*count;
    deaths.probation = true;
    deaths.tried_ms = now_ms;
    return deaths;
}
