/*
 * A server with tools that ask, and tools of a provider of its own that wait for their calls:
 * `outer` calls the tool that its arguments name, `o1` to `o5` do the same, and `beside` asks a
 * question at the same time.
 *
 * What is done is a line in the file TOYS_DEEDS, so that a test can count it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"
#include "core/run.h"
#include "json/write.h"

/* --- the tools that are called --- */

static nod_status do_deed(nod_step_run *step, void *arg)
{
    const char *path = getenv("TOYS_DEEDS");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

    (void)step;
    if (fd < 0)
        return NOD_OK;
    dprintf(fd, "%s\n", (const char *)arg);
    close(fd);
    return NOD_OK;
}

#define WORD  NOD_FORM(NOD_TEXT("word", .required = true))
#define INPUT NOD_FORM(NOD_TEXT("tag", .required = true))

static nod_status ask_word(nod_call *call, const char *key, const char **out)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = key,
                       .message = nod_fmt(call, "%s, the %s word?", nod_arg_str(call, "tag"), key),
                       .form = WORD));
    *out = answer.action == NOD_ACCEPT    ? nod_get_str(answer.content, "word")
           : answer.action == NOD_DECLINE ? "(declined)"
                                          : "(dismissed)";
    return NOD_OK;
}

static nod_status one_word(nod_call *call)
{
    const char *first;

    NOD_TRY(ask_word(call, "first", &first));
    const char *deed = nod_fmt(call, "%s: %s", nod_arg_str(call, "tag"), first);
    NOD_TRY(nod_step(call, "deed", do_deed, (void *)deed, NULL));
    return nod_reply_text(call, deed);
}

static nod_status two_words(nod_call *call)
{
    const char *first, *second;

    NOD_TRY(ask_word(call, "first", &first));
    NOD_TRY(ask_word(call, "second", &second));
    return nod_reply_textf(call, "%s: %s %s", nod_arg_str(call, "tag"), first, second);
}

static nod_status approval(nod_call *call)
{
    bool yes = false;

    NOD_TRY(nod_confirm(call, &yes, .message = "May it?"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status plain(nod_call *call)
{
    static char deed[] = "plain";

    NOD_TRY(nod_step(call, "deed", do_deed, deed, NULL));
    return nod_reply_text(call, "plain");
}

static nod_status tagged(nod_call *call)
{
    NOD_TRY(nod_step(call, "deed", do_deed, (void *)nod_arg_str(call, "tag"), NULL));
    return nod_reply_text(call, nod_arg_str(call, "tag"));
}

static nod_status counts(nod_call *call)
{
    for (int i = 1; i <= 3; i++)
        nod_progress(call, i, 3, nod_fmt(call, "%d of 3", i));
    return nod_reply_text(call, "counted");
}

static nod_status fails(nod_call *call)
{
    return nod_reply_error(call, "There are none left.");
}

static const nod_tool tools[] = {
    { .name = "word", .handler = one_word, .input = INPUT, .asks = true },
    { .name = "two", .handler = two_words, .input = INPUT },
    { .name = "approval", .handler = approval },
    { .name = "gated", .handler = plain, .requires_confirmation = true },
    { .name = "plain", .handler = plain },
    { .name = "fails", .handler = fails },
    { .name = "tagged", .handler = tagged, .input = INPUT },
    { .name = "counts", .handler = counts },
    { .name = "danger", .handler = plain, .destructive = true, .requires_confirmation = true },
    { .name = "kept",
      .handler = tagged,
      .input = INPUT,
      .requires_confirmation = true,
      .remember = NOD_REMEMBER_SESSION | NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TOOL |
                  NOD_REMEMBER_ARGUMENTS },
};

/* --- the provider whose calls wait for theirs --- */

static void reply(struct run *run, const struct outcome *outcome, struct str *body)
{
    struct json_writer w;
    struct buf out;

    if (outcome->status == NOD_OK) {
        *body = outcome->body; /* the result of the inner call is that of the outer one */
        return;
    }
    buf_init(&out, 64 << 10);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key(&w, STR("content"));
    jw_array(&w);
    jw_object(&w);
    jw_key_str(&w, STR("type"), STR("text"));
    jw_key_str(&w, STR("text"),
               arena_fmt(&run->arena, "%s: " STR_FMT, outcome->code, STR_ARG(outcome->message)));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    *body = json_writer_done(&w) ? arena_str(&run->arena, buf_str(&out)) : STR("{\"content\":[]}");
    buf_finish(&out);
}

static void outer_start(struct provider *provider, struct run *run)
{
    const struct entry *answer = NULL;
    struct str body = STR_NONE;
    struct outcome outcome;
    nod_status asked = NOD_OK;

    (void)provider;
    if (str_eq(run->target->name, STR("beside")))
        asked = run_ask(run,
                        &(struct ask_spec){ .kind = ASK_FORM,
                                            .key = STR("first"),
                                            .message = STR("And beside?"),
                                            .detail = STR("{\"type\":\"object\",\"properties\":{"
                                                          "\"word\":{\"type\":\"string\"}}}") },
                        &answer);
    nod_status status =
        run_call(run,
                 &(struct run_call_spec){ .key = STR("call"),
                                          .tool = json_get_str(run->args, STR("tool")),
                                          .args = json_get(run->args, STR("arguments")) },
                 &outcome);
    if (asked != NOD_OK)
        status = asked;
    if (status == NOD_OK)
        reply(run, &outcome, &body);
    run_done(run, status, body);
}

static const struct provider_ops outer_ops = { .name = "outer", .start = outer_start };
static struct provider outer_provider = { .ops = &outer_ops };

static const char *const outers[] = { "outer", "beside", "o1", "o2", "o3", "o4", "o5" };
enum { OUTERS = sizeof(outers) / sizeof(outers[0]) };
static struct target outer_targets[OUTERS];
static char descriptors[OUTERS][64];

static bool outer_add(nod_server *server, int i)
{
    struct target *target = &outer_targets[i];
    const char *name = outers[i];

    snprintf(descriptors[i], sizeof(descriptors[i]),
             "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", name);
    *target = (struct target){ .kind = TARGET_TOOL,
                               .name = str_of(name),
                               .title = str_of(name),
                               .provider = &outer_provider,
                               .asks = true,
                               .detach = DETACH_MAY,
                               .descriptor = str_of(descriptors[i]) };
    return catalog_add(server->catalog, target) == NOD_OK;
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
    nod_server *server = nod_server_new(.name = "inner", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (settings_argv(&server->settings, argc, argv) != SETTINGS_RUN) {
        fprintf(stderr, "%s\n", server->settings.wrong);
        nod_server_destroy(server);
        return 2;
    }
    settings_log(&server->settings);
    bool fine = nod_tools(server, tools) == NOD_OK;
    for (int i = 0; fine && i < OUTERS; i++)
        fine = outer_add(server, i);
    int code = fine ? serve(server) : 1;
    nod_server_destroy(server);
    return code;
}
