/*
 * host/plugins: the plugins of a server, as its settings name them.
 */
#ifndef NOD_HOST_PLUGINS_H
#define NOD_HOST_PLUGINS_H

#include "host/config.h"

/*
 * Loads what the settings name: --plugin PATH, and the files *.so of --plugins DIR, in the order of
 * their names. One that cannot be loaded is logged, and the others go on, unless its section says
 * that it is required: then false. `all`: as if all were required. Copies are kept in a folder of
 * `state`. Before the server serves, once.
 */
bool plugins_load(nod_server *server, const struct config *config, const char *state, bool all);

/*
 * What is named now, instead of what was named before: those that are new are loaded, those that
 * are not named any more leave, and those whose file or settings have changed are replaced. All
 * that is new is loaded first; if one of it cannot be, nothing changes: false, logged.
 */
bool plugins_reload(nod_server *server, const struct settings *settings,
                    const struct config *config);

#endif
