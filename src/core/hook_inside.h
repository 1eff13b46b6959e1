/* core/hook_inside: what flow.c, hook.c and gate.c share. */
#ifndef NOD_CORE_HOOK_INSIDE_H
#define NOD_CORE_HOOK_INSIDE_H

#include "core/call_inside.h"

struct hook {
    struct list link; /* in hooks.stages */
    struct hook_spec spec;
    size_t stage;
    size_t runs;  /* that have not ended */
    bool removed; /* it is not called any more, and goes when no run of it is left */
    bool staged;  /* it is not called yet */
};

/* One call of one hook. */
struct nod_hook_run {
    struct list link; /* in hooks.runs */
    struct hooks *hooks;
    struct hook *hook;
    struct flow *flow;          /* NULL: the flow is gone, and nobody waits for this hook */
    struct nod_hook_run *outer; /* in flow.frames */
    struct arena arena;         /* for what the hook says and reads */
    struct due due;             /* when it has to be finished */
    struct fault fault;         /* why it ends the flow, if it does */
    struct run *run;            /* what it asks with, at a stage that replays; NULL: nothing */
    nod_hook_then *then;        /* with went_in; may be NULL */
    void *then_data;
    void *face;        /* hook_face */
    nod_status result; /* with finished */
    nod_status given;  /* the status that its then() was told */
    bool inside;       /* its function is on the stack */
    bool went_in;      /* hook_next was called */
    bool later;        /* its function returned NOD_PENDING, and it is waited for */
    bool finished;     /* hook_done was called */
};

/* The next hook of this kind after `from` that wants the flow's subject, or NULL. */
struct hook *hook_after(const struct flow *flow, const struct list *from, nod_hook_kind kind);
struct nod_hook_run *hook_run_new(struct flow *flow, struct hook *hook);
void hook_run_free(struct nod_hook_run *hook);
/* Calls it, or what it wants called when the rest is done. */
nod_status hook_call(struct nod_hook_run *hook);
nod_status hook_call_then(struct nod_hook_run *hook, nod_status status);
/* The hook finishes later: starts its clock. */
void hook_await(struct nod_hook_run *hook);
/* The call waits: if a hook around the stage that it has left was removed, and leaves, the call goes
 * on at its gate. */
void call_lets_hooks_go(struct call *call);
/* Nobody waits for the hook any more: its run is freed, now or when it has finished. */
void hook_leave(struct nod_hook_run *hook);

#endif
