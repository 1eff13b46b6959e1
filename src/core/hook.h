/*
 * core/hook: what is called at the stages of a flow.
 *
 * A hook is called before a stage (will), after it (did), instead of it (stage) or around it
 * (around). Lower priorities come first; of equal ones, the hook that was registered first. Each
 * call of a hook has a run of its own, which shows the hook what it may see and takes what it
 * writes.
 *
 * What a hook returns decides how the flow goes on. NOD_OK: the flow goes on. An error: the flow
 * ends with it. NOD_PENDING: the hook finishes later (hook_done), goes in around the stage
 * (hook_next), or, at a stage that replays, has recorded a question for a person. In the last case
 * the stage is begun anew when the answer is known, as a handler is.
 *
 * Holds always: a run lives until its hook has finished, even if the flow is gone before. A hook
 * that does not finish in time ends the flow, and is not waited for.
 *
 * A hook belongs to whoever added it, who may remove it at any time, even while it runs. From then
 * on it is not called any more, also in flows that have begun. A run of it that is under way ends
 * as if the hook were still there: the flow waits for it, its then() is called, its time counts,
 * and what it says stands. So a rule that was about to refuse something still refuses it. But what
 * it has asked at a stage that replays decides nothing any more: when the answer comes, the stage
 * is begun anew without the hook.
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

/* What a hook may see. Fields that do not apply, or are not known yet, are empty. */
struct hook_view {
    struct str call_id, target, principal, uri;
    struct str args; /* JSON */
    struct str ask_id, ask_key, message;
    nod_ask_kind kind; /* NOD_ASK_ANY: not known */
    enum ask_state action;
    struct str content;              /* JSON; of an answer that accepts */
    const struct json *content_tree; /* the same as a tree, if there is no text of it yet */
    bool ended;                      /* the call has an outcome: status, and result or error */
    nod_status status;
    struct str result; /* JSON */
    struct str error;  /* a sentence */
};

/* What a hook may write, where its stage allows it. */
enum hook_field { HOOK_ARGS, HOOK_MESSAGE, HOOK_CONTENT, HOOK_RESULT };

struct hook_spec {
    const void *owner; /* who may remove it; NULL: nobody */
    const struct flow_table *table;
    const char *stage;
    nod_hook_kind kind;
    int priority; /* lower runs first */
    struct str name;
    struct str from;              /* whose it is, shown to people; empty: the program's */
    struct str target, principal; /* patterns with * and ?; empty: any */
    nod_ask_kind ask;
    int64_t timeout_ms; /* 0: HOOK_TIMEOUT_MS */
    /* Its place is taken, and it is not called until hooks_switch. Its name may be that of a hook
     * that it will replace. */
    bool staged;
    /* Once it is removed, no call that waits keeps a run of it: the call goes on at its gate, as it
     * would after a restart. */
    bool leaves;
    /* Beside the patterns, does it want this subject? May be NULL. */
    bool (*wants)(const void *subject);
    nod_status (*fn)(struct nod_hook_run *hook, void *data);
    /* The run of the hook ends; may be NULL. */
    void (*over)(struct nod_hook_run *hook, void *data);
    /* The hook was removed, or the engine ends, and no run of it is left; may be NULL. */
    void (*released)(void *data);
    void *data;
};

struct hooks_graves;

struct hooks {
    struct engine *engine;                           /* NULL until there is one */
    struct list stages[FLOW_COUNT][FLOW_STAGES_MAX]; /* struct hook, in order */
    struct list runs;                                /* that have not ended */
    size_t count;
    struct hooks_graves *graves; /* removed hooks are freed between two flows */
    bool ending;                 /* the engine is taken apart */
};

void hooks_init(struct hooks *hooks);
void hooks_finish(struct hooks *hooks);
/* NOD_E_NOT_FOUND: no such stage. NOD_E_NOT_SUPPORTED: this stage cannot be replaced. NOD_E_USAGE,
 * NOD_E_LIMIT. */
nod_status hooks_add(struct hooks *hooks, const struct hook_spec *spec);
/* Removes the hook of that name, or all of them. False, 0: the owner has none. */
bool hooks_remove(struct hooks *hooks, const void *owner, struct str name);
size_t hooks_remove_all(struct hooks *hooks, const void *owner);

/* The staged hooks of an owner are put in force, and those of another one go. Either may be NULL.
 */
struct hooks_change {
    const void *owner, *instead_of;
};
/* What keeps staged hooks from being put in force. The texts are lent. */
struct hooks_taken {
    nod_status status; /* NOD_E_USAGE: another hook has the name. NOD_E_LIMIT: too many */
    struct str name;   /* of the staged one */
    size_t at;         /* of its change; of NOD_E_LIMIT: the last one */
    struct str from;   /* whose the other one is; empty: the program's */
};
/* Can all of these changes be made? */
bool hooks_fit(const struct hooks *hooks, const struct hooks_change *changes, size_t count,
               struct hooks_taken *taken);
/* Makes them, which fit, in one step. A hook that has the name, the stage and the priority of one
 * that goes in the same change has its place. */
void hooks_switch(struct hooks *hooks, const struct hooks_change *changes, size_t count);
/* Has this flow a hook at any of its stages? */
bool hooks_any(const struct hooks *hooks, const struct flow_table *table);
/* Has it a hook, from its present stage on, that wants its subject, or may want it when more is
 * known? */
bool hooks_may_want(const struct flow *flow);

/* --- for hooks, while they run --- */

nod_flow hook_flow(const struct nod_hook_run *hook);
const char *hook_stage(const struct nod_hook_run *hook);
/* False: the flow is gone, and there is nothing to see. */
bool hook_look(const struct nod_hook_run *hook, struct hook_view *view);
nod_status hook_write(struct nod_hook_run *hook, enum hook_field field, struct str text);
/* Says why the hook ends the flow, and returns the status. Code and message are copied. */
nod_status hook_fail(struct nod_hook_run *hook, nod_status status, const char *code,
                     struct str message);
/* The same with everything that a run said of it. The texts must live as long as the hook's run. */
nod_status hook_fail_as(struct nod_hook_run *hook, const struct fault *fault);
/* Goes in around the stage when its function returns NOD_PENDING. then() is called afterwards. */
nod_status hook_next(struct nod_hook_run *hook, nod_hook_then *then, void *data);
/* Finishes a hook that returned NOD_PENDING, once. The run may be gone after this. */
void hook_done(struct nod_hook_run *hook, nod_status status);
/* At a stage that replays: a run to ask with, under keys of its own. NULL elsewhere. */
struct run *hook_run(struct nod_hook_run *hook);
/* The target of the call, if the call is still there; otherwise NULL. */
const struct target *hook_target(const struct nod_hook_run *hook);
/* What hook_fail said last. */
const struct fault *hook_fault(const struct nod_hook_run *hook);

/* A place where whoever registered the hook may keep something with its run. */
void **hook_face(struct nod_hook_run *hook);
struct arena *hook_arena(struct nod_hook_run *hook);
#endif
