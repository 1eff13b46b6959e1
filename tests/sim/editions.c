/*
 * tests/sim/editions: tools are replaced while calls of them wait and run, as a plugin's are when
 * it is loaded again.
 *
 * An edition is the code of a tool at one node, in one of two versions. It is replaced by another
 * one of the same version, or of the other; it goes, and comes back; at one node, or at both. Each
 * is in memory of its own, which is freed when nobody has it any more, so that whoever still looks
 * at it is found.
 *
 * The rules, beside those of every call (ledger.c):
 *
 * - No run begins in an edition that was replaced, unless its calls stay.
 * - No run of a call is of another version than the call.
 * - When a node goes, nobody has an edition any more.
 */
#include "sim.h"

#include "base/mem.h"
#include "core/catalog.h"

static struct target *edition_new(struct node *node, size_t shape)
{
    struct target *target = MEM_NEW(struct target);

    *target = (struct target){ .kind = TARGET_TOOL,
                               .name = shape_name(shape),
                               .title = shape_name(shape),
                               .provider = shape == SHAPE_LIVE    ? &node->live
                                           : shape == SHAPE_STAYS ? &node->staying
                                                                  : &node->provider,
                               .live = shape == SHAPE_LIVE,
                               .stays = shape == SHAPE_STAYS };
    target->version[0] = one_in(3) ? 2 : 1;
    node->alive++;
    return target;
}

void editions_released(struct node *node, struct target *target)
{
    node->alive--;
    mem_free(target);
}

static void changed(void *data, const struct catalog_change *change)
{
    struct node *node = data;

    if (node->engine)
        engine_targets_changed(node->engine, change->remove_count > 0);
}

void editions_begin(struct node *node)
{
    for (size_t i = 0; i < SHAPES; i++) {
        node->editions[i] = edition_new(node, i);
        if (catalog_add(node->catalog, node->editions[i]) != NOD_OK)
            broken("a tool cannot be added");
    }
    catalog_watch(node->catalog, changed, node);
}

/* Those whose calls stay are replaced as well, and go never: that is told in other tests. */
static void edition_change(struct node *node, size_t shape)
{
    struct target *old = node->editions[shape];
    struct target *next = old && shape < SHAPE_LIVE && one_in(4) ? NULL : edition_new(node, shape);

    TRACE("node %s: " STR_FMT " %s%s", node->name, STR_ARG(shape_name(shape)),
          !old    ? "comes back"
          : !next ? "goes"
                  : "is replaced",
          next && next->version[0] == 2 ? ", in version 2" : "");
    node->editions[shape] = next;
    if (catalog_change(node->catalog,
                       &(struct catalog_change){ .add = &next,
                                                 .add_count = next != NULL,
                                                 .remove = &old,
                                                 .remove_count = old != NULL },
                       NULL) != NOD_OK)
        broken("a tool cannot be replaced");
    figures.replaced++;
}

void editions_change(struct node *node)
{
    if (one_in(3))
        for (size_t i = 0; i < SHAPES; i++)
            edition_change(node, i);
    else
        edition_change(node, pick(SHAPES));
}

void editions_end(struct node *node)
{
    for (size_t i = 0; i < SHAPES; i++) {
        if (node->editions[i])
            editions_released(node, node->editions[i]);
        node->editions[i] = NULL;
    }
    if (node->alive)
        broken("%s is gone, and %d editions of its tools are still held", node->name, node->alive);
}
