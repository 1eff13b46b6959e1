/*
 * provider/hook: hooks that are C functions, as in nod.h.
 *
 * The core calls them and decides what follows (core/hook.h, core/flow.c). This file adds a
 * nod_call to build values with and, at the gate, to ask with; C strings and trees instead of
 * slices; and a way in from other threads. A hook at the gate is judged like a handler: a
 * NOD_PENDING that it did not pass on still counts, and a mistake that was recorded ends the flow.
 *
 * What another thread sends is posted to the loop. There it finds the hook's run, or that there are
 * no hooks any more. A run is freed only on the loop.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/mem.h"
#include "core/engine.h"
#include "provider/at_work.h"
#include "provider/local_inside.h"

enum {
    HOOK_SENTENCE_MAX = 2048, /* bytes of why a hook ends a flow */
};

struct hooks_alive { /* shared by the provider and by posts on their way */
    atomic_uint refs;
    bool gone; /* loop thread */
};

struct local_hook {
    struct local *local;
    struct local_set *set; /* that it belongs to; NULL: it is the program's */
    const struct hooks *hooks;
    nod_hook_fn *fn;
    void *data;
    char name[HOOK_NAME_MAX + 1]; /* empty: it has none */
};

struct face { /* what belongs to a hook's run */
    const struct local_hook *hook;
    pthread_t thread;
    bool inside; /* true on that thread, inside the hook's function */
    bool went_in;
    bool holds; /* the loop is kept running: something may come from another thread */
    nod_hook_then *then;
    void *then_data;
    bool called; /* `call` is there */
    struct nod_call call;
    struct run light;           /* the run, if nothing is asked */
    struct local_target target; /* the target, if the call's own is not a handler, or not in hand */
    struct target *held;        /* the call's own, while it is in hand; or NULL */
};

/* --- life --- */

static void alive_drop(struct hooks_alive *alive)
{
    if (atomic_fetch_sub(&alive->refs, 1) == 1)
        mem_free(alive);
}

void local_hooks_init(struct local *local)
{
    local->hooks_alive = MEM_NEW(struct hooks_alive);
    atomic_init(&local->hooks_alive->refs, 1);
}

void local_hooks_finish(struct local *local)
{
    local->hooks_alive->gone = true;
    alive_drop(local->hooks_alive);
}

static void hook_released(void *data)
{
    struct local_hook *hook = data;

    if (hook->hooks
            ->ending) /* with the runs that have not ended, which posts may be on their way to */
        hook->local->hooks_alive->gone = true;
    set_let_go(hook->set);
    mem_free(hook);
}

static struct face *face_of(nod_hook_run *hook)
{
    return *hook_face(hook);
}

/* While a hook has not finished, the loop has something to wait for. */
static void hold(struct face *face, bool on)
{
    struct loop *loop = face->hook->local->loop;

    if (face->holds == on)
        return;
    face->holds = on;
    if (on)
        loop_hold(loop);
    else
        loop_release(loop);
}

/* Its target, for what is done with the call from here on. It may have been replaced while the hook
 * was around a stage in which the call waits. */
static void face_takes_target(nod_hook_run *hook, struct face *face)
{
    const struct target *target = hook_target(hook);
    struct run *run = face->call.run;

    if (face->held)
        return;
    if (target && target->provider == &face->hook->local->provider) {
        face->held = (struct target *)(uintptr_t)target;
        target_hold(face->held);
        face->call.target = (const struct local_target *)(const void *)target;
    } else { /* it belongs to another provider, or is not known */
        struct hook_view view;
        hook_look(hook, &view);
        face->target.base =
            (struct target){ .kind = target ? target->kind : TARGET_TOOL,
                             .name = arena_str(hook_arena(hook), view.target),
                             .title =
                                 arena_str(hook_arena(hook), target ? target->title : STR_NONE) };
        face->call.target = &face->target;
    }
    if (!run->target || run == &face->light)
        run->target = target ? target : &face->target.base;
}

static void face_leaves_target(struct face *face)
{
    if (!face->held)
        return;
    face->call.target = &face->target;
    if (face->call.run == &face->light)
        face->light.target = &face->target.base;
    target_release(face->held);
    face->held = NULL;
}

