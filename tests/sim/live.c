/*
 * tests/sim/live: calls that stay at their home: one tool with live runs, and one whose provider
 * keeps something between its runs.
 *
 * A live run begins with an effect and one or two questions. Then it does whatever the dice say, at
 * any time: it asks more, takes a question back, commits a further step, reports progress, or ends
 * while questions wait. Once the faults have stopped it ends when nothing waits any more.
 *
 * The rules, beside those of every call (ledger.c):
 *
 * - It is begun at most once, whatever happens to nodes. Only the node that has committed the
 *   intent, its home, runs it, and ends it otherwise than in OUTCOME_UNKNOWN.
 * - Its outcome is unknown only if its home was silent for its whole time, by the store's clock.
 * - Its run is told of a question once, after that has ended, and how the store says it ended.
 * - Its provider is told of its end at most once, at its home, and does not run it after that.
 */
#include "sim.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define LIVE_FORM                                                                                  \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"

/* --- the home of a call --- */

static size_t name_at(struct str name)
{
    size_t at = 0;

    while (at < sim.name_count && !str_eq(str_of(sim.names[at]), name))
        at++;
    if (at == sim.name_count)
        broken("a node that never was is the home of a call");
    return at;
}

void home_beats(struct str name, int64_t ttl_ms)
{
    struct sim_home *home = &sim.homes[name_at(name)];

    if (home->until <= store_now())
        home->silent_until = store_now();
    home->until = store_now() + ttl_ms;
}

void home_named(struct sim_call *call, struct str name)
{
    if (call->home)
        broken("call %zu has a second home", call->number);
    call->home = sim.names[name_at(name)];
    call->home_since = store_now();
    TRACE("call %zu has its home at %s", call->number, call->home);
}

static bool is_up(const char *name)
{
    for (size_t i = 0; i < sim.node_count; i++)
        if (sim.nodes[i].up && strcmp(sim.nodes[i].name, name) == 0)
            return true;
    return false;
}

void home_alone_may(const struct sim_call *call, const struct node *node, const char *what)
{
    if (call->home && strcmp(call->home, node->name) != 0)
        broken("call %zu was %s by %s, and its home is %s", call->number, what, node->name,
               call->home);
}

void home_end_is_right(const struct sim_call *call, const struct outcome *outcome)
{
    if (!call->home || outcome->status != NOD_E_OUTCOME_UNKNOWN)
        return;
    figures.unknown++;
    const struct sim_home *home = &sim.homes[name_at(str_of(call->home))];
    bool was_silent = sim.shared
                          ? home->until <= store_now() || home->silent_until > call->home_since
                          : !is_up(call->home);
    if (!was_silent)
        broken("the outcome of call %zu is unknown, and its home lives", call->number);
}

/* --- a run --- */

static struct live_run *session_of(struct node *node, const struct run *run)
{
    for (size_t i = 0; i < SIM_CALLS_ALL; i++)
        if (node->lives[i].run == run)
            return &node->lives[i];
    return NULL;
}

static struct node *node_of(struct provider *provider)
{
    return LIST_OF(provider, struct node, live);
}

static void ask_more(struct live_run *session)
{
    static const char *const keys[LIVE_ASKS] = { "a", "b", "c", "d" };
    const struct entry *answer;

    if (session->asked == LIVE_ASKS)
        return;
    nod_status status = run_ask(session->run,
                                &(struct ask_spec){ .kind = ASK_FORM,
                                                    .key = str_of(keys[session->asked]),
                                                    .message = STR("How many?"),
                                                    .detail = STR(LIVE_FORM),
                                                    .ttl_ms = session->call->ttl_ms },
                                &answer);
    if (status == NOD_PENDING)
        session->asked++;
}

static void step(struct live_run *session, const char *key)
{
    ledger_effect(session->run, ledger_epoch(session->run), key, 0, true);
    run_step_done(session->run, str_of(key), NOD_OK, STR("{\"done\":true}"));
}

static void end(struct live_run *session)
{
    struct run *run = session->run;
    char body[64];
    int len = snprintf(body, sizeof(body), "{\"known\":%lld}", (long long)session->known);

    TRACE("call %zu ends its live run", session->call->number);
    session->run = NULL;
    run_done(run, NOD_OK, str_n(body, (size_t)len));
}

static void runs_at(const struct node *node, struct sim_call *call)
{
    if (!call->home)
        broken("call %zu was begun, and no intent was stored", call->number);
    if (call->ended_told)
        broken("call %zu was run after its provider was told its end", call->number);
    home_alone_may(call, node, "run");
    call->begun++;
}

