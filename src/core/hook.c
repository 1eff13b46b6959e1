/*
 * core/hook: the list of hooks, which of them a flow calls, and one call of a hook.
 *
 * Each stage has its hooks in one list, in order of priority; of equal priorities the oldest comes
 * first. A filter matches only what is known: a hook for the questions of one tool is not called
 * before the answer has been matched with its question.
 *
 * flow.c has the order in which the hooks of a stage are called.
 *
 * A removed hook stays in its list until its last run has ended and no flow is at work, because a
 * flow may stand at it and go on from there to the next one.
 */
#include "core/hook_inside.h"

#include "base/log.h"
#include "base/mem.h"

struct hooks_graves {
    struct due due;
    struct hooks *hooks;
};

void hooks_init(struct hooks *hooks)
{
    *hooks = (struct hooks){ .graves = MEM_NEW(struct hooks_graves) };
    hooks->graves->hooks = hooks;
    list_init(&hooks->runs);
    for (size_t f = 0; f < FLOW_COUNT; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            list_init(&hooks->stages[f][s]);
}

/* Removed hooks without a run; or, at the end, all of them. */
static void hooks_bury(struct hooks *hooks)
{
    for (size_t f = 0; f < FLOW_COUNT; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                struct hook *hook = LIST_OF(at, struct hook, link);
                if (!hooks->ending && (!hook->removed || hook->runs))
                    continue;
                list_remove(&hook->link);
                hooks->count--;
                if (hook->spec.released)
                    hook->spec.released(hook->spec.data);
                mem_free(hook);
            }
}

static bool has_left(const struct flow *flow)
{
    for (const struct nod_hook_run *frame = flow->frames; frame; frame = frame->outer)
        if (frame->hook->removed && frame->hook->spec.leaves)
            return true;
    return false;
}

void call_lets_hooks_go(struct call *call)
{
    if (call->flow.frames && call_waiting(call) && !call->live && has_left(&call->flow))
        flow_place(&call->flow, &call_flow, call->engine->hooks, "gate", call);
}

static bool any_leaves(const struct hooks *hooks)
{
    LIST_EACH (at, &hooks->runs) {
        const struct hook *hook = LIST_OF(at, struct nod_hook_run, link)->hook;
        if (hook->removed && hook->spec.leaves)
            return true;
    }
    return false;
}

static void waiting_let_go(struct hooks *hooks)
{
    struct call *call;

    if (!any_leaves(hooks))
        return;
    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&hooks->engine->calls, &walk));)
        call_lets_hooks_go(call);
}

static void hooks_bury_due(struct due *due)
{
    struct hooks *hooks = HEAP_OF(&due->node, struct hooks_graves, due.node)->hooks;

    waiting_let_go(hooks);
    hooks_bury(hooks);
}

static void hook_bury_later(struct hooks *hooks, const struct hook *hook)
{
    if (hook->removed && !hook->runs && !hooks->engine)
        hooks_bury(hooks); /* no flow can stand at it */
    else if (hook->removed && (!hook->runs || hook->spec.leaves) && !hooks->ending)
        due_set(hooks->engine, &hooks->graves->due, 0, hooks_bury_due);
}

void hooks_finish(struct hooks *hooks)
{
    hooks->ending = true;
    LIST_EACH (at, &hooks->runs) /* these will never be told of the end */
        hook_run_free(LIST_OF(at, struct nod_hook_run, link));
    hooks_bury(hooks);
    if (hooks->engine)
        due_stop(hooks->engine, &hooks->graves->due);
    mem_free(hooks->graves);
}

/* --- registration --- */

static struct str hook_from(const struct hook_spec *spec)
{
    return spec->from.len ? spec->from : STR("the program");
}

static nod_status refuse(const struct hook_spec *spec, nod_status status, const char *why)
{
    LOG_ERROR("a hook was refused", LOG_STR("hook", spec->name), LOG_STR("from", hook_from(spec)),
              LOG_CSTR("stage", spec->stage ? spec->stage : "(none)"), LOG_CSTR("why", why));
    return status;
}

/* Not by a hook of `but` (or NULL), which goes. */
static const struct hook *name_taken(const struct hooks *hooks, struct str name)
{
    for (size_t f = 0; f < FLOW_COUNT && name.len; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                const struct hook *hook = LIST_OF(at, struct hook, link);
                if (!hook->removed && !hook->staged && str_eq(hook->spec.name, name))
                    return hook;
            }
    return NULL;
}

