/*
 * cli/serve: `nod serve`, a server whose tools are plugins; host/program.h is all of it.
 */
#include "cli/command.h"
#include "host/program.h"

int command_serve(int argc, char **argv)
{
    return program_serve(argc + 1, argv - 1); /* with its own name in front, as a server has it */
}
