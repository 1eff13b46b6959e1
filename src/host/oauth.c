/*
 * host/oauth: the services where people have accounts, as the operator and the program describe
 * them.
 *
 *     [github]
 *     issuer = https://github.example
 *     client_id = Iv1.0123456789abcdef
 *     client_secret_env = GITHUB_CLIENT_SECRET
 *
 * A section of --oauth FILE is a service, and so is [oauth NAME] of the configuration of nod serve;
 * its name is what tools call it. The client's secret is
 * not in the file, which is copied around and shown to people, but in the environment or in a file
 * of its own. Accounts are kept in the server's store if that is sealed with a secret, and in
 * memory otherwise: tokens are never stored in the clear.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/config.h"
#include "host/plugin.h"
#include "core/need.h"
#include "accounts/accounts.h"
#include "provider/handler.h"
#include "provider/local.h"

enum {
    SECRET_FILE_MAX = OAUTH_SECRET_MAX + 2, /* bytes of the file of a secret, with its line's end */
    SERVICE_TEXT_MAX = 64 * 1024,           /* bytes of all that a service is described with */
};

/* The keys of a section, and where their values go. */
enum key {
    KEY_TITLE,
    KEY_ISSUER,
    KEY_AUTHORIZATION,
    KEY_TOKEN,
    KEY_REVOCATION,
    KEY_CLIENT_ID,
    KEY_SECRET_ENV,
    KEY_SECRET_FILE,
    KEY_CLIENT_AUTH,
    KEY_SCOPES,
    KEY_RESOURCE,
    KEY_PARAMETERS,
    KEY_ALLOW,
    KEY_REVOKES_ALL,
    KEYS
};
static const char *const key_names[] = { "title",
                                         "issuer",
                                         "authorization_endpoint",
                                         "token_endpoint",
                                         "revocation_endpoint",
                                         "client_id",
                                         "client_secret_env",
                                         "client_secret_file",
                                         "client_auth",
                                         "scopes",
                                         "resource",
                                         "parameters",
                                         "allow",
                                         "revokes_all",
                                         NULL };
_Static_assert(sizeof(key_names) / sizeof(key_names[0]) == KEYS + 1, "a name for each");

struct description { /* of one service */
    struct arena arena;
    struct str name;
    struct str values[KEYS];
    bool beside; /* in the configuration: names of files are relative to its folder */
    char secret[SECRET_FILE_MAX + 1];
    char problem[SETTINGS_PROBLEM_MAX];
    struct accounts *accounts;
};

/* --- the client's secret --- */

static const char *secret_from_file(struct description *d, struct str path, struct str *secret)
{
    FILE *file = fopen(path.at, "re");
    size_t len = file ? fread(d->secret, 1, SECRET_FILE_MAX + 1, file) : 0;
    bool fine = file && !ferror(file);
    int error = errno;

    if (file)
        fclose(file);
    while (len && (d->secret[len - 1] == '\n' || d->secret[len - 1] == '\r'))
        len--;
    *secret = str_n(d->secret, len);
    if (!fine) {
        snprintf(d->problem, sizeof(d->problem),
                 "the file client_secret_file cannot be read: %s: %s", path.at, strerror(error));
        return d->problem;
    }
    if (!len)
        return "the file client_secret_file is empty";
    return len > OAUTH_SECRET_MAX ? "the file client_secret_file has more than a secret" : NULL;
}

/* NULL, or what is wrong. */
static const char *secret_of(struct description *d, struct str *secret)
{
    struct str variable = d->values[KEY_SECRET_ENV], path = d->values[KEY_SECRET_FILE];

    *secret = STR_NONE;
    if (variable.len && path.len)
        return "it has both client_secret_env and client_secret_file";
    if (path.len)
        return secret_from_file(d, path, secret);
    if (!variable.len)
        return NULL;
    *secret = str_of(getenv(variable.at));
    if (secret->len)
        return NULL;
    snprintf(d->problem, sizeof(d->problem),
             "the variable " STR_FMT ", which client_secret_env names, is not set",
             STR_ARG(variable));
    return d->problem;
}

/* --- one service --- */

static bool auth_named(struct str name, enum oauth_client_auth *auth)
{
    *auth = OAUTH_AUTH_ANY;
    if (str_eq(name, STR("basic")))
        *auth = OAUTH_AUTH_BASIC;
    else if (str_eq(name, STR("post")))
        *auth = OAUTH_AUTH_POST;
    return !name.len || *auth != OAUTH_AUTH_ANY;
}

