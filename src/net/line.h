/*
 * net/line: work that takes long waits in line, by user.
 *
 * In one turn of the loop one piece of work is begun, then I/O is served, and the next is another
 * user's, if one waits (base/fair.h). So whoever asks for much, however often, costs others one
 * piece of work at a time.
 *
 * Holds always: nothing is begun before line_wait has returned.
 */
#ifndef NOD_NET_LINE_H
#define NOD_NET_LINE_H

#include "base/fair.h"
#include "net/loop.h"

struct line {
    struct fair fair;
    size_t each;
    struct loop *loop;
    struct loop_last next;
    enum turn_work work;
};

/* A piece of work. Embedded in its object, zeroed at first. */
struct line_turn {
    struct fair_turn turn;
    void (*begin)(struct line_turn *turn);
};

/* Of one user `each` are under way at most. */
void line_init(struct line *line, struct loop *loop, size_t each, enum turn_work work);
/* After this no turn may be ended, whether it waits or is under way (fair_finish). */
void line_finish(struct line *line);
void line_wait(struct line *line, struct line_turn *turn, struct str who,
               void (*begin)(struct line_turn *turn));
/* Neither waits nor is under way any more, if it did: the next may begin. */
void line_end(struct line *line, struct line_turn *turn);
/* It waits, and nothing was begun for it. */
#define line_waits(turn_) ((turn_)->turn.user && !(turn_)->turn.under_way)
/* It waits, or is under way. */
#define line_has(turn_) ((turn_)->turn.user != NULL)
/* Whether what was begun has found the store. Nobody waits in line for a store that is away: all
 * would wait one after the other for what none of them gets. */
void line_went(struct line *line, bool well);

#endif
