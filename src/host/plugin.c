/*
 * host/plugin: see plugin.h.
 *
 * The symbols of a plugin are its own: two plugins may have functions of the same name. What a
 * plugin calls of nod is the program's (src/cli/meson.build).
 *
 * Code of the plugin runs in plugin_open (its constructors) and in plugin_load. The file is marked
 * meanwhile (plugin_file.h), so that a plugin that kills the process is left out by the next one.
 */
#include "host/plugin.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "provider/at_work.h"
#include "provider/handler.h"

enum {
    PLUGIN_NAME_MAX = 40,            /* bytes of a plugin's name */
    PLUGIN_SETTINGS_BYTES = 1 << 20, /* memory of its settings */
};

static bool plugin_wrong(char why[PLUGIN_WHY_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool plugin_wrong(char why[PLUGIN_WHY_MAX], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, PLUGIN_WHY_MAX, format, args);
    va_end(args);
    return false;
}

/* --- its object --- */

/* What the dynamic linker says begins with the path of the copy, which tells nobody anything. */
static const char *linker_says(const struct plugin *plugin)
{
    const char *says = dlerror(), *at = says ? strstr(says, plugin->file.copy) : NULL;

    if (!at)
        return says ? says : "the dynamic linker does not say why";
    at += strlen(plugin->file.copy);
    return strncmp(at, ": ", 2) == 0 ? at + 2 : at;
}

static bool offers_fit(struct plugin *plugin, const struct nod_plugin *offers,
                       char why[PLUGIN_WHY_MAX])
{
    if (offers->nod_version > NOD_VERSION_NUMBER)
        return plugin_wrong(why,
                            "it was built with a newer nod (%d.%d.%d) than this one (%s): install "
                            "that nod, or build the plugin with this one's headers",
                            offers->nod_version / 10000, offers->nod_version / 100 % 100,
                            offers->nod_version % 100, NOD_VERSION);
    OPTS_READ(plugin->offers, offers);
    offers = &plugin->offers;
    plugin->name = str_of(offers->name);
    if (!plugin->name.len || plugin->name.len > PLUGIN_NAME_MAX || !str_is_plain(plugin->name))
        return plugin_wrong(why, "it needs a .name of 1 to %d characters out of a-z, 0-9, - and _",
                            PLUGIN_NAME_MAX);
    if (!offers->version || !*offers->version)
        return plugin_wrong(why, "it needs a .version");
    return offers->load || plugin_wrong(why, "it has no .load");
}

/* An object that cannot be bound may have been built with a newer nod, which says more than the
 * name of a function. */
static bool object_unbound(struct plugin *plugin, char why[PLUGIN_WHY_MAX])
{
    plugin_wrong(why, "%s", linker_says(plugin));
    plugin->object = dlopen(plugin->file.copy, RTLD_LAZY | RTLD_LOCAL);
    const struct nod_plugin *offers =
        plugin->object ? dlsym(plugin->object, "nod_this_plugin") : NULL;
    return offers && offers->nod_version > NOD_VERSION_NUMBER && offers_fit(plugin, offers, why);
}

/* All is bound at once, so that a function that nod does not have is missed now, and not in the
 * middle of a call. */
static bool object_open(struct plugin *plugin, char why[PLUGIN_WHY_MAX])
{
    plugin->object = dlopen(plugin->file.copy, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->object)
        return object_unbound(plugin, why);
    const struct nod_plugin *offers = dlsym(plugin->object, "nod_this_plugin");
    return offers ? offers_fit(plugin, offers, why)
                  : plugin_wrong(why, "it is no plugin: it exports no nod_this_plugin, which "
                                      "NOD_PLUGIN makes");
}

static void object_close(struct plugin *plugin)
{
    struct at_work before = at_work_enter((struct at_work){ .file = plugin->file.path });

    if (plugin->object)
        dlclose(plugin->object);
    plugin->object = NULL;
    at_work_leave(before);
}

static void plugin_free(struct plugin *plugin)
{
    list_remove(&plugin->link);
    object_close(plugin);
    plugin_file_drop(&plugin->file);
    arena_finish(&plugin->arena);
    MEM_DELETE(plugin);
}

struct plugin *plugin_open(nod_server *server, struct plugin_room *room, const char *path,
                           char why[PLUGIN_WHY_MAX])
{
    struct plugin *plugin = MEM_NEW(struct plugin);

    *plugin = (struct plugin){ .server = server, .leaving = true };
    list_init(&plugin->link);
    arena_init(&plugin->arena, PLUGIN_SETTINGS_BYTES);
    bool fine = plugin_file_take(room, path, &plugin->file, why) &&
                plugin_loading(room, &plugin->file, why);
    if (fine) {
        struct at_work before = at_work_enter((struct at_work){ .file = plugin->file.path });
        fine = object_open(plugin, why);
        at_work_leave(before);
        plugin_loaded(room, &plugin->file, !fine);
    }
    if (!fine) {
        plugin_free(plugin);
        return NULL;
    }
    list_append(&server->plugins, &plugin->link);
    return plugin;
}

static void plugin_unload(struct plugin *plugin)
{
    struct at_work before =
        at_work_enter((struct at_work){ .plugin = plugin->name, .file = plugin->file.path });

    if (plugin->loaded && plugin->offers.unload)
        plugin->offers.unload(plugin->server);
    plugin->loaded = false;
    at_work_leave(before);
}

/* --- what it registers --- */

static void plugin_gone(void *data)
{
    struct plugin *plugin = data;

    plugin_unload(plugin);
    if (plugin->served)
        LOG_INFO("the old code of a plugin was let go", LOG_STR("plugin", plugin->name),
                 LOG_CSTR("version", plugin->offers.version), LOG_CSTR("file", plugin->file.path));
    plugin_free(plugin);
}

/* Nothing that it has registered is used any more. Answers about pages may still be on their way to
 * functions of the plugin: then it waits for them. */
static void plugin_unused(void *data)
{
    struct plugin *plugin = data;

    plugin->set = NULL;
    if (!plugin->server->plugins_unloaded) /* else plugins_free does it */
        page_checks_then(plugin->server, plugin_gone, plugin);
}

/* What of a set cannot be registered, as a sentence. */
static bool registered_wrong(const struct local_set_refused *refused, char why[PLUGIN_WHY_MAX])
{
    if (*refused->shown)
        return plugin_wrong(why,
                            "with tool-names = underscores clients would be shown its tool %s and "
                            "%s, of %s%s, under one name: rename one of the two",
                            refused->name, refused->shown,
                            *refused->from ? "the plugin " : "nod itself", refused->from);
    if (refused->taken)
        return plugin_wrong(why, "the name of its %s %s is taken, by %s%s", refused->kind,
                            refused->name, *refused->from ? "the plugin " : "nod itself",
                            refused->from);
    if (refused->limit)
        return plugin_wrong(why, "with its %s %s there would be more than there may be",
                            refused->kind, refused->name);
    return plugin_wrong(why, "its %s %s cannot be registered; the line above says why",
                        refused->kind ? refused->kind : "row", refused->name);
}

bool plugin_load(struct plugin *plugin, struct plugin_room *room,
                 const struct config_section *section, char why[PLUGIN_WHY_MAX])
{
    nod_server *server = plugin->server;
    struct local_set_refused refused;

    if (!plugin_settings_read(plugin, section, why) || !plugin_loading(room, &plugin->file, why))
        return false;
    plugin->set =
        local_set_begin(server->local, &server->hooks,
                        &(struct local_set_opts){
                            .from = plugin->name, .released = plugin_unused, .data = plugin });
    server->loading = plugin;
    struct at_work before =
        at_work_enter((struct at_work){ .plugin = plugin->name, .file = plugin->file.path });
    nod_status status = plugin->offers.load(server);
    at_work_leave(before);
    server->loading = NULL;
    plugin->loaded = status == NOD_OK;
    bool fine = local_set_close(plugin->set, &refused);
    plugin_loaded(room, &plugin->file, true);
    if (plugin->bug[0])
        return plugin_wrong(why, "%s", plugin->bug);
    if (!fine)
        return registered_wrong(&refused, why);
    return plugin->loaded ||
           plugin_wrong(why, "its .load has failed (%s)", nod_status_name(status));
}

bool plugins_change(nod_server *server, const struct plugin_change *changes, size_t count,
                    size_t *at, char why[PLUGIN_WHY_MAX])
{
    struct local_change *sets = mem_zalloc((count + 1) * sizeof(*sets));
    struct local_set_refused refused;

    if (!services_fit(server, changes, count, at, why)) {
        mem_free(sets);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        sets[i] = (struct local_change){ changes[i].comes ? changes[i].comes->set : NULL,
                                         changes[i].leaves ? changes[i].leaves->set : NULL };
    bool fine =
        local_sets_change(server->local, &server->hooks, sets, count, at, &refused) == NOD_OK;
    mem_free(sets);
    if (!fine)
        return registered_wrong(&refused, why);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].comes) {
            changes[i].comes->leaving = false;
            changes[i].comes->served = true;
        }
        if (changes[i].leaves)
            changes[i].leaves->leaving = true;
    }
    return true;
}

void plugin_close(struct plugin *plugin)
{
    plugin->leaving = true;
    if (plugin->set)
        local_set_abort(plugin->set);
    else
        loop_defer(plugin->server->loop, plugin_gone, plugin);
}

/* --- the end --- */

void plugins_unload(nod_server *server)
{
    server->plugins_unloaded = true;
    LIST_EACH (at, &server->plugins)
        plugin_unload(LIST_OF(at, struct plugin, link));
}

void plugins_free(nod_server *server)
{
    LIST_EACH (at, &server->plugins)
        plugin_free(LIST_OF(at, struct plugin, link));
    plugin_room_close(server->plugin_room);
    server->plugin_room = NULL;
}
