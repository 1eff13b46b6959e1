/*
 * host/plugins: see plugins.h.
 *
 * Plugins are told apart by their names, files by their paths. What is named is gone through once:
 * a file with the same bytes and the same settings as before is kept; any other is opened and
 * loaded, and seen by nobody. At the start each of them then takes its place, or is refused by
 * itself. At a reload all of them do in one step, while those that are not named any more leave; or
 * none does.
 *
 * Holds always: a reload that is refused has changed nothing.
 */
#include "host/plugins.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/similar.h"
#include "host/host.h"
#include "host/owned.h"
#include "host/plugin.h"

enum {
    PLUGINS_MAX = 256,           /* plugins of a server */
    PLUGINS_BYTES = 1024 * 1024, /* memory of their names, while they are read */
};

/* One that is named. */
struct named {
    const char *path;
    struct str by;         /* what names it: "nod.ini:4: plugin" */
    struct plugin *before; /* the one that it is, or replaces */
    struct plugin *next;   /* loaded, and not in its place yet */
    bool kept;
};

struct naming {
    nod_server *server;
    const struct settings *settings;
    const struct config *config;
    bool again; /* the server has plugins, and serves: one that is wrong changes nothing */
    bool wrong; /* something was, and is logged */
    struct arena arena;
    struct named all[PLUGINS_MAX];
    size_t count;
};

static void cannot_load(struct naming *naming, const struct named *named, const char *why)
{
    naming->wrong = true;
    LOG_ERROR("a plugin cannot be loaded", LOG_CSTR("file", named->path), LOG_CSTR("why", why),
              LOG_STR("named_by", named->by));
}

/* --- what is named --- */

static void name_one(struct naming *naming, const char *path, struct str by)
{
    struct named one = { .path = arena_str(&naming->arena, str_of(path)).at, .by = by };

    for (size_t i = 0; i < naming->count; i++)
        if (strcmp(naming->all[i].path, path) == 0)
            return;
    if (naming->count == PLUGINS_MAX)
        cannot_load(naming, &one, "there are more plugins than the 256 that there may be");
    else
        naming->all[naming->count++] = one;
}

static int is_object(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && str_ends(str_of(entry->d_name), STR(".so"));
}

static void name_folder(struct naming *naming, const char *folder, struct str by)
{
    struct dirent **entries = NULL;
    char why[OWNED_WHY_MAX] = "";
    int count = owned_folder(folder, why) ? scandir(folder, &entries, is_object, alphasort) : -1;

    if (count < 0) {
        naming->wrong = true;
        LOG_ERROR("a folder of plugins cannot be used", LOG_CSTR("folder", folder),
                  LOG_CSTR("why", why), LOG_STR("named_by", by));
    }
    for (int i = 0; i < count; i++) {
        name_one(naming, arena_fmt(&naming->arena, "%s/%s", folder, entries[i]->d_name).at, by);
        free(entries[i]);
    }
    free(entries);
}

static void name_all(struct naming *naming)
{
    const struct settings *settings = naming->settings;
    const char *const *files = settings->plugin_files, *const *folders = settings->plugin_dirs;

    for (size_t i = 0; files && files[i]; i++)
        name_one(naming, files[i], settings_named(settings, "--plugin", i, &naming->arena));
    for (size_t i = 0; folders && folders[i]; i++)
        name_folder(naming, folders[i], settings_named(settings, "--plugins", i, &naming->arena));
}

/* --- those that there are --- */

static struct plugin *find_plugin(const nod_server *server, struct str name, const char *path)
{
    LIST_EACH (at, &server->plugins) {
        struct plugin *plugin = LIST_OF(at, struct plugin, link);
        if (!plugin->leaving &&
            (path ? strcmp(plugin->file.path, path) == 0 : str_eq(plugin->name, name)))
            return plugin;
    }
    return NULL;
}

/* What a section says, as a digest: it is compared with what it said before. */
static void section_digest(const struct config_section *section, struct digest *out)
{
    struct digest parts[3] = { 0 };

    for (size_t i = 0; section && i < section->count; i++) {
        const struct str both[] = { digest_str(&parts[0]), section->values[i].key,
                                    section->values[i].value };
        digest_of_parts(both, 3, &parts[0]);
    }
    *out = parts[0];
}

