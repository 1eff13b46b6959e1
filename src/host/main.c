/*
 * host/main: nod_main, the main function of every server.
 *
 * Exit codes: 0 if it was told to stop or its client went away, 1 if it could not serve, 2 if the
 * command line is wrong. The server is destroyed in every case.
 */
#include <stdio.h>

#include "base/log.h"
#include "host/host.h"
#include "host/storage.h"

enum { EXIT_FINE = 0, EXIT_CANNOT_SERVE = 1, EXIT_WRONG_USAGE = 2 };

static const char *program_name(int argc, char **argv)
{
    return argc > 0 && argv[0] ? argv[0] : "server";
}

static int serve(nod_server *server)
{
    const struct settings *settings = &server->settings;

    tool_names_check(server);
    if (settings_given(settings, "--store") && !storage_is_known(settings->opts.store))
        return EXIT_WRONG_USAGE;
    bool opened = host_open_store(server);
    if (server->stop_early)
        return EXIT_FINE;
    if (!opened || !host_open_oauth(server))
        return EXIT_CANNOT_SERVE;
    bool serving = settings->opts.http
                       ? host_open_http(server) && host_open_webhooks(server) &&
                             host_open_metrics(server) && host_listen(server)
                       : host_open_inbox_beside_stdio(server) && host_serve_stdio(server) &&
                             host_open_webhooks(server) && host_open_metrics(server);

    if (!serving) /* which surfaces there are is not known before */
        return server->no_such_surface && settings_given(settings, "--surfaces")
                   ? EXIT_WRONG_USAGE
                   : EXIT_CANNOT_SERVE;
    host_run(server);
    return EXIT_FINE;
}

int nod_main(nod_server *server, int argc, char **argv)
{
    int code = EXIT_FINE;

    if (!server) /* nod_server_create has logged why */
        return EXIT_CANNOT_SERVE;
    const struct settings *settings = &server->settings;
    switch (settings_argv(&server->settings, argc, argv)) {
    case SETTINGS_HELP:
        printf("usage: %s [options]\n\n", program_name(argc, argv));
        settings_help(stdout);
        break;
    case SETTINGS_VERSION:
        printf("%s %s (nod %s)\n", settings->opts.name, settings->opts.version, NOD_VERSION);
        break;
    case SETTINGS_WRONG:
        fprintf(stderr, "%s: %s\nTry --help.\n", program_name(argc, argv), settings->wrong);
        code = EXIT_WRONG_USAGE;
        break;
    case SETTINGS_RUN:
        settings_log(settings);
        code = serve(server);
        break;
    }
    nod_server_destroy(server);
    return code;
}
