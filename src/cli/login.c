/*
 * cli/login: `nod login`, a one-time link that opens the inbox of a running server.
 *
 * Over the server's Unix socket it is a link for the local user, and only the server's own user
 * gets one. With a token it is a link for the token's owner. The link is all that goes to standard
 * output.
 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "cli/visit.h"
#include "json/value.h"

static const char help[] =
    "usage: nod login [ADDRESS] [--name NAME] [--token-file FILE]\n\n"
    "Prints a link that opens the inbox of a running server in a browser: once, and within ten\n"
    "minutes. ADDRESS is http://HOST:PORT, https://HOST or unix:PATH; without it the server is\n"
    "the one of NOD_SERVER, or the nod serve that this user runs.\n\n"
    "  --name NAME        which one, if this user runs several\n"
    "  over unix:PATH     for the local user, if the server runs as this user\n"
    "  --token-file FILE  for the owner of a token, which is the first word of the file; - is\n"
    "                     standard input. Without it NOD_TOKEN is used, if that is set\n"
    "  --ca-file FILE     authorities whose certificates are trusted, instead of the system's\n"
    "  --help\n";

enum {
    LOGIN_ARENA_MAX = 256 << 10, /* bytes of a reply as a tree */
    LOGIN_REPLY_MAX = 64 << 10,  /* bytes of a reply */
};

static bool take_address(void *data, char *arg)
{
    struct visit *visit = data;

    if (visit->address)
        return command_wrong(visit->command, arg, "is one address too many");
    visit->address = arg;
    return true;
}

static void fail(int status, const char *why)
{
    fprintf(stderr, "nod login: the server says %d: %s\n", status, why);
}

static int say(const struct visit *visit, int status, struct str reply)
{
    struct arena arena;
    int code = COMMAND_FAILED;

    arena_init(&arena, LOGIN_ARENA_MAX);
    const struct json *tree = json_parse(&arena, reply, NULL, NULL);
    struct str url = json_get_str(tree, STR("url"));
    /* Whatever a server sends, only what is visible reaches the terminal. */
    if (status == 200 && url.len && str_is_visible(url)) {
        printf(STR_FMT "\n", STR_ARG(url));
        code = COMMAND_FINE;
    } else if (status == 401) {
        visit_say_unknown(visit, json_get_str(tree, STR("detail")));
    } else if (status == 404) {
        fail(404, "it has no inbox, or it is not a nod server");
    } else {
        fail(status, "no link was made");
    }
    arena_finish(&arena);
    return code;
}

static int ask(const struct visit *visit)
{
    char why[REMOTE_WHY_MAX];
    struct buf reply;
    int code = COMMAND_FAILED;

    buf_init(&reply, LOGIN_REPLY_MAX);
    int status = remote_send(visit->remote, "POST", "/api/login-link", STR_NONE, &reply, why);
    if (status)
        code = say(visit, status, buf_str(&reply));
    else
        visit_say(visit, str_of(why), "");
    buf_finish(&reply);
    return code;
}

int command_login(int argc, char **argv)
{
    struct visit visit = { .command = "nod login" };
    const struct command_option options[] = { VISIT_OPTIONS(visit), { 0 } };
    int code;

    safe_setup();
    if (!command_read(&(struct command_line){ .command = visit.command,
                                              .help = help,
                                              .options = options,
                                              .word = take_address,
                                              .data = &visit },
                      argc, argv, &code))
        return code;
    if (!visit_check(&visit))
        return COMMAND_WRONG_USAGE;
    code = visit_begin(&visit, NULL) ? ask(&visit) : COMMAND_FAILED;
    visit_end(&visit);
    return code;
}