/* Two staged hooks of one owner have this name. */
static bool name_staged(const struct hooks *hooks, struct str name, const void *owner)
{
    for (size_t f = 0; f < FLOW_COUNT && name.len; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                const struct hook *hook = LIST_OF(at, struct hook, link);
                if (hook->staged && hook->spec.owner == owner && str_eq(hook->spec.name, name))
                    return true;
            }
    return false;
}

static nod_status spec_check(const struct hooks *hooks, const struct hook_spec *spec, size_t *stage)
{
    const struct flow_table *table = spec->table;

    if (!spec->stage || !spec->fn)
        return refuse(spec, NOD_E_USAGE, "it has no stage, or no function");
    for (*stage = 0; *stage < table->count; (*stage)++)
        if (strcmp(table->stages[*stage].name, spec->stage) == 0)
            break;
    if (*stage == table->count)
        return refuse(spec, NOD_E_NOT_FOUND, "its flow has no stage of that name");
    if ((unsigned)spec->kind > NOD_AROUND || (unsigned)spec->ask > NOD_ASK_ROOTS ||
        spec->timeout_ms < 0)
        return refuse(spec, NOD_E_USAGE, "its kind, its ask or its timeout_ms is not valid");
    if (spec->name.len > HOOK_NAME_MAX || spec->target.len > HOOK_FILTER_MAX ||
        spec->principal.len > HOOK_FILTER_MAX)
        return refuse(spec, NOD_E_USAGE,
                      "its name has more than 64 bytes, or one of its patterns more than 1024");
    _Static_assert(HOOK_NAME_MAX == 64 && HOOK_FILTER_MAX == 1024, "as the message says");
    if (str_find(spec->name, STR(".")) >= 0)
        return refuse(spec, NOD_E_USAGE,
                      "its name has a dot, which ends the name in the keys that are made of it");
    if (spec->staged ? name_staged(hooks, spec->name, spec->owner)
                     : name_taken(hooks, spec->name) != NULL)
        return refuse(spec, NOD_E_USAGE, "another hook has that name");
    if (spec->kind == NOD_INSTEAD && table->stages[*stage].needed)
        return refuse(spec, NOD_E_NOT_SUPPORTED,
                      "what nod does at this stage cannot be replaced: use will, did or around");
    return NOD_OK;
}

nod_status hooks_add(struct hooks *hooks, const struct hook_spec *spec)
{
    size_t stage;

    NOD_TRY(spec_check(hooks, spec, &stage));
    size_t most = spec->staged ? 2 * HOOKS_MAX : HOOKS_MAX; /* those that it replaces go */
    if (hooks->count >= most)
        return refuse(spec, NOD_E_LIMIT, "this server has as many hooks as it may have");
    struct hook *hook = mem_alloc(sizeof(*hook) + spec->name.len + spec->from.len +
                                  spec->target.len + spec->principal.len + 4);
    char *text = (char *)(hook + 1);
    struct list *list = &hooks->stages[spec->table->id][stage], *before = list;

    *hook = (struct hook){ .spec = *spec, .stage = stage, .staged = spec->staged };
    hook->spec.name = str_place(&text, spec->name);
    hook->spec.from = str_place(&text, spec->from);
    hook->spec.target = str_place(&text, spec->target);
    hook->spec.principal = str_place(&text, spec->principal);
    if (hook->spec.timeout_ms == 0)
        hook->spec.timeout_ms = HOOK_TIMEOUT_MS;
    LIST_EACH (at, list) {
        if (LIST_OF(at, struct hook, link)->spec.priority > spec->priority) {
            before = at;
            break;
        }
    }
    list_append(before, &hook->link); /* in front of it */
    hooks->count++;
    return NOD_OK;
}

/* --- many at once --- */

/* Of all that are there or staged, those that are in force after these changes. `at`: of the change
 * that brings it; `count`: it is there already. */
static bool hook_stays(const struct hook *hook, const struct hooks_change *changes, size_t count,
                       size_t *at)
{
    *at = count;
    for (size_t i = 0; i < count; i++) {
        if (hook->staged && hook->spec.owner == changes[i].owner)
            *at = i;
        if (!hook->staged && changes[i].instead_of && hook->spec.owner == changes[i].instead_of)
            return false;
    }
    return !hook->removed && (!hook->staged || *at < count);
}

