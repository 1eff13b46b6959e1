/*
 * toys: a server with a toy surface (toy_surface.c), for what only two surfaces can show.
 *
 * Its tools ask for words. What they do after that is a line in the file TOYS_DEEDS, so that a test
 * can count it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"
#include "toy_surface.h"

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

#define WORD NOD_FORM(NOD_TEXT("word", .required = true))

static const char *word_of(const nod_answer *answer)
{
    return answer->action == NOD_ACCEPT ? nod_get_str(answer->content, "word") : "(none)";
}

static nod_status ask_word(nod_call *call, const char *key, const char **out)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = key,
                       .message = nod_fmt(call, "%s, the %s word?", nod_arg_str(call, "tag"), key),
                       .form = WORD));
    *out = word_of(&answer);
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

/* Its result has a schema. */
static nod_status typed_word(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "first", .form = WORD,
                       .message = nod_fmt(call, "%s, the word?", nod_arg_str(call, "tag"))));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_error(call, "No word.");
    return nod_reply_structured(call, answer.content);
}

/* One after the other. */
static nod_status two_words(nod_call *call)
{
    const char *first, *second;

    NOD_TRY(ask_word(call, "first", &first));
    NOD_TRY(ask_word(call, "second", &second));
    return nod_reply_textf(call, "%s: %s %s", nod_arg_str(call, "tag"), first, second);
}

static nod_status work_long(nod_step_run *step, void *data)
{
    (void)step;
    (void)data;
    usleep(1500 * 1000);
    return NOD_OK;
}

/* Works for longer than the soft deadline of the tests, and then asks again. */
static nod_status slow_words(nod_call *call)
{
    const char *first, *second;

    NOD_TRY(ask_word(call, "first", &first));
    NOD_TRY(nod_step(call, "work", work_long, NULL, NULL));
    NOD_TRY(ask_word(call, "second", &second));
    return nod_reply_textf(call, "%s: %s %s", nod_arg_str(call, "tag"), first, second);
}

/* Both in one round. */
static nod_status pair_of_words(nod_call *call)
{
    nod_answer first, second;

    NOD_TRY(nod_want(call, &first, .key = "first", .message = "First?", .form = WORD));
    NOD_TRY(nod_want(call, &second, .key = "second", .message = "Second?", .form = WORD));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s: %s %s", nod_arg_str(call, "tag"), word_of(&first),
                           word_of(&second));
}

static nod_status approval(nod_call *call)
{
    bool yes = false;

    NOD_TRY(nod_confirm(call, &yes, .message = "May it?"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

#define INPUT NOD_FORM(NOD_TEXT("tag", .required = true))

static const nod_tool tools[] = {
    { .name = "word", .handler = one_word, .input = INPUT },
    { .name = "word_task", .handler = one_word, .input = INPUT, .task = NOD_TASK_OPTIONAL },
    { .name = "word_first",
      .handler = one_word,
      .input = INPUT,
      .task = NOD_TASK_OPTIONAL,
      .task_asks_first = true },
    { .name = "typed",
      .handler = typed_word,
      .input = INPUT,
      .output_schema = "{\"type\":\"object\",\"properties\":{\"word\":{\"$ref\":\"#/$defs/word\"}},"
                       "\"required\":[\"word\"],\"$defs\":{\"word\":{\"type\":\"string\"}}}" },
    { .name = "two", .handler = two_words, .input = INPUT },
    { .name = "slow", .handler = slow_words, .input = INPUT, .blocking = true },
    { .name = "pair", .handler = pair_of_words, .input = INPUT },
    { .name = "approval", .handler = approval },
};

static int serve(nod_server *server)
{
    host_own_process(server);
    if (!host_open_store(server) || !toy_surface_open(server->loop, server->engine))
        return 1;
    bool serving = server->settings.opts.http ? host_open_http(server) && host_listen(server)
                                              : host_serve_stdio(server);
    if (serving) {
        host_begin(server);
        host_run(server);
    }
    toy_surface_close(server->loop);
    return serving ? 0 : 1;
}

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "toys", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (settings_argv(&server->settings, argc, argv) != SETTINGS_RUN) {
        fprintf(stderr, "%s\n", server->settings.wrong);
        nod_server_destroy(server);
        return 2;
    }
    settings_log(&server->settings);
    int code = nod_tools(server, tools) == NOD_OK ? serve(server) : 1;
    nod_server_destroy(server);
    return code;
}
