/*
 * long-report: work that takes longer than anybody wants to wait, with a question inside.
 *
 * What it shows: .task. A client that declares the tasks extension (2026-07-28) is given the id of
 * a task and disconnects. From time to time it asks how far the work is, answers what is asked, and
 * fetches the result. Any other client simply waits. The handler is the same for both, and knows
 * nothing of it: slow work in steps, a question in the middle, a reply.
 *
 * The second tool has .task_asks_first: its question is asked at once, and the task begins with the
 * first step. Use that if nothing should begin before somebody has agreed.
 *
 * Run it:
 *
 *     build/release/examples/long-report
 *     build/release/examples/long-report --http 127.0.0.1:8080
 *
 * What the person sees: the branches one by one, then "Rome has sent no figures for May. What shall
 * the report say?" with two choices, and an hour to answer if it is a task. For the second tool:
 * "Send the report for May to everybody?", and nothing else.
 *
 * LONG_REPORT_MS changes how long one branch takes (250).
 */
#include <nod/nod.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct branch {
    const char *name;
    int64_t sold;
} branches[] = { { "Berlin", 120 }, { "Lisbon", 80 }, { "Oslo", 95 }, { "Rome", -1 } };

enum { BRANCHES = sizeof(branches) / sizeof(branches[0]), LAST_MONTH_IN_ROME = 70 };

static long branch_ms = 250;

static void take_time(void)
{
    nanosleep(&(struct timespec){ branch_ms / 1000, branch_ms % 1000 * 1000000L }, NULL);
}

/* Slow, so it is done once and remembered. The last progress message is the task's status. */
static nod_status collect(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    int64_t sum = 0;

    (void)arg;
    for (int i = 0; i < BRANCHES; i++) {
        if (nod_cancelled(call)) /* somebody has cancelled the task */
            return NOD_E_CANCELLED;
        nod_progress(call, i + 1, BRANCHES, nod_fmt(call, "Adding up %s", branches[i].name));
        take_time();
        if (branches[i].sold > 0)
            sum += branches[i].sold;
    }
    nod_step_result(step, nod_json_int(call, sum));
    return NOD_OK;
}

static nod_status write_report(nod_call *call)
{
    const char *month = nod_arg_str(call, "month");
    const nod_json *collected;
    nod_answer answer;

    NOD_TRY(nod_step(call, "collect", collect, NULL, &collected, .idempotent = true));

    /* Perhaps nobody is connected now. The question waits for as long as the task lives. */
    NOD_TRY(nod_elicit(
        call, &answer, .key = "rome",
        .message =
            nod_fmt(call, "Rome has sent no figures for %s. What shall the report say?", month),
        .form = NOD_FORM(NOD_CHOICE(
            "use", NOD_OPTIONS({ "nothing", "Leave Rome out" }, { "last", "Last month's figures" }),
            .title = "For Rome", .required = true))));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, "No report was written.");

    bool last = strcmp(nod_get_str(answer.content, "use"), "last") == 0;
    int64_t sum = nod_as_int(collected) + (last ? LAST_MONTH_IN_ROME : 0);
    return nod_reply_textf(call, "%s: %lld sold%s.", month, (long long)sum,
                           last ? ", Rome as the month before" : ", without Rome");
}

static nod_status send_to_all(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);

    (void)arg;
    for (int i = 0; i < BRANCHES && !nod_cancelled(call); i++) {
        nod_progress(call, i + 1, BRANCHES, nod_fmt(call, "Sending to %s", branches[i].name));
        take_time();
    }
    return nod_cancelled(call) ? NOD_E_CANCELLED : NOD_OK;
}

static nod_status send_report(nod_call *call)
{
    const char *month = nod_arg_str(call, "month");
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .key = "send",
                        .message = nod_fmt(call, "Send the report for %s to everybody?", month)));
    if (!yes)
        return nod_reply_text(call, "Nothing was sent.");

    /* Here, at its first step, the call becomes a task. */
    NOD_TRY(nod_step(call, "send", send_to_all, NULL, NULL, .idempotent = true));
    return nod_reply_textf(call, "Sent the report for %s to %d branches.", month, (int)BRANCHES);
}

#define MONTH                                                                                      \
    NOD_FORM(NOD_TEXT("month", .description = "Which month", .required = true, NOD_MAX(40)))

static const nod_tool tools[] = {
    { .name = "write_report",
      .handler = write_report,
      .title = "Write the report",
      .description = "Adds up what the branches have sold, and asks about what is missing",
      .input = MONTH,
      .read_only = true,
      .blocking = true,
      .task = NOD_TASK_OPTIONAL },
    { .name = "send_report",
      .handler = send_report,
      .title = "Send the report",
      .description = "Sends the report to all branches, after a person has agreed",
      .input = MONTH,
      .blocking = true,
      .task = NOD_TASK_OPTIONAL,
      .task_asks_first = true },
};

int main(int argc, char **argv)
{
    const char *text = getenv("LONG_REPORT_MS");
    nod_server *server =
        nod_server_new(.name = "long-report", .version = NOD_VERSION, .task_ttl_ms = 3600000);

    if (text != NULL)
        branch_ms = strtol(text, NULL, 10);
    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
