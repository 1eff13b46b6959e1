/*
 * host/reload: SIGHUP reads files again (the token file, the certificate and its key; at nod serve
 * the whole configuration: program_reload.c), and logs a new link to the inbox where it is opened
 * with one.
 *
 * A file that cannot be used changes nothing: what was read before stays, and the log says what is
 * wrong with the new one. Requests that were let in go on. Without any of this the signal
 * does nothing; it never ends a server that serves over HTTP, nor one that starts to.
 *
 * So the signal is noted from the beginning of nod_main on, when nobody knows yet how the server is
 * to serve. If that is stdio alone, SIGHUP ends the process, as is the default, and so does one
 * that was noted. A program that has a handler of its own, or ignores the signal, keeps that. A
 * program that calls nod_start keeps all its signals; nothing of this is done there.
 */
#include <signal.h>

#include "base/log.h"
#include "host/host.h"
#include "host/program.h"

enum { RELOAD_PROBLEM_MAX = 4096 }; /* bytes of a message about a token file */

static void reload_tokens(nod_server *server)
{
    struct str problem = STR_NONE;
    struct arena arena;

    arena_init(&arena, RELOAD_PROBLEM_MAX);
    if (tokens_reload(server->tokens, server->settings.opts.token_file, &arena, &problem)) {
        LOG_INFO("the token file was read again",
                 LOG_CSTR("file", server->settings.opts.token_file),
                 LOG_INT("tokens", tokens_count(server->tokens)));
        if (server->front)
            front_tokens_read(server->front);
    } else {
        LOG_ERROR("the new token file cannot be used; the tokens stay as they were",
                  LOG_CSTR("file", server->settings.opts.token_file), LOG_STR("why", problem));
    }
    arena_finish(&arena);
}

void reload_files(nod_server *server)
{
    const struct nod_server_opts *opts = &server->settings.opts;

    if (server->tokens)
        reload_tokens(server);
    if (server->front && front_has_tls(server->front))
        front_reload(server->front, opts->tls_cert, opts->tls_key);
}

static void on_hangup(void *data)
{
    nod_server *server = data;

    if (server->stopping || server->ended)
        return;
    if (!server->serving) { /* done by reload_noted */
        server->hangup_early = true;
        return;
    }
    if (!server->program)
        reload_files(server);
    else if (!program_reload(server))
        return;
    if (server->inbox && !server->tokens)
        host_announce_inbox(server);
    else if (!server->program && !server->tokens &&
             !(server->front && front_has_tls(server->front)))
        LOG_INFO("SIGHUP: there is no token file and no certificate to read again");
}

void reload_noted(nod_server *server)
{
    if (server->hangup_early)
        on_hangup(server);
}

/* --- before it is known what the signal is for --- */

static volatile sig_atomic_t hung_up;

static void note_hangup(int signo)
{
    (void)signo;
    hung_up = 1;
}

static bool hangup_is(void (*handler)(int signo))
{
    struct sigaction now;

    return sigaction(SIGHUP, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == handler;
}

void reload_hold(void)
{
    struct sigaction noted = { .sa_handler = note_hangup, .sa_flags = SA_RESTART };

    if (hangup_is(SIG_DFL))
        sigaction(SIGHUP, &noted, NULL);
}

void reload_let_go(bool deliver)
{
    struct sigaction usual = { .sa_handler = SIG_DFL };

    if (!hangup_is(note_hangup))
        return;
    sigaction(SIGHUP, &usual, NULL);
    if (deliver && hung_up)
        raise(SIGHUP);
    hung_up = 0;
}

void reload_never(void)
{
    sigset_t hangup;

    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &hangup, NULL);
}

void reload_watch(nod_server *server)
{
    if (!loop_signal(server->loop, SIGHUP, on_hangup, server))
        LOG_WARN("SIGHUP cannot be watched: it ends the process, and reads nothing again");
    else
        server->reloads = true;
    server->hangup_early |= hung_up != 0;
    hung_up = 0;
    reload_let_go(false);
}
