/*
 * live-server: a server with a live provider (tests/toys/live.c).
 *
 * Each call of `live` and `live_task` is a session of the toy, named by its argument `tag`. What
 * the sessions do is said by calls of `drive`: words such as "ask a", "step s", "commit", "back a",
 * "progress 3", "end text", separated by semicolons. Its result is what the session was told so
 * far. So a test drives both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../toys/live.h"
#include "host/host.h"

enum { LIVE_KINDS = 2, LIVE_WORDS_MAX = 512 };

static struct live_toy toys[LIVE_KINDS];

static struct live_session *session_of(const char *tag)
{
    for (size_t kind = 0; kind < LIVE_KINDS; kind++)
        for (size_t i = 0; i < toys[kind].count; i++)
            if (strcmp(toys[kind].sessions[i].tag, tag) == 0)
                return &toys[kind].sessions[i];
    return NULL;
}

/* False: it makes no sense, or the run says no. */
static bool live_do(struct live_session *session, char *word)
{
    char *arg = strchr(word, ' ');

    if (!session->run)
        return strcmp(word, "heard") == 0;
    if (arg)
        *arg++ = '\0';
    if (strcmp(word, "commit") == 0)
        live_toy_commit(session);
    else if (strcmp(word, "ask") == 0)
        return live_toy_ask(session, arg, arg) == NOD_PENDING;
    else if (strcmp(word, "step") == 0)
        return live_toy_step(session, arg) == NOD_PENDING;
    else if (strcmp(word, "back") == 0)
        return live_toy_take_back(session, arg, "It is no longer needed") == NOD_PENDING;
    else if (strcmp(word, "progress") == 0)
        live_toy_progress(session, atof(arg));
    else if (strcmp(word, "end") == 0)
        live_toy_end(session, arg);
    else
        return strcmp(word, "heard") == 0;
    return true;
}

static nod_status drive(nod_call *call)
{
    struct live_session *session = session_of(nod_arg_str(call, "tag"));
    char words[LIVE_WORDS_MAX], *rest = words, *word;

    if (!session)
        return nod_reply_error(call, "There is no such session here.");
    snprintf(words, sizeof(words), "%s", nod_arg_str(call, "does"));
    while ((word = strsep(&rest, ";")) != NULL)
        if (!live_do(session, word))
            return nod_reply_error(call, "Not done: %s", word);
    return nod_reply_textf(call, "%s%s%s", session->heard, session->cancelled ? " cancelled" : "",
                           session->ended ? nod_fmt(call, " ended=%s", session->code) : "");
}

static const nod_tool tools[] = {
    { .name = "drive",
      .handler = drive,
      .input = NOD_FORM(NOD_TEXT("tag", .required = true), NOD_TEXT("does", .required = true)) },
};

#define LIVE_DESCRIPTOR(name)                                                                      \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\","                                 \
    "\"properties\":{\"tag\":{\"type\":\"string\"}},\"required\":[\"tag\"]}}"

static bool toys_add(struct catalog *catalog)
{
    live_toy_init(&toys[0], "live");
    toys[0].target.descriptor = STR(LIVE_DESCRIPTOR("live"));
    live_toy_init(&toys[1], "live_task");
    toys[1].target.descriptor = STR(LIVE_DESCRIPTOR("live_task"));
    toys[1].target.detach = DETACH_MAY;
    for (size_t i = 0; i < LIVE_KINDS; i++) {
        toys[i].target.timeout_ms = 600000;
        toys[i].target.asks = true;
        if (catalog_add(catalog, &toys[i].target) != NOD_OK)
            return false;
    }
    return true;
}

static int serve(nod_server *server)
{
    host_own_process(server);
    if (!host_open_store(server))
        return 1;
    bool serving = server->settings.opts.http ? host_open_http(server) && host_listen(server)
                                         : host_serve_stdio(server);
    if (serving) {
        host_begin(server);
        host_run(server);
    }
    return serving ? 0 : 1;
}

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "live", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (settings_argv(&server->settings, argc, argv) != SETTINGS_RUN) {
        fprintf(stderr, "%s\n", server->settings.wrong);
        nod_server_destroy(server);
        return 2;
    }
    settings_log(&server->settings);
    bool fine = nod_tools(server, tools) == NOD_OK && toys_add(server->catalog);
    int code = fine ? serve(server) : 1;
    nod_server_destroy(server);
    return code;
}
