/*
 * host/inbox: the inbox of a server: whether it is on, what belongs to it, and how it is
 * opened.
 *
 * A server on HTTP has it unless it was switched off; a server on stdio where --inbox says. It is
 * for people, who come with a browser. So on an address that other machines reach it is on only if
 * nobody on the way can read along: with TLS, or behind an https address (--public-url).
 *
 * Without tokens the log gets a one-time link, which opens it as the local user, and another one
 * with each SIGHUP: only this user and root can send that, and they read the log. With tokens there
 * is none: people sign in with theirs.
 */
#include "base/log.h"
#include "host/host.h"
#include "front/origin.h"

enum { INBOX_URL_MAX = 4096 }; /* bytes of the address of the inbox */

/* With portable states, what was answered on a page is known at one server only: there are none. */
static bool open_pages(nod_server *server)
{
    if (server->settings.opts.portable_states)
        return true;
    server->hosted = hosted_create(&(struct hosted_opts){
        .engine = server->engine,
        .catalog = server->catalog,
        .front = server->front,
        .accounts = server->accounts,
        .ring = server->ring ? keyring_copy(server->ring) : NULL,
        .name = str_of(server->settings.opts.name),
        .title = str_of(server->settings.opts.title),
    });
    return server->hosted != NULL;
}

/* Modules of the inbox add their routes and their surface here. */
static bool open_modules(nod_server *server)
{
    const struct nod_server_opts *opts = &server->settings.opts;

    if (!front_sign_in(server->front, &server->signin_times))
        return false;
    server->inbox = inbox_create(&(struct inbox_opts){ .loop = server->loop,
                                                       .engine = server->engine,
                                                       .catalog = server->catalog,
                                                       .front = server->front,
                                                       .accounts = server->accounts,
                                                       .name = str_of(opts->name),
                                                       .title = str_of(opts->title),
                                                       .version = str_of(opts->version),
                                                       .demo = server->settings.opts.demo,
                                                       .on_stdio = !server->settings.opts.http });
    return server->inbox && open_pages(server);
}

/* False, logged: somebody on the way could read along. */
static bool is_private(const struct settings *settings, const char *address)
{
    struct str host;
    int port;

    settings_address(str_of(address), &host, &port);
    if (origin_is_loopback(host) || settings->opts.tls_cert ||
        (settings->opts.public_url &&
         str_starts(str_of(settings->opts.public_url), STR("https://"))))
        return true;
    LOG_WARN("the inbox is off: other machines reach this address, and without TLS others can "
             "read along; give --tls-cert, or the https address of a proxy as --public-url",
             LOG_STR("host", host));
    return false;
}

#define ASK_PEOPLE "the operator can have a person asked in the inbox"
#define OR_MODEL   ", or let the model decide (--model-may-consent)"

/* There is none. `instead`: how there would be one, for whoever wants a person to decide. */
static bool without_inbox(nod_server *server, const char *instead)
{
    engine_say_instead_of_model(server->engine, instead);
    return true;
}

static const char is_not_private[] =
    ASK_PEOPLE ", which needs TLS here (--tls-cert, or the https address of a proxy as "
               "--public-url)" OR_MODEL;

bool host_open_inbox(nod_server *server)
{
    if (server->settings.opts.no_inbox)
        return without_inbox(server, ASK_PEOPLE " (without --no-inbox)" OR_MODEL);
    for (const char *const *at = server->settings.opts.http; *at; at++)
        if (!is_private(&server->settings, *at))
            return without_inbox(server, is_not_private);
    engine_say_instead_of_model(server->engine, ASK_PEOPLE " (--surfaces names it)" OR_MODEL);
    return open_modules(server);
}

bool host_open_inbox_beside_stdio(nod_server *server, bool listens)
{
    struct str host;
    int port;

    if (!server->settings.opts.inbox)
        return without_inbox(server, ASK_PEOPLE " (--inbox)" OR_MODEL);
    if (!is_private(&server->settings, server->settings.opts.inbox))
        return without_inbox(server, is_not_private);
    if (!host_make_front(server))
        return false;
    settings_address(str_of(server->settings.opts.inbox), &host, &port);
    front_about(server->front, STR("This is the inbox of an MCP server; its page is at /."));
    nod_status status = listens ? front_listen(server->front, host, port)
                        : front_may_listen(server->front, host) ? NOD_OK
                                                                : NOD_E_REFUSED;
    if (status != NOD_OK) {
        LOG_WARN("the inbox cannot be opened at this address; the server goes on without it",
                 LOG_STR("host", host), LOG_INT("port", port),
                 LOG_CSTR("why", status == NOD_E_STALE ? "the address is taken by another program"
                                                       : nod_status_name(status)));
        front_destroy(server->front);
        server->front = NULL;
        return without_inbox(server,
                             ASK_PEOPLE " (--inbox, with an address that is free)" OR_MODEL);
    }
    engine_say_instead_of_model(server->engine, ASK_PEOPLE " (--surfaces names it)" OR_MODEL);
    if (!open_modules(server))
        return false;
    if (listens)
        host_announce_inbox(server);
    return true;
}

/* --- how it is opened --- */

static void say_link(void *data, struct str url)
{
    const nod_server *server = data;

    if (url.len)
        LOG_INFO("inbox", LOG_STR("url", url));
    else if (server->reloads)
        LOG_WARN("the store did not take the link that opens the inbox; SIGHUP makes another");
    else
        LOG_WARN("the store did not take the link that opens the inbox");
}

void host_announce_inbox(nod_server *server)
{
    struct arena arena;

    if (!server->inbox)
        return;
    if (server->hosted)
        hosted_start(server->hosted);
    arena_init(&arena, INBOX_URL_MAX);
    if (!front_is_linked(server->front))
        LOG_INFO("inbox", LOG_STR("url", front_socket(server->front)),
                 LOG_CSTR("sign_in", "over the socket, as this user"));
    else if (front_has_tokens(server->front))
        LOG_INFO("inbox", LOG_STR("url", front_link(server->front, STR("/"), &arena)),
                 LOG_CSTR("sign_in", "with a token"));
    else
        front_start_link(server->front, say_link, server);
    if (front_links_lead_here_only(server->front))
        LOG_WARN("links to this server lead to this machine only, though others reach it: give the "
                 "address that people open as --public-url",
                 LOG_STR("links", front_link(server->front, STR("/"), &arena)));
    arena_finish(&arena);
}
