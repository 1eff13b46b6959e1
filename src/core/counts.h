/*
 * core/counts: what this node has done since it started, as numbers.
 *
 * The core counts, front/ shows them (front/metrics.c). Counting is an addition where something
 * happens anyway: no lock, no memory, no text. Every way of telling things apart is a table of this
 * file, so nothing that a client sends can become a label.
 */
#ifndef NOD_CORE_COUNTS_H
#define NOD_CORE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/record.h"

enum {
    COUNTS_BUCKETS = 14, /* of a histogram, the last without a bound */
    COUNTS_PLACES = 11,  /* where an ask can have ended */
    COUNTS_STATES = ASK_INVALID + 1,
};

enum counts_call_end {
    COUNTS_CALL_OK,
    COUNTS_CALL_FAILED,
    COUNTS_CALL_CANCELLED,
    COUNTS_CALL_ENDS
};

struct counts_times {
    const int64_t *bounds_ms; /* COUNTS_BUCKETS - 1 of them; a time is in the first it fits */
    uint64_t in[COUNTS_BUCKETS];
    uint64_t count, sum_ms;
};

struct counts {
    uint64_t asked;                               /* asks that were put up here, to people */
    uint64_t ended[COUNTS_STATES][COUNTS_PLACES]; /* asks that ended by this node */
    struct counts_times answer;                   /* from the question to a person's answer */
    uint64_t claims_lost;                         /* answers to what had ended by then */
    uint64_t calls_begun;
    uint64_t calls_ended[COUNTS_CALL_ENDS];
    uint64_t destructive_unasked; /* calls of destructive tools that ended well and asked nobody */
    uint64_t grants_used;         /* questions that were not asked because of a grant */
    struct counts_times store;    /* of its operations, with those that were sent again */
    uint64_t store_failures;
};

void counts_init(struct counts *counts);
void counts_time(struct counts_times *times, int64_t ms);
/* An ask has ended by a claim of this node, or with its call. */
void counts_ask_ended(struct counts *counts, const struct ask_record *ask);
/* The name of a place: "client", "page", ...; "other" for what the table does not have. */
struct str counts_place_name(size_t place);

#endif
