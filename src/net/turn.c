/*
 * net/turn: see turn.h.
 *
 * The CPU clock of a thread costs a call into the kernel, which would be felt if each of many short
 * turns made one. So it is read when the turns since its last reading took more than
 * TURN_UNREAD_NS by the monotonic clock, which costs next to nothing. What it has gone on by then
 * counts for the last of these turns, but not as more than that turn took in all. So a turn seems
 * at most TURN_UNREAD_NS longer than it was, and never shorter.
 *
 * Of a turn that was spent on several kinds of work, all of it counts for the one that took most.
 */
#include "net/turn.h"

#include <time.h>

#include "base/clock.h"

enum {
    TURN_UNREAD_NS = 4 * 1000 * 1000, /* between two readings of the CPU clock */
    TURN_NS_OF_MS = 1000 * 1000,
};

static int64_t turn_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

const char *turn_work_name(enum turn_work work)
{
    static const char *const names[TURN_WORKS] = {
        [TURN_REQUESTS] = "requests", [TURN_HANDLERS] = "handlers", [TURN_STORE] = "store",
        [TURN_LISTS] = "lists",       [TURN_WEBHOOKS] = "webhooks", [TURN_TIMERS] = "timers",
    };

    return names[work];
}

void turns_init(struct turns *turns)
{
    *turns = (struct turns){ 0 };
    turns->ended_ns = turns->since_ns = clock_look_ns();
    turns->cpu_ns = turn_cpu_ns();
}

void turns_resume(struct turns *turns)
{
    turns->ended_ns = turns->since_ns = clock_look_ns();
    turns->cpu_ns = turn_cpu_ns();
    turns->unread_ns = 0;
}

void turn_began(struct turns *turns, int64_t now_ns)
{
    if (now_ns > turns->since_ns)
        turns->since_ns = now_ns;
}

enum turn_work turn_spend(struct turns *turns, enum turn_work work)
{
    enum turn_work before = turns->work;
    int64_t now = clock_look_ns();

    turns->spent_ns[before] += now - turns->since_ns;
    turns->since_ns = now;
    turns->work = work;
    return before;
}

/* What took most of the turn. */
static enum turn_work turn_mostly(const struct turns *turns)
{
    enum turn_work most = TURN_REQUESTS;

    for (enum turn_work work = TURN_REQUESTS + 1; work < TURN_WORKS; work++)
        if (turns->spent_ns[work] > turns->spent_ns[most])
            most = work;
    return most;
}

void turn_ended(struct turns *turns)
{
    int64_t now = clock_look_ns(), took = now - turns->ended_ns;

    turns->spent_ns[turns->work] += now - turns->since_ns;
    turns->unread_ns += took;
    if (turns->unread_ns > TURN_UNREAD_NS) {
        struct turn_figures *figures = &turns->figures[turn_mostly(turns)];
        int64_t cpu = turn_cpu_ns(), used = cpu - turns->cpu_ns;

        used = used < took ? used : took;
        if (used > figures->longest_ns)
            figures->longest_ns = used;
        figures->too_long += used > (int64_t)TURN_MOST_MS * TURN_NS_OF_MS;
        turns->cpu_ns = cpu;
        turns->unread_ns = 0;
    }
    for (enum turn_work work = TURN_REQUESTS; work < TURN_WORKS; work++)
        turns->spent_ns[work] = 0;
    turns->ended_ns = turns->since_ns = now;
}
