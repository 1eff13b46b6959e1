/*
 * store/claim_rules: what all three stores decide in the same way about a claim (core/store.h).
 */
#ifndef NOD_STORE_CLAIM_RULES_H
#define NOD_STORE_CLAIM_RULES_H

#include "core/store.h"

/* NOD_E_USAGE: the claim makes no sense, whatever is stored. */
nod_status claim_check(const struct claim_spec *claim);

/* Is it a person's answer, which comes too late once the time of the ask is over? */
bool claim_is_word(const struct claim_item *item);

/* Did the ask end with this answer? Its sensitive content may have been erased since. */
bool claim_is_same(const struct ask_record *ask, const struct claim_spec *claim,
                   const struct claim_item *item);

/* The ask was ended before, through the same `via`, by another answer: a `whole` submission must
 * not go on. `mine`: this very claim ended it. */
bool claim_contradicts(const struct ask_record *ask, bool mine, const struct claim_spec *claim,
                       const struct claim_item *item);

/* Until an ask ends, the turn that has come early (claim_item.turn) is kept where its `via` is kept
 * afterwards: a digit and a letter, and of two such texts the greater one counts. */
enum { CLAIM_CAME_LEN = 2 };
void claim_came(const struct claim_item *item, char text[CLAIM_CAME_LEN]);
/* Moves it from ask->via, if it is there, to where it belongs. */
void claim_came_read(struct ask_record *ask);

/* Only a `via` of these characters is allowed: it is kept unsealed beside a record. */
bool claim_via_is_plain(struct str via);

#endif
