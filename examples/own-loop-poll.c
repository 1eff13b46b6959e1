/*
 * own-loop-poll: nod in a program that has a loop of its own, around poll(2).
 *
 * What it shows: nod_start, nod_fd, nod_timeout and nod_turn instead of nod_main; a signal handler
 * of the program's own; the log where the program wants it (nod_log_to); nod's command line, which
 * a program may have or not (nod_settings_argv).
 *
 * The program is a kiln, which has something to do each second, whether or not anybody talks to it:
 * it takes its temperature. Over MCP it can be looked at, and set. Above 1000 degrees a person is
 * asked. While the person thinks, the kiln goes on.
 *
 *     build/release/examples/own-loop-poll
 *     build/release/examples/own-loop-poll --http 127.0.0.1:8080 --store sqlite:kiln.db
 *
 * What the person sees: "Heat the kiln to 1200 degrees?" with Accept and Decline. Whoever is asked
 * has time: the question survives the end of this program, if it has a store.
 */
#include <nod/nod.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 1000, WITHOUT_ASKING = 1000 };

/* --- the kiln, which knows nothing of nod --- */

static struct {
    int wanted;
    int degrees;
    long ticks;
} kiln = { .wanted = 20, .degrees = 20 };

static void kiln_tick(void)
{
    kiln.ticks++;
    kiln.degrees += kiln.wanted > kiln.degrees ? 5 : kiln.wanted < kiln.degrees ? -5 : 0;
}

/* --- its tools: they run inside of nod_turn, on the thread of the loop --- */

static nod_status look(nod_call *call)
{
    return nod_reply_textf(call, "%d degrees, on the way to %d; %ld looks so far.", kiln.degrees,
                           kiln.wanted, kiln.ticks);
}

static nod_status set_wanted(nod_step_run *step, void *arg)
{
    (void)step;
    kiln.wanted = *(int *)arg;
    return NOD_OK;
}

static nod_status heat(nod_call *call)
{
    int wanted = (int)nod_arg_int(call, "degrees");
    bool yes = wanted <= WITHOUT_ASKING;

    if (!yes)
        NOD_TRY(nod_confirm(call, &yes,
                            .message = nod_fmt(call, "Heat the kiln to %d degrees?", wanted)));
    if (!yes)
        return nod_reply_text(call, "The kiln stays as it is.");
    NOD_TRY(nod_step(call, "set", set_wanted, &wanted, NULL, .idempotent = true));
    return nod_reply_textf(call, "The kiln heats to %d degrees.", wanted);
}

static const nod_tool tools[] = {
    { .name = "look", .description = "How hot the kiln is", .handler = look, .read_only = true },
    { .name = "heat",
      .description = "Heat the kiln",
      .handler = heat,
      .input = NOD_FORM(NOD_INT("degrees", .required = true, NOD_MIN(0), NOD_MAX(1300))),
      .idempotent = true },
};

/* --- the program's own signals and log --- */

static int told[2]; /* a pipe: a handler may write to it, and poll waits for it */

static void on_signal(int signo)
{
    int saved = errno;
    ssize_t wrote = write(told[1], &(char){ (char)signo }, 1);

    (void)wrote; /* a full pipe has told it before */
    errno = saved;
}

/* Another program would show them in a window, or hand them to syslog. */
static void on_log(nod_log_level level, const char *line, void *data)
{
    (void)level;
    (void)data;
    fprintf(stderr, "kiln: %s\n", line);
}

/* --- the loop --- */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int run(nod_server *server)
{
    int64_t next = now_ms() + TICK_MS;
    bool goes_on = true;

    if (nod_start(server) != NOD_OK) /* the log has said why */
        return 1;
    while (goes_on) {
        struct pollfd fds[] = { { .fd = nod_fd(server), .events = POLLIN },
                                { .fd = told[0], .events = POLLIN } };
        int64_t until_tick = next - now_ms();
        int wait = until_tick > 0 ? (int)until_tick : 0;
        int due = nod_timeout(server); /* right before the wait; -1: nothing is */

        if (poll(fds, 2, due >= 0 && due < wait ? due : wait) < 0 && errno != EINTR)
            return 1;
        for (char signo; fds[1].revents && read(told[0], &signo, 1) == 1;)
            nod_stop(server); /* calls are left in good order; nod_turn says when that is done */
        for (; next <= now_ms(); next += TICK_MS)
            kiln_tick();
        goes_on = nod_turn(server); /* it does not matter which of the two has come */
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_signal };

    nod_log_to(on_log, NULL);
    if (pipe(told) != 0 || fcntl(told[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(told[1], F_SETFL, O_NONBLOCK) != 0)
        return 1;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);

    nod_server *server = nod_server_new(.name = "own-loop-poll", .version = "1.0");
    int code = 1;
    /* The client that has started this program, unless the command line says --http. */
    if (!server || nod_tools(server, tools) != NOD_OK || nod_stdio(server, 0, 1) != NOD_OK)
        goto end;
    switch (nod_settings_argv(server, argc, argv)) {
    case NOD_OK:
        code = run(server);
        break;
    case NOD_E_CANCELLED: /* --help or --version: it is said */
        code = 0;
        break;
    default:
        code = 2;
    }
end:
    nod_server_destroy(server);
    return code;
}
