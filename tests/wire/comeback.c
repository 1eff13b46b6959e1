/*
 * comeback-server: tools for whoever comes back for a call, in whatever state the call is.
 *
 * `deed` asks for a word, and then does its one step: it works until the file open-TAG is there,
 * and writes a line to the file deeds. `deed_task` is the same as a task. The files are in the
 * folder COMEBACK_FOLDER; begun-TAG says that the step has begun. So a test sees what a call does,
 * whoever runs it, and says itself when it ends.
 *
 * COMEBACK_VERSION is the version of both; COMEBACK_WITHOUT takes them away. `renew` and `remove`
 * do the same while the server runs. With COMEBACK_STAYS their calls stay where they were begun, as
 * those of a provider that keeps something for each. NOD_LATER_FILE moves its clock (later.h).
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "host/host.h"

enum { LOOK_MS = 10, LOOKS = 60000, WORK_MS = LOOK_MS * LOOKS };

static const char *file_of(nod_call *call, const char *what, const char *tag)
{
    return nod_fmt(call, "%s/%s%s", getenv("COMEBACK_FOLDER"), what, tag);
}

static bool append(const char *path, const char *line)
{
    FILE *file = fopen(path, "a");

    if (file == NULL)
        return false;
    fprintf(file, "%s\n", line);
    return fclose(file) == 0;
}

/* Until the test lets it go on, or gives it up. */
static nod_status work_until_open(nod_call *call, const char *tag)
{
    const char *open_file = file_of(call, "open-", tag);

    if (!append(file_of(call, "begun-", tag), "begun"))
        return NOD_E_IO;
    for (int i = 0; i < LOOKS; i++) {
        if (access(open_file, F_OK) == 0)
            return NOD_OK;
        if (nod_cancelled(call))
            return NOD_E_CANCELLED;
        nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
    }
    return NOD_E_IO;
}

struct deed {
    const char *tag, *word;
};

static nod_status do_deed(nod_step_run *step, void *arg)
{
    const struct deed *deed = arg;
    nod_call *call = nod_step_call(step);

    NOD_TRY(work_until_open(call, deed->tag));
    return append(file_of(call, "deeds", ""), nod_fmt(call, "%s %s", deed->tag, deed->word))
               ? NOD_OK
               : NOD_E_IO;
}

static nod_status deed(nod_call *call)
{
    struct deed deed = { .tag = nod_arg_str(call, "tag") };
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "word", .message = "Which word?",
                       .form = NOD_FORM(NOD_TEXT("word", .required = true))));
    deed.word = answer.action == NOD_ACCEPT ? nod_get_str(answer.content, "word") : "(nothing)";
    NOD_TRY(nod_step(call, "deed", do_deed, &deed, NULL));
    return nod_reply_textf(call, "did %s", deed.word);
}

/* Has a worker of the server to itself. */
static nod_status occupy(nod_call *call)
{
    NOD_TRY(work_until_open(call, nod_arg_str(call, "tag")));
    return nod_reply_text(call, "occupied");
}

static nod_status add_deeds(nod_server *server, const char *version)
{
    const nod_tool all[] = {
        { .name = "deed",
          .handler = deed,
          .input = NOD_FORM(NOD_TEXT("tag", .required = true)),
          .version = version,
          .asks = true,
          .timeout_ms = WORK_MS,
          .blocking = true },
        { .name = "deed_task",
          .handler = deed,
          .input = NOD_FORM(NOD_TEXT("tag", .required = true)),
          .version = version,
          .task = NOD_TASK_OPTIONAL,
          .timeout_ms = WORK_MS,
          .blocking = true },
    };

    NOD_TRY(nod_tools(server, all));
    for (size_t i = 0; getenv("COMEBACK_STAYS") && i < sizeof(all) / sizeof(all[0]); i++)
        catalog_for(server->catalog, STR_NONE, TARGET_TOOL, str_of(all[i].name))->stays = true;
    return NOD_OK;
}

static void remove_deeds(nod_server *server)
{
    nod_remove_tool(server, "deed");
    nod_remove_tool(server, "deed_task");
}

static nod_status renew(nod_call *call)
{
    remove_deeds(nod_server_of(call));
    NOD_TRY(add_deeds(nod_server_of(call), "2"));
    return nod_reply_text(call, "renewed");
}

static nod_status take_away(nod_call *call)
{
    remove_deeds(nod_server_of(call));
    return nod_reply_text(call, "removed");
}

int main(int argc, char **argv)
{
    const nod_tool tools[] = {
        { .name = "occupy",
          .handler = occupy,
          .input = NOD_FORM(NOD_TEXT("tag", .required = true)),
          .asks = true, /* so that there are views also when `deed` is gone */
          .timeout_ms = WORK_MS,
          .blocking = true },
        { .name = "renew", .handler = renew },
        { .name = "remove", .handler = take_away },
    };
    nod_server *server = nod_server_new(.name = "comeback", .version = NOD_VERSION, .workers = 2);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK ||
        (getenv("COMEBACK_WITHOUT") == NULL &&
         add_deeds(server, getenv("COMEBACK_VERSION")) != NOD_OK)) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
