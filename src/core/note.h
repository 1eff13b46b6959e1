/*
 * core/note: what an answer says beside its content (ask_record.note, entry.note).
 *
 * A note is a small JSON object. `reason` is what a person wrote, mostly with a no. `remember` is
 * what they chose to be remembered. The note of an entry that no person answered, because a grant
 * did, has `grant` instead: its id.
 */
#ifndef NOD_CORE_NOTE_H
#define NOD_CORE_NOTE_H

#include "core/grant.h"

enum {
    NOTE_REASON_MAX = 2000, /* bytes of a reason */
    NOTE_MAX = 16 << 10,    /* bytes of a note as JSON */
};

struct noted { /* what was chosen, with what the question says of itself */
    struct str tool, digest, version;
    struct str message; /* its beginning: GRANT_MESSAGE_MAX */
    struct remember_choice choice;
    int64_t at_ms;
};

/* The reason that was given with the answer, in the arena; empty if there was none. */
struct str note_reason(struct str note, struct arena *arena);
/* False: nothing is to be remembered. Texts are in the arena. */
bool note_remember(struct str note, struct arena *arena, struct noted *out);
/* The grant that the entry passed by, in the arena; empty: a person answered. */
struct str note_grant(struct str note, struct arena *arena);

/* A note, in the arena. `remember` may be NULL. Empty if there is nothing to say. */
struct str note_write(struct arena *arena, struct str reason, const struct noted *remember);
struct str note_write_grant(struct arena *arena, struct str grant);

#endif
