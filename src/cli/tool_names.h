/* cli/tool_names: options that name a tool which this server does not have. */
#ifndef NOD_CLI_TOOL_NAMES_H
#define NOD_CLI_TOOL_NAMES_H

#include "cli/host.h"
#include "cli/options.h"

/* Warns of each, with the names that there are. */
void tool_names_check(const nod_server *server, const struct options *options);

#endif
