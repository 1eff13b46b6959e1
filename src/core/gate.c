/*
 * core/gate: asking a person before a call starts.
 *
 * The stage gate has no work of its own: it is there for hooks, which may ask a person. What a hook
 * asks is recorded in a run, under keys of its own, and is parked like the questions of a handler.
 * When it is answered, the stage is begun anew, here or on another node: all its hooks are called
 * again, with a longer journal. So a hook at the gate follows the rules of handlers.
 *
 * nod's own hook asks for the confirmation that a target requires. It runs instead of the stage,
 * with the lowest priority. A program that adds another hook instead of the stage, or skips the
 * stage from around it, is itself responsible for that confirmation. If the confirmation may be
 * remembered (core/grant.h), the question names its tool path, and grants may answer it.
 *
 * Holds always: a person's no counts. A hook may be gone when its question is answered: it was
 * removed, or is not there after a restart. Or it does not ask any more. A no that no hook of the
 * gate has taken note of ends the call, as a confirmation that is declined does.
 */
#include "core/grant_inside.h"

#include <limits.h>

#include "base/mem.h"
#include "core/hook_inside.h"
#include "core/run_inside.h"

/* --- a run for a hook to ask with --- */

struct run *hook_run(struct nod_hook_run *hook)
{
    struct flow *flow = hook->flow;
    struct str name = hook->hook->spec.name;

    if (hook->run || !flow || flow->table != &call_flow || !flow->table->stages[flow->at].replays)
        return hook->run;
    hook->run = run_create(flow->subject);
    hook->run->prefix = arena_fmt(&hook->run->arena, RUN_RESERVED_PREFIX STR_FMT "%s",
                                  STR_ARG(name), name.len ? "." : "");
    return hook->run;
}

const struct target *hook_target(const struct nod_hook_run *hook)
{
    const struct call *call =
        hook->flow && hook->flow->table == &call_flow ? hook->flow->subject : NULL;

    return call ? call->target : NULL;
}

/* --- the confirmation that a target requires --- */

static struct str gate_message(struct run *run)
{
    const struct target *target = run->call->target;

    struct str asked = target->confirm_message.len
                           ? target->confirm_message
                           : arena_fmt(&run->arena, "Allow " STR_FMT "?", STR_ARG(target->title));

    if (!json_first(run->args))
        return asked;
    return arena_fmt(&run->arena, STR_FMT "\n\nArguments: " STR_FMT, STR_ARG(asked),
                     STR_ARG(run_show_args(run, run->args, false, false)));
}

static nod_status not_confirmed(struct nod_hook_run *hook, struct run *run,
                                const struct entry *answer)
{
    if (answer && answer->state == ASK_CANCELLED)
        return hook_fail(hook, NOD_E_REFUSED, "CONFIRMATION_CANCELLED",
                         STR("The question whether to do this was dismissed without an answer; "
                             "nothing was done"));
    if (answer && answer->state == ASK_DECLINED)
        return hook_fail(hook, NOD_E_REFUSED, "CONFIRMATION_DECLINED",
                         STR("A person did not confirm this; nothing was done"));
    if (answer && answer->state == ASK_EXPIRED)
        return hook_fail(hook, NOD_E_REFUSED, "CONFIRMATION_REQUIRED",
                         STR("This needs a person's confirmation, and nobody answered in time; "
                             "nothing was done"));
    if (answer && answer->state == ASK_INVALID)
        return hook_fail(hook, NOD_E_REFUSED, "CONFIRMATION_REQUIRED",
                         STR("This needs a person's confirmation, and what was answered is neither "
                             "a yes nor a no; nothing was done"));
    unsigned asked = 1u << ASK_APPROVAL;
    if (run->lacks_role & asked && !(run->supports_consent & asked))
        return hook_fail(hook, NOD_E_REFUSED, "CONFIRMATION_REQUIRED",
                         STR("This needs a person's confirmation, and nobody could be "
                             "asked: " CONSENT_NEEDS_ROLE ", which this token does not have; "
                             "nothing was done"));
    if (run->model & asked)
        return hook_fail(
            hook, NOD_E_REFUSED, "CONFIRMATION_REQUIRED",
            arena_fmt(&run->arena,
                      "This needs the confirmation of a person, and not the model's; nothing was "
                      "done: " STR_FMT,
                      STR_ARG(run->instead_of_model)));
    return hook_fail(hook, NOD_E_REFUSED, "CONFIRMATION_REQUIRED",
                     STR("This needs a person's confirmation, and nobody could be asked; nothing "
                         "was done"));
}

