/*
 * A window with buttons, in whose process nod runs: window.test.js.
 *
 *     window TICKS [options]    TICKS: a file that gets a byte ten times a second, from a timer of
 * the window's own; the options are nod's, with --http and --token-file
 *
 * A tool asks; the window shows the question, and a click answers it, by the inbox API, as a
 * program of its own would, with the token in WINDOW_TOKEN. The server that is asked is in the same
 * thread as the window that asks it, so nothing here would move if one of the two ever waited.
 */
#include <nod/nod.h>

#include <fcntl.h>
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MS = 100, REPLY_MAX = 64 * 1024 };

static nod_server *server;
static GtkWidget *clock_label, *question_label, *yes_button, *no_button;
static int ticks = -1, ticked;
static char asked[64]; /* the id of the question that is shown; empty: none */

/* --- nod as a source of events: as in examples/own-loop-glib.c --- */

struct nod_source {
    GSource source;
    gpointer tag;
};

static gboolean prepare(GSource *source, gint *timeout)
{
    (void)source;
    *timeout = nod_timeout(server);
    return *timeout == 0;
}

static gboolean check(GSource *source)
{
    struct nod_source *own = (struct nod_source *)source;

    return g_source_query_unix_fd(source, own->tag) != 0 || nod_timeout(server) == 0;
}

static gboolean dispatch(GSource *source, GSourceFunc fn, gpointer data)
{
    (void)source;
    (void)fn;
    (void)data;
    if (nod_turn(server))
        return G_SOURCE_CONTINUE;
    gtk_main_quit();
    return G_SOURCE_REMOVE;
}

static void attach(void)
{
    static GSourceFuncs functions = { .prepare = prepare, .check = check, .dispatch = dispatch };
    GSource *source = g_source_new(&functions, sizeof(struct nod_source));

    ((struct nod_source *)source)->tag = g_source_add_unix_fd(source, nod_fd(server), G_IO_IN);
    g_source_attach(source, NULL);
    g_source_unref(source);
}

/* --- the inbox API, one request at a time --- */

struct exchange {
    GSocketConnection *connection;
    char *request;
    GString *reply;
    char piece[4096];
    void (*done)(const char *reply);
};

static void exchange_end(struct exchange *exchange)
{
    if (exchange->done)
        exchange->done(exchange->reply->str);
    if (exchange->connection)
        g_object_unref(exchange->connection);
    g_string_free(exchange->reply, TRUE);
    g_free(exchange->request);
    g_free(exchange);
}

static void on_piece(GObject *stream, GAsyncResult *result, gpointer data)
{
    struct exchange *exchange = data;
    gssize got = g_input_stream_read_finish(G_INPUT_STREAM(stream), result, NULL);

    if (got <= 0 || exchange->reply->len > REPLY_MAX) {
        exchange_end(exchange);
        return;
    }
    g_string_append_len(exchange->reply, exchange->piece, got);
    g_input_stream_read_async(G_INPUT_STREAM(stream), exchange->piece, sizeof(exchange->piece), 0,
                              NULL, on_piece, exchange);
}

static void on_sent(GObject *stream, GAsyncResult *result, gpointer data)
{
    struct exchange *exchange = data;
    GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(exchange->connection));

    if (!g_output_stream_write_all_finish(G_OUTPUT_STREAM(stream), result, NULL, NULL))
        exchange_end(exchange);
    else
        g_input_stream_read_async(in, exchange->piece, sizeof(exchange->piece), 0, NULL, on_piece,
                                  exchange);
}

static void on_connected(GObject *client, GAsyncResult *result, gpointer data)
{
    struct exchange *exchange = data;

    exchange->connection =
        g_socket_client_connect_to_host_finish(G_SOCKET_CLIENT(client), result, NULL);
    if (!exchange->connection)
        exchange_end(exchange);
    else
        g_output_stream_write_all_async(
            g_io_stream_get_output_stream(G_IO_STREAM(exchange->connection)), exchange->request,
            strlen(exchange->request), 0, NULL, on_sent, exchange);
}

static void request(const char *method, const char *path, const char *body,
                    void (*done)(const char *reply))
{
    struct exchange *exchange = g_new0(struct exchange, 1);
    GSocketClient *client = g_socket_client_new();

    exchange->reply = g_string_new(NULL);
    exchange->done = done;
    exchange->request =
        g_strdup_printf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n%s",
                        method, path, getenv("WINDOW_TOKEN"), strlen(body), body);
    g_socket_client_connect_to_host_async(client, "127.0.0.1", (guint16)nod_port(server), NULL,
                                          on_connected, exchange);
    g_object_unref(client);
}

