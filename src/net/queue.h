/*
 * net/queue: work that takes long waits its turn, by user.
 *
 * In one turn of the loop one piece of work is begun, then I/O is served, and the next is another
 * user's, if one waits (base/fair.h). So whoever asks for much, however often, costs others one
 * piece of work at a time.
 *
 * Holds always: nothing is begun before queue_wait has returned.
 */
#ifndef NOD_NET_QUEUE_H
#define NOD_NET_QUEUE_H

#include "base/fair.h"
#include "net/loop.h"

struct queue {
    struct fair fair;
    size_t each;
    struct loop *loop;
    struct loop_last next;
    enum turn_work work;
};

/* A piece of work. Embedded in its object, zeroed at first. */
struct queue_turn {
    struct fair_turn turn;
    void (*begin)(struct queue_turn *turn);
};

/* Of one user `each` are under way at most. */
void queue_init(struct queue *queue, struct loop *loop, size_t each, enum turn_work work);
/* After this no turn may be ended, whether it waits or is under way (fair_finish). */
void queue_finish(struct queue *queue);
void queue_wait(struct queue *queue, struct queue_turn *turn, struct str who,
                void (*begin)(struct queue_turn *turn));
/* Neither waits nor is under way any more, if it did: the next may begin. */
void queue_end(struct queue *queue, struct queue_turn *turn);
/* It waits, and nothing was begun for it. */
#define queue_waits(turn_) fair_waits(&(turn_)->turn)
/* It waits, or is under way. */
#define queue_has(turn_) ((turn_)->turn.user != NULL)
/* Whether what was begun has found the store. Nobody waits in line for a store that is away: all
 * would wait one after the other for what none of them gets. */
void queue_went(struct queue *queue, bool well);

#endif