static bool wants_confirmation(const void *subject)
{
    const struct call *call = subject;

    return call->target->requires_confirmation ||
           (call->target->destructive && call->engine->opts.confirm_destructive);
}

static nod_status confirm(struct nod_hook_run *hook, void *data)
{
    struct run *run = hook_run(hook);
    const struct entry *answer = NULL;

    (void)data;
    struct ask_spec spec = { .kind = ASK_APPROVAL,
                             .key = STR("gate"), /* with its prefix: nod.gate */
                             .message = gate_message(run),
                             .consent = true };
    if (grant_rule_of(run->engine, run->call, run->target->name).allows) {
        spec.path = run->target->name;
        spec.path_digest = grant_digest(&run->arena, run->args);
    }
    nod_status status = run->arena.exhausted ? NOD_E_LIMIT : run_ask(run, &spec, &answer);
    if (status == NOD_PENDING || (status == NOD_OK && answer->state == ASK_ACCEPTED))
        return status;
    if (answer || status == NOD_E_NOT_SUPPORTED)
        return not_confirmed(hook, run, answer);
    /* If the question could not even be made, that is the error, not a missing confirmation. */
    if (run->arena.exhausted || run->fault.status != status)
        return hook_fail(hook, NOD_E_LIMIT, NULL,
                         STR("The call needs more memory than a run may have"));
    return hook_fail_as(hook, &run->fault);
}

/* --- a no that nobody has heard --- */

struct heard {
    size_t count;
    bool at[]; /* for each entry of the call's journal */
};

void call_heard(void *subject, const struct run *run)
{
    struct call *call = subject;
    size_t count = run->journal_count;

    if (!run->noes_heard)
        return;
    if (!call->heard) {
        call->heard = mem_alloc(sizeof(*call->heard) + count);
        memset(call->heard, 0, sizeof(*call->heard) + count);
        call->heard->count = count;
    }
    for (size_t i = 0; i < count && i < call->heard->count; i++)
        call->heard->at[i] |= run->noes_heard[i];
}

void call_heard_drop(struct call *call)
{
    mem_free(call->heard);
    call->heard = NULL;
}

/* Of a hook at the gate, and not of the call itself. */
static bool is_of_gate(const struct entry *entry)
{
    return str_starts(entry->key, STR(RUN_RESERVED_PREFIX)) &&
           !str_starts(entry->key, STR(RUN_RESERVED_PREFIX "secret.")) &&
           !str_starts(entry->key, STR(RUN_RESERVED_PREFIX "credential.")) &&
           !str_eq(entry->key, STR(START_KEY));
}

/* If the call has recorded something of its own, the gate has let it through with all that was
 * answered before. */
static const struct entry *unheard_no(const struct call *call)
{
    const struct journal *journal = &call->journal;

    for (size_t i = journal->count; i-- && is_of_gate(&journal->entries[i]);) {
        const struct entry *entry = &journal->entries[i];
        if (entry_is_no(entry) && !(call->heard && i < call->heard->count && call->heard->at[i]))
            return entry;
    }
    return NULL;
}

static bool wants_no_heard(const void *subject)
{
    const struct call *call = subject;

    return !call_has_outcome(call) && unheard_no(call);
}

static nod_status hear_no(struct nod_hook_run *hook, void *data)
{
    (void)data;
    return not_confirmed(hook, NULL, unheard_no(hook->flow->subject));
}

void engine_hooks_init(struct hooks *hooks)
{
    const struct hook_spec own[] = {
        { .kind = NOD_INSTEAD,
          .priority = NOD_PRIORITY_CONFIRMATION,
          .wants = wants_confirmation,
          .fn = confirm },
        { .kind = NOD_DID, .priority = INT_MAX, .wants = wants_no_heard, .fn = hear_no },
    };

    hooks_init(hooks);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        struct hook_spec spec = own[i];
        spec.table = &call_flow;
        spec.stage = "gate";
        nod_status added = hooks_add(hooks, &spec);
        (void)added; /* there is room for the first ones */
    }
}
