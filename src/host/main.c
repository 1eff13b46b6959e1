/*
 * host/main: nod_main, the main function of every server; that of `nod serve` ends in it
 * (host/program).
 *
 * It starts the server as every program can (start.c), and waits for it. The process is its own:
 * signals stop the server or make it read files again, it may open as many files as the system
 * allows, and SQLite is set up for it.
 *
 * Exit codes: 0 if it was told to stop or its client went away, 1 if it could not serve, 2 if the
 * command line or the configuration is wrong. The server is destroyed in every case.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "host/host.h"
#include "host/plugin_file.h"
#include "provider/at_work.h"
#include "store/sqlite.h"

/* Each client needs a file descriptor. */
static void allow_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0)
            LOG_DEBUG("the limit of open files stays as it is");
    }
}

static size_t words_of_a_crash(struct log_field *fields)
{
    plugin_load_crashed();
    return at_work_words(fields);
}

void host_watch_crashes(void)
{
    log_last_words(words_of_a_crash);
    log_watch_crashes();
}

void host_own_process(nod_server *server)
{
    if (!server->has_client) { /* whether they are open is seen when they are needed */
        server->has_client = true;
        server->in = STDIN_FILENO;
        server->out = STDOUT_FILENO;
    }
    host_watch_crashes();
    shutdown_watch(server);
    if (server->settings.opts.http || server->settings.opts.inbox) {
        reload_watch(server);
        allow_files();
    } else {
        reload_let_go(true);
    }
    sqlite_own_process();
}

void host_run(nod_server *server)
{
    if (server->ended)
        return;
    log_gather(true);
    reload_noted(server);
    loop_run(server->loop);
    log_gather(false);
}

static int serve(nod_server *server)
{
    host_own_process(server);
    nod_status status = nod_start(server);
    if (status != NOD_OK) { /* what the program itself names is not the command line's fault */
        const char *option = server->wrong_option ? server->wrong_option : "--store";
        bool theirs = status == NOD_E_USAGE && settings_given(&server->settings, option);
        return theirs ? EXIT_WRONG_USAGE : EXIT_CANNOT_SERVE;
    }
    host_run(server);
    return EXIT_FINE;
}

static int end(nod_server *server, int code)
{
    if (server->program)
        reload_never();
    else
        reload_let_go(false);
    nod_server_destroy(server);
    return code;
}

int host_main(nod_server *server)
{
    settings_log(&server->settings);
    return end(server, serve(server));
}

int nod_main(nod_server *server, int argc, char **argv)
{
    if (!server) /* nod_server_create has logged why */
        return EXIT_CANNOT_SERVE;
    reload_hold(); /* before all that takes time */
    nod_status status = nod_settings_argv(server, argc, argv);
    if (status == NOD_OK)
        return host_main(server);
    return end(server, status == NOD_E_CANCELLED ? EXIT_FINE : EXIT_WRONG_USAGE); /* --help */
}
