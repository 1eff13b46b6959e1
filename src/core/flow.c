/*
 * core/flow: stepping through a table of stages.
 *
 * A stage that ends at once returns into the loop of flow_enter instead of recursing, so a long
 * pipeline costs no stack. After done() has been called the flow is not touched again: its owner
 * may have freed it.
 */
#include "core/flow.h"

#include "base/clock.h"
#include "base/mem.h"

struct hook {
    struct list link;
    const struct flow_table *table;
    size_t stage;
    nod_when when;
    nod_hook_fn *fn;
    void *data;
};

void hooks_init(struct hooks *hooks)
{
    list_init(&hooks->list);
    hooks->count = 0;
}

void hooks_finish(struct hooks *hooks)
{
    LIST_EACH (at, &hooks->list)
        mem_free(LIST_OF(at, struct hook, link));
    hooks_init(hooks);
}

static bool stage_find(const struct flow_table *table, const char *name, size_t *out)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->stages[i].name, name) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

nod_status hooks_add(struct hooks *hooks, const struct flow_table *table, const char *stage,
                     nod_when when, nod_hook_fn *fn, void *data)
{
    size_t at;

    if (!stage || !stage_find(table, stage, &at))
        return NOD_E_NOT_FOUND;
    if (!fn)
        return NOD_E_USAGE;
    if (hooks->count >= HOOKS_MAX)
        return NOD_E_LIMIT;
    struct hook *hook = MEM_NEW(struct hook);
    *hook = (struct hook){ .table = table, .stage = at, .when = when, .fn = fn, .data = data };
    list_append(&hooks->list, &hook->link);
    hooks->count++;
    return NOD_OK;
}

/* The first hook that objects decides; the rest is not asked. */
static nod_status ask_hooks(struct flow *flow, nod_when when)
{
    struct nod_hook_event event = { .size = sizeof(event) };

    flow->table->describe(flow->subject, &event);
    event.flow = flow->table->id;
    event.stage = flow->table->stages[flow->at].name;
    event.when = when;
    LIST_EACH (at, &flow->hooks->list) {
        struct hook *hook = LIST_OF(at, struct hook, link);
        if (hook->table != flow->table || hook->stage != flow->at || hook->when != when)
            continue;
        nod_status status = hook->fn(&event, hook->data);
        clock_look_again(); /* it may have taken its time */
        if (status != NOD_OK && when == NOD_BEFORE && !flow->firm)
            return status == NOD_PENDING ? NOD_E_USAGE : status;
    }
    return NOD_OK;
}

static inline nod_status call_hooks(struct flow *flow, nod_when when)
{
    return flow->hooks->count ? ask_hooks(flow, when) : NOD_OK; /* mostly there are none */
}

static void flow_end(struct flow *flow, nod_status status)
{
    flow->status = status;
    flow->done(flow, flow->subject, status);
}

/* True: it is done, and flow->next is what comes behind it. */
static inline bool stage_run(struct flow *flow, const struct stage *stage)
{
    flow->stepping = true;
    flow->go_on = flow->stop = false;
    stage->run(flow, flow->subject);
    flow->stepping = false;
    if (flow->stop) {
        flow_end(flow, flow->status);
        return false;
    }
    return flow->go_on;
}

/*
 * Runs stages for as long as they end at once. Inside a stage, flow_next and flow_stop only leave a
 * mark, so the subject is still there when the stage returns; done() is the last thing that
 * happens.
 */
void flow_enter(struct flow *flow)
{
    for (;;) {
        const struct stage *stage = &flow->table->stages[flow->at];
        nod_status status = call_hooks(flow, NOD_BEFORE);
        if (status != NOD_OK) {
            flow_end(flow, status);
            return;
        }
        flow->next = flow->at + 1;
        if (stage->run && !stage_run(flow, stage))
            return; /* the stage will finish later, or the flow has ended */
        call_hooks(flow, NOD_AFTER);
        flow->at = flow->next;
        if (flow->at == flow->table->count) {
            flow_end(flow, NOD_OK);
            return;
        }
    }
}

void flow_place(struct flow *flow, const struct flow_table *table, const struct hooks *hooks,
                const char *stage, void *subject,
                void (*done)(struct flow *flow, void *subject, nod_status status))
{
    *flow = (struct flow){ .table = table, .hooks = hooks, .subject = subject, .done = done };
    if (stage)
        stage_find(table, stage, &flow->at);
}

void flow_start(struct flow *flow, const struct flow_table *table, const struct hooks *hooks,
                const char *first, void *subject,
                void (*done)(struct flow *flow, void *subject, nod_status status))
{
    flow_place(flow, table, hooks, first, subject, done);
    flow_enter(flow);
}

static void flow_advance(struct flow *flow, size_t next)
{
    flow->next = next;
    if (flow->stepping) {
        flow->go_on = true;
        return;
    }
    call_hooks(flow, NOD_AFTER);
    flow->at = next;
    if (flow->at == flow->table->count)
        flow_end(flow, NOD_OK);
    else
        flow_enter(flow);
}

void flow_next(struct flow *flow)
{
    flow_advance(flow, flow->at + 1);
}

void flow_jump(struct flow *flow, const char *stage)
{
    const struct flow_table *table = flow->table;
    size_t next = flow->at + 1;

    if (next >= table->count || strcmp(table->stages[next].name, stage) != 0)
        stage_find(table, stage, &next); /* mostly it is the next one */
    flow_advance(flow, next);
}

void flow_again(struct flow *flow)
{
    if (stage_run(flow, &flow->table->stages[flow->at]))
        flow_advance(flow, flow->next);
}

void flow_stop(struct flow *flow, nod_status status)
{
    if (flow->stepping) {
        flow->stop = true;
        flow->status = status;
        return;
    }
    flow_end(flow, status);
}

const char *flow_stage(const struct flow *flow)
{
    return flow->at < flow->table->count ? flow->table->stages[flow->at].name : "end";
}
