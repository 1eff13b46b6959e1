/*
 * surface/fair: see fair.h.
 */
#include "surface/fair.h"

#include "base/mem.h"

struct fair_user {
    struct list link;    /* in fair->users */
    struct list waiting; /* struct fair_turn */
    size_t under_way;
    size_t len;
    char name[];
};

void fair_init(struct fair *fair, size_t each)
{
    list_init(&fair->users);
    fair->each = each;
}

static struct fair_user *user_of(struct fair *fair, struct str who)
{
    struct fair_user *user;

    LIST_EACH (at, &fair->users) {
        user = LIST_OF(at, struct fair_user, link);
        if (str_eq(str_n(user->name, user->len), who))
            return user;
    }
    user = mem_zalloc(sizeof(*user) + who.len + 1);
    list_init(&user->waiting);
    user->len = who.len;
    if (who.len)
        memcpy(user->name, who.at, who.len);
    list_append(&fair->users, &user->link);
    return user;
}

void fair_wait(struct fair *fair, struct fair_turn *turn, struct str who)
{
    turn->user = user_of(fair, who);
    turn->under_way = false;
    list_append(&turn->user->waiting, &turn->link);
}

struct fair_turn *fair_next(struct fair *fair)
{
    LIST_EACH (at, &fair->users) {
        struct fair_user *user = LIST_OF(at, struct fair_user, link);
        struct list *first = list_first(&user->waiting);
        if (!first || user->under_way >= fair->each)
            continue;
        struct fair_turn *turn = LIST_OF(first, struct fair_turn, link);
        list_remove(first);
        turn->under_way = true;
        user->under_way++;
        list_remove(at);
        list_append(&fair->users, at);
        return turn;
    }
    return NULL;
}

struct fair_turn *fair_behind(const struct fair_turn *turn)
{
    struct list *first = turn->under_way ? list_first(&turn->user->waiting) : NULL;

    return first ? LIST_OF(first, struct fair_turn, link) : NULL;
}

void fair_end(struct fair_turn *turn)
{
    struct fair_user *user = turn->user;

    if (!user)
        return;
    if (turn->under_way)
        user->under_way--;
    else
        list_remove(&turn->link);
    turn->user = NULL;
    if (user->under_way || !list_empty(&user->waiting))
        return;
    list_remove(&user->link);
    mem_free(user);
}
