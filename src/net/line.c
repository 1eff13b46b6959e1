/*
 * net/line: see line.h.
 */
#include "net/line.h"

static void line_go_on(struct line *line);

static void line_begin(void *data)
{
    struct line *line = data;
    struct fair_turn *turn = fair_next(&line->fair);

    if (!turn)
        return;
    line_go_on(line);
    enum turn_work before = loop_spend(line->loop, line->work);
    LIST_OF(turn, struct line_turn, turn)->begin(LIST_OF(turn, struct line_turn, turn));
    loop_spend(line->loop, before);
}

static void line_go_on(struct line *line)
{
    if (!list_empty(&line->fair.ready))
        loop_last(line->loop, &line->next, line_begin, line);
}

void line_init(struct line *line, struct loop *loop, size_t each, enum turn_work work)
{
    *line = (struct line){ .each = each, .loop = loop, .work = work };
    fair_init(&line->fair, each);
}

void line_finish(struct line *line)
{
    loop_last_stop(&line->next);
    fair_finish(&line->fair);
}

void line_wait(struct line *line, struct line_turn *turn, struct str who,
               void (*begin)(struct line_turn *turn))
{
    turn->begin = begin;
    fair_wait(&line->fair, &turn->turn, who);
    line_go_on(line);
}

void line_end(struct line *line, struct line_turn *turn)
{
    fair_end(&line->fair, &turn->turn);
    line_go_on(line);
}

void line_went(struct line *line, bool well)
{
    fair_set_each(&line->fair, well ? line->each : SIZE_MAX);
    line_go_on(line);
}
