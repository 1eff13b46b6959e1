/*
 * tests/sim/handlers: the tools of this world.
 *
 * Each has a form in which a promise could break: an effect before the first question, after it, at
 * most once, after two questions at once, after a question that may be asked again, and after
 * nobody has answered. Two call another tool, and wait for its end: alone, and beside a question.
 * An effect includes everything that its run has learned from people and from ends. If it is done
 * again with anything else, the ledger reports it.
 */
#include "sim.h"

#include <stdlib.h>

#define FORM                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"

struct work { /* one run of a handler */
    struct run *run;
    const struct sim_call *call;
    uint64_t epoch;
    int64_t known; /* all that people said so far */
};

/* A question that nobody answered, or nobody well, is an answer too: these tools go on. */
static nod_status heard(struct work *work, nod_status status, const struct entry *answer)
{
    int64_t said = 0;

    if (status == NOD_PENDING || !answer)
        return status;
    if (answer->state == ASK_ACCEPTED) {
        const char *colon = memchr(answer->content.at, ':', answer->content.len);
        said = colon ? strtoll(colon + 1, NULL, 10) : 0;
    }
    work->known = work->known * 1000 + said * 10 + (int64_t)answer->state;
    return status == NOD_E_TIMEOUT || status == NOD_E_INVALID || status == NOD_E_NOT_SUPPORTED
               ? NOD_OK
               : status;
}

static nod_status ask_begin(struct work *work, const char *key, int attempts,
                            const struct entry **answer)
{
    return run_ask(work->run,
                   &(struct ask_spec){ .kind = ASK_FORM,
                                       .key = str_of(key),
                                       .message = STR("How many?"),
                                       .detail = STR(FORM),
                                       .ttl_ms = work->call->ttl_ms,
                                       .attempts = attempts },
                   answer);
}

static nod_status ask_for(struct work *work, const char *key, int attempts)
{
    const struct entry *answer;
    nod_status status = ask_begin(work, key, attempts, &answer);

    return heard(work, status, answer);
}

static nod_status ask_two(struct work *work, const char *one, const char *other)
{
    const struct entry *a, *b;
    nod_status first = ask_begin(work, one, 0, &a);
    nod_status second = ask_begin(work, other, 0, &b);

    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    NOD_TRY(heard(work, first, a));
    return heard(work, second, b);
}

static nod_status step(struct work *work, const char *key, bool at_most_once)
{
    const struct entry *entry;
    bool go;
    nod_status status = run_step(work->run, str_of(key), at_most_once, false, &entry, &go);

    if (status != NOD_PENDING || !go)
        return status == NOD_OK ? entry->status : status;
    ledger_effect(work->run, work->epoch, key, work->known, at_most_once);
    return run_step_done(work->run, str_of(key), NOD_OK, STR("{\"done\":true}"));
}

/* --- calls that wait for calls --- */

static struct str inner_tool(const struct work *work);

/* How it ended is what is learned. That nobody waits for it any more is an answer too. */
static nod_status call_for(struct work *work)
{
    struct outcome outcome = { .status = NOD_E_TIMEOUT };
    int64_t said = 0;
    nod_status status = run_call(work->run,
                                 &(struct run_call_spec){ .key = STR("call"),
                                                          .tool = inner_tool(work),
                                                          .ttl_ms = 2 * work->call->ttl_ms },
                                 &outcome);

    if (status != NOD_OK && status != NOD_E_TIMEOUT)
        return status;
    for (size_t i = 0; i < outcome.body.len; i++)
        said = (said * 31 + (unsigned char)outcome.body.at[i]) % 9973;
    work->known = work->known * 100000 + said * 10 + (outcome.status == NOD_OK);
    return NOD_OK;
}

/* --- shapes --- */

static nod_status steps_first(struct work *work)
{
    NOD_TRY(step(work, "before", false));
    NOD_TRY(ask_for(work, "a", 0));
    return step(work, "after", false);
}