static void hook_over(struct nod_hook_run *hook, void *data)
{
    struct face *face = face_of(hook);

    (void)data;
    if (!face)
        return;
    hold(face, false);
    face_leaves_target(face);
    if (face->called) {
        handler_defers(&face->call);
        handler_finish(&face->call);
        if (face->call.run == &face->light)
            arena_finish(&face->light.arena);
    }
    mem_free(face);
}

/* --- what the hook did --- */

static nod_status judge_call(nod_hook_run *hook, nod_status status)
{
    struct face *face = face_of(hook);
    nod_call *call = &face->call;
    struct run *run = call->run;

    if (run->wanted && !call->awaited && !run->bug.at)
        run_bug(run, "A hook at gate calls nod_want, but returned without nod_await");
    if (run->bug.at)
        return hook_fail(hook, NOD_E_USAGE, NULL, run->bug);
    if (call->broken != NOD_OK)
        status = call->broken;
    else if (run->arena.exhausted && !run->step_done)
        return hook_fail(hook, NOD_E_LIMIT, NULL,
                         STR("A hook has used up the memory that one run may have"));
    else if (call->stopped)
        return NOD_PENDING;
    if (status < NOD_PENDING && hook_fault(hook)->status != status && run->fault.status == status)
        hook_fail_as(hook, &run->fault);
    return status;
}

static nod_status judge(nod_hook_run *hook, nod_status status)
{
    struct face *face = face_of(hook);
    bool goes_in = face->went_in;

    face->inside = face->went_in = false;
    if (face->called)
        status = judge_call(hook, status);
    hold(face, status == NOD_PENDING && !goes_in);
    if (goes_in)
        face_leaves_target(face);
    return status;
}

static void enter(struct face *face)
{
    face->thread = pthread_self();
    face->inside = true;
}

/* A hook reads C strings, which end at a NUL: it would judge another text than the one that a
 * target of another provider is given. What it is told when the call has ended changes nothing any
 * more. */
static bool args_hide_text(struct nod_hook_run *hook, const struct hook_view *view)
{
    if (view->ended || !view->args.len || !memmem(view->args.at, view->args.len, "\\u0000", 6))
        return false;
    return json_has_nul(json_parse(hook_arena(hook), view->args, NULL, NULL));
}

/* The last line of a process that dies in it (provider/at_work.h). */
static struct at_work hook_at_work(struct nod_hook_run *hook, const struct hook_view *view)
{
    struct face *face = face_of(hook);

    return at_work_enter((struct at_work){ .call = face->called ? &face->call : NULL,
                                           .plugin = set_from(face->hook->set),
                                           .hook = str_of(face->hook->name),
                                           .stage = hook_stage(hook),
                                           .target = view->target,
                                           .call_id = view->call_id });
}

static nod_status hook_runs(struct nod_hook_run *hook, void *data)
{
    const struct local_hook *mine = data;
    struct face *face = MEM_NEW(struct face);
    struct hook_view view;

    face->hook = mine;
    *hook_face(hook) = face;
    enter(face);
    hook_look(hook, &view);
    struct at_work before = hook_at_work(hook, &view);
    nod_status status =
        args_hide_text(hook, &view)
            ? hook_fail(hook, NOD_E_INVALID, NULL,
                        STR("The arguments have a NUL character in them, which no hook can read"))
            : mine->fn(hook, mine->data);
    at_work_leave(before);
    return judge(hook, status);
}

static nod_status then_runs(nod_hook_run *hook, nod_status status, void *data)
{
    struct face *face = data;
    struct hook_view view;

    enter(face);
    if (face->called)
        face_takes_target(hook, face);
    hook_look(hook, &view);
    struct at_work before = hook_at_work(hook, &view);
    status = face->then(hook, status, face->then_data);
    at_work_leave(before);
    return judge(hook, status);
}

