/*
 * front/metrics: figures of a server, for Prometheus.
 *
 * GET /metrics at the front door needs the role `admin`. An operator may open a second address for
 * nothing but that, which needs no token (--metrics): then whoever reaches it can read the figures.
 * They hold no name, no text and no id: every label is one of a table of ours.
 */
#ifndef NOD_FRONT_METRICS_H
#define NOD_FRONT_METRICS_H

#include "base/str.h"

struct engine;
struct front;
struct loop;
struct metrics_port;

struct metrics_opts {
    struct loop *loop;
    const struct engine *engine;
    const struct front *front; /* whose connections are counted; NULL: there is none */
    struct str host;           /* as in net/listener.h; lives as long as the port */
    int port;
};

/* NULL, logged: it cannot listen there. */
struct metrics_port *metrics_listen(const struct metrics_opts *opts);
int metrics_port_number(const struct metrics_port *port);
/* Before the engine and the front are destroyed. NULL is fine. */
void metrics_close(struct metrics_port *port);

#endif
