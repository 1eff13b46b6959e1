/*
 * host/plugin: one plugin: a shared object whose code runs in this process.
 *
 * - plugin_open: its object is in memory, and its struct nod_plugin fits. None of its functions was
 *   called but those that the dynamic linker calls.
 * - plugin_load: its settings are checked, and .load has registered what it has, unseen so far.
 * - plugins_change: all of that is there for everybody, instead of what another one had. Nothing of
 *   the other one is found any more; when nothing uses it, .unload is called and its object goes.
 *
 * Holds always: an object stays in memory as long as any of its code may be called, and no longer.
 */
#ifndef NOD_HOST_PLUGIN_H
#define NOD_HOST_PLUGIN_H

#include "base/list.h"
#include "host/config.h"
#include "host/plugin_file.h"
#include "host/services.h"
#include "json/value.h"

struct local_set;
struct plugin;

struct plugin {
    struct list link; /* in server->plugins */
    nod_server *server;
    struct plugin_file file;
    void *object;             /* of the dynamic linker */
    struct nod_plugin offers; /* what it exports; its texts are in the object */
    struct str name;          /* the same as in `offers` */
    struct arena arena;       /* of its settings */
    const struct json *settings;
    struct digest said;       /* what its section said */
    struct local_set *set;    /* what it has registered */
    struct services services; /* and those with nod_oauth; texts are in the arena */
    bool loaded;              /* .load has returned NOD_OK: .unload is due */
    bool leaving;             /* it is in the list only until nothing uses it */
    bool served;              /* it was there for everybody */
    char bug[PLUGIN_WHY_MAX]; /* what its .load did wrong with nod_setting or nod_oauth */
};

/* NULL: `why`. */
struct plugin *plugin_open(nod_server *server, struct plugin_room *room, const char *path,
                           char why[PLUGIN_WHY_MAX]);
/* The settings of its section, or NULL: there is none. False: `why`; close it. */
bool plugin_load(struct plugin *plugin, struct plugin_room *room,
                 const struct config_section *section, char why[PLUGIN_WHY_MAX]);
/* One takes its place, and another one leaves. Either may be NULL. */
struct plugin_change {
    struct plugin *comes, *leaves;
};
/* Makes all of these changes in one step. False: `why`, of the change at `at`; nothing has changed,
 * and those that were to come are to be closed. */
bool plugins_change(nod_server *server, const struct plugin_change *changes, size_t count,
                    size_t *at, char why[PLUGIN_WHY_MAX]);
/* Of one that has not come: what it has registered is dropped, and the object goes, on a later
 * turn of the loop. */
void plugin_close(struct plugin *plugin);

/* --- the end of the server --- */

/* No handler runs any more: .unload of all. */
void plugins_unload(nod_server *server);
/* Nothing points into them any more. */
void plugins_free(nod_server *server);

/* --- host/plugin_settings --- */

/* Checks a section against the settings that a plugin has, and keeps the values. False: `why`. */
bool plugin_settings_read(struct plugin *plugin, const struct config_section *section,
                          char why[PLUGIN_WHY_MAX]);

#endif
