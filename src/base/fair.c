/*
 * base/fair: see fair.h.
 */
#include "base/fair.h"

#include <stdint.h>

#include "base/mem.h"

struct fair_user {
    struct list ready;   /* in fair->ready, or alone */
    struct list waiting; /* struct fair_turn */
    size_t under_way;
    size_t len;
    char name[];
};

void fair_init(struct fair *fair, size_t each)
{
    map_init(&fair->users, SIZE_MAX / 2); /* never more than there are turns */
    list_init(&fair->ready);
    fair->each = each;
}

void fair_finish(struct fair *fair)
{
    struct fair_user *user;
    size_t at = 0;

    while ((user = map_next(&fair->users, &at)))
        mem_free(user);
    map_finish(&fair->users);
}

static struct str name_of(const struct fair_user *user)
{
    return str_n(user->name, user->len);
}

static struct fair_user *user_of(struct fair *fair, struct str who)
{
    struct fair_user *user = map_get(&fair->users, who);

    if (user)
        return user;
    user = mem_zalloc(sizeof(*user) + who.len + 1);
    list_init(&user->ready);
    list_init(&user->waiting);
    user->len = who.len;
    if (who.len)
        memcpy(user->name, who.at, who.len);
    map_add(&fair->users, name_of(user), user);
    return user;
}

/* Something of theirs has changed. Whoever was ready before keeps their place. */
static void fair_place(struct fair *fair, struct fair_user *user)
{
    bool ready = !list_empty(&user->waiting) && user->under_way < fair->each;

    if (!ready)
        list_remove(&user->ready);
    else if (list_empty(&user->ready))
        list_append(&fair->ready, &user->ready);
}

void fair_set_each(struct fair *fair, size_t each)
{
    struct fair_user *user;
    size_t at = 0;

    if (fair->each == each)
        return;
    fair->each = each;
    while ((user = map_next(&fair->users, &at)))
        fair_place(fair, user);
}

void fair_wait(struct fair *fair, struct fair_turn *turn, struct str who)
{
    turn->user = user_of(fair, who);
    list_append(&turn->user->waiting, &turn->link);
    fair_place(fair, turn->user);
}

struct fair_turn *fair_next(struct fair *fair)
{
    struct list *first = list_first(&fair->ready);

    if (!first)
        return NULL;
    struct fair_user *user = LIST_OF(first, struct fair_user, ready);
    struct fair_turn *turn = LIST_OF(list_first(&user->waiting), struct fair_turn, link);
    list_remove(&turn->link);
    user->under_way++;
    list_remove(&user->ready); /* behind all others */
    fair_place(fair, user);
    return turn;
}

struct fair_turn *fair_behind(const struct fair_turn *turn)
{
    struct list *first = turn->user && !fair_waits(turn) ? list_first(&turn->user->waiting) : NULL;

    return first ? LIST_OF(first, struct fair_turn, link) : NULL;
}

void fair_end(struct fair *fair, struct fair_turn *turn)
{
    struct fair_user *user = turn->user;

    if (!user)
        return;
    if (fair_waits(turn))
        list_remove(&turn->link);
    else
        user->under_way--;
    turn->user = NULL;
    fair_place(fair, user);
    if (user->under_way || !list_empty(&user->waiting))
        return;
    map_remove(&fair->users, name_of(user));
    mem_free(user);
}