static bool is_as_before(const struct naming *naming, const struct plugin *plugin)
{
    char why[PLUGIN_WHY_MAX];
    struct digest now, said;

    section_digest(config_plugin(naming->config, plugin->name), &said);
    return digest_eq(&said, &plugin->said) && plugin_file_look(plugin->file.path, &now, why) &&
           digest_eq(&now, &plugin->file.digest);
}

/* --- loading --- */

static const char *name_taken(const struct naming *naming, struct str name)
{
    for (size_t i = 0; i < naming->count; i++) {
        const struct named *named = &naming->all[i];
        if ((named->next && str_eq(named->next->name, name)) ||
            (named->kept && str_eq(named->before->name, name)))
            return named->path;
    }
    return NULL;
}

static bool name_free(const struct naming *naming, struct str name, char why[PLUGIN_WHY_MAX])
{
    const char *taken = name_taken(naming, name);

    if (taken)
        snprintf(why, PLUGIN_WHY_MAX, "its name, " STR_FMT ", is that of another plugin: %s",
                 STR_ARG(name), taken);
    return !taken;
}

static bool load_next(struct naming *naming, struct named *named, struct plugin *plugin,
                      char why[PLUGIN_WHY_MAX])
{
    const struct config_section *section = config_plugin(naming->config, plugin->name);

    if (!name_free(naming, plugin->name, why))
        return false;
    section_digest(section, &plugin->said);
    if (!plugin_load(plugin, naming->server->plugin_room, section, why))
        return false;
    named->before = find_plugin(naming->server, plugin->name, NULL);
    named->next = plugin;
    return true;
}

static void load_one(struct naming *naming, struct named *named)
{
    char why[PLUGIN_WHY_MAX];

    named->before = find_plugin(naming->server, STR_NONE, named->path);
    if (named->before && is_as_before(naming, named->before)) {
        named->kept = name_free(naming, named->before->name, why);
        if (!named->kept)
            cannot_load(naming, named, why);
        return;
    }
    struct plugin *plugin =
        plugin_open(naming->server, naming->server->plugin_room, named->path, why);
    if (plugin && load_next(naming, named, plugin, why))
        return;
    if (plugin)
        plugin_close(plugin);
    cannot_load(naming, named, why);
}

/* --- taking their places --- */

/* The plugin that a section means whose name nobody has. NULL: none is like it. */
static const char *plugin_meant(const struct naming *naming, struct str name)
{
    struct similar similar = { .to = name };

    for (size_t i = 0; i < naming->count; i++) {
        const struct named *named = &naming->all[i];
        const struct plugin *plugin = named->kept ? named->before : named->next;
        if (plugin)
            similar_try(&similar, plugin->offers.name);
    }
    return similar.meant;
}

static void say_unloaded(const struct naming *naming, const struct config_section *section)
{
    const char *meant = plugin_meant(naming, section->name);
    static const char event[] = "a section names a plugin that is not loaded";

    if (meant)
        LOG_WARN(event, LOG_STR("plugin", section->name), LOG_CSTR("file", section->file),
                 LOG_INT("line", section->line), LOG_CSTR("meant", meant));
    else if (!naming->wrong) /* else it is mostly the one that could not be */
        LOG_WARN(event, LOG_STR("plugin", section->name), LOG_CSTR("file", section->file),
                 LOG_INT("line", section->line));
}

/* Sections of plugins that are not there. */
static bool sections_fit(struct naming *naming)
{
    const struct config_section *section;
    bool fine = true;

    for (size_t i = 0; (section = config_section(naming->config, STR("plugin"), i)); i++) {
        if (name_taken(naming, section->name))
            continue;
        fine &= !section->required;
        if (section->required)
            LOG_ERROR("a plugin is required, and is not loaded", LOG_STR("plugin", section->name),
                      LOG_CSTR("file", section->file), LOG_INT("line", section->line));
        else
            say_unloaded(naming, section);
    }
    return fine;
}

static void say_came(const struct naming *naming, const struct named *named)
{
    const struct plugin *plugin = named->next;
    struct buf tools;

    buf_init(&tools, TOOL_NAMES_MAX);
    tool_names_list(naming->server->catalog, plugin->name, &tools);
    LOG_INFO(named->before ? "a plugin was replaced" : "a plugin was loaded",
             LOG_STR("plugin", plugin->name), LOG_CSTR("version", plugin->offers.version),
             LOG_IF("tools", buf_str(&tools)), LOG_CSTR("file", named->path));
    buf_finish(&tools);
}

