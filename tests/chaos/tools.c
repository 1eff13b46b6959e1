/*
 * tests/chaos: tools whose effects can be counted, and tools that crash.
 *
 * Every tool asks for two words, then does a deed, and replies with both. The tools differ in ways
 * in which a promise can break: a deed before the first question, two questions at once, questions
 * that wait for hours, questions that are put again. The deed is a file in CHAOS_DIR, made with
 * O_EXCL and named after the call's tag and the step's idempotency key. So a file proves that the
 * deed was done, and it cannot be done twice. A second attempt finds the file: it is counted in
 * CHAOS_DIR/again and counts as done, as with another system that knows the key. A handler that is
 * to crash says so in CHAOS_DIR/crashed, with the number of its process.
 *
 * server.c is a server with these tools only; the tour gets them beside its own (meson.build). With
 * AS_PLUGIN they are a plugin of nod serve.
 * They know nothing of nod but its header, and nothing of what is done to them.
 */
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ONE_IN = 100, /* runs of the tool that crashes at random */
    PATH_MOST = 1024,
    LONG_MS = 2 * 3600 * 1000
};

struct deed {
    const char *tag;
    int64_t slow_ms; /* it takes that long, after its file is there; -1: its node falls asleep */
};

static const char *folder;

static void note(const char *where, const char *line)
{
    char path[PATH_MOST];

    snprintf(path, sizeof(path), "%s/%s", folder, where);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "%s\n", line);
    close(fd);
}

static nod_status do_deed(nod_step_run *step, void *arg)
{
    const struct deed *deed = arg;
    char name[PATH_MOST / 2], path[PATH_MOST];

    snprintf(name, sizeof(name), "%s@%s", deed->tag, nod_step_key(step));
    snprintf(path, sizeof(path), "%s/deeds/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
        return NOD_E_IO;
    if (fd < 0) {
        note("again", name);
        return NOD_OK;
    }
    close(fd);
    if (deed->slow_ms > 0)
        nanosleep(&(struct timespec){ .tv_sec = deed->slow_ms / 1000,
                                      .tv_nsec = (deed->slow_ms % 1000) * 1000000 },
                  NULL);
    if (deed->slow_ms < 0)
        kill(getpid(), SIGSTOP);
    return NOD_OK;
}

/* How a question is put. */
struct manner {
    int64_t ttl_ms;
    int attempts;
};

#define WORD NOD_FORM(NOD_TEXT("word", .required = true))

static const char *word_of(const nod_answer *answer)
{
    return answer->action == NOD_ACCEPT ? nod_get_str(answer->content, "word") : "(none)";
}

static nod_status ask_word(nod_call *call, const char *key, struct manner manner, const char **out)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = key,
                       .message = nod_fmt(call, "%s, the %s word?", nod_arg_str(call, "tag"), key),
                       .form = WORD, .ttl_ms = manner.ttl_ms, .attempts = manner.attempts));
    *out = word_of(&answer);
    return NOD_OK;
}

static nod_status want_word(nod_call *call, const char *key, nod_answer *answer)
{
    return nod_want(call, answer, .key = key,
                    .message = nod_fmt(call, "%s, the %s word?", nod_arg_str(call, "tag"), key),
                    .form = WORD);
}

static nod_status do_and_reply(nod_call *call, struct nod_step_opts opts, const char *first,
                               const char *second)
{
    struct deed deed = { nod_arg_str(call, "tag"), nod_arg_int_or(call, "slow_ms", 0) };

    opts.size = sizeof(opts);
    NOD_TRY(nod_step_with(call, "deed", do_deed, &deed, NULL, &opts));
    return nod_reply_textf(call, "%s: %s %s", deed.tag, first, second);
}

static nod_status two_words(nod_call *call, struct nod_step_opts opts, struct manner manner)
{
    const char *first, *second;

    NOD_TRY(ask_word(call, "first", manner, &first));
    NOD_TRY(ask_word(call, "second", manner, &second));
    return do_and_reply(call, opts, first, second);
}

/* The key makes it harmless to do again: do_deed looks. */
static nod_status deed_tool(nod_call *call)
{
    return two_words(call, (struct nod_step_opts){ .idempotent = true }, (struct manner){ 0 });
}

