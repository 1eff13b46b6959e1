/*
 * tests/sim/world: one seed, one history.
 *
 * First the dice choose the world: how many nodes, how far their clocks are off, how slow and how
 * bad the links are, how long things are kept. Then they choose what happens, one thing after the
 * other. At the end the faults stop, every node is up, and clients keep trying: now every call
 * whose handle a client holds must come to its end.
 */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TURNS = 160,        /* things that happen before the faults stop */
    CALM_ROUNDS = 400,  /* in which everything comes to its end */
    SETTLE_MAX = 20000, /* deliveries without anything new */
};

struct sim sim;
struct sim_figures figures;
bool tracing;

/* --- dice and trace --- */

uint64_t dice(void)
{
    sim.dice ^= sim.dice << 13;
    sim.dice ^= sim.dice >> 7;
    sim.dice ^= sim.dice << 17;
    return sim.dice * 0x2545F4914F6CDD1Du >> 16;
}

bool one_in(unsigned n)
{
    return dice() % n == 0;
}

size_t pick(size_t n)
{
    return (size_t)(dice() % n);
}

int64_t between(int64_t a, int64_t b)
{
    return a + (int64_t)(dice() % (uint64_t)(b - a + 1));
}

void trace_line(const char *format, ...)
{
    va_list args;

    printf("%10lld  ", (long long)sim.now);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void broken(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "sim: seed %llu: ", (unsigned long long)sim.seed);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nsim: NOD_SIM_SEED=%llu repeats it, and shows what happened\n",
            (unsigned long long)sim.seed);
    fflush(stderr);
    _Exit(1);
}

int64_t store_now(void)
{
    return sim.now + sim.store_skew;
}

/* --- what happens --- */

bool world_is_quiet(void)
{
    return !sim.node_faults && !sim.faults && !sim.delay_ms && !sim.slow;
}

/* A handler has crashed: its process is gone at once, and is started again. */
static bool node_falls(struct node *node)
{
    if (!node->up || !node->falls)
        return false;
    node_crash(node);
    node_start(node);
    return true;
}

static void time_passes(int64_t ms)
{
    sim.now += ms;
    sim.store_clock.wall = store_now();
    sim.store_clock.mono = sim.now;
    for (size_t i = 0; i < sim.node_count; i++)
        if (node_awake(&sim.nodes[i]) && !node_falls(&sim.nodes[i]))
            node_tick(&sim.nodes[i]);
}

static void node_turn(struct node *node)
{
    if (!node_awake(node) || node_falls(node))
        return;
    node_set_clock(node);
    if (node->deferred_count && one_in(2))
        node_run_deferred(node);
    else if (!link_deliver(node))
        node_run_deferred(node);
    if (node->held_count && one_in(6))
        node_return_one(node);
    if (sim.lively && one_in(4))
        lives_act(node);
    node_sweep(node);
}

/* All servers are down for longer than anything is kept without a reason. */
static void long_stop(void)
{
    for (size_t i = 0; i < sim.node_count; i++)
        if (sim.nodes[i].up)
            node_crash(&sim.nodes[i]);
    TRACE("all nodes are down for long");
    time_passes(between(3600000, 3 * 3600000));
    for (size_t i = 0; i < sim.node_count; i++)
        node_start(&sim.nodes[i]);
}

static void node_fault(struct node *node)
{
    if (!node->up) {
        node_start(node);
        return;
    }
    if (node->asleep && one_in(2)) {
        TRACE("node %s: wakes up", node->name);
        node->asleep = false;
        return;
    }
    switch (pick(8)) {
    case 0:
    case 1:
        node_crash(node);
        figures.crashes++;
        break;
    case 2:
    case 3:
        TRACE("node %s: falls asleep", node->name);
        node->asleep = true;
        break;
    case 4:
    case 5:
        TRACE("node %s: its link is %s", node->name, node->cut ? "mended" : "cut");
        if (node->cut)
            link_mend(node);
        else
            link_cut(node);
        break;
    case 6:
        node->skew += one_in(3) ? between(-7200000, 7200000) : between(-5000, 5000);
        TRACE("node %s: somebody has set its clock", node->name);
        break;
    case 7:
        if (one_in(6))
            long_stop();
        break;
    }
}

static void something_happens(void)
{
    switch (pick(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        client_acts();
        break;
    case 4:
        time_passes(between(0, 300));
        break;
    case 5:
        time_passes(between(0, 2000));
        break;
    case 6:
        if (one_in(3))
            time_passes(one_in(8) ? between(60000, 7200000) : between(2000, 8000));
        break;
    case 7:
        if (sim.node_faults && one_in(2))
            node_fault(&sim.nodes[pick(sim.node_count)]);
        break;
    case 8:
        if (sim.replacing && one_in(2)) {
            bool both = one_in(3);
            size_t first = pick(sim.node_count);
            for (size_t i = 0; i < sim.node_count; i++)
                if ((both || i == first) && node_awake(&sim.nodes[i]))
                    editions_change(&sim.nodes[i]);
            break;
        }
        /* fall through */
    default:
        for (uint64_t turns = 1 + dice() % 6; turns > 0; turns--)
            node_turn(&sim.nodes[pick(sim.node_count)]);
    }
}

/* --- the end --- */

static bool settle_once(struct node *node)
{
    bool any = node_falls(node);

    node_set_clock(node);
    while (node_return_one(node))
        any = true;
    while (node_run_deferred(node))
        any = true;
    any |= sim.lively && lives_act(node);
    any |= link_deliver(node);
    node_sweep(node);
    return any;
}

static void settle(void)
{
    int turns = 0;

    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < sim.node_count; i++)
            any |= settle_once(&sim.nodes[i]);
        if (++turns > SETTLE_MAX)
            broken("the nodes do not come to rest");
    }
}