/* The key that a member of the spec is from. */
static size_t key_of(const struct description *d, const struct oauth_service_spec *spec,
                     const void *part)
{
    const void *const parts[KEYS] = {
        [KEY_TITLE] = &spec->title,
        [KEY_ISSUER] = &spec->issuer,
        [KEY_AUTHORIZATION] = &spec->authorization_endpoint,
        [KEY_TOKEN] = &spec->token_endpoint,
        [KEY_REVOCATION] = &spec->revocation_endpoint,
        [KEY_CLIENT_ID] = &spec->client_id,
        [KEY_SECRET_ENV] = d->values[KEY_SECRET_ENV].len ? &spec->client_secret : NULL,
        [KEY_SECRET_FILE] = d->values[KEY_SECRET_FILE].len ? &spec->client_secret : NULL,
        [KEY_CLIENT_AUTH] = &spec->client_auth,
        [KEY_SCOPES] = &spec->scopes,
        [KEY_RESOURCE] = &spec->resource,
        [KEY_PARAMETERS] = &spec->parameters,
        [KEY_ALLOW] = &spec->allow,
        [KEY_REVOKES_ALL] = &spec->revokes_all,
    };
    size_t which = 0;

    while (which < KEYS && (!part || parts[which] != part))
        which++;
    return which;
}

/* False: *why says what is wrong, and *which with which key; KEYS: with none in particular. */
static bool service_add(struct description *d, size_t *which, const char **why)
{
    struct oauth_service_spec spec = {
        .name = d->name,
        .title = d->values[KEY_TITLE],
        .issuer = d->values[KEY_ISSUER],
        .authorization_endpoint = d->values[KEY_AUTHORIZATION],
        .token_endpoint = d->values[KEY_TOKEN],
        .revocation_endpoint = d->values[KEY_REVOCATION],
        .client_id = d->values[KEY_CLIENT_ID],
        .scopes = d->values[KEY_SCOPES],
        .resource = d->values[KEY_RESOURCE],
        .parameters = d->values[KEY_PARAMETERS],
        .allow = d->values[KEY_ALLOW],
        .revokes_all = str_eq(d->values[KEY_REVOKES_ALL], STR("yes")),
    };
    const void *part = NULL;

    *why = NULL;
    *which = KEYS;
    if (d->arena.exhausted) {
        *why = "it is described with more than 64 KiB";
    } else if (!auth_named(d->values[KEY_CLIENT_AUTH], &spec.client_auth)) {
        *why = "client_auth is basic or post";
        *which = KEY_CLIENT_AUTH;
    } else if (d->values[KEY_REVOKES_ALL].len && !spec.revokes_all &&
               !str_eq(d->values[KEY_REVOKES_ALL], STR("no"))) {
        *why = "revokes_all is yes or no";
        *which = KEY_REVOKES_ALL;
    } else if ((*why = secret_of(d, &spec.client_secret))) {
        *which = d->values[KEY_SECRET_FILE].len ? KEY_SECRET_FILE : KEY_SECRET_ENV;
    }
    bool fine = !*why && accounts_add(d->accounts, &spec, &part, why);
    if (part)
        *which = key_of(d, &spec, part);
    explicit_bzero(d->secret, sizeof(d->secret));
    return fine;
}

static void description_begin(struct description *d, struct str name)
{
    arena_reset(&d->arena);
    memset(d->values, 0, sizeof(d->values));
    d->name = arena_str(&d->arena, name);
}

static void description_set(struct description *d, size_t which, struct str value)
{
    d->values[which] = arena_str(&d->arena, value);
}

/* --- the file --- */

static const char *const *on_section(void *data, struct str name, const char **why)
{
    (void)why;
    description_begin(data, name);
    return key_names;
}

static bool on_key(void *data, size_t which, const struct config_value *value, const char **why)
{
    struct description *d = data;
    bool beside = d->beside && which == KEY_SECRET_FILE;

    (void)why;
    description_set(d, which,
                    beside ? config_path(&d->arena, value->file, value->value) : value->value);
    return true;
}

static bool on_end(void *data, size_t *which, const char **why)
{
    return service_add(data, which, why);
}

static const char *on_unknown(void *data, const char *name)
{
    (void)data;
    return settings_same_key(str_of(name), STR("client_secret"))
               ? "the secret itself is not in this file: client_secret_env is the variable that "
                 "has it, or client_secret_file the file"
               : NULL;
}

static struct settings_reader reader_of(struct description *d)
{
    return (struct settings_reader){
        .section = on_section, .key = on_key, .end = on_end, .unknown = on_unknown, .data = d
    };
}

static bool read_file(struct description *d, const char *path, char *problem)
{
    const struct settings_reader reader = reader_of(d);

    return settings_read_file(path, &reader, problem);
}

/* --- the sections of the configuration: [oauth NAME] --- */

