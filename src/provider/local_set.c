/*
 * provider/local_set: what one plugin has registered comes and goes in one step.
 *
 * While a set is staged, its targets are in a list of its own and its hooks are in the lists of the
 * core, marked, so that nobody is given either. A change of sets, however many, asks first whether
 * all their hooks fit, which changes nothing; then it changes the catalog, all or nothing; and then
 * it switches the hooks, which cannot fail any more. All of that is one piece of work on the loop.
 *
 * A set counts its targets and its hooks, which count who uses them: calls and runs. So when a set
 * is over and its count is 0, nobody will call its code again, and whoever has begun the set is
 * told, at the end of the turn of the loop: what has let go of the last target may be anywhere on
 * the stack, but never that late.
 *
 * Holds always: a set is released once, after all of its targets and hooks are freed. A change that
 * is refused has changed nothing.
 */
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/hook.h"
#include "core/tool_name.h"
#include "provider/local_inside.h"

enum set_state { SET_STAGED, SET_IN_FORCE, SET_OVER };

struct local_set {
    struct local *local;
    struct hooks *hooks; /* until it is over */
    struct list link;    /* in local.sets */
    enum set_state state;
    struct list staged; /* its targets, until it is committed */
    size_t held;        /* targets and hooks */
    bool failed;        /* something could not be registered: */
    struct local_set_refused refused;
    void (*released)(void *data);
    void *data;
    struct loop_last end;
    struct str from;
    char text[];
};

static void set_release(void *data)
{
    struct local_set *set = data;

    list_remove(&set->link);
    if (set->released)
        set->released(set->data);
    mem_free(set);
}

static void set_look(struct local_set *set)
{
    if (set->state == SET_OVER && !set->held)
        loop_last(set->local->loop, &set->end, set_release, set);
}

static void set_is_over(struct local_set *set)
{
    set->state = SET_OVER;
    set_look(set);
}

void set_hold(struct local_set *set)
{
    if (set)
        set->held++;
}

void set_let_go(struct local_set *set)
{
    if (!set)
        return;
    set->held--;
    set_look(set);
}

struct str set_from(const struct local_set *set)
{
    return set ? set->from : STR_NONE;
}

static void set_unstage(struct local_set *set)
{
    while (!list_empty(&set->staged))
        local_target_free(LIST_OF(list_first(&set->staged), struct local_target, link));
}

/* Their hooks went with the engine. */
void sets_end(struct local *local)
{
    LIST_EACH (at, &local->sets) {
        struct local_set *set = LIST_OF(at, struct local_set, link);
        set_unstage(set);
        loop_last_stop(&set->end);
        set_release(set);
    }
}

/* --- staging --- */

struct local_set *local_set_begin(struct local *local, struct hooks *hooks,
                                  const struct local_set_opts *opts)
{
    if (local->staging) {
        LOG_ERROR("a set of registrations was begun inside of another", LOG_STR("from", opts->from),
                  LOG_STR("other", local->staging->from));
        return NULL;
    }
    struct local_set *set = mem_zalloc(sizeof(*set) + opts->from.len + 1);
    char *text = set->text;
    set->local = local;
    set->hooks = hooks;
    set->released = opts->released;
    set->data = opts->data;
    set->from = str_place(&text, opts->from);
    list_init(&set->staged);
    list_init(&set->link);
    list_append(&local->sets, &set->link);
    local->staging = set;
    return set;
}

static void refused_say(struct local_set_refused *refused, const char *kind, struct str name,
                        nod_status status)
{
    *refused = (struct local_set_refused){ .kind = kind, .limit = status == NOD_E_LIMIT };
    snprintf(refused->name, sizeof(refused->name), STR_FMT, STR_ARG(name));
}

/* The first counts. */
void set_refuse(struct local_set *set, const char *kind, const char *name, nod_status status)
{
    if (!set || set->failed)
        return;
    set->failed = true;
    refused_say(&set->refused, kind, str_of(name), status);
}

static struct local_target *set_has(const struct local_set *set, const struct target *target)
{
    LIST_EACH (at, &set->staged) {
        struct local_target *t = LIST_OF(at, struct local_target, link);
        if (t->base.kind == target->kind && t->base.is_template == target->is_template &&
            str_eq(t->base.name, target->name))
            return t;
    }
    return NULL;
}

