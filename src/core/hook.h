/*
 * core/hook: what is called at the stages of a flow.
 *
 * A hook is called before a stage (will), after it (did), instead of it (stage) or around it, in
 * order of priority, and in order of registration where that is the same. Each time it is called
 * it has a run of its own, which says what it may look at and takes what it writes.
 *
 * A hook returns NOD_OK: the flow goes on. An error: the flow ends with it. NOD_PENDING: it
 * finishes later (hook_done), it goes on around the stage (hook_next), or, at a stage that replays,
 * it has recorded something that a person has to answer: then the stage is begun anew when that is
 * known, as a handler is.
 *
 * Holds always: a run lives until its hook has finished, also when its flow is gone before. A hook
 * that does not finish in its time ends the flow, and is not waited for.
 */
#ifndef NOD_CORE_HOOK_H
#define NOD_CORE_HOOK_H

#include <nod/nod.h>

#include "base/arena.h"
#include "base/list.h"
#include "core/record.h"

struct engine;
struct fault;
struct flow;
struct flow_table;
struct run;
struct target;

enum {
    HOOKS_MAX = 256,                   /* of one server */
    HOOK_NAME_MAX = 64,                /* bytes of a hook's name */
    HOOK_FILTER_MAX = 1024,            /* bytes of a pattern that a hook is filtered by */
    HOOK_RUN_BYTES = 16 * 1024 * 1024, /* memory of one call of a hook */
    HOOK_TIMEOUT_MS = 60000,           /* a hook finishes within that, if it says nothing */
    FLOW_COUNT = NOD_FLOW_ANSWER + 1,  /* pipelines */
    FLOW_STAGES_MAX = 6,               /* stages of one of them */
};

/* What a hook may see. What does not apply, or is not known yet, is empty. */
struct hook_view {
    struct str call_id, target, principal, uri;
    struct str args; /* JSON */
    struct str ask_id, ask_key, message;
    nod_ask_kind kind; /* NOD_ASK_ANY: not known */
    enum ask_state action;
    struct str content;              /* JSON; of an answer that accepts */
    const struct json *content_tree; /* the same, where there is no text of it yet */
    bool ended;                      /* the call has an outcome: */
    nod_status status;
    struct str result; /* JSON */
    struct str error;  /* a sentence */
};

/* What a hook may write, where its stage allows it. */
enum hook_field { HOOK_ARGS, HOOK_MESSAGE, HOOK_CONTENT, HOOK_RESULT };

struct hook_spec {
    const struct flow_table *table;
    const char *stage;
    nod_hook_kind kind;
    int priority; /* lower runs first */
    struct str name;
    struct str target, principal; /* patterns with * and ?; empty: any */
    nod_ask_kind ask;
    int64_t timeout_ms; /* 0: HOOK_TIMEOUT_MS */
    /* Further than the patterns; may be NULL. */
    bool (*wants)(const void *subject);
    nod_status (*fn)(struct nod_hook_run *hook, void *data);
    /* Its run ends; may be NULL. */
    void (*over)(struct nod_hook_run *hook, void *data);
    /* It will not be called any more; may be NULL. */
    void (*released)(void *data);
    void *data;
};

struct hooks {
    struct engine *engine;
    struct list stages[FLOW_COUNT][FLOW_STAGES_MAX]; /* struct hook, in order */
    struct list runs;                                /* that have not ended */
    size_t count;
};

void hooks_init(struct hooks *hooks, struct engine *engine);
void hooks_finish(struct hooks *hooks);
/* NOD_E_NOT_FOUND: no such stage. NOD_E_NOT_SUPPORTED: this stage cannot be replaced. NOD_E_USAGE,
 * NOD_E_LIMIT. */
nod_status hooks_add(struct hooks *hooks, const struct hook_spec *spec);

/* --- for hooks, while they run --- */

nod_flow hook_flow(const struct nod_hook_run *hook);
const char *hook_stage(const struct nod_hook_run *hook);
/* False: there is nothing to see any more. */
bool hook_look(const struct nod_hook_run *hook, struct hook_view *view);
nod_status hook_write(struct nod_hook_run *hook, enum hook_field field, struct str text);
/* Says why it ends the flow, and gives the status back. Code and message are copied. */
nod_status hook_fail(struct nod_hook_run *hook, nod_status status, const char *code,
                     struct str message);
/* The same with all that a run said of it, whose text lives as long as the hook's. */
nod_status hook_fail_as(struct nod_hook_run *hook, const struct fault *fault);
/* Goes in, when its function has returned NOD_PENDING; then() follows when the rest is done. */
nod_status hook_next(struct nod_hook_run *hook, nod_hook_then *then, void *data);
/* After NOD_PENDING: its end, once. The run may be gone after this. */
void hook_done(struct nod_hook_run *hook, nod_status status);
/* At a stage that replays: a run to ask with, under keys of its own. NULL elsewhere. */
struct run *hook_run(struct nod_hook_run *hook);
/* Of a call that is still there; otherwise NULL. */
const struct target *hook_target(const struct nod_hook_run *hook);
/* What hook_fail said last. */
const struct fault *hook_fault(const struct nod_hook_run *hook);

/* Whoever registered it may keep something with its run. */
void **hook_face(struct nod_hook_run *hook);
struct arena *hook_arena(struct nod_hook_run *hook);
#endif
