/*
 * own-loop-glib: nod in a program that runs GLib's main loop, as GTK's programs do.
 *
 * What it shows: nod as a GSource, forty lines that can be copied as they are. Everything else in
 * this file is what a program with GLib has anyway: a timeout, signals, a main loop.
 *
 *     build/release/examples/own-loop-glib
 *     build/release/examples/own-loop-glib --http 127.0.0.1:8080 --store sqlite:lamp.db
 *
 * The program is a lamp, which blinks. Over MCP it can be looked at, and switched; a person is
 * asked before it goes off. It blinks on while the person thinks. tests/wire/window.c has the same
 * source under a window with buttons.
 *
 * What the person sees: "Switch the lamp off?" with Accept and Decline.
 */
#include <nod/nod.h>

#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>

/* --- nod as a source of events: see g_source_new in GLib's manual --- */

struct nod_source {
    GSource source;
    nod_server *server;
    gpointer tag; /* of nod's descriptor */
};

/* Before the loop waits: for how long may it? */
static gboolean prepare(GSource *source, gint *timeout)
{
    *timeout = nod_timeout(((struct nod_source *)source)->server);
    return *timeout == 0;
}

/* After it waited: is there something to be done? */
static gboolean check(GSource *source)
{
    struct nod_source *own = (struct nod_source *)source;

    return g_source_query_unix_fd(source, own->tag) != 0 || nod_timeout(own->server) == 0;
}

static gboolean dispatch(GSource *source, GSourceFunc ended, gpointer data)
{
    if (nod_turn(((struct nod_source *)source)->server))
        return G_SOURCE_CONTINUE;
    ended(data);
    return G_SOURCE_REMOVE;
}

/* ended(data) is called once, when the server has ended. */
static void attach(nod_server *server, GSourceFunc ended, gpointer data)
{
    static GSourceFuncs functions = { .prepare = prepare, .check = check, .dispatch = dispatch };
    GSource *source = g_source_new(&functions, sizeof(struct nod_source));
    struct nod_source *own = (struct nod_source *)source;

    own->server = server;
    own->tag = g_source_add_unix_fd(source, nod_fd(server), G_IO_IN);
    g_source_set_callback(source, ended, data, NULL);
    g_source_attach(source, NULL);
    g_source_unref(source); /* the loop has it */
}

/* --- the lamp --- */

static gboolean is_on = TRUE;
static long blinks;

static gboolean blink(gpointer data)
{
    (void)data;
    if (is_on)
        blinks++;
    return G_SOURCE_CONTINUE;
}

static nod_status look(nod_call *call)
{
    return nod_reply_textf(call, "The lamp is %s, and has blinked %ld times.", is_on ? "on" : "off",
                           blinks);
}

static nod_status set_on(nod_step_run *step, void *arg)
{
    (void)step;
    is_on = *(bool *)arg;
    return NOD_OK;
}

static nod_status switch_lamp(nod_call *call)
{
    bool on = nod_arg_bool(call, "on"), yes = on;

    if (!on)
        NOD_TRY(nod_confirm(call, &yes, .message = "Switch the lamp off?"));
    if (!yes)
        return nod_reply_text(call, "The lamp stays on.");
    NOD_TRY(nod_step(call, "switch", set_on, &on, NULL, .idempotent = true));
    return nod_reply_textf(call, "The lamp is %s.", on ? "on" : "off");
}

static const nod_tool tools[] = {
    { .name = "look", .description = "Is the lamp on?", .handler = look, .read_only = true },
    { .name = "switch_lamp",
      .description = "Switch the lamp on or off",
      .handler = switch_lamp,
      .input = NOD_FORM(NOD_BOOL("on", .required = true)),
      .idempotent = true },
};

/* --- the program --- */

static gboolean on_signal(gpointer server)
{
    nod_stop(server); /* dispatch hears of it when calls are left in good order */
    return G_SOURCE_CONTINUE;
}

static gboolean on_ended(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void run(nod_server *server)
{
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);

    attach(server, on_ended, loop);
    g_timeout_add(500, blink, NULL);
    g_unix_signal_add(SIGINT, on_signal, server);
    g_unix_signal_add(SIGTERM, on_signal, server);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
}

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "own-loop-glib", .version = "1.0");
    nod_status status = NOD_E_USAGE;

    /* The client that has started this program, unless the command line says --http. */
    if (server && nod_tools(server, tools) == NOD_OK && nod_stdio(server, 0, 1) == NOD_OK)
        status = nod_settings_argv(server, argc, argv);
    if (status == NOD_OK)
        status = nod_start(server);
    if (status == NOD_OK)
        run(server);
    nod_server_destroy(server);
    return status == NOD_OK || status == NOD_E_CANCELLED ? 0 : 1; /* cancelled: --help, --version */
}
