/*
 * base/fair: whose turn it is, of users who all want something from us.
 *
 * What waits is taken from one user after the other, and of one user in the order in which it came:
 * who wants a thousand things is no more in the way of others than who wants one. Of one user at
 * most `each` are under way.
 *
 * Holds always: a user is known while something of theirs waits or is under way, and no longer. A
 * user is ready while something of theirs waits and may begin.
 */
#ifndef NOD_BASE_FAIR_H
#define NOD_BASE_FAIR_H

#include "base/list.h"
#include "base/map.h"

struct fair {
    struct map users;  /* by name: struct fair_user */
    struct list ready; /* those whose turn may come; the first has the next */
    size_t each;
};

/* Something that waits or is under way. Embedded in its object, zeroed at first. */
struct fair_turn {
    struct list link;       /* among those of its user that wait */
    struct fair_user *user; /* NULL: neither */
};

/* It waits, and is not under way. */
static inline bool fair_waits(const struct fair_turn *turn)
{
    return turn->user && !list_empty(&turn->link);
}

void fair_init(struct fair *fair, size_t each);
/* After this no turn may be ended, whether it waits or is under way: its user is gone. */
void fair_finish(struct fair *fair);
/* From now on so many of one user may be under way. */
void fair_set_each(struct fair *fair, size_t each);
/* It waits for its turn. It did not, and was not under way. */
void fair_wait(struct fair *fair, struct fair_turn *turn, struct str who);
/* The one that has its turn, which is under way from now on; NULL: nobody can have one now. */
struct fair_turn *fair_next(struct fair *fair);
/* The first that waits of the same user, if `turn` is under way; NULL: none does. */
struct fair_turn *fair_behind(const struct fair_turn *turn);
/* It neither waits nor is under way any more, if it did. */
void fair_end(struct fair *fair, struct fair_turn *turn);

#endif
