/*
 * store/claim: what the three stores decide alike about a claim (core/store.h).
 */
#ifndef NOD_STORE_CLAIM_H
#define NOD_STORE_CLAIM_H

#include "core/store.h"

/* NOD_E_USAGE: it makes no sense, whatever is stored. */
nod_status claim_check(const struct claim_spec *claim);

/* A person's word, which comes too late once the time of the ask is over. */
bool claim_is_word(const struct claim_item *item);

/* Is this how the ask ended? What was given in confidence may be gone by now. */
bool claim_is_same(const struct ask_record *ask, const struct claim_spec *claim,
                   const struct claim_item *item);

/* The ask was ended before, through the same way and by another answer: a submission that is one
 * thing must not go on. `mine`: it was this very claim. */
bool claim_contradicts(const struct ask_record *ask, bool mine, const struct claim_spec *claim,
                       const struct claim_item *item);

/* As it would be asked of the store: these, and nothing else, stand in clear beside a record. */
bool claim_via_is_plain(struct str via);

#endif
