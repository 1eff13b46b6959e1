/*
 * store/record_codec: records as bytes, for the stores that keep them outside of this process.
 *
 * Version 1 of the form is: version, kind, sealed or not, the scope with its length, the body.
 * Numbers have variable length, texts follow their length, and nothing depends on the machine.
 *
 * With a keyring the body is sealed (crypto/seal) for the purpose "record" and the record's scope,
 * and bound to its kind, scope and id. So a record that was changed, moved to the place of another,
 * or brought from another scope does not open, and one that is not sealed is refused. Without a
 * keyring a sealed record is refused too.
 *
 * What a store has to see (ids, states, times, epochs) is not in here: it is kept beside the bytes.
 *
 * Reading is bounded and linear, whatever the bytes. NOD_E_PARSE: not a record, damaged, or written
 * by a newer nod. NOD_E_REFUSED: wrongly sealed, or not sealed although it should be. Both are
 * logged if the codec has a store's name, and `why` says which. Results point into the bytes and
 * the arena.
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
    CODEC_ENTRIES_MAX = 65536,         /* entries in one record */
    CODEC_SCOPE_MAX = SEAL_NAME_MAX,
    CODEC_TOLD_MOST = 256, /* unreadable records that are remembered, so that each is logged once */
    CODEC_FOREIGN_NAME = 512, /* bytes of the name of a foreign record, with its NUL */
};

enum codec_kind {
    CODEC_CALL = 1,
    CODEC_ASK,
    CODEC_ANSWER,
    CODEC_ENTRIES,
    CODEC_RESULT,
    CODEC_VALUE = 7, /* 6 is not used any more */
};

/*
 * A record whose secret the keyring does not have. It is not damaged, and whoever has the secret
 * can read it: this node was given too few secrets, or another node seals with one that this node
 * was not told of.
 */
struct foreign_record {
    char key[SEAL_KEY_TEXT]; /* of its secret; "": none was met */
    enum codec_kind kind;
    /* What it is bound to, to look at it again; "": it is too long to be kept. Small records have a
     * kind, which is their scope. */
    char id[CODEC_FOREIGN_NAME];
    char scope[CODEC_FOREIGN_NAME];
};

struct codec {            /* belongs to one thread, as does its keyring */
    struct keyring *ring; /* NULL: records are not sealed */
    const char *store;    /* for the log; NULL: nothing is logged */
    const char *why;      /* of the last refusal */
    bool again;           /* the same records are read again and again: log each refusal once */
    struct foreign_record foreign; /* the first that was met since it was last emptied */
    bool lacked;                   /* such a record was met since this was last set to false */
    size_t told_count;
    uint64_t told[CODEC_TOLD_MOST]; /* logged while `again`; the newest replace the oldest */
};

/* Fills it in, unless it is already. */
void foreign_keep(struct foreign_record *foreign, const char *key, enum codec_kind kind,
                  struct str id, struct str scope);
/* The secret that a record is sealed with. False: it is plain, or no record. *plain says which. */
bool codec_key(struct str bytes, char key[SEAL_KEY_TEXT], bool *plain);

/* Logs a refusal, unless it was logged before. */
void codec_tell(struct codec *codec, const char *record, struct str id, const char *why);

/*
 * Each appends one record to `out`. NOD_E_LIMIT, and nothing is appended: it is larger than a
 * record may be, or than the buffer takes.
 *
 * call: only what never changes; without notices, entries and what the store sets. ask: the
 * question; without asked_ms, expires_ms and what the store sets.
 */
nod_status codec_write_call(struct codec *codec, const struct call_record *call, struct buf *out);
nod_status codec_write_ask(struct codec *codec, const struct ask_record *ask, struct buf *out);
/* How the ask ended: state, content, by, ended_ms, note. */
nod_status codec_write_answer(struct codec *codec, const struct ask_record *ask, struct buf *out);
nod_status codec_write_entries(struct codec *codec, struct str scope, struct str call_id,
                               const struct entry *entries, size_t count, struct buf *out);
/* CODEC_RESULT: the call's scope and id. CODEC_VALUE: its kind and key. */
nod_status codec_write_text(struct codec *codec, enum codec_kind kind, struct str scope,
                            struct str id, struct str text, struct buf *out);

/*
 * Appends the same record, sealed with the newest secret, to `out`; nothing if it is sealed with
 * that already. With `plain` an unsealed record is sealed; otherwise it is refused, as in reading.
 * What the record is bound to does not change: one that was moved is still refused in its new
 * place.
 */
nod_status codec_reseal(struct codec *codec, enum codec_kind kind, struct str id, struct str bytes,
                        bool plain, struct arena *arena, struct buf *out);

/* Each sets what its counterpart wrote, and the given id. The rest of *out is not touched. */
nod_status codec_read_call(struct codec *codec, struct str id, struct str bytes,
                           struct arena *arena, struct call_record *out);
nod_status codec_read_ask(struct codec *codec, struct str id, struct str bytes, struct arena *arena,
                          struct ask_record *out);
/* Reads the answer into an ask that was read before. Their scopes must be the same. */
nod_status codec_read_answer(struct codec *codec, struct str bytes, struct arena *arena,
                             struct ask_record *out);
nod_status codec_read_entries(struct codec *codec, struct str call_id, struct str bytes,
                              struct arena *arena, struct entry **entries, size_t *count);
nod_status codec_read_text(struct codec *codec, enum codec_kind kind, struct str scope,
                           struct str id, struct str bytes, struct arena *arena, struct str *text);

/* A journal that is kept as several records: each part is read, and then they are joined into the
 * entries of the call. NULL, NOD_E_LIMIT: the arena is exhausted. */
struct codec_part {
    struct codec_part *next;
    struct entry *entries;
    size_t count;
};
struct codec_parts {
    struct codec_part *first, *last;
};
struct codec_part *codec_parts_add(struct codec_parts *parts, struct arena *arena);
nod_status codec_parts_join(const struct codec_parts *parts, struct arena *arena,
                            struct call_record *call);

/* The journal entry of an ask that has ended. */
struct entry codec_entry_of(const struct ask_record *ask);

#endif