struct local_target *set_staged(const struct local_set *set, enum target_kind kind, struct str name)
{
    struct target wanted = { .kind = kind, .name = name };
    struct local_target *t = set_has(set, &wanted);

    wanted.is_template = true;
    return t || kind != TARGET_RESOURCE ? t : set_has(set, &wanted);
}

/* One that clients would be shown as this one; NULL: there is none. */
static struct local_target *set_meets(const struct local_set *set, const struct target *target)
{
    LIST_EACH (at, &set->staged) {
        struct local_target *t = LIST_OF(at, struct local_target, link);
        if (t->base.kind == TARGET_TOOL && target->kind == TARGET_TOOL &&
            tool_names_meet(t->base.name, target->name))
            return t;
    }
    return NULL;
}

nod_status set_stage(struct local_set *set, struct local_target **built, size_t count,
                     struct catalog_refused *refused)
{
    bool shown = catalog_shows_underscores(set->local->catalog);
    const struct local_target *other = NULL;
    size_t i;

    for (i = 0; i < count; i++) {
        const struct target *target = &built[i]->base;
        const struct local_target *same = set_has(set, target);
        other = same || !shown ? same : set_meets(set, target);
        if (other) {
            *refused = (struct catalog_refused){ .at = i, .other = &other->base, .shown = !same };
            break;
        }
        list_append(&set->staged, &built[i]->link);
    }
    while (other && i > 0)
        list_remove(&built[--i]->link);
    return other ? NOD_E_USAGE : NOD_OK;
}

bool local_set_close(struct local_set *set, struct local_set_refused *refused)
{
    if (set->local->staging == set)
        set->local->staging = NULL;
    *refused = set->refused;
    return !set->failed;
}

/* --- taking effect --- */

/* What is to be changed, while it is. */
struct sets_change {
    struct local *local;
    struct hooks *hooks;
    const struct local_change *changes;
    size_t count;
    struct target **targets; /* that come, and behind them those that go */
    size_t come, go;
};

static void taken_say(struct local_set_refused *refused, const char *kind, struct str name,
                      struct str from)
{
    refused_say(refused, kind, name, NOD_E_USAGE);
    refused->taken = true;
    snprintf(refused->from, sizeof(refused->from), STR_FMT, STR_ARG(from));
}

static struct local_target *target_own(struct target *target)
{
    return (struct local_target *)(void *)target;
}

static size_t change_at(const struct sets_change *all, const struct local_set *set)
{
    size_t at = 0;

    while (at + 1 < all->count && all->changes[at].set != set)
        at++;
    return at;
}

static void target_refused(const struct target *target, const struct catalog_refused *why,
                           nod_status status, struct local_set_refused *refused)
{
    static const char *const kinds[] = {
        [TARGET_TOOL] = "tool", [TARGET_RESOURCE] = "resource", [TARGET_PROMPT] = "prompt"
    };

    if (!why->other) {
        refused_say(refused, kinds[target->kind], target->name, status);
        return;
    }
    taken_say(refused, kinds[target->kind], target->name, why->other->from);
    if (why->shown)
        snprintf(refused->shown, sizeof(refused->shown), STR_FMT, STR_ARG(why->other->name));
}

/* Targets that nobody has removed meanwhile. */
static size_t set_targets(const struct local_set *set, struct target **out)
{
    size_t count = 0;

    if (!set)
        return 0;
    LIST_EACH (at, &set->local->targets) {
        struct local_target *t = LIST_OF(at, struct local_target, link);
        if (t->set != set || t->base.removed)
            continue;
        if (out)
            out[count] = &t->base;
        count++;
    }
    return count;
}