static nod_status once_tool(nod_call *call)
{
    return two_words(call, (struct nod_step_opts){ .at_most_once = true }, (struct manner){ 0 });
}

/* Its questions wait for longer than anything is kept without a reason. */
static nod_status long_tool(nod_call *call)
{
    return two_words(call, (struct nod_step_opts){ .idempotent = true },
                     (struct manner){ .ttl_ms = LONG_MS });
}

/* What is no word is asked for again. */
static nod_status retry_tool(nod_call *call)
{
    return two_words(call, (struct nod_step_opts){ .idempotent = true },
                     (struct manner){ .attempts = 3 });
}

/* A deed of its own comes before the first question; it is counted under its own name. */
static nod_status early_tool(nod_call *call)
{
    struct deed early = { nod_fmt(call, "%s.early", nod_arg_str(call, "tag")), 0 };

    NOD_TRY(nod_step_with(
        call, "early", do_deed, &early, NULL,
        &(struct nod_step_opts){ .size = sizeof(struct nod_step_opts), .idempotent = true }));
    return deed_tool(call);
}

/* The same, between the two questions. */
static nod_status between_tool(nod_call *call)
{
    struct deed early = { nod_fmt(call, "%s.early", nod_arg_str(call, "tag")), 0 };
    const char *first, *second;

    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &first));
    NOD_TRY(nod_step(call, "early", do_deed, &early, NULL, .idempotent = true));
    NOD_TRY(ask_word(call, "second", (struct manner){ 0 }, &second));
    return do_and_reply(call, (struct nod_step_opts){ .idempotent = true }, first, second);
}

/* Both words in one round. */
static nod_status pair_tool(nod_call *call)
{
    nod_answer first, second;

    NOD_TRY(want_word(call, "first", &first));
    NOD_TRY(want_word(call, "second", &second));
    NOD_TRY(nod_await(call));
    return do_and_reply(call, (struct nod_step_opts){ .idempotent = true }, word_of(&first),
                        word_of(&second));
}

/* The deed first: nobody has been asked anything by then. */
static nod_status first_tool(nod_call *call)
{
    struct deed deed = { nod_arg_str(call, "tag"), nod_arg_int_or(call, "slow_ms", 0) };
    const char *word = "(nobody)";

    NOD_TRY(nod_step(call, "deed", do_deed, &deed, NULL, .idempotent = true));
    if (nod_supports(call, NOD_MODE_FORM))
        NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    return nod_reply_textf(call, "%s: %s", deed.tag, word);
}

/* The deed alone. */
static nod_status alone_tool(nod_call *call)
{
    struct deed deed = { nod_arg_str(call, "tag"), 0 };

    NOD_TRY(nod_step(call, "deed", do_deed, &deed, NULL, .idempotent = true));
    return nod_reply_textf(call, "%s: done", deed.tag);
}

/* The first word on a page of ours, the second on one of somebody else. */
static nod_status page_tool(nod_call *call)
{
    const char *tag = nod_arg_str(call, "tag");
    nod_answer first, second;

    NOD_TRY(nod_elicit_page(call, &first, .message = nod_fmt(call, "%s, the first word?", tag),
                            .form = WORD));
    NOD_TRY(nod_elicit_url(call, &second, .message = nod_fmt(call, "%s, the second word?", tag),
                           .url = "https://example.org/word", .returns = true));
    return do_and_reply(call, (struct nod_step_opts){ .idempotent = true }, word_of(&first),
                        word_of(&second));
}

/* One word and no deed: for races, and for many questions that wait. */
static nod_status word_tool(nod_call *call)
{
    const char *word;

    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    return nod_reply_textf(call, "%s: %s", nod_arg_str(call, "tag"), word);
}

/* The deed comes before anything is asked. */
static nod_status deed_first_tool(nod_call *call)
{
    struct deed deed = { nod_arg_str(call, "tag"), nod_arg_int_or(call, "slow_ms", 0) };
    const char *word;

    NOD_TRY(nod_step(call, "deed", do_deed, &deed, NULL, .idempotent = true));
    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    return nod_reply_textf(call, "%s: %s", deed.tag, word);
}

/* --- what crashes --- */

