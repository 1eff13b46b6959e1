/*
 * tests/chaos: nod_main for a server that is to have the tools of tools.c as well.
 */
#ifndef CHAOS_TOOLS_H
#define CHAOS_TOOLS_H

#include <nod/nod.h>

int chaos_main(nod_server *server, int argc, char **argv);

#endif
