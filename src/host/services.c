/*
 * host/services: see services.h.
 *
 * nod_oauth keeps what it is given, and nothing else: with the plugin whose .load runs, or with the
 * server. What is wrong with a service itself is found when it is opened.
 */
#include "host/services.h"

#include <stdio.h>

#include "base/log.h"
#include "host/host.h"
#include "host/plugin.h"
#include "provider/handler.h"

/* --- one --- */

enum { SERVICE_TEXTS = 14 };

static void service_texts(struct nod_oauth_opts *opts, const char **texts[SERVICE_TEXTS])
{
    const char **const all[SERVICE_TEXTS] = {
        &opts->name,
        &opts->title,
        &opts->issuer,
        &opts->authorization_endpoint,
        &opts->token_endpoint,
        &opts->revocation_endpoint,
        &opts->client_id,
        &opts->client_secret_env,
        &opts->client_secret_file,
        &opts->client_auth,
        &opts->scopes,
        &opts->resource,
        &opts->parameters,
        &opts->allow,
    };

    memcpy(texts, all, sizeof(all));
}

static bool is_same(struct nod_oauth_opts one, struct nod_oauth_opts other)
{
    const char **ones[SERVICE_TEXTS], **others[SERVICE_TEXTS];
    bool same = one.revokes_all == other.revokes_all;

    service_texts(&one, ones);
    service_texts(&other, others);
    for (size_t i = 0; i < SERVICE_TEXTS; i++)
        same &= str_eq(str_of(*ones[i]), str_of(*others[i]));
    return same;
}

static const struct nod_oauth_opts *find(const struct services *services, const char *name)
{
    for (size_t i = 0; i < services->count; i++)
        if (strcmp(services->all[i].name, name) == 0)
            return &services->all[i];
    return NULL;
}

/* --- what an author adds --- */

static nod_status refuse(struct plugin *plugin, const char *name, nod_status status,
                         const char *why)
{
    LOG_ERROR("a service cannot be added", LOG_IF("service", str_of(name)),
              LOG_IF("plugin", plugin ? plugin->name : STR_NONE), LOG_CSTR("why", why));
    if (plugin && !plugin->bug[0])
        snprintf(plugin->bug, sizeof(plugin->bug),
                 "its service %s cannot be added; the line above says why", name ? name : "(none)");
    return status;
}

nod_status nod_oauth_with(nod_server *server, const struct nod_oauth_opts *given)
{
    const char **texts[SERVICE_TEXTS];
    struct nod_oauth_opts opts;

    if (!server) {
        LOG_ERROR("there is no server: it is NULL", LOG_CSTR("function", "nod_oauth"));
        return NOD_E_USAGE;
    }
    struct plugin *plugin = server->loading;
    struct services *services = plugin ? &plugin->services : &server->services;
    struct arena *arena = plugin ? &plugin->arena : &server->arena;
    OPTS_READ(opts, given);
    if (!opts.name)
        return refuse(plugin, NULL, NOD_E_USAGE, "it has no name");
    if (!plugin && (server->front || server->mcp))
        return refuse(plugin, opts.name, NOD_E_USAGE, "the server serves already");
    if (find(services, opts.name))
        return refuse(plugin, opts.name, NOD_E_USAGE, "there is a service of that name already");
    if (services->count == ACCOUNTS_SERVICES_MAX)
        return refuse(plugin, opts.name, NOD_E_LIMIT, "there are more than 32");
    service_texts(&opts, texts);
    for (size_t i = 0; i < SERVICE_TEXTS; i++)
        if (*texts[i])
            *texts[i] = arena_str(arena, str_of(*texts[i])).at;
    if (arena->exhausted)
        return refuse(plugin, given->name, NOD_E_LIMIT, "its texts are too long");
    services->all[services->count++] = opts;
    return NOD_OK;
}

/* --- those of plugins that come --- */

static bool leaves(const struct plugin *plugin, const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].leaves == plugin)
            return true;
    return plugin->leaving;
}

/* Who has a service of that name, and keeps it; or comes before. NULL: nobody. */
static const struct plugin *taken_by(const nod_server *server, const char *name,
                                     const struct plugin_change *changes, size_t count, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (changes[i].comes && find(&changes[i].comes->services, name))
            return changes[i].comes;
    LIST_EACH (link, &server->plugins) {
        const struct plugin *plugin = LIST_OF(link, struct plugin, link);
        if (!leaves(plugin, changes, count) && find(&plugin->services, name))
            return plugin;
    }
    return NULL;
}

static bool was_there(const struct plugin *before, const struct nod_oauth_opts *service)
{
    const struct nod_oauth_opts *same = before ? find(&before->services, service->name) : NULL;

    return same && is_same(*same, *service);
}

bool services_fit(const nod_server *server, const struct plugin_change *changes, size_t count,
                  size_t *at, char why[PLUGIN_WHY_MAX])
{
    for (*at = 0; *at < count; (*at)++) {
        const struct plugin *comes = changes[*at].comes;
        for (size_t i = 0; comes && i < comes->services.count; i++) {
            const struct nod_oauth_opts *service = &comes->services.all[i];
            const struct plugin *other = taken_by(server, service->name, changes, count, *at);
            if (other) {
                snprintf(why, PLUGIN_WHY_MAX,
                         "the name of its service %s is taken, by the plugin " STR_FMT,
                         service->name, STR_ARG(other->name));
                return false;
            }
            if (server->serving && !was_there(changes[*at].leaves, service)) {
                snprintf(
                    why, PLUGIN_WHY_MAX,
                    "its service %s is new, or not as it was, and services are opened when the "
                    "server starts: restart it",
                    service->name);
                return false;
            }
        }
    }
    return true;
}
