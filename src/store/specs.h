/*
 * store/specs: what an operation was given, for stores that carry it out later.
 *
 * A spec points into memory of whoever calls the store. SQLite's thread, and a Redis operation that
 * has to read something first, need it after that call.
 */
#ifndef NOD_STORE_SPECS_H
#define NOD_STORE_SPECS_H

#include "base/arena.h"
#include "core/store.h"

/* An append is a park without asks, after which the call runs on. */
struct park_spec park_of_append(const struct append_spec *append);

/* Whole copies. False: the arena is exhausted, and parts are missing. */
bool park_copy(struct arena *arena, const struct park_spec *from, struct park_spec *to);
bool claim_copy(struct arena *arena, const struct claim_spec *from, struct claim_spec *to);

#endif