static void become_calm(void)
{
    sim.calm = true;
    TRACE("the faults stop");
    for (size_t i = 0; i < sim.node_count; i++) {
        struct node *node = &sim.nodes[i];
        node->asleep = false;
        if (!node->up)
            node_start(node);
        else if (node->cut)
            link_mend(node);
    }
    time_passes(sim.delay_ms); /* what was on its way is there */
}

static bool all_ended(void)
{
    for (size_t i = 0; i < sim.call_count; i++) {
        const struct sim_call *call = &sim.calls[i];
        if (call->has_handle && !call->told && !call->left)
            return false;
        if (call->handed && !call->ended)
            return false;
    }
    return true;
}

static bool all_idle(void)
{
    for (size_t i = 0; i < sim.node_count; i++) {
        const struct node *node = &sim.nodes[i];
        if (engine_calls(node->engine) || engine_pending(node->engine) ||
            !list_empty(&node->answerers))
            return false;
    }
    return true;
}

/* A call whose target no node has ends when that was seen for a while. */
static void long_time_passes(void)
{
    enum { SEEN = 24 }; /* looks, 1.5 s apart */

    time_passes(1200000);
    for (int i = 0; sim.replacing && i < SEEN; i++) {
        settle();
        time_passes(1500);
    }
}

static void come_to_an_end(void)
{
    become_calm();
    for (int i = 0; i < CALM_ROUNDS; i++) {
        settle();
        if (all_ended())
            break;
        for (size_t c = 0; c < sim.call_count; c++)
            client_presses_on(&sim.calls[c]);
        settle();
        if (i < CALM_ROUNDS / 2)
            time_passes(1500);
        else
            long_time_passes(); /* at last, questions run out */
    }
    ledger_at_the_end();
    /* What nobody has come back for. */
    for (int i = 0; i < CALM_ROUNDS && (!all_idle() || ledger_inner_left()); i++) {
        if (i < CALM_ROUNDS / 2)
            time_passes(5000);
        else
            long_time_passes();
        settle();
    }
    if (ledger_inner_left())
        broken("call %zu is stranded: nobody waits for its end, and it has none",
               ledger_inner_left()->number);
    if (!all_idle())
        broken("a node is not idle at the end: %zu and %zu calls, %zu and %zu questions",
               engine_calls(sim.nodes[0].engine),
               sim.node_count > 1 ? engine_calls(sim.nodes[1].engine) : 0,
               engine_pending(sim.nodes[0].engine),
               sim.node_count > 1 ? engine_pending(sim.nodes[1].engine) : 0);
}

/* --- the whole --- */

static void choose(uint64_t seed)
{
    static const int64_t skews[] = { 0, 0, 500, -500, 3600000, -3600000 };
    static const unsigned rates[] = { 0, 20, 100, 250 };
    static const int64_t delays[] = { 0, 5, 200, 3000 };

    memset(&sim, 0, sizeof(sim));
    sim.seed = seed;
    sim.dice = seed * 0x9E3779B97F4A7C15u | 1;
    for (int i = 0; i < 8; i++)
        dice();
    sim.submission_count = 1; /* 0 is nobody's */
    sim.node_count = one_in(6) ? 1 : SIM_NODES;
    sim.shared = sim.node_count > 1 || one_in(2);
    sim.faults = rates[pick(4)];
    sim.lost = rates[pick(4)];
    sim.delay_ms = delays[pick(4)];
    sim.in_order = one_in(3);
    sim.slow = one_in(3);
    sim.nested = one_in(4) || getenv("NOD_SIM_NESTED"); /* all of them, if asked for */
    sim.lively = one_in(4) || getenv("NOD_SIM_LIVE");
    sim.replacing = one_in(4) || getenv("NOD_SIM_REPLACE");
    sim.crashing = one_in(3);
    sim.node_faults = !one_in(4);
    sim.together = one_in(2);
    sim.keep_ms = one_in(2) ? 3600000 : between(20000, 120000);
    sim.store_keep_ms = one_in(2) ? 1000 : 600000;
    sim.calls_wanted = 1 + pick(SIM_CALLS);
    sim.store_skew = skews[pick(6)];
    sim.now = 1700000000000;
    fake_clock_init(&sim.store_clock, store_now());
    for (size_t i = 0; i < sim.node_count; i++) {
        struct node *node = &sim.nodes[i];
        node->number = i + 1;
        node->skew = skews[pick(6)];
        list_init(&node->answerers);
        fake_clock_init(&node->clock, sim.now);
    }
}

void world_play(uint64_t seed)
{
    choose(seed);
    store_make();
    for (size_t i = 0; i < sim.node_count; i++)
        node_start(&sim.nodes[i]);
    for (int i = 0; i < TURNS; i++)
        something_happens();
    come_to_an_end();
    for (size_t i = 0; i < sim.node_count; i++)
        node_crash(&sim.nodes[i]);
    store_unmake();
    figures.worlds++;
}
