/*
 * rounds: the probe's tools for calls that take several requests, and a clock that can be wrong.
 */
#ifndef NOD_TESTS_ROUNDS_H
#define NOD_TESTS_ROUNDS_H

#include <nod/nod.h>

/* Adds the tools and the prompt. */
nod_status rounds_add(nod_server *server);

#endif
