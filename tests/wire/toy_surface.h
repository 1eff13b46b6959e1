/* tests/wire/toy_surface: a surface in one file; see toy_surface.c. */
#ifndef NOD_TESTS_WIRE_TOY_SURFACE_H
#define NOD_TESTS_WIRE_TOY_SURFACE_H

#include "core/engine.h"
#include "net/loop.h"

/* Adds the surface "toy", and listens for the people behind it; the port is said on stderr. */
bool toy_surface_open(struct loop *loop, struct engine *engine);
/* Nobody is told more. Before the engine and the loop go. */
void toy_surface_close(struct loop *loop);

#endif
