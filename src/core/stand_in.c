/*
 * core/stand_in: a target that this node lacks, and another has.
 *
 * A call that stays goes on at its home alone (home_node.c). Whoever comes for it to another node
 * waits there for its end, also where the target of the call is not registered. A live call needs a
 * target: the stand-in has its kind and its name, and nothing else is known of it.
 *
 * Holds always: a stand-in is in no catalog, is never run, and goes with the last who holds it.
 */
#include "core/catalog.h"

#include "base/mem.h"
#include "core/run.h"

static void stand_in_start(struct provider *provider, struct run *run)
{
    (void)provider;
    run_done(run, NOD_E_NOT_FOUND, STR_NONE); /* cannot be: its call is away */
}

static void stand_in_released(struct provider *provider, struct target *target)
{
    (void)provider;
    mem_free(target);
}

static const struct provider_ops stand_in_ops = { .name = "elsewhere",
                                                  .start = stand_in_start,
                                                  .released = stand_in_released };

bool target_is_stand_in(const struct target *target)
{
    return target->provider->ops == &stand_in_ops;
}

struct target *target_stand_in(enum target_kind kind, struct str name)
{
    static struct provider provider = { .ops = &stand_in_ops };
    struct target *target = mem_zalloc(sizeof(*target) + name.len + 1);
    char *at = (char *)(target + 1);

    target->kind = kind;
    target->name = str_place(&at, name);
    target->provider = &provider;
    target->stays = true;
    target->removed = true; /* from the catalog: it goes when nobody holds it any more */
    target_hold(target);
    return target;
}
