/*
 * tests/wire/plugins/steady: a plugin that comes in several versions, which differ in what the
 * tests of reload change. Its tool asks, and then writes who has done the work.
 *
 *     MADE          the word that its replies begin with: each object has its own
 *     TOOL_VERSION  .version of its tools
 *     OTHER_SCHEMA  the tools take one more argument
 *     WITHOUT_TOOL  steady.ask is not there
 */
#include <nod/nod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MADE
#define MADE "first"
#endif
#ifndef TOOL_VERSION
#define TOOL_VERSION "1"
#endif

static const char *deeds; /* a file: a line for each step that was done */
static int64_t limit;

#ifndef WITHOUT_TOOL
static nod_status do_deed(nod_step_run *step, void *arg)
{
    FILE *file = fopen(deeds, "a");

    if (!file)
        return nod_reply_error(nod_step_call(step), "The file of deeds cannot be opened");
    fprintf(file, "%s by %s\n", (const char *)arg, MADE);
    fclose(file);
    return NOD_OK;
}

static nod_status ask(nod_call *call)
{
    const char *what = nod_arg_str(call, "what");
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = nod_fmt(call, "Which word for %s?", what),
                       .form = NOD_FORM(NOD_TEXT("word", .required = true))));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, MADE ": nothing");
    if (*deeds)
        NOD_TRY(nod_step(call, "deed", do_deed, (void *)what, NULL));
    return nod_reply_textf(call, MADE ": %s", nod_get_str(answer.content, "word"));
}
#endif

static nod_status plain(nod_call *call)
{
    return nod_reply_textf(call, MADE ": %s", nod_arg_str(call, "what"));
}

static nod_status limits(nod_call *call)
{
    return nod_reply_textf(call, MADE ": at most %d", (int)limit);
}

/* A run that goes on, on a thread of its own, until a file is there. That it has begun shows a file
 * of that name with ".begun". */
static nod_status slow(nod_call *call)
{
    const char *until = nod_arg_str(call, "what");
    FILE *begun = fopen(nod_fmt(call, "%s.begun", until), "w");

    if (begun)
        fclose(begun);
    while (access(until, F_OK) != 0 && !nod_cancelled(call))
        usleep(10000);
    return nod_reply_text(call, MADE ": slow");
}

static nod_status crash(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Crash?", .form = NOD_FORM(NOD_BOOL("yes"))));
    abort();
}

static const nod_form takes = { sizeof(nod_field),
                                (const nod_field[]){ NOD_TEXT("what", .required = true),
#ifdef OTHER_SCHEMA
                                                     NOD_INT("more")
#endif
                                },
#ifdef OTHER_SCHEMA
                                2
#else
                                1
#endif
};

static const nod_tool tools[] = {
#ifndef WITHOUT_TOOL
    { .name = "steady.ask",
      .handler = ask,
      .input = &takes,
      .version = TOOL_VERSION,
      .asks = true },
    { .name = "steady.task",
      .handler = ask,
      .input = &takes,
      .version = TOOL_VERSION,
      .asks = true,
      .task = NOD_TASK_REQUIRED },
#endif
    { .name = "steady.plain", .handler = plain, .input = &takes, .version = TOOL_VERSION },
    { .name = "steady.limits", .handler = limits },
    { .name = "steady.slow", .handler = slow, .input = &takes, .blocking = true },
    { .name = "steady.approve",
      .handler = limits,
      .requires_confirmation = true,
      .remember = NOD_REMEMBER_SESSION },
    { .name = "steady.crash", .handler = crash, .asks = true },
};

static nod_status note(nod_hook_run *hook, void *data)
{
    (void)hook, (void)data;
    return NOD_OK;
}

static nod_status load(nod_server *server)
{
    deeds = nod_setting(server, "deeds");
    limit = nod_setting_int(server, "limit");
    NOD_TRY(nod_tools(server, tools));
    return nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "start", .kind = NOD_WILL, .fn = note,
                    .name = "steady-note");
}

static void unload(nod_server *server)
{
    (void)server;
    fputs("unloaded " MADE "\n", stderr);
}

NOD_PLUGIN(.name = "steady", .version = TOOL_VERSION, .load = load, .unload = unload,
           .settings = NOD_FORM(NOD_TEXT("deeds", .description = "a file"),
                                NOD_INT("limit", NOD_MIN(1), NOD_MAX(10), .preset = "3"),
                                NOD_CHOICE("mood",
                                           NOD_OPTIONS({ "good", "Good" }, { "bad", "Bad" })),
                                NOD_BOOL("loud")));
