/*
 * host/program: see program.h.
 *
 * What is set is found in this order: the command line once, for --config and for mistakes in it;
 * the configuration; the environment; the command line again, which overrides both; and at last
 * what nobody has set, because its defaults depend on the server's name: the socket, the store, the
 * secret.
 */
#include "host/program.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/operator_keys.h"
#include "host/places.h"
#include "host/plugins.h"
#include "host/storage.h"

enum { PROGRAM_NAMES_MAX = 1024 }; /* bytes of the names of servers that a message lists */

static const char first_address[] = "127.0.0.1:7600";

/* --- what nobody has set --- */

/* A file of this server in a folder: named after it. */
static const char *named_file(struct settings *settings, const char *before, const char *folder,
                              const char *end)
{
    return arena_fmt(settings->arena, "%s%s/%s%s", before, folder, settings->opts.name, end).at;
}

static bool listens_on_socket(const struct settings *settings)
{
    for (const char *const *at = settings->opts.http; at && *at; at++)
        if (str_starts(str_of(*at), STR("unix:")))
            return true;
    return false;
}

/* The socket is how the commands of this user find the server, so it is there whatever else it
 * listens on, unless a socket is named. */
static bool preset_addresses(const struct program *program, struct settings *settings)
{
    char folder[PLACE_MAX], why[OWNED_WHY_MAX];
    const char *usual[2] = { first_address, NULL }, *const *given = settings->opts.http;
    size_t count = 0;

    if (settings->opts.inbox || listens_on_socket(settings))
        return true;
    if (!place_runtime(program->makes, folder, why))
        return settings_refuse(settings, "the folder of its socket cannot be used: %s", why);
    if (!given)
        given = usual;
    while (given[count])
        count++;
    if (count == SETTINGS_LISTEN_MAX)
        return settings_refuse(settings,
                               "http may be given at most %d times, with the socket of this user, "
                               "which is added to them",
                               SETTINGS_LISTEN_MAX);
    const char **list = arena_zalloc(settings->arena, (count + 2) * sizeof(*list));
    if (!list)
        return true; /* settings_agree says so */
    memcpy(list, given, count * sizeof(*list));
    list[count] = named_file(settings, "unix:", folder, ".sock");
    settings_preset_list(settings, "--http", list);
    return true;
}

/* The folder of what outlives the process has the store, the secret, and copies of plugins. Where
 * the environment has a secret the own one, if there was one, still opens what it has sealed. */
static bool preset_state(const struct program *program, struct settings *settings)
{
    struct nod_server_opts *opts = &settings->opts;
    char folder[PLACE_MAX], why[OWNED_WHY_MAX];
    bool has_secret = operator_secret_named(), shared = storage_is_shared(opts->store);

    if (shared && !has_secret)
        return settings_refuse(
            settings, "the servers of a Redis need the same secret, and none is set: set "
                      "MCP_ELICITATION_SECRET for each of them; openssl rand -base64 48 makes one");
    if (!place_state(program->makes || settings->plugin_files || settings->plugin_dirs, folder,
                     why))
        return settings_refuse(settings, "the folder of its state cannot be used: %s", why);
    settings->state = arena_str(settings->arena, str_of(folder)).at;
    if (!opts->store)
        opts->store = named_file(settings, "sqlite:", folder, ".db");
    if (!opts->portable_states && !shared) /* those need one that others have as well */
        settings->secret_file = named_file(settings, "", folder, ".secret");
    return true;
}

/* --- reading it --- */

/* NULL with true: there is no configuration. */
static bool read_config(const struct program *program, const struct settings *line,
                        struct settings *settings, struct config **config)
{
    char path[PLACE_MAX], problem[SETTINGS_PROBLEM_MAX];
    const char *file = program->file ? program->file : line->config_file;

    *config = NULL;
    if (program->file && line->config_file)
        return settings_refuse(settings, "%s and --config %s are two configurations", program->file,
                               line->config_file);
    if (!file && place_config(path))
        file = path;
    if (!file)
        return true;
    *config = config_read(file, problem);
    if (!*config)
        return settings_refuse(settings, "%s", problem);
    return config_apply(*config, settings);
}

enum settings_do program_read(const struct program *program, struct arena *arena,
                              struct settings *settings, struct config **config)
{
    const struct nod_server_opts opts = { .size = sizeof(opts),
                                          .name = "nod",
                                          .version = NOD_VERSION };

