/*
 * provider/local_set: what one plugin has registered comes and goes in one step.
 *
 * While a set is staged, its targets are in a list of its own and its hooks are in the lists of the
 * core, marked, so that nobody is given either. The commit asks first whether the hooks fit, which
 * changes nothing; then it changes the catalog, all or nothing; and then it switches the hooks,
 * which cannot fail any more. All of that is one piece of work on the loop.
 *
 * A set counts its targets and its hooks, which count who uses them: calls and runs. So when a set
 * is over and its count is 0, nobody will call its code again, and whoever has begun the set is
 * told, at the end of the turn of the loop: what has let go of the last target may be anywhere on
 * the stack, but never that late.
 *
 * Holds always: a set is released once, after all of its targets and hooks are freed. A commit that
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

/* --- committing --- */

static void taken_say(struct local_set_refused *refused, const char *kind, struct str name,
                      struct str from)
{
    refused_say(refused, kind, name, NOD_E_USAGE);
    refused->taken = true;
    snprintf(refused->from, sizeof(refused->from), STR_FMT, STR_ARG(from));
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

static nod_status targets_switch(struct local_set *set, const struct local_set *replaces,
                                 struct local_set_refused *refused)
{
    struct local *local = set->local;
    size_t count = 0, goes = set_targets(replaces, NULL);
    struct catalog_refused why = { 0 };

    LIST_EACH (at, &set->staged)
        count++;
    if (!count && !goes)
        return NOD_OK;
    struct target **targets = mem_zalloc((count + goes) * sizeof(*targets));
    size_t i = 0;
    LIST_EACH (at, &set->staged)
        targets[i++] = &LIST_OF(at, struct local_target, link)->base;
    set_targets(replaces, targets + count);
    /* They are found by sets_end from here on, whatever the change calls. */
    LIST_EACH (at, &set->staged) {
        list_remove(at);
        list_append(&local->targets, at);
    }
    nod_status status = catalog_change(
        local->catalog,
        &(struct catalog_change){
            .add = targets, .add_count = count, .remove = targets + count, .remove_count = goes },
        &why);
    if (status != NOD_OK) {
        target_refused(targets[why.at], &why, status, refused);
        for (i = 0; i < count; i++) {
            struct local_target *t = (struct local_target *)(void *)targets[i];
            list_remove(&t->link);
            list_append(&set->staged, &t->link);
        }
    }
    mem_free(targets);
    return status;
}

nod_status local_set_commit(struct local_set *set, struct local_set *replaces,
                            struct local_set_refused *refused)
{
    struct hooks_taken taken;

    if (!local_set_close(set, refused))
        return set->refused.limit ? NOD_E_LIMIT : NOD_E_USAGE;
    if (!hooks_fit(set->hooks, set, replaces, &taken)) {
        if (taken.status == NOD_E_USAGE)
            taken_say(refused, "hook", taken.name, taken.from);
        else
            refused_say(refused, "hook", STR(""), taken.status);
        return taken.status;
    }
    NOD_TRY(targets_switch(set, replaces, refused));
    hooks_switch(set->hooks, set, replaces);
    set->state = SET_IN_FORCE;
    if (replaces)
        set_is_over(replaces);
    return NOD_OK;
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

void local_set_remove(struct local_set *set)
{
    size_t count = set_targets(set, NULL);
    struct target **targets = mem_zalloc((count + 1) * sizeof(*targets));

    set_targets(set, targets);
    if (count)
        catalog_change(set->local->catalog,
                       &(struct catalog_change){ .remove = targets, .remove_count = count }, NULL);
    mem_free(targets);
    hooks_remove_all(set->hooks, set);
    set_is_over(set);
}
