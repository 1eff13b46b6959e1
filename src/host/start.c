/*
 * host/start: a server in a program that has a loop of its own.
 *
 *     nod_settings_argv   nod's command line, for who wants it
 *     nod_stdio           the descriptors of the one client, if it does not serve HTTP
 *     nod_start           the store is open, and the server listens
 *     nod_turn            what is due is done, as often as nod_fd and nod_timeout want it
 *     nod_server_destroy  the rest (shutdown.c)
 *
 * nod_main is made of the same parts (main.c). It differs in how it waits, and in what it may do
 * because the process is its own: watch signals, raise limits, and write several lines of the log
 * at once.
 *
 * Holds always: nothing here, or in what is called from here, changes what the process does about a
 * signal, ends the process, or writes to a standard stream when the log goes to a function; but
 * --help and --version are answered on standard output.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "host/host.h"
#include "host/storage.h"
#include "net/broken_pipe.h"

/* --- before it starts --- */

/* False, logged: it is there no more, or not yet, or too late. */
static bool can_start(const nod_server *server, const char *function)
{
    const char *why = !server           ? "there is no server: it is NULL"
                      : server->started ? "the server was started before"
                                        : NULL;

    if (why)
        LOG_ERROR(why, LOG_CSTR("function", function));
    return !why;
}

nod_status nod_settings_argv(nod_server *server, int argc, char **argv)
{
    const char *program = argc > 0 && argv[0] ? argv[0] : "server";
    bool by_argv;

    if (!can_start(server, "nod_settings_argv"))
        return NOD_E_USAGE;
    const struct settings *settings = &server->settings;
    switch (settings_argv(&server->settings, argc, argv)) {
    case SETTINGS_HELP:
        printf("usage: %s [options]\n\n", program);
        settings_help(stdout, settings->serve);
        return NOD_E_CANCELLED;
    case SETTINGS_VERSION:
        printf("%s %s (nod %s)\n", settings->opts.name, settings->opts.version, NOD_VERSION);
        return NOD_E_CANCELLED;
    case SETTINGS_WRONG:
        by_argv = settings->now.from == FROM_ARGV;
        if (log_is_told())
            LOG_ERROR(by_argv ? "the command line is wrong; try --help"
                              : "the server's options are not valid",
                      LOG_CSTR("why", settings->wrong));
        else
            fprintf(stderr, "%s: %s\n%s", program, settings->wrong, by_argv ? "Try --help.\n" : "");
        return NOD_E_USAGE;
    case SETTINGS_RUN:
        break;
    }
    return NOD_OK;
}

nod_status nod_stdio(nod_server *server, int in, int out)
{
    if (!can_start(server, "nod_stdio"))
        return NOD_E_USAGE;
    if (server->has_client || fcntl(in, F_GETFD) < 0 || fcntl(out, F_GETFD) < 0) {
        LOG_ERROR("nod_stdio is called once, with descriptors that are open", LOG_INT("in", in),
                  LOG_INT("out", out));
        return NOD_E_USAGE;
    }
    server->has_client = true;
    server->in = in;
    server->out = out;
    return NOD_OK;
}

/* --- starting --- */

static bool host_open(nod_server *server)
{
    return server->settings.opts.http
               ? host_open_http(server) && host_open_webhooks(server) &&
                     host_open_metrics(server) && host_listen(server)
               : host_open_inbox_beside_stdio(server, true) && host_serve_stdio(server) &&
                     host_open_webhooks(server) && host_open_metrics(server);
}

void host_begin(nod_server *server)
{
    /* The loop ends when the server ends, not when there happens to be nothing to wait for. */
    loop_hold(server->loop);
    server->serving = true;
    if (server->stop_early)
        shutdown_begin(server);
}

static nod_status start(nod_server *server)
{
    struct settings *settings = &server->settings;

    if (!settings_agree(settings)) {
        LOG_ERROR("the server's options are not valid", LOG_CSTR("why", settings->wrong));
        return NOD_E_USAGE;
    }
    if (!settings->opts.http && !server->has_client) {
        LOG_ERROR("there is no client to serve: set an address for HTTP, or call nod_stdio");
        return NOD_E_USAGE;
    }
    if (!tool_names_show(server))
        return NOD_E_USAGE;
    tool_names_check(server);
    if (settings_given(settings, "--store") && !storage_is_known(settings->opts.store))
        return NOD_E_USAGE;
    bool opened = host_open_store(server);
    if (server->stop_early) {
        server->ended = true;
        return NOD_OK;
    }
    if (!opened)
        return NOD_E_STORE;
    if (!host_open_oauth(server) || !host_open(server)) /* surfaces are not known before */
        return server->wrong_option ? NOD_E_USAGE : NOD_E_IO;
    host_begin(server);
    return NOD_OK;
}

nod_status nod_start(nod_server *server)
{
    struct broken_pipe held;

    if (!can_start(server, "nod_start"))
        return NOD_E_USAGE;
    server->started = true;
    settings_log(&server->settings);
    broken_pipe_hold(&held);
    nod_status status = start(server);
    broken_pipe_release(&held);
    return status;
}

/* --- while it serves --- */

int nod_fd(const nod_server *server)
{
    return server && server->started ? loop_fd(server->loop) : -1;
}

int nod_timeout(nod_server *server)
{
    if (!server || !server->started)
        return -1;
    return server->serving && !server->ended ? loop_timeout(server->loop) : 0;
}

bool nod_turn(nod_server *server)
{
    if (!server || !server->serving || server->ended)
        return false;
    loop_turn(server->loop, 0);
    return !server->ended;
}

int nod_port(const nod_server *server)
{
    return server && server->front && server->serving ? front_port(server->front, 0) : 0;
}

/* --- what there is one of in a process --- */

void nod_log_to(nod_log_fn *fn, void *data)
{
    log_to(fn, data);
}

const char *nod_version(void)
{
    return NOD_VERSION;
}

int nod_version_number(void)
{
    return NOD_VERSION_NUMBER;
}