/* --- the window --- */

static char *text_behind(const char *reply, const char *mark)
{
    const char *at = strstr(reply, mark);
    const char *end = at ? strchr(at += strlen(mark), '"') : NULL;

    return end ? g_strndup(at, (gsize)(end - at)) : NULL;
}

static void show_question(const char *reply)
{
    char *id = text_behind(reply, "\"id\":\"");
    char *message = text_behind(reply, "\"message\":\"");

    g_strlcpy(asked, id ? id : "", sizeof(asked));
    gtk_label_set_text(GTK_LABEL(question_label), message ? message : "Nothing is asked.");
    gtk_widget_set_sensitive(yes_button, id != NULL);
    gtk_widget_set_sensitive(no_button, id != NULL);
    g_free(id);
    g_free(message);
}

/* For whoever reads why the test failed. */
static void say_refusal(const char *reply)
{
    if (!g_str_has_prefix(reply, "HTTP/1.1 200"))
        g_printerr("the answer was refused: %s\n", reply);
}

static void on_click(GtkButton *button, gpointer body)
{
    char *path = g_strdup_printf("/api/elicitation/%s/resolve", asked);

    (void)button;
    if (*asked)
        request("POST", path, body, say_refusal);
    g_free(path);
}

static gboolean on_tick(gpointer data)
{
    char text[32];

    (void)data;
    g_snprintf(text, sizeof(text), "%d", ++ticked);
    gtk_label_set_text(GTK_LABEL(clock_label), text);
    if (write(ticks, ".", 1) != 1)
        gtk_main_quit();
    request("GET", "/api/elicitation", "", show_question);
    return G_SOURCE_CONTINUE;
}

static gboolean on_close(GtkWidget *window, GdkEvent *event, gpointer data)
{
    (void)window;
    (void)event;
    (void)data;
    nod_stop(server); /* dispatch hears of the end */
    return TRUE;
}

static gboolean on_signal(gpointer data)
{
    (void)data;
    nod_stop(server);
    return G_SOURCE_CONTINUE;
}

static GtkWidget *button(GtkWidget *box, const char *words, const char *body)
{
    GtkWidget *made = gtk_button_new_with_label(words);

    g_signal_connect(made, "clicked", G_CALLBACK(on_click), (gpointer)(uintptr_t)body);
    gtk_box_pack_start(GTK_BOX(box), made, TRUE, TRUE, 0);
    return made;
}

static void open_window(void)
{
    GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);

    clock_label = gtk_label_new("0");
    question_label = gtk_label_new("Nothing is asked.");
    gtk_box_pack_start(GTK_BOX(box), clock_label, FALSE, FALSE, 0);
    gtk_box_pack_start(GTK_BOX(box), question_label, FALSE, FALSE, 0);
    yes_button = button(box, "Yes", "{\"approved\":true}");
    no_button = button(box, "No", "{\"approved\":false}");
    gtk_container_add(GTK_CONTAINER(window), box);
    gtk_window_set_title(GTK_WINDOW(window), "nod in a window");
    gtk_window_set_default_size(GTK_WINDOW(window), 300, 400);
    g_signal_connect(window, "delete-event", G_CALLBACK(on_close), NULL);
    gtk_widget_show_all(window);
    g_unix_signal_add(SIGTERM, on_signal, NULL);
    g_timeout_add(TICK_MS, on_tick, NULL);
}

/* --- the tool --- */

static nod_status clear(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Clear the canvas?"));
    return nod_reply_text(call, yes ? "The canvas is clear." : "The canvas stays.");
}

static const nod_tool tools[] = {
    { .name = "clear", .description = "Clear the canvas", .handler = clear },
};

int main(int argc, char **argv)
{
    if (!gtk_init_check(NULL, NULL) || argc < 2 || !getenv("WINDOW_TOKEN") ||
        (ticks = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return 98;
    server = nod_server_new(.name = "window", .version = "1.0");
    if (!server || nod_tools(server, tools) != NOD_OK ||
        nod_settings_argv(server, argc - 1, argv + 1) != NOD_OK || nod_start(server) != NOD_OK)
        return 97;
    attach();
    open_window();
    gtk_main();
    nod_server_destroy(server);
    return 0;
}
