/*
 * core/flow: a pipeline as a table of named stages.
 *
 * A stage does its work now or later, and then calls flow_next, or flow_stop with the status that
 * ends the flow. Hooks (core/hook.h) attach to each stage by name: before it, after it, instead of
 * it and around it. They may finish later, and end the flow. done() is called once, after the last
 * stage or after the flow was ended.
 *
 * A stage without hooks costs one look at an empty list, and no memory.
 */
#ifndef NOD_CORE_FLOW_H
#define NOD_CORE_FLOW_H

#include "core/hook.h"

struct fault;
struct flow;
struct run;

struct stage {
    const char *name;
    void (*run)(struct flow *flow, void *subject); /* NULL: it is there for hooks alone */
    bool needed;  /* what it does cannot be left out, nor done by a hook */
    bool replays; /* flow_again begins it anew, with its hooks */
};

struct flow_table {
    nod_flow id;
    const struct stage *stages;
    size_t count; /* FLOW_STAGES_MAX at most */
    /* Fills in what hooks may see of the subject. */
    void (*describe)(void *subject, struct hook_view *view);
    /* A hook writes a part of the subject, at this stage. On a refusal *why is a sentence, in the
     * arena or constant. */
    nod_status (*write)(void *subject, size_t stage, enum hook_field field, struct str text,
                        struct arena *arena, struct str *why);
    /* How the subject stands behind this stage, as an `around` is told; NULL: well. */
    nod_status (*stands)(void *subject);
    /* The subject is on its way to its end, and no hook is called any more. NULL: never. */
    bool (*halted)(void *subject);
    /* A hook finishes later: what was lent to the subject is copied. May be NULL. */
    void (*keep)(void *subject);
    /* A hook of a stage that replays has recorded something in this run, which is the subject's
     * from now on; flow_again follows when it is known. */
    void (*ask)(void *subject, struct run *run);
    /* A stage that replays is begun anew. May be NULL. */
    void (*anew)(void *subject);
};

enum flow_phase {
    FLOW_WILL,   /* hooks before the stage */
    FLOW_AROUND, /* hooks around it, from the outermost in */
    FLOW_STAGE,  /* the stage, or a hook instead */
    FLOW_UNWIND, /* hooks around it, from the innermost out */
    FLOW_DID,    /* hooks after it */
};

struct flow {
    const struct flow_table *table;
    struct hooks *hooks;
    size_t at;
    size_t next;
    nod_status status;
    bool firm;     /* hooks may look, and neither object nor change anything */
    bool stepping; /* inside a stage: flow_next and flow_stop leave a mark and return */
    bool go_on;
    bool stop;
    enum flow_phase phase;         /* of a stage that has hooks */
    nod_status ended;              /* by the stage, or by a hook around or instead of it */
    struct list *cursor;           /* the hook that was looked at last */
    struct nod_hook_run *frames;   /* hooks around this stage that have gone in, innermost first */
    struct nod_hook_run *awaited;  /* the hook that finishes later, or NULL */
    struct nod_hook_run *objected; /* the hook that ends the flow, or NULL */
    const struct fault *fault;     /* during done(): why */
    void *subject;
    void (*done)(struct flow *flow, void *subject, nod_status status);
};

void flow_start(struct flow *flow, const struct flow_table *table, struct hooks *hooks,
                const char *first, void *subject,
                void (*done)(struct flow *flow, void *subject, nod_status status));
/* Puts it into a stage without entering it: flow_enter will, or flow_again. */
void flow_place(struct flow *flow, const struct flow_table *table, struct hooks *hooks,
                const char *stage, void *subject,
                void (*done)(struct flow *flow, void *subject, nod_status status));
void flow_enter(struct flow *flow);
void flow_next(struct flow *flow);
void flow_stop(struct flow *flow, nod_status status);
/* On to a later stage; what lies between is skipped. */
void flow_jump(struct flow *flow, const char *stage);
/* The stage it waits in, once more: something has been learned. Its hooks are called again only
 * where the stage replays. */
void flow_again(struct flow *flow);
/* Its subject goes: hooks that have not finished find no flow any more. */
void flow_drop(struct flow *flow);
/* It waits for a hook. */
bool flow_awaits_hook(const struct flow *flow);
/* During done(): why a hook has ended it, or NULL. The text lives until done() returns. */
const struct fault *flow_fault(const struct flow *flow);
/* Where it is, for messages. */
const char *flow_stage(const struct flow *flow);

/* For hook.c: a hook that was to finish later has. */
void flow_hook_done(struct flow *flow, struct nod_hook_run *hook, nod_status status);

#endif
