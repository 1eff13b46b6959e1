/*
 * rounds: tools of the probe whose calls go from request to request, and from node to node.
 *
 * What is done is written to the file PROBE_FILE, a line a deed, so that a test can count what
 * happened whoever did it. PROBE_CLOCK_AHEAD_MS puts the wall clock of this process ahead of the
 * machine's, or behind it, and the tool `advance` puts it further: nod reads it through
 * clock_gettime, which is replaced here.
 *
 * The tool `renewed` (with `renewed_task`, `renewed_steps`, `renewed_between`) is another one after
 * an upgrade: PROBE_WORDING, PROBE_INPUT and PROBE_VERSION change what is said of it, what it
 * takes, and its version; PROBE_QUESTION changes what it asks, and PROBE_WITHOUT takes it away.
 * With PROBE_SIGNED its deed says which version did it.
 */
#include "rounds.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- time --- */

static _Atomic int64_t advanced_ms;

static int64_t ahead_ms(void)
{
    static _Atomic int64_t ahead = INT64_MIN;

    if (ahead == INT64_MIN) {
        const char *text = getenv("PROBE_CLOCK_AHEAD_MS");
        ahead = text != NULL ? strtoll(text, NULL, 10) : 0;
    }
    return ahead + advanced_ms;
}

static nod_status advance(nod_call *call)
{
    advanced_ms += nod_arg_int(call, "ms");
    return nod_reply_text(call, "later");
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, out);

    if (failed == 0 && clock == CLOCK_REALTIME)
        out->tv_sec += (time_t)(ahead_ms() / 1000);
    return failed;
}

/* --- deeds --- */

struct deed {
    const char *line;
    int64_t ms; /* how long it takes */
};

static nod_status write_deed(nod_step_run *step, void *arg)
{
    const struct deed *deed = arg;
    const char *path = getenv("PROBE_FILE");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    (void)step;

    if (file == NULL)
        return NOD_E_IO;
    nanosleep(&(struct timespec){ .tv_sec = deed->ms / 1000,
                                  .tv_nsec = (long)(deed->ms % 1000) * 1000000 },
              NULL);
    fprintf(file, "%s\n", deed->line);
    return fclose(file) == 0 ? NOD_OK : NOD_E_IO;
}

/* --- tools --- */

static const nod_form one_word = { sizeof(nod_field),
                                   (const nod_field[]){ NOD_TEXT("word", .required = true) }, 1 };

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

static nod_status two_rounds(nod_call *call)
{
    nod_answer first, second;

    NOD_TRY(nod_elicit(call, &first, .key = "first", .message = "First", .form = &one_word));
    NOD_TRY(nod_elicit(call, &second, .key = "second", .form = &one_word,
                       .message = nod_fmt(call, "After %.100s", word_of(&first))));
    return nod_reply_textf(call, "%s %s", word_of(&first), word_of(&second));
}

/* One question after the other. */
static nod_status words(nod_call *call)
{
    const char *all = "";

    for (int64_t i = 1; i <= nod_arg_int(call, "count"); i++) {
        nod_answer answer;
        NOD_TRY(nod_elicit(call, &answer, .form = &one_word,
                           .message = nod_fmt(call, "Word %lld", (long long)i)));
        all = nod_fmt(call, "%s%s%s", all, i > 1 ? " " : "", word_of(&answer));
    }
    return nod_reply_text(call, all);
}

static nod_status write_line(nod_call *call)
{
    nod_answer first, second;

    NOD_TRY(nod_elicit(call, &first, .key = "first", .message = "First", .form = &one_word));
    NOD_TRY(nod_elicit(call, &second, .key = "second", .message = "Second", .form = &one_word));

    struct deed deed = { nod_fmt(call, "%s %s", word_of(&first), word_of(&second)), 0 };
    NOD_TRY(nod_step(call, "write", write_deed, &deed, NULL,
                     .idempotent = nod_arg_bool_or(call, "idempotent", false)));
    return nod_reply_textf(call, "wrote %s", deed.line);
}

/* Its arguments and its result are as large as its caller wants. */
static nod_status bulky(nod_call *call)
{
    int64_t back = nod_arg_int_or(call, "back", 0);
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "word", .message = "Which word?", .form = &one_word,
                       .ttl_ms = nod_arg_int_or(call, "ttl", 0)));
    NOD_TRY(nod_step(call, "write", write_deed,
                     &((struct deed){ word_of(&answer), nod_arg_int_or(call, "ms", 0) }), NULL));
    return nod_reply_textf(call, "%s %0*d", word_of(&answer), (int)back, 0);
}

static nod_status swallow(nod_call *call)
{
    return nod_reply_text(call, "swallowed");
}

/* The deed comes before the question, so that every retry passes by it. */
static nod_status write_then_ask(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_step(call, "write", write_deed, &((struct deed){ "begun", 0 }), NULL));
    NOD_TRY(nod_elicit(call, &answer, .key = "word", .message = "And now?", .form = &one_word));
    return nod_reply_text(call, word_of(&answer));
}