nod_status local_add_hook(struct local *local, struct hooks *hooks,
                          const struct nod_hook_opts *given)
{
    struct nod_hook_opts opts;
    struct local_hook *hook = MEM_NEW(struct local_hook);
    struct local_set *set = local->staging;

    OPTS_READ(opts, given);
    *hook = (struct local_hook){
        .local = local, .set = set, .hooks = hooks, .fn = opts.fn, .data = opts.data
    };
    snprintf(hook->name, sizeof(hook->name), "%s", opts.name ? opts.name : "");
    const struct flow_table *table = engine_flow(opts.flow);
    nod_status status = !table ? NOD_E_USAGE
                               : hooks_add(hooks, &(struct hook_spec){
                                                      .owner = set ? (void *)set : local,
                                                      .from = set_from(set),
                                                      .staged = set != NULL,
                                                      .leaves = set != NULL,
                                                      .table = table,
                                                      .stage = opts.stage,
                                                      .kind = opts.kind,
                                                      .priority = opts.priority,
                                                      .name = str_of(opts.name),
                                                      .target = str_of(opts.target),
                                                      .principal = str_of(opts.principal),
                                                      .ask = opts.ask,
                                                      .timeout_ms = opts.timeout_ms,
                                                      .fn = opts.fn ? hook_runs : NULL,
                                                      .over = hook_over,
                                                      .released = hook_released,
                                                      .data = hook,
                                                  });
    if (status == NOD_OK) {
        set_hold(set);
        return NOD_OK;
    }
    set_refuse(set, "hook", opts.name, status);
    mem_free(hook);
    return status;
}

bool local_remove_hook(struct local *local, struct hooks *hooks, struct str name)
{
    if (local->staging && hooks_remove(hooks, local->staging, name))
        return true;
    return !register_keeps(local, "hook", name) &&
           (set_remove_hook(local, hooks, name) || hooks_remove(hooks, local, name));
}

/* --- the call as a handler sees it --- */

static void emit_nothing(struct run *run, const struct notice *notice)
{
    (void)run;
    (void)notice;
}

nod_call *nod_hook_call(nod_hook_run *hook)
{
    struct face *face = face_of(hook);
    struct local *local = face->hook->local;
    struct hook_view view;

    if (face->called)
        return &face->call;
    hook_look(hook, &view);
    struct run *run = hook_run(hook);
    if (!run) {
        struct arena *arena = &face->light.arena;
        run = &face->light;
        arena_init(arena, HOOK_RUN_BYTES);
        run->call_id = arena_str(arena, view.call_id);
        run->principal = arena_str(arena, view.principal);
        run->uri = arena_str(arena, view.uri);
        run->args = view.args.len ? json_parse(arena, arena_str(arena, view.args), NULL, NULL)
                                  : json_new_object(arena);
        run->emit = emit_nothing;
    }
    local_call_init(&face->call, local, run);
    face->called = true;
    face_takes_target(hook, face);
    if (face->inside)
        handler_enter(&face->call);
    if (run == &face->light)
        face->call.mute = "a hook that is not at gate";
    else if (!face->hook->name[0])
        face->call.mute = "a hook that has no .name, which its keys are made of";
    return &face->call;
}

/* --- looking --- */

static const char *text_of(nod_hook_run *hook, struct str text)
{
    const char *copy = text.len ? arena_str(hook_arena(hook), text).at : NULL;

    return copy ? copy : "";
}

static struct hook_view look(nod_hook_run *hook)
{
    struct hook_view view;

    hook_look(hook, &view);
    return view;
}

nod_flow nod_hook_flow(const nod_hook_run *hook)
{
    return hook_flow(hook);
}

const char *nod_hook_stage(const nod_hook_run *hook)
{
    return hook_stage(hook);
}

const char *nod_hook_call_id(nod_hook_run *hook)
{
    return text_of(hook, look(hook).call_id);
}

const char *nod_hook_target(nod_hook_run *hook)
{
    return text_of(hook, look(hook).target);
}

const char *nod_hook_principal(nod_hook_run *hook)
{
    return text_of(hook, look(hook).principal);
}

const char *nod_hook_ask_id(nod_hook_run *hook)
{
    return text_of(hook, look(hook).ask_id);
}

const char *nod_hook_ask_key(nod_hook_run *hook)
{
    return text_of(hook, look(hook).ask_key);
}

nod_ask_kind nod_hook_ask_kind(nod_hook_run *hook)
{
    return look(hook).kind;
}

const char *nod_hook_message(nod_hook_run *hook)
{
    return text_of(hook, look(hook).message);
}

const char *nod_hook_action(nod_hook_run *hook)
{
    struct hook_view view = look(hook);

    return view.action == ASK_PENDING ? "" : ask_state_name(view.action).at;
}

