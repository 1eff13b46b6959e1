/*
 * core/counts: see counts.h.
 */
#include "core/counts.h"

static const struct str places[COUNTS_PLACES] = {
    STR_INIT("client"), STR_INIT("view"),     STR_INIT("inbox"), STR_INIT("page"),
    STR_INIT("api"),    STR_INIT("terminal"), STR_INIT("model"), STR_INIT("clock"),
    STR_INIT("nod"),    STR_INIT("none"),     STR_INIT("other"),
};

/* People take seconds to days. */
static const int64_t answer_bounds[COUNTS_BUCKETS - 1] = { 1000,     2000,    5000,     10000,
                                                           30000,    60000,   120000,   300000,
                                                           900000,   3600000, 14400000, 86400000,
                                                           604800000 };
/* Stores take milliseconds. */
static const int64_t store_bounds[COUNTS_BUCKETS - 1] = { 1,   2,   5,    10,   20,   50,   100,
                                                          200, 500, 1000, 2000, 5000, 10000 };

void counts_init(struct counts *counts)
{
    counts->answer.bounds_ms = answer_bounds;
    counts->store.bounds_ms = store_bounds;
}

void counts_time(struct counts_times *times, int64_t ms)
{
    size_t i = 0;

    while (i < COUNTS_BUCKETS - 1 && ms > times->bounds_ms[i])
        i++;
    times->in[i]++;
    times->count++;
    times->sum_ms += ms > 0 ? (uint64_t)ms : 0;
}

static size_t place_of(struct str via)
{
    if (!via.len)
        return COUNTS_PLACES - 2;
    for (size_t i = 0; i < COUNTS_PLACES - 1; i++)
        if (str_eq(via, places[i]))
            return i;
    return COUNTS_PLACES - 1;
}

struct str counts_place_name(size_t place)
{
    return places[place];
}

void counts_ask_ended(struct counts *counts, const struct ask_record *ask)
{
    bool person =
        ask->state == ASK_ACCEPTED || ask->state == ASK_DECLINED || ask->state == ASK_CANCELLED;

    if (ask->kind == ASK_CALL)
        return; /* nobody was asked */
    counts->ended[ask->state][place_of(ask_via_shown(ask->via))]++;
    if (person)
        counts_time(&counts->answer, ask->ended_ms - ask->asked_ms);
}