/* At the start: one after the other. */
static void each_takes_its_place(struct naming *naming)
{
    char why[PLUGIN_WHY_MAX];
    size_t at;

    for (size_t i = 0; i < naming->count; i++) {
        struct named *named = &naming->all[i];
        if (!named->next)
            continue;
        if (plugins_change(naming->server, &(struct plugin_change){ .comes = named->next }, 1, &at,
                           why)) {
            say_came(naming, named);
            continue;
        }
        cannot_load(naming, named, why);
        plugin_close(named->next);
        named->next = NULL;
    }
}

/* `changes` has room for all. Those that come first, in the order of `from`, then those that only
 * leave. */
static size_t gather_changes(struct naming *naming, struct plugin_change *changes,
                             const struct named **from)
{
    size_t count = 0;

    for (size_t i = 0; i < naming->count; i++) {
        const struct named *named = &naming->all[i];
        if (!named->next)
            continue;
        from[count] = named;
        changes[count++] = (struct plugin_change){ named->next, named->before };
    }
    LIST_EACH (at, &naming->server->plugins) {
        struct plugin *plugin = LIST_OF(at, struct plugin, link);
        bool stays = plugin->leaving;
        for (size_t i = 0; i < naming->count; i++)
            stays |=
                naming->all[i].before == plugin && (naming->all[i].kept || naming->all[i].next);
        if (!stays)
            changes[count++] = (struct plugin_change){ .leaves = plugin };
    }
    return count;
}

/* Of a server that serves. */
static bool all_take_their_places(struct naming *naming)
{
    struct plugin_change *changes = mem_zalloc((size_t)(2 * PLUGINS_MAX) * sizeof(*changes));
    const struct named **from = mem_zalloc((size_t)(2 * PLUGINS_MAX) * sizeof(*from));
    size_t count = gather_changes(naming, changes, from), at = 0;
    char why[PLUGIN_WHY_MAX];
    bool fine = plugins_change(naming->server, changes, count, &at, why);

    for (size_t i = 0; fine && i < count; i++) {
        if (changes[i].comes)
            say_came(naming, from[i]);
        else
            LOG_INFO("a plugin was removed", LOG_STR("plugin", changes[i].leaves->name),
                     LOG_CSTR("version", changes[i].leaves->offers.version),
                     LOG_CSTR("file", changes[i].leaves->file.path));
    }
    while (!fine && at && !from[at]) /* only what comes can be refused */
        at--;
    if (!fine)
        cannot_load(naming, from[at], why);
    mem_free(changes);
    mem_free(from);
    return fine;
}

static bool plugins_read(struct naming *naming)
{
    arena_init(&naming->arena, PLUGINS_BYTES);
    name_all(naming);
    for (size_t i = 0; i < naming->count; i++)
        load_one(naming, &naming->all[i]);
    if (!naming->again)
        each_takes_its_place(naming);
    bool fine = sections_fit(naming) && !(naming->again && naming->wrong);
    if (naming->again) {
        fine = fine && all_take_their_places(naming);
        for (size_t i = 0; !fine && i < naming->count; i++)
            if (naming->all[i].next)
                plugin_close(naming->all[i].next);
    }
    arena_finish(&naming->arena);
    return fine;
}

bool plugins_load(nod_server *server, const struct config *config, const char *state, bool all)
{
    struct naming *naming = MEM_NEW(struct naming);
    char why[PLUGIN_WHY_MAX];

    naming->server = server;
    naming->settings = &server->settings;
    naming->config = config;
    bool fine = (server->plugin_room = plugin_room_open(state, why)) != NULL;
    if (!fine)
        LOG_ERROR("plugins cannot be loaded", LOG_CSTR("why", why));
    fine = fine && plugins_read(naming) && !(all && naming->wrong);
    MEM_DELETE(naming);
    return fine;
}

bool plugins_reload(nod_server *server, const struct settings *settings,
                    const struct config *config)
{
    struct naming *naming = MEM_NEW(struct naming);

    naming->server = server;
    naming->settings = settings;
    naming->config = config;
    naming->again = true;
    bool fine = plugins_read(naming);
    MEM_DELETE(naming);
    return fine;
}