/* Another one has its name then, and is there already, or comes in an earlier change. */
static const struct hook *name_meets(const struct hooks *hooks, const struct hook *comes,
                                     const struct hooks_change *changes, size_t count,
                                     size_t comes_at)
{
    for (size_t f = 0; f < FLOW_COUNT && comes->spec.name.len; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                const struct hook *hook = LIST_OF(at, struct hook, link);
                size_t other;
                if (str_eq(hook->spec.name, comes->spec.name) &&
                    hook_stays(hook, changes, count, &other) &&
                    (other == count || other < comes_at))
                    return hook;
            }
    return NULL;
}

bool hooks_fit(const struct hooks *hooks, const struct hooks_change *changes, size_t count,
               struct hooks_taken *taken)
{
    size_t in_force = 0;

    for (size_t f = 0; f < FLOW_COUNT; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                const struct hook *hook = LIST_OF(at, struct hook, link), *other = NULL;
                size_t change;
                if (!hook_stays(hook, changes, count, &change))
                    continue;
                in_force++;
                if (change < count)
                    other = name_meets(hooks, hook, changes, count, change);
                if (other) {
                    *taken = (struct hooks_taken){ NOD_E_USAGE, hook->spec.name, change,
                                                   other->spec.from };
                    return false;
                }
            }
    *taken = (struct hooks_taken){ .status = NOD_E_LIMIT, .at = count - 1 };
    return in_force <= HOOKS_MAX;
}

/* The hook whose place this one takes, or NULL. */
static struct hook *hook_before(const struct hook *hook, const struct list *stage,
                                const void *instead_of)
{
    LIST_EACH (at, stage) {
        struct hook *other = LIST_OF(at, struct hook, link);
        if (instead_of && other->spec.owner == instead_of && !other->removed &&
            other->spec.priority == hook->spec.priority && hook->spec.name.len &&
            str_eq(other->spec.name, hook->spec.name))
            return other;
    }
    return NULL;
}

/* In front of the old one: a flow that stands at that one is past its successor too. */
static void hooks_put_in_force(struct hooks *hooks, const struct hooks_change *change)
{
    for (size_t f = 0; f < FLOW_COUNT; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                struct hook *hook = LIST_OF(at, struct hook, link), *old;
                if (!hook->staged || hook->spec.owner != change->owner)
                    continue;
                hook->staged = false;
                if ((old = hook_before(hook, &hooks->stages[f][s], change->instead_of))) {
                    list_remove(&hook->link);
                    list_append(&old->link, &hook->link);
                }
            }
}

void hooks_switch(struct hooks *hooks, const struct hooks_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hooks_put_in_force(hooks, &changes[i]);
        hooks_remove_all(hooks, changes[i].instead_of);
    }
}

static size_t hooks_take_out(struct hooks *hooks, const void *owner, const struct str *name)
{
    size_t removed = 0;

    for (size_t f = 0; f < FLOW_COUNT && owner; f++)
        for (size_t s = 0; s < FLOW_STAGES_MAX; s++)
            LIST_EACH (at, &hooks->stages[f][s]) {
                struct hook *hook = LIST_OF(at, struct hook, link);
                if (hook->removed || hook->spec.owner != owner ||
                    (name && !str_eq(hook->spec.name, *name)))
                    continue;
                hook->removed = true;
                hook_bury_later(hooks, hook);
                removed++;
            }
    return removed;
}

bool hooks_remove(struct hooks *hooks, const void *owner, struct str name)
{
    return name.len && hooks_take_out(hooks, owner, &name);
}

size_t hooks_remove_all(struct hooks *hooks, const void *owner)
{
    return hooks_take_out(hooks, owner, NULL);
}

bool hooks_any(const struct hooks *hooks, const struct flow_table *table)
{
    for (size_t s = 0; s < table->count; s++)
        if (!list_empty(&hooks->stages[table->id][s]))
            return true;
    return false;
}

/* --- filters --- */