/* The end of the process, as by a fault. */
static void crash_now(void)
{
    char pid[32];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    note("crashed", pid);
    raise(SIGKILL);
}

/* The end of the process, if it was not to come `most` times and has come so
 * often. Each is a byte in CHAOS_DIR/crashes, under the call's tag. */
static void crash_of(const char *tag, int64_t most)
{
    char path[PATH_MOST];
    struct stat about;

    snprintf(path, sizeof(path), "%s/crashes/%s", folder, tag);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &about) != 0)
        abort();
    if (about.st_size >= most) {
        close(fd);
        return;
    }
    if (write(fd, "!", 1) != 1)
        abort();
    close(fd);
    crash_now();
}

static void crash(nod_call *call)
{
    crash_of(nod_arg_str(call, "tag"), nod_arg_int_or(call, "crashes", INT64_MAX));
}

static nod_status crash_tool(nod_call *call)
{
    const char *word;

    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    crash(call);
    return nod_reply_textf(call, "%s: %s", nod_arg_str(call, "tag"), word);
}

static nod_status step_crashes(nod_step_run *step, void *arg)
{
    (void)step;
    crash(arg);
    return NOD_OK;
}

static nod_status crash_step_tool(nod_call *call)
{
    const char *word;

    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    NOD_TRY(nod_step(call, "crash", step_crashes, call, NULL, .idempotent = true));
    return nod_reply_textf(call, "%s: %s", nod_arg_str(call, "tag"), word);
}

/* After the first death the handler learns that nobody knows whether the step was done; it crashes
 * instead of saying so. */
static nod_status crash_once_tool(nod_call *call)
{
    const char *word;

    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    nod_status status = nod_step(call, "crash", step_crashes, call, NULL, .at_most_once = true);
    if (status == NOD_E_OUTCOME_UNKNOWN)
        crash(call);
    NOD_TRY(status);
    return nod_reply_textf(call, "%s: %s", nod_arg_str(call, "tag"), word);
}

/* Takes slow_ms, every time, or until CHAOS_DIR/go is there. */
static nod_status step_is_slow(nod_step_run *step, void *arg)
{
    nod_call *call = arg;
    char path[PATH_MOST];

    (void)step;
    note("again", nod_arg_str(call, "tag"));
    snprintf(path, sizeof(path), "%s/go", folder);
    for (int64_t ms = 0; ms < nod_arg_int_or(call, "slow_ms", 0) && access(path, F_OK) != 0;
         ms += 10)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    return NOD_OK;
}

static nod_status slow_tool(nod_call *call)
{
    const char *word;

    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    NOD_TRY(nod_step(call, "slow", step_is_slow, call, NULL, .idempotent = true));
    return nod_reply_textf(call, "%s: %s", nod_arg_str(call, "tag"), word);
}

/* Two words and a deed, and once in ONE_IN runs a crash. */
static nod_status crash_sometimes_tool(nod_call *call)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_nsec / 1000 % ONE_IN == 0)
        crash_now();
    return deed_tool(call);
}

static nod_status crash_hook(nod_hook_run *hook, void *data)
{
    (void)data;
    crash(nod_hook_call(hook));
    return NOD_OK;
}

/* The answer of the gate is there: whoever asked it crashes. */
static nod_status crash_gate(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    const char *word;

    (void)data;
    NOD_TRY(ask_word(call, "first", (struct manner){ 0 }, &word));
    crash(call);
    return NOD_OK;
}

/* Answers are words: the call's tag, and which word it is. */
static nod_status crash_answer(nod_hook_run *hook, void *data)
{
    const char *word = nod_get_str(nod_hook_content(hook), "word");
    char tag[PATH_MOST];

    (void)data;
    if (word) {
        snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(word, "-"), word);
        crash_of(tag, INT64_MAX);
    }
    return NOD_OK;
}

static nod_status says_its_tag(nod_call *call)
{
    return nod_reply_textf(call, "%s: %s-a", nod_arg_str(call, "tag"), nod_arg_str(call, "tag"));
}

/* In which edition of the plugin a call has ended: reload.test.js writes another number over it. */
static nod_status edition_tool(nod_call *call)
{
    return nod_reply_text(call, "edition-0000");
}