static nod_status asks_then_steps(struct work *work)
{
    int64_t now;

    NOD_TRY(run_now(work->run, &now));
    NOD_TRY(ask_for(work, "a", 0));
    return step(work, "do", false);
}

static nod_status steps_once(struct work *work)
{
    NOD_TRY(ask_for(work, "a", 0));
    return step(work, "once", true);
}

static nod_status asks_a_round(struct work *work)
{
    NOD_TRY(ask_two(work, "a", "b"));
    return step(work, "do", false);
}

static nod_status asks_again(struct work *work)
{
    NOD_TRY(ask_for(work, "a", 3));
    return step(work, "once", true);
}

static nod_status does_all(struct work *work)
{
    uint64_t bits;

    NOD_TRY(step(work, "first", true));
    NOD_TRY(ask_for(work, "a", 2));
    NOD_TRY(run_random(work->run, &bits));
    NOD_TRY(step(work, "between", false));
    NOD_TRY(ask_two(work, "b", "c"));
    return step(work, "last", false);
}

static nod_status only_asks(struct work *work)
{
    NOD_TRY(ask_for(work, "a", 0));
    return ask_for(work, "b", 0);
}

static nod_status calls(struct work *work)
{
    NOD_TRY(step(work, "before", false));
    NOD_TRY(call_for(work));
    return step(work, "after", true);
}

static nod_status calls_beside(struct work *work)
{
    const struct entry *answer;
    nod_status asked = ask_begin(work, "a", 2, &answer);
    nod_status called = call_for(work);

    if (asked == NOD_PENDING || called == NOD_PENDING)
        return NOD_PENDING;
    NOD_TRY(heard(work, asked, answer));
    NOD_TRY(called);
    return step(work, "do", false);
}

static const struct shape {
    struct str name;
    nod_status (*handler)(struct work *work);
    bool round;
} shapes[SHAPES] = {
    { STR_INIT("steps_first"), steps_first, false },
    { STR_INIT("asks_then_steps"), asks_then_steps, false },
    { STR_INIT("steps_once"), steps_once, false },
    { STR_INIT("asks_a_round"), asks_a_round, true },
    { STR_INIT("asks_again"), asks_again, false },
    { STR_INIT("does_all"), does_all, true },
    { STR_INIT("only_asks"), only_asks, false },
    { STR_INIT("calls"), calls, false },
    { STR_INIT("calls_beside"), calls_beside, false },
    { STR_INIT("live"), NULL, false }, /* live.c */
    { STR_INIT("stays"), does_all, true },
};

static struct str inner_tool(const struct work *work)
{
    return shapes[work->call->inner_shape].name;
}

size_t shape_named(struct str name)
{
    size_t at = 0;

    while (at < SHAPES && !str_eq(shapes[at].name, name))
        at++;
    return at;
}

bool shape_has_round(size_t shape)
{
    return shapes[shape].round;
}

nod_status shape_work(struct run *run, uint64_t epoch, struct str *body)
{
    struct work work = { .run = run, .call = ledger_call(run->call_id), .epoch = epoch };
    nod_status status = shapes[work.call->shape].handler(&work);

    if (status == NOD_OK)
        *body = arena_fmt(&run->arena, "{\"known\":%lld}", (long long)work.known);
    return status;
}

struct str shape_name(size_t shape)
{
    return shapes[shape].name;
}

struct target *shape_target(struct node *node, size_t shape)
{
    struct target *target = &node->targets[shape];

    if (sim.replacing)
        return node->editions[shape];
    if (!target->provider)
        *target = (struct target){ .kind = TARGET_TOOL,
                                   .name = shapes[shape].name,
                                   .title = shapes[shape].name,
                                   .provider = shape == SHAPE_LIVE    ? &node->live
                                               : shape == SHAPE_STAYS ? &node->staying
                                                                      : &node->provider,
                                   .live = shape == SHAPE_LIVE,
                                   .stays = shape == SHAPE_STAYS };
    return target;
}
