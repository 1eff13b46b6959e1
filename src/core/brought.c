/*
 * core/brought: answers that a caller has with it.
 *
 * Some callers do not wait for people: they come back with the answers in their hands, or bring
 * them ahead of the questions. There is one door for that. Whenever a caller would be told of the
 * questions of its call, it is first asked what it brings (caller_ops.brings): after engine_adopt,
 * and after every run that has asked. What it gives is claimed as one set (answer_set.c). When the
 * store has said what became of each, the call goes on: it runs, if the round is complete; else the
 * caller is told of what is left.
 *
 * Holds always: while answers are on their way the call is LIVE_TAKING, and neither runs nor asks.
 * A claim that takes the call leaves that to the end of the set (CAME_EPOCH), so a call runs
 * once for all that was brought. The caller hears of each answer before it hears anything else.
 */
#include "core/call_inside.h"

#include "base/mem.h"

struct brought_one {
    struct brought *of;
    struct id ask;
    struct str via; /* of its surface, whose names live on */
};

struct brought {
    struct engine *engine;
    struct list link;      /* in engine->brought */
    struct call *call;     /* NULL: it is gone */
    struct caller *caller; /* who hears what becomes of them; NULL: it has left */
    struct answer_set *set;
    size_t open; /* answers of which nothing is known yet; one more while they are given */
    size_t count, room;
    bool contradicted; /* another answer was given before, in the same place */
    struct brought_one ones[];
};

static void brought_free(struct brought *brought)
{
    list_remove(&brought->link);
    mem_free(brought);
}

void brought_drop(struct engine *engine)
{
    LIST_EACH (at, &engine->brought)
        brought_free(LIST_OF(at, struct brought, link));
}

void call_brought_leave(struct call *call)
{
    struct brought *brought = call->brought;

    call->brought = NULL;
    if (brought && brought->open)
        brought->call = NULL;
    else if (brought)
        brought_free(brought);
}

void call_brought_unheard(struct call *call)
{
    if (call->brought)
        call->brought->caller = NULL;
    if (!list_empty(&call->engine->brought))
        inner_brought_unheard(call);
}

/* --- afterwards --- */

/* All that it brought is known. */
static void settled(struct call *call)
{
    struct caller *caller = call->brought->caller;
    bool contradicted = call->brought->contradicted;

    call_brought_leave(call);
    if (contradicted && caller && caller->ops->contradicted &&
        caller->ops->contradicted(caller, call))
        call_caller_left(call);
    if (call_decided(call))
        return;
    if (call_is_alone(call))
        call_rest(call);
    else if (list_empty(&call->asks))
        call_take(call);
    else
        call_tell(call);
}

static void brought_less(struct brought *brought)
{
    if (--brought->open)
        return;
    if (brought->call) /* the reply that told the last may still take the call */
        call_later(brought->call, settled);
    else
        brought_free(brought);
}

/* Did somebody say something else before, where this was said? */
static bool contradicts(const struct brought_one *one, const struct answer_result *result)
{
    bool by_a_person = result->state == ASK_ACCEPTED || result->state == ASK_DECLINED ||
                       result->state == ASK_CANCELLED;

    return result->status == NOD_E_STALE && !result->pending && !result->same && by_a_person &&
           str_eq(result->via, one->via);
}

static void heard(void *data, const struct answer_result *result)
{
    struct brought_one *one = data;
    struct brought *brought = one->of;
    struct caller *caller = brought->call ? brought->caller : NULL;

    brought->contradicted |= contradicts(one, result);
    if (caller && caller->ops->answered)
        caller->ops->answered(caller, id_str(&one->ask), result);
    brought_less(brought);
}

/* --- the door --- */

/* From here on its questions can be found, as if the caller had said that it carries them. */
static struct brought *brought_create(struct call *call)
{
    struct engine *engine = call->engine;
    size_t room = 0;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        room++;
    struct brought *brought = mem_zalloc(sizeof(*brought) + room * sizeof(struct brought_one));
    brought->engine = engine;
    brought->call = call;
    brought->caller = call->caller;
    brought->open = 1;
    brought->room = room;
    list_init(&brought->link);
    list_append(&engine->brought, &brought->link);
    brought->set = answers_begin(engine);
    call->brought = brought;
    call_enter(call, LIVE_TAKING);
    call_put_up(call, true);
    return brought;
}

void call_bring(struct ask *ask, const struct answer *answer)
{
    struct call *call = ask->call;
    struct answer given = *answer;

    if (ask->brought)
        return; /* in an earlier round of the tree (inner.c) */
    struct brought *brought = call->brought ? call->brought : brought_create(call);
    if (brought->count == brought->room)
        return; /* one for each question, and no more */
    ask->brought = true;
    struct brought_one *one = &brought->ones[brought->count++];
    *one = (struct brought_one){ .of = brought,
                                 .ask = ask->id,
                                 .via = str_of(answer->surface->ops->name) };
    given.set = brought->set;
    brought->open++;
    ask_answer(call->engine, id_str(&one->ask), &given, heard, one);
}

void call_brought_all(struct call *call)
{
    struct brought *brought = call->brought;

    answers_end(brought->set);
    brought_less(brought);
}