static void targets_gather(struct sets_change *all)
{
    struct target **to;

    for (size_t i = 0; i < all->count; i++) {
        if (all->changes[i].set)
            LIST_EACH (at, &all->changes[i].set->staged)
                all->come++;
        all->go += set_targets(all->changes[i].instead_of, NULL);
    }
    to = all->targets = mem_zalloc((all->come + all->go + 1) * sizeof(*to));
    for (size_t i = 0; i < all->count; i++)
        if (all->changes[i].set)
            LIST_EACH (at, &all->changes[i].set->staged)
                *to++ = &LIST_OF(at, struct local_target, link)->base;
    for (size_t i = 0; i < all->count; i++)
        to += set_targets(all->changes[i].instead_of, to);
}

/* Those that come are among the targets of the provider, or staged again. They are found by
 * sets_end meanwhile, whatever the change calls. */
static void targets_move(const struct sets_change *all, bool back)
{
    for (size_t i = 0; i < all->come; i++) {
        struct local_target *t = target_own(all->targets[i]);
        list_remove(&t->link);
        list_append(back ? &t->set->staged : &all->local->targets, &t->link);
    }
}

static nod_status targets_switch(struct sets_change *all, size_t *at,
                                 struct local_set_refused *refused)
{
    nod_status status = NOD_OK;
    struct catalog_refused why = { 0 };

    targets_gather(all);
    targets_move(all, false);
    if (all->come + all->go)
        status = catalog_change(all->local->catalog,
                                &(struct catalog_change){ .add = all->targets,
                                                          .add_count = all->come,
                                                          .remove = all->targets + all->come,
                                                          .remove_count = all->go },
                                &why);
    if (status != NOD_OK) {
        *at = change_at(all, target_own(all->targets[why.at])->set);
        target_refused(all->targets[why.at], &why, status, refused);
        targets_move(all, true);
    }
    mem_free(all->targets);
    return status;
}

static nod_status sets_closed(const struct sets_change *all, size_t *at,
                              struct local_set_refused *refused)
{
    for (*at = 0; *at < all->count; (*at)++) {
        struct local_set *set = all->changes[*at].set;
        if (set && !local_set_close(set, refused))
            return set->refused.limit ? NOD_E_LIMIT : NOD_E_USAGE;
    }
    return NOD_OK;
}

static nod_status hooks_of_sets(const struct sets_change *all, struct hooks_change *hooks,
                                size_t *at, struct local_set_refused *refused)
{
    struct hooks_taken taken;

    for (size_t i = 0; i < all->count; i++)
        hooks[i] = (struct hooks_change){ all->changes[i].set, all->changes[i].instead_of };
    if (hooks_fit(all->hooks, hooks, all->count, &taken))
        return NOD_OK;
    *at = taken.at;
    if (taken.status == NOD_E_USAGE)
        taken_say(refused, "hook", taken.name, taken.from);
    else
        refused_say(refused, "hook", STR(""), taken.status);
    return taken.status;
}

nod_status local_sets_change(struct local *local, struct hooks *of,
                             const struct local_change *changes, size_t count, size_t *at,
                             struct local_set_refused *refused)
{
    struct sets_change all = { .local = local, .hooks = of, .changes = changes, .count = count };
    struct hooks_change *hooks = mem_zalloc((count + 1) * sizeof(*hooks));
    nod_status status = sets_closed(&all, at, refused);

    if (status == NOD_OK)
        status = hooks_of_sets(&all, hooks, at, refused);
    if (status == NOD_OK)
        status = targets_switch(&all, at, refused);
    if (status == NOD_OK)
        hooks_switch(of, hooks, count);
    mem_free(hooks);
    for (size_t i = 0; status == NOD_OK && i < count; i++) {
        if (changes[i].set)
            changes[i].set->state = SET_IN_FORCE;
        if (changes[i].instead_of)
            set_is_over(changes[i].instead_of);
    }
    return status;
}

/* --- going --- */

bool set_remove_hook(struct local *local, struct hooks *hooks, struct str name)
{
    LIST_EACH (at, &local->sets) {
        struct local_set *set = LIST_OF(at, struct local_set, link);
        if (set->state != SET_OVER && set->hooks == hooks && hooks_remove(hooks, set, name))
            return true;
    }
    return false;
}

void local_set_abort(struct local_set *set)
{
    struct local_set_refused refused;

    local_set_close(set, &refused);
    set_unstage(set);
    hooks_remove_all(set->hooks, set);
    set_is_over(set);
}