static void live_start(struct provider *provider, struct run *run)
{
    struct node *node = node_of(provider);
    struct live_run *session = session_of(node, NULL);
    struct sim_call *call = ledger_call(run->call_id);

    ledger_run(node, run);
    if (!session)
        broken("%s has more live runs than there are calls", node->name);
    if (call->begun)
        broken("call %zu was begun twice", call->number);
    runs_at(node, call);
    figures.live_runs++;
    *session = (struct live_run){ .run = run, .call = call };
    step(session, "begin");
    ask_more(session);
    if (one_in(2))
        ask_more(session);
    run_commit(run);
}

static void live_answered(struct provider *provider, struct run *run, const struct entry *answer)
{
    struct live_run *session = session_of(node_of(provider), run);
    struct ledger_ask *ask = ledger_ask(session->call, answer->ask_id);
    bool accepted = answer->state == ASK_ACCEPTED;

    TRACE("call %zu is told that " STR_FMT " is " STR_FMT, session->call->number,
          STR_ARG(answer->key), STR_ARG(ask_state_name(answer->state)));
    if (!ask || ask->told++)
        broken("call %zu was told twice of '" STR_FMT "'", session->call->number,
               STR_ARG(answer->key));
    ledger_lapsed(session->call, ask, answer->state);
    const char *colon = accepted ? memchr(answer->content.at, ':', answer->content.len) : NULL;
    int64_t number = colon ? strtoll(colon + 1, NULL, 10) : 0;
    if (ask->state != answer->state || ask->number != number)
        broken("call %zu was told that %s is " STR_FMT " (%lld), and it is " STR_FMT " (%lld)",
               session->call->number, ask->key, STR_ARG(ask_state_name(answer->state)),
               (long long)number, STR_ARG(ask_state_name(ask->state)), (long long)ask->number);
    session->told++;
    session->known = session->known * 1000 + number * 10 + (int64_t)answer->state;
    figures.live_told++;
}

static void live_cancelled(struct provider *provider, struct run *run)
{
    struct live_run *session = session_of(node_of(provider), run);

    TRACE("call %zu: its live run is dropped", session->call->number);
    session->run = NULL;
    run_done(run, NOD_E_CANCELLED, STR_NONE);
}

static void ended_at(const struct node *node, struct sim_call *call)
{
    if (!call->begun || strcmp(call->home, node->name) != 0)
        return; /* it never began here */
    if (call->ended_told++)
        broken("the provider of call %zu was told its end twice", call->number);
}

static void live_ended(struct provider *provider, struct str call_id, const struct outcome *outcome)
{
    (void)outcome;
    ended_at(node_of(provider), ledger_call(call_id));
}

static void live_released(struct provider *provider, struct target *target)
{
    editions_released(node_of(provider), target);
}

static const struct provider_ops live_ops = { .name = "live",
                                              .start = live_start,
                                              .cancelled = live_cancelled,
                                              .answered = live_answered,
                                              .ended = live_ended,
                                              .released = live_released };

static struct node *node_of_staying(struct provider *provider)
{
    return LIST_OF(provider, struct node, staying);
}

static void staying_start(struct provider *provider, struct run *run)
{
    struct node *node = node_of_staying(provider);

    runs_at(node, ledger_call(run->call_id));
    figures.staying_runs++;
    node_runs(node, run);
}

static void staying_ended(struct provider *provider, struct str call_id,
                          const struct outcome *outcome)
{
    (void)outcome;
    ended_at(node_of_staying(provider), ledger_call(call_id));
}

static void staying_released(struct provider *provider, struct target *target)
{
    editions_released(node_of_staying(provider), target);
}

static const struct provider_ops staying_ops = {
    .name = "staying", .start = staying_start, .ended = staying_ended, .released = staying_released
};

void lives_begin(struct node *node)
{
    node->live.ops = &live_ops;
    node->staying.ops = &staying_ops;
    memset(node->lives, 0, sizeof(node->lives));
}

bool lives_act(struct node *node)
{
    struct live_run *session = &node->lives[pick(SIM_CALLS_ALL)];
    char key[2] = { 0 };

    if (!session->run)
        return false;
    if (sim.calm) {
        if (session->told < session->asked)
            return false;
        end(session);
        return true;
    }
    switch (pick(12)) {
    case 0:
    case 1:
        ask_more(session);
        run_commit(session->run);
        break;
    case 2:
        key[0] = (char)('a' + (int)pick(LIVE_ASKS));
        if (run_take_back(session->run, str_of(key), STR("No longer needed")) == NOD_OK)
            session->told++; /* nobody has heard of it */
        break;
    case 3:
        if (!session->also)
            step(session, "also");
        session->also = true;
        run_commit(session->run);
        break;
    case 4:
        run_notice(session->run,
                   &(struct notice){ .kind = NOTICE_PROGRESS, .progress = 1, .total = 2 });
        break;
    case 5:
        end(session);
        break;
    }
    return true;
}