nod_status nod_hook_status(nod_hook_run *hook)
{
    struct hook_view view = look(hook);

    return view.ended ? view.status : NOD_PENDING;
}

const char *nod_hook_error(nod_hook_run *hook)
{
    return text_of(hook, look(hook).error);
}

static const nod_json *tree_of(nod_hook_run *hook, struct str text)
{
    return text.len ? json_out(call_parse(nod_hook_call(hook), text)) : NULL;
}

const nod_json *nod_hook_args(nod_hook_run *hook)
{
    return tree_of(hook, look(hook).args);
}

const nod_json *nod_hook_content(nod_hook_run *hook)
{
    struct hook_view view = look(hook);

    if (view.content_tree)
        view.content = call_json(nod_hook_call(hook), view.content_tree);
    return tree_of(hook, view.content);
}

const nod_json *nod_hook_result(nod_hook_run *hook)
{
    return tree_of(hook, look(hook).result);
}

/* --- writing --- */

static nod_status write_tree(nod_hook_run *hook, enum hook_field field, const nod_json *value)
{
    nod_call *call = nod_hook_call(hook);

    if (!value)
        return hook_fail(hook, NOD_E_USAGE, NULL, STR("There is no value to write"));
    return hook_write(hook, field, call_json(call, json_in(value)));
}

nod_status nod_hook_set_args(nod_hook_run *hook, const nod_json *args)
{
    return write_tree(hook, HOOK_ARGS, args);
}

nod_status nod_hook_set_message(nod_hook_run *hook, const char *message)
{
    return hook_write(hook, HOOK_MESSAGE, call_text(nod_hook_call(hook), message));
}

nod_status nod_hook_set_content(nod_hook_run *hook, const nod_json *content)
{
    return write_tree(hook, HOOK_CONTENT, content);
}

nod_status nod_hook_set_result(nod_hook_run *hook, const nod_json *result)
{
    nod_call *call = nod_hook_call(hook);
    struct str body;

    if (result)
        return write_tree(hook, HOOK_RESULT, result);
    nod_status status = reply_close(call, &body);
    status = status == NOD_OK ? hook_write(hook, HOOK_RESULT, body)
                              : hook_fail_as(hook, &call->run->fault);
    handler_finish(call);
    reply_init(&call->reply);
    return status;
}

nod_status nod_hook_fail(nod_hook_run *hook, nod_status status, const char *code,
                         const char *format, ...)
{
    char sentence[HOOK_SENTENCE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    return hook_fail(hook, status, code, text_clean(hook_arena(hook), str_of(sentence)));
}

/* --- going in, and finishing later --- */

struct post { /* from any thread to the loop */
    struct hooks_alive *alive;
    nod_hook_run *hook;
    nod_status status;
    bool next; /* go in around the stage; otherwise the hook's end */
};

static nod_status go_in(nod_hook_run *hook)
{
    struct face *face = face_of(hook);

    face->went_in = face->inside;
    return hook_next(hook, face->then ? then_runs : NULL, face);
}

static void post_arrives(void *data)
{
    struct post *post = data;

    if (!post->alive->gone) {
        hold(face_of(post->hook), false);
        if (post->next)
            go_in(post->hook);
        else
            hook_done(post->hook, post->status);
    }
    alive_drop(post->alive);
    mem_free(post);
}

static void send(nod_hook_run *hook, bool next, nod_status status)
{
    struct local *local = face_of(hook)->hook->local;
    struct post *post = MEM_NEW(struct post);

    *post =
        (struct post){ .alive = local->hooks_alive, .hook = hook, .status = status, .next = next };
    atomic_fetch_add(&post->alive->refs, 1);
    loop_post(local->loop, post_arrives, post);
}

nod_status nod_hook_next(nod_hook_run *hook, nod_hook_then *then, void *data)
{
    struct face *face = face_of(hook);

    face->then = then;
    face->then_data = data;
    if (pthread_equal(face->thread, pthread_self()) && face->inside)
        return go_in(hook);
    send(hook, true, NOD_OK);
    return NOD_PENDING;
}

void nod_hook_done(nod_hook_run *hook, nod_status status)
{
    send(hook, false, status);
}
