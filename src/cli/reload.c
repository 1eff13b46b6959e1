/*
 * cli/reload: SIGHUP reads files again (the token file, the certificate and its key), and logs a
 * new link to the inbox where it is opened with one.
 *
 * A file that cannot be used changes nothing: what was read before stays, and the log says what is
 * wrong with the new one. Requests that were let in go on. Without any of this the signal
 * does nothing; it never ends a server that serves over HTTP, nor one that starts to.
 */
#include <signal.h>

#include "base/log.h"
#include "cli/host.h"

enum { RELOAD_PROBLEM_MAX = 4096 }; /* bytes of a message about a token file */

static void reload_tokens(nod_server *server)
{
    struct str problem = STR_NONE;
    struct arena arena;

    arena_init(&arena, RELOAD_PROBLEM_MAX);
    if (tokens_reload(server->tokens, server->token_file, &arena, &problem)) {
        LOG_INFO("the token file was read again", LOG_CSTR("file", server->token_file),
                 LOG_INT("tokens", tokens_count(server->tokens)));
        if (server->front)
            front_tokens_read(server->front);
    } else {
        LOG_ERROR("the new token file cannot be used; the tokens stay as they were",
                  LOG_CSTR("file", server->token_file), LOG_STR("why", problem));
    }
    arena_finish(&arena);
}

static void on_hangup(void *data)
{
    nod_server *server = data;

    if (!server->serving) { /* done by reload_noted */
        server->hangup_early = true;
        return;
    }
    if (server->tokens)
        reload_tokens(server);
    if (server->front && front_has_tls(server->front))
        front_reload(server->front);
    if (server->inbox && !server->tokens)
        host_announce_inbox(server);
    else if (!server->tokens && !(server->front && front_has_tls(server->front)))
        LOG_INFO("SIGHUP: there is no token file and no certificate to read again");
}

void reload_noted(nod_server *server)
{
    if (server->hangup_early)
        on_hangup(server);
}

void reload_watch(nod_server *server)
{
    if (!loop_signal(server->loop, SIGHUP, on_hangup, server))
        LOG_WARN("SIGHUP cannot be watched: it ends the process, and reads nothing again");
}
