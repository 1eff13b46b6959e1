/*
 * core/flow: steps through a table of stages, and calls the hooks of each.
 *
 *     will ▶ around, from the outermost in ▶ stage ▶ around, from the innermost out ▶ did
 *
 * A stage or hook that ends at once returns into the loop of flow_enter, so a long pipeline costs
 * no stack. A stage that ends later comes back through flow_next, flow_jump or flow_stop, a hook
 * through flow_hook_done. After done() has been called the flow is not touched again: its owner may
 * have freed it.
 *
 * An error of the stage, or of a hook around it or instead of it, is shown to the outer hooks on
 * its way out. They may turn it into another error, but never into a success. A firm flow (the
 * engine's own word, such as an expiry) shows its hooks what happens, and ignores what they return.
 */
#include "core/flow.h"

#include "core/hook_inside.h"

static bool stage_find(const struct flow_table *table, const char *name, uint8_t *out)
{
    for (uint8_t i = 0; i < table->count; i++) {
        if (strcmp(table->stages[i].name, name) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static inline uint8_t stage_after(const struct flow *flow)
{
    return (uint8_t)(flow->at + 1);
}

static inline struct list *hooks_here(const struct flow *flow)
{
    return &flow->hooks->stages[flow->table->id][flow->at];
}

static inline bool hooked(const struct flow *flow)
{
    return !list_empty(hooks_here(flow)) && /* mostly it is empty */
           !(flow->table->unhooked && flow->table->unhooked(flow->subject));
}

static void frames_drop(struct flow *flow)
{
    while (flow->frames) {
        struct nod_hook_run *frame = flow->frames;
        flow->frames = frame->outer;
        hook_leave(frame);
    }
    if (flow->awaited)
        hook_leave(flow->awaited);
    flow->awaited = NULL;
}

void flow_drop(struct flow *flow)
{
    frames_drop(flow);
    hook_run_free(flow->objected);
    flow->objected = NULL;
}

static void flow_end(struct flow *flow, nod_status status)
{
    struct nod_hook_run *objected = flow->objected;

    frames_drop(flow);
    flow->status = status;
    flow->objected = NULL;
    flow->fault = objected && objected->fault.status == status ? &objected->fault : NULL;
    flow->table->done(flow, flow->subject, status);
    hook_run_free(objected);
}

/* Inside a stage, flow_next and flow_stop only leave a mark. So the subject is still there when the
 * stage returns. */
static inline void stage_run(struct flow *flow, const struct stage *stage)
{
    flow->stepping = true;
    flow->go_on = flow->stop = false;
    stage->run(flow, flow->subject);
    flow->stepping = false;
}

/* The stage has returned. True: it is over, in FLOW_UNWIND. False: it finishes later. */
static bool stage_returned(struct flow *flow)
{
    if (flow->stop)
        flow->ended = flow->status;
    if (!flow->stop && !flow->go_on)
        return false;
    flow->phase = FLOW_UNWIND;
    return true;
}

/* --- a stage that has hooks --- */

static void hooked_begin(struct flow *flow)
{
    flow->phase = FLOW_WILL;
    flow->cursor = hooks_here(flow);
    flow->ended = NOD_OK;
    flow->next = stage_after(flow);
}

static void objects(struct flow *flow, struct nod_hook_run *hook, nod_status status)
{
    hook_run_free(flow->objected);
    flow->objected = hook;
    flow->ended = status;
}

static bool hook_pends(struct flow *flow, struct nod_hook_run *hook)
{
    if (hook->run && (hook->run->news.asks || hook->run->step_done)) {
        /* A hook has recorded something in its run: the stage is begun anew when that is known.
         * If the question is refused at once, the stage is over. */
        struct run *run = hook->run;

        hook->run = NULL;
        hook_leave(hook);
        frames_drop(flow);
        flow->phase = FLOW_STAGE;
        flow->stepping = true;
        flow->go_on = flow->stop = false;
        flow->table->ask(flow->subject, run);
        flow->stepping = false;
        return stage_returned(flow);
    }
    if (hook->went_in && flow->phase == FLOW_AROUND) {
        hook->outer = flow->frames;
        flow->frames = hook;
        return true;
    }
    hook_await(hook);
    flow->awaited = hook;
    if (flow->table->keep)
        flow->table->keep(flow->subject);
    return false;
}

/* A hook around the stage ended without an error and did not go in: the stage is left out. */
static void stage_left_out(struct flow *flow, struct nod_hook_run *hook)
{
    const struct stage *stage = &flow->table->stages[flow->at];

    if (stage->needed) {
        struct str why = arena_fmt(&hook->arena,
                                   "The hook " STR_FMT " left out the stage %s, which cannot be "
                                   "left out: it has to call nod_hook_next",
                                   STR_ARG(hook->hook->spec.name), stage->name);
        objects(flow, hook, hook_fail(hook, NOD_E_USAGE, NULL, why));
    } else {
        hook_run_free(hook);
    }
}

/* True: go on with the stage. False: it waits for the hook, or the flow has ended. */
static bool hook_turned(struct flow *flow, struct nod_hook_run *hook, nod_status status)
{
    enum flow_phase phase = flow->phase;

    if (flow->firm) {
        hook->later = status == NOD_PENDING; /* it was shown what happens: no result counts */
        hook_leave(hook);
        return true;
    }
    if (phase == FLOW_AROUND && hook->went_in && status == NOD_OK)
        status = NOD_PENDING;
    if (status == NOD_PENDING)
        return hook_pends(flow, hook);
    if (hook->run && status == NOD_OK && flow->table->heard)
        flow->table->heard(flow->subject, hook->run);
    if (phase == FLOW_AROUND || phase == FLOW_STAGE)
        flow->phase = FLOW_UNWIND;
    if (phase == FLOW_UNWIND && status == hook->given)
        status = NOD_OK; /* no change */
    if (status != NOD_OK) {
        objects(flow, hook, status);
        if (phase != FLOW_WILL && phase != FLOW_DID)
            return true;
        flow_end(flow, status);
        return false;
    }
    if (phase == FLOW_AROUND)
        stage_left_out(flow, hook);
    else
        hook_run_free(hook);
    return true;
}

static bool flow_halted(const struct flow *flow)
{
    return flow->table->halted && flow->table->halted(flow->subject);
}

static bool hook_enters(struct flow *flow, struct hook *hook)
{
    if (flow_halted(flow))
        return false;
    struct nod_hook_run *run = hook_run_new(flow, hook);

    flow->cursor = &hook->link;
    return hook_turned(flow, run, hook_call(run));
}

/* Runs the stage itself. False: it finishes later. */
static bool stage_turn(struct flow *flow)
{
    const struct stage *stage = &flow->table->stages[flow->at];

    if (stage->run) {
        stage_run(flow, stage);
        return stage_returned(flow);
    }
    flow->phase = FLOW_UNWIND;
    return true;
}

/* Goes out through one more hook around the stage, or on to the hooks after it. */
static bool unwind(struct flow *flow)
{
    struct nod_hook_run *frame = flow->frames;

    if (!frame && flow->ended != NOD_OK) {
        flow_end(flow, flow->ended);
        return false;
    }
    if (!frame) {
        flow->phase = FLOW_DID;
        flow->cursor = hooks_here(flow);
        return true;
    }
    if (flow_halted(flow))
        return false;
    flow->frames = frame->outer;
    frame->given = flow->ended;
    if (frame->given == NOD_OK && flow->table->stands)
        frame->given = flow->table->stands(flow->subject);
    return hook_turned(flow, frame, hook_call_then(frame, frame->given));
}

/* True: the stage and all its hooks are done, and flow->next is the next stage. */
static bool hooked_work(struct flow *flow)
{
    static const nod_hook_kind kinds[] = { [FLOW_WILL] = NOD_WILL,
                                           [FLOW_AROUND] = NOD_AROUND,
                                           [FLOW_STAGE] = NOD_INSTEAD,
                                           [FLOW_DID] = NOD_DID };

    for (;;) {
        enum flow_phase phase = flow->phase;
        bool looks = phase == FLOW_WILL || phase == FLOW_DID;
        struct hook *hook = phase == FLOW_UNWIND || (flow->firm && !looks)
                                ? NULL
                                : hook_after(flow, flow->cursor, kinds[phase]);
        bool goes_on = true;

        if (hook) {
            goes_on = hook_enters(flow, hook);
        } else if (phase == FLOW_WILL || phase == FLOW_AROUND) {
            flow->phase++;
            flow->cursor = hooks_here(flow);
        } else if (phase == FLOW_STAGE) {
            goes_on = stage_turn(flow);
        } else if (phase == FLOW_UNWIND) {
            goes_on = unwind(flow);
        } else {
            return true;
        }
        if (!goes_on)
            return false;
    }
}

/* --- stepping --- */

/* False: that was the last stage, and the flow has ended. */
static inline bool flow_on(struct flow *flow)
{
    flow->at = flow->next;
    if (flow->at < flow->table->count)
        return true;
    flow_end(flow, NOD_OK);
    return false;
}

/* Runs stages for as long as they end at once. done() is the last thing that happens. */
void flow_enter(struct flow *flow)
{
    do {
        const struct stage *stage = &flow->table->stages[flow->at];
        if (hooked(flow)) {
            hooked_begin(flow);
            if (!hooked_work(flow))
                return;
            continue;
        }
        flow->next = stage_after(flow);
        if (!stage->run)
            continue;
        stage_run(flow, stage);
        if (flow->stop) {
            flow_end(flow, flow->status);
            return;
        }
        if (!flow->go_on)
            return; /* the stage will finish later */
    } while (flow_on(flow));
}

void flow_place(struct flow *flow, const struct flow_table *table, struct hooks *hooks,
                const char *stage, void *subject)
{
    flow_drop(flow);
    *flow = (struct flow){ .table = table, .hooks = hooks, .subject = subject };
    if (stage)
        stage_find(table, stage, &flow->at);
}

void flow_start(struct flow *flow, const struct flow_table *table, struct hooks *hooks,
                const char *first, void *subject)
{
    flow_place(flow, table, hooks, first, subject);
    flow_enter(flow);
}

/* Goes on with a stage that has hooks. */
static void hooked_go_on(struct flow *flow)
{
    if (hooked_work(flow) && flow_on(flow))
        flow_enter(flow);
}

static void flow_advance(struct flow *flow, uint8_t next)
{
    flow->next = next;
    if (flow->stepping) {
        flow->go_on = true;
        return;
    }
    if (flow->awaited) /* the flow no longer waits for this hook */
        frames_drop(flow);
    if (hooked(flow)) {
        flow->ended = NOD_OK;
        flow->phase = FLOW_UNWIND;
        hooked_go_on(flow);
    } else if (flow_on(flow)) {
        flow_enter(flow);
    }
}

void flow_next(struct flow *flow)
{
    flow_advance(flow, stage_after(flow));
}

void flow_jump(struct flow *flow, const char *stage)
{
    const struct flow_table *table = flow->table;
    uint8_t next = stage_after(flow);

    if (next >= table->count || strcmp(table->stages[next].name, stage) != 0)
        stage_find(table, stage, &next); /* mostly it is the next one */
    flow_advance(flow, next);
}

void flow_stop(struct flow *flow, nod_status status)
{
    if (flow->stepping) {
        flow->stop = true;
        flow->status = status;
        return;
    }
    if (!flow->frames) {
        flow_end(flow, status);
        return;
    }
    flow->ended = status;
    flow->phase = FLOW_UNWIND;
    hooked_go_on(flow);
}

void flow_again(struct flow *flow)
{
    const struct stage *stage = &flow->table->stages[flow->at];

    if (stage->replays && hooked(flow)) {
        frames_drop(flow);
        if (flow->table->anew)
            flow->table->anew(flow->subject);
        hooked_begin(flow);
        hooked_go_on(flow);
        return;
    }
    flow->next = stage_after(flow);
    if (stage->run) {
        stage_run(flow, stage);
        if (flow->stop) {
            flow_stop(flow, flow->status);
            return;
        }
        if (!flow->go_on)
            return;
    }
    flow_advance(flow, flow->next);
}

void flow_hook_done(struct flow *flow, struct nod_hook_run *hook, nod_status status)
{
    flow->awaited = NULL;
    if (flow_halted(flow))
        hook_leave(hook);
    else if (hook_turned(flow, hook, status))
        hooked_go_on(flow);
}

bool flow_awaits_hook(const struct flow *flow)
{
    return flow->awaited;
}

const struct fault *flow_fault(const struct flow *flow)
{
    return flow->fault;
}

const char *flow_stage(const struct flow *flow)
{
    return flow->at < flow->table->count ? flow->table->stages[flow->at].name : "end";
}
