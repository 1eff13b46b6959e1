/*
 * core/flow: a pipeline as a table of named stages.
 *
 * A stage does its work now or later, and then calls flow_next, or flow_stop with the status that
 * ends the flow. Hooks attach before and after each stage by name; one before a stage may end the
 * flow. done() is called once, after the last stage or after flow_stop.
 */
#ifndef NOD_CORE_FLOW_H
#define NOD_CORE_FLOW_H

#include <nod/nod.h>

#include "base/list.h"
#include "base/str.h"

struct flow;

struct stage {
    const char *name;
    void (*run)(struct flow *flow, void *subject); /* NULL: it is there for hooks alone */
};

struct flow_table {
    nod_flow id;
    const struct stage *stages;
    size_t count;
    /* Fills in what hooks may see of the subject. */
    void (*describe)(void *subject, struct nod_hook_event *event);
};

struct hooks {
    struct list list;
    size_t count;
};

enum { HOOKS_MAX = 64 }; /* of one server */

void hooks_init(struct hooks *hooks);
void hooks_finish(struct hooks *hooks);
nod_status hooks_add(struct hooks *hooks, const struct flow_table *table, const char *stage,
                     nod_when when, nod_hook_fn *fn, void *data);

struct flow {
    const struct flow_table *table;
    const struct hooks *hooks;
    size_t at;
    size_t next;
    nod_status status;
    bool firm;     /* hooks may look, and not object */
    bool stepping; /* inside a stage: flow_next and flow_stop leave a mark and return */
    bool go_on;
    bool stop;
    void *subject;
    void (*done)(struct flow *flow, void *subject, nod_status status);
};

void flow_start(struct flow *flow, const struct flow_table *table, const struct hooks *hooks,
                const char *first, void *subject,
                void (*done)(struct flow *flow, void *subject, nod_status status));
/* Puts it into a stage without entering it: flow_enter will, or flow_again. */
void flow_place(struct flow *flow, const struct flow_table *table, const struct hooks *hooks,
                const char *stage, void *subject,
                void (*done)(struct flow *flow, void *subject, nod_status status));
void flow_enter(struct flow *flow);
void flow_next(struct flow *flow);
void flow_stop(struct flow *flow, nod_status status);
/* On to a later stage; what lies between is skipped. */
void flow_jump(struct flow *flow, const char *stage);
/* The stage it waits in, once more: something has been learned. Hooks are not called again. */
void flow_again(struct flow *flow);
/* Where it is, for messages. */
const char *flow_stage(const struct flow *flow);

#endif
