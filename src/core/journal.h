/*
 * core/journal: the entries of a call in one block of memory.
 *
 * A journal is immutable: learning something new makes a longer one. (class, key) is unique in it.
 */
#ifndef NOD_CORE_JOURNAL_H
#define NOD_CORE_JOURNAL_H

#include "core/record.h"

struct journal {
    struct entry *entries; /* one heap block with all their text */
    size_t count;
    size_t bytes; /* of keys and content: what the limit counts */
};

/* A journal of `first` and then `more`. Everything is copied. */
void journal_make(struct journal *out, const struct entry *first, size_t first_count,
                  const struct entry *more, size_t more_count);
void journal_finish(struct journal *journal);

const struct entry *journal_find(const struct entry *entries, size_t count, enum entry_class class,
                                 struct str key);
/* What an entry counts against the limit. */
size_t entry_bytes(const struct entry *entry);

/* Copies entries into memory at *at, which has room for entries_text_bytes of them; moves *at. */
size_t entries_text_bytes(const struct entry *entries, size_t count);
void entries_copy(struct entry *to, const struct entry *from, size_t count, char **at);

#endif
