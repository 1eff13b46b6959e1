/*
 * values: the probe's tools for what people and programs may send: numbers of any size, nothing at
 * all, structured results of every type.
 */
#ifndef NOD_TESTS_VALUES_H
#define NOD_TESTS_VALUES_H

#include <nod/nod.h>

nod_status values_add(nod_server *server);

#endif
