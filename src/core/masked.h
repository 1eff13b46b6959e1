/*
 * core/masked: a sentence for the log, without what people have answered.
 *
 * The sentences about failed calls name keys and fields. They are the author's, who may have made
 * one from an answer: nod_key(call, "mail-%s", address). The caller knows the answer and may read
 * it. The log may not.
 */
#ifndef NOD_CORE_MASKED_H
#define NOD_CORE_MASKED_H

#include "base/arena.h"
#include "core/record.h"

/* The sentence with "[answer]" for every text and number of the answers in the journal, in the
 * arena; if there is no room, only that it cannot be shown. */
struct str masked(struct arena *arena, struct str sentence, const struct journal *journal);

#endif