static bool add_hooks(nod_server *server)
{
    return nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "start", .kind = NOD_DID,
                    .fn = crash_hook, .target = "crash_hook") == NOD_OK &&
           nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "finish", .kind = NOD_WILL,
                    .fn = crash_hook, .target = "crash_finish") == NOD_OK &&
           nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = crash_gate,
                    .name = "crashes", .target = "crash_gate") == NOD_OK &&
           nod_hook(server, .flow = NOD_FLOW_ANSWER, .stage = "buildResult", .kind = NOD_DID,
                    .fn = crash_answer, .target = "crash_answer") == NOD_OK;
}

#define INPUT NOD_FORM(NOD_TEXT("tag", .required = true), NOD_INT("slow_ms"), NOD_INT("crashes"))

static const nod_tool tools[] = {
    { .name = "deed", .handler = deed_tool, .input = INPUT, .asks = true },
    { .name = "deed_blocking",
      .handler = deed_tool,
      .input = INPUT,
      .asks = true,
      .blocking = true },
    { .name = "deed_once", .handler = once_tool, .input = INPUT, .asks = true },
    { .name = "deed_task", .handler = deed_tool, .input = INPUT, .task = NOD_TASK_OPTIONAL },
    { .name = "deed_blocking_task",
      .handler = deed_tool,
      .input = INPUT,
      .blocking = true,
      .task = NOD_TASK_OPTIONAL },
    { .name = "deed_first_task",
      .handler = deed_first_tool,
      .input = INPUT,
      .task = NOD_TASK_OPTIONAL },
    { .name = "deed_between_task",
      .handler = between_tool,
      .input = INPUT,
      .task = NOD_TASK_OPTIONAL,
      .task_asks_first = true },
    { .name = "deed_first", .handler = first_tool, .input = INPUT },
    { .name = "deed_alone", .handler = alone_tool, .input = INPUT },
    { .name = "deed_early", .handler = early_tool, .input = INPUT, .asks = true },
    { .name = "deed_page", .handler = page_tool, .input = INPUT },
    { .name = "deed_pair", .handler = pair_tool, .input = INPUT, .asks = true },
    { .name = "deed_long", .handler = long_tool, .input = INPUT },
    { .name = "deed_retry", .handler = retry_tool, .input = INPUT },
    { .name = "crash", .handler = crash_tool, .input = INPUT },
    { .name = "crash_blocking", .handler = crash_tool, .input = INPUT, .blocking = true },
    { .name = "crash_step", .handler = crash_step_tool, .input = INPUT },
    { .name = "crash_once", .handler = crash_once_tool, .input = INPUT },
    { .name = "crash_hook", .handler = word_tool, .input = INPUT },
    { .name = "crash_finish", .handler = word_tool, .input = INPUT },
    { .name = "crash_answer", .handler = word_tool, .input = INPUT },
    { .name = "crash_gate", .handler = says_its_tag, .input = INPUT },
    { .name = "crash_task", .handler = crash_tool, .input = INPUT, .task = NOD_TASK_OPTIONAL },
    { .name = "crash_sometimes", .handler = crash_sometimes_tool, .input = INPUT, .asks = true },
    { .name = "word_slow",
      .handler = slow_tool,
      .input = INPUT,
      .blocking = true,
      .timeout_ms = LONG_MS },
    { .name = "word", .handler = word_tool, .input = INPUT },
    { .name = "word_task", .handler = word_tool, .input = INPUT, .task = NOD_TASK_OPTIONAL },
    { .name = "edition", .handler = edition_tool },
};

static nod_status add_all(nod_server *server)
{
    folder = getenv("CHAOS_DIR");
    if (folder == NULL) {
        fputs("CHAOS_DIR names the folder of the deeds\n", stderr);
        return NOD_E_USAGE;
    }
    NOD_TRY(nod_tools(server, tools));
    return add_hooks(server) ? NOD_OK : NOD_E_USAGE;
}

#ifdef AS_PLUGIN
NOD_PLUGIN(.name = "chaos", .version = "1", .load = add_all);
#else
int chaos_main(nod_server *server, int argc, char **argv)
{
    if (add_all(server) == NOD_OK)
        return nod_main(server, argc, argv);
    nod_server_destroy(server);
    return 1;
}
#endif
