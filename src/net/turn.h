/*
 * net/turn: how long the turns of a loop take, and what they are spent on.
 *
 * A turn is what a loop does from one wait for I/O to the next. Nobody else is served meanwhile, so
 * none may take longer than TURN_MOST_MS of the thread's own CPU time. What could take longer is
 * done in slices of LOOP_SLICE_MS (net/loop.h). The longest turn of each kind of work is kept, for
 * the figures of the server.
 */
#ifndef NOD_NET_TURN_H
#define NOD_NET_TURN_H

#include <stddef.h>
#include <stdint.h>

enum { TURN_MOST_MS = 50 }; /* CPU time of a turn; one that takes longer is counted as long */

/* What a turn is spent on. Whatever has no kind of its own is TURN_REQUESTS. */
enum turn_work {
    TURN_REQUESTS, /* reading requests, replying, and what they lead to */
    TURN_HANDLERS, /* running handlers and hooks */
    TURN_STORE,    /* taking in what the store has replied */
    TURN_LISTS,    /* lists, events and pages of the inbox */
    TURN_WEBHOOKS, /* events for webhooks, and other requests that this server makes */
    TURN_TIMERS,   /* what was due: ends of questions, sweeps */
    TURN_WORKS
};

/* As the figures name it. */
const char *turn_work_name(enum turn_work work);

struct turn_figures {
    int64_t longest_ns; /* CPU time of the longest turn that was spent mostly on this */
    uint64_t too_long;  /* how many took longer than TURN_MOST_MS */
};

struct turns {
    enum turn_work work;          /* what is worked on now */
    int64_t since_ns;             /* since then, as monotonic time */
    int64_t spent_ns[TURN_WORKS]; /* of the turn so far, before that */
    int64_t ended_ns;             /* when the last turn ended */
    int64_t unread_ns;            /* from the last reading of the CPU clock to that */
    int64_t cpu_ns;               /* what it said */
    struct turn_figures figures[TURN_WORKS];
};

void turns_init(struct turns *turns);
/* A turn begins now: what the thread did since the last one ended was not the loop's work. */
void turns_resume(struct turns *turns);
/* A turn began at that time: what came before was a wait. */
void turn_began(struct turns *turns, int64_t now_ns);
/* From now on it is spent on this. Looks at the clock. Returns what it was spent on before. */
enum turn_work turn_spend(struct turns *turns, enum turn_work work);
void turn_ended(struct turns *turns);

#endif