    *config = NULL;
    if (!settings_begin(settings, &opts, arena))
        return SETTINGS_WRONG;
    settings->serve = true;
    struct settings line = *settings; /* a copy: lists that it begins are its own */
    enum settings_do what = settings_read_argv(&line, program->argc, program->argv);
    if (what != SETTINGS_RUN) {
        *settings = line;
        return what;
    }
    bool fine = read_config(program, &line, settings, config);
    if (fine)
        settings_environment(settings);
    fine = fine && settings_read_argv(settings, program->argc, program->argv) == SETTINGS_RUN &&
           preset_addresses(program, settings) && preset_state(program, settings) &&
           settings_agree(settings);
    return fine ? SETTINGS_RUN : SETTINGS_WRONG;
}

void program_say_wrong(const struct program *program, const struct settings *settings)
{
    bool by_argv = settings->now.from == FROM_ARGV;

    if (program->makes || by_argv) /* nod check begins with the place, as compilers do */
        fprintf(stderr, "%s: ", program->command);
    fprintf(stderr, "%s\n", settings->wrong);
    if (by_argv)
        fprintf(stderr, "Try %s --help.\n", program->command);
}

/* --- serving --- */

static const char *socket_of(const struct settings *settings)
{
    for (const char *const *at = settings->opts.http; at && *at; at++)
        if (str_starts(str_of(*at), STR("unix:")))
            return *at + strlen("unix:");
    return NULL;
}

/* Two servers of a name would have the same store. */
static bool is_alone(const struct program *program, struct settings *settings)
{
    const char *path = socket_of(settings);

    if (!path || !place_answers(path))
        return true;
    settings->now = (struct setting_place){ .from = FROM_DEFAULT };
    fprintf(stderr,
            "%s: a server named \"%s\" runs already, at unix:%s: stop it first, or give this one "
            "a name and an address of its own: --name NAME --http PORT\n",
            program->command, settings->opts.name, path);
    return false;
}

void program_say_taken(const char *address)
{
    struct place_server *others = mem_alloc(PLACES_SERVERS_MAX * sizeof(*others));
    size_t count = place_servers(others);
    char names[PROGRAM_NAMES_MAX] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 others[i].name);
    mem_free(others);
    LOG_ERROR("choose another address: --http 127.0.0.1:PORT, or http in the configuration",
              LOG_CSTR("taken", address),
              LOG_CSTR("by", used ? "perhaps by another server of this user" : "another program"),
              LOG_CSTR("running", used ? names : "no other server of this user"));
}

/* How a server without tools gets some. */
static void say_tools(const nod_server *server)
{
    char path[PLACE_MAX];
    const char *file = config_file(server->config, 0);

    if (catalog_count(server->catalog, TARGET_TOOL, false) ||
        (server->settings.plugin_files && list_empty(&server->plugins)))
        return; /* or what it names could not be loaded, and that was said */
    if (!file) {
        place_config(path);
        file = path;
    }
    LOG_WARN("this server has no tools yet: name a plugin in its configuration (plugin = PATH in "
             "[server]), or on its command line (--plugin PATH)",
             LOG_CSTR("configuration", file));
}

static int serve_settings(struct program *program, struct settings *settings, struct arena *arena,
                          struct config *config)
{
    settings_log(settings);
    nod_server *server = host_create(settings, arena);
    server->config = config;
    server->program = program;
    if (config)
        LOG_INFO("configuration", LOG_CSTR("file", config_file(config, 0)));
    else
        LOG_INFO("there is no configuration: everything is as the command line says, or as usual");
    if (!plugins_load(server, config, settings->state, false)) {
        nod_server_destroy(server);
        return EXIT_CANNOT_SERVE;
    }
    say_tools(server);
    return host_main(server);
}

int program_serve(int argc, char **argv)
{
    struct program program = { .command = "nod serve", .argc = argc, .argv = argv, .makes = true };
    struct settings settings;
    struct config *config;
    struct arena arena;
    int code = EXIT_FINE;

    host_watch_crashes();
    reload_hold(); /* before all that takes time */
    arena_init(&arena, HOST_TEXT_MAX);
    switch (program_read(&program, &arena, &settings, &config)) {
    case SETTINGS_RUN:
        if (is_alone(&program, &settings))
            return serve_settings(&program, &settings, &arena, config);
        code = EXIT_CANNOT_SERVE;
        break;
    case SETTINGS_HELP:
        fputs("usage: nod serve [--config FILE] [OPTION...]\n\n", stdout);
        settings_help(stdout, true);
        break;
    case SETTINGS_VERSION:
        printf("nod %s\n", NOD_VERSION);
        break;
    case SETTINGS_WRONG:
        program_say_wrong(&program, &settings);
        code = EXIT_WRONG_USAGE;
    }
    reload_let_go(false);
    config_destroy(config);
    arena_finish(&arena);
    return code;
}
