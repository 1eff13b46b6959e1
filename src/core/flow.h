/*
 * core/flow: a pipeline as a table of named stages.
 *
 * A stage does its work now or later. Then it calls flow_next, or flow_stop with the status that
 * ends the flow. Hooks (core/hook.h) attach to each stage by name: before it, after it, instead of
 * it and around it. They may finish later, and may end the flow. done() is called once, after the
 * last stage or when the flow was ended.
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
    void (*run)(struct flow *flow, void *subject); /* NULL: the stage is there for hooks alone */
    bool needed;                                   /* a hook can neither replace nor skip it */
    bool replays;                                  /* flow_again begins it anew, with its hooks */
};

struct flow_table {
    nod_flow id;
    const struct stage *stages;
    size_t count; /* FLOW_STAGES_MAX at most */
    /* Fills in what hooks may see of the subject. */
    void (*describe)(void *subject, struct hook_view *view);
    /* A hook writes a part of the subject, at this stage. If that is refused, *why is a sentence,
     * in the arena or constant. */
    nod_status (*write)(void *subject, size_t stage, enum hook_field field, struct str text,
                        struct arena *arena, struct str *why);
    /* The status of the subject after this stage, as an `around` hook is told; NULL: NOD_OK. */
    nod_status (*stands)(void *subject);
    /* The subject is on its way to its end, and no more hooks are called. NULL: never. */
    bool (*halted)(void *subject);
    /* A part of nod itself, which no hook sees. NULL: never. */
    bool (*unhooked)(const void *subject);
    /* A hook finishes later: what was lent to the subject must be copied. May be NULL. */
    void (*keep)(void *subject);
    /* A hook of a stage that replays has recorded something in this run, which belongs to the
     * subject from now on. flow_again follows when the answer is known. */
    void (*ask)(void *subject, struct run *run);
    /* A hook of a stage that replays has ended well, with what it was told in this run. May be
     * NULL. */
    void (*heard)(void *subject, const struct run *run);
    /* A stage that replays is begun anew. May be NULL. */
    void (*anew)(void *subject);
    /* The flow has ended. */
    void (*done)(struct flow *flow, void *subject, nod_status status);
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
    uint8_t at; /* the stage; FLOW_STAGES_MAX at most, as the next one */
    uint8_t next;
    uint8_t phase; /* enum flow_phase, of a stage that has hooks */
    bool firm;     /* hooks are shown what happens, but can neither object nor change it */
    bool stepping; /* a stage is on the stack: flow_next and flow_stop only leave a mark */
    bool go_on;
    bool stop;
    nod_status status;
    nod_status ended; /* by the stage, or by a hook around or instead of it */
    union {
        struct list *cursor;       /* the hook that was looked at last */
        const struct fault *fault; /* during done(): why */
    };
    struct nod_hook_run *frames;   /* hooks around this stage that went in, innermost first */
    struct nod_hook_run *awaited;  /* the hook that finishes later, or NULL */
    struct nod_hook_run *objected; /* the hook that ends the flow, or NULL */
    void *subject;
};

void flow_start(struct flow *flow, const struct flow_table *table, struct hooks *hooks,
                const char *first, void *subject);
/* Puts the flow into a stage without entering it; flow_enter or flow_again does that. */
void flow_place(struct flow *flow, const struct flow_table *table, struct hooks *hooks,
                const char *stage, void *subject);
void flow_enter(struct flow *flow);
void flow_next(struct flow *flow);
void flow_stop(struct flow *flow, nod_status status);
/* Goes to a later stage; the stages between are skipped. */
void flow_jump(struct flow *flow, const char *stage);
/* Enters the stage it waits in once more: something was learned. The stage's hooks are called again
 * only if it replays. */
void flow_again(struct flow *flow);
/* The subject goes away: hooks that finish later find no flow. */
void flow_drop(struct flow *flow);
/* It waits for a hook. */
bool flow_awaits_hook(const struct flow *flow);
/* During done(): why a hook has ended it, or NULL. The text lives until done() returns. */
const struct fault *flow_fault(const struct flow *flow);
/* The name of its current stage, for messages. */
const char *flow_stage(const struct flow *flow);

/* For hook.c: a hook that was to finish later has finished. */
void flow_hook_done(struct flow *flow, struct nod_hook_run *hook, nod_status status);

#endif
