/*
 * host/services: the services that a program, or a plugin of nod serve, has added with nod_oauth.
 *
 * A plugin's are its own: they come and go with it, and no two of a server have one name. What
 * people connect at is opened once, when the server starts (oauth.c). So a plugin that is loaded
 * later has the services of the one whose place it takes, as they were, or some of them.
 */
#ifndef NOD_HOST_SERVICES_H
#define NOD_HOST_SERVICES_H

#include "accounts/accounts.h"
#include "host/plugin_file.h"

struct plugin_change;

struct services {
    struct nod_oauth_opts all[ACCOUNTS_SERVICES_MAX];
    size_t count;
};

/* False: `why`, of the change at `at`. */
bool services_fit(const nod_server *server, const struct plugin_change *changes, size_t count,
                  size_t *at, char why[PLUGIN_WHY_MAX]);

#endif