static nod_status write_slowly(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "word", .message = "Which word?", .form = &one_word));
    NOD_TRY(nod_step(call, "write", write_deed,
                     &((struct deed){ word_of(&answer), nod_arg_int_or(call, "ms", 300) }), NULL));
    return nod_reply_textf(call, "wrote %s", word_of(&answer));
}

/* A deed first, then a question that waits for a day, then a deed that depends on the answer. */
static nod_status deed_ask_deed(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_step(call, "begin", write_deed, &((struct deed){ "begun", 0 }), NULL));
    NOD_TRY(nod_elicit(call, &answer, .key = "word", .message = "Do it?", .form = &one_word,
                       .ttl_ms = INT64_C(86400000)));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, "nothing was done");
    NOD_TRY(nod_step(call, "write", write_deed, &((struct deed){ word_of(&answer), 0 }), NULL,
                     .at_most_once = nod_arg_bool_or(call, "atMostOnce", false)));
    return nod_reply_textf(call, "did %s", word_of(&answer));
}

/* Two questions in one round, and a deed that depends on both. */
static nod_status pair_of_words(nod_call *call)
{
    nod_answer one, two;

    NOD_TRY(nod_want(call, &one, .key = "one", .message = "One?", .form = &one_word));
    NOD_TRY(nod_want(call, &two, .key = "two", .message = "Two?", .form = &one_word));
    NOD_TRY(nod_await(call));
    struct deed deed = { nod_fmt(call, "%s %s", word_of(&one), word_of(&two)), 0 };
    NOD_TRY(nod_step(call, "write", write_deed, &deed, NULL));
    return nod_reply_textf(call, "did %s", deed.line);
}

static const char *version(void)
{
    const char *text = getenv("PROBE_VERSION");

    return text != NULL ? text : "1";
}

static nod_status renewed(nod_call *call)
{
    const char *question = getenv("PROBE_QUESTION");
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "word", .form = &one_word,
                       .message = question != NULL ? question : "Which word?"));
    struct deed deed = { word_of(&answer), 0 };
    if (getenv("PROBE_SIGNED") != NULL)
        deed.line = nod_fmt(call, "%s by %s", deed.line, version());
    NOD_TRY(nod_step(call, "write", write_deed, &deed, NULL));
    return nod_reply_textf(call, "renewed %s", word_of(&answer));
}

/* A deed before the question, and one after it. */
static nod_status renewed_between(nod_call *call)
{
    struct deed before = { "before", 0 };

    NOD_TRY(nod_step(call, "before", write_deed, &before, NULL));
    return renewed(call);
}

/* Five deeds after the question, each by the version that did it. */
static nod_status renewed_steps(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "word", .form = &one_word, .message = "Which word?"));
    for (int i = 1; i <= 5; i++) {
        struct deed deed = { nod_fmt(call, "%d by %s", i, version()), 3000 };
        NOD_TRY(nod_step(call, nod_fmt(call, "deed-%d", i), write_deed, &deed, NULL));
    }
    return nod_reply_text(call, "five deeds");
}

static nod_status renewed_add(nod_server *server);

static nod_status remove_renewed(nod_call *call)
{
    nod_remove_tool(nod_server_of(call), "renewed_between");
    return nod_reply_text(call, nod_remove_tool(nod_server_of(call), "renewed") ? "removed" : "");
}

static nod_status replace_renewed(nod_call *call)
{
    nod_remove_tool(nod_server_of(call), "renewed");
    nod_remove_tool(nod_server_of(call), "renewed_task");
    nod_remove_tool(nod_server_of(call), "renewed_steps");
    nod_remove_tool(nod_server_of(call), "renewed_between");
    NOD_TRY(renewed_add(nod_server_of(call)));
    return nod_reply_text(call, "replaced");
}

static nod_status every_kind(nod_call *call)
{
    nod_answer name, idea, folders;

    NOD_TRY(nod_want(call, &name, .key = "name", .message = "Who?", .form = &one_word));
    NOD_TRY(nod_want_sample(call, &idea, .key = "idea", .prompt = "Say something"));
    NOD_TRY(nod_want_roots(call, &folders, .key = "folders"));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s, %s, %zu roots", word_of(&name),
                           nod_get_str(nod_get(idea.content, "content"), "text"),
                           nod_count(nod_get(folders.content, "roots")));
}

static nod_status consents(nod_call *call)
{
    nod_answer note;
    nod_approval approval;
    bool sure;

    NOD_TRY(nod_elicit(call, &note, .key = "note", .message = "A note?", .form = &one_word));
    NOD_TRY(nod_confirm(call, &sure, .key = "sure", .message = "Sure?"));
    NOD_TRY(nod_approve(call, &approval, .key = "approval", .message = "Approved?"));
    return nod_reply_textf(call, "%s, sure %d, approved %d", word_of(&note), sure,
                           approval.approved);
}

