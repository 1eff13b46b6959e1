/*
 * mcp/state_given: see state_given.h. One allocation a state: the text, what it is bound to, and
 * what was sealed, one behind the other.
 *
 * Holds always: what is found was kept under exactly these bytes, all of them compared; what is
 * forgotten is wiped.
 */
#include "mcp/state_given.h"

#include "base/mem.h"

enum {
    PLACE_BYTES = 8, /* at the end of a text, in its tag: as good as random */
    PAIR = 2,        /* places that a text may have */
};

struct given_one {
    uint32_t text_len;
    uint32_t bound_len[STATE_BOUND_PARTS];
    uint32_t plain_len;
    bool swept; /* it was there when old ones were last looked for */
    char bytes[];
};

struct state_given {
    struct given_one *places[STATE_GIVEN_PLACES];
};

struct state_given *state_given_create(void)
{
    return MEM_NEW(struct state_given);
}

static size_t one_len(const struct given_one *one)
{
    size_t len = one->text_len + one->plain_len;

    for (size_t i = 0; i < STATE_BOUND_PARTS; i++)
        len += one->bound_len[i];
    return len;
}

static void forget(struct given_one **place)
{
    if (!*place)
        return;
    explicit_bzero((*place)->bytes, one_len(*place));
    mem_free(*place);
    *place = NULL;
}

void state_given_destroy(struct state_given *given)
{
    if (!given)
        return;
    for (size_t i = 0; i < STATE_GIVEN_PLACES; i++)
        forget(&given->places[i]);
    mem_free(given);
}

void state_given_sweep(struct state_given *given)
{
    for (size_t i = 0; i < STATE_GIVEN_PLACES; i++) {
        if (given->places[i] && given->places[i]->swept)
            forget(&given->places[i]);
        else if (given->places[i])
            given->places[i]->swept = true;
    }
}

/* The first of the two places of a text. */
static struct given_one **pair_of(struct state_given *given, struct str text)
{
    uint64_t end;

    memcpy(&end, text.at + text.len - PLACE_BYTES, PLACE_BYTES);
    return &given->places[(end * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (STATE_GIVEN_PLACES - PAIR)];
}
_Static_assert((STATE_GIVEN_PLACES & (STATE_GIVEN_PLACES - 1)) == 0, "the mask of a place");

/* Empty; what was there moves to the second place, and what was in that is forgotten. */
static struct given_one **first_place(struct state_given *given, struct str text)
{
    struct given_one **pair = pair_of(given, text);

    if (pair[0]) {
        forget(&pair[1]);
        pair[1] = pair[0];
    }
    return &pair[0];
}

static char *put(char *at, struct str s)
{
    if (s.len)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

void state_given_keep(struct state_given *given, const struct state_bound *bound, struct str plain,
                      struct str text)
{
    struct str parts[STATE_BOUND_PARTS];
    size_t len = text.len + plain.len;

    state_bound_parts(bound, parts);
    for (size_t i = 0; i < STATE_BOUND_PARTS; i++)
        len += parts[i].len;
    if (text.len < PLACE_BYTES || len > STATE_GIVEN_BYTES_MAX)
        return;
    struct given_one *one = *first_place(given, text) = mem_alloc(sizeof(*one) + len);
    char *at = put(one->bytes, text);
    one->text_len = (uint32_t)text.len;
    for (size_t i = 0; i < STATE_BOUND_PARTS; i++) {
        one->bound_len[i] = (uint32_t)parts[i].len;
        at = put(at, parts[i]);
    }
    one->plain_len = (uint32_t)plain.len;
    one->swept = false;
    put(at, plain);
}

/* Moves *at behind the bytes, if they are the same. */
static bool same(const char **at, size_t len, struct str s)
{
    if (len != s.len || (len && memcmp(*at, s.at, len) != 0))
        return false;
    *at += len;
    return true;
}

static struct given_one **find(struct state_given *given, struct str text)
{
    struct given_one **pair = pair_of(given, text);

    for (size_t i = 0; i < PAIR; i++)
        if (pair[i] && str_eq(str_n(pair[i]->bytes, pair[i]->text_len), text))
            return &pair[i];
    return NULL;
}

bool state_given_take(struct state_given *given, const struct state_bound *bound, struct str text,
                      struct arena *arena, struct str *plain)
{
    struct str parts[STATE_BOUND_PARTS];
    struct given_one **place = text.len < PLACE_BYTES ? NULL : find(given, text);

    if (!place)
        return false;
    const struct given_one *one = *place;
    const char *at = one->bytes + one->text_len;
    state_bound_parts(bound, parts);
    for (size_t i = 0; i < STATE_BOUND_PARTS; i++)
        if (!same(&at, one->bound_len[i], parts[i]))
            return false;
    *plain = arena_str(arena, str_n(at, one->plain_len));
    forget(place);
    return plain->at != NULL;
}
