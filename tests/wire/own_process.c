/*
 * A program with a loop of its own, whose system calls are looked at: own-loop.test.js.
 *
 *     own-process FILE [options]    the options are nod's; without --http its client has
 * descriptors 3 and 4
 *
 * It writes to FILE alone: what the log says, and where the program itself is. It ends with 7.
 */
#include <nod/nod.h>

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static int file;

static void say(const char *line)
{
    if (write(file, line, strlen(line)) < 0 || write(file, "\n", 1) < 0)
        _exit(99);
}

static void on_log(nod_log_level level, const char *line, void *data)
{
    (void)level;
    (void)data;
    say(line);
}

static nod_status ask(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status work(nod_call *call)
{
    return nod_reply_text(call, "worked");
}

static nod_status stop(nod_call *call)
{
    nod_stop(nod_server_of(call));
    return nod_reply_text(call, "stopping");
}

static const nod_tool tools[] = {
    { .name = "ask", .handler = ask },
    { .name = "work", .handler = work, .blocking = true },
    { .name = "stop", .handler = stop },
};

int main(int argc, char **argv)
{
    if (argc < 2 || (file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return 98;
    nod_log_to(on_log, NULL);
    say("begins");
    nod_server *server = nod_server_new(.name = "own-process", .version = "1.0");
    bool has_http = argc > 2 && strncmp(argv[2], "--http", 6) == 0;
    if (!server || nod_tools(server, tools) != NOD_OK ||
        (!has_http && nod_stdio(server, 3, 4) != NOD_OK) ||
        nod_settings_argv(server, argc - 1, argv + 1) != NOD_OK || nod_start(server) != NOD_OK)
        return 97;
    while (nod_turn(server)) {
        struct pollfd fd = { .fd = nod_fd(server), .events = POLLIN };
        poll(&fd, 1, nod_timeout(server));
    }
    nod_server_destroy(server);
    say("is there after nod");
    return 7;
}