static bool read_sections(struct description *d, const struct config *config, char *problem)
{
    const struct settings_reader reader = reader_of(d);
    const struct config_section *section;
    bool fine = true;

    d->beside = true;
    for (size_t i = 0; fine && (section = config_section(config, STR("oauth"), i)); i++)
        fine = settings_section_give(section, &reader, problem);
    d->beside = false;
    return fine;
}

/* --- the program's own --- */

static bool add_own(struct description *d, const struct nod_oauth_opts *opts, struct str plugin)
{
    const char *const values[KEYS] = {
        [KEY_TITLE] = opts->title,
        [KEY_ISSUER] = opts->issuer,
        [KEY_AUTHORIZATION] = opts->authorization_endpoint,
        [KEY_TOKEN] = opts->token_endpoint,
        [KEY_REVOCATION] = opts->revocation_endpoint,
        [KEY_CLIENT_ID] = opts->client_id,
        [KEY_SECRET_ENV] = opts->client_secret_env,
        [KEY_SECRET_FILE] = opts->client_secret_file,
        [KEY_CLIENT_AUTH] = opts->client_auth,
        [KEY_SCOPES] = opts->scopes,
        [KEY_RESOURCE] = opts->resource,
        [KEY_PARAMETERS] = opts->parameters,
        [KEY_ALLOW] = opts->allow,
        [KEY_REVOKES_ALL] = opts->revokes_all ? "yes" : NULL,
    };
    const char *why = NULL;
    size_t which;

    if (accounts_title(d->accounts, str_of(opts->name)).len) /* the operator's counts instead */
        return true;
    description_begin(d, str_of(opts->name));
    for (size_t i = 0; i < KEYS; i++)
        description_set(d, i, str_of(values[i]));
    if (service_add(d, &which, &why))
        return true;
    LOG_ERROR("a service of the program cannot be used", LOG_CSTR("service", opts->name),
              LOG_IF("plugin", plugin), LOG_CSTR("why", why));
    return false;
}

/* --- the whole --- */

static struct str title_of(const void *accounts, struct str service)
{
    return accounts_title(accounts, service);
}

static bool add_all(struct description *d, const struct services *services, struct str plugin)
{
    bool fine = true;

    for (size_t i = 0; fine && i < services->count; i++)
        fine = add_own(d, &services->all[i], plugin);
    return fine;
}

/* The operator's, then those of the program and of its plugins. */
static bool add_services(nod_server *server, const char *file, const struct config *config,
                         struct description *d, char *problem)
{
    bool fine = true;

    problem[0] = '\0';
    if (file)
        fine = read_file(d, file, problem);
    fine = fine && read_sections(d, config, problem);
    fine = fine && add_all(d, &server->services, STR_NONE);
    LIST_EACH (at, &server->plugins) {
        const struct plugin *plugin = LIST_OF(at, struct plugin, link);
        fine = fine && (plugin->leaving || add_all(d, &plugin->services, plugin->name));
    }
    return fine;
}

bool host_check_oauth(nod_server *server, const char *file, const struct config *config,
                      char problem[SETTINGS_PROBLEM_MAX])
{
    struct description *d = MEM_NEW(struct description);

    arena_init(&d->arena, SERVICE_TEXT_MAX);
    d->accounts = accounts_create(&(struct accounts_opts){ .loop = server->loop });
    bool fine = add_services(server, file, config, d, problem);
    accounts_destroy(d->accounts);
    arena_finish(&d->arena);
    MEM_DELETE(d);
    return fine;
}

bool host_open_oauth(nod_server *server)
{
    struct description *d = MEM_NEW(struct description);
    char problem[SETTINGS_PROBLEM_MAX];

    server->accounts =
        accounts_create(&(struct accounts_opts){ .loop = server->loop,
                                                 .store = server->private_store,
                                                 .ring = server->private_ring,
                                                 .ca_file = server->settings.ca_file });
    arena_init(&d->arena, SERVICE_TEXT_MAX);
    d->accounts = server->accounts;
    local_use_titles(server->local, title_of, server->accounts);
    bool fine = add_services(server, server->settings.opts.oauth_file, server->config, d, problem);
    if (problem[0])
        LOG_ERROR("the services cannot be used", LOG_CSTR("why", problem));
    arena_finish(&d->arena);
    MEM_DELETE(d);
    if (fine && accounts_has_services(server->accounts) && !server->private_last &&
        engine_survives(server->engine))
        LOG_WARN("connected accounts of people are kept in the memory of this process and not in "
                 "its store, because no secret is set to seal them with: set "
                 "MCP_ELICITATION_SECRET");
    return fine && engine_add_need_source(server->engine, accounts_source(server->accounts));
}
