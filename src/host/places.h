/*
 * host/places: where `nod serve` finds its configuration, and where it keeps things.
 *
 * Of these, the first that there is:
 *
 *     the configuration      $XDG_CONFIG_HOME/nod/nod.ini or ~/.config/nod/nod.ini,
 *                            $CONFIGURATION_DIRECTORY/nod.ini, /etc/nod/nod.ini
 *     the store, the secret  $STATE_DIRECTORY, $XDG_STATE_HOME/nod, ~/.local/state/nod
 *     the sockets            $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/nod or /run/user/UID/nod,
 *                            /tmp/nod-UID
 *
 * *_DIRECTORY are what systemd passes to a unit (systemd.exec(5)), XDG_* what a session has. A
 * variable that is empty, or no absolute path, does not count.
 *
 * Holds always: a folder that is used belongs to this user, and nobody else may write it.
 */
#ifndef NOD_HOST_PLACES_H
#define NOD_HOST_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "host/owned.h"

enum {
    PLACE_MAX = 1024,        /* bytes of the name of a folder or a file */
    PLACES_RUNTIME_MAX = 4,  /* folders where sockets may be */
    PLACES_SERVERS_MAX = 64, /* servers of a user that are listed */
};

/* The configuration that is there. False: there is none, and this is where it would be. */
bool place_config(char path[PLACE_MAX]);
/* The folder for what has to outlive a process. `make`: it is made if it is not there. False: `why`
 * says what is wrong. */
bool place_state(bool make, char path[PLACE_MAX], char why[OWNED_WHY_MAX]);
/* The folder for sockets. Likewise. */
bool place_runtime(bool make, char path[PLACE_MAX], char why[OWNED_WHY_MAX]);

/* A server of this user that runs: its socket answers. */
struct place_server {
    char name[PLACE_MAX];    /* as --name has it */
    char address[PLACE_MAX]; /* "unix:PATH" */
};
/* All of them, by name; a socket whose server is gone is removed. Gives their number. */
size_t place_servers(struct place_server servers[PLACES_SERVERS_MAX]);
/* Does somebody answer at this socket? */
bool place_answers(const char *path);

#endif