/* `*` stands for any text, `?` for any byte. */
static bool glob(struct str pattern, struct str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

    while (t < text.len) {
        if (p < pattern.len && pattern.at[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.len && (pattern.at[p] == '?' || pattern.at[p] == text.at[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.at[p] == '*')
        p++;
    return p == pattern.len;
}

static bool hook_wants(const struct flow *flow, const struct hook *hook)
{
    const struct hook_spec *spec = &hook->spec;
    struct hook_view view = { .kind = NOD_ASK_ANY };

    if (hook->removed || hook->staged || (spec->wants && !spec->wants(flow->subject)))
        return false;
    if (!spec->target.len && !spec->principal.len && spec->ask == NOD_ASK_ANY)
        return true;
    flow->table->describe(flow->subject, &view);
    return (!spec->target.len || (view.target.len && glob(spec->target, view.target))) &&
           (!spec->principal.len || glob(spec->principal, view.principal)) &&
           (spec->ask == NOD_ASK_ANY || spec->ask == view.kind);
}

bool hooks_may_want(const struct flow *flow)
{
    struct hook_view view = { .kind = NOD_ASK_ANY };

    flow->table->describe(flow->subject, &view);
    for (size_t s = flow->at; s < flow->table->count; s++)
        LIST_EACH (at, &flow->hooks->stages[flow->table->id][s])
            if (!LIST_OF(at, struct hook, link)->removed &&
                !LIST_OF(at, struct hook, link)->staged &&
                (!view.target.len || hook_wants(flow, LIST_OF(at, struct hook, link))))
                return true;
    return false;
}

struct hook *hook_after(const struct flow *flow, const struct list *from, nod_hook_kind kind)
{
    const struct list *head = &flow->hooks->stages[flow->table->id][flow->at];

    for (struct list *at = from->next; at != head; at = at->next) {
        struct hook *hook = LIST_OF(at, struct hook, link);
        if (hook->spec.kind == kind && hook_wants(flow, hook))
            return hook;
    }
    return NULL;
}

/* --- one call of one hook --- */

struct nod_hook_run *hook_run_new(struct flow *flow, struct hook *hook)
{
    struct nod_hook_run *run = MEM_NEW(struct nod_hook_run);

    run->hooks = flow->hooks;
    run->hook = hook;
    hook->runs++;
    run->flow = flow;
    arena_init(&run->arena, HOOK_RUN_BYTES);
    list_init(&run->link);
    list_append(&flow->hooks->runs, &run->link);
    return run;
}

void hook_run_free(struct nod_hook_run *hook)
{
    if (!hook)
        return;
    due_stop(hook->hooks->engine, &hook->due);
    if (hook->hook->spec.over)
        hook->hook->spec.over(hook, hook->hook->spec.data);
    if (hook->run)
        run_free(hook->run);
    list_remove(&hook->link);
    hook->hook->runs--;
    hook_bury_later(hook->hooks, hook->hook);
    arena_finish(&hook->arena);
    MEM_DELETE(hook);
}

static nod_status hook_returned(struct nod_hook_run *hook, nod_status status)
{
    hook->inside = false;
    clock_look_again(); /* the hook may have taken long */
    if (hook->run && hook->run->call)
        call_unasked(hook->run->call, hook->run);
    if (status == NOD_PENDING && hook->finished)
        status = hook->result; /* it was finished before it returned */
    if (status > NOD_OK || status < NOD_E_FAILED)
        status = hook_fail(
            hook, NOD_E_USAGE, NULL,
            arena_fmt(&hook->arena, "A hook returned %d, which is not a nod_status", (int)status));
    return status;
}

nod_status hook_call(struct nod_hook_run *hook)
{
    hook->inside = true;
    return hook_returned(hook, hook->hook->spec.fn(hook, hook->hook->spec.data));
}

nod_status hook_call_then(struct nod_hook_run *hook, nod_status status)
{
    nod_hook_then *then = hook->then;

    if (!then)
        return status;
    hook->then = NULL;
    hook->inside = true;
    return hook_returned(hook, then(hook, status, hook->then_data));
}

/* --- finishing later --- */

/* Nobody waits for the hook any more. Its run stays, because the hook may still use it, but
 * without the journal: that belongs to the call, which may go. */
static void hook_cut(struct nod_hook_run *hook)
{
    struct run *run = hook->run;

    hook->flow = NULL;
    if (!run)
        return;
    run->call = NULL;
    run->journal = NULL;
    run->journal_count = 0;
}

static void out_of_time(struct due *due)
{
    struct nod_hook_run *hook = HEAP_OF(&due->node, struct nod_hook_run, due.node);
    struct flow *flow = hook->flow;
    /* the hook may still use its own run */
    struct nod_hook_run *word = hook_run_new(flow, hook->hook);
    struct str name = hook->hook->spec.name;

    hook_fail(word, NOD_E_TIMEOUT, "HOOK_TIMEOUT",
              arena_fmt(&word->arena, "The hook " STR_FMT " did not finish within %lld ms",
                        STR_ARG(name), (long long)hook->hook->spec.timeout_ms));
    LOG_WARN("a hook did not finish in time", LOG_STR("hook", name),
             LOG_STR("from", hook_from(&hook->hook->spec)), LOG_CSTR("stage", hook_stage(hook)));
    word->outer = hook->outer;
    flow->awaited = word;
    hook_cut(hook); /* the run is freed when the hook has finished */
    flow_hook_done(flow, word, NOD_E_TIMEOUT);
}

void hook_await(struct nod_hook_run *hook)
{
    hook->later = true;
    due_set(hook->hooks->engine, &hook->due, hook->hook->spec.timeout_ms, out_of_time);
}

void hook_leave(struct nod_hook_run *hook)
{
    due_stop(hook->hooks->engine, &hook->due);
    hook_cut(hook);
    if (!hook->later)
        hook_run_free(hook);
}

void hook_done(struct nod_hook_run *hook, nod_status status)
{
    struct flow *flow = hook->flow;

    if (status == NOD_PENDING)
        status = NOD_E_USAGE;
    if (hook->inside) {
        hook->finished = true;
        hook->result = status;
        return;
    }
    if (!hook->later) /* it went in around the stage, or is not waited for */
        return;
    hook->later = false;
    due_stop(hook->hooks->engine, &hook->due);
    if (flow)
        flow_hook_done(flow, hook, status);
    else
        hook_run_free(hook);
}

nod_status hook_next(struct nod_hook_run *hook, nod_hook_then *then, void *data)
{
    if (hook->hook->spec.kind != NOD_AROUND || hook->went_in)
        return hook_fail(hook, NOD_E_USAGE, NULL,
                         STR("nod_hook_next is for hooks around a stage, and is called once"));
    hook->went_in = true;
    hook->then = then;
    hook->then_data = data;
    if (hook->later) {
        hook->later = false;
        due_stop(hook->hooks->engine, &hook->due);
        if (hook->flow)
            flow_hook_done(hook->flow, hook, NOD_PENDING);
        else
            hook_run_free(hook);
    }
    return NOD_PENDING;
}

/* --- what it sees and says --- */

nod_flow hook_flow(const struct nod_hook_run *hook)
{
    return hook->hook->spec.table->id;
}

const char *hook_stage(const struct nod_hook_run *hook)
{
    return hook->hook->spec.table->stages[hook->hook->stage].name;
}

bool hook_look(const struct nod_hook_run *hook, struct hook_view *view)
{
    *view = (struct hook_view){ .kind = NOD_ASK_ANY };
    if (!hook->flow)
        return false;
    hook->flow->table->describe(hook->flow->subject, view);
    return true;
}

nod_status hook_write(struct nod_hook_run *hook, enum hook_field field, struct str text)
{
    const struct flow *flow = hook->flow;
    struct str why = STR("This cannot be written at this stage");

    if (!flow)
        return NOD_E_STALE;
    if (flow->firm || !flow->table->write)
        return hook_fail(hook, NOD_E_USAGE, NULL, why);
    nod_status status =
        flow->table->write(flow->subject, hook->hook->stage, field, text, &hook->arena, &why);
    return status == NOD_OK ? NOD_OK : hook_fail(hook, status, NULL, why);
}

nod_status hook_fail(struct nod_hook_run *hook, nod_status status, const char *code,
                     struct str message)
{
    hook->fault = (struct fault){
        .status = status,
        .code = code ? arena_str(&hook->arena, str_of(code)).at : NULL,
        .message = arena_str(&hook->arena, message),
    };
    return status;
}

nod_status hook_fail_as(struct nod_hook_run *hook, const struct fault *fault)
{
    hook->fault = *fault;
    return fault->status;
}

const struct fault *hook_fault(const struct nod_hook_run *hook)
{
    return &hook->fault;
}

void **hook_face(struct nod_hook_run *hook)
{
    return &hook->face;
}

struct arena *hook_arena(struct nod_hook_run *hook)
{
    return &hook->arena;
}
