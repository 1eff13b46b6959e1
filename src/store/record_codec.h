/*
 * store/record_codec: records as bytes, for the stores that keep them outside of this process.
 *
 * The form, version 1:  version, kind, sealed or not, the scope with its length, the body. Numbers
 * are of variable length, texts stand behind their length; nothing in it depends on the machine.
 *
 * With a keyring the body is sealed (crypto/seal): purpose "record", the record's scope, bound to
 * its kind, scope and id. So a record that was changed, moved over another one or brought from
 * another scope does not open, and one that is not sealed is not believed. Without a keyring a
 * sealed record is refused too: it is not ours to guess.
 *
 * What a store has to see (ids, states, times, epochs) is not in here: it stands beside the bytes.
 *
 * Reading is bounded and linear whatever the bytes. NOD_E_PARSE: not a record, damaged, or written
 * by a newer nod. NOD_E_REFUSED: sealed wrongly, or not sealed though it should be. Both are logged
 * when the codec has a store's name, and `why` says which. What is read are views of the bytes, and
 * of the arena.
 */
#ifndef NOD_STORE_RECORD_CODEC_H
#define NOD_STORE_RECORD_CODEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/store.h"
#include "crypto/seal.h"

enum {
    CODEC_VERSION = 1,
    CODEC_RECORD_MAX = SEAL_PLAIN_MAX, /* bytes of a body */
    CODEC_ENTRIES_MAX = 65536,         /* of one record of entries */
    CODEC_SCOPE_MAX = SEAL_NAME_MAX,
    CODEC_TOLD_MOST = 256, /* records that cannot be read, and of which that is known */
};

enum codec_kind {
    CODEC_CALL = 1,
    CODEC_ASK,
    CODEC_ANSWER,
    CODEC_ENTRIES,
    CODEC_RESULT,
    CODEC_VALUE = 7, /* 6 was the kind of a record that is no more */
};

struct codec {            /* belongs to one thread, as its keyring does */
    struct keyring *ring; /* NULL: records are not sealed */
    const char *store;    /* for the log; NULL: nothing is logged */
    const char *why;      /* of the last refusal */
    bool again;           /* what is read now is read again and again: a refusal is logged once */
    size_t told_count;
    uint64_t
        told[CODEC_TOLD_MOST]; /* refusals that were logged while `again`, newest over oldest */
};

/* Logs a refusal, unless it was logged before. */
void codec_tell(struct codec *codec, const char *record, struct str id, const char *why);

/*
 * Each adds one record to `out`. NOD_E_LIMIT, and nothing added, when it is larger than a record
 * may be or than the buffer takes.
 *
 * call: what never changes of it; notices, entries and what the store sets are left out. ask: the
 * question; asked_ms, expires_ms and what the store sets are left out.
 */
nod_status codec_write_call(struct codec *codec, const struct call_record *call, struct buf *out);
nod_status codec_write_ask(struct codec *codec, const struct ask_record *ask, struct buf *out);
/* How the ask ended: state, content, by, ended_ms. */
nod_status codec_write_answer(struct codec *codec, const struct ask_record *ask, struct buf *out);
nod_status codec_write_entries(struct codec *codec, struct str scope, struct str call_id,
                               const struct entry *entries, size_t count, struct buf *out);
/* CODEC_RESULT: the call's scope and id. CODEC_VALUE: its kind and key. */
nod_status codec_write_text(struct codec *codec, enum codec_kind kind, struct str scope,
                            struct str id, struct str text, struct buf *out);

/*
 * The same record under the newest secret, behind what is in `out`; nothing is added if that sealed
 * it already. With `plain` one that is not sealed is sealed; without, it is refused as by reading.
 * What it was bound to stays as it is: a record that was moved is refused still where it stands.
 */
nod_status codec_reseal(struct codec *codec, enum codec_kind kind, struct str id, struct str bytes,
                        bool plain, struct arena *arena, struct buf *out);

/* Each sets what its counterpart wrote, and the id it was given; the rest of *out is left alone. */
nod_status codec_read_call(struct codec *codec, struct str id, struct str bytes,
                           struct arena *arena, struct call_record *out);
nod_status codec_read_ask(struct codec *codec, struct str id, struct str bytes, struct arena *arena,
                          struct ask_record *out);
/* Into an ask that has been read; its scope has to be the answer's. */
nod_status codec_read_answer(struct codec *codec, struct str bytes, struct arena *arena,
                             struct ask_record *out);
nod_status codec_read_entries(struct codec *codec, struct str call_id, struct str bytes,
                              struct arena *arena, struct entry **entries, size_t *count);
nod_status codec_read_text(struct codec *codec, enum codec_kind kind, struct str scope,
                           struct str id, struct str bytes, struct arena *arena, struct str *text);

/* The journal entry of an ask that has ended. */
struct entry codec_entry_of(const struct ask_record *ask);

#endif
