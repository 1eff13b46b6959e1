/*
 * cli/main: nod_main, the main function of every server.
 *
 * Exit codes: 0 if it was told to stop or its client went away, 1 if it could not serve, 2 if the
 * command line is wrong. The server is destroyed in every case.
 */
#include <stdio.h>

#include "base/log.h"
#include "cli/host.h"
#include "cli/options.h"
#include "cli/storage.h"

enum { EXIT_FINE = 0, EXIT_CANNOT_SERVE = 1, EXIT_WRONG_USAGE = 2 };

static const char *program_name(int argc, char **argv)
{
    return argc > 0 && argv[0] ? argv[0] : "server";
}

static int serve(nod_server *server, const struct options *options)
{
    tool_names_check(server, options);
    if (options->store && !storage_is_known(options->store))
        return EXIT_WRONG_USAGE;
    bool opened = host_open_store(server, options);
    if (server->stop_early)
        return EXIT_FINE;
    if (!opened || !host_open_oauth(server, options))
        return EXIT_CANNOT_SERVE;
    engine_allow_fields(server->engine, options->allow_fields);
    if (options->confirm_destructive)
        engine_confirm_destructive(server->engine, true);
    bool serving = options->listen_count
                       ? host_open_http(server, options) && host_open_webhooks(server, options) &&
                             host_open_metrics(server, options) && host_listen(server, options)
                       : host_open_inbox_beside_stdio(server, options) &&
                             host_serve_stdio(server) && host_open_webhooks(server, options) &&
                             host_open_metrics(server, options);

    if (!serving) /* which surfaces there are is not known before */
        return server->no_such_surface && options->surfaces ? EXIT_WRONG_USAGE : EXIT_CANNOT_SERVE;
    host_run(server);
    return EXIT_FINE;
}

int nod_main(nod_server *server, int argc, char **argv)
{
    struct options options;
    const char *wrong;
    int code = EXIT_FINE;

    if (!server) /* nod_server_create has logged why */
        return EXIT_CANNOT_SERVE;
    switch (options_read(&options, argc, argv)) {
    case OPTIONS_HELP:
        printf("usage: %s [options]\n\n%s", program_name(argc, argv), options_help());
        break;
    case OPTIONS_VERSION:
        printf("%s %s (nod %s)\n", server->opts.name, server->opts.version, NOD_VERSION);
        break;
    case OPTIONS_WRONG:
        fprintf(stderr, "%s: %s\nTry --help.\n", program_name(argc, argv), options.problem);
        code = EXIT_WRONG_USAGE;
        break;
    case OPTIONS_RUN:
        log_setup(&options.log);
        wrong = engine_journal_wrong(options.journal_entries, options.journal_bytes);
        if (wrong)
            fprintf(stderr, "%s: --journal-%s: %s\nTry --help.\n", program_name(argc, argv),
                    str_starts(str_of(wrong), STR("journal_entries")) ? "entries" : "bytes", wrong);
        else if ((wrong = remember_use(server->engine, server->opts.remember, options.remember)) !=
                 NULL)
            fprintf(stderr, "%s: %s\nTry --help.\n", program_name(argc, argv), wrong);
        code = wrong ? EXIT_WRONG_USAGE : serve(server, &options);
        break;
    }
    nod_server_destroy(server);
    return code;
}
