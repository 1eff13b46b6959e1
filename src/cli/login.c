/*
 * cli/login: `nod login`, a one-time link that opens the inbox of a running server.
 *
 * Over the server's Unix socket it is a link for the local user, and only the server's own user
 * gets one. With a token it is a link for the token's owner. The link is all that goes to standard
 * output.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/command.h"
#include "net/remote.h"
#include "json/value.h"

static const char help[] =
    "usage: nod login ADDRESS [--token-file FILE]\n\n"
    "Prints a link that opens the inbox of a running server in a browser: once, and within ten\n"
    "minutes. ADDRESS is http://HOST:PORT, https://HOST or unix:PATH.\n\n"
    "  over unix:PATH     for the local user, if the server runs as this user\n"
    "  --token-file FILE  for the owner of a token, which is the first word of the file; - is\n"
    "                     standard input. Without it NOD_TOKEN is used, if that is set\n"
    "  --ca-file FILE     authorities whose certificates are trusted, instead of the system's\n"
    "  --help\n";

enum {
    LOGIN_ARENA_MAX = 256 << 10, /* bytes of a reply as a tree */
    LOGIN_REPLY_MAX = 64 << 10,  /* bytes of a reply */
};

struct wanted {
    const char *address;
    const char *token_file;
    const char *ca_file;
    bool help;
};

static bool wrong(const char *what, const char *arg)
{
    fprintf(stderr, "nod login: %s %s\nTry --help.\n", arg, what);
    return false;
}

static bool read_args(struct wanted *wanted, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct str name, value;
        bool joined = str_cut(str_of(argv[i]), '=', &name, &value);
        const char **place = str_eq(name, STR("--token-file")) ? &wanted->token_file
                             : str_eq(name, STR("--ca-file"))  ? &wanted->ca_file
                                                               : NULL;

        if (str_eq(str_of(argv[i]), STR("--help")))
            wanted->help = true;
        else if (place && !joined && i + 1 >= argc)
            return wrong("needs a value: FILE", argv[i]);
        else if (place)
            *place = joined ? value.at : argv[++i];
        else if (argv[i][0] == '-')
            return wrong("is not an option", argv[i]);
        else if (wanted->address)
            return wrong("is one address too many", argv[i]);
        else
            wanted->address = argv[i];
    }
    return wanted->help || wanted->address ||
           wrong("has to be given: http://HOST:PORT, https://HOST or unix:PATH", "an address");
}

/* Whatever a server sends, only what is visible reaches the terminal. */
static bool is_visible(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return text.len > 0;
}

static int fail(const char *why, int status)
{
    if (status)
        fprintf(stderr, "nod login: the server says %d: %s\n", status, why);
    else
        fprintf(stderr, "nod login: %s\n", why);
    return COMMAND_FAILED;
}

static int say(int status, struct str reply)
{
    struct arena arena;
    int code = COMMAND_FAILED;

    arena_init(&arena, LOGIN_ARENA_MAX);
    const struct json *tree = json_parse(&arena, reply, NULL, NULL);
    struct str url = json_get_str(tree, STR("url"));
    if (status == 200 && is_visible(url)) {
        printf(STR_FMT "\n", STR_ARG(url));
        code = COMMAND_FINE;
    } else if (status == 401) {
        fail("it does not know you: come over its Unix socket as its own user, or give a token "
             "with --token-file",
             401);
    } else if (status == 404) {
        fail("it has no inbox, or it is not a nod server", 404);
    } else {
        fail("no link was made", status);
    }
    arena_finish(&arena);
    return code;
}

static int ask(const struct wanted *wanted, const char *token)
{
    char why[REMOTE_WHY_MAX];
    struct buf reply;
    struct remote *remote = remote_open(&(struct remote_opts){ .address = wanted->address,
                                                               .token = token,
                                                               .ca_file = wanted->ca_file },
                                        why);

    if (!remote)
        return fail(why, 0);
    buf_init(&reply, LOGIN_REPLY_MAX);
    int status = remote_send(remote, "POST", "/api/login-link", STR_NONE, &reply, why);
    int code = status ? say(status, buf_str(&reply)) : fail(why, 0);
    buf_finish(&reply);
    remote_close(remote);
    return code;
}

int command_login(int argc, char **argv)
{
    struct wanted wanted = { 0 };
    char why[REMOTE_WHY_MAX];
    struct buf text = { 0 };

    if (!read_args(&wanted, argc, argv))
        return COMMAND_WRONG_USAGE;
    if (wanted.help) {
        fputs(help, stdout);
        return COMMAND_FINE;
    }
    const char *token = getenv("NOD_TOKEN");
    if (wanted.token_file) {
        token = remote_token(wanted.token_file, &text, why).at;
        if (!token || !*token) {
            buf_finish(&text);
            return fail(why, 0);
        }
    }
    int code = ask(&wanted, token && *token ? token : NULL);
    buf_finish(&text);
    return code;
}
