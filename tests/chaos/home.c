/*
 * home-server: a toy provider that keeps something for each of its calls.
 *
 * Its tool `stays` asks for two words, one after the other. For each call that it has begun it
 * keeps a session in the memory of this process, as another provider keeps a connection. A call
 * whose session is not here was begun elsewhere: that must never come to this process, and the call
 * fails if it does. Each beginning is a file deeds/TAG@CALL-PID in CHAOS_DIR, so that a test can
 * count it. HOME_WITHOUT takes the tool away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "host/host.h"
#include "core/run.h"

enum { SESSIONS_MAX = 4096 };

#define FORM                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"word\":{\"type\":\"string\"}},\"required\":[\"word\"]" \
    "}"
#define TOOL                                                                                       \
    "{\"name\":\"stays\",\"description\":\"Asks for two words\",\"inputSchema\":{\"type\":"        \
    "\"object\",\"properties\":{\"tag\":{\"type\":\"string\"}},\"required\":[\"tag\"]}}"

static char sessions[SESSIONS_MAX][ID_LEN + 1]; /* calls; empty: free */

static char *session_of(struct str call)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (str_eq(str_of(sessions[i]), call))
            return sessions[i];
    return NULL;
}

static bool session_begin(struct str call, struct str tag)
{
    char *free = session_of(STR_NONE);
    char path[512];
    FILE *file;

    if (!free)
        return false;
    snprintf(free, ID_LEN + 1, STR_FMT, STR_ARG(call));
    snprintf(path, sizeof(path), "%s/deeds/" STR_FMT "@" STR_FMT "-%d", getenv("CHAOS_DIR"),
             STR_ARG(tag), STR_ARG(call), (int)getpid());
    file = fopen(path, "ax"); /* once a process */
    return file && fclose(file) == 0;
}

static nod_status stays_ask(struct run *run, struct str tag, const char *key, struct str *said)
{
    const struct entry *answer;
    struct str message = arena_fmt(&run->arena, STR_FMT ", the %s word?", STR_ARG(tag), key);
    nod_status status =
        run_ask(run,
                &(struct ask_spec){
                    .kind = ASK_FORM, .key = str_of(key), .message = message, .detail = STR(FORM) },
                &answer);

    if (status != NOD_OK)
        return status;
    const struct json *content = json_parse(&run->arena, answer->content, NULL, NULL);
    *said = content ? json_str(json_get(content, STR("word"))) : STR("(none)");
    return NOD_OK;
}

static nod_status stays_work(struct run *run, struct str *body)
{
    struct str tag = json_str(json_get(run->args, STR("tag"))), first, second;
    bool begun = run->journal_count > 1; /* it has learned more than the intent */

    if (!session_of(run->call_id) && (begun || !session_begin(run->call_id, tag))) {
        *body =
            STR("{\"content\":[{\"type\":\"text\",\"text\":\"not begun here\"}],\"isError\":true}");
        return NOD_OK;
    }
    NOD_TRY(stays_ask(run, tag, "first", &first));
    NOD_TRY(stays_ask(run, tag, "second", &second));
    *body = arena_fmt(&run->arena,
                      "{\"content\":[{\"type\":\"text\",\"text\":\"" STR_FMT ": " STR_FMT
                      " " STR_FMT "\"}]}",
                      STR_ARG(tag), STR_ARG(first), STR_ARG(second));
    return NOD_OK;
}

static void stays_start(struct provider *provider, struct run *run)
{
    struct str body = STR_NONE;
    nod_status status = stays_work(run, &body);

    (void)provider;
    run_done(run, status, body);
}

static void stays_ended(struct provider *provider, struct str call_id,
                        const struct outcome *outcome)
{
    char *session = session_of(call_id);

    (void)provider;
    if (session)
        session[0] = '\0';
    LOG_INFO("a session has ended", LOG_STR("call", call_id),
             LOG_CSTR("as", outcome->status ? outcome->code : "OK"));
}

static int serve(nod_server *server)
{
    host_own_process(server);
    if (!host_open_store(server))
        return 1;
    if (!host_open_http(server) || !host_listen(server))
        return 1;
    host_begin(server);
    host_run(server);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct provider_ops ops = { .name = "stays",
                                             .start = stays_start,
                                             .ended = stays_ended };
    static struct provider provider = { .ops = &ops };
    static struct target target = { .kind = TARGET_TOOL,
                                    .name = { "stays", 5 },
                                    .title = { "Stays", 5 },
                                    .provider = &provider,
                                    .descriptor = { TOOL, sizeof(TOOL) - 1 },
                                    .asks = true,
                                    .stays = true };
    nod_server *server = nod_server_new(.name = "home", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (settings_argv(&server->settings, argc, argv) != SETTINGS_RUN) {
        fprintf(stderr, "%s\n", server->settings.wrong);
        nod_server_destroy(server);
        return 2;
    }
    settings_log(&server->settings);
    bool fine = getenv("HOME_WITHOUT") || catalog_add(server->catalog, &target) == NOD_OK;
    int code = fine ? serve(server) : 1;
    nod_server_destroy(server);
    return code;
}
