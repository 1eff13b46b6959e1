/*
 * model: tools for clients whose model is asked.
 *
 * What is done is written to the file PROBE_FILE, a line a deed, so that a test can count what
 * happened whoever did it.
 */
#include <nod/nod.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static nod_status write_deed(nod_step_run *step, void *arg)
{
    const char *path = getenv("PROBE_FILE");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    (void)step;

    if (file == NULL)
        return NOD_E_IO;
    fprintf(file, "%s\n", (const char *)arg);
    if (strstr(arg, "slow") != NULL) /* the word of a blocking tool */
        nanosleep(&(struct timespec){ .tv_nsec = 800000000 }, NULL);
    return fclose(file) == 0 ? NOD_OK : NOD_E_IO;
}

static nod_status deed(nod_call *call, const char *key, const char *line)
{
    return getenv("PROBE_FILE") == NULL ? NOD_OK
                                        : nod_step(call, key, write_deed, (void *)line, NULL);
}

#define WORD NOD_FORM(NOD_TEXT("word", .title = "Word", .required = true, NOD_MAX(20)))

static const char *word_of(const nod_answer *answer)
{
    switch (answer->action) {
    case NOD_ACCEPT:
        return nod_get_str(answer->content, "word");
    case NOD_DECLINE:
        return "(declined)";
    case NOD_CANCEL:
        return "(cancelled)";
    default:
        return "(nothing)";
    }
}

/* A deed, three questions in a row, and a deed. */
static nod_status trip(nod_call *call)
{
    nod_answer city, people, day;
    const char *tag = nod_arg_str(call, "tag");

    NOD_TRY(deed(call, "look", nod_fmt(call, "%s looked", tag)));
    NOD_TRY(nod_elicit(call, &city, .message = "Where to?", .form = WORD));
    if (city.action != NOD_ACCEPT)
        return nod_reply_textf(call, "No trip: %s.", word_of(&city));
    NOD_TRY(nod_elicit(call, &people, .message = nod_fmt(call, "How many to %s?", word_of(&city)),
                       .form = NOD_FORM(NOD_INT("people", .title = "People", .required = true,
                                                NOD_MIN(1), NOD_MAX(9)))));
    NOD_TRY(nod_elicit(call, &day, .message = "When?", .form = WORD));
    const char *line = nod_fmt(call, "%s: %s, %lld, %s", tag, word_of(&city),
                               (long long)nod_get_int(people.content, "people"), word_of(&day));
    NOD_TRY(deed(call, "book", line));
    return nod_reply_textf(call, "Booked %s.", line);
}

static nod_status word(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?", .form = WORD));
    NOD_TRY(deed(call, "word", word_of(&answer)));
    return nod_reply_textf(call, "word: %s", word_of(&answer));
}

/* Two questions at the same time. */
static nod_status pair(nod_call *call)
{
    nod_answer one, two;

    NOD_TRY(nod_want(call, &one, .key = "one", .message = "The first?", .form = WORD));
    NOD_TRY(nod_want(call, &two, .key = "two", .message = "The second?", .form = WORD));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s and %s", word_of(&one), word_of(&two));
}

/* A question to the person, and one to the client's model. */
static nod_status drafted(nod_call *call)
{
    nod_answer one, draft;

    NOD_TRY(nod_want(call, &one, .key = "one", .message = "Which word?", .form = WORD));
    NOD_TRY(nod_want_sample(call, &draft, .key = "draft", .prompt = "A draft", .max_tokens = 10));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s, %s", word_of(&one),
                           draft.action == NOD_ACCEPT ? "drafted" : "not drafted");
}

static nod_status brief(nod_call *call)
{
    nod_answer answer;
    nod_status status = nod_elicit(call, &answer, .message = "Quick?", .form = WORD, .ttl_ms = 700);

    if (status == NOD_E_TIMEOUT)
        return nod_reply_text(call, "too late");
    NOD_TRY(status);
    return nod_reply_textf(call, "word: %s", word_of(&answer));
}

/* A question that nobody answers in time, and another one. */
static nod_status twice(nod_call *call)
{
    nod_answer first, second;
    nod_status status = nod_elicit(call, &first, .message = "Quick?", .form = WORD, .ttl_ms = 700);

    if (status != NOD_E_TIMEOUT)
        NOD_TRY(status);
    NOD_TRY(nod_elicit(call, &second, .message = "Slower?", .form = WORD));
    return nod_reply_textf(call, "word: %s", word_of(&second));
}

static nod_status typed(nod_call *call)
{
    nod_answer answer;
    nod_json *value = nod_object(call);

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?", .form = WORD));
    nod_set_str(call, value, "word", word_of(&answer));
    return nod_reply_structured(call, value);
}

static nod_status confirm(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Really?"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status approve(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "May I?"));
    return nod_reply_text(call, approval.approved ? "approved" : "not approved");
}

static nod_status done(nod_call *call)
{
    NOD_TRY(deed(call, "done", "done"));
    return nod_reply_text(call, "done");
}

static nod_status wipe(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Wipe it?",
                       .form = NOD_FORM(NOD_BOOL("confirmed", .required = true))));
    if (answer.action != NOD_ACCEPT || !nod_get_bool(answer.content, "confirmed"))
        return nod_reply_text(call, "kept");
    NOD_TRY(deed(call, "wipe", "wiped"));
    return nod_reply_text(call, "wiped");
}

/* A policy: it asks before the tool starts. */
static nod_status house_rule(nod_hook_run *hook, void *data)
{
    nod_answer answer;

    (void)data;
    NOD_TRY(nod_elicit(nod_hook_call(hook), &answer, .message = "Does the rule allow it?",
                       .form = WORD));
    return answer.action == NOD_ACCEPT
               ? NOD_OK
               : nod_hook_fail(hook, NOD_E_REFUSED, "NOT_ALLOWED", "The rule does not allow it");
}

#define TAG NOD_FORM(NOD_TEXT("tag"))

static const nod_tool tools[] = {
    { .name = "trip", .handler = trip, .input = TAG },
    { .name = "trip_task",
      .handler = trip,
      .input = TAG,
      .task = NOD_TASK_OPTIONAL,
      .task_asks_first = true },
    { .name = "word", .handler = word, .input = TAG },
    { .name = "word_first",
      .handler = word,
      .input = TAG,
      .task = NOD_TASK_OPTIONAL,
      .task_asks_first = true },
    { .name = "word_blocking", .handler = word, .input = TAG, .blocking = true },
    { .name = "pair", .handler = pair },
    { .name = "drafted", .handler = drafted },
    { .name = "brief", .handler = brief },
    { .name = "twice", .handler = twice },
    { .name = "typed",
      .handler = typed,
      .output_schema = "{\"type\":\"object\",\"properties\":{\"word\":{\"type\":\"string\"}},"
                       "\"required\":[\"word\"],\"additionalProperties\":false}" },
    { .name = "confirm", .handler = confirm },
    { .name = "approve", .handler = approve },
    { .name = "gated", .handler = done, .requires_confirmation = true },
    { .name = "ruled", .handler = done },
    { .name = "wipe", .handler = wipe, .destructive = true },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "model", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK ||
        nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .name = "rule", .target = "ruled",
                 .fn = house_rule) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