static nod_status note_mark(nod_step_run *step, void *arg)
{
    nod_json *result = nod_object(nod_step_call(step));

    nod_set_str(nod_step_call(step), result, "noted",
                nod_fmt(nod_step_call(step), "step-%s", (const char *)arg));
    nod_step_result(step, result);
    return NOD_OK;
}

/* Leaves its mark wherever a call can leave one: to be looked for where it must not be. */
static nod_status plant(nod_call *call)
{
    const char *mark = nod_arg_str(call, "mark");
    nod_answer word, pin;

    NOD_TRY(nod_elicit(call, &word, .key = "word", .form = &one_word,
                       .message = nod_fmt(call, "message-%s", mark)));
    NOD_TRY(nod_step(call, "note", note_mark, (void *)(uintptr_t)mark, NULL, .idempotent = true));
    NOD_TRY(nod_elicit(call, &pin, .key = "pin", .form = &one_word, .sensitive = true,
                       .message = nod_fmt(call, "more-%s", mark)));
    return nod_reply_textf(call, "result-%s %s", mark, word_of(&word));
}

static const nod_tool tools[] = {
    { .name = "plant", .handler = plant, .input = NOD_FORM(NOD_TEXT("mark", .required = true)) },
    { .name = "plant_task",
      .handler = plant,
      .input = NOD_FORM(NOD_TEXT("mark", .required = true)),
      .task = NOD_TASK_OPTIONAL },
    { .name = "two_rounds",
      .handler = two_rounds,
      .input = NOD_FORM(NOD_TEXT("for")),
      .portable = true },
    { .name = "two_rounds_blocking", .handler = two_rounds, .blocking = true, .portable = true },
    { .name = "words", .handler = words, .input = NOD_FORM(NOD_INT("count", .required = true)) },
    { .name = "write_line",
      .handler = write_line,
      .input = NOD_FORM(NOD_BOOL("idempotent")),
      .portable = true },
    { .name = "write_then_ask", .handler = write_then_ask },
    { .name = "bulky",
      .handler = bulky,
      .input = NOD_FORM(NOD_TEXT("pad"), NOD_INT("back"), NOD_INT("ttl")) },
    { .name = "bulky_slow",
      .handler = bulky,
      .input = NOD_FORM(NOD_INT("back"), NOD_INT("ms")),
      .blocking = true },
    { .name = "swallow", .handler = swallow, .input = NOD_FORM(NOD_TEXT("pad")) },
    { .name = "write_slowly",
      .handler = write_slowly,
      .input = NOD_FORM(NOD_INT("ms")),
      .blocking = true },
    { .name = "every_kind", .handler = every_kind },
    { .name = "deed_ask_deed",
      .handler = deed_ask_deed,
      .input = NOD_FORM(NOD_BOOL("atMostOnce")) },
    { .name = "pair", .handler = pair_of_words },
    { .name = "remove_renewed", .handler = remove_renewed },
    { .name = "replace_renewed", .handler = replace_renewed },
    { .name = "advance", .handler = advance, .input = NOD_FORM(NOD_INT("ms", .required = true)) },
    { .name = "consents", .handler = consents },
};

/* Named like the tool: a state of the one must not serve the other. */
static const nod_prompt prompts[] = { { .name = "two_rounds", .get = two_rounds } };

static nod_status renewed_add(nod_server *server)
{
    bool reworded = getenv("PROBE_WORDING") != NULL;
    const nod_field fields[] = {
        { .name = "for",
          .title = reworded ? "Whom it is for" : "For",
          .preset = reworded ? "x" : NULL },
        { .name = "much", .kind = NOD_FIELD_INT },
    };
    const nod_form input = { sizeof(nod_field), fields, getenv("PROBE_INPUT") != NULL ? 2 : 1 };
    const nod_tool tool = { .name = "renewed",
                            .handler = renewed,
                            .title = reworded ? "A better title" : "Title",
                            .description = reworded ? "Described at length" : "Described",
                            .idempotent = reworded,
                            .input = &input,
                            .version = getenv("PROBE_VERSION") };

    nod_tool all[] = { tool, tool, tool, tool };
    all[1].name = "renewed_task";
    all[1].task = NOD_TASK_OPTIONAL;
    all[2].name = "renewed_steps";
    all[2].handler = renewed_steps;
    all[2].blocking = true;
    all[3].name = "renewed_between";
    all[3].handler = renewed_between;
    return nod_tools(server, all);
}

nod_status rounds_add(nod_server *server)
{
    NOD_TRY(nod_tools(server, tools));
    if (getenv("PROBE_WITHOUT") == NULL)
        NOD_TRY(renewed_add(server));
    return nod_prompts(server, prompts);
}
