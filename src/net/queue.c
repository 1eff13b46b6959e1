/*
 * net/queue: see queue.h.
 */
#include "net/queue.h"

static void queue_go_on(struct queue *queue);

static void queue_begin(void *data)
{
    struct queue *queue = data;
    struct fair_turn *turn = fair_next(&queue->fair);

    if (!turn)
        return;
    queue_go_on(queue);
    enum turn_work before = loop_spend(queue->loop, queue->work);
    LIST_OF(turn, struct queue_turn, turn)->begin(LIST_OF(turn, struct queue_turn, turn));
    loop_spend(queue->loop, before);
}

static void queue_go_on(struct queue *queue)
{
    if (!list_empty(&queue->fair.ready))
        loop_last(queue->loop, &queue->next, queue_begin, queue);
}

void queue_init(struct queue *queue, struct loop *loop, size_t each, enum turn_work work)
{
    *queue = (struct queue){ .each = each, .loop = loop, .work = work };
    fair_init(&queue->fair, each);
}

void queue_finish(struct queue *queue)
{
    loop_last_stop(&queue->next);
    fair_finish(&queue->fair);
}

void queue_wait(struct queue *queue, struct queue_turn *turn, struct str who,
                void (*begin)(struct queue_turn *turn))
{
    turn->begin = begin;
    fair_wait(&queue->fair, &turn->turn, who);
    queue_go_on(queue);
}

void queue_end(struct queue *queue, struct queue_turn *turn)
{
    fair_end(&queue->fair, &turn->turn);
    queue_go_on(queue);
}

void queue_went(struct queue *queue, bool well)
{
    fair_set_each(&queue->fair, well ? queue->each : SIZE_MAX);
    queue_go_on(queue);
}
